#include "code/instruction.h"

#include <stddef.h>

/* --- parts ---------------------------------------------------------------------------------------------- */

static uint32_t field(uint32_t code, unsigned low, unsigned n)
{
    return code >> low & ((1U << n) - 1);
}

/* From there on, by a signed number of `n` bits. */
static uint64_t away(uint64_t from, uint32_t number, unsigned n)
{
    return from + (uint64_t)(int64_t)((int32_t)(number << (32 - n)) >> (32 - n));
}

static uint32_t negative_if(bool negative, uint32_t number)
{
    return negative ? 0U - number : number;
}

static uint32_t rotated(uint32_t number, unsigned turn)
{
    return turn == 0 ? number : number >> turn | number << (32 - turn);
}

static void jump(struct instruction *out, enum instruction_kind kind, uint64_t target)
{
    out->kind = kind;
    out->target = target;
}

static void jump_by(struct instruction *out, enum instruction_kind kind, unsigned by)
{
    out->kind = kind;
    out->by = by;
}

static void give(struct instruction *out, enum instruction_result gives, unsigned to, unsigned from,
                 uint32_t number)
{
    out->gives = gives;
    out->to = to;
    out->from = from;
    out->number = number;
    out->writes |= 1U << to;
}

static void give_with(struct instruction *out, enum instruction_result gives, unsigned to, unsigned from,
                      unsigned with)
{
    give(out, gives, to, from, 0);
    out->with = with;
}

static const uint32_t STACK_AND_PC = 1U << ARM_SP | 1U << ARM_PC;

/* Of instructions that are not read further: neither field can be the SP or the PC. */
static void may_write(struct instruction *out, unsigned one, unsigned other)
{
    out->writes |= (1U << one | 1U << other) & ~STACK_AND_PC;
}

static void access_memory(struct instruction *out, bool loads, unsigned base, int32_t offset, uint32_t bytes,
                          uint32_t list)
{
    out->access = loads ? ACCESS_LOAD : ACCESS_STORE;
    out->base = base;
    out->offset = offset;
    out->bytes = bytes;
    out->list = list;
    out->writes |= loads ? list : 0;
}

/* Offset, pre-indexed and post-indexed addressing. */
static void index_by(struct instruction *out, uint32_t number, bool before, bool back)
{
    out->offset = before ? (int32_t)number : 0;
    out->moves = back ? (int32_t)number : 0;
}

/* LDM and STM, `up` or down, the base `before` or after the first word. */
static void access_list(struct instruction *out, bool loads, unsigned base, uint32_t list, bool up,
                        bool before, bool back)
{
    int32_t all = 4 * __builtin_popcount(list);
    access_memory(out, loads, base, up ? (before ? 4 : 0) : before ? -all : 4 - all, (uint32_t)all, list);
    bool reloads = loads && (list >> base & 1) != 0;
    out->moves = !back || reloads ? 0 : up ? all : -all;
}

/* --- Thumb, of one halfword ----------------------------------------------------------------------------- */

/* DDI 0403 A5.2.2, and by number: A7.7.4 and its neighbours. */
static void thumb_data(struct instruction *out, uint32_t code)
{
    enum { AND, TST = 8, CMP = 10, CMN = 11, ORR = 12, BIC = 14 };
    unsigned low = field(code, 0, 3), middle = field(code, 3, 3), operation = field(code, 6, 4);
    if (operation == TST || operation == CMP || operation == CMN)
        return;
    give_with(out,
              operation == AND   ? GIVES_AND
              : operation == ORR ? GIVES_OR
              : operation == BIC ? GIVES_CLEARED
                                 : GIVES_OTHER,
              low, low, middle);
}

/* DDI 0403 A5.2.3: ADD, CMP, MOV of any registers, BX and BLX; DDI 0553 C2.4: BXNS, BLXNS. */
static void thumb_special(struct instruction *out, uint32_t code)
{
    unsigned to = field(code, 0, 3) | field(code, 7, 1) << 3, from = field(code, 3, 4);
    switch (field(code, 8, 2)) {
    case 0:
        give_with(out, GIVES_OTHER, to, to, from);
        return;
    case 1:
        return;
    case 2:
        give(out, GIVES_SUM, to, from, 0);
        return;
    default:
        /* BXNS leaves for the other security state */
        jump_by(out,
                (code & 0x80) != 0                  ? GOES_CALL_BY
                : from == ARM_LR && (code & 4) == 0 ? GOES_BACK
                                                    : GOES_AWAY,
                from);
    }
}

/* DDI 0403 A5.2.1. */
static void thumb_number(struct instruction *out, uint32_t code)
{
    unsigned low = field(code, 0, 3), middle = field(code, 3, 3), high = field(code, 8, 3);
    uint32_t shift = field(code, 6, 5), number = code & 0xFF;
    switch (code >> 11) {
    case 0: /* LSL; without a shift it is MOV */
        give(out, shift == 0 ? GIVES_SUM : GIVES_SHIFT, low, middle, shift);
        return;
    case 3: /* ADD, SUB of a register or of 3 bits */
        if ((code & 0x400) == 0)
            give(out, GIVES_OTHER, low, middle, 0);
        else
            give(out, GIVES_SUM, low, middle, negative_if(code & 0x200, shift & 7));
        return;
    case 4:
        give(out, GIVES_NUMBER, high, NO_REGISTER, number);
        return;
    case 5: /* CMP */
        return;
    case 6:
    case 7:
        give(out, GIVES_SUM, high, high, negative_if(code & 0x800, number));
        return;
    default:
        give(out, GIVES_OTHER, low, middle, 0);
    }
}

