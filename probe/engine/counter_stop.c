/* SPDX-License-Identifier: MIT */
#include "engine/counter_stop.h"

#include "cores/architectures.h"
#include "device/own_stops.h"
#include "device/run.h"
#include "device/settings.h"

#include <inttypes.h>

enum { LIST_ROOM = 2 * COUNTER_STOP_STEPS, NAP_US = 2000, LOOK_US = 200000, CALM_US = 2000, TELL_MS = 100 };

/* --- lists ---------------------------------------------------------------------------------------------- */

static bool counter_stop_read_state(struct counter_stop *stop, enum core_state *state,
                                    const struct deadline *deadline, struct error *error)
{
    uint64_t status;
    if (!ledger_read(stop->device->ledger, core_status_register(stop->core), &status, deadline, error))
        return false;
    *state = core_state_of(stop->core, status);
    return true;
}

bool counter_stop_run(struct counter_stop *stop, const struct steps *list, uint64_t *results,
                      const struct deadline *deadline, struct error *error)
{
    return run_list(stop->device->ledger, stop->core, list, results, deadline, error);
}

/* `halted`: it has stopped, or is just about to. */
static bool look_now(struct counter_stop *stop, bool halted, struct counter_stop_look *look,
                     const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    if (halted)
        core_add_wait_halt(stop->core, &list);
    struct counter_stop_places at = counter_stop_add_look(stop, &list);
    if (!counter_stop_run(stop, &list, results, deadline, error))
        return false;
    *look = counter_stop_look(stop, results, &at);
    return true;
}

/* --- taking it ------------------------------------------------------------------------------------------ */

static bool is_standing(const struct device *device)
{
    return device->leave >= LEAVE_HALTED_RESET;
}

static bool disarm_by_core(struct counter_stop *stop, const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    if (!stop->stands)
        core_add_halt(stop->core, &list);
    core_add_ready(stop->core, &list);
    counter_stop_add_disarm(stop, &list);
    stop->stands = counter_stop_run(stop, &list, results, deadline, error);
    return stop->stands;
}

static bool disarm_from_outside(struct counter_stop *stop, const struct deadline *deadline,
                                struct error *error)
{
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = sizeof items / sizeof *items};
    struct counter_stop_look look;
    enum core_state state;
    counter_stop_add_disarm(stop, &list);
    if (!counter_stop_run(stop, &list, results, deadline, error))
        return false;
    deadline_nap_us(CALM_US); /* a stop may be on its way */
    if (stop->stands)
        return true;
    if (!counter_stop_read_state(stop, &state, deadline, error) ||
        (state == CORE_HALTED && !look_now(stop, true, &look, deadline, error)))
        return false;
    bool asked = stop->asked && state == CORE_HALTED && core_cause(stop->core, look.cause, 0) == STOP_REQUEST;
    stop->stands = state == CORE_HALTED && (look.is_ours || asked);
    if (state == CORE_HALTED && !stop->stands)
        device_leave_as(stop->device, LEAVE_HALTED_FOREIGN);
    return true;
}

/* The ledger undoes in reverse: this disarms; the ledger restores what was set; undo_by_going_on lets the
 * core go if the counter halted it. */
static bool undo_by_disarming(void *context, const struct deadline *deadline, struct error *error)
{
    struct counter_stop *stop = context;
    if (is_standing(stop->device))
        return true;
    return counter_stop_is_by_core(stop) ? disarm_by_core(stop, deadline, error)
                                         : disarm_from_outside(stop, deadline, error);
}

static bool counter_stop_undo_by_going_on(void *context, const struct deadline *deadline, struct error *error)
{
    struct counter_stop *stop = context;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    const struct device *device = stop->device;
    bool again = device->leave == LEAVE_HALTED_AGAIN && !link_has_server(device->link);
    if (is_standing(device) || again || !stop->stands)
        return true;
    core_add_ready(stop->core, &list);
    counter_stop_add_run(stop, &list);
    stop->stands = !counter_stop_run(stop, &list, results, deadline, error);
    return !stop->stands;
}

