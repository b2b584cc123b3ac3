/* SPDX-License-Identifier: MIT */
/*
 * Where the frame of a call is at each instruction, by the instructions: from the function's entry on, and
 * back from its returns to what a table of jumps or the unwinder enters. Call frame information alone does
 * not show it: LLVM describes where a frame is made and not where it ends (llvm-project issue 63598), nor a
 * return before the frame is made; GCC does not describe the ends of Thumb-1 code.
 */
#include "base/values.h"
#include "symbols/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BASES_MOST_CODE = 1 << 16, BASES_REGISTERS = 32, BASE_UNKNOWN = INT_MIN };
/* Passes over a function: compilers' code needs as many as its loops nest. Instructions that are read for one
 * function and what it calls. */
enum { BASES_PASSES = 200, BASES_WORK = 1 << 22 };

/* What is known before an instruction: how far each register is below the stack pointer of the entry, and
 * the constants that registers have, which large frames are made by. */
struct base_state {
    int below[BASES_REGISTERS];
    struct named named;
};

struct base_place {
    struct code_instruction one;
    struct instruction does;
    bool is_met;      /* `state` is known as far as it can be */
    bool is_partly;   /* among conditional ones that move SP: the flags say where it is */
    bool goes_on;     /* to the one after it */
    bool is_back;     /* it is known by what follows */
    bool is_supposed; /* entered by a table of jumps or the unwinder, as it seems */
    bool is_filler;   /* nothing leads there, and from there only to constants or the function's end */
    bool conditional; /* also by an IT */
    struct base_state state;
};

/* A jump out of the function. */
struct base_way {
    uint64_t target;
    struct base_state state;
};

struct bases {
    struct symbols *symbols;
    struct extent function;
    struct base_place *places; /* by address */
    size_t n, room;
    struct base_way *ways;
    size_t n_ways, ways_room;
    unsigned sp;
    bool has_own_calls; /* of places in it, whose returns are not the function's */
    bool is_callee;     /* asked for only by what it does to SP */
    uint64_t whole;     /* the function's entry, also of a part */
    bool found_more, failed;
    struct base_state body; /* at its calls and jumps by tables, as far as they agree */
    bool has_body;
};

/* ADD and SUB of a register to SP. DDI 0403 A7.7.4 and A7.7.177, DDI 0406 A8.8.10 and A8.8.226; DDI 0487
 * C6.2: of an extended register. */
static bool stack_by_register(const struct code_instruction *one, unsigned *with, bool *takes)
{
    uint32_t code = one->code, plain = code & 0xFFEFFFF0;
    *with = one->isa == ISA_A64 ? code >> 16 & 31 : one->size == 2 ? code >> 3 & 15 : code & 15;
    *takes = one->isa == ISA_A64 ? code >> 30 & 1 : one->isa == ISA_ARM ? code >> 22 & 1 : code >> 24 & 1;
    if (one->isa == ISA_A64)
        return (code & 0xBFE0FFFF) == 0x8B2063FF;
    if (one->isa == ISA_ARM)
        return (plain & 0x0FFFFFFF) == 0x008DD000 || (plain & 0x0FFFFFFF) == 0x004DD000;
    *takes = one->size == 4 && plain == 0xEBAD0D00;
    return one->size == 2 ? (code & 0xFF87) == 0x4485 : *takes || plain == 0xEB0D0D00;
}

/* The stack pointer after it, where a constant is added to SP by a register. */
static int stack_by_constant(const struct base_place *place, const struct base_state *before, int sp)
{
    unsigned with;
    bool takes;
    if (sp == BASE_UNKNOWN || !stack_by_register(&place->one, &with, &takes) ||
        (before->named.known >> with & 1) == 0)
        return BASE_UNKNOWN;
    uint64_t value = before->named.value[with];
    int64_t by = place->one.isa == ISA_A64 ? (int64_t)value : (int32_t)value;
    return by > -INT_MAX && by < INT_MAX ? depth_less(sp, (int32_t)(takes ? -by : by)) : BASE_UNKNOWN;
}

/* IHI 0042 6.1.1, IHI 0055 6.1.1: what is the same after a call. */
static bool is_the_same_after_call(const struct bases *self, unsigned which)
{
    return self->symbols->machine == EM_AARCH64 ? which >= 19 && which <= A64_FP : which >= 4 && which <= 11;
}

/* The state after an instruction that is carried out. What may change to another stack is taken to stay on
 * this one: a stop shows the stack pointer. */
