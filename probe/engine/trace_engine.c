/* SPDX-License-Identifier: MIT */
#include "engine/trace_engine.h"

#include "engine/call.h"

#include <stdlib.h>

enum { OUTCOMES = 8192, POLL_MS = 5000, START_WISH = 0, TASKS_OPEN = 16, WORD_BYTES = 4 };

static const uint64_t any_task = UINT64_MAX; /* until the first switch */

/* What a task is in: between a start and an end, or not. */
struct trace_entry {
    uint64_t task, from, since; /* since: it began after that */
    enum moment_doubt doubt;
    bool has_since, is_in;
    unsigned depth; /* starts without an end, where calls may nest */
};

/* A call that is over. */
struct trace_outcome {
    uint64_t from, to, least, most; /* least, most: the cycles that it took; 0: not bounded */
    uint32_t track;
    enum trace_why {
        CALL_EXACT,
        CALL_LATE,
        CALL_TOGETHER,
        CALL_UNPROVED,
        CALL_LOST,
        CALL_UNPAIRED,
        CALL_GAP
    } why;
};

struct trace_engine {
    struct engine engine;
    struct device *device;
    struct trace_engine_setup setup;
    struct trace trace;
    struct trace_request request;
    struct trace_wish wishes[TRACE_COMPARATORS];
    bool is_round, opened;
    struct trace_entry entries[TASKS_OPEN], *now; /* now: of the task that runs */
    size_t task_wish;                             /* 0: none */
    bool after_gap;                               /* packets were lost since the last end */
    uint64_t delivered;                           /* cycles of all hits */
    struct trace_outcome outcomes[OUTCOMES];      /* a ring */
    size_t first, n;
    struct trace_calls calls;
    uint64_t proved, begun; /* what trace proved so far of the time, in cycles; where the last hit began */
    struct raw_hit open;
    int64_t armed_us;
};

static struct trace_engine *trace_engine_of(struct engine *engine)
{
    return (struct trace_engine *)engine;
}

const struct trace_calls *trace_engine_calls(const struct engine *engine)
{
    return &((const struct trace_engine *)engine)->calls;
}

/* ---- moments to calls */

static void outcome_put(struct trace_engine *self, const struct trace_outcome *outcome)
{
    if (self->n == OUTCOMES) { /* the oldest hit becomes one that was lost */
        self->outcomes[self->first].why = CALL_LOST;
        self->calls.seen++;
        self->calls.lost++;
        self->first = (self->first + 1) % OUTCOMES;
        self->n--;
    }
    self->outcomes[(self->first + self->n++) % OUTCOMES] = *outcome;
}

static void outcome_add(struct trace_engine *self, enum trace_why why)
{
    outcome_put(self, &(struct trace_outcome){.why = why});
}

/* Another start precedes the end: it was left, or is interrupted by a call that ends first. Not so where
 * calls nest: the inner one may have been left, and the end be the outer one's. */
static void trace_call_begin(struct trace_engine *self, const struct trace_moment *moment)
{
    struct trace_entry *now = self->now;
    now->depth = self->setup.nests ? now->depth + 1 : 1;
    if (now->is_in)
        outcome_add(self, CALL_UNPAIRED);
    if (now->depth > 1)
        outcome_add(self, CALL_UNPAIRED);
    now->is_in = now->depth == 1;
    now->from = moment->cycles;
    now->since = moment->since;
    now->has_since = moment->has_since;
    now->doubt = moment->doubt;
}

