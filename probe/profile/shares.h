/* SPDX-License-Identifier: MIT */
/*
 * What part of a core's samples fell on each function, line, file or address. Neighbouring samples are alike,
 * so its error is not that of independent ones, but by how much some twenty batches of intervals differ.
 */
#pragma once

#include "profile/profile.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shares_sort {
    SHARES_FUNCTION,
    SHARES_LINE,
    SHARES_FILE,
    SHARES_ADDRESS,
    SHARES_CONTEXTS, /* from here on shares are of a profile's contexts, not of its samples */
    SHARES_TASK = SHARES_CONTEXTS,
    SHARES_EXCEPTION,
    SHARES_PROCESS,
    SHARES_SORTS
};

enum { SHARES_BATCHES = 20, SHARES_BATCHES_LEAST = 5 };

struct share {
    enum profile_state state; /* PROFILE_STATES: an address was found; else it is the share of that state */
    char *function;           /* by address "work+0x10"; NULL: unknown, or shares are by file; the name of a
                                 task or an exception */
    char *source; /* "fir.c:42": of a function its entry; by file "fir.c", or "a/fir.c" if there are several;
                     NULL: unknown */
    uint64_t address; /* of a function its entry, else the lowest that was sampled; of a task or an
                         exception its value */
    uint64_t samples;
    uint64_t children; /* samples with those of what it calls, if has_children */
    double part;       /* of all samples of the core, 0..1 */
    double plus_minus; /* half of the 95 % interval of `part`; NaN: too few batches */
    double lasts;      /* s for which neighbouring samples are alike; 0: `part` has not varied */
    bool may_sleep;    /* [asleep], or some of its samples may be asleep, or the other way round */
    double doubt;      /* what that adds to plus_minus */
};

struct shares {
    enum shares_sort sort;
    unsigned core;
    struct share *rows; /* the largest first; owned */
    size_t n;
    uint64_t samples; /* with and without an address */
    uint64_t states[PROFILE_STATES];
    double seconds;
    double
        asleep_doubt; /* as the last interval has it; in the error of [asleep], and of where that is from */
    bool asleep_anywhere; /* as any interval has it */
    unsigned resets;
    double stood_s;  /* for how long the samples stopped the core */
    uint64_t events; /* of the event that stopped it */
    size_t batches;
    double squares;    /* of how many samples each batch has */
    bool has_children; /* rows are by these, the largest first: see call_tree_add_children */
    /* Reasons to trust the table less */
    bool is_few;      /* so few samples that the shares say little */
    bool is_uneven;   /* a large share differs much from one part of the run to the next */
    bool is_sparse;   /* the addresses are apart, as if only some instructions could be sampled */
    bool hides_doubt; /* no row has asleep_doubt in its error */
};

/* Of a `sort` from SHARES_CONTEXTS on. */
enum profile_context shares_context(enum shares_sort sort);
/* Without `symbols`, which may be NULL, shares are by address, whatever `sort` says. False: out of memory,
 * and `out` is empty. */
bool shares_make(const struct profile *profile, unsigned core, enum shares_sort sort, struct symbols *symbols,
                 struct shares *out);
void shares_free(struct shares *shares);

/* "[asleep]", as a name of a row. */
const char *shares_state_name(enum profile_state state);
/* "asleep 41.2 %" */
void shares_state_text(enum profile_state state, uint64_t n, uint64_t of, char *out, size_t size);

/* How far a part of all samples may be off that has `doubt` of them to share with sleep: it cannot lose more
 * than it has, nor gain more than what is `asleep`. */
double shares_doubt(double doubt, double part, double asleep);

/* The function around an address, by its entry; unknown: low and high are 0. Addresses are in order, so it is
 * mostly the one that `last` has, which begins as {0}. */
const struct location *shares_function_of(struct symbols *symbols, uint64_t address, struct location *last);

/*
 * The shares of one profile against those of an older one, row by row. Programs are built anew between the
 * two, so rows are the same by their names: a function by its name and file, a line by its number too.
 */

struct share_side {
    uint64_t samples;
    double part;
    double plus_minus; /* of a row that this side does not have: below what its part is, with 95 % */
    double lasts;      /* as of a share */
    bool may_sleep;
    double doubt; /* that is not in plus_minus yet */
};

struct share_change {
    const struct share *row; /* of the new profile, else of the old one; it has the names */
    struct share_side now, old;
    double change;     /* of the part */
    double plus_minus; /* half of its 95 % interval; NaN: one of the two is too short to know */
    bool is_noise;     /* zero is in that interval, or it is not known */
};

/* Refers to the rows of both shares. */
struct shares_diff {
    struct share_change *rows; /* what is not noise first, then by the amount of the change; owned */
    size_t n, noise;
};

/* Of a core; both are by the same key. False: out of memory, and `out` is empty. */
bool shares_diff_make(const struct shares *now, const struct shares *old, struct shares_diff *out);
void shares_diff_free(struct shares_diff *diff);
