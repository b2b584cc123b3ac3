/*
 * Which instruction of the program writes to a place: a Cortex-M's stores to a word, by the constants in the
 * code or by the registers of a core that stopped just behind one; an A or R core's writes to its PMU.
 */
#include "symbols/internal.h"

#include <stdio.h>
#include <string.h>

enum { SP = 13, LR = 14, PC = 15, NONE = 16 };

/* --- one instruction ----------------------------------------------------------------------------------- */

static int32_t signed_of(uint32_t number, bool up)
{
    return up ? (int32_t)number : -(int32_t)number;
}

static struct store plain(unsigned base, uint32_t offset, uint32_t size)
{
    return (struct store){.base = base, .index = NONE, .offset = (int32_t)offset, .size = size};
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
        *out = plain(SP, 4 * (code & 0xFF), 4);
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
    if ((first & 0xFF10) != 0xF800 || size == 8 || base == PC)
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
    uint32_t first = code >> 16, second = code & 0xFFFF;
    return code_is_wide(first) ? wide_single(first, second, out) || wide_several(first, second, out)
                               : narrow_store(code, out);
}

bool store_hits(const struct store *store, const uint32_t *registers, uint64_t word)
{
    uint32_t from = registers[store->base] + (uint32_t)store->offset;
    if (store->index != NONE)
        from += registers[store->index] << store->shift;
    return from < word + 4 && word < (uint64_t)from + store->size;
}

/* --- jumps --------------------------------------------------------------------------------------------- */

/* Also B<c> and CBZ: DDI 0403 A7.7.12, A7.7.21. */
static uint64_t jump_of(const struct code_instruction *one)
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

/* --- constants ----------------------------------------------------------------------------------------- */

/* The registers whose values are constants. Forward jumps are followed. At the beginning of a loop, the
 * registers that it changes are not known. */
enum { LANDINGS = 24 };
struct constants {
    struct constants_known {
        uint32_t values[16];
        uint32_t known; /* as bits */
    } now;
    bool passed; /* the instruction before does not lead here */
    struct landing {
        uint64_t at;
        struct constants_known known;
    } landings[LANDINGS];
    size_t n;
};

static void forget(struct constants_known *constants, uint32_t registers)
{
    constants->known &= ~registers;
}

static void set(struct constants_known *constants, unsigned which, bool known, uint32_t value)
{
    constants->known = (constants->known & ~(1U << which)) | (uint32_t)known << which;
    constants->values[which] = value;
}

static bool knows(const struct constants_known *constants, unsigned which)
{
    return which == NONE || (constants->known & 1U << which) != 0;
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
    set(constants, to, knows(constants, from), constants->values[from] + number);
}

/* DDI 0403 A5.2: instructions that give a register a constant; any other forgets the registers it may change.
 */
static void follow_narrow(struct constants_known *constants, struct symbols *symbols, uint64_t at,
                          uint32_t code)
{
    unsigned low = code & 7, middle = code >> 3 & 7, high = code >> 8 & 7, number = code & 0xFF;
    if (code >> 11 == 0x9) { /* LDR of a literal */
        load(constants, symbols, high, ((at + 4) & ~UINT64_C(3)) + UINT64_C(4) * number);
    } else if (code >> 11 == 0x4) { /* MOVS */
        set(constants, high, true, number);
    } else if (code >> 11 == 0) { /* LSLS */
        set(constants, low, knows(constants, middle), constants->values[middle] << (code >> 6 & 0x1F));
    } else if (code >> 11 == 0x6 || code >> 11 == 0x7) { /* ADDS, SUBS */
        sum(constants, high, high, code >> 11 == 0x6 ? number : 0U - number);
    } else if (code >> 9 == 0xE || code >> 9 == 0xF) {
        sum(constants, low, middle, code >> 9 == 0xE ? code >> 6 & 7 : 0U - (code >> 6 & 7));
    } else if (code >> 8 == 0x46) { /* MOV */
        sum(constants, low | (code >> 4 & 8), code >> 3 & 0xF, 0);
    } else if (code >> 11 == 0x1C || code >> 8 == 0xBD ||
               (code & 0xFF87) == 0x4700) { /* B, POP of the PC, BX */
        constants->known = 0;
    } else if (code >> 12 == 0xC || code >> 9 == 0x5E) { /* LDM, POP */
        forget(constants, (code & 0xFF) | 1U << high);
    } else if (code >> 12 != 0xD && code >> 11 != 0x1C && (code & 0xF500) != 0xB100) { /* no jump */
        forget(constants, 1U << low | 1U << high | (code >> 8 == 0x44 ? 0xFF00 : 0));
    }
}

/* DDI 0403 A5.3.2. */
static uint32_t expand(uint32_t first, uint32_t second)
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
    enum { CALL_CHANGES = 0x500F };
    uint32_t first = code >> 16, second = code & 0xFFFF, group = first & 0xFBF0, to = second >> 8 & 0xF;
    uint32_t plain12 = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | (second & 0xFF);
    bool number = (first & 0xF800) == 0xF000 && (second & 0x8000) == 0;
    if ((first & 0xFF7F) == 0xF85F) { /* LDR of a literal */
        uint64_t base = (at + 4) & ~UINT64_C(3);
        load(constants, symbols, second >> 12,
             first & 0x80 ? base + (second & 0xFFF) : base - (second & 0xFFF));
    } else if (number && (first & 0xFBEF) == 0xF04F) { /* MOV */
        set(constants, to, true, expand(first, second));
    } else if (number && group == 0xF240) { /* MOVW */
        set(constants, to, true, (first & 0xF) << 12 | plain12);
    } else if (number && group == 0xF2C0) { /* MOVT */
        set(constants, to, knows(constants, to),
            (constants->values[to] & 0xFFFF) | (first & 0xF) << 28 | plain12 << 16);
    } else if (number && (group == 0xF100 || group == 0xF110)) { /* ADD */
        sum(constants, to, first & 0xF, expand(first, second));
    } else if (number && (group == 0xF1A0 || group == 0xF1B0)) { /* SUB */
        sum(constants, to, first & 0xF, 0U - expand(first, second));
    } else if ((code & 0xF800D000) == 0xF000D000) { /* BL */
        forget(constants, CALL_CHANGES);
    } else if ((first & 0xFE50) == 0xE810) { /* LDM */
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

static void arrive(struct constants *constants, uint64_t at)
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
    uint64_t to = calls ? 0 : jump_of(one);
    if (to > one->address)
        leave(constants, to);
    if (always) {
        constants->now.known = 0;
        constants->passed = true;
    }
}

/* Follows one instruction, in the order of the code. True: it stores to the word. */
static bool constants_follow(struct constants *constants, struct symbols *symbols,
                             const struct code_instruction *one, uint64_t word)
{
    struct store store;
    if (one->is_first)
        *constants = (struct constants){.n = 0};
    arrive(constants, one->address);
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
    bool hits = knows(&constants->now, store.base) && knows(&constants->now, store.index) &&
                store_hits(&store, constants->now.values, word);
    if (store.moves != 0)
        sum(&constants->now, store.base, store.base, (uint32_t)store.moves);
    return hits;
}

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
        uint64_t to = one.is_data || one.isa != ISA_THUMB ? 0 : jump_of(&one);
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
                            .pc = registers[PC],
                            .back = registers[LR] & ~UINT64_C(1)};
    add_function(&search, registers[PC]);
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
