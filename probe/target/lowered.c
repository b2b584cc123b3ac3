#include "target/lowered.h"

#include "target/passage.h"
#include "target/points.h"
#include "target/reception.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_ROOM = 4096, SETTLE_TRIES = 2, NAP_US = 5000, LEAVE_LOOKS = 12 };

struct lowered {
    struct engine engine;
    struct target *target;
    const struct core *core;
    struct points points;
    struct region region;

    bool guess; /* the last call's return is likely to be the next one's */
    uint64_t entry_lr, entry_sp;
    struct return_place place;
    bool by_frame; /* the function is an exception handler: every return is another */

    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list;
    struct reception reception;
    bool halted_by_us; /* as far as the steps of the last list tell */
    bool foreign, was_reset;
};

static uint64_t end_of(const struct lowered *self)
{
    return self->region.to_return ? self->place.pc : self->region.end;
}

static struct passage_plan plan_of(const struct lowered *self, unsigned rehits)
{
    return (struct passage_plan){.core = self->core,
                                 .points = &self->points,
                                 .counters = self->target->block->counters,
                                 .n_counters = self->target->block->n,
                                 .start = self->region.start,
                                 .end = end_of(self),
                                 .guess = self->region.to_return,
                                 .entry_lr = self->entry_lr,
                                 .entry_sp = self->entry_sp,
                                 .prove_frame = self->region.to_return,
                                 .end_sp = self->place.sp,
                                 .rehits = rehits};
}

static void new_list(struct lowered *self)
{
    self->list = (struct steps){.items = self->items, .room = LIST_ROOM};
    reception_expect_none(&self->reception);
}

/* --- running lists -------------------------------------------------------------------------------------- */

static enum segment segment_at(const struct lowered *self, size_t at)
{
    const struct passage *passage = reception_current(&self->reception);
    return passage != NULL ? passage_segment(passage, at) : SEGMENT_AT_START;
}

static bool at_wait(const struct lowered *self, size_t at)
{
    struct address status = self->core->ops->status(self->core);
    return at < self->list.n && self->items[at].op == OP_UNTIL &&
           self->items[at].at.offset == status.offset &&
           self->core->ops->state(self->core, self->items[at].value) == CORE_HALTED;
}

/* Whether the core stands where we know it to: after a halt that was proved to be ours, or a step of our own.
 */
static void note_halt(struct lowered *self, size_t done)
{
    struct step items[4];
    struct steps run = {.items = items, .room = 4};
    self->core->ops->add_run(self->core, &run);
    const struct step *let_go = &items[run.n - 1];
    bool proved = false, halted = false;
    for (size_t i = done; i-- > 0;) {
        const struct step *step = &self->items[i];
        bool control = step->op == OP_WRITE && step->at.offset == let_go->at.offset;
        if (control && (halted || step->value == let_go->value)) {
            self->halted_by_us = halted && (proved || step->value != let_go->value);
            return;
        }
        proved = proved || (step->op == OP_EXPECT && !halted);
        halted = halted || at_wait(self, i);
    }
    if (halted)
        self->halted_by_us = proved;
}

static bool tell_reset(struct lowered *self, struct error *error)
{
    self->was_reset = true;
    return error_set(error, ERROR_RESET, "the target was reset");
}

static bool waited_in_vain(struct lowered *self, size_t at, struct error *error)
{
    uint64_t cause;
    struct deadline soon = deadline_in_ms(1000, NULL);
    struct error ignored = {0};
    if (ledger_read(self->target->ledger, self->core->ops->cause_register(self->core), &cause, &soon,
                    &ignored) &&
        self->core->ops->reset_seen(self->core, cause))
        return tell_reset(self, error);
    int64_t ms = self->reception.wish->timeout_ms;
    if (segment_at(self, at) == SEGMENT_AT_END)
        return error_set(error, ERROR_END, "the end was not reached within %.3g s of the start",
                         (double)ms / 1000);
    return error_set(error, ERROR_START, "the start was not reached within %.3g s", (double)ms / 1000);
}

