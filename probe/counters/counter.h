/* SPDX-License-Identifier: MIT */
/*
 * PMU: what the performance monitors of Armv7 (PMUv1, PMUv2), Armv8 (PMUv3) and Armv8.1-M have in common.
 * Most of their registers lie at the same offsets; a kind says which differ, and what its identity registers
 * mean. Names are those of PMUv3. DDI 0406C appendix D2, DDI 0487 chapter I5, DDI 0553 D1.2.
 */
#pragma once

#include "base/error.h"
#include "base/step.h"
#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counter_block;
struct counter_pick;

struct pmu_places {
    struct address (*at)(const struct core *, uint64_t offset);
    uint8_t stride;         /* from one event counter to the next */
    uint8_t bits;           /* of an event counter */
    uint8_t events_a_cycle; /* most counts of an event in a cycle: no core here retires or issues more */
    uint16_t cycles;        /* the cycle counter */
    bool long_cycles;       /* it has 64 bits, in two words */
    bool locks;             /* there is a software lock */
    uint32_t hindrances;    /* bits of PMCR that stop or slow counters */
};

/* PMCR, where a kind has them. */
enum {
    PMU_ENABLE = 1 << 0,
    PMU_RESET_EVENTS = 1 << 1,
    PMU_RESET_CYCLES = 1 << 2,
    PMU_DIVIDE = 1 << 3,            /* the cycle counter goes every 64th cycle */
    PMU_STOP_PROHIBITED = 1 << 5,   /* it stops while events may not be counted */
    PMU_LONG_CYCLES = 1 << 6,       /* PMUv3: and is never divided */
    PMU_LONG_EVENTS = 1 << 7,       /* PMUv3p5: events overflow from 64 bits, DDI 0487 PMCR_EL0.LP */
    PMU_FREEZE_ON_OVERFLOW = 1 << 9 /* one overflow stops all counters */
};

/*
 * A PMU as it was found. Its kind fills this in, except for what pmu_describe derives. In masks of counters,
 * bit n is event counter n and bit 31 the cycle counter, as in the registers.
 */
struct pmu {
    const struct pmu_places *places;
    unsigned n;                   /* event counters */
    uint32_t control;             /* PMCR */
    uint32_t enabled, interrupts; /* PMCNTENSET, PMINTENSET */
    uint32_t cycle_filter;        /* PMCCFILTR */
    uint32_t codes;               /* the bits of an event type that hold the event code */
    uint32_t exclude, include;    /* bits of it that exclude states, and the bit that includes one */
    uint64_t common, extended;    /* as bits: the events from 0 and from 0x4000 that it has */
    bool divide;                  /* the cycle counter is to go every 64th cycle */
    uint32_t free, idle;          /* derived: not enabled by the program; not counting */
};

/* The program counts, and so keeps PMU_LONG_EVENTS: the low word of an event counter wraps, and nothing shows
 * it. */
bool pmu_keeps_long_events(const struct pmu *pmu);

/* The reads that identify every kind; a kind adds its own. */
enum { PMU_CONTROL, PMU_ENABLED, PMU_INTERRUPTS, PMU_COMMON_READS };
void pmu_add_common(const struct pmu_places *places, const struct core *core, struct steps *list);
void pmu_take_common(struct pmu *pmu, const uint64_t *values);
/* The events that PMCEID0 and PMCEID1 name; if both are 0 they do not exist, and any event may be there. */
uint64_t pmu_event_bits(uint64_t low, uint64_t high);

/* Adds the counters, their state and the settings after those that `out` already has. */
void pmu_describe(const struct core *core, const struct pmu *found, struct counter_block *out);

/* A register that does not belong to an event counter, as the core itself reaches it, by its offset in a
 * mapped PMU. */
struct address pmu_by_core(const struct core *core, uint64_t offset);

bool pmu_divide(const struct core *core, struct counter_block *block);
/* CHAIN is offered only on the counter above that of a pass's first event. */
size_t pmu_program(const struct core *core, const struct counter_block *block,
                   const struct counter_pick *picks, size_t n, struct setting *out, size_t room);
uint32_t pmu_counters_for(const struct counter_block *block, uint32_t code);

/*
 * Counters: what counts on a core. A counter block is data: which registers hold its counters, how wide they
 * are, in which direction they go, and what must be set so that they count. Blocks are identified from values
 * that the caller has read; nothing here uses a link.
 */
enum { EVENT_NAME = 96 };