bool counter_stop_set(struct counter_stop *stop, const struct deadline *deadline, struct error *error)
{
    struct setting settings[COUNTER_STOP_SETTINGS];
    size_t n = counter_stop_settings(stop, settings, COUNTER_STOP_SETTINGS);
    return settings_apply_each(stop->device->ledger, settings, n, deadline, error);
}

static bool counter_stop_find_comparator(struct counter_stop *stop, const struct deadline *deadline,
                                         struct error *error)
{
    uint64_t function;
    if (!ledger_read(stop->device->ledger, counter_stop_function(stop->core), &function, deadline, error))
        return false;
    if (!counter_stop_can_match(stop->core, function))
        return error_advise(error, ERROR_NO_COUNTER, "",
                            "the comparators of the DWT cannot match its cycle counter");
    if (!counter_stop_is_used(stop->core, function))
        return true;
    bool own = own_stops_are_there(stop->device->ledger, stop->core, deadline);
    return error_advise(error, ERROR_NO_COMPARATOR, own ? "Let the program take another comparator." : NULL,
                        "comparator 0 of the DWT, which alone matches cycles, is in use: %s watchpoint",
                        own ? "the program's own" : "a");
}

static bool find_trigger(struct counter_stop *stop, const struct deadline *deadline, struct error *error)
{
    struct step items[CROSS_TRIGGER_IDENTITY];
    uint64_t values[CROSS_TRIGGER_IDENTITY] = {0};
    struct steps list = {.items = items, .room = CROSS_TRIGGER_IDENTITY};
    cross_trigger_add_identity(stop->core, &list);
    if (list.n > 0 && !ledger_run(stop->device->ledger, &list, values, deadline, error))
        return false;
    if (stop->core->cti_base == 0)
        return error_advise(error, ERROR_NO_COUNTER, "--cti AP:ADDR says where it is, if the chip has one.",
                            "no cross trigger interface was found for %s, so its counters cannot stop it",
                            stop->core->name);
    return cross_trigger_identify(stop->core, values, &stop->trigger) ||
           error_advise(error, ERROR_NO_COUNTER, "", "its cross trigger interface has no channel left");
}

static bool find_way(struct counter_stop *stop, const struct deadline *deadline, struct error *error)
{
    const struct counter_block *block = stop->device->block;
    if (!device_has_run_control(stop->device))
        return error_advise(error, ERROR_NO_COUNTER, "", "%s cannot be stopped by its counters",
                            stop->core->name);
    if (block->kind == &dwt_kind) {
        stop->way = COUNTER_STOP_MATCH;
        return counter_stop_find_comparator(stop, deadline, error);
    }
    if (core_has(stop->core, SYSTEM_SPACE) && !cortex_m_has_pmu_halt(stop->core))
        return error_advise(error, ERROR_NO_COUNTER, "", "%s stops no core", block->text);
    stop->way = core_has(stop->core, SYSTEM_SPACE) ? COUNTER_STOP_OVERFLOW : COUNTER_STOP_TRIGGER;
    return stop->way != COUNTER_STOP_TRIGGER || find_trigger(stop, deadline, error);
}

static bool set_debug(struct counter_stop *stop, const struct deadline *deadline, struct error *error)
{
    return settings_prepare_halts(stop->device->ledger, &stop->device->chosen->core, deadline, error);
}

static bool allow_commands(struct counter_stop *stop, struct error *error)
{
    struct address commands[COUNTER_STOP_COMMANDS];
    size_t n = counter_stop_commands(stop, commands, COUNTER_STOP_COMMANDS);
    for (size_t i = 0; i < n; i++)
        if (!ledger_allow(stop->device->ledger, commands[i], error))
            return false;
    return true;
}

