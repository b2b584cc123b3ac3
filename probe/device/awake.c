/* SPDX-License-Identifier: MIT */
#include "device/device.h"

#include <string.h>

enum { READS = 64, AT_ONCE = 4 /* a program may be awake for microseconds */, PATIENCE_MS = 500 };

/* One list, with the core's state before and after its reads. */
static bool read_between(struct device *device, const struct core *core, const struct steps *list,
                         uint64_t *results, enum core_state states[2], const struct deadline *deadline,
                         struct error *error)
{
    const struct step status = step_read(core_status_register(core));
    struct step items[READS + 2];
    uint64_t words[READS + 2];
    struct steps whole = {.items = items, .room = READS + 2};
    steps_add(&whole, status);
    for (size_t i = 0; i < list->n; i++)
        steps_add(&whole, list->items[i]);
    size_t last = steps_add(&whole, status);
    if (!ledger_run(device->ledger, &whole, words, deadline, error))
        return false;
    memcpy(results, words + 1, list->n * sizeof *results);
    /* From device_keep on the end must know: before, it is what was before the run */
    if (device->server_held && core == &device->chosen->core && core_has(core, STATUS_FORGETS))
        device->was_reset =
            device->was_reset || core_reset_since(core, words[0]) || core_reset_since(core, words[last]);
    states[0] = core_state_of(core, words[0]);
    states[1] = core_state_of(core, words[last]);
    return true;
}

static bool tells_sleep(const struct core *core, const struct steps *list)
{
    return core_has(core, SYSTEM_SPACE) && list->n <= READS;
}

bool awake_look(struct device *device, const struct core *core, const struct steps *list, uint64_t *results,
                bool *asleep, const struct deadline *deadline, struct error *error)
{
    enum core_state states[2];
    *asleep = false;
    if (!tells_sleep(core, list))
        return ledger_run(device->ledger, list, results, deadline, error);
    if (!read_between(device, core, list, results, states, deadline, error))
        return false;
    *asleep = states[0] == CORE_ASLEEP || states[1] == CORE_ASLEEP;
    return true;
}

bool awake_read(struct device *device, const struct core *core, const struct steps *list, uint64_t *results,
                bool *asleep, const struct deadline *deadline, struct error *error)
{
    struct deadline patience = deadline_slice(deadline, PATIENCE_MS);
    size_t most = list->n;
    bool never = false;
    for (size_t at = 0, n; at < list->n; at += n) {
        n = list->n - at < most ? list->n - at : most;
        const struct steps part = {.items = list->items + at, .n = n, .room = n};
        if (!awake_look(device, core, &part, results + at, asleep, deadline, error))
            return false;
        if (!*asleep)
            continue;
        never = never || deadline_passed(&patience);
        if (never)
            continue;
        most = AT_ONCE;
        n = 0; /* the same once more */
        deadline_nap();
    }
    *asleep = never;
    return true;
}

bool asleep_read(struct device *device, const struct core *core, const struct steps *list, uint64_t *results,
                 const struct deadline *deadline)
{
    struct deadline patience = deadline_slice(deadline, PATIENCE_MS);
    struct error ignored = {0};
    enum core_state states[2];
    while (tells_sleep(core, list) && !deadline_passed(&patience)) {
        if (!read_between(device, core, list, results, states, deadline, &ignored))
            return false;
        if (states[0] == CORE_ASLEEP && states[1] == CORE_ASLEEP)
            return true;
        deadline_nap();
    }
    return false;
}
