/* SPDX-License-Identifier: MIT */
#include "symbols/unwind.h"

#include "base/arm_debug.h"
#include "symbols/internal.h"

#include <stdlib.h>
#include <string.h>

enum { ROOTS = 16 };

/* A function that a stack ended with. */
struct root {
    uint64_t address;
    bool is_called;
};

struct unwind {
    struct symbols *symbols;
    struct frame_rules *rules;
    struct extent start; /* the function that the program begins with */
    bool wide;           /* AArch64 */
    unsigned sp, lr, pc; /* where these are in the values */
    struct root roots[ROOTS];
    size_t n_roots;
};

struct walk {
    struct unwind *unwind;
    struct unwind_core core; /* of the frame that was added last */
    unwind_memory *memory;
    void *context;
    struct unwind_stack *out;
    bool in_thread; /* no exception was taken below it */
    bool is_unread; /* memory was needed and is not there */
    uint64_t unread;
};

/* Where a frame's caller is. */
struct caller {
    uint64_t value[UNWIND_VALUES];
    uint64_t known;
    uint64_t back; /* the return address, as the core would take it */
    bool is_guess;
};

struct unwind *unwind_open(struct symbols *symbols)
{
    struct unwind *unwind = calloc(1, sizeof *unwind);
    if (unwind == NULL)
        return NULL;
    unwind->symbols = symbols;
    unwind->wide = symbols->machine == EM_AARCH64;
    unwind->sp = unwind->wide ? UNWIND_A64_SP : UNWIND_ARM_SP;
    unwind->lr = unwind->wide ? UNWIND_A64_LR : UNWIND_ARM_LR;
    unwind->pc = unwind->wide ? UNWIND_A64_PC : UNWIND_ARM_PC;
    unwind->rules = frame_rules_open(symbols);
    uint64_t entry = unwind->wide ? symbols->entry : symbols->entry & ~UINT64_C(1);
    if (unwind->rules == NULL) {
        free(unwind);
        return NULL;
    }
    if (!symbols_is_code(symbols, entry) || table_around(symbols, entry, &unwind->start) == NULL)
        unwind->start = (struct extent){0, 0};
    return unwind;
}

void unwind_close(struct unwind *unwind)
{
    if (unwind == NULL)
        return;
    frame_rules_close(unwind->rules);
    free(unwind);
}

uint64_t unwind_place(const struct unwind_frame *frame)
{
    return frame->is_exact || frame->pc == 0 ? frame->pc : frame->pc - 1;
}

const char *unwind_end_text(enum unwind_end end)
{
    static const char *const texts[] = {
        [UNWIND_OUTERMOST] = "the outermost function",
        [UNWIND_NO_RULES] = "code without call frame information",
        [UNWIND_NO_VALUE] = "a register that was not read",
        [UNWIND_NO_MEMORY] = "memory that was not read",
        [UNWIND_NO_CALL] = "a return address that no call is before",
        [UNWIND_NO_RISE] = "a caller's frame not above its callee's",
        [UNWIND_SECURITY] = "the other security state",
        [UNWIND_TOO_DEEP] = "more frames than are kept",
    };
    return texts[end];
}

/* --- values and memory --------------------------------------------------------------------------------- */

static bool knows(uint64_t known, unsigned number)
{
    return (known >> number & 1) != 0;
}

static bool unwind_read_word(void *context, uint64_t address, uint64_t *out)
{
    struct walk *walk = context;
    size_t size = walk->unwind->wide ? 8 : 4;
    uint8_t bytes[8] = {0};
    if (address > UINT64_MAX - size || !walk->memory(walk->context, address, bytes, size)) {
        walk->unread = address;
        walk->is_unread = true;
        return false;
    }
    struct cursor cursor = {bytes, bytes + size, walk->unwind->symbols->big_endian, false};
    *out = cursor_unsigned(&cursor, size);
    return true;
}

static bool unwind_add_frame(struct walk *walk, struct unwind_frame frame)
{
    if (walk->out->count == UNWIND_FRAMES)
        return false;
    walk->out->at[walk->out->count++] = frame;
    return true;
}

static bool is_within(const struct extent *extent, uint64_t address)
{
    return address >= extent->low && address < extent->high;
}

/* --- a caller by the instructions ----------------------------------------------------------------------- */

