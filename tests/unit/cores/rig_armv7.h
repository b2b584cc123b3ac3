/*
 * An Armv7 model core with the tool's target and engine on top, programs for it, and a sink that keeps what
 * comes.
 */
#pragma once

#include "../test.h"
#include "model_armv7_link.h"

#include "cores/armv7.h"
#include "target/lowered.h"

#include <stdlib.h>
#include <time.h>

enum { RIG_HITS = 64, RIG_REHITS = 64, BASE = 400, GROW = 7, HITS = 4, HANDLER = 90 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct rig {
    struct v7_model model, before;
    struct target target;
    struct engine *engine;
    struct deadline deadline;
    struct error error;
    const struct at_end *at_end;
    struct raw_hit hits[RIG_HITS];
    uint32_t rehits[RIG_REHITS];
    size_t n_hits, n_rehits;
};

static inline struct rig *the_rig(void)
{
    static struct rig rig;
    return &rig;
}

/* What clock_gettime says: the model's time, so that nothing takes longer on a busy machine. */
static inline int rig_clock(struct timespec *now)
{
    uint64_t us = the_rig()->model.wall / V7_MHZ + 1000000000;
    *now = (struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    return 0;
}

/* Programs, for each kind of region; each of their hits takes BASE + GROW * n cycles, n rising. */
static const struct v7_event plain_arm[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00},
    {.cycles = BASE, .grow = GROW, .pc = 0x8100, .sp = 0x9F00},
};
static const struct v7_event plain_thumb[] = {
    {.cycles = 100, .pc = 0x8001, .sp = 0x9F00}, /* the other half of the start's word, and of the end's */
    {.cycles = 50, .pc = 0x8003, .sp = 0x9F00},
    {.cycles = 100, .pc = 0x8103, .sp = 0x9F00},
    {.cycles = BASE - 100, .grow = GROW, .pc = 0x8101, .sp = 0x9F00},
};
static const struct v7_event mixed[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00},
    {.cycles = BASE, .grow = GROW, .pc = 0x8103, .sp = 0x9F00},
};
static const struct v7_event callers[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804},
    {.cycles = BASE, .grow = 2 * GROW, .pc = 0x8804, .sp = 0x9F00},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9E00, .lr = 0x8907},
    {.cycles = BASE + GROW, .grow = 2 * GROW, .pc = 0x8907, .sp = 0x9E00},
};
static const struct v7_event function[] = {
    {.cycles = 150, .pc = 0x8003, .sp = 0x9F00, .lr = 0x8807},
    {.cycles = BASE, .grow = GROW, .pc = 0x8807, .sp = 0x9F00, .lr = 0x8807},
};
static const struct v7_event modes[] = {
    /* where the core itself does not reach its debug registers */
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804},
    {.cycles = BASE, .grow = 2 * GROW, .pc = 0x8804, .sp = 0x9F00, .lr = 0x8804},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .user = true},
    {.cycles = BASE + GROW, .grow = 2 * GROW, .pc = 0x8804, .sp = 0x9F00, .lr = 0x8804, .user = true},
};
/* Returns to either half of one word. */
static const struct v7_event halves[] = {
    {.cycles = 150, .pc = 0x8001, .sp = 0x9F00, .lr = 0x8805},
    {.cycles = BASE, .grow = 2 * GROW, .pc = 0x8805, .sp = 0x9F00, .lr = 0x8805},
    {.cycles = 150, .pc = 0x8001, .sp = 0x9F00, .lr = 0x8807},
    {.cycles = BASE + GROW, .grow = 2 * GROW, .pc = 0x8807, .sp = 0x9F00, .lr = 0x8807},
};
static const struct v7_event recursion[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9E00, .lr = 0x8040},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804},
    {.cycles = 100, .pc = 0x8000, .sp = 0x9E80, .lr = 0x8804},
    {.cycles = 100, .pc = 0x8804, .sp = 0x9E80},
    {.cycles = BASE - 200, .grow = GROW, .pc = 0x8804, .sp = 0x9F00},
};
static const struct v7_event round_arm[] = {
    {.cycles = BASE - GROW, .grow = GROW, .pc = 0x8000, .sp = 0x9F00}};
static const struct v7_event round_thumb[] = {
    {.cycles = BASE - GROW, .grow = GROW, .pc = 0x8003, .sp = 0x9F00}};

static const struct scene {
    const char *name;
    const struct v7_event *script;
    size_t n;
    struct region region;
} scenes[] = {
    {"ARM", plain_arm, COUNT(plain_arm), {.start = 0x8000, .end = 0x8100}},
    {"Thumb",
     plain_thumb,
     COUNT(plain_thumb),
     {.start = 0x8002, .end = 0x8100, .start_is_thumb = true, .end_is_thumb = true}},
    {"ARM to Thumb", mixed, COUNT(mixed), {.start = 0x8000, .end = 0x8102, .end_is_thumb = true}},
    {"Thumb function",
     function,
     COUNT(function),
     {.start = 0x8002, .start_is_thumb = true, .to_return = true}},
    {"callers of both kinds",
     callers,
     COUNT(callers),
     {.start = 0x8000, .to_return = true, .low = 0x8000, .high = 0x8080}},
    {"either mode", modes, COUNT(modes), {.start = 0x8000, .to_return = true}},
    {"returns to one word",
     halves,
     COUNT(halves),
     {.start = 0x8000, .start_is_thumb = true, .to_return = true}},
    {"recursion",
     recursion,
     COUNT(recursion),
     {.start = 0x8000, .to_return = true, .low = 0x8000, .high = 0x8080}},
    {"round", round_arm, COUNT(round_arm), {.start = 0x8000, .end = 0x8000}},
    {"Thumb round",
     round_thumb,
     COUNT(round_thumb),
     {.start = 0x8002, .end = 0x8002, .start_is_thumb = true, .end_is_thumb = true}},
};

