/* SPDX-License-Identifier: MIT */
/*
 * How much a function has on the stack at each of its instructions, and so where it would take what is its
 * caller's, or change what an exception has stacked.
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

/* Of the function at that entry. *takes: depths_pass found such an instruction. False: `at` is NULL. */
static bool depths_find(struct depths *depths, struct symbols *symbols, uint64_t entry, bool *takes,
                        uint64_t *at)
{
    *depths = (struct depths){.found_more = true};
    *takes = false;
    if (table_around(symbols, entry, &depths->function) == NULL || depths->function.low != entry ||
        depths->function.high - entry > DEPTHS_MOST_CODE)
        return false;
    size_t n = (size_t)(depths->function.high - entry) / DEPTHS_HALF + 1;
    depths->at = calloc(n, sizeof *depths->at);
    for (size_t i = 0; depths->at != NULL && i < n; i++)
        depths->at[i] = i > 0 ? DEPTH_UNKNOWN : 0;
    while (depths->at != NULL && depths->found_more && !*takes)
        *takes = depths_pass(depths, symbols, at);
    return depths->at != NULL;
}

static bool takes_from_caller(struct symbols *symbols, uint64_t entry, uint64_t *at)
{
    struct depths depths;
    bool takes;
    (void)depths_find(&depths, symbols, entry, &takes, at);
    free(depths.at);
    return takes;
}

/* *out: what calls name, sorted; owned. False: out of memory. */
static bool called_collect(struct symbols *symbols, uint64_t **out, size_t *n)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    uint64_t *called = NULL, *more;
    size_t room = 0;
    bool ok = true;
    *n = 0;
    while (ok && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (does.kind != GOES_CALL || (*n > 0 && called[*n - 1] == does.target))
            continue;
        more = array_grow(called, *n + 1, &room, sizeof *called);
        ok = more != NULL;
        called = ok ? more : called;
        if (ok)
            called[(*n)++] = does.target;
    }
    if (*n > 0)
        qsort(called, *n, sizeof *called, code_compare_targets);
    *out = called;
    return ok;
}

/* --- handlers that return elsewhere ----------------------------------------------------------------------
 */

enum { DEPTHS_REGISTERS = 16, DEPTHS_ARGUMENTS = 4 };

/* Which registers point to the stack, as bytes above SP at the entry: there is what a Cortex-M has stacked.
 */
struct stacked_pointers {
    int at[DEPTHS_REGISTERS]; /* or DEPTH_UNKNOWN */
};

static bool is_stacked(const struct stacked_pointers *pointers, unsigned which)
{
    return which < DEPTHS_REGISTERS && pointers->at[which] >= 0;
}

/* Whether it stores there, or gives a pointer to there away. */
static bool pointers_escape(const struct stacked_pointers *pointers, const struct instruction *does,
                            const struct extent *function)
{
    bool outside = does->target < function->low || does->target >= function->high, escapes = false;
    bool goes = instruction_calls(does) || does->kind == GOES_AWAY || (does->kind == GOES_JUMP && outside);
    unsigned base = does->base;
    if (does->access == ACCESS_STORE && base < DEPTHS_REGISTERS && pointers->at[base] != DEPTH_UNKNOWN)
        escapes = pointers->at[base] + does->offset + (int)does->bytes > 0;
    for (unsigned i = 0; does->access == ACCESS_STORE && i < ARM_SP; i++)
        escapes = escapes || ((does->list >> i & 1) != 0 && is_stacked(pointers, i));
    for (unsigned i = 0; goes && i < DEPTHS_ARGUMENTS; i++)
        escapes = escapes || is_stacked(pointers, i);
    return escapes;
}

static void pointers_follow(struct stacked_pointers *pointers, const struct code_instruction *one,
                            const struct instruction *does)
{
    enum { MRS = 0xF3EF8000, MSP = 8, PSP = 9, CALL_LOSES = 0x500F }; /* DDI 0403 B5.2.2; R0 to R3, R12, LR */
    uint32_t lost = does->writes | (instruction_calls(does) ? CALL_LOSES : 0);
    bool known = does->gives == GIVES_SUM && does->with == NO_REGISTER && does->from < DEPTHS_REGISTERS &&
                 pointers->at[does->from] != DEPTH_UNKNOWN && does->to < ARM_SP;
    int value = known ? pointers->at[does->from] + (int)does->number : 0;
    unsigned special = one->code & 0x7F;
    for (unsigned i = 0; i < DEPTHS_REGISTERS; i++)
        if ((lost >> i & 1) != 0 || instruction_leaves(does))
            pointers->at[i] = DEPTH_UNKNOWN;
    if (known)
        pointers->at[does->to] = value;
    if ((one->code & 0xFFFFF000) == MRS && (special == MSP || special == PSP))
        pointers->at[one->code >> 8 & 0xF] = 0;
}

static bool handler_redirects(struct symbols *symbols, const struct extent *function)
{
    struct depths depths;
    struct stacked_pointers pointers;
    struct code_instruction one;
    uint64_t at = 0;
    bool takes, found = false;
    if (!depths_find(&depths, symbols, function->low, &takes, &at))
        return true;
    for (unsigned i = 0; i < DEPTHS_REGISTERS; i++)
        pointers.at[i] = DEPTH_UNKNOWN;
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    while (!found && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        int depth = depths.at[(one.address - function->low) / DEPTHS_HALF];
        if (one.is_data || one.isa != ISA_THUMB)
            continue;
        pointers.at[ARM_SP] = depth == DEPTH_UNKNOWN ? DEPTH_UNKNOWN : -depth;
        found = pointers_escape(&pointers, &does, function);
        pointers_follow(&pointers, &one, &does);
    }
    free(depths.at);
    return found;
}

/* Functions that nothing calls by a number: the vector table names handlers. */
bool handlers_redirect(struct symbols *symbols)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    struct extent function = {0, 0};
    uint64_t *called = NULL;
    size_t n = 0;
    bool ok = called_collect(symbols, &called, &n), found = false;
    while (ok && !found && code_next(&walk, &one)) {
        if (one.isa != ISA_THUMB || one.is_data || one.address < function.high ||
            table_around(symbols, one.address, &function) == NULL || function.low != one.address ||
            function.high - function.low > DEPTHS_MOST_CODE)
            continue;
        bool is_called =
            n > 0 && bsearch(&function.low, called, n, sizeof *called, code_compare_targets) != NULL;
        found = !is_called && handler_redirects(symbols, &function);
    }
    free(called);
    return found || !ok;
}

size_t symbols_takers(struct symbols *symbols, uint64_t *out, size_t room)
{
    uint64_t *called;
    size_t n_called, n = 0;
    (void)called_collect(symbols, &called, &n_called);
    for (size_t i = 0; i < n_called && n < room; i++)
        if ((i == 0 || called[i] != called[i - 1]) && takes_from_caller(symbols, called[i], &out[n]))
            n++;
    free(called);
    return n;
}
