/* SPDX-License-Identifier: MIT */
#include "engine/call.h"

#include "base/arm_debug.h"
#include "base/values.h"
#include "code/instruction.h"
#include "cores/architectures.h"
#include "cores/exception.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char engine_name_end[] = "Name an end, too.";
static const char name_the_last[] = "Name the handler's last instruction as the end.";

/* --- where a call ends ---------------------------------------------------------------------------------- */

bool frame_is_on_stack(const struct core *core)
{
    return core_has(core, PROGRAM_ONLY);
}

/* A call that is the last instruction of its function returns to whatever code happens to follow. */
static bool check_return(const struct frame *frame, const struct core *core, const struct region *region,
                         struct error *error)
{
    const char *why = core_no_return(core, frame->lr);
    uint64_t to = core_place(core, frame->end.pc);
    if (why != NULL)
        return error_advise(error, ERROR_STATE, engine_name_end,
                            "it is not known where this call returns: %s", why);
    if (region->is_return == NULL || region->is_return(region->context, to))
        return true;
    return error_advise(error, ERROR_STATE, engine_name_end,
                        "the call that returns to 0x%08" PRIX64
                        " ends its caller, or constants follow it: it may not return there",
                        to);
}

bool frame_find_end(struct frame *frame, const struct core *core, const struct region *region,
                    const uint64_t *words, bool *inner, struct error *error)
{
    bool on_stack = frame_is_on_stack(core);
    *inner = false;
    frame->is_handler = !on_stack && core_returns_by_frame(core, frame->lr);
    frame->by = CORE_PC;
    if (frame->is_handler)
        return true;
    frame->end = on_stack ? core_frame_return(core, frame->sp, words)
                          : (struct return_place){.pc = core_code_of_lr(core, frame->lr), .sp = frame->sp};
    *inner = frame->end.pc >= region->low && frame->end.pc < region->high;
    return *inner || on_stack || check_return(frame, core, region, error);
}

void frame_find_base(struct frame *frame, const struct core *core, const struct region *region, uint64_t base)
{
    uint64_t all = core_has(core, WIDE_REGISTERS) ? UINT64_MAX : UINT32_MAX;
    frame->sp = base;
    frame->end.sp = (base + (uint64_t)region->apart) & all;
}

/* --- further stops -------------------------------------------------------------------------------------- */

void others_add(struct other_stops *others, uint64_t at, enum other_meaning what, size_t which)
{
    others->items[others->n++] = (struct other_stop){.at = at, .what = what, .which = which};
}

const struct other_stop *others_find(const struct other_stops *others, const struct core *core, uint64_t pc)
{
    for (unsigned i = 0; i < others->n; i++)
        if (core_place(core, others->items[i].at) == core_place(core, pc))
            return &others->items[i];
    return NULL;
}

/* --- how a function was entered ------------------------------------------------------------------------- */

/* Of the bytes before a return address; how long the call is, or 0. */
static unsigned call_size(const struct core *core, bool thumb, uint32_t before)
{
    enum instruction_set isa = thumb ? ISA_THUMB : core_has(core, WIDE_REGISTERS) ? ISA_A64 : ISA_ARM;
    struct instruction one = instruction_of(isa, thumb ? before >> 16 : before, 0);
    if (thumb && !instruction_calls(&one))
        one = instruction_of(isa, before << 16 | before >> 16, 0);
    return instruction_calls(&one) ? one.size : 0;
}

static const struct core *call_core_of(const struct call_access *access)
{
    return &access->device->chosen->core;
}

/* The instruction that made the call with this return address; UINT64_MAX if none is seen before it. */
static bool entry_call(const struct call_access *access, uint64_t lr, uint64_t *call, struct error *error)
{
    const struct core *core = call_core_of(access);
    uint64_t to = core_code_of_lr(core, lr), place = core_place(core, to), words[2] = {0};
    bool thumb = core_is_thumb(core, to);
    struct error unread = {0};
    *call = UINT64_MAX;
    uint64_t first = (place - 4) & ~UINT64_C(3);
    for (unsigned i = 0; i < (place % 4 == 0 ? 1 : 2); i++)
        if (!ledger_read(access->device->ledger, core_word(core, first + UINT64_C(4) * i), &words[i],
                         access->deadline, &unread))
            return unread.kind == ERROR_FAULT || error_copy(error, &unread);
    uint64_t both = (words[0] & UINT32_MAX) | words[1] << 32;
    uint32_t before = (uint32_t)(both >> 8 * (place - 4 - first));
    unsigned size = call_size(core, thumb, before);
    if (size != 0)
        *call = core_code(core, place - size, thumb);
    return true;
}

