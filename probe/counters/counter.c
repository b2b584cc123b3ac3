/* SPDX-License-Identifier: MIT */
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

/* From FP_SCALE_OPS_SPEC to ST_FIXED_BYTES_SPEC lanes and bytes are counted, and a multiply-add twice (DDI
 * 0487, the PMU's events 0x80C0 to 0x80DF). */
enum { LANES_FIRST = 0x80C0, LANES_LAST = 0x80DF, LANES_A_CYCLE = UINT8_MAX };

uint8_t counter_event_pace(uint8_t most, uint32_t code, const char *name)
{
    static const char *const slow[] = {"CPU_CYCLES", "EXC_TAKEN", "EXC_RETURN", "SW_INCR"};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (most > 1 && strcmp(name, slow[i]) == 0)
            return 1;
    return code >= LANES_FIRST && code <= LANES_LAST ? LANES_A_CYCLE : most;
}

unsigned counter_pace(const struct counter *counter)
{
    enum { UNKNOWN_A_CYCLE = 8 };
    return counter->per_cycle > 0 ? counter->per_cycle : UNKNOWN_A_CYCLE;
}

/* ---- reading */

static bool is_split(const struct counter *counter)
{
    return counter->high.size != 0;
}

/* Consecutive words cost a probe less than single addresses: if several counters are two words apart, the
 * words between them are read too. */
enum { ROW = 4, WORD = 4 };

static bool is_behind(const struct reading *reading, size_t i)
{
    if (i == 0 || i >= reading->n)
        return false;
    const struct counter *before = &reading->counters[i - 1], *counter = &reading->counters[i];
    return !is_split(before) && !is_split(counter) && counter->low.size == WORD && before->low.size == WORD &&
           counter->low.space == before->low.space && counter->low.unit == before->low.unit &&
           counter->low.offset == before->low.offset + UINT64_C(2) * WORD;
}

static bool fills_gap(const struct reading *reading, size_t i)
{
    size_t first = i, end = i + 1;
    while (is_behind(reading, first))
        first--;
    while (is_behind(reading, end))
        end++;
    return end - first >= ROW && end > i + 1;
}

/* ---- counters that the core itself reads; whatever else there is follows as it is */

enum { BY_CORE_STEPS = 768 };

static size_t pick(const struct reading *reading, bool by_core, struct step *accesses, size_t *which)
{
    size_t n = 0;
    for (size_t i = 0; i < reading->n; i++)
        if ((reading->counters[i].low.space == SPACE_CORE) == by_core) {
            accesses[n] = step_read(reading->counters[i].low);
            which[n++] = i;
        }
    return n;
}

static void reading_add_by_core(const struct reading *reading, const struct core_spare *spare,
                                struct steps *list, size_t *at)
{
    struct step accesses[READING_ROOM] = {{.op = OP_READ}};
    size_t which[READING_ROOM], places[READING_ROOM];
    size_t n = pick(reading, true, accesses, which);
    core_add_coprocessor(reading->by_core, list, accesses, n, spare, places);
    for (size_t i = 0; i < n; i++)
        at[which[i]] = places[i];
    n = pick(reading, false, accesses, which);
    for (size_t i = 0; i < n; i++)
        at[which[i]] = counter_add_read(&reading->counters[which[i]], list);
}

/* Steps before the first value depend on the list; from there on they are always the same. */
static void note_places(struct reading *reading)
{
    struct step items[BY_CORE_STEPS];
    struct steps list = {.items = items, .room = BY_CORE_STEPS};
    size_t at[READING_ROOM] = {0};
    reading_add_by_core(reading, NULL, &list, at);
    for (size_t i = 0; i < reading->n; i++)
        reading->apart[i] = (uint16_t)(at[i] - at[0]);
}

size_t reading_steps(const struct reading *reading)
{
    struct step items[BY_CORE_STEPS];
    struct steps list = {.items = items, .room = BY_CORE_STEPS};
    reading_add(reading, false, NULL, &list);
    return list.n;
}

/* ---- all kinds */

void reading_begin(struct reading *reading, const struct core *by_core)
{
    *reading = (struct reading){.by_core = by_core};
}

bool reading_append(struct reading *reading, const struct counter *counter)
{
    if (reading->n == READING_ROOM)
        return false;
    reading->counters[reading->n++] = *counter;
    if (reading->by_core != NULL)
        note_places(reading);
    return true;
}

size_t reading_add(const struct reading *reading, bool running, const struct core_spare *spare,
                   struct steps *list)
{
    size_t at = list->n, places[READING_ROOM] = {0};
    if (reading->by_core != NULL) {
        reading_add_by_core(reading, spare, list, places);
        return places[0];
    }
    for (size_t i = 0; i < reading->n; i++) {
        const struct counter *counter = &reading->counters[i];
        if (running && is_split(counter))
            steps_add(list, step_read(counter->high));
        counter_add_read(counter, list);
        if (fills_gap(reading, i)) {
            struct address gap = counter->low;
            gap.offset += WORD;
            steps_add(list, step_read(gap));
        }
    }
    return at;
}

void reading_take(const struct reading *reading, bool running, const uint64_t *results, size_t at,
                  uint64_t *out)
{
    for (size_t i = 0; reading->by_core != NULL && i < reading->n; i++)
        out[i] = counter_value(&reading->counters[i], results, at + reading->apart[i]);
    if (reading->by_core != NULL)
        return;
    for (size_t i = 0; i < reading->n; i++) {
        const struct counter *counter = &reading->counters[i];
        if (running && is_split(counter)) {
            out[i] = counter_value_running(counter, results, at);
            at += 3;
            continue;
        }
        out[i] = counter_value(counter, results, at);
        at += is_split(counter) || fills_gap(reading, i) ? 2 : 1;
    }
}

bool reading_shows_exception(const struct reading *reading, const uint64_t *from, const uint64_t *to)
{
    return reading->has_exceptions && from[reading->exceptions] != to[reading->exceptions];
}
