/* SPDX-License-Identifier: MIT */
/*
 * Passages of the direct engine: from one stop to the first of several. The walk follows a function through
 * its code: at each stop it sets breakpoints where the code may go on, and lets the core run to one of them.
 * Where there are more such places than comparators, or they are not known, it stops at the last instruction
 * before, and steps over it. The scout waits at several starts at once, to find out which of them is reached
 * at all.
 */
#include "engine/direct.h"

#include <inttypes.h>

enum { PASSAGE_STOPS = ENGINE_SCOUTED, READS = 3 };

struct passage {
    struct direct_engine *engine;
    uint64_t set[PASSAGE_STOPS]; /* where breakpoints are: the one that moves, and the extra ones */
};

/* What a region needs that is not measured by hits. */
static bool passage_begin(struct passage *passage, struct direct_engine *engine, const struct region *region,
                          unsigned stops, struct error *error)
{
    passage->engine = engine;
    for (unsigned i = 0; i < PASSAGE_STOPS; i++)
        passage->set[i] = BREAKPOINT_NONE;
    engine->region = *region;
    engine->region.to_return = false;
    engine->region.start = engine->region.end =
        core_code(engine->core, region->start, region->start_is_thumb);
    engine->region.n_writers = 0;
    engine->call = (struct call){.frame = engine->call.frame};
    return direct_prepare(engine, &region->process, stops - 1, error);
}

static bool passage_is_among(const uint64_t *stops, unsigned n, uint64_t here)
{
    for (unsigned i = 0; i < n; i++)
        if (stops[i] == here)
            return true;
    return false;
}

static void add_stop(struct passage *passage, unsigned i, uint64_t to)
{
    struct direct_engine *engine = passage->engine;
    if (i == 0)
        breakpoints_add_move(&engine->breakpoints, &engine->list, passage->set[0], to);
    else
        breakpoints_add_extra(&engine->breakpoints, &engine->list, i - 1, passage->set[i], to);
    passage->set[i] = to;
}

/* To the engine's list: moves the breakpoints to these places, which are prepared, and notes them. */
static void passage_add_stops(struct passage *passage, const uint64_t *stops, unsigned n)
{
    struct direct_engine *engine = passage->engine;
    uint64_t *set = passage->set;
    /* The removal of a breakpoint instruction must not remove another's at the same place */
    for (unsigned i = 0; i < PASSAGE_STOPS; i++)
        if (set[i] != BREAKPOINT_NONE &&
            (i >= n || (stops[i] != set[i] && passage_is_among(stops, n, set[i]))))
            add_stop(passage, i, BREAKPOINT_NONE);
    for (unsigned i = 0; i < n; i++) {
        if (set[i] == stops[i])
            continue;
        add_stop(passage, i, stops[i]);
        breakpoints_add_proof(&engine->breakpoints, &engine->list, stops[i]);
    }
    /* For what inspects the stop if the run ends here */
    engine->call.others.n = 0;
    if (n > 0)
        engine->region.start = engine->region.end = stops[0];
    for (unsigned i = 1; i < n; i++)
        others_add(&engine->call.others, stops[i], OTHER_PLACE, 0);
}

/* Places as core_code makes them. *fit: how many of them can have breakpoints at once, the first ones. */
static bool passage_prepare(const struct passage *passage, const uint64_t *stops, unsigned n, unsigned *fit,
                            struct error *error)
{
    struct breakpoints *breakpoints = &passage->engine->breakpoints;
    for (*fit = 0; *fit < n && *fit < PASSAGE_STOPS; ++*fit) {
        if (!breakpoints_prepare(breakpoints, stops[*fit], passage->engine->deadline, error))
            return false;
        if (*fit > 0 && !breakpoints_can_have_extra(breakpoints, *fit - 1, stops[*fit]))
            break;
    }
    return true;
}

/* The list, whose steps up to `reached` set breakpoints, and which then proves a stop at `expected`. *whole:
 * it stopped there. ERROR_ADDRESS: no breakpoint can be there. */
