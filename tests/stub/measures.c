// What the stub does with a performance monitor that has events, in numbers. Judged by tests/test_stub.py.
#include "measures.h"
#include "pmu_stub.h"

#ifdef PMU_STUB_EVENTS
#ifndef EVENT_CYCLES
#define EVENT_CYCLES 0x11
#endif
enum { ROUNDS = 1000, POLLED = 200000, BEFORE_WRAP = 40000, EDGES = 200 };
#ifndef CYCLES_A_STEP
#define CYCLES_A_STEP 1 // of an instruction
#endif
#define COUNTER_MAX (UINT32_MAX >> (32 - PMU_COUNTER_BITS))

static void measure_increments(void)
{
    unsigned counters = pmu_counters();
    report("counters", counters);
    pmu_enable();
    for (unsigned n = 0; n < counters; n++) {
        pmu_event_select(n, PMU_SW_INCR);
        pmu_counter_write(n, 5);
        pmu_counter_reset(n);
        pmu_counter_enable(n);
    }
    for (unsigned n = 0; n < counters; n++)
        for (unsigned left = 100 * n + 7; left; left--)
            pmu_increment(PMU_COUNTER(n));
    pmu_increment(PMU_COUNTER(1) | PMU_COUNTER(2));
    for (unsigned n = 0; n < counters; n++)
        report("incremented", pmu_counter_read(n));
    pmu_counter_disable(1);
    for (unsigned left = 10; left; left--)
        pmu_increment(PMU_COUNTER(1) | PMU_COUNTER(2));
    report("stopped", pmu_counter_read(1));
    report("beside", pmu_counter_read(2));
    pmu_counter_enable(1);
    pmu_disable();
    pmu_increment(PMU_COUNTER(1));
    report("all.stopped", pmu_counter_read(1));
    pmu_enable();
    pmu_increment(PMU_COUNTER(1));
    report("all.again", pmu_counter_read(1));
    pmu_cycles_enable();
    pmu_counters_reset();
    report("reset.counter", pmu_counter_read(1));
    report("reset.kept_cycles", pmu_cycles_read() != 0);
    pmu_cycles_write(UINT32_MAX);
    pmu_counter_write(1, 9);
    pmu_cycles_reset();
    report("reset.cycles", pmu_cycles_read());
    report("reset.kept_counter", pmu_counter_read(1));
    for (unsigned n = 0; n < counters; n++)
        pmu_counter_disable(n);
}

static void measure_stopping(void)
{
    pmu_event_select(0, EVENT_CYCLES);
    pmu_event_select(1, EVENT_CYCLES);
    pmu_counter_enable(0);
    pmu_counter_enable(1);
    pmu_cycles_enable();
    pmu_counter_disable(0);
    pmu_cycles_disable();
    pmu_counter_reset(1);
    uint64_t counter = pmu_counter_read(0), beside = pmu_counter_read(1), cycles = pmu_cycles_read();
    spin(ROUNDS);
    report("disabled.counter_moved", pmu_counter_read(0) - counter);
    report("disabled.cycles_moved", pmu_cycles_read() - cycles);
    report("disabled.beside_moved", pmu_counter_read(1) - beside);
    pmu_counter_disable(1);
}

static void measure_flags(void)
{
    pmu_overflow_clear(UINT32_MAX);
    for (unsigned n = 0; n < 3; n++) {
        pmu_event_select(n, PMU_SW_INCR);
        pmu_counter_write(n, COUNTER_MAX);
        pmu_counter_enable(n);
    }
    report("flags.before", pmu_overflow_flags());
    pmu_increment(PMU_COUNTER(0));
    pmu_increment(PMU_COUNTER(2));
    report("flags.forced", pmu_overflow_flags());
    pmu_overflow_clear(PMU_COUNTER(2));
    report("flags.one_cleared", pmu_overflow_flags());
    pmu_overflow_clear(PMU_COUNTER(0));
    report("flags.cleared", pmu_overflow_flags());
    for (unsigned n = 0; n < 3; n++)
        pmu_counter_disable(n);
#ifdef __aarch64__
    pmu_cycles_write(UINT64_MAX - 1000);
#else
    pmu_cycles_write(UINT32_MAX - 1000);
#endif
    pmu_cycles_enable();
    spin(2 * ROUNDS);
    report("flags.cycles", pmu_overflow_flags());
    pmu_cycles_disable();
    pmu_overflow_clear(PMU_CYCLES);
    report("flags.cycles_cleared", pmu_overflow_flags());
}

