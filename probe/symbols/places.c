/* SPDX-License-Identifier: MIT */
/*
 * What an address holds: whether an instruction begins there, and whether it is code at all. And which
 * instructions load a word.
 */
#include "symbols/internal.h"

#include <stdlib.h>
#include <string.h>

/* --- by mapping symbols --------------------------------------------------------------------------------- */

/* From where all is code up to the address: the mark, or the function if that begins later. */
static enum code_place place_among(struct symbols *symbols, uint64_t from, uint64_t address, uint64_t *begins)
{
    struct code_walk walk = {.symbols = symbols, .low = from, .high = address + 1};
    struct code_instruction one = {.size = 0};
    while (code_next(&walk, &one) && one.address + one.size <= address)
        ;
    *begins = one.address;
    if (one.size == 0 || one.is_data || address < one.address || address >= one.address + one.size)
        return PLACE_UNKNOWN;
    return one.address == address ? PLACE_BEGINS : PLACE_INSIDE;
}

/* --- by decoding ---------------------------------------------------------------------------------------- */

enum { FLOW_MOST = 1 << 16, HALF = 2 };

/* What each halfword of a function is, as far as its code shows that from its entry on. */
struct flow {
    const struct symbols *symbols;
    struct extent function;
    enum instruction_set isa;
    const uint8_t *bytes;
    size_t n; /* halfwords */
    enum { HALF_UNKNOWN, HALF_AWAITED, HALF_BEGINS, HALF_INSIDE, HALF_DATA } * what;
};

static void flow_await(struct flow *flow, uint64_t target)
{
    size_t i = (size_t)(target - flow->function.low) / HALF;
    if (target >= flow->function.low && i < flow->n && flow->what[i] == HALF_UNKNOWN)
        flow->what[i] = HALF_AWAITED;
}

/* A constant that an instruction loads is none, whatever a call before it that never returns has shown. */
static void flow_take_constant(struct flow *flow, const struct instruction *does, uint64_t address)
{
    if (does->access != ACCESS_LOAD || does->base != ARM_PC || does->index != NO_REGISTER ||
        flow->isa == ISA_A64)
        return;
    uint64_t pc = (address & ~UINT64_C(3)) + (flow->isa == ISA_THUMB ? 4 : 8),
             from = (uint32_t)(pc + (uint64_t)(int64_t)does->offset);
    for (size_t at = 0; at < does->bytes; at += HALF) {
        size_t i = (size_t)(from + at - flow->function.low) / HALF;
        if (from + at >= flow->function.low && i < flow->n)
            flow->what[i] = HALF_DATA;
    }
}

/* The instructions from `i` on until one leaves, or what follows is known. */
static void flow_follow(struct flow *flow, size_t i)
{
    unsigned in_block = 0;
    while (i < flow->n && (flow->what[i] == HALF_UNKNOWN || flow->what[i] == HALF_AWAITED)) {
        uint64_t address = flow->function.low + i * HALF;
        unsigned size = 0;
        struct instruction does = instruction_of(flow->isa,
                                                 code_at(flow->symbols, flow->bytes + i * HALF,
                                                         (flow->n - i) * HALF, flow->isa == ISA_THUMB, &size),
                                                 address);
        if (size == 0 || i + size / HALF > flow->n)
            return;
        flow->what[i] = HALF_BEGINS;
        for (size_t k = 1; k < size / HALF; k++)
            flow->what[i + k] = HALF_INSIDE;
        flow_take_constant(flow, &does, address);
        if (does.kind == GOES_JUMP)
            flow_await(flow, does.target);
        if (instruction_leaves(&does) && in_block == 0)
            return;
        in_block = in_block > 0 ? in_block - 1 : does.kind == GOES_IT ? does.number : 0;
        i += size / HALF;
    }
}

static void flow_follow_all(struct flow *flow)
{
    bool more = true;
    flow->what[0] = HALF_AWAITED;
    while (more) {
        more = false;
        for (size_t i = 0; i < flow->n; i++)
            if (flow->what[i] == HALF_AWAITED) {
                flow_follow(flow, i);
                more = true;
            }
    }
}