static inline bool rig_hit(void *context, const struct raw_hit *hit)
{
    struct rig *rig = context;
    if (rig->n_hits < RIG_HITS)
        rig->hits[rig->n_hits++] = *hit;
    return true;
}

static inline void rig_rehit(void *context, const struct raw_hit *rehit)
{
    struct rig *rig = context;
    if (rig->n_rehits < RIG_REHITS)
        rig->rehits[rig->n_rehits++] = (uint32_t)(rehit->to[0] - rehit->from[0]);
}

static inline struct core rig_identify(struct v7_model *model)
{
    struct core core = {0};
    struct step items[ARMV7_IDENTITY];
    uint64_t values[ARMV7_IDENTITY];
    struct steps list = {.items = items, .room = ARMV7_IDENTITY};
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct error error = {0};
    armv7_add_identity(0, V7_BASE, &list);
    assert_false(list.overflow);
    assert_int_equal(link_execute(&model->link, items, list.n, values, &deadline, &error).why, DONE);
    assert_true(armv7_identify(0, V7_BASE, values, &core));
    return core;
}

static inline struct rig *rig_fresh(const struct v7_event *script, size_t n)
{
    v7_init(&the_rig()->model, script, n);
    return the_rig();
}

/* Everything up to the engine; the model is as v7_init left it, or changed since. */
static inline void rig_begin(struct rig *rig)
{
    rig->before = rig->model;
    rig->deadline = deadline_in_ms(60000, &rig->model.cancelled);
    rig->n_hits = rig->n_rehits = 0;
    rig->at_end = NULL;
    error_clear(&rig->error);
    rig->target = (struct target){.link = &rig->model.link,
                                  .ledger = ledger_new(&rig->model.link),
                                  .cores = calloc(1, sizeof(struct target_core)),
                                  .n_cores = 1};
    assert_non_null(rig->target.cores);
    rig->target.cores[0].core = rig_identify(&rig->model);
    rig->target.chosen = &rig->target.cores[0];
    rig->target.reading = (struct reading){.n = 1, .counted = 1};
    rig->target.reading.counters[0] =
        (struct counter){.low = core_debug(&rig->target.cores[0].core, V7_COUNTER), .bits = 32};
    assert_int_equal(rig->model.writes, 0);
    assert_true(target_take(&rig->target, false, "nowhere", &rig->deadline, &rig->error));
    rig->engine = lowered_new(&rig->target);
    assert_non_null(rig->engine);
}

static inline bool rig_run(struct rig *rig, uint64_t hits, unsigned rehits)
{
    struct engine_sink sink = {.context = rig, .hit = rig_hit, .rehit = rig_rehit};
    struct engine_wish wish = {.hits = hits, .rehits = rehits, .timeout_ms = 5, .at_end = rig->at_end};
    return rig->engine->ops->run(rig->engine, &wish, &sink, &rig->deadline, &rig->error);
}

static inline bool rig_arm(struct rig *rig, const struct region *region)
{
    return rig->engine->ops->arm(rig->engine, region, &rig->deadline, &rig->error);
}

/* As a measurement goes: calibration, hits, and once more calibration with the last hit. */
static inline bool rig_go(struct rig *rig, const struct scene *scene)
{
    return rig_arm(rig, &scene->region) && rig_run(rig, 1, 2) && rig_run(rig, HITS - 2, 0) &&
           rig_run(rig, 1, 2);
}

static inline void rig_free(struct rig *rig)
{
    if (rig->engine != NULL)
        rig->engine->ops->free(rig->engine);
    rig->engine = NULL;
    if (rig->target.ledger != NULL)
        target_close(&rig->target);
}

static inline int rig_tear_down(void **state)
{
    (void)state;
    rig_free(the_rig());
    return 0;
}

#define RIG_TEST(name) TEST_WITH(name, NULL, rig_tear_down)

/* Disarms and undoes, as a command does at its end, which tries again once. NULL: nothing is left over. */
static inline const char *rig_end(struct rig *rig)
{
    bool undone = false;
    for (int tries = 0; tries < 2 && !undone; tries++) {
        struct error error = {0};
        struct deadline deadline = deadline_in_ms(5000, NULL);
        undone = rig->engine->ops->disarm(rig->engine, &deadline, &error) &&
                 target_undo(&rig->target, &deadline, &error);
    }
    rig_free(rig);
    if (rig->model.going > 0)
        v7_leave(&rig->model); /* it was told to */
    return rig->model.hung ? "it hangs"
           : undone        ? v7_difference(&rig->model, &rig->before)
                           : "the end failed";
}

/* What is wrong with the hits; NULL: nothing. Interrupts may have run in them, when there were any. */
static inline const char *rig_wrong(const struct rig *rig)
{
    long last = -1;
    bool pends = rig->model.what == V7_DO_PEND;
    for (size_t i = 0; i < rig->n_hits; i++) {
        const struct raw_hit *hit = &rig->hits[i];
        uint32_t work = (uint32_t)(hit->to[0] - hit->from[0]) - hit->pairs * V7_COST;
        if (pends && (work < BASE || (work - BASE) % GROW != 0))
            work -= HANDLER;
        long round = work < BASE || (work - BASE) % GROW != 0 ? -1 : (long)((work - BASE) / GROW);
        if (round <= last || round > 20)
            return "a wrong value";
        last = round;
    }
    for (size_t i = 0; i < rig->n_rehits; i++)
        if (rig->rehits[i] != V7_COST && !(pends && rig->rehits[i] == V7_COST + HANDLER))
            return "a wrong re-hit";
    return NULL;
}
