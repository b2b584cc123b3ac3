/*
 * Frames of Arm's 32-bit code, by the instructions: what ends a frame from here on, which compilers leave out
 * of their call frame information for Thumb-1; and what made the frame of a function that has no such
 * information.
 */
#include "symbols/internal.h"

#include <string.h>

enum { SP = 13, LR = 14, PC = 15, MOST_CODE = 1 << 12, LARGEST = 1 << 16, LONGEST_ENDING = 48 };

static struct frame_op list_of(int kind, uint32_t list)
{
    return (struct frame_op){.kind = kind, .list = list};
}

static struct frame_op add_of(unsigned to, unsigned from, int32_t number)
{
    return (struct frame_op){.kind = FRAME_ADD, .to = to, .from = from, .number = number};
}

static struct frame_op return_of(unsigned from)
{
    return (struct frame_op){.kind = FRAME_RETURN, .from = from};
}

static const struct frame_op branch = {.kind = FRAME_BRANCH}, jump = {.kind = FRAME_JUMP},
                             lost = {.kind = FRAME_LOST}, other = {.kind = FRAME_OTHER};

/* --- Thumb --------------------------------------------------------------------------------------------- */

/* DDI 0403 A7.7.77 (MOV), A7.7.4 (ADD), A7.7.20 (BX). */
static struct frame_op high_op(uint32_t code)
{
    unsigned to = (code & 7) | (code >> 4 & 8), from = code >> 3 & 0xF;
    if ((code & 0xFF00) == 0x4600)
        return to == PC ? jump : add_of(to, from, 0);
    if ((code & 0xFF80) == 0x4700)
        return return_of(from);
    if ((code & 0xFF00) == 0x4400 && to == SP)
        return lost;
    return (code & 0xFF00) == 0x4700 ? branch : other;
}

/* DDI 0403 A5.2. */
static struct frame_op narrow_op(uint32_t code)
{
    unsigned low = code >> 8 & 7;
    switch (code >> 9) {
    case 0x5A: /* PUSH */
        return list_of(FRAME_PUSH, (code & 0xFF) | (code >> 8 & 1) << LR);
    case 0x5E: /* POP */
        return list_of(FRAME_POP, (code & 0xFF) | (code >> 8 & 1) << PC);
    case 0x58: /* ADD and SUB of SP, some of CBZ */
        if ((code & 0xFF00) == 0xB000)
            return add_of(SP, SP,
                          (code & 0x80) != 0 ? -4 * (int32_t)(code & 0x7F) : 4 * (int32_t)(code & 0x7F));
        return branch;
    default:
        break;
    }
    if ((code & 0xFC00) == 0x4400)
        return high_op(code);
    if ((code & 0xF800) == 0x3000) /* ADDS of a number */
        return add_of(low, low, (int32_t)(code & 0xFF));
    if ((code & 0xF800) == 0xA800) /* ADD of SP and a number */
        return add_of(low, SP, 4 * (int32_t)(code & 0xFF));
    if ((code & 0xFFC0) == 0x0000 || (code & 0xFFC0) == 0x1C00) /* MOVS, ADDS of 0 */
        return add_of(code & 7, code >> 3 & 7, 0);
    if ((code & 0xF800) == 0xE000)
        return jump;
    return code >> 12 == 0xD || (code & 0xF500) == 0xB100 ? branch : other;
}

