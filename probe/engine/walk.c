/*
 * The walk of the direct engine: follows a function from stop to stop through its code. At each stop it sets
 * breakpoints where the code may go on, and lets the core run to one of them. Where there are more such
 * places than comparators, or they are not known, it stops at the last instruction before, and steps over it.
 */
#include "engine/passage.h"

#include <inttypes.h>

struct walking {
    struct direct_engine *engine;
    const struct engine_walk *walk;
    bool is_thumb;
    struct passage passage;
    uint64_t here; /* as core_code makes it; where the core is */
    size_t block;  /* around it; walk->n: none */
    uint64_t sp;   /* at the function's entry */
    struct walk_hop hop;
};

struct passage_steps {
    size_t from, to, pending, before, after, frame, reset;
};

static uint64_t code_of(const struct walking *self, uint64_t address)
{
    return core_code(self->engine->core, address, self->is_thumb);
}

static size_t block_at(const struct walking *self, uint64_t here)
{
    uint64_t place = core_code_place(here);
    for (size_t i = 0; i < self->walk->n; i++)
        if (place >= self->walk->blocks[i].low && place < self->walk->blocks[i].high)
            return i;
    return self->walk->n;
}

/* --- a passage ------------------------------------------------------------------------------------------ */

static enum core_register frame_register(const struct walking *self, uint64_t here)
{
    size_t block = block_at(self, here);
    bool framed = block < self->walk->n && self->walk->blocks[block].framed;
    return framed ? self->walk->blocks[block].base : CORE_SP;
}

static void add_look(struct walking *self, uint64_t here, struct passage_steps *steps)
{
    struct direct_engine *engine = self->engine;
    steps->frame = core_add_register(engine->core, &engine->list, frame_register(self, here));
    steps->to = reading_add(&engine->device->reading, false, NULL, &engine->list);
    steps->reset = core_add_reset_seen(engine->core, &engine->list);
}

/* *ours: the stop belongs to this call. */
static bool take_look(struct walking *self, const struct passage_steps *steps, bool *ours,
                      struct error *error)
{
    struct direct_engine *engine = self->engine;
    size_t block = block_at(self, self->here);
    uint64_t all = core_has(engine->core, WIDE_REGISTERS) ? UINT64_MAX : UINT32_MAX, wanted = self->sp;
    if (core_reset_seen(engine->core, engine->results[steps->reset]))
        return direct_tell_reset(engine, error);
    reading_take(&engine->device->reading, false, engine->results, steps->to, self->hop.readings[1]);
    uint64_t value =
        core_register_value(engine->core, frame_register(self, self->here), engine->results, steps->frame);
    bool checked = block == self->walk->n;
    if (!checked && core_code_place(self->here) == self->walk->blocks[block].low) {
        checked = self->walk->blocks[block].framed;
        wanted = (self->sp + (uint64_t)self->walk->blocks[block].apart) & all;
    }
    *ours = !checked || value == wanted;
    progress_note(&engine->progress);
    return true;
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
    return take_look(self, &steps, ours, error);
}

/* *ours: as far as a stop there shows it. */
static bool step(struct walking *self, bool begins, bool *ours, struct error *error)
{
    struct direct_engine *engine = self->engine;
    struct passage_steps steps = {0};
    direct_new_list(engine);
    if (begins)
        steps.from = reading_add(&engine->device->reading, false, NULL, &engine->list);
    passage_add_stops(&self->passage, NULL, 0); /* none */
    steps.before = steps_add(&engine->list, step_time(TIME_BEFORE));
    core_add_single_step(engine->core, &engine->list, engine->breakpoints.comparator, self->here);
    steps.after = steps_add(&engine->list, step_time(TIME_AFTER));
    if (!direct_check_time(engine, error) || !direct_run_plain(engine, error))
        return false;
    take_run(self, &steps, begins);
    if (!direct_read_register(engine, CORE_PC, &self->here, error))
        return false;
    direct_new_registers(engine);
    add_look(self, self->here, &steps);
    return direct_run_plain(engine, error) && take_look(self, &steps, ours, error);
}

/* --- a hop ---------------------------------------------------------------------------------------------- */

/* Where the core may go from here. *steps: it must execute one instruction first. */
static bool choose_stops(const struct walking *self, uint64_t *stops, unsigned *n, bool *steps,
                         struct error *error)
{
    const struct walk_block *block = &self->walk->blocks[self->hop.from];
    uint64_t last = code_of(self, block->last), end = self->engine->call.frame.end.pc;
    bool inside = block_at(self, self->here) == self->hop.from;
    unsigned fit = 0;
    *n = 0;
    for (unsigned i = 0; i < block->n_next; i++)
        stops[(*n)++] = code_of(self, block->next[i]);
    if (block->returns || (block->is_open && !inside))
        stops[(*n)++] = end;
    bool is_open = block->is_open || *n == 0;
    if (!is_open && !passage_prepare(&self->passage, stops, *n, &fit, error))
        return false;
    *steps = false;
    for (unsigned i = 0; i < *n; i++)
        *steps = *steps || stops[i] == self->here;
    if (!inside && !*steps && (is_open || fit == *n))
        return *n > 0 || error_set(error, ERROR_STATE, "the code went to 0x%08" PRIX64, self->here);
    if (is_open || fit < *n) {
        *steps = *steps || (inside && core_code_place(self->here) >= core_code_place(last));
        stops[0] = last;
        *n = 1;
        return *steps || passage_prepare(&self->passage, stops, 1, &fit, error);
    }
    return true;
}