static void take_counter(struct counter_stop *stop, const struct counter_pick *picks, size_t n)
{
    enum { CYCLES_FLAG = 31, SHARED_MOST = INT32_MAX };
    const struct counter_block *block = stop->device->block;
    unsigned top = picks[n - 1].counter;
    stop->counter = block->counters[picks[0].counter];
    stop->chained = n > 1 ? block->counters[top] : (struct counter){0};
    stop->flag = UINT32_C(1) << (top == 0 ? CYCLES_FLAG : top - 1U);
    unsigned bits = stop->counter.bits < 32 && n > 1 ? 32 : stop->counter.bits;
    stop->most = bits < 32 ? (UINT64_C(1) << bits) - 1 : SHARED_MOST;
    /* A cycle counter that the program runs is watched only */
    for (size_t i = 0; i < block->n_settings; i++)
        if (block->kind == &dwt_kind && block->settings[i].only_watched)
            stop->is_shared = true;
}

bool counter_stop_take(struct counter_stop *stop, struct device *device, const struct counter_pick *picks,
                       size_t n, const struct deadline *deadline, struct error *error)
{
    *stop = (struct counter_stop){.device = device, .core = &device->chosen->core};
    take_counter(stop, picks, n);
    return find_way(stop, deadline, error) && set_debug(stop, deadline, error) &&
           allow_commands(stop, error) &&
           ledger_push_undo(device->ledger, (struct undo_action){stop, counter_stop_undo_by_going_on},
                            error) &&
           counter_stop_set(stop, deadline, error) &&
           ledger_push_undo(device->ledger, (struct undo_action){stop, undo_by_disarming}, error);
}

bool counter_stop_renew(struct counter_stop *stop, bool *reset, const struct deadline *deadline,
                        struct error *error)
{
    struct error told = {0};
    if (!set_debug(stop, deadline, &told) &&
        told.kind != ERROR_RESET) /* a reset fails the first attempt only */
        return error_copy(error, &told);
    *reset = *reset || told.kind == ERROR_RESET;
    return (told.kind == ERROR_NONE || set_debug(stop, deadline, error)) &&
           device_renew_block(stop->device, deadline, error) && counter_stop_set(stop, deadline, error);
}

bool counter_stop_check(const struct counter_stop *stop, const struct counter_stop_look *look, uint64_t armed,
                        struct error *error)
{
    if (look->was_taken)
        return error_advise(
            error, ERROR_WRITTEN,
            "Mask the PMU's interrupt (Linux's perf and watchdog enable it), or record without -e.",
            "the program's handler of the PMU's interrupt cleared the overflow of %s unseen",
            stop->device->reading.counters[0].name);
    return !look->was_written ||
           error_set(error, ERROR_WRITTEN,
                     "something else writes the counter of %s: it stopped the core at %" PRIu64
                     ", and has %" PRIu64 " by now",
                     stop->device->reading.counters[0].name, armed, look->value);
}

/* --- waiting -------------------------------------------------------------------------------------------- */

static bool counter_stop_tell_stop(struct counter_stop *stop, enum counter_stop_state *state,
                                   struct counter_stop_look *look, const struct deadline *deadline,
                                   struct error *error)
{
    struct deadline soon = deadline_slice(deadline, TELL_MS);
    struct error why = {0};
    enum core_state now;
    if (!look_now(stop, true, look, &soon, &why)) {
        if (why.kind != ERROR_ASLEEP)
            return error_copy(error, &why);
        if (!counter_stop_read_state(stop, &now, deadline, error))
            return false;
        *state = COUNTER_STOP_RUNS;
        if (now != CORE_HALTED) /* a reset let it go in between: look_around finds that */
            return true;
        if (!look_now(stop, true, look, deadline, error))
            return false;
    }
    bool was_reset = look->was_reset || core_cause(stop->core, look->cause, 0) == STOP_RESET;
    if (look->is_ours || was_reset) {
        *state = look->is_ours ? COUNTER_STOP_STANDS : COUNTER_STOP_RESET;
        stop->stands = look->is_ours;
        return true;
    }
    /* Right after it was let go, the core may still read as halted */
    if (!counter_stop_read_state(stop, &now, deadline, error))
        return false;
    *state = now == CORE_HALTED ? COUNTER_STOP_FOREIGN : COUNTER_STOP_RUNS;
    return true;
}

