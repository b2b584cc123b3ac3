#include "target/stepwise.h"

#include "cores/flow.h"
#include "target/elsewhere.h"
#include "target/entry.h"
#include "target/stepwise_stops.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIST_ROOM = READING_STEPS + 8, READ_MS = 5000, STILL_MS = 20 };

static struct deadline some_time(const struct deadline *deadline)
{
    return deadline_in_ms(patience_ms(READ_MS), deadline->cancel);
}

static uint64_t end_of(const struct stepwise *self)
{
    return self->region.to_return ? self->place.pc : self->region.end;
}

static bool is_pending(struct stepwise *self, bool *pending, const struct deadline *deadline,
                       struct error *error)
{
    struct step items[2];
    uint64_t results[2];
    struct steps list = {.items = items, .room = 2};
    struct deadline limit = some_time(deadline);
    size_t at = self->core->ops->add_pending(self->core, &list);
    *pending = false;
    if (at == SIZE_MAX)
        return true;
    if (!target_run(self->target, &list, results, &limit, error))
        return false;
    *pending = self->core->ops->pending(self->core, results[at]);
    return true;
}

/* --- a hit ---------------------------------------------------------------------------------------------- */

/* Halted at a function's entry: learns where this call returns to. *inner: it was called by itself. */
static bool find_return(struct stepwise *self, bool *inner, const struct deadline *deadline,
                        struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    uint64_t status = 0;
    bool has_lr = self->core->family != CORE_X86_64; /* there the stack has it */
    if ((has_lr && !stepwise_register(self, CORE_LR, &self->entry_lr, deadline, error)) ||
        !stepwise_register(self, CORE_SP, &self->entry_sp, deadline, error))
        return false;
    *inner = false;
    if (ops->exception_mode != NULL && !self->entry_is_call &&
        (!stepwise_register(self, CORE_STATUS, &status, deadline, error) ||
         !entry_check(self->target, status, self->entry_lr, self->region.start, deadline, error)))
        return false;
    self->entry_is_call = true;
    if (!ops->returns_by_frame(self->core, self->entry_lr)) {
        self->place =
            (struct return_place){.pc = core_code_of_lr(self->core, self->entry_lr), .sp = self->entry_sp};
        *inner = self->place.pc >= self->region.low && self->place.pc < self->region.high;
        return true;
    }
    struct step items[FRAME_WORDS];
    uint64_t words[FRAME_WORDS], psp = 0;
    struct steps list = {.items = items, .room = FRAME_WORDS};
    struct deadline limit = some_time(deadline);
    if (has_lr && !stepwise_register(self, CORE_PSP, &psp, deadline, error))
        return false;
    uint64_t frame = ops->frame(self->core, self->entry_lr, self->entry_sp, psp);
    for (unsigned i = 0; i < FRAME_WORDS; i++)
        steps_add(&list, step_read(core_word(self->core, frame + UINT64_C(4) * i)));
    if (!target_run(self->target, &list, words, &limit, error))
        return false;
    self->place = ops->frame_return(self->core, self->entry_lr, frame, words);
    *inner = !has_lr && self->place.pc >= self->region.low && self->place.pc < self->region.high;
    return true;
}

/* Whether the stop at the end is that of this passage: of its core, and in its frame. */
static bool is_this_passage(struct stepwise *self, bool *ours, const struct deadline *deadline,
                            struct error *error)
{
    uint64_t sp = self->place.sp;
    *ours = strcmp(self->stop.thread, self->thread) == 0;
    if (!*ours || !self->region.to_return)
        return true;
    if (!stepwise_register(self, CORE_SP, &sp, deadline, error))
        return false;
    *ours = sp == self->place.sp;
    return true;
}

