/* SPDX-License-Identifier: MIT */
#include "code/instruction.h"

/* --- parts ---------------------------------------------------------------------------------------------- */

static const uint32_t STACK_AND_PC = 1U << ARM_SP | 1U << ARM_PC;

static uint32_t field(uint32_t code, unsigned low, unsigned n)
{
    return code >> low & ((1U << n) - 1);
}

static bool instruction_bit(uint32_t code, unsigned which)
{
    return (code >> which & 1) != 0;
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

static void instruction_jump(struct instruction *out, enum instruction_kind kind, uint64_t target,
                             bool conditional)
{
    out->kind = kind;
    out->target = target;
    out->conditional = out->conditional || conditional;
}

static void jump_by(struct instruction *out, enum instruction_kind kind, unsigned by)
{
    out->kind = kind;
    out->by = by;
}

static void instruction_give(struct instruction *out, enum instruction_result gives, unsigned to,
                             unsigned from, uint32_t number)
{
    out->gives = gives;
    out->to = to;
    out->from = from;
    out->number = number;
    out->writes |= 1U << to;
}

/* Of instructions that are not read further: neither field can be the SP or the PC. */
static void instruction_may_write(struct instruction *out, unsigned one, unsigned other)
{
    out->writes |= (1U << one | 1U << other) & ~STACK_AND_PC;
}

/* The registers of one or two that are not the SP and the PC are in `list`. */
static void access_memory(struct instruction *out, bool loads, unsigned base, uint32_t bytes, uint32_t list)
{
    out->access = loads ? ACCESS_LOAD : ACCESS_STORE;
    out->base = base;
    out->bytes = bytes;
    out->list = list;
    out->writes |= loads ? list : 0;
}

/* Offset, pre-indexed and post-indexed addressing. */
static void index_by(struct instruction *out, bool up, uint32_t number, bool before, bool back)
{
    out->offset = before ? (int32_t)negative_if(!up, number) : 0;
    out->moves = back ? (int32_t)negative_if(!up, number) : 0;
}

/* LDM and STM, `up` or down, the base `before` or after the first word. */
static void access_list(struct instruction *out, bool loads, unsigned base, uint32_t list, bool up,
                        bool before, bool back)
{
    uint32_t all = 4 * (uint32_t)__builtin_popcount(list);
    access_memory(out, loads, base, all, list);
    index_by(out, up, all, true, back && !(loads && instruction_bit(list, base)));
    out->offset = (up ? 0 : out->offset) + (before == up ? 4 : 0);
}

/* --- Thumb, of one halfword ----------------------------------------------------------------------------- */

/* DDI 0403 A5.2.1. */
static void thumb_number(struct instruction *out, uint32_t code)
{
    unsigned low = field(code, 0, 3), middle = field(code, 3, 3), high = field(code, 8, 3),
             group = code >> 11;
    uint32_t shift = field(code, 6, 5), number = code & 0xFF;
    if (group == 0) /* LSL; without a shift it is MOV */
        instruction_give(out, shift == 0 ? GIVES_SUM : GIVES_SHIFT, low, middle, shift);
    else if (group == 3 && instruction_bit(code, 10)) /* ADD, SUB of 3 bits */
        instruction_give(out, GIVES_SUM, low, middle, negative_if(instruction_bit(code, 9), shift & 7));
    else if (group <= 3) {
        instruction_give(out, GIVES_OTHER, low, middle, 0);
        out->with = group == 3 ? shift & 7 : NO_REGISTER;
    } else if (group == 4) /* MOV */
        instruction_give(out, GIVES_NUMBER, high, NO_REGISTER, number);
    else if (group >= 6) /* ADD, SUB; CMP between */
        instruction_give(out, GIVES_SUM, high, high, negative_if(instruction_bit(code, 11), number));
}

/* DDI 0403 A5.2.2. */
static void thumb_data(struct instruction *out, uint32_t code)
{
    enum { AND, TST = 8, CMP = 10, CMN = 11, ORR = 12, BIC = 14 };
    unsigned operation = field(code, 6, 4);
    if (operation == TST || operation == CMP || operation == CMN)
        return;
    instruction_give(out, GIVES_OTHER, field(code, 0, 3), field(code, 0, 3), 0);
    out->with = field(code, 3, 3);
    if (operation == AND || operation == ORR || operation == BIC)
        out->gives = operation == AND ? GIVES_AND : operation == ORR ? GIVES_OR : GIVES_CLEARED;
}

/* DDI 0403 A5.2.3: ADD, CMP, MOV of any registers, BX and BLX; DDI 0553 C2.4: BXNS, which leaves for the
 * other security state, and BLXNS. */
static void thumb_special(struct instruction *out, uint32_t code)
{
    enum { ADD, CMP, MOV };
    unsigned to = field(code, 0, 3) | field(code, 7, 1) << 3, from = field(code, 3, 4);
    unsigned operation = field(code, 8, 2);
    if (operation == ADD) {
        instruction_give(out, GIVES_OTHER, to, to, 0);
        out->with = from;
    } else if (operation == MOV)
        instruction_give(out, GIVES_SUM, to, from, 0);
    else if (operation > MOV && instruction_bit(code, 7))
        jump_by(out, GOES_CALL_BY, from);
    else if (operation > MOV)
        jump_by(out, from == ARM_LR && !instruction_bit(code, 2) ? GOES_BACK : GOES_AWAY, from);
}

/* DDI 0403 A5.2.4. */
static void thumb_memory(struct instruction *out, uint32_t code)
{
    static const uint8_t bytes[] = {4, 2, 1, 1, 4, 2, 1, 2}; /* the fourth loads, with a sign */
    unsigned low = field(code, 0, 3), base = field(code, 3, 3), group = code >> 12, which = field(code, 9, 3);
    uint32_t size = group == 6 ? 4 : group == 7 ? 1 : 2;
    if (group == 5) {
        access_memory(out, which >= 3, base, bytes[which], 1U << low);
        out->index = field(code, 6, 3);
    } else if (group == 9) {
        access_memory(out, instruction_bit(code, 11), ARM_SP, 4, 1U << field(code, 8, 3));
        out->offset = (int32_t)(4 * (code & 0xFF));
    } else {
        access_memory(out, instruction_bit(code, 11), base, size, 1U << low);
        out->offset = (int32_t)(size * field(code, 6, 5));
    }
}

/* DDI 0403 A5.2.5: also CPS and SETEND, which change no register. */
static void thumb_misc(struct instruction *out, uint32_t code, uint64_t address)
{
    uint32_t list = code & 0xFF, group = field(code, 8, 4), last = code & 0xF;
    if (group == 0) /* ADD, SUB of the SP */
        instruction_give(out, GIVES_SUM, ARM_SP, ARM_SP,
                         negative_if(instruction_bit(code, 7), 4 * (code & 0x7F)));
    else if ((group & 5) == 1) /* CBZ, CBNZ: A7.7.21 */
        instruction_jump(out, GOES_JUMP, address + 4 + (field(code, 9, 1) << 6 | field(code, 3, 5) << 1),
                         true);
    else if (group == 2 || group == 0xA) /* extends, REV */
        instruction_give(out, GIVES_OTHER, field(code, 0, 3), field(code, 3, 3), 0);
    else if (group >> 1 == 2) /* PUSH */
        access_list(out, false, ARM_SP, list | field(code, 8, 1) << ARM_LR, false, true, true);
    else if (group >> 1 == 6) /* POP */
        access_list(out, true, ARM_SP, list | field(code, 8, 1) << ARM_PC, true, false, true);
    else if ((code & 0xFFE0) == 0xB660) /* CPS: DDI 0403 B5.2.1 */
        out->system = SYSTEM_MASK;
    else if (group == 0xE) /* A7.7.17 */
        out->kind = GOES_BREAKPOINT;
    else if (group == 0xF && last != 0) /* A7.7.38 */
        out->kind = GOES_IT;
    else if (group == 0xF && code != 0xBF00) /* hints: WFE, WFI */
        out->kind = code == 0xBF20 || code == 0xBF30 ? GOES_ASLEEP : GOES_UNSURE;
    if (out->kind == GOES_BREAKPOINT || out->kind == GOES_IT)
        out->number = out->kind == GOES_IT ? 4 - (unsigned)__builtin_ctz(last) : list;
}

static void thumb_narrow(struct instruction *out, uint32_t code, uint64_t address)
{
    enum { ALWAYS = 14, SVC };
    unsigned high = field(code, 8, 3), condition = field(code, 8, 4), group = code >> 12;
    uint32_t number = 4 * (code & 0xFF);
    if (group <= 3) {
        thumb_number(out, code);
    } else if (group == 4 && instruction_bit(code, 11)) { /* LDR of a literal */
        access_memory(out, true, ARM_PC, 4, 1U << high);
        out->offset = (int32_t)number;
    } else if (group == 4 && instruction_bit(code, 10)) {
        thumb_special(out, code);
    } else if (group == 4) {
        thumb_data(out, code);
    } else if (group <= 9) {
        thumb_memory(out, code);
    } else if (group == 0xA) { /* ADD of the SP, ADR */
        instruction_give(out, instruction_bit(code, 11) ? GIVES_SUM : GIVES_OTHER, high,
                         instruction_bit(code, 11) ? ARM_SP : ARM_PC, number);
    } else if (group == 0xB) {
        thumb_misc(out, code, address);
    } else if (group == 0xC) {
        access_list(out, instruction_bit(code, 11), high, code & 0xFF, true, false, true);
    } else if (group == 0xE) {
        instruction_jump(out, GOES_JUMP, away(address + 4, (code & 0x7FF) << 1, 12), false);
    } else if (condition < ALWAYS) { /* A7.7.12 */
        instruction_jump(out, GOES_JUMP, away(address + 4, (code & 0xFF) << 1, 9), true);
    } else { /* A7.7.178, UDF */
        out->kind = condition == SVC ? GOES_SUPERVISOR : GOES_UNSURE;
    }
}

/* --- Thumb, of two halfwords ---------------------------------------------------------------------------- */

/* Operations of A5.3.1 and A5.3.11 in DDI 0403. */
enum { THUMB_AND, THUMB_BIC, THUMB_ORR, THUMB_ORN, THUMB_ADD = 8, THUMB_SUB = 13 };

static enum instruction_result thumb_operation(unsigned operation)
{
    static const enum instruction_result results[] = {GIVES_AND, GIVES_CLEARED, GIVES_OR};
    return operation <= THUMB_ORR ? results[operation] : GIVES_OTHER;
}

/* A modified immediate constant: DDI 0403 A5.3.2. */
static uint32_t thumb_immediate(uint32_t number)
{
    static const uint32_t times[] = {1, 0x00010001, 0x01000100, 0x01010101};
    return number >> 10 == 0 ? (number & 0xFF) * times[number >> 8]
                             : rotated(0x80 | (number & 0x7F), number >> 7);
}

/* DDI 0403 A5.3.1 and, with bit 25, A5.3.3: a plain number of 12 or 16 bits; bit fields. */
static void thumb_immediates(struct instruction *out, uint32_t code)
{
    enum { ADDW = 0, MOVW = 4, SUBW = 10, MOVT = 12, BFI = 22 };
    unsigned to = field(code, 8, 4), from = field(code, 16, 4), operation = field(code, 21, 4);
    unsigned plain = instruction_bit(code, 25) ? field(code, 20, 5) : 1; /* 1: unallocated */
    uint32_t number = field(code, 26, 1) << 11 | field(code, 12, 3) << 8 | (code & 0xFF);
    uint32_t modified = thumb_immediate(number);
    unsigned begin = field(code, 12, 3) << 2 | field(code, 6, 2), end = field(code, 0, 5);
    if (plain == MOVW || plain == MOVT)
        instruction_give(out, plain == MOVW ? GIVES_NUMBER : GIVES_TOP, to, NO_REGISTER, from << 12 | number);
    else if ((plain == ADDW || plain == SUBW) && from != ARM_PC) /* else ADR */
        instruction_give(out, GIVES_SUM, to, from, negative_if(plain == SUBW, number));
    else if (plain == BFI && from == ARM_PC) /* BFC */
        instruction_give(out, GIVES_CLEARED, to, to,
                         end >= begin ? UINT32_MAX >> (31 - end) & UINT32_MAX << begin : 0);
    else if (instruction_bit(code, 25))
        instruction_give(out, GIVES_OTHER, to, from, 0);
    else if (from == ARM_PC && (operation == THUMB_ORR || operation == THUMB_ORN))
        instruction_give(out, GIVES_NUMBER, to, NO_REGISTER, operation == THUMB_ORR ? modified : ~modified);
    else if (operation == THUMB_ADD || operation == THUMB_SUB)
        instruction_give(out, GIVES_SUM, to, from, negative_if(operation == THUMB_SUB, modified));
    else
        instruction_give(out, thumb_operation(operation), to, from, modified);
}

/* DDI 0553 C2.4: shifts of Armv8.1-M, of a pair of registers (LSLL), or of one if the upper one is 15. */
static void thumb_long_shift(struct instruction *out, unsigned low, unsigned high)
{
    instruction_may_write(out, high == ARM_PC ? low : low & ~1U, high | 1);
}

/* DDI 0403 A5.3.11; with bit 15 the conditional selects of DDI 0553 C2.4. */
static void thumb_shifted(struct instruction *out, uint32_t code)
{
    unsigned to = field(code, 8, 4), from = field(code, 16, 4), with = field(code, 0, 4);
    unsigned operation = field(code, 21, 4), shift = field(code, 12, 3) << 2 | field(code, 6, 2);
    bool is_left = (code & 0x8030) == 0;
    instruction_give(out, GIVES_OTHER, to, from == ARM_PC ? NO_REGISTER : from, 0);
    out->with = with;
    if (operation == THUMB_ORR && from == ARM_PC && is_left) {
        instruction_give(out, shift == 0 ? GIVES_SUM : GIVES_SHIFT, to, with, shift);
        out->with = NO_REGISTER;
    } else if (is_left && shift == 0 && from != ARM_PC) {
        out->gives = thumb_operation(operation);
    }
}

/* LE, WLS and their kin, the loops of Armv8.1-M, DDI 0553 C2.4. The first leads back. */
static void thumb_loop(struct instruction *out, uint32_t code, uint64_t address)
{
    uint32_t number = field(code, 1, 10) << 2 | field(code, 11, 1) << 1;
    out->kind = GOES_UNSURE;
    out->writes |= 1U << ARM_LR;
    if ((code & 0xFF80F001) == 0xF000C001)
        instruction_jump(out, GOES_JUMP, address + 4 + negative_if(field(code, 16, 4) == ARM_PC, number),
                         true);
}

/* DDI 0403 A5.3.4 and A5.3.5, DDI 0406 A6.3.4: MRS, MSR, hints, CPS. */
static void thumb_control(struct instruction *out, uint32_t code)
{
    uint32_t special = code & 0xFF;
    out->kind = (code & ~1U) == 0xF3AF8002 ? GOES_ASLEEP : GOES_UNSURE;
    if ((code & 0xFFFFF900) == 0xF3AF8100 || (code & 0xFFF0F1FF) == 0xF3808100) /* CPS; MSR of CPSR_c */
        out->system = SYSTEM_MODE;
    else if ((code & 0xFFF0FF00) == 0xF3808800 && ((special & 0x7E) == 0x08 || special == 0x98))
        out->system = SYSTEM_STACK; /* also Non-secure */
    else if ((code & 0xFFE0D000) == 0xF3808000 &&
             (special & 0x7C) == 0x10) /* DDI 0403 B5.2.3, DDI 0553 D1.2 */
        out->system = SYSTEM_MASK;
    else if ((code & ~0x10U) == 0xF3AF800D) /* PAC, PACBTI: DDI 0553 C2.4 */
        out->writes |= 1U << 12;
    else if ((code & 0xFFE0D000) == 0xF3E08000)
        instruction_may_write(out, field(code, 8, 4), ARM_PC);
    else if ((code & 0xFFFFFF00) == 0xF3DE8F00 || (code & 0xFFF0FFFF) == 0xF3C08F00) /* SUBS PC, LR; BXJ */
        out->kind = GOES_AWAY;
}

/* DDI 0403 A7.7.12 (B), A7.7.18 (BL); DDI 0406 A8.8.25 (BLX of a number). */
static void thumb_branch(struct instruction *out, uint32_t code, uint64_t address)
{
    uint32_t sign = field(code, 26, 1), j1 = field(code, 13, 1), j2 = field(code, 11, 1);
    uint32_t near = sign << 20 | j2 << 19 | j1 << 18 | field(code, 16, 6) << 12 | field(code, 0, 11) << 1;
    uint32_t far = sign << 24 | (uint32_t)(j1 == sign) << 23 | (uint32_t)(j2 == sign) << 22 |
                   field(code, 16, 10) << 12 | field(code, 0, 11) << 1;
    bool links = instruction_bit(code, 14), exchanges = links && !instruction_bit(code, 12);
    if (exchanges && instruction_bit(code, 0))
        thumb_loop(out, code, address);
    else if (links || instruction_bit(code, 12))
        instruction_jump(out, links ? GOES_CALL : GOES_JUMP,
                         away(exchanges ? (address + 4) & ~UINT64_C(3) : address + 4, far, 25), false);
    else if (field(code, 23, 3) == 7)
        thumb_control(out, code);
    else
        instruction_jump(out, GOES_JUMP, away(address + 4, near, 21), true);
}

/* DDI 0403 A5.3.6 (STRD, STREX and their kin, TBB); DDI 0553 C2.4 (STL, TT, SG). */
static void thumb_dual(struct instruction *out, uint32_t code)
{
    bool before = instruction_bit(code, 24), back = instruction_bit(code, 21),
         loads = instruction_bit(code, 20);
    unsigned base = field(code, 16, 4), first = field(code, 12, 4), second = field(code, 8, 4);
    if ((before || back) && !(base == ARM_PC && back)) {
        access_memory(out, loads, base, 8, 1U << first | 1U << second);
        index_by(out, instruction_bit(code, 23), 4 * (code & 0xFF), before, back);
        out->writes &= ~STACK_AND_PC;
    } else if ((code & 0xFFF0FFE0) == 0xE8D0F000) {
        out->kind = GOES_TABLE;
    } else if ((code & 0xFFF00FFF) == 0xE8C00FAF) {
        access_memory(out, false, base, 4, 1U << first);
    } else if (!before && !back) {
        unsigned status = instruction_bit(code, 23) ? field(code, 0, 4) : second; /* STREX: of others */
        instruction_may_write(out, loads ? first : status, loads ? second : ARM_PC);
    }
}

/* DDI 0403 A5.3.5 (LDM, STM), DDI 0406 A6.3.5 (RFE, SRS), DDI 0553 C2.4 (CLRM, which has the PC as its
 * base). */
static void thumb_several(struct instruction *out, uint32_t code)
{
    unsigned base = field(code, 16, 4), way = field(code, 23, 2);
    bool loads = instruction_bit(code, 20);
    uint32_t list = code & 0xFFFF & ~(1U << ARM_SP);
    if (base == ARM_PC && way == 1 && loads)
        out->writes |= list & ~STACK_AND_PC;
    else if (way == 1 || way == 2)
        access_list(out, loads, base, list, way == 1, way == 2, instruction_bit(code, 21));
    else if (loads)
        out->kind = GOES_AWAY;
}

/* VLD1 to VLD4 and VST1 to VST4: DDI 0406 A7.7.1, Rm of 15 leaves the base alone. */
static void structure_memory(struct instruction *out, uint32_t code)
{
    bool back = field(code, 0, 4) != ARM_PC;
    out->writes |= back ? 1U << field(code, 16, 4) & ~(1U << ARM_PC) : 0;
}

/* DDI 0403 A5.3.7 to A5.3.10: LDR, STR and those of parts of a word. */
static void thumb_single(struct instruction *out, uint32_t code)
{
    bool loads = instruction_bit(code, 20), before = instruction_bit(code, 10),
         back = instruction_bit(code, 8), is_signed = instruction_bit(code, 24);
    unsigned base = field(code, 16, 4), which = field(code, 12, 4), bytes = 1U << field(code, 21, 2);
    bool by_number = instruction_bit(code, 23) || base == ARM_PC,
         by_register = !by_number && (code & 0xFC0) == 0;
    bool is_undefined = bytes == 8 || (is_signed && (!loads || bytes == 4)) || (!loads && base == ARM_PC) ||
                        (!by_number && !by_register && !(instruction_bit(code, 11) && (before || back)));
    if (is_undefined || (loads && which == ARM_PC && bytes != 4)) /* PLD */
        return;
    access_memory(out, loads, base, bytes, 1U << which);
    out->writes &= bytes == 4 ? UINT32_MAX : ~STACK_AND_PC;
    if (by_number) {
        index_by(out, instruction_bit(code, 23), code & 0xFFF, true, false);
    } else if (by_register) {
        out->index = field(code, 0, 4);
        out->shift = field(code, 4, 2);
    } else {
        index_by(out, instruction_bit(code, 9), code & 0xFF, before, back);
    }
}

/* MCR, MRC, MCRR of CP15, and VPUSH and VPOP, which move the SP: DDI 0406 A8.8.98, A8.8.107, A8.8.99,
 * A8.8.367, A8.8.366. The same words in both instruction sets. Of the second kind (MRC2) those of
 * coprocessors from 8 on are vector instructions without a general register; of the first, VLLDM and VLSTM
 * (DDI 0553 C2.4) leave their base alone. */
static void coprocessor(struct instruction *out, uint32_t code)
{
    bool is_second = code >> 28 == 0xF, is_lazy = (code & 0x0F800E00) == 0x0C000A00;
    bool pushes = (code & 0x0FBF0E00) == 0x0D2D0A00, pops = (code & 0x0FBF0E00) == 0x0CBD0A00;
    bool moves = (code & 0x0F000F10) == 0x0E000F10, moves_both = (code & 0x0FF00F00) == 0x0C400F00;
    unsigned which = field(code, 12, 4), other = field(code, 16, 4);
    if (is_second && instruction_bit(code, 11))
        return;
    if (pushes || pops)
        instruction_give(out, GIVES_SUM, ARM_SP, ARM_SP, negative_if(pushes, 4 * (code & 0xFF)));
    else if ((code & 0x0E200000) == 0x0C200000 && !is_lazy) /* LDC, STC, VLDM, VSTM that move the base */
        out->writes |= 1U << other & ~(1U << ARM_PC);
    else if ((code & 0x0F100010) == 0x0E100010 || (code & 0x0FF00000) == 0x0C500000)
        instruction_may_write(out, which,
                              instruction_bit(code, 25) ? ARM_PC : other); /* also of other coprocessors */
    if (is_second || (!moves && !moves_both))
        return;
    out->system = moves_both ? SYSTEM_WRITE_BOTH : instruction_bit(code, 20) ? SYSTEM_READ : SYSTEM_WRITE;
    out->from = out->system == SYSTEM_READ ? NO_REGISTER : which;
    out->op1 = moves ? field(code, 21, 3) : field(code, 4, 4);
    out->crn = other;
    out->crm = field(code, 0, 4);
    out->op2 = field(code, 5, 3);
}

/* DDI 0553 C2.4: sums of vectors go to one general register, long ones to an even and an odd one. */
static void thumb_sum(struct instruction *out, uint32_t code)
{
    enum { LARGEST = 6 }; /* VMAXV, VMINV */
    unsigned low = field(code, 12, 4), high = field(code, 20, 3), start = field(code, 16, 4);
    bool differs = (code & 0x00400101) == 0x00000101; /* VABAV */
    if ((code & 0x0F800E50) == 0x0E800E00)
        instruction_may_write(out, differs || high == LARGEST ? low : low & ~1U,
                              differs || high == LARGEST ? ARM_PC : high << 1 | 1);
    else if ((code & 0xFF810F70) == 0xEE010F60 && field(code, 20, 2) != 3) /* VIDUP and its kin, no VCMP */
        instruction_may_write(out, start & ~1U, ARM_PC);
    else if ((code & 0xFFA01FF0) == 0xEEA00FC0) /* VSHLC */
        instruction_may_write(out, field(code, 0, 4), ARM_PC);
}

/* DDI 0553 C2.4: VLDR, VSTR, VLD2, VST2 and their kin that move the base. Ones that widen or narrow, which
 * those of a system register are not, have three bits for it, and of some the base is a vector. */
static void thumb_vector_memory(struct instruction *out, uint32_t code)
{
    bool widens = !instruction_bit(code, 12) && field(code, 7, 2) != 3,
         by_vector = (code & 0x11001000) == 0x11001000;
    unsigned base = field(code, 16, widens ? 3 : 4);
    out->writes |= by_vector || base == ARM_PC ? 0 : 1U << base;
}

/* Of Armv8-M the words of CDE are also those of coprocessors 0 to 7: DDI 0553 C2.4, CX1 to CX3, whose results
 * may be pairs. The other words of coprocessors 14 and 15 are vector instructions there. */
static void thumb_coprocessor(struct instruction *out, uint32_t code)
{
    bool of_vectors = field(code, 9, 3) == 7;
    unsigned custom = instruction_bit(code, 23) ? field(code, 0, 4) : field(code, 12, 4);
    if (of_vectors && (code & 0x0F000010) == 0x0E000000)
        thumb_sum(out, code);
    else if (of_vectors && (code & 0x0E200000) == 0x0C200000)
        thumb_vector_memory(out, code);
    else if ((code & 0xFFF01FE0) == 0xEC000F00) /* VMOV of two lanes */
        instruction_may_write(out, field(code, 0, 4), field(code, 16, 4));
    else
        coprocessor(out, code);
    if ((code & 0x0F000800) == 0x0E000000)
        instruction_may_write(out, custom, custom | field(code, 6, 1));
}

/* DDI 0403 A5.3.12, A5.3.16, A5.3.17: of long multiplications and of divisions bits 15 to 12 are a result or
 * 15, of other multiplications what is added. DDI 0553 C2.4: BXAUT is BX after a proof of the address. */
static void thumb_multiply(struct instruction *out, uint32_t code)
{
    bool is_long = (code & 0x01800000) == 0x01800000;
    unsigned by = field(code, 16, 4);
    if ((code & 0xFFF00FF0) == 0xFB500F10) /* BXAUT */
        jump_by(out, by == ARM_LR ? GOES_BACK : GOES_AWAY, by);
    instruction_may_write(out, field(code, 8, 4), is_long ? field(code, 12, 4) : ARM_PC);
}

static void thumb_wide(struct instruction *out, uint32_t code, uint64_t address)
{
    bool writes = field(code, 8, 4) != ARM_PC; /* else TST, TEQ, CMN, CMP */
    unsigned group = field(code, 25, 4);
    if (group == 4 && instruction_bit(code, 22))
        thumb_dual(out, code);
    else if (group == 4)
        thumb_several(out, code);
    else if ((code & 0xFFF0000F) == 0xEA50000D || (code & 0xFFF0800F) == 0xEA50000F)
        thumb_long_shift(out, field(code, 16, 4), field(code, 8, 4));
    else if (group == 5 && writes)
        thumb_shifted(out, code);
    else if (group == 6 || group == 7 || group > 0xD)
        thumb_coprocessor(out, code);
    else if (group >> 2 == 2 && instruction_bit(code, 15))
        thumb_branch(out, code, address);
    else if (group >> 2 == 2 && writes)
        thumb_immediates(out, code);
    else if ((code & 0xFF100000) == 0xF9000000)
        structure_memory(out, code);
    else if (group == 0xC)
        thumb_single(out, code);
    else if (group == 0xD)
        thumb_multiply(out, code);
}

/* --- A32 ------------------------------------------------------------------------------------------------ */

/* DDI 0406 A5.2.12 and its neighbours: BX and BXJ (A8.8.27, A8.8.28), BLX (A8.8.26), BKPT (A8.8.24), MSR and
 * hints (A8.8.424, A8.8.425). */
static void arm_misc(struct instruction *out, uint32_t code)
{
    unsigned by = field(code, 0, 4);
    uint32_t jumps = code & 0x0FFFFFF0, rest = code & 0x0FFFFFFF;
    out->kind = GOES_UNSURE;
    if (jumps == 0x012FFF10 || jumps == 0x012FFF20) {
        jump_by(out, by == ARM_LR ? GOES_BACK : GOES_AWAY, by);
    } else if (jumps == 0x012FFF30) {
        jump_by(out, GOES_CALL_BY, by);
    } else if ((code & 0xFFF000F0) == 0xE1200070) {
        out->kind = GOES_BREAKPOINT;
        out->number = (code >> 4 & 0xFFF0) | by;
    } else if ((code & 0x0FB0F0F0) == 0x0120F000 || (code & 0x0FB0F000) == 0x0320F000) {
        bool of_others = !instruction_bit(code, 25) && instruction_bit(code, 9); /* another mode's register */
        out->kind = rest >> 1 == 0x0320F002 >> 1 ? GOES_ASLEEP : rest == 0x0320F000 ? GOES_ON : GOES_UNSURE;
        if (instruction_bit(code, 16) && !instruction_bit(code, 22) && !of_others) /* CPSR_c */
            out->system = SYSTEM_MODE;
    } else if (field(code, 4, 4) == 7) { /* HLT, HVC, SMC */
        return;
    } else if (instruction_bit(code, 7)) { /* SMLALBB has two results, other multiplications one */
        instruction_may_write(out, (code & 0x00600000) == 0x00400000 ? field(code, 12, 4) : ARM_PC,
                              field(code, 16, 4));
    } else {
        instruction_may_write(out, field(code, 12, 4), ARM_PC);
    }
}

/* DDI 0406 A5.2.5: multiplications have their result in bits 19 to 16, the long ones, of which UMAAL is one,
 * also in 15 to 12, where others have what is added. A5.2.10: SWP, LDREX, and the status of STREX. */
static void arm_multiply(struct instruction *out, uint32_t code)
{
    unsigned which = field(code, 12, 4), high = field(code, 16, 4);
    bool is_long = instruction_bit(code, 23) || (code & 0x00E00000) == 0x00400000;
    bool both = (code & 0x01F00000) == 0x01B00000; /* LDREXD */
    if (instruction_bit(code, 24))
        instruction_may_write(out, which, both ? which | 1 : ARM_PC);
    else
        instruction_may_write(out, is_long ? which : ARM_PC, high);
}

/* DDI 0406 A5.2.8, A5.2.9 and A5.3: multiplications, exclusive accesses, LDR, STR and those of other
 * sizes. Where an address has a register more, it is not known. */
static void arm_memory(struct instruction *out, uint32_t code)
{
    bool before = instruction_bit(code, 24), back = !before || instruction_bit(code, 21),
         loads = instruction_bit(code, 20), plain = instruction_bit(code, 26);
    unsigned which = field(code, 12, 4), base = field(code, 16, 4), kind = field(code, 5, 2);
    bool doubles = !plain && !loads && kind != 1;
    uint32_t bytes = plain ? (instruction_bit(code, 22) ? 1 : 4) : doubles ? 8 : kind == 2 ? 1 : 2;
    uint32_t number = plain ? code & 0xFFF : field(code, 8, 4) << 4 | field(code, 0, 4);
    if (!plain && kind == 0) {
        arm_multiply(out, code);
        return;
    }
    access_memory(out, loads || (!plain && kind == 2), base, bytes, (doubles ? 3U : 1U) << which & 0xFFFF);
    out->writes &= plain ? UINT32_MAX : ~STACK_AND_PC;
    out->writes |= back && base != ARM_PC ? 1U << base : 0;
    if (plain ? !instruction_bit(code, 25) : instruction_bit(code, 22))
        index_by(out, instruction_bit(code, 23), number, before, back);
    else
        out->base = NO_REGISTER;
}

/* DDI 0406 A5.2.1 to A5.2.4, A8.8.102 and A8.8.106 (MOVW, MOVT). */
static void arm_data(struct instruction *out, uint32_t code)
{
    enum { AND, SUB = 2, ADD = 4, TST = 8, MOVT = 10, ORR = 12, MOV, BIC, MVN };
    unsigned to = field(code, 12, 4), from = field(code, 16, 4), operation = field(code, 21, 4);
    uint32_t number = rotated(code & 0xFF, 2 * field(code, 8, 4)), half = from << 12 | (code & 0xFFF);
    bool by_number = instruction_bit(code, 25);
    if (operation >= TST && operation < ORR && instruction_bit(code, 20)) /* TST, TEQ, CMP, CMN */
        return;
    if (operation >= TST && operation < ORR)
        instruction_give(out, operation == MOVT ? GIVES_TOP : GIVES_NUMBER, to, NO_REGISTER, half);
    else if (operation == MOV && !by_number && (code & 0xFF0) == 0)
        instruction_give(out, GIVES_SUM, to, field(code, 0, 4), 0);
    else if (operation == MOV || operation == MVN)
        instruction_give(out, by_number ? GIVES_NUMBER : GIVES_OTHER, to, NO_REGISTER,
                         operation == MVN ? ~number : number);
    else if (by_number && (operation == ADD || operation == SUB))
        instruction_give(out, GIVES_SUM, to, from, negative_if(operation == SUB, number));
    else if (by_number && (operation == AND || operation == ORR || operation == BIC))
        instruction_give(out,
                         operation == AND   ? GIVES_AND
                         : operation == ORR ? GIVES_OR
                                            : GIVES_CLEARED,
                         to, from, number);
    else
        instruction_give(out, GIVES_OTHER, to, from, 0);
}

/* DDI 0406 A5.4: most have one result in bits 15 to 12; multiplications and divisions have it in 19 to 16,
 * and SMLALD in both. */
static void arm_media(struct instruction *out, uint32_t code)
{
    enum { FIRST = 0x70, LONG = 0x74, LAST = 0x78 };
    unsigned group = field(code, 20, 8);
    bool multiplies = group >= FIRST && group <= LAST;
    out->kind = GOES_UNSURE;
    instruction_may_write(out, multiplies && group != LONG ? ARM_PC : field(code, 12, 4),
                          multiplies ? field(code, 16, 4) : ARM_PC);
}

/* DDI 0406 A8.8.18 (B), A8.8.25 (BL, BLX of a number, which has a bit more, the halfword's). */
static void arm_branch(struct instruction *out, uint32_t code, uint64_t address)
{
    bool exchanges = code >> 28 == 0xF;
    uint64_t half = exchanges ? field(code, 24, 1) << 1 : 0;
    instruction_jump(out, exchanges || instruction_bit(code, 24) ? GOES_CALL : GOES_JUMP,
                     away(address + 8 + half, (code & 0xFFFFFF) << 2, 26), false);
}

/* DDI 0406 A5.1. */
static void arm_word(struct instruction *out, uint32_t code, uint64_t address)
{
    enum { ALWAYS = 14, UNCONDITIONAL };
    bool is_half = (code & 0x0FB00000) == 0x03000000; /* MOVW, MOVT */
    unsigned group = field(code, 25, 3);
    out->conditional = code >> 28 < ALWAYS;
    if (group == 5) {
        arm_branch(out, code, address);
    } else if (code >> 28 == UNCONDITIONAL) {
        out->kind = GOES_UNSURE;
        out->system = (code & 0xFFF1FE20) == 0xF1000000 ? SYSTEM_MODE : SYSTEM_NONE; /* CPS */
        if ((code & 0xFF100000) == 0xF4000000)
            structure_memory(out, code);
        else if (group >= 6)
            coprocessor(out, code);
    } else if ((code & 0x0E000090) == 0x00000090 || group == 2 || (group == 3 && !instruction_bit(code, 4))) {
        arm_memory(out, code);
    } else if (group <= 1 && (code & 0x01900000) == 0x01000000 && !is_half) {
        arm_misc(out, code);
    } else if (group <= 1) {
        arm_data(out, code);
    } else if (group == 3) {
        arm_media(out, code);
    } else if (group == 4) { /* bit 22: another mode's registers, or a return from an exception */
        access_list(out, instruction_bit(code, 20), field(code, 16, 4), code & 0xFFFF,
                    instruction_bit(code, 23), instruction_bit(code, 24), instruction_bit(code, 21));
        out->kind = instruction_bit(code, 22) ? GOES_UNSURE : GOES_ON;
    } else if (field(code, 24, 4) == 0xF) {
        out->kind = GOES_SUPERVISOR;
    } else {
        coprocessor(out, code);
    }
}

/* What loads or makes the PC is a jump; a return if it has LR's value or one of the stack, as also the LDM of
 * SP and PC by the frame pointer of the old procedure call standard does. */
static void note_pc(struct instruction *out)
{
    enum { ARM_FRAME = 11 };
    bool loads = out->access == ACCESS_LOAD, moves = out->gives == GIVES_SUM && out->number == 0;
    if (!instruction_bit(out->writes, ARM_PC))
        return;
    bool returns = loads
                       ? out->base == ARM_SP || (out->base == ARM_FRAME && instruction_bit(out->list, ARM_SP))
                       : moves && out->from == ARM_LR;
    jump_by(out, returns ? GOES_BACK : GOES_AWAY, returns && moves ? ARM_LR : NO_REGISTER);
}

/* --- A64 ------------------------------------------------------------------------------------------------ */

enum { A64_ZERO = 31 }; /* is the SP in some instructions, and in others no register */

static uint32_t a64_bit(unsigned which)
{
    return which == A64_ZERO ? 0 : 1U << which;
}

static void a64_give(struct instruction *out, enum instruction_result gives, bool has_sp, uint32_t code,
                     unsigned from, uint32_t number)
{
    if (field(code, 0, 5) != A64_ZERO || has_sp)
        instruction_give(out, gives, field(code, 0, 5), from, number);
}

/* DDI 0487 C4.1: a pattern of 64 bits or 32; of these the lower 32. False: smaller ones, which are not
 * followed. */
static bool a64_pattern(uint32_t code, uint32_t *out)
{
    unsigned turn = field(code, 16, 6), last = field(code, 10, 6);
    uint64_t run = last < 63 ? (UINT64_C(1) << (last + 1)) - 1 : UINT64_MAX;
    if (!instruction_bit(code, 22) && last < 32)
        run |= run << 32;
    *out = (uint32_t)(turn == 0 ? run : run >> turn | run << (64 - turn));
    return instruction_bit(code, 22) || last < 32;
}

static void a64_by_number(struct instruction *out, uint32_t code)
{
    enum { ADD_SUB = 2, LOGICAL = 4, WIDE = 5, FLAGS = 3 };
    unsigned operation = field(code, 29, 2), from = field(code, 5, 5), half = field(code, 21, 2);
    uint32_t number = field(code, 10, 12) << (instruction_bit(code, 22) ? 12 : 0), pattern = 0;
    unsigned group = field(code, 23, 3);
    enum instruction_result gives = operation == 1 ? GIVES_OR : GIVES_AND;
    if (!a64_pattern(code, &pattern) || operation > 1 || (from == A64_ZERO && operation == 0))
        gives = GIVES_OTHER;
    else if (from == A64_ZERO)
        gives = GIVES_NUMBER;
    if (group == ADD_SUB)
        a64_give(out, GIVES_SUM, !instruction_bit(code, 29), code, from,
                 negative_if(instruction_bit(code, 30), number));
    else if (group == LOGICAL)
        a64_give(out, gives, operation != FLAGS, code, from, pattern);
    else if ((code & 0xBFC00000) == 0x91800000) /* ADDG, SUBG */
        a64_give(out, GIVES_OTHER, true, code, from, 0);
    else if (group == WIDE && operation == 2) /* MOVZ */
        a64_give(out, GIVES_NUMBER, false, code, NO_REGISTER, half < 2 ? field(code, 5, 16) << 16 * half : 0);
    else
        a64_give(out, GIVES_OTHER, false, code, NO_REGISTER, 0);
}

static void a64_by_register(struct instruction *out, uint32_t code)
{
    unsigned with = field(code, 16, 5);
    bool has_sp = (code & 0x3FE00000) == 0x0B200000; /* ADD and SUB of an extended register */
    /* CCMP, and RMIF and SETF8 among ADC and its kin, have flags in these bits */
    bool has_none =
        (code & 0x3FE00000) == 0x3A400000 || ((code & 0x3FE00000) == 0x3A000000 && field(code, 10, 6) != 0);
    has_sp = has_sp || (code & 0xFFE0FC00) == 0x9AC01000; /* IRG */
    if (has_none)
        return;
    if ((code & 0x7FE0FFE0) == 0x2A0003E0) /* MOV */
        a64_give(out, with == A64_ZERO ? GIVES_NUMBER : GIVES_SUM, false, code, with, 0);
    else
        a64_give(out, GIVES_OTHER, has_sp, code, field(code, 5, 5), 0);
}

/* DDI 0487 C4.1, "Loads and Stores": exclusive and ordered ones, CAS, CASP. What gives a value back or a
 * status gives it to bits 20 to 16, two of CASP. */
static void a64_exclusive(struct instruction *out, uint32_t code)
{
    uint32_t first = a64_bit(field(code, 0, 5)), second = a64_bit(field(code, 10, 5));
    uint32_t status = a64_bit(field(code, 16, 5)), after = a64_bit(field(code, 16, 5) | 1);
    bool loads = instruction_bit(code, 22), two = instruction_bit(code, 21);
    if (instruction_bit(code, 24)) /* unprivileged ones */
        out->writes |= first | status | after;
    else if (instruction_bit(code, 23)) /* CAS; LDAR, STLR */
        out->writes |= two ? status : loads ? first : 0;
    else if (two && !instruction_bit(code, 31)) /* CASP */
        out->writes |= status | after;
    else
        out->writes |= loads ? first | (two ? second : 0) : status;
}

/* The same table's newer ones: LDAPUR, tags, copies of memory, atomic ones of 128 bits. */
static void a64_newer_memory(struct instruction *out, uint32_t code)
{
    enum { COPIES = 1, SETS = 3 };
    uint32_t first = a64_bit(field(code, 0, 5)), base = 1U << field(code, 5, 5), other = field(code, 16, 5);
    unsigned way = field(code, 10, 2);
    bool of_tags = (code & 0xFF200000) == 0xD9200000, two = instruction_bit(code, 21);
    if (of_tags) /* STG; LDG, LDGM */
        out->writes |= way != 0 ? (way & 1) * base : instruction_bit(code, 22) ? first : 0;
    else if (!two && way == COPIES) /* CPY, SET */
        out->writes |= first | a64_bit(field(code, 5, 5)) | (field(code, 22, 2) == SETS ? 0 : a64_bit(other));
    else if (instruction_bit(code, 26)) /* of vectors */
        return;
    else if (two)
        out->writes |= first | a64_bit(other) | a64_bit(other | 1);
    else if (way == 0) /* LDAPUR, STLUR */
        out->writes |= field(code, 22, 2) != 0 ? first : 0;
    else /* LDIAPP, STILP */
        out->writes |= base | (instruction_bit(code, 22) ? first | a64_bit(other) : 0);
}

/* Registers, one or LD64B's eight, that one load or atomic access gives. */
static uint32_t a64_single(uint32_t code, bool loads)
{
    bool is_authenticated = (code & 0xFF200400) == 0xF8200400, is_hint = (code & 0xFEC00000) == 0xF8800000;
    bool is_atomic = (code & 0x3B200C00) == 0x38200000; /* LDADD and its kin */
    uint32_t first = field(code, 0, 5);
    if ((code & 0xFFFFFC00) == 0xF83FD000) /* LD64B */
        return 0xFFU << first;
    if ((code & 0xFFE0EC00) == 0xF820A000) /* ST64BV */
        return a64_bit(field(code, 16, 5));
    if (is_hint && !is_authenticated && !is_atomic) /* PRFM */
        return 0;
    return loads || is_atomic ? a64_bit(first) : 0;
}

/* Pairs, literals, and single ones, of general and of vector registers. */
static void a64_memory(struct instruction *out, uint32_t code)
{
    unsigned base = field(code, 5, 5), first = field(code, 0, 5), second = field(code, 10, 5);
    bool of_vectors = instruction_bit(code, 26), pairs = (code & 0x3A000000) == 0x28000000;
    bool is_literal = (code & 0x3B000000) == 0x18000000, is_single = (code & 0x38000000) == 0x38000000;
    bool is_authenticated = (code & 0xFF200400) == 0xF8200400; /* LDRAA */
    bool loads = is_literal || instruction_bit(code, 22) || is_authenticated ||
                 (is_single && !of_vectors && instruction_bit(code, 23));
    bool of_structures = (code & 0xBE000000) == 0x0C000000;
    bool back =
        pairs || of_structures ? instruction_bit(code, 23) : is_single && (code & 0x01200400) == 0x00000400;
    back = back || (is_authenticated && instruction_bit(code, 11));
    out->access = loads ? ACCESS_LOAD : ACCESS_STORE;
    out->base = is_literal ? NO_REGISTER : base;
    out->writes |= back && !is_literal ? 1U << base : 0;
    if ((code & 0x3B000000) == 0x19000000)
        a64_newer_memory(out, code);
    else if ((code & 0x3E000000) == 0x08000000)
        a64_exclusive(out, code);
    else if (pairs && loads && !of_vectors)
        out->writes |= a64_bit(first) | a64_bit(second);
    else if (is_literal && !of_vectors && code >> 30 != 3) /* 3: PRFM */
        out->writes |= a64_bit(first);
    else if (is_single && !of_vectors)
        out->writes |= a64_single(code, loads);
}

/* DDI 0487 C5.2, op0 2 and 3. */
static void a64_system(struct instruction *out, uint32_t code)
{
    bool reads = instruction_bit(code, 21);
    out->kind = reads ? GOES_ON : GOES_UNSURE;
    out->system = reads ? SYSTEM_READ : instruction_bit(code, 19) ? SYSTEM_WRITE : SYSTEM_NONE;
    out->op1 = field(code, 16, 3);
    out->crn = field(code, 12, 4);
    out->crm = field(code, 8, 4);
    out->op2 = field(code, 5, 3);
    out->from = field(code, 0, 5);
    out->writes |= reads ? a64_bit(out->from) : 0;
}

/* DDI 0487 C4.1.66 and C6.2: exceptions, hints, branches. Some of BR, BLR, RET and ERET authenticate. */
static void a64_branch(struct instruction *out, uint32_t code, uint64_t address)
{
    unsigned by = field(code, 5, 5);
    bool has_limit = (code & 0xFFFFFFC0) == 0xD5031000; /* WFET, WFIT */
    uint32_t by_register = code & 0xFEFFF000, exception = code & 0xFFE0001F;
    out->kind = GOES_UNSURE;
    if ((code & 0x7C000000) == 0x14000000) /* B, BL */
        instruction_jump(out, instruction_bit(code, 31) ? GOES_CALL : GOES_JUMP,
                         away(address, (code & 0x3FFFFFF) << 2, 28), false);
    else if ((code & 0xFF000000) == 0x54000000 ||
             (code & 0x7E000000) == 0x34000000) /* B.cond, BC.cond, CBZ */
        instruction_jump(out, GOES_JUMP, away(address, field(code, 5, 19) << 2, 21), true);
    else if ((code & 0x7E000000) == 0x36000000) /* TBZ */
        instruction_jump(out, GOES_JUMP, away(address, field(code, 5, 14) << 2, 16), true);
    else if (by_register == 0xD61F0000) /* BR */
        jump_by(out, GOES_AWAY, by);
    else if (by_register == 0xD63F0000) /* BLR */
        jump_by(out, GOES_CALL_BY, by);
    else if (code >> 12 == 0xD65F0) /* RET */
        jump_by(out, GOES_BACK, by);
    else if (code >> 12 == 0xD69F0) /* ERET */
        out->kind = GOES_AWAY;
    else if (code == 0xD503205F || code == 0xD503207F || has_limit) /* WFE, WFI */
        out->kind = GOES_ASLEEP;
    else if (exception == 0xD4000001 || exception == 0xD4400000) /* SVC; HLT, C4.1.65 */
        out->kind = exception == 0xD4000001 ? GOES_SUPERVISOR : GOES_BREAKPOINT;
    else if ((code & 0xFFD00000) == 0xD5100000)
        a64_system(out, code);
    else if ((code & 0xFFF80000) == 0xD5280000) /* SYSL */
        out->writes |= a64_bit(field(code, 0, 5));
    out->number = out->kind == GOES_BREAKPOINT ? field(code, 5, 16) : 0;
}

/* DDI 0487 C4.1, "Data Processing -- Scalar Floating-Point and Advanced SIMD": a general register is the
 * result of conversions to whole numbers, of FMOV to it, and of SMOV and UMOV alone. */
static bool a64_leaves_vectors(uint32_t code)
{
    enum { TO_WHOLE = 0, TO_NEAREST = 4, MOVES = 6 };
    unsigned operation = field(code, 16, 3);
    bool converts = (code & 0x5F20FC00) == 0x1E200000, to_fixed = (code & 0x5F200000) == 0x1E000000;
    return (converts &&
            (operation >> 1 == TO_WHOLE || operation >> 1 == TO_NEAREST / 2 || operation == MOVES)) ||
           (to_fixed && operation >> 1 == TO_WHOLE) || (code & 0xBFE0EC00) == 0x0E002C00;
}

/* DDI 0487 C4.1, "SVE encodings": ADDVL and ADDPL, which may give the SP; counts, CNTP, LASTA; SME's MOVT. */
static void a64_scalable(struct instruction *out, uint32_t code)
{
    bool adds = (code & 0xFFA0F000) == 0x04205000,
         of_sme = field(code, 25, 4) == 0 && instruction_bit(code, 31);
    bool counts =
        (code & 0xFF20E000) == 0x0420E000 || (code & 0xFF20F000) == 0x04205000 ||
        ((code & 0xFF20C000) == 0x25208000 && (instruction_bit(code, 11) || !instruction_bit(code, 19))) ||
        (code & 0xFF2EE000) == 0x0520A000;
    bool is_known = of_sme || field(code, 25, 4) == 2, moves = (code & 0xFFFF8FE0) == 0xC04C03E0;
    if (adds || counts || moves || !is_known)
        a64_give(out, GIVES_OTHER, adds, code, NO_REGISTER, 0);
    out->kind = GOES_UNSURE;
}

/* DDI 0487 C4.1. */
static void a64_word(struct instruction *out, uint32_t code, uint64_t address)
{
    unsigned group = field(code, 25, 4);
    if (group >> 1 == 4)
        a64_by_number(out, code);
    else if (group >> 1 == 5)
        a64_branch(out, code, address);
    else if ((group & 5) == 4)
        a64_memory(out, code);
    else if ((group & 7) == 5)
        a64_by_register(out, code);
    else if (group < 4)
        a64_scalable(out, code);
    else if (a64_leaves_vectors(code))
        a64_give(out, GIVES_OTHER, false, code, NO_REGISTER, 0);
}

/* --- exclusive accesses --------------------------------------------------------------------------------- */

/* DDI 0403 A7.7.52 (LDREX) and the following, A7.7.167 (STREX); DDI 0553 C2.4: LDAEX and STLEX, and TT, where
 * STREX would store the PC. Others of the second group are LDA, STL and TBB. */
static bool is_exclusive_in_thumb(uint32_t code)
{
    enum { EXCLUSIVE_SIZES = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 };
    bool of_word = (code & 0xFFF00F00) == 0xE8500F00 ||
                   ((code & 0xFFF00000) == 0xE8400000 && field(code, 12, 4) != ARM_PC);
    return of_word ||
           ((code & 0xFFE00000) == 0xE8C00000 && instruction_bit(EXCLUSIVE_SIZES, field(code, 4, 4)));
}

/* DDI 0487 F4.1, "Synchronization primitives and Load-Acquire/Store-Release" of A32, and C4.1 of A64, where
 * CAS and LDAR have bit 23, CASP bit 21 without bit 31. */
static bool is_exclusive(enum instruction_set isa, uint32_t code)
{
    if (isa == ISA_THUMB)
        return is_exclusive_in_thumb(code);
    if (isa == ISA_ARM)
        return code >> 28 != 15 && (code & 0x0F8002F0) == 0x01800290;
    return (code & 0x3E800000) == 0x08000000 && (!instruction_bit(code, 21) || instruction_bit(code, 31));
}

static void note_exclusive(struct instruction *out, enum instruction_set isa, uint32_t code)
{
    bool clears = isa == ISA_THUMB ? code == 0xF3BF8F2F
                  : isa == ISA_ARM ? code == 0xF57FF01F
                                   : (code & 0xFFFFF0FF) == 0xD503305F;
    bool loads = instruction_bit(code, isa == ISA_A64 ? 22 : 20);
    if (clears)
        out->exclusive = EXCLUSIVE_CLEAR;
    else if (is_exclusive(isa, code))
        out->exclusive = loads ? EXCLUSIVE_LOAD : EXCLUSIVE_STORE;
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
    if (isa == ISA_OTHER)
        out.kind = GOES_UNSURE;
    if (isa != ISA_OTHER)
        note_exclusive(&out, isa, code);
    if (isa == ISA_A64)
        a64_word(&out, code, address);
    if (isa == ISA_OTHER || isa == ISA_A64)
        return out;
    if (isa == ISA_ARM)
        arm_word(&out, code, address);
    else if (wide)
        thumb_wide(&out, code, address);
    else
        thumb_narrow(&out, code, address);
    if (out.moves != 0 && out.base < ARM_PC)
        out.writes |= 1U << out.base;
    note_pc(&out);
    out.target &= UINT32_MAX;
    return out;
}

bool store_hits(const struct instruction *store, const uint32_t *registers, uint64_t word)
{
    uint32_t from = registers[store->base] + (uint32_t)store->offset;
    if (store->index != NO_REGISTER)
        from += registers[store->index] << store->shift;
    return from < word + 4 && word < (uint64_t)from + store->bytes;
}

/* --- breakpoint instructions ---------------------------------------------------------------------------- */

static bool instruction_find_breakpoint(enum instruction_set isa, uint32_t code, uint32_t semihosting,
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
    return instruction_find_breakpoint(ISA_THUMB, pc & 2 ? word >> 16 : word & 0xFFFF, SEMIHOSTING, out);
}

bool arm_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    enum { NONE = UINT16_MAX + 1 }; /* a semihosting call is an SVC on these cores, which halts nothing */
    return (pc % 4 == 0 && instruction_find_breakpoint(ISA_ARM, word, NONE, out)) ||
           instruction_find_breakpoint(ISA_THUMB, pc & 2 ? word >> 16 : word & 0xFFFF, NONE, out);
}

/* HLT, DDI 0487 F5.1.58: BKPT never halts such a core. */
bool aarch32_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    enum { SEMIHOSTING = 0xF000, SEMIHOSTING_THUMB = 0x3C, NUMBER_THUMB = 0x3F };
    uint32_t half = pc & 2 ? word >> 16 : word & 0xFFFF, number = (word >> 4 & 0xFFF0) | (word & 0xF);
    bool arm = pc % 4 == 0 && (word & 0xFFF000F0) == 0xE1000070;
    *out = arm ? (struct breakpoint_code){.number = (uint16_t)number,
                                          .is_semihosting = number == SEMIHOSTING,
                                          .code = word,
                                          .size = 4}
               : (struct breakpoint_code){.number = half & NUMBER_THUMB,
                                          .is_semihosting = (half & NUMBER_THUMB) == SEMIHOSTING_THUMB,
                                          .code = half,
                                          .size = 2};
    out->name = "HLT";
    return arm || (half & ~(uint32_t)NUMBER_THUMB) == 0xBA80;
}

bool a64_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    enum { SEMIHOSTING = 0xF000 };
    return pc % 4 == 0 && instruction_find_breakpoint(ISA_A64, word, SEMIHOSTING, out);
}