/* What no way from the entry reaches is not known: a table of jumps, or a handler of C++, may lead there. */
static enum code_place flow_place(const struct flow *flow, uint64_t address, uint64_t *begins)
{
    size_t i = (size_t)(address - flow->function.low) / HALF;
    if (i >= flow->n || flow->what[i] == HALF_UNKNOWN)
        return PLACE_UNKNOWN;
    while (i > 0 && flow->what[i] == HALF_INSIDE)
        i--;
    *begins = flow->function.low + i * HALF;
    return flow->what[i] == HALF_DATA ? PLACE_DATA : *begins == address ? PLACE_BEGINS : PLACE_INSIDE;
}

static enum code_place place_by_flow(struct symbols *symbols, const struct extent *function, uint64_t address,
                                     uint64_t *begins)
{
    struct flow flow = {.symbols = symbols, .function = *function, .isa = table_isa(symbols, function->low)};
    size_t bytes = 0;
    enum code_place place = PLACE_UNKNOWN;
    flow.bytes = elf_code(symbols, function->low, &bytes);
    if (flow.bytes == NULL || function->high - function->low > FLOW_MOST)
        return PLACE_UNKNOWN;
    bytes = bytes < function->high - function->low ? bytes : (size_t)(function->high - function->low);
    flow.n = bytes / HALF;
    flow.what = calloc(flow.n + 1, sizeof *flow.what);
    if (flow.what != NULL) {
        flow_follow_all(&flow);
        place = flow_place(&flow, address, begins);
    }
    free(flow.what);
    return place;
}

/* ------------------------------------------------------------------------------------------------------- */

enum code_place symbols_code_place(struct symbols *symbols, uint64_t address, uint64_t *begins)
{
    struct extent function = {0, 0}, marked;
    *begins = address;
    if (symbols == NULL || !symbols->has_code ||
        (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64))
        return PLACE_UNKNOWN;
    const struct symbol *symbol = table_around(symbols, address, &function);
    bool is_function = symbol != NULL && symbol_is_function(symbol);
    if (is_function && function.low == address)
        return PLACE_BEGINS;
    if (symbols_mapping(symbols, address) == MAPPING_DATA)
        return PLACE_DATA;
    if (!symbols_is_code(symbols, address))
        return PLACE_UNKNOWN;
    if (table_marked(symbols, address, &marked))
        return place_among(symbols, is_function && function.low > marked.low ? function.low : marked.low,
                           address, begins);
    return is_function ? place_by_flow(symbols, &function, address, begins) : PLACE_UNKNOWN;
}

/* A word that no instruction has: constants, objects, and what linkers and flash tools fill gaps with. */
bool symbols_is_instruction(struct symbols *symbols, uint64_t address, uint32_t word)
{
    enum mapping mapping = symbols_mapping(symbols, address);
    return word != 0 && word != UINT32_MAX && mapping != MAPPING_DATA &&
           symbols_mapping(symbols, address + HALF) != MAPPING_DATA &&
           (mapping == MAPPING_CODE || symbols->code_count == 0 || symbols_is_code(symbols, address));
}

/* --- loads ---------------------------------------------------------------------------------------------- */

size_t symbols_loads_of(struct symbols *symbols, uint64_t word, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    struct constants constants = {.n = 0};
    size_t n = 0;
    while (symbols->machine == EM_ARM && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (one.is_first)
            constants = (struct constants){.n = 0};
        constants_arrive(&constants, one.address);
        const struct constants_known *now = &constants.now;
        if (one.isa == ISA_THUMB && does.access == ACCESS_LOAD && does.base < ARM_PC &&
            constants_know(now, does.base) && constants_know(now, does.index) &&
            store_hits(&does, now->values, word)) {
            if (n < room)
                out[n] = one.address;
            n++;
        }
        (void)constants_follow(&constants, symbols, &one, &does, word);
    }
    return n;
}
