// What is measured on a real chip, over and over: the article's two functions, the known sequences, a
// function whose time varies, and code in RAM. The program times the sequences itself, too: what it saw is in
// own_NAME.
#include "sequences.h"

#define OWN(name) volatile uint32_t own_##name;
SEQUENCES(OWN)
volatile uint32_t own_plain, own_nop;
volatile uint32_t round_count, sink, tick_count;
uint32_t words[WORDS] __attribute__((aligned(16)));

extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[];

#ifdef DBGMCU_CR
// Debuggers set bits of it for as long as they are there: a register that the program sees, too
volatile uint32_t rounds_untouched;
#endif

// Clocks and locks, where a chip has something to be done
__attribute__((weak)) void chip_start(void)
{
}

// The own figures are those of one round here
ALONE void round_done(void)
{
    round_count++;
}

#ifdef __aarch64__
// For chips where a probe sees no memory: all of them in registers, two in each, at own_shown
#define PAIR(n, low, high) register uint64_t x##n __asm("x" #n) = own_##low | (uint64_t)own_##high << 32;

ALONE void show(void)
{
    PAIR(0, empty, plain)
    PAIR(1, nop, nops)
    PAIR(2, adds, muls)
    PAIR(3, loads, stores)
    PAIR(4, multiple, stack)
    PAIR(5, taken, not_taken)
    PAIR(6, call, loop)
    PAIR(7, in_sram, empty)
    __asm volatile(".global own_shown\n.type own_shown, %%function\nown_shown: nop" ::"r"(x0), "r"(x1),
                   "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x6), "r"(x7));
}
#elif SHOWS_REGISTERS
// The same of 32 bits, at two places
#define ONE(n, name) register uint32_t r##n __asm("r" #n) = own_##name;
#define SHOWN(at)                                                                                            \
    __asm volatile(".global " at "\n.type " at ", %%function\n" at ": nop" ::"r"(r0), "r"(r1), "r"(r2),      \
                   "r"(r3), "r"(r4), "r"(r5), "r"(r6));

ALONE static void show_first(void){ONE(0, empty) ONE(1, plain) ONE(2, nop) ONE(3, nops) ONE(4, adds)
                                       ONE(5, muls) ONE(6, loads) SHOWN("own_shown")}

ALONE static void show_second(void){ONE(0, stores) ONE(1, multiple) ONE(2, stack) ONE(3, taken)
                                        ONE(4, not_taken) ONE(5, call) ONE(6, loop) SHOWN("own_shown_2")}

ALONE static void show_last(void)
{
    ONE(0, in_sram)
    __asm volatile(".global own_shown_3\n.type own_shown_3, %%function\nown_shown_3: nop" ::"r"(r0));
}

static void show(void)
{
    show_first();
    show_second();
    show_last();
}
#else
static void show(void)
{
}
#endif

static void one_round(void)
{
    own_plain = article_plain();
    own_nop = article_nop();
    // By pointers: RAM is out of reach of a BL
#define RUN(name)                                                                                            \
    {                                                                                                        \
        uint32_t (*volatile there)(void) = seq_##name;                                                       \
        own_##name = there();                                                                                \
    }
    SEQUENCES(RUN)
    work_by_data();
    show();
#ifdef DBGMCU_CR
    if ((*(volatile uint32_t *)DBGMCU_CR & 7) == 0)
        rounds_untouched++;
#endif
    round_done();
}

__attribute__((used, noreturn)) void start(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    // What was written is now code
    __asm volatile("dsb sy\n\tisb" ::: "memory");
    chip_start();
    for (;;)
        one_round();
}
