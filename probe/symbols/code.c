/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a program: one after the other, whether they change stacks or make calls, where a
 * function's frame is, and by which instructions an exception handler returns.
 */
#include "base/values.h"
#include "symbols/internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/*
 * Whether an address can be where a callee returns to: by the call before it, and by where that call goes.
 * And what code runs if a function is called.
 */

enum { MOST_CODE = 1 << 14 };

/* The instruction of `size` bytes before the address. */
static bool call_of_size(struct symbols *symbols, uint64_t address, enum instruction_set isa, unsigned size,
                         struct instruction *out)
{
    size_t n = 0;
    unsigned found = 0;
    const uint8_t *bytes = address >= size ? elf_code(symbols, address - size, &n) : NULL;
    if (bytes == NULL || n < size)
        return false;
    *out = instruction_of(isa, code_at(symbols, bytes, size, isa == ISA_THUMB, &found), address - size);
    return out->size == size && instruction_calls(out) &&
           (out->kind != GOES_CALL || !is_own_jump(symbols, address - size, out->target));
}

bool call_before(struct symbols *symbols, uint64_t address, enum instruction_set isa, struct instruction *out)
{
    return call_of_size(symbols, address, isa, 4, out) ||
           (isa == ISA_THUMB && call_of_size(symbols, address, isa, 2, out));
}

/* --- jumps out of a function --------------------------------------------------------------------------- */

/* Tail calls, and what a linker puts in between: code that goes on in another function. */
static bool jumps_on(struct symbols *symbols, const struct extent *function)
{
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    if (function->high - function->low > MOST_CODE)
        return true;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool outside = does.target < function->low || does.target >= function->high;
        if (does.kind == GOES_AWAY || (does.kind == GOES_JUMP && outside))
            return true;
    }
    return false;
}

bool call_leads(struct symbols *symbols, const struct instruction *call, uint64_t pc)
{
    struct extent callee = {0, 0}, here = {0, 0};
    if (call->kind == GOES_CALL_BY)
        return true;
    if (table_around(symbols, call->target, &callee) == NULL)
        return symbols_is_code(symbols, call->target);
    bool is_known = table_around(symbols, pc, &here) != NULL;
    bool is_inside = is_known && here.low >= callee.low && here.low < callee.high;
    if (is_inside || (is_known && leads_past_end(symbols, &callee) == here.low))
        return true;
    return jumps_on(symbols, &callee);
}

static bool goes_to(const struct instruction *does, uint64_t address)
{
    return (does->kind == GOES_CALL || does->kind == GOES_JUMP) && does->target == address;
}

bool call_is_made(struct symbols *symbols, uint64_t address)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (goes_to(&does, address))
            return true;
    }
    return false;
}

size_t symbols_callers(struct symbols *symbols, const struct extent *function, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool inside = one.address >= function->low && one.address < function->high;
        if (!goes_to(&does, function->low) || (inside && does.kind != GOES_CALL))
            continue;
        if (n < room)
            out[n] = one.address;
        n++;
    }
    return n;
}

/* --- parts of a function that lie elsewhere ------------------------------------------------------------ */

static bool extent_has(const struct extent *extent, uint64_t address)
{
    return address >= extent->low && address < extent->high;
}

/* As GCC and LLVM name them: f.cold, f.cold.1, f.__part.2. */
static bool is_moved_name(const char *part, const char *whole)
{
    size_t n = strlen(whole);
    bool begins = n > 0 && strncmp(part, whole, n) == 0;
    return begins && ((strncmp(part + n, ".cold", 5) == 0 && (part[n + 5] == '\0' || part[n + 5] == '.')) ||
                      strncmp(part + n, ".__part.", 8) == 0);
}

/* Whether jumps alone lead to the part, and one joins both: then they have one frame. LLVM's hot-cold
 * splitting makes functions of that name, which are called. */
static bool is_joined_part(struct symbols *symbols, const struct extent *part, const struct extent *whole)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    bool joined = false;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool enters = extent_has(part, does.target);
        if (does.kind == GOES_CALL && enters)
            return false;
        bool there = enters && extent_has(whole, one.address),
             back = extent_has(part, one.address) && extent_has(whole, does.target);
        joined = joined || (does.kind == GOES_JUMP && (there || back));
    }
    return joined;
}

void symbols_whole(struct symbols *symbols, uint64_t address, struct extent *out)
{
    struct extent part = {0, 0}, whole = {0, 0};
    const struct symbol *symbol = symbols != NULL ? table_around(symbols, address, &part) : NULL;
    if (symbol == NULL)
        return;
    *out = part;
    struct function_facts facts = scopes_function(symbols, address);
    uint64_t entry = facts.unit != NULL ? facts.entry : UINT64_MAX;
    if (entry != UINT64_MAX && !extent_has(&part, entry) && table_around(symbols, entry, &whole) != NULL &&
        is_joined_part(symbols, &part, &whole)) {
        *out = whole;
        return;
    }
    const struct table *table = table_get(symbols);
    for (size_t i = 0; i < table->function_count; i++)
        if (is_moved_name(symbol->name, table->functions[i].name) &&
            table_around(symbols, table->functions[i].address, &whole) != NULL &&
            is_joined_part(symbols, &part, &whole)) {
            *out = whole;
            return;
        }
}

/* --- what runs ------------------------------------------------------------------------------------------ */

/* What is reached, each function once, in the order in which it was found. */
struct reached {
    struct extent *items;
    size_t n, room;
    size_t *slots; /* a hash table of indexes from 1; 0: free. Those of items that are gone stay */
    size_t slot_count, used;
};

static void reached_free(struct reached *reached)
{
    free(reached->items);
    free(reached->slots);
    *reached = (struct reached){.n = 0};
}

static bool are_same_extents(const struct extent *one, const struct extent *other)
{
    return one->low == other->low && one->high == other->high;
}