static bool passage_run(struct passage *passage, size_t reached, uint64_t expected, bool *whole,
                        struct error *error)
{
    if (!direct_run_list(passage->engine, error))
        return false;
    *whole = direct_ran_whole(passage->engine);
    return passage->engine->done >= reached || breakpoints_refuse(expected, error);
}

/*
 * The core did not stop at the first of the places that were set, or was read too early. *place is the one
 * where it stopped. Handlers that ran just as it was reached are let go on before: *handlers says how many.
 */
static bool passage_find_stop(struct passage *passage, uint64_t *place, unsigned *handlers,
                              struct error *error)
{
    struct direct_engine *engine = passage->engine;
    *place = passage->set[0];
    if (!direct_restore_borrowed(engine, error))
        return false;
    for (int i = 0; i < READS; i++) {
        struct stop stop = {0};
        bool in_handler;
        if (!direct_read_stop(engine, &stop, error))
            return false;
        if (stop.unreadable == NULL && stop.cause == STOP_BREAKPOINT &&
            passage_is_among(passage->set, PASSAGE_STOPS, stop.pc)) {
            *place = stop.pc;
            break;
        }
        if (!direct_is_in_handler(engine, &stop, &in_handler, error))
            return false;
        if (!in_handler)
            continue;
        ++*handlers;
        if (!direct_go_on_in_handler(engine, false, error))
            return false;
        i = -1;
    }
    return direct_confirm_stop(engine, *place, error);
}

/* --- the scout: several starts at a time ---------------------------------------------------------------- */

/* Sets breakpoints at as many of the starts as there are comparators for, in their order. */
static bool watch_starts(struct passage *passage, const uint64_t *starts, unsigned n, unsigned *watched,
                         struct error *error)
{
    struct direct_engine *engine = passage->engine;
    bool whole;
    if (!passage_prepare(passage, starts, n, watched, error))
        return false;
    direct_new_list(engine);
    passage_add_stops(passage, starts, *watched);
    return passage_run(passage, engine->list.n, starts[0], &whole, error);
}

static bool wait_for_one(struct passage *passage, uint64_t *place, struct error *error)
{
    struct direct_engine *engine = passage->engine;
    unsigned handlers = 0;
    bool whole;
    *place = passage->set[0];
    direct_new_list(engine);
    core_add_wait_halt(engine->core, &engine->list);
    core_add_expect_stop(engine->core, &engine->breakpoints.setup, &engine->list, *place, true);
    return passage_run(passage, 0, *place, &whole, error) &&
           (whole || passage_find_stop(passage, place, &handlers, error));
}

bool direct_scout(struct engine *engine, const struct engine_scout *scout, struct engine_found *found,
                  const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    const struct engine_request wait = {.timeout_ms = scout->timeout_ms};
    struct error why = {0};
    uint64_t place = 0;
    struct passage passage;
    uint64_t starts[PASSAGE_STOPS];
    unsigned n = scout->n < PASSAGE_STOPS ? (unsigned)scout->n : PASSAGE_STOPS, watched = 0;
    for (unsigned i = 0; i < n; i++)
        starts[i] = core_code(self->core, scout->regions[i]->start, scout->regions[i]->start_is_thumb);
    *found = (struct engine_found){0};
    direct_begin_own(self, deadline_left_us(deadline) / 1000, deadline);
    if (!passage_begin(&passage, self, scout->regions[0], n, error) ||
        !watch_starts(&passage, starts, n, &watched, error))
        return false;
    found->watched = watched;
    direct_begin(self, &wait, scout->sink);
    int64_t begun_us = deadline_now_us();
    bool reached = wait_for_one(&passage, &place, &why);
    found->waited_us = deadline_now_us() - begun_us;
    if (!reached)
        return direct_tell_cause(self, &why, error);
    for (found->which = 0; found->which + 1 < watched && starts[found->which] != place;)
        found->which++;
    return direct_check_neighbours(self, true, error);
}

/* --- the walk: from line to line ------------------------------------------------------------------------ */