static bool counter_stop_check_reset(struct counter_stop *stop, bool *reset, const struct deadline *deadline,
                                     struct error *error)
{
    uint64_t value;
    if (!ledger_read(stop->device->ledger, core_reset_register(stop->core), &value, deadline, error))
        return false;
    *reset = core_reset_seen(stop->core, value);
    return true;
}

/* The event occurred, and the core runs on: nothing connects the two. */
static bool check_wired(struct counter_stop *stop, enum counter_stop_state *state,
                        const struct deadline *deadline, struct error *error)
{
    struct counter_stop_look look;
    enum core_state now;
    if (counter_stop_is_by_core(stop))
        return true;
    if (!look_now(stop, false, &look, deadline, error))
        return false;
    *(look.has_come ? &stop->came_us : &stop->ran_us) = deadline_now_us();
    if (look.was_reset)
        *state = COUNTER_STOP_RESET;
    if (look.was_reset || !look.has_come)
        return true;
    deadline_nap_us(CALM_US);
    if (!counter_stop_read_state(stop, &now, deadline, error))
        return false;
    return now == CORE_HALTED || now == CORE_ASLEEP ||
           error_advise(error, ERROR_NO_COUNTER, "",
                        "%s does not stop the core: the event occurred, and the core ran on",
                        counter_stop_name(stop));
}

static bool look_around(struct counter_stop *stop, enum counter_stop_state *state,
                        struct counter_stop_look *look, const struct deadline *deadline, struct error *error)
{
    enum core_state now;
    bool reset;
    if (!counter_stop_read_state(stop, &now, deadline, error))
        return false;
    if (now == CORE_LOCKUP)
        return error_lockup(error);
    *(now == CORE_HALTED ? &stop->came_us : &stop->ran_us) = deadline_now_us();
    if (now == CORE_HALTED)
        return counter_stop_tell_stop(stop, state, look, deadline, error);
    if (!counter_stop_check_reset(stop, &reset, deadline, error))
        return false;
    if (reset)
        *state = COUNTER_STOP_RESET;
    return reset || check_wired(stop, state, deadline, error);
}

/* A server reads only as often as an answer takes. If the wait took no longer, the first read saw it. */
static int64_t halted_behind_server(struct counter_stop *stop, int64_t before_us, int64_t after_us)
{
    enum { COARSE_US = 50 };
    int64_t took_us = after_us - before_us;
    if (stop->answer_us == 0 || took_us < stop->answer_us)
        stop->answer_us = took_us;
    bool at_once = took_us <= stop->answer_us + stop->answer_us / 2 + COARSE_US;
    return at_once ? (stop->ran_us + after_us) / 2 : after_us - stop->answer_us / 2;
}

/*
 * When the core halted, as far as that is known. A probe that waited saw it at once; if the core had `stood`
 * before, it stopped between the read that saw it running and this one. All these times are late by as
 * much as an answer takes.
 */
static int64_t halted_at(struct counter_stop *stop, int64_t before_us, int64_t after_us, bool stood)
{
    if (stop->came_us != 0)
        return (stop->ran_us + stop->came_us) / 2;
    if (link_has_server(stop->device->link))
        return halted_behind_server(stop, before_us, after_us);
    return stood ? (stop->ran_us + after_us) / 2 : after_us;
}

/* Adds the wait, and before it, where that costs little, a read of what it waits for. */
static const struct step *counter_stop_add_polled_wait(const struct counter_stop *stop, struct steps *list)
{
    size_t look =
        link_has_server(stop->device->link) ? 0 : steps_add(list, step_read((struct address){0})) + 1;
    counter_stop_add_wait(stop, list);
    const struct step *wait = &list->items[list->n - 1];
    if (look > 0)
        list->items[look - 1].at = wait->at;
    return wait;
}