/* DDI 0403 A5.2.4: by a register. */
static void thumb_by_register(struct instruction *out, uint32_t code)
{
    static const uint8_t bytes[] = {4, 2, 1, 1, 4, 2, 1, 2}; /* the fourth loads, with a sign */
    unsigned which = field(code, 9, 3);
    access_memory(out, which >= 3, field(code, 3, 3), 0, bytes[which], 1U << field(code, 0, 3));
    out->index = field(code, 6, 3);
}

static void thumb_by_number(struct instruction *out, uint32_t code)
{
    uint32_t number = field(code, 6, 5), bytes = code >> 12 == 6 ? 4 : code >> 12 == 7 ? 1 : 2;
    bool loads = (code & 0x800) != 0;
    if (code >> 12 == 9)
        access_memory(out, loads, ARM_SP, (int32_t)(4 * (code & 0xFF)), 4, 1U << field(code, 8, 3));
    else
        access_memory(out, loads, field(code, 3, 3), (int32_t)(bytes * number), bytes,
                      1U << field(code, 0, 3));
}

/* DDI 0403 A7.7.38 (IT), A7.7.254 and its neighbours (hints). */
static void thumb_hint(struct instruction *out, uint32_t code)
{
    out->kind = GOES_UNSURE;
    if ((code & 0xF) != 0) {
        out->kind = GOES_IT;
        out->number = 4 - (unsigned)__builtin_ctz(code & 0xF);
    } else if (code == 0xBF00) {
        out->kind = GOES_ON;
    } else if (code == 0xBF20 || code == 0xBF30) {
        out->kind = GOES_ASLEEP;
    }
}

/* DDI 0403 A5.2.5. */
static void thumb_misc(struct instruction *out, uint32_t code, uint64_t address)
{
    uint32_t list = code & 0xFF;
    switch (field(code, 8, 4)) {
    case 0x0: /* ADD, SUB of the SP */
        give(out, GIVES_SUM, ARM_SP, ARM_SP, negative_if(code & 0x80, 4 * (code & 0x7F)));
        return;
    case 0x1: /* CBZ, CBNZ: A7.7.21 */
    case 0x3:
    case 0x9:
    case 0xB:
        jump(out, GOES_JUMP, address + 4 + (field(code, 9, 1) << 6 | field(code, 3, 5) << 1));
        out->conditional = true;
        return;
    case 0x2: /* extends, REV */
    case 0xA:
        give(out, GIVES_OTHER, field(code, 0, 3), field(code, 3, 3), 0);
        return;
    case 0x4: /* PUSH */
    case 0x5:
        access_list(out, false, ARM_SP, list | field(code, 8, 1) << ARM_LR, false, true, true);
        return;
    case 0xC: /* POP */
    case 0xD:
        access_list(out, true, ARM_SP, list | field(code, 8, 1) << ARM_PC, true, false, true);
        return;
    case 0xE: /* A7.7.17 */
        out->kind = GOES_BREAKPOINT;
        out->number = list;
        return;
    case 0xF:
        thumb_hint(out, code);
        return;
    default: /* CPS, SETEND */
        return;
    }
}

static void thumb_narrow(struct instruction *out, uint32_t code, uint64_t address)
{
    enum { ALWAYS = 14, SVC };
    unsigned high = field(code, 8, 3), condition = field(code, 8, 4);
    uint32_t number = code & 0xFF;
    switch (code >> 12) {
    case 0x4:
        if ((code & 0x800) != 0) /* LDR of a literal */
            access_memory(out, true, ARM_PC, (int32_t)(4 * number), 4, 1U << high);
        else if ((code & 0x400) != 0)
            thumb_special(out, code);
        else
            thumb_data(out, code);
        return;
    case 0x5:
        thumb_by_register(out, code);
        return;
    case 0x6:
    case 0x7:
    case 0x8:
    case 0x9:
        thumb_by_number(out, code);
        return;
    case 0xA: /* ADR, ADD of the SP */
        if ((code & 0x800) != 0)
            give(out, GIVES_SUM, high, ARM_SP, 4 * number);
        else
            give(out, GIVES_OTHER, high, ARM_PC, 0);
        return;
    case 0xB:
        thumb_misc(out, code, address);
        return;
    case 0xC:
        access_list(out, (code & 0x800) != 0, high, number, true, false, true);
        return;
    case 0xD: /* A7.7.12 (B), A7.7.178 (SVC), UDF */
        if (condition < ALWAYS)
            jump(out, GOES_JUMP, away(address + 4, number << 1, 9));
        else
            out->kind = condition == SVC ? GOES_SUPERVISOR : GOES_UNSURE;
        out->conditional = condition < ALWAYS;
        return;
    case 0xE:
        jump(out, GOES_JUMP, away(address + 4, (code & 0x7FF) << 1, 12));
        return;
    default:
        thumb_number(out, code);
    }
}

/* --- Thumb, of two halfwords ---------------------------------------------------------------------------- */

/* By the operation's number in Thumb, DDI 0403 A5.3.1 and A5.3.11. */
enum { THUMB_AND, THUMB_BIC, THUMB_ORR, THUMB_ORN, THUMB_EOR, THUMB_ADD = 8, THUMB_SUB = 13 };

static enum instruction_result thumb_operation(unsigned operation)
{
    static const enum instruction_result results[] = {GIVES_AND, GIVES_CLEARED, GIVES_OR};
    return operation <= THUMB_ORR ? results[operation] : GIVES_OTHER;
}