struct walking {
    struct direct_engine *engine;
    const struct engine_walk *walk;
    struct passage passage;
    struct other_stops others; /* until this call ends, besides those of its code */
    bool is_limited;           /* a call that is left may not be seen: too few breakpoints */
    bool may_leave;            /* the core is at one that sets the stack pointer */
    bool passed;               /* the block of the hop: its last instruction was stepped over */
    uint64_t here;             /* as core_code makes it; where the core is */
    size_t block;              /* around it; walk->n: none */
    uint64_t sp;               /* at the function's entry */
    struct walk_hop hop;
    unsigned away;         /* steps in a row in what a block calls away */
    uint64_t inner;        /* entries that the function itself made, or jumps */
    uint64_t by_exception; /* entries that began no call, until there was one */
    uint64_t lost;         /* calls in a row that were left */
    int64_t returned_us;
    int64_t ours_us;       /* the last stop of this call */
    struct progress whole; /* since this call began */
    bool has_called;
};

enum { AWAY_MOST = 4096 };

struct passage_steps {
    size_t from, to, pending, before, after, frame, reset;
};

static size_t block_at(const struct walking *self, uint64_t here)
{
    uint64_t place = core_code_place(here);
    for (size_t i = 0; i < self->walk->n; i++)
        if (place >= self->walk->blocks[i].low && place < self->walk->blocks[i].high)
            return i;
    return self->walk->n;
}

/* A function may change between ARM and Thumb. */
static uint64_t code_of(const struct walking *self, uint64_t address)
{
    size_t block = block_at(self, address);
    bool thumb =
        block < self->walk->n ? self->walk->blocks[block].is_thumb : self->walk->region->start_is_thumb;
    return core_code(self->engine->core, address, thumb);
}

/* --- from stop to stop ---------------------------------------------------------------------------------- */

/* Where the frame is of a call that is at the first or last instruction of a block; NULL: not known. */
static const struct walk_frame *walk_frame_at(const struct walking *self, uint64_t here)
{
    size_t block = block_at(self, here);
    uint64_t place = core_code_place(here);
    if (block == self->walk->n)
        return NULL;
    const struct walk_block *around = &self->walk->blocks[block];
    const struct walk_frame *frame = place == around->low    ? &around->at_low
                                     : place == around->last ? &around->at_last
                                                             : NULL;
    return frame != NULL && frame->known ? frame : NULL;
}

static enum core_register frame_register(const struct walking *self, uint64_t here)
{
    const struct walk_frame *frame = walk_frame_at(self, here);
    return frame != NULL ? frame->base : CORE_SP;
}

static void add_look(struct walking *self, uint64_t here, struct passage_steps *steps)
{
    struct direct_engine *engine = self->engine;
    steps->frame = core_add_register(engine->core, &engine->list, frame_register(self, here));
    steps->to = reading_add(&engine->device->reading, false, NULL, &engine->list);
    steps->reset = core_add_reset_seen(engine->core, &engine->list);
}

/* *ours: the stop belongs to this call. */
static bool walk_take_look(struct walking *self, const struct passage_steps *steps, bool *ours,
                           struct error *error)
{
    struct direct_engine *engine = self->engine;
    const struct walk_frame *frame = walk_frame_at(self, self->here);
    uint64_t all = core_has(engine->core, WIDE_REGISTERS) ? UINT64_MAX : UINT32_MAX, wanted = self->sp;
    if (core_reset_seen(engine->core, engine->results[steps->reset]))
        return direct_tell_reset(engine, error);
    reading_take(&engine->device->reading, false, engine->results, steps->to, self->hop.readings[1]);
    uint64_t value =
        core_register_value(engine->core, frame_register(self, self->here), engine->results, steps->frame);
    if (frame != NULL)
        wanted = (self->sp + (uint64_t)frame->apart) & all;
    *ours = (frame == NULL && block_at(self, self->here) < self->walk->n) || value == wanted;
    if (*ours)
        self->ours_us = deadline_now_us();
    progress_note(&engine->progress);
    return true;
}

