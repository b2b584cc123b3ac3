// Work whose shares are known, for what samples a program: three functions by their cycles, three by their
// cache misses, where the shares of cycles are others, and one that takes much longer now and then. A test
// says which by the bits of `shares`.
#include "scenario.h"

enum { BY_CYCLES = 1, BY_MISSES = 2, WITH_OVERRUNS = 4 };
enum { LINE = 32, LINES = 128 }; // more than a direct-mapped cache of 32 lines has

volatile uint32_t shares;
// Of how many calls of deadline() one takes too long, and the result
volatile uint32_t overrun_each = 50, overrun_length = 4000, deadline_count, overrun_count;
static uint32_t calls_left, next_line;
// Not cleared at start-up
static volatile char lines[LINES * LINE] __attribute__((aligned(LINE), section(".noinit")));

static inline __attribute__((always_inline)) void spin(uint32_t rounds)
{
    for (; rounds; rounds--)
        __asm volatile("");
}

ALONE void cycles_10(void)
{
    spin(400);
}

ALONE void cycles_30(void)
{
    spin(1200);
}

ALONE void cycles_60(void)
{
    spin(2400);
}

// Each line was touched so long ago that it is no longer in the cache
static inline __attribute__((always_inline)) void miss(uint32_t count)
{
    uint32_t line = next_line;
    for (; count; count--) {
        (void)lines[line * LINE];
        line = line + 1 < LINES ? line + 1 : 0;
    }
    next_line = line;
}

ALONE void misses_10(void)
{
    miss(100);
    spin(4000);
}

ALONE void misses_30(void)
{
    miss(300);
    spin(1000);
}

ALONE void misses_60(void)
{
    miss(600);
}

ALONE void slow_path(uint32_t rounds)
{
    sink++; // so that its loop does not begin where it does
    spin(rounds);
}

ALONE void deadline(void)
{
    deadline_count++;
    spin(300);
    if (!calls_left--) {
        calls_left = overrun_each - 1;
        overrun_count++;
        slow_path(overrun_length);
    }
    sink++;
}

void shares_round(void)
{
    uint32_t what = shares;
    if (what & BY_CYCLES) {
        cycles_10();
        cycles_30();
        cycles_60();
    }
    if (what & BY_MISSES) {
        misses_10();
        misses_30();
        misses_60();
    }
    if (what & WITH_OVERRUNS)
        deadline();
}