/* A modified immediate constant: DDI 0403 A5.3.2. */
static uint32_t thumb_immediate(uint32_t code)
{
    uint32_t number = field(code, 26, 1) << 11 | field(code, 12, 3) << 8 | (code & 0xFF), byte = code & 0xFF;
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
        return rotated(0x80 | (number & 0x7F), number >> 7);
    }
}

/* DDI 0403 A5.3.1. */
static void thumb_modified(struct instruction *out, uint32_t code)
{
    unsigned to = field(code, 8, 4), from = field(code, 16, 4), operation = field(code, 21, 4);
    uint32_t number = thumb_immediate(code);
    if (from == ARM_PC && (operation == THUMB_ORR || operation == THUMB_ORN))
        give(out, GIVES_NUMBER, to, NO_REGISTER, operation == THUMB_ORR ? number : ~number);
    else if (operation == THUMB_ADD || operation == THUMB_SUB)
        give(out, GIVES_SUM, to, from, negative_if(operation == THUMB_SUB, number));
    else
        give(out, thumb_operation(operation), to, from, number);
}

/* DDI 0403 A5.3.3: a plain number of 12 or 16 bits; bit fields. */
static void thumb_plain(struct instruction *out, uint32_t code)
{
    enum { ADDW = 0, MOVW = 4, SUBW = 10, MOVT = 12, BFI = 22 };
    unsigned to = field(code, 8, 4), from = field(code, 16, 4), operation = field(code, 20, 5);
    uint32_t number = field(code, 26, 1) << 11 | field(code, 12, 3) << 8 | (code & 0xFF);
    unsigned begin = field(code, 12, 3) << 2 | field(code, 6, 2), end = field(code, 0, 5);
    if (operation == MOVW)
        give(out, GIVES_NUMBER, to, NO_REGISTER, from << 12 | number);
    else if (operation == MOVT)
        give(out, GIVES_TOP, to, NO_REGISTER, from << 12 | number);
    else if ((operation == ADDW || operation == SUBW) && from != ARM_PC) /* else ADR */
        give(out, GIVES_SUM, to, from, negative_if(operation == SUBW, number));
    else if (operation == BFI && from == ARM_PC) /* BFC */
        give(out, GIVES_CLEARED, to, to, end >= begin ? UINT32_MAX >> (31 - end) & UINT32_MAX << begin : 0);
    else
        give(out, GIVES_OTHER, to, from, 0);
}

/* DDI 0403 A5.3.11; with bit 15 the conditional selects of DDI 0553 C2.4. */
static void thumb_shifted(struct instruction *out, uint32_t code)
{
    unsigned to = field(code, 8, 4), from = field(code, 16, 4), with = field(code, 0, 4);
    unsigned operation = field(code, 21, 4), shift = field(code, 12, 3) << 2 | field(code, 6, 2);
    bool is_left = (code & 0x8030) == 0;
    if (operation == THUMB_ORR && from == ARM_PC && is_left)
        give(out, shift == 0 ? GIVES_SUM : GIVES_SHIFT, to, with, shift);
    else if (is_left && shift == 0 && from != ARM_PC)
        give_with(out, thumb_operation(operation), to, from, with);
    else
        give(out, GIVES_OTHER, to, from == ARM_PC ? NO_REGISTER : from, 0);
}

/* LE, WLS and their kin, the loops of Armv8.1-M, DDI 0553 C2.4. The first leads back. */
static void thumb_loop(struct instruction *out, uint32_t code, uint64_t address)
{
    uint32_t number = field(code, 1, 10) << 2 | field(code, 11, 1) << 1;
    out->kind = GOES_UNSURE;
    out->writes |= 1U << ARM_LR;
    if ((code & 0xFF80F001) != 0xF000C001)
        return;
    jump(out, GOES_JUMP, address + 4 + negative_if(field(code, 16, 4) == ARM_PC, number));
    out->conditional = true;
}

/* DDI 0403 A5.3.4 and A5.3.5, DDI 0406 A6.3.4: MRS, MSR, hints, CPS. */
static void thumb_control(struct instruction *out, uint32_t code)
{
    uint32_t special = code & 0xFF;
    out->kind = (code & ~1U) == 0xF3AF8002 ? GOES_ASLEEP : GOES_UNSURE;
    if ((code & 0xFFFFF900) == 0xF3AF8100)
        out->system = SYSTEM_MODE;
    else if ((code & 0xFFF0FF00) == 0xF3808800 && ((special & 0x7E) == 0x08 || special == 0x98))
        out->system = SYSTEM_STACK; /* also Non-secure */
    else if ((code & 0xFFE0D000) == 0xF3E08000)
        may_write(out, field(code, 8, 4), ARM_PC);
    else if ((code & 0xFFFFFF00) == 0xF3DE8F00 || (code & 0xFFF0FFFF) == 0xF3C08F00) /* SUBS PC, LR; BXJ */
        jump_by(out, GOES_AWAY, NO_REGISTER);
}

