/*
 * The rig of an Armv8-A core: its programs, and how it is identified.
 */
#pragma once

#include "model_armv8_link.h"

#define START UINT64_C(0x80000)
#define END   UINT64_C(0x80100)
#include "rig_arm.h"

#include "cores/architectures.h"

/* From user code into a kernel: all of the address differs, and once half of it is right. */
#define KERNEL UINT64_C(0xFFFF800000000000)
static const struct model_event far_apart[] = {
    {.cycles = 100, .pc = KERNEL + 0x80000, .sp = 0x9F00},
    {.cycles = 50, .pc = 0x80000, .sp = 0x9F00},
    {.cycles = 100, .pc = 0x80100, .sp = 0x9F00},
    {.cycles = BASE - 100, .grow = GROW, .pc = KERNEL + 0x80100, .sp = KERNEL + 0x9F00},
};
static const struct model_event function[] = {
    {.cycles = 150, .pc = KERNEL + 0x80000, .sp = KERNEL + 0x9F00, .lr = KERNEL + 0x80804},
    {.cycles = BASE, .grow = GROW, .pc = KERNEL + 0x80804, .sp = KERNEL + 0x9F00, .lr = KERNEL + 0x80804},
};
static const struct model_event callers[] = {
    {.cycles = 150, .pc = 0x80000, .sp = 0x9F00, .lr = 0x80804},
    {.cycles = BASE, .grow = 2 * GROW, .pc = 0x80804, .sp = 0x9F00},
    {.cycles = 150, .pc = 0x80000, .sp = 0x9E00, .lr = KERNEL + 0x80904},
    {.cycles = BASE + GROW, .grow = 2 * GROW, .pc = KERNEL + 0x80904, .sp = 0x9E00},
};

static const struct scene scenes[] = {
    {"plain", plain, COUNT(plain), {.start = 0x80000, .end = 0x80100}},
    {"far apart", far_apart, COUNT(far_apart), {.start = 0x80000, .end = KERNEL + 0x80100}},
    {"function", function, COUNT(function), {.start = KERNEL + 0x80000, .to_return = true}},
    {"callers",
     callers,
     COUNT(callers),
     {.start = 0x80000, .to_return = true, .low = 0x80000, .high = 0x80080}},
    {"recursion",
     recursion,
     COUNT(recursion),
     {.start = 0x80000, .to_return = true, .low = 0x80000, .high = 0x80080}},
    {"round", around, COUNT(around), {.start = 0x80000, .end = 0x80000}},
};

static inline struct core rig_identify(struct model *model)
{
    struct core core = {0};
    struct step items[ARMV8_IDENTITY];
    uint64_t values[ARMV8_IDENTITY];
    struct steps list = {.items = items, .room = ARMV8_IDENTITY};
    armv8_add_identity(0, MODEL_BASE, MODEL_CTI, &list);
    rig_look(model, &list, values);
    armv8_identify(0, MODEL_BASE, MODEL_CTI, values, &core);
    return core;
}

static inline struct counter rig_counter(const struct core *core)
{
    (void)core;
    return (struct counter){.low = {.space = SPACE_MEMORY, .size = 4, .offset = MODEL_COUNTER},
                            .high = {.space = SPACE_MEMORY, .size = 4, .offset = MODEL_COUNTER + 4},
                            .bits = MODEL_COUNTER_BITS};
}
