/*
 * Whether an address can be where a callee returns to: by the call before it, and by where that call goes.
 * And what code runs if a function is called.
 */
#include "symbols/internal.h"

#include <stdlib.h>

enum { MOST_CODE = 1 << 14, LR = 14 };

/* The bytes before the address, as the last `size` of them; 0 if the program has none there. */
static uint32_t word_before(struct symbols *symbols, uint64_t address, unsigned size, bool thumb)
{
    size_t n = 0;
    const uint8_t *bytes = address >= size ? elf_code(symbols, address - size, &n) : NULL;
    return bytes != NULL && n >= size ? code_at(symbols, bytes, size, thumb, &size) : 0;
}

static uint64_t offset_of(uint32_t bits, unsigned unused)
{
    return (uint64_t)(int64_t)((int32_t)(bits << unused) >> unused);
}

/* DDI 0406 A8.8.25: BL and BLX of a number, in Thumb. */
static uint64_t thumb_target(uint32_t code, uint64_t address)
{
    struct code_instruction one = {.address = address, .code = code | 0x1000, .size = 4};
    bool to_arm = (code & 0x1000) == 0;
    uint64_t target = code_branch(&one);
    return to_arm ? (target - (address & 2)) & ~UINT64_C(3) : target;
}

static enum call thumb_call(struct symbols *symbols, uint64_t address, uint64_t *target)
{
    uint32_t wide = word_before(symbols, address, 4, true);
    if (thumb_call_code(wide, 4) == CALL_NONE)
        return thumb_call_code(word_before(symbols, address, 2, true), 2);
    *target = thumb_target(wide, address - 4);
    return CALL_DIRECT;
}

static enum call arm_call(struct symbols *symbols, uint64_t address, uint64_t *target)
{
    uint32_t code = word_before(symbols, address, 4, false);
    enum call call = arm_call_code(code);
    *target = call == CALL_DIRECT ? arm_call_target(code, address - 4) : 0;
    return call;
}

static enum call a64_call(struct symbols *symbols, uint64_t address, uint64_t *target)
{
    uint32_t code = word_before(symbols, address, 4, false);
    enum call call = a64_call_code(code);
    *target = call == CALL_DIRECT ? a64_call_target(code, address - 4) : 0;
    return call;
}

enum call call_before(struct symbols *symbols, uint64_t address, enum instruction_set isa, uint64_t *target)
{
    *target = 0;
    if (isa == ISA_A64)
        return a64_call(symbols, address, target);
    return isa == ISA_THUMB ? thumb_call(symbols, address, target) : arm_call(symbols, address, target);
}

/* --- jumps out of a function --------------------------------------------------------------------------- */

/* DDI 0406 A8.8.18 (B), A8.8.27 (BX), A8.8.103 (MOV), A8.8.63 and A8.8.64 (LDR): where a jump goes; 0 if it
 * is none; 1 if a register says where. */
static uint64_t thumb_jump(const struct code_instruction *one)
{
    uint32_t code = one->code;
    bool of_register = (code & 0xFFFFFF80) == 0x4700 && (code >> 3 & 0xF) != LR;
    bool loads = (code & 0xFF70F000) == 0xF850F000 && code >> 16 != 0xF85D;
    if (one->size == 2 && (of_register || (code & 0xFF87) == 0x4687))
        return 1;
    if (one->size == 2 && code >> 12 == 0xD && (code >> 8 & 0xF) < 0xE)
        return one->address + 4 + offset_of((code & 0xFF) << 1, 23);
    if (one->size == 2)
        return code_branch(one);
    if ((code & 0xF800D000) == 0xF0008000 && (code >> 23 & 7) != 7)
        return one->address + 4 +
               offset_of((code >> 26 & 1) << 20 | (code >> 11 & 1) << 19 | (code >> 13 & 1) << 18 |
                             (code >> 16 & 0x3F) << 12 | (code & 0x7FF) << 1,
                         11);
    return loads ? 1 : (code & 0x4000) != 0 ? 0 : code_branch(one);
}

static uint64_t arm_jump(const struct code_instruction *one)
{
    uint32_t code = one->code;
    bool of_register = (code & 0x0FFFFFF0) == 0x012FFF10 && (code & 0xF) != LR;
    bool loads = (code & 0x0C10F000) == 0x0410F000 && (code >> 16 & 0xF) != 13;
    bool computes = (code & 0x0C00F000) == 0x0000F000 && (code & 0x01900000) != 0x01000000 &&
                    (code & 0x0FFFFFFF) != 0x01A0F00E;
    if (code >> 28 == 0xF)
        return 0;
    if ((code & 0x0F000000) == 0x0A000000)
        return (one->address + 8 + offset_of((code & 0xFFFFFF) << 2, 6)) & UINT32_MAX;
    return of_register || loads || computes;
}

/* DDI 0487 C6.2: B, B.cond, CBZ and TBZ; BR and the forms that authenticate. */
static uint64_t a64_jump(const struct code_instruction *one)
{
    uint32_t code = one->code;
    if ((code & 0xFC000000) == 0x14000000)
        return one->address + offset_of((code & 0x3FFFFFF) << 2, 4);
    if ((code & 0xFF000010) == 0x54000000 || (code & 0x7E000000) == 0x34000000)
        return one->address + offset_of((code >> 5 & 0x7FFFF) << 2, 11);
    if ((code & 0x7E000000) == 0x36000000)
        return one->address + offset_of((code >> 5 & 0x3FFF) << 2, 16);
    return (code & 0xFEFFF000) == 0xD61F0000;
}