/*
 * Runs the list from its beginning. True when it came to its end, or to an UNEXPECTED (the step is in *at,
 * what was seen instead in *saw), or when the sink has enough.
 */
static bool run_list(struct lowered *self, size_t *at, uint64_t *saw, const struct deadline *deadline,
                     struct error *error)
{
    size_t done = 0;
    int64_t since = deadline_now_us();
    if (self->list.overflow)
        return error_set(error, ERROR_SYSTEM, "a step list grew too long");
    for (;;) {
        struct error refused = {0};
        struct outcome outcome = ledger_execute(self->target->ledger, self->items + done, self->list.n - done,
                                                self->results + done, deadline, &refused);
        if (outcome.done > 0)
            since = deadline_now_us();
        done += outcome.done;
        *at = done;
        *saw = outcome.saw;
        note_halt(self, done);
        bool waits = outcome.why == NOT_YET && at_wait(self, done);
        reception_take(&self->reception, self->results, done);
        if (self->reception.was_reset)
            return tell_reset(self, error);
        bool in_vain = deadline_now_us() - since > self->reception.wish->timeout_ms * 1000;
        switch (outcome.why) {
        case DONE:
        case UNEXPECTED:
            return true;
        case NOT_YET:
            if (waits && self->core->ops->state(self->core, outcome.saw) == CORE_LOCKUP)
                return error_set(error, ERROR_LOCKUP, "the core locked up");
            if (in_vain)
                return waited_in_vain(self, done, error);
            break;
        case TARGET_WAIT:
        case TARGET_FAULT:
            if (refused.kind == ERROR_SYSTEM || in_vain) /* a core that sleeps deeply answers again later */
                return error_set(error, refused.kind, "%s", refused.text);
            usleep(NAP_US);
            break;
        case LINK_LOST:
            return error_set(error, refused.kind, "%s", refused.text);
        }
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (self->reception.enough)
            return true;
        if (self->reception.sink->tick != NULL)
            self->reception.sink->tick(self->reception.sink->context,
                                       segment_at(self, done) == SEGMENT_AT_END ? WAIT_END : WAIT_START);
    }
}

/* A short list in which nothing can come out unexpected. */
static bool run_plain(struct lowered *self, const struct deadline *deadline, struct error *error)
{
    size_t at = 0;
    uint64_t saw = 0;
    return run_list(self, &at, &saw, deadline, error);
}

/* --- when a stop is not what was expected --------------------------------------------------------------- */

struct stop {
    uint64_t pc;
    enum stop_cause cause;
};

static bool look_at_stop(struct lowered *self, struct stop *stop, const struct deadline *deadline,
                         struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    new_list(self);
    ops->add_wait_halt(self->core, &self->list);
    size_t cause = ops->add_cause(self->core, &self->list);
    size_t pc = ops->add_register(self->core, &self->list, CORE_PC);
    size_t status = ops->add_register(self->core, &self->list, CORE_STATUS);
    if (!run_plain(self, deadline, error))
        return false;
    *stop = (struct stop){.pc = self->results[pc],
                          .cause = ops->cause(self->core, self->results[cause], self->results[status])};
    return true;
}

/* True when the core does stand at `wanted`: its status was read before it had left the stop before. */
static bool settle(struct lowered *self, uint64_t wanted, const struct deadline *deadline,
                   struct error *error)
{
    struct stop stop = {0};
    for (int i = 0; i < SETTLE_TRIES; i++) {
        if (!look_at_stop(self, &stop, deadline, error))
            return false;
        if (stop.pc == wanted && stop.cause != STOP_RESET)
            return true;
    }
    self->engine.stopped_at = stop.pc;
    self->was_reset = stop.cause == STOP_RESET;
    if (self->was_reset)
        return error_set(error, ERROR_RESET, "the target was reset");
    self->foreign = true;
    static const char *const causes[] = {[STOP_BREAKPOINT] = "a breakpoint",
                                         [STOP_REQUEST] = "a halt request",
                                         [STOP_FAULT] = "an exception that a debugger catches",
                                         [STOP_WATCHPOINT] = "a watchpoint",
                                         [STOP_OTHER] = "something else"};
    return error_set(error, ERROR_FOREIGN_STOP, "stopped by %s that is not ours, at 0x%08" PRIX64,
                     causes[stop.cause], stop.pc);
}

