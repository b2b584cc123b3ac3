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
    uint64_t takes_at; /* there it leaves with less on the stack than it found; 0: nowhere */
    bool returns;      /* somewhere to the address that LR had at the entry, whatever SP is then */
    bool is_moved;     /* so, not with that */
    bool is_unsure;    /* at an end, or since two ways differ */
    /* Registers that it changes: by MOV from LR, by loads from the stack, by calls, by others. */
    uint32_t copied, stacked, called, made;
    struct depths_ways *outside; /* where it goes on elsewhere; NULL: that is not asked */
};

/* Places that jumps of several functions lead to, each once. */
struct depths_ways {
    struct depths_way {
        uint64_t at;
        int depth;
    } items[16];
    size_t n;
    bool is_full;
};

static void ways_note(struct depths_ways *ways, uint64_t address, int depth)
{
    for (size_t i = 0; i < ways->n; i++)
        if (ways->items[i].at == address)
            return;
    ways->is_full = ways->is_full || ways->n == sizeof ways->items / sizeof *ways->items;
    if (!ways->is_full)
        ways->items[ways->n++] = (struct depths_way){address, depth};
}

static void depths_note(struct depths *depths, uint64_t address, int depth)
{
    bool inside = address >= depths->function.low && address < depths->function.high;
    int *at = inside ? &depths->at[(address - depths->function.low) / DEPTHS_HALF] : NULL;
    if (!inside && depths->outside != NULL)
        ways_note(depths->outside, address, depth);
    depths->is_unsure =
        depths->is_unsure || (inside && depth != *at && *at != DEPTH_UNKNOWN && depth != DEPTH_UNKNOWN);
    if (at == NULL || *at != DEPTH_UNKNOWN || depth == DEPTH_UNKNOWN)
        return;
    *at = depth;
    depths->found_more = true;
}

static unsigned depths_sp(const struct code_instruction *one)
{
    return one->isa == ISA_A64 ? A64_SP : ARM_SP;
}

static unsigned depths_lr(const struct code_instruction *one)
{
    return one->isa == ISA_A64 ? A64_LR : ARM_LR;
}

/* What an access by SP adds to it, as the reader of instructions has it of AArch32 alone. DDI 0487 C4.1:
 * pairs, and single ones with a pre- or post-index. */
static int a64_moves(uint32_t code)
{
    bool pairs = (code & 0x3A800000) == 0x28800000, single = (code & 0x3B200400) == 0x38000400;
    bool of_tags = (code & 0xFE400000) == 0x68000000; /* STGP, in granules of 16 bytes */
    unsigned scale = (code >> 26 & 1) != 0 ? 2 + (code >> 30) : of_tags ? 4 : 2 + (code >> 31);
    int number =
        pairs ? (int)((code >> 15 & 0x7F) ^ 0x40) - 0x40 : (int)((code >> 12 & 0x1FF) ^ 0x100) - 0x100;
    return pairs ? number * (1 << scale) : single ? number : DEPTH_UNKNOWN;
}

int depth_less(int depth, int32_t by)
{
    enum { MOST = 1 << 28 };
    int64_t left = (int64_t)depth - by;
    return left > -MOST && left < MOST ? (int)left : DEPTH_UNKNOWN;
}

int depth_after(const struct code_instruction *one, const struct instruction *does, int depth)
{
    unsigned sp = depths_sp(one);
    bool adds = does->gives == GIVES_SUM && does->from == sp && does->with == NO_REGISTER;
    bool sets = does->to == sp || (does->writes >> sp & 1) != 0;
    bool accesses = does->access != ACCESS_NONE && does->base == sp && (does->list >> sp & 1) == 0;
    int moves = one->isa == ISA_A64 ? (accesses && sets ? a64_moves(one->code) : 0) : does->moves;
    if (accesses)
        return moves == DEPTH_UNKNOWN ? DEPTH_UNKNOWN : depth_less(depth, moves);
    if (sets && adds && does->to == sp)
        return depth_less(depth, (int32_t)does->number);
    return sets ? DEPTH_UNKNOWN : depth;
}

/* Whether it leaves to the address that LR had at the entry: by LR, or by a copy of it. */
static bool leaves_by_lr(const struct depths *depths, unsigned by, unsigned lr)
{
    uint32_t others = depths->stacked | depths->called | depths->made;
    return by < NO_REGISTER && (others >> by & 1) == 0 && (by == lr || (depths->copied >> by & 1) != 0);
}

/* ... or to what the function has saved on the stack, as far as that is seen. */
static bool leaves_by_stack(const struct depths *depths, const struct instruction *does, unsigned by,
                            unsigned lr, unsigned sp)
{
    if (by >= NO_REGISTER)
        return does->access == ACCESS_LOAD && does->base == sp;
    return (depths->stacked >> by & 1) != 0 && (by != lr || (depths->made >> lr & 1) == 0);
}

static void depths_leave(struct depths *depths, const struct code_instruction *one,
                         const struct instruction *does, int after)
{
    unsigned lr = depths_lr(one), sp = depths_sp(one);
    unsigned by = one->isa == ISA_A64 && does->by == A64_SP ? lr : does->by; /* RETAA: DDI 0487 C6.2.255 */
    bool by_lr = leaves_by_lr(depths, by, lr), by_stack = leaves_by_stack(depths, does, by, lr, sp);
    bool by_table = does->kind == GOES_AWAY && after > 0;
    if (after != DEPTH_UNKNOWN && after < 0 && !by_lr && depths->takes_at == 0)
        depths->takes_at = one->address;
    depths->returns = depths->returns || by_lr || (by_stack && after == 0);
    depths->is_moved = depths->is_moved || (by_lr && after != 0);
    depths->is_unsure = depths->is_unsure || after == DEPTH_UNKNOWN ||
                        (!by_lr && !by_table && after >= 0 && !(by_stack && after == 0));
}