/* The slot of this extent, or the free one where it belongs. There is always a free one. */
static size_t *reached_slot(const struct reached *reached, const struct extent *extent)
{
    size_t at = (size_t)((extent->low * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (reached->slot_count - 1);
    for (; reached->slots[at] != 0; at = (at + 1) & (reached->slot_count - 1))
        if (reached->slots[at] <= reached->n &&
            are_same_extents(&reached->items[reached->slots[at] - 1], extent))
            break;
    return &reached->slots[at];
}

static bool reached_has_extent(const struct reached *reached, const struct extent *extent)
{
    return reached->slot_count > 0 && *reached_slot(reached, extent) != 0;
}

static bool reached_slots_grow(struct reached *reached)
{
    if (2 * (reached->used + 1) < reached->slot_count)
        return true;
    size_t count = 64;
    while (count < 4 * (reached->n + 1))
        count *= 2;
    size_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return false;
    free(reached->slots);
    reached->slots = slots;
    reached->slot_count = count;
    reached->used = reached->n;
    for (size_t i = 0; i < reached->n; i++)
        *reached_slot(reached, &reached->items[i]) = i + 1;
    return true;
}

static bool reached_grow(struct reached *reached, struct extent extent)
{
    struct extent *items = array_grow(reached->items, reached->n + 1, &reached->room, sizeof *items);
    if (items == NULL)
        return false;
    reached->items = items;
    if (!reached_slots_grow(reached))
        return false;
    size_t *slot = reached_slot(reached, &extent);
    reached->used += *slot == 0;
    reached->items[reached->n++] = extent;
    *slot = reached->n;
    return true;
}

static bool reached_add(struct reached *reached, struct symbols *symbols, uint64_t address)
{
    struct extent extent = {0, 0};
    if (table_around(symbols, address, &extent) == NULL)
        return true;
    return reached_has_extent(reached, &extent) || reached_grow(reached, extent);
}

/* Whether it calls a function or goes on in another one than that. */
static bool enters_other(const struct lead *lead, const struct extent *function)
{
    bool outside = lead->target < function->low || lead->target >= function->high;
    return lead->kind == LEAD_CALL || (lead->kind == LEAD_JUMP && outside);
}

static bool reached_follow(struct reached *reached, struct symbols *symbols, const struct extent *range)
{
    struct leads leads = leads_of(symbols, range);
    struct lead lead;
    bool ok = true;
    while (ok && leads_next(&leads, &lead))
        ok = !enters_other(&lead, &leads.function) || reached_add(reached, symbols, lead.target);
    return ok;
}

static bool reached_roots(struct reached *reached, struct symbols *symbols, const struct extent *ranges,
                          size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = ranges[i].high == 0 ? reached_add(reached, symbols, ranges[i].low)
                                 : reached_grow(reached, ranges[i]);
    return ok;
}

static bool is_counted(const size_t *counted, size_t n, size_t which)
{
    for (size_t i = 0; i < n; i++)
        if (counted[i] == which)
            return true;
    return false;
}

/* Follows what is reached, from item `from` on, until `most` of the places were found: their indices. */
static size_t reached_places(struct reached *reached, struct symbols *symbols, size_t from,
                             const uint64_t *places, size_t n_places, size_t *found, size_t most)
{
    size_t n = 0;
    bool ok = true;
    for (size_t i = from; ok && i < reached->n; i++) {
        struct extent range = reached->items[i];
        for (size_t k = 0; k < n_places && n < most; k++)
            if (places[k] >= range.low && places[k] < range.high && !is_counted(found, n, k))
                found[n++] = k;
        ok = n < most && reached_follow(reached, symbols, &range);
    }
    return n;
}

bool symbols_reach(struct symbols *symbols, const struct extent *ranges, size_t n_ranges,
                   const uint64_t *places, size_t n_places, size_t *place)
{
    struct reached reached = {.n = 0};
    bool found = reached_roots(&reached, symbols, ranges, n_ranges) &&
                 reached_places(&reached, symbols, 0, places, n_places, place, 1) > 0;
    reached_free(&reached);
    return found;
}

/* Whether it goes on where a register says, or where the ELF shows no code: in a ROM or a boot loader. */
static bool goes_unseen(struct symbols *symbols, const struct lead *lead, const struct extent *function)
{
    struct extent other;
    if (lead->kind == LEAD_CALL_BY || (lead->does.kind == GOES_AWAY && lead->kind != LEAD_JUMP))
        return true;
    return enters_other(lead, function) &&
           (!symbols_is_code(symbols, lead->target) || table_around(symbols, lead->target, &other) == NULL);
}

static bool may_mask(struct symbols *symbols, const struct lead *lead, const struct extent *function)
{
    return lead->does.system == SYSTEM_MASK || lead->does.system == SYSTEM_STACK ||
           goes_unseen(symbols, lead, function);
}

static bool makes_calls(struct symbols *symbols, const struct extent *function);

/* The first instruction in what the ranges run that is such a one; true, too, of a range that the ELF does
 * not show. */
static bool reach_finds(struct symbols *symbols, const struct extent *ranges, size_t n,
                        bool (*is)(struct symbols *, const struct lead *, const struct extent *),
                        uint64_t *at)
{
    struct reached reached = {.n = 0};
    struct extent root;
    bool ok = reached_roots(&reached, symbols, ranges, n), found = !symbols->has_code;
    for (size_t i = 0; i < n && !found; i++) {
        *at = ranges[i].low;
        found = !ok || (ranges[i].high == 0 && table_around(symbols, ranges[i].low, &root) == NULL);
    }
    for (size_t i = 0; ok && !found && i < reached.n; i++) {
        struct extent one = reached.items[i];
        struct leads leads = leads_of(symbols, &one);
        struct lead lead;
        found = symbols->has_libraries && makes_calls(symbols, &one);
        while (ok && !found && leads_next(&leads, &lead)) {
            *at = lead.at;
            found = !lead.is_data && is(symbols, &lead, &leads.function);
            ok = !enters_other(&lead, &leads.function) || reached_add(&reached, symbols, lead.target);
        }
    }
    reached_free(&reached);
    return found || !ok;
}

bool symbols_reach_is_open(struct symbols *symbols, const struct extent *range)
{
    uint64_t at = 0;
    return reach_finds(symbols, range, 1, goes_unseen, &at);
}

bool symbols_reach_may_mask(struct symbols *symbols, const struct extent *ranges, size_t n, uint64_t *at)
{
    return reach_finds(symbols, ranges, n, may_mask, at);
}

/* As reached_follow, of a part of the function: a jump back into it does not call it. */
static bool reached_follow_part(struct reached *reached, struct symbols *symbols, const struct extent *part,
                                const struct extent *function)
{
    struct leads leads = leads_of(symbols, part);
    struct lead lead;
    bool ok = true;
    while (ok && leads_next(&leads, &lead)) {
        bool back = lead.kind == LEAD_JUMP && extent_has(function, lead.target);
        ok = back || !enters_other(&lead, &leads.function) || reached_add(reached, symbols, lead.target);
    }
    return ok;
}

bool symbols_nests(struct symbols *symbols, const struct extent *function)
{
    struct reached reached = {.n = 0};
    bool nests = symbols == NULL || !symbols->has_code || function->high == 0 ||
                 symbols_reach_is_open(symbols, function);
    bool ok = nests || reached_follow(&reached, symbols, function);
    for (size_t i = 0; ok && !nests && i < reached.n; i++) {
        struct extent one = reached.items[i], whole = one;
        symbols_whole(symbols, one.low, &whole);
        nests = extent_has(&one, function->low);
        ok = whole.low == function->low ? reached_follow_part(&reached, symbols, &one, function)
                                        : reached_follow(&reached, symbols, &one);
    }
    reached_free(&reached);
    return nests || !ok;
}

/* What is known to lead to none of the places stays in `clean`. */
static bool leads_to(struct reached *clean, struct symbols *symbols, uint64_t address, const uint64_t *places,
                     size_t n_places)
{
    size_t before = clean->n, which = 0;
    if (!reached_add(clean, symbols, address))
        return true;
    bool leads = reached_places(clean, symbols, before, places, n_places, &which, 1) > 0;
    if (leads)
        clean->n = before;
    return leads;
}

static size_t ways_of(struct symbols *symbols, struct extent range, struct reached *clean,
                      const uint64_t *places, size_t n_places, uint64_t *out, size_t n, size_t room)
{
    struct extent function = range;
    struct lead lead;
    if (table_around(symbols, range.low, &function) != NULL && range.high == 0)
        range = function;
    struct leads leads = leads_of(symbols, &range);
    while (n <= room && leads_next(&leads, &lead)) {
        bool is = false;
        for (size_t i = 0; i < n_places && !lead.is_data; i++)
            is = is || places[i] == lead.at;
        if ((!is && !(enters_other(&lead, &leads.function) &&
                      leads_to(clean, symbols, lead.target, places, n_places))) ||
            (n > 0 && n <= room && out[n - 1] == lead.at))
            continue;
        if (n < room)
            out[n] = lead.at;
        n++;
    }
    return n;
}

size_t symbols_stops_before(struct symbols *symbols, const struct extent *ranges, size_t n_ranges,
                            const uint64_t *places, size_t n_places, uint64_t *out, size_t room)
{
    struct reached reached = {.n = 0};
    size_t found[SYMBOLS_STOPS + 1] = {0}, n = room + 1;
    if (room <= SYMBOLS_STOPS && reached_roots(&reached, symbols, ranges, n_ranges))
        n = reached_places(&reached, symbols, 0, places, n_places, found, room + 1);
    for (size_t i = 0; n <= room && i < n; i++)
        out[i] = places[found[i]];
    reached.n = 0;
    if (n > room) {
        n = 0;
        for (size_t i = 0; i < n_ranges; i++) /* their own ways are handled below */
            if (ranges[i].high == 0 && !reached_add(&reached, symbols, ranges[i].low))
                n = room + 1;
        for (size_t i = 0; n <= room && i < n_ranges; i++)
            n = ways_of(symbols, ranges[i], &reached, places, n_places, out, n, room);
    }
    reached_free(&reached);
    return n;
}

/* ---- code */

uint16_t code_halfword(const struct symbols *symbols, const uint8_t *bytes)
{
    return symbols->big_endian_code ? (uint16_t)(bytes[0] << 8 | bytes[1])
                                    : (uint16_t)(bytes[0] | bytes[1] << 8);
}

uint32_t code_at(const struct symbols *symbols, const uint8_t *bytes, size_t n, bool thumb, unsigned *size)
{
    *size = thumb ? 2 : 4;
    if (n < *size)
        return 0;
    uint32_t first = code_halfword(symbols, bytes), second = n >= 4 ? code_halfword(symbols, bytes + 2) : 0;
    if (!thumb)
        return symbols->big_endian_code ? first << 16 | second : second << 16 | first;
    if (!instruction_is_wide(first))
        return first;
    *size = 4;
    return first << 16 | second;
}

static bool next_section(struct code_walk *walk)
{
    GElf_Shdr header;
    while ((walk->section = elf_nextscn(walk->symbols->elf, walk->section)) != NULL) {
        if (!elf_section_header(walk->symbols, walk->section, &header) || header.sh_type != SHT_PROGBITS ||
            (header.sh_flags & SHF_EXECINSTR) == 0 || header.sh_addr >= walk->high ||
            header.sh_addr + header.sh_size <= walk->low)
            continue;
        Elf_Data *data = elf_rawdata(walk->section, NULL);
        if (data == NULL || data->d_buf == NULL)
            continue;
        walk->base = header.sh_addr;
        walk->bytes = data->d_buf;
        walk->n = data->d_size;
        walk->first = walk->low > walk->base ? walk->low - walk->base : 0;
        walk->first = walk->first < walk->n ? walk->first : walk->n;
        walk->at = walk->first;
        return true;
    }
    return false;
}

static bool may_be_bl(const struct code_instruction *one)
{
    if (one->isa == ISA_A64)
        return one->code >> 26 == 0x25;
    return one->isa == ISA_THUMB ? one->size == 4 && (one->code & 0xF800D000) == 0xF000D000
                                 : (one->code & 0x0F000000) == 0x0B000000;
}

bool code_next(struct code_walk *walk, struct code_instruction *out)
{
    while (walk->bytes == NULL || walk->at + 2 > walk->n || walk->base + walk->at >= walk->high)
        if (!next_section(walk))
            return false;
    struct symbols *symbols = walk->symbols;
    const uint8_t *bytes = walk->bytes + walk->at;
    size_t left = walk->n - walk->at;
    unsigned size;
    *out = (struct code_instruction){.address = walk->base + walk->at, .is_first = walk->at == walk->first};
    if (out->is_first || out->address >= walk->same_until) {
        walk->isa = table_isa(symbols, out->address);
        walk->is_data = table_is_data(symbols, out->address);
        walk->same_until = table_same_until(symbols, out->address);
    }
    out->isa = walk->isa;
    bool thumb = out->isa == ISA_THUMB;
    out->code = code_at(symbols, bytes, left, thumb, &size);
    if (out->isa == ISA_OTHER || walk->is_data) {
        size = thumb ? 2 : 4;
        out->code = 0;
        out->is_data = true;
    }
    out->size = size;
    walk->at += size;
    if (!walk->is_raw && may_be_bl(out)) {
        struct instruction does = code_decode(out);
        out->is_own_jump = does.kind == GOES_CALL && is_own_jump(symbols, out->address, does.target);
    }
    if (walk->at < walk->n)
        out->next = code_at(symbols, bytes + size, left - size, thumb, &size);
    return true;
}

struct instruction code_decode(const struct code_instruction *one)
{
    struct instruction does = instruction_of(one->is_data ? ISA_OTHER : one->isa, one->code, one->address);
    does.kind = one->is_own_jump ? GOES_JUMP : does.kind;
    return does;
}

static size_t sleeps_in(struct symbols *symbols, uint64_t low, uint64_t high, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .low = low, .high = high};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        if (code_decode(&one).kind != GOES_ASLEEP)
            continue;
        if (n < room)
            out[n] = one.address;
        n++;
    }
    return n;
}

