/* SPDX-License-Identifier: MIT */
/*
 * Which instruction of the program writes to a place: a Cortex-M's stores to a word, by the constants in the
 * code or by the registers of a core that stopped just after one.
 */
#include "symbols/internal.h"

#include <stdio.h>
#include <string.h>

/*
 * Which instructions of the program write to a counter's registers: an A or R core's to its PMU, and any
 * core's that may start a counter.
 */

/* --- writes to the PMU of an A or R core --------------------------------------------------------------- */

enum { MONITOR = 9, NUMBERED = 14 };

/* By CRn, CRm and opc2, which are the same in both: DDI 0406C table C12-10, DDI 0487 D13.4 (A64) and G8.4.
 * Of the numbered registers, CRm has the upper bits of the number. */
static bool switches_name_register(unsigned crn, unsigned crm, unsigned opc2, char *out, size_t size)
{
    static const struct {
        uint8_t crm, opc2;
        const char *name;
    } names[] = {{12, 0, "PMCR"},      {12, 1, "PMCNTENSET"}, {12, 2, "PMCNTENCLR"},
                 {12, 5, "PMSELR"},    {13, 0, "PMCCNTR"},    {13, 1, "PMXEVTYPER"},
                 {13, 2, "PMXEVCNTR"}, {13, 4, "PMZR"}}; /* of FEAT_PMUv3p9: zeroes counters */
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

/* Whether the instruction writes one. */
static bool writes_register(enum instruction_set isa, const struct instruction *does, char *out, size_t size)
{
    enum { A64_OP1 = 3 };
    if (does->system == SYSTEM_WRITE_BOTH && does->crm == MONITOR && does->op1 == 0) {
        snprintf(out, size, "PMCCNTR");
        return true;
    }
    return does->system == SYSTEM_WRITE && does->op1 == (isa == ISA_A64 ? A64_OP1 : 0) &&
           switches_name_register(does->crn, does->crm, does->op2, out, size);
}

/* `named` or its SET or CLR twin is the very first, then the registers that change the cycle counter at
 * once. */
static unsigned switches_rank_of(const char *name, const char *named)
{
    static const char *const telling[] = {"PMCCNTR", "PMCR", "PMZR", "PMCNTENCLR", "PMCNTENSET", "PMCCFILTR"};
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
static void switches_offer(struct counter_write *out, size_t n, size_t room, const struct counter_write *one)
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
        struct instruction does = code_decode(&one);
        if (!writes_register(one.isa, &does, found.name, sizeof found.name))
            continue;
        found.rank = switches_rank_of(found.name, named);
        switches_offer(out, n++, room, &found);
    }
    return n;
}

/* --- what starts a counter ------------------------------------------------------------------------------ */

/* A register's value is followed back through this many instructions. */
enum { TRAIL = 24 };

