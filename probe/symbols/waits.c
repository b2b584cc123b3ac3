/* SPDX-License-Identifier: MIT */
/*
 * Where a Cortex-M's program waits for others: a loop with a way out that depends on a device's register, or
 * on memory that nothing in the loop changes. What the loop calls belongs to it; where that is not known, it
 * may change all memory, and only devices show a wait.
 *
 * A round of the loop is followed in the order of its code. Each value is a set of what it is made of: of
 * what registers and words were when the round began, and of what was read. What is made of itself from round
 * to round (a counter, a pointer that moves) is the loop's own; what is made of reads alone is waited for.
 */
#include "symbols/internal.h"

#include "base/values.h"

#include <stdlib.h>
#include <string.h>

/* SP at a function's entry: so places on the stack are known ones. */
#define STACK_AT    UINT32_C(0xF8000000)
#define STACK_BYTES UINT32_C(0x10000)

enum { FLAGS = 15, OF_WORD = 16, WAIT_WORDS = 12, WAIT_VALUES = OF_WORD + WAIT_WORDS };
#define OF_LOOP   (UINT32_C(1) << WAIT_VALUES) /* what is after it in the next round is not known */
#define OF_STACK  (OF_LOOP << 1)
#define OF_MEMORY (OF_LOOP << 2)
#define OF_DEVICE (OF_LOOP << 3)
#define OF_READS  (~(OF_LOOP - 1))

struct wait_step {
    struct code_instruction one;
    struct constants_known before;
    bool in_block; /* of an IT */
    bool ends;     /* a call that does not return */
    bool is_in;    /* the loop goes on from there */
};

struct wait_loop {
    struct symbols *symbols;
    struct wait_step *steps; /* of the function */
    size_t n, first, last;   /* the loop: from its first instruction to the jump back */
    struct constants_known entry;
    uint32_t of[WAIT_VALUES];   /* registers, the flags in place of the PC, and words that the loop stores */
    uint32_t was[WAIT_VALUES];  /* the round before: what each is made of in the end */
    uint32_t changed, changes;  /* in the round before; in this one */
    uint64_t words[WAIT_WORDS]; /* see wait_key */
    size_t n_words;
    bool anywhere[2]; /* it stores to places that are not known; 1: on the stack */
    int left;         /* instructions of callees that may be followed */
    bool by_device, by_memory, by_stack, by_itself; /* its ways out */
    struct symbols_wait devices[8], memory;
    size_t n_devices;
};

/* The loop's function, or one that it calls. */
struct wait_frame {
    struct extent function;
    struct constants constants;
    uint64_t at; /* of the call in the loop; 0: in the loop itself */
    unsigned depth;
    uint32_t outer, control; /* what decides whether the call is made, and the instructions up to `until` */
    bool is_sure;            /* it is made anyway */
    uint64_t until;
    unsigned block; /* instructions that are left of an IT's */
};

/* The registers that an instruction compares: CMP, CMN, TST, TEQ, CBZ; DDI 0403 A5.2 and A5.3.1, A5.3.11. */
static uint32_t compared(const struct code_instruction *one)
{
    uint32_t code = one->code;
    if (one->size == 4)
        return (code & 0xFA100F00) == 0xF0100F00   ? 1U << (code >> 16 & 0xF)
               : (code & 0xFE100F00) == 0xEA100F00 ? 1U << (code >> 16 & 0xF) | 1U << (code & 0xF)
                                                   : 0;
    if ((code & 0xF800) == 0x2800)
        return 1U << (code >> 8 & 7);
    if ((code & 0xFFC0) == 0x4280 || (code & 0xFFC0) == 0x4200 || (code & 0xFFC0) == 0x42C0)
        return 1U << (code & 7) | 1U << (code >> 3 & 7);
    if ((code & 0xFF00) == 0x4500)
        return 1U << ((code & 7) | (code >> 4 & 8)) | 1U << (code >> 3 & 0xF);
    return (code & 0xF500) == 0xB100 ? 1U << (code & 7) : 0;
}

/* Whether it sets the flags by its result, as those of two bytes do: DDI 0403 A5.2.1, A5.2.2, A5.3. */
static bool sets_flags(const struct code_instruction *one, const struct instruction *does)
{
    if (does->access != ACCESS_NONE || does->gives == GIVES_NONE)
        return false;
    return one->size == 2 ? one->code >> 12 < 4 || one->code >> 10 == 0x10
                          : (one->code & 0xF8100000) == 0xF0100000 || (one->code & 0xFE100000) == 0xEA100000;
}

