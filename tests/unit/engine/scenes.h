/*
 * One program for each kind of region, a run through each as a measurement goes, and what is wrong with it:
 * for the tests that let the same thing go wrong everywhere. Each of their hits takes BASE + GROW * n cycles,
 * n rising.
 */
#pragma once

#include "rig.h"

enum { BASE = 400, GROW = 7, HITS = 4, HANDLER = 90 };
enum { WORDS = 20 }; /* lines about what is wrong, for each test */

static const struct model_event plain[] = {
    {.cycles = 150, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.cycles = BASE, .grow = GROW, .pc = 0x1100, .sp = 0x20007F00, .lr = 0x2005},
};
static const struct model_event function[] = {
    {.cycles = 150, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.cycles = BASE, .grow = GROW, .pc = 0x2004, .sp = 0x20007F00, .lr = 0x1031},
};
static const struct model_event callers[] = {
    {.cycles = 150, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.cycles = BASE, .grow = 2 * GROW, .pc = 0x2004, .sp = 0x20007F00},
    {.cycles = 150, .pc = 0x1000, .sp = 0x20007E00, .lr = 0x3003},
    {.cycles = BASE + GROW, .grow = 2 * GROW, .pc = 0x3002, .sp = 0x20007E00},
};
static const struct model_event recursion[] = {
    {.cycles = 150, .pc = 0x1000, .sp = 0x20007E00, .lr = 0x1041},
    {.cycles = 150, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.cycles = 100, .pc = 0x1000, .sp = 0x20007E80, .lr = 0x2005},
    {.cycles = 100, .pc = 0x2004, .sp = 0x20007E80},
    {.cycles = BASE - 200, .grow = GROW, .pc = 0x2004, .sp = 0x20007F00},
};
static const struct model_event handler[] = {
    {.cycles = 150, .pc = 0x1000, .sp = 0x20007F00, .lr = 0xFFFFFFF9, .ipsr = 15},
    {.cycles = BASE, .grow = GROW, .pc = 0x1060, .sp = 0x20007EF8, .ipsr = 15},
    {.cycles = 20, .pc = 0x2004, .sp = 0x20007F20},
};
static const struct model_event in_ram[] = {
    {.cycles = 150, .pc = 0x20000400, .sp = 0x20007F00, .lr = 0x20000441},
    {.cycles = BASE, .grow = GROW, .pc = 0x20000440, .sp = 0x20007F00},
};
static const struct model_event round_trip[] = {
    {.cycles = BASE - GROW, .grow = GROW, .pc = 0x1000, .sp = 0x20007F00},
};

static const struct scene {
    const char *name;
    const struct model_event *script;
    size_t n;
    struct region region;
} scenes[] = {
    {"start to end", plain, COUNT(plain), {.start = 0x1000, .end = 0x1100}},
    {"function",
     function,
     COUNT(function),
     {.start = 0x1000, .to_return = true, .low = 0x1000, .high = 0x1080}},
    {"callers", callers, COUNT(callers), {.start = 0x1000, .to_return = true, .low = 0x1000, .high = 0x1080}},
    {"recursion",
     recursion,
     COUNT(recursion),
     {.start = 0x1000, .to_return = true, .low = 0x1000, .high = 0x1080}},
    {"handler",
     handler,
     COUNT(handler),
     {.start = 0x1000,
      .to_return = true,
      .low = 0x1000,
      .high = 0x1080,
      .exits = {.at = {{.at = 0x1060, .popped = 2}}, .n = 1, .all = true}}},
    {"RAM", in_ram, COUNT(in_ram), {.start = 0x20000400, .to_return = true}},
    {"round", round_trip, COUNT(round_trip), {.start = 0x1000, .end = 0x1000}},
};

/* How one run ended. */
struct end {
    bool armed, ran;
    long accesses; /* from arming to the end of the run */
    unsigned resumes, transfers;
    enum error_kind kind;
};

