// What the stub does with SysTick and the DWT of a Cortex-M on the board, in numbers. Judged by
// tests/system/test_stub_self.py.
#include "measures.h"
#include "pmu_stub.h"

enum { PERIOD = 1000, PHASES = 500, ROUNDS = 20, TICKS = 50 };
#define SYST_CSR (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)
#define ICSR     (*(volatile uint32_t *)0xE000ED04)
#define PENDING  (1u << 26)

static struct pmu_systick_totals ticks;

void SysTick_Handler(void)
{
    pmu_systick_handle(&ticks);
}

// Cycles by something that is not SysTick: the RP2040's timer of microseconds, or the core's cycle counter
#ifdef CHIP_RP2040
enum { CLOCK_STEP = 12 };
static uint32_t other_clock(void)
{
    return *(volatile uint32_t *)0x40054028 * CLOCK_STEP;
}
#else
enum { CLOCK_STEP = 1 };
static uint32_t other_clock(void)
{
    return pmu_cycles_read();
}
#endif

static void start_short(uint32_t csr)
{
    pmu_systick_stop();
    SYST_RVR = PERIOD - 1;
    SYST_CVR = 0;
    ticks.low = ticks.high = 0;
    SYST_CSR = csr;
}

struct span {
    uint32_t start, end;
};

// The same work; by one function, so that the same instructions lie between the two reads for all who call it
static __attribute__((noinline, noclone)) struct span span_of_work(void)
{
    struct span span;
    span.start = pmu_systick_read();
    spin(ROUNDS);
    span.end = pmu_systick_read();
    return span;
}

// In every phase of a short period, across its reload or not
static void measure_elapsed(void)
{
    uint32_t least = UINT32_MAX, most = 0, reloads = 0;
    start_short(5);
    report("systick.period", pmu_systick_period());
    report("systick.taken_over", pmu_systick_start());
    report("systick.kept_period", pmu_systick_period());
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct span span = span_of_work();
        uint32_t passed = pmu_systick_elapsed(span.start, span.end);
        least = passed < least ? passed : least;
        most = passed > most ? passed : most;
        reloads += span.end > span.start;
        spin(phase & 7);
    }
    report("systick.least", least);
    report("systick.most", most);
    report("systick.reloads", reloads);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void measure_totals(void)
{
    uint64_t worst = 0, last = 0, backwards = 0, total;
    start_short(7);
    uint32_t begin = other_clock();
    uint64_t first = pmu_systick_total(&ticks);
    do {
        total = pmu_systick_total(&ticks) - first;
        uint64_t off = apart(total, other_clock() - begin);
        worst = off > worst ? off : worst;
        backwards += total < last;
        last = total;
    } while (total < (uint64_t)TICKS * PERIOD);
    report("systick.worst", worst);
    report("systick.backwards", backwards);
    report("systick.handled", ticks.low);
    __asm__ volatile("cpsid i" ::: "memory");
    while (!(ICSR & PENDING))
        ;
    uint32_t handled = ticks.low;
    report("systick.pending", apart(pmu_systick_total(&ticks) - first, other_clock() - begin));
    report("systick.not_counted", ticks.low - handled);
    __asm__ volatile("cpsie i" ::: "memory");
    report("systick.step", CLOCK_STEP);
    pmu_systick_stop();
}

static void measure_idle(void)
{
    report("systick.idle_taken", pmu_systick_start());
    report("systick.longest", pmu_systick_period());
    struct span span = span_of_work();
    report("systick.moved", pmu_systick_elapsed(span.start, span.end));
    pmu_systick_stop();
    span = span_of_work();
    report("systick.stopped", pmu_systick_elapsed(span.start, span.end));
}

#ifdef PMU_STUB_DWT_H
static void measure_dwt(void)
{
    struct pmu_totals totals = {0, 0};
    report("dwt.exists", pmu_cycles_exist());
    report("dwt.profile_exists", pmu_profile_exist());
    for (unsigned wrap = 0; wrap < 3; wrap++) {
        pmu_cycles_write(UINT32_MAX - 1000);
        pmu_overflow_handle(&totals);
        spin(1000);
        report("dwt.total", pmu_cycles_total(&totals));
        pmu_overflow_handle(&totals);
    }
    pmu_cycles_disable();
    uint32_t cycles = pmu_cycles_read();
    spin(ROUNDS);
    report("dwt.stopped", pmu_cycles_read() - cycles);
    pmu_cycles_reset();
    report("dwt.reset", pmu_cycles_read());
    pmu_cycles_enable();
    for (unsigned which = PMU_PROFILE_CPI; which <= PMU_PROFILE_FOLD; which++) {
        pmu_profile_enable((enum pmu_profile)which);
        report("dwt.control", *(volatile uint32_t *)0xE0001000 & 0x3E0001);
        pmu_profile_disable((enum pmu_profile)which);
    }
    pmu_profile_enable(PMU_PROFILE_LSU);
    for (unsigned left = 20; left; left--)
        (void)*(volatile uint32_t *)&totals.last;
    uint32_t loads = pmu_profile_read(PMU_PROFILE_LSU);
    pmu_profile_disable(PMU_PROFILE_LSU);
    uint32_t stopped = pmu_profile_read(PMU_PROFILE_LSU);
    for (unsigned left = 20; left; left--)
        (void)*(volatile uint32_t *)&totals.last;
    report("dwt.loads", loads);
    report("dwt.loads_stopped", pmu_profile_elapsed(stopped, pmu_profile_read(PMU_PROFILE_LSU)));
}
#endif

void measure_m(void)
{
    pmu_enable();
#ifndef CHIP_RP2040
    pmu_cycles_enable();
#endif
    measure_elapsed();
    measure_totals();
    measure_idle();
#ifdef PMU_STUB_DWT_H
    measure_dwt();
#endif
}
