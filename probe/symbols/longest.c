/* SPDX-License-Identifier: MIT */
/*
 * How long a function of a Cortex-M takes at most. Only code without loops has a bound.
 */
#include "symbols/internal.h"

static uint64_t longest_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t longest_of(struct symbols *symbols, uint64_t function, unsigned depth);

/* What one instruction adds; UINT64_MAX: no bound is known. */
static uint64_t cost_of(struct symbols *symbols, const struct lead *lead, const struct extent *function,
                        unsigned depth)
{
    uint64_t words = 1 + (uint64_t)__builtin_popcount(lead->does.list);
    bool inside = lead->target >= function->low && lead->target < function->high;
    bool by_table = lead->kind == LEAD_ON && lead->does.kind == GOES_AWAY; /* back, maybe */
    bool back = lead->kind == LEAD_JUMP && lead->target <= lead->at && inside;
    if (lead->does.kind == GOES_ASLEEP || lead->kind == LEAD_CALL_BY || lead->kind == LEAD_ANYWHERE ||
        by_table || back)
        return UINT64_MAX;
    if (lead->kind == LEAD_CALL || (lead->kind == LEAD_JUMP && !inside))
        return longest_sum(words, longest_of(symbols, lead->target, depth));
    return words;
}

static uint64_t longest_of(struct symbols *symbols, uint64_t function, unsigned depth)
{
    enum { DEEPEST = 8, LONGEST = 1 << 16 };
    struct extent extent = {0, 0};
    struct lead lead;
    uint64_t sum = 0;
    if (depth == DEEPEST || table_around(symbols, function, &extent) == NULL || extent.low != function)
        return UINT64_MAX;
    struct leads leads = leads_of(symbols, &extent);
    while (sum <= LONGEST && leads_next(&leads, &lead))
        sum = longest_sum(sum, lead.is_data ? 0 : cost_of(symbols, &lead, &extent, depth + 1));
    return sum <= LONGEST ? sum : UINT64_MAX;
}

uint64_t symbols_longest(struct symbols *symbols, uint64_t function)
{
    return symbols->has_code ? longest_of(symbols, function, 0) : UINT64_MAX;
}

bool symbols_may_return(struct symbols *symbols, uint64_t function)
{
    return may_return(symbols, function);
}
