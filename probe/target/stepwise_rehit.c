/* Re-hits: what leaving and entering Debug state costs through a debugger, found by resuming onto a
 * breakpoint. */
#include "cores/flow.h"
#include "target/stepwise.h"
#include "target/stepwise_stops.h"

enum { LIST_ROOM = READING_STEPS + WITNESS_ROOM + 8, READ_MS = 5000, REHITS = 32 };

static struct deadline some_time(const struct deadline *deadline)
{
    return deadline_in_ms(patience_ms(READ_MS), deadline->cancel);
}

bool stepwise_read(struct stepwise *self, uint64_t *values, bool *pending, bool *reset,
                   const struct deadline *deadline, struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    struct deadline limit = some_time(deadline);
    size_t at = reading_add(&self->target->reading, false, &list);
    size_t pending_at = pending != NULL ? ops->add_pending(self->core, &list) : SIZE_MAX;
    bool may_reset = reset != NULL && ops->add_reset_seen != NULL;
    struct witness_places places;
    if (reset != NULL)
        witness_add(&self->target->witness, self->core, &list, &places);
    size_t reset_at = may_reset ? ops->add_reset_seen(self->core, &list) : SIZE_MAX;
    if (!target_run(self->target, &list, results, &limit, error))
        return false;
    reading_take(&self->target->reading, false, results, at, values);
    if (pending != NULL)
        *pending = pending_at != SIZE_MAX && ops->pending(self->core, results[pending_at]);
    if (reset != NULL)
        *reset = may_reset && ops->reset_seen(self->core, results[reset_at]);
    if (reset == NULL || *reset)
        return true;
    uint64_t saw = 0;
    const struct witness_item *changed = witness_changed(&self->target->witness, results, &places, &saw);
    return changed == NULL || witness_tell(changed, saw, error);
}

/* Where the instruction behind the one at `here` begins; 0: the core may go elsewhere. */
static uint64_t next_after(struct stepwise *self, uint64_t here, const struct deadline *deadline)
{
    uint8_t code[4];
    unsigned size = 4;
    struct error unread = {0};
    struct deadline limit = some_time(deadline);
    if (self->core->family == CORE_X86_64) /* whose instructions are of any length */
        return 0;
    if (!self->debugger->ops->read_memory(self->debugger, core_place(self->core, here), code, sizeof code,
                                          &limit, &unread))
        return 0;
    uint16_t first = (uint16_t)(code[0] | code[1] << 8), second = (uint16_t)(code[2] | code[3] << 8);
    uint32_t word = first | (uint32_t)second << 16;
    bool falls = self->core->family == CORE_ARMV8               ? a64_falls_through(word)
                 : stepwise_code_size(self, here) == THUMB_KIND ? thumb_falls_through(first, second, &size)
                                                                : arm_falls_through(word);
    return falls ? here + size : 0;
}

/*
 * Whether a resume onto our own breakpoint executes nothing. A server that steps over its breakpoints would
 * make whole passages look like the cost of a halt: a second breakpoint behind the instruction tells. *moved:
 * the core did.
 */
static bool try_rehit(struct stepwise *self, uint64_t here, bool *moved, const struct deadline *deadline,
                      struct error *error)
{
    uint64_t guard = next_after(self, here, deadline), pc = 0;
    struct error refused = {0};
    *moved = false;
    if (guard == 0)
        return true;
    if (!stepwise_point(self, guard, true, deadline, &refused))
        return refused.kind == ERROR_ADDRESS || refused.kind == ERROR_NO_COMPARATOR ||
               error_set(error, refused.kind, "%s", refused.text);
    self->guard = guard;
    bool ok = stepwise_run(self, WAIT_END, deadline, error) &&
              stepwise_register(self, CORE_PC, &pc, deadline, error);
    if (!ok)
        return false; /* disarm takes the guard away */
    if (!stepwise_point(self, guard, false, deadline, error))
        return false;
    self->guard = POINT_NONE;
    *moved = core_place(self->core, pc) == core_place(self->core, guard);
    self->rehit =
        core_place(self->core, pc) == core_place(self->core, here) ? REHIT_STOPS_AGAIN : REHIT_STEPS_OVER;
    return *moved || stepwise_prove(self, here, deadline, error);
}

bool stepwise_rehits(struct stepwise *self, uint64_t here, unsigned rehits, bool *moved,
                     const struct deadline *deadline, struct error *error)
{
    *moved = false;
    if (rehits > 0 && self->rehit == REHIT_UNKNOWN && !try_rehit(self, here, moved, deadline, error))
        return false;
    if (self->rehit != REHIT_STOPS_AGAIN)
        return true;
    for (unsigned i = 0; i < rehits && i < REHITS; i++) {
        struct raw_hit rehit = {.pairs = 1};
        bool pending = false;
        self->disturbed = false;
        if (!stepwise_read(self, rehit.from, &pending, NULL, deadline, error) ||
            !stepwise_run(self, WAIT_END, deadline, error) || !stepwise_prove(self, here, deadline, error) ||
            !stepwise_read(self, rehit.to, NULL, NULL, deadline, error))
            return false;
        if (!pending && !self->disturbed) /* else a handler ran in it */
            self->sink->rehit(self->sink->context, &rehit);
    }
    return true;
}

static bool nothing(void *context, const struct raw_hit *hit)
{
    (void)context;
    (void)hit;
    return false;
}

/* Where the core stands, as code. */
static bool find_here(struct stepwise *self, uint64_t *here, const struct deadline *deadline,
                      struct error *error)
{
    enum { T_BIT = 1 << 5 };
    uint64_t pc, status = 0;
    if (!stepwise_register(self, CORE_PC, &pc, deadline, error) ||
        (self->core->family == CORE_ARMV7 && !stepwise_register(self, CORE_STATUS, &status, deadline, error)))
        return false;
    *here = core_code(self->core, pc, self->core->family == CORE_M || (status & T_BIT) != 0);
    return true;
}

bool stepwise_calibrate_here(struct engine *engine, unsigned rehits, unsigned steps,
                             const struct engine_sink *sink, const struct deadline *deadline,
                             struct error *error)
{
    enum { TIMEOUT_MS = 5000 };
    struct stepwise *self = (struct stepwise *)engine;
    const struct engine_wish wish = {.rehits = rehits, .timeout_ms = patience_ms(TIMEOUT_MS)};
    struct engine_sink told = *sink;
    uint64_t here;
    bool moved = false;
    if (told.hit == NULL)
        told.hit = nothing;
    self->wish = &wish;
    self->sink = &told;
    stepwise_step_forward(self);
    for (;;) {
        if (!find_here(self, &here, deadline, error) || !stepwise_move(self, here, deadline, error) ||
            !stepwise_rehits(self, here, rehits, &moved, deadline, error) ||
            !stepwise_move(self, POINT_NONE, deadline, error))
            return false;
        if (self->rehit != REHIT_UNKNOWN || steps-- == 0)
            return true;
        if (!stepwise_step(self, deadline, error)) /* a branch, behind which no guard can be put */
            return false;
    }
}

bool stepwise_look(struct engine *engine, uint64_t *values, bool *reset, const struct deadline *deadline,
                   struct error *error)
{
    return stepwise_read((struct stepwise *)engine, values, NULL, reset, deadline, error);
}