size_t symbols_sleeps(struct symbols *symbols, uint64_t *out, size_t room)
{
    return sleeps_in(symbols, 0, UINT64_MAX, out, room);
}

bool symbols_may_sleep(struct symbols *symbols, uint64_t low, uint64_t high)
{
    enum { LONGEST = 4 }; /* bytes of an instruction */
    uint64_t before = low - (low < LONGEST ? low : LONGEST);
    return sleeps_in(symbols, low, high, NULL, 0) > 0 || sleeps_in(symbols, before, low, NULL, 0) > 0;
}

bool symbols_it_of(struct symbols *symbols, uint64_t address, uint64_t *it)
{
    struct extent function;
    struct code_instruction one;
    unsigned left = 0;
    if (symbols == NULL || table_around(symbols, address, &function) == NULL)
        return false;
    struct code_walk walk = {.symbols = symbols, .low = function.low, .high = function.high};
    while (code_next(&walk, &one) && one.address < address) {
        struct instruction does = code_decode(&one);
        left = left > 0 ? left - 1 : does.kind == GOES_IT ? does.number : 0;
        if (does.kind == GOES_IT)
            *it = one.address;
    }
    return left > 0 && one.address == address;
}

int code_compare_targets(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* --- changes of the stack, and calls ------------------------------------------------------------------- */

/* The end of a frame takes its saved registers from the stack. */
static bool ends_frame(enum instruction_set isa, uint32_t code, unsigned sp)
{
    struct instruction one = instruction_of(isa, code, 0);
    bool adds = one.gives == GIVES_SUM && one.to == sp && one.from == sp && (int32_t)one.number >= 0;
    return adds || (one.access == ACCESS_LOAD && one.base == sp && (one.moves > 0 || isa == ISA_A64));
}

enum { ARM_FRAME = 11, THUMB_FRAME = 7 };

static bool is_frame_pointer(enum instruction_set isa, unsigned which)
{
    return isa == ISA_A64 ? which == A64_FP : which == ARM_FRAME || which == THUMB_FRAME;
}

static bool has_register(uint32_t registers, unsigned which)
{
    return which < NO_REGISTER && (registers >> which & 1) != 0;
}

/* Code that has just entered a mode sets up its stack: it leaves no call. LDM of SP and PC ends a frame of
 * the old procedure call standard, if its base is that frame's. Another exception level's SP is not meant. */
bool stack_is_set(enum instruction_set isa, const struct stack_code *code, uint32_t foreign)
{
    unsigned sp = isa == ISA_A64 ? A64_SP : ARM_SP;
    struct instruction here = instruction_of(isa, code->here, 0);
    if (here.system == SYSTEM_STACK)
        return true;
    if (isa == ISA_A64 && (code->here & 0xFFE003FF) == 0x8B2003FF) /* ADD SP, SP, Xm: unwinders' eh_return */
        return true;
    if ((here.writes >> sp & 1) == 0 || instruction_of(isa, code->before, 0).system == SYSTEM_MODE)
        return false;
    if (here.to != sp)
        return here.access == ACCESS_LOAD && (here.list >> sp & 1) != 0 &&
               (here.kind != GOES_BACK || (here.base != sp && has_register(foreign, here.base)));
    return here.from != sp && (!is_frame_pointer(isa, here.from) || has_register(foreign, here.from) ||
                               !ends_frame(isa, code->next, sp));
}

/* Which registers have the stack pointer of the function that is read, less or more something. */
struct stack_copies {
    uint64_t until;      /* where that function ends; 0: no symbol says so */
    uint32_t copies;     /* for straight code, as where a function makes room for an array of variable size */
    uint32_t frames;     /* of the frame pointers, for the whole function from there on ... */
    uint32_t given_back; /* ... but at an end that has restored the caller's */
};

static uint32_t frame_pointers(enum instruction_set isa)
{
    return isa == ISA_A64 ? 1U << A64_FP : 1U << ARM_FRAME | 1U << THUMB_FRAME;
}

static void copies_begin(struct stack_copies *copies, struct symbols *symbols,
                         const struct code_instruction *one)
{
    struct extent function = {0, 0};
    bool same = one->address < copies->until && !one->is_first;
    bool named = !same && table_around(symbols, one->address, &function) != NULL;
    if (named || one->is_first || (!same && copies->until != 0))
        *copies = (struct stack_copies){.until = function.high};
}

/* Registers that a callee, or the system after an SVC, may give another value: IHI 0042 5.1.1 (AAPCS32),
 * IHI 0055 5.1.1 (AAPCS64). */
static uint32_t call_loses(enum instruction_set isa, const struct instruction *does)
{
    enum { ARM_LOSES = 0x100F, A64_LOSES = 0x7FFFF };
    if (!instruction_calls(does) && does->kind != GOES_SUPERVISOR)
        return 0;
    return isa == ISA_A64 ? A64_LOSES : ARM_LOSES;
}

/* What `one` makes of them. */
static void copies_follow(struct stack_copies *copies, const struct code_instruction *one,
                          const struct instruction *does)
{
    unsigned sp = one->isa == ISA_A64 ? A64_SP : ARM_SP;
    uint32_t known = copies->copies | copies->frames | 1U << sp, frames = frame_pointers(one->isa);
    bool gives = has_register(known, does->from) && does->to < NO_REGISTER && does->to != sp &&
                 does->access == ACCESS_NONE;
    bool restores = does->access == ACCESS_LOAD && does->base == sp;
    uint32_t given = gives ? 1U << does->to : 0;
    copies->copies = (copies->copies & ~(does->writes | call_loses(one->isa, does))) | given;
    copies->given_back =
        restores ? copies->given_back | (does->writes & frames) : copies->given_back & ~given;
    copies->frames = (restores ? copies->frames : copies->frames & ~does->writes) | (given & frames);
    if (instruction_leaves(does))
        copies->copies = copies->given_back = 0;
}

/* It sets SP to what the function itself has made of SP. */
static bool makes_room(const struct stack_copies *copies, const struct instruction *does)
{
    return does->access == ACCESS_NONE && has_register(copies->copies, does->from);
}

static uint32_t copies_foreign(const struct stack_copies *copies, enum instruction_set isa)
{
    return frame_pointers(isa) & (~copies->frames | copies->given_back);
}

/* `one`, and what is known before it. */
static void stack_code_next(struct stack_code *code, struct stack_copies *copies, struct symbols *symbols,
                            const struct code_instruction *one)
{
    copies_begin(copies, symbols, one);
    *code =
        (struct stack_code){.before = one->is_first ? 0 : code->here, .here = one->code, .next = one->next};
}

/* --- all of the code ----------------------------------------------------------------------------------- */

struct search {
    struct symbols *symbols;
    uint64_t low, high;
    uint64_t skip, skip_until; /* left out */
    bool for_calls;
    bool found;
};

/* After an SVC, too, the system may switch stacks. */
static bool is_it(const struct search *search, enum instruction_set isa, const struct stack_code *code,
                  const struct instruction *does, uint32_t foreign)
{
    if (!search->for_calls)
        return stack_is_set(isa, code, foreign);
    return instruction_calls(does) || does->kind == GOES_SUPERVISOR;
}

static bool search_code(struct search *search)
{
    struct code_walk walk = {.symbols = search->symbols, .low = search->low, .high = search->high};
    struct code_instruction one;
    struct stack_code code = {0};
    struct stack_copies copies = {0};
    while (!search->found && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        stack_code_next(&code, &copies, search->symbols, &one);
        bool skipped = one.address >= search->skip && one.address < search->skip_until;
        bool own = !search->for_calls && makes_room(&copies, &does);
        search->found = !skipped && !own && !one.is_data &&
                        is_it(search, one.isa, &code, &does, copies_foreign(&copies, one.isa));
        copies_follow(&copies, &one, &does);
    }
    return search->found;
}

/* Whether code leads to the start-up: a soft restart. The first instruction of a section may be the reset
 * vector, which does so, too. */
static bool start_is_reached(struct symbols *symbols, const struct extent *start)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    struct named names = {.known = 0};
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool inside = one.address >= start->low && one.address < start->high;
        bool goes = does.kind == GOES_CALL || does.kind == GOES_JUMP;
        uint64_t made, named = named_follow(&names, symbols, &one, &does, &made) ? made & ~UINT64_C(1) : 0;
        named = goes ? does.target : named;
        if (!inside && !one.is_first && !one.is_data && named >= start->low && named < start->high &&
            (goes || (named == start->low && named != 0)))
            return true;
    }
    return false;
}

