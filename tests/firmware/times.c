// Scenarios about time: how long a region may be, and how a program keeps its ticks. The build with a tick of
// 1 ms keeps them as `tick_style` says, under the names that well-known programs give them.
#include "scenario.h"

#define SYST_RVR  (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR  (*(volatile uint32_t *)0xE000E018)
#define NVIC_ISER (*(volatile uint32_t *)0xE000E100)
#define NVIC_ISPR (*(volatile uint32_t *)0xE000E200)

enum { PHASES = 32, IRQ4 = 4, FAR_FROM_TICK = 1000 };

// A byte, as any enumeration of small values is here
enum tick_step { STEP_1_MS = 1, STEP_10_MS = 10, STEP_100_MS = 100 };

volatile uint32_t tick_style = TICK_PLAIN;

// The way of a vendor's library: milliseconds, whatever the period
volatile uint32_t uwTick;
volatile enum tick_step uwTickFreq = STEP_1_MS;

// The way of a real-time kernel: while its scheduler is suspended, ticks are put by
static volatile uint32_t xTickCount, xPendedTicks, uxSchedulerSuspended;

// What tests set: phases (see edges.S), which go through all there are while edge_sweep is set, and rounds
volatile uint32_t edge_sweep = 1, edge_start, edge_end, edge_rounds = 100, edge_open = 1;
volatile uint32_t above_rounds = 200, suspended_rounds = 10000, nop_more_spread;

static uint32_t sweep;

void count_tick(void)
{
    if (tick_style == TICK_HAL)
        uwTick += uwTickFreq;
    else if (tick_style != TICK_RTOS)
        tick_count++;
    else if (uxSchedulerSuspended)
        xPendedTicks++;
    else
        xTickCount++;
}

void follow_tick_style(void)
{
    uint32_t step = tick_style == TICK_HAL ? uwTickFreq : STEP_1_MS, reload = CORE_HZ / 1000 * step - 1;
    if (SYST_RVR != reload) {
        SYST_RVR = reload;
        SYST_CVR = 0;
    }
}

ALONE void suspended(void)
{
    uxSchedulerSuspended++;
    suspended_span(suspended_rounds);
    __asm volatile("cpsid i" ::: "memory");
    if (!--uxSchedulerSuspended) {
        for (uint32_t left = xPendedTicks; left; left--)
            xTickCount++;
        xPendedTicks = 0;
    }
    __asm volatile("cpsie i" ::: "memory");
}

ALONE void IRQ4_Handler(void)
{
    above_tick(edge_start, above_rounds);
}

static void next_edge(void)
{
    if (!edge_sweep)
        return;
    edge_start = sweep % PHASES;
    edge_end = sweep / PHASES % PHASES;
    sweep += 37; // both change every time
}

static void spans(uint32_t what)
{
    if (what & DO_SPAN_10)
        span_10();
    if (what & DO_SPAN_1K)
        span_1k();
    if (what & DO_SPAN_1M)
        span_1m();
    if (what & DO_SPAN_100M)
        span_100m();
    if (what & DO_NOP_MORE)
        nop_more(10 + (random_number() & nop_more_spread));
}

static void edges(uint32_t what)
{
    if (what & (DO_TICK_EDGE | DO_ABOVE_TICK))
        next_edge();
    if (what & DO_TICK_EDGE)
        tick_edge(edge_start, edge_end, edge_rounds, edge_open);
    if (what & DO_ABOVE_TICK) {
        while (SYST_CVR < FAR_FROM_TICK)
            ;
#ifdef TICK_MS
        NVIC_ISER = 1u << IRQ4;
#endif
        NVIC_ISPR = 1u << IRQ4;
    }
    if (what & DO_SUSPENDED)
        suspended();
}

void timed_round(uint32_t what)
{
    spans(what);
    edges(what);
#ifdef CHIP_M4
    if (what & DO_DWT_CPI)
        dwt_cpi();
    if (what & DO_DWT_LSU)
        dwt_lsu();
    if (what & DO_DWT_EXC)
        dwt_exc();
    if (what & DO_DWT_FOLD)
        dwt_fold();
#endif
#ifdef TICK // else nothing would wake it
    if (what & DO_DWT_SLEEP)
        dwt_sleep();
#endif
}
