#include "symbols/constants.h"

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
static void follow(struct constants_known *constants, struct symbols *symbols, uint64_t at,
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
static void merge(struct constants_known *into, const struct constants_known *other)
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
        merge(&constants->landings[i].known, &constants->now);
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
            merge(&constants->now, &constants->landings[i].known);
        constants->passed = constants->passed && constants->landings[i].at != at;
        constants->landings[i--] = constants->landings[--constants->n];
    }
}

static void jump(struct constants *constants, uint64_t at, const struct instruction *does)
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
    follow(&constants->now, symbols, one->address, does);
    jump(constants, one->address, does);
    return hits;
}
