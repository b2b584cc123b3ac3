/* SPDX-License-Identifier: MIT */
/* A word that a function increments once, whichever way it goes, or sometimes: each way from its first
 * instruction is followed to the store, also into callees. */
#include "symbols/internal.h"

enum {
    ADDS_MOST = 256,
    DEPTH_MOST = 12,
    CALLS_CHANGE = 0x500F,
    ADD_SHORT = 0x0C,
    ADD_HIGH = 0x44,
    ADD_WIDE = 0x758
};

struct adding {
    struct symbols *symbols;
    const struct symbols_addend *addend;
    uint64_t place; /* of the one store */
    struct constants constants;
    uint32_t holds, is_by; /* registers that have the word, with added[] in it; that have the addend */
    uint32_t added[16];
    unsigned n; /* instructions followed */
    unsigned depth;
};

static bool calls_place(struct adding *self, uint64_t target)
{
    struct extent callee = {.low = target};
    size_t which = 0;
    return symbols_reach(self->symbols, &callee, 1, &self->place, 1, &which);
}

enum { PARTS_MOST = 32 };

/* Whether what follows an instruction of a function may lead to it once more, or to the store by a call. */
static bool adds_again(struct adding *self, uint64_t at, uint64_t after)
{
    uint64_t parts[PARTS_MOST] = {after}, end = table_next_function(self->symbols, at, UINT64_MAX);
    size_t n = 1, followed = 0;
    for (size_t part = 0; part < n; part++) {
        struct code_walk walk = {.symbols = self->symbols, .low = parts[part], .high = end};
        struct code_instruction one;
        while (code_next(&walk, &one)) {
            struct instruction does = code_decode(&one);
            bool jumps = does.kind == GOES_JUMP, known = false;
            if (one.is_data || one.address == at || followed++ > ADDS_MOST || does.kind == GOES_CALL_BY ||
                does.kind == GOES_AWAY || does.kind == GOES_TABLE ||
                ((does.kind == GOES_CALL ||
                  (jumps && (does.target < at - ADDS_MOST || does.target >= end))) &&
                 calls_place(self, does.target)))
                return true;
            for (size_t i = 0; jumps && i < n; i++)
                known = known || parts[i] == does.target;
            if (jumps && !known && n == PARTS_MOST)
                return true;
            if (jumps && !known && does.target < end)
                parts[n++] = does.target;
            if (instruction_leaves(&does))
                break;
        }
    }
    return false;
}

static bool adds_loads(const struct instruction *does, const struct constants_known *now, uint64_t word)
{
    return does->access == ACCESS_LOAD && word != 0 && does->base < ARM_PC &&
           constants_know(now, does->base) && constants_know(now, does->index) &&
           store_hits(does, now->values, word);
}

/* Of two registers. The reader says for such results only that they depend on both. */
static bool is_sum(const struct code_instruction *one)
{
    return one->size == 2 ? one->code >> 9 == ADD_SHORT || one->code >> 8 == ADD_HIGH
                          : one->code >> 21 == ADD_WIDE && (one->code & 0x70F0) == 0;
}

static bool adds_holds(uint32_t registers, unsigned which)
{
    return which < 16 && (registers & 1U << which) != 0;
}

/* What becomes of the word's value in the registers. */
static void adds_follow(struct adding *self, const struct code_instruction *one,
                        const struct instruction *does)
{
    const struct constants_known before = self->constants.now;
    uint32_t holds = self->holds, is_by = self->is_by;
    uint32_t changed = instruction_calls(does) ? CALLS_CHANGE : does->writes;
    bool single = does->list != 0 && (does->list & (does->list - 1)) == 0;
    self->constants.now = constants_taken(&self->constants, self->symbols, one, does);
    self->holds &= ~changed;
    self->is_by &= ~changed;
    if (single && adds_loads(does, &before, self->addend->word) && does->bytes == self->addend->size) {
        self->holds |= does->list;
        self->added[__builtin_ctz(does->list)] = 0;
    } else if (single && adds_loads(does, &before, self->addend->by_word)) {
        self->is_by |= does->list;
    } else if (does->gives == GIVES_SUM && does->to < 16 && adds_holds(holds, does->from)) {
        self->holds |= 1U << does->to;
        self->added[does->to] = self->added[does->from] + does->number;
    } else if (does->gives == GIVES_SUM && does->to < 16 && does->number == 0 &&
               adds_holds(is_by, does->from)) {
        self->is_by |= 1U << does->to;
    } else if (does->gives == GIVES_OTHER && does->to < 16 && is_sum(one)) {
        bool first = adds_holds(holds, does->from) && adds_holds(is_by, does->with);
        bool second = adds_holds(is_by, does->from) && adds_holds(holds, does->with);
        unsigned from = first ? does->from : does->with;
        if ((first || second) && self->added[from] == 0) {
            self->holds |= 1U << does->to;
            self->added[does->to] = (uint32_t)self->addend->by;
        }
    }
}

