#include "target/reset.h"

#include "target/apply.h"

#include <unistd.h>

enum { LIST_ROOM = 16, PLACE_ROOM = 64, RESET_MS = 500, NAP_US = 2000 };

static bool allow(struct target *target, const struct steps *list, struct error *error)
{
    for (size_t i = 0; i < list->n; i++)
        if (!ledger_allow(target->ledger, list->items[i].at, error))
            return false;
    return true;
}

/* Catches a reset, and forgets what was caught before. */
static bool apply_settings(struct target *target, const struct deadline *deadline, struct error *error)
{
    return target_apply_core(target->ledger, &target->chosen->core, APPLY_ALL, deadline, error);
}

/* What is known of resets before is cleared by being read. */
static bool forget_resets(struct target *target, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &target->chosen->core;
    uint64_t cause;
    return ledger_read(target->ledger, core->ops->cause_register(core), &cause, deadline, error);
}

/* While it is reset the target may refuse to answer. */
static bool wait_for_reset(struct target *target, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &target->chosen->core;
    struct deadline soon = deadline_slice(deadline, patience_ms(RESET_MS));
    for (bool seen = false;; usleep(NAP_US)) {
        struct error unread = {0};
        uint64_t cause = 0, status = 0;
        bool read = ledger_read(target->ledger, core->ops->cause_register(core), &cause, &soon, &unread) &&
                    ledger_read(target->ledger, core->ops->status(core), &status, &soon, &unread);
        if (!read && unread.kind != ERROR_FAULT && unread.kind != ERROR_ASLEEP)
            return error_set(error, unread.kind, "%s", unread.text);
        seen = seen || (read && core->ops->reset_seen(core, cause));
        if (seen && read && core->ops->state(core, status) == CORE_HALTED)
            return true;
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (deadline_passed(&soon))
            return seen ? error_set(error, ERROR_ASLEEP, "the core was reset, but does not halt")
                        : error_set(error, ERROR_NO_RESET, "the core was asked for a reset, and none came");
    }
}

bool reset_run(struct target *target, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &target->chosen->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    core->ops->add_run(core, &list);
    return target_run(target, &list, results, deadline, error);
}

/* A catch of an older reset may have halted it meanwhile (EDESR.RC, DDI 0487 H9.2). */
static void let_go_again(struct target *target, const struct error *error)
{
    struct deadline last = deadline_in_ms(patience_ms(RESET_MS), NULL);
    const struct core *core = &target->chosen->core;
    struct error ignored = {0};
    uint64_t status;
    if (error->kind == ERROR_LINK_LOST || target->chosen->state == CORE_HALTED)
        return;
    if (ledger_read(target->ledger, core->ops->status(core), &status, &last, &ignored) &&
        core->ops->state(core, status) == CORE_HALTED)
        (void)reset_run(target, &last, &ignored);
}

bool reset_and_halt(struct target *target, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &target->chosen->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    struct error refused = {0};
    core->ops->add_reset(core, &list);
    if (!allow(target, &list, error) || !apply_settings(target, deadline, error) ||
        !forget_resets(target, deadline, error))
        return false;
    /* The access that asks for it may be cut off by it. */
    if (!target_run(target, &list, results, deadline, &refused) && refused.kind != ERROR_FAULT &&
        refused.kind != ERROR_ASLEEP)
        return error_set(error, refused.kind, "%s", refused.text);
    if (wait_for_reset(target, deadline, error))
        return apply_settings(target, deadline, error);
    let_go_again(target, error);
    return false;
}

bool reset_place(struct target *target, uint64_t *pc, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &target->chosen->core;
    struct step items[PLACE_ROOM];
    uint64_t values[PLACE_ROOM];
    struct steps list = {.items = items, .room = PLACE_ROOM};
    size_t at = core->ops->add_register(core, &list, CORE_PC);
    if (core->ops->add_registers_done != NULL)
        core->ops->add_registers_done(core, &list);
    if (!target_run(target, &list, values, deadline, error))
        return false;
    *pc = core_code_place(core_register_value(core, CORE_PC, values, at));
    return true;
}