/* --- functions ------------------------------------------------------------------------------------------ */

/* Halted at the entry: learns where this call returns to. Sets *inner when the caller is the function itself.
 */
static bool find_return(struct lowered *self, bool *inner, const struct deadline *deadline,
                        struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    new_list(self);
    size_t lr = ops->add_register(self->core, &self->list, CORE_LR);
    size_t sp = ops->add_register(self->core, &self->list, CORE_SP);
    size_t psp = ops->add_register(self->core, &self->list, CORE_PSP);
    size_t reset =
        ops->add_reset_seen(self->core, &self->list); /* then these are another program's registers */
    if (!run_plain(self, deadline, error))
        return false;
    if (ops->reset_seen(self->core, self->results[reset]))
        return tell_reset(self, error);
    self->entry_lr = self->results[lr];
    self->entry_sp = self->results[sp];
    self->by_frame = ops->returns_by_frame(self->core, self->entry_lr);
    if (self->by_frame) {
        uint64_t frame = ops->frame(self->core, self->entry_lr, self->entry_sp, self->results[psp]);
        new_list(self);
        for (unsigned i = 0; i < FRAME_WORDS; i++)
            steps_add(&self->list, step_read(core_word(self->core, frame + UINT64_C(4) * i)));
        if (!run_plain(self, deadline, error))
            return false;
        self->place = ops->frame_return(self->core, self->entry_lr, frame, self->results);
    } else {
        self->place = (struct return_place){.pc = self->entry_lr & ~1ULL, .sp = self->entry_sp};
    }
    *inner = !self->by_frame && self->place.pc >= self->region.low && self->place.pc < self->region.high;
    self->guess = !self->by_frame && !*inner;
    /* The start first, so that it is not the one that makes room. */
    return *inner || (points_prepare(&self->points, self->region.start, deadline, error) &&
                      points_prepare(&self->points, self->place.pc, deadline, error));
}

static bool step_past_inner(struct lowered *self, const struct deadline *deadline, struct error *error)
{
    struct passage_plan plan = plan_of(self, 0);
    new_list(self);
    passage_add_past(&plan, self->region.start, self->region.start, &self->list);
    return run_plain(self, deadline, error);
}

/* --- the run -------------------------------------------------------------------------------------------- */

static void add_passage(struct lowered *self, enum segment from, unsigned rehits)
{
    struct passage_plan plan = plan_of(self, rehits);
    if (from > SEGMENT_ENTRY) /* proved by find_return itself */
        plan.guess = false;
    struct passage *passage = reception_expect(&self->reception, plan.start == plan.end ? 2 : 1, plan.end);
    if (passage != NULL)
        passage_add(&plan, from, &self->list, passage);
}

static void plan_hits(struct lowered *self, enum segment from, unsigned rehits)
{
    bool round = self->region.start == end_of(self);
    uint64_t left = self->reception.wish->hits - self->reception.hits;
    bool many = !self->region.to_return || self->guess;
    add_passage(self, from, rehits);
    while (many && self->reception.n < RECEPTION_ROOM && self->reception.n < left &&
           self->list.n < LIST_ROOM - 256)
        add_passage(self, round ? SEGMENT_ENTRY : SEGMENT_AT_START, 0);
}

/* Waits at the start of a function whose return is not known yet. */
static bool reach_start(struct lowered *self, const struct deadline *deadline, struct error *error)
{
    size_t at = 0;
    uint64_t saw = 0;
    new_list(self);
    self->core->ops->add_wait_halt(self->core, &self->list);
    self->core->ops->add_expect_register(self->core, &self->list, CORE_PC, self->region.start, true);
    if (!run_list(self, &at, &saw, deadline, error))
        return false;
    return at == self->list.n || settle(self, self->region.start, deadline, error);
}

