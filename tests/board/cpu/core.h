// A core as the rest of the board sees it: something that runs for some cycles, can be reset and described.
// What kind it is stands behind the operations, so that a board may have several of different kinds.
#ifndef BOARD_CPU_CORE_H
#define BOARD_CPU_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bus.h"
#include "cpu/halt_cost.h"
#include "truth.h"

struct core;

struct core_ops {
    bool (*runnable)(const struct core *); // false in Debug state, while held in reset, without power
    void (*run)(struct core *, uint64_t cycles);
    void (*reset)(struct core *);
    void (*hold)(struct core *, bool in_reset); // the reset line; letting go resets
    void (*power)(struct core *, bool on);      // on: nothing is left, of debugging neither
    bool (*interrupt)(struct core *, unsigned irq);
    void (*describe)(struct core *, FILE *json); // members of an object, without the braces
    void (*destroy)(struct core *);
};

struct core {
    const struct core_ops *ops;
    struct bus *bus;
    struct truth *truth;
    struct halt_cost *halt_cost;
    uint64_t cycles;  // of the program: instructions, exception entry and return, sleep
    uint64_t counted; // what the counters saw: cycles and the costs of halts
    uint64_t instructions;
    uint64_t halts;
};

#endif