/* DDI 0403 A7.7.12 (B), A7.7.18 (BL); DDI 0406 A8.8.25 (BLX of a number). */
static void thumb_branch(struct instruction *out, uint32_t code, uint64_t address)
{
    uint32_t sign = field(code, 26, 1), j1 = field(code, 13, 1), j2 = field(code, 11, 1);
    uint32_t near = sign << 20 | j2 << 19 | j1 << 18 | field(code, 16, 6) << 12 | field(code, 0, 11) << 1;
    uint32_t far = sign << 24 | (uint32_t)(j1 == sign) << 23 | (uint32_t)(j2 == sign) << 22 |
                   field(code, 16, 10) << 12 | field(code, 0, 11) << 1;
    switch (code & 0x5000) {
    case 0x1000:
        jump(out, GOES_JUMP, away(address + 4, far, 25));
        return;
    case 0x5000:
        jump(out, GOES_CALL, away(address + 4, far, 25));
        return;
    case 0x4000:
        if ((code & 1) != 0)
            thumb_loop(out, code, address);
        else
            jump(out, GOES_CALL, away((address + 4) & ~UINT64_C(3), far, 25));
        return;
    default:
        if (field(code, 23, 3) == 7) {
            thumb_control(out, code);
            return;
        }
        jump(out, GOES_JUMP, away(address + 4, near, 21));
        out->conditional = true;
    }
}

/* DDI 0403 A5.3.6 (STRD, STREX and their kin, TBB); DDI 0553 C2.4 (STL, TT). */
static void thumb_dual(struct instruction *out, uint32_t code)
{
    bool before = code & 1U << 24, back = code & 1U << 21, loads = code & 1U << 20;
    unsigned base = field(code, 16, 4), first = field(code, 12, 4), second = field(code, 8, 4);
    if (before || back) {
        if (base == ARM_PC && back) /* SG */
            return;
        access_memory(out, loads, base, 0, 8, 1U << first | 1U << second);
        index_by(out, negative_if((code & 1U << 23) == 0, 4 * (code & 0xFF)), before, back);
        out->writes &= ~STACK_AND_PC;
    } else if ((code & 0xFFF0FFE0) == 0xE8D0F000) {
        out->kind = GOES_TABLE;
    } else if ((code & 0xFFF00FFF) == 0xE8C00FAF) {
        access_memory(out, false, base, 0, 4, 1U << first);
    } else {
        may_write(out, first, second);
        may_write(out, loads ? ARM_PC : field(code, 0, 4), ARM_PC);
    }
}

/* DDI 0403 A5.3.5 (LDM, STM), DDI 0406 A6.3.5 (RFE, SRS), DDI 0553 C2.4 (CLRM, which has the PC as its
 * base). */
static void thumb_several(struct instruction *out, uint32_t code)
{
    unsigned base = field(code, 16, 4), way = field(code, 23, 2);
    bool loads = code & 1U << 20, back = code & 1U << 21;
    uint32_t list = code & 0xFFFF;
    if (base == ARM_PC && way == 1 && loads)
        out->writes |= list & ~STACK_AND_PC;
    else if (way == 1 || way == 2)
        access_list(out, loads, base, list & ~(1U << ARM_SP), way == 1, way == 2, back);
    else if (loads)
        jump_by(out, GOES_AWAY, NO_REGISTER);
}

/* DDI 0403 A5.3.7 to A5.3.10: LDR, STR and those of parts of a word. */
static void thumb_single(struct instruction *out, uint32_t code)
{
    bool loads = code & 1U << 20, before = code & 0x400, back = code & 0x100;
    unsigned base = field(code, 16, 4), which = field(code, 12, 4), bytes = 1U << field(code, 21, 2);
    uint32_t number = code & 0xFFF;
    bool hints = loads && which == ARM_PC && bytes != 4; /* PLD */
    bool by_register = (code & 0xFC0) == 0, indexed = (code & 0x800) != 0 && (before || back);
    bool is_signed = (code & 1U << 24) != 0;
    if (bytes == 8 || (is_signed && (!loads || bytes == 4)) || (!loads && base == ARM_PC) || hints)
        return;
    if (base == ARM_PC) {
        access_memory(out, loads, base, (int32_t)negative_if((code & 1U << 23) == 0, number), bytes,
                      1U << which);
    } else if ((code & 1U << 23) != 0) {
        access_memory(out, loads, base, (int32_t)number, bytes, 1U << which);
    } else if (by_register || indexed) {
        access_memory(out, loads, base, 0, bytes, 1U << which);
        if (by_register) {
            out->index = field(code, 0, 4);
            out->shift = field(code, 4, 2);
        } else {
            index_by(out, negative_if((code & 0x200) == 0, code & 0xFF), before, back);
        }
    }
    out->writes &= bytes == 4 ? UINT32_MAX : ~STACK_AND_PC;
}

/* MCR, MRC, MCRR of CP15, and VPUSH and VPOP, which move the SP: DDI 0406 A8.8.98, A8.8.107, A8.8.99,
 * A8.8.367, A8.8.366. The same words in both instruction sets. */
static void coprocessor(struct instruction *out, uint32_t code)
{
    bool pushes = (code & 0x0FBF0E00) == 0x0D2D0A00, pops = (code & 0x0FBF0E00) == 0x0CBD0A00;
    unsigned which = field(code, 12, 4), other = field(code, 16, 4);
    if (pushes || pops)
        give(out, GIVES_SUM, ARM_SP, ARM_SP, negative_if(pushes, 4 * (code & 0xFF)));
    else if ((code & 0x0E200000) == 0x0C200000) /* LDC, STC, VLDM, VSTM that move the base */
        out->writes |= 1U << other & ~(1U << ARM_PC);
    else if ((code & 0x0F100010) == 0x0E100010 || (code & 0x0FF00000) == 0x0C500000)
        may_write(out, which, (code & 0x02000000) != 0 ? ARM_PC : other); /* also of other coprocessors */
    if ((code & 0x0F000F10) == 0x0E000F10) {
        out->system = (code & 1U << 20) != 0 ? SYSTEM_READ : SYSTEM_WRITE;
        out->op1 = (uint8_t)field(code, 21, 3);
        out->crn = (uint8_t)field(code, 16, 4);
        out->op2 = (uint8_t)field(code, 5, 3);
    } else if ((code & 0x0FF00F00) == 0x0C400F00) {
        out->system = SYSTEM_WRITE_BOTH;
        out->op1 = (uint8_t)field(code, 4, 4);
    }
    out->crm = (uint8_t)field(code, 0, 4);
    if (out->system != SYSTEM_NONE && out->system != SYSTEM_READ)
        out->from = which;
}

