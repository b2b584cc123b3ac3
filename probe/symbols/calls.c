/*
 * Whether an address can be where a callee returns to: by the call before it, and by where that call goes.
 * And what code runs if a function is called.
 */
#include "base/values.h"
#include "symbols/internal.h"

#include <stdlib.h>

enum { MOST_CODE = 1 << 14 };

/* The instruction of `size` bytes before the address. */
static bool call_of_size(struct symbols *symbols, uint64_t address, enum instruction_set isa, unsigned size,
                         struct instruction *out)
{
    size_t n = 0;
    unsigned found = 0;
    const uint8_t *bytes = address >= size ? elf_code(symbols, address - size, &n) : NULL;
    if (bytes == NULL || n < size)
        return false;
    *out = instruction_of(isa, code_at(symbols, bytes, size, isa == ISA_THUMB, &found), address - size);
    return out->size == size && instruction_calls(out);
}

bool call_before(struct symbols *symbols, uint64_t address, enum instruction_set isa, struct instruction *out)
{
    return call_of_size(symbols, address, isa, 4, out) ||
           (isa == ISA_THUMB && call_of_size(symbols, address, isa, 2, out));
}

/* --- jumps out of a function --------------------------------------------------------------------------- */

/* Tail calls, and what a linker puts in between: code that goes on in another function. */
static bool jumps_on(struct symbols *symbols, const struct extent *function)
{
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    if (function->high - function->low > MOST_CODE)
        return true;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool outside = does.target < function->low || does.target >= function->high;
        if (does.kind == GOES_AWAY || (does.kind == GOES_JUMP && outside))
            return true;
    }
    return false;
}

/* Whether the function's last instruction goes on to the code after it. */
static bool falls_on(struct symbols *symbols, const struct extent *function)
{
    uint64_t last = function->high - 4;
    struct code_walk walk = {.symbols = symbols, .low = last, .high = function->high};
    struct code_instruction one = {.is_data = true};
    struct instruction does = {.size = 0};
    if (function->high - function->low < 4)
        return false;
    while (code_next(&walk, &one))
        does = code_decode(&one);
    return !one.is_data && !instruction_leaves(&does) && one.isa != ISA_A64;
}

bool call_leads(struct symbols *symbols, const struct instruction *call, uint64_t pc)
{
    struct extent callee = {0, 0}, here = {0, 0};
    if (call->kind == GOES_CALL_BY)
        return true;
    if (table_around(symbols, call->target, &callee) == NULL)
        return symbols_is_code(symbols, call->target);
    bool is_known = table_around(symbols, pc, &here) != NULL;
    bool is_inside = is_known && here.low >= callee.low && here.low < callee.high;
    if (is_inside || (is_known && here.low == callee.high && falls_on(symbols, &callee)))
        return true;
    return jumps_on(symbols, &callee);
}

static bool goes_to(const struct instruction *does, uint64_t address)
{
    return (does->kind == GOES_CALL || does->kind == GOES_JUMP) && does->target == address;
}

bool call_is_made(struct symbols *symbols, uint64_t address)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (goes_to(&does, address))
            return true;
    }
    return false;
}

size_t symbols_callers(struct symbols *symbols, const struct extent *function, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool inside = one.address >= function->low && one.address < function->high;
        if (!goes_to(&does, function->low) || (inside && does.kind != GOES_CALL))
            continue;
        if (n < room)
            out[n] = one.address;
        n++;
    }
    return n;
}

/* --- what runs ------------------------------------------------------------------------------------------ */

/* What is reached, each function once, in the order in which it was found. */
struct reached {
    struct extent *items;
    size_t n, room;
};

static bool reached_grow(struct reached *reached, struct extent extent)
{
    struct extent *items = array_grow(reached->items, reached->n + 1, &reached->room, sizeof *items);
    if (items == NULL)
        return false;
    reached->items = items;
    reached->items[reached->n++] = extent;
    return true;
}

static bool reached_add(struct reached *reached, struct symbols *symbols, uint64_t address)
{
    struct extent extent = {0, 0};
    if (table_around(symbols, address, &extent) == NULL)
        return true;
    for (size_t i = reached->n; i-- > 0;)
        if (reached->items[i].low == extent.low && reached->items[i].high == extent.high)
            return true;
    return reached_grow(reached, extent);
}

/* Whether it calls a function or jumps into another one than that. */
static bool enters_other(const struct instruction *does, const struct extent *function)
{
    bool outside = does->target < function->low || does->target >= function->high;
    return does->kind == GOES_CALL || (does->kind == GOES_JUMP && outside);
}

