/*
 * A link to one counter that runs all the time, for unit tests: each access takes a while on the link's own
 * clock, and the counter goes on by as much.
 */
#pragma once

#include "device/device.h"
#include "links/link.h"

#include <string.h>

struct ticking {
    struct link link;
    struct counter_block block;
    struct device device;
    double hz;
    uint64_t modulus;          /* of the counter's values */
    bool down;                 /* 0 is shown for the last tick before the reload, as by SysTick */
    uint64_t now_us, count;    /* since the beginning; count without any wrap */
    uint64_t halted_us;        /* of this, in which it did not go on */
    uint64_t access_us;        /* that one access takes */
    uint64_t early_us;         /* and by how much the link's times may be off */
    long accesses, trouble_at; /* the access at which `trouble` occurs, once */
    enum why trouble;
};

static inline void ticking_pass(struct ticking *ticking, uint64_t us)
{
    ticking->now_us += us;
    ticking->count = (uint64_t)((double)(ticking->now_us - ticking->halted_us) * ticking->hz / 1e6);
}

static inline uint64_t ticking_value(const struct ticking *ticking)
{
    uint64_t phase = ticking->count % ticking->modulus;
    return !ticking->down ? phase : phase == 0 ? 0 : ticking->modulus - phase;
}

static inline struct outcome ticking_execute(struct link *link, const struct step *steps, size_t n,
                                             uint64_t *results, const struct deadline *deadline,
                                             struct error *error)
{
    struct ticking *ticking = (struct ticking *)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        if (steps[i].op == OP_TIME) {
            results[i] = steps[i].value == TIME_BEFORE ? ticking->now_us - ticking->early_us
                                                       : ticking->now_us + ticking->early_us;
            continue;
        }
        ticking_pass(ticking, ticking->access_us / 2);
        if (ticking->accesses++ == ticking->trouble_at) {
            if (ticking->trouble == LINK_LOST)
                error_set(error, ERROR_LINK_LOST, "gone");
            else if (ticking->trouble != NOT_YET)
                error_set(error, ERROR_FAULT, "refused");
            return (struct outcome){.why = ticking->trouble, .done = i};
        }
        results[i] = ticking_value(ticking);
        ticking_pass(ticking, ticking->access_us - ticking->access_us / 2);
    }
    return (struct outcome){.why = DONE, .done = n};
}

/* A counter of `bits`; a modulus of 0 stands for all of them. */
static inline void ticking_init(struct ticking *ticking, double hz, uint8_t bits, uint64_t modulus, bool down)
{
    static const struct link_ops ops = {.execute = ticking_execute};
    memset(ticking, 0, sizeof *ticking);
    ticking->link.ops = &ops;
    ticking->hz = hz;
    ticking->modulus = modulus != 0 ? modulus : 1ULL << bits;
    ticking->down = down;
    ticking->now_us = 1000000;
    ticking->access_us = 200;
    ticking->early_us = 50;
    ticking->trouble_at = -1;
    ticking_pass(ticking, 0);
    ticking->block = (struct counter_block){.n = 1};
    ticking->block.counters[0] = (struct counter){.low = {.size = 4, .offset = 0x10},
                                                  .bits = bits,
                                                  .per_cycle = 1,
                                                  .down = down,
                                                  .zero_is_top = down,
                                                  .modulus = modulus};
    ticking->device.link = &ticking->link;
    ticking->device.ledger = ledger_new(&ticking->link);
    ticking->device.block = &ticking->block;
    ticking->device.reading =
        (struct reading){.counters = {ticking->block.counters[0]}, .n = 1, .counted = 1};
}
