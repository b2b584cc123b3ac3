/* SPDX-License-Identifier: MIT */
/*
 * Where code can go on: by jumps, by what a linker puts in between, by registers, and past its end.
 */
#include "symbols/internal.h"

#include "base/values.h"

#include <stdlib.h>
#include <string.h>

/* --- numbers that code makes ---------------------------------------------------------------------------- */

/* A word of the file's data, also of constants among the code. */
static bool word_of(struct symbols *symbols, uint64_t at, unsigned size, uint64_t *out)
{
    Elf_Scn *section = NULL;
    const uint8_t *bytes;
    uint64_t base;
    size_t n;
    while ((section = elf_next_bytes(symbols, section, &base, &bytes, &n)) != NULL) {
        if (at < base || at - base >= n || n - (at - base) < size)
            continue;
        struct cursor cursor = {
            .at = bytes + (at - base), .end = bytes + n, .big_endian = symbols->big_endian};
        *out = cursor_unsigned(&cursor, size);
        return true;
    }
    return false;
}

static bool named_has(const struct named *named, unsigned which)
{
    return which < NO_REGISTER && (named->known >> which & 1) != 0;
}

/* ADR and ADD of the PC, which the reader of instructions has without their result: DDI 0403 A7.7.7, A7.7.4;
 * DDI 0406 A8.8.7. */
static bool arm_adds_pc(const struct named *named, const struct code_instruction *one,
                        const struct instruction *does, uint64_t *out)
{
    uint32_t code = one->code, wide = (code >> 26 & 1) << 11 | (code >> 12 & 7) << 8 | (code & 0xFF);
    bool thumb = one->isa == ISA_THUMB;
    uint64_t pc = one->address + (thumb ? 4 : 8), aligned = pc & ~UINT64_C(3);
    unsigned other = thumb ? does->to : code & 0xF;
    if (does->gives == GIVES_SUM && does->from == ARM_PC)
        *out = pc + (uint64_t)(int64_t)(int32_t)does->number;
    else if (thumb && one->size == 2 && (code & 0xF800) == 0xA000)
        *out = aligned + 4 * (uint64_t)(code & 0xFF);
    else if (thumb && one->size == 4 && (code & 0xFB5F8000) == 0xF20F0000) /* bits 23 and 21: SUB */
        *out = (code >> 23 & 1) != 0 ? aligned - wide : aligned + wide;
    else if (named_has(named, other) &&
             (thumb ? one->size == 2 && (code & 0xFF78) == 0x4478 : (code & 0x0FFF0FF0) == 0x008F0000))
        *out = named->value[other] + pc;
    else
        return false;
    return true;
}

static bool arm_makes(const struct named *named, struct symbols *symbols, const struct code_instruction *one,
                      const struct instruction *does, unsigned *to, uint64_t *out)
{
    uint64_t pc = (one->address + (one->isa == ISA_THUMB ? 4 : 8)) & ~UINT64_C(3);
    bool makes = true;
    *to = does->to;
    if (does->access == ACCESS_LOAD && does->base == ARM_PC && does->index == NO_REGISTER &&
        does->bytes == 4 && does->list != 0) {
        *to = (unsigned)__builtin_ctz(does->list);
        makes = word_of(symbols, pc + (uint64_t)(int64_t)does->offset, 4, out);
    } else if (does->access != ACCESS_NONE) {
        makes = false;
    } else if (does->gives == GIVES_NUMBER) {
        *out = does->number;
    } else if (does->gives == GIVES_TOP && named_has(named, does->to)) {
        *out = (named->value[does->to] & 0xFFFF) | (uint64_t)does->number << 16;
    } else if (does->gives == GIVES_SUM && named_has(named, does->from)) {
        *out = named->value[does->from] + does->number;
    } else if (does->gives == GIVES_SHIFT && does->number < 32 && named_has(named, does->from)) {
        *out = named->value[does->from] << does->number;
    } else {
        makes = arm_adds_pc(named, one, does, out);
    }
    *out &= UINT32_MAX;
    return makes;
}

