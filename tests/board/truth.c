// A bounded ring of events and the set of watched addresses.
#include "truth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [TRUTH_REACH] = "reach", [TRUTH_HALT] = "halt",         [TRUTH_RUN] = "run",
    [TRUTH_ENTER] = "enter", [TRUTH_RETURN] = "return",     [TRUTH_SLEEP] = "sleep",
    [TRUTH_WAKE] = "wake",   [TRUTH_RESET] = "reset",       [TRUTH_LOCKUP] = "lockup",
    [TRUTH_MATCH] = "match", [TRUTH_OVERFLOW] = "overflow",
};

bool truth_watch(struct truth *t, const uint32_t *addresses, size_t count)
{
    if (count > TRUTH_WATCHES)
        return false;
    if (count && !t->ring && !(t->ring = calloc(TRUTH_EVENTS, sizeof *t->ring)))
        return false;
    if (count && t->code_count && !t->counts &&
        !(t->counts = calloc(TRUTH_EVENTS, t->code_count * sizeof *t->counts)))
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
    free(t->counts);
    profile_free(t->profile);
    t->ring = NULL;
    t->counts = NULL;
    t->profile = NULL;
    t->watch_count = 0;
}

bool truth_among(const struct truth *t, uint32_t pc)
{
    for (size_t i = 0; i < t->watch_count; i++)
        if (t->watches[i] == pc)
            return true;
    return false;
}

void truth_log(struct truth *t, struct truth_event event, const uint64_t *counts)
{
    if (!truth_watching(t))
        return;
    size_t at = t->next++ % TRUTH_EVENTS;
    t->ring[at] = event;
    if (t->code_count)
        memcpy(t->counts + at * t->code_count, counts, t->code_count * sizeof *counts);
}

static void print_counts(const struct truth *t, uint64_t index, FILE *out)
{
    const uint64_t *counts = t->counts + index % TRUTH_EVENTS * t->code_count;
    for (size_t i = 0; i < t->code_count; i++)
        fprintf(out, "%s%" PRIu64, i ? "," : ",[", counts[i]);
    if (t->code_count)
        fputc(']', out);
}

void truth_print(const struct truth *t, uint64_t from, FILE *out)
{
    uint64_t oldest = t->next > TRUTH_EVENTS ? t->next - TRUTH_EVENTS : 0;
    uint64_t first = from < oldest ? oldest : from;
    uint64_t end = first > t->next ? first : t->next;
    if (end - first > TRUTH_PER_REPLY)
        end = first + TRUTH_PER_REPLY;
    fprintf(out, "{\"next\":%" PRIu64 ",\"end\":%" PRIu64 ",\"dropped\":%" PRIu64, end, t->next,
            first - from);
    for (size_t i = 0; i < t->code_count; i++)
        fprintf(out, "%s%u", i ? "," : ",\"codes\":[", t->codes[i]);
    fprintf(out, "%s,\"events\":[", t->code_count ? "]" : "");
    for (uint64_t i = first; i < end; i++) {
        const struct truth_event *e = &t->ring[i % TRUTH_EVENTS];
        fprintf(out,
                "%s[%" PRIu64 ",\"%s\",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
                i == first ? "" : ",", i, kind_names[e->kind], e->pc, e->cycles, e->counted, e->sp, e->lr,
                e->extra);
        print_counts(t, i, out);
        fputc(']', out);
    }
    fprintf(out, "]}");
}
