#include "device/awake.h"

#include <string.h>

enum { READS = 64, AT_ONCE = 4 /* a program may be awake for microseconds */, PATIENCE_MS = 500 };

/* One list, with the core's state before and after its reads. */
static bool read_between(struct ledger *ledger, const struct core *core, const struct steps *list,
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
    if (!ledger_run(ledger, &whole, words, deadline, error))
        return false;
    memcpy(results, words + 1, list->n * sizeof *results);
    states[0] = core_state_of(core, words[0]);
    states[1] = core_state_of(core, words[last]);
    return true;
}

static bool tells_sleep(const struct core *core, const struct steps *list)
{
    return core_has(core, SYSTEM_SPACE) && list->n <= READS;
}

bool awake_read(struct ledger *ledger, const struct core *core, const struct steps *list, uint64_t *results,
                bool *asleep, const struct deadline *deadline, struct error *error)
{
    struct deadline patience = deadline_slice(deadline, PATIENCE_MS);
    size_t most = list->n;
    *asleep = false;
    if (!tells_sleep(core, list))
        return ledger_run(ledger, list, results, deadline, error);
    for (size_t at = 0, n; at < list->n; at += n) {
        enum core_state states[2];
        n = list->n - at < most ? list->n - at : most;
        const struct steps part = {.items = list->items + at, .n = n, .room = n};
        if (!read_between(ledger, core, &part, results + at, states, deadline, error))
            return false;
        if (states[0] != CORE_ASLEEP && states[1] != CORE_ASLEEP)
            continue;
        *asleep = deadline_passed(&patience);
        if (*asleep)
            continue;
        most = AT_ONCE;
        n = 0; /* the same once more */
        deadline_nap();
    }
    return true;
}

bool asleep_read(struct ledger *ledger, const struct core *core, const struct steps *list, uint64_t *results,
                 const struct deadline *deadline)
{
    struct deadline patience = deadline_slice(deadline, PATIENCE_MS);
    struct error ignored = {0};
    enum core_state states[2];
    while (tells_sleep(core, list) && !deadline_passed(&patience)) {
        if (!read_between(ledger, core, list, results, states, deadline, &ignored))
            return false;
        if (states[0] == CORE_ASLEEP && states[1] == CORE_ASLEEP)
            return true;
        deadline_nap();
    }
    return false;
}