/* The last one: its program uses the DebugMonitor, so that resets must be caught, and debug is on. */
enum scene_core { SCENE_M4, SCENE_M7, SCENE_CATCHES };
static enum scene_core scene_core;

static inline struct rig *set_up(const struct scene *scene)
{
    struct rig *rig = rig_fresh(scene->script, scene->n);
    if (scene_core == SCENE_M7)
        model_be_m7(&rig->model);
    if (scene_core == SCENE_CATCHES) {
        rig->model.demcr |= 0x10000; /* MON_EN */
        rig->model.debug = true;
    }
    rig_begin(rig);
    return rig;
}

/* As a measurement goes: calibration, hits, and once more calibration with the last hit. */
static inline struct end go(struct rig *rig, const struct scene *scene)
{
    struct end end = {0};
    long before = rig->model.accesses;
    end.armed = rig_arm(rig, &scene->region);
    end.ran = end.armed && rig_run(rig, 1, 2) && rig_run(rig, HITS - 2, 0) && rig_run(rig, 1, 2);
    end.accesses = rig->model.accesses - before;
    end.resumes = rig->model.resumes;
    end.transfers = rig->model.transfers;
    end.kind = rig->error.kind;
    return end;
}

/* `unseen` counts the interrupts that pended in Debug state and ran first without a word; may be NULL. */
static inline const char *wrong_hits(const struct rig *rig, unsigned *unseen)
{
    long last = -1;
    for (size_t i = 0; i < rig->n_hits; i++) {
        const struct raw_hit *hit = &rig->hits[i];
        uint32_t work = rig_work(hit);
        if ((uint64_t)work > (hit->after_us - hit->before_us) * MODEL_MHZ && (int32_t)work > 0)
            return "a hit took longer than it says";
        if (rig_round(work, BASE, GROW) < 0 && rig->model.what == TROUBLE_PEND) {
            work -= HANDLER;
            if (unseen != NULL)
                *unseen += rig->model.pended_halted && !hit->tainted;
        }
        long round = rig_round(work, BASE, GROW);
        if (round <= last || round > 20)
            return "a wrong value";
        last = round;
    }
    return NULL;
}

static inline const char *wrong_rehits(const struct rig *rig)
{
    for (size_t i = 0; i < rig->n_rehits; i++)
        if (rig->rehits[i] != RIG_COST)
            return "a wrong re-hit";
    return NULL;
}

static inline const char *end_clean(struct rig *rig)
{
    rig->model.trouble_at = -1; /* another test is for the end */
    bool ended = rig_end(rig);
    const char *difference = model_difference(&rig->model, &rig->before);
    return difference != NULL ? difference : ended ? NULL : "the end failed";
}

static inline struct end clean(const struct scene *scene)
{
    struct rig *rig = set_up(scene);
    struct end end = go(rig, scene);
    assert_true(end.ran);
    assert_int_equal(rig->n_hits, HITS);
    assert_null(wrong_hits(rig, NULL));
    assert_null(wrong_rehits(rig));
    assert_null(end_clean(rig));
    return end;
}

/* Ends the run and says what is wrong, or NULL. */
typedef const char *finish_with(struct rig *rig, const struct end *end);

static inline const char *judge(struct rig *rig, const struct end *end, finish_with *finish, unsigned *unseen)
{
    const char *hang = rig->model.hung ? "it hangs" : NULL, *hits = wrong_hits(rig, unseen);
    const char *rehits = end->ran ? wrong_rehits(rig) : NULL; /* a failed run prints none */
    const char *ended = finish(rig, end);
    rig_tear_down();
    return hang != NULL ? hang : hits != NULL ? hits : rehits != NULL ? rehits : ended;
}

static inline const char *must_succeed(struct rig *rig, const struct end *end)
{
    const char *words = !end->armed           ? "arming failed"
                        : !end->ran           ? "the run failed"
                        : rig->n_hits != HITS ? "hits are missing"
                                              : NULL;
    const char *ended = end_clean(rig);
    return words != NULL ? words : ended;
}
