/* SPDX-License-Identifier: MIT */
/*
 * How long a Cortex-M's program may hold interrupts off: between an instruction that masks them and one that
 * takes that back, or by a handler. Only code without loops has a bound, as its number of instructions.
 */
#include "symbols/internal.h"

#include "symbols/listing.h"

#include <stdlib.h>

/* PRIMASK to FAULTMASK, also Non-secure: DDI 0403 B5.1.1, DDI 0553 D1.2 (MSR). */
enum { MASK_NONE, MASK_ON, MASK_OFF, MASK_BACK };
enum { PRIMASK = 0x10, BASEPRI, BASEPRI_MAX, FAULTMASK, NON_SECURE = 0x80 };

static bool is_mask_register(uint32_t number)
{
    number &= ~(uint32_t)NON_SECURE;
    return number >= PRIMASK && number <= FAULTMASK;
}

/* CPSID and CPSIE: DDI 0403 B5.2.1; MSR: B5.2.3. MASK_BACK: with a value that only the register has. */
static unsigned mask_change(const struct code_instruction *one, const struct constants_known *now)
{
    unsigned from = one->code >> 16 & 0xF;
    if (one->isa != ISA_THUMB || one->is_data)
        return MASK_NONE;
    if (one->size == 2)
        return (one->code & 0xFFEC) != 0xB660 || (one->code & 3) == 0 ? MASK_NONE
               : (one->code & 0x10) != 0                              ? MASK_ON
                                                                      : MASK_OFF;
    if ((one->code & 0xFFF0FF00) != 0xF3808800 || !is_mask_register(one->code & 0xFF))
        return MASK_NONE;
    if (from < ARM_PC && constants_know(now, from))
        return now->values[from] == 0 && (one->code & 0x7F) != BASEPRI_MAX ? MASK_OFF : MASK_ON;
    return (one->code & 0x7F) == BASEPRI_MAX ? MASK_ON : MASK_BACK;
}

/* MRS of one of them: DDI 0403 B5.2.2. */
static bool reads_mask(const struct code_instruction *one)
{
    return one->isa == ISA_THUMB && one->size == 4 && (one->code & 0xFFFFF000) == 0xF3EF8000 &&
           is_mask_register(one->code & 0xFF);
}

/* --- how many instructions ------------------------------------------------------------------------------ */

static uint64_t masks_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t longest_of(struct symbols *symbols, uint64_t function, unsigned depth);

/* The instructions from there to a return with nothing else between, as compilers share one: no loop. */
static uint64_t straight_return(struct symbols *symbols, uint64_t from, uint64_t high)
{
    const struct extent rest = {from, high};
    struct leads leads = leads_of(symbols, &rest);
    struct lead lead;
    uint64_t n = 0;
    while (leads_next(&leads, &lead) && !lead.is_data) {
        n++;
        if (lead.kind == LEAD_BACK && !lead.does.conditional)
            return n;
        if (lead.kind != LEAD_ON || lead.does.kind != GOES_ON)
            break;
    }
    return UINT64_MAX - 1;
}

