#include "report/hit_times.h"

static void hit_times_add_count(struct hit_span *span, enum hit_kind kind, uint64_t n, uint64_t least,
                                uint64_t greatest)
{
    if (n == 0)
        return;
    if (span->of[kind].n == 0 || least < span->of[kind].least)
        span->of[kind].least = least;
    if (greatest > span->of[kind].greatest)
        span->of[kind].greatest = greatest;
    span->of[kind].n += n;
}

static void hit_times_merge(struct hit_span *into, const struct hit_span *next)
{
    into->last = next->last;
    into->to = next->to;
    for (int kind = 0; kind < HIT_KINDS; kind++)
        hit_times_add_count(into, (enum hit_kind)kind, next->of[kind].n, next->of[kind].least,
                            next->of[kind].greatest);
}

static void hit_times_halve(struct hit_times *times)
{
    for (size_t i = 0; i < HIT_SPANS / 2; i++) {
        times->spans[i] = times->spans[2 * i];
        hit_times_merge(&times->spans[i], &times->spans[2 * i + 1]);
    }
    times->n = HIT_SPANS / 2;
    times->each *= 2;
}

void hit_times_add(struct hit_times *times, uint64_t number, double seconds, enum hit_kind kind,
                   uint64_t count)
{
    if (times->each == 0)
        times->each = 1;
    bool begins = times->hits % times->each == 0;
    if (begins && times->n == HIT_SPANS) {
        hit_times_halve(times);
        begins = times->hits % times->each == 0;
    }
    if (begins)
        times->spans[times->n++] = (struct hit_span){.first = number, .from = seconds};
    struct hit_span *span = &times->spans[times->n - 1];
    span->last = number;
    span->to = seconds;
    hit_times_add_count(span, kind, 1, count, count);
    times->hits++;
}

bool hit_times_range(const struct hit_times *times, uint64_t *least, uint64_t *greatest)
{
    struct hit_span all = {0};
    for (size_t i = 0; i < times->n; i++)
        for (int kind = 0; kind < HIT_KINDS; kind++)
            hit_times_add_count(&all, HIT_CLEAN, times->spans[i].of[kind].n, times->spans[i].of[kind].least,
                                times->spans[i].of[kind].greatest);
    *least = all.of[HIT_CLEAN].least;
    *greatest = all.of[HIT_CLEAN].greatest;
    return all.of[HIT_CLEAN].n > 0;
}