/* DDI 0487 C6.2: ADR, ADRP, LDR of a literal, MOVK. */
static bool a64_makes(const struct named *named, struct symbols *symbols, const struct code_instruction *one,
                      const struct instruction *does, unsigned *to, uint64_t *out)
{
    uint32_t code = one->code;
    int64_t page = (int64_t)((uint64_t)(code >> 5 & 0x7FFFF) << 45) >> 43 | (code >> 29 & 3);
    int64_t literal = (int64_t)((uint64_t)(code >> 5 & 0x7FFFF) << 45) >> 43;
    unsigned half = 16 * (code >> 21 & 3);
    *to = code & 31;
    if ((code & 0x9F000000) == 0x90000000)
        *out = (one->address & ~UINT64_C(0xFFF)) + ((uint64_t)page << 12);
    else if ((code & 0x9F000000) == 0x10000000)
        *out = one->address + (uint64_t)page;
    else if ((code & 0xBF000000) == 0x18000000)
        return word_of(symbols, one->address + (uint64_t)literal, code >> 30 & 1 ? 8 : 4, out);
    else if ((code & 0x7F800000) == 0x72800000 && named_has(named, *to))
        *out = (named->value[*to] & ~(UINT64_C(0xFFFF) << half)) | (uint64_t)(code >> 5 & 0xFFFF) << half;
    else if (does->gives == GIVES_NUMBER)
        *out = does->number;
    else if (does->gives == GIVES_SUM && does->to < A64_SP && named_has(named, does->from))
        *out = named->value[does->from] + (uint64_t)(int64_t)(int32_t)does->number;
    else
        return false;
    return *to < A64_SP;
}

bool named_follow(struct named *named, struct symbols *symbols, const struct code_instruction *one,
                  const struct instruction *does, uint64_t *made)
{
    unsigned to = NO_REGISTER;
    *made = 0;
    bool makes = !one->is_data && (one->isa == ISA_A64 ? a64_makes(named, symbols, one, does, &to, made)
                                                       : arm_makes(named, symbols, one, does, &to, made));
    named->known &= ~does->writes;
    if (!makes || to >= NO_REGISTER)
        return false;
    named->known |= 1U << to;
    named->value[to] = *made;
    return true;
}

/* --- veneers -------------------------------------------------------------------------------------------- */

static unsigned goes_by(const struct instruction *does)
{
    bool moves = does->access == ACCESS_NONE && does->gives == GIVES_SUM && does->number == 0;
    return does->by == NO_REGISTER && moves ? does->from : does->by;
}

/* What the straight code from the function's beginning gives the register. */
static bool straight_target(struct symbols *symbols, uint64_t address, unsigned by, uint64_t *target)
{
    enum { MOST_VENEER = 64 };
    struct extent function = {0, 0};
    struct named named = {.known = 0};
    struct code_instruction one;
    if (table_around(symbols, address, &function) == NULL || address - function.low > MOST_VENEER)
        return false;
    struct code_walk walk = {.symbols = symbols, .low = function.low, .high = address};
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        uint64_t made;
        if (one.is_data || (does.kind != GOES_ON && does.kind != GOES_UNSURE) || does.conditional)
            return false;
        (void)named_follow(&named, symbols, &one, &does, &made);
    }
    *target = named_has(&named, by) ? named.value[by] : 0;
    return named_has(&named, by);
}

bool code_reads_target(struct symbols *symbols, const struct code_instruction *one,
                       const struct instruction *does, uint64_t *target)
{
    bool thumb = one->isa == ISA_THUMB;
    uint64_t pc = (one->address + (thumb ? 4 : 8)) & ~UINT64_C(3), to = 0;
    bool found = false;
    if (does->kind != GOES_AWAY)
        return false;
    if (does->access == ACCESS_LOAD)
        found = one->isa != ISA_A64 && does->base == ARM_PC && does->index == NO_REGISTER &&
                word_of(symbols, pc + (uint64_t)(int64_t)does->offset, 4, &to);
    else if (thumb && does->by == ARM_PC) { /* to A32 code after it */
        to = pc;
        found = true;
    } else
        found = straight_target(symbols, one->address, goes_by(does), &to);
    if (found)
        *target = one->isa == ISA_A64 ? to : to & ~UINT64_C(1);
    return found;
}

/* --- jumps that look like calls ------------------------------------------------------------------------- */

/* DDI 0487 C6.2: STP of X29 and X30, STR of X30, to below the stack pointer. */
bool saves_return(const struct code_instruction *one, const struct instruction *does)
{
    if (one->isa == ISA_A64)
        return (one->code & 0xFFC07FFF) == 0xA9807BFD || (one->code & 0xFFE00FFF) == 0xF8000FFE;
    return does->access == ACCESS_STORE && (does->list >> ARM_LR & 1) != 0;
}

