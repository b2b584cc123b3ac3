#include "engine/scout.h"

#include "device/settings.h"
#include "engine/direct_list.h"

#include <inttypes.h>

static uint64_t place_of(const struct direct_engine *self, const struct region *region)
{
    return core_code(self->core, region->start, region->start_is_thumb);
}

/* Sets breakpoints at as many of the starts as there are comparators for, in their order. */
static bool watch_starts(struct direct_engine *self, const struct engine_scout *scout, size_t *watched,
                         const struct deadline *deadline, struct error *error)
{
    struct breakpoints *breakpoints = &self->breakpoints;
    uint64_t start = self->region.start;
    if (!breakpoints_prepare(breakpoints, start, deadline, error))
        return false;
    for (*watched = 1; *watched < scout->n && self->call.others.n < ENGINE_SCOUTED - 1; (*watched)++) {
        uint64_t place = place_of(self, scout->regions[*watched]);
        if (!breakpoints_prepare(breakpoints, place, deadline, error))
            return false;
        if (!breakpoints_can_have_extra(breakpoints, self->call.others.n, place))
            break;
        others_add(&self->call.others, place, OTHER_PLACE, 0);
    }
    direct_new_list(self);
    breakpoints_add_move(breakpoints, &self->list, BREAKPOINT_NONE, start);
    breakpoints_add_proof(breakpoints, &self->list, start);
    for (unsigned i = 0; i < self->call.others.n; i++) {
        breakpoints_add_extra(breakpoints, &self->list, i, BREAKPOINT_NONE, self->call.others.items[i].at);
        breakpoints_add_proof(breakpoints, &self->list, self->call.others.items[i].at);
    }
    size_t at = 0;
    uint64_t saw = 0;
    if (!direct_run_list(self, &at, &saw, deadline, error))
        return false;
    return at == self->list.n ||
           error_set(error, ERROR_ADDRESS, "no breakpoint can be put at 0x%08" PRIX64, start);
}

static bool go_on_in_handler(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    direct_new_list(self);
    core_add_clear_breakpoint(self->core, &self->list);
    core_add_run(self->core, &self->list);
    return direct_check_time(self, error) && direct_run_plain(self, deadline, error);
}

/* The core stopped, but not at the first start. *place: where, if it is a stop of ours. */
static bool look_at_stop(struct direct_engine *self, uint64_t *place, bool *again,
                         const struct deadline *deadline, struct error *error)
{
    struct stop stop = {0};
    *again = false;
    if (!direct_restore_borrowed(self, deadline, error) || !direct_read_stop(self, &stop, deadline, error))
        return false;
    *place = self->region.start;
    if (stop.unreadable == NULL && others_find(&self->call.others, self->core, stop.pc) != NULL)
        *place = stop.pc;
    if (*place != stop.pc && !direct_is_in_handler(self, &stop, again, deadline, error))
        return false;
    return *again ? go_on_in_handler(self, deadline, error)
                  : direct_confirm_stop(self, *place, deadline, error);
}

static bool wait_for_one(struct direct_engine *self, uint64_t *place, const struct deadline *deadline,
                         struct error *error)
{
    bool again = true;
    *place = self->region.start;
    while (again) {
        size_t at = 0;
        uint64_t saw = 0;
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        direct_new_list(self);
        core_add_wait_halt(self->core, &self->list);
        core_add_expect_stop(self->core, &self->breakpoints.setup, &self->list, *place, true);
        if (!direct_run_list(self, &at, &saw, deadline, error))
            return false;
        if (at == self->list.n)
            return true;
        if (!look_at_stop(self, place, &again, deadline, error))
            return false;
    }
    return true;
}

bool direct_scout(struct engine *engine, const struct engine_scout *scout, struct engine_found *found,
                  const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    static const struct engine_sink quiet;
    const struct engine_request soon = {.timeout_ms = deadline_left_us(deadline) / 1000};
    const struct engine_request wait = {.timeout_ms = scout->timeout_ms};
    const struct engine_sink *sink = scout->sink != NULL ? scout->sink : &quiet;
    struct error why = {0};
    uint64_t place = 0;
    *found = (struct engine_found){0};
    self->region = *scout->regions[0];
    self->region.start = self->region.end = place_of(self, scout->regions[0]);
    self->region.to_return = false;
    self->call.others.n = 0;
    if (!process_check(&self->region.process, self->core, error))
        return false;
    if (self->region.process.which == PROCESS_ID)
        breakpoints_set_context(&self->breakpoints, self->region.process.id);
    breakpoints_want_extra(&self->breakpoints,
                           (unsigned)(scout->n < ENGINE_SCOUTED ? scout->n : ENGINE_SCOUTED) - 1);
    direct_begin(self, &soon, &quiet);
    if (!settings_watch_resets(self->device->ledger, &self->device->chosen->core, deadline, error) ||
        !watch_starts(self, scout, &found->watched, deadline, error))
        return false;
    direct_begin(self, &wait, sink);
    int64_t begun_us = deadline_now_us();
    bool reached = wait_for_one(self, &place, deadline, &why);
    found->waited_us = deadline_now_us() - begun_us;
    if (!reached)
        return direct_tell_cause(self, &why, error);
    for (size_t i = 0; i < found->watched; i++)
        if (place_of(self, scout->regions[i]) == place) {
            found->which = i;
            break;
        }
    return direct_check_neighbours(self, true, error);
}
