/* SPDX-License-Identifier: MIT */
/*
 * What each line of a function costs, from the hops of a walk. A call counts only when it has returned. Hops
 * in which an interrupt ran that pended while the core was halted count as hits, but not as cycles, unless a
 * block has no others. Pure.
 */
#pragma once

#include "engine/engine.h"
#include "measure/evaluation.h"
#include "symbols/listing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_cost {
    size_t file; /* of the listing */
    unsigned line;
    uint64_t hits;                 /* how often the program reached it from another line, or back to it */
    double mean;                   /* cycles per call */
    struct statistics *calls;      /* cycles of each call in which no hop of it was disturbed */
    unsigned pieces, instructions; /* blocks, and instructions in all of them */
    bool has_calls, has_jumps;     /* it calls functions; it is left by more than one way */
    bool is_inlined;               /* code of another function, of which this one has a copy */
    bool is_mixed;                 /* blocks of other lines lie between its own */
    bool is_disturbed;             /* a block of it was never measured without an interrupt */
    uint64_t now, cycles_now;      /* of the call under way */
    bool disturbed_now;
};

struct line_costs {
    const struct code_blocks *blocks;
    const struct halt_cost *halts;
    struct block_cost {
        size_t line; /* of `lines` */
        struct hop_cost {
            uint64_t hits, clean; /* hops; without a disturbed one */
            double cycles, clean_cycles;
        } all, now; /* now: of the call under way */
    } * of_block;
    struct line_cost *lines; /* by file, then by line */
    size_t n;
    uint64_t calls, hops, hops_now, tainted, tainted_now, bounded, bounded_now;
    struct unseen_delays delays;       /* of hops, also of calls that were left */
    uint64_t left;                     /* calls that were left without returning, which count nowhere else */
    double plus_minus, plus_minus_now; /* how far the cost of all halts may be off */
    /* Of line_costs_end, per call */
    double sum, correction;
    struct statistics *totals; /* of calls without a disturbed hop */
    uint64_t total_now;
    bool disturbed_now;
};

/* `blocks` and `halts` outlive it. False: out of memory. */
bool line_costs_begin(struct line_costs *costs, const struct code_blocks *blocks,
                      const struct halt_cost *halts);
void line_costs_hop(struct line_costs *costs, const struct walk_hop *hop);
/* The call under way was left. */
void line_costs_left(struct line_costs *costs);
void line_costs_end(struct line_costs *costs);
void line_costs_free(struct line_costs *costs);