struct trail {
    struct code_instruction items[TRAIL];
    struct constants_known known[TRAIL]; /* after each */
    bool conditional[TRAIL];
    size_t n, next; /* where the next one goes */
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

/* Whether a callee may change it. */
static bool is_lost_in_calls(enum instruction_set isa, unsigned which)
{
    enum { A64_KEPT = 19, KEPT = 4, SCRATCH = 12 };
    return isa == ISA_A64 ? which < A64_KEPT : which < KEPT || which == SCRATCH;
}

static struct effect find_effect(const struct code_instruction *one, const struct constants_known *before,
                                 unsigned which, uint64_t word)
{
    struct instruction does = code_decode(one);
    bool knows_base = does.base < ARM_PC && constants_know(before, does.base) && does.index == NO_REGISTER;
    bool reads_back = does.access == ACCESS_LOAD && does.bytes == 4 && knows_base &&
                      before->values[does.base] + (uint32_t)does.offset == word;
    bool knows_number = does.with == NO_REGISTER || constants_know(before, does.with);
    uint32_t number = does.with == NO_REGISTER ? does.number : knows_number ? before->values[does.with] : 0;
    if (instruction_calls(&does))
        return effect_of(is_lost_in_calls(one->isa, which) ? OTHERWISE : UNTOUCHED, 0, 0);
    if ((does.writes >> which & 1) == 0)
        return effect_of(UNTOUCHED, 0, 0);
    if (does.system == SYSTEM_READ || (reads_back && (does.list >> which & 1) != 0))
        return effect_of(READS_BACK, 0, 0);
    if (does.to != which || !knows_number)
        return effect_of(OTHERWISE, 0, 0);
    switch (does.gives) {
    case GIVES_NUMBER:
        return effect_of(NUMBER, number, 0);
    case GIVES_SUM:
        return effect_of(number == 0 ? COPIES : OTHERWISE, 0, does.from);
    case GIVES_OR:
        return effect_of(SETS, number, does.from);
    case GIVES_AND:
        return effect_of(KEEPS, number, does.from);
    case GIVES_CLEARED:
        return effect_of(KEEPS, ~number, does.from);
    default:
        return effect_of(OTHERWISE, 0, 0);
    }
}

/* Whether the value that register `which` has after the trail may have one of the bits as `set` says, where
 * the target had it otherwise. */
static bool may_turn(const struct trail *trail, unsigned which, uint32_t bits, bool set, uint64_t word)
{
    static const struct constants_known none = {.known = 0};
    for (size_t back = 1; bits != 0 && back <= trail->n; back++) {
        size_t i = trail_back(trail, back);
        const struct code_instruction *one = &trail->items[i];
        /* Those of Thumb alone are followed */
        const struct constants_known *before =
            back < trail->n && one->isa == ISA_THUMB ? &trail->known[trail_back(trail, back + 1)] : &none;
        if (one->isa == ISA_THUMB && which < 16 && constants_know(&trail->known[i], which))
            return ((set ? trail->known[i].values[which] : ~trail->known[i].values[which]) & bits) != 0;
        struct effect effect = find_effect(one, before, which, word);
        bool maybe = trail->conditional[i] && effect.what != UNTOUCHED; /* else it has what it had before */
        bool number_turns = ((set ? effect.number : ~effect.number) & bits) != 0;
        if (effect.what == NUMBER && (number_turns || !maybe))
            return number_turns;
        if (effect.what == READS_BACK && !maybe)
            return false;
        uint32_t turned = effect.what == SETS ? effect.number : effect.what == KEEPS ? ~effect.number : 0;
        if (effect.what == OTHERWISE || ((effect.what == SETS) == set && (turned & bits) != 0) ||
            (maybe && effect.what == COPIES))
            return true;
        if (maybe)
            continue;
        bits &= ~turned; /* what the instruction decides, the ones before it do not */
        if (effect.what != UNTOUCHED)
            which = effect.from;
    }
    return bits != 0;
}

/* Constants of a function that lie near a wanted word, wherever it has them: code that precedes one may be
 * reached by a jump back. What is not known at a store may be any of them. */
enum { BASES = 16 };
struct bases {
    const struct counter_switch *switches; /* with the wanted words */
    size_t n_switches;
    const struct pointers *pointers;
    uint64_t low, high; /* the function */
    uint32_t at[BASES];
    size_t n;
    bool found;
};

static bool is_near(uint32_t value, const struct counter_switch *switches, size_t n)
{
    enum { NEAR_BITS = 12 };
    for (size_t i = 0; i < n; i++)
        if (value >> NEAR_BITS == switches[i].word >> NEAR_BITS)
            return true;
    return false;
}

static void note_base(struct bases *bases, uint32_t value)
{
    enum { PRIVATE_REGION = 0xE }; /* of each wanted word */
    bool is_new = bases->n < BASES && value >> 28 == PRIVATE_REGION &&
                  is_near(value, bases->switches, bases->n_switches);
    for (size_t k = 0; k < bases->n && is_new; k++)
        is_new = bases->at[k] != value;
    if (is_new)
        bases->at[bases->n++] = value;
}

static void bases_find(struct bases *bases, struct symbols *symbols)
{
    struct code_walk walk = {.symbols = symbols, .low = bases->low, .high = bases->high};
    struct constants constants = {.n = 0};
    struct code_instruction one;
    bases->found = true;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        constants_arrive(&constants, one.address);
        for (const struct pointer *p = NULL;
             (p = pointers_loaded(bases->pointers, p, &does, &constants.now)) != NULL;)
            note_base(bases, p->value);
        const struct constants_known taken = constants_taken(&constants, symbols, &one, &does);
        (void)constants_follow(&constants, symbols, &one, &does, UINT64_MAX);
        for (uint32_t left = taken.known & does.writes; left != 0; left &= left - 1)
            note_base(bases, taken.values[__builtin_ctz(left)]);
    }
}

/* Whether it stores to the word, or may. */
static bool may_hit(const struct instruction *store, const struct constants_known *now, struct bases *bases,
                    struct origins *origins, uint64_t at, uint64_t word)
{
    uint32_t registers[16];
    if (constants_know(now, store->base))
        return constants_know(now, store->index) && store_hits(store, now->values, word);
    if (!bases->found)
        bases_find(bases, origins->symbols);
    memcpy(registers, now->values, sizeof registers);
    for (size_t i = 0; i < bases->n && constants_know(now, store->index); i++) {
        registers[store->base] = bases->at[i];
        if (store_hits(store, registers, word))
            return origins_may_be_constant(origins, at, store->base);
    }
    return false;
}

/* A write to a counter's register, and the source of its value; NO_REGISTER: not one register. */
struct written {
    char name[sizeof((struct counter_write *)0)->name]; /* "": a store */
    struct instruction does;
    unsigned from;
};

