#include "counters/counter.h"

#include <string.h>

size_t counter_kinds(const struct block_kind *const **out)
{
    enum { KINDS = 7 };
    static const struct block_kind *const kinds[KINDS] = {
        &pmu_v81m_kind, &pmu_v7_kind, &pmu_cp15_kind, &pmu_v3_kind, &dwt_kind, &systick_kind, &knc_kind};
    *out = kinds;
    return KINDS;
}

uint64_t counter_modulus(const struct counter *counter)
{
    if (counter->modulus != 0)
        return counter->modulus;
    return counter->bits >= 64 ? UINT64_MAX : 1ULL << counter->bits;
}

uint64_t counter_coarseness(const struct counter *counter)
{
    return (1ULL << counter->shift) - 1;
}

uint64_t counter_modulus_at(const struct counter *counter, uint64_t value)
{
    return counter->reloads ? (value >> 32) + 1 : counter_modulus(counter);
}

static uint64_t counter_count_of(const struct counter *counter, uint64_t value)
{
    return counter->reloads ? (uint32_t)value : value;
}

bool counter_leads(const struct counter *counter, uint64_t from, uint64_t to)
{
    uint64_t modulus = counter_modulus_at(counter, from);
    return counter->bits >= 64 ||
           (counter_count_of(counter, from) < modulus && counter_count_of(counter, to) < modulus &&
            (!counter->reloads || from >> 32 == to >> 32));
}

uint64_t counter_phase(const struct counter *counter, uint64_t value)
{
    uint64_t count = counter_count_of(counter, value);
    if (!counter->down)
        return count;
    return count == 0 && counter->zero_is_top ? 0 : counter_modulus_at(counter, value) - count;
}

uint64_t counter_elapsed(const struct counter *counter, uint64_t from, uint64_t to)
{
    uint64_t a = counter_phase(counter, from), b = counter_phase(counter, to);
    if (counter->bits >= 64)
        return b - a;
    if (counter->reloads && !counter_leads(counter, from, to))
        return 0;
    return b >= a ? b - a : b + counter_modulus_at(counter, from) - a;
}

/* The order of their addresses is the shortest for a probe. */
static bool high_is_first(const struct counter *counter)
{
    return counter->high.offset < counter->low.offset;
}

size_t counter_add_read(const struct counter *counter, struct steps *list)
{
    bool is_split = counter->high.size != 0, high_first = high_is_first(counter);
    size_t at = steps_add(list, step_read(is_split && high_first ? counter->high : counter->low));
    if (is_split)
        steps_add(list, step_read(high_first ? counter->low : counter->high));
    return at;
}

static uint64_t masked(const struct counter *counter, uint64_t value)
{
    return counter->bits >= 64 ? value : value & ((1ULL << counter->bits) - 1);
}

static uint64_t counter_join(const struct counter *counter, uint64_t low, uint64_t high)
{
    if (counter->reloads)
        return masked(counter, high) << 32 | masked(counter, low);
    return masked(counter, (high << 32 | low) << counter->shift);
}

uint64_t counter_value(const struct counter *counter, const uint64_t *results, size_t at)
{
    if (counter->high.size == 0)
        return counter_join(counter, results[at], 0);
    return high_is_first(counter) ? counter_join(counter, results[at + 1], results[at])
                                  : counter_join(counter, results[at], results[at + 1]);
}

uint32_t counter_high(uint32_t before, uint32_t low, uint32_t after)
{
    return low >> 31 ? before : after;
}

uint64_t counter_value_running(const struct counter *counter, const uint64_t *results, size_t at)
{
    uint32_t before = (uint32_t)results[at], low = (uint32_t)results[at + 1],
             after = (uint32_t)results[at + 2];
    if (counter->reloads)
        return counter_join(counter, low, before == after ? after : 0);
    return counter_join(counter, low, counter_high(before, low, after));
}

bool counter_event_is_slow(const char *name)
{
    static const char *const names[] = {"CPU_CYCLES", "EXC_TAKEN", "EXC_RETURN", "SW_INCR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}
