// Armv7-A/R and Armv8-A: memory set up, the main loop, and what core 1 of a chip that has one does: one function over and over,
// sharing nothing with core 0 and waiting for nobody, so that they may start in any order.
#include "scenario.h"

// Everything that ends soon
#define SHORT_ONES                                                                                           \
    (DO_ARTICLE_PLAIN | DO_ARTICLE_NOP | DO_WORK_BY_DATA | DO_CALLED_TWICE | DO_RECURSE | DO_PREEMPTED |     \
     DO_LOOP_ROUND | DO_IN_RAM | DO_MASKED_WORK | DO_PING | DO_COUNTED)
#define ITS_OWN __attribute__((section(".noinit")))

#define CORE1_STACK 0x2000
// By context, so that the stack pointer shows the ground truth which it was
enum { CONTEXTS = 2, USER_STACK = 256 };

const uint32_t SystemCoreClock __attribute__((used)) = 12000000;

volatile uint32_t scenario = SHORT_ONES;
volatile uint32_t idle_spin = 10;
volatile uint32_t tick_count, irq3_count, undefined_count, svc_count, abort_count, round_count, sink;
volatile uint32_t plain_result, nop_result;
uint32_t counted_data[16];
// Outlives a reset
ITS_OWN volatile uint32_t boot_count;
ITS_OWN char core1_stack[CORE1_STACK] __attribute__((aligned(16)));
ITS_OWN char user_stacks[CONTEXTS][USER_STACK] __attribute__((aligned(16)));
ITS_OWN volatile uint32_t core1_rounds, core1_result;
static ITS_OWN volatile uint32_t core1_random;

extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[];

// So that no two rounds are alike
static void idle(void)
{
    for (uint32_t left = idle_spin + (random_number() & 7); left; left--)
        __asm volatile("");
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
    if (what & DO_MASKED_WORK)
        masked_work();
    if (what & DO_PING)
        ping(round_count);
    if (what & DO_COUNTED) {
#ifdef __aarch64__
        counted_apart(1 + (random_number() & 7), counted_data);
#else
        counted_apart(1 + (random_number() & 7), counted_data);
        counted_thumb(1 + (random_number() & 7), counted_data);
#endif
    }
    if (what & DO_USER)
        for (uint32_t context = 1; context <= CONTEXTS; context++)
            run_as_user(context, context * 20 + (random_number() & 7), user_stacks[context - 1] + USER_STACK);
    if (what & DO_SUPERVISOR) {
#ifdef __aarch64__
        __asm volatile("svc #0");
#else
        __asm volatile("svc #0" ::: "lr");
#endif
    }
    written_round();
    shares_round();
}

int main(void)
{
    __asm volatile(INTERRUPTS_ON);
    for (;;) {
        one_round(scenario);
        round_count++;
        idle();
    }
}

__attribute__((used, noreturn)) void start(void)
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
    core1_rounds = 0;
    for (;;) {
        core1_work();
        core1_rounds++;
    }
}