/* --- values --------------------------------------------------------------------------------------------- */

static bool wait_is_weak(const struct wait_frame *frame, const struct code_instruction *one)
{
    return !frame->is_sure || frame->until > one->address || frame->block > 0;
}

static uint32_t wait_control_of(const struct wait_frame *frame, const struct code_instruction *one)
{
    return frame->outer | (frame->until > one->address || frame->block > 0 ? frame->control : 0);
}

/* Where that is not sure the value before may stay: this does not make it the loop's own. */
static void wait_give(struct wait_loop *loop, const struct wait_frame *frame,
                      const struct code_instruction *one, unsigned which, uint32_t of)
{
    enum { KEPT = 0x2FF0 }; /* by a callee */
    uint32_t bit = UINT32_C(1) << which;
    if (wait_is_weak(frame, one))
        of |= (loop->of[which] & ~bit) | wait_control_of(frame, one);
    loop->of[which] = which == ARM_SP ? 0 : of;
    loop->changes |= frame->depth == 0 || (bit & KEPT) == 0 ? bit : 0;
}

static uint32_t wait_of(const struct wait_loop *loop, uint32_t registers)
{
    uint32_t of = 0;
    for (uint32_t left = registers & 0x7FFF; left != 0; left &= left - 1)
        of |= loop->of[__builtin_ctz(left)];
    return of;
}

static uint32_t wait_bit(unsigned which)
{
    return which < ARM_PC ? UINT32_C(1) << which : 0;
}

/* --- memory --------------------------------------------------------------------------------------------- */

static bool wait_knows(uint64_t key)
{
    return key <= UINT32_MAX;
}

static bool wait_on_stack(uint64_t key)
{
    return wait_knows(key) && key + STACK_BYTES >= STACK_AT && key < STACK_AT + STACK_BYTES;
}

/* A place that is the same in each round: its address, or an offset to a register that stays. 0: it is not.
 */
static uint64_t wait_key(const struct wait_loop *loop, const struct wait_frame *frame,
                         const struct instruction *does)
{
    const struct constants_known *now = &frame->constants.now;
    bool stays = frame->depth == 0 && (loop->changed & wait_bit(does->base)) == 0;
    if (does->base >= ARM_PC)
        return 0;
    if (constants_know(now, does->base) && constants_know(now, does->index)) {
        uint32_t index = does->index == NO_REGISTER ? 0 : now->values[does->index] << does->shift;
        return (uint32_t)(now->values[does->base] + index + (uint32_t)does->offset);
    }
    return stays && does->index == NO_REGISTER
               ? (uint64_t)(does->base + 1) << 40 | (uint32_t)(does->offset + INT32_C(0x1000000))
               : 0;
}

/* One of them is where the loop stores. What the compiler has on the stack no pointer leads to. */
static bool wait_may_be(uint64_t word, uint64_t key)
{
    if (word >> 40 == key >> 40 && key != 0)
        return word >> 2 == key >> 2;
    return !wait_on_stack(word) && !wait_on_stack(key);
}

/* The Peripheral and Device regions, and a vendor's: DDI 0403 B3.1, DDI 0553 B8.1. */
static bool wait_is_device(uint64_t key)
{
    return (key >= 0x40000000 && key < 0x60000000) || (key >= 0xA0000000 && key < 0xE0000000) ||
           (key >= 0xE0100000 && wait_knows(key) && !wait_on_stack(key));
}

/* SysTick, the DWT and the PMU, which a halt stops. */
static bool wait_is_unchanged(uint64_t key)
{
    return (key >= 0xE000E010 && key < 0xE000E020) || (key >= 0xE0001000 && key < 0xE0004000);
}

static void wait_note_device(struct wait_loop *loop, uint64_t at, uint64_t word)
{
    enum { MOST = sizeof loop->devices / sizeof *loop->devices };
    for (size_t i = 0; i < loop->n_devices; i++)
        if (loop->devices[i].word == word)
            return;
    if (loop->n_devices == MOST) /* one that is none of those that a halt stops */
        loop->devices[MOST - 1].word = 0;
    else
        loop->devices[loop->n_devices++] = (struct symbols_wait){.at = at, .word = word};
}