/* The instructions of a function by halfwords: of which the ways still have to be followed. */
struct spread {
    const struct extent *function;
    enum { SPREAD_NEW, SPREAD_TODO, SPREAD_DONE } * at;
    uint64_t target;
    bool again, returns; /* `returns`: to LR */
};

static void spread_to(struct spread *spread, uint64_t from, uint64_t to)
{
    if (to < spread->function->low || to >= spread->function->high)
        return;
    size_t i = (size_t)(to - spread->function->low) / 2;
    spread->again = spread->again || (spread->at[i] == SPREAD_NEW && to <= from);
    spread->at[i] = spread->at[i] == SPREAD_NEW ? SPREAD_TODO : spread->at[i];
}

static void spread_on(struct spread *spread, const struct code_instruction *one,
                      const struct instruction *does, bool in_block)
{
    unsigned lr = one->isa == ISA_A64 ? A64_LR : ARM_LR;
    bool sets = (does->writes >> lr & 1) != 0 && !instruction_calls(does);
    spread->returns = spread->returns || (does->kind == GOES_BACK && does->by == lr) ||
                      (one->address == spread->target && saves_return(one, does));
    if (sets)
        return;
    if (does->kind == GOES_JUMP)
        spread_to(spread, one->address, does->target);
    if (in_block || !instruction_leaves(does))
        spread_to(spread, one->address, one->address + one->size);
}

/* Whether a way from the place returns to LR as it is there, or what is there saves LR: a subroutine. */
static bool is_subroutine(struct symbols *symbols, const struct extent *function, uint64_t target)
{
    size_t n = (size_t)(function->high - function->low) / 2 + 1;
    struct spread spread = {.function = function, .target = target, .again = true};
    if (n > LISTING_BYTES || (spread.at = calloc(n, sizeof *spread.at)) == NULL)
        return true;
    spread_to(&spread, function->low, target);
    while (spread.again && !spread.returns) {
        struct code_walk walk = {
            .symbols = symbols, .low = function->low, .high = function->high, .is_raw = true};
        struct code_instruction one;
        unsigned in_block = 0;
        spread.again = false;
        while (code_next(&walk, &one)) {
            struct instruction does = code_decode(&one);
            size_t i = (size_t)(one.address - function->low) / 2;
            if (spread.at[i] == SPREAD_TODO) {
                spread.at[i] = SPREAD_DONE;
                spread_on(&spread, &one, &does, in_block > 0);
            }
            in_block = in_block > 0 ? in_block - 1 : does.kind == GOES_IT ? does.number : 0;
        }
    }
    free(spread.at);
    return spread.returns;
}

bool is_own_jump(struct symbols *symbols, uint64_t address, uint64_t target)
{
    struct own_calls *known = &symbols->own_calls;
    struct extent function = {0, 0};
    if (table_around(symbols, target, &function) == NULL || address < function.low ||
        address >= function.high || target == function.low)
        return false;
    for (size_t i = 0; i < known->n; i++)
        if (known->items[i].target == target)
            return known->items[i].is_jump;
    bool is_jump = !is_subroutine(symbols, &function, target);
    struct own_call *items = array_grow(known->items, known->n + 1, &known->room, sizeof *items);
    if (items != NULL) {
        known->items = items;
        known->items[known->n++] = (struct own_call){target, is_jump};
    }
    return is_jump;
}

/* --- the end of a function ------------------------------------------------------------------------------ */

/* What fills up the space between functions. */
static bool fills_space(const struct code_instruction *one)
{
    if (one->isa == ISA_THUMB)
        return one->code == 0xBF00 || one->code == 0x46C0 || one->code == 0xF3AF8000 || one->code == 0;
    if (one->isa == ISA_ARM)
        return one->code == 0xE1A00000 || one->code == 0xE320F000 || one->code == 0;
    return one->code == 0xD503201F || one->code == 0;
}

/* UDF, and BRK of A64: where a compiler wants no way on. DDI 0403 A7.7.194, DDI 0406 A8.8.247. */
static bool is_trap(const struct code_instruction *one)
{
    uint32_t code = one->code;
    if (one->isa == ISA_THUMB)
        return one->size == 2 ? (code & 0xFF00) == 0xDE00 : (code & 0xFFF0F000) == 0xF7F0A000;
    return one->isa == ISA_ARM ? (code & 0xFFF000F0) == 0xE7F000F0 : (code & 0xFFE0001F) == 0xD4200000;
}

