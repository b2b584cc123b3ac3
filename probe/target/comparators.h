/*
 * Breakpoint comparators of a core: which are free, and what each of those that we take is to do. One is
 * moved from stop to stop. Where stops are to be in one context only, that one is linked to another, which
 * compares CONTEXTIDR. Where the core can leave registers in comparators, it gets two more for that.
 */
#pragma once

#include "cores/core.h"
#include "target/ledger.h"

#include <stdbool.h>
#include <stdint.h>

struct comparators {
    uint32_t free; /* as bits */
    bool sole;     /* nobody else has one */
    /* The addresses of others: " 0x00100010 0x00100020". The second: of those that can compare contexts. */
    char taken[128], taken_context[128];
};

struct comparator_choice {
    unsigned stop;
    unsigned context; /* where one is wanted */
    struct core_spares spares;
    uint32_t rest; /* left over, as bits */
};

/* Of a set that is not empty; it is no longer in there. */
unsigned comparators_take_last(uint32_t *set);
/* What is left over in a unit that is off as a whole is switched off, or it would wake up with that. */
bool comparators_find(struct ledger *ledger, const struct core *core, struct comparators *out,
                      const struct deadline *deadline, struct error *error);
/* To be put back; its value last, for it may hold all of that only while its control says that it may. */
bool comparators_hold(struct ledger *ledger, const struct core *core, unsigned n,
                      const struct deadline *deadline, struct error *error);
/* The last free ones: other debuggers start with the first. */
bool comparators_choose(const struct core *core, const struct comparators *found, bool by_context,
                        struct comparator_choice *out, struct error *error);
