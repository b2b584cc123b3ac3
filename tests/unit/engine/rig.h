/*
 * A model core with the tool's target and engine on top, and a sink that keeps what arrives: for the tests of
 * the direct engine.
 */
#pragma once

#include "../model_link.h"
#include "../test.h"
#include "engine/engine.h"

#include <time.h>

enum { RIG_HITS = 64, RIG_REHITS = 512, RIG_COST = 11 }; /* the model's leave_cost and enter_cost */

/* A program that passes the same two places again and again. */
static const struct region part = {.start = 0x1000, .end = 0x1100};
static const struct region whole = {.start = 0x1000, .to_return = true, .low = 0x1000, .high = 0x1080};

static const struct model_event to_end[] = {
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x1100, .sp = 0x20007F00, .lr = 0x2005},
};

struct rig {
    struct model_core model, before;
    struct device device;
    struct engine *engine;
    struct deadline deadline;
    struct error error;
    int64_t timeout_ms;
    size_t enough_after; /* 0: the sink never has enough */
    struct raw_hit hits[RIG_HITS];
    uint32_t rehits[RIG_REHITS];
    size_t n_hits, n_rehits, n_left;
    bool looks; /* at each end, at these registers */
    struct register_value seen[RIG_HITS][3];
    size_t n_seen;
};

static inline struct rig *rig_the_one(void)
{
    static struct rig rig;
    return &rig;
}

static inline struct rig *rig_fresh(const struct model_event *script, size_t n)
{
    model_init(&rig_the_one()->model, script, n, 0);
    return rig_the_one();
}

/* What clock_gettime says when a test puts it here: the model's time, so that nothing takes longer on a busy
 * machine. */