/* The first instruction at or after the end of a function, padding apart. */
static uint64_t after_padding(struct symbols *symbols, uint64_t high)
{
    enum { MOST_PADDING = 64 };
    struct code_walk walk = {.symbols = symbols, .low = high, .high = high + MOST_PADDING};
    struct code_instruction one = {.address = high};
    struct extent next;
    while (code_next(&walk, &one) &&
           (table_around(symbols, one.address, &next) == NULL || next.low != one.address))
        if (one.is_data || !fills_space(&one))
            break;
    return one.address;
}

bool may_return(struct symbols *symbols, uint64_t callee)
{
    enum { MOST = 16 };
    uint64_t lows[MOST] = {callee};
    size_t n = 1;
    for (size_t i = 0; i < n; i++) {
        struct extent extent = {0, 0};
        struct lead lead;
        const struct symbol *symbol = table_around(symbols, lows[i], &extent);
        if (symbol == NULL)
            return true;
        if (strstr(symbol->name, "longjmp") != NULL)
            continue;
        struct leads leads = leads_of(symbols, &extent);
        leads.ends_in_callee = true;
        while (leads_next(&leads, &lead)) {
            bool known = lead.kind != LEAD_JUMP || (lead.target >= extent.low && lead.target < extent.high);
            if (lead.kind == LEAD_BACK || lead.kind == LEAD_ANYWHERE || (!known && n == MOST))
                return true;
            for (size_t k = 0; !known && k < n; k++)
                known = lows[k] == lead.target;
            if (!known)
                lows[n++] = lead.target;
        }
    }
    return false;
}

struct leads leads_of(struct symbols *symbols, const struct extent *range)
{
    struct leads leads = {.symbols = symbols,
                          .walk = {.symbols = symbols, .low = range->low, .high = range->high},
                          .function = *range,
                          .last = {.kind = LEAD_ON},
                          .unpadded = range->low,
                          .furthest = range->low};
    (void)table_around(symbols, range->low, &leads.function);
    return leads;
}

/* What goes on after the last instruction. */
static bool leads_end(struct leads *leads, struct lead *out)
{
    bool to_padding = leads->furthest >= leads->unpadded;
    if (!leads->has_code || leads->has_ended || leads->walk.high < leads->function.high)
        return false;
    leads->has_ended = true;
    if (!to_padding && !leads->goes_on)
        return false;
    *out = leads->last;
    if (!to_padding && out->kind == LEAD_CALL && !leads->ends_in_callee &&
        !may_return(leads->symbols, out->target))
        return false;
    if (to_padding || out->kind != LEAD_CALL || !leads->ends_in_callee)
        out->target = after_padding(leads->symbols, leads->walk.high);
    out->kind = LEAD_JUMP;
    return true;
}

/* --- by a register -------------------------------------------------------------------------------------- */

/* Whether a table there has offsets, as among the code, or places of the function other than its entry. */
static bool is_own_table(const struct leads *leads, uint64_t at)
{
    const struct extent *function = &leads->function;
    uint64_t word = 0;
    if (at > function->low && at < function->high)
        return true;
    return word_of(leads->symbols, at, leads->walk.isa == ISA_A64 ? 8 : 4, &word) &&
           (word & ~UINT64_C(1)) > function->low && word < function->high;
}

static bool loads_of_table(const struct leads *leads, const struct instruction *does)
{
    const struct named *named = &leads->named;
    return does->access == ACCESS_LOAD && does->index != NO_REGISTER &&
           ((named_has(named, does->base) && is_own_table(leads, named->value[does->base])) ||
            (named_has(named, does->index) && is_own_table(leads, named->value[does->index])));
}

/* ADD of two registers: DDI 0403 A7.7.4, DDI 0406 A8.8.7, DDI 0487 C6.2.4. So tables of offsets are used. */
static bool adds_registers(const struct code_instruction *one)
{
    uint32_t code = one->code;
    if (one->isa == ISA_A64)
        return (code & 0x7F000000) == 0x0B000000;
    if (one->isa == ISA_ARM)
        return (code & 0x0FE00000) == 0x00800000;
    return one->size == 2 ? (code & 0xFE00) == 0x1800 || (code & 0xFF00) == 0x4400
                          : (code & 0xFFE00000) == 0xEB000000;
}

