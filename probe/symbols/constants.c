#include "symbols/constants.h"

uint64_t thumb_jump(const struct code_instruction *one)
{
    enum { ALWAYS = 0xE };
    uint32_t code = one->code, sign = code >> 26 & 1;
    uint32_t bits = sign << 20 | (code >> 11 & 1) << 19 | (code >> 13 & 1) << 18 | (code >> 16 & 0x3F) << 12 |
                    (code & 0x7FF) << 1;
    if (one->size == 2 && code >> 12 == 0xD && (code >> 8 & 0xF) < ALWAYS)
        return one->address + 4 + (uint64_t)(int64_t)((int32_t)(code << 24) >> 23);
    if (one->size == 2 && (code & 0xF500) == 0xB100)
        return one->address + 4 + ((code >> 9 & 1) << 6 | (code >> 3 & 0x1F) << 1);
    if (one->size == 4 && (code & 0xF800D000) == 0xF0008000 && (code >> 22 & 0xF) < ALWAYS)
        return one->address + 4 + (uint64_t)(int64_t)((int32_t)(bits << 11) >> 11);
    return code_branch(one);
}

static void forget(struct constants_known *constants, uint32_t registers)
{
    constants->known &= ~registers;
}

static void set(struct constants_known *constants, unsigned which, bool known, uint32_t value)
{
    constants->known = (constants->known & ~(1U << which)) | (uint32_t)known << which;
    constants->values[which] = value;
}

static void load(struct constants_known *constants, struct symbols *symbols, unsigned which, uint64_t from)
{
    size_t n = 0;
    unsigned size;
    const uint8_t *bytes = elf_code(symbols, from, &n);
    set(constants, which, bytes != NULL && n >= 4,
        bytes != NULL && n >= 4 ? code_at(symbols, bytes, 4, false, &size) : 0);
}

static void sum(struct constants_known *constants, unsigned to, unsigned from, uint32_t number)
{
    set(constants, to, constants_know(constants, from), constants->values[from] + number);
}

enum { CALL_CHANGES = 0x500F };

/* The registers that an instruction changes, DDI 0403 A5.2: of those that follow_narrow does not follow. */
static uint32_t narrow_changes(uint32_t code)
{
    enum { TST = 8, CMP = 10, CMN = 11 };
    uint32_t low = 1U << (code & 7), high = 1U << (code >> 8 & 7), operation = code >> 6 & 0xF;
    if (code >> 10 == 0x10) /* data processing */
        return operation == TST || operation == CMP || operation == CMN ? 0 : low;
    switch (code >> 8) {
    case 0x44: /* ADD */
        return 1U << ((code & 7) | (code >> 4 & 8));
    case 0x45: /* CMP */
        return 0;
    case 0x47: /* BX, BLX */
        return (code & 0x80) != 0 ? CALL_CHANGES : 0;
    case 0xB2: /* SXTH and its kin */
    case 0xBA: /* REV and its kin */
        return low;
    default:
        break;
    }
    switch (code >> 12) {
    case 0x2: /* CMP; the others are followed */
    case 0xB: /* ADD to SP, CBZ, PUSH, CPS, BKPT, IT, hints */
    case 0xD:
    case 0xE: /* branches */
        return 0;
    case 0x9: /* LDR from the stack */
    case 0xA: /* ADR, ADD to SP */
        return high;
    default: /* shifts, ADD, SUB, loads */
        return low;
    }
}

/* DDI 0403 A5.2: instructions that give a register a constant; any other forgets the registers it changes. */
static void follow_narrow(struct constants_known *constants, struct symbols *symbols, uint64_t at,
                          uint32_t code)
{
    unsigned low = code & 7, middle = code >> 3 & 7, high = code >> 8 & 7, number = code & 0xFF;
    if (code >> 11 == 0x9) { /* LDR of a literal */
        load(constants, symbols, high, ((at + 4) & ~UINT64_C(3)) + UINT64_C(4) * number);
    } else if (code >> 11 == 0x4) { /* MOVS */
        set(constants, high, true, number);
    } else if (code >> 11 == 0) { /* LSLS */
        set(constants, low, constants_know(constants, middle),
            constants->values[middle] << (code >> 6 & 0x1F));
    } else if (code >> 11 == 0x6 || code >> 11 == 0x7) { /* ADDS, SUBS */
        sum(constants, high, high, code >> 11 == 0x6 ? number : 0U - number);
    } else if (code >> 9 == 0xE || code >> 9 == 0xF) {
        sum(constants, low, middle, code >> 9 == 0xE ? code >> 6 & 7 : 0U - (code >> 6 & 7));
    } else if (code >> 8 == 0x46) { /* MOV */
        sum(constants, low | (code >> 4 & 8), code >> 3 & 0xF, 0);
    } else if (code >> 12 == 0xC || code >> 9 == 0x5E) { /* LDM, POP */
        forget(constants, (code & 0xFF) | 1U << high);
    } else {
        forget(constants, narrow_changes(code));
    }
}

