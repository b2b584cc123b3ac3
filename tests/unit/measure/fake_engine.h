/*
 * An engine that runs hits of a test's choosing, in the order of a real one: re-hits at the start, the hit,
 * re-hits at the end. Its own clock goes on with every hit.
 */
#pragma once

#include "measure/delta.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FAKE_CALLS = 256, FAKE_VALUES = 2048 };

struct fake_engine {
    struct engine engine;
    struct block_kind kind;
    struct counter_block block;
    struct device device;
    struct plan plan;

    void (*make)(struct fake_engine *, uint64_t number, struct raw_hit *); /* hits from 1 */
    uint64_t (*rehit)(struct fake_engine *, uint64_t number);              /* what it costs; from 1 */
    bool no_rehits;                                                        /* each one is disturbed */
    uint64_t left_each;      /* the Nth of calls is left; 0: none */
    uint64_t fail_at;        /* the hit that is not reached; 0: none */
    uint64_t late_at;        /* likewise, and its time is waited for */
    int64_t hit_us, wait_us; /* for each, and before the first */

    uint64_t hits, rehits;
    struct engine_request requests[FAKE_CALLS];
    size_t calls;
    int64_t now_us;
};

struct fake_results {
    struct hit_result hits[FAKE_VALUES];
    size_t n;
    uint64_t ticks, last_tick;
};

static inline int64_t *fake_clock(void)
{
    static int64_t now_us = 5000000000;
    return &now_us;
}

static inline int fake_time(struct timespec *now)
{
    *now = (struct timespec){.tv_sec = *fake_clock() / 1000000, .tv_nsec = *fake_clock() % 1000000 * 1000};
    return 0;
}

static inline void fake_rehit(struct fake_engine *fake, const struct engine_sink *sink, unsigned n)
{
    for (unsigned i = 0; i < n && !fake->no_rehits; i++) {
        struct raw_hit rehit = {.pairs = 1};
        uint64_t cost = fake->rehit(fake, ++fake->rehits);
        for (size_t k = 0; k < fake->block.n; k++) {
            rehit.from[k] = 1000;
            rehit.to[k] = 1000 + cost * (k + 1);
        }
        sink->rehit(sink->context, &rehit);
    }
}

static inline bool fake_run(struct engine *engine, const struct engine_request *request,
                            const struct engine_sink *sink, const struct deadline *deadline,
                            struct error *error)
{
    struct fake_engine *fake = (struct fake_engine *)engine;
    (void)deadline;
    if (fake->calls == FAKE_CALLS)
        return error_set(error, ERROR_SYSTEM, "called too often");
    fake->requests[fake->calls++] = *request;
    unsigned rehits = request->rehits;
    for (uint64_t i = 0; i < request->hits; i++) {
        if (fake->hits == 0)
            *fake_clock() += fake->wait_us;
        sink->tick(sink->context, WAIT_START);
        if (fake->hits + 1 == fake->late_at) {
            *fake_clock() += request->timeout_ms * 1000;
            return error_set(error, ERROR_START, "the start was not reached");
        }
        if (fake->hits + 1 == fake->fail_at)
            return error_set(error, ERROR_RESET, "the target was reset");
        fake_rehit(fake, sink, rehits);
        /* So long apart that a counter may show anything in between */
        uint64_t us = 60000000 * ++fake->hits;
        struct raw_hit hit = {.pairs = 1, .before_us = us, .after_us = us + 10};
        fake->make(fake, fake->hits, &hit);
        *fake_clock() += fake->hit_us;
        if (fake->left_each > 0 && fake->hits % fake->left_each == 0) {
            sink->left(sink->context, &hit);
            i--;
            continue;
        }
        bool more = sink->hit(sink->context, &hit);
        fake_rehit(fake, sink, rehits);
        rehits = 0;
        if (sink->ended != NULL && !sink->ended(sink->context, error))
            return false;
        if (!more)
            return true;
    }
    return true;
}

static inline uint64_t fake_cost_11(struct fake_engine *fake, uint64_t number)
{
    (void)fake;
    (void)number;
    return 11;
}

/* 1000 counts, 1007, 1014 ..., each with one halt of 11 in it. */
static inline void fake_growing(struct fake_engine *fake, uint64_t number, struct raw_hit *hit)
{
    for (size_t i = 0; i < fake->block.n; i++) {
        hit->from[i] = 500;
        hit->to[i] = 500 + (1000 + 7 * (number - 1) + 11) * (i + 1);
    }
}

static inline void fake_init(struct fake_engine *fake)
{
    static const struct engine_ops ops = {.run = fake_run};
    memset(fake, 0, sizeof *fake);
    fake->engine.ops = &ops;
    fake->make = fake_growing;
    fake->rehit = fake_cost_11;
    fake->hit_us = 1000;
    fake->block = (struct counter_block){.kind = &fake->kind, .n = 1, .counts_cycles = true};
    fake->block.counters[0] =
        (struct counter){.name = "CPU_CYCLES", .low = {.size = 4}, .bits = 32, .per_cycle = 1};
    fake->block.counters[1] =
        (struct counter){.name = "OTHER", .low = {.size = 4}, .bits = 32, .per_cycle = 2};
    fake->device.block = &fake->block;
}

/* Each counter of the block in one pass. */
static inline void fake_plan(struct fake_engine *fake)
{
    struct plan *plan = &fake->plan;
    memset(plan, 0, sizeof *plan);
    plan->n_passes = 1;
    for (size_t i = 0; i < fake->block.n; i++) {
        struct plan_pass *pass = &plan->passes[0];
        snprintf(plan->columns[i].name, EVENT_NAME, "%s", fake->block.counters[i].name);
        pass->picks[i] = (struct counter_pick){.counter = (uint8_t)i};
        snprintf(pass->picks[i].name, EVENT_NAME, "%s", fake->block.counters[i].name);
        pass->column[i] = i;
        plan->n_columns = pass->n = i + 1;
    }
}

static inline void fake_on_hit(void *context, const struct hit_result *hit)
{
    struct fake_results *results = context;
    if (results->n < FAKE_VALUES)
        results->hits[results->n++] = *hit;
}

static inline void fake_on_tick(void *context, uint64_t hits, enum engine_wait wait)
{
    struct fake_results *results = context;
    (void)wait;
    results->ticks++;
    results->last_tick = hits;
}