/* An exception's entry. If the memory before LR cannot be read, it is taken for a call. */
static bool entry_check(const struct call_access *access, uint64_t status, uint64_t lr, struct error *error)
{
    const struct core *core = call_core_of(access);
    uint64_t function = access->region->start;
    const char *mode = core_exception_mode(core, status);
    struct error unread = {0};
    uint64_t before = 0;
    if (mode == NULL)
        return true;
    if ((lr & 3) == 0 &&
        !ledger_read(access->device->ledger, core_word(core, lr - 4), &before, access->deadline, &unread))
        return unread.kind == ERROR_FAULT || error_copy(error, &unread);
    return core_called_from(core, lr, (uint32_t)before, function) ||
           error_advise(error, ERROR_STATE, name_the_last,
                        "0x%08" PRIX64
                        " was entered by an exception (%s mode): LR does not say where it returns",
                        core_code_place(function), mode);
}

/* DDI 0487 F5.1.57: in Hyp mode ERET, which in T32 is also MOVS PC, LR, goes to ELR_hyp; in others to LR. */
static bool eret_check(const struct call_access *access, uint64_t status, struct error *error)
{
    uint64_t eret = access->region->eret;
    char what[48];
    snprintf(what, sizeof what, "0x%08" PRIX64 ", in Hyp mode,", core_code_place(access->region->start));
    return eret == 0 || exception_returns_by_lr(call_core_of(access), status) ||
           engine_refuse_eret(what, eret, error);
}

bool engine_refuse_eret(const char *what, uint64_t eret, struct error *error)
{
    return error_set(error, ERROR_USAGE,
                     "%.128s is an exception handler, which returns by the ERET at 0x%08" PRIx64
                     " and not to LR: name that as the end, *0x%" PRIx64,
                     what, eret, eret);
}

static bool check_entry(struct call *call, const struct call_access *access, struct error *error)
{
    uint64_t status = 0;
    if (core_has_exception_modes(call_core_of(access)) && !call->entry_checked &&
        (!access->read(access->context, CORE_STATUS, &status, error) || !eret_check(access, status, error) ||
         !entry_check(access, status, call->frame.lr, error)))
        return false;
    call->entry_checked = true;
    return true;
}

/* --- until the end -------------------------------------------------------------------------------------- */

static void watch_writers(struct call *call, const struct call_access *access)
{
    const struct region_writer *writers = access->region->writers;
    call->others.n = 0;
    for (size_t i = 0; i < access->region->n_writers; i++)
        others_add(&call->others, core_code(call_core_of(access), writers[i].at, writers[i].is_thumb),
                   OTHER_WRITER, i);
}

/* *can: there was a breakpoint for it. */
static bool watch_other(struct call *call, const struct call_access *access, uint64_t at,
                        enum other_meaning what, size_t which, bool *can, struct error *error)
{
    if (!access->can_stop(access->context, call->others.n, at, can, error))
        return false;
    if (*can)
        others_add(&call->others, at, what, which);
    return true;
}

/* *is: the target's memory has nothing but straight code from the start to the end. */
static bool is_straight(const struct call_access *access, bool *is, struct error *error)
{
    enum { WORDS = 32 };
    const struct core *core = call_core_of(access);
    uint64_t at = core_place(core, access->region->start), end = core_place(core, access->region->end);
    uint64_t first = at & ~UINT64_C(3), words[WORDS + 1] = {0};
    bool thumb = core_is_thumb(core, access->region->start);
    enum instruction_set isa = thumb ? ISA_THUMB : core_has(core, WIDE_REGISTERS) ? ISA_A64 : ISA_ARM;
    struct step items[WORDS + 1];
    struct steps list = {.items = items, .room = WORDS + 1};
    struct error unread = {0};
    *is = false;
    if (frame_is_on_stack(core) || end <= at || end - first > UINT64_C(4) * WORDS)
        return true;
    for (uint64_t word = first; word < end; word += 4)
        steps_add(&list, step_read(core_word(core, word)));
    if (!ledger_read_list(access->device->ledger, &list, words, access->deadline, &unread))
        return unread.kind == ERROR_FAULT || error_copy(error, &unread);
    while (at < end) {
        size_t i = (at - first) / 4;
        uint64_t both = (words[i] & UINT32_MAX) | words[i + 1] << 32;
        uint32_t code = (uint32_t)(both >> 8 * (at & 2)), half = code & 0xFFFF;
        if (thumb)
            code = instruction_is_wide(half) ? half << 16 | code >> 16 : half;
        struct instruction one = instruction_of(isa, code, at);
        if (one.kind != GOES_ON)
            return true;
        at += one.size;
    }
    *is = at == end;
    return true;
}

