/*
 * Frames of Arm's 32-bit code, by the instructions: what ends a frame from here on, which compilers leave out
 * of their call frame information for Thumb-1; and what made the frame of a function without such
 * information.
 */
#include "symbols/internal.h"

#include <string.h>

enum { MOST_CODE = 1 << 12, LARGEST = 1 << 16, LONGEST_ENDING = 48 };

/* PUSH and POP, also those of one or two registers; FRAME_OTHER: it is neither. */
static int list_kind(const struct instruction *one)
{
    int32_t all = 4 * __builtin_popcount(one->list);
    if (one->base != ARM_SP || all == 0 || one->bytes != (uint32_t)all)
        return FRAME_OTHER;
    if (one->access == ACCESS_STORE && one->moves == -all && one->offset == -all)
        return FRAME_PUSH;
    return one->access == ACCESS_LOAD && one->moves == all && one->offset == 0 ? FRAME_POP : FRAME_OTHER;
}

static int other_kind(const struct instruction *one)
{
    bool by_register = one->kind == GOES_AWAY || one->kind == GOES_BACK;
    if (instruction_leaves(one))
        return by_register && one->by != NO_REGISTER ? FRAME_RETURN : FRAME_JUMP;
    if (one->kind >= GOES_JUMP)
        return FRAME_BRANCH;
    if (one->gives == GIVES_SUM)
        return FRAME_ADD;
    return (one->writes >> ARM_SP & 1) != 0 ? FRAME_LOST : FRAME_OTHER;
}

/* An op that is not always carried out cannot be relied on. */
struct frame_op frame_op_of(enum instruction_set isa, uint32_t code)
{
    struct instruction one = instruction_of(isa == ISA_A64 ? ISA_OTHER : isa, code, 0);
    struct frame_op op = {.kind = list_kind(&one)};
    if (one.conditional) {
        bool has_op = op.kind != FRAME_OTHER || one.gives == GIVES_SUM || (one.writes >> ARM_SP & 1) != 0;
        op.kind = one.kind >= GOES_JUMP ? FRAME_BRANCH : has_op ? FRAME_LOST : FRAME_OTHER;
        return op;
    }
    if (op.kind == FRAME_OTHER)
        op.kind = other_kind(&one);
    if (op.kind == FRAME_PUSH || op.kind == FRAME_POP)
        op.list = one.list;
    if (op.kind == FRAME_ADD)
        op = (struct frame_op){
            .kind = FRAME_ADD, .to = one.to, .from = one.from, .number = (int32_t)one.number};
    if (op.kind == FRAME_RETURN)
        op.from = one.by;
    return op;
}

/* --- ends ---------------------------------------------------------------------------------------------- */

static bool returns(const struct frame_op *op)
{
    return op->kind == FRAME_RETURN || (op->kind == FRAME_POP && (op->list >> ARM_PC & 1) != 0);
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
    if (op->to != ARM_SP)
        return true;
    if (op->from != ARM_SP || op->number <= -LARGEST || op->number >= LARGEST)
        return false;
    if (op->number > 0)
        return drop(layout, (uint32_t)op->number);
    layout->size += (uint32_t)-op->number;
    return layout->size < LARGEST;
}

/* Code after a return is reached from the body, whose frame it has. */
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
        struct frame_op op = frame_op_of(one.is_data ? ISA_OTHER : one.isa, one.code);
        if (!follow(&self, &op))
            return false;
    }
    *out = self.now;
    return true;
}
