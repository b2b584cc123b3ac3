#include "engine/direct.h"

#include <inttypes.h>
#include <stdio.h>

bool direct_has_shared_counter(const struct direct_engine *self)
{
    return self->engine.budget.stop != NULL && self->engine.budget.stop->is_shared;
}

bool direct_read_register(struct direct_engine *self, enum core_register which, uint64_t *out,
                          struct error *error)
{
    direct_new_registers(self);
    size_t at = core_add_register(self->core, &self->list, which);
    if (!direct_run_plain(self, error))
        return false;
    *out = core_register_value(self->core, which, self->results, at);
    return true;
}

/* "CONTEXTIDR, by which they differ, was 0x2 at this stop", if it can be read. */
static bool describe_context(struct direct_engine *self, char *out, size_t size, struct error *error)
{
    struct error unread = {0};
    size_t at;
    snprintf(out, size, "CONTEXTIDR, by which they differ, cannot be read from there");
    direct_new_registers(self);
    if (!core_add_context(self->core, &self->list, &at))
        return true;
    if (direct_run_plain(self, &unread))
        snprintf(out, size, "CONTEXTIDR, by which they differ, was 0x%" PRIX64 " at this stop",
                 self->results[at]);
    return direct_restore_borrowed(self, error);
}

bool direct_check_mode(struct direct_engine *self, struct error *error)
{
    char context[96];
    direct_new_registers(self);
    size_t mode = self->core->ops->processes->add_mode(self->core, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    self->mode_checked = true;
    if (!self->core->ops->processes->in_user_mode(self->core, self->results[mode]))
        return true;
    if (!describe_context(self, context, sizeof context, error))
        return false;
    return error_set(
        error, ERROR_STATE,
        "0x%08" PRIX64 " is run in user mode: under an operating system other processes may have "
        "other code there.\n%s. --context ID measures where it is ID only; --context any, wherever "
        "that address is reached",
        core_code_place(self->region.start), context);
}

static bool direct_start_read_for_call(void *context, enum core_register which, uint64_t *out,
                                       struct error *error)
{
    return direct_read_register(context, which, out, error);
}

static bool can_stop(void *context, unsigned n, uint64_t at, bool *can, struct error *error)
{
    struct direct_engine *self = context;
    *can = false;
    if (!breakpoints_prepare(&self->breakpoints, at, self->deadline, error))
        return false;
    *can = breakpoints_can_have_extra(&self->breakpoints, n, at);
    return true;
}

struct call_access direct_access(struct direct_engine *self)
{
    return (struct call_access){.device = self->device,
                                .region = &self->region,
                                .deadline = self->deadline,
                                .context = self,
                                .read = direct_start_read_for_call,
                                .can_stop = can_stop};
}

bool direct_find_base(struct direct_engine *self, struct error *error)
{
    enum core_register base = self->region.start_base;
    direct_new_registers(self);
    size_t at = core_add_register(self->core, &self->list, base);
    size_t reset = core_add_reset_seen(self->core, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    if (core_reset_seen(self->core, self->results[reset]))
        return direct_tell_reset(self, error);
    frame_find_base(&self->call.frame, self->core, &self->region,
                    core_register_value(self->core, base, self->results, at));
    self->expects_frame = true;
    return true;
}

static bool direct_start_find_counter(struct direct_engine *self, struct error *error)
{
    struct counter_stop_look look = {0};
    bool ok = !direct_has_shared_counter(self) || direct_look_at_budget(self, &look, error);
    self->start_counter = look.value;
    return ok;
}

enum { SPARE_CHANGES = 3 };

bool direct_has_spare(struct direct_engine *self)
{
    return self->spare_changes < SPARE_CHANGES &&
           core_spare_register(self->core, self->device->reading.by_core != NULL, &self->spare.which);
}

void direct_note_change(struct direct_engine *self)
{
    self->spare_changes += self->spare_changes < SPARE_CHANGES;
    self->spare_read = self->expects_frame = false; /* it is read with the next frame */
}

/* Halted at the start: what the spare register holds now, and probably at the end, since functions keep it.
 */
static void note_spare(struct direct_engine *self, bool same_call, uint64_t value)
{
    if (self->spare_read && same_call && value != self->spare.value)
        direct_note_change(self);
    self->spare.value = value;
    self->spare_read = self->spare_changes < SPARE_CHANGES;
}

/* For counters that the core itself reads, in regions that need no frame. */
bool direct_find_spare(struct direct_engine *self, struct error *error)
{
    uint64_t value = 0;
    if (!direct_read_register(self, self->spare.which, &value, error))
        return false;
    note_spare(self, false, value);
    return true;
}

bool direct_find_return(struct direct_engine *self, bool *inner, struct error *error)
{
    direct_new_registers(self);
    size_t lr = core_add_register(self->core, &self->list, CORE_LR);
    size_t sp = core_add_register(self->core, &self->list, CORE_SP);
    bool has = direct_has_spare(self);
    size_t spare = has ? core_add_register(self->core, &self->list, self->spare.which) : 0;
    size_t reset = core_add_reset_seen(self->core, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    if (core_reset_seen(self->core, self->results[reset]))
        return direct_tell_reset(self, error);
    struct frame before = self->call.frame;
    self->call.frame.lr = core_register_value(self->core, CORE_LR, self->results, lr);
    self->call.frame.sp = core_register_value(self->core, CORE_SP, self->results, sp);
    if (has)
        note_spare(self, self->call.frame.lr == before.lr && self->call.frame.sp == before.sp,
                   core_register_value(self->core, self->spare.which, self->results, spare));
    const struct call_access access = direct_access(self);
    if (!call_enter(&self->call, &access, NULL, inner, error))
        return false;
    self->breakpoint_at = self->call.frame.end.pc;
    self->expects_frame = !*inner;
    self->progress.inner += *inner;
    if (*inner)
        return true;
    if (!direct_start_find_counter(self, error))
        return false;
    /* The start first: a full table of breakpoint instructions drops the one that was used longest ago. */
    return breakpoints_prepare(&self->breakpoints, self->region.start, self->deadline, error) &&
           breakpoints_prepare(&self->breakpoints, self->call.frame.end.pc, self->deadline, error);
}
