#include "engine/call.h"

#include "base/values.h"
#include "code/instruction.h"
#include "cores/architectures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- where a call ends ---------------------------------------------------------------------------------- */

static bool check_exits(const struct region *region, struct error *error)
{
    if (region->n_exits == 0)
        return error_set(
            error, ERROR_STATE,
            "this is an exception handler, and no instruction that returns from it is known: name an "
            "end, as the address of its last instruction");
    if (region->n_exits > REGION_EXITS)
        return error_set(error, ERROR_STATE,
                         "this is an exception handler that returns at more than %d places: name an end",
                         REGION_EXITS);
    return true;
}

bool frame_is_on_stack(const struct core *core)
{
    return core_has(core, PROGRAM_ONLY);
}

static struct return_place frame_exit(const struct frame *frame, const struct core *core,
                                      const struct region *region, size_t i)
{
    const struct exit_place *exit = &region->exits[i];
    return (struct return_place){.pc = core_code(core, exit->at, true),
                                 .sp = (frame->sp - UINT64_C(4) * exit->popped) & UINT32_MAX};
}

/* A call that is the last instruction of its function returns to whatever code happens to follow. */
static bool check_return(const struct frame *frame, const struct core *core, const struct region *region,
                         struct error *error)
{
    const char *why = core_no_return(core, frame->lr);
    uint64_t to = core_place(core, frame->end.pc);
    if (why != NULL)
        return error_set(error, ERROR_STATE, "it is not known where this call returns: %s. Name an end, too",
                         why);
    if (region->is_return == NULL || region->is_return(region->context, to))
        return true;
    return error_set(error, ERROR_STATE,
                     "the call that returns to 0x%08" PRIX64
                     " is the last instruction of its caller: it is not meant to return. Name an end, too",
                     to);
}

bool frame_find_end(struct frame *frame, const struct core *core, const struct region *region,
                    const uint64_t *words, bool *inner, struct error *error)
{
    bool on_stack = frame_is_on_stack(core);
    *inner = false;
    frame->is_handler = !on_stack && core_returns_by_frame(core, frame->lr);
    if (frame->is_handler) {
        if (!check_exits(region, error))
            return false;
        frame->end = frame_exit(frame, core, region, 0);
        return true;
    }
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
           error_set(error, ERROR_STATE,
                     "0x%08" PRIX64
                     " was entered by an exception (%s mode), so that LR does not say where it "
                     "returns: name an end, as the address of its last instruction",
                     core_code_place(function), mode);
}