/* The start-up has no callers to return to. */
static void search_skip_start(struct search *search)
{
    struct extent start = {0, 0};
    if (table_around(search->symbols, search->symbols->entry & ~UINT64_C(1), &start) == NULL ||
        start_is_reached(search->symbols, &start))
        return;
    search->skip = start.low;
    search->skip_until = start.high;
}

/* Adds the function that begins at the address. */
static bool pointed_add(struct reached *reached, struct symbols *symbols, uint64_t address)
{
    struct extent function = {0, 0};
    return address == 0 || table_around(symbols, address, &function) == NULL || function.low != address ||
           reached_add(reached, symbols, address);
}

/* The aligned words of memory that the program's file fills. */
struct word_walk {
    Elf_Scn *section;
    const uint8_t *bytes;
    uint64_t base;
    size_t n, at;
};

static bool word_next(const struct symbols *symbols, struct word_walk *walk, uint32_t *out)
{
    while (walk->at + 4 > walk->n) {
        walk->section = elf_next_bytes(symbols, walk->section, &walk->base, &walk->bytes, &walk->n);
        walk->at = (size_t)(-walk->base & 3);
        if (walk->section == NULL)
            return false;
    }
    struct cursor cursor = {
        .at = walk->bytes + walk->at, .end = walk->bytes + walk->n, .big_endian = symbols->big_endian};
    *out = (uint32_t)cursor_unsigned(&cursor, 4);
    walk->at += 4;
    return true;
}

/* Adds the functions whose address a word has, or code makes, without the start-up: so the vector table
 * names handlers. */
static bool pointed_search(struct reached *out, struct symbols *symbols)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct search search = {.symbols = symbols};
    struct code_instruction one;
    struct named named = {.known = 0};
    struct word_walk words = {.n = 0};
    size_t kept = 0;
    uint32_t word;
    bool ok = true;
    while (ok && word_next(symbols, &words, &word)) {
        bool thumb = (word & 1) != 0;
        ok = (symbols->profile == 'M' && !thumb) || pointed_add(out, symbols, word & ~UINT32_C(1));
    }
    while (ok && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        uint64_t made = 0;
        ok = !named_follow(&named, symbols, &one, &does, &made) ||
             pointed_add(out, symbols, made & ~UINT64_C(1));
    }
    search_skip_start(&search);
    for (size_t i = 0; i < out->n; i++)
        if (search.skip_until == 0 || out->items[i].low != search.skip)
            out->items[kept++] = out->items[i];
    out->n = kept;
    return ok;
}

/* All code is searched once. */
static bool kept_find(struct reached *out, struct symbols *symbols, struct extents_kept *kept,
                      bool (*search)(struct reached *, struct symbols *))
{
    struct reached found = {.n = 0};
    bool ok = kept->known || search(&found, symbols);
    if (ok && !kept->known) {
        *kept = (struct extents_kept){.known = true, .items = found.items, .n = found.n};
        found.items = NULL;
    }
    reached_free(&found);
    for (size_t i = 0; ok && i < kept->n; i++)
        ok = reached_has_extent(out, &kept->items[i]) || reached_grow(out, kept->items[i]);
    return ok;
}

static bool pointed_find(struct reached *out, struct symbols *symbols)
{
    return kept_find(out, symbols, &symbols->pointed, pointed_search);
}

static bool handlers_choose_return(struct symbols *symbols, const struct search *search);

bool symbols_may_leave(struct symbols *symbols)
{
    struct search search = {.symbols = symbols, .high = UINT64_MAX};
    if (symbols == NULL || (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64) ||
        !symbols->has_code || symbols->has_libraries)
        return true;
    if (symbols->leave_known)
        return symbols->may_leave;
    search_skip_start(&search);
    symbols->may_leave =
        search_code(&search) ||
        (symbols->profile == 'M' ? handlers_redirect(symbols) : handlers_choose_return(symbols, &search));
    symbols->leave_known = true;
    return symbols->may_leave;
}

static size_t stacks_search(struct symbols *symbols, struct code_at_place *out, size_t room)
{
    struct search search = {.symbols = symbols, .high = UINT64_MAX};
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    struct stack_code code = {0};
    struct stack_copies copies = {0};
    size_t n = 0;
    search_skip_start(&search);
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        stack_code_next(&code, &copies, symbols, &one);
        bool skipped = one.address >= search.skip && one.address < search.skip_until;
        bool own = makes_room(&copies, &does);
        uint32_t foreign = copies_foreign(&copies, one.isa);
        copies_follow(&copies, &one, &does);
        if (skipped || one.is_data || own || does.system == SYSTEM_STACK ||
            !stack_is_set(one.isa, &code, foreign))
            continue;
        if (n < room)
            out[n] = (struct code_at_place){one.address, one.isa};
        n++;
    }
    return n;
}

size_t symbols_stacks(struct symbols *symbols, struct code_at_place *out, size_t room)
{
    struct stacks_kept *kept = &symbols->stacks;
    size_t most = sizeof kept->at / sizeof *kept->at;
    if (symbols->has_libraries)
        return SIZE_MAX;
    if (room > most)
        return stacks_search(symbols, out, room);
    if (!kept->known)
        kept->n = stacks_search(symbols, kept->at, most);
    kept->known = true;
    for (size_t i = 0; i < room && i < kept->n; i++)
        out[i] = kept->at[i];
    return kept->n;
}

static bool makes_calls(struct symbols *symbols, const struct extent *function)
{
    struct search search = {
        .symbols = symbols, .low = function->low, .high = function->high, .for_calls = true};
    return !symbols->has_code || search_code(&search);
}

bool symbols_is_return(struct symbols *symbols, uint64_t address)
{
    struct extent extent = {0, 0};
    if (symbols == NULL || address < 2)
        return true;
    const struct symbol *caller = table_around(symbols, address - 2, &extent);
    bool at_end = caller != NULL && symbol_is_function(caller) && caller->size > 0 && extent.high <= address;
    char object[8];
    /* Constants after a function's last call; in an object the program may have put code */
    return !at_end && (!table_is_data(symbols, address) ||
                       symbols_describe_object(symbols, address, object, sizeof object));
}