static inline int rig_clock(struct timespec *now)
{
    uint64_t us = rig_the_one()->model.wall / MODEL_MHZ + 1000000000;
    *now = (struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    return 0;
}

static inline void rig_nap(uint64_t us)
{
    model_advance(&rig_the_one()->model, us * MODEL_MHZ);
}

static inline bool rig_hit(void *context, const struct raw_hit *hit)
{
    struct rig *rig = context;
    if (rig->n_hits < RIG_HITS)
        rig->hits[rig->n_hits++] = *hit;
    return rig->enough_after == 0 || rig->n_hits < rig->enough_after;
}

static inline void rig_rehit(void *context, const struct raw_hit *rehit)
{
    struct rig *rig = context;
    if (rig->n_rehits < RIG_REHITS)
        rig->rehits[rig->n_rehits++] = (uint32_t)(rehit->to[0] - rehit->from[0]);
}

static inline bool rig_ended(void *context, struct error *error)
{
    struct rig *rig = context;
    struct register_value *seen = rig->seen[rig->n_seen++ % RIG_HITS];
    seen[0].which = CORE_PC;
    seen[1].which = CORE_SP;
    seen[2].which = (enum core_register)(CORE_R0 + 1);
    return rig->engine->ops->read_registers(rig->engine, seen, 3, &rig->deadline, error);
}

static inline void rig_left(void *context, const struct raw_hit *hit)
{
    (void)hit;
    ((struct rig *)context)->n_left++;
}

/* Another debugger has the first n comparators. */
static inline void rig_occupy(struct rig *rig, size_t n)
{
    rig->model.fp_ctrl |= 1;
    rig->model.debug = true;
    for (size_t i = 0; i < n; i++)
        rig->model.comparators[i] = 0x40000801;
}

/* Everything up to the engine; the model is as model_init left it, or changed since. */
static inline void rig_begin(struct rig *rig)
{
    rig->model.cyccnt = 0xFFFFFF00; /* wraps soon */
    rig->before = rig->model;
    rig->deadline = deadline_in_ms(60000, &rig->model.cancelled);
    rig->timeout_ms = 60000;
    rig->engine = NULL;
    rig->n_hits = rig->n_rehits = rig->n_left = rig->enough_after = rig->n_seen = 0;
    rig->looks = false;
    error_clear(&rig->error);
    assert_true(device_open(&rig->device, &rig->model.link, &(struct device_request){.core = -1},
                            &rig->deadline, &rig->error));
    assert_null(model_difference(&rig->model, &rig->before));
    assert_true(device_choose(&rig->device, -1, &rig->error));
    assert_true(device_take(&rig->device, false, "nowhere", &rig->deadline, &rig->error));
    assert_true(device_take_block(&rig->device, "dwt", &rig->deadline, &rig->error));
    rig->engine = direct_new(&rig->device);
    assert_non_null(rig->engine);
}

static inline bool rig_arm(struct rig *rig, const struct region *region)
{
    return rig->engine->ops->arm(rig->engine, region, &rig->deadline, &rig->error);
}

static inline void rig_begin_armed(struct rig *rig, const struct region *region)
{
    rig_begin(rig);
    assert_true(rig_arm(rig, region));
}

/* A script that is run from its beginning, with the engine armed. */
static inline struct rig *rig_armed(const struct model_event *script, size_t n, const struct region *region)
{
    rig_begin_armed(rig_fresh(script, n), region);
    return rig_the_one();
}

static inline bool rig_run(struct rig *rig, uint64_t hits, unsigned rehits)
{
    struct engine_sink sink = {.context = rig,
                               .hit = rig_hit,
                               .rehit = rig_rehit,
                               .left = rig_left,
                               .ended = rig->looks ? rig_ended : NULL};
    struct engine_request request = {.hits = hits, .rehits = rehits, .timeout_ms = rig->timeout_ms};
    return rig->engine->ops->run(rig->engine, &request, &sink, &rig->deadline, &rig->error);
}

/* Disarms and undoes, as a command does at its end; false when either failed: it can be tried again. */
static inline bool rig_undo(struct rig *rig, struct error *error)
{
    struct deadline deadline = deadline_in_ms(5000, NULL);
    return rig->engine->ops->disarm(rig->engine, &deadline, error) &&
           device_undo(&rig->device, &deadline, error);
}

static inline void rig_free(struct rig *rig)
{
    if (rig->engine != NULL)
        rig->engine->ops->free(rig->engine);
    rig->engine = NULL;
    device_close(&rig->device);
}

/* After a test that failed on its way. */
static inline void rig_tear_down(void)
{
    rig_free(rig_the_one());
}

#define RIG_TEST(name) TEST_BETWEEN(name, test_nothing, rig_tear_down)

static inline bool rig_end(struct rig *rig)
{
    struct error error = {0};
    bool undone = rig_undo(rig, &error);
    rig_free(rig);
    if (!undone)
        print_message("end: %s\n", error.text);
    return undone;
}

/* For an end at which nothing may be left over. */
static inline void rig_end_clean(struct rig *rig)
{
    assert_true(rig_end(rig));
    const char *difference = model_difference(&rig->model, &rig->before);
    assert_string_equal(difference == NULL ? "" : difference, "");
}

/* What the program itself took. */
static inline uint32_t rig_work(const struct raw_hit *hit)
{
    return (uint32_t)(hit->to[0] - hit->from[0]) - hit->pairs * RIG_COST;
}

/* With `looks`: each hit was read once, where it ended. `third`: the debugger has that register, too. */
static inline void rig_check_seen(const struct rig *rig, bool third)
{
    assert_int_equal(rig->n_seen, rig->n_hits);
    for (size_t i = 0; i < rig->n_seen; i++) {
        assert_true(rig->seen[i][0].known && rig->seen[i][1].known && rig->seen[i][2].known == third);
        assert_int_equal(core_code_place(rig->seen[i][0].value), rig->hits[i].end_address);
    }
}

/* The round of the script that took so long; -1: none did. */
static inline long rig_round(uint32_t work, uint32_t base, uint32_t grow)
{
    return work < base || (work - base) % grow != 0 ? -1 : (long)((work - base) / grow);
}

/* One hit for each round, in order, each right; nothing else. */
static inline void rig_check_hits(const struct rig *rig, size_t n, uint32_t base, uint32_t grow)
{
    assert_string_equal(rig->error.text, "");
    assert_int_equal(rig->n_hits, n);
    for (size_t i = 0; i < n; i++) {
        const struct raw_hit *hit = &rig->hits[i];
        assert_int_equal(rig_round(rig_work(hit), base, grow), i);
        if ((uint64_t)rig_work(hit) > (hit->after_us - hit->before_us) * MODEL_MHZ)
            fail_msg("hit %zu ran for %u cycles, and should have run for no more than %u us", i,
                     rig_work(hit), (unsigned)(hit->after_us - hit->before_us));
    }
}

/* Ends a run with these hits. */
static inline void rig_end_with(struct rig *rig, size_t n, uint32_t base, uint32_t grow)
{
    rig_check_hits(rig, n, base, grow);
    rig_end_clean(rig);
}