/* DDI 0403 A5.3: LDM, LDR, PUSH, POP; VPUSH and VPOP move the stack pointer only; ADD, SUB; B, BL. */
static struct frame_op wide_op(uint32_t code)
{
    uint32_t first = code >> 16, second = code & 0xFFFF;
    int32_t small = (int32_t)((first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | (second & 0xFF));
    if (first == 0xE92D || first == 0xE8BD)
        return list_of(first == 0xE92D ? FRAME_PUSH : FRAME_POP, second);
    if (first == 0xF84D && (second & 0xFFF) == 0xD04)
        return list_of(FRAME_PUSH, 1U << (second >> 12));
    if (first == 0xF85D && (second & 0xFFF) == 0xB04)
        return list_of(FRAME_POP, 1U << (second >> 12));
    if ((first == 0xE96D || first == 0xE8FD) && (second & 0xFF) == 2) /* STRD and LDRD of the stack */
        return list_of(first == 0xE96D ? FRAME_PUSH : FRAME_POP,
                       1U << (second >> 12) | 1U << (second >> 8 & 0xF));
    if ((first & 0xFFBF) == 0xED2D || (first & 0xFFBF) == 0xECBD)
        return add_of(SP, SP,
                      (first & 0x100) != 0 ? -4 * (int32_t)(second & 0xFF) : 4 * (int32_t)(second & 0xFF));
    if ((first & 0xFBFF) == 0xF20D && (second & 0x8F00) == 0x0D00)
        return add_of(SP, SP, small);
    if ((first & 0xFBFF) == 0xF2AD && (second & 0x8F00) == 0x0D00)
        return add_of(SP, SP, -small);
    if ((first & 0xF800) == 0xF000 && (second & 0xD000) == 0x9000)
        return jump;
    if ((first & 0xF800) == 0xF000 && (second & 0x8000) != 0)
        return branch;
    bool computes = (first & 0xFE00) == 0xEA00 || (first & 0xF800) == 0xF000;
    bool loads = (first & 0xFF70) == 0xF850 && (second >> 12) == SP;
    return loads || (computes && (second >> 8 & 0xF) == SP) ? lost : other;
}

/* --- ARM ----------------------------------------------------------------------------------------------- */

/* DDI 0406 A5.2.4: a number of 8 bits, rotated. */
static int32_t arm_number(uint32_t code)
{
    unsigned turn = 2 * (code >> 8 & 0xF);
    uint32_t number = code & 0xFF;
    return (int32_t)(turn == 0 ? number : number >> turn | number << (32 - turn));
}

static struct frame_op arm_moves(uint32_t code)
{
    unsigned to = code >> 12 & 0xF, from = code >> 16 & 0xF;
    if ((code & 0x0FEF0FF0) == 0x01A00000)
        return to == PC ? return_of(code & 0xF) : add_of(to, code & 0xF, 0);
    if ((code & 0x0FF00000) == 0x02800000 && to != PC)
        return add_of(to, from, arm_number(code));
    if ((code & 0x0FF00000) == 0x02400000 && to != PC)
        return add_of(to, from, -arm_number(code));
    bool compares = (code & 0x01900000) == 0x01000000;
    if ((code & 0x0C000000) == 0 && !compares && (to == SP || to == PC))
        return to == PC ? jump : lost;
    return other;
}

/* DDI 0406 A5.1: PUSH, POP (LDM, LDR), VPUSH, VPOP, BX, B, BL. */
static struct frame_op arm_op(uint32_t code)
{
    uint32_t rest = code & 0x0FFFFFFF, list = code & 0xFFFF;
    if ((rest & 0x0FFF0000) == 0x092D0000 || (rest & 0x0FFF0000) == 0x08BD0000)
        return list_of((rest & 0x00100000) == 0 ? FRAME_PUSH : FRAME_POP, list);
    if ((rest & 0x0FFF0FFF) == 0x052D0004 || (rest & 0x0FFF0FFF) == 0x049D0004)
        return list_of((rest & 0x00100000) == 0 ? FRAME_PUSH : FRAME_POP, 1U << (code >> 12 & 0xF));
    if ((rest & 0x0FFF0FFF) == 0x016D00F8 || (rest & 0x0FFF0FFF) == 0x00CD00D8) /* STRD, LDRD */
        return list_of((rest & 0x01000000) != 0 ? FRAME_PUSH : FRAME_POP, 3U << (code >> 12 & 0xF));
    if ((rest & 0x0FBF0E00) == 0x0D2D0A00 || (rest & 0x0FBF0E00) == 0x0CBD0A00)
        return add_of(SP, SP,
                      (rest & 0x01000000) != 0 ? -4 * (int32_t)(code & 0xFF) : 4 * (int32_t)(code & 0xFF));
    if ((rest & 0x0FFFFFF0) == 0x012FFF10)
        return return_of(code & 0xF);
    if ((rest & 0x0E000000) == 0x0A000000 || (rest & 0x0FFFFFF0) == 0x012FFF30)
        return (rest & 0x01000000) == 0 ? jump : branch;
    if ((rest & 0x0E108000) == 0x08108000 || (rest & 0x0C10F000) == 0x0410F000)
        return jump;
    return arm_moves(code);
}

/* What is not always carried out is no op that can be relied on. */
struct frame_op frame_op_of(enum instruction_set isa, uint32_t code)
{
    if (isa == ISA_THUMB)
        return code_is_wide(code >> 16) ? wide_op(code) : narrow_op(code);
    if (isa != ISA_ARM || code >> 28 == 0xF)
        return isa == ISA_ARM && code >> 25 == 0x7D ? branch : other;
    struct frame_op op = arm_op(code);
    bool always = code >> 28 == 0xE;
    if (always || op.kind == FRAME_OTHER)
        return op;
    bool goes = op.kind == FRAME_RETURN || op.kind == FRAME_JUMP || op.kind == FRAME_BRANCH ||
                (op.kind == FRAME_POP && (op.list >> PC & 1) != 0);
    return goes ? branch : lost;
}

/* --- ends ---------------------------------------------------------------------------------------------- */

static bool returns(const struct frame_op *op)
{
    return op->kind == FRAME_RETURN || (op->kind == FRAME_POP && (op->list >> PC & 1) != 0);
}

size_t frame_ending(struct symbols *symbols, uint64_t pc, struct frame_op *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .low = pc, .high = pc + LONGEST_ENDING};
    struct code_instruction one;
    size_t n = 0;
    while (n < room && code_next(&walk, &one) && !one.is_data && one.isa != ISA_A64) {
        struct frame_op *op = &out[n++];
        *op = frame_op_of(one.isa, one.code);
        if (returns(op))
            return n;
        if (op->kind != FRAME_POP && op->kind != FRAME_ADD)
            return 0;
    }
    return 0;
}

