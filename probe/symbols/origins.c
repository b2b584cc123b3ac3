/* SPDX-License-Identifier: MIT */
/*
 * What the base of a Cortex-M's store may be: a constant of the private region, which is where
 * counters' registers are, or surely not: then it is the stack pointer, an argument, or was loaded from
 * memory.
 */
#include "symbols/internal.h"

#include <stdlib.h>

enum { PRIVATE_REGION = 0xE, MOST_BYTES = 1 << 16 };
/* Bits of a state, which is what holds before an instruction: one a register that may have such a constant;
 * REACHED; one a register that may have been made of the stack pointer. */
enum { REACHED = 1 << 15, ON_STACK = 16 };

static bool is_private(uint32_t value)
{
    return value >> 28 == PRIVATE_REGION;
}

/* --- constants in memory -------------------------------------------------------------------------------- */

static bool pointers_add(struct pointers *pointers, uint32_t at, uint32_t value)
{
    if (pointers->n == pointers->room) {
        size_t room = pointers->room == 0 ? 64 : 2 * pointers->room;
        struct pointer *items = realloc(pointers->items, room * sizeof *items);
        if (items == NULL)
            return false;
        pointers->items = items;
        pointers->room = room;
    }
    pointers->items[pointers->n++] = (struct pointer){.at = at, .value = value};
    return true;
}

void pointers_find(struct pointers *pointers, struct symbols *symbols)
{
    enum { SIZE = sizeof(uint32_t) };
    size_t n = 0;
    unsigned ignored;
    uint64_t base = 0;
    const uint8_t *bytes = NULL;
    *pointers = (struct pointers){.n = 0};
    for (Elf_Scn *section = NULL; (section = elf_next_bytes(symbols, section, &base, &bytes, &n)) != NULL;)
        for (size_t i = -base & (SIZE - 1); i + SIZE <= n; i += SIZE) {
            uint32_t value = code_at(symbols, bytes + i, n - i, false, &ignored);
            if (is_private(value) && !pointers_add(pointers, (uint32_t)(base + i), value))
                return;
        }
}

void pointers_close(struct pointers *pointers)
{
    free(pointers->items);
    *pointers = (struct pointers){.n = 0};
}

const struct pointer *pointers_loaded(const struct pointers *pointers, const struct pointer *after,
                                      const struct instruction *load, const struct constants_known *before)
{
    enum { TABLE = 256 };
    if (load->access != ACCESS_LOAD || load->base >= ARM_PC || !constants_know(before, load->base))
        return NULL;
    uint32_t at = before->values[load->base] + (uint32_t)load->offset;
    uint32_t bytes = load->index == NO_REGISTER ? load->bytes : TABLE;
    for (size_t i = after == NULL ? 0 : (size_t)(after - pointers->items) + 1; i < pointers->n; i++)
        if (pointers->items[i].at - at < bytes)
            return &pointers->items[i];
    return NULL;
}

/* --- through one function ------------------------------------------------------------------------------- */

static bool in_state(uint32_t state, unsigned which)
{
    return which < ARM_PC && which != ARM_SP && (state >> which & 1) != 0;
}

static bool on_stack(uint32_t state, unsigned which)
{
    return which == ARM_SP || (which < ARM_PC && (state >> (ON_STACK + which) & 1) != 0);
}

/* A constant that is kept on the stack: by the register that leads there, as compilers do. */
static void spill(struct origins *origins, uint32_t state, const struct instruction *store)
{
    int32_t offset = store->offset;
    for (uint32_t left = store->list; left != 0; left &= left - 1, offset += 4) {
        if (!in_state(state, (unsigned)__builtin_ctz(left)))
            continue;
        if (origins->n_spills < ORIGINS_SPILLS)
            origins->spills[origins->n_spills] = (struct spill){.base = store->base, .offset = offset};
        origins->n_spills += origins->n_spills <= ORIGINS_SPILLS;
    }
}

static bool is_spilled(const struct origins *origins, const struct instruction *load, unsigned which)
{
    int32_t offset = load->offset;
    offset += 4 * __builtin_popcount(load->list & ((1U << which) - 1));
    if (load->index != NO_REGISTER || origins->n_spills > ORIGINS_SPILLS)
        return origins->n_spills > 0;
    for (size_t i = 0; i < origins->n_spills; i++)
        if (origins->spills[i].base == load->base && origins->spills[i].offset == offset)
            return true;
    return false;
}