// More events than counters; all from zero, with the flags down
static void measure_sets(void)
{
    uint32_t events[32];
    for (unsigned n = 0; n < 32; n++)
        events[n] = PMU_SW_INCR;
#ifdef PMU_STUB_BY_64
    pmu_cycles_by_64(true);
#endif
    pmu_enable();
    pmu_event_select(0, PMU_SW_INCR);
    pmu_counter_enable(0);
    pmu_counter_write(0, COUNTER_MAX);
    pmu_increment(PMU_COUNTER(0));
    pmu_counter_write(0, 1234);
    pmu_event_select(1, EVENT_CYCLES);
    report("set.flags_before", pmu_overflow_flags());
    pmu_counter_enable(1);
    report("set.of_32", pmu_start(events, 32));
    report("set.flags", pmu_overflow_flags());
#ifdef PMU_STUB_USER
    report("set.state", pmu_state());
#endif
    pmu_increment(UINT32_MAX >> 1);
    pmu_increment(UINT32_MAX >> 1);
    report("set.first", pmu_counter_read(0));
    report("set.last", pmu_counter_read(pmu_counters() - 1));
    pmu_stop();
    pmu_increment(UINT32_MAX >> 1);
    report("set.stopped", pmu_counter_read(0));
    pmu_counter_enable(2); // left by another program
    report("set.of_2", pmu_start(events, 2));
    pmu_increment(UINT32_MAX >> 1);
    report("set.second", pmu_counter_read(1));
    report("set.unused", pmu_counter_read(2));
    pmu_cycles_t start = pmu_cycles_read();
    spin(ROUNDS);
    report("set.cycles", pmu_cycles_elapsed(start, pmu_cycles_read_synced()));
    report("set.overhead", pmu_read_overhead());
    pmu_stop();
    pmu_cycles_t stopped = pmu_cycles_read();
    spin(ROUNDS);
    report("set.cycles_stopped", pmu_cycles_read() - stopped);
}

// Without interrupts: the handler called often enough does as well
static void measure_polled(void)
{
    const uint32_t events[] = {EVENT_CYCLES}, first = COUNTER_MAX - BEFORE_WRAP;
    struct pmu_totals totals;
    uint64_t cycles, worst = 0;
    for (unsigned n = 0; n < 32; n++)
        totals.wraps[n] = 0;
    (void)pmu_start(events, 1);
    pmu_counter_write(0, first);
    do {
        spin(ROUNDS);
        uint64_t counter = pmu_counter_total(&totals, 0) - first;
        cycles = pmu_cycles_total(&totals);
        uint64_t off = counter > cycles ? counter - cycles : cycles - counter;
        worst = off > worst ? off : worst;
        (void)pmu_overflow_handle(&totals);
    } while (cycles < POLLED);
    pmu_stop();
    report("polled.worst", worst);
    report("polled.wraps", totals.wraps[0]);
}

// Totals taken in every place around a wrap that nobody handles
static void measure_edges(void)
{
    const uint32_t events[] = {EVENT_CYCLES};
    struct pmu_totals totals;
    uint64_t worst = 0, worst_cycles = 0;
    for (unsigned n = 0; n < 32; n++)
        totals.wraps[n] = 0;
    for (unsigned before = 0; before < EDGES; before++) {
        const uint32_t first = COUNTER_MAX - before * CYCLES_A_STEP;
        (void)pmu_start(events, 1);
        pmu_counter_write(0, first);
        uint64_t passed = pmu_counter_total(&totals, 0) - first;
        worst = passed > worst ? passed : worst;
#ifndef __aarch64__
        const uint32_t begin = UINT32_MAX - before * CYCLES_A_STEP;
        pmu_cycles_write(begin);
        passed = pmu_cycles_total(&totals) - begin;
        worst_cycles = passed > worst_cycles ? passed : worst_cycles;
#endif
    }
    pmu_stop();
    pmu_overflow_clear(UINT32_MAX);
    report("edge.worst", worst);
    report("edge.worst_cycles", worst_cycles);
}

void measure_monitor(void)
{
    measure_increments();
    measure_stopping();
    measure_flags();
    measure_sets();
    measure_polled();
    measure_edges();
}
#endif
