// The stub in privileged and in user mode, with its interrupts, on QEMU; judged by tests/test_stub.py.
#include "measures.h"
#include "pmu_stub.h"
#include "qemu.h"

enum { EVENT_CYCLES = 0x11, ROUNDS = 1000 };

static struct pmu_totals totals;
static uint32_t handled; // flags that the handler saw

void overflow_handler(void)
{
    handled |= pmu_overflow_handle(&totals);
}

static void forget_wraps(void)
{
    for (unsigned n = 0; n < 32; n++)
        totals.wraps[n] = 0;
}

static uint64_t user_cycles(void)
{
    pmu_cycles_t start = pmu_cycles_read();
    spin(ROUNDS);
    return pmu_cycles_elapsed(start, pmu_cycles_read());
}

static uint64_t user_sets_up(void)
{
    pmu_event_select(0, PMU_SW_INCR);
    pmu_counter_reset(0);
    pmu_counter_enable(0);
    for (unsigned left = 77; left; left--)
        pmu_increment(PMU_COUNTER(0));
    return pmu_counter_read(0);
}

static uint64_t user_switches_itself_on(void)
{
    pmu_user_enable();
    return 1;
}

static void report_user(const char *cycles, const char *trapped)
{
    uint64_t value = run_user(user_cycles);
    report(cycles, value);
    report(trapped, user_trapped);
}

static void measure_user_access(void)
{
    report_user("first.cycles", "first.trapped");
    pmu_close(0);
    report_user("before.cycles", "before.trapped");
    uint64_t state = pmu_open();
    report("open.was", state);
    report("open.is", pmu_state());
    report_user("opened.cycles", "opened.trapped");
    report("user.increments", run_user(user_sets_up));
    report("user.increments.trapped", user_trapped);
    pmu_counter_disable(0);
    pmu_close(state);
    report("close.is", pmu_state());
    report_user("closed.cycles", "closed.trapped");
    pmu_user_enable();
    report_user("enabled.cycles", "enabled.trapped"); // user mode may read, but nothing counts
    pmu_user_disable();
    report_user("disabled.cycles", "disabled.trapped");
    (void)run_user(user_switches_itself_on);
    report("itself.trapped", user_trapped);
    report("itself.is", pmu_state());
#ifdef __aarch64__
    pmu_user_enable_reading();
    pmu_enable();
    pmu_cycles_enable();
    report_user("reading.cycles", "reading.trapped");
    (void)run_user(user_sets_up);
    report("reading.sets_up.trapped", user_trapped);
    pmu_cycles_disable();
    pmu_disable();
    pmu_user_disable();
#endif
}

// Another program's monitor: enabled, every 64th cycle
static void measure_guest(void)
{
    pmu_cycles_by_64(true);
    pmu_enable();
    uint64_t before = pmu_open();
    report("guest.was", before);
    report("guest.is", pmu_state());
    pmu_close(before);
    report("guest.after", pmu_state());
    pmu_disable();
    before = pmu_open(); // nobody's: every cycle
    report("idle.is", pmu_state());
    pmu_close(before);
    pmu_cycles_by_64(false);
}

// 32 increments over the edge, three times, on a counter that is 1 too low each time
static void measure_wraps_of_increments(void)
{
    forget_wraps();
    pmu_enable();
    pmu_event_select(3, PMU_SW_INCR);
    pmu_counter_reset(3);
    pmu_counter_enable(3);
    pmu_interrupts_on(PMU_COUNTER(3));
    interrupts_unmask();
    for (unsigned wrap = 0; wrap < 3; wrap++) {
        pmu_counter_write(3, UINT32_MAX - 15);
        for (unsigned left = 32; left; left--)
            pmu_increment(PMU_COUNTER(3));
    }
    report("wraps.handled", handled);
    report("wraps.interrupts", interrupt_count);
    report("wraps.total", pmu_counter_total(&totals, 3));
    report("wraps.flags", pmu_overflow_flags());
    interrupts_mask();
    pmu_counter_write(3, UINT32_MAX);
    pmu_increment(PMU_COUNTER(3));
    report("pending.interrupts", interrupt_count);
    report("pending.total", pmu_counter_total(&totals, 3));
    interrupts_unmask();
    spin(10);
    report("pending.taken", interrupt_count);
    report("pending.total_after", pmu_counter_total(&totals, 3));
    pmu_interrupts_off(PMU_COUNTER(3));
    pmu_counter_write(3, UINT32_MAX);
    pmu_increment(PMU_COUNTER(3));
    spin(10);
    report("off.taken", interrupt_count);
    pmu_overflow_clear(UINT32_MAX);
    pmu_counter_disable(3);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

// Cycles by PMCCNTR and by an event counter against the machine's clock, read all the time while they
// wrap
static void measure_wraps_of_cycles(void)
{
    const uint32_t events[] = {EVENT_CYCLES};
    forget_wraps();
    uint32_t interrupts = interrupt_count;
    uint64_t worst = 0, worst_cycles = 0, last = 0, backwards = 0, ticks;
    uint64_t begin = clock_read();
    (void)pmu_start(events, 1);
    pmu_interrupts_on(PMU_CYCLES | PMU_COUNTER(0));
    do {
        ticks = clock_read() - begin;
        uint64_t counter = pmu_counter_total(&totals, 0), cycles = pmu_cycles_total(&totals);
        uint64_t off = apart(counter, 16 * ticks), cycles_off = apart(cycles, 16 * ticks);
        worst = off > worst ? off : worst;
        worst_cycles = cycles_off > worst_cycles ? cycles_off : worst_cycles;
        backwards += counter < last;
        last = counter;
    } while (ticks < UINT64_C(0x350000000) / 16);
    pmu_stop();
    report("cycles.worst_counter", worst);
    report("cycles.worst", worst_cycles);
    report("cycles.backwards", backwards);
    report("cycles.interrupts", interrupt_count - interrupts);
    report("cycles.wraps_counter", totals.wraps[0]);
    report("cycles.wraps", totals.wraps[PMU_CYCLES_SLOT]);
    uint64_t total = pmu_counter_total(&totals, 0);
    spin(ROUNDS);
    report("cycles.after_stop", pmu_counter_total(&totals, 0) - total);
    pmu_interrupts_off(PMU_CYCLES | PMU_COUNTER(0));
}

static void measure_by_64(void)
{
    pmu_enable();
    pmu_cycles_enable();
    for (unsigned by_64 = 0; by_64 < 2; by_64++) {
        pmu_cycles_by_64(by_64);
        pmu_cycles_reset();
        uint64_t begin = clock_read();
        spin(100 * ROUNDS);
        uint64_t cycles = pmu_cycles_read();
        report(by_64 ? "by_64.ticks" : "by_1.ticks", clock_read() - begin);
        report(by_64 ? "by_64.cycles" : "by_1.cycles", cycles);
    }
    pmu_cycles_by_64(false);
    pmu_cycles_disable();
}

int main(void)
{
    report("registers_changed", registers_changed);
    measure_user_access();
    measure_guest();
    interrupts_init();
    measure_monitor();
    report("no.interrupts", interrupt_count);
    measure_wraps_of_increments();
    measure_wraps_of_cycles();
    measure_by_64();
    report("end", 1);
    return 0;
}
