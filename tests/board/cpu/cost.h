// What an instruction costs. A table for each core; the parts beyond one cycle are separate because the
// DWT's profiling counters count them apart.
#ifndef BOARD_CPU_COST_H
#define BOARD_CPU_COST_H

#include <stdbool.h>
#include <stdint.h>

struct cost {
    uint8_t folded; // 1: takes no cycle at all
    uint8_t cpi;    // cycles beyond the first of multi-cycle instructions
    uint8_t lsu;    // cycles beyond the first of loads and stores
};

static inline unsigned cost_cycles(struct cost c)
{
    return 1u - c.folded + c.cpi + c.lsu;
}

// first: the halfword, second: the next one, wide: both make one instruction, jumped: it did not go on to the
// next
struct cost cost_m0plus(uint16_t first, uint16_t second, bool wide, bool jumped);
struct cost cost_m4(uint16_t first, uint16_t second, bool wide, bool jumped);

#endif