/* Where jumps and tables lead. */
static bool jumps_collect(struct symbols *symbols)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    struct jumps *jumps = &symbols->jumps;
    jumps->known = true;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (does.kind != GOES_JUMP)
            continue;
        uint64_t *items = array_grow(jumps->items, jumps->n + 1, &jumps->room, sizeof *items);
        if (items == NULL)
            return false;
        jumps->items = items;
        jumps->items[jumps->n++] = does.target;
    }
    if (jumps->n > 0)
        qsort(jumps->items, jumps->n, sizeof *jumps->items, code_compare_targets);
    return true;
}

/* A table of jumps in the function may lead to any place of it. */
static bool has_table(struct symbols *symbols, uint64_t address)
{
    struct extent function = {0, 0};
    struct code_instruction one;
    if (table_around(symbols, address, &function) == NULL)
        return true;
    struct code_walk walk = {.symbols = symbols, .low = function.low, .high = function.high};
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (does.kind == GOES_TABLE || does.kind == GOES_AWAY)
            return true;
    }
    return false;
}

bool symbols_is_joined(struct symbols *symbols, uint64_t address)
{
    if (symbols == NULL || (!symbols->jumps.known && !jumps_collect(symbols)))
        return true;
    const struct jumps *jumps = &symbols->jumps;
    return (jumps->n > 0 &&
            bsearch(&address, jumps->items, jumps->n, sizeof address, code_compare_targets) != NULL) ||
           has_table(symbols, address);
}

/* --- frames -------------------------------------------------------------------------------------------- */

/* If the canonical frame address is a register plus a number. */
static bool code_find_frame(const struct symbols *symbols, Dwarf_CFI *cfi, uint64_t address,
                            struct frame_base *out)
{
    Dwarf_Frame *frame = frame_row(symbols, cfi, address);
    Dwarf_Op *ops = NULL;
    size_t n = 0;
    bool found = frame != NULL && dwarf_frame_cfa(frame, &ops, &n) == 0 && n == 1;
    if (found) {
        found = ops[0].atom == DW_OP_bregx || (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31);
        bool named = ops[0].atom == DW_OP_bregx;
        out->number = named ? (unsigned)ops[0].number : (unsigned)(ops[0].atom - DW_OP_breg0);
        out->offset = (int64_t)(named ? ops[0].number2 : ops[0].number);
    }
    free(frame);
    return found;
}

/* Call frame information alone is not believed: see bases.c. */
static bool frame_at(struct symbols *symbols, uint64_t address, struct frame_base *out)
{
    struct frame_base by_code = {.number = 0};
    bool found = lines_load(symbols) && code_find_frame(symbols, dwarf_getcfi(symbols->dwarf), address, out);
    if (!found) {
        Dwarf_CFI *in_memory = dwarf_getcfi_elf(symbols->elf);
        found = code_find_frame(symbols, in_memory, address, out);
        dwarf_cfi_end(in_memory);
    }
    enum base_found shown = found ? bases_at(symbols, address, &by_code) : BASE_NOT_FOUND;
    bool is_other = by_code.number != out->number || by_code.offset != out->offset;
    if ((shown == BASE_FOUND && !by_code.is_sp && is_other) ||
        (shown == BASE_SUPPOSED && !bases_confirm(symbols, address, out)))
        shown = BASE_NOT_FOUND;
    if (shown == BASE_FOUND)
        *out = by_code;
    out->is_sp = out->number == (symbols->machine == EM_AARCH64 ? A64_SP : ARM_SP);
    return shown != BASE_NOT_FOUND && out->number < 32 &&
           (out->number < 16 || symbols->machine == EM_AARCH64);
}

/* In a function that never moves it SP is where the frame is. */
static bool leaves_stack(struct symbols *symbols, const struct extent *function)
{
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    unsigned sp = symbols->machine == EM_AARCH64 ? A64_SP : ARM_SP;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if ((does.writes >> sp & 1) != 0 || does.system == SYSTEM_STACK || does.system == SYSTEM_MODE)
            return false;
    }
    return symbols->has_code;
}

enum frames symbols_frames(struct symbols *symbols, uint64_t start, uint64_t end, struct frame_base *at_start,
                           struct frame_base *at_end)
{
    struct extent function = {0, 0}, other = {0, 0}, of_start = {0, 0}, of_end = {0, 0};
    const struct symbol *symbol = symbols != NULL ? table_around(symbols, start, &function) : NULL;
    if (symbol == NULL || table_around(symbols, end, &other) == NULL ||
        (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64))
        return FRAMES_OF_TWO;
    symbols_whole(symbols, start, &of_start);
    symbols_whole(symbols, end, &of_end);
    if (of_start.low != of_end.low)
        return FRAMES_OF_TWO;
    bool known = frame_at(symbols, start, at_start) && frame_at(symbols, end, at_end);
    if (!known && leaves_stack(symbols, &function) && leaves_stack(symbols, &other) &&
        leaves_stack(symbols, &of_start)) {
        unsigned sp = symbols->machine == EM_AARCH64 ? A64_SP : ARM_SP;
        *at_start = *at_end = (struct frame_base){.number = sp, .is_sp = true};
        known = true;
    }
    bool calls =
        makes_calls(symbols, &function) || makes_calls(symbols, &other) || makes_calls(symbols, &of_start);
    if (!calls && !symbols_may_leave(symbols))
        return known ? FRAMES_KNOWN_ONE : FRAMES_ONE_ONLY;
    return known ? FRAMES_KNOWN : FRAMES_UNKNOWN;
}

/* --- what handlers run ---------------------------------------------------------------------------------- */

bool code_returns_from_exception(const struct code_instruction *one)
{
    uint32_t code = one->code;
    if (one->isa == ISA_A64)
        return (code & 0xFFFFF000) == 0xD69F0000;
    if (one->isa == ISA_THUMB)
        return (code & 0xFFFFFF00) == 0xF3DE8F00 || (code & 0xFFD0FFFF) == 0xE810C000 ||
               (code & 0xFFD0FFFF) == 0xE990C000;
    return one->isa == ISA_ARM && ((code & 0x0E508000) == 0x08508000 || (code & 0xFE50FFFF) == 0xF8100A00 ||
                                   (code & 0x0FFFF000) == 0x025EF000 || (code & 0x0FFFFFFF) == 0x01B0F00E ||
                                   (code & 0x0FFFFFFF) == 0x0160006E);
}

/* Whether one of the functions from `from` on calls what a register names. */
static bool calls_any(struct symbols *symbols, const struct extent *range)
{
    struct code_walk walk = {.symbols = symbols, .low = range->low, .high = range->high};
    struct code_instruction one;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (does.kind == GOES_CALL_BY || (does.kind == GOES_AWAY && does.by != NO_REGISTER))
            return true;
    }
    return false;
}

static bool handlers_search(struct reached *out, struct symbols *symbols)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    bool ok = true;
    while (ok && code_next(&walk, &one))
        ok = one.is_data || !code_returns_from_exception(&one) || reached_add(out, symbols, one.address);
    return ok;
}

/* *out: the functions that end by the return from an exception. False: out of memory. */
static bool find_handlers(struct symbols *symbols, struct reached *out)
{
    return kept_find(out, symbols, &symbols->handlers, handlers_search);
}

/* Of AArch32: whether it returns from its exception by LR or the stack, and has given LR another value than
 * one of these, or gives a pointer to the stack away. What sets ELR may as well start a program as resume
 * one. */
static bool handler_chooses_return(struct symbols *symbols, const struct extent *function)
{
    enum { ARGUMENTS = 0xF, ERET = 0x0160006E };
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    struct stack_copies copies = {0};
    bool chooses = false, returns = false;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool calls = instruction_calls(&does), pops = does.access == ACCESS_LOAD && does.base == ARM_SP;
        bool moves = does.gives == GIVES_SUM && does.from == ARM_LR;
        bool sets = (does.writes >> ARM_LR & 1) != 0 && !calls && !pops && !moves;
        returns = returns || (code_returns_from_exception(&one) && (one.code & 0x0FFFFFFF) != ERET);
        chooses = chooses || sets || (calls && (copies.copies & ARGUMENTS) != 0);
        copies_follow(&copies, &one, &does);
    }
    return chooses && returns && symbols->machine == EM_ARM;
}

static bool handlers_choose_return(struct symbols *symbols, const struct search *search)
{
    struct reached handlers = {.n = 0};
    bool chooses = !find_handlers(symbols, &handlers);
    for (size_t i = 0; !chooses && i < handlers.n; i++)
        chooses =
            handlers.items[i].low != search->skip && handler_chooses_return(symbols, &handlers.items[i]);
    reached_free(&handlers);
    return chooses;
}

