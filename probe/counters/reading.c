#include "counters/reading.h"

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

static void reading_add_by_core(const struct reading *reading, const struct core_proof *spare,
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

size_t reading_add(const struct reading *reading, bool running, const struct core_proof *spare,
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