static void trace_call_end(struct trace_engine *self, const struct trace_moment *moment)
{
    static const enum trace_why why[MOMENT_DOUBTS] = {[MOMENT_EXACT] = CALL_EXACT,
                                                      [MOMENT_TOGETHER] = CALL_TOGETHER,
                                                      [MOMENT_LATE] = CALL_LATE,
                                                      [MOMENT_UNPROVED] = CALL_UNPROVED};
    struct trace_entry *now = self->now;
    enum moment_doubt doubt = moment->doubt > now->doubt ? moment->doubt : now->doubt;
    bool is_bounded = (doubt == MOMENT_TOGETHER || doubt == MOMENT_LATE) && now->has_since;
    if (now->is_in)
        outcome_put(self, &(struct trace_outcome){.from = now->from,
                                                  .to = moment->cycles,
                                                  .least = is_bounded && moment->has_since &&
                                                                   moment->since > now->from
                                                               ? moment->since - now->from
                                                               : 0,
                                                  .most = is_bounded ? moment->cycles - now->since : 0,
                                                  .track = (uint32_t)(now - self->entries) + 1,
                                                  .why = why[doubt]});
    else if (self->after_gap && now->depth == 0) /* its start was lost */
        outcome_add(self, CALL_LOST);
    now->depth -= now->depth > 0;
    now->is_in = self->after_gap = false;
}

static void entry_leave(struct trace_engine *self, struct trace_entry *entry, enum trace_why why)
{
    if (entry->is_in)
        outcome_add(self, why);
    entry->is_in = false;
    entry->depth = 0;
}

/* An end belongs to the start of the same task. */
static void task_switch(struct trace_engine *self, uint64_t task)
{
    struct trace_entry *idle = NULL;
    if (self->now->task == any_task)
        entry_leave(self, self->now, CALL_UNPAIRED);
    for (size_t i = 0; i < TASKS_OPEN; i++) {
        struct trace_entry *entry = &self->entries[i];
        if (entry->task == task) {
            self->now = entry;
            return;
        }
        if (!entry->is_in)
            idle = entry;
    }
    self->now = idle != NULL ? idle : &self->entries[0];
    entry_leave(self, self->now, CALL_LOST);
    self->now->task = task;
}

static void tasks_forget(struct trace_engine *self, enum trace_why why)
{
    for (size_t i = 0; i < TASKS_OPEN; i++)
        entry_leave(self, &self->entries[i], why);
    self->now = &self->entries[0];
    self->now->task = any_task;
}

static void trace_engine_take(void *context, const struct trace_moment *moment)
{
    struct trace_engine *self = context;
    if (moment->doubt == MOMENT_EXACT && moment->kind != MOMENT_LOST)
        self->proved = moment->cycles;
    if (moment->kind == MOMENT_LOST) {
        outcome_put(self, &(struct trace_outcome){.to = moment->cycles, .why = CALL_GAP});
        tasks_forget(self, CALL_LOST); /* a switch may have been lost, too */
        self->after_gap = true;
    }
    bool is_task = moment->kind == MOMENT_DATA && self->task_wish != 0 && moment->n == self->task_wish;
    if (is_task && moment->size == WORD_BYTES)
        task_switch(self, moment->value);
    else if (is_task) /* a part of the word */
        tasks_forget(self, CALL_UNPAIRED);
    if (moment->kind != MOMENT_MATCH)
        return;
    if (moment->n != START_WISH || self->is_round)
        trace_call_end(self, moment);
    if (moment->n == START_WISH)
        trace_call_begin(self, moment);
}

/* ---- calls to hits */

const char trace_engine_advice[] = "delta without --no-halt measures it.";

static void outcome_show(const struct trace_engine_setup *setup, const struct trace_outcome *outcome)
{
    const bool exact = outcome->why == CALL_EXACT;
    const struct trace_stay stay = {.number = outcome->track,
                                    .entered = true,
                                    .from_exact = exact,
                                    .to_exact = exact,
                                    .own_exact = exact,
                                    .from = outcome->from,
                                    .to = outcome->to,
                                    .own = outcome->to - outcome->from};
    if (setup->stay != NULL && outcome->track > 0)
        setup->stay(setup->context, &stay);
    if (setup->lost != NULL && outcome->why == CALL_GAP)
        setup->lost(setup->context, outcome->to);
}

