/*
 * PMU: what the performance monitors of Armv7 (PMUv1, PMUv2), Armv8 (PMUv3) and Armv8.1-M have in common.
 * Most of their registers lie at the same offsets; a kind says which differ, and what its identity registers
 * mean. Names are those of PMUv3. DDI 0406C appendix D2, DDI 0487 chapter I5, DDI 0553 D1.2.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counter_block;
struct counter_pick;

/* The registers of one kind. */
struct pmu_places {
    struct address (*at)(const struct core *, uint64_t offset);
    uint8_t stride;      /* from one event counter to the next */
    uint8_t bits;        /* of an event counter */
    uint16_t cycles;     /* the cycle counter */
    bool long_cycles;    /* it has 64 bits, in two words */
    bool locks;          /* there is a software lock */
    uint32_t hindrances; /* bits of PMCR that stop or slow counters */
};

/* PMCR, where a kind has them. */
enum {
    PMU_ENABLE = 1 << 0,
    PMU_RESET_EVENTS = 1 << 1,
    PMU_RESET_CYCLES = 1 << 2,
    PMU_DIVIDE = 1 << 3,            /* the cycle counter goes every 64th cycle */
    PMU_STOP_PROHIBITED = 1 << 5,   /* it stands while events may not be counted */
    PMU_LONG_CYCLES = 1 << 6,       /* PMUv3: and is never divided */
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

/* The reads that identify every kind; a kind adds its own. */
enum { PMU_CONTROL, PMU_ENABLED, PMU_INTERRUPTS, PMU_COMMON_READS };
void pmu_add_common(const struct pmu_places *places, const struct core *core, struct steps *list);
void pmu_take_common(struct pmu *pmu, const uint64_t *values);
/* The events that PMCEID0 and PMCEID1 name; if both are 0 they do not exist, and any event may be there. */
uint64_t pmu_event_bits(uint64_t low, uint64_t high);

/* Fills in the counters, their state and the settings, behind those that `out` already has. */
void pmu_describe(const struct core *core, const struct pmu *found, struct counter_block *out);

/* For struct block_kind. */
bool pmu_divide(const struct core *core, struct counter_block *block);
/* CHAIN is offered only on the counter above that of a pass's first event. */
size_t pmu_program(const struct core *core, const struct counter_block *block,
                   const struct counter_pick *picks, size_t n, struct setting *out, size_t room);
uint32_t pmu_counters_for(const struct counter_block *block, uint32_t code);
