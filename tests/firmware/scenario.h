// What the parts of the test firmware share. Each scenario is something worth measuring; the bits of
// `scenario` say which of them a round of the main loop runs. A debugger or a test may change the variables
// at any time.
#ifndef FIRMWARE_SCENARIO_H
#define FIRMWARE_SCENARIO_H

#include <stdint.h>

#define ALONE __attribute__((noinline, noclone))

#ifdef __aarch64__
#define INTERRUPTS_ON  "msr daifclr, #2"
#define INTERRUPTS_OFF "msr daifset, #2"
#else
#define INTERRUPTS_ON  "cpsie i"
#define INTERRUPTS_OFF "cpsid i"
#endif

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
    DO_SPAN_10 = 1 << 16,
    DO_SPAN_1K = 1 << 17,
    DO_SPAN_1M = 1 << 18,
    DO_SPAN_100M = 1 << 19,
    DO_NOP_MORE = 1 << 20,
    DO_TICK_EDGE = 1 << 21,
    DO_ABOVE_TICK = 1 << 22,
    DO_SUSPENDED = 1 << 23,
    DO_DWT_CPI = 1 << 24,
    DO_DWT_EXC = 1 << 25,
    DO_DWT_SLEEP = 1 << 26,
    DO_DWT_LSU = 1 << 27,
    DO_DWT_FOLD = 1 << 28,
    // Cortex-M only
    DO_PENDED = 1 << 29,
    // Armv7-A/R only
    DO_COUNTED = 1 << 29,
    DO_SUPERVISOR = 1 << 30,
};

// Armv7-A and Armv8-A only: beyond what fits into an int
#define DO_USER (1u << 31)

enum { CORE_HZ = 12000000 };

// SysTick by the build's mode: a tick of 1 ms, one of 50 ms, or none
#if defined TICK_MS
enum { SYSTICK_RELOAD = CORE_HZ / 1000 - 1, SYSTICK_CSR = 7 };
#elif defined TICK
enum { SYSTICK_RELOAD = CORE_HZ / 20 - 1, SYSTICK_CSR = 7 };
#else
enum { SYSTICK_RELOAD = 0xFFFFFF, SYSTICK_CSR = 5 };
#endif

enum { TICK_PLAIN, TICK_HAL, TICK_RTOS };

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
void pended(uint32_t at_start, uint32_t at_end, uint32_t rounds);

// spans.S, edges.S, profile.S
void span_10(void);
void span_1k(void);
void span_1m(void);
void span_100m(void);
void nop_more(uint32_t rounds);
void suspended_span(uint32_t rounds);
void tick_edge(uint32_t start, uint32_t end, uint32_t rounds, uint32_t open);
void above_tick(uint32_t start, uint32_t rounds);
void dwt_cpi(void);
void dwt_exc(void);
void dwt_sleep(void);
void dwt_lsu(void);
void dwt_fold(void);

// times.c
void timed_round(uint32_t what);
void count_tick(void);
void follow_tick_style(void);
void IRQ4_Handler(void);

// measured_v7.S
void counted_arm(uint32_t rounds, uint32_t *words);
void counted_thumb(uint32_t rounds, uint32_t *words);
// measured_v8.S
void counted_a64(uint32_t rounds, uint32_t *words);
// of each: counted_arm or counted_a64, with another frame pointer each time
void counted_apart(uint32_t rounds, uint32_t *words);
// of each: user_work() in User mode or at EL0, on its own stack, while CONTEXTIDR is `context`
void run_as_user(uint32_t context, uint32_t rounds, char *stack_top);
void user_work(uint32_t rounds);

// writes.c
void written_round(void);

// shares.c
void shares_round(void);

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
