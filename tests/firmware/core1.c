// What the second core of a chip that has one does: its own vector table, stack and SysTick, and one function
// over and over. It shares nothing with the first core and waits for nobody, so it may start in any order;
// the first core's start-up leaves its variables alone.
#include "scenario.h"

#if defined CHIP_RP2040 || defined CHIP_RP2350

#define SYST_CSR  (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR  (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR  (*(volatile uint32_t *)0xE000E018)
#define NVIC_ISER (*(volatile uint32_t *)0xE000E100)
#define ITS_OWN   __attribute__((section(".noinit")))

enum { STACK_WORDS = 256, IRQ3 = 3 };

static uint32_t core1_stack[STACK_WORDS] __attribute__((aligned(8), section(".noinit")));
ITS_OWN volatile uint32_t core1_rounds, core1_ticks, core1_irq3_count, core1_result;
// Set, it sleeps, and the first core runs as fast as the host can; an interrupt lets it check again
volatile uint32_t core1_rest;
// Set, it runs what the first core runs in RAM as well
volatile uint32_t core1_in_ram;
static ITS_OWN volatile uint32_t core1_random;

ALONE void core1_work(void)
{
    uint32_t next = core1_random * 1664525u + 1013904223u, value = next;
    core1_random = next;
    for (uint32_t left = 3 + (next >> 27); left; left--)
        value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
    core1_result = value;
}

__attribute__((used, noreturn)) void core1_main(void)
{
    core1_random = 54321;
    core1_rounds = core1_ticks = core1_irq3_count = 0;
    NVIC_ISER = 1u << IRQ3;
    SYST_CSR = 0;
    SYST_RVR = SYSTICK_RELOAD;
    SYST_CVR = 0;
    SYST_CSR = SYSTICK_CSR;
    for (;;) {
        core1_work();
        core1_rounds++;
        if (core1_in_ram) {
            void (*volatile there)(uint32_t) = in_ram;
            there(3);
        }
        while (core1_rest)
            __asm volatile("wfi");
    }
}

ALONE void core1_SysTick_Handler(void)
{
    core1_ticks++;
}

ALONE void core1_IRQ3_Handler(void)
{
    core1_irq3_count++;
}

ALONE void core1_stop(void)
{
    for (;;)
        ;
}

typedef void (*vector)(void);

__attribute__((aligned(256), used)) const vector core1_vectors[16 + 32] = {
    (vector)(core1_stack + STACK_WORDS),
    core1_main,
    [2 ... 14] = core1_stop,
    [15] = core1_SysTick_Handler,
    [16 ... 16 + IRQ3 - 1] = core1_stop,
    [16 + IRQ3] = core1_IRQ3_Handler,
    [16 + IRQ3 + 1 ... 16 + 31] = core1_stop,
};

#endif
