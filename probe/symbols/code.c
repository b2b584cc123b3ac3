/*
 * The instructions of a program: one after the other, whether they change stacks or make calls, where a
 * function's frame is, and by which instructions an exception handler returns.
 */
#include "symbols/internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

uint16_t code_halfword(const struct symbols *symbols, const uint8_t *bytes)
{
    return symbols->big_endian_code ? (uint16_t)(bytes[0] << 8 | bytes[1])
                                    : (uint16_t)(bytes[0] | bytes[1] << 8);
}

bool code_is_wide(uint32_t halfword)
{
    return halfword >> 11 >= 0x1D;
}

uint32_t code_at(const struct symbols *symbols, const uint8_t *bytes, size_t n, bool thumb, unsigned *size)
{
    *size = thumb ? 2 : 4;
    if (n < *size)
        return 0;
    uint32_t first = code_halfword(symbols, bytes), second = n >= 4 ? code_halfword(symbols, bytes + 2) : 0;
    if (!thumb)
        return symbols->big_endian_code ? first << 16 | second : second << 16 | first;
    if (!code_is_wide(first))
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
    if (walk->at < walk->n)
        out->next = code_at(symbols, bytes + size, left - size, thumb, &size);
    return true;
}

/* DDI 0403 A7.7.12, A7.7.18. */
uint64_t code_branch(const struct code_instruction *one)
{
    uint32_t code = one->code;
    uint32_t sign = code >> 26 & 1, j1 = code >> 13 & 1, j2 = code >> 11 & 1;
    uint32_t bits = sign << 24 | (uint32_t)(j1 == sign) << 23 | (uint32_t)(j2 == sign) << 22 |
                    (code >> 16 & 0x3FF) << 12 | (code & 0x7FF) << 1;
    if (one->size == 2 && code >> 11 == 0x1C)
        return one->address + 4 + (uint64_t)(int64_t)((int32_t)(code << 21) >> 20);
    if (one->size != 4 || (code & 0xF8009000) != 0xF0009000)
        return 0;
    return one->address + 4 + (uint64_t)(int64_t)((int32_t)(bits << 7) >> 7);
}

unsigned code_it_length(const struct code_instruction *one)
{
    bool is_it = one->isa == ISA_THUMB && !one->is_data && (one->code & 0xFFFFFF00) == 0xBF00;
    return is_it && (one->code & 0xF) != 0 ? 4 - (unsigned)__builtin_ctz(one->code & 0xF) : 0;
}

/* DDI 0406 A8.8.424 and A8.8.425, DDI 0487 C6.2: WFE, WFI, of A64 with a limit of time, too. */
static bool is_sleep(const struct code_instruction *one)
{
    switch (one->isa) {
    case ISA_THUMB:
        return one->code == 0xBF20 || one->code == 0xBF30 || (one->code & ~1U) == 0xF3AF8002;
    case ISA_ARM:
        return (one->code & 0x0FFFFFFE) == 0x0320F002;
    case ISA_A64:
        return one->code == 0xD503205F || one->code == 0xD503207F || (one->code & 0xFFFFFFC0) == 0xD5031000;
    default:
        return false;
    }
}

size_t symbols_sleeps(struct symbols *symbols, uint64_t *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        if (one.is_data || !is_sleep(&one))
            continue;
        if (n < room)
            out[n] = one.address;
        n++;
    }
    return n;
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
        left = left > 0 ? left - 1 : code_it_length(&one);
        if (code_it_length(&one) > 0)
            *it = one.address;
    }
    return left > 0 && one.address == address;
}

/* --- changes of the stack, and calls ------------------------------------------------------------------- */

enum { SP = 13, ARM_FRAME = 11, THUMB_FRAME = 7, A64_FRAME = 29, A64_SP = 31 };

