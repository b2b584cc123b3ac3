#include "counters/reading.h"

bool reading_append(struct reading *reading, const struct counter *counter)
{
    if (reading->n == READING_ROOM)
        return false;
    reading->counters[reading->n++] = *counter;
    return true;
}

static bool is_split(const struct counter *counter)
{
    return counter->high.size != 0;
}

size_t reading_add(const struct reading *reading, bool running, struct steps *list)
{
    size_t at = list->n;
    for (size_t i = 0; i < reading->n; i++) {
        const struct counter *counter = &reading->counters[i];
        if (running && is_split(counter))
            steps_add(list, step_read(counter->high));
        counter_add_read(counter, list);
    }
    return at;
}

void reading_take(const struct reading *reading, bool running, const uint64_t *results, size_t at,
                  uint64_t *out)
{
    for (size_t i = 0; i < reading->n; i++) {
        const struct counter *counter = &reading->counters[i];
        if (running && is_split(counter)) {
            uint64_t words[2] = {
                results[at + 1],
                counter_high((uint32_t)results[at], (uint32_t)results[at + 1], (uint32_t)results[at + 2])};
            out[i] = counter_value(counter, words, 0);
            at += 3;
            continue;
        }
        out[i] = counter_value(counter, results, at);
        at += is_split(counter) ? 2 : 1;
    }
}