/* Between START and END. */
static bool watch_between(struct call *call, const struct call_access *access, struct error *error)
{
    const struct region *region = access->region;
    const struct region_place *entered = &region->entered;
    bool can = true, can_enter = true, straight = false;
    if (region->to_return)
        return true;
    if (region->is_unread && !is_straight(access, &straight, error))
        return false;
    if ((region->start_again && !straight &&
         !watch_other(call, access, region->start, OTHER_START, 0, &can, error)) ||
        (entered->at != 0 &&
         !watch_other(call, access, core_code(call_core_of(access), entered->at, entered->is_thumb),
                      OTHER_ENTRY, 0, &can_enter, error)))
        return false;
    if (!can || !can_enter)
        call->doubt = "no further breakpoint is free: a start without an end may count with a later end";
    return true;
}

bool call_begin(struct call *call, const struct call_access *access, struct error *error)
{
    const struct exit_places *exits = &access->region->exits;
    bool can = true, known = exits->all && exits->n > 0 && !exits->at[0].conditional;
    *call = (struct call){
        .frame = call->frame, .exits = *exits, .handler = known ? HANDLER_EXITS : HANDLER_INTERRUPTED};
    watch_writers(call, access);
    for (unsigned i = 0; i < call->others.n; i++) {
        if (!access->can_stop(access->context, i, call->others.items[i].at, &can, error))
            return false;
        if (!can)
            return error_set(
                error, ERROR_WRITER_SOUGHT,
                "the program can change the counter in a hit: %s, and too few breakpoints are free to see it",
                access->region->writers[i].what);
    }
    return watch_between(call, access, error);
}

#define LEADS_BACK "a catch or longjmp may lead to where a call returns, and "

/* Another way than the function's return leads to where this call returns: a catch, or what follows a
 * setjmp. Then what sets the stack pointer is watched. */
static bool watch_stacks(struct call *call, const struct call_access *access, struct error *error)
{
    const struct region *region = access->region;
    const struct core *core = call_core_of(access);
    bool can = region->n_stacks <= REGION_STACKS;
    if (region->is_joined == NULL ||
        !region->is_joined(region->context, core_place(core, call->frame.end.pc)))
        return true;
    for (size_t i = 0; can && i < region->n_stacks; i++)
        if (!watch_other(call, access, core_code(core, region->stacks[i].at, region->stacks[i].is_thumb),
                         OTHER_STACK, i, &can, error))
            return false;
    if (!can)
        call->doubt = region->n_stacks == SIZE_MAX ? LEADS_BACK "its code is not in the ELF file"
                                                   : LEADS_BACK "too few breakpoints are free to see it";
    return true;
}

static bool call_is_held(const struct region *region, const struct core *core, uint64_t pc)
{
    return region->is_held != NULL && region->is_held(region->context, core_place(core, pc));
}

/* What shows that the call is made again before it has returned: the instruction that made it or, if none is
 * seen before LR (MOV LR, PC; ADR LR and B), the entry. A function that jumps there itself passes it in a
 * call. */
static bool watch_caller(struct call *call, const struct call_access *access, struct error *error)
{
    const struct region *region = access->region;
    uint64_t caller = UINT64_MAX;
    bool can = false;
    if (!region->may_be_left)
        return true;
    if (frame_is_on_stack(call_core_of(access))) {
        call->doubt = "the code of this core is not read" CALL_COUNTS_ON;
        return true;
    }
    if (!entry_call(access, call->frame.lr, &caller, error))
        return false;
    bool seen = caller != UINT64_MAX;
    /* A start that is watched is left by a step */
    bool can_step = !call_is_held(region, call_core_of(access), region->start);
    if ((seen || (can_step && !region->start_again)) &&
        !watch_other(call, access, seen ? caller : region->start, seen ? OTHER_CALL : OTHER_START, 0, &can,
                     error))
        return false;
    if (!can)
        call->doubt = seen ? "no breakpoint can be at the call" CALL_COUNTS_ON
                           : "no call is seen before where it returns" CALL_COUNTS_ON;
    return watch_stacks(call, access, error);
}

static bool call_find_caller(struct call *call, const struct call_access *access, struct error *error)
{
    if (call->caller_known && call->caller_lr == call->frame.end.pc)
        return true;
    watch_writers(call, access);
    call->caller_known = false;
    if (!watch_caller(call, access, error))
        return false;
    call->caller_known = true;
    call->caller_lr = call->frame.end.pc;
    return true;
}