static bool adds_right(const struct adding *self, const struct instruction *does)
{
    unsigned which = does->list != 0 ? (unsigned)__builtin_ctz(does->list) : 0;
    return does->access == ACCESS_STORE && does->list == 1U << which && does->bytes == self->addend->size &&
           adds_holds(self->holds, which) && self->added[which] == (uint32_t)self->addend->by;
}

static enum symbols_adds join_ways(enum symbols_adds one, enum symbols_adds other)
{
    if (one == ADDS_UNSURE || other == ADDS_UNSURE)
        return ADDS_UNSURE;
    return one == other ? one : ADDS_SOMETIMES;
}

static enum symbols_adds adds_walk(struct adding *self, uint64_t at);

/* The way of a branch that is taken; *self goes on as if it were not. */
static enum symbols_adds adds_branch(struct adding *self, uint64_t target)
{
    struct adding taken = *self;
    enum symbols_adds end = adds_walk(&taken, target);
    self->n = taken.n;
    return end;
}

static enum symbols_adds adds_store(struct adding *self, const struct code_instruction *one,
                                    const struct instruction *does)
{
    return adds_right(self, does) && !adds_again(self, one->address, one->address + one->size) ? ADDS_ONCE
                                                                                               : ADDS_UNSURE;
}

static enum symbols_adds adds_walk(struct adding *self, uint64_t at)
{
    struct code_walk walk = {.symbols = self->symbols, .low = at, .high = UINT64_MAX};
    struct code_instruction one;
    enum symbols_adds branches = ADDS_UNSURE, end = ADDS_UNSURE;
    bool has_branches = false;
    if (self->depth++ >= DEPTH_MOST)
        return ADDS_UNSURE;
    while (code_next(&walk, &one) && self->n++ < ADDS_MOST) {
        struct instruction does = code_decode(&one);
        if (one.is_data || one.isa != ISA_THUMB || does.kind == GOES_IT)
            break;
        if (does.conditional && does.kind == GOES_JUMP) {
            enum symbols_adds way = adds_branch(self, does.target);
            branches = has_branches ? join_ways(branches, way) : way;
            has_branches = true;
            continue;
        }
        if (does.conditional)
            break;
        if (one.address == self->place) {
            end = adds_store(self, &one, &does);
            break;
        }
        if (does.kind == GOES_BACK) {
            end = ADDS_NOT;
            break;
        }
        if (does.kind == GOES_CALL && calls_place(self, does.target)) {
            end = adds_walk(self, does.target);
            if (end != ADDS_NOT && adds_again(self, one.address, one.address + one.size))
                end = ADDS_UNSURE;
            if (end != ADDS_NOT)
                break;
            end = ADDS_UNSURE;
            continue;
        }
        if (does.kind == GOES_JUMP) {
            walk = (struct code_walk){.symbols = self->symbols, .low = does.target, .high = UINT64_MAX};
            continue;
        }
        if (instruction_leaves(&does) || does.kind == GOES_SUPERVISOR || does.kind == GOES_CALL_BY)
            break;
        adds_follow(self, &one, &does);
    }
    self->depth--;
    return has_branches ? join_ways(branches, end) : end;
}

enum symbols_adds symbols_adds(struct symbols *symbols, uint64_t function, uint64_t place,
                               const struct symbols_addend *addend)
{
    struct adding self = {.symbols = symbols, .addend = addend, .place = place};
    return symbols->machine == EM_ARM ? adds_walk(&self, function) : ADDS_UNSURE;
}
