/*
 * A model core with the tool's target and engine on top, programs for it, and a sink that keeps what arrives.
 * For rig_armv7.h and rig_armv8.h.
 */
#pragma once

#include "../test.h"

#include "engine/engine.h"

#include <stdlib.h>
#include <time.h>

enum { RIG_HITS = 64, RIG_REHITS = 64, BASE = 400, GROW = 7, HITS = 4, HANDLER = 90 };

struct rig {
    struct model model, before;
    struct device device;
    struct engine *engine;
    struct deadline deadline;
    struct error error;
    const struct at_end *at_end;
    struct raw_hit hits[RIG_HITS];
    uint64_t rehits[RIG_REHITS];
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
    uint64_t us = the_rig()->model.wall / MODEL_MHZ + 1000000000;
    *now = (struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    return 0;
}

/* What is measured, from START to END where it is in one piece; the same three for either architecture. Each
 * of their hits takes BASE + GROW * n cycles, n rising. */
static const struct model_event plain[] = {
    {.cycles = 150, .pc = START, .sp = 0x9F00},
    {.cycles = BASE, .grow = GROW, .pc = END, .sp = 0x9F00},
};
static const struct model_event recursion[] = {
    {.cycles = 150, .pc = START, .sp = 0x9E00, .lr = START + 0x40},
    {.cycles = 150, .pc = START, .sp = 0x9F00, .lr = START + 0x804},
    {.cycles = 100, .pc = START, .sp = 0x9E80, .lr = START + 0x804},
    {.cycles = 100, .pc = START + 0x804, .sp = 0x9E80},
    {.cycles = BASE - 200, .grow = GROW, .pc = START + 0x804, .sp = 0x9F00},
};
static const struct model_event around[] = {{.cycles = BASE - GROW, .grow = GROW, .pc = START, .sp = 0x9F00}};

struct scene {
    const char *name;
    const struct model_event *script;
    size_t n;
    struct region region;
};

/* How the architectures differ: rig_armv7.h and rig_armv8.h. */
static inline struct core rig_identify(struct model *model);
static inline struct counter rig_counter(const struct core *core);

/* Runs the list of an identification. */
static inline void rig_look(struct model *model, const struct steps *list, uint64_t *values)
{
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct error error = {0};
    assert_false(list->overflow);
    assert_int_equal(link_execute(&model->link, list->items, list->n, values, &deadline, &error).why, DONE);
}

/* What the counter says, modulo its width. */
static inline uint64_t rig_counted(const struct raw_hit *hit)
{
    return (hit->to[0] - hit->from[0]) & (UINT64_MAX >> (64 - MODEL_COUNTER_BITS));
}

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
        rig->rehits[rig->n_rehits++] = rig_counted(rehit);
}

static inline struct rig *rig_fresh(const struct model_event *script, size_t n)
{
    model_init(&the_rig()->model, script, n);
    return the_rig();
}

/* Everything up to the engine; the model is as model_init left it, or changed since. */
static inline bool rig_try_begin(struct rig *rig)
{
    rig->before = rig->model;
    rig->deadline = deadline_in_ms(60000, &rig->model.cancelled);
    rig->n_hits = rig->n_rehits = 0;
    rig->at_end = NULL;
    error_clear(&rig->error);
    rig->device =
        (struct device){.link = &rig->model.link, .ledger = ledger_new(&rig->model.link), .n_cores = 1};
    rig->device.cores = calloc(1, sizeof *rig->device.cores);
    assert_non_null(rig->device.cores);
    rig->device.cores[0].core = rig_identify(&rig->model);
    rig->device.chosen = &rig->device.cores[0];
    rig->device.reading = (struct reading){.n = 1, .counted = 1};
    rig->device.reading.counters[0] = rig_counter(&rig->device.cores[0].core);
    assert_int_equal(rig->model.writes, 0);
    if (!device_take(&rig->device, false, "nowhere", &rig->deadline, &rig->error))
        return false;
    rig->engine = direct_new(&rig->device);
    assert_non_null(rig->engine);
    return true;
}

static inline void rig_begin(struct rig *rig)
{
    assert_true(rig_try_begin(rig));
}

static inline bool rig_run(struct rig *rig, uint64_t hits, unsigned rehits)
{
    struct engine_sink sink = {.context = rig, .hit = rig_hit, .rehit = rig_rehit};
    struct engine_request request = {.hits = hits, .rehits = rehits, .timeout_ms = 5, .at_end = rig->at_end};
    return rig->engine->ops->run(rig->engine, &request, &sink, &rig->deadline, &rig->error);
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
    return the_rig();
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
    if (rig->device.ledger != NULL)
        device_close(&rig->device);
}

static inline void rig_tear_down(void)
{
    rig_free(the_rig());
}

#define RIG_TEST(name) TEST_BETWEEN(name, test_nothing, rig_tear_down)

/* Disarms and undoes, as a command does at its end, which tries again once. NULL: nothing is left over. */
static inline const char *rig_end(struct rig *rig)
{
    bool undone = false;
    for (int tries = 0; tries < 2 && !undone; tries++) {
        struct error error = {0};
        struct deadline deadline = deadline_in_ms(5000, NULL);
        undone = (rig->engine == NULL || rig->engine->ops->disarm(rig->engine, &deadline, &error)) &&
                 device_undo(&rig->device, &deadline, &error);
    }
    rig_free(rig);
    if (rig->model.going > 0)
        model_leave(&rig->model); /* as the test wants */
    return rig->model.hung ? "it hangs"
           : undone        ? model_difference(&rig->model, &rig->before)
                           : "the end failed";
}

/* What is wrong with the hits; NULL: nothing. Interrupts may have run in them, when there were any. */
static inline const char *rig_wrong(const struct rig *rig)
{
    long last = -1;
    bool pends = rig->model.what == MODEL_DO_PEND;
    for (size_t i = 0; i < rig->n_hits; i++) {
        const struct raw_hit *hit = &rig->hits[i];
        uint64_t work = rig_counted(hit) - (uint64_t)hit->pairs * MODEL_COST;
        if (pends && (work < BASE || (work - BASE) % GROW != 0))
            work -= HANDLER;
        long round = work < BASE || (work - BASE) % GROW != 0 ? -1 : (long)((work - BASE) / GROW);
        if (round <= last || round > 20)
            return "a wrong value";
        last = round;
    }
    for (size_t i = 0; i < rig->n_rehits; i++)
        if (rig->rehits[i] != MODEL_COST && !(pends && rig->rehits[i] == MODEL_COST + HANDLER))
            return "a wrong re-hit";
    return NULL;
}