/* The end of a frame takes its saved registers from the stack. DDI 0403 A7.7.98 (POP), A7.7.5 (ADD to SP). */
static bool thumb_pops(uint32_t code)
{
    uint32_t first = code_is_wide(code >> 16) ? code >> 16 : code;
    return (first & 0xFE00) == 0xBC00 || (first & 0xFF80) == 0xB000 || first == 0xE8BD || first == 0xF85D ||
           first == 0xECBD;
}

static bool thumb_is_frame(uint32_t which)
{
    return which == THUMB_FRAME || which == ARM_FRAME;
}

/* DDI 0403 A5.2 and A5.3. Code that has just entered a mode (CPS) sets up its stack: it leaves no call. */
static bool thumb_sets_sp(const struct stack_code *code)
{
    uint32_t here = code->here, first = here >> 16, from = first & 0xF, to = here >> 8 & 0xF;
    bool new_mode = (code->before & 0xFFFFF900) == 0xF3AF8100;
    if (!code_is_wide(first)) {
        from = here >> 3 & 0xF;
        return (here & 0xFF87) == 0x4685 && !new_mode && !(thumb_is_frame(from) && thumb_pops(code->next));
    }
    if ((first & 0xFFF0) == 0xF380 &&
        (here & 0xFF00) == 0x8800) { /* MSR of MSP, PSP, and of their Non-secure twins */
        uint32_t special = here & 0xFF;
        return (special & 0x7E) == 0x08 || special == 0x98;
    }
    if ((first & 0xFF70) == 0xF850) /* LDR */
        return (here >> 12 & 0xF) == SP;
    bool computes = (first & 0xFE00) == 0xEA00 || ((first & 0xF800) == 0xF000 && (here & 0x8000) == 0);
    return computes && to == SP && from != SP && !(thumb_is_frame(from) && thumb_pops(code->next));
}

static bool arm_pops(uint32_t code)
{
    return (code & 0x0FFF0000) == 0x08BD0000 || (code & 0x0FFF0FFF) == 0x049D0004 ||
           (code & 0x0FFFF000) == 0x028DD000;
}

/* DDI 0406 A5.1; the old procedure call standard ends frames by an LDM of SP and PC. */
static bool arm_sets_sp(const struct stack_code *code)
{
    uint32_t here = code->here, to = here >> 12 & 0xF, from = here >> 16 & 0xF, source = here & 0xF;
    bool new_mode = (code->before & 0xFFF1FE20) == 0xF1000000 || (code->before & 0x0DB0F000) == 0x0120F000;
    if (here >> 28 == 0xF || new_mode)
        return false;
    if ((here & 0x0E100000) == 0x08100000)
        return (here & 0x2000) != 0 && (here & 0x8000) == 0;
    if (to != SP)
        return false;
    if ((here & 0x0C500000) == 0x04100000)
        return true;
    bool computes = (here & 0x0C000000) == 0 && (here & 0x0E000090) != 0x00000090;
    bool compares = (here & 0x01900000) == 0x01000000 && (here & 0x0FB00000) != 0x03000000;
    bool moves = (here & 0x0FE00FF0) == 0x01A00000;
    uint32_t of = moves ? source : from;
    return computes && !compares && of != SP &&
           !((of == ARM_FRAME || of == THUMB_FRAME) && arm_pops(code->next));
}

/* DDI 0487 C4.1: ADD and SUB of SP by a number and by a register, and AND of it. Another exception level's SP
 * is not meant. */
static bool a64_sets_sp(const struct stack_code *code)
{
    uint32_t here = code->here, from = here >> 5 & 0x1F, group = here & 0xFF800000, wide = here & 0xFFE00000;
    bool computes = group == 0x91000000 || group == 0xD1000000 || group == 0x92000000 || wide == 0x8B200000 ||
                    wide == 0xCB200000;
    bool loads =
        (code->next >> 5 & 0x1F) == A64_SP && (code->next >> 27 & 5) == 5 && (code->next & 1U << 22) != 0;
    return computes && (here & 0x1F) == A64_SP && from != A64_SP && !(from == A64_FRAME && loads);
}