/* Whether these and what they run may run the code at the address. */
static bool roots_reach(struct reached *roots, struct symbols *symbols, uint64_t address)
{
    size_t which = 0;
    bool may = reached_places(roots, symbols, 0, &address, 1, &which, 1) > 0;
    for (size_t i = 0; !may && i < roots->n; i++)
        may = calls_any(symbols, &roots->items[i]);
    return may;
}

bool symbols_handlers_reach(struct symbols *symbols, uint64_t address)
{
    struct reached reached = {.n = 0};
    if (symbols == NULL || !symbols->has_code || symbols->profile == 'M' ||
        (symbols->machine == EM_ARM && symbols->profile == 0) || symbols->has_libraries)
        return true; /* the vector table names them, or a library calls them: as threads, or at signals */
    bool may = !find_handlers(symbols, &reached) || roots_reach(&reached, symbols, address);
    reached_free(&reached);
    return may;
}

bool symbols_pointers_reach(struct symbols *symbols, uint64_t address)
{
    struct reached reached = {.n = 0};
    if (symbols == NULL || !symbols->has_code || symbols->profile != 'M')
        return symbols_handlers_reach(symbols, address);
    bool may = !pointed_find(&reached, symbols) || roots_reach(&reached, symbols, address);
    reached_free(&reached);
    return may;
}

/* Whether the function itself calls or jumps to the address. */
static bool range_goes_to(struct symbols *symbols, const struct extent *range, uint64_t address)
{
    struct code_walk walk = {.symbols = symbols, .low = range->low, .high = range->high};
    struct code_instruction one;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (goes_to(&does, address))
            return true;
    }
    return false;
}

static bool reached_has(const struct reached *reached, uint64_t low)
{
    for (size_t i = 0; i < reached->n; i++)
        if (reached->items[i].low == low)
            return true;
    return false;
}

/* Adds all to which a pointer may lead; they are in `pointed`, too. */
static bool reached_add_pointed(struct reached *reached, struct symbols *symbols, struct reached *pointed)
{
    bool ok = pointed_find(pointed, symbols);
    for (size_t i = 0; ok && i < pointed->n; i++)
        ok = reached_add(reached, symbols, pointed->items[i].low);
    return ok;
}

bool symbols_recurs(struct symbols *symbols, const struct extent *function)
{
    struct reached reached = {.n = 0}, pointed = {.n = 0};
    bool found = false, is_open = false;
    if (symbols == NULL || !symbols->has_code || function->high <= function->low)
        return false;
    bool ok = reached_grow(&reached, *function);
    for (size_t i = 0; ok && !found && i < reached.n; i++) {
        struct extent one = reached.items[i];
        found = i > 0 && range_goes_to(symbols, &one, function->low);
        ok = reached_follow(&reached, symbols, &one);
        if (!is_open && calls_any(symbols, &one)) { /* whatever a pointer may lead to */
            is_open = true;
            ok = ok && reached_add_pointed(&reached, symbols, &pointed);
        }
    }
    found = found || (is_open && reached.n > 1 && reached_has(&pointed, function->low));
    reached_free(&pointed);
    reached_free(&reached);
    return found || !ok;
}

/* --- from START to END --------------------------------------------------------------------------------- */

enum { WAYS_MOST = 4096 };

/* Places from which the code still has to be followed, and those that were met. */
struct ways_walk {
    uint64_t todo[WAYS_MOST], met[WAYS_MOST];
    size_t n_todo, n_met;
};

static bool ways_met(const struct ways_walk *ways, uint64_t address)
{
    for (size_t i = 0; i < ways->n_met; i++)
        if (ways->met[i] == address)
            return true;
    return false;
}

static bool ways_add(struct ways_walk *ways, uint64_t address)
{
    if (ways_met(ways, address))
        return true;
    if (ways->n_met == WAYS_MOST || ways->n_todo == WAYS_MOST)
        return false;
    ways->met[ways->n_met++] = address;
    ways->todo[ways->n_todo++] = address;
    return true;
}

static bool ways_read(struct symbols *symbols, uint64_t address, struct instruction *out)
{
    struct code_walk walk = {.symbols = symbols, .low = address, .high = address + 2};
    struct code_instruction one;
    uint64_t it;
    if (!code_next(&walk, &one) || one.address != address || one.is_data || one.isa == ISA_OTHER)
        return false;
    *out = code_decode(&one);
    if (code_reads_target(symbols, &one, out, &out->target))
        out->kind = GOES_JUMP;
    else if (out->kind == GOES_AWAY && code_returns_from_exception(&one))
        out->kind = GOES_BACK;
    if (one.isa == ISA_THUMB && instruction_leaves(out) && symbols_it_of(symbols, address, &it))
        out->conditional = true;
    return true;
}

/* The instructions that follow this one, calls left out. False: there is no room. */
static bool ways_go_on(struct ways_walk *ways, uint64_t address, const struct instruction *does)
{
    return (does->kind != GOES_JUMP || ways_add(ways, does->target)) &&
           (instruction_leaves(does) || ways_add(ways, address + does->size));
}

/* Whether the callee adds to LR, as a helper for switch tables does: it returns to one of several places. */
static bool ways_call_chooses(struct symbols *symbols, const struct instruction *call)
{
    struct extent callee = {0, 0};
    struct code_instruction one;
    if (call->kind != GOES_CALL || table_around(symbols, call->target, &callee) == NULL)
        return false;
    struct code_walk walk = {.symbols = symbols, .low = callee.low, .high = callee.high};
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (does.to == ARM_LR && does.from == ARM_LR && does.gives != GIVES_NONE)
            return true;
    }
    return false;
}

/* Whether the callee may return twice, as setjmp: it copies SP and does not move it. */
static bool call_keeps_stack(struct symbols *symbols, const struct instruction *call)
{
    unsigned sp = symbols->machine == EM_AARCH64 ? A64_SP : ARM_SP;
    struct extent callee = {0, 0};
    struct code_instruction one;
    const struct symbol *symbol =
        call->kind == GOES_CALL ? table_around(symbols, call->target, &callee) : NULL;
    struct code_walk walk = {.symbols = symbols, .low = callee.low, .high = callee.high};
    bool copies = symbol != NULL && strstr(symbol->name, "setjmp") != NULL;
    if (symbol == NULL || (!copies && !leaves_stack(symbols, &callee)))
        return false;
    while (!copies && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        copies = (does.gives == GIVES_SUM && does.from == sp) ||
                 (does.access == ACCESS_STORE && (does.list >> sp & 1) != 0);
    }
    return copies;
}

/* What plain code of the function reaches from its entry; NULL: there is no room. The caller frees it. */
static struct ways_walk *ways_plain(struct symbols *symbols, const struct extent *function)
{
    struct ways_walk *plain = calloc(1, sizeof *plain);
    bool ok = plain != NULL && ways_add(plain, function->low);
    while (ok && plain->n_todo > 0) {
        struct instruction does;
        uint64_t address = plain->todo[--plain->n_todo];
        if (ways_read(symbols, address, &does))
            ok = ways_go_on(plain, address, &does);
    }
    if (!ok)
        free(plain);
    return ok ? plain : NULL;
}

/* Adds what of the function no jump leads to: only a table, a pointer or an unwinder does; and where a setjmp
 * in it returns. */
static bool ways_add_labels(struct symbols *symbols, struct ways_walk *ways, const struct extent *function)
{
    struct ways_walk *plain = ways_plain(symbols, function);
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    bool ok = plain != NULL;
    while (ok && function->high > function->low && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (one.is_data)
            continue;
        ok = ways_met(plain, one.address) || ways_add(ways, one.address);
        if (ok && call_keeps_stack(symbols, &does))
            ok = ways_add(ways, one.address + does.size);
    }
    free(plain);
    return ok;
}

/* Whether plain code does not reach all of the function: a table or a pointer leads to the rest. */
static bool has_labels(struct symbols *symbols, const struct extent *function)
{
    struct ways_walk *plain = ways_plain(symbols, function);
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    bool has = plain == NULL;
    while (!has && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool pads = does.writes == 0 && does.access == ACCESS_NONE && does.kind <= GOES_UNSURE;
        has = !one.is_data && !pads && !ways_met(plain, one.address);
    }
    free(plain);
    return has;
}

static bool is_inner(const struct extent *function, uint64_t address)
{
    return address > function->low && address < function->high;
}

