// Firmware that measures itself with the target stub: once what the stub's operations do, then over and over
// one function, so that its own figures, a probe's and the board's truth can be compared.
#include "measures.h"
#include "pmu_stub.h"

enum { MEASURE_CYCLES = 1, MEASURE_COUNTS = 2, JUST_RUN = 4 };
enum { COUNTS = 3, NAME = 24, REPORTS = 128 };

// What a round does, and of how many rounds self_work is. A test changes them.
volatile uint32_t self_what = MEASURE_CYCLES | MEASURE_COUNTS, self_rounds = 10;
volatile uint32_t round_count;
// Of self_work, and of self_nothing, which is the overhead
volatile struct {
    uint32_t cycles[2], overhead;
    uint32_t counts[2][COUNTS];
} self_figures;
struct {
    char name[NAME];
    uint64_t value;
} self_reports[REPORTS];
volatile uint32_t self_report_count;
static volatile uint32_t data[8];

void report(const char *name, uint64_t value)
{
    uint32_t n = self_report_count;
    if (n == REPORTS)
        return;
    for (unsigned i = 0; i < NAME - 1 && name[i]; i++)
        self_reports[n].name[i] = name[i];
    self_reports[n].value = value;
    self_report_count = n + 1;
}

ALONE void self_work(uint32_t rounds)
{
    for (; rounds; rounds--)
        data[rounds & 7] = data[(rounds + 1) & 7] + rounds;
}

ALONE void self_nothing(uint32_t rounds)
{
    (void)rounds;
}

typedef void (*work)(uint32_t);

static ALONE uint32_t measure_cycles(work what, uint32_t rounds)
{
    pmu_cycles_t start = pmu_cycles_read();
    what(rounds);
    return (uint32_t)pmu_cycles_elapsed(start, pmu_cycles_read());
}

#ifdef PMU_STUB_EVENTS
static const uint32_t events[COUNTS] = {
#ifdef CHIP_A9
    0x68, // it cannot count instructions at their end
#else
    0x08,
#endif
    0x06, 0x07};

static ALONE void measure_counts(work what, uint32_t rounds, volatile uint32_t *counts)
{
    (void)pmu_start(events, COUNTS);
    what(rounds);
    pmu_stop();
    for (unsigned n = 0; n < COUNTS; n++)
        counts[n] = pmu_counter_read(n);
    pmu_enable();
    pmu_cycles_enable();
}
#elif defined PMU_STUB_DWT_H
static ALONE void measure_counts(work what, uint32_t rounds, volatile uint32_t *counts)
{
    pmu_profile_enable(PMU_PROFILE_CPI);
    pmu_profile_enable(PMU_PROFILE_LSU);
    what(rounds);
    counts[0] = pmu_profile_read(PMU_PROFILE_CPI);
    counts[1] = pmu_profile_read(PMU_PROFILE_LSU);
    pmu_profile_disable(PMU_PROFILE_CPI);
    pmu_profile_disable(PMU_PROFILE_LSU);
}
#else
static void measure_counts(work what, uint32_t rounds, volatile uint32_t *counts)
{
    what(rounds);
    counts[0] = 0;
}
#endif

#if __ARM_ARCH_PROFILE == 'M'
// What is found before anything was enabled
static void look_around(void)
{
    uint32_t stack, trace = PMU_STUB_REG(PMU_STUB_DEMCR) & PMU_STUB_TRCENA;
    pmu_cycles_t start = pmu_cycles_read();
    spin(10);
    report("first.moving", pmu_cycles_read() != start);
    report("first.trcena", trace != 0);
    __asm__ volatile("mrs %0, msp" : "=r"(stack));
    report("first.stack", stack);
}
#endif

int main(void);
int main(void)
{
#if __ARM_ARCH_PROFILE == 'M'
    look_around();
    measure_m();
#endif
#ifdef PMU_STUB_EVENTS
    measure_monitor();
#endif
    report("end", 1);
    pmu_enable();
    pmu_cycles_enable();
    for (;;) {
        uint32_t what = self_what, rounds = self_rounds;
        if (what & MEASURE_CYCLES) {
            self_figures.cycles[0] = measure_cycles(self_work, rounds);
            self_figures.cycles[1] = measure_cycles(self_nothing, rounds);
            self_figures.overhead = pmu_read_overhead();
        }
        if (what & MEASURE_COUNTS) {
            measure_counts(self_work, rounds, self_figures.counts[0]);
            measure_counts(self_nothing, rounds, self_figures.counts[1]);
        }
        if (what & JUST_RUN)
            self_work(rounds);
        round_count = round_count + 1;
    }
}
