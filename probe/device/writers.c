#include "device/writers.h"

#include "base/arm_debug.h"
#include "cores/cortex_m.h"
#include "device/run.h"
#include "device/settings.h"

#include <stdio.h>
#include <string.h>

enum { ACCESS_MS = 5000, NAP_US = 2000, LIST_ROOM = 96, COMPARATOR = 3 };
/* How long we wait for a first write, and then for more writes to the same register, or to others once one
 * writer is known. At least READS reads are made, for slow links and targets. */
enum { FIRST_MS = 1000, MORE_MS = 200, READS = 40, STOPS = 16 };

struct watch {
    struct device *device;
    const struct core *core;
    struct ledger *ledger;
    struct writers *out;
    const volatile sig_atomic_t *cancel;
    int comparator;
    bool others; /* comparators of another debugger are in use */
    bool over;   /* nothing more is watched: out->hindrance */
};

struct look {
    uint64_t cause, function, status, registers[WRITERS_CORE];
};

static struct deadline soon(const struct watch *watch)
{
    return deadline_in_ms(patience_ms(ACCESS_MS), watch->cancel);
}

static bool writers_give_up(struct watch *watch, const char *why)
{
    snprintf(watch->out->hindrance, sizeof watch->out->hindrance, "%s", why);
    watch->over = true;
    return true;
}

bool writers_can_watch(const struct device *device)
{
    return core_has(&device->chosen->core, SYSTEM_SPACE) && device_has_run_control(device);
}

/* --- a comparator --------------------------------------------------------------------------------------- */

static bool writers_apply(struct watch *watch, const struct setting *settings, size_t n, struct error *error)
{
    struct deadline limit = soon(watch);
    return settings_apply_each(watch->ledger, settings, n, &limit, error);
}

static struct setting trace_on(const struct core *core)
{
    return (struct setting){
        .at = core_word(core, DEMCR), .test = DEMCR_TRCENA, .set = DEMCR_TRCENA, .keep = UINT64_MAX};
}

/* --- the core ------------------------------------------------------------------------------------------- */

static bool writers_read_state(struct watch *watch, enum core_state *state, struct error *error)
{
    struct deadline limit = soon(watch);
    uint64_t status;
    if (!ledger_read(watch->ledger, core_status_register(watch->core), &status, &limit, error))
        return false;
    *state = core_state_of(watch->core, status);
    return true;
}

static bool writers_look(struct watch *watch, struct look *out, struct error *error)
{
    static const enum core_register named[] = {[13] = CORE_SP, [14] = CORE_LR, [15] = CORE_PC};
    const struct core *core = watch->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    struct deadline limit = soon(watch);
    enum core_register which[WRITERS_CORE];
    size_t at[WRITERS_CORE];
    size_t function = steps_add(&list, step_read(watchpoints_function(core, (unsigned)watch->comparator)));
    for (unsigned i = 0; i < WRITERS_CORE; i++) {
        which[i] = i < 13 ? CORE_R0 + i : named[i];
        at[i] = core_add_register(core, &list, which[i]);
    }
    size_t status = core_add_register(core, &list, CORE_STATUS);
    size_t cause = core_add_cause(core, &list); /* last: a reset until here is in it */
    if (!ledger_run(watch->ledger, &list, results, &limit, error))
        return false;
    *out = (struct look){.cause = results[cause],
                         .function = results[function],
                         .status = core_register_value(core, CORE_STATUS, results, status)};
    for (unsigned i = 0; i < WRITERS_CORE; i++)
        out->registers[i] = core_register_value(core, which[i], results, at[i]);
    return true;
}

static void add_going_on(const struct core *core, struct steps *list)
{
    steps_add(list, step_write(core_cause_register(core), DFSR_ALL));
    core_add_run(core, list);
}

/* A watched program may have just switched trace off: it is switched on again while the core is halted. */
static bool go_on(struct watch *watch, struct error *error)
{
    const struct core *core = watch->core;
    struct deadline limit = soon(watch);
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM], demcr;
    struct steps list = {.items = items, .room = LIST_ROOM};
    if (!ledger_read(watch->ledger, core_word(core, DEMCR), &demcr, &limit, error))
        return false;
    if ((demcr & DEMCR_TRCENA) == 0)
        steps_add(&list, step_write(core_word(core, DEMCR), demcr | DEMCR_TRCENA));
    add_going_on(core, &list);
    limit = soon(watch);
    return ledger_run(watch->ledger, &list, results, &limit, error);
}

/* The ledger undoes a watch in reverse: this halts the core and switches trace on, without which a comparator
 * cannot be switched off; then the ledger restores the comparator; then undo_by_going_on lets the core run.
 */
static bool undo_by_halting(void *context, const struct deadline *deadline, struct error *error)
{
    struct device *device = context;
    const struct core *core = &device->chosen->core;
    struct address trace = core_word(core, DEMCR);
    uint64_t demcr;
    return (device->leave == LEAVE_HALTED_FOREIGN ||
            run_add(device->ledger, core, core_add_halt, deadline, error)) &&
           ledger_read(device->ledger, trace, &demcr, deadline, error) &&
           ledger_write(device->ledger, trace, demcr | DEMCR_TRCENA, (struct restore){0}, deadline, error);
}

