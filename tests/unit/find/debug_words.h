/*
 * The words of a debug bus by address, with components that identify themselves on it (IHI 0029 B2.2), and a
 * link that only reads, at each read of which something can go wrong.
 */
#pragma once

#include "../test.h"

#include "find/discovery.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { DEBUG_WORDS = 4096 };

struct debug_words {
    struct {
        uint64_t at;
        uint32_t value;
    } words[DEBUG_WORDS];
    size_t n;
};

static inline void debug_put(struct debug_words *d, uint64_t at, uint32_t value)
{
    assert_true(d->n < DEBUG_WORDS);
    d->words[d->n].at = at;
    d->words[d->n++].value = value;
}

/* False: nothing is there. */
static inline bool debug_get(const struct debug_words *d, uint64_t at, uint64_t *value)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->words[i].at == at) {
            *value = d->words[i].value;
            return true;
        }
    return false;
}

static inline void debug_component(struct debug_words *d, uint64_t base, unsigned class, unsigned part,
                                   unsigned devtype, uint32_t devarch)
{
    static const uint8_t cidr[] = {0x0D, 0x00, 0x05, 0xB1};
    for (unsigned i = 0; i < 4; i++)
        debug_put(d, base + 0xFF0 + 4ULL * i, cidr[i] | (i == 1 ? class << 4 : 0));
    debug_put(d, base + 0xFE0, part & 0xFF);
    debug_put(d, base + 0xFE4, 0xB0 | part >> 8);
    debug_put(d, base + 0xFE8, 0x0B);
    debug_put(d, base + 0xFEC, 0);
    debug_put(d, base + 0xFD0, 4);
    if (class != 9)
        return;
    debug_put(d, base + 0xFCC, devtype);
    debug_put(d, base + 0xFBC, devarch);
}

struct debug_link {
    struct link link;                                       /* first */
    bool (*get)(const struct address *at, uint64_t *value); /* false: refused */
    bool (*sleeps)(const struct address *at);               /* NULL: nothing does */
    unsigned reads, lost_at, fault_at;                      /* the numbers of reads; 0: none */
    bool lost;
};

static inline struct outcome debug_fails(enum why why, size_t done, enum error_kind kind, const char *words,
                                         struct error *error)
{
    error_set(error, kind, "%s", words);
    return (struct outcome){.why = why, .done = done};
}

static inline struct outcome debug_execute(struct link *link, const struct step *steps, size_t n,
                                           uint64_t *results, const struct deadline *deadline,
                                           struct error *error)
{
    struct debug_link *self = (struct debug_link *)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(steps[i].op, OP_READ);
        if (self->lost || ++self->reads == self->lost_at)
            return debug_fails(LINK_LOST, i, ERROR_LINK_LOST, "gone", error);
        if (self->reads == self->fault_at)
            return debug_fails(TARGET_FAULT, i, ERROR_FAULT, "just once", error);
        if (self->sleeps != NULL && self->sleeps(&steps[i].at))
            return debug_fails(TARGET_FAULT, i, ERROR_ASLEEP, "hangs", error);
        if (!self->get(&steps[i].at, &results[i]))
            return debug_fails(TARGET_FAULT, i, ERROR_FAULT, "refused", error);
    }
    return (struct outcome){.why = DONE, .done = n};
}

static inline void debug_link_init(struct debug_link *link, bool (*get)(const struct address *, uint64_t *),
                                   bool (*sleeps)(const struct address *))
{
    static const struct link_ops ops = {.execute = debug_execute};
    *link = (struct debug_link){.link.ops = &ops, .get = get, .sleeps = sleeps};
}

/* What discovery finds over a link. */
static inline void found_open(struct found *found, struct link *link, struct deadline *deadline,
                              struct error *error)
{
    *found = (struct found){.deadline = deadline, .error = error, .room = TARGET_CORES};
    *deadline = deadline_in_ms(60000, NULL);
    found->ledger = ledger_new(link);
    found->buses = calloc(TARGET_BUSES, sizeof *found->buses);
    found->cores = calloc(found->room, sizeof *found->cores);
    assert_non_null(found->ledger);
    assert_non_null(found->buses);
    assert_non_null(found->cores);
}

static inline void found_close(struct found *found)
{
    ledger_free(found->ledger);
    free(found->cores);
    free(found->buses);
    memset(found, 0, sizeof *found);
}
