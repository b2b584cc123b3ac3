/*
 * Which instruction of the program writes to a place: a Cortex-M's stores to a word, by the constants in the
 * code or by the registers of a core that stopped just after one.
 */
#include "symbols/constants.h"

#include <stdio.h>
#include <string.h>

/* --- one instruction ----------------------------------------------------------------------------------- */

static int32_t signed_of(uint32_t number, bool up)
{
    return up ? (int32_t)number : -(int32_t)number;
}

static struct store plain(unsigned base, uint32_t offset, uint32_t size)
{
    return (struct store){.base = base, .index = CONSTANTS_NONE, .offset = (int32_t)offset, .size = size};
}

/* DDI 0403 A5.2.4, and A7.7.159 (STM). */
static bool narrow_store(uint32_t code, struct store *out)
{
    static const uint8_t sizes[] = {4, 2, 1};
    unsigned base = code >> 3 & 7, number = code >> 6 & 0x1F;
    switch (code >> 11) {
    case 0xA: /* STR, STRH, STRB of a register */
        if ((code >> 9 & 3) == 3)
            return false;
        *out = plain(base, 0, sizes[code >> 9 & 3]);
        out->index = code >> 6 & 7;
        return true;
    case 0xC:
        *out = plain(base, 4 * number, 4);
        return true;
    case 0xE:
        *out = plain(base, number, 1);
        return true;
    case 0x10:
        *out = plain(base, 2 * number, 2);
        return true;
    case 0x12:
        *out = plain(CONSTANTS_SP, 4 * (code & 0xFF), 4);
        return true;
    case 0x18:
        *out = plain(code >> 8 & 7, 0, 4 * (uint32_t)__builtin_popcount(code & 0xFF));
        out->moves = (int32_t)out->size;
        return true;
    default:
        return false;
    }
}

/* Offset, pre-indexed and post-indexed addressing. */
static void index_by(struct store *out, int32_t number, bool before, bool back)
{
    out->offset = before ? number : 0;
    out->moves = back ? number : 0;
}

/* DDI 0403 A7.7.161 to A7.7.170: STR, STRB, STRH in all of their forms. */
static bool wide_single(uint32_t first, uint32_t second, struct store *out)
{
    bool before = second & 0x400, back = second & 0x100;
    unsigned base = first & 0xF, size = 1U << (first >> 5 & 3);
    if ((first & 0xFF10) != 0xF800 || size == 8 || base == CONSTANTS_PC)
        return false;
    *out = plain(base, second & 0xFFF, size);
    if (first & 0x80)
        return true;
    out->offset = 0;
    if ((second & 0xFC0) == 0) {
        out->index = second & 0xF;
        out->shift = second >> 4 & 3;
        return true;
    }
    index_by(out, signed_of(second & 0xFF, second & 0x200), before, back);
    return (second & 0x800) != 0 && (before || back);
}

/* DDI 0403 A7.7.166 (STRD), A7.7.159 and A7.7.160 (STM, STMDB); DDI 0553 C2.4 (STL). */
static bool wide_several(uint32_t first, uint32_t second, struct store *out)
{
    bool before = first & 0x100, back = first & 0x20;
    int32_t all = 4 * __builtin_popcount(second);
    *out = plain(first & 0xF, 0, 4);
    if ((first & 0xFE50) == 0xE840 && (before || back)) {
        out->size = 8;
        index_by(out, signed_of(4 * (second & 0xFF), first & 0x80), before, back);
        return true;
    }
    if ((first & 0xFFD0) == 0xE880 || (first & 0xFFD0) == 0xE900) {
        out->size = (uint32_t)all;
        out->offset = before ? -all : 0;
        out->moves = !back ? 0 : before ? -all : all;
        return true;
    }
    return (first & 0xFFF0) == 0xE8C0 && (second & 0xFFF) == 0xFAF;
}

bool store_of(uint32_t code, struct store *out)
{
    enum { NARROW_STORES = 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 0xC };
    uint32_t first = code >> 16, second = code & 0xFFFF;
    /* These bits alone rule most instructions out */
    if (first == 0 ? (NARROW_STORES >> (code >> 12) & 1) == 0 : (first & 0xEE00) != 0xE800)
        return false;
    return code_is_wide(first) ? wide_single(first, second, out) || wide_several(first, second, out)
                               : narrow_store(code, out);
}

bool store_hits(const struct store *store, const uint32_t *registers, uint64_t word)
{
    uint32_t from = registers[store->base] + (uint32_t)store->offset;
    if (store->index != CONSTANTS_NONE)
        from += registers[store->index] << store->shift;
    return from < word + 4 && word < (uint64_t)from + store->size;
}
/* --- by constants -------------------------------------------------------------------------------------- */

size_t symbols_stores_to(struct symbols *symbols, uint64_t word, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one))
        if (constants_follow(&constants, symbols, &one, word)) {
            if (n < room)
                out[n] = one.address;
            n++;
        }
    return n;
}
/* --- behind a stop ------------------------------------------------------------------------------------- */

