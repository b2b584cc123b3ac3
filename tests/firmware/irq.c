// Interrupts in every order: nested three deep, tail-chained, late to arrive, in bursts, one that faults. The
// bits of `what` say what a round of the main loop does; each handler's `spin` says for how long it works.
#include <stdint.h>

#define ALONE        __attribute__((noinline, noclone, used))
#define REG(address) (*(volatile uint32_t *)(address))
#define SYST_CSR     REG(0xE000E010)
#define SYST_RVR     REG(0xE000E014)
#define SYST_CVR     REG(0xE000E018)
#define ISER         REG(0xE000E100)
#define ISPR         REG(0xE000E200)
#define IPR(n)       REG(0xE000E400 + 4 * (n))
#define SHPR3        REG(0xE000ED20)
#define STIM0        REG(0xE0000000)

enum { IRQS = 16, LOW = 4, MIDDLE = 5, HIGH = 6, NEXT = 7, BURST = 8 };
enum {
    NEST = 1 << 0,   // 4 pends 5, which pends 6
    CHAIN = 1 << 1,  // 4 pends 7, which has its priority
    LATE = 1 << 2,   // SysTick pends at about the entry of 4
    MANY = 1 << 3,   // 8 to 15 at once, of one priority, with nothing to do
    REGION = 1 << 4, // work_region
    FAULT = 1 << 5,  // 4 executes an undefined instruction, and goes on after it
    PRINT = 1 << 6,  // a byte a round to stimulus port 0, if it is on
    TIGHT = 1 << 7,  // short_region ten times with nothing between
    AGAIN = 1 << 8,  // work_again, which calls itself
    TICKS = 1 << 9,  // SysTick each 5000 cycles, not with LATE
};

const uint32_t SystemCoreClock __attribute__((used)) = 12000000;
volatile uint32_t what = NEST | CHAIN | REGION, round_count, scenario;
volatile uint32_t counts[IRQS + 16], spin[IRQS] = {[LOW] = 40, [MIDDLE] = 25, [HIGH] = 10, [NEXT] = 15},
                                     tick_spin = 5;
volatile uint32_t value_now; // changes now and then, for a match of data
static volatile uint32_t sink;
static uint32_t seed = 1;

static uint32_t random_number(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}

static void work(uint32_t rounds)
{
    for (; rounds; rounds--)
        sink += rounds;
}

ALONE uint32_t short_region(uint32_t n)
{
    return n * 3 + (n >> 2);
}

// Two ways out
ALONE uint32_t work_region(uint32_t n)
{
    uint32_t sum = 0;
    if (n & 1) {
        for (; n; n--)
            sum += n * sink;
        __asm volatile("" ::: "memory");
        return sum;
    }
    for (; n; n -= 2)
        sum ^= sink + n;
    return sum ^ sink;
}

ALONE uint32_t work_again(uint32_t depth)
{
    uint32_t below = depth ? work_again(depth - 1) : 0;
    work(depth);
    return below + sink;
}

ALONE void IRQ4_Handler(void)
{
    counts[LOW]++;
    work(spin[LOW]);
    if (what & FAULT)
        __asm volatile("udf #1");
    if (what & CHAIN)
        ISPR = 1 << NEXT;
    if (what & NEST)
        ISPR = 1 << MIDDLE;
    __asm volatile("dsb\n\tisb");
    work(random_number() & 15);
}

ALONE void IRQ5_Handler(void)
{
    counts[MIDDLE]++;
    work(spin[MIDDLE]);
    if (what & NEST)
        ISPR = 1 << HIGH;
    __asm volatile("dsb\n\tisb");
    work(random_number() & 7);
}

ALONE void IRQ6_Handler(void)
{
    counts[HIGH]++;
    work(spin[HIGH]);
}

ALONE void IRQ7_Handler(void)
{
    counts[NEXT]++;
    work(spin[NEXT]);
}

ALONE void Burst_Handler(void)
{
    uint32_t number;
    __asm volatile("mrs %0, ipsr" : "=r"(number));
    counts[number - 16]++;
}

ALONE void SysTick_Handler(void)
{
    counts[IRQS + 15]++;
    if (what & LATE)
        SYST_CSR = 0;
    work(tick_spin);
}

// Goes on after the instruction
__attribute__((naked, used)) void HardFault_Handler(void)
{
    __asm volatile(".syntax unified\n"
                   "ldr r1, =counts\n"
                   "ldr r2, [r1, #76]\n"
                   "adds r2, #1\n"
                   "str r2, [r1, #76]\n"
                   "ldr r0, [sp, #24]\n"
                   "adds r0, #2\n"
                   "str r0, [sp, #24]\n"
                   "bx lr\n"
                   ".pool");
}

static void do_round(void)
{
    uint32_t now = what, chance = random_number();
    if (now & LATE) {
        SYST_CSR = 0;
        SYST_RVR = 2 + (chance & 63);
        SYST_CVR = 0;
        SYST_CSR = 7;
    }
    if (now & (NEST | CHAIN | LATE | FAULT))
        ISPR = 1 << LOW;
    if (now & MANY)
        ISPR = 0xFF << BURST;
    if (now & REGION)
        sink ^= work_region(3 + (chance & 63));
    for (uint32_t i = 0; (now & TIGHT) && i < 10; i++)
        sink ^= short_region(i);
    if (now & AGAIN)
        sink ^= work_again(chance & 3);
    if ((now & PRINT) && (STIM0 & 1))
        *(volatile uint8_t *)&STIM0 = (uint8_t)('a' + (chance & 15));
    if (!(chance & 3))
        value_now = chance;
}

static __attribute__((noreturn)) void start_rounds(void)
{
    IPR(1) = 0xC04080C0; // 7, 6, 5, 4
    IPR(2) = IPR(3) = 0xA0A0A0A0;
    SHPR3 = 0x20000000;
    ISER = 0xFFF0;
    for (;;) {
        uint32_t wanted = (what & TICKS) && !(what & LATE) ? 7 : 0;
        if (!(what & LATE) && (SYST_CSR & 7) != wanted) {
            SYST_RVR = 4999;
            SYST_CVR = 0;
            SYST_CSR = wanted;
        }
        do_round();
        work(20 + (random_number() & 127));
        round_count++;
    }
}

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[];

__attribute__((used, noreturn)) void Reset_Handler(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    start_rounds();
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
    [4 ... 14] = Default_Handler,
    [15] = SysTick_Handler,
    [16 ... 19] = Default_Handler,
    [16 + LOW] = IRQ4_Handler,
    [16 + MIDDLE] = IRQ5_Handler,
    [16 + HIGH] = IRQ6_Handler,
    [16 + NEXT] = IRQ7_Handler,
    [16 + BURST... 16 + BURST + 7] = Burst_Handler,
    [32 ... 47] = Default_Handler,
};
