#include "target/reception.h"

void reception_init(struct reception *reception, const struct core *core, const struct counter_block *block)
{
    *reception = (struct reception){.core = core, .block = block};
}

void reception_begin(struct reception *reception, const struct engine_wish *wish,
                     const struct engine_sink *sink)
{
    reception->wish = wish;
    reception->sink = sink;
    reception->hits = 0;
    reception->enough = false;
    reception->was_reset = false;
}

void reception_expect_none(struct reception *reception)
{
    reception->n = 0;
    reception->current = 0;
    reception->next = SEGMENT_AT_START;
}

struct passage *reception_expect(struct reception *reception, unsigned pairs, uint64_t end)
{
    if (reception->n == RECEPTION_ROOM)
        return NULL;
    struct expected_passage *expected = &reception->expected[reception->n++];
    expected->pairs = pairs;
    expected->end = end;
    return &expected->passage;
}

const struct passage *reception_current(const struct reception *reception)
{
    return reception->current < reception->n ? &reception->expected[reception->current].passage : NULL;
}

static void take_readings(const struct reception *reception, const uint64_t *results, const size_t *at,
                          uint64_t *out)
{
    for (size_t i = 0; i < reception->block->n; i++)
        out[i] = counter_value(&reception->block->counters[i], results, at[i]);
}

static bool was_pending(const struct reception *reception, const uint64_t *results, size_t at)
{
    return at != SIZE_MAX && reception->core->ops->pending(reception->core, results[at]);
}

static void deliver_rehits(const struct reception *reception, const struct passage *passage, unsigned which,
                           const uint64_t *results)
{
    for (unsigned i = 0; i < passage->rehits; i++) {
        struct raw_hit rehit = {.pairs = 1};
        if (was_pending(reception, results, passage->disturbed_at[which][i]))
            continue; /* a handler ran in it */
        take_readings(reception, results, passage->reading_at[which][i], rehit.from);
        take_readings(reception, results, passage->reading_at[which][i + 1], rehit.to);
        reception->sink->rehit(reception->sink->context, &rehit);
    }
}

void reception_deliver(struct reception *reception, const struct passage *passage, const uint64_t *results)
{
    take_readings(reception, results, passage->reading_at[1][0], reception->hit.to);
    reception->hits++;
    if (!reception->sink->hit(reception->sink->context, &reception->hit) ||
        reception->hits >= reception->wish->hits)
        reception->enough = true;
}

void reception_stopped(struct reception *reception, uint64_t after_us)
{
    reception->hit.run_us = after_us - reception->before_us;
}

void reception_passed(struct reception *reception, bool tainted)
{
    reception->hit.tainted = reception->hit.tainted || tainted;
    reception->hit.pairs += 2;
    reception->hit.past++;
}

static void take_segment(struct reception *reception, const struct expected_passage *expected,
                         enum segment segment, const uint64_t *results)
{
    const struct passage *passage = &expected->passage;
    switch (segment) {
    case SEGMENT_LEAVE:
        deliver_rehits(reception, passage, 0, results);
        reception->hit = (struct raw_hit){.pairs = expected->pairs,
                                          .tainted = was_pending(reception, results, passage->pending_at),
                                          .end_address = expected->end};
        take_readings(reception, results, passage->reading_at[0][passage->rehits], reception->hit.from);
        reception->before_us = results[passage->before_at];
        break;
    case SEGMENT_AT_END:
        reception_stopped(reception, results[passage->after_at]);
        break;
    case SEGMENT_FINISH:
        if (reception->core->ops->reset_seen(reception->core, results[passage->reset_at]))
            reception->was_reset = true;
        if (reception->was_reset)
            break;
        reception_deliver(reception, passage, results);
        deliver_rehits(reception, passage, 1, results);
        break;
    default:
        break;
    }
}

void reception_take(struct reception *reception, const uint64_t *results, size_t done)
{
    while (reception->current < reception->n) {
        const struct expected_passage *expected = &reception->expected[reception->current];
        const size_t *first = expected->passage.first;
        if (done < first[reception->next + 1])
            return;
        if (first[reception->next] < first[reception->next + 1])
            take_segment(reception, expected, reception->next, results);
        if (reception->next < SEGMENT_FINISH) {
            reception->next++;
        } else {
            reception->current++;
            reception->next = SEGMENT_AT_START;
        }
    }
}