struct counter {
    char name[EVENT_NAME];    /* the event it counts: "CPU_CYCLES"; "" if not chosen yet */
    struct address low, high; /* high.size 0: one word holds all */
    uint8_t bits;
    uint8_t shift; /* moves once in 2^shift counts; readings are multiplied by that, and `bits` includes it */
    uint8_t per_cycle; /* the most counts in one cycle of the core, see counter_pace; 0: unknown */
    bool down;
    bool zero_is_top; /* a down counter that reads 0 for the tick before its reload */
    uint64_t modulus; /* counts from wrap to wrap; 0: 2^bits */
    bool reloads;     /* `high` is the reload register, which the program changes: it is read with each count,
                         and sets the modulus. A reading has it in its upper word */
};

enum { BLOCK_COUNTERS = 32, BLOCK_SETTINGS = 48, BLOCK_IDENTITY = 12, BLOCK_PASS_SETTINGS = 80 };

struct counter_pick {
    uint8_t counter;
    uint32_t code;
    char name[EVENT_NAME];
};

struct counter_block {
    const struct block_kind *kind;
    char text[96];      /* "SysTick, 24 bits, reload 0xFFFFFE" */
    char state[96];     /* "runs", "idle", "in use by the program" */
    char note[320];     /* what using it changes for the program; "" */
    char unusable[128]; /* why it cannot be used; "" if it can */
    struct counter counters[BLOCK_COUNTERS];
    size_t n;
    struct setting settings[BLOCK_SETTINGS]; /* in this order */
    size_t n_settings;
    bool look_again; /* what it has is known only once the first setting is made: then it is identified again,
                        with this still set */
    bool was_identified; /* of a kind that the core reads: by it, before anything was set */
    const char *events;  /* the set of events that its counters can count; NULL: each has a fixed event */
    bool counts_cycles;  /* counter 0 runs with the core's clock */
    bool may_reload;     /* the program may set another reload value for counter 0 */
    struct pmu pmu;      /* of the kinds that are PMUs */
};

/* A register by which a program can change what a block counts. */
struct counter_register {
    const char *name; /* "DWT_CYCCNT"; of an A or R core's PMU the name in its instructions: "PMCCNTR" */
    const char *also; /* a witness may call it so; or NULL */
    uint64_t word;    /* its address on a Cortex-M; 0: it is reached by instructions */
    uint32_t on;      /* bits without which nothing is counted */
    uint32_t strikes; /* bits that change the count as they are written. Neither: each write changes it */
};

enum count_owner {
    COUNT_OF_THREAD,       /* a core's is their sum */
    COUNT_OF_CORE,         /* each thread counts the same */
    COUNT_OF_SOME_OF_CORE, /* each thread counts a part, and parts may be the same */
};

struct block_kind {
    const char *name;                         /* for --counter: "systick", "dwt" */
    const struct counter_register *registers; /* the most useful ones first */
    size_t n_registers;
    /* Its registers are in SPACE_CORE: they are read when the block is taken, and `identify` gets no values
     * before. */
    bool by_core;
    void (*add_identity)(const struct core *, struct steps *);
    /* False when the core lacks this block. */
    bool (*identify)(const struct core *, const uint64_t *values, struct counter_block *out);
    /* Settings that make the counters count these events, in this order; returns how many. NULL: none are
     * needed. */
    size_t (*program)(const struct core *, const struct counter_block *, const struct counter_pick *,
                      size_t n, struct setting *out, size_t room);
    /* If counter 0 goes on while a program is halted: the event that counts the program's cycles. NULL: it
     * stops. */
    const char *own_cycles;
    /* Whose a count of this code is. NULL: the thread's, or the core has one thread. */
    enum count_owner (*owner)(uint32_t code);
    /* Makes the cycle counter move every 64th cycle; false if the program uses that counter. NULL: it never
     * can. */
    bool (*divide)(const struct core *, struct counter_block *);
    /* If `changed` is its reload register, has it read with each count, so that the program may change it.
     * NULL: it has none. */
    bool (*follow_reload)(struct counter_block *, const char *changed);
    /* The counters that can count an event of `events`, as bits. NULL if `events` is NULL. */
    uint32_t (*counters_for)(const struct counter_block *, uint32_t code);
    /* Adds to a code the modifiers after an event's name, as in "NAME:cmask=2:inv". Modifiers NULL: only
     * checks the code. ERROR_USAGE. NULL if events cannot be modified. */
    bool (*modify)(const char *modifiers, uint32_t *code, struct error *error);
};