/* --- where a handler ends ------------------------------------------------------------------------------- */

static void frame_take_exit(struct frame *frame, const struct core *core, const struct exit_place *exit)
{
    frame->end = (struct return_place){.pc = core_code(core, exit->at, true),
                                       .sp = (frame->sp - UINT64_C(4) * exit->popped) & UINT32_MAX};
    frame->by = exit->by;
}

/* In the middle of an IT block a core may not stop: DDI 0403 B1.4.2, ICI/IT. */
static bool is_in_block(uint64_t status)
{
    return ((status >> 10 & 3) | (status >> 25 & 3)) != 0;
}

/* The handler is taken to end where what it interrupted goes on. *inner: the core may not stop there. */
static bool find_interrupted(struct call *call, const struct call_access *access, bool *inner,
                             struct error *error)
{
    struct frame *frame = &call->frame;
    const struct core *core = call_core_of(access);
    uint32_t back = (uint32_t)frame->lr;
    uint64_t sp = frame->sp, pc = 0, status = 0, fpccr = 0;
    bool reads_fpccr = core->security != SECURITY_NONE && exception_has_fpccr(back);
    if (exception_crosses(back) || (back & RETURN_KEEPS_CALLEES) == 0)
        return error_advise(
            error, ERROR_STATE, name_the_last,
            "not all returns of this handler are known, and it interrupted the other security "
            "state");
    if ((back & RETURN_TO_PSP) != 0 && !access->read(access->context, CORE_PSP, &sp, error))
        return false;
    if (!ledger_read(access->device->ledger, core_word(core, sp + UINT64_C(4) * STACKED_PC), &pc,
                     access->deadline, error) ||
        !ledger_read(access->device->ledger, core_word(core, sp + UINT64_C(4) * STACKED_STATUS), &status,
                     access->deadline, error) ||
        (reads_fpccr &&
         !ledger_read(access->device->ledger, core_word(core, FPCCR), &fpccr, access->deadline, error)))
        return false;
    frame->end =
        (struct return_place){.pc = core_code(core, pc, true),
                              .sp = exception_frame_end(sp, back, (uint32_t)status, (uint32_t)fpccr)};
    frame->by = CORE_PC;
    *inner = is_in_block(status);
    call->doubt = "not all returns of this handler are known: it counts until what it interrupted goes on";
    return true;
}

static bool watch_exits(struct call *call, const struct call_access *access, struct error *error)
{
    const struct core *core = call_core_of(access);
    bool can = true;
    watch_writers(call, access);
    for (size_t i = 1; can && i < call->exits.n; i++)
        if (!watch_other(call, access, core_code(core, call->exits.at[i].at, true), OTHER_EXIT, i, &can,
                         error))
            return false;
    if (!can) {
        call->handler = HANDLER_INTERRUPTED;
        watch_writers(call, access);
    }
    return true;
}

/* An exit in a function that was called is not watched. */
static void doubt_callees(struct call *call, const struct region *region)
{
    if (call->frame.is_handler && call->handler == HANDLER_EXITS && region->callee_exits != NULL &&
        region->callee_exits(region->context, core_code_place(region->start)))
        call->doubt =
            "a function that the handler calls may return from the exception: then a later one's end counts";
}

static bool find_exits(struct call *call, const struct call_access *access, bool *inner, struct error *error)
{
    call->caller_known = call->exits_changed = call->took_other_exit = false;
    if (call->handler == HANDLER_EXITS && !watch_exits(call, access, error))
        return false;
    if (call->handler == HANDLER_INTERRUPTED) {
        watch_writers(call, access);
        return find_interrupted(call, access, inner, error);
    }
    frame_take_exit(&call->frame, call_core_of(access), &call->exits.at[0]);
    return true;
}

bool call_watch_exits(struct call *call, const struct call_access *access, struct error *error)
{
    bool inner;
    return find_exits(call, access, &inner, error);
}

/* Unconditional ones before the others, but after the first. */
static bool exits_add(struct exit_places *exits, const struct exit_place *exit)
{
    size_t to = exits->n;
    for (size_t i = 0; i < exits->n; i++)
        if (exits->at[i].at == exit->at)
            return true;
    if (exits->n == REGION_EXITS)
        return false;
    for (; !exit->conditional && to > 1 && exits->at[to - 1].conditional; to--)
        exits->at[to] = exits->at[to - 1];
    exits->at[to] = *exit;
    exits->n++;
    return true;
}