/* Stops of other calls may go on for ever, and those of this one. */
static bool walk_may_go_on(struct walking *self, struct error *error)
{
    const struct direct_engine *engine = self->engine;
    if (deadline_cancelled(engine->deadline))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    progress_add(&self->whole, PROGRESS_WENT_ON);
    bool is_late = deadline_now_us() - self->ours_us >= self->walk->timeout_ms * 1000 ||
                   progress_is_late(&self->whole, engine->hits.request, &engine->hits.hit);
    return !is_late ||
           progress_tell(&engine->progress, engine->hits.request, engine->core, &engine->hits.hit, 0, error);
}

static void take_run(struct walking *self, const struct passage_steps *steps, bool begins)
{
    struct direct_engine *engine = self->engine;
    if (begins) {
        self->hop.before_us = engine->results[steps->before];
        reading_take(&engine->device->reading, false, engine->results, steps->from, self->hop.readings[0]);
    }
    self->hop.after_us = engine->results[steps->after];
    self->hop.pairs++;
}

/* The core did not stop where it was expected, or was read too early. */
static bool find_stop(struct walking *self, struct error *error)
{
    unsigned handlers = 0;
    bool found = passage_find_stop(&self->passage, &self->here, &handlers, error);
    self->hop.tainted = self->hop.tainted || handlers > 0;
    self->hop.pairs += handlers;
    return found;
}

/* Lets the core run to one of its stops, the first of which is expected. */
static bool pass(struct walking *self, const uint64_t *stops, unsigned n, bool begins, bool *ours,
                 struct error *error)
{
    struct direct_engine *engine = self->engine;
    struct passage_steps steps = {0};
    bool whole;
    direct_new_list(engine);
    if (begins)
        steps.from = reading_add(&engine->device->reading, false, NULL, &engine->list);
    passage_add_stops(&self->passage, stops, n);
    steps.pending = core_add_pending(engine->core, &engine->list);
    steps.before = steps_add(&engine->list, step_time(TIME_BEFORE));
    core_add_run(engine->core, &engine->list);
    core_add_wait_halt(engine->core, &engine->list);
    steps.after = steps_add(&engine->list, step_time(TIME_AFTER));
    size_t reached = engine->list.n;
    core_add_expect_stop(engine->core, &engine->breakpoints.setup, &engine->list, stops[0], true);
    add_look(self, stops[0], &steps);
    if (!direct_check_time(engine, error) || !passage_run(&self->passage, reached, stops[0], &whole, error))
        return false;
    self->hop.tainted = self->hop.tainted || (steps.pending != SIZE_MAX &&
                                              core_pending(engine->core, engine->results[steps.pending]));
    take_run(self, &steps, begins);
    self->here = stops[0];
    if (!whole) {
        if (!find_stop(self, error))
            return false;
        direct_new_registers(engine);
        add_look(self, self->here, &steps);
        if (!direct_run_plain(engine, error))
            return false;
    }
    return walk_take_look(self, &steps, ours, error);
}

/* *ours: as far as a stop there shows it. */
static bool walk_step(struct walking *self, bool begins, bool *ours, struct error *error)
{
    struct direct_engine *engine = self->engine;
    struct passage_steps steps = {0};
    direct_new_list(engine);
    if (begins)
        steps.from = reading_add(&engine->device->reading, false, NULL, &engine->list);
    passage_add_stops(&self->passage, &self->here, 0); /* none */
    steps.before = steps_add(&engine->list, step_time(TIME_BEFORE));
    core_add_single_step(engine->core, &engine->list, engine->breakpoints.comparator, self->here);
    steps.after = steps_add(&engine->list, step_time(TIME_AFTER));
    if (!direct_check_time(engine, error) || !direct_run_step(engine, error))
        return false;
    take_run(self, &steps, begins);
    if (!direct_read_register(engine, CORE_PC, &self->here, error))
        return false;
    direct_new_registers(engine);
    add_look(self, self->here, &steps);
    return direct_run_plain(engine, error) && walk_take_look(self, &steps, ours, error);
}