static bool go_on_after_wrong_frame(struct lowered *self, const struct deadline *deadline,
                                    struct error *error)
{
    struct passage_plan plan = plan_of(self, 0);
    new_list(self);
    size_t pending = passage_add_past(&plan, end_of(self), end_of(self), &self->list);
    if (!run_plain(self, deadline, error))
        return false;
    reception_passed(&self->reception, self->core->ops->pending(self->core, self->results[pending]));
    return true;
}

/* The stack pointer was not what it should be, or was read before it was there. */
static bool look_at_frame(struct lowered *self, enum segment *from, const struct deadline *deadline,
                          struct error *error)
{
    new_list(self);
    size_t sp = self->core->ops->add_register(self->core, &self->list, CORE_SP);
    if (!run_plain(self, deadline, error))
        return false;
    bool ours = self->results[sp] == self->place.sp;
    *from = ours ? SEGMENT_FINISH : SEGMENT_AT_END;
    return ours || go_on_after_wrong_frame(self, deadline, error);
}

/* The core has stopped only now: what the list took for the end of its run was the stop before. */
static bool note_time(struct lowered *self, const struct deadline *deadline, struct error *error)
{
    new_list(self);
    size_t after = steps_add(&self->list, step_time(TIME_AFTER));
    if (!run_plain(self, deadline, error))
        return false;
    reception_stopped(&self->reception, self->results[after]);
    return true;
}

/* A re-hit at the end went wrong after the end was read: the hit itself is whole. */
static bool finish_by_hand(struct lowered *self, const struct passage *passage,
                           const struct deadline *deadline, struct error *error)
{
    struct passage whole = *passage; /* and its results, which looking at the stop overwrites */
    uint64_t results[LIST_ROOM];
    memcpy(results, self->results, sizeof results);
    if (!settle(self, end_of(self), deadline, error))
        return false;
    reception_deliver(&self->reception, &whole, results);
    new_list(self);
    if (self->region.start != end_of(self)) {
        points_add_move(&self->points, &self->list, end_of(self), self->region.start);
        self->core->ops->add_run(self->core, &self->list);
    }
    return self->list.n == 0 || run_plain(self, deadline, error);
}

/* What step `at` stands for in a list that ended there; sets the segment to go on from. */
static bool recover(struct lowered *self, size_t at, enum segment *from, const struct deadline *deadline,
                    struct error *error)
{
    const struct passage passage = *reception_current(&self->reception);
    switch (passage_segment(&passage, at)) {
    case SEGMENT_AT_START:
        *from = SEGMENT_ENTRY;
        return settle(self, self->region.start, deadline, error);
    case SEGMENT_ENTRY:
        self->guess = false;
        *from = SEGMENT_ENTRY;
        return true;
    case SEGMENT_LEAVE:
        if (self->items[at].at.offset == end_of(self))
            return error_set(error, ERROR_ADDRESS, "no breakpoint can be put at 0x%08" PRIX64, end_of(self));
        *from = SEGMENT_LEAVE;
        return settle(self, self->region.start, deadline, error);
    case SEGMENT_AT_END:
        *from = SEGMENT_FRAME;
        return settle(self, end_of(self), deadline, error) && note_time(self, deadline, error);
    case SEGMENT_FRAME:
        return look_at_frame(self, from, deadline, error);
    case SEGMENT_FINISH:
        *from = self->region.start == end_of(self) ? SEGMENT_ENTRY : SEGMENT_AT_START;
        return finish_by_hand(self, &passage, deadline, error);
    case SEGMENTS:
        break;
    }
    return true;
}

