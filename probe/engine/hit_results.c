#include "engine/hit_results.h"

#include <string.h>

void reception_init(struct reception *reception, const struct core *core, const struct reading *reading,
                    const struct witness *witness)
{
    *reception = (struct reception){.core = core, .reading = reading, .witness = witness};
}

void reception_begin(struct reception *reception, const struct engine_wish *wish,
                     const struct engine_sink *sink)
{
    reception->wish = wish;
    reception->sink = sink;
    reception->hits = 0;
    reception->enough = false;
    reception->was_reset = false;
    reception->changed = NULL;
    reception->n_held = 0;
    reception->under_way = reception->again = false;
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

static bool was_pending(const struct reception *reception, const uint64_t *results, size_t at)
{
    return at != SIZE_MAX && reception->core->ops->pending(reception->core, results[at]);
}

static bool was_entered(const struct reception *reception, const struct passage *passage,
                        const uint64_t *results)
{
    return passage->pending_early_at != SIZE_MAX &&
           reception->core->ops->entered(reception->core, results[passage->pending_early_at],
                                         results[passage->pending_at]);
}

static bool was_disturbed(const struct reception *reception, const uint64_t *results, size_t at)
{
    const struct core_ops *ops = reception->core->ops;
    if (ops->held_pending == NULL)
        return was_pending(reception, results, at);
    return ops->held_pending(reception->core, results[at]);
}

static void deliver_rehits(const struct reception *reception, const struct passage *passage, unsigned which,
                           const uint64_t *results)
{
    for (unsigned i = 0; i < passage->rehits; i++) {
        struct raw_hit rehit = {.pairs = 1};
        size_t at = passage->disturbed_at[which][i];
        if (at != PASSAGE_NEVER && was_disturbed(reception, results, at))
            continue; /* a handler ran in it */
        reading_take(reception->reading, false, results, passage->reading_at[which][i], rehit.from);
        reading_take(reception->reading, false, results, passage->reading_at[which][i + 1], rehit.to);
        reception->sink->rehit(reception->sink->context, &rehit);
    }
}

static void complete_hit(struct reception *reception, const struct passage *passage, const uint64_t *results)
{
    reading_take(reception->reading, false, results, passage->reading_at[1][0], reception->hit.to);
    const struct at_end *at_end = reception->wish->at_end;
    for (size_t i = 0; at_end != NULL && i < at_end->n; i++)
        reception->hit.words[i] =
            at_end->words[i].is_register
                ? core_register_value(reception->core, at_end->words[i].which, results, passage->words_at[i])
                : results[passage->words_at[i]];
}

static void deliver(struct reception *reception, const struct raw_hit *hit)
{
    reception->hits++;
    if (!reception->sink->hit(reception->sink->context, hit) || reception->hits >= reception->wish->hits)
        reception->enough = true;
}

void reception_release(struct reception *reception, bool was_reset)
{
    reception->was_reset = reception->was_reset || was_reset;
    for (size_t i = 0; i < reception->n_held && !reception->was_reset; i++)
        deliver(reception, &reception->held[i]);
    reception->n_held = 0;
}

static void begin_hit(struct reception *reception)
{
    reception->under_way = true;
    reception->looked = false;
    reception->steps += !reception->again;
}

static void end_hit(struct reception *reception)
{
    reception->under_way = reception->again = false;
    reception->steps++;
}

void reception_deliver(struct reception *reception, const struct passage *passage, const uint64_t *results)
{
    reception_release(reception, false);
    complete_hit(reception, passage, results);
    end_hit(reception);
    deliver(reception, &reception->hit);
}

void reception_stopped(struct reception *reception, uint64_t after_us)
{
    reception->hit.after_us = after_us;
}

void reception_look(struct reception *reception, const uint64_t *values, uint64_t before_us,
                    uint64_t after_us)
{
    struct raw_look look = {.before_us = before_us, .after_us = after_us, .first = !reception->looked};
    if (reception->sink->look == NULL ||
        reception->n_held > 0) /* the sink takes looks for those of its next hit */
        return;
    memcpy(look.values, values, reception->reading->n * sizeof *values);
    reception->looked = true;
    reception->sink->look(reception->sink->context, &reception->hit, &look);
}

void reception_left(struct reception *reception)
{
    reception->under_way = false;
    reception->again = true;
    if (reception->sink->left != NULL)
        reception->sink->left(reception->sink->context);
}

void reception_passed(struct reception *reception, bool tainted)
{
    reception->hit.tainted = reception->hit.tainted || tainted;
    reception->hit.pairs += 2;
    reception->hit.past++;
}

void reception_interrupted(struct reception *reception)
{
    reception->hit.tainted = true;
    reception->hit.pairs++;
}

static void take_segment(struct reception *reception, const struct expected_passage *expected,
                         enum segment segment, const uint64_t *results)
{
    const struct passage *passage = &expected->passage;
    switch (segment) {
    case SEGMENT_LEAVE:
        deliver_rehits(reception, passage, 0, results);
        reception->hit = (struct raw_hit){.pairs = expected->pairs,
                                          .tainted = was_pending(reception, results, passage->pending_at) ||
                                                     was_entered(reception, passage, results),
                                          .end_address = core_code_place(expected->end)};
        reading_take(reception->reading, false, results, passage->reading_at[0][passage->rehits],
                     reception->hit.from);
        reception->hit.before_us = results[passage->before_at];
        begin_hit(reception);
        break;
    case SEGMENT_AT_END:
        reception_stopped(reception, results[passage->after_at]);
        break;
    case SEGMENT_FINISH:
        if (passage->reset_at == SIZE_MAX) {
            complete_hit(reception, passage, results);
            end_hit(reception);
            if (reception->n_held < RECEPTION_HELD)
                reception->held[reception->n_held++] = reception->hit;
            break;
        }
        if (reception->core->ops->reset_seen(reception->core, results[passage->reset_at]))
            reception_release(reception, true);
        else if (reception->changed == NULL)
            reception->changed =
                witness_changed(reception->witness, results, &passage->witness_at, &reception->changed_to);
        if (reception->changed != NULL)
            reception->n_held = 0;
        if (reception->was_reset || reception->changed != NULL)
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