/* The handler goes on in another function, which a register named. */
static void call_follow(struct call *call, const struct region *region, uint64_t function)
{
    struct exit_places more = {.n = 0};
    size_t before = call->exits.n;
    for (size_t i = 0; i < call->n_followed; i++)
        if (call->followed[i] == function)
            return;
    if (region->find_exits != NULL && call->n_followed < REGION_EXITS)
        region->find_exits(region->context, function, &more);
    bool known = more.all && more.n > 0;
    for (size_t i = 0; known && i < more.n; i++)
        known = exits_add(&call->exits, &more.at[i]);
    if (known)
        call->followed[call->n_followed++] = function;
    else
        call->handler = HANDLER_INTERRUPTED;
    call->exits_changed = !known || call->exits.n > before;
}

bool call_check_end(struct call *call, const struct call_access *access, bool *ends, struct error *error)
{
    const struct region *region = access->region;
    uint64_t value = 0;
    if (!access->read(access->context, region->in_function ? region->end_base : CORE_SP, &value, error))
        return false;
    *ends = value == call->frame.end.sp;
    if (!*ends || !call->frame.is_handler || call->frame.by == CORE_PC)
        return true;
    if (!access->read(access->context, call->frame.by, &value, error))
        return false;
    *ends = core_returns_by_frame(call_core_of(access), value);
    if (!*ends)
        call_follow(call, region, core_code_place(value));
    return true;
}

void call_over(struct call *call, const struct region *region)
{
    if (!call->has_ended || !region->one_stack || call->frame.sp > call->ended_sp)
        call->ended_sp = call->frame.sp;
    call->has_ended = true;
}

#define JUMPS_TO_ITSELF "the function jumps to its own entry, and several stacks may call it: "

/* A stop at the start shows a jump to the own entry as it shows a call. Since a call has ended, and the start
 * is watched again, its frame is not in the function. On one stack no frame below it is, either; on others
 * calls may be under way that began while only the end was watched. */
static void prove_entry(struct call *call, const struct region *region)
{
    enum { MOST_UNPROVED = 16 };
    uint64_t sp = call->frame.sp;
    bool is_proved =
        !region->start_again ||
        (call->has_ended && (sp == call->ended_sp || (region->one_stack && sp < call->ended_sp)));
    call->entries_unproved = is_proved ? 0 : call->entries_unproved + 1;
    call->is_partial = !is_proved && call->entries_unproved <= MOST_UNPROVED;
    if (!is_proved && !call->is_partial)
        call->doubt = JUMPS_TO_ITSELF "a hit may begin in the middle of a call";
    else if (call->is_partial && call->has_ended && !region->one_stack && call->doubt == NULL)
        call->doubt = JUMPS_TO_ITSELF "only calls after one of the same caller are proved to be whole";
}

static enum entered call_find_entry(struct call *call, const struct region *region, uint64_t back)
{
    const struct call_entry *first = &call->entries[0];
    for (size_t i = 0; i < call->n_entries && i < CALLERS_ROOM; i++)
        if (call->entries[i].back == back || first->how == ENTERED_ANYHOW)
            return call->entries[i].how;
    struct call_entry *entry = &call->entries[call->n_entries++ % CALLERS_ROOM];
    *entry =
        (struct call_entry){back, region->entered_by(region->context, core_code_place(region->start), back)};
    return entry->how;
}

/* LR is this call's, not what an earlier one has left there. */
static bool check_called(struct call *call, const struct call_access *access, struct error *error)
{
    const struct core *core = call_core_of(access);
    const struct region *region = access->region;
    if (region->entered_by == NULL || call->frame.is_handler || frame_is_on_stack(core))
        return true;
    switch (call_find_entry(call, region, core_place(core, call->frame.end.pc))) {
    case ENTERED_IN_MIDDLE:
        return error_advise(error, ERROR_STATE, engine_name_end,
                            "it is not known where 0x%08" PRIX64
                            " returns: it takes its return address from a frame that it has not made",
                            core_code_place(region->start));
    case ENTERED_PERHAPS:
        call->doubt = "code that calls by a register also jumps to the function: LR, and so the end, may be "
                      "an earlier call's";
        break;
    case ENTERED_BY_JUMP:
        call->by_jump = true;
        break;
    case ENTERED_ANYHOW:
    case ENTERED_BY_CALL:
        break;
    }
    return true;
}

