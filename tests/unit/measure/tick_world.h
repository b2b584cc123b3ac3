/*
 * A SysTick, the handler that counts its ticks and what else runs on a Cortex-M, cycle by cycle, for unit
 * tests: what a debugger that halts it would read at any cycle, and the truth. Numbers as in DDI 0403.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TICK_CYCLES = 1500 };

struct tick_world {
    /* What it is like. */
    uint32_t period;       /* cycles from tick to tick: the reload value and one */
    uint32_t late, length; /* of the handler: when it counts the tick, and when it is done */
    uint32_t each;         /* what it adds */
    unsigned bits;         /* of the variable */
    uint64_t first;        /* what it holds at the beginning */
    bool tells_base;       /* ICSR.RETTOBASE is there: Armv7-M */
    /* Every N cycles, for M: an interrupt above the tick, interrupts off, the scheduler off. */
    uint32_t above_every, above_for, masked_every, masked_for, suspended_every, suspended_for;

    uint64_t cvr, variable, pended;
    bool waiting, active;
    uint32_t into; /* cycles of the handler that were executed */
};

/* Values as a reading has them. */
struct tick_moment {
    uint64_t cvr, variable, status, pended;
};

static inline bool tick_is_in(uint64_t cycle, uint32_t every, uint32_t length)
{
    return every != 0 && cycle % every >= every - length;
}

static inline void tick_count(struct tick_world *w, bool suspended)
{
    if (suspended)
        w->pended++;
    else
        w->variable = (w->variable + w->each) & (w->bits == 64 ? UINT64_MAX : (1ULL << w->bits) - 1);
}

static inline struct tick_moment tick_pass(struct tick_world *w, uint64_t cycle)
{
    bool above = tick_is_in(cycle, w->above_every, w->above_for);
    bool masked = tick_is_in(cycle, w->masked_every, w->masked_for) && !w->active;
    bool suspended = tick_is_in(cycle, w->suspended_every, w->suspended_for);
    w->cvr = w->cvr == 0 ? w->period - 1 : w->cvr - 1;
    w->waiting = w->waiting || w->cvr == 0;
    if (!suspended)
        for (; w->pended > 0; w->pended--)
            tick_count(w, false);
    if (!above && w->active) {
        if (w->into++ == w->late)
            tick_count(w, suspended);
        w->active = w->into < w->length;
    } else if (!above && !masked && w->waiting) {
        w->waiting = false;
        w->active = true;
        w->into = 0;
    }
    uint64_t vector = above ? 20 : w->active ? 15 : 0;
    bool base = w->tells_base && !(above && w->active);
    return (struct tick_moment){.cvr = w->cvr,
                                .variable = w->variable,
                                .status = vector | (base ? 1U << 11 : 0) | (w->waiting ? 1U << 26 : 0),
                                .pended = w->pended};
}