static bool writers_undo_by_going_on(void *context, const struct deadline *deadline, struct error *error)
{
    struct device *device = context;
    return device->leave == LEAVE_HALTED_FOREIGN ||
           run_add(device->ledger, &device->chosen->core, add_going_on, deadline, error);
}

static bool halt(struct watch *watch, struct error *error)
{
    struct deadline limit = soon(watch);
    return run_add(watch->ledger, watch->core, core_add_halt, &limit, error);
}

/* --- a register ----------------------------------------------------------------------------------------- */

/* While the core is halted: a running program may switch trace off, and then the writes are ignored. */
static bool writers_arm(struct watch *watch, uint64_t word, struct error *error)
{
    struct setting settings[COMPARATOR];
    struct deadline limit = soon(watch);
    size_t n = watchpoints_settings(watch->core, (unsigned)watch->comparator, word, settings, COMPARATOR);
    struct setting off = settings[n - 1];
    off.set = 0;
    const struct setting trace = trace_on(watch->core);
    if (!halt(watch, error) || !writers_apply(watch, &trace, 1, error) ||
        !writers_apply(watch, settings, n - 1, error) || !writers_apply(watch, &off, 1, error) ||
        !writers_apply(watch, &settings[n - 1], 1, error))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t now;
        if (!ledger_read(watch->ledger, settings[i].at, &now, &limit, error))
            return false;
        if ((now & settings[i].test) != settings[i].set)
            writers_give_up(watch, "the watchpoint comparator does not take what is written to it");
    }
    return go_on(watch, error);
}

/* Halts the core: a running program may switch trace off, and then comparators can be neither read nor
 * written. */
static bool writers_halt(struct watch *watch, struct error *error)
{
    struct deadline limit = soon(watch);
    const struct setting trace = trace_on(watch->core);
    return settings_apply_core(watch->ledger, watch->core, APPLY_ALL, &limit,
                               error) && /* it is undone last */
           ledger_hold(watch->ledger, trace.at, (struct restore){0}, NULL, &limit, error) &&
           ledger_push_undo(watch->ledger, (struct undo_action){watch->device, writers_undo_by_going_on},
                            error) &&
           halt(watch, error) && writers_apply(watch, &trace, 1, error);
}

/* Another debugger's comparator may wait for trace: we must not wake it up. */
static bool writers_find_comparator(struct watch *watch, struct error *error)
{
    struct deadline limit = soon(watch);
    struct address trace = core_word(watch->core, DEMCR);
    uint64_t functions[WATCHPOINTS], control, found = 0;
    if (!ledger_read(watch->ledger, core_word(watch->core, DWT_CTRL), &control, &limit, error))
        return false;
    unsigned n = watchpoints_count(control);
    for (unsigned i = 0; i < n; i++)
        if (!ledger_read(watch->ledger, watchpoints_function(watch->core, i), &functions[i], &limit, error))
            return false;
    watch->comparator = watchpoints_find(watch->core, functions, n, &watch->others);
    if (watch->others && ledger_old(watch->ledger, trace, &found) && (found & DEMCR_TRCENA) == 0) {
        writers_give_up(watch, "another debugger's watchpoint would wake up");
        return ledger_write(watch->ledger, trace, found, (struct restore){0}, &limit, error);
    }
    if (n == 0)
        return writers_give_up(watch, "the core has no watchpoint comparators");
    return watch->comparator >= 0 || writers_give_up(watch, "all watchpoint comparators are in use");
}

static bool writers_hold(struct watch *watch, struct error *error)
{
    struct setting settings[COMPARATOR];
    struct deadline limit = soon(watch);
    size_t n = watchpoints_settings(watch->core, (unsigned)watch->comparator, 0, settings, COMPARATOR);
    for (size_t i = 0; i < n; i++)
        if (!ledger_hold(watch->ledger, settings[i].at, settings[i].restore, NULL, &limit, error))
            return false;
    return ledger_push_undo(watch->ledger, (struct undo_action){watch->device, undo_by_halting}, error);
}

/* Restores the counter too: without trace its registers could not be restored later. */
static bool undo(struct watch *watch, const struct counter_block *block, struct error *error)
{
    struct setting settings[COMPARATOR];
    struct deadline limit = soon(watch);
    struct address trace = core_word(watch->core, DEMCR);
    size_t n = watchpoints_settings(watch->core, (unsigned)watch->comparator, 0, settings, COMPARATOR);
    if (!ledger_run_undo(watch->ledger, (struct undo_action){watch->device, undo_by_halting}, &limit, error))
        return false;
    while (n-- > 0)
        if (!ledger_release(watch->ledger, settings[n].at, &limit, error))
            return false;
    for (size_t i = block->n_settings; i-- > 0;)
        if (block->settings[i].at.offset != trace.offset &&
            !ledger_release(watch->ledger, block->settings[i].at, &limit, error))
            return false;
    return ledger_run_undo(watch->ledger, (struct undo_action){watch->device, writers_undo_by_going_on},
                           &limit, error);
}