/* DDI 0403 B1.4.2: the state of an IT block; in one, the next instruction may have no effect. */
static bool is_conditional(const struct unwind_core *core)
{
    return (core->status & 0x0600FC00) != 0;
}

static bool pop_list(struct walk *walk, struct caller *caller, uint32_t list)
{
    uint64_t sp = caller->value[UNWIND_ARM_SP];
    for (unsigned number = 0; number <= UNWIND_ARM_PC; number++) {
        uint64_t word = 0;
        if (!knows(list, number))
            continue;
        if (!unwind_read_word(walk, sp, &word))
            return false;
        sp += 4;
        caller->value[number] = word;
        caller->known |= UINT64_C(1) << number;
    }
    if (!knows(list, UNWIND_ARM_SP))
        caller->value[UNWIND_ARM_SP] = sp;
    return true;
}

static bool carry_out(struct walk *walk, struct caller *caller, const struct frame_op *op)
{
    if (op->kind == FRAME_POP)
        return pop_list(walk, caller, op->list);
    if (op->kind != FRAME_ADD)
        return true;
    uint64_t bit = UINT64_C(1) << op->to;
    bool known = knows(caller->known, op->from);
    caller->value[op->to] = (caller->value[op->from] + (uint64_t)(int64_t)op->number) & UINT32_MAX;
    caller->known = known ? caller->known | bit : caller->known & ~bit;
    return known || op->to != UNWIND_ARM_SP;
}

/* The core is at the end of a function: carries out the rest of it. UNWIND_NO_RULES: it is not. */
static enum unwind_end find_by_ending(struct walk *walk, struct caller *caller)
{
    enum { ROOM = 12 };
    struct frame_op ops[ROOM];
    const struct unwind_core *core = &walk->core;
    if (walk->unwind->wide || is_conditional(core))
        return UNWIND_NO_RULES;
    size_t n = frame_ending(walk->unwind->symbols, core->value[UNWIND_ARM_PC], ops, ROOM);
    memcpy(caller->value, core->value, sizeof caller->value);
    caller->known = core->known & ~(UINT64_C(1) << UNWIND_ARM_PC);
    for (size_t i = 0; i < n; i++)
        if (!carry_out(walk, caller, &ops[i]))
            return walk->is_unread ? UNWIND_NO_MEMORY : UNWIND_NO_VALUE;
    if (n == 0)
        return UNWIND_NO_RULES;
    unsigned from = ops[n - 1].kind == FRAME_RETURN ? ops[n - 1].from : UNWIND_ARM_PC;
    caller->back = caller->value[from];
    return knows(caller->known, from) ? UNWIND_OUTERMOST : UNWIND_NO_VALUE;
}

/* The layout is below the caller's stack pointer, which it gives. */
static bool restore(struct walk *walk, const struct frame_layout *layout, struct caller *caller)
{
    uint64_t sp = (walk->core.value[UNWIND_ARM_SP] + layout->size) & UINT32_MAX;
    for (unsigned number = 4; number <= UNWIND_ARM_LR; number++) {
        if (!knows(layout->saved, number) || number == UNWIND_ARM_SP)
            continue;
        if (!unwind_read_word(walk, sp - layout->at[number], &caller->value[number]))
            return false;
        caller->known |= UINT64_C(1) << number;
    }
    caller->value[UNWIND_ARM_SP] = sp;
    return true;
}

/* Code without call frame information. A leaf of AArch64 is taken to have no frame. */
static enum unwind_end find_by_beginning(struct walk *walk, const struct unwind_frame *frame,
                                         struct caller *caller)
{
    const struct unwind *unwind = walk->unwind;
    struct frame_layout layout = {.size = 0};
    if (!unwind->wide && !frame_layout_of(unwind->symbols, frame->pc, &layout))
        return UNWIND_NO_RULES;
    if (!frame->is_exact && !knows(layout.saved, UNWIND_ARM_LR))
        return UNWIND_NO_RULES;
    memcpy(caller->value, walk->core.value, sizeof caller->value);
    caller->known = walk->core.known;
    caller->is_guess = true;
    if (!unwind->wide && !restore(walk, &layout, caller))
        return UNWIND_NO_MEMORY;
    caller->back = caller->value[unwind->lr];
    return knows(caller->known, unwind->lr) ? UNWIND_OUTERMOST : UNWIND_NO_VALUE;
}

/* --- a caller by any way ------------------------------------------------------------------------------- */