/* Whether a register that the instruction changes may have such a constant after it. */
static bool may_become(const struct origins *origins, uint32_t state, const struct instruction *does,
                       unsigned which, const struct constants_known *before)
{
    if (instruction_calls(does))
        return false;
    if (does->access == ACCESS_LOAD && (does->list >> which & 1) != 0)
        return on_stack(state, does->base) ? is_spilled(origins, does, which)
                                           : pointers_loaded(origins->pointers, NULL, does, before) != NULL;
    if (does->access != ACCESS_NONE)
        return in_state(state, which); /* the base moves on */
    return in_state(state, does->from) || in_state(state, does->with);
}

static uint32_t state_after(const struct origins *origins, uint32_t state, const struct instruction *does,
                            const struct constants_known *before, const struct constants_known *after)
{
    enum { OF_CALLS = 0x500F };
    uint32_t next = state;
    for (uint32_t left = (instruction_calls(does) ? OF_CALLS : does->writes) & 0x7FFF; left != 0;
         left &= left - 1) {
        unsigned which = (unsigned)__builtin_ctz(left);
        bool known = constants_know(after, which);
        bool may = known ? is_private(after->values[which]) : may_become(origins, state, does, which, before);
        bool stack = !known && does->access == ACCESS_NONE &&
                     (on_stack(state, does->from) || on_stack(state, does->with));
        next &= ~(1U << which | 1U << (ON_STACK + which));
        next |= (uint32_t)may << which | (uint32_t)stack << (ON_STACK + which);
    }
    return next;
}

static bool add_state(struct origins *origins, uint64_t address, uint32_t state)
{
    if (address < origins->low || address >= origins->high)
        return false;
    uint32_t *at = &origins->states[(address - origins->low) / 2], before = *at;
    *at |= state;
    return *at != before;
}

/* True: something was new. `all`: also where no way is seen to lead, as to the cases of a table; there
 * anything may hold that holds anywhere. *unseen: there is such code. */
static bool origins_pass(struct origins *origins, bool all, bool *unseen)
{
    struct code_walk walk = {.symbols = origins->symbols, .low = origins->low, .high = origins->high};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    uint32_t state = REACHED;
    unsigned conditional = 0; /* that many, after an IT */
    bool is_new = false;
    *unseen = false;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        constants_arrive(&constants, one.address);
        const struct constants_known before = constants.now,
                                     taken = constants_taken(&constants, origins->symbols, &one, &does);
        (void)constants_follow(&constants, origins->symbols, &one, &does, UINT64_MAX);
        if (one.is_data || one.isa != ISA_THUMB) {
            state = 0;
            continue;
        }
        is_new |= add_state(origins, one.address, state);
        state = origins->states[(one.address - origins->low) / 2];
        *unseen = *unseen || (state & REACHED) == 0;
        if ((state & REACHED) == 0 && all)
            is_new |= add_state(origins, one.address, state = origins->ever | REACHED);
        if ((state & REACHED) == 0)
            continue;
        if (does.access == ACCESS_STORE && on_stack(state, does.base))
            spill(origins, state, &does);
        uint32_t next = state_after(origins, state, &does, &before, &taken);
        next |= conditional > 0 || does.conditional ? state : 0;
        if (does.kind == GOES_JUMP)
            is_new |= add_state(origins, does.target, next);
        state = instruction_leaves(&does) && conditional == 0 ? 0 : next;
        conditional = does.kind == GOES_IT ? does.number : conditional - (conditional > 0);
        origins->ever |= next;
    }
    return is_new;
}

void origins_begin(struct origins *origins, struct symbols *symbols, const struct pointers *pointers,
                   uint64_t low, uint64_t high)
{
    free(origins->states);
    high = high - low > MOST_BYTES ? low + MOST_BYTES : high;
    *origins = (struct origins){.symbols = symbols, .pointers = pointers, .low = low, .high = high};
}

static void origins_follow(struct origins *origins)
{
    bool unseen = false;
    origins->followed = true;
    origins->states = calloc((size_t)(origins->high - origins->low) / 2 + 1, sizeof *origins->states);
    if (origins->states == NULL)
        return;
    for (int all = 0; all < 2 && (all == 0 || unseen); all++)
        while (origins_pass(origins, all != 0, &unseen))
            ;
}

bool origins_may_be_constant(struct origins *origins, uint64_t address, unsigned base)
{
    if (!origins->followed)
        origins_follow(origins);
    return origins->states == NULL || address < origins->low || address >= origins->high ||
           in_state(origins->states[(address - origins->low) / 2], base);
}

void origins_close(struct origins *origins)
{
    free(origins->states);
    *origins = (struct origins){.n_spills = 0};
}