uint32_t thumb_immediate(uint32_t first, uint32_t second)
{
    uint32_t number = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | (second & 0xFF);
    uint32_t byte = number & 0xFF, turned = 0x80 | (number & 0x7F);
    switch (number >> 8) {
    case 0:
        return byte;
    case 1:
        return byte << 16 | byte;
    case 2:
        return byte << 24 | byte << 8;
    case 3:
        return byte * 0x01010101U;
    default:
        return turned >> (number >> 7) | turned << (32 - (number >> 7));
    }
}

static void follow_wide(struct constants_known *constants, struct symbols *symbols, uint64_t at,
                        uint32_t code)
{
    uint32_t first = code >> 16, second = code & 0xFFFF, group = first & 0xFBF0, to = second >> 8 & 0xF;
    uint32_t plain12 = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | (second & 0xFF);
    bool number = (first & 0xF800) == 0xF000 && (second & 0x8000) == 0;
    if ((first & 0xFF7F) == 0xF85F) { /* LDR of a literal */
        uint64_t base = (at + 4) & ~UINT64_C(3);
        load(constants, symbols, second >> 12,
             first & 0x80 ? base + (second & 0xFFF) : base - (second & 0xFFF));
    } else if (number && (first & 0xFBEF) == 0xF04F) { /* MOV */
        set(constants, to, true, thumb_immediate(first, second));
    } else if (number && group == 0xF240) { /* MOVW */
        set(constants, to, true, (first & 0xF) << 12 | plain12);
    } else if (number && group == 0xF2C0) { /* MOVT */
        set(constants, to, constants_know(constants, to),
            (constants->values[to] & 0xFFFF) | (first & 0xF) << 28 | plain12 << 16);
    } else if (number && (group == 0xF100 || group == 0xF110)) { /* ADD */
        sum(constants, to, first & 0xF, thumb_immediate(first, second));
    } else if (number && (group == 0xF1A0 || group == 0xF1B0)) { /* SUB */
        sum(constants, to, first & 0xF, 0U - thumb_immediate(first, second));
    } else if ((code & 0xF800D000) == 0xF000D000) { /* BL */
        forget(constants, CALL_CHANGES);
    } else if ((code & 0xF800D000) == 0xF0009000) { /* B changes none */
    } else if ((first & 0xFE50) == 0xE810) {        /* LDM */
        forget(constants, second | 1U << (first & 0xF));
    } else {
        forget(constants, 1U << to | 1U << (second >> 12));
    }
}

/* At the target of forward jumps the constants are known on which all ways to it agree. */
static void merge(struct constants_known *into, const struct constants_known *other)
{
    for (unsigned i = 0; i < 16; i++)
        if (into->values[i] != other->values[i])
            into->known &= ~(1U << i);
    into->known &= other->known;
}

static void leave(struct constants *constants, uint64_t to)
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

static void jump(struct constants *constants, const struct code_instruction *one)
{
    uint32_t code = one->code;
    bool always = one->size == 2 ? code >> 11 == 0x1C || code >> 8 == 0xBD || (code & 0xFF87) == 0x4700
                                 : (code & 0xF800D000) == 0xF0009000;
    bool calls = one->size == 4 && (code & 0xF800D000) == 0xF000D000;
    uint64_t to = calls ? 0 : thumb_jump(one);
    if (to > one->address)
        leave(constants, to);
    if (always) {
        constants->now.known = 0;
        constants->passed = true;
    }
}

bool constants_follow(struct constants *constants, struct symbols *symbols,
                      const struct code_instruction *one, uint64_t word)
{
    struct store store;
    if (one->is_first)
        *constants = (struct constants){.n = 0};
    constants_arrive(constants, one->address);
    if (one->is_data || one->isa != ISA_THUMB)
        return false;
    if (!store_of(one->code, &store)) {
        if (one->size == 4)
            follow_wide(&constants->now, symbols, one->address, one->code);
        else
            follow_narrow(&constants->now, symbols, one->address, one->code);
        jump(constants, one);
        return false;
    }
    bool hits = constants_know(&constants->now, store.base) && constants_know(&constants->now, store.index) &&
                store_hits(&store, constants->now.values, word);
    if (store.moves != 0)
        sum(&constants->now, store.base, store.base, (uint32_t)store.moves);
    return hits;
}