static bool is_over(const struct walking *self)
{
    const struct walk_block *from = &self->walk->blocks[self->hop.from];
    size_t block = block_at(self, self->here);
    uint64_t place = core_code_place(self->here);
    return self->here == self->engine->call.frame.end.pc ||
           (block < self->walk->n && (block != self->hop.from || place == from->low));
}

/* At a stop that is another call's, of this function or of its caller: until it is this call's. */
static bool go_past(struct walking *self, const uint64_t *stops, unsigned n, struct error *error)
{
    bool ours = false;
    while (!ours) {
        if (deadline_cancelled(self->engine->deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (!step(self, false, &ours, error))
            return false;
        ours = ours && passage_is_among(stops, n, self->here);
        if (!passage_is_among(stops, n, self->here) && !pass(self, stops, n, false, &ours, error))
            return false;
    }
    return true;
}

static bool hop_on(struct walking *self, bool *returned, struct error *error)
{
    bool begins = true, over = false;
    self->hop = (struct walk_hop){.from = self->block, .begins = self->hop.begins};
    while (!over) {
        uint64_t stops[PASSAGE_STOPS + 1] = {0};
        unsigned n = 0;
        bool steps = false, ours = true, same;
        if (deadline_cancelled(self->engine->deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (!choose_stops(self, stops, &n, &steps, error))
            return false;
        if (!(steps ? step(self, begins, &same, error) : pass(self, stops, n, begins, &ours, error)))
            return false;
        begins = false;
        if (!ours && !go_past(self, stops, n, error))
            return false;
        over = is_over(self);
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

static bool find_frame(struct walking *self, bool *inner, struct error *error)
{
    struct direct_engine *engine = self->engine;
    struct frame *frame = &engine->call.frame;
    direct_new_registers(engine);
    size_t lr = core_add_register(engine->core, &engine->list, CORE_LR);
    size_t sp = core_add_register(engine->core, &engine->list, CORE_SP);
    if (!direct_run_plain(engine, error))
        return false;
    frame->lr = core_register_value(engine->core, CORE_LR, engine->results, lr);
    frame->sp = self->sp = core_register_value(engine->core, CORE_SP, engine->results, sp);
    if (!frame_find_end(frame, engine->core, self->walk->region, NULL, inner, error))
        return false;
    engine->hits.under_way = true;
    engine->hits.hit = (struct raw_hit){.pairs = 1};
    if (frame->is_handler)
        return error_set(error, ERROR_USAGE, "it is an exception handler, whose lines cannot be followed");
    return true;
}

/* A call that the function itself made begins none: it is a part of the one around it. */
static bool begin_call(struct walking *self, bool runs, struct error *error)
{
    bool inner = true, ours;
    while (inner) {
        if (deadline_cancelled(self->engine->deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (!reach_entry(self, runs, error) || !find_frame(self, &inner, error) ||
            (inner && !step(self, false, &ours, error)))
            return false;
        runs = false;
    }
    self->block = block_at(self, self->here);
    return self->block < self->walk->n ||
           error_set(error, ERROR_ELF, "the function's entry is in none of its lines");
}

static bool walk_calls(struct walking *self, struct error *error)
{
    bool more = true, runs = true;
    while (more) {
        bool returned = false;
        if (!begin_call(self, runs, error))
            return false;
        while (!returned) {
            if (!hop_on(self, &returned, error))
                return false;
            more = self->walk->hop(self->walk->context, &self->hop);
            self->hop.begins = false;
        }
        runs = false;
    }
    return true;
}

bool direct_walk(struct engine *engine, const struct engine_walk *walk, const struct deadline *deadline,
                 struct error *error)
{
    struct direct_engine *direct = (struct direct_engine *)engine;
    struct walking self = {.engine = direct, .walk = walk, .is_thumb = walk->region->start_is_thumb};
    const struct engine_request wait = {.hits = UINT64_MAX, .timeout_ms = walk->timeout_ms};
    struct error why = {0};
    direct->deadline = deadline;
    passage_init(&self.passage, direct);
    if (!passage_begin(&self.passage, walk->region, 3, error))
        return false;
    direct_begin(direct, &wait, walk->sink);
    if (!walk_calls(&self, &why))
        return direct_tell_cause(direct, &why, error);
    return direct_check_neighbours(direct, true, error);
}
