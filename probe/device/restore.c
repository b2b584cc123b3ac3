/* SPDX-License-Identifier: MIT */
#include "device/restore.h"

#include "base/arm_debug.h"
#include "debuggers/debugger.h"
#include "device/release.h"
#include "device/run.h"
#include "device/settings.h"
#include "links/ledger.h"

#include <inttypes.h>

enum { LIST_ROOM = JOURNAL_BORROWED + 1 };

/* --- what was left -------------------------------------------------------------------------------------- */

/* Whether it can be read while the core runs. */
static bool is_in_sight(const struct journal_entry *entry)
{
    return entry->at.space != SPACE_CORE;
}

static bool restore_read_state(struct device *device, const struct journal_entry *entry, bool *seen,
                               enum holds *state, const struct deadline *deadline, struct error *error)
{
    struct error unread = {0};
    uint64_t now = 0;
    const struct address *at = entry->status.size != 0 ? &entry->status : &entry->at;
    *seen = is_in_sight(entry) && ledger_read(device->ledger, *at, &now, deadline, &unread);
    *state = *seen ? left_alone_holds(entry, now) : HOLDS_OTHER;
    bool hidden = unread.kind == ERROR_NONE || error_is_refusal(&unread);
    return hidden || error_copy(error, &unread);
}

static bool has_borrowed(const struct device *device, const struct journal_file *file)
{
    return file->n_borrowed > 0 && device->chosen->state == CORE_HALTED && device->debugger == NULL &&
           (device->chosen->status & core_borrowed_mark(&device->chosen->core)) != 0;
}

bool left_any(const struct left *left)
{
    return left->ours > 0 || left->halted || left->borrowed;
}

bool restore_choose(struct device *device, const struct journal_head *head, struct error *error)
{
    for (size_t i = 0; i < device->n_cores; i++) {
        const struct core *core = &device->cores[i].core;
        if (core->id != head->id || core->unit != head->unit || core->debug_base != head->debug ||
            i != head->number)
            continue;
        device->chosen = &device->cores[i];
        return true;
    }
    return error_advise(error, ERROR_NO_CORE, "Connect that run's target, or remove the journal.",
                        "the target has no core %u that is %s at 0x%08" PRIX64, head->number, head->core,
                        head->debug);
}

bool restore_look_for_reset(struct device *device, const struct device_core *chosen, bool *reset,
                            bool *halted, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &chosen->core;
    uint64_t cause = 0;
    *reset = false;
    *halted = chosen->state == CORE_HALTED;
    if (device->debugger != NULL || !core_has(core, DEBUG_COMPONENT))
        return true;
    if (!ledger_read(device->ledger, core_reset_register(core), &cause, deadline, error))
        return false;
    *reset = core_reset_seen(core, cause);
    *halted = *halted || (chosen->state == CORE_HIDDEN && (cause & PRSR_HALTED) != 0);
    return true;
}

bool restore_look(struct device *device, struct journal_file *file, struct left *out,
                  const struct deadline *deadline, struct error *error)
{
    bool reset, halted;
    *out = (struct left){0};
    if (!restore_look_for_reset(device, device->chosen, &reset, &halted, deadline, error))
        return false;
    out->halted = halted && !file->head.was_halted;
    if (reset)
        journal_forget_borrowed(file);
    out->borrowed = has_borrowed(device, file);
    for (size_t i = 0; i < file->n; i++) {
        bool seen;
        enum holds state;
        if (!restore_read_state(device, &file->entries[i], &seen, &state, deadline, error))
            return false;
        out->ours += seen && state == HOLDS_OURS;
    }
    return true;
}

/* --- putting it back ------------------------------------------------------------------------------------ */

/* What the run had borrowed of the halted program, such as R0. To give it back once more does no harm. */
static bool restore_give_back(struct device *device, const struct journal_file *file, struct restored *out,
                              const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device->chosen->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    bool was_reset = false;
    out->gave_back = has_borrowed(device, file);
    if (device->debugger != NULL && file->n_borrowed > 0) /* which has the program's registers itself */
        return run_clear_mark(device->ledger, core, deadline, error);
    if (!out->gave_back)
        return true;
    size_t since = steps_add(&list, step_read(core_status_register(core))), done = since + 1;
    for (size_t i = 0; i < file->n_borrowed; i++) {
        out->gave_first = out->gave_first || core_gives_first(core, &file->borrowed[i]);
        steps_add(&list, file->borrowed[i]);
        if (file->borrowed[i].op == OP_WRITE && !ledger_allow(device->ledger, file->borrowed[i].at, error))
            return false;
    }
    steps_give_back(&list, since, done);
    return run_settle(device->ledger, core, &list, &done, results, &was_reset, deadline, error);
}

static bool is_code(const struct device *device, const struct journal_entry *entry)
{
    uint8_t width = 0;
    (void)core_breakpoint_instruction(&device->chosen->core, &width);
    return entry->restore.only_ours && width != 0 && entry->at.size == width &&
           entry->at.space == SPACE_MEMORY;
}

enum adopt { ADOPT_ALL, ADOPT_IN_SIGHT, ADOPT_UNSEEN };

