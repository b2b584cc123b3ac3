// An open hash table of fixed size, with room for every halfword of a chip's flash and RAM.
#include "profile.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ROOM_LOG2 = 18, ROOM = 1 << ROOM_LOG2 };
enum { KIND_AT = 32, KINDS = PROFILE_CONTEXT + 1 }; // in a key, above the address

struct entry {
    uint64_t key; // plus one; 0: the entry is free
    uint64_t cycles;
};

struct profile {
    uint64_t from; // the core's cycles at the start
    uint64_t lost; // cycles of addresses that found no room
    size_t used;
    struct entry each[ROOM];
};

struct profile *profile_start(uint64_t now)
{
    struct profile *p = calloc(1, sizeof *p);
    if (p)
        p->from = now;
    return p;
}

void profile_free(struct profile *p)
{
    free(p);
}

// One entry stays free, so that each search ends
void profile_add(struct profile *p, uint32_t where, enum profile_kind kind, uint64_t cycles)
{
    uint64_t key = (uint64_t)kind << KIND_AT | where;
    size_t at = (size_t)((key + 1) * 0x9E3779B97F4A7C15u >> (64 - ROOM_LOG2));
    while (p->each[at].key && p->each[at].key != key + 1)
        at = (at + 1) % ROOM;
    if (!p->each[at].key && p->used == ROOM - 1) {
        p->lost += kind == PROFILE_EXECUTED || kind == PROFILE_ASLEEP ? cycles : 0;
        return;
    }
    p->used += !p->each[at].key;
    p->each[at].key = key + 1;
    p->each[at].cycles += cycles;
}

static int by_key(const void *a, const void *b)
{
    const struct entry *one = a, *other = b;
    return (one->key > other->key) - (one->key < other->key);
}

// The entries, kind by kind, each by address
static struct entry *sorted(const struct profile *p)
{
    struct entry *list = malloc((p->used + 1) * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < ROOM; i++)
        if (p->each[i].key)
            list[count++] = p->each[i];
    if (list)
        qsort(list, count, sizeof *list, by_key);
    return list;
}

bool profile_print(const struct profile *p, uint64_t now, FILE *out)
{
    static const char *const names[KINDS] = {"executed", "asleep", "sampled", "contexts"};
    struct entry *list = sorted(p);
    size_t at = 0;
    if (!list)
        return false;
    fprintf(out, "{\"from\":%" PRIu64 ",\"cycles\":%" PRIu64 ",\"lost\":%" PRIu64, p->from, now, p->lost);
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        fprintf(out, ",\"%s\":[", names[kind]);
        for (size_t first = at; at < p->used && (list[at].key - 1) >> KIND_AT == kind; at++)
            fprintf(out, "%s[%" PRIu32 ",%" PRIu64 "]", at > first ? "," : "", (uint32_t)(list[at].key - 1),
                    list[at].cycles);
        fputc(']', out);
    }
    fputc('}', out);
    free(list);
    return true;
}