bool call_enter(struct call *call, const struct call_access *access, const uint64_t *words, bool *inner,
                struct error *error)
{
    const struct core *core = call_core_of(access);
    bool first = !call->entry_checked;
    *inner = call->by_jump = false;
    if (!check_entry(call, access, error) ||
        !frame_find_end(&call->frame, core, access->region, words, inner, error))
        return false;
    if (first)
        doubt_callees(call, access->region);
    if (!*inner && !check_called(call, access, error))
        return false;
    *inner = *inner || call->by_jump;
    if (*inner)
        return true;
    prove_entry(call, access->region);
    return call->frame.is_handler ? find_exits(call, access, inner, error)
                                  : call_find_caller(call, access, error);
}

void call_forget_exit(struct call *call, const struct core *core)
{
    if (call->took_other_exit)
        frame_take_exit(&call->frame, core, &call->exits.at[0]);
    call->took_other_exit = false;
}

/* What goes on in the call's own frame has its 8 bytes of the stack at least, since it calls: AAPCS32 6.2.1.
 * An unwinder may have put the address where it goes on below the frame that it goes to. */
bool call_is_left(const struct call *call, uint64_t sp)
{
    enum { LEAST_FRAME = 8 };
    return sp + LEAST_FRAME > call->frame.sp;
}

bool call_may_step(const struct region *region, const struct core *core, uint64_t pc, struct error *error)
{
    if (!call_is_held(region, core, pc))
        return true;
    if (core_place(core, pc) == core_place(core, region->start))
        return error_advise(error, ERROR_STATE, "Measure START END from after its store-exclusive on.",
                            "the start was reached inside the call, at 0x%08" PRIX64
                            ", a load-exclusive: after a step there its store would fail",
                            core_place(core, pc));
    return error_advise(error, ERROR_STATE, "Name an end after its store-exclusive.",
                        "another task or handler was at 0x%08" PRIX64
                        ", a load-exclusive at which hits end: after a step there its store would fail, and "
                        "it would try again, each time",
                        core_place(core, pc));
}

unsigned call_stops(const struct region *region)
{
    const struct exit_places *exits = &region->exits;
    size_t n = 0, returns = 0;
    if (!region->to_return)
        return (unsigned)region->n_writers + region->start_again + (region->entered.at != 0);
    for (size_t i = 0; i < exits->n; i++)
        n = exits->at[i].by != CORE_PC && exits->at[i].by != CORE_LR ? REGION_EXITS : n;
    n = n > 0 ? n - 1 : exits->n > 0 ? exits->n - 1 : 0;
    if (region->may_be_left)
        returns = 1 + (region->n_stacks <= REGION_STACKS ? region->n_stacks : 0);
    return (unsigned)(region->n_writers + (exits->all && n > returns ? n : returns));
}

enum { IPSR = 0x1FF }; /* DDI 0403 B1.4.2 */

/* Of a stop at the start or the entry before the end. */
static bool look_between(struct call *call, const struct call_access *access, const struct other_stop *other,
                         enum call_stop *what, struct error *error)
{
    const struct region *region = access->region;
    bool start = other->what == OTHER_START, framed = region->in_function || region->to_return;
    enum core_register base = start && region->in_function ? region->start_base : CORE_SP;
    uint64_t value = 0, all = core_has(call_core_of(access), WIDE_REGISTERS) ? UINT64_MAX : UINT32_MAX;
    uint64_t wanted = start ? call->frame.sp : (call->frame.sp + (uint64_t)region->entered_apart) & all;
    if (framed && !access->read(access->context, base, &value, error))
        return false;
    bool other_frame = framed && value != wanted, nests = !region->never_nests;
    if (other_frame && !nests && core_has(call_core_of(access), SYSTEM_SPACE)) {
        if (!access->read(access->context, CORE_STATUS, &value, error))
            return false;
        nests = (value & IPSR) != 0;
    }
    *what = other_frame && nests ? CALL_IS_MADE : start ? CALL_BEGINS : CALL_IS_LEFT;
    return true;
}

/* *does: it changes the counter. A store's base may be a pointer to anything. */
static bool writer_check(const struct call_access *access, const struct region_writer *writer, bool *does,
                         struct error *error)
{
    const unsigned uses[] = {writer->store.base, writer->store.index};
    uint32_t registers[ARM_PC + 1] = {0};
    *does = writer->n_words == 0;
    for (size_t i = 0; !*does && i < 2; i++) {
        uint64_t value = 0;
        unsigned which = uses[i];
        enum core_register name = which == ARM_SP   ? CORE_SP
                                  : which == ARM_LR ? CORE_LR
                                                    : (enum core_register)(CORE_R0 + which);
        if (which >= ARM_PC)
            continue;
        if (!access->read(access->context, name, &value, error))
            return false;
        registers[which] = (uint32_t)value;
    }
    for (size_t i = 0; i < writer->n_words; i++)
        *does = *does || store_hits(&writer->store, registers, writer->words[i]);
    return true;
}