/* --- a hop ---------------------------------------------------------------------------------------------- */

/* Adds what shows that this call was left; `n` are there. Returns how many there are then. */
static unsigned walk_add_others(const struct walking *self, uint64_t *stops, unsigned n)
{
    for (unsigned i = 0; i < self->others.n && n < PASSAGE_STOPS; i++)
        stops[n++] = self->others.items[i].at;
    return n;
}

/* Where the block goes: by a jump out of the function also back to where code outside jumps. Returns how
 * many, which may exceed PASSAGE_STOPS. */
static unsigned walk_add_ways(const struct walking *self, bool inside, uint64_t *stops)
{
    const struct engine_walk *walk = self->walk;
    const struct walk_block *block = &walk->blocks[self->hop.from];
    bool is_away = self->passed && block->leaves && block_at(self, self->here) == walk->n;
    bool jumps_on = block->leaves || (block->is_open && !inside);
    unsigned n = 0;
    for (unsigned i = 0; i < block->n_next && !is_away; i++)
        stops[n++] = code_of(self, block->next[i]);
    if (block->returns || (block->is_open && !inside))
        stops[n++] = self->engine->call.frame.end.pc;
    for (size_t i = 0; jumps_on && i < walk->n_joins; i++, n++)
        if (n < PASSAGE_STOPS)
            stops[n] = code_of(self, walk->joins[i]);
    return n;
}

static bool tell_held(const struct walk_block *block, struct error *error)
{
    return error_set(error, ERROR_NO_COMPARATOR,
                     "not each way out of the exclusive access at 0x%08" PRIX64
                     " can have a breakpoint, and a step in it would make its store fail",
                     block->low);
}

/* Where the core may go from here: *n places of this call, then others, *all together. *steps: it must
 * execute one instruction first. */
static bool choose_stops(struct walking *self, uint64_t *stops, unsigned *n, unsigned *all, bool *steps,
                         struct error *error)
{
    const struct walk_block *block = &self->walk->blocks[self->hop.from];
    uint64_t last = code_of(self, block->last);
    bool inside = !self->passed && block_at(self, self->here) == self->hop.from;
    unsigned fit = 0;
    *n = walk_add_ways(self, inside, stops);
    bool many = *n > PASSAGE_STOPS, is_open = inside && (block->is_open || *n == 0);
    *steps = (!many && passage_is_among(stops, *n, self->here)) || (block->calls_away && !inside) ||
             (many && !inside) || others_find(&self->others, self->engine->core, self->here) != NULL;
    if (*steps)
        return true;
    if (*n == 0 && !inside)
        return error_set(error, ERROR_STATE, "the code went to 0x%08" PRIX64, self->here);
    *all = many ? 0 : walk_add_others(self, stops, *n);
    if (!is_open && !many && !passage_prepare(&self->passage, stops, *all, &fit, error))
        return false;
    bool few = many || fit < *n || (fit < *all && fit > 1);
    if (inside && block->is_held && (is_open || few))
        return tell_held(block, error);
    if (inside && (is_open || few)) {
        *steps = core_code_place(self->here) >= core_code_place(last);
        stops[0] = last;
        *n = 1;
        *all = walk_add_others(self, stops, *n);
        if (*steps)
            return true;
        if (!passage_prepare(&self->passage, stops, *all, &fit, error))
            return false;
    }
    *steps = fit < *n; /* outside */
    if (fit < *all && !*steps)
        self->is_limited = true;
    *all = fit;
    return true;
}

static bool walk_is_over(const struct walking *self)
{
    const struct walk_block *from = &self->walk->blocks[self->hop.from];
    size_t block = block_at(self, self->here);
    uint64_t place = core_code_place(self->here);
    return self->here == self->engine->call.frame.end.pc ||
           (block < self->walk->n && (block != self->hop.from || place == from->low));
}

