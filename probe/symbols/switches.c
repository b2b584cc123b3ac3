/*
 * Which instructions of the program write to a counter's registers: an A or R core's to its PMU, and any
 * core's that may start a counter.
 */
#include "symbols/constants.h"

#include <stdio.h>
#include <string.h>

/* --- writes to the PMU of an A or R core --------------------------------------------------------------- */

enum { MCR = 0x0E000F10, MCR_MASK = 0x0F100F10, MCRR = 0x0C400F00, MCRR_MASK = 0x0FF00F00 };
enum { MSR = 0xD5100000, MSR_MASK = 0xFFF00000 };
enum { NO_CONDITION = 0xF, MONITOR = 9, NUMBERED = 14 };

/* By CRn, CRm and opc2, which are the same in both: DDI 0406C table C12-10, DDI 0487 D13.4 (A64) and G8.4.
 * Of the numbered registers, CRm has the upper bits of the number. */
static bool name_register(unsigned crn, unsigned crm, unsigned opc2, char *out, size_t size)
{
    static const struct {
        uint8_t crm, opc2;
        const char *name;
    } names[] = {{12, 0, "PMCR"},    {12, 1, "PMCNTENSET"}, {12, 2, "PMCNTENCLR"}, {12, 5, "PMSELR"},
                 {13, 0, "PMCCNTR"}, {13, 1, "PMXEVTYPER"}, {13, 2, "PMXEVCNTR"}};
    enum { COUNTERS = 8, TYPES = 12, FILTER = 31 };
    if (crn == NUMBERED && crm >= COUNTERS) {
        unsigned n = (crm & 3) << 3 | opc2;
        if (n == FILTER && crm >= TYPES)
            snprintf(out, size, "PMCCFILTR");
        else if (n < FILTER)
            snprintf(out, size, "PMEV%s%u", crm >= TYPES ? "TYPER" : "CNTR", n);
        return n < FILTER || crm >= TYPES;
    }
    for (size_t i = 0; crn == MONITOR && i < sizeof names / sizeof *names; i++)
        if (names[i].crm == crm && names[i].opc2 == opc2) {
            snprintf(out, size, "%s", names[i].name);
            return true;
        }
    return false;
}

/* MCR and MCRR, DDI 0406C A8.8.98 and A8.8.99: the same words in both instruction sets. */
static bool aarch32_writes(uint32_t code, bool thumb, char *out, size_t size)
{
    if (thumb ? code >> 28 != 0xE : code >> 28 == NO_CONDITION)
        return false;
    if ((code & MCRR_MASK) == MCRR && (code & 0xF) == MONITOR && (code >> 4 & 0xF) == 0) {
        snprintf(out, size, "PMCCNTR");
        return true;
    }
    return (code & MCR_MASK) == MCR && (code >> 21 & 7) == 0 &&
           name_register(code >> 16 & 0xF, code & 0xF, code >> 5 & 7, out, size);
}

/* MSR (register), DDI 0487 C5.2 and C6.2: op0 3, op1 3 */
static bool a64_writes(uint32_t code, char *out, size_t size)
{
    enum { OP1 = 3 };
    return (code & MSR_MASK) == MSR && (code >> 19 & 1) == 1 && (code >> 16 & 7) == OP1 &&
           name_register(code >> 12 & 0xF, code >> 8 & 0xF, code >> 5 & 7, out, size);
}

/* The registers that change the cycle counter at once come first, and `named` or its SET or CLR twin before
 * all. */
static unsigned rank_of(const char *name, const char *named)
{
    static const char *const telling[] = {"PMCCNTR", "PMCR", "PMCNTENCLR", "PMCNTENSET", "PMCCFILTR"};
    static const char enables[] = "PMCNTEN";
    enum { ALL = sizeof telling / sizeof *telling };
    if (named != NULL && (strcmp(name, named) == 0 || (strncmp(name, enables, sizeof enables - 1) == 0 &&
                                                       strncmp(named, enables, sizeof enables - 1) == 0)))
        return 0;
    for (unsigned i = 0; i < ALL; i++)
        if (strcmp(name, telling[i]) == 0)
            return i + 1;
    return ALL + 1;
}

/* Inserts by rank; without room the last one is dropped. */
static void offer(struct counter_write *out, size_t n, size_t room, const struct counter_write *one)
{
    size_t to = n < room ? n : room;
    if (to == room && (room == 0 || out[room - 1].rank <= one->rank))
        return;
    to -= to == room;
    for (; to > 0 && out[to - 1].rank > one->rank; to--)
        out[to] = out[to - 1];
    out[to] = *one;
}