static bool check_entry(struct call *call, const struct call_access *access, struct error *error)
{
    uint64_t status = 0;
    if (core_has_exception_modes(call_core_of(access)) && !call->entry_checked &&
        (!access->read(access->context, CORE_STATUS, &status, error) ||
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

bool call_begin(struct call *call, const struct call_access *access, struct error *error)
{
    bool can = true;
    *call = (struct call){.frame = call->frame};
    watch_writers(call, access);
    for (unsigned i = 0; i < call->others.n; i++) {
        if (!access->can_stop(access->context, i, call->others.items[i].at, &can, error))
            return false;
        if (!can)
            return error_set(error, ERROR_WRITER_SOUGHT,
                             "the program itself can change the counter in a hit: %s, and too few breakpoint "
                             "comparators are free to see whether it does",
                             access->region->writers[i].what);
    }
    return true;
}

static bool call_find_caller(struct call *call, const struct call_access *access, struct error *error)
{
    uint64_t caller = UINT64_MAX;
    bool can = false;
    if (call->caller_known && call->caller_lr == call->frame.lr)
        return true;
    watch_writers(call, access);
    call->caller_known = false;
    if (access->region->may_be_left && !entry_call(access, call->frame.lr, &caller, error))
        return false;
    if (caller != UINT64_MAX && !access->can_stop(access->context, call->others.n, caller, &can, error))
        return false;
    if (can)
        others_add(&call->others, caller, OTHER_CALL, 0);
    call->caller_known = true;
    call->caller_lr = call->frame.lr;
    return true;
}

/* A handler ends at its own return: it may return to another handler or to another task. */
static bool find_exits(struct call *call, const struct call_access *access, struct error *error)
{
    const struct region *region = access->region;
    bool can;
    call->caller_known = false;
    watch_writers(call, access);
    for (size_t i = 1; i < region->n_exits; i++) {
        uint64_t at = frame_exit(&call->frame, call_core_of(access), region, i).pc;
        if (!access->can_stop(access->context, call->others.n, at, &can, error))
            return false;
        if (!can)
            return error_set(error, ERROR_NO_COMPARATOR,
                             "the handler returns at %zu places, but only %zu of them can get a breakpoint "
                             "comparator: name an end",
                             region->n_exits, i);
        others_add(&call->others, at, OTHER_EXIT, i);
    }
    return true;
}

bool call_enter(struct call *call, const struct call_access *access, const uint64_t *words, bool *inner,
                struct error *error)
{
    const struct core *core = call_core_of(access);
    *inner = false;
    if (!check_entry(call, access, error) ||
        !frame_find_end(&call->frame, core, access->region, words, inner, error))
        return false;
    if (*inner || frame_is_on_stack(core))
        return true;
    return (call->frame.is_handler ? find_exits : call_find_caller)(call, access, error);
}

void call_forget_exit(struct call *call, const struct core *core, const struct region *region)
{
    if (call->took_other_exit)
        call->frame.end = frame_exit(&call->frame, core, region, 0);
    call->took_other_exit = false;
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
    case OTHER_EXIT:
        if (region->exits[other->which].conditional &&
            !access->read(access->context, CORE_STATUS, &value, error))
            return false;
        call->frame.end = frame_exit(&call->frame, call_core_of(access), region, other->which);
        call->took_other_exit = true;
        *what = !region->exits[other->which].conditional || cortex_m_condition_holds(value) ? CALL_ENDS
                                                                                            : CALL_STAYS_HERE;
        break;
    }
    return true;
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

bool progress_is_late(const struct progress *progress, const struct engine_request *request)
{
    return progress->went_us > request->timeout_ms * 1000;
}

bool progress_tell(const struct progress *progress, const struct engine_request *request,
                   const struct core *core, const struct raw_hit *hit, uint64_t to, struct error *error)
{
    double seconds = (double)request->timeout_ms / 1000;
    char past[96] = "", lost[96] = "";
    if (hit != NULL && hit->past > 0)
        snprintf(past, sizeof past, "; the core stopped %" PRIu64 " time%s there in another frame", hit->past,
                 PLURAL(hit->past));
    if (progress->lost > 0)
        snprintf(lost, sizeof lost, "; %" PRIu64 " call%s left without returning", progress->lost,
                 progress->lost == 1 ? " was" : "s in a row were");
    if (hit != NULL || progress->lost > 0)
        return error_set(error, ERROR_END, "the end was not reached within %.3g s of the start%s%s%s",
                         seconds, past, lost, core_may_be_unseen(core));
    if (progress->inner == 0)
        return error_set(error, ERROR_START, "the start was not reached within %.3g s%s", seconds,
                         core_may_be_unseen(core));
    return error_set(error, ERROR_START,
                     "the start was reached %" PRIu64
                     " times within %.3g s, each time with a return address inside the function itself "
                     "(0x%08" PRIX64 "): name an end, too",
                     progress->inner, seconds, core_place(core, to));
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
        return error_set(error, ERROR_RESET, "the target was reset");
    return error_set(error, ERROR_FOREIGN_STOP, "stopped by %s at 0x%08" PRIX64,
                     who != NULL ? who : causes[cause], engine->stopped_at);
}

enum { IPSR = 0x1FF }; /* DDI 0403 B1.4.2 */

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
        return unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP || error_copy(error, &unread);
    }
    *is = !found;
    return true;
}

/* --- processes ------------------------------------------------------------------------------------------ */

void process_note(const struct process *process, char *note, size_t size)
{
    size_t used = strlen(note);
    const char *comma = used > 0 ? "; " : "";
    if (process->which == PROCESS_ID)
        snprintf(note + used, size - used, "%sonly where CONTEXTIDR is 0x%" PRIX32, comma, process->id);
    else if (process->which == PROCESS_ANY)
        snprintf(note + used, size - used, "%sin any process", comma);
}

bool process_check(const struct process *process, const struct core *core, struct error *error)
{
    if (process->which == PROCESS_NOT_SAID || core->processes)
        return true;
    if (core_has(core, SYSTEM_SPACE))
        return error_set(error, ERROR_USAGE, "--context: a Cortex-M has no CONTEXTIDR");
    return error_set(error, ERROR_USAGE, "--context: %s has no MMU: an address is always the same code",
                     core->name);
}

bool process_check_debugged(const struct process *process, struct error *error)
{
    return process->which == PROCESS_NOT_SAID ||
           error_set(error, ERROR_USAGE,
                     "--context: a debugger halts the core here, and its breakpoints match in any context");
}
