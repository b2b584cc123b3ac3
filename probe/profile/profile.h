/* SPDX-License-Identifier: MIT */
/* Samples of the program counter, tallied by address over intervals of time. An interval is what record
   writes as one line, so a profile of hours stays small and a file that is cut off can be read up to there.
 */
#pragma once

#include "symbols/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum profile_state {
    PROFILE_ASLEEP,        /* WFI, WFE */
    PROFILE_NOT_PERMITTED, /* the core ran where the sample register does not show it (Secure state), or the
                              debug signals forbid it */
    PROFILE_HALTED,        /* another debugger's halt, a lockup */
    PROFILE_IN_RESET,      /* the core was held in reset, or its debug logic was off */
    PROFILE_STATES
};

/* What else is seen of a core that is sampled. */
enum profile_context {
    PROFILE_EXCEPTIONS, /* the exception that it is in, by its number; 0: in none */
    PROFILE_TASKS,      /* the word by which an RTOS knows the task that runs */
    PROFILE_PROCESSES,  /* CONTEXTIDR */
    PROFILE_CONTEXTS
};

/* Call stacks that were sampled, each kept once with the number of its samples. */
struct call_stack {
    uint64_t samples;
    uint64_t *at;        /* the leaf first; a caller's is inside its call instruction; owned by the set */
    size_t depth;        /* 1 to UNWIND_FRAMES */
    size_t sure;         /* frames that are not guessed; what follows them rests on a guess */
    enum unwind_end end; /* UNWIND_OUTERMOST: it is whole; else why it is cut short */
};

struct call_stacks {
    struct call_stack *rows;
    size_t n, room;
    size_t frames; /* of all rows */
    size_t *slots; /* a hash table of indexes into `rows`, and SIZE_MAX */
    size_t slot_count;
};

/* Adds the samples of a stack; `at` is copied. False: out of memory, and nothing is added. */
bool call_stacks_add(struct call_stacks *set, const struct call_stack *stack);
/* One sample of a stack as it was found. */
bool call_stacks_add_found(struct call_stacks *set, const struct unwind_stack *stack);
bool call_stacks_merge(struct call_stacks *to, const struct call_stacks *from);
void call_stacks_free(struct call_stacks *set);
/* "no_rules", the name of a reason in a file; NULL: the stack is whole. */
const char *call_stack_end_name(enum unwind_end end);
/* False: unknown name. */
bool call_stack_end_find(const char *name, enum unwind_end *out);

struct profile_count {
    uint64_t address;
    uint64_t samples;
};

struct profile_interval {
    unsigned core;                /* index into profile_about.cores */
    double from, to;              /* s since the first sample */
    struct profile_count *counts; /* by rising address; owned */
    size_t count_count;
    uint64_t states[PROFILE_STATES]; /* samples without an address */
    unsigned resets;                 /* of the target, seen in this interval */
    double
        asleep_doubt; /* what part of the samples up to here may be asleep and does not count so, or awake */
    bool asleep_anywhere;      /* these may be in known code without a WFI or WFE, too */
    double stood_s;            /* for how long the samples stopped the core */
    uint64_t events;           /* of the event that stopped it */
    struct call_stacks stacks; /* of the same samples, if they have any; owned */
};

/* What samples were taken of and with: the head of the file. Strings are owned, NULL where unknown. */
struct profile_about {
    char *date; /* ISO 8601, UTC */
    char *probe, *elf, *build_id;
    uint64_t load_offset; /* of the ELF; see symbols_move */
    char **cores;         /* names, "Cortex-M4" */
    unsigned *numbers;    /* theirs, as info has them; NULL: from 0 up */
    size_t core_count;
    char *source;  /* the register that gave the address: "DWT_PCSR", "EDPCSR" ...; "halts" where the core was
                      stopped for each; what stopped it: "DWT cycle match" ... */
    bool by_block; /* each sample is where a block of code begins: see struct pc_sample */
    char *task;    /* the variable that identifies the task; NULL: it was not read */
    char *event;   /* that stopped the core; NULL: none, the samples are of time */
    char *errata;  /* by which the core counts it wrongly; NULL: none */
    uint64_t every; /* the average number of events from stop to stop */
    double asked_s; /* --for; 0: until Ctrl-C */
};

/* What is known at the end only; a file that was cut off has none. */
struct profile_end {
    bool known;
    double elapsed_s;
    uint64_t samples;
    char *why; /* "time", "Ctrl-C", "lost" with the error's text in `error` */
    char *error;
};

struct profile {
    struct profile_about about;
    struct profile_interval *intervals; /* in the order taken */
    size_t interval_count;
    struct profile_contexts { /* of each kind: how often which value was seen, in place of addresses */
        struct profile_interval *intervals;
        size_t interval_count;
    } contexts[PROFILE_CONTEXTS];
    /* By their values in PROFILE_TASKS. Those of another task in the same memory are above 32 bits, and have
     * the word in these. */
    struct profile_task {
        uint64_t value;
        char *name;     /* owned */
        unsigned since; /* the line of the file that named it last: from there on it is this one */
    } * tasks;
    size_t task_count;
    char **notes; /* what of the run makes its shares wrong, or part of the truth; owned */
    size_t note_count;
    struct profile_end end;
};

unsigned profile_core_number(const struct profile_about *about, size_t core);
/* The core of this number; core_count: there is none. */
size_t profile_core_find(const struct profile_about *about, unsigned number);
void profile_about_free(struct profile_about *about);
void profile_end_free(struct profile_end *end);
void profile_interval_free(struct profile_interval *interval);
/* Puts counts in the order of their addresses, each address once. Returns how many are left. */
size_t profile_counts_join(struct profile_count *counts, size_t n);
/* With and without an address. */
uint64_t profile_interval_samples(const struct profile_interval *interval);
/* Of one that ends `elapsed` s after the first sample, at least: the file grows with the logarithm of time,
 * and by a line a minute in the end. */
double profile_interval_length(double elapsed);

/* The interval under way. What it holds does not grow with time, but with the code that is executed in it. */
struct profile_tally {
    struct profile_interval now; /* without `to` and the counts */
    struct profile_slot {
        struct profile_count count;
        bool taken;
    } * slots; /* a hash table */
    size_t room, used;
};

/* False: out of memory, and nothing is counted. */
bool profile_tally_add(struct profile_tally *tally, uint64_t address, uint64_t samples);
/* 0: there are none. */
uint64_t profile_tally_count(const struct profile_tally *tally, uint64_t address);
/* These samples had no address, because the core was in this state. */
void profile_tally_move(struct profile_tally *tally, uint64_t address, uint64_t samples,
                        enum profile_state to);
bool profile_tally_is_empty(const struct profile_tally *tally);
/* As text it may have this many bytes: it is to be closed before it gets longer than a line of a file can be.
 */
enum { PROFILE_TALLY_BYTES = 8 << 20 };
bool profile_tally_is_large(const struct profile_tally *tally);
/* Ends the interval, which is the caller's to free, and begins the next one at the same time. False: out of
 * memory, and it goes on. */
bool profile_tally_close(struct profile_tally *tally, double to, struct profile_interval *out);
void profile_tally_free(struct profile_tally *tally);

/* The last seconds of samples: the oldest intervals are dropped when new ones are added. */
struct rolling {
    struct profile profile; /* `about` is the caller's */
    double window;          /* s */
    size_t room;
};

/* Takes the interval over, and drops what ended a window or more before its end. False: out of memory, and
 * the interval is freed. */
bool rolling_add(struct rolling *rolling, struct profile_interval *interval);
void rolling_clear(struct rolling *rolling);
void rolling_free(struct rolling *rolling);
