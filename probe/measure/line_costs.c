/* SPDX-License-Identifier: MIT */
#include "measure/line_costs.h"

#include <stdlib.h>

static int line_costs_by_line(const void *a, const void *b)
{
    const struct line_cost *one = a, *other = b;
    if (one->file != other->file)
        return one->file < other->file ? -1 : 1;
    return (one->line > other->line) - (one->line < other->line);
}

static size_t find_line(const struct line_costs *costs, const struct code_block *block)
{
    for (size_t i = 0; i < costs->n; i++)
        if (costs->lines[i].line == block->line && costs->lines[i].file == block->file)
            return i;
    return costs->n;
}

static bool make_lines(struct line_costs *costs)
{
    const struct code_blocks *blocks = costs->blocks;
    for (size_t i = 0; i < blocks->n; i++) {
        size_t at = find_line(costs, &blocks->at[i]);
        if (at == costs->n)
            costs->lines[costs->n++] =
                (struct line_cost){.file = blocks->at[i].file, .line = blocks->at[i].line};
    }
    qsort(costs->lines, costs->n, sizeof *costs->lines, line_costs_by_line);
    for (size_t i = 0; i < costs->n; i++) {
        costs->lines[i].calls = statistics_new();
        if (costs->lines[i].calls == NULL)
            return false;
    }
    for (size_t i = 0; i < blocks->n; i++) {
        const struct code_block *block = &blocks->at[i];
        size_t at = costs->of_block[i].line = find_line(costs, block);
        struct line_cost *line = &costs->lines[at];
        line->is_mixed = line->is_mixed || (line->pieces > 0 && costs->of_block[i - 1].line != at);
        line->pieces++;
        line->instructions += block->instructions;
        line->is_inlined = line->is_inlined || block->is_inlined;
        line->has_calls = line->has_calls || block->calls;
        line->has_jumps = line->has_jumps || block->is_open || block->n_next + block->returns > 1;
    }
    return true;
}

bool line_costs_begin(struct line_costs *costs, const struct code_blocks *blocks,
                      const struct halt_cost *halts)
{
    *costs = (struct line_costs){.blocks = blocks,
                                 .halts = halts,
                                 .of_block = calloc(blocks->n + 1, sizeof *costs->of_block),
                                 .lines = calloc(blocks->n + 1, sizeof *costs->lines),
                                 .totals = statistics_new()};
    return costs->of_block != NULL && costs->lines != NULL && costs->totals != NULL && make_lines(costs);
}

static void line_costs_begin_call(struct line_costs *costs)
{
    for (size_t i = 0; i < costs->n; i++) {
        struct line_cost *line = &costs->lines[i];
        line->now = line->cycles_now = 0;
        line->disturbed_now = false;
    }
    for (size_t i = 0; i < costs->blocks->n; i++)
        costs->of_block[i].now = (struct hop_cost){0};
    costs->total_now = costs->hops_now = costs->tainted_now = costs->bounded_now = 0;
    costs->plus_minus_now = 0;
    costs->disturbed_now = false;
}

static void end_call(struct line_costs *costs)
{
    for (size_t i = 0; i < costs->n; i++) {
        struct line_cost *line = &costs->lines[i];
        line->hits += line->now;
        if (!line->disturbed_now)
            statistics_add(line->calls, line->cycles_now);
    }
    for (size_t i = 0; i < costs->blocks->n; i++) {
        struct hop_cost *all = &costs->of_block[i].all;
        const struct hop_cost *now = &costs->of_block[i].now;
        all->hits += now->hits;
        all->clean += now->clean;
        all->cycles += now->cycles;
        all->clean_cycles += now->clean_cycles;
    }
    if (!costs->disturbed_now)
        statistics_add(costs->totals, costs->total_now);
    costs->calls++;
    costs->hops += costs->hops_now;
    costs->tainted += costs->tainted_now;
    costs->bounded += costs->bounded_now;
    costs->plus_minus += costs->plus_minus_now;
}

static bool comes_to(const struct line_costs *costs, const struct walk_hop *hop)
{
    size_t from = costs->of_block[hop->from].line, to = costs->of_block[hop->to].line;
    return from != to || (!hop->in_block && hop->to <= hop->from);
}

void line_costs_hop(struct line_costs *costs, const struct walk_hop *hop)
{
    struct halt_cost_count count[READING_ROOM];
    struct hop_cost *now = &costs->of_block[hop->from].now;
    struct line_cost *line = &costs->lines[costs->of_block[hop->from].line];
    if (hop->begins) {
        line_costs_begin_call(costs);
        line->now++;
    }
    halt_cost_between(costs->halts, hop->readings[0], hop->readings[1], hop->after_us - hop->before_us,
                      hop->pairs, count);
    bool disturbed = hop->tainted || count[0].at_least;
    double cycles = (double)count[0].count;
    now->hits++;
    now->cycles += cycles;
    if (!disturbed) {
        now->clean++;
        now->clean_cycles += cycles;
    }
    costs->tainted_now += hop->tainted;
    (void)unseen_delays_note(&costs->delays, costs->halts->reading, hop->readings[0], hop->readings[1]);
    costs->bounded_now += count[0].at_least;
    costs->hops_now++;
    costs->total_now += count[0].count;
    costs->plus_minus_now += (double)count[0].plus_minus;
    line->cycles_now += count[0].count;
    line->disturbed_now = line->disturbed_now || disturbed;
    costs->disturbed_now = costs->disturbed_now || disturbed;
    if (hop->to == costs->blocks->n)
        end_call(costs);
    else if (comes_to(costs, hop))
        costs->lines[costs->of_block[hop->to].line].now++;
}

void line_costs_left(struct line_costs *costs)
{
    costs->left++;
    line_costs_begin_call(costs);
}

void line_costs_end(struct line_costs *costs)
{
    double calls = costs->calls > 0 ? (double)costs->calls : 1;
    for (size_t i = 0; i < costs->blocks->n; i++) {
        const struct hop_cost *all = &costs->of_block[i].all;
        struct line_cost *line = &costs->lines[costs->of_block[i].line];
        if (all->hits == 0)
            continue;
        double each =
            all->clean > 0 ? all->clean_cycles / (double)all->clean : all->cycles / (double)all->hits;
        line->is_disturbed = line->is_disturbed || all->clean == 0;
        line->mean += each * (double)all->hits / calls;
    }
    for (size_t i = 0; i < costs->n; i++)
        costs->sum += costs->lines[i].mean;
    costs->correction = costs->plus_minus / calls;
}

void line_costs_free(struct line_costs *costs)
{
    for (size_t i = 0; i < costs->n; i++)
        statistics_free(costs->lines[i].calls);
    statistics_free(costs->totals);
    free(costs->lines);
    free(costs->of_block);
    *costs = (struct line_costs){0};
}
