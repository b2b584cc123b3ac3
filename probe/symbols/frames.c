/* SPDX-License-Identifier: MIT */
/*
 * Frames. Call frame information as a caller's registers: libdw finds the row of rules for an address, and
 * gives each rule as a DWARF expression; here these are evaluated with the registers and memory of a stopped
 * core. And frames of Arm's 32-bit code, by the instructions: what ends a frame from here on, which compilers
 * leave out of their call frame information for Thumb-1; and what made the frame of a function without such
 * information.
 */
#include "symbols/internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 8, MOST_OPS = 32 };

struct frame_rules {
    struct symbols *symbols;
    Dwarf_CFI *debug;     /* .debug_frame, owned by libdw's Dwarf */
    Dwarf_CFI *in_memory; /* .eh_frame */
};

struct frame_rules *frame_rules_open(struct symbols *symbols)
{
    struct frame_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        return NULL;
    (void)lines_load(symbols); /* opens what libdw reads */
    rules->symbols = symbols;
    rules->debug = symbols->dwarf != NULL ? dwarf_getcfi(symbols->dwarf) : NULL;
    rules->in_memory = dwarf_getcfi_elf(symbols->elf);
    return rules;
}

void frame_rules_close(struct frame_rules *rules)
{
    if (rules == NULL)
        return;
    if (rules->in_memory != NULL)
        dwarf_cfi_end(rules->in_memory);
    free(rules);
}

/* --- expressions --------------------------------------------------------------------------------------- */

struct expression {
    const struct frame_state *state;
    uint64_t mask; /* of a word of the target */
    uint64_t cfa;
    uint64_t stack[DEEPEST];
    size_t depth;
    bool is_value, failed;
    bool is_unread; /* what failed was a register or memory */
    bool is_other;  /* the rules are those of another place, where the frame is larger or smaller */
};

static void push(struct expression *self, uint64_t value)
{
    if (self->depth == DEEPEST)
        self->failed = true;
    else
        self->stack[self->depth++] = value & self->mask;
}

static uint64_t pop(struct expression *self)
{
    if (self->depth > 0)
        return self->stack[--self->depth];
    self->failed = true;
    return 0;
}

static void push_register(struct expression *self, uint64_t number, uint64_t offset)
{
    bool known = number < 32 && (self->state->known >> number & 1) != 0;
    if (!known)
        self->failed = self->is_unread = true;
    push(self, known ? self->state->value[number] + offset : 0);
}

static void push_memory(struct expression *self, uint64_t address)
{
    uint64_t word = 0;
    if (!self->failed && !self->state->word(self->state->context, address, &word))
        self->failed = self->is_unread = true;
    push(self, word);
}

static void rules_add(struct expression *self, bool minus)
{
    uint64_t right = pop(self), left = pop(self);
    push(self, minus ? left - right : left + right);
}

/* A register as a place is its value here. */
static void evaluate_named(struct expression *self, const Dwarf_Op *op)
{
    bool is_place = op->atom == DW_OP_regx || (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31);
    if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
        push(self, op->atom - DW_OP_lit0);
    else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
        push_register(self, op->atom - DW_OP_breg0, op->number);
    else if (op->atom == DW_OP_bregx)
        push_register(self, op->number, op->number2);
    else if (is_place)
        push_register(self, op->atom == DW_OP_regx ? op->number : (uint64_t)(op->atom - DW_OP_reg0), 0);
    else
        self->failed = true;
    self->is_value |= is_place;
}

static void evaluate_op(struct expression *self, const Dwarf_Op *op)
{
    switch (op->atom) {
    case DW_OP_call_frame_cfa:
        push(self, self->cfa);
        break;
    case DW_OP_plus_uconst:
        push(self, pop(self) + op->number);
        break;
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_constu:
    case DW_OP_consts:
        push(self, op->number);
        break;
    case DW_OP_plus:
    case DW_OP_minus:
        rules_add(self, op->atom == DW_OP_minus);
        break;
    case DW_OP_deref:
        push_memory(self, pop(self));
        break;
    case DW_OP_stack_value:
        self->is_value = true;
        break;
    default:
        evaluate_named(self, op);
    }
}