static bool reach_end(struct stepwise *self, const struct deadline *deadline, struct error *error)
{
    uint64_t end = end_of(self);
    for (bool ours = false;;) {
        bool pending = false;
        if (!stepwise_move(self, end, deadline, error) || !is_pending(self, &pending, deadline, error))
            return false;
        self->hit.tainted = self->hit.tainted || pending;
        if (self->hit.past == 0 && self->region.start != end)
            self->hit.before_us = (uint64_t)deadline_now_us();
        if (!stepwise_run(self, WAIT_END, deadline, error))
            return false;
        self->hit.after_us = (uint64_t)deadline_now_us();
        self->hit.pairs += self->stop.halts;
        self->hit.steps += (self->stop.halts + 1) / 2;
        if (!stepwise_prove(self, end, deadline, error) || !is_this_passage(self, &ours, deadline, error))
            return false;
        if (ours)
            return elsewhere_check(self->target, &self->stop, error);
        if (!stepwise_step(self, deadline, error))
            return false;
        self->hit.pairs += 2;
        self->hit.steps++;
        self->hit.past++;
    }
}

static bool read_words(struct stepwise *self, const struct deadline *deadline, struct error *error)
{
    const struct at_end *at_end = self->wish->at_end;
    struct deadline limit = some_time(deadline);
    for (size_t i = 0; at_end != NULL && i < at_end->n; i++) {
        const struct at_end_word *word = &at_end->words[i];
        if (word->is_register
                ? !stepwise_register(self, word->which, &self->hit.words[i], deadline, error)
                : !ledger_read(self->target->ledger, word->at, &self->hit.words[i], &limit, error))
            return false;
    }
    return true;
}

static bool deliver(struct stepwise *self, const struct deadline *deadline, struct error *error)
{
    bool reset = false;
    if (!stepwise_read(self, self->hit.to, NULL, &reset, deadline, error) ||
        !read_words(self, deadline, error))
        return false;
    if (reset) {
        self->was_reset = true;
        return error_set(error, ERROR_RESET, "the target was reset");
    }
    self->hit.end_address = end_of(self);
    self->hits++;
    if (!self->sink->hit(self->sink->context, &self->hit) || self->hits >= self->wish->hits)
        self->enough = true;
    return true;
}

/* Waits at the start, and for a function learns the way back. *again: this passage is none. */
static bool reach_start(struct stepwise *self, bool *again, const struct deadline *deadline,
                        struct error *error)
{
    *again = false;
    if (!self->at_start && (!stepwise_move(self, self->region.start, deadline, error) ||
                            !stepwise_run(self, WAIT_START, deadline, error)))
        return false;
    self->at_start = false;
    if (!stepwise_prove(self, self->region.start, deadline, error) ||
        !elsewhere_check(self->target, &self->stop, error))
        return false;
    snprintf(self->thread, sizeof self->thread, "%s", self->stop.thread);
    if (!self->region.to_return)
        return true;
    return find_return(self, again, deadline, error) && (!*again || stepwise_step(self, deadline, error));
}

static bool pass_once(struct stepwise *self, unsigned *rehits, const struct deadline *deadline,
                      struct error *error)
{
    bool again = false, moved = false, round = false;
    if (!reach_start(self, &again, deadline, error))
        return false;
    if (again)
        return true;
    if (!stepwise_rehits(self, self->region.start, *rehits, &moved, deadline, error))
        return false;
    if (moved)
        return true;
    round = self->region.start == end_of(self);
    self->hit = (struct raw_hit){.pairs = round ? 2 : 1, .steps = round ? 1 : 0};
    if (!stepwise_read(self, self->hit.from, NULL, NULL, deadline, error))
        return false;
    self->hit.before_us = (uint64_t)deadline_now_us();
    if ((round && !stepwise_step(self, deadline, error)) || !reach_end(self, deadline, error) ||
        !deliver(self, deadline, error))
        return false;
    unsigned after = *rehits;
    *rehits = 0;
    if (!stepwise_rehits(self, end_of(self), after, &moved, deadline, error))
        return false;
    self->at_start = round && !moved;
    return true;
}

/* --- the engine ----------------------------------------------------------------------------------------- */