/* Where the frame of the code that the core is in ends, by its instructions. *confirms: that only confirms
 * the rules, as where the frame pointer shows it. */
static enum base_found find_frame_base(const struct walk *walk, const struct unwind_frame *frame,
                                       struct frame_state *state, bool *confirms)
{
    struct frame_base base = {.number = 0};
    uint64_t all = walk->unwind->wide ? UINT64_MAX : UINT32_MAX;
    *confirms = false;
    if (!frame->is_exact || (!walk->unwind->wide && is_conditional(&walk->core)))
        return BASE_UNREAD;
    enum base_found found = bases_at(walk->unwind->symbols, frame->pc, &base);
    bool known = found <= BASE_SUPPOSED && knows(walk->core.known, base.number);
    state->knows_base = known && base.is_sp && found == BASE_FOUND;
    state->base = (walk->core.value[base.number] + (uint64_t)base.offset) & all;
    *confirms = known && !state->knows_base;
    return found == BASE_SUPPOSED && !known ? BASE_NOT_FOUND : found;
}

/* UNWIND_OUTERMOST with a `back` of 0: there is no caller. */
static enum unwind_end find_by_rules(struct walk *walk, const struct unwind_frame *frame,
                                     struct caller *caller)
{
    struct frame_state state = {walk->core.value, walk->core.known, unwind_read_word, walk, false, 0};
    bool confirms;
    caller->is_guess = find_frame_base(walk, frame, &state, &confirms) == BASE_NOT_FOUND;
    switch (frame_rules_apply(walk->unwind->rules, unwind_place(frame), &state, caller->value, &caller->known,
                              &caller->back)) {
    case FRAME_FOUND:
        caller->is_guess = caller->is_guess || (confirms && caller->value[walk->unwind->sp] != state.base);
        return UNWIND_OUTERMOST;
    case FRAME_OUTERMOST:
        caller->back = 0;
        return UNWIND_OUTERMOST;
    case FRAME_NO_VALUE:
        return walk->is_unread ? UNWIND_NO_MEMORY : UNWIND_NO_VALUE;
    default:
        return UNWIND_NO_RULES;
    }
}

/* DDI 0487 D8.10: a signed return address has its signature in the bits above those of virtual addresses, at
 * most 52 and at least 25, which are all as bit 55. How many they are the code around it shows. */
static uint64_t without_signature(const struct walk *walk, uint64_t back)
{
    enum { MOST = 55, LEAST_OF_NONE = 39, LEAST = 25 };
    uint64_t high = (back >> MOST & 1) != 0 ? UINT64_MAX : 0;
    if (!walk->unwind->wide || symbols_is_code(walk->unwind->symbols, back - 4))
        return back;
    for (unsigned bits = MOST; bits >= LEAST; bits--) {
        uint64_t plain = (back & ((UINT64_C(1) << bits) - 1)) | high << bits;
        if (symbols_is_code(walk->unwind->symbols, plain - 4) || (plain == 0 && bits >= LEAST_OF_NONE))
            return plain;
    }
    return back;
}

static enum unwind_end unwind_find_caller(struct walk *walk, const struct unwind_frame *frame,
                                          struct caller *caller)
{
    walk->is_unread = false;
    enum unwind_end end = frame->is_exact ? find_by_ending(walk, caller) : UNWIND_NO_RULES;
    if (end != UNWIND_NO_RULES)
        return end;
    memset(caller, 0, sizeof *caller);
    end = find_by_rules(walk, frame, caller);
    end = end == UNWIND_NO_RULES ? find_by_beginning(walk, frame, caller) : end;
    caller->back = without_signature(walk, caller->back);
    return end;
}

/* The bounds of a step up: a leaf without a frame stays where it is, and a caller saved what its call
 * overwrote. */
static bool rises(const struct walk *walk, const struct unwind_frame *frame, const struct caller *caller)
{
    uint64_t before = walk->core.value[walk->unwind->sp], after = caller->value[walk->unwind->sp];
    return frame->is_exact ? after >= before : after > before;
}

/* --- exceptions of a Cortex-M --------------------------------------------------------------------------- */

enum {
    /* DDI 0553 B3.19: what lies below the frame of Secure code */
    SIGNATURE = 0xFEFA125A,
    CALLEE_FRAME = 0x28,
};

