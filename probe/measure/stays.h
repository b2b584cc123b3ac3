/* SPDX-License-Identifier: MIT */
/*
 * Stays by what they are in: exceptions, or the values of a word. Statistics of those whose times are exact,
 * and how many the others are. Memory is bounded: numbers beyond STAYS_ROWS share a row.
 */
#pragma once

#include "measure/verdict.h"
#include "trace/contexts.h"

enum { STAYS_ROWS = 64, STAY_NAME = 256 };

enum stay_time { STAY_OWN, STAY_WHOLE, STAY_APART, STAY_TIMES };

struct stay_row {
    uint32_t number;
    char name[STAY_NAME];               /* of the caller, as is: */
    bool is_task;                       /* the name is what an RTOS calls it */
    bool is_reused;                     /* ... and called it otherwise at the end */
    uint64_t address;                   /* of its handler; 0: unknown */
    uint64_t calls;                     /* that began; of which left out, by why: */
    uint64_t late, lost, unended, cut;  /* cut: it lasted beyond the trace */
    uint64_t longest_part, proved_part; /* of a call that began before the trace, or lasted beyond it */
    bool is_sure;                       /* one of them is not only made of what a loss left */
    uint64_t cycles;                    /* own, of all */
    /* whole: with what interrupted it; apart: from beginning to beginning, or from the end before */
    struct statistics *of[STAY_TIMES];
    bool has_last;
    uint64_t last;
};

struct stays {
    bool from_ends;                       /* STAY_APART: from an end to the next beginning */
    struct stay_row rows[STAYS_ROWS + 1]; /* in the order of their first ends; the last: all other numbers */
    size_t n;
    uint64_t cycles; /* of all rows */
    uint64_t losses, other_size;
    bool failed; /* out of memory */
};

void stays_take(struct stays *stays, const struct trace_stay *stay);
/* After it no stay lasts from before. `is_other_size`: no trace was lost, but a write was of another size
 * than the word, whose value is not known. */
void stays_lose(struct stays *stays, bool is_other_size);
/* The largest part of the time first. */
void stays_sort(struct stays *stays);
/* Of those that ended within the trace; such are not a random part. */
uint64_t stays_left_out(const struct stay_row *row);
/* Its whole time against a budget. After a loss none is kept: calls may lie wholly in it. `family`: as of
 * budget_decide. False: out of memory. */
bool stays_judge(const struct stays *stays, const struct stay_row *row, const struct conditions *conditions,
                 const struct budget *budget, size_t family, struct verdict_line *out);
void stays_free(struct stays *stays);