/*
 * The kinds: PMUv1 and PMUv2 as Armv7 cores show them on the debug bus (DDI 0406C appendix D2); PMUv1 of
 * Cortex-A8, R4 and R5, which is in CP15 alone, so that only the halted core itself reaches it (DDI 0406C
 * C12); PMUv3 of Armv8-A and -R (DDI 0487 chapter I5); that of Armv8.1-M (DDI 0553 D1.2); on Cortex-M the DWT
 * with its cycle counter and five profiling counters (DDI 0403 C1.8), and SysTick, a 24-bit down counter (DDI
 * 0403 B3.3); two counters of each thread of a Knights Corner, and its time stamp counter (Intel 327357).
 */
extern const struct block_kind pmu_v7_kind, pmu_cp15_kind, pmu_v3_kind, pmu_v81m_kind;
extern const struct block_kind dwt_kind, systick_kind, knc_kind;

/* The most counts of an event in a cycle, of a counter that may go on by `most`. */
uint8_t counter_event_pace(uint8_t most, uint32_t code, const char *name);
/* The most counts of a counter in a cycle. */
unsigned counter_pace(const struct counter *counter);

/* All kinds, best first. */
size_t counter_kinds(const struct block_kind *const **out);

/* Modulo the counter's modulus; 0 if its reload value changed between them. */
uint64_t counter_elapsed(const struct counter *counter, uint64_t from, uint64_t to);
/* Counts since the last wrap. */
uint64_t counter_phase(const struct counter *counter, uint64_t value);
uint64_t counter_modulus(const struct counter *counter); /* UINT64_MAX for a 64-bit counter */
uint64_t counter_modulus_at(const struct counter *counter, uint64_t value);
/* False: the counter cannot show these two, or its reload value changed between them. */
bool counter_leads(const struct counter *counter, uint64_t from, uint64_t to);
/* The largest error of an elapsed count, either way. */
uint64_t counter_coarseness(const struct counter *counter);
/* Adds the reads of one counter to a list; returns the index for counter_value. */
size_t counter_add_read(const struct counter *counter, struct steps *list);
uint64_t counter_value(const struct counter *counter, const uint64_t *results, size_t at);
/* Of three words, high, low, high, that were read while it ran. Of one whose reload value changed meanwhile:
 * a value that leads nowhere. */
uint64_t counter_value_running(const struct counter *counter, const uint64_t *results, size_t at);
/* The high word for `low`, which was read between the two; right if fewer than 2^31 counts passed. */
uint32_t counter_high(uint32_t before, uint32_t low, uint32_t after);

/*
 * Readings: which counters a run reads at each stop and poll, and where their values lie among a list's
 * results. Those of the pass are first; others (a slower clock, a variable of the program) follow.
 */

enum { READING_ROOM = 32 };
enum { READING_STEPS = 3 * READING_ROOM }; /* of one reading of memory-mapped counters, at most */

struct reading {
    const struct core *by_core; /* some are in SPACE_CORE: this halted core reads them; else NULL */
    struct counter counters[READING_ROOM];
    size_t n;                               /* all that is read */
    size_t counted;                         /* the first ones, which are the requested events */
    size_t exceptions;                      /* the counter of exceptions taken, if there is one */
    bool has_exceptions, misses_exceptions; /* misses: it is wanted, and there is none */
    bool may_hide_events;                   /* see core_may_hide_events */
    uint16_t apart[READING_ROOM];           /* of by_core: how far after the first value each of them lies */
};

void reading_begin(struct reading *reading, const struct core *by_core);
/* False when it is full. */
bool reading_append(struct reading *reading, const struct counter *counter);
/* `running`: the core is not halted, so that a counter in two words is read high, low, high. `spare`: what
 * the core's spare register is likely to hold, for counters that it reads itself, or NULL. Returns the index
 * for reading_take. */
size_t reading_add(const struct reading *reading, bool running, const struct core_spare *spare,
                   struct steps *list);
/* How many steps that is at most, with the core halted. */
size_t reading_steps(const struct reading *reading);
/* `out` has room for reading->n. */
void reading_take(const struct reading *reading, bool running, const uint64_t *results, size_t at,
                  uint64_t *out);
/* Whether an exception was taken between two readings; false if no counter shows it. */
bool reading_shows_exception(const struct reading *reading, const uint64_t *from, const uint64_t *to);
