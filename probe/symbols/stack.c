/* What a program does to its stack pointer, found in its code and in its call frame information. */
#include "symbols/code.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* --- instructions --------------------------------------------------------------------------------------- */

enum { SP = 13, ARM_FRAME = 11, THUMB_FRAME = 7, A64_FRAME = 29, A64_SP = 31 };

/* A frame ends: what it saved is taken from the stack again. DDI 0403 A7.7.98 (POP), A7.7.5 (ADD to SP). */
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

/* DDI 0403 A5.2 and A5.3. A mode that is entered first (CPS) gets its stack: that is no way out of a call. */
static bool thumb_sets_sp(const struct stack_code *code)
{
    uint32_t here = code->here, first = here >> 16, from = first & 0xF, to = here >> 8 & 0xF;
    bool new_mode = (code->before & 0xFFFFF900) == 0xF3AF8100;
    if (!code_is_wide(first)) {
        from = here >> 3 & 0xF;
        return (here & 0xFF87) == 0x4685 && !new_mode && !(thumb_is_frame(from) && thumb_pops(code->next));
    }
    if ((first & 0xFFF0) == 0xF380 &&
        (here & 0xFF00) == 0x8800) { /* MSR of MSP, PSP, and of the other world's */
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

/* DDI 0487 C4.1: ADD and SUB of SP by a number and by a register, AND of it. That of another exception level
 * is not this code's. */
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
static bool thumb_calls(uint32_t code)
{
    if (code_is_wide(code >> 16))
        return (code & 0xF800C000) == 0xF000C000;
    return (code & 0xFF80) == 0x4780 || (code & 0xFF00) == 0xDF00;
}

static bool arm_calls(uint32_t code)
{
    return (code & 0x0F000000) == 0x0B000000 || (code & 0xFE000000) == 0xFA000000 ||
           (code & 0x0FFFFFF0) == 0x012FFF30 || (code & 0x0F000000) == 0x0F000000;
}

static bool a64_calls(uint32_t code)
{
    return (code & 0xFC000000) == 0x94000000 || (code & 0xFFFFFC1F) == 0xD63F0000 ||
           (code & 0xFFE0001F) == 0xD4000001;
}

/* --- all of the code ------------------------------------------------------------------------------------ */

struct search {
    struct symbols *symbols;
    uint64_t low, high;        /* looked at */
    uint64_t skip, skip_until; /* but not this */
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
    if (symbols == NULL || (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64))
        return true;
    if (table_around(symbols, symbols->entry & ~UINT64_C(1), &start) !=
        NULL) { /* it has no callers to return to */
        search.skip = start.low;
        search.skip_until = start.high;
    }
    return search_code(&search);
}

static bool makes_calls(struct symbols *symbols, const struct extent *function)
{
    struct search search = {
        .symbols = symbols, .low = function->low, .high = function->high, .for_calls = true};
    return search_code(&search);
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

/* --- frames --------------------------------------------------------------------------------------------- */

/* The canonical frame address is a register and a number. */
static bool find_frame(Dwarf_CFI *cfi, uint64_t address, struct frame_base *out)
{
    Dwarf_Frame *frame = NULL;
    Dwarf_Op *ops = NULL;
    size_t n = 0;
    bool found = cfi != NULL && dwarf_cfi_addrframe(cfi, address, &frame) == 0 && frame != NULL &&
                 dwarf_frame_cfa(frame, &ops, &n) == 0 && n == 1;
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
    bool found = lines_load(symbols) && find_frame(dwarf_getcfi(symbols->dwarf), address, out);
    if (!found) {
        Dwarf_CFI *in_memory = dwarf_getcfi_elf(symbols->elf);
        found = find_frame(in_memory, address, out);
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