bool counter_stop_wait(struct counter_stop *stop, int64_t until_us, enum counter_stop_state *state,
                       struct counter_stop_look *look, int64_t *halted_us, const struct deadline *deadline,
                       struct error *error)
{
    struct step items[8];
    uint64_t results[8];
    struct steps list = {.items = items, .room = sizeof items / sizeof *items};
    const struct step *wait = counter_stop_add_polled_wait(stop, &list);
    *state = COUNTER_STOP_RUNS;
    for (;;) {
        struct deadline slice = deadline_slice(deadline, 1);
        struct error refused = {0};
        int64_t before_us = deadline_now_us();
        struct outcome outcome = ledger_execute(stop->device->ledger, &list, 0, results, &slice, &refused);
        int64_t after_us = deadline_now_us();
        if (outcome.why == DONE) {
            bool stood = (results[0] & wait->mask) == wait->value;
            *halted_us = halted_at(stop, before_us, after_us, stood);
            return counter_stop_tell_stop(stop, state, look, deadline, error);
        }
        if (outcome.why != NOT_YET && outcome.why != TARGET_WAIT)
            return error_copy(error, &refused);
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        stop->ran_us = after_us;
        if (outcome.why == TARGET_WAIT)
            deadline_nap_us(NAP_US);
        if (outcome.why == NOT_YET && after_us - stop->looked_us >= LOOK_US) {
            if (!look_around(stop, state, look, deadline, error))
                return false;
            stop->looked_us = deadline_now_us();
            *halted_us = stop->came_us != 0 ? (stop->ran_us + stop->came_us) / 2 : stop->looked_us;
        }
        if (*state != COUNTER_STOP_RUNS || after_us >= until_us)
            return true;
    }
}

/* --- the trial ------------------------------------------------------------------------------------------ */

bool counter_stop_go_on(struct counter_stop *stop, uint64_t events, uint64_t value, int64_t *left_us,
                        const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    counter_stop_add_arm(stop, &list, events, value);
    counter_stop_add_run(stop, &list);
    if (!counter_stop_run(stop, &list, results, deadline, error))
        return false;
    stop->stands = stop->asked = false;
    *left_us = stop->ran_us = stop->looked_us = deadline_now_us();
    stop->came_us = 0;
    return true;
}

bool counter_stop_halt(struct counter_stop *stop, struct counter_stop_look *look,
                       const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    counter_stop_add_halt(stop, &list);
    stop->asked = true;
    if (!counter_stop_run(stop, &list, results, deadline, error))
        return false;
    stop->stands = true; /* as far as the undoing goes */
    return look_now(stop, true, look, deadline, error) && (!look->was_reset || error_reset(error));
}

bool counter_stop_begin(struct counter_stop *stop, uint64_t events, const struct deadline *deadline,
                        struct error *error)
{
    struct counter_stop_look look;
    int64_t ignored;
    return counter_stop_halt(stop, &look, deadline, error) &&
           counter_stop_go_on(stop, events, look.value, &ignored, deadline, error);
}

bool counter_stop_prove(struct counter_stop *stop, uint64_t events, int ms, bool *proved,
                        const struct deadline *deadline, struct error *error)
{
    enum counter_stop_state state;
    struct counter_stop_look look = {0};
    int64_t halted_us;
    *proved = false;
    if (!counter_stop_begin(stop, events, deadline, error) ||
        !counter_stop_wait(stop, deadline_now_us() + INT64_C(1000) * ms, &state, &look, &halted_us, deadline,
                           error))
        return false;
    if (state == COUNTER_STOP_RUNS && !look_around(stop, &state, &look, deadline, error))
        return false;
    *proved = state == COUNTER_STOP_STANDS;
    if (*proved && !counter_stop_check(stop, &look, events, error))
        return false;
    if (state == COUNTER_STOP_RESET)
        return error_reset(error);
    if (state == COUNTER_STOP_FOREIGN) {
        device_leave_as(stop->device, LEAVE_HALTED_FOREIGN);
        return error_set(error, ERROR_FOREIGN_STOP, "another debugger halted the core");
    }
    return undo_by_disarming(stop, deadline, error) && counter_stop_undo_by_going_on(stop, deadline, error);
}