/* Another function would return to what this one has taken for LR. */
static void depths_jump(struct depths *depths, const struct code_instruction *one, uint64_t target, int after)
{
    bool outside = target < depths->function.low || target >= depths->function.high;
    bool has_lr = ((depths->stacked | depths->made | depths->called) >> depths_lr(one) & 1) == 0;
    if (outside && after != DEPTH_UNKNOWN && after < 0 && !has_lr && depths->takes_at == 0)
        depths->takes_at = one->address;
    depths_note(depths, target, after);
}

static void depths_pass(struct depths *depths, struct symbols *symbols)
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
        if (before == DEPTH_UNKNOWN || one.is_data)
            continue;
        int after = depth_after(&one, &does, before);
        bool leaves = does.kind == GOES_BACK || does.kind == GOES_AWAY, is_last;
        if (does.kind == GOES_JUMP ||
            (depths->outside != NULL && code_reads_target(symbols, &one, &does, &does.target)))
            depths_jump(depths, &one, does.target, after);
        else if (leaves)
            depths_leave(depths, &one, &does, after);
        is_last = one.address + one.size >= depths->function.high;
        if (may_go_on && !(is_last && instruction_calls(&does))) /* that need not return */
            depths_note(depths, one.address + one.size, leaves ? before : after);
    }
}

static void depths_find_made(struct depths *depths, struct symbols *symbols)
{
    struct code_walk walk = {.symbols = symbols, .low = depths->function.low, .high = depths->function.high};
    struct code_instruction one;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool copies = does.gives == GIVES_SUM && does.from == depths_lr(&one) && does.number == 0 &&
                      does.with == NO_REGISTER && does.access == ACCESS_NONE;
        bool of_stack = does.access == ACCESS_LOAD && does.base == depths_sp(&one);
        uint32_t *which = copies ? &depths->copied : of_stack ? &depths->stacked : &depths->made;
        if (one.is_data)
            continue;
        if (instruction_calls(&does))
            depths->called |= UINT32_C(1) << depths_lr(&one);
        else
            *which |= does.writes;
    }
}

/* Of the function around that place, entered there with that depth. False: `at` is NULL. */
static bool depths_find(struct depths *depths, struct symbols *symbols, const struct depths_way *from,
                        struct depths_ways *outside)
{
    *depths = (struct depths){.found_more = true, .outside = outside};
    if (table_around(symbols, from->at, &depths->function) == NULL ||
        depths->function.high - depths->function.low > DEPTHS_MOST_CODE)
        return false;
    size_t n = (size_t)(depths->function.high - depths->function.low) / DEPTHS_HALF + 1;
    depths->at = calloc(n, sizeof *depths->at);
    for (size_t i = 0; depths->at != NULL && i < n; i++)
        depths->at[i] = DEPTH_UNKNOWN;
    if (depths->at == NULL)
        return false;
    depths_find_made(depths, symbols);
    depths_note(depths, from->at, from->depth);
    while (depths->found_more)
        depths_pass(depths, symbols);
    return true;
}

/* The same of a function's entry. */
static bool depths_find_of(struct depths *depths, struct symbols *symbols, uint64_t entry)
{
    const struct depths_way from = {entry, 0};
    bool found = depths_find(depths, symbols, &from, NULL);
    if (found && depths->function.low == entry)
        return true;
    free(depths->at);
    depths->at = NULL;
    return false;
}

static bool takes_from_caller(struct symbols *symbols, uint64_t entry, uint64_t *at)
{
    struct depths depths;
    bool takes = depths_find_of(&depths, symbols, entry) && depths.takes_at != 0;
    *at = takes ? depths.takes_at : *at;
    free(depths.at);
    return takes;
}

/* --- where a function returns to ------------------------------------------------------------------------ */

/* Whether a callee keeps something on the stack, or takes it from there, or does not return: then depths
 * after calls are wrong. */
static bool calls_move(struct symbols *symbols, const struct extent *function)
{
    struct leads leads = leads_of(symbols, function);
    struct lead lead;
    bool moves = false;
    while (!moves && leads_next(&leads, &lead)) {
        struct depths callee = {.at = NULL};
        moves =
            lead.kind == LEAD_CALL && (!may_return(symbols, lead.target) ||
                                       (depths_find_of(&callee, symbols, lead.target) && callee.is_moved));
        free(callee.at);
    }
    return moves;
}

enum returns symbols_returns(struct symbols *symbols, uint64_t entry)
{
    struct depths_ways ways = {.items = {{entry, 0}}, .n = 1};
    bool takes = false, returns = false, is_unsure = false;
    for (size_t i = 0; i < ways.n; i++) {
        struct depths depths = {.at = NULL};
        bool known =
            ways.items[i].depth != DEPTH_UNKNOWN && depths_find(&depths, symbols, &ways.items[i], &ways);
        is_unsure = is_unsure || !known || depths.is_unsure;
        takes = takes || (known && depths.takes_at != 0);
        returns = returns || (known && depths.returns);
        free(depths.at);
    }
    for (size_t i = 0; takes && i < ways.n; i++) {
        struct extent function = {0, 0};
        (void)table_around(symbols, ways.items[i].at, &function);
        is_unsure = is_unsure || calls_move(symbols, &function);
    }
    if (is_unsure || ways.is_full)
        return RETURNS_SOMEWHERE;
    return takes ? RETURNS_ELSEWHERE : returns ? RETURNS_TO_LR : RETURNS_SOMEWHERE;
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
    bool found = false;
    if (!depths_find_of(&depths, symbols, function->low))
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