bool call_look(struct call *call, const struct call_access *access, const struct other_stop *other,
               enum call_stop *what, struct error *error)
{
    const struct region *region = access->region;
    const struct exit_place *exit;
    uint64_t value = 0;
    bool writes = false;
    *what = CALL_ENDS;
    switch (other->what) {
    case OTHER_PLACE:
        break;
    case OTHER_WRITER:
        *what = CALL_STAYS_HERE;
        if (!writer_check(access, &region->writers[other->which], &writes, error))
            return false;
        return !writes ||
               error_set(error, ERROR_WRITER_SOUGHT, "the program itself changes the counter in a hit: %s",
                         region->writers[other->which].what);
    case OTHER_CALL:
        if (!access->read(access->context, CORE_SP, &value, error))
            return false;
        *what = value == call->frame.sp ? CALL_IS_LEFT : CALL_IS_MADE;
        break;
    case OTHER_START:
    case OTHER_ENTRY:
        return look_between(call, access, other, what, error);
    case OTHER_STACK:
        if (!access->read(access->context, CORE_SP, &value, error))
            return false;
        *what = value > call->frame.sp ? CALL_IS_MADE : CALL_MAY_LEAVE; /* another stack, or another call */
        break;
    case OTHER_EXIT:
        exit = &call->exits.at[other->which];
        if (exit->conditional && !access->read(access->context, CORE_STATUS, &value, error))
            return false;
        frame_take_exit(&call->frame, call_core_of(access), exit);
        call->took_other_exit = true;
        *what = !exit->conditional || cortex_m_condition_holds(value) ? CALL_ENDS : CALL_STAYS_HERE;
        break;
    }
    return true;
}

void call_doubt(const struct call *call, const struct region *region, struct engine *engine)
{
    char *out = engine->doubt;
    engine->unproved = call->doubt;
    out[0] = '\0';
    doubt_add(out, region->doubt);
    doubt_add(out, or_empty(call->doubt));
}

/* ---- stops */

enum { LOOK_MOST_US = 1000000 }; /* more than links take for a list that waits */

/* --- no progress ---------------------------------------------------------------------------------------- */

void progress_note(struct progress *progress)
{
    *progress = (struct progress){.looked_us = deadline_now_us()};
}

void progress_add(struct progress *progress, enum progress_kind kind)
{
    static const int64_t most_us[] = {
        [PROGRESS_WENT_ON] = LOOK_MOST_US, [PROGRESS_HELD] = 0, [PROGRESS_REFUSED] = INT64_MAX};
    int64_t now_us = deadline_now_us(), us = now_us - progress->looked_us;
    progress->went_us += us < most_us[kind] ? us : most_us[kind];
    progress->looked_us = now_us;
}

bool engine_is_to_prove(const struct engine *engine, const struct region *region, bool at_end)
{
    bool is_place = !at_end || (!region->to_return && region->end != region->start);
    return is_place && engine->prove != NULL && !engine->is_proved[at_end];
}

bool engine_prove(struct engine *engine, const struct region *region, bool at_end, struct error *error)
{
    if (!engine_is_to_prove(engine, region, at_end))
        return true;
    uint64_t place = at_end ? region->end : region->start;
    engine->is_proved[at_end] = engine->prove(engine->prove_context, place, error);
    return engine->is_proved[at_end];
}

int64_t engine_patience_ms(const struct engine_request *request, bool under_way)
{
    return !under_way && request->start_ms > 0 && request->start_ms < request->timeout_ms
               ? request->start_ms
               : request->timeout_ms;
}

bool progress_is_late(const struct progress *progress, const struct engine_request *request,
                      const struct raw_hit *under_way)
{
    return progress->went_us > engine_patience_ms(request, under_way != NULL) * 1000;
}