/* *computed: the registers that have a sum of unknown ones, such as a table's base and its entry. */
static void computed_follow(uint32_t *computed, const struct instruction *does, bool is_known)
{
    enum { ARGUMENTS = 0xF };
    bool moves = does->gives == GIVES_SUM && does->number == 0 && does->from < NO_REGISTER;
    bool computes =
        moves ? has_register(*computed, does->from)
              : does->access == ACCESS_NONE && does->gives != GIVES_NUMBER && does->gives != GIVES_TOP;
    *computed &= ~(does->writes | (instruction_calls(does) ? ARGUMENTS : 0));
    if (!is_known && computes)
        *computed |= does->writes;
}

/* Whether the function has the address of a place in it, or adds up where it jumps to by a register. */
static bool makes_labels(struct symbols *symbols, const struct extent *function)
{
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    struct named named = {.known = 0};
    uint32_t computed = 0;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        uint64_t made = 0;
        if (does.kind == GOES_AWAY && has_register(computed, does.by))
            return true;
        bool is_known = named_follow(&named, symbols, &one, &does, &made);
        if (is_known && is_inner(function, made & ~UINT64_C(1)))
            return true;
        computed_follow(&computed, &does, is_known);
    }
    return false;
}

/* Whether a jump by a register may lead to a place of the function, as a computed goto does: otherwise it is
 * a call in the function's place. */
static bool is_led_into(struct symbols *symbols, const struct extent *function)
{
    struct word_walk words = {.n = 0};
    uint32_t word;
    if (function->high <= function->low || has_labels(symbols, function) || makes_labels(symbols, function))
        return true;
    const struct extent low = {(uint32_t)function->low, (uint32_t)function->high};
    while (word_next(symbols, &words, &word))
        if (is_inner(&low, word & ~UINT32_C(1)))
            return true;
    return false;
}

/* `size` 0: all of the function may be passed. */
static void extent_add(struct extent *code, const struct extent *function, uint64_t address, unsigned size)
{
    if (size == 0)
        *code = *function;
    else if (address >= function->low && address < function->high) {
        code->low = code->high == 0 || address < code->low ? address : code->low;
        code->high = address + size > code->high ? address + size : code->high;
    }
}

struct symbols_ways symbols_ways(struct symbols *symbols, uint64_t start, uint64_t end)
{
    struct symbols_ways found = {.again = false};
    struct ways_walk *ways = calloc(1, sizeof *ways);
    struct extent function = {0, 0};
    bool ok = ways != NULL && symbols != NULL && symbols->has_code, labels = false, labels_met = false,
         led = false, led_known = false;
    bool unwinds = ok && symbols_may_leave(symbols);
    uint64_t address = start;
    if (ok)
        (void)table_around(symbols, start, &function);
    for (bool first = true; ok && (first || ways->n_todo > 0); first = false) {
        struct instruction does;
        if (!first)
            address = ways->todo[--ways->n_todo];
        bool met = !first && (address == end || address == start);
        if (met) {
            found.again = found.again || address != end;
            found.ends = found.ends || address == end;
        } else if (!ways_read(symbols, address, &does)) {
            found.leaves = true;
        } else {
            if (does.kind == GOES_AWAY && !led_known)
                led = is_led_into(symbols, &function);
            led_known = led_known || does.kind == GOES_AWAY;
            bool inside = does.target == end || (does.target >= function.low && does.target < function.high),
                 calls = instruction_calls(&does) || does.kind == GOES_SUPERVISOR,
                 chooses = calls && ways_call_chooses(symbols, &does),
                 table = does.kind == GOES_TABLE || chooses ||
                         (does.kind == GOES_AWAY && (does.by == NO_REGISTER || end > start || led));
            found.calls = found.calls || calls;
            extent_add(&found.code, &function, address, table ? 0 : does.size);
            found.leaves = found.leaves || table || does.kind == GOES_AWAY || does.kind == GOES_BACK ||
                           (does.kind == GOES_JUMP && !inside);
            /* It may lead to any place. Of the same place twice nothing is assumed: it may be passed once a
             * call */
            found.again = found.again || (table && start != end);
            found.ends = found.ends || (table && start != end);
            labels = labels || table || does.kind == GOES_AWAY || (calls && unwinds);
            ok = ways_go_on(ways, address, &does);
        }
        if (ok && ways->n_todo == 0 && labels && !labels_met) {
            labels_met = true;
            ok = ways_add_labels(symbols, ways, &function);
        }
    }
    free(ways);
    return ok ? found : (struct symbols_ways){true, true, true, true, function};
}

/* --- the ends of an exception handler ------------------------------------------------------------------ */

enum { MOST_FUNCTIONS = 24, CODE_MOST_CODE = 1 << 16 };

struct exit_search {
    struct symbols *symbols;
    uint64_t entries[MOST_FUNCTIONS]; /* of the handler and of the functions that it ends in */
    size_t n_entries;
    struct handler_exit *out;
    size_t n, room;
    bool all; /* so far nothing was found that leads to unknown code */
};

static void add_exit(struct exit_search *search, uint64_t at, const struct instruction *does,
                     bool conditional)
{
    bool pops = does->base == ARM_SP && does->moves > 0;
    struct handler_exit exit = {.at = at,
                                .popped = pops ? (unsigned)does->moves / 4 : 0,
                                .by = pops ? NO_REGISTER : does->by,
                                .conditional = conditional};
    size_t to = search->n < search->room ? search->n : search->room;
    search->n++;
    if (to == search->room)
        return;
    /* Unconditional ones are first */
    for (; !conditional && to > 0 && search->out[to - 1].conditional; to--)
        search->out[to] = search->out[to - 1];
    search->out[to] = exit;
}

/* The handler ends in the function around that address. What that function's exits are if it is entered by
 * its start is more than what there is from there on: the engine proves each. */
static void code_add_function(struct exit_search *search, uint64_t address)
{
    struct extent extent = {0, 0};
    bool known =
        table_around(search->symbols, address, &extent) != NULL && extent.high - extent.low <= CODE_MOST_CODE;
    for (size_t i = 0; known && i < search->n_entries; i++)
        if (search->entries[i] == extent.low)
            return;
    search->all = search->all && known && search->n_entries < MOST_FUNCTIONS;
    if (known && search->n_entries < MOST_FUNCTIONS)
        search->entries[search->n_entries++] = extent.low;
}

/* BX, or a load of the PC from the stack: what may be an exception return, DDI 0403 B1.5.8. MOV PC is none,
 * but as BX it may go on in code that only the register knows. */
static bool is_exit(struct instruction *one)
{
    bool leaves = one->kind == GOES_AWAY || one->kind == GOES_BACK,
         pops = one->base == ARM_SP && one->moves > 0;
    if (leaves && one->by == NO_REGISTER && one->to == ARM_PC && one->gives == GIVES_SUM && one->number == 0)
        one->by = one->from;
    return leaves && (pops || one->by < ARM_PC);
}

static void code_search_function(struct exit_search *search, uint64_t entry)
{
    struct extent extent = {0, 0};
    struct code_instruction one;
    struct instruction does = {.kind = GOES_BACK};
    bool leaves = true, left = true; /* the last instruction, and the one before */
    unsigned in_block = 0;
    (void)table_around(search->symbols, entry, &extent);
    struct code_walk walk = {.symbols = search->symbols, .low = extent.low, .high = extent.high};
    while (code_next(&walk, &one)) {
        uint64_t target = 0;
        if (one.is_data || one.isa != ISA_THUMB)
            continue;
        does = code_decode(&one);
        left = leaves;
        leaves = instruction_leaves(&does) && in_block == 0;
        bool outside = does.target < extent.low || does.target >= extent.high;
        if (is_exit(&does))
            add_exit(search, one.address, &does, in_block > 0);
        else if (does.kind == GOES_JUMP && outside)
            code_add_function(search, does.target);
        else if (code_reads_target(search->symbols, &one, &does, &target))
            code_add_function(search, target);
        else if (does.kind == GOES_AWAY)
            search->all = false;
        in_block = in_block > 0 ? in_block - 1 : does.kind == GOES_IT ? does.number : 0;
    }
    if (!leaves && !left && one.address + does.size == extent.high)
        code_add_function(search, extent.high); /* it goes on in the code after it */
}

size_t symbols_exits(struct symbols *symbols, uint64_t entry, struct handler_exit *out, size_t room,
                     bool *all)
{
    struct exit_search search = {.symbols = symbols, .out = out, .room = room, .all = true};
    *all = false;
    if (symbols == NULL || symbols->machine != EM_ARM || symbols->big_endian_code)
        return 0;
    code_add_function(&search, entry);
    for (size_t i = 0; i < search.n_entries; i++)
        code_search_function(&search, search.entries[i]);
    *all = search.all && search.n <= room;
    return search.n;
}

