// What the parts of the test firmware share. Each scenario is something worth measuring; the bits of
// `scenario` say which of them a round of the main loop runs. A debugger or a test may change the variables
// at any time.
#ifndef FIRMWARE_SCENARIO_H
#define FIRMWARE_SCENARIO_H

#include <stdint.h>

#define ALONE __attribute__((noinline, noclone))

enum {
    DO_ARTICLE_PLAIN = 1 << 0,
    DO_ARTICLE_NOP = 1 << 1,
    DO_WORK_BY_DATA = 1 << 2,
    DO_CALLED_TWICE = 1 << 3,
    DO_RECURSE = 1 << 4,
    DO_PREEMPTED = 1 << 5,
    DO_SLEEPER = 1 << 6,
    DO_LOOP_ROUND = 1 << 7,
    DO_IN_RAM = 1 << 8,
    DO_RELOAD_INSIDE = 1 << 9,
    DO_LONG_REGION = 1 << 10,
    DO_RESETTING = 1 << 11,
    DO_LOCKING = 1 << 12,
    DO_MASKED_WORK = 1 << 13,
    DO_PING = 1 << 14,
    DO_WIDE_ENTRY = 1 << 15,
};

extern volatile uint32_t scenario, idle_spin, lock_wanted, sink;
extern volatile uint32_t tick_count, irq3_count;

uint32_t random_number(void);

// measured.S
uint32_t article_plain(void);
uint32_t article_nop(void);
void loop_round(uint32_t rounds);
void in_ram(uint32_t rounds);
void reload_inside(void);
void long_region(void);
void wide_entry(uint32_t value);

// scenarios.c
void work_by_data(void);
void caller_one(void);
void caller_two(void);
uint32_t recurse(uint32_t depth);
void preempted(void);
void sleeper(void);
void resetting(void);
void locking(void);
void masked_work(void);
void ping(uint32_t value);

#endif