size_t symbols_counter_writes(struct symbols *symbols, const char *named, struct counter_write *out,
                              size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        struct counter_write found = {.address = one.address};
        bool writes = one.isa == ISA_A64
                          ? a64_writes(one.code, found.name, sizeof found.name)
                          : aarch32_writes(one.code, one.isa == ISA_THUMB, found.name, sizeof found.name);
        if (one.is_data || one.isa == ISA_OTHER || !writes)
            continue;
        found.rank = rank_of(found.name, named);
        offer(out, n++, room, &found);
    }
    return n;
}

/* --- what starts a counter ------------------------------------------------------------------------------ */

/* A register's value is followed back through this many instructions. */
enum { TRAIL = 24 };

struct trail {
    struct code_instruction items[TRAIL];
    struct constants_known known[TRAIL]; /* after each */
    size_t n, next;                      /* where the next one goes */
};

/* The nth before the end, from 1 to trail->n. */
static size_t trail_back(const struct trail *trail, size_t n)
{
    return (trail->next + TRAIL - n) % TRAIL;
}

/* What an instruction makes of a register. */
struct effect {
    enum { UNTOUCHED, NUMBER, SETS, KEEPS, COPIES, READS_BACK, OTHERWISE } what;
    uint32_t number; /* the value; the bits that are set; those that are kept */
    unsigned from;   /* the register that it had the others from */
};

static struct effect effect_of(unsigned what, uint32_t number, unsigned from)
{
    return (struct effect){.what = what, .number = number, .from = from};
}

/* By the operation's number in Thumb: AND 0, BIC 1, ORR 2. */
static struct effect logical(unsigned operation, uint32_t number, unsigned from)
{
    if (operation == 2)
        return effect_of(SETS, number, from);
    return operation > 2 ? effect_of(OTHERWISE, 0, 0)
                         : effect_of(KEEPS, operation == 1 ? ~number : number, from);
}

static struct effect narrow_effect(const struct constants_known *before, uint32_t code, unsigned which,
                                   uint64_t word)
{
    static const uint8_t operations[16] = {0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2, 9, 1, 9};
    unsigned low = code & 7, middle = code >> 3 & 7, high = code >> 8 & 7, top = code >> 11;
    bool stores = (top >= 0xA && top <= 0x12 && (top & 1) == 0 && top != 0xA) || code >> 9 <= 0x2A;
    if (code >> 10 == 0x10) { /* register operations; TST, CMP and CMN change none */
        unsigned number = code >> 6 & 0xF;
        if (low != which || number == 8 || number == 10 || number == 11)
            return effect_of(UNTOUCHED, 0, 0);
        return operations[number] < 9 && constants_know(before, middle)
                   ? logical(operations[number], before->values[middle], which)
                   : effect_of(OTHERWISE, 0, 0);
    }
    if (code >> 8 == 0x46)
        return (low | (code >> 4 & 8)) == which ? effect_of(COPIES, 0, code >> 3 & 0xF)
                                                : effect_of(UNTOUCHED, 0, 0);
    if (top == 0xD && low == which) /* LDR */
        return effect_of(constants_know(before, middle) &&
                                 before->values[middle] + 4 * (code >> 6 & 0x1F) == word
                             ? READS_BACK
                             : OTHERWISE,
                         0, 0);
    if (top == 5 || code >> 12 >= 0xB || code >> 8 == 0x45 || (top >= 0xA && stores))
        return effect_of(UNTOUCHED, 0, 0);
    bool by_high = (top >= 4 && top <= 9 && top != 8) || top == 0x13 || top == 0x14 || top == 0x15;
    return (by_high ? high : low) == which ? effect_of(OTHERWISE, 0, 0) : effect_of(UNTOUCHED, 0, 0);
}