static uint32_t wait_read(struct wait_loop *loop, bool on_stack, uint64_t key, uint64_t at)
{
    uint32_t of = on_stack ? OF_STACK : wait_knows(key) && wait_is_device(key) ? OF_DEVICE : OF_MEMORY;
    if (key != 0 && wait_is_unchanged(key))
        return 0;
    for (size_t i = 0; i < loop->n_words; i++) {
        if (!wait_may_be(loop->words[i], key))
            continue;
        of &= ~OF_STACK;
        of |= loop->of[OF_WORD + i] | (loop->words[i] >> 2 == key >> 2 ? 0 : OF_LOOP);
    }
    of |= loop->anywhere[on_stack] ? OF_LOOP : 0;
    if ((of & OF_DEVICE) != 0 && wait_knows(key) && wait_is_device(key))
        wait_note_device(loop, at, key);
    else if ((of & OF_MEMORY) != 0 && (of & OF_LOOP) == 0 && loop->memory.at == 0)
        loop->memory = (struct symbols_wait){.at = at, .word = wait_knows(key) ? key : 0};
    return of;
}

static void wait_load(struct wait_loop *loop, const struct wait_frame *frame,
                      const struct code_instruction *one, const struct instruction *does)
{
    uint64_t key = wait_key(loop, frame, does);
    bool on_stack = key != 0 ? wait_on_stack(key) : does->base == ARM_SP;
    uint32_t by = wait_of(loop, wait_bit(does->base) | wait_bit(does->index));
    for (uint32_t left = does->list & 0x7FFF; left != 0; left &= left - 1, key += key != 0 ? 4 : 0) {
        uint64_t at = frame->at != 0 ? frame->at : one->address;
        uint32_t of = does->base == ARM_PC ? 0 : by | wait_read(loop, on_stack, key, at);
        wait_give(loop, frame, one, (unsigned)__builtin_ctz(left), of);
    }
}

static void wait_store(struct wait_loop *loop, const struct wait_frame *frame,
                       const struct code_instruction *one, const struct instruction *does)
{
    uint64_t key = wait_key(loop, frame, does);
    bool on_stack = key != 0 ? wait_on_stack(key) : does->base == ARM_SP;
    for (uint32_t left = does->list & 0x7FFF; left != 0; left &= left - 1, key += key != 0 ? 4 : 0) {
        size_t i = 0;
        while (i < loop->n_words && loop->words[i] >> 2 != key >> 2)
            i++;
        if (key == 0 || i == WAIT_WORDS) {
            loop->anywhere[on_stack] = true;
            continue;
        }
        loop->words[i] = key;
        loop->n_words += i == loop->n_words;
        wait_give(loop, frame, one, (unsigned)(OF_WORD + i),
                  wait_of(loop, UINT32_C(1) << __builtin_ctz(left)));
    }
}

/* --- a round -------------------------------------------------------------------------------------------- */

static void wait_follow(struct wait_loop *loop, struct wait_frame *frame, const struct code_instruction *one);

/* What is not known may change all memory. */
static void wait_call(struct wait_loop *loop, struct wait_frame *from, const struct code_instruction *one,
                      uint64_t callee)
{
    enum { MOST_BYTES = 400, MOST_DEPTH = 4, SCRATCH = 0x100F };
    struct wait_frame frame = {.at = from->at != 0 ? from->at : one->address,
                               .depth = from->depth + 1,
                               .constants = {.now = from->constants.now},
                               .is_sure = !wait_is_weak(from, one),
                               .outer = wait_control_of(from, one)};
    struct code_instruction inner;
    uint32_t kept[8];
    bool known = callee != 0 && table_around(loop->symbols, callee, &frame.function) != NULL &&
                 frame.function.low == callee && frame.depth <= MOST_DEPTH &&
                 frame.function.high - callee <= MOST_BYTES && loop->left >= MOST_BYTES;
    memcpy(kept, loop->of + 4, sizeof kept);
    struct code_walk walk = {
        .symbols = loop->symbols, .low = frame.function.low, .high = frame.function.high};
    while (known && code_next(&walk, &inner)) {
        loop->left--;
        inner.is_first = false;
        if (!inner.is_data)
            wait_follow(loop, &frame, &inner);
    }
    memcpy(loop->of + 4, kept, sizeof kept);
    wait_give(loop, from, one, ARM_LR, 0);
    for (unsigned i = 0; !known && i < 16; i++)
        if ((SCRATCH >> i & 1) != 0)
            wait_give(loop, from, one, i, OF_LOOP);
    loop->anywhere[false] = loop->anywhere[false] || !known;
}

