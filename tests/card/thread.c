#include "thread.h"

#include "activity.h"

enum {
    TSC = 0x10,
    PERF_CNTR0 = 0x20,
    PERF_CNTR1 = 0x21,
    PERF_EVT_SEL0 = 0x28,
    PERF_EVT_SEL1 = 0x29,
    SPFLT_CONTROL = 0x2C,
    GLOBAL_STATUS = 0x2D,
    GLOBAL_OVF_CTRL = 0x2E,
    GLOBAL_CTRL = 0x2F,
};
enum {
    USR = 1 << 16,
    OS = 1 << 17,
    EDGE = 1 << 18,
    RESERVED = 1 << 19,
    ANY = 1 << 21,
    EN = 1 << 22,
    INV = 1 << 23
};
enum { BOTH = 3, CODE = 0xFFFF };

static const uint64_t COUNTER_MASK = (UINT64_C(1) << 40) - 1, USER_PREF = UINT64_C(1) << 63;

/* Counter 1 does not count what only counter 0 can. */
static bool is_possible(unsigned counter, unsigned code)
{
    static const uint8_t only_by_event[] = {0xC3, 0xC4, 0xCE, 0xCF};
    if (counter == 0)
        return true;
    for (unsigned i = 0; i < sizeof only_by_event; i++)
        if ((code & 0xFF) == only_by_event[i])
            return false;
    return code >> 8 != 0x10 || code == 0x10F0 || code == 0x10F5;
}

static bool is_in_ring(unsigned cpu, uint32_t select, uint64_t cycle)
{
    return (select & (activity_is_user(cpu, cycle) ? USR : OS)) != 0;
}

static unsigned of_thread(unsigned cpu, uint32_t select, uint64_t cycle)
{
    return is_in_ring(cpu, select, cycle) ? activity_events(cpu, select & CODE, cycle) : 0;
}

/* CPU_CLK_UNHALTED is one value a core. In a filtered one, this thread's ring is taken; no document says so.
 */
static unsigned of_core(const struct thread *thread, uint32_t select, uint64_t cycle)
{
    unsigned n = activity_events(thread->siblings[0], CPU_CLK_UNHALTED, cycle);
    for (unsigned i = 0; i < THREADS_A_CORE; i++)
        if ((select & ANY) != 0 ? is_in_ring(thread->siblings[i], select, cycle)
                                : is_in_ring(thread->cpu, select, cycle))
            return n;
    return 0;
}

static unsigned in_cycle(const struct thread *thread, uint32_t select, uint64_t cycle)
{
    unsigned n = 0;
    if ((select & CODE) == CPU_CLK_UNHALTED)
        return of_core(thread, select, cycle);
    if ((select & ANY) == 0)
        return of_thread(thread->cpu, select, cycle);
    for (unsigned i = 0; i < THREADS_A_CORE; i++)
        n += of_thread(thread->siblings[i], select, cycle);
    return n;
}

static bool holds(const struct thread *thread, uint32_t select, uint64_t cycle)
{
    unsigned n = in_cycle(thread, select, cycle), mask = select >> 24;
    if (mask == 0)
        return n > 0;
    return (select & INV) != 0 ? n < mask : n >= mask;
}

static unsigned counted(const struct thread *thread, uint32_t select, uint64_t cycle)
{
    if ((select & EDGE) != 0)
        return holds(thread, select, cycle) && !holds(thread, select, cycle + ACTIVITY_PERIOD - 1);
    return select >> 24 != 0 ? holds(thread, select, cycle) : in_cycle(thread, select, cycle);
}

uint64_t thread_happened(const struct thread *thread, unsigned counter, uint64_t until)
{
    uint32_t select = thread->selects[counter];
    uint64_t whole = 0, rest = 0;
    if (!is_possible(counter, select & CODE))
        return 0;
    for (unsigned i = 0; i < ACTIVITY_PERIOD; i++) {
        unsigned n = counted(thread, select, i);
        whole += n;
        rest += i < until % ACTIVITY_PERIOD ? n : 0;
    }
    return until / ACTIVITY_PERIOD * whole + rest;
}

bool thread_counts(const struct thread *thread, unsigned counter)
{
    bool filtered = (thread->spflt >> counter & 1) != 0 && (thread->spflt & USER_PREF) == 0;
    return (thread->selects[counter] & EN) != 0 && (thread->control >> counter & 1) != 0 && !filtered;
}

static void bring_to(struct thread *thread, uint64_t now)
{
    for (unsigned i = 0; i < THREAD_COUNTERS; i++) {
        if (!thread_counts(thread, i))
            continue;
        uint64_t value =
            thread->counters[i] + thread_happened(thread, i, now) - thread_happened(thread, i, thread->now);
        if (value > COUNTER_MASK)
            thread->status |= 1U << i;
        thread->counters[i] = value & COUNTER_MASK;
    }
    thread->now = now;
}

bool thread_read(struct thread *thread, uint32_t msr, uint64_t now, uint64_t *value)
{
    bring_to(thread, now);
    switch (msr) {
    case TSC:
        *value = now + *thread->tsc_offset;
        return true;
    case PERF_CNTR0:
    case PERF_CNTR1:
        *value = thread->counters[msr - PERF_CNTR0];
        return true;
    case PERF_EVT_SEL0:
    case PERF_EVT_SEL1:
        *value = thread->selects[msr - PERF_EVT_SEL0];
        return true;
    case SPFLT_CONTROL:
        *value = thread->spflt;
        return true;
    case GLOBAL_STATUS:
        *value = thread->status;
        return true;
    case GLOBAL_CTRL:
        *value = thread->control;
        return true;
    default:
        return false;
    }
}

bool thread_write(struct thread *thread, uint32_t msr, uint64_t now, uint64_t value)
{
    bring_to(thread, now);
    switch (msr) {
    case TSC:
        *thread->tsc_offset = value - now;
        return true;
    case PERF_CNTR0:
    case PERF_CNTR1:
        thread->counters[msr - PERF_CNTR0] = value & COUNTER_MASK;
        return true;
    case PERF_EVT_SEL0:
    case PERF_EVT_SEL1:
        if (value >> 32 != 0 || (value & RESERVED) != 0)
            return false;
        thread->selects[msr - PERF_EVT_SEL0] = (uint32_t)value;
        return true;
    case SPFLT_CONTROL:
        if ((value & ~(USER_PREF | BOTH)) != 0)
            return false;
        thread->spflt = value;
        return true;
    case GLOBAL_OVF_CTRL:
        if ((value & ~(uint64_t)BOTH) != 0)
            return false;
        thread->status &= ~(uint32_t)value;
        return true;
    case GLOBAL_CTRL:
        if ((value & ~(uint64_t)BOTH) != 0)
            return false;
        thread->control = (uint32_t)value;
        return true;
    default: /* GLOBAL_STATUS among them */
        return false;
    }
}

void thread_filter(struct thread *thread, uint64_t now, bool count)
{
    bring_to(thread, now);
    thread->spflt = count ? thread->spflt | USER_PREF : thread->spflt & ~USER_PREF;
}

void thread_reset(struct thread *thread, uint64_t now)
{
    bring_to(thread, now);
    for (unsigned i = 0; i < THREAD_COUNTERS; i++)
        thread->counters[i] = thread->selects[i] = 0;
    thread->spflt = 0;
    thread->status = thread->control = 0;
}