/* --- beginnings ---------------------------------------------------------------------------------------- */

struct layout_walk {
    struct frame_layout now, body; /* `body`: as the function's first branch found it */
    bool has_body;
};

static bool push_list(struct frame_layout *layout, uint32_t list)
{
    uint32_t at = layout->size + 4 * (uint32_t)__builtin_popcount(list);
    layout->size = at;
    for (unsigned number = 0; number < 16; number++) {
        if ((list >> number & 1) == 0)
            continue;
        bool is_first = (layout->saved >> number & 1) == 0;
        if (is_first)
            layout->at[number] = at;
        layout->saved |= 1U << number;
        at -= 4;
    }
    return layout->size < LARGEST;
}

/* What was saved above the stack pointer is there no more. */
static bool drop(struct frame_layout *layout, uint32_t bytes)
{
    if (bytes > layout->size)
        return false;
    layout->size -= bytes;
    for (unsigned number = 0; number < 16; number++)
        if ((layout->saved >> number & 1) != 0 && layout->at[number] > layout->size)
            layout->saved &= ~(1U << number);
    return true;
}

static bool adds_sp(struct frame_layout *layout, const struct frame_op *op)
{
    if (op->to != SP)
        return true;
    if (op->from != SP || op->number <= -LARGEST || op->number >= LARGEST)
        return false;
    if (op->number > 0)
        return drop(layout, (uint32_t)op->number);
    layout->size += (uint32_t)-op->number;
    return layout->size < LARGEST;
}

/* Code behind a return is reached from the body, whose frame it has. */
static bool follow(struct layout_walk *walk, const struct frame_op *op)
{
    bool goes = op->kind == FRAME_BRANCH || op->kind == FRAME_JUMP || returns(op);
    if (goes && !walk->has_body && !returns(op)) {
        walk->body = walk->now;
        walk->has_body = true;
    }
    if (returns(op) || op->kind == FRAME_JUMP) {
        walk->now = walk->body;
        return walk->has_body;
    }
    if (op->kind == FRAME_PUSH)
        return push_list(&walk->now, op->list);
    if (op->kind == FRAME_POP)
        return drop(&walk->now, 4 * (uint32_t)__builtin_popcount(op->list));
    return op->kind == FRAME_ADD ? adds_sp(&walk->now, op) : op->kind != FRAME_LOST;
}

bool frame_layout_of(struct symbols *symbols, uint64_t pc, struct frame_layout *out)
{
    struct extent function = {0, 0};
    struct layout_walk self = {.has_body = false};
    struct code_instruction one;
    const struct symbol *symbol = table_around(symbols, pc, &function);
    if (symbol == NULL || pc - function.low > MOST_CODE)
        return false;
    struct code_walk walk = {.symbols = symbols, .low = function.low, .high = pc};
    while (code_next(&walk, &one)) {
        struct frame_op op = one.is_data ? other : frame_op_of(one.isa, one.code);
        if (!follow(&self, &op))
            return false;
    }
    *out = self.now;
    return true;
}
