// What a stay in Debug state does to the rest of the chip: the counters move by some cycles on the way in and
// out, and a peripheral that goes on may raise an interrupt meanwhile.
#ifndef BOARD_CPU_HALT_COST_H
#define BOARD_CPU_HALT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "rng.h"

struct halt_cost {
    uint32_t low, high;    // entry and exit together cost low..high
    uint32_t irq_permille; // share of halts in which an interrupt becomes pending
    struct rng entry, exit, irq;
};

// Far above anything real, low enough that sums cannot overflow
enum { HALT_COST_MAX = 1000000 };

void halt_cost_seed(struct halt_cost *, uint64_t seed);
bool halt_cost_parse(struct halt_cost *, const char *text); // "N" or "N..M"
uint32_t halt_cost_entry(struct halt_cost *);
uint32_t halt_cost_exit(struct halt_cost *);
bool halt_cost_interrupts(struct halt_cost *);

#endif