/* R4 to R11 of Secure code, which an exception hid from the other state. */
static enum unwind_end take_callees(struct walk *walk, uint64_t *sp)
{
    uint64_t word = 0;
    if (!unwind_read_word(walk, *sp, &word))
        return UNWIND_NO_MEMORY;
    if ((word & ~UINT64_C(1)) != SIGNATURE)
        return UNWIND_NO_CALL;
    uint64_t at = *sp + 8;
    for (unsigned number = 4; number <= 11; number++, at += 4) {
        if (!unwind_read_word(walk, at, &walk->core.value[number]))
            return UNWIND_NO_MEMORY;
        walk->core.known |= UINT64_C(1) << number;
    }
    *sp += CALLEE_FRAME;
    return UNWIND_OUTERMOST;
}

static enum unwind_end take_frame(struct walk *walk, uint64_t sp, uint32_t back, uint32_t words[8])
{
    static const uint8_t numbers[] = {0, 1, 2, 3, 12, UNWIND_ARM_LR, UNWIND_ARM_PC};
    uint64_t at = sp, fpccr = 0;
    if (walk->core.has_security && exception_has_fpccr(back) && !unwind_read_word(walk, FPCCR, &fpccr))
        return UNWIND_NO_MEMORY;
    for (unsigned i = 0; i < 8; i++, at += 4) {
        uint64_t word = 0;
        if (!unwind_read_word(walk, at, &word))
            return UNWIND_NO_MEMORY;
        words[i] = (uint32_t)word;
    }
    if ((words[STACKED_STATUS] & STACKED_THUMB) == 0 || (words[STACKED_PC] & 1) != 0 ||
        !symbols_is_code(walk->unwind->symbols, words[STACKED_PC]))
        return UNWIND_NO_CALL;
    struct unwind_core *core = &walk->core;
    for (unsigned i = 0; i < sizeof numbers; i++) {
        core->value[numbers[i]] = words[i];
        core->known |= UINT64_C(1) << numbers[i];
    }
    core->status = words[STACKED_STATUS];
    core->value[UNWIND_ARM_SP] = exception_frame_end(sp, back, core->status, (uint32_t)fpccr);
    return UNWIND_OUTERMOST;
}

/* The return from the handler, as the core would do it. */
static enum unwind_end leave_handler(struct walk *walk, uint32_t back)
{
    bool to_thread = (back & RETURN_TO_THREAD) != 0, to_psp = (back & RETURN_TO_PSP) != 0;
    uint64_t sp = to_psp ? walk->core.psp : walk->core.value[UNWIND_ARM_SP];
    uint32_t words[8];
    if (exception_crosses(back))
        return UNWIND_SECURITY;
    if (walk->in_thread || (to_psp && !to_thread))
        return UNWIND_NO_CALL;
    if (to_psp && !walk->core.knows_psp)
        return UNWIND_NO_VALUE;
    if ((back & RETURN_KEEPS_CALLEES) == 0) {
        enum unwind_end end = take_callees(walk, &sp);
        if (end != UNWIND_OUTERMOST)
            return end;
    }
    walk->in_thread = to_thread;
    return take_frame(walk, sp, back, words);
}

/* --- step by step -------------------------------------------------------------------------------------- */

static bool is_exception_return(const struct walk *walk, uint64_t back)
{
    return walk->core.is_m && back >= EXC_RETURN && back <= UINT32_MAX - 1;
}

/* Whether other functions call the one around the address, so that no stack begins with it. */
static bool unwind_is_called(struct unwind *unwind, uint64_t address)
{
    struct extent function = {0, 0};
    if (table_around(unwind->symbols, address, &function) == NULL)
        return false;
    for (size_t i = 0; i < unwind->n_roots && i < ROOTS; i++)
        if (unwind->roots[i].address == function.low)
            return unwind->roots[i].is_called;
    struct root root = {function.low, call_is_made(unwind->symbols, function.low)};
    unwind->roots[unwind->n_roots++ % ROOTS] = root;
    return root.is_called;
}

/* Where a caller that the rules give is none: what a thread begins with, and LR after a reset. */
static bool is_no_address(const struct walk *walk, uint64_t back)
{
    return (back & ~UINT64_C(1)) == 0 || back == (walk->unwind->wide ? UINT64_MAX : UINT32_MAX);
}