bool stack_is_set(enum instruction_set isa, const struct stack_code *code)
{
    return isa == ISA_THUMB ? thumb_sets_sp(code) : isa == ISA_ARM ? arm_sets_sp(code) : a64_sets_sp(code);
}

/* DDI 0403 A7.7.18, A7.7.19, A7.7.178: BL, BLX, SVC. */
/* With SVC, after which the system may switch stacks. */
static bool thumb_calls(uint32_t code)
{
    bool wide = code_is_wide(code >> 16);
    return thumb_call_code(code, wide ? 4 : 2) != CALL_NONE || (!wide && (code & 0xFF00) == 0xDF00);
}

static bool arm_calls(uint32_t code)
{
    return arm_call_code(code) != CALL_NONE || (code & 0x0F000000) == 0x0F000000;
}

static bool a64_calls(uint32_t code)
{
    return a64_call_code(code) != CALL_NONE || (code & 0xFFE0001F) == 0xD4000001;
}

/* --- all of the code ----------------------------------------------------------------------------------- */

struct search {
    struct symbols *symbols;
    uint64_t low, high;
    uint64_t skip, skip_until; /* left out */
    bool for_calls;
    bool found;
};

static bool is_it(const struct search *search, enum instruction_set isa, const struct stack_code *code)
{
    if (search->for_calls)
        return isa == ISA_THUMB ? thumb_calls(code->here)
               : isa == ISA_ARM ? arm_calls(code->here)
                                : a64_calls(code->here);
    return stack_is_set(isa, code);
}

static bool search_code(struct search *search)
{
    struct code_walk walk = {.symbols = search->symbols, .low = search->low, .high = search->high};
    struct code_instruction one;
    struct stack_code code = {0};
    while (!search->found && code_next(&walk, &one)) {
        code =
            (struct stack_code){.before = one.is_first ? 0 : code.here, .here = one.code, .next = one.next};
        bool skipped = one.address >= search->skip && one.address < search->skip_until;
        search->found = !skipped && !one.is_data && is_it(search, one.isa, &code);
    }
    return search->found;
}

bool symbols_may_leave(struct symbols *symbols)
{
    struct search search = {.symbols = symbols, .high = UINT64_MAX};
    struct extent start = {0, 0};
    if (symbols == NULL || (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64) ||
        !symbols->has_code)
        return true;
    if (symbols->leave_known)
        return symbols->may_leave;
    /* The start-up has no callers to return to */
    if (table_around(symbols, symbols->entry & ~UINT64_C(1), &start) != NULL) {
        search.skip = start.low;
        search.skip_until = start.high;
    }
    symbols->may_leave = search_code(&search);
    symbols->leave_known = true;
    return symbols->may_leave;
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
    return !at_end && !table_is_data(symbols, address);
}

/* --- frames -------------------------------------------------------------------------------------------- */