static void wait_control(struct wait_frame *frame, const struct code_instruction *one, uint32_t of,
                         uint64_t until)
{
    frame->control = of | wait_control_of(frame, one);
    frame->until = frame->until > until ? frame->until : until;
}

static void wait_flow(struct wait_loop *loop, struct wait_frame *frame, const struct code_instruction *one,
                      const struct instruction *does, uint32_t decides)
{
    bool weak = frame->until > one->address, inner = frame->depth > 0, jumps = does->kind == GOES_JUMP,
         outside = does->target < frame->function.low || does->target >= frame->function.high;
    if (instruction_calls(does) || does->kind == GOES_SUPERVISOR ||
        (inner && (does->kind == GOES_AWAY || (jumps && outside))))
        wait_call(loop, frame, one, jumps || does->kind == GOES_CALL ? does->target : 0);
    else if (jumps && does->target > one->address && (does->conditional || weak))
        wait_control(frame, one, does->conditional ? decides : 0, does->target);
    else if (instruction_leaves(does) && !jumps && (weak || frame->block > 0))
        wait_control(frame, one, 0, frame->function.high);
}

static void wait_change(struct wait_loop *loop, const struct wait_frame *frame,
                        const struct code_instruction *one, const struct instruction *does, uint32_t reads)
{
    uint32_t left = does->writes & 0x7FFF & ~(does->access == ACCESS_LOAD ? does->list : 0);
    uint32_t of = does->exclusive == EXCLUSIVE_STORE ? 0 : wait_of(loop, reads);
    if (does->access == ACCESS_STORE)
        wait_store(loop, frame, one, does);
    else if (does->access == ACCESS_LOAD)
        wait_load(loop, frame, one, does);
    for (; left != 0; left &= left - 1)
        wait_give(loop, frame, one, (unsigned)__builtin_ctz(left), of);
}

/* What decides whether a conditional jump is taken. */
static uint32_t wait_decides(const struct wait_loop *loop, const struct code_instruction *one)
{
    bool by_zero = one->size == 2 && (one->code & 0xF500) == 0xB100;
    return by_zero ? wait_of(loop, compared(one)) : loop->of[FLAGS];
}

/* What no instruction of the loop changes is as it was before. */
static void wait_arrive(const struct wait_loop *loop, struct wait_frame *frame, uint64_t at)
{
    struct constants_known *now = &frame->constants.now;
    uint32_t stays = frame->depth == 0 ? loop->entry.known & ~loop->changed : 0;
    constants_arrive(&frame->constants, at);
    for (uint32_t left = stays; left != 0; left &= left - 1)
        now->values[__builtin_ctz(left)] = loop->entry.values[__builtin_ctz(left)];
    now->known |= stays;
}

static void wait_follow(struct wait_loop *loop, struct wait_frame *frame, const struct code_instruction *one)
{
    struct instruction does = code_decode(one);
    wait_arrive(loop, frame, one->address);
    uint32_t asks = compared(one), decides = wait_decides(loop, one);
    uint32_t reads = wait_bit(does.from) | wait_bit(does.with) | asks |
                     (does.access != ACCESS_NONE ? wait_bit(does.base) : 0) |
                     (does.gives == GIVES_TOP ? wait_bit(does.to) : 0);
    uint32_t flags = wait_of(loop, reads);
    if (does.kind == GOES_IT) {
        frame->control = decides | wait_control_of(frame, one);
        frame->block = does.number + 1U;
    }
    wait_change(loop, frame, one, &does, reads);
    if ((asks != 0 && does.kind != GOES_JUMP) || (frame->block == 0 && sets_flags(one, &does)))
        wait_give(loop, frame, one, FLAGS, flags);
    wait_flow(loop, frame, one, &does, decides);
    frame->block -= frame->block > 0;
    (void)constants_follow(&frame->constants, loop->symbols, one, &does, UINT64_MAX);
}

/* --- a loop --------------------------------------------------------------------------------------------- */

static size_t wait_step_at(const struct wait_loop *loop, uint64_t address)
{
    size_t until = sorted_until(loop->steps, loop->n, sizeof *loop->steps, address);
    return until > 0 && loop->steps[until - 1].one.address == address ? until - 1 : loop->n;
}