static void writers_note(struct watch *watch, const struct counter_register *which, const struct look *seen)
{
    struct writers *out = watch->out;
    uint64_t pc = core_code_place(seen->registers[WRITERS_CORE - 1]);
    for (size_t i = 0; i < out->n; i++)
        if (out->items[i].stop == pc && out->items[i].word == which->word) {
            out->items[i].times++;
            return;
        }
    if (out->n == WRITERS_ROOM) {
        out->more = true;
        return;
    }
    struct writer *writer = &out->items[out->n++];
    *writer = (struct writer){.name = which->name, .word = which->word, .stop = pc, .times = 1};
    for (unsigned i = 0; i < WRITERS_CORE; i++)
        writer->registers[i] = (uint32_t)seen->registers[i];
}

/* *ours: the watchpoint stopped the core. A foreign stop is left. */
static bool writers_take_stop(struct watch *watch, const struct counter_register *which, bool *ours,
                              struct error *error)
{
    struct look seen;
    *ours = false;
    if (!writers_look(watch, &seen, error))
        return false;
    if ((seen.cause & DFSR_ALL) == 0) /* right after a resume the core may still read as halted */
        return true;
    enum stop_cause cause = core_cause(watch->core, seen.cause, seen.status);
    *ours = cause == STOP_WATCHPOINT && (!watch->others || watchpoints_matched(seen.function));
    if (cause == STOP_RESET) {
        writers_give_up(watch, "the target was reset meanwhile");
        return go_on(watch, error);
    }
    if (!*ours) {
        device_leave_as(watch->device, LEAVE_HALTED_FOREIGN);
        watch->device->stopped_at = core_code_place(seen.registers[WRITERS_CORE - 1]);
        return writers_give_up(watch, "another debugger halted the core meanwhile; it is left halted");
    }
    writers_note(watch, which, &seen);
    return go_on(watch, error);
}

static bool watch_register(struct watch *watch, const struct counter_register *which, struct error *error)
{
    int64_t began = deadline_now_us(),
            until = began + INT64_C(1000) * (watch->out->n > 0 ? MORE_MS : FIRST_MS);
    unsigned stops = 0;
    if (!writers_arm(watch, which->word, error))
        return false;
    if (!watch->over)
        watch->out->watched[watch->out->n_watched++] = which->name;
    for (unsigned reads = 0; !watch->over && stops < STOPS && (reads < READS || deadline_now_us() < until);
         reads++) {
        enum core_state state;
        bool ours = false;
        if (watch->cancel != NULL && *watch->cancel)
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (!writers_read_state(watch, &state, error))
            return false;
        if (state == CORE_LOCKUP)
            return writers_give_up(watch, "the core locked up");
        if (state != CORE_HALTED) {
            deadline_nap_us(NAP_US);
            continue;
        }
        if (!writers_take_stop(watch, which, &ours, error))
            return false;
        if (ours && stops++ == 0)
            until = deadline_now_us() + INT64_C(1000) * MORE_MS;
    }
    return true;
}

static bool writers_is_called(const struct counter_register *which, const char *name)
{
    return name != NULL &&
           (strcmp(which->name, name) == 0 || (which->also != NULL && strcmp(which->also, name) == 0));
}

static bool watch_all(struct watch *watch, const struct counter_register *registers, size_t n,
                      const char *first, struct error *error)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n && !watch->over; i++)
            if (writers_is_called(&registers[i], first) == (pass == 0) &&
                !watch_register(watch, &registers[i], error))
                return false;
    return true;
}

bool writers_watch(struct device *device, const struct counter_block *block, const char *first,
                   struct writers *out, const struct deadline *deadline, struct error *error)
{
    struct watch watch = {.device = device,
                          .core = &device->chosen->core,
                          .ledger = device->ledger,
                          .out = out,
                          .cancel = deadline->cancel};
    enum core_state state;
    const struct counter_register *registers = block->kind->registers;
    size_t n = block->kind->n_registers;
    *out = (struct writers){0};
    if (n == 0)
        return writers_give_up(&watch, "this counter's registers are not known");
    if (!writers_read_state(&watch, &state, error))
        return false;
    if (state == CORE_HALTED || state == CORE_LOCKUP)
        return writers_give_up(&watch, "the core does not run");
    if (!writers_halt(&watch, error) || !writers_find_comparator(&watch, error))
        return false;
    if (watch.over) {
        struct deadline limit = soon(&watch);
        return ledger_run_undo(device->ledger, (struct undo_action){device, writers_undo_by_going_on}, &limit,
                               error);
    }
    return writers_hold(&watch, error) && watch_all(&watch, registers, n, first, error) &&
           undo(&watch, block, error);
}