static struct effect wide_effect(const struct constants_known *before, uint32_t code, unsigned which,
                                 uint64_t word)
{
    uint32_t first = code >> 16, second = code & 0xFFFF;
    unsigned to = second >> 8 & 0xF, from = first & 0xF, operation = first >> 5 & 0xF, target = second >> 12;
    if ((first & 0xF800) == 0xF000 && (second & 0x8000)) /* jumps and barriers; a call changes some */
        return effect_of((second & 0xD000) == 0xD000 && (which < 4 || which == 12) ? OTHERWISE : UNTOUCHED, 0,
                         0);
    if ((code & MCR_MASK) == MCR || (first & 0xFF10) == 0xF800)
        return effect_of(UNTOUCHED, 0, 0);
    if ((code & MCR_MASK) == (MCR | 1U << 20))
        return target == which ? effect_of(READS_BACK, 0, 0) : effect_of(UNTOUCHED, 0, 0);
    if ((first & 0xFFF0) == 0xF8D0) {
        bool back = constants_know(before, from) && before->values[from] + (second & 0xFFF) == word;
        return target != which ? effect_of(UNTOUCHED, 0, 0) : effect_of(back ? READS_BACK : OTHERWISE, 0, 0);
    }
    if ((first & 0xFA00) == 0xF000)
        return to == which && from != CONSTANTS_PC ? logical(operation, thumb_immediate(first, second), from)
               : to == which                       ? effect_of(OTHERWISE, 0, 0)
                                                   : effect_of(UNTOUCHED, 0, 0);
    if ((first & 0xFE00) == 0xEA00) {
        bool plain = (second & 0x70F0) == 0 && constants_know(before, second & 0xF) && from != CONSTANTS_PC;
        return to != which ? effect_of(UNTOUCHED, 0, 0)
               : plain     ? logical(operation, before->values[second & 0xF], from)
                           : effect_of(OTHERWISE, 0, 0);
    }
    if (first == 0xF36F && to == which) { /* BFC */
        unsigned begin = (second >> 10 & 0x1C) | (second >> 6 & 3), end = second & 0x1F;
        uint32_t cleared = end >= begin ? UINT32_MAX >> (31 - end) & UINT32_MAX << begin : 0;
        return effect_of(KEEPS, ~cleared, which);
    }
    return to == which || target == which ? effect_of(OTHERWISE, 0, 0) : effect_of(UNTOUCHED, 0, 0);
}

/* DDI 0406C A5.2: the modified immediate constants, and what else sets a register's bits by a number. */
static struct effect a32_effect(uint32_t code, unsigned which)
{
    enum { AND, ORR = 12, MOV, BIC, MVN };
    unsigned to = code >> 12 & 0xF, from = code >> 16 & 0xF, operation = code >> 21 & 0xF;
    unsigned turn = 2 * (code >> 8 & 0xF);
    uint32_t byte = code & 0xFF, number = turn == 0 ? byte : byte >> turn | byte << (32 - turn);
    bool compares = operation >= 8 && operation < ORR && (code & 1U << 20);
    if ((code & 0x0F000000) == 0x0B000000)
        return effect_of(which < 4 || which == 12 ? OTHERWISE : UNTOUCHED, 0, 0);
    if ((code & MCR_MASK) == (MCR | 1U << 20))
        return to == which ? effect_of(READS_BACK, 0, 0) : effect_of(UNTOUCHED, 0, 0);
    if (to != which || code >> 28 == NO_CONDITION || (code & 0x0E000000) >= 0x08000000 ||
        ((code & 0x0C100000) == 0x04000000) || ((code & 0x0C000000) == 0 && compares))
        return effect_of(UNTOUCHED, 0, 0);
    if ((code & 0x0FF00000) == 0x03000000) /* MOVW */
        return effect_of(NUMBER, (code >> 4 & 0xF000) | (code & 0xFFF), 0);
    if ((code & 0x0FE00FF0) == 0x01A00000)
        return effect_of(COPIES, 0, code & 0xF);
    if ((code & 0x0E000000) != 0x02000000)
        return effect_of(OTHERWISE, 0, 0);
    return operation == MOV   ? effect_of(NUMBER, number, 0)
           : operation == MVN ? effect_of(NUMBER, ~number, 0)
           : operation == ORR ? logical(2, number, from)
           : operation == BIC ? logical(1, number, from)
           : operation == AND ? logical(0, number, from)
                              : effect_of(OTHERWISE, 0, 0);
}