static bool wait_is_in(const struct wait_loop *loop, size_t i)
{
    return i >= loop->first && i <= loop->last && loop->steps[i].is_in;
}

/* *on, *off: whether the step leads to one of the loop, and out of it. */
static void wait_ways(const struct wait_loop *loop, size_t i, bool *on, bool *off)
{
    const struct wait_step *step = &loop->steps[i];
    struct instruction does = code_decode(&step->one);
    bool jumps = does.kind == GOES_JUMP, back = does.kind == GOES_BACK || does.kind == GOES_AWAY;
    bool next = step->in_block || !(instruction_leaves(&does) || step->ends);
    bool to = jumps && wait_is_in(loop, wait_step_at(loop, does.target)), goes_on = wait_is_in(loop, i + 1);
    *on = to || (next && goes_on) || does.kind == GOES_TABLE;
    *off = (jumps && !to) || back || (next && !goes_on);
}

/* False: the jump back leads to no loop. */
static bool wait_mark(struct wait_loop *loop)
{
    bool more = true, on, off;
    for (size_t i = loop->first; i <= loop->last; i++)
        loop->steps[i].is_in = i == loop->last;
    while (more) {
        more = false;
        for (size_t i = loop->last; i-- > loop->first;) {
            if (loop->steps[i].is_in)
                continue;
            wait_ways(loop, i, &on, &off);
            more = more || on;
            loop->steps[i].is_in = on;
        }
    }
    return loop->steps[loop->first].is_in;
}

/* All that the values are made of, from round to round. */
static void wait_close(struct wait_loop *loop)
{
    uint32_t made[WAIT_VALUES];
    for (unsigned i = 0; i < WAIT_VALUES; i++)
        made[i] = (loop->changes >> i & 1) != 0 ? loop->of[i] & (loop->changes | OF_READS) : 0;
    for (unsigned by = 0; by < WAIT_VALUES; by++)
        for (unsigned i = 0; i < WAIT_VALUES; i++)
            made[i] |= (made[i] >> by & 1) != 0 ? made[by] : 0;
    for (unsigned i = 0; i < WAIT_VALUES; i++)
        loop->was[i] = (made[i] & OF_READS) | ((made[i] >> i & 1) != 0 ? OF_LOOP : 0);
}

static void wait_leave(struct wait_loop *loop, uint32_t of)
{
    uint32_t all = of & OF_READS;
    for (unsigned i = 0; i < WAIT_VALUES; i++)
        all |= (of >> i & 1) != 0 ? loop->was[i] : 0;
    loop->by_device = loop->by_device || (all & OF_DEVICE) != 0;
    loop->by_itself = loop->by_itself || (all & OF_LOOP) != 0;
    loop->by_memory = loop->by_memory || (all & (OF_LOOP | OF_MEMORY)) == OF_MEMORY;
    loop->by_stack = loop->by_stack || (all & OF_STACK) != 0;
}

static void wait_round(struct wait_loop *loop)
{
    struct wait_frame frame = {.is_sure = true};
    frame.function = (struct extent){loop->steps[loop->first].one.address,
                                     loop->steps[loop->last].one.address + loop->steps[loop->last].one.size};
    for (unsigned i = 0; i < WAIT_VALUES; i++)
        loop->of[i] = i == ARM_SP ? 0 : UINT32_C(1) << i;
    loop->changes = 0;
    loop->left = 4000;
    loop->by_device = loop->by_memory = loop->by_stack = loop->by_itself = false;
    loop->memory.at = loop->n_devices = 0;
    for (size_t i = loop->first; i <= loop->last; i++) {
        const struct wait_step *step = &loop->steps[i];
        bool on, off;
        if (!step->is_in)
            continue;
        wait_ways(loop, i, &on, &off);
        if (off)
            wait_leave(loop, wait_decides(loop, &step->one) | (step->in_block ? frame.control : 0));
        wait_follow(loop, &frame, &step->one);
    }
    wait_close(loop);
    loop->changed = loop->changes;
}