static uint64_t jump_of(const struct code_instruction *one)
{
    return one->isa == ISA_A64 ? a64_jump(one) : one->isa == ISA_THUMB ? thumb_jump(one) : arm_jump(one);
}

/* Tail calls, and what a linker puts in between: code that goes on in another function. */
static bool jumps_on(struct symbols *symbols, const struct extent *function)
{
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    if (function->high - function->low > MOST_CODE)
        return true;
    while (code_next(&walk, &one)) {
        uint64_t to = one.is_data ? 0 : jump_of(&one);
        if (to == 1 || (to != 0 && (to < function->low || to >= function->high)))
            return true;
    }
    return false;
}

/* Whether the function's last instruction goes on to what lies behind it. */
static bool falls_on(struct symbols *symbols, const struct extent *function)
{
    uint64_t last = function->high - 4;
    struct code_walk walk = {.symbols = symbols, .low = last, .high = function->high};
    struct code_instruction one = {.is_data = true};
    struct frame_op op = {.kind = FRAME_OTHER};
    if (function->high - function->low < 4)
        return false;
    while (code_next(&walk, &one))
        op = frame_op_of(one.isa, one.code);
    bool leaves = !one.is_data && (op.kind == FRAME_RETURN || op.kind == FRAME_JUMP ||
                                   (op.kind == FRAME_POP && (op.list & 1U << 15) != 0));
    return !one.is_data && !leaves && one.isa != ISA_A64;
}

bool call_leads(struct symbols *symbols, enum call call, uint64_t target, uint64_t pc)
{
    struct extent callee = {0, 0}, here = {0, 0};
    if (call != CALL_DIRECT)
        return call == CALL_INDIRECT;
    if (table_around(symbols, target, &callee) == NULL)
        return elf_is_code(symbols, target);
    bool is_known = table_around(symbols, pc, &here) != NULL;
    bool is_inside = is_known && here.low >= callee.low && here.low < callee.high;
    if (is_inside || (is_known && here.low == callee.high && falls_on(symbols, &callee)))
        return true;
    return jumps_on(symbols, &callee);
}

/* 0: not a direct call. */
static uint64_t call_of(const struct code_instruction *one)
{
    uint32_t code = one->code;
    if (one->isa == ISA_A64)
        return a64_call_code(code) == CALL_DIRECT ? a64_call_target(code, one->address) : 0;
    if (one->isa == ISA_THUMB)
        return thumb_call_code(code, one->size) == CALL_DIRECT ? thumb_target(code, one->address) : 0;
    return arm_call_code(code) == CALL_DIRECT ? arm_call_target(code, one->address) : 0;
}

static bool goes_to(const struct code_instruction *one, uint64_t address)
{
    return !one->is_data && (call_of(one) == address || jump_of(one) == address);
}

bool call_is_made(struct symbols *symbols, uint64_t address)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    while (code_next(&walk, &one))
        if (goes_to(&one, address))
            return true;
    return false;
}

size_t symbols_callers(struct symbols *symbols, const struct extent *function, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        bool inside = one.address >= function->low && one.address < function->high;
        if (!goes_to(&one, function->low) || (inside && call_of(&one) != function->low))
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
    enum { ROOM = 64 };
    if (reached->n == reached->room) {
        size_t room = reached->room > 0 ? 2 * reached->room : ROOM;
        struct extent *items = realloc(reached->items, room * sizeof *items);
        if (items == NULL)
            return false;
        reached->items = items;
        reached->room = room;
    }
    reached->items[reached->n++] = extent;
    return true;
}

static bool reached_add(struct reached *reached, struct symbols *symbols, uint64_t address)
{
    struct extent extent = {0, 0};
    if (address <= 1 || table_around(symbols, address, &extent) == NULL)
        return true;
    for (size_t i = reached->n; i-- > 0;)
        if (reached->items[i].low == extent.low && reached->items[i].high == extent.high)
            return true;
    return reached_grow(reached, extent);
}

static bool reached_follow(struct reached *reached, struct symbols *symbols, const struct extent *range)
{
    struct code_walk walk = {.symbols = symbols, .low = range->low, .high = range->high};
    struct code_instruction one;
    struct extent function = *range;
    bool ok = true;
    (void)table_around(symbols, range->low, &function);
    while (ok && code_next(&walk, &one)) {
        uint64_t call = one.is_data ? 0 : call_of(&one), jump = one.is_data ? 0 : jump_of(&one);
        bool leaves = jump < function.low || jump >= function.high;
        ok = (call == 0 || reached_add(reached, symbols, call)) &&
             (!leaves || reached_add(reached, symbols, jump));
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
        uint64_t call = one.is_data ? 0 : call_of(&one), jump = one.is_data ? 0 : jump_of(&one);
        bool leaves = jump < function.low || jump >= function.high;
        if (!is && !leads_to(clean, symbols, call, places, n_places) &&
            !(leaves && leads_to(clean, symbols, jump, places, n_places)))
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
        for (size_t i = 0; i < n_ranges; i++) /* their own ways are looked at below */
            if (ranges[i].high == 0 && !reached_add(&reached, symbols, ranges[i].low))
                n = room + 1;
        for (size_t i = 0; n <= room && i < n_ranges; i++)
            n = ways_of(symbols, ranges[i], &reached, places, n_places, out, n, room);
    }
    free(reached.items);
    return n;
}
