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

uint64_t counter_phase(const struct counter *counter, uint64_t value)
{
    uint64_t modulus = counter_modulus(counter);
    if (!counter->down)
        return value;
    return value == 0 && counter->zero_is_top ? 0 : modulus - value;
}

uint64_t counter_elapsed(const struct counter *counter, uint64_t from, uint64_t to)
{
    uint64_t a = counter_phase(counter, from), b = counter_phase(counter, to);
    if (counter->bits >= 64)
        return b - a;
    return b >= a ? b - a : b + counter_modulus(counter) - a;
}

size_t counter_add_read(const struct counter *counter, struct steps *list)
{
    size_t at = steps_add(list, step_read(counter->low));
    if (counter->high.size != 0)
        steps_add(list, step_read(counter->high));
    return at;
}

uint64_t counter_value(const struct counter *counter, const uint64_t *results, size_t at)
{
    uint64_t value = results[at];
    if (counter->high.size != 0)
        value |= results[at + 1] << 32;
    value <<= counter->shift;
    return counter->bits >= 64 ? value : value & ((1ULL << counter->bits) - 1);
}

uint32_t counter_high(uint32_t before, uint32_t low, uint32_t after)
{
    return low >> 31 ? before : after;
}

bool counter_event_is_slow(const char *name)
{
    static const char *const names[] = {"CPU_CYCLES", "EXC_TAKEN", "EXC_RETURN", "SW_INCR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}