/* At one of those that show that this call was left; or it is another call's. */
static bool walk_look_at_other(struct walking *self, const uint64_t *stops, unsigned n, bool *ours,
                               bool *left, struct error *error)
{
    const struct call_access access = direct_access(self->engine);
    const struct other_stop *other = passage_is_among(stops, n, self->here)
                                         ? NULL
                                         : others_find(&self->others, self->engine->core, self->here);
    enum call_stop what = CALL_ENDS;
    if (other == NULL)
        return true;
    bool looked = call_look(&self->engine->call, &access, other, &what, error);
    *left = what == CALL_IS_LEFT || what == CALL_BEGINS;
    self->may_leave = what == CALL_MAY_LEAVE;
    *ours = false;
    return looked;
}

/* After a step: whether it removed the call's frame, if it was one that may. */
static bool walk_check_left(struct walking *self, bool *left, struct error *error)
{
    uint64_t sp = 0;
    if (!self->may_leave)
        return true;
    self->may_leave = false;
    if (!direct_read_register(self->engine, CORE_SP, &sp, error))
        return false;
    *left = call_is_left(&self->engine->call, sp);
    return true;
}

/* From a stop of another call: one instruction on, or out of an exclusive access, which it begins there. */
static bool leave_other(struct walking *self, bool *ours, struct error *error)
{
    size_t block = block_at(self, self->here);
    const struct walk_block *around = &self->walk->blocks[block];
    uint64_t stops[ENGINE_WAYS] = {0};
    unsigned n = 0, fit = 0;
    bool held = block < self->walk->n && around->is_held && core_code_place(self->here) == around->low;
    if (!held)
        return call_may_step(self->walk->region, self->engine->core, self->here, error) &&
               walk_step(self, false, ours, error);
    for (; n < around->n_next; n++)
        stops[n] = code_of(self, around->next[n]);
    if (!passage_prepare(&self->passage, stops, n, &fit, error))
        return false;
    if (around->is_open || around->returns || n == 0 || fit < n)
        return tell_held(around, error);
    if (!pass(self, stops, n, false, ours, error))
        return false;
    *ours = *ours && walk_frame_at(self, self->here) != NULL;
    return !*ours || error_set(error, ERROR_STATE,
                               "the call that is followed went on unseen, to 0x%08" PRIX64
                               ", while another one was in an exclusive access",
                               core_code_place(self->here));
}

/* Lets the core run to one of the first `n` stops. At one that is another call's, of this function or of its
 * caller, it goes on; if that returns from this call, it was this call's. *left: this call was left. */
static bool reach_stop(struct walking *self, const uint64_t *stops, unsigned n, unsigned all, bool begins,
                       bool *left, struct error *error)
{
    bool ours = false;
    if (!pass(self, stops, all, begins, &ours, error) ||
        !walk_look_at_other(self, stops, n, &ours, left, error))
        return false;
    while (!ours && !*left) {
        self->engine->hits.hit.past++;
        if (!walk_may_go_on(self, error) || !leave_other(self, &ours, error) ||
            !walk_check_left(self, left, error))
            return false;
        if (*left)
            break;
        bool returned = ours && self->here == self->engine->call.frame.end.pc;
        ours = returned || (ours && passage_is_among(stops, n, self->here));
        if (!returned &&
            ((!passage_is_among(stops, all, self->here) && !pass(self, stops, all, false, &ours, error)) ||
             !walk_look_at_other(self, stops, n, &ours, left, error)))
            return false;
    }
    return true;
}

/* One instruction, which may be a call. What a block calls away is followed by steps. */
static bool step_on(struct walking *self, bool begins, bool *ours, struct error *error)
{
    const struct walk_block *block = &self->walk->blocks[self->hop.from];
    bool at_last = block_at(self, self->here) == self->hop.from && core_code_place(self->here) >= block->last;
    if (!walk_step(self, begins, ours, error))
        return false;
    bool in_it =
        *ours && block_at(self, self->here) == self->hop.from && core_code_place(self->here) > block->last;
    self->passed = self->passed || (at_last && !in_it);
    self->away = block_at(self, self->here) == self->walk->n ? self->away + 1 : 0;
    return self->away < AWAY_MOST ||
           error_set(error, ERROR_STATE,
                     "what is called at 0x%08" PRIX64
                     " does not return there within %d instructions: these lines cannot be followed",
                     block->last, AWAY_MOST);
}