static void base_follow(const struct bases *self, const struct base_place *place, struct base_state *state)
{
    const struct instruction *does = &place->does;
    const struct base_state before = *state;
    int sp = before.below[self->sp];
    bool gives = does->gives == GIVES_SUM && does->with == NO_REGISTER && does->from < BASES_REGISTERS &&
                 does->to < BASES_REGISTERS && does->access == ACCESS_NONE &&
                 before.below[does->from] != BASE_UNKNOWN;
    for (unsigned i = 0; i < BASES_REGISTERS; i++)
        if ((does->writes >> i & 1) != 0 ||
            (instruction_calls(does) && i != self->sp && !is_the_same_after_call(self, i)))
            state->below[i] = BASE_UNKNOWN;
    uint64_t made;
    (void)named_follow(&state->named, self->symbols, &place->one, does, &made);
    for (unsigned i = 0; i < BASES_REGISTERS && instruction_calls(does); i++)
        if (!is_the_same_after_call(self, i))
            state->named.known &= ~(UINT32_C(1) << i);
    state->below[self->sp] = sp == BASE_UNKNOWN ? BASE_UNKNOWN : depth_after(&place->one, does, sp);
    if (state->below[self->sp] == BASE_UNKNOWN)
        state->below[self->sp] = stack_by_constant(place, &before, sp);
    if (gives)
        state->below[does->to] = depth_less(before.below[does->from], (int32_t)does->number);
}

/* --- what is kept ------------------------------------------------------------------------------------ */

struct base_row {
    uint64_t address;
    unsigned size;
    enum base_found found;
    struct frame_base base;
    struct frame_base pointer; /* an offset of BASE_UNKNOWN: it is not known */
};

/* Of the functions that were asked for last. */
enum { BASES_FUNCTIONS = 4096, BASES_CALLEES = 1024 };
struct bases_kept {
    size_t work; /* left of BASES_WORK */
    struct bases_of {
        uint64_t low, high;    /* high 0: none */
        struct base_row *rows; /* NULL: its code was not read */
        size_t n;
    } of[BASES_FUNCTIONS];
    struct bases_callee {
        uint64_t low; /* 0: none */
        bool asked, returns, looked, moves;
    } callees[BASES_CALLEES];
};

