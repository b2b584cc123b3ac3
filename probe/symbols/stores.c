/*
 * Which instruction of the program writes to a place: a Cortex-M's stores to a word, by the constants in the
 * code or by the registers of a core that stopped just after one.
 */
#include "symbols/constants.h"

#include <stdio.h>
#include <string.h>

bool store_hits(const struct instruction *store, const uint32_t *registers, uint64_t word)
{
    uint32_t from = registers[store->base] + (uint32_t)store->offset;
    if (store->index != NO_REGISTER)
        from += registers[store->index] << store->shift;
    return from < word + 4 && word < (uint64_t)from + store->bytes;
}

/* --- by constants -------------------------------------------------------------------------------------- */

size_t symbols_stores_to(struct symbols *symbols, uint64_t word, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (!constants_follow(&constants, symbols, &one, &does, word))
            continue;
        if (n < room)
            out[n] = one.address;
        n++;
    }
    return n;
}

/* --- after a stop ------------------------------------------------------------------------------------- */

/* NEAR: how many instructions may execute until the core stops; the architecture sets no limit. The search
 * for the store covers at most MOST_FUNCTIONS functions of at most MOST_CODE bytes. */
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

/* A jump leads between the last store and the PC: the core may have jumped from there. */
static bool is_joined(const struct search *search)
{
    struct extent extent = {0, 0};
    struct code_instruction one;
    if (table_around(search->symbols, search->pc, &extent) == NULL)
        return true;
    struct code_walk walk = {.symbols = search->symbols, .low = extent.low, .high = extent.high};
    while (code_next(&walk, &one)) {
        uint64_t to = one.isa == ISA_THUMB ? code_decode(&one).target : 0;
        if (to > search->last && to <= search->pc)
            return true;
    }
    return false;
}

static void add_function(struct search *search, uint64_t inside)
{
    struct extent extent;
    if (search->n_entries == MOST_FUNCTIONS || table_around(search->symbols, inside, &extent) == NULL)
        return;
    for (size_t i = 0; i < search->n_entries; i++)
        if (search->entries[i] == extent.low)
            return;
    search->entries[search->n_entries++] = extent.low;
}

static void add_entered(struct search *search, const struct instruction *does)
{
    if (does->kind == GOES_CALL || (does->kind == GOES_JUMP && !does->conditional))
        add_function(search, does->target);
}

static void search_function(struct search *search, uint64_t entry, bool is_first)
{
    struct extent extent = {0, 0};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    size_t since = 0;
    if (table_around(search->symbols, entry, &extent) == NULL || extent.high - extent.low > MOST_CODE)
        return;
    struct code_walk walk = {.symbols = search->symbols, .low = extent.low, .high = extent.high};
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool hits = constants_follow(&constants, search->symbols, &one, &does, search->word);
        bool was_called = is_first && one.address + one.size == search->back,
             before = one.address < search->pc;
        if (one.is_data || one.isa != ISA_THUMB)
            continue;
        if (is_first && before && ++since > NEAR)
            search->has_last = false;
        if (was_called) /* after a store before the call, the core would have stopped in the callee */
            search->has_last = false;
        if (was_called || !is_first)
            add_entered(search, &does);
        if (hits)
            search->any = one.address;
        search->n += hits;
        if (!hits && is_first && before && does.access == ACCESS_STORE) {
            does.offset -= does.moves; /* the base has been moved */
            hits = store_hits(&does, search->registers, search->word);
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
        struct instruction does = code_decode(&one);
        bool hits = constants_follow(&constants, search->symbols, &one, &does, search->word);
        if (left-- > NEAR + 1)
            continue;
        if (one.address + one.size < search->back)
            add_entered(search, &does);
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
                            .pc = registers[ARM_PC],
                            .back = registers[ARM_LR] & ~UINT64_C(1)};
    add_function(&search, registers[ARM_PC]);
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
