/*
 * Which instruction of the program writes to a place: a Cortex-M's stores to a word, by the constants in the
 * code or by the registers of a core that stopped just after one.
 */
#include "symbols/internal.h"

#include <stdio.h>
#include <string.h>

bool store_hits(const struct instruction *store, const uint32_t *registers, uint64_t word)
{
    uint32_t from = registers[store->base] + (uint32_t)store->offset;
    if (store->index != NO_REGISTER)
        from += registers[store->index] << store->shift;
    return from < word + 4 && word < (uint64_t)from + store->bytes;
}

/* --- constants ------------------------------------------------------------------------------------------ */

static void set(struct constants_known *constants, unsigned which, bool known, uint32_t value)
{
    constants->known = (constants->known & ~(1U << which)) | (uint32_t)known << which;
    constants->values[which] = value;
}

static void constants_load(struct constants_known *constants, struct symbols *symbols, unsigned which,
                           uint64_t from)
{
    size_t n = 0;
    unsigned size;
    const uint8_t *bytes = elf_code(symbols, from, &n);
    set(constants, which, bytes != NULL && n >= 4,
        bytes != NULL && n >= 4 ? code_at(symbols, bytes, 4, false, &size) : 0);
}

/* A callee may change R0 to R3, R12 and LR. */
enum { CALL_CHANGES = 0x500F };

/* What gives a register a constant; any other instruction forgets the registers it changes. */
static void stores_follow(struct constants_known *constants, struct symbols *symbols, uint64_t at,
                          const struct instruction *does)
{
    unsigned to = does->to, from = does->gives == GIVES_TOP ? to : does->from;
    bool known = from < ARM_PC && constants_know(constants, from);
    bool knows_base = does->base < ARM_PC && constants_know(constants, does->base);
    uint32_t value = known ? constants->values[from] : 0;
    uint32_t base = knows_base ? constants->values[does->base] : 0;
    constants->known &= ~(instruction_calls(does) ? CALL_CHANGES : does->writes);
    if (does->moves != 0 && does->base < ARM_PC)
        set(constants, does->base, knows_base, base + (uint32_t)does->moves);
    if (does->access == ACCESS_LOAD && does->base == ARM_PC && does->bytes == 4 && does->list != 0)
        constants_load(constants, symbols, (unsigned)__builtin_ctz(does->list),
                       ((at + 4) & ~UINT64_C(3)) + (uint64_t)(int64_t)does->offset);
    else if (does->gives == GIVES_NUMBER)
        set(constants, to, true, does->number);
    else if (does->gives == GIVES_SUM)
        set(constants, to, known, value + does->number);
    else if (does->gives == GIVES_SHIFT)
        set(constants, to, known, value << does->number);
    else if (does->gives == GIVES_TOP)
        set(constants, to, known, (value & 0xFFFF) | does->number << 16);
}

/* At the target of forward jumps the constants are known on which all ways to it agree. */
static void stores_merge(struct constants_known *into, const struct constants_known *other)
{
    for (unsigned i = 0; i < 16; i++)
        if (into->values[i] != other->values[i])
            into->known &= ~(1U << i);
    into->known &= other->known;
}

static void constants_leave(struct constants *constants, uint64_t to)
{
    size_t i = 0;
    while (i < constants->n && constants->landings[i].at != to)
        i++;
    if (i == LANDINGS)
        return;
    if (i < constants->n) {
        stores_merge(&constants->landings[i].known, &constants->now);
        return;
    }
    constants->landings[constants->n++] = (struct landing){.at = to, .known = constants->now};
}

void constants_arrive(struct constants *constants, uint64_t at)
{
    for (size_t i = 0; i < constants->n; i++) {
        if (constants->landings[i].at > at)
            continue;
        if (constants->landings[i].at == at && constants->passed)
            constants->now = constants->landings[i].known;
        else if (constants->landings[i].at == at)
            stores_merge(&constants->now, &constants->landings[i].known);
        constants->passed = constants->passed && constants->landings[i].at != at;
        constants->landings[i--] = constants->landings[--constants->n];
    }
}

static void stores_jump(struct constants *constants, uint64_t at, const struct instruction *does)
{
    if (does->kind == GOES_JUMP && does->target > at)
        constants_leave(constants, does->target);
    if (instruction_leaves(does)) {
        constants->now.known = 0;
        constants->passed = true;
    }
}

bool constants_follow(struct constants *constants, struct symbols *symbols,
                      const struct code_instruction *one, const struct instruction *does, uint64_t word)
{
    if (one->is_first)
        *constants = (struct constants){.n = 0};
    constants_arrive(constants, one->address);
    if (one->is_data || one->isa != ISA_THUMB)
        return false;
    bool hits = does->access == ACCESS_STORE && constants_know(&constants->now, does->base) &&
                constants_know(&constants->now, does->index) && store_hits(does, constants->now.values, word);
    stores_follow(&constants->now, symbols, one->address, does);
    stores_jump(constants, one->address, does);
    return hits;
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

static void stores_add_function(struct search *search, uint64_t inside)
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
        stores_add_function(search, does->target);
}

static void stores_search_function(struct search *search, uint64_t entry, bool is_first)
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
    stores_add_function(&search, registers[ARM_PC]);
    search_caller(&search);
    for (size_t i = 0; i < search.n_entries && !search.has_last; i++)
        stores_search_function(&search, search.entries[i], i == 0);
    if (search.has_last && search.n > 1 && is_joined(&search))
        return false;
    if (!search.has_last && search.n != 1)
        return false;
    *at = search.has_last ? search.last : search.any;
    return true;
}
