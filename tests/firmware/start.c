// Start-up: vector table, memory set up, SysTick by the build's mode, handlers, and the main loop.
#include "scenario.h"

#define SYST_CSR  (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR  (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR  (*(volatile uint32_t *)0xE000E018)
#define NVIC_ISER (*(volatile uint32_t *)0xE000E100)

#define SHPR3     (*(volatile uint32_t *)0xE000ED20)

enum { IRQ3 = 3, IRQ4 = 4 };

const uint32_t SystemCoreClock __attribute__((used)) = CORE_HZ;

// Everything that ends soon
#define SHORT_ONES                                                                                           \
    (DO_ARTICLE_PLAIN | DO_ARTICLE_NOP | DO_WORK_BY_DATA | DO_CALLED_TWICE | DO_RECURSE | DO_PREEMPTED |     \
     DO_LOOP_ROUND | DO_IN_RAM | DO_MASKED_WORK | DO_PING | DO_WIDE_ENTRY)

volatile uint32_t scenario = SHORT_ONES;
volatile uint32_t idle_spin = 10;
volatile uint32_t tick_count, irq3_count, round_count, sink;
volatile uint32_t pended_at = 3;
volatile uint32_t plain_result, nop_result;
// Outlives a reset
volatile uint32_t boot_count __attribute__((section(".noinit")));

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[];

int main(void);

__attribute__((used, noreturn)) void Reset_Handler(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    boot_count++;
    main();
    for (;;)
        ;
}

ALONE void SysTick_Handler(void)
{
#ifdef TICK_MS
    count_tick();
#else
    uint32_t count = tick_count + 1;
    tick_count = count;
    for (uint32_t i = count & 7; i; i--)
        sink += i;
#endif
}

ALONE void SVC_Handler(void)
{
}

ALONE void IRQ3_Handler(void)
{
    irq3_count++;
}

ALONE void HardFault_Handler(void)
{
    if (lock_wanted)
        __asm volatile("udf #1"); // a fault in here locks the core up
    for (;;)
        ;
}

ALONE void Default_Handler(void)
{
    for (;;)
        ;
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[16 + 32] = {
    (vector)stack_top,
    Reset_Handler,
    Default_Handler,
    HardFault_Handler,
    [4] = Default_Handler,
    [5] = Default_Handler,
    [6] = Default_Handler,
    [11] = SVC_Handler,
    [12] = Default_Handler,
    [14] = Default_Handler,
    [15] = SysTick_Handler,
    [16 ... 16 + IRQ3 - 1] = Default_Handler,
    [16 + IRQ3] = IRQ3_Handler,
    [16 + IRQ4] = IRQ4_Handler,
    [16 + IRQ4 + 1 ... 16 + 31] = Default_Handler,
};

static void start_systick(void)
{
    SYST_CSR = 0;
#ifdef TICK_MS
    SHPR3 = 0xC0000000; // the lowest priority
#endif
    SYST_RVR = SYSTICK_RELOAD;
    SYST_CVR = 0;
    SYST_CSR = SYSTICK_CSR;
}

// So that no two rounds meet SysTick in the same phase
static void idle(void)
{
    for (uint32_t left = idle_spin + (random_number() & 7); left; left--)
        __asm volatile("");
}

// IRQ 3 now and then; bits of pended_at: before the start, before the end
static void pended_round(void)
{
    uint32_t at = pended_at & random_number();
    pended(at & 1 ? 1u << IRQ3 : 0, at & 2 ? 1u << IRQ3 : 0, 5 + (random_number() & 31));
}

static void one_round(uint32_t what)
{
    if (what & DO_ARTICLE_PLAIN)
        plain_result = article_plain();
    if (what & DO_ARTICLE_NOP)
        nop_result = article_nop();
    if (what & DO_WORK_BY_DATA)
        work_by_data();
    if (what & DO_CALLED_TWICE) {
        caller_one();
        caller_two();
    }
    if (what & DO_RECURSE)
        sink += recurse(1 + (random_number() * 6 >> 16));
    if (what & DO_PREEMPTED)
        preempted();
    if (what & DO_SLEEPER)
        sleeper();
    if (what & DO_LOOP_ROUND)
        loop_round(8);
    if (what & DO_IN_RAM) {
        // By a pointer: RAM is out of reach of a BL
        void (*volatile there)(uint32_t) = in_ram;
        there(3 + (random_number() & 3));
    }
    if (what & DO_RELOAD_INSIDE)
        reload_inside();
    if (what & DO_LONG_REGION)
        long_region();
    if (what & DO_RESETTING)
        resetting();
    if (what & DO_LOCKING)
        locking();
    if (what & DO_MASKED_WORK)
        masked_work();
    if (what & DO_PING)
        ping(round_count);
#ifdef CHIP_M4
    if (what & DO_WIDE_ENTRY)
        wide_entry(round_count | 1);
#endif
    if (what & DO_PENDED)
        pended_round();
    timed_round(what);
    written_round();
    shares_round();
#ifdef TICK_MS
    follow_tick_style();
#endif
}

int main(void)
{
#ifdef TICK_MS // IRQ 4 holds SysTick's handler off for longer than a period: edges() enables it
    NVIC_ISER = 1u << IRQ3;
#else
    NVIC_ISER = 1u << IRQ3 | 1u << IRQ4;
#endif
    start_systick();
    for (;;) {
        one_round(scenario);
        round_count++;
        idle();
    }
}