static void thumb_wide(struct instruction *out, uint32_t code, uint64_t address)
{
    bool writes = field(code, 8, 4) != ARM_PC; /* else TST, TEQ, CMN, CMP */
    switch (code >> 25 & 0xF) {
    case 0x4:
        if ((code & 1U << 22) != 0)
            thumb_dual(out, code);
        else
            thumb_several(out, code);
        return;
    case 0x5:
        if (writes)
            thumb_shifted(out, code);
        return;
    case 0x6:
    case 0x7:
        coprocessor(out, code);
        if ((code & 0x02000010) == 0x02000000) /* vectors' sums */
            may_write(out, field(code, 8, 4), field(code, 12, 4));
        return;
    case 0x8:
    case 0x9:
    case 0xA:
    case 0xB:
        if ((code & 0x8000) != 0)
            thumb_branch(out, code, address);
        else if (writes && (code & 1U << 25) != 0)
            thumb_plain(out, code);
        else if (writes)
            thumb_modified(out, code);
        return;
    case 0xC:
        thumb_single(out, code);
        return;
    case 0xD: /* on registers, multiplications: results of 64 bits have two */
        may_write(out, field(code, 8, 4), field(code, 12, 4));
        return;
    default:
        may_write(out, field(code, 8, 4), field(code, 12, 4));
    }
}

/* --- A32 ------------------------------------------------------------------------------------------------ */

/* DDI 0406 A5.2.12 and its neighbours. */
static void arm_misc(struct instruction *out, uint32_t code)
{
    unsigned by = field(code, 0, 4);
    out->kind = GOES_UNSURE;
    switch (code & 0x0FFFFFF0) {
    case 0x012FFF10: /* BX, BXJ: A8.8.27, A8.8.28 */
    case 0x012FFF20:
        jump_by(out, by == ARM_LR ? GOES_BACK : GOES_AWAY, by);
        return;
    case 0x012FFF30: /* BLX: A8.8.26 */
        jump_by(out, GOES_CALL_BY, by);
        return;
    default:
        break;
    }
    if ((code & 0xFFF000F0) == 0xE1200070) { /* A8.8.24 */
        out->kind = GOES_BREAKPOINT;
        out->number = (code >> 4 & 0xFFF0) | by;
    } else if ((code & 0x0DB0F000) == 0x0120F000) { /* MSR, and hints: A8.8.424, A8.8.425 */
        bool sleeps = (code & 0x0FFFFFFE) == 0x0320F002;
        out->kind = sleeps ? GOES_ASLEEP : (code & 0x0FFFFFFF) == 0x0320F000 ? GOES_ON : GOES_UNSURE;
        out->system = SYSTEM_MODE;
    } else {
        may_write(out, field(code, 12, 4), (code & 0x80) != 0 ? field(code, 16, 4) : ARM_PC);
    }
}

/* DDI 0406 A5.2.5 to A5.2.10: multiplications, exclusive accesses, halfwords and doublewords. */
static void arm_multiply(struct instruction *out, uint32_t code)
{
    enum { HALF = 1, DOUBLE = 2 };
    bool before = code & 1U << 24, back = !before || (code & 1U << 21) != 0;
    unsigned which = field(code, 12, 4), other = field(code, 16, 4), kind = field(code, 5, 2);
    bool loads = (code & 1U << 20) != 0 || kind == DOUBLE;
    bool doubles = (code & 1U << 20) == 0 && kind != HALF;
    if (kind == 0) {
        may_write(out, which, before && (code & 1U << 20) != 0 ? ARM_PC : other);
        return;
    }
    access_memory(out, loads, other, 0,
                  doubles          ? 8
                  : kind == DOUBLE ? 1
                                   : 2,
                  (doubles ? 3U : 1U) << which & 0xFFFF);
    out->writes &= ~STACK_AND_PC;
    if ((code & 1U << 22) != 0)
        index_by(out, negative_if((code & 1U << 23) == 0, field(code, 8, 4) << 4 | field(code, 0, 4)), before,
                 back);
    else
        out->base = NO_REGISTER;
    out->writes |= back && other != ARM_PC ? 1U << other : 0;
}

