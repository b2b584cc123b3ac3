/*
 * The rig of an Armv7 core: its programs, and how it is identified.
 */
#pragma once

#include "model_armv7_link.h"

#define START UINT64_C(0x8000)
#define END   UINT64_C(0x8100)
#include "rig_arm.h"

#include "cores/architectures.h"

static const struct model_event plain_thumb[] = {
    {.cycles = 100, .pc = 0x8001, .sp = 0x9F00}, /* the other half of the start's word, and of the end's */
    {.cycles = 50, .pc = 0x8003, .sp = 0x9F00},
    {.cycles = 100, .pc = 0x8103, .sp = 0x9F00},
    {.cycles = BASE - 100, .grow = GROW, .pc = 0x8101, .sp = 0x9F00},
};
static const struct model_event mixed[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00},
    {.cycles = BASE, .grow = GROW, .pc = 0x8103, .sp = 0x9F00},
};
static const struct model_event callers[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804},
    {.cycles = BASE, .grow = 2 * GROW, .pc = 0x8804, .sp = 0x9F00},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9E00, .lr = 0x8907},
    {.cycles = BASE + GROW, .grow = 2 * GROW, .pc = 0x8907, .sp = 0x9E00},
};
static const struct model_event function[] = {
    {.cycles = 150, .pc = 0x8003, .sp = 0x9F00, .lr = 0x8807},
    {.cycles = BASE, .grow = GROW, .pc = 0x8807, .sp = 0x9F00, .lr = 0x8807},
};
static const struct model_event modes[] = {
    /* where the core itself does not reach its debug registers */
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804},
    {.cycles = BASE, .grow = 2 * GROW, .pc = 0x8804, .sp = 0x9F00, .lr = 0x8804},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .user = true},
    {.cycles = BASE + GROW, .grow = 2 * GROW, .pc = 0x8804, .sp = 0x9F00, .lr = 0x8804, .user = true},
};
/* Returns to either half of one word. */
static const struct model_event halves[] = {
    {.cycles = 150, .pc = 0x8001, .sp = 0x9F00, .lr = 0x8805},
    {.cycles = BASE, .grow = 2 * GROW, .pc = 0x8805, .sp = 0x9F00, .lr = 0x8805},
    {.cycles = 150, .pc = 0x8001, .sp = 0x9F00, .lr = 0x8807},
    {.cycles = BASE + GROW, .grow = 2 * GROW, .pc = 0x8807, .sp = 0x9F00, .lr = 0x8807},
};
static const struct model_event round_thumb[] = {
    {.cycles = BASE - GROW, .grow = GROW, .pc = 0x8003, .sp = 0x9F00}};

static const struct scene scenes[] = {
    {"ARM", plain, COUNT(plain), {.start = 0x8000, .end = 0x8100}},
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
    {"round", around, COUNT(around), {.start = 0x8000, .end = 0x8000}},
    {"Thumb round",
     round_thumb,
     COUNT(round_thumb),
     {.start = 0x8002, .end = 0x8002, .start_is_thumb = true, .end_is_thumb = true}},
};

static inline struct core rig_identify(struct model *model)
{
    struct core core = {0};
    struct step items[ARMV7_IDENTITY];
    uint64_t values[ARMV7_IDENTITY];
    struct steps list = {.items = items, .room = ARMV7_IDENTITY};
    armv7_add_identity(0, MODEL_BASE, &list);
    rig_look(model, &list, values);
    assert_true(armv7_identify(0, MODEL_BASE, values, &core));
    return core;
}

static inline struct counter rig_counter(const struct core *core)
{
    return (struct counter){.low = core_debug(core, MODEL_COUNTER), .bits = MODEL_COUNTER_BITS};
}