/* DDI 0487 C4.1, the lower 32 bits. */
static struct effect a64_effect(uint32_t code, unsigned which)
{
    enum { ZERO = 31 };
    unsigned to = code & 0x1F, from = code >> 5 & 0x1F, turn = code >> 16 & 0x3F, last = code >> 10 & 0x3F;
    uint64_t run = last < 63 ? (UINT64_C(1) << (last + 1)) - 1 : UINT64_MAX;
    bool of_64 = code >> 22 & 1; /* N: the pattern has 64 bits */
    if (!of_64 && last < 32)     /* one of 32 bits, or smaller ones that are not followed */
        run |= run << 32;
    uint64_t number = turn == 0 ? run : run >> turn | run << (64 - turn);
    if (code >> 26 == 0x25)
        return effect_of(which < 19 ? OTHERWISE : UNTOUCHED, 0, 0);
    if (to != which || (code & 0x3B000000) == 0x39000000 || code >> 26 == 5 || (code & MSR_MASK) == MSR ||
        (code & 0xFFFFF000) == 0xD5033000)
        return effect_of(UNTOUCHED, 0, 0);
    if ((code & MSR_MASK) == (MSR | 1U << 21))
        return effect_of(READS_BACK, 0, 0);
    if ((code & 0x7F800000) == 0x52800000)
        return effect_of(NUMBER,
                         (code >> 21 & 3) == 0   ? code >> 5 & 0xFFFF
                         : (code >> 21 & 3) == 1 ? (code >> 5 & 0xFFFF) << 16
                                                 : 0,
                         0);
    if ((code & 0x7FE0FFE0) == 0x2A0003E0)
        return effect_of((code >> 16 & 0x1F) == ZERO ? NUMBER : COPIES, 0, code >> 16 & 0x1F);
    if ((code & 0x7F800000) == 0x32000000 && (of_64 || last < 32))
        return from == ZERO ? effect_of(NUMBER, (uint32_t)number, 0) : logical(2, (uint32_t)number, from);
    if ((code & 0x7F800000) == 0x12000000 && (of_64 || last < 32))
        return logical(0, (uint32_t)number, from);
    return effect_of(OTHERWISE, 0, 0);
}

/* Whether the value that register `which` has after the trail may have one of the bits as `set` says, where
 * the target had it otherwise. */
static bool may_turn(const struct trail *trail, unsigned which, uint32_t bits, bool set, uint64_t word)
{
    static const struct constants_known none = {.known = 0};
    for (size_t back = 1; bits != 0 && back <= trail->n; back++) {
        size_t i = trail_back(trail, back);
        const struct code_instruction *one = &trail->items[i];
        const struct constants_known *before =
            back < trail->n ? &trail->known[trail_back(trail, back + 1)] : &none;
        if (one->isa == ISA_THUMB && which < 16 && constants_know(&trail->known[i], which))
            return ((set ? trail->known[i].values[which] : ~trail->known[i].values[which]) & bits) != 0;
        struct effect effect = one->isa == ISA_A64     ? a64_effect(one->code, which)
                               : one->isa != ISA_THUMB ? a32_effect(one->code, which)
                               : one->size == 4        ? wide_effect(before, one->code, which, word)
                                                       : narrow_effect(before, one->code, which, word);
        if (effect.what == NUMBER)
            return ((set ? effect.number : ~effect.number) & bits) != 0;
        if (effect.what == READS_BACK)
            return false;
        uint32_t turned = effect.what == SETS ? effect.number : effect.what == KEEPS ? ~effect.number : 0;
        if (effect.what == OTHERWISE || ((effect.what == SETS) == set && (turned & bits) != 0))
            return true;
        bits &= ~turned; /* what the instruction decides, the ones before it do not */
        if (effect.what != UNTOUCHED)
            which = effect.from;
    }
    return bits != 0;
}

/* The register that a store of a word has its value from; NONE: it stores other sizes, or several. */
static unsigned stored_register(uint32_t code)
{
    if (code_is_wide(code >> 16))
        return (code >> 16 & 0xFF70) == 0xF840 ? code >> 12 & 0xF : CONSTANTS_NONE;
    return code >> 11 == 0xC || code >> 9 == 0x28 ? code & 7
           : code >> 11 == 0x12                   ? code >> 8 & 7
                                                  : CONSTANTS_NONE;
}

/* Constants of this function that lie near a word that is looked for. What is not known at a loop's beginning
 * may be any of them. */
enum { BASES = 16 };
struct bases {
    uint32_t at[BASES];
    size_t n;
};

static bool is_near(uint32_t value, const struct counter_switch *switches, size_t n)
{
    enum { NEAR_BITS = 12 };
    for (size_t i = 0; i < n; i++)
        if (value >> NEAR_BITS == switches[i].word >> NEAR_BITS)
            return true;
    return false;
}

static void note_bases(struct bases *bases, const struct constants_known *now,
                       const struct counter_switch *switches, size_t n)
{
    enum { PRIVATE_REGION = 0xE }; /* of each word that is looked for */
    for (uint32_t left = now->known & 0xFFFF; left != 0 && bases->n < BASES; left &= left - 1) {
        uint32_t value = now->values[__builtin_ctz(left)];
        bool is_new = value >> 28 == PRIVATE_REGION && is_near(value, switches, n);
        for (size_t k = 0; k < bases->n && is_new; k++)
            is_new = bases->at[k] != value;
        if (is_new)
            bases->at[bases->n++] = value;
    }
}

