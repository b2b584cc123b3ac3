// A program that writes the counters that it is measured by, as programs do which time themselves. A test
// says what is written, and where: at the start of the region, inside it, at its end, or between two
// passages. Only the builds of the mode "writes" have that code.
#include "scenario.h"

enum { AT_START = 1, INSIDE = 2, AT_END = 3, BETWEEN = 4 };

volatile uint32_t write_what, write_where, write_each = 1, write_in_call;

static void spin(void)
{
    for (uint32_t left = 20 + (random_number() & 63); left; left--)
        __asm volatile("nop");
}

#if !defined WRITES
ALONE static void write_it(uint32_t what)
{
    (void)what;
}
#elif defined __aarch64__
static uint64_t control(void)
{
    uint64_t value;
    __asm volatile("mrs %0, pmcr_el0" : "=r"(value));
    return value;
}

static void set_control(uint64_t value)
{
    __asm volatile("msr pmcr_el0, %0\n\tisb" ::"r"(value));
}

static void set_enables(uint32_t off)
{
    __asm volatile("msr pmcntenclr_el0, %0\n\tisb" ::"r"((uint64_t)off));
}

static uint64_t cycles(void)
{
    uint64_t value;
    __asm volatile("isb\n\tmrs %0, pmccntr_el0" : "=r"(value));
    return value;
}

static void change_cycles(uint64_t to)
{
    __asm volatile("msr pmccntr_el0, %0\n\tisb" ::"r"(to));
}
#elif __ARM_ARCH_PROFILE != 'M'
static uint32_t control(void)
{
    uint32_t value;
    __asm volatile("mrc p15, 0, %0, c9, c12, 0" : "=r"(value));
    return value;
}

static void set_control(uint32_t value)
{
    __asm volatile("mcr p15, 0, %0, c9, c12, 0\n\tisb" ::"r"(value));
}

static void set_enables(uint32_t off)
{
    __asm volatile("mcr p15, 0, %0, c9, c12, 2\n\tisb" ::"r"(off));
}

static uint32_t cycles(void)
{
    uint32_t value;
    __asm volatile("isb\n\tmrc p15, 0, %0, c9, c13, 0" : "=r"(value));
    return value;
}

static void change_cycles(uint32_t to)
{
    __asm volatile("mcr p15, 0, %0, c9, c13, 0\n\tisb" ::"r"(to));
}
#endif

#if !defined WRITES
#elif defined __aarch64__ || __ARM_ARCH_PROFILE != 'M'
enum { PMCR_E = 1, PMCR_P = 2, PMCR_C = 4 };

ALONE static void write_it(uint32_t what)
{
    if (what == 1)
        set_control(control() | PMCR_C);
    if (what == 2)
        set_control(control() | PMCR_P | PMCR_C);
    if (what == 3)
        set_control(control() & ~PMCR_E);
    if (what == 4)
        set_enables(0x8000003F);
    if (what == 5)
        change_cycles(0);
    if (what == 6) { /* a profiler leaves itself out */
        __auto_type before = cycles();
        spin();
        change_cycles(before);
    }
    if (what == 7)
        change_cycles(cycles() + 1000);
    if (what == 8)
        change_cycles(cycles() - 50);
    if (what == 9) { /* it counts nothing for a while */
        set_control(control() & ~PMCR_E);
        spin();
        set_control(control() | PMCR_E);
    }
}
#else
#define DEMCR            (*(volatile uint32_t *)0xE000EDFC)
#define DWT_CTRL         (*(volatile uint32_t *)0xE0001000)
#define DWT_CYCCNT       (*(volatile uint32_t *)0xE0001004)
#define SYST_CSR         (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR         (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR         (*(volatile uint32_t *)0xE000E018)
#define PMU_CTRL         (*(volatile uint32_t *)0xE0003E04)
#define PMU_CCNTR        (*(volatile uint32_t *)0xE000307C)

// After each, so that the compiler makes no two of them one: then each line has its own instruction
#define ALONE_HERE(what) __asm volatile("@ behind " what)

ALONE static void write_it(uint32_t what)
{
    if (what == 1) {
        DWT_CYCCNT = 0;
        ALONE_HERE("1");
    }
    if (what == 2) {
        DWT_CTRL &= ~1u;
        ALONE_HERE("2");
    }
    if (what == 3) {
        DEMCR &= ~(1u << 24);
        ALONE_HERE("3");
    }
    if (what == 4) {
        SYST_CVR = 0;
        ALONE_HERE("4");
    }
    if (what == 5) {
        SYST_RVR = 0x700000 + random_number();
        ALONE_HERE("5");
    }
    if (what == 6) {
        PMU_CTRL |= 4;
        ALONE_HERE("6");
    }
    if (what == 7) {
        PMU_CTRL &= ~1u;
        ALONE_HERE("7");
    }
    if (what == 8) {
        PMU_CCNTR = 0;
        ALONE_HERE("8");
    }
    if (what == 9) { // it counts nothing for a while
        SYST_CSR &= ~1u;
        spin();
        SYST_CSR |= 1;
        ALONE_HERE("9");
    }
    if (what == 10) {
        PMU_CTRL = PMU_CTRL | 2;
        ALONE_HERE("10");
    }
    if (what == 11) { // a profiler leaves itself out
        uint32_t before = DWT_CYCCNT;
        spin();
        DWT_CYCCNT = before;
        ALONE_HERE("11");
    }
    if (what == 12) {
        DWT_CYCCNT += 1000;
        ALONE_HERE("12");
    }
    if (what == 13) {
        DWT_CYCCNT -= 50;
        ALONE_HERE("13");
    }
    if (what == 14) {
        DWT_CTRL = DWT_CTRL & ~1u;
        spin();
        DWT_CTRL = DWT_CTRL | 1;
        ALONE_HERE("14");
    }
}
#endif

// By an address that no instruction has: the code does not show what it calls
static void (*volatile write_by_address)(uint32_t what) = write_it;

ALONE void written(uint32_t what, uint32_t where)
{
    if (where == AT_START)
        write_by_address(what);
    spin();
    if (where == INSIDE)
        write_by_address(what);
    spin();
    if (where == AT_END)
        write_by_address(what);
}

ALONE void written_in_call(uint32_t what)
{
    spin();
    write_it(what);
    spin();
}

void written_round(void)
{
    static uint32_t round;
    if (write_where == 0)
        return;
    uint32_t now = ++round >= write_each;
    if (now)
        round = 0;
    written(write_what, now ? write_where : 0);
    spin();
    if (now && write_where == BETWEEN)
        write_by_address(write_what);
    spin();
    written_in_call(write_in_call);
}
