/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints of the direct engine. One comparator moves from stop to stop; code that no comparator reaches
 * (RAM, with the flash patch unit of Cortex-M0 to M4) gets a breakpoint instruction instead.
 *
 * Every core that shares the memory runs onto a breakpoint instruction, and a core without a debugger takes a
 * fault there. So debug is switched on for these neighbours while there are such instructions, and one that
 * stopped at ours is resumed when the code is as it was.
 */
#pragma once

#include "cores/core.h"
#include "device/device.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BREAKPOINTS_PATCHES = 12, BREAKPOINTS_EXTRA = 8, BREAKPOINTS_PLACES = 32 };

static const uint64_t BREAKPOINT_NONE = UINT64_MAX;

struct breakpoints {
    struct ledger *ledger;
    const struct core *core;
    const struct deadline *deadline; /* of the request under way */
    struct breakpoint_setup setup;
    unsigned comparator; /* the one that moves */
    bool comparator_held;
    bool by_context;             /* to be set first: it matches only while CONTEXTIDR is `context`, */
    uint32_t context;            /* by a link */
    unsigned context_comparator; /* to this comparator */
    unsigned n_wanted, n_extra;  /* further comparators: wanted, and taken */
    unsigned extra[BREAKPOINTS_EXTRA];
    struct bkpt_patch {
        uint64_t address;
        uint64_t original;
        unsigned used; /* the smallest was used longest ago */
    } patches[BREAKPOINTS_PATCHES];
    size_t n_patches;
    unsigned age;

    struct device *device;               /* whose other cores are the neighbours; NULL: there are none */
    bool guarded;                        /* debug is switched on for them */
    uint64_t places[BREAKPOINTS_PLACES]; /* of the last breakpoint instructions */
    size_t n_places;
    int64_t looked_us; /* when the neighbours were checked last */
};

/* Always false: ERROR_ADDRESS. */
bool breakpoints_refuse(uint64_t address, struct error *error);
void breakpoints_init(struct breakpoints *breakpoints, struct ledger *ledger, const struct core *core,
                      struct device *device);
/* Stops besides the one that moves, as far as comparators are free. Before anything is prepared. */
void breakpoints_want_extra(struct breakpoints *breakpoints, unsigned n);
/* Makes it possible to stop at an address. Notes in `setup` whether other breakpoints than ours are set. */
bool breakpoints_prepare(struct breakpoints *breakpoints, uint64_t address, const struct deadline *deadline,
                         struct error *error);
/* Whether extra stop number `n` can be at an address, which is prepared. */
bool breakpoints_can_have_extra(const struct breakpoints *breakpoints, unsigned n, uint64_t address);
/* From one prepared address to another; either may be BREAKPOINT_NONE. */
void breakpoints_add_move(const struct breakpoints *breakpoints, struct steps *list, uint64_t from,
                          uint64_t to);
void breakpoints_add_extra(const struct breakpoints *breakpoints, struct steps *list, unsigned n,
                           uint64_t from, uint64_t to);
/* That a breakpoint instruction at `address` got into memory; nothing for comparators. */
void breakpoints_add_proof(const struct breakpoints *breakpoints, struct steps *list, uint64_t address);
/* While the core runs: ERROR_CLEARED if a comparator of ours is off, or halting debug as a whole. True if
 * that cannot be read now. For cores on which every stop is a comparator's. */
bool breakpoints_check(const struct breakpoints *breakpoints, const struct deadline *deadline,
                       struct error *error);
/* ERROR_ADDRESS if a neighbour has stopped at our breakpoint. Checks every 100 ms, or `now`. */
bool breakpoints_check_neighbours(struct breakpoints *breakpoints, bool now, const struct deadline *deadline,
                                  struct error *error);
/* Whether the program has written over a breakpoint instruction: there it does not stop. */
bool breakpoints_are_overwritten(const struct breakpoints *breakpoints, const struct deadline *deadline,
                                 uint64_t *address);
/* The undoing of the ledger restores what the comparators held. Can be called again after a failure. */
bool breakpoints_remove(struct breakpoints *breakpoints, const struct deadline *deadline,
                        struct error *error);
/* After that: resumes the neighbours that stopped at ours. */
bool breakpoints_resume_neighbours(struct breakpoints *breakpoints, const struct deadline *deadline,
                                   struct error *error);

struct comparators {
    uint32_t free; /* as bits */
    bool sole;     /* no other debugger has one */
    /* The addresses in the others: " 0x00100010 0x00100020"; in those that can compare contexts. */
    char taken[128], taken_context[128];
};

struct comparator_choice {
    unsigned stop;
    unsigned context; /* if one is wanted */
    uint32_t rest;    /* left over, as bits */
};

/* The last free ones: other debuggers begin with the first. ERROR_NO_COMPARATOR. */
bool comparators_choose(const struct core *core, const struct comparators *found, bool by_context,
                        struct comparator_choice *out, struct error *error);