/* Takes the journal over into the ledger, which leaves alone what something else has written since. */
static bool adopt(struct device *device, const struct journal_file *file, enum adopt which,
                  struct restored *out, const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < file->n; i++) {
        const struct journal_entry *entry = &file->entries[i];
        bool seen;
        enum holds state;
        if (which == (is_in_sight(entry) ? ADOPT_UNSEEN : ADOPT_IN_SIGHT))
            continue;
        if (!is_in_sight(entry) && !device_make_access(device, error))
            return false;
        if (!restore_read_state(device, entry, &seen, &state, deadline, error))
            return false;
        out->registers += seen && state == HOLDS_OURS && !is_code(device, entry);
        out->unseen += !seen;
        out->code += seen && state == HOLDS_OURS && is_code(device, entry);
        if (!ledger_adopt(device->ledger, entry, error))
            return false;
    }
    return true;
}

/* Breakpoints first, so that no core stops again when it is let go. */
static bool remove_breakpoints(struct device *device, const struct journal_file *file,
                               const struct deadline *deadline, struct error *error)
{
    for (size_t i = file->n; i-- > 0;) {
        const struct journal_entry *entry = &file->entries[i];
        if (entry->restore.only_ours && !ledger_release(device->ledger, entry->at, deadline, error))
            return false;
        if (is_code(device, entry) &&
            !run_code_changed(device->ledger, &device->chosen->core, entry->at.offset, deadline, error))
            return false;
    }
    return true;
}

static bool put_back_unseen(struct device *device, const struct journal_file *file,
                            const struct deadline *deadline, struct error *error)
{
    for (size_t i = file->n; i-- > 0;)
        if (!is_in_sight(&file->entries[i]) &&
            !ledger_release(device->ledger, file->entries[i].at, deadline, error))
            return false;
    return true;
}

/* Another core that shares the memory may have run onto a breakpoint instruction of the run. */
static bool let_neighbours_go(struct device *device, const struct journal_file *file,
                              const struct deadline *deadline, struct error *error)
{
    struct device_core *chosen = device->chosen;
    bool ok = true;
    for (size_t i = 0; ok && i < device->n_cores; i++) {
        struct device_core *other = &device->cores[i];
        bool at_code = false;
        for (size_t k = 0; k < file->n; k++)
            at_code = at_code ||
                      (is_code(device, &file->entries[k]) && file->entries[k].at.offset == other->halted_at);
        if (other == chosen || other->state != CORE_HALTED || !at_code)
            continue;
        struct release ignored;
        device->chosen = other;
        ok = release_let_go(device, true, &ignored, deadline, error);
        device->chosen = chosen;
    }
    return ok;
}

static bool let_run_on(struct device *device, struct restored *out, const struct deadline *deadline,
                       struct error *error)
{
    struct release release;
    if (device->debugger != NULL) { /* it lets the core go at its end */
        out->let_go = device->chosen->state == CORE_HALTED;
        out->stood_at = device->chosen->halted_at;
        device->debugger->stays_halted = false;
        return true;
    }
    if (!core_has_run_control(&device->chosen->core))
        return true;
    if (!release_let_go(device, !out->gave_first, &release, deadline, error))
        return false;
    out->let_go = release.was_halted && !release.halted_again && !release.breakpoint_instruction;
    out->stood_at = release.stood_at;
    out->halted_again = release.halted_again || release.breakpoint_instruction;
    out->stands_at = release.halted_again ? release.stands_at : release.stood_at;
    return true;
}

/* What only the halted core reaches is put back while it is halted, if it is in a mode for that. */
static bool restore_run_on(struct device *device, const struct journal_file *file, struct restored *out,
                           const struct deadline *deadline, struct error *error)
{
    struct error not_now = {0};
    bool back = device->debugger != NULL || /* at the end: it has the core halted until then */
                (device->chosen->state == CORE_HALTED && put_back_unseen(device, file, deadline, &not_now));
    return let_run_on(device, out, deadline, error) &&
           (back || put_back_unseen(device, file, deadline, error));
}

bool restore_run(struct device *device, const struct journal_file *file, struct restored *out,
                 const struct deadline *deadline, struct error *error)
{
    *out = (struct restored){0};
    if (device->chosen->state == CORE_LOCKUP)
        return error_lockup(error);
    /* What the run had set up counted as taken when the core was found */
    out->again =
        device->chosen->core.unstoppable != NULL && device->debugger == NULL && !file->head.was_halted;
    if (!device_keep(device, deadline, error) || !restore_give_back(device, file, out, deadline, error) ||
        !adopt(device, file, out->again ? ADOPT_IN_SIGHT : ADOPT_ALL, out, deadline, error) ||
        !device_hold_control(device, deadline, error) || !remove_breakpoints(device, file, deadline, error) ||
        !let_neighbours_go(device, file, deadline, error))
        return false;
    if (file->head.was_halted) {
        device_leave_as(device, LEAVE_HALTED_AGAIN);
        return true;
    }
    return out->again ? ledger_undo(device->ledger, deadline, error)
                      : restore_run_on(device, file, out, deadline, error);
}

bool restore_let_go(struct device *device, const struct journal_file *file, struct restored *out,
                    const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device->chosen->core;
    /* As for a run, so that the undoing restores what it takes to let the core go */
    return device_keep(device, deadline, error) &&
           settings_apply_core(device->ledger, core, APPLY_ALL, deadline, error) &&
           settings_switch_on_comparators(device->ledger, core, deadline, error) &&
           adopt(device, file, ADOPT_UNSEEN, out, deadline, error) &&
           restore_run_on(device, file, out, deadline, error);
}