/* DDI 0406 A5.2.1 to A5.2.4. */
static void arm_data(struct instruction *out, uint32_t code)
{
    enum { AND, SUB = 2, ADD = 4, TST = 8, CMN = 11, ORR, MOV, BIC, MVN };
    unsigned to = field(code, 12, 4), from = field(code, 16, 4), operation = field(code, 21, 4);
    uint32_t number = rotated(code & 0xFF, 2 * field(code, 8, 4));
    bool by_number = (code & 1U << 25) != 0, plain = (code & 0xFF0) == 0;
    if (operation >= TST && operation <= CMN)
        return;
    if (operation == MOV && !by_number && (code & 0x70) == 0)
        give(out, plain ? GIVES_SUM : GIVES_SHIFT, to, field(code, 0, 4), field(code, 7, 5));
    else if (by_number && (operation == MOV || operation == MVN))
        give(out, GIVES_NUMBER, to, NO_REGISTER, operation == MVN ? ~number : number);
    else if (by_number && (operation == ADD || operation == SUB))
        give(out, GIVES_SUM, to, from, negative_if(operation == SUB, number));
    else if ((by_number || plain) && (operation == AND || operation == ORR || operation == BIC)) {
        give(out,
             operation == AND   ? GIVES_AND
             : operation == ORR ? GIVES_OR
                                : GIVES_CLEARED,
             to, from, by_number ? number : 0);
        out->with = by_number ? NO_REGISTER : field(code, 0, 4);
    } else {
        give(out, GIVES_OTHER, to, operation == MOV || operation == MVN ? NO_REGISTER : from, 0);
    }
}

/* DDI 0406 A5.3: LDR, STR and those of bytes. */
static void arm_single(struct instruction *out, uint32_t code)
{
    bool before = code & 1U << 24, back = !before || (code & 1U << 21) != 0, down = (code & 1U << 23) == 0;
    unsigned base = field(code, 16, 4), which = field(code, 12, 4);
    access_memory(out, code & 1U << 20, base, 0, (code & 1U << 22) != 0 ? 1 : 4, 1U << which);
    if ((code & 1U << 25) == 0)
        index_by(out, negative_if(down, code & 0xFFF), before, back);
    else
        out->base = NO_REGISTER;
    out->writes |= back && base != ARM_PC ? 1U << base : 0;
}

/* DDI 0406 A5.4: most have one result in bits 15 to 12; multiplications and divisions have it in 19 to 16. */
static void arm_media(struct instruction *out, uint32_t code)
{
    unsigned group = field(code, 20, 8);
    out->kind = GOES_UNSURE;
    may_write(out, field(code, 12, 4), group >= 0x70 && group <= 0x78 ? field(code, 16, 4) : ARM_PC);
}

static void arm_several(struct instruction *out, uint32_t code)
{
    bool of_other = (code & 1U << 22) != 0; /* mode's registers, or a return from an exception */
    access_list(out, code & 1U << 20, field(code, 16, 4), code & 0xFFFF, code & 1U << 23, code & 1U << 24,
                code & 1U << 21);
    if (of_other)
        out->kind = GOES_UNSURE;
}

/* DDI 0406 A8.8.18 (B), A8.8.25 (BL, BLX of a number, which has a bit more, the halfword's). */
static void arm_branch(struct instruction *out, uint32_t code, uint64_t address)
{
    bool exchanges = code >> 28 == 0xF;
    uint64_t half = exchanges ? field(code, 24, 1) << 1 : 0;
    jump(out, exchanges || (code & 1U << 24) != 0 ? GOES_CALL : GOES_JUMP,
         away(address + 8 + half, (code & 0xFFFFFF) << 2, 26));
}

/* DDI 0406 A5.1. */
static void arm_word(struct instruction *out, uint32_t code, uint64_t address)
{
    enum { ALWAYS = 14, UNCONDITIONAL };
    bool is_wide_number = (code & 0x0FB00000) == 0x03000000;
    uint32_t group = code >> 25 & 7, number = field(code, 16, 4) << 12 | (code & 0xFFF);
    unsigned to = field(code, 12, 4);
    out->conditional = code >> 28 < ALWAYS;
    if (code >> 28 == UNCONDITIONAL && group != 5) {
        out->kind = GOES_UNSURE;
        out->system = (code & 0xFFF1FE20) == 0xF1000000 ? SYSTEM_MODE : SYSTEM_NONE; /* CPS */
        return;
    }
    switch (group) {
    case 0:
    case 1:
        if (is_wide_number && (code & 1U << 22) != 0) /* MOVT */
            give(out, GIVES_TOP, to, NO_REGISTER, number);
        else if (is_wide_number) /* MOVW */
            give(out, GIVES_NUMBER, to, NO_REGISTER, number);
        else if ((code & 0x0E000090) == 0x00000090)
            arm_multiply(out, code);
        else if ((code & 0x01900000) == 0x01000000)
            arm_misc(out, code);
        else
            arm_data(out, code);
        return;
    case 2:
        arm_single(out, code);
        return;
    case 3:
        if ((code & 0x10) != 0)
            arm_media(out, code);
        else
            arm_single(out, code);
        return;
    case 4:
        arm_several(out, code);
        return;
    case 5:
        arm_branch(out, code, address);
        return;
    default:
        if ((code & 0x0F000000) == 0x0F000000)
            out->kind = GOES_SUPERVISOR;
        else
            coprocessor(out, code);
    }
}

/* What loads or makes the PC is a jump; a return if it has LR's value or one of the stack, as also the LDM of
 * SP and PC of the old procedure call standard does. */
static void note_pc(struct instruction *out)
{
    bool loads = out->access == ACCESS_LOAD, moves = out->gives == GIVES_SUM && out->number == 0;
    if ((out->writes >> ARM_PC & 1) == 0)
        return;
    bool returns =
        loads ? out->base == ARM_SP || (out->list >> ARM_SP & 1) != 0 : moves && out->from == ARM_LR;
    jump_by(out, returns ? GOES_BACK : GOES_AWAY, returns && moves ? ARM_LR : NO_REGISTER);
}

/* --- A64 ------------------------------------------------------------------------------------------------ */