static bool reached_follow(struct reached *reached, struct symbols *symbols, const struct extent *range)
{
    struct code_walk walk = {.symbols = symbols, .low = range->low, .high = range->high};
    struct code_instruction one;
    struct extent function = *range;
    bool ok = true;
    (void)table_around(symbols, range->low, &function);
    while (ok && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        ok = !enters_other(&does, &function) || reached_add(reached, symbols, does.target);
    }
    return ok;
}

static bool reached_roots(struct reached *reached, struct symbols *symbols, const struct extent *ranges,
                          size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = ranges[i].high == 0 ? reached_add(reached, symbols, ranges[i].low)
                                 : reached_grow(reached, ranges[i]);
    return ok;
}

static bool is_counted(const size_t *counted, size_t n, size_t which)
{
    for (size_t i = 0; i < n; i++)
        if (counted[i] == which)
            return true;
    return false;
}

/* Follows what is reached, from item `from` on, until `most` of the places were found: their indices. */
static size_t reached_places(struct reached *reached, struct symbols *symbols, size_t from,
                             const uint64_t *places, size_t n_places, size_t *found, size_t most)
{
    size_t n = 0;
    bool ok = true;
    for (size_t i = from; ok && i < reached->n; i++) {
        struct extent range = reached->items[i];
        for (size_t k = 0; k < n_places && n < most; k++)
            if (places[k] >= range.low && places[k] < range.high && !is_counted(found, n, k))
                found[n++] = k;
        ok = n < most && reached_follow(reached, symbols, &range);
    }
    return n;
}

bool symbols_reach(struct symbols *symbols, const struct extent *ranges, size_t n_ranges,
                   const uint64_t *places, size_t n_places, size_t *place)
{
    struct reached reached = {.n = 0};
    bool found = reached_roots(&reached, symbols, ranges, n_ranges) &&
                 reached_places(&reached, symbols, 0, places, n_places, place, 1) > 0;
    free(reached.items);
    return found;
}

/* What is known to lead to none of the places stays in `clean`. */
static bool leads_to(struct reached *clean, struct symbols *symbols, uint64_t address, const uint64_t *places,
                     size_t n_places)
{
    size_t before = clean->n, which = 0;
    if (!reached_add(clean, symbols, address))
        return true;
    bool leads = reached_places(clean, symbols, before, places, n_places, &which, 1) > 0;
    if (leads)
        clean->n = before;
    return leads;
}

static size_t ways_of(struct symbols *symbols, struct extent range, struct reached *clean,
                      const uint64_t *places, size_t n_places, uint64_t *out, size_t n, size_t room)
{
    struct extent function = range;
    struct code_instruction one;
    (void)table_around(symbols, range.low, &function);
    struct code_walk walk = {
        .symbols = symbols, .low = range.low, .high = range.high != 0 ? range.high : function.high};
    if (range.high == 0)
        walk.low = function.low;
    while (n <= room && code_next(&walk, &one)) {
        bool is = false;
        for (size_t i = 0; i < n_places && !one.is_data; i++)
            is = is || places[i] == one.address;
        struct instruction does = code_decode(&one);
        if (!is &&
            !(enters_other(&does, &function) && leads_to(clean, symbols, does.target, places, n_places)))
            continue;
        if (n < room)
            out[n] = one.address;
        n++;
    }
    return n;
}

size_t symbols_stops_before(struct symbols *symbols, const struct extent *ranges, size_t n_ranges,
                            const uint64_t *places, size_t n_places, uint64_t *out, size_t room)
{
    struct reached reached = {.n = 0};
    size_t found[SYMBOLS_STOPS + 1] = {0}, n = room + 1;
    if (room <= SYMBOLS_STOPS && reached_roots(&reached, symbols, ranges, n_ranges))
        n = reached_places(&reached, symbols, 0, places, n_places, found, room + 1);
    for (size_t i = 0; n <= room && i < n; i++)
        out[i] = places[found[i]];
    reached.n = 0;
    if (n > room) {
        n = 0;
        for (size_t i = 0; i < n_ranges; i++) /* their own ways are handled below */
            if (ranges[i].high == 0 && !reached_add(&reached, symbols, ranges[i].low))
                n = room + 1;
        for (size_t i = 0; n <= room && i < n_ranges; i++)
            n = ways_of(symbols, ranges[i], &reached, places, n_places, out, n, room);
    }
    free(reached.items);
    return n;
}