/* DDI 0406 A2.3.2: bit 0 of a return address is the state that it returns to. */
static bool check_call(const struct walk *walk, const struct unwind_frame *frame, const struct caller *caller,
                       uint64_t *pc)
{
    struct symbols *symbols = walk->unwind->symbols;
    bool thumb = !walk->unwind->wide && (caller->back & 1) != 0;
    struct instruction call;
    *pc = thumb ? caller->back - 1 : caller->back;
    if (*pc < 4 || !symbols_is_code(symbols, *pc - 2) || (walk->core.is_m && !thumb))
        return false;
    enum instruction_set isa = table_isa(symbols, *pc - 2);
    if ((isa == ISA_THUMB) != thumb)
        return false;
    return call_before(symbols, *pc, isa, &call) && call_leads(symbols, &call, unwind_place(frame));
}

static enum unwind_end enter_interrupted(struct walk *walk, const struct unwind_frame *frame,
                                         const struct caller *caller)
{
    struct unwind_core *core = &walk->core;
    bool to_psp = (caller->back & RETURN_TO_PSP) != 0;
    memcpy(core->value, caller->value, sizeof core->value);
    core->known = caller->known;
    enum unwind_end end = leave_handler(walk, (uint32_t)caller->back);
    if (end != UNWIND_OUTERMOST)
        return end;
    /* The process stack's pointer is a register: nothing guessed leads there, but the callees' registers */
    bool is_guess = frame->is_guess || (caller->is_guess && !to_psp);
    struct unwind_frame next = {
        .pc = core->value[UNWIND_ARM_PC], .is_exact = true, .is_guess = is_guess, .has_taken = true};
    return unwind_add_frame(walk, next) ? UNWIND_OUTERMOST : UNWIND_TOO_DEEP;
}

static enum unwind_end enter_caller(struct walk *walk, const struct unwind_frame *frame,
                                    const struct caller *caller)
{
    struct unwind_core *core = &walk->core;
    uint64_t pc = 0;
    if (!check_call(walk, frame, caller, &pc))
        return UNWIND_NO_CALL;
    memcpy(core->value, caller->value, sizeof core->value);
    core->value[walk->unwind->pc] = pc;
    /* The call has overwritten it */
    core->known = caller->known & ~(UINT64_C(1) << walk->unwind->lr);
    core->status = 0;
    struct unwind_frame next = {.pc = pc, .is_guess = frame->is_guess || caller->is_guess};
    return unwind_add_frame(walk, next) ? UNWIND_OUTERMOST : UNWIND_TOO_DEEP;
}

/* Adds the next frame, or says why there is none. */
static enum unwind_end unwind_step(struct walk *walk, bool *is_done)
{
    struct unwind_frame frame = walk->out->at[walk->out->count - 1];
    struct caller caller = {.back = 0};
    *is_done = is_within(&walk->unwind->start, unwind_place(&frame));
    if (*is_done)
        return UNWIND_OUTERMOST;
    enum unwind_end end = unwind_find_caller(walk, &frame, &caller);
    if (end != UNWIND_OUTERMOST)
        return end;
    if (is_no_address(walk, caller.back)) {
        *is_done = !caller.is_guess && !unwind_is_called(walk->unwind, unwind_place(&frame));
        return *is_done ? UNWIND_OUTERMOST : UNWIND_NO_CALL;
    }
    if (walk->core.is_m && (caller.back | 1) == (FNC_RETURN | 1))
        return UNWIND_SECURITY;
    if (!rises(walk, &frame, &caller))
        return UNWIND_NO_RISE;
    return is_exception_return(walk, caller.back) ? enter_interrupted(walk, &frame, &caller)
                                                  : enter_caller(walk, &frame, &caller);
}

void unwind_find(struct unwind *unwind, const struct unwind_core *core, unwind_memory *memory, void *context,
                 struct unwind_stack *out)
{
    struct walk walk = {.unwind = unwind, .core = *core, .memory = memory, .context = context, .out = out};
    bool is_done = false;
    memset(out, 0, sizeof *out);
    if (!unwind->wide)
        walk.core.value[unwind->pc] &= ~UINT64_C(1);
    unwind_add_frame(&walk, (struct unwind_frame){.pc = walk.core.value[unwind->pc], .is_exact = true});
    if (!knows(core->known, unwind->sp))
        out->end = UNWIND_NO_VALUE;
    while (!is_done && out->end == UNWIND_OUTERMOST)
        out->end = unwind_step(&walk, &is_done);
    out->unread = out->end == UNWIND_NO_MEMORY ? walk.unread : 0;
}