/* Register 31 is the SP in some instructions, and in others no register. */
static void a64_give(struct instruction *out, enum instruction_result gives, bool has_sp, uint32_t code,
                     unsigned from, uint32_t number)
{
    enum { ZERO = 31 };
    if (field(code, 0, 5) != ZERO || has_sp)
        give(out, gives, field(code, 0, 5), from, number);
}

/* DDI 0487 C4.1: a pattern of 64 bits or less; of these the lower 32. False: smaller ones, which are not
 * followed. */
static bool a64_pattern(uint32_t code, uint32_t *out)
{
    unsigned turn = field(code, 16, 6), last = field(code, 10, 6);
    uint64_t run = last < 63 ? (UINT64_C(1) << (last + 1)) - 1 : UINT64_MAX;
    bool of_64 = (code & 1U << 22) != 0;
    if (!of_64 && last < 32)
        run |= run << 32;
    *out = (uint32_t)(turn == 0 ? run : run >> turn | run << (64 - turn));
    return of_64 || last < 32;
}

static void a64_by_number(struct instruction *out, uint32_t code)
{
    enum { ADD_SUB = 2, LOGICAL = 4, WIDE = 5, ZERO = 31, FLAGS = 3 };
    unsigned operation = field(code, 29, 2), from = field(code, 5, 5), half = field(code, 21, 2);
    uint32_t number = field(code, 10, 12) << (field(code, 22, 1) != 0 ? 12 : 0), pattern = 0;
    switch (field(code, 23, 3)) {
    case ADD_SUB:
        a64_give(out, GIVES_SUM, (operation & 1) == 0, code, from, negative_if(operation & 2, number));
        return;
    case LOGICAL: {
        enum instruction_result gives = operation == 1 ? GIVES_OR : GIVES_AND;
        if (!a64_pattern(code, &pattern) || operation > 1 || (from == ZERO && operation == 0))
            gives = GIVES_OTHER;
        else if (from == ZERO)
            gives = GIVES_NUMBER;
        a64_give(out, gives, operation != FLAGS, code, from, pattern);
        return;
    }
    case WIDE:
        number = half < 2 ? field(code, 5, 16) << 16 * half : 0;
        a64_give(out, operation == 2 ? GIVES_NUMBER : GIVES_OTHER, false, code, NO_REGISTER, number);
        return;
    default:
        a64_give(out, GIVES_OTHER, false, code, NO_REGISTER, 0);
    }
}

static void a64_by_register(struct instruction *out, uint32_t code)
{
    enum { ZERO = 31 };
    unsigned with = field(code, 16, 5);
    bool copies = (code & 0x7FE0FFE0) == 0x2A0003E0;
    bool has_sp = (code & 0x3FE00000) == 0x0B200000; /* ADD and SUB of an extended register */
    a64_give(out,
             !copies        ? GIVES_OTHER
             : with == ZERO ? GIVES_NUMBER
                            : GIVES_SUM,
             has_sp, code, copies ? with : field(code, 5, 5), 0);
}

/* Pairs, literals, exclusive and single ones, of general and of vector registers. */
static void a64_memory(struct instruction *out, uint32_t code)
{
    enum { ZERO = 31 };
    unsigned base = field(code, 5, 5), first = field(code, 0, 5), second = field(code, 10, 5);
    bool of_vectors = (code & 1U << 26) != 0, pairs = (code & 0x3A000000) == 0x28000000;
    bool is_literal = (code & 0x3B000000) == 0x18000000, is_single = (code & 0x38000000) == 0x38000000;
    bool loads = is_literal || (is_single && !of_vectors ? field(code, 22, 2) != 0 : (code & 1U << 22) != 0);
    bool of_structures = (code & 0xBE000000) == 0x0C000000;
    bool back =
        pairs || of_structures ? (code & 1U << 23) != 0 : is_single && (code & 0x01200400) == 0x00000400;
    out->access = loads ? ACCESS_LOAD : ACCESS_STORE;
    out->base = is_literal ? NO_REGISTER : base;
    out->writes |= back && !is_literal ? 1U << base : 0;
    if (of_vectors)
        return;
    out->writes |= loads ? (1U << first | (pairs ? 1U << second : 0)) & ~(1U << ZERO) : 0;
    if (!pairs && !is_single && !is_literal) /* exclusive stores have their status, CAS its value */
        out->writes |= (1U << first | 1U << field(code, 16, 5)) & ~(1U << ZERO);
    if ((code & 0x3B200C00) == 0x38200000) /* LDADD and its kin */
        out->writes |= 1U << first & ~(1U << ZERO);
}