/* False: the sink has enough. */
static bool outcome_deliver(struct trace_engine *self, const struct trace_outcome *outcome,
                            const struct engine_sink *sink)
{
    struct trace_calls *calls = &self->calls;
    uint64_t *const counts[] = {&calls->exact, &calls->late,     &calls->together, &calls->unproved,
                                &calls->lost,  &calls->unpaired, &calls->gaps};
    ++*counts[outcome->why];
    calls->seen += outcome->why != CALL_GAP;
    calls->bounded += outcome->most > 0;
    calls->least += outcome->least;
    calls->most += outcome->most;
    calls->longest = outcome->most > calls->longest ? outcome->most : calls->longest;
    outcome_show(&self->setup, outcome);
    if (outcome->why != CALL_EXACT)
        return true;
    struct raw_hit hit = {.before_us = (uint64_t)self->armed_us, .after_us = (uint64_t)deadline_now_us()};
    self->begun = outcome->from;
    /* What is between hits is not known, where trace was lost */
    hit.from[0] = self->delivered;
    hit.to[0] = self->delivered += outcome->to - outcome->from;
    return sink->hit(sink->context, &hit);
}

/* At most *hits of them, from which they are taken. *enough: the sink has enough. Returns whether there was a
 * hit. */
static bool deliver_all(struct trace_engine *self, const struct engine_sink *sink, uint64_t *hits,
                        bool *enough)
{
    bool any = false;
    while (self->n > 0 && *hits > 0 && !*enough) {
        const struct trace_outcome outcome = self->outcomes[self->first];
        self->first = (self->first + 1) % OUTCOMES;
        self->n--;
        any = any || outcome.why == CALL_EXACT;
        *hits -= outcome.why == CALL_EXACT;
        *enough = !outcome_deliver(self, &outcome, sink);
    }
    return any;
}

static bool tell_no_hit(const struct trace_engine *self, const struct engine_request *request,
                        uint64_t seen_before, struct error *error)
{
    const struct trace_calls *calls = &self->calls;
    double seconds = (double)request->timeout_ms / 1000;
    if (calls->seen == seen_before && !self->now->is_in)
        return error_set(error, ERROR_START, "the start was not executed within %.3g s, as far as %s shows",
                         seconds, calls->where);
    if (calls->seen == seen_before)
        return error_set(error, ERROR_END, "the end was not executed within %.3g s of the start", seconds);
    return error_advise(error, ERROR_END, trace_engine_advice,
                        "of %llu calls %s has an exact time: %llu were sent late, in %llu both ends share "
                        "a timestamp, %llu are not proved, %llu were lost, %llu began again before their end",
                        (unsigned long long)calls->seen, calls->exact > 0 ? "no further one" : "none",
                        (unsigned long long)calls->late, (unsigned long long)calls->together,
                        (unsigned long long)calls->unproved, (unsigned long long)calls->lost,
                        (unsigned long long)calls->unpaired);
}

/* The oldest call without an end. After a run that had its hits, a call that began later than the last of
 * these is not one of them. */
static void find_open(struct trace_engine *self, bool ran)
{
    const struct trace_entry *oldest = NULL;
    for (size_t i = 0; i < TASKS_OPEN; i++) {
        const struct trace_entry *entry = &self->entries[i];
        bool counts = entry->is_in && (!ran || entry->from < self->begun);
        oldest = counts && (oldest == NULL || entry->from < oldest->from) ? entry : oldest;
    }
    self->engine.under_way = oldest != NULL ? &self->open : NULL;
    self->engine.reached = true;
    self->open =
        (struct raw_hit){.before_us = (uint64_t)self->armed_us, .after_us = (uint64_t)deadline_now_us()};
    if (oldest != NULL)
        self->open.to[0] = self->proved > oldest->from ? self->proved - oldest->from : 0;
}

static bool run_trace(struct trace_engine *self, const struct engine_request *request,
                      const struct engine_sink *sink, const struct deadline *deadline, struct error *error)
{
    int64_t hit_us = deadline_now_us();
    uint64_t seen = self->calls.seen, hits = request->hits;
    bool enough = false;
    for (;;) {
        struct deadline soon = deadline_in_ms(patience_ms(POLL_MS), deadline->cancel);
        if (deliver_all(self, sink, &hits, &enough)) {
            hit_us = deadline_now_us();
            seen = self->calls.seen;
        }
        if (enough || hits == 0)
            return true;
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (deadline_now_us() - hit_us > engine_patience_ms(request, self->now->is_in) * 1000)
            return tell_no_hit(self, request, seen, error);
        if (!trace_poll(&self->trace, &soon, error))
            return false;
        if (sink->tick != NULL)
            sink->tick(sink->context, self->now->is_in ? WAIT_END : WAIT_START);
    }
}