static size_t slot_of(uint64_t low, size_t slots)
{
    return (size_t)(((low >> 1) * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % slots;
}

static struct bases_callee *bases_callee(const struct symbols *symbols, uint64_t low)
{
    struct bases_callee *kept = &symbols->bases->callees[slot_of(low, BASES_CALLEES)];
    if (kept->low != low)
        *kept = (struct bases_callee){.low = low};
    return kept;
}

/* As may_return, which reads the callee. */
static bool bases_may_return(struct symbols *symbols, uint64_t callee)
{
    struct bases_callee *kept = bases_callee(symbols, callee);
    struct extent function = {0, 0};
    size_t *work = &symbols->bases->work, cost = 1;
    if (table_around(symbols, callee, &function) != NULL)
        cost = (size_t)(function.high - function.low) / 2;
    if (!kept->asked && *work < cost) {
        *work = 0;
        return true;
    }
    if (!kept->asked) {
        *work -= cost;
        kept->returns = may_return(symbols, callee);
    }
    kept->asked = true;
    return kept->returns;
}

/* --- the code ------------------------------------------------------------------------------------------- */

static bool bases_spend(const struct bases *self)
{
    size_t *work = &self->symbols->bases->work;
    bool can = *work >= self->n;
    *work -= can ? self->n : *work;
    return can;
}

static bool bases_read(struct bases *self)
{
    struct code_walk walk = {
        .symbols = self->symbols, .low = self->function.low, .high = self->function.high};
    struct code_instruction one;
    unsigned in_block = 0;
    while (code_next(&walk, &one)) {
        struct base_place *more = array_grow(self->places, self->n + 1, &self->room, sizeof *more);
        if (more == NULL)
            return false;
        self->places = more;
        struct instruction does = code_decode(&one);
        if (one.is_data)
            continue;
        self->has_own_calls =
            self->has_own_calls ||
            (does.kind == GOES_CALL && does.target > self->function.low && does.target < self->function.high);
        self->places[self->n++] =
            (struct base_place){.one = one,
                                .does = does,
                                .conditional = does.conditional || in_block > 0,
                                .goes_on = does.kind != GOES_CALL || does.conditional || in_block > 0 ||
                                           bases_may_return(self->symbols, does.target)};
        in_block = in_block > 0 ? in_block - 1 : does.kind == GOES_IT ? does.number : 0;
    }
    return true;
}

static struct base_place *place_at(const struct bases *self, uint64_t address)
{
    size_t n = sorted_until(self->places, self->n, sizeof *self->places, address);
    return n > 0 && self->places[n - 1].one.address == address ? &self->places[n - 1] : NULL;
}

static struct base_place *place_after(const struct bases *self, const struct base_place *place)
{
    return place_at(self, place->one.address + place->one.size);
}

/* --- forward -------------------------------------------------------------------------------------------- */

/* What differs is not known. False: nothing does. */
static bool base_meet(struct base_state *state, const struct base_state *other)
{
    bool differs = false;
    for (unsigned i = 0; i < BASES_REGISTERS; i++) {
        bool same = (other->named.known >> i & 1) != 0 && state->named.value[i] == other->named.value[i];
        bool loses = (state->named.known >> i & 1) != 0 && !same;
        if (loses)
            state->named.known &= ~(UINT32_C(1) << i);
        if (state->below[i] != other->below[i] && state->below[i] != BASE_UNKNOWN) {
            state->below[i] = BASE_UNKNOWN;
            loses = true;
        }
        differs = differs || loses;
    }
    return differs;
}

/* A way leads to the place with that state. What is supposed changes nothing that is known. */
static void base_note(struct bases *self, struct base_place *place, const struct base_state *state,
                      bool is_supposed)
{
    if (place == NULL || (is_supposed && place->is_met && !place->is_supposed))
        return;
    self->found_more = self->found_more || !place->is_met;
    if (!place->is_met) {
        place->state = *state;
        place->is_supposed = is_supposed;
    }
    place->is_met = true;
    if (base_meet(&place->state, state))
        self->found_more = true;
}

static bool goes_elsewhere(const struct instruction *does)
{
    return does->kind >= GOES_JUMP && does->kind <= GOES_BACK;
}

/* Conditional instructions in a row that move SP, up to one that leaves if they are carried out. */
struct base_run {
    bool moves;
    struct base_state before;
};

static void base_pass_place(struct bases *self, struct base_place *place, struct base_run *run)
{
    const struct instruction *does = &place->does;
    if (!place->conditional && run->moves) /* it has not left: SP is here or there */
        place->state.below[self->sp] = BASE_UNKNOWN;
    run->moves = run->moves && place->conditional;
    place->is_partly = run->moves;
    struct base_state before = place->state, after = before;
    base_follow(self, place, &after);
    for (unsigned i = 0; i < BASES_REGISTERS && place->conditional; i++)
        if (i != self->sp && after.below[i] != before.below[i]) /* it may not be carried out */
            after.below[i] = BASE_UNKNOWN;
    after.named.known &= place->conditional ? ~does->writes : UINT32_MAX;
    bool moves = place->conditional && after.below[self->sp] != before.below[self->sp];
    if (moves && !run->moves)
        *run = (struct base_run){.moves = true, .before = before};
    if (does->kind == GOES_JUMP)
        base_note(self, place_at(self, does->target), &after, place->is_supposed);
    bool leaves = goes_elsewhere(does), resumes = leaves && run->moves;
    if (place->goes_on && (!leaves || place->conditional))
        base_note(self, place_after(self, place),
                  resumes  ? &run->before
                  : leaves ? &before
                           : &after,
                  place->is_supposed);
    run->moves = run->moves && !leaves;
}

static bool bases_forward(struct bases *self, bool supposed)
{
    self->found_more = true;
    for (unsigned pass = 0; self->found_more && pass < BASES_PASSES && bases_spend(self); pass++) {
        struct base_run run = {.moves = false};
        self->found_more = false;
        for (size_t i = 0; i < self->n; i++)
            if (self->places[i].is_met && self->places[i].is_supposed == supposed)
                base_pass_place(self, &self->places[i], &run);
    }
    return !self->found_more;
}

/* --- back from what is known ---------------------------------------------------------------------------- */

static bool is_base_return(const struct bases *self, const struct instruction *does)
{
    return does->kind == GOES_BACK ||
           (does->kind == GOES_AWAY && does->access == ACCESS_LOAD && does->base == self->sp);
}

static bool call_moves(struct symbols *symbols, uint64_t callee);

/* To the entry of another function, which returns for this one: the stack is what it was at this one's.
 * LLVM's outlined ends return for it with what is left on the stack. */
static bool is_tail_call(const struct bases *self, const struct instruction *does)
{
    struct extent around = {0, 0};
    if (self->is_callee || does->kind != GOES_JUMP ||
        table_around(self->symbols, does->target, &around) == NULL || around.low != does->target)
        return false;
    symbols_whole(self->symbols, does->target, &around);
    return around.low == does->target && around.low != self->whole &&
           !call_moves(self->symbols, does->target);
}

static bool base_may_go_on(const struct base_place *place)
{
    return place->goes_on && (!goes_elsewhere(&place->does) || place->conditional);
}

/* The stack pointer and what the instruction does not write were before it as they are after it. */
static void base_go_back(struct bases *self, struct base_place *place, const struct base_state *after)
{
    struct base_state zero = {.below = {0}};
    base_follow(self, place, &zero);
    int by = zero.below[self->sp];
    if (by == BASE_UNKNOWN || after->below[self->sp] == BASE_UNKNOWN || (place->conditional && by != 0))
        return;
    place->is_met = place->is_back = self->found_more = true;
    for (unsigned i = 0; i < BASES_REGISTERS; i++)
        place->state.below[i] =
            (place->does.writes >> i & 1) == 0 && zero.below[i] == 0 ? after->below[i] : BASE_UNKNOWN;
    place->state.below[self->sp] = depth_less(after->below[self->sp], by);
    place->state.named.known = 0;
}

static void bases_back(struct bases *self)
{
    struct base_state at_return;
    at_return.named.known = 0;
    for (unsigned i = 0; i < BASES_REGISTERS; i++)
        at_return.below[i] = i == self->sp ? 0 : BASE_UNKNOWN;
    self->found_more = true;
    for (unsigned pass = 0; self->found_more && pass < BASES_PASSES && bases_spend(self); pass++) {
        self->found_more = false;
        for (size_t i = self->n; i-- > 0;) {
            struct base_place *place = &self->places[i];
            bool jumps = place->does.kind == GOES_JUMP;
            const struct base_place *next = base_may_go_on(place) ? place_after(self, place) : NULL,
                                    *to = jumps ? place_at(self, place->does.target) : NULL;
            if (!place->is_met && (is_base_return(self, &place->does) || is_tail_call(self, &place->does)))
                base_go_back(self, place, &at_return);
            if (!place->is_met && next != NULL && next->is_met)
                base_go_back(self, place, &next->state);
            if (!place->is_met && to != NULL && to->is_met)
                base_go_back(self, place, &to->state);
        }
    }
}

/* --- what only a table of jumps or the unwinder enters ---------------------------------------------------
 */

static bool is_table_jump(const struct bases *self, const struct base_place *place)
{
    return place->does.kind == GOES_TABLE ||
           (place->does.kind == GOES_AWAY && place->state.below[self->sp] > 0 &&
            !is_base_return(self, &place->does));
}

static void bases_find_body(struct bases *self)
{
    for (size_t i = 0; i < self->n; i++) {
        const struct base_place *place = &self->places[i];
        struct base_state after = place->state;
        if (!place->is_met || (!instruction_calls(&place->does) && !is_table_jump(self, place)))
            continue;
        base_follow(self, place, &after);
        if (self->has_body)
            (void)base_meet(&self->body, &after);
        else
            self->body = after;
        self->has_body = true;
    }
}

/* What is not entered from the instruction before it is taken to be entered from the body. */
static void bases_suppose(struct bases *self)
{
    bases_find_body(self);
    if (!self->has_body || self->body.below[self->sp] == BASE_UNKNOWN)
        return;
    for (size_t i = 0; i < self->n; i++) {
        const struct base_place *before = i > 0 ? &self->places[i - 1] : NULL;
        bool follows = before != NULL && base_may_go_on(before) &&
                       before->one.address + before->one.size == self->places[i].one.address;
        if (!self->places[i].is_met && !follows)
            base_note(self, &self->places[i], &self->body, true);
    }
    bool agrees = bases_forward(self, true);
    for (size_t i = 0; i < self->n && !agrees; i++)
        self->places[i].is_met = self->places[i].is_met && !self->places[i].is_supposed;
}

static bool is_other_base(const struct bases *self, const struct base_place *to, int sp)
{
    int there = to != NULL && to->is_met ? to->state.below[self->sp] : BASE_UNKNOWN;
    return there != BASE_UNKNOWN && sp != BASE_UNKNOWN && there != sp;
}

/* Ways that contradict each other; ends with another stack pointer, other than jumps by a table; and where
 * the code goes elsewhere. */
static bool bases_check(struct bases *self)
{
    for (size_t i = 0; i < self->n; i++) {
        struct base_place *place = &self->places[i];
        struct base_state after = place->state;
        if (!place->is_met)
            continue;
        base_follow(self, place, &after);
        int sp = after.below[self->sp];
        const struct base_place *to =
            place->does.kind == GOES_JUMP ? place_at(self, place->does.target) : NULL;
        const struct base_place *next = base_may_go_on(place) ? place_after(self, place) : NULL;
        if ((place->is_back || place->is_supposed) &&
            (is_other_base(self, next, sp) || is_other_base(self, to, sp)))
            place->state.below[self->sp] = BASE_UNKNOWN;
        bool moved = is_base_return(self, &place->does) ? sp != 0 : place->does.kind == GOES_AWAY && sp < 0;
        if (place->is_supposed && moved)
            place->state.below[self->sp] = BASE_UNKNOWN;
        else
            self->failed = self->failed || (moved && sp != BASE_UNKNOWN);
        if (place->does.kind != GOES_JUMP || to != NULL)
            continue;
        struct base_way *more = array_grow(self->ways, self->n_ways + 1, &self->ways_room, sizeof *more);
        if (more == NULL)
            return false;
        self->ways = more;
        self->ways[self->n_ways++] = (struct base_way){place->does.target, after};
    }
    return true;
}

/* --- a function ----------------------------------------------------------------------------------------- */

static void bases_drop(struct bases *self)
{
    free(self->places);
    free(self->ways);
    *self = (struct bases){.n = 0};
}

/* `whole`: what leads to this part of a function; NULL: it is entered at its first instruction. False: its
 * ends contradict what was found, or there is no memory. */
static bool bases_alone(struct bases *self, struct symbols *symbols, const struct extent *function,
                        const struct bases *whole)
{
    *self = (struct bases){.symbols = symbols,
                           .function = *function,
                           .sp = symbols->machine == EM_AARCH64 ? A64_SP : ARM_SP,
                           .is_callee = self->is_callee,
                           .whole = whole != NULL ? whole->function.low : function->low};
    if (function->high - function->low > BASES_MOST_CODE || !symbols->has_code || !bases_read(self))
        return false;
    struct base_state entry = {.named = {.known = 0}};
    for (unsigned i = 0; i < BASES_REGISTERS; i++)
        entry.below[i] = i == self->sp ? 0 : BASE_UNKNOWN;
    if (whole == NULL)
        base_note(self, place_at(self, function->low), &entry, false);
    for (size_t i = 0; whole != NULL && i < whole->n_ways; i++)
        base_note(self, place_at(self, whole->ways[i].target), &whole->ways[i].state, false);
    self->failed = !bases_forward(self, false);
    if (!self->has_own_calls && !self->failed)
        bases_back(self);
    if (whole != NULL) {
        self->body = whole->body;
        self->has_body = whole->has_body;
    }
    if (!self->has_own_calls && !self->failed && !self->is_callee)
        bases_suppose(self);
    return bases_check(self) && !self->failed;
}

/* Whether the callee returns with another stack pointer than it was called with, or may. */
static bool call_moves(struct symbols *symbols, uint64_t callee)
{
    struct extent function = {0, 0};
    struct bases self = {.is_callee = true};
    if (bases_callee(symbols, callee)->looked)
        return bases_callee(symbols, callee)->moves;
    bool moves = table_around(symbols, callee, &function) != NULL && function.low == callee &&
                 !bases_alone(&self, symbols, &function, NULL) && self.failed;
    bases_drop(&self);
    struct bases_callee *kept = bases_callee(symbols, callee);
    kept->looked = symbols->bases->work > 0;
    kept->moves = moves;
    return moves;
}

static bool bases_whole(struct bases *self, struct symbols *symbols, const struct extent *function,
                        const struct bases *whole)
{
    bool found = bases_alone(self, symbols, function, whole);
    for (size_t i = 0; i < self->n && found; i++) {
        const struct instruction *does = &self->places[i].does;
        found = does->kind != GOES_CALL || !call_moves(symbols, does->target);
    }
    return found && symbols->bases->work > 0;
}

/* The frame's end at the place, by SP or else by the frame pointer: what another register holds on a way that
 * is not followed, as by a table of jumps, is not known. */
static enum base_found base_of(const struct bases *self, const struct base_place *place, struct base_row *out)
{
    enum instruction_set isa = place->one.isa;
    unsigned pointer = isa == ISA_A64 ? A64_FP : isa == ISA_THUMB ? 7 : 11;
    const int *below = place->state.below;
    out->pointer = (struct frame_base){.number = pointer, .offset = below[pointer]};
    out->base = out->pointer;
    if (below[self->sp] != BASE_UNKNOWN)
        out->base = (struct frame_base){.number = self->sp, .is_sp = true, .offset = below[self->sp]};
    if (!place->is_met || place->is_partly || out->base.offset == BASE_UNKNOWN)
        return place->is_filler ? BASE_UNREAD : BASE_NOT_FOUND;
    return place->is_supposed ? BASE_SUPPOSED : BASE_FOUND;
}

/* --- what was found ------------------------------------------------------------------------------------- */

void bases_close(struct symbols *symbols)
{
    for (size_t i = 0; symbols->bases != NULL && i < sizeof symbols->bases->of / sizeof *symbols->bases->of;
         i++)
        free(symbols->bases->of[i].rows);
    free(symbols->bases);
    symbols->bases = NULL;
}

static void find_filler(struct bases *self)
{
    for (size_t i = self->n; i-- > 0;) {
        struct base_place *place = &self->places[i];
        const struct base_place *next = place_after(self, place);
        place->is_filler =
            !place->is_met && place->does.kind <= GOES_UNSURE && (next == NULL || next->is_filler);
    }
}

static void bases_fill(struct bases_of *of, struct symbols *symbols, const struct extent *part)
{
    struct extent around = *part;
    struct bases whole = {.n = 0}, self = {.n = 0};
    symbols->bases->work = BASES_WORK;
    symbols_whole(symbols, part->low, &around);
    bool is_part = around.low != part->low;
    bool known = (!is_part || bases_whole(&whole, symbols, &around, NULL)) &&
                 bases_whole(&self, symbols, part, is_part ? &whole : NULL);
    free(of->rows);
    *of = (struct bases_of){part->low, part->high, self.n > 0 ? calloc(self.n, sizeof *of->rows) : NULL, 0};
    find_filler(&self);
    for (size_t i = 0; of->rows != NULL && i < self.n; i++) {
        const struct base_place *place = &self.places[i];
        struct base_row *row = &of->rows[of->n++];
        *row = (struct base_row){.address = place->one.address, .size = place->one.size};
        row->found = base_of(&self, place, row);
        if (!known && row->found != BASE_UNREAD)
            row->found = place->is_filler ? BASE_UNREAD : BASE_NOT_FOUND;
    }
    bases_drop(&whole);
    bases_drop(&self);
}

/* NULL: *why. */
static const struct base_row *base_row_at(struct symbols *symbols, uint64_t address, enum base_found *why)
{
    struct extent function = {0, 0};
    const struct symbol *symbol = table_around(symbols, address, &function);
    *why = BASE_UNREAD;
    if (symbol == NULL || !symbol_is_function(symbol))
        return NULL;
    *why = BASE_NOT_FOUND;
    if (symbols->bases == NULL)
        symbols->bases = calloc(1, sizeof *symbols->bases);
    if (symbols->bases == NULL)
        return NULL;
    struct bases_of *of = &symbols->bases->of[slot_of(function.low, BASES_FUNCTIONS)];
    if (of->low != function.low || of->high != function.high)
        bases_fill(of, symbols, &function);
    if (of->rows == NULL)
        return NULL;
    size_t n = sorted_until(of->rows, of->n, sizeof *of->rows, address);
    const struct base_row *row = n > 0 ? &of->rows[n - 1] : NULL;
    *why = BASE_UNREAD;
    return row != NULL && address < row->address + row->size ? row : NULL;
}

enum base_found bases_at(struct symbols *symbols, uint64_t address, struct frame_base *out)
{
    enum base_found why;
    const struct base_row *row = base_row_at(symbols, address, &why);
    if (row == NULL)
        return why;
    *out = row->base;
    return row->found;
}

bool bases_confirm(struct symbols *symbols, uint64_t address, const struct frame_base *rule)
{
    enum base_found why;
    const struct base_row *row = base_row_at(symbols, address, &why);
    return row != NULL && row->found <= BASE_SUPPOSED &&
           ((rule->number == row->base.number && rule->offset == row->base.offset) ||
            (rule->number == row->pointer.number && rule->offset == row->pointer.offset));
}
