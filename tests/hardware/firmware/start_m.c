// Cortex-M: vector table and start-up. No interrupt is enabled, so nothing else ever runs. SysTick runs
// freely.
#include "sequences.h"

#define SYST_CSR (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)

#define CCR    (*(volatile uint32_t *)0xE000ED14)
#define CCSIDR (*(volatile uint32_t *)0xE000ED80)
#define CSSELR (*(volatile uint32_t *)0xE000ED84)
#define DCISW  (*(volatile uint32_t *)0xE000EF60)

enum { CCR_DC = 1 << 16, WAYS = 4 };
enum { EXCEPTIONS = 16, SYST_ENABLE = 1, SYST_CORE_CLOCK = 4 };

extern uint32_t stack_top[];
void start(void);

__attribute__((used, naked, noreturn)) void Reset_Handler(void)
{
#ifdef __ARM_ARCH_8M_MAIN__
    // A boot ROM may have left a limit that is above this stack
    __asm volatile("movs r0, #0\n\tmsr msplim, r0");
#endif
    // A debugger that starts here does not load the stack pointer
    __asm volatile("ldr r0, =stack_top\n\tmov sp, r0\n\tbl start_cache\n\tbl start_systick\n\tbl start");
}

// Memory behind a data cache, as most programs of a Cortex-M7 have it: what the core has written is not yet
// where another master looks. Invalidated first: DDI 0489F, "Initializing and enabling the L1 cache".
__attribute__((used)) void start_cache(void)
{
#ifdef DATA_CACHE
    CSSELR = 0;
    __asm volatile("dsb" ::: "memory");
    for (uint32_t set = CCSIDR >> 13 & 0x7FFF; set != UINT32_MAX; set--)
        for (uint32_t way = 0; way < WAYS; way++)
            DCISW = set << 5 | way << 30;
    __asm volatile("dsb" ::: "memory");
    CCR |= CCR_DC;
    __asm volatile("dsb\n\tisb" ::: "memory");
#endif
}

__attribute__((used)) void start_systick(void)
{
    SYST_CSR = 0;
    SYST_RVR = 0xFFFFFF;
    SYST_CVR = 0;
    SYST_CSR = SYST_ENABLE | SYST_CORE_CLOCK;
}

ALONE void Default_Handler(void)
{
    for (;;)
        ;
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[EXCEPTIONS] = {
    (vector)stack_top,
    Reset_Handler,
    [2 ... EXCEPTIONS - 1] = Default_Handler,
};