/* NEAR: how many instructions may execute until the core stops; the architecture sets no limit. The store is
 * looked for in at most MOST_FUNCTIONS functions of at most MOST_CODE bytes. */
enum { NEAR = 8, MOST_FUNCTIONS = 6, MOST_CODE = 1 << 16 };

struct search {
    struct symbols *symbols;
    const uint32_t *registers;
    uint64_t word, pc, back; /* back: LR without the Thumb bit */
    uint64_t entries[MOST_FUNCTIONS];
    size_t n_entries;
    uint64_t last; /* store before the PC, at most NEAR away */
    bool has_last;
    uint64_t any; /* the last of all stores by constants */
    size_t n;
};

/* A jump leads between the last store and the PC: the core may have come from there. */
static bool is_joined(const struct search *search)
{
    struct extent extent = {0, 0};
    struct code_instruction one;
    if (table_around(search->symbols, search->pc, &extent) == NULL)
        return true;
    struct code_walk walk = {.symbols = search->symbols, .low = extent.low, .high = extent.high};
    while (code_next(&walk, &one)) {
        uint64_t to = one.is_data || one.isa != ISA_THUMB ? 0 : thumb_jump(&one);
        if (to > search->last && to <= search->pc)
            return true;
    }
    return false;
}

static void add_function(struct search *search, uint64_t inside)
{
    struct extent extent;
    if (inside == 0 || search->n_entries == MOST_FUNCTIONS ||
        table_around(search->symbols, inside, &extent) == NULL)
        return;
    for (size_t i = 0; i < search->n_entries; i++)
        if (search->entries[i] == extent.low)
            return;
    search->entries[search->n_entries++] = extent.low;
}

static void search_function(struct search *search, uint64_t entry, bool is_first)
{
    struct extent extent = {0, 0};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    struct store store;
    size_t since = 0;
    if (table_around(search->symbols, entry, &extent) == NULL || extent.high - extent.low > MOST_CODE)
        return;
    struct code_walk walk = {.symbols = search->symbols, .low = extent.low, .high = extent.high};
    while (code_next(&walk, &one)) {
        bool hits = constants_follow(&constants, search->symbols, &one, search->word);
        bool was_called = is_first && one.address + one.size == search->back,
             before = one.address < search->pc;
        if (one.is_data || one.isa != ISA_THUMB)
            continue;
        if (is_first && before && ++since > NEAR)
            search->has_last = false;
        if (was_called) /* after a store before the call, the core would have stopped in the callee */
            search->has_last = false;
        if (was_called || !is_first)
            add_function(search, code_branch(&one));
        if (hits)
            search->any = one.address;
        search->n += hits;
        if (!hits && is_first && before && store_of(one.code, &store)) {
            store.offset -= store.moves; /* the base has been moved */
            hits = store_hits(&store, search->registers, search->word);
        }
        if (hits && is_first && before) {
            search->last = one.address;
            search->has_last = true;
            since = 0;
        }
    }
}

/* At the beginning of a function: the end of the caller, and the functions that it called there. */
static void search_caller(struct search *search)
{
    struct extent extent = {0, 0}, caller = {0, 0};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    size_t left = 0;
    if (table_around(search->symbols, search->pc, &extent) == NULL ||
        search->pc - extent.low > UINT64_C(2) * NEAR || search->back == 0 ||
        table_around(search->symbols, search->back - 1, &caller) == NULL ||
        search->back - caller.low > MOST_CODE)
        return;
    struct code_walk walk = {.symbols = search->symbols, .low = caller.low, .high = search->back};
    while (code_next(&walk, &one))
        left++;
    walk = (struct code_walk){.symbols = search->symbols, .low = caller.low, .high = search->back};
    while (code_next(&walk, &one)) {
        bool hits = constants_follow(&constants, search->symbols, &one, search->word);
        if (left-- > NEAR + 1)
            continue;
        if (one.address + one.size < search->back)
            add_function(search, code_branch(&one));
        if (hits)
            search->any = one.address;
        search->n += hits;
    }
}

bool symbols_store_before(struct symbols *symbols, const uint32_t *registers, uint64_t word, uint64_t *at)
{
    if (symbols == NULL || symbols->machine != EM_ARM)
        return false;
    struct search search = {.symbols = symbols,
                            .registers = registers,
                            .word = word,
                            .pc = registers[CONSTANTS_PC],
                            .back = registers[CONSTANTS_LR] & ~UINT64_C(1)};
    add_function(&search, registers[CONSTANTS_PC]);
    search_caller(&search);
    for (size_t i = 0; i < search.n_entries && !search.has_last; i++)
        search_function(&search, search.entries[i], i == 0);
    if (search.has_last && search.n > 1 && is_joined(&search))
        return false;
    if (!search.has_last && search.n != 1)
        return false;
    *at = search.has_last ? search.last : search.any;
    return true;
}
