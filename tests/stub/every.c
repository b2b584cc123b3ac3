// Every function of the stub, used once as a program would: it has to compile as C11 and C++17, by GCC and
// Clang, for every core. It is never run.
#include "pmu_stub.h"

#ifdef __cplusplus
extern "C" {
#endif
uint64_t every_operation(uint32_t argument);
#ifdef __cplusplus
}
#endif

#ifdef PMU_STUB_EVENTS
static uint64_t of_events(uint32_t argument)
{
    static const uint32_t events[] = {PMU_SW_INCR, 0x08u | PMU_NOT_USER, 0x11u | PMU_NOT_PRIVILEGED};
    struct pmu_totals totals = {{0}};
    uint64_t sum = pmu_start(events, 3);
    pmu_event_select(argument, PMU_SW_INCR | PMU_AT_EL2);
    pmu_counter_reset(argument);
    pmu_counter_write(argument, 5);
    pmu_counters_reset();
    pmu_counter_enable(argument);
    pmu_interrupts_on(PMU_CYCLES | PMU_COUNTER(argument));
    pmu_increment(PMU_COUNTER(argument));
    sum += pmu_overflow_handle(&totals);
    sum += pmu_overflow_flags();
    pmu_overflow_clear(PMU_COUNTER(argument));
    pmu_interrupts_off(PMU_CYCLES | PMU_COUNTER(argument));
    sum += pmu_counter_total(&totals, argument) + pmu_cycles_total(&totals);
    sum += pmu_counter_read(argument) + pmu_counters();
    pmu_counter_disable(argument);
    sum += pmu_cycles_read_synced();
    pmu_cycles_write(argument);
    pmu_stop();
    return sum;
}
#endif

#if __ARM_ARCH_PROFILE == 'M' && !defined __aarch64__
static uint64_t of_systick(void)
{
    struct pmu_systick_totals totals = {0, 0};
    uint32_t start = pmu_systick_start() ? pmu_systick_read() : 0;
    pmu_systick_handle(&totals);
    uint64_t sum = pmu_systick_elapsed(start, pmu_systick_read()) + pmu_systick_total(&totals);
    pmu_systick_stop();
    return sum + pmu_systick_period();
}
#endif

#ifdef PMU_STUB_DWT_H
static uint64_t of_dwt(void)
{
    struct pmu_totals totals = {0, 0};
    if (!pmu_cycles_exist() || !pmu_profile_exist())
        return 0;
    pmu_profile_enable(PMU_PROFILE_LSU);
    uint32_t start = pmu_profile_read(PMU_PROFILE_LSU);
    pmu_overflow_handle(&totals);
    pmu_cycles_write(1);
    uint64_t sum = pmu_profile_elapsed(start, pmu_profile_read(PMU_PROFILE_LSU)) + pmu_cycles_total(&totals);
    pmu_profile_disable(PMU_PROFILE_LSU);
    return sum;
}
#endif

#ifdef PMU_STUB_V81M_H
static void of_monitor(void)
{
    pmu_monitor_enable();
    pmu_monitor_clear();
    pmu_monitor_disable();
}
#endif

#ifdef PMU_STUB_USER
static uint64_t of_user(void)
{
    uint64_t before = pmu_open();
    pmu_user_enable();
    pmu_user_disable();
    pmu_cycles_filter(PMU_AT_EL2);
#ifdef __aarch64__
    pmu_user_enable_reading();
    pmu_secure_enable();
#endif
    pmu_close(before);
    return pmu_state();
}
#endif

uint64_t every_operation(uint32_t argument)
{
    uint64_t sum = argument;
    pmu_enable();
    pmu_cycles_reset();
    pmu_cycles_enable();
    pmu_cycles_t start = pmu_cycles_read();
    sum += pmu_cycles_elapsed(start, pmu_cycles_read()) + pmu_read_overhead();
    pmu_sync();
#ifdef PMU_STUB_BY_64
    pmu_cycles_by_64(argument & 1);
#endif
#ifdef PMU_STUB_EVENTS
    sum += of_events(argument);
#endif
#if __ARM_ARCH_PROFILE == 'M' && !defined __aarch64__
    sum += of_systick();
#endif
#ifdef PMU_STUB_DWT_H
    sum += of_dwt();
#endif
#ifdef PMU_STUB_V81M_H
    of_monitor();
#endif
#ifdef PMU_STUB_USER
    sum += of_user();
#endif
    pmu_cycles_disable();
    pmu_disable();
    return sum;
}