bool progress_tell(const struct progress *progress, const struct engine_request *request,
                   const struct core *core, const struct raw_hit *hit, uint64_t to, struct error *error)
{
    double seconds = (double)engine_patience_ms(request, hit != NULL) / 1000;
    char past[192] = "", lost[96] = "";
    if (hit != NULL && hit->past > 0)
        snprintf(past, sizeof past,
                 "; the core stopped %" PRIu64
                 " time%s there in another frame: the call goes on, or it was left and others followed",
                 hit->past, PLURAL(hit->past));
    if (progress->lost > 0)
        snprintf(lost, sizeof lost, "; %" PRIu64 " call%s left without returning", progress->lost,
                 progress->lost == 1 ? " was" : "s in a row were");
    if (hit != NULL || progress->lost > 0)
        return error_set(error, ERROR_END, "the end was not reached within %.3g s of the start%s%s%s",
                         seconds, past, lost, core_may_be_unseen(core));
    if (progress->inner == 0)
        return error_set(error, ERROR_START, "the start was not reached within %.3g s%s", seconds,
                         core_may_be_unseen(core));
    return error_advise(error, ERROR_START, engine_name_end,
                        "the start was reached %" PRIu64 " times within %.3g s, %s (0x%08" PRIX64 ")",
                        progress->inner, seconds,
                        progress->by_jump ? "by jumps: the call before the address in LR leads elsewhere"
                                          : "each time with a return address in the function itself",
                        core_place(core, to));
}

/* --- stops that are not ours ---------------------------------------------------------------------------- */

bool foreign_stop_tell(struct engine *engine, const struct core *core, enum stop_cause cause, const char *who,
                       uint64_t pc, struct error *error)
{
    static const char *const causes[] = {[STOP_BREAKPOINT] = "someone else's breakpoint",
                                         [STOP_REQUEST] = "someone else's halt request",
                                         [STOP_FAULT] = "an exception that a debugger catches",
                                         [STOP_WATCHPOINT] = "someone else's watchpoint",
                                         [STOP_OTHER] = "someone else"};
    engine->stopped_at = core_place(core, pc);
    if (cause == STOP_RESET)
        return error_reset(error);
    return error_set(error, ERROR_FOREIGN_STOP, "stopped by %s at 0x%08" PRIX64,
                     who != NULL ? who : causes[cause], engine->stopped_at);
}

static bool stops_find_breakpoint(struct ledger *ledger, const struct core *core, uint64_t pc, bool *found,
                                  const struct deadline *deadline, struct error *error)
{
    struct address code = core_word(core, pc);
    uint64_t words[COMPARATOR_WORDS], at, instruction;
    struct setting on = core_comparators_on(core);
    *found = false;
    if (!ledger_read(ledger, on.at, words, deadline, error))
        return false;
    bool act = (words[0] & on.test) == on.set;
    for (unsigned i = 0; act && !*found && i < core->comparators; i++) {
        if (!ledger_read(ledger, core_comparator(core, i, 0), words, deadline, error))
            return false;
        *found = core_comparator_used(core, words, &at) && at == core_code_place(pc);
    }
    code.size = 2;
    if (*found)
        return true;
    if (!ledger_read(ledger, code, &instruction, deadline, error))
        return false;
    *found = instruction_of(ISA_THUMB, (uint16_t)instruction, 0).kind == GOES_BREAKPOINT;
    return true;
}

bool handler_stop_check(struct ledger *ledger, const struct core *core, uint64_t pc, uint64_t status,
                        bool *is, const struct deadline *deadline, struct error *error)
{
    bool found = false;
    struct error unread = {0};
    *is = (core->quirks & HALTS_IN_HANDLER) != 0 && (status & IPSR) != 0;
    if (!*is)
        return true;
    if (!stops_find_breakpoint(ledger, core, pc, &found, deadline, &unread)) {
        *is = false; /* an unseen breakpoint may be another debugger's */
        return error_is_refusal(&unread) || error_copy(error, &unread);
    }
    *is = !found;
    return true;
}

/* --- processes ------------------------------------------------------------------------------------------ */

void process_note(const struct process *process, char *note, size_t size)
{
    char text[64] = "";
    if (process->which == PROCESS_ID)
        snprintf(text, sizeof text, "only where CONTEXTIDR is 0x%" PRIX32, process->id);
    text_join(note, size, "; ", process->which == PROCESS_ANY ? "in any process" : text);
}

bool process_check(const struct process *process, const struct core *core, struct error *error)
{
    if (process->which == PROCESS_NOT_SAID || core->processes)
        return true;
    if (core_has(core, SYSTEM_SPACE))
        return error_set(error, ERROR_USAGE, "--context: a Cortex-M has no CONTEXTIDR");
    return error_set(error, ERROR_USAGE, "--context: %s has no MMU", core->name);
}

bool process_check_debugged(const struct process *process, struct error *error)
{
    return process->which == PROCESS_NOT_SAID ||
           error_set(error, ERROR_USAGE, "--context: a debugger's breakpoints match in any context");
}
