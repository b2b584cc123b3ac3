// A bounded ring of events and the set of watched addresses.
#include "truth.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const kind_names[] = {
    [TRUTH_REACH] = "reach", [TRUTH_HALT] = "halt",     [TRUTH_RUN] = "run",
    [TRUTH_ENTER] = "enter", [TRUTH_RETURN] = "return", [TRUTH_SLEEP] = "sleep",
    [TRUTH_WAKE] = "wake",   [TRUTH_RESET] = "reset",   [TRUTH_LOCKUP] = "lockup",
};

bool truth_watch(struct truth *t, const uint32_t *addresses, size_t count)
{
    if (count > TRUTH_WATCHES)
        return false;
    if (count && !t->ring && !(t->ring = calloc(TRUTH_EVENTS, sizeof *t->ring)))
        return false;
    t->next = 0;
    t->bloom = 0;
    t->watch_count = count;
    for (size_t i = 0; i < count; i++) {
        t->watches[i] = addresses[i] & ~1u;
        t->bloom |= truth_bit(addresses[i]);
    }
    return true;
}

void truth_free(struct truth *t)
{
    free(t->ring);
    t->ring = NULL;
    t->watch_count = 0;
}

bool truth_watches(const struct truth *t, uint32_t pc)
{
    if (!(t->bloom & truth_bit(pc)))
        return false;
    for (size_t i = 0; i < t->watch_count; i++)
        if (t->watches[i] == pc)
            return true;
    return false;
}

void truth_log(struct truth *t, struct truth_event event)
{
    if (truth_watching(t))
        t->ring[t->next++ % TRUTH_EVENTS] = event;
}

void truth_print(const struct truth *t, uint64_t from, FILE *out)
{
    uint64_t oldest = t->next > TRUTH_EVENTS ? t->next - TRUTH_EVENTS : 0;
    uint64_t first = from < oldest ? oldest : from;
    uint64_t end = first > t->next ? first : t->next;
    if (end - first > TRUTH_PER_REPLY)
        end = first + TRUTH_PER_REPLY;
    fprintf(out, "{\"next\":%" PRIu64 ",\"end\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"events\":[", end,
            t->next, first - from);
    for (uint64_t i = first; i < end; i++) {
        const struct truth_event *e = &t->ring[i % TRUTH_EVENTS];
        fprintf(out,
                "%s[%" PRIu64 ",\"%s\",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
                "]",
                i == first ? "" : ",", i, kind_names[e->kind], e->pc, e->cycles, e->counted, e->sp, e->lr,
                e->extra);
    }
    fprintf(out, "]}");
}
