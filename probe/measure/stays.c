/* SPDX-License-Identifier: MIT */
#include "measure/stays.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* NULL: out of memory. */
static struct stay_row *stay_row_of(struct stays *stays, uint32_t number)
{
    for (size_t i = 0; i < stays->n && i < STAYS_ROWS; i++)
        if (stays->rows[i].number == number)
            return &stays->rows[i];
    if (stays->n <= STAYS_ROWS) {
        struct stay_row *row = &stays->rows[stays->n];
        *row = (struct stay_row){.number = number};
        for (int k = 0; k < STAY_TIMES; k++)
            if ((row->of[k] = statistics_new()) == NULL)
                stays->failed = true;
        stays->n++;
    }
    return stays->failed ? NULL : &stays->rows[stays->n - 1];
}

static void row_add_times(struct stay_row *row, const struct trace_stay *stay, bool from_ends)
{
    if (stay->entered && stay->from_exact && row->has_last)
        statistics_add(row->of[STAY_APART], stay->from - row->last);
    row->has_last = from_ends ? stay->to_exact : stay->entered && stay->from_exact;
    row->last = from_ends ? stay->to : stay->from;
    if (!stay->entered || !stay->from_exact || !stay->to_exact)
        return;
    statistics_add(row->of[STAY_WHOLE], stay->to - stay->from);
    if (stay->own_exact)
        statistics_add(row->of[STAY_OWN], stay->own);
}

static void row_add_part(struct stay_row *row, const struct trace_stay *stay)
{
    if ((stay->is_rest || stay->end == STAY_CUT) && stay->to - stay->from > row->longest_part)
        row->longest_part = stay->to - stay->from;
    if (stay->at_least > row->proved_part)
        row->proved_part = stay->at_least;
}

void stays_take(struct stays *stays, const struct trace_stay *stay)
{
    struct stay_row *row = stay_row_of(stays, stay->number);
    if (row == NULL)
        return;
    row->is_sure = row->is_sure || !stay->is_suspect;
    row->cycles += stay->own;
    stays->cycles += stay->own;
    row_add_times(row, stay, stays->from_ends);
    row_add_part(row, stay);
    row->has_last = row->has_last && row != &stays->rows[STAYS_ROWS];
    if (stay->is_rest)
        return;
    row->calls++;
    row->unended += stay->end == STAY_UNENDED;
    row->lost += stay->end == STAY_LOST || (stay->end == STAY_DONE && !stay->entered);
    row->cut += stay->end == STAY_CUT;
    row->late += stay->end == STAY_DONE && stay->entered && !stay->own_exact;
}

void stays_lose(struct stays *stays, bool is_other_size)
{
    ++*(is_other_size ? &stays->other_size : &stays->losses);
    for (size_t i = 0; i < stays->n; i++)
        stays->rows[i].has_last = false;
}

static int by_cycles(const void *one, const void *other)
{
    const struct stay_row *a = one, *b = other;
    if (a->cycles != b->cycles)
        return a->cycles < b->cycles ? 1 : -1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void stays_sort(struct stays *stays)
{
    qsort(stays->rows, stays->n < STAYS_ROWS ? stays->n : STAYS_ROWS, sizeof *stays->rows, by_cycles);
}

uint64_t stays_left_out(const struct stay_row *row)
{
    return row->late + row->lost + row->unended;
}

/* Of a call that is not whole its part is a lower bound. */
static void judge_parts(const struct stay_row *row, bool is_max, struct verdict_line *line)
{
    static const char why[] = "a call that the trace does not show whole lasted at least %" PRIu64 " cycles";
    double limit = line->base.mean + line->base.plus_minus, part = (double)row->longest_part;
    double n = (double)line->now.n;
    if (line->base.n == 0) /* there is no limit in cycles */
        return;
    if (is_max && (double)row->proved_part > limit && line->verdict != VERDICT_REGRESSED) {
        line->now.max = row->proved_part;
        line->change = ((double)row->proved_part - line->base.mean) / line->base.mean;
        verdict_conclude(line, VERDICT_REGRESSED, why, row->proved_part);
    } else if (line->verdict == VERDICT_PASS &&
               (is_max ? part : (n * line->now.mean + part) / (n + 1)) > limit) {
        verdict_conclude(line, VERDICT_INCONCLUSIVE, why, row->longest_part);
    }
}

bool stays_judge(const struct stays *stays, const struct stay_row *row, const struct conditions *conditions,
                 const struct budget *budget, size_t family, struct verdict_line *out)
{
    struct summary *summary = calloc(1, sizeof *summary);
    uint64_t whole = statistics_count(row->of[STAY_WHOLE]);
    if (summary == NULL)
        return false;
    *summary = (struct summary){.conditions = *conditions, .n = 1, .passes = 1, .hits = row->calls};
    snprintf(summary->columns[0].name, sizeof summary->columns[0].name, "CPU_CYCLES");
    summary->columns[0].statistics = row->of[STAY_WHOLE];
    summary->columns[0].calibrated = true;
    summary->columns[0].at_least = row->calls - row->cut - (whole < row->calls ? whole : row->calls);
    *out = budget_decide(budget, summary, family);
    free(summary);
    judge_parts(row, budget->of == BUDGET_MAX, out);
    if (out->verdict == VERDICT_PASS && stays->losses > 0)
        verdict_conclude(out, VERDICT_INCONCLUSIVE,
                         "trace was lost %" PRIu64 " time%s: calls may lie wholly in a loss", stays->losses,
                         stays->losses == 1 ? "" : "s");
    return true;
}

void stays_free(struct stays *stays)
{
    for (size_t i = 0; i < stays->n; i++)
        for (int k = 0; k < STAY_TIMES; k++)
            statistics_free(stays->rows[i].of[k]);
    stays->n = 0;
}