/* What one instruction adds; UINT64_MAX: no bound is known. */
static uint64_t cost_of(struct symbols *symbols, const struct lead *lead, const struct extent *function,
                        unsigned depth)
{
    bool inside = lead->target >= function->low && lead->target < function->high;
    bool by_table = lead->kind == LEAD_ON && lead->does.kind == GOES_AWAY; /* back, maybe */
    if (lead->does.kind == GOES_ASLEEP || lead->kind == LEAD_CALL_BY || lead->kind == LEAD_ANYWHERE ||
        by_table)
        return UINT64_MAX;
    if (lead->kind == LEAD_CALL || (lead->kind == LEAD_JUMP && !inside))
        return masks_sum(1, longest_of(symbols, lead->target, depth));
    return lead->kind == LEAD_JUMP && lead->target <= lead->at
               ? 1 + straight_return(symbols, lead->target, lead->at)
               : 1;
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
        sum = masks_sum(sum, lead.is_data ? 0 : cost_of(symbols, &lead, &extent, depth + 1));
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

/* --- from a mask to where it is taken back ---------------------------------------------------------------
 */

/* The instructions of a function, by halfwords. */
struct masked {
    struct symbols *symbols;
    struct extent function;
    uint64_t from; /* the instruction that masks */
    enum { MASKED_NEW, MASKED_TODO, MASKED_DONE } * at;
    bool again, loops, ends, leaves, calls_start;
    bool sweeps;          /* by a table: all that follows, until interrupts are on again */
    uint64_t start, cost; /* start: where the region begins */
    bool start_inside;
};

static void masked_to(struct masked *masked, uint64_t from, uint64_t to)
{
    if (to < masked->function.low || to >= masked->function.high) {
        masked->leaves = true;
        return;
    }
    size_t i = (size_t)(to - masked->function.low) / 2;
    masked->loops = masked->loops || to <= from;
    masked->again = masked->again || (masked->at[i] == MASKED_NEW && to <= from);
    masked->at[i] = masked->at[i] == MASKED_NEW ? MASKED_TODO : masked->at[i];
}

static void masked_call(struct masked *masked, uint64_t callee)
{
    const struct extent root = {.low = callee};
    size_t which = 0;
    masked->cost = masks_sum(masked->cost, longest_of(masked->symbols, callee, 1));
    masked->calls_start = masked->calls_start || symbols_reach_is_open(masked->symbols, &root) ||
                          symbols_reach(masked->symbols, &root, 1, &masked->start, 1, &which);
}

static void masked_on(struct masked *masked, const struct lead *lead, bool in_block)
{
    uint64_t next = lead->at + lead->does.size;
    masked->cost = masks_sum(masked->cost, lead->does.kind == GOES_ASLEEP ? UINT64_MAX : 1);
    masked->start_inside = masked->start_inside || (lead->at == masked->start && lead->at != masked->from);
    if (lead->kind == LEAD_CALL) {
        masked_call(masked, lead->target);
        if (!may_return(masked->symbols, lead->target))
            return;
    } else if (lead->kind == LEAD_JUMP) {
        bool outside = lead->target < masked->function.low || lead->target >= masked->function.high;
        if (!outside || may_return(masked->symbols, lead->target))
            masked_to(masked, lead->at, lead->target);
        else
            masked_call(masked, lead->target);
    } else if (lead->kind == LEAD_ON && instruction_leaves(&lead->does)) {
        masked->loops = masked->sweeps = true;
    } else if (lead->kind != LEAD_ON) {
        masked->leaves = true;
    }
    if (in_block || !instruction_leaves(&lead->does))
        masked_to(masked, lead->at, next);
}

/* Whether the mask ends at this instruction. `saved`: the function has read what it writes back. */
static bool is_unmasked(const struct masked *masked, const struct code_instruction *one, bool saved,
                        const struct constants_known *now, bool in_block)
{
    unsigned change = mask_change(one, now);
    return one->address != masked->from && !in_block &&
           (change == MASK_OFF || (change == MASK_BACK && saved));
}

static void masked_pass(struct masked *masked, bool saved)
{
    struct code_walk walk = {
        .symbols = masked->symbols, .low = masked->function.low, .high = masked->function.high};
    struct leads leads = leads_of(masked->symbols, &masked->function);
    struct constants constants = {.n = 0};
    struct code_instruction one;
    struct lead lead;
    unsigned in_block = 0;
    masked->again = masked->sweeps = false;
    while (code_next(&walk, &one) && leads_next(&leads, &lead)) {
        size_t i = (size_t)(one.address - masked->function.low) / 2;
        constants_arrive(&constants, one.address);
        if (one.isa == ISA_THUMB && one.size == 2 && (one.code & 0xFF87) == 0x4487)
            lead.kind = LEAD_ON; /* ADD to the PC: as a table, it stays in the function */
        bool ends = is_unmasked(masked, &one, saved, &constants.now, in_block > 0);
        if (masked->sweeps && masked->at[i] == MASKED_NEW && !one.is_data)
            masked->at[i] = MASKED_TODO;
        masked->sweeps = masked->sweeps && !ends;
        if (masked->at[i] == MASKED_TODO) {
            masked->at[i] = MASKED_DONE;
            masked->ends = masked->ends || ends;
            if (!ends)
                masked_on(masked, &lead, in_block > 0);
        }
        (void)constants_follow(&constants, masked->symbols, &one, &lead.does, UINT64_MAX);
        in_block = in_block > 0 ? in_block - 1 : lead.does.kind == GOES_IT ? lead.does.number : 0;
    }
}

/* False: out of memory, or the function is not known. */
static bool masked_find(struct masked *masked, bool saved)
{
    if (table_around(masked->symbols, masked->from, &masked->function) == NULL)
        return false;
    struct extent next; /* labels inside of a function may have names */
    while (masked->function.high - masked->function.low < LISTING_BYTES &&
           table_around(masked->symbols, masked->function.high, &next) != NULL &&
           next.high > masked->function.high &&
           table_sized_until(masked->symbols, masked->function.high) == masked->function.high)
        masked->function.high = next.high;
    size_t n = (size_t)(masked->function.high - masked->function.low) / 2 + 1;
    if (n > LISTING_BYTES || (masked->at = calloc(n, sizeof *masked->at)) == NULL)
        return false;
    masked_to(masked, masked->from - 2, masked->from);
    do
        masked_pass(masked, saved);
    while (masked->again);
    free(masked->at);
    return true;
}

/* The instructions, at most, that run before interrupts are on again; 0: this mask does not matter. */
static uint64_t masked_longest(const struct symbols_masks *asked, struct symbols *symbols, uint64_t at,
                               bool saved)
{
    struct masked masked = {.symbols = symbols, .from = at, .start = asked->start};
    size_t which = 0;
    if (!masked_find(&masked, saved))
        return UINT64_MAX;
    if (!masked.ends && !masked.leaves)
        return 0; /* it stays there, and no hit ends */
    bool matters = asked->anything || masked.leaves || masked.calls_start || masked.start_inside ||
                   symbols_reach(symbols, asked->ranges, asked->n, &at, 1, &which);
    return !matters ? 0 : masked.leaves || masked.loops ? UINT64_MAX : masked.cost;
}

uint64_t symbols_masked(struct symbols *symbols, const struct symbols_masks *asked, uint64_t *at)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    uint64_t most = 0, function_end = 0;
    bool saved = false;
    *at = 0;
    while (most != UINT64_MAX && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (one.is_first || one.address >= function_end) {
            function_end = table_next_function(symbols, one.address, UINT64_MAX);
            saved = false;
        }
        constants_arrive(&constants, one.address);
        unsigned change = mask_change(&one, &constants.now);
        saved = saved || reads_mask(&one);
        if (change == MASK_ON || (change == MASK_BACK && !saved)) {
            uint64_t longest = masked_longest(asked, symbols, one.address, saved);
            *at = longest > most ? one.address : *at;
            most = longest > most ? longest : most;
        }
        (void)constants_follow(&constants, symbols, &one, &does, UINT64_MAX);
    }
    return most;
}

size_t symbols_task_switches(struct symbols *symbols, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        if (code_decode(&one).system != SYSTEM_STACK)
            continue;
        if (n < room)
            out[n] = one.address;
        n++;
    }
    return n;
}