/* Whether it stores to the word, or may. */
static bool may_hit(const struct store *store, const struct constants_known *now, const struct bases *bases,
                    uint64_t word)
{
    uint32_t registers[16];
    if (constants_know(now, store->base))
        return constants_know(now, store->index) && store_hits(store, now->values, word);
    memcpy(registers, now->values, sizeof registers);
    for (size_t i = 0; i < bases->n && constants_know(now, store->index); i++) {
        registers[store->base] = bases->at[i];
        if (store_hits(store, registers, word))
            return true;
    }
    return false;
}

/* A write to a counter's register, and where its value comes from; CONSTANTS_NONE: not one register. */
struct written {
    char name[sizeof((struct counter_write *)0)->name]; /* "": a store */
    struct store store;
    unsigned from;
};

/* False: the instruction writes no such register. */
static bool find_write(const struct code_instruction *one, struct written *out)
{
    *out = (struct written){.from = CONSTANTS_NONE};
    if (one->is_data || one->isa == ISA_OTHER)
        return false;
    if (one->isa == ISA_A64) {
        out->from = one->code & 0x1F;
        return a64_writes(one->code, out->name, sizeof out->name);
    }
    if (aarch32_writes(one->code, one->isa == ISA_THUMB, out->name, sizeof out->name)) {
        out->from = one->code >> 12 & 0xF;
        return true;
    }
    out->from = stored_register(one->code);
    return one->isa == ISA_THUMB && store_of(one->code, &out->store);
}

static bool is_to(const struct written *write, const struct counter_switch *which, const struct trail *trail,
                  const struct bases *bases)
{
    if (which->name != NULL || write->name[0] != '\0')
        return which->name != NULL && strcmp(write->name, which->name) == 0;
    return trail->n > 0 && may_hit(&write->store, &trail->known[trail_back(trail, 1)], bases, which->word);
}

static bool turns(const struct written *write, const struct code_instruction *one,
                  const struct counter_switch *which, const struct trail *trail, uint32_t bits, bool set)
{
    enum { ZERO = 31 };
    if (bits == 0)
        return false;
    if (one->isa == ISA_A64 && write->from == ZERO)
        return !set;
    return (write->from == CONSTANTS_NONE && one->isa != ISA_A64) ||
           may_turn(trail, write->from, bits, set, which->word);
}

static void note_write(const struct written *write, const struct code_instruction *one,
                       struct counter_switch *which, const struct trail *trail)
{
    which->is_set = which->is_set || turns(write, one, which, trail, which->bits, true);
    if (!which->each && !turns(write, one, which, trail, which->on, false) &&
        !turns(write, one, which, trail, which->strikes, true))
        return;
    if (which->n_changes < COUNTER_CHANGES)
        which->changes[which->n_changes] = one->address;
    which->n_changes++;
}

void symbols_find_switches(struct symbols *symbols, struct counter_switch *switches, size_t n)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    struct trail trail = {.n = 0};
    struct bases bases = {.n = 0};
    struct written write;
    uint64_t function_end = 0;
    while (code_next(&walk, &one)) {
        if (one.is_first || one.address >= function_end) {
            trail.n = bases.n = 0;
            function_end = table_next_function(symbols, one.address, UINT64_MAX);
        }
        /* The constants as they are when this instruction begins, which other ways may lead to */
        constants_arrive(&constants, one.address);
        if (trail.n > 0)
            trail.known[trail_back(&trail, 1)] = constants.now;
        bool writes = find_write(&one, &write);
        for (size_t i = 0; writes && i < n; i++)
            if (is_to(&write, &switches[i], &trail, &bases))
                note_write(&write, &one, &switches[i], &trail);
        (void)constants_follow(&constants, symbols, &one, UINT64_MAX);
        note_bases(&bases, &constants.now, switches, n);
        if (one.is_data)
            continue;
        trail.items[trail.next] = one;
        trail.next = (trail.next + 1) % TRAIL;
        trail.n += trail.n < TRAIL;
    }
    /* Without marks, data is taken for code */
    for (size_t i = 0; i < n && symbols->table.no_memory; i++) {
        switches[i].is_set = false;
        switches[i].n_changes = 0;
    }
}