/* The value that the expression gives, or that is at the place it gives. */
static enum frame_found frames_evaluate(struct expression *self, const Dwarf_Op *ops, size_t n, bool is_value,
                                        uint64_t *out)
{
    self->depth = 0;
    self->is_value = is_value;
    self->failed = n == 0 || n > MOST_OPS;
    self->is_unread = false;
    for (size_t i = 0; i < n && !self->failed; i++)
        evaluate_op(self, &ops[i]);
    if (!self->failed && !self->is_value)
        push_memory(self, pop(self));
    *out = pop(self);
    return !self->failed ? FRAME_FOUND : self->is_unread ? FRAME_NO_VALUE : FRAME_NO_RULES;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

/* IHI 0042 6.1.1 and IHI 0055 6.1.1: what a callee must keep, of which the rules need not speak. */
static bool is_kept(const struct symbols *symbols, unsigned number)
{
    return symbols->machine == EM_AARCH64 ? number >= 19 && number <= 30 : number >= 4 && number <= 11;
}

/* Rules of the body, past the end of the frame: what lies below the stack pointer is restored. */
static bool is_restored(struct expression *self, const struct symbols *symbols, const Dwarf_Op *ops, size_t n)
{
    unsigned sp = symbols->machine == EM_AARCH64 ? A64_SP : ARM_SP;
    uint64_t at = 0;
    return self->is_other && frames_evaluate(self, ops, n, true, &at) == FRAME_FOUND &&
           at < self->state->value[sp];
}

/* One register of the caller. FRAME_OUTERMOST: the rules call it undefined, which of the return address
 * always says that nothing called it: DWARF 5, 6.4.4. */
static enum frame_found find_register(struct expression *self, const struct symbols *symbols,
                                      Dwarf_Frame *frame, unsigned number, bool is_return, uint64_t *out)
{
    Dwarf_Op room[3], *ops = NULL;
    size_t n = 0;
    if (dwarf_frame_register(frame, (int)number, room, &ops, &n) != 0)
        return FRAME_NO_RULES;
    bool restored = n > 0 && is_restored(self, symbols, ops, n);
    if (n > 0 && !restored)
        return frames_evaluate(self, ops, n, false, out);
    bool is_same = restored || ops == NULL || (is_kept(symbols, number) && !is_return);
    if (!is_same)
        return FRAME_OUTERMOST;
    *out = self->state->value[number];
    return (self->state->known >> number & 1) != 0 ? FRAME_FOUND : FRAME_NO_VALUE;
}

static void find_kept(struct expression *self, const struct symbols *symbols, Dwarf_Frame *frame,
                      uint64_t *value, uint64_t *known)
{
    for (unsigned number = 0; number < A64_SP; number++)
        if (is_kept(symbols, number) &&
            find_register(self, symbols, frame, number, false, &value[number]) == FRAME_FOUND)
            *known |= UINT64_C(1) << number;
}

static enum frame_found apply_row(const struct symbols *symbols, Dwarf_Frame *frame,
                                  const struct frame_state *state, uint64_t *value, uint64_t *known,
                                  uint64_t *back)
{
    bool wide = symbols->machine == EM_AARCH64;
    unsigned sp = wide ? A64_SP : ARM_SP;
    struct expression self = {.state = state, .mask = wide ? UINT64_MAX : UINT32_MAX};
    Dwarf_Op *ops = NULL;
    size_t n = 0;
    int column = dwarf_frame_info(frame, NULL, NULL, NULL);
    *known = 0;
    if (dwarf_frame_cfa(frame, &ops, &n) != 0 || column < 0 || column >= (wide ? 32 : 16))
        return FRAME_NO_RULES;
    enum frame_found found = frames_evaluate(&self, ops, n, true, &self.cfa);
    self.is_other = state->knows_base && (found != FRAME_FOUND || self.cfa != state->base);
    if (self.is_other)
        self.cfa = state->base;
    else if (found != FRAME_FOUND)
        return found;
    value[sp] = self.cfa;
    found = find_register(&self, symbols, frame, (unsigned)column, true, back);
    if (found != FRAME_FOUND)
        return found;
    find_kept(&self, symbols, frame, value, known);
    *known |= UINT64_C(1) << sp;
    return FRAME_FOUND;
}

Dwarf_Frame *frame_row(const struct symbols *symbols, Dwarf_CFI *cfi, uint64_t place)
{
    Dwarf_Frame *frame = NULL;
    return cfi != NULL && dwarf_cfi_addrframe(cfi, elf_linked(symbols, place), &frame) == 0 ? frame : NULL;
}

enum frame_found frame_rules_apply(struct frame_rules *rules, uint64_t place, const struct frame_state *state,
                                   uint64_t *value, uint64_t *known, uint64_t *back)
{
    Dwarf_Frame *frame = frame_row(rules->symbols, rules->debug, place);
    if (frame == NULL)
        frame = frame_row(rules->symbols, rules->in_memory, place);
    if (frame == NULL)
        return FRAME_NO_RULES;
    enum frame_found found = apply_row(rules->symbols, frame, state, value, known, back);
    free(frame);
    return found;
}

/* --- by the instructions -------------------------------------------------------------------------------- */

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
static bool frames_drop(struct frame_layout *layout, uint32_t bytes)
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
        return frames_drop(layout, (uint32_t)op->number);
    layout->size += (uint32_t)-op->number;
    return layout->size < LARGEST;
}

/* Code after a return is reached from the body, whose frame it has. */
static bool frames_follow(struct layout_walk *walk, const struct frame_op *op)
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
        return frames_drop(&walk->now, 4 * (uint32_t)__builtin_popcount(op->list));
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
        if (!frames_follow(&self, &op))
            return false;
    }
    *out = self.now;
    return true;
}