static bool lowered_run(struct engine *engine, const struct engine_wish *wish, const struct engine_sink *sink,
                        const struct deadline *deadline, struct error *error)
{
    struct lowered *self = (struct lowered *)engine;
    enum segment from = SEGMENT_AT_START;
    unsigned rehits = wish->rehits < REHITS ? wish->rehits : REHITS;
    reception_begin(&self->reception, wish, sink);
    while (!self->reception.enough) {
        if (self->region.to_return && !self->guess && from <= SEGMENT_ENTRY) {
            bool inner = false;
            if (from == SEGMENT_AT_START && !reach_start(self, deadline, error))
                return false;
            if (!find_return(self, &inner, deadline, error))
                return false;
            if (inner && !step_past_inner(self, deadline, error))
                return false;
            from = inner ? SEGMENT_AT_START : SEGMENT_LEAVE;
            if (inner)
                continue;
        }
        size_t at = 0;
        uint64_t saw = 0;
        uint64_t before = self->reception.hits;
        new_list(self);
        plan_hits(self, from, rehits);
        if (!run_list(self, &at, &saw, deadline, error))
            return false;
        if (self->reception.hits > before)
            rehits = 0;
        if (self->reception.enough)
            break;
        if (at == self->list.n)
            from = self->region.start == end_of(self) ? SEGMENT_ENTRY : SEGMENT_AT_START;
        else if (!recover(self, at, &from, deadline, error))
            return false;
    }
    return true;
}

static bool lowered_arm(struct engine *engine, const struct region *region, const struct deadline *deadline,
                        struct error *error)
{
    struct lowered *self = (struct lowered *)engine;
    struct setting settings[8];
    size_t n = self->core->ops->settings(self->core, settings, 8);
    self->region = *region;
    for (size_t i = 0; i < n; i++)
        if (!ledger_apply(self->target->ledger, &settings[i], deadline, error))
            return false;
    if (!points_prepare(&self->points, region->start, deadline, error) ||
        (!region->to_return && !points_prepare(&self->points, region->end, deadline, error)))
        return false;
    new_list(self);
    points_add_move(&self->points, &self->list, POINT_NONE, region->start);
    points_add_proof(&self->points, &self->list, region->start);
    static const struct engine_sink quiet;
    const struct engine_wish soon = {.timeout_ms = deadline_left_us(deadline) / 1000};
    size_t at = 0;
    uint64_t saw = 0;
    reception_begin(&self->reception, &soon, &quiet);
    if (!run_list(self, &at, &saw, deadline, error))
        return false;
    return at == self->list.n ||
           error_set(error, ERROR_ADDRESS, "no breakpoint can be put at 0x%08" PRIX64, region->start);
}

/* Only a stop that we caused, or that we were in the middle of handling, is ours to leave. */
static bool leave_stop(struct lowered *self, const struct deadline *deadline, struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    uint64_t status = 0;
    struct stop stop = {0};
    static const struct engine_sink quiet;
    static const struct engine_wish soon = {.timeout_ms = 1000};
    reception_begin(&self->reception, &soon, &quiet);
    bool busy = self->halted_by_us || self->was_reset;
    for (int i = 0; i < LEAVE_LOOKS; i++) { /* a core that was let go may still look halted for a moment */
        if (!ledger_read(self->target->ledger, ops->status(self->core), &status, deadline, error))
            return false;
        if (ops->state(self->core, status) != CORE_HALTED)
            return true;
        if (busy)
            break;
    }
    if (!look_at_stop(self, &stop, deadline, error))
        return false;
    bool ours = busy || stop.cause == STOP_RESET || stop.pc == self->region.start || stop.pc == end_of(self);
    if (self->foreign || !ours) {
        self->target->leave_halted = true;
        self->engine.stopped_at = stop.pc;
        return true;
    }
    new_list(self);
    ops->add_halt(self->core,
                  &self->list); /* ends a step that was under way, and its masking of interrupts */
    ops->add_run(self->core, &self->list);
    return run_plain(self, deadline, error);
}

static bool lowered_disarm(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct lowered *self = (struct lowered *)engine;
    return points_remove(&self->points, deadline, error) && leave_stop(self, deadline, error);
}

static void lowered_free(struct engine *engine)
{
    free(engine);
}

struct engine *lowered_new(struct target *target)
{
    static const struct engine_ops ops = {
        .arm = lowered_arm, .run = lowered_run, .disarm = lowered_disarm, .free = lowered_free};
    struct lowered *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->engine.ops = &ops;
    self->target = target;
    self->core = &target->chosen->core;
    points_init(&self->points, target->ledger, self->core);
    reception_init(&self->reception, self->core, target->block);
    return &self->engine;
}