/* If the canonical frame address is a register plus a number. */
static bool find_frame(const struct symbols *symbols, Dwarf_CFI *cfi, uint64_t address,
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

static bool frame_at(struct symbols *symbols, uint64_t address, struct frame_base *out)
{
    bool found = lines_load(symbols) && find_frame(symbols, dwarf_getcfi(symbols->dwarf), address, out);
    if (!found) {
        Dwarf_CFI *in_memory = dwarf_getcfi_elf(symbols->elf);
        found = find_frame(symbols, in_memory, address, out);
        dwarf_cfi_end(in_memory);
    }
    out->is_sp = out->number == (symbols->machine == EM_AARCH64 ? A64_SP : SP);
    return found && out->number < 32 && (out->number < 16 || symbols->machine == EM_AARCH64);
}

enum frames symbols_frames(struct symbols *symbols, uint64_t start, uint64_t end, struct frame_base *at_start,
                           struct frame_base *at_end)
{
    struct extent function = {0, 0}, other = {0, 0};
    const struct symbol *symbol = symbols != NULL ? table_around(symbols, start, &function) : NULL;
    if (symbol == NULL || table_around(symbols, end, &other) == NULL || other.low != function.low ||
        (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64))
        return FRAMES_OF_TWO;
    if (!makes_calls(symbols, &function) && !symbols_may_leave(symbols))
        return FRAMES_ONE_ONLY;
    return frame_at(symbols, start, at_start) && frame_at(symbols, end, at_end) ? FRAMES_KNOWN
                                                                                : FRAMES_UNKNOWN;
}

/* --- the ends of an exception handler ------------------------------------------------------------------ */

enum { MOST_FUNCTIONS = 4, MOST_CODE = 1 << 16 };

struct exit_search {
    struct symbols *symbols;
    uint64_t entries[MOST_FUNCTIONS]; /* of the handler and of the functions that it ends in */
    size_t n_entries;
    struct handler_exit *out;
    size_t n, room;
};

static void add_exit(struct exit_search *search, uint64_t at, unsigned popped, bool conditional)
{
    struct handler_exit exit = {.at = at, .popped = popped, .conditional = conditional};
    size_t to = search->n < search->room ? search->n : search->room;
    search->n++;
    if (to == search->room)
        return;
    for (; !conditional && to > 0 && search->out[to - 1].conditional;
         to--) /* unconditional ones come first */
        search->out[to] = search->out[to - 1];
    search->out[to] = exit;
}

static void add_function(struct exit_search *search, uint64_t entry)
{
    struct extent extent;
    const struct symbol *symbol = table_around(search->symbols, entry, &extent);
    if (symbol == NULL || extent.low != entry || search->n_entries == MOST_FUNCTIONS)
        return;
    for (size_t i = 0; i < search->n_entries; i++)
        if (search->entries[i] == entry)
            return;
    search->entries[search->n_entries++] = entry;
}

/* DDI 0403 A7.7.20 (BX), A7.7.99 (POP), A7.7.41 (LDM), A7.7.43 (LDR). *popped: the words off the stack. */
static bool is_exit(uint32_t code, unsigned *popped)
{
    *popped = 0;
    if ((code & 0xFFFFFF87) == 0x4700)
        return true;
    if ((code & 0xFFFFFF00) == 0xBD00) {
        *popped = (unsigned)__builtin_popcount(code & 0xFF) + 1;
        return true;
    }
    if (code >> 16 == 0xE8BD && (code & 0x8000) != 0) {
        *popped = (unsigned)__builtin_popcount(code & 0xFFFF);
        return true;
    }
    *popped = 1;
    return code == 0xF85DFB04;
}

static void search_function(struct exit_search *search, uint64_t entry)
{
    struct extent extent = {0, 0};
    struct code_instruction one;
    unsigned in_block = 0;
    if (table_around(search->symbols, entry, &extent) == NULL || extent.high - extent.low > MOST_CODE)
        return;
    struct code_walk walk = {.symbols = search->symbols, .low = extent.low, .high = extent.high};
    while (code_next(&walk, &one)) {
        unsigned popped = 0;
        if (one.is_data || one.isa != ISA_THUMB)
            continue;
        /* A branch to another function's entry: the handler ends in that one */
        uint64_t to = thumb_calls(one.code) ? 0 : code_branch(&one);
        if (is_exit(one.code, &popped))
            add_exit(search, one.address, popped, in_block > 0);
        else if (to != 0 && (to < extent.low || to >= extent.high))
            add_function(search, to);
        in_block = in_block > 0 ? in_block - 1 : code_it_length(&one);
    }
}

size_t symbols_exits(struct symbols *symbols, uint64_t entry, struct handler_exit *out, size_t room)
{
    struct exit_search search = {.symbols = symbols, .out = out, .room = room};
    if (symbols == NULL || symbols->machine != EM_ARM || symbols->big_endian_code)
        return 0;
    add_function(&search, entry);
    for (size_t i = 0; i < search.n_entries; i++)
        search_function(&search, search.entries[i]);
    return search.n;
}