static bool trace_engine_run(struct engine *engine, const struct engine_request *request,
                             const struct engine_sink *sink, const struct deadline *deadline,
                             struct error *error)
{
    struct trace_engine *self = trace_engine_of(engine);
    bool ran = run_trace(self, request, sink, deadline, error);
    find_open(self, ran);
    return ran;
}

static bool trace_engine_arm(struct engine *engine, const struct region *region,
                             const struct deadline *deadline, struct error *error)
{
    struct trace_engine *self = trace_engine_of(engine);
    struct trace_request *request = &self->request;
    self->wishes[START_WISH] = (struct trace_wish){.what = TRACE_CODE, .address = region->start};
    request->n_wishes = 1;
    self->is_round = !region->to_return && region->start == region->end;
    for (size_t i = 0; region->to_return && i < self->setup.n_ends; i++)
        self->wishes[request->n_wishes++] =
            (struct trace_wish){.what = TRACE_CODE, .address = self->setup.ends[i]};
    if (!region->to_return && !self->is_round)
        self->wishes[request->n_wishes++] = (struct trace_wish){.what = TRACE_CODE, .address = region->end};
    if (self->setup.task != 0 && request->n_wishes < TRACE_COMPARATORS) {
        self->task_wish = request->n_wishes++;
        self->wishes[self->task_wish] =
            (struct trace_wish){.what = TRACE_WRITE, .address = self->setup.task, .can_lack = true};
    }
    self->opened = true;
    if (!trace_open(&self->trace, self->device, request, deadline, error))
        return false;
    self->armed_us = deadline_now_us();
    self->calls.where = self->trace.where;
    bool sees_tasks = self->task_wish != 0 && self->trace.comparators[self->task_wish] != TRACE_LACKS;
    const struct call call = {
        .doubt = !region->to_return
                     ? "trace does not show whether another call, task or handler executed the end"
                 : self->setup.doubt != NULL ? self->setup.doubt
                 : self->setup.task != 0 && !sees_tasks
                     ? "no comparator is free to see the task: a call may end in another one"
                     : NULL};
    call_doubt(&call, region, engine);
    return true;
}

static bool trace_engine_disarm(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct trace_engine *self = trace_engine_of(engine);
    (void)error;
    if (self->opened)
        trace_close(&self->trace, deadline);
    self->opened = false;
    return true;
}

static bool trace_engine_read_registers(struct engine *engine, struct register_value *registers, size_t n,
                                        const struct deadline *deadline, struct error *error)
{
    (void)engine;
    (void)deadline;
    (void)registers;
    (void)n;
    return error_set(error, ERROR_STATE, "a core that is not halted shows no registers");
}

static void trace_engine_free(struct engine *engine)
{
    free(engine);
}

struct engine *trace_engine_new(struct device *device, const struct trace_engine_setup *setup)
{
    static const struct engine_ops ops = {.arm = trace_engine_arm,
                                          .run = trace_engine_run,
                                          .read_registers = trace_engine_read_registers,
                                          .disarm = trace_engine_disarm,
                                          .free = trace_engine_free};
    struct trace_engine *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->engine.ops = &ops;
    self->device = device;
    self->setup = *setup;
    for (size_t i = 0; i < TASKS_OPEN; i++)
        self->entries[i].task = any_task;
    self->now = &self->entries[0];
    self->request = (struct trace_request){.wishes = self->wishes,
                                           .sink = setup->sink,
                                           .ring_base = setup->ring_base,
                                           .ring_bytes = setup->ring_bytes,
                                           .baud = setup->baud,
                                           .clock_hz = setup->clock_hz,
                                           .clock_is_measured = setup->clock_is_measured,
                                           .context = self,
                                           .take = trace_engine_take};
    return &self->engine;
}
