#include "engine/direct.h"

#include "device/settings.h"

enum { HALT_READS = 12 };

static bool run_on(struct direct_engine *self, struct error *error)
{
    direct_new_list(self);
    /* The halt ends a step and the holding off of interrupts */
    if (self->engine.budget.stop != NULL) {
        counter_stop_add_halt(self->engine.budget.stop, &self->list);
    } else {
        core_add_halt(self->core, &self->list);
        core_add_ready(self->core, &self->list);
    }
    direct_add_run(self, &self->list);
    return direct_run_plain(self, error);
}

/* It may show a reset only once: the end of the run must know. */
static bool direct_read_status(const struct direct_engine *self, uint64_t *status, struct error *error)
{
    struct device *device = self->device;
    if (!ledger_read(device->ledger, core_status_register(self->core), status, self->deadline, error))
        return false;
    device->was_reset =
        device->was_reset || (core_has(self->core, STATUS_FORGETS) && core_reset_since(self->core, *status));
    return true;
}

static bool has_left(const struct direct_engine *self)
{
    struct error unread = {0};
    uint64_t status = 0;
    for (int i = 0; i < HALT_READS; i++)
        if (!direct_read_status(self, &status, &unread) || !core_has_not_left(self->core, status))
            return true;
    return false;
}

/* A server that was started anew has changed the trigger by which we let the core go. */
static bool direct_leave_insist(struct direct_engine *self, struct error *error)
{
    return settings_apply_core(self->device->ledger, self->core, APPLY_ALL, self->deadline, error) &&
           run_on(self, error) &&
           (has_left(self) ||
            error_set(error, ERROR_STATE, "the core is left halted: it does not leave Debug state"));
}

/* With the only breakpoint, a stop at one is ours even if its PC cannot be read. */
static bool direct_leave_is_ours(struct direct_engine *self, const struct stop *stop, bool busy, bool *ours,
                                 struct error *error)
{
    bool in_handler;
    if (!direct_is_in_handler(self, stop, &in_handler, error))
        return false;
    bool other_code =
        stop->unreadable != NULL && stop->cause == STOP_BREAKPOINT && self->breakpoints.setup.sole;
    *ours = busy || other_code || in_handler || stop->cause == STOP_RESET || stop->pc == self->region.start ||
            stop->pc == direct_end(self) || others_find(&self->call.others, self->core, stop->pc) != NULL ||
            (self->call.others.n > 0 && self->breakpoint_at == stop->pc);
    return true;
}

/* Resumes the core, if we stopped it or it is at one of our stops. */
static bool leave_stop(struct direct_engine *self, struct error *error)
{
    uint64_t status = 0;
    struct stop stop = {0};
    struct error stays = {0};
    direct_begin_own(self, OWN_MS, self->deadline);
    if (self->device->leave == LEAVE_HALTED_FOREIGN)
        return true;
    bool busy = self->halted_by_us || self->was_reset, halted = !busy;
    /* Right after a resume the core may still read as halted; right after a step, not yet. */
    for (int i = 0; i < HALT_READS && halted != busy; i++) {
        if (!direct_read_status(self, &status, error))
            return false;
        halted = core_state_of(self->core, status) == CORE_HALTED;
    }
    if (!halted && self->interrupts_held) { /* it runs in a handler that could not be held off */
        direct_new_list(self);
        core_add_halt(self->core, &self->list);
        core_add_let_go(self->core, &self->list);
        return direct_run_plain(self, error);
    }
    if (!halted)
        return true;
    busy = busy || (self->may_step && core_may_have_stepped(self->core, status));
    if (!device_check_left(self->device, &stays)) {
        device_leave_as(self->device, LEAVE_HALTED_RESET);
        return true;
    }
    struct counter_stop_look look = {0};
    struct error why = {0};
    if (self->engine.budget.stop != NULL && !self->was_reset && !direct_look_at_budget(self, &look, &why) &&
        !self->was_reset)
        return error_copy(error, &why);
    bool ours = look.is_ours;
    /* A reset may occur between the cause and the PC. */
    for (int i = 0; i < STOP_READS && !ours; i++)
        if (!direct_read_stop(self, &stop, error) || !direct_leave_is_ours(self, &stop, busy, &ours, error))
            return false;
    if (self->foreign_stop || !ours) {
        device_leave_as(self->device, LEAVE_HALTED_FOREIGN);
        self->engine.stopped_at = core_code_place(stop.pc);
        return true;
    }
    return run_on(self, error) && (has_left(self) || direct_leave_insist(self, error));
}

bool direct_disarm(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    self->deadline = deadline;
    return direct_restore_borrowed(self, error) && breakpoints_remove(&self->breakpoints, deadline, error) &&
           breakpoints_resume_neighbours(&self->breakpoints, deadline, error) && leave_stop(self, error);
}