/* False: the instruction does not write one. */
static bool find_write(const struct code_instruction *one, struct written *out)
{
    const struct instruction *does = &out->does;
    out->does = code_decode(one);
    out->name[0] = '\0';
    out->from = NO_REGISTER;
    if (writes_register(one->isa, does, out->name, sizeof out->name)) {
        out->from = does->from;
        return true;
    }
    if (does->bytes == 4 && does->list != 0)
        out->from = (unsigned)__builtin_ctz(does->list);
    return one->isa == ISA_THUMB && does->access == ACCESS_STORE;
}

static bool is_to(const struct written *write, uint64_t at, const struct counter_switch *which,
                  const struct trail *trail, struct bases *bases, struct origins *origins)
{
    if (which->name != NULL || write->name[0] != '\0')
        return which->name != NULL && strcmp(write->name, which->name) == 0;
    return trail->n > 0 &&
           may_hit(&write->does, &trail->known[trail_back(trail, 1)], bases, origins, at, which->word);
}

static bool turns(const struct written *write, const struct code_instruction *one,
                  const struct counter_switch *which, const struct trail *trail, uint32_t bits, bool set)
{
    enum { ZERO = 31 };
    if (bits == 0)
        return false;
    if (one->isa == ISA_A64 && write->from == ZERO)
        return !set;
    return (write->from == NO_REGISTER && one->isa != ISA_A64) ||
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
    struct pointers pointers;
    struct origins origins = {.n_spills = 0};
    struct written write;
    uint64_t function_end = 0;
    pointers_find(&pointers, symbols);
    while (code_next(&walk, &one)) {
        if (one.is_first || one.address >= function_end) {
            trail.n = 0;
            function_end = table_next_function(symbols, one.address, UINT64_MAX);
            bases = (struct bases){.switches = switches,
                                   .n_switches = n,
                                   .pointers = &pointers,
                                   .low = one.address,
                                   .high = function_end};
            origins_begin(&origins, symbols, &pointers, one.address, function_end);
        }
        /* The constants as they are when this instruction begins, which other ways may lead to */
        constants_arrive(&constants, one.address);
        if (trail.n > 0)
            trail.known[trail_back(&trail, 1)] = constants.now;
        bool writes = find_write(&one, &write), in_block = constants.in_block > 0;
        for (size_t i = 0; writes && i < n; i++)
            if (is_to(&write, one.address, &switches[i], &trail, &bases, &origins))
                note_write(&write, &one, &switches[i], &trail);
        (void)constants_follow(&constants, symbols, &one, &write.does, UINT64_MAX);
        if (one.is_data)
            continue;
        trail.items[trail.next] = one;
        trail.conditional[trail.next] = in_block || write.does.conditional;
        trail.next = (trail.next + 1) % TRAIL;
        trail.n += trail.n < TRAIL;
    }
    origins_close(&origins);
    pointers_close(&pointers);
    /* Without marks, data is taken for code */
    for (size_t i = 0; i < n && symbols->table.no_memory; i++) {
        switches[i].is_set = false;
        switches[i].n_changes = 0;
    }
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
                          const struct instruction *does, bool is_sure)
{
    unsigned to = does->to, from = does->gives == GIVES_TOP ? to : does->from;
    bool known = from < ARM_PC && constants_know(constants, from);
    bool knows_base = does->base < ARM_PC && constants_know(constants, does->base);
    uint32_t value = known ? constants->values[from] : 0;
    uint32_t base = knows_base ? constants->values[does->base] : 0;
    constants->known &= ~(instruction_calls(does) ? CALL_CHANGES : does->writes);
    if (does->moves != 0 && does->base < ARM_PC)
        set(constants, does->base, knows_base && is_sure, base + (uint32_t)does->moves);
    if (!is_sure)
        return;
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

static void stores_jump(struct constants *constants, uint64_t at, const struct instruction *does,
                        bool in_block)
{
    if (does->kind == GOES_JUMP && does->target > at)
        constants_leave(constants, does->target);
    constants->passed = instruction_leaves(does) && !in_block;
    if (constants->passed)
        constants->now.known = 0;
}

struct constants_known constants_taken(const struct constants *constants, struct symbols *symbols,
                                       const struct code_instruction *one, const struct instruction *does)
{
    struct constants_known now = constants->now;
    if (!one->is_data && one->isa == ISA_THUMB)
        stores_follow(&now, symbols, one->address, does, true);
    return now;
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
    bool in_block = constants->in_block > 0;
    stores_follow(&constants->now, symbols, one->address, does, !in_block && !does->conditional);
    stores_jump(constants, one->address, does, in_block);
    constants->in_block = in_block ? constants->in_block - 1 : does->kind == GOES_IT ? does->number : 0;
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

bool symbols_store_at(struct symbols *symbols, uint64_t at, struct instruction *out)
{
    struct code_walk walk = {.symbols = symbols, .low = at, .high = at + 2};
    struct code_instruction one;
    if (!code_next(&walk, &one) || one.isa != ISA_THUMB)
        return false;
    *out = code_decode(&one);
    return out->access == ACCESS_STORE;
}