/* Adds where this one goes on elsewhere. *found: at that entry; *is_open: where a register says. */
static bool jumps_follow(struct reached *reached, struct symbols *symbols, const struct extent *from,
                         uint64_t entry, bool *found, bool *is_open)
{
    struct leads leads = leads_of(symbols, from);
    struct lead lead;
    bool ok = true;
    while (ok && !*found && leads_next(&leads, &lead)) {
        bool jumps = lead.kind == LEAD_JUMP;
        *found = jumps && lead.target == entry;
        *is_open = *is_open || lead.kind == LEAD_ANYWHERE;
        bool outside = lead.target < from->low || lead.target >= from->high;
        ok = !jumps || !outside || reached_add(reached, symbols, lead.target);
    }
    return ok;
}

bool symbols_jumps_to(struct symbols *symbols, const struct extent *function)
{
    struct reached reached = {.n = 0}, pointed = {.n = 0};
    bool found = false, is_open = false, was_open = false;
    if (symbols == NULL || function->high <= function->low)
        return false;
    bool ok = reached_grow(&reached, *function);
    for (size_t i = 0; ok && !found && i < reached.n; i++) {
        struct extent from = reached.items[i];
        ok = jumps_follow(&reached, symbols, &from, function->low, &found, &is_open);
        if (ok && is_open && !was_open) {
            ok = reached_add_pointed(&reached, symbols, &pointed);
            found = found || reached_has(&pointed, function->low) ||
                    (symbols->is_movable && symbols->machine == EM_AARCH64); /* the loader has pointers */
        }
        was_open = is_open;
    }
    reached_free(&pointed);
    reached_free(&reached);
    return found || !ok;
}

/* Whether what runs there may go on where no jump says: by an SVC's or an exception's return, or where it has
 * put an address on the stack, as the veneers of Armv6-M by LLD. */
static bool goes_by_stack(struct symbols *symbols, const struct extent *function)
{
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    bool saves = false, pops = false;
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (does.kind == GOES_SUPERVISOR || (!one.is_data && code_returns_from_exception(&one)))
            return true;
        saves = saves || saves_return(&one, &does);
        pops = pops || (does.kind == GOES_BACK && does.by == NO_REGISTER);
    }
    return pops && !saves;
}

/* Whether jumps lead from there to the function. *is_open: they may. */
static bool jumps_lead(struct symbols *symbols, uint64_t from, uint64_t function, bool *is_open)
{
    struct reached reached = {.n = 0};
    bool found = false, ok = reached_add(&reached, symbols, from);
    *is_open = reached.n == 0;
    for (size_t i = 0; ok && !found && !*is_open && i < reached.n; i++) {
        struct extent one = reached.items[i];
        found = extent_has(&one, function);
        ok = found || jumps_follow(&reached, symbols, &one, function, &found, is_open);
        *is_open = *is_open || (!found && goes_by_stack(symbols, &one));
    }
    reached_free(&reached);
    *is_open = *is_open || !ok;
    return found;
}

enum symbols_entry symbols_entry(struct symbols *symbols, uint64_t function, uint64_t back)
{
    struct extent around = {0, 0};
    struct instruction call;
    bool is_open = false;
    if (symbols == NULL || !symbols->has_code || back < 4)
        return ENTRY_CALLED;
    enum returns returns = symbols_returns(symbols, function);
    if (returns != RETURNS_SOMEWHERE)
        return returns == RETURNS_TO_LR ? ENTRY_RETURNS : ENTRY_TAKES;
    if (table_around(symbols, back - 2, &around) == NULL ||
        !call_before(symbols, back, table_isa(symbols, back - 2), &call))
        return ENTRY_CALLED;
    if (call.kind == GOES_CALL) {
        bool leads = jumps_lead(symbols, call.target, function, &is_open);
        return leads || is_open ? ENTRY_CALLED : ENTRY_JUMPED;
    }
    return jumps_lead(symbols, around.low, function, &is_open) ? ENTRY_OPEN : ENTRY_CALLED;
}

/* DDI 0403 B5.2.3: MSR of PSP, also of the Non-secure one. Then handlers have another stack than threads. */
static bool start_splits_stack(struct symbols *symbols)
{
    struct search start = {.symbols = symbols};
    search_skip_start(&start);
    struct code_walk walk = {.symbols = symbols, .low = start.skip, .high = start.skip_until};
    struct code_instruction one;
    while (code_next(&walk, &one))
        if (code_decode(&one).system == SYSTEM_STACK && (one.code & 0x7F) == 9)
            return true;
    return false;
}

bool symbols_has_one_stack(struct symbols *symbols, uint64_t function)
{
    if (symbols_may_leave(symbols))
        return false;
    return symbols->profile == 'M' ? !start_splits_stack(symbols)
                                   : !symbols_handlers_reach(symbols, function);
}

/* A part of the function that the compiler moved away, as fir.cold, goes back to it. */
static bool is_part_of(struct symbols *symbols, uint64_t address, const char *name)
{
    struct extent extent = {0, 0};
    const struct symbol *from = table_around(symbols, address, &extent);
    size_t length = strlen(name);
    return from != NULL && strncmp(from->name, name, length) == 0 && from->name[length] == '.';
}

bool symbols_is_entered(struct symbols *symbols, const struct extent *function)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    struct extent extent = {0, 0};
    const struct symbol *symbol = symbols != NULL ? table_around(symbols, function->low, &extent) : NULL;
    while (symbol != NULL && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool outside = one.address < function->low || one.address >= function->high;
        bool goes = does.kind == GOES_JUMP || does.kind == GOES_CALL ||
                    code_reads_target(symbols, &one, &does, &does.target);
        if (outside && goes && does.target > function->low && does.target < function->high &&
            !is_part_of(symbols, one.address, symbol->name))
            return true;
    }
    return symbol == NULL;
}

/* The functions into which this one goes on past its end; returns where they end. */
static uint64_t parts_past_end(struct symbols *symbols, const struct extent *function)
{
    enum { MOST_PARTS = 32 };
    struct extent part = *function;
    uint64_t next = 0;
    for (unsigned i = 0; i < MOST_PARTS && (next = leads_past_end(symbols, &part)) != 0; i++)
        if (next < part.high || table_around(symbols, next, &part) == NULL)
            break;
    return part.high;
}

size_t symbols_joins(struct symbols *symbols, const struct extent *function, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    struct extent extent = {0, 0};
    const struct symbol *symbol = table_around(symbols, function->low, &extent);
    uint64_t parts = parts_past_end(symbols, function);
    size_t n = 0;
    while (n <= room && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool outside = one.address < function->low || one.address >= function->high;
        bool jumps = does.kind == GOES_JUMP || code_reads_target(symbols, &one, &does, &does.target);
        bool inside = does.target > function->low && does.target < function->high;
        if (!outside || one.is_data || !jumps || (!inside && does.target != function->low))
            continue;
        bool past_end = one.address >= function->high && one.address < parts;
        if (!inside && !past_end && (symbol == NULL || !is_part_of(symbols, one.address, symbol->name)))
            continue; /* a call in another one's place */
        bool known = false;
        for (size_t i = 0; i < n && i < room; i++)
            known = known || out[i] == does.target;
        if (!known && n < room)
            out[n] = does.target;
        n += !known;
    }
    return n;
}

/* DDI 0487 C6.2.93, F5.1.57: in AArch64 state and, by the same instructions as in other modes, in Hyp mode LR
 * is not the exception's. */
static bool is_eret(const struct code_instruction *one)
{
    bool arm = one->isa == ISA_ARM && (one->code & 0x0FFFFFFF) == 0x0160006E,
         thumb = one->isa == ISA_THUMB && one->code == 0xF3DE8F00;
    return !one->is_data && (arm || thumb || (one->isa == ISA_A64 && code_returns_from_exception(one)));
}

bool symbols_ends_by_eret(struct symbols *symbols, uint64_t entry, uint64_t *at)
{
    struct exit_search search = {.symbols = symbols, .all = true};
    if (symbols == NULL || (symbols->machine != EM_AARCH64 && symbols->machine != EM_ARM) ||
        symbols->profile == 'M')
        return false;
    code_add_function(&search, entry);
    for (size_t i = 0; i < search.n_entries; i++) {
        struct extent function = {0, 0};
        struct code_instruction one;
        (void)table_around(symbols, search.entries[i], &function);
        struct code_walk walk = {.symbols = symbols, .low = function.low, .high = function.high};
        while (code_next(&walk, &one)) {
            struct instruction does = code_decode(&one);
            *at = one.address;
            if (is_eret(&one))
                return true;
            if (does.kind == GOES_BACK)
                return false;
            if (does.kind == GOES_JUMP && (does.target < function.low || does.target >= function.high))
                code_add_function(&search, does.target);
        }
    }
    return false;
}