/* DDI 0487 C4.1.66 and C6.2: exceptions, hints, MSR and MRS, branches. */
static void a64_branch(struct instruction *out, uint32_t code, uint64_t address)
{
    enum { ZERO = 31 };
    unsigned by = field(code, 5, 5);
    out->kind = GOES_UNSURE;
    if ((code & 0x7C000000) == 0x14000000) { /* B, BL */
        jump(out, code >> 31 != 0 ? GOES_CALL : GOES_JUMP, away(address, (code & 0x3FFFFFF) << 2, 28));
    } else if ((code & 0xFF000010) == 0x54000000 || (code & 0x7E000000) == 0x34000000) { /* B.cond, CBZ */
        jump(out, GOES_JUMP, away(address, field(code, 5, 19) << 2, 21));
        out->conditional = true;
    } else if ((code & 0x7E000000) == 0x36000000) { /* TBZ */
        jump(out, GOES_JUMP, away(address, field(code, 5, 14) << 2, 16));
        out->conditional = true;
    } else if ((code & 0xFEFFF000) == 0xD61F0000) { /* BR; the others authenticate */
        jump_by(out, GOES_AWAY, by);
    } else if ((code & 0xFEFFF000) == 0xD63F0000) { /* BLR */
        jump_by(out, GOES_CALL_BY, by);
    } else if ((code & 0xFFFFF000) == 0xD65F0000) { /* RET */
        jump_by(out, GOES_BACK, by);
    } else if ((code & 0xFFFFF000) == 0xD69F0000) { /* ERET */
        jump_by(out, GOES_AWAY, NO_REGISTER);
    } else if ((code & 0xFFE0001F) == 0xD4000001) {
        out->kind = GOES_SUPERVISOR;
    } else if ((code & 0xFFE0001F) == 0xD4400000) { /* HLT, C4.1.65 */
        out->kind = GOES_BREAKPOINT;
        out->number = field(code, 5, 16);
    } else if (code == 0xD503205F || code == 0xD503207F || (code & 0xFFFFFFC0) == 0xD5031000) {
        out->kind = GOES_ASLEEP;                    /* the last two with a limit of time */
    } else if ((code & 0xFFD00000) == 0xD5100000) { /* C5.2 */
        bool reads = (code & 1U << 21) != 0;
        out->kind = reads ? GOES_ON : GOES_UNSURE;
        out->system = reads ? SYSTEM_READ : (code & 1U << 19) != 0 ? SYSTEM_WRITE : SYSTEM_NONE;
        out->op1 = (uint8_t)field(code, 16, 3);
        out->crn = (uint8_t)field(code, 12, 4);
        out->crm = (uint8_t)field(code, 8, 4);
        out->op2 = (uint8_t)field(code, 5, 3);
        out->from = field(code, 0, 5);
        out->writes |= reads ? 1U << out->from & ~(1U << ZERO) : 0;
    } else if ((code & 0xFFF80000) == 0xD5280000) { /* SYSL */
        may_write(out, field(code, 0, 5), field(code, 0, 5));
    }
}

/* DDI 0487 C4.1. */
static void a64_word(struct instruction *out, uint32_t code, uint64_t address)
{
    switch (code >> 25 & 0xF) {
    case 0x8:
    case 0x9:
        a64_by_number(out, code);
        return;
    case 0xA:
    case 0xB:
        a64_branch(out, code, address);
        return;
    case 0x4:
    case 0x6:
    case 0xC:
    case 0xE:
        a64_memory(out, code);
        return;
    case 0x5:
    case 0xD:
        a64_by_register(out, code);
        return;
    case 0x7: /* vectors, which may give a general register */
    case 0xF:
        a64_give(out, GIVES_OTHER, false, code, NO_REGISTER, 0);
        return;
    default:
        a64_give(out, GIVES_OTHER, false, code, NO_REGISTER, 0);
        out->kind = GOES_UNSURE;
    }
}

/* --- all ------------------------------------------------------------------------------------------------ */

bool instruction_is_wide(uint32_t halfword)
{
    return halfword >> 11 >= 0x1D;
}

struct instruction instruction_of(enum instruction_set isa, uint32_t code, uint64_t address)
{
    bool wide = isa != ISA_THUMB || instruction_is_wide(code >> 16);
    struct instruction out = {.size = wide ? 4 : 2,
                              .by = NO_REGISTER,
                              .to = NO_REGISTER,
                              .from = NO_REGISTER,
                              .with = NO_REGISTER,
                              .base = NO_REGISTER,
                              .index = NO_REGISTER};
    if (isa == ISA_A64)
        a64_word(&out, code, address);
    else if (isa == ISA_OTHER)
        out.kind = GOES_UNSURE;
    else if (isa == ISA_ARM)
        arm_word(&out, code, address);
    else if (wide)
        thumb_wide(&out, code, address);
    else
        thumb_narrow(&out, code, address);
    if (isa == ISA_A64)
        return out;
    if (out.moves != 0 && out.base != ARM_PC)
        out.writes |= 1U << out.base;
    note_pc(&out);
    out.target &= UINT32_MAX;
    return out;
}

/* --- breakpoint instructions ---------------------------------------------------------------------------- */

static bool find_breakpoint(enum instruction_set isa, uint32_t code, uint32_t semihosting,
                            struct breakpoint_code *out)
{
    struct instruction one = instruction_of(isa, code, 0);
    *out = (struct breakpoint_code){.name = isa == ISA_A64 ? "HLT" : "BKPT",
                                    .number = (uint16_t)one.number,
                                    .is_semihosting = one.number == semihosting,
                                    .code = code,
                                    .size = (uint8_t)one.size};
    return one.kind == GOES_BREAKPOINT;
}

bool thumb_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    enum { SEMIHOSTING = 0xAB };
    return find_breakpoint(ISA_THUMB, pc & 2 ? word >> 16 : word & 0xFFFF, SEMIHOSTING, out);
}

bool arm_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    enum { NONE = UINT16_MAX + 1 }; /* a semihosting call is an SVC on these cores, which halts nothing */
    return (pc % 4 == 0 && find_breakpoint(ISA_ARM, word, NONE, out)) ||
           find_breakpoint(ISA_THUMB, pc & 2 ? word >> 16 : word & 0xFFFF, NONE, out);
}

bool a64_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    enum { SEMIHOSTING = 0xF000 };
    return pc % 4 == 0 && find_breakpoint(ISA_A64, word, SEMIHOSTING, out);
}