/* What is made of what settles after some rounds. */
static bool wait_is(struct wait_loop *loop)
{
    enum { ROUNDS = 4 };
    size_t before = loop->first > 0 ? loop->first - 1 : 0;
    struct instruction enters = code_decode(&loop->steps[before].one);
    size_t to = enters.kind == GOES_JUMP ? wait_step_at(loop, enters.target) : loop->n;
    bool jumps_in = before < loop->first && to > loop->first && to <= loop->last;
    loop->entry = loop->steps[jumps_in ? before : loop->first].before;
    loop->changed = UINT32_MAX;
    loop->n_words = 0;
    loop->anywhere[false] = loop->anywhere[true] = false;
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (i == 1) { /* now it is known which registers stay */
            loop->n_words = 0;
            loop->anywhere[false] = loop->anywhere[true] = false;
        }
        wait_round(loop);
    }
    return loop->by_device || loop->by_memory || (loop->by_stack && !loop->by_itself);
}

/* --- all functions -------------------------------------------------------------------------------------- */

struct wait_places {
    struct symbols_wait *items;
    size_t n, room;
    bool no_memory;
};

static void wait_add(struct wait_places *out, struct symbols_wait wait)
{
    struct symbols_wait *items = array_grow(out->items, out->n + 1, &out->room, sizeof *items);
    out->no_memory = out->no_memory || items == NULL;
    if (items == NULL)
        return;
    out->items = items;
    items[out->n++] = wait;
}

static void wait_search(struct wait_loop *loop, struct wait_places *out)
{
    for (loop->last = 0; loop->last < loop->n; loop->last++) {
        const struct code_instruction *one = &loop->steps[loop->last].one;
        struct instruction does = code_decode(one);
        bool back = one->isa == ISA_THUMB && does.kind == GOES_JUMP && does.target <= one->address;
        loop->first = back ? wait_step_at(loop, does.target) : loop->n;
        if (loop->first == loop->n || !wait_mark(loop) || !wait_is(loop))
            continue;
        for (size_t i = 0; i < loop->n_devices && loop->by_device; i++)
            wait_add(out, loop->devices[i]);
        if (!loop->by_device)
            wait_add(out, loop->memory.at != 0 ? loop->memory : (struct symbols_wait){.at = one->address});
    }
}

/* Its instructions, and the constants before each; a jump's way on keeps the frame. */
static bool wait_steps(struct wait_loop *loop, const struct extent *function, size_t *room)
{
    enum { FRAME = 1 << 7 | 1 << ARM_SP };
    struct code_walk walk = {.symbols = loop->symbols, .low = function->low, .high = function->high};
    struct constants constants = {.now = {.known = 1U << ARM_SP, .values[ARM_SP] = STACK_AT}};
    struct constants_known frame = constants.now;
    struct code_instruction one;
    unsigned in_block = 0;
    for (loop->n = 0; code_next(&walk, &one);) {
        struct instruction does = code_decode(&one);
        struct wait_step *steps = array_grow(loop->steps, loop->n + 1, room, sizeof *steps);
        if (steps == NULL)
            return false;
        loop->steps = steps;
        one.is_first = false;
        constants_arrive(&constants, one.address);
        if (constants.now.known == 0) {
            constants.now = frame;
            constants.now.known &= FRAME;
        }
        if (!one.is_data)
            steps[loop->n++] =
                (struct wait_step){.one = one,
                                   .before = constants.now,
                                   .in_block = in_block > 0,
                                   .ends = does.kind == GOES_CALL && !may_return(loop->symbols, does.target)};
        if (does.kind == GOES_JUMP && !does.conditional)
            frame = constants.now;
        (void)constants_follow(&constants, loop->symbols, &one, &does, UINT64_MAX);
        in_block = in_block > 0 ? in_block - 1 : does.kind == GOES_IT ? does.number : 0;
    }
    return true;
}

bool symbols_waits(struct symbols *symbols, struct symbols_wait **out, size_t *n)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct wait_loop loop = {.symbols = symbols};
    struct wait_places places = {.n = 0};
    struct code_instruction one;
    struct extent function = {0, 0};
    size_t room = 0;
    while (symbols->machine == EM_ARM && !places.no_memory && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool is_done = one.address >= function.low && one.address < function.high;
        if (is_done || does.kind != GOES_JUMP || does.target > one.address ||
            table_around(symbols, one.address, &function) == NULL)
            continue;
        places.no_memory = !wait_steps(&loop, &function, &room);
        if (!places.no_memory)
            wait_search(&loop, &places);
    }
    free(loop.steps);
    *out = places.items;
    *n = places.n;
    return !places.no_memory;
}
