/* SPDX-License-Identifier: MIT */
/*
 * How much a function has on the stack at each of its instructions, and so where it would take what is its
 * caller's.
 */
#include "base/values.h"
#include "symbols/internal.h"

#include <limits.h>
#include <stdlib.h>

enum { DEPTHS_MOST_CODE = 1 << 16, DEPTHS_HALF = 2, DEPTH_UNKNOWN = INT_MIN };

struct depths {
    struct extent function;
    int *at; /* of each halfword, bytes since the entry; or DEPTH_UNKNOWN */
    bool found_more;
};

static void depths_note(struct depths *depths, uint64_t address, int depth)
{
    bool inside = address >= depths->function.low && address < depths->function.high;
    int *at = inside ? &depths->at[(address - depths->function.low) / DEPTHS_HALF] : NULL;
    if (at == NULL || *at != DEPTH_UNKNOWN || depth == DEPTH_UNKNOWN)
        return;
    *at = depth;
    depths->found_more = true;
}

/* After this instruction, with `depth` before it. */
static int depth_after(const struct instruction *does, int depth)
{
    bool adds = does->gives == GIVES_SUM && does->from == ARM_SP && does->with == NO_REGISTER;
    bool sets = does->to == ARM_SP || (does->writes >> ARM_SP & 1) != 0;
    if (does->access != ACCESS_NONE && does->base == ARM_SP && (does->list >> ARM_SP & 1) == 0)
        return depth - does->moves;
    if (sets && adds && does->to == ARM_SP)
        return depth - (int)does->number;
    return sets ? DEPTH_UNKNOWN : depth;
}

/* *at: the instruction by which the function leaves with less on the stack than it found. */
static bool depths_pass(struct depths *depths, struct symbols *symbols, uint64_t *at)
{
    struct code_walk walk = {.symbols = symbols, .low = depths->function.low, .high = depths->function.high};
    struct code_instruction one;
    unsigned in_block = 0;
    depths->found_more = false;
    while (code_next(&walk, &one)) {
        int before = depths->at[(one.address - depths->function.low) / DEPTHS_HALF];
        struct instruction does = code_decode(&one);
        bool may_go_on = in_block > 0 || !instruction_leaves(&does);
        in_block = in_block > 0 ? in_block - 1 : does.kind == GOES_IT ? does.number : 0;
        if (before == DEPTH_UNKNOWN || one.is_data || one.isa != ISA_THUMB)
            continue;
        int after = depth_after(&does, before);
        bool leaves = does.kind == GOES_BACK || does.kind == GOES_AWAY;
        *at = one.address;
        if (leaves && after != DEPTH_UNKNOWN && after < 0)
            return true;
        if (does.kind == GOES_JUMP)
            depths_note(depths, does.target, after);
        if (may_go_on)
            depths_note(depths, one.address + one.size, leaves ? before : after);
    }
    return false;
}

static bool takes_from_caller(struct symbols *symbols, uint64_t entry, uint64_t *at)
{
    struct depths depths = {.found_more = true};
    bool takes = false;
    if (table_around(symbols, entry, &depths.function) == NULL || depths.function.low != entry ||
        depths.function.high - entry > DEPTHS_MOST_CODE)
        return false;
    size_t n = (size_t)(depths.function.high - entry) / DEPTHS_HALF + 1;
    depths.at = calloc(n, sizeof *depths.at);
    for (size_t i = 0; depths.at != NULL && i < n; i++)
        depths.at[i] = i > 0 ? DEPTH_UNKNOWN : 0;
    while (depths.at != NULL && depths.found_more && !takes)
        takes = depths_pass(&depths, symbols, at);
    free(depths.at);
    return takes;
}

size_t symbols_takers(struct symbols *symbols, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    uint64_t *called = NULL, *more;
    size_t n_called = 0, room_called = 0, n = 0;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (does.kind != GOES_CALL || (n_called > 0 && called[n_called - 1] == does.target))
            continue;
        more = array_grow(called, n_called + 1, &room_called, sizeof *called);
        if (more == NULL)
            break;
        called = more;
        called[n_called++] = does.target;
    }
    if (n_called > 0)
        qsort(called, n_called, sizeof *called, code_compare_targets);
    for (size_t i = 0; i < n_called && n < room; i++)
        if ((i == 0 || called[i] != called[i - 1]) && takes_from_caller(symbols, called[i], &out[n]))
            n++;
    free(called);
    return n;
}