/* A counter that goes on while the core stands would count the debugger's time. */
static bool stands_still(struct stepwise *self, const struct deadline *deadline, struct error *error)
{
    uint64_t before[READING_ROOM], after[READING_ROOM];
    const struct reading *reading = &self->target->reading;
    if (!stepwise_read(self, before, NULL, NULL, deadline, error))
        return false;
    nanosleep(&(struct timespec){.tv_nsec = STILL_MS * 1000000L}, NULL);
    if (!stepwise_read(self, after, NULL, NULL, deadline, error))
        return false;
    for (size_t i = 0; i < reading->counted; i++)
        if (before[i] != after[i])
            return error_set(
                error, ERROR_NO_COUNTER,
                "%s goes on while the core is halted: what it would count is the debugger's time%s",
                reading->counters[i].name, elsewhere_advice(self->target));
    return true;
}

static bool stepwise_run_hits(struct engine *engine, const struct engine_wish *wish,
                              const struct engine_sink *sink, const struct deadline *deadline,
                              struct error *error)
{
    struct stepwise *self = (struct stepwise *)engine;
    unsigned rehits = wish->rehits;
    self->wish = wish;
    self->sink = sink;
    self->hits = 0;
    self->enough = false;
    /* Of each pass, where others may run on what is counted */
    if (self->target->elsewhere != NULL && !stands_still(self, deadline, error))
        return false;
    while (!self->enough)
        if (!pass_once(self, &rehits, deadline, error))
            return false;
    if (wish->rehits > 0 && self->rehit != REHIT_STOPS_AGAIN)
        snprintf(engine->uncalibrated, sizeof engine->uncalibrated, "%s",
                 self->rehit == REHIT_STEPS_OVER
                     ? "the debugger steps over a breakpoint when it resumes there"
                 : self->core->family == CORE_X86_64
                     ? "where an x86-64 instruction ends is not known, nor whether a resume steps over it"
                     : "it cannot be told whether a resumed core stops again at once");
    return true;
}

static bool stepwise_arm(struct engine *engine, const struct region *region, const struct deadline *deadline,
                         struct error *error)
{
    struct stepwise *self = (struct stepwise *)engine;
    struct setting settings[CORE_SETTINGS];
    size_t n = self->core->ops->settings(self->core, settings, CORE_SETTINGS);
    self->region = *region;
    self->region.start = core_code(self->core, region->start, region->start_is_thumb);
    self->region.end = core_code(self->core, region->end, region->end_is_thumb);
    if (!process_check_debugged(&region->process, error))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!ledger_apply(self->target->ledger, &settings[i], deadline, error))
            return false;
    /* Both ends, to know at once that they can be had */
    return stands_still(self, deadline, error) &&
           (region->to_return || stepwise_move(self, self->region.end, deadline, error)) &&
           stepwise_move(self, self->region.start, deadline, error);
}

static bool clear_guard(struct stepwise *self, const struct deadline *deadline, struct error *error)
{
    if (self->guard != POINT_NONE && !stepwise_point(self, self->guard, false, deadline, error))
        return false;
    self->guard = POINT_NONE;
    return true;
}

static bool stepwise_disarm(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct stepwise *self = (struct stepwise *)engine;
    uint64_t pc = 0;
    bool ran = self->debugger->ops->is_running(self->debugger);
    if (!debugger_halt(self->debugger, &self->stop, error))
        return false;
    if (ran && self->stop.why != DEBUGGER_REQUESTED) { /* it stopped by itself in the last moment */
        if (!stepwise_register(self, CORE_PC, &pc, deadline, error))
            return false;
        self->engine.stopped_at = core_place(self->core, pc);
        self->foreign = core_place(self->core, pc) != core_place(self->core, self->point);
    }
    self->target->leave_halted = self->foreign;
    return clear_guard(self, deadline, error) && stepwise_move(self, POINT_NONE, deadline, error);
}

static void stepwise_free(struct engine *engine)
{
    free(engine);
}

struct engine *stepwise_new(struct target *target)
{
    static const struct engine_ops ops = {
        .arm = stepwise_arm, .run = stepwise_run_hits, .disarm = stepwise_disarm, .free = stepwise_free};
    struct stepwise *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->engine.ops = &ops;
    self->target = target;
    self->debugger = target->debugger;
    self->core = &target->chosen->core;
    self->point = self->left = self->guard = POINT_NONE;
    return &self->engine;
}