/* *left: the call will not go on. */
static bool hop_on(struct walking *self, bool *returned, bool *left, struct error *error)
{
    bool begins = true, over = false;
    self->hop = (struct walk_hop){.from = self->block, .begins = self->hop.begins};
    self->away = 0;
    self->passed = false;
    self->ours_us = deadline_now_us();
    *returned = *left = false;
    while (!over) {
        uint64_t stops[PASSAGE_STOPS] = {0};
        unsigned n = 0, all = 0;
        bool steps = false, ours = true;
        if (!walk_may_go_on(self, error) || !choose_stops(self, stops, &n, &all, &steps, error) ||
            !(steps ? step_on(self, begins, &ours, error)
                    : reach_stop(self, stops, n, all, begins, left, error)))
            return false;
        begins = false;
        if (*left)
            return true;
        over = ours && walk_is_over(self);
    }
    *returned = self->here == self->engine->call.frame.end.pc;
    self->block = self->hop.to = *returned ? self->walk->n : block_at(self, self->here);
    self->hop.in_block = !*returned && core_code_place(self->here) != self->walk->blocks[self->block].low;
    return true;
}

/* --- a call --------------------------------------------------------------------------------------------- */

static bool reach_entry(struct walking *self, bool runs, struct error *error)
{
    struct direct_engine *engine = self->engine;
    uint64_t entry = code_of(self, self->walk->region->start);
    bool whole;
    if (!breakpoints_prepare(&engine->breakpoints, entry, self->engine->deadline, error))
        return false;
    self->hop = (struct walk_hop){.begins = true};
    engine->hits.under_way = false;
    direct_new_list(engine);
    passage_add_stops(&self->passage, &entry, 1);
    if (!runs)
        core_add_run(engine->core, &engine->list);
    size_t reached = engine->list.n;
    core_add_wait_halt(engine->core, &engine->list);
    core_add_expect_stop(engine->core, &engine->breakpoints.setup, &engine->list, entry, true);
    if (!passage_run(&self->passage, reached, entry, &whole, error))
        return false;
    self->here = entry;
    return whole || find_stop(self, error);
}

/* *inner: the function called itself, or a handler jumped to it: no call begins. */
static bool walk_find_frame(struct walking *self, bool *inner, struct error *error)
{
    struct direct_engine *engine = self->engine;
    struct frame *frame = &engine->call.frame;
    const struct call_access access = direct_access(engine);
    direct_new_registers(engine);
    size_t lr = core_add_register(engine->core, &engine->list, CORE_LR);
    size_t sp = core_add_register(engine->core, &engine->list, CORE_SP);
    if (!direct_run_plain(engine, error))
        return false;
    frame->lr = core_register_value(engine->core, CORE_LR, engine->results, lr);
    frame->sp = self->sp = core_register_value(engine->core, CORE_SP, engine->results, sp);
    *inner = core_returns_by_frame(engine->core, frame->lr);
    self->by_exception += *inner && !self->has_called;
    if (*inner)
        return true;
    engine->call.others = self->others; /* they are kept for the same caller */
    if (!call_enter(&engine->call, &access, NULL, inner, error))
        return false;
    self->others = engine->call.others;
    self->inner += *inner;
    if (engine->region.may_be_left && (self->others.n == 0 || self->others.n > PASSAGE_STOPS - 2))
        self->is_limited = true;
    self->has_called = self->has_called || !*inner;
    engine->hits.under_way = true;
    engine->hits.hit = (struct raw_hit){.pairs = 1};
    return true;
}

