#include "engine/stops.h"

#include "base/values.h"
#include "code/instruction.h"
#include "cores/architectures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
