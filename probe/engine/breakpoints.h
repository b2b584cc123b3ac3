/*
 * Points: where the core is to stop. One comparator is moved from stop to stop; code that no comparator
 * reaches (RAM, with the flash patch unit of Cortex-M3 and M4) gets a breakpoint instruction instead. All of
 * it goes through the ledger, so it can be taken away at any moment.
 */
#pragma once

#include "cores/core.h"
#include "engine/neighbours.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stdint.h>

enum { POINTS_SOFT = 12, POINTS_EXTRA = 4 };

static const uint64_t POINT_NONE = UINT64_MAX;

struct breakpoints {
    struct ledger *ledger;
    const struct core *core;
    struct neighbours *neighbours; /* NULL: none are minded */
    unsigned comparator;           /* the one that is ours */
    struct breakpoint_setup setup; /* of it */
    bool comparator_held;
    bool by_context; /* only where CONTEXTIDR is `context` */
    uint32_t context;
    unsigned context_comparator; /* then ours as well */
    unsigned n_wanted,
        n_extra; /* stops besides the one that moves: wanted, and to be had where comparators reach */
    unsigned extra[POINTS_EXTRA];
    struct bkpt_patch {
        uint64_t address;
        uint64_t original;
        unsigned used; /* by age, to make room */
    } soft[POINTS_SOFT];
    size_t n_soft;
    unsigned age;
};

void breakpoints_init(struct breakpoints *breakpoints, struct ledger *ledger, const struct core *core);
/* Stops are to be in one context only; before anything is prepared. */
void breakpoints_set_context(struct breakpoints *breakpoints, uint32_t context);
/* Makes it possible to stop at an address; does not stop there yet. */
bool breakpoints_prepare(struct breakpoints *breakpoints, uint64_t address, const struct deadline *deadline,
                         struct error *error);
/* So many stops are wanted besides the one that moves; before anything is prepared. Where too few comparators
 * are free, only addresses that no comparator reaches can have one. */
void breakpoints_want_extra(struct breakpoints *breakpoints, unsigned n);
/* For the extra stop number `n`, at an address that is prepared. */
bool breakpoints_can_have_extra(const struct breakpoints *breakpoints, unsigned n, uint64_t address);
/* Adds the steps that move the stop from one prepared address to another; either may be POINT_NONE. */
void breakpoints_add_move(const struct breakpoints *breakpoints, struct steps *list, uint64_t from,
                          uint64_t to);
/* Likewise for an extra stop, which must be possible there. */
void breakpoints_add_extra(const struct breakpoints *breakpoints, struct steps *list, unsigned n,
                           uint64_t from, uint64_t to);
/* While the core runs: ERROR_CLEARED where a comparator of ours is off, or all are; true as well where that
 * cannot be read now. For cores on which every stop is a comparator's. */
bool breakpoints_check(const struct breakpoints *breakpoints, const struct deadline *deadline,
                       struct error *error);
/* Adds a proof that a breakpoint instruction at `address` really got into memory; nothing for comparators. */
void breakpoints_add_proof(const struct breakpoints *breakpoints, struct steps *list, uint64_t address);
/* Nothing stops any more. What the comparators held before comes back when the ledger is undone. Can
 * be called again after a failure. */
bool breakpoints_remove(struct breakpoints *breakpoints, const struct deadline *deadline,
                        struct error *error);

/*
 * Breakpoint comparators of a core: which are free, and what each of those that we take is to do. One is
 * moved from stop to stop. Where stops are to be in one context only, that one is linked to another, which
 * compares CONTEXTIDR.
 */
struct comparators {
    uint32_t free; /* as bits */
    bool sole;     /* nobody else has one */
    /* The addresses of others: " 0x00100010 0x00100020". The second: of those that can compare contexts. */
    char taken[128], taken_context[128];
};

struct comparator_choice {
    unsigned stop;
    unsigned context; /* where one is wanted */
    uint32_t rest;    /* left over, as bits */
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