/* Of a function that exceptions or jumps alone enter nothing else says so. */
static bool check_entries(struct walking *self, int64_t begun_us, struct error *error)
{
    struct direct_engine *engine = self->engine;
    const struct progress progress = {.inner = self->inner, .by_jump = engine->call.by_jump};
    double seconds = (double)self->walk->timeout_ms / 1000;
    if (self->has_called || deadline_now_us() - begun_us < self->walk->timeout_ms * 1000)
        return true;
    if (self->inner > 0)
        return progress_tell(&progress, engine->hits.request, engine->core, NULL, engine->call.frame.end.pc,
                             error);
    return self->by_exception == 0 || error_set(error, ERROR_START,
                                                "no call was seen within %.3g s, but %" PRIu64
                                                " exceptions: lines of a handler cannot be followed",
                                                seconds, self->by_exception);
}

/* A call that the function itself made begins none: it is a part of the one around it. */
static bool walk_begin_call(struct walking *self, bool runs, struct error *error)
{
    bool inner = true, ours;
    int64_t begun_us = deadline_now_us();
    while (inner) {
        if (deadline_cancelled(self->engine->deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (!check_entries(self, begun_us, error) || !reach_entry(self, runs, error) ||
            !walk_find_frame(self, &inner, error) ||
            (inner && (!call_may_step(self->walk->region, self->engine->core, self->here, error) ||
                       !walk_step(self, false, &ours, error))))
            return false;
        runs = false;
    }
    progress_note(&self->whole);
    self->block = block_at(self, self->here);
    return self->block < self->walk->n ||
           error_set(error, ERROR_ELF, "the function's entry is in none of its lines");
}

/* The next call may return, but not for ever. */
static bool end_left(struct walking *self, struct error *error)
{
    struct direct_engine *engine = self->engine;
    const struct progress progress = {.lost = self->lost};
    hit_results_left(&engine->hits);
    return deadline_now_us() - self->returned_us < self->walk->timeout_ms * 1000 ||
           progress_tell(&progress, engine->hits.request, engine->core, NULL, 0, error);
}

static bool walk_calls(struct walking *self, struct error *error)
{
    bool more = true, runs = true;
    self->returned_us = deadline_now_us();
    while (more) {
        bool returned = false, left = false;
        if (!walk_begin_call(self, runs, error))
            return false;
        bool drops = self->engine->call.is_partial; /* as of a hit */
        while (!returned && !left) {
            if (!hop_on(self, &returned, &left, error))
                return false;
            if (left)
                break;
            more = drops || self->walk->hop(self->walk->context, &self->hop);
            self->hop.begins = false;
        }
        self->lost = left ? self->lost + 1 : 0;
        if (left && !drops && !end_left(self, error))
            return false;
        call_over(&self->engine->call, self->walk->region);
        self->returned_us = left ? self->returned_us : deadline_now_us();
        runs = false;
    }
    return true;
}

bool direct_walk(struct engine *engine, const struct engine_walk *walk, const struct deadline *deadline,
                 struct error *error)
{
    struct direct_engine *direct = (struct direct_engine *)engine;
    struct walking self = {.engine = direct, .walk = walk};
    const struct engine_request wait = {.hits = UINT64_MAX, .timeout_ms = walk->timeout_ms};
    struct error why = {0};
    unsigned stops = walk->region->may_be_left || walk->n_joins > 0 ? PASSAGE_STOPS : 3;
    for (size_t i = 0; i < walk->n; i++)
        stops = walk->blocks[i].is_held ? PASSAGE_STOPS : stops;
    direct->deadline = deadline;
    if (!passage_begin(&self.passage, direct, walk->region, stops, error))
        return false;
    direct_begin(direct, &wait, walk->sink);
    bool ok = walk_calls(&self, &why);
    call_doubt(&direct->call, walk->region, engine);
    if (self.is_limited)
        doubt_add(engine->doubt, "too few breakpoints are free" CALL_COUNTS_ON);
    if (!ok)
        return direct_tell_cause(direct, &why, error);
    return direct_check_neighbours(direct, true, error);
}