/* Which registers have a place of this function, by a table, or the return address. */
static void registers_follow(struct leads *leads, const struct code_instruction *one,
                             const struct instruction *does)
{
    bool is_copy = does->access == ACCESS_NONE && does->gives == GIVES_SUM && does->number == 0 &&
                   does->from < NO_REGISTER;
    bool pops = one->isa != ISA_A64 && does->access == ACCESS_LOAD && does->base == ARM_SP && does->moves > 0;
    bool of_table = adds_registers(one) || loads_of_table(leads, does) ||
                    (is_copy && (leads->inside >> does->from & 1) != 0);
    uint64_t made;
    leads->inside = (leads->inside & ~does->writes) | (of_table ? does->writes : 0);
    leads->popped = (leads->popped & ~does->writes) | (pops ? does->writes : 0);
    (void)named_follow(&leads->named, leads->symbols, one, does, &made);
}

static enum lead_kind by_register(const struct leads *leads, const struct code_instruction *one,
                                  const struct instruction *does)
{
    unsigned by = goes_by(does);
    bool of_pc = one->isa == ISA_ARM && by == NO_REGISTER && adds_registers(one);
    bool by_pc = does->access == ACCESS_LOAD && does->base == ARM_PC && does->index != NO_REGISTER;
    if (code_returns_from_exception(one) || (by < NO_REGISTER && (leads->popped >> by & 1) != 0))
        return LEAD_BACK;
    if (of_pc || by_pc || loads_of_table(leads, does) || (by < NO_REGISTER && (leads->inside >> by & 1) != 0))
        return LEAD_ON;
    return LEAD_ANYWHERE;
}

static void lead_find(const struct leads *leads, const struct code_instruction *one, struct lead *out)
{
    out->target = out->does.target;
    out->kind = out->does.kind == GOES_CALL      ? LEAD_CALL
                : out->does.kind == GOES_CALL_BY ? LEAD_CALL_BY
                : out->does.kind == GOES_JUMP    ? LEAD_JUMP
                : out->does.kind == GOES_BACK    ? LEAD_BACK
                                                 : LEAD_ON;
    if (code_reads_target(leads->symbols, one, &out->does, &out->target))
        out->kind = LEAD_JUMP;
    else if (out->does.kind == GOES_AWAY)
        out->kind = by_register(leads, one, &out->does);
}

bool leads_next(struct leads *leads, struct lead *out)
{
    struct code_instruction one;
    if (!code_next(&leads->walk, &one))
        return leads_end(leads, out);
    *out = (struct lead){.at = one.address, .does = code_decode(&one), .is_data = one.is_data};
    lead_find(leads, &one, out);
    bool in_block = leads->in_block > 0,
         inside = out->target > leads->furthest && out->target < leads->function.high;
    if (out->kind == LEAD_JUMP && inside)
        leads->furthest = out->target;
    leads->has_code = leads->has_code || !one.is_data;
    if (one.is_data || !fills_space(&one)) {
        leads->last = *out;
        leads->unpadded = one.address + one.size;
        leads->goes_on = !one.is_data && !is_trap(&one) && (in_block || !instruction_leaves(&out->does));
    }
    leads->in_block = in_block ? leads->in_block - 1 : out->does.kind == GOES_IT ? out->does.number : 0;
    registers_follow(leads, &one, &out->does);
    return true;
}

uint64_t leads_past_end(struct symbols *symbols, const struct extent *function)
{
    struct leads leads = leads_of(symbols, function);
    struct lead lead;
    uint64_t past = 0;
    while (leads_next(&leads, &lead))
        past = leads.has_ended ? lead.target : 0;
    return past;
}

uint64_t symbols_own_end(struct symbols *symbols, const struct extent *function)
{
    struct leads leads = leads_of(symbols, function);
    struct lead lead;
    if (table_sized_until(symbols, function->low) != function->low)
        return function->high;
    while (leads_next(&leads, &lead) && !leads.has_ended) {
        uint64_t next = lead.at + lead.does.size;
        bool by_jump = lead.kind == LEAD_JUMP || lead.kind == LEAD_BACK;
        if (lead.does.kind == GOES_TABLE || (lead.does.kind == GOES_AWAY && !by_jump))
            return function->high; /* it may go on anywhere here */
        if (!lead.is_data && leads.unpadded == next && !leads.goes_on && leads.furthest < next)
            return next;
    }
    return function->high;
}
