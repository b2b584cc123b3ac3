/* SPDX-License-Identifier: MIT */
#include "device/run.h"

#include "debuggers/debugger.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    LIST_ROOM = 32,
    SHORT_ROOM = 64,
    READY_ROOM = 8,
    TRIES = 5,
    NAP_US = 2000,
    RESTORE_MS = 1000,
    STUCK_MS = 2000
};

/* --- one list ------------------------------------------------------------------------------------------- */

const char run_end_the_other[] = "Close the other debugger, or reset the target.";

bool run_tell_stuck(struct error *error)
{
    return error_advise(
        error, ERROR_ASLEEP, run_end_the_other,
        "the halted core executes no instruction: another debugger may use its transfer registers");
}

struct run_piece run_begin(size_t from)
{
    return (struct run_piece){.outcome.done = from, .went_on_us = deadline_now_us()};
}

bool run_awaits_halt(const struct steps *list, const struct run_piece *piece)
{
    return piece->outcome.done < list->n && list->items[piece->outcome.done].mark == MARK_AWAITS_HALT;
}

bool run_is_stuck(const struct run_piece *piece)
{
    return deadline_now_us() - piece->went_on_us > patience_ms(STUCK_MS) * 1000;
}

void run_next(struct ledger *ledger, const struct steps *list, uint64_t *results,
              const struct deadline *deadline, struct run_piece *piece)
{
    piece->from = piece->outcome.done;
    error_clear(&piece->refused);
    piece->outcome = ledger_execute(ledger, list, piece->from, results, deadline, &piece->refused);
    if (piece->outcome.done > piece->from || run_awaits_halt(list, piece))
        piece->went_on_us = deadline_now_us();
}

struct outcome run_steps(struct ledger *ledger, const struct steps *list, size_t from, uint64_t *results,
                         const struct deadline *deadline, struct error *refused)
{
    struct run_piece piece = run_begin(from);
    for (;;) {
        run_next(ledger, list, results, deadline, &piece);
        bool waits = piece.outcome.why == NOT_YET || piece.outcome.why == TARGET_WAIT;
        if (!waits || deadline_passed(deadline) || run_is_stuck(&piece))
            break;
        if (piece.outcome.why == TARGET_WAIT)
            deadline_nap_us(NAP_US);
    }
    error_replace(refused, &piece.refused);
    return piece.outcome;
}

/* --- what it has borrowed ------------------------------------------------------------------------------- */

/* Whether the program is still there that a loan belongs to. *marked: a register of it is not given back yet,
 * as far as the core's mark shows. */
static bool run_is_there(struct ledger *ledger, const struct core *core, bool *there, bool *marked,
                         bool *was_reset, const struct deadline *deadline, struct error *error)
{
    uint64_t status, cause, mark = core_borrowed_mark(core);
    if (!ledger_read(ledger, core_status_register(core), &status, deadline, error))
        return false;
    if (was_reset != NULL && core->resets == RESETS_NOTICED) {
        if (!ledger_read(ledger, core_reset_register(core), &cause, deadline, error))
            return false;
        *was_reset = *was_reset || core_reset_seen(core, cause);
    }
    *there = (was_reset == NULL || !*was_reset) && core_state_of(core, status) == CORE_HALTED;
    *marked = mark == 0 || (status & mark) != 0;
    return true;
}

/* Makes the core ready for the first step of giving back, number `from` of the list. The wait in front of it
 * is made by itself: in the list it belongs to another loan. */
static bool make_ready(struct ledger *ledger, const struct core *core, const struct steps *whole, size_t from,
                       const struct deadline *deadline, struct error *refused)
{
    struct step items[READY_ROOM];
    uint64_t results[READY_ROOM];
    struct steps list = {.items = items, .room = READY_ROOM};
    if (from > 0 && whole->items[from - 1].op == OP_UNTIL)
        steps_add(&list, whole->items[from - 1]);
    core_add_recover_instruction(core, &list, &whole->items[from]);
    return list.n == 0 || run_steps(ledger, &list, 0, results, deadline, refused).why == DONE;
}

static bool tell_unsettled(const struct error *refused, struct error *error)
{
    return error_set(error, refused->kind != ERROR_NONE ? refused->kind : ERROR_ASLEEP,
                     "could not restore the registers that were borrowed: %s", refused->text);
}

bool run_clear_mark(struct ledger *ledger, const struct core *core, const struct deadline *deadline,
                    struct error *error)
{
    struct address at = core_status_register(core);
    struct error unread = {0};
    uint64_t status = 0, mark = core_borrowed_mark(core), ignored;
    if (mark == 0 || !ledger_read(ledger, at, &status, deadline, &unread) || (status & mark) == 0)
        return true;
    struct step step = step_write(at, status & ~mark);
    struct steps list = {.items = &step, .n = 1, .room = 1};
    return ledger_allow(ledger, at, error) && ledger_run(ledger, &list, &ignored, deadline, error);
}

/* A server whose client is gone lets the core run with the registers that it had found. */
static bool gave_back_itself(struct ledger *ledger)
{
    const struct debugger *debugger = link_debugger(ledger_link(ledger));
    return debugger != NULL && debugger->halted_anew;
}

static bool settle_loans(struct ledger *ledger, const struct core *core, const struct steps *list,
                         size_t *done, uint64_t *results, bool *was_reset, const struct deadline *deadline,
                         struct error *error)
{
    struct error refused = {0};
    struct steps part = *list;
    struct loan loan;
    for (int i = 0; i < TRIES && steps_loan_or_next(list->items, list->n, *done, &loan); i++) {
        struct loan open;
        bool there, marked, is_open = steps_loan(list->items, list->n, *done, &open);
        if (i > 0)
            deadline_nap_us(NAP_US);
        if (!run_is_there(ledger, core, &there, &marked, was_reset, deadline, &refused))
            return tell_unsettled(&refused, error);
        there = there && !gave_back_itself(ledger);
        /* Without the mark the registers are given back, though the answer was lost, or not yet changed. With
         * it the list reached the next loan, and that answer was lost. */
        if (there && !marked && is_open && loan.since != SIZE_MAX)
            there = steps_loan(list->items, list->n, loan.since, &loan);
        if (!there || (!is_open && !marked)) {
            *done = is_open ? list->n : *done;
            return there || run_clear_mark(ledger, core, deadline, error);
        }
        if (!make_ready(ledger, core, list, loan.from, deadline, &refused))
            continue;
        part.n = loan.end;
        size_t came = run_steps(ledger, &part, loan.from, results, deadline, &refused).done;
        *done = came > loan.from ? came : *done;
    }
    return !steps_loan(list->items, list->n, *done, &loan) || tell_unsettled(&refused, error);
}

/* A register's value may wait in the transfer register, and the program would find it full. To read another
 * one, which borrows nothing, empties it. */
static void empty_channel(struct ledger *ledger, const struct core *core, const struct deadline *deadline)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM], status;
    struct steps list = {.items = items, .room = LIST_ROOM};
    struct error ignored = {0};
    if (!core_has(core, BORROWS_REGISTERS) ||
        !ledger_read(ledger, core_status_register(core), &status, deadline, &ignored) ||
        core_state_of(core, status) != CORE_HALTED)
        return;
    core_add_ready(core, &list);
    core_add_register(core, &list, CORE_LR);
    (void)run_steps(ledger, &list, 0, results, deadline, &ignored);
}

/* A list that a reset cut short went on while the new program ran: its reads found nothing, which sets an
 * error, and a word for a register waits for the program. The core takes that while its PC is read, for which
 * it is halted. */
static void clear_after_reset(struct ledger *ledger, const struct core *core, const struct deadline *deadline)
{
    struct step items[SHORT_ROOM];
    uint64_t results[SHORT_ROOM], status;
    struct steps list = {.items = items, .room = SHORT_ROOM};
    struct error ignored = {0};
    bool given;
    if (!core_has(core, BORROWS_REGISTERS) ||
        !ledger_read(ledger, core_status_register(core), &status, deadline, &ignored) ||
        core_state_of(core, status) == CORE_HIDDEN || !core_channel_used(core, status, &given))
        return;
    bool runs = core_state_of(core, status) != CORE_HALTED;
    core_add_empty_channel(core, &list);
    if (given && runs)
        core_add_halt(core, &list);
    if (given) {
        core_add_ready(core, &list);
        core_add_register(core, &list, CORE_PC);
    }
    size_t done = run_steps(ledger, &list, 0, results, deadline, &ignored).done;
    (void)settle_loans(ledger, core, &list, &done, results, NULL, deadline, &ignored);
    if (given && runs)
        (void)run_add(ledger, core, core_add_run, deadline, &ignored);
}

bool run_settle(struct ledger *ledger, const struct core *core, const struct steps *list, size_t *done,
                uint64_t *results, bool *was_reset, const struct deadline *deadline, struct error *error)
{
    struct debugger *debugger = link_debugger(ledger_link(ledger));
    bool cut = *done < list->n;
    if (!settle_loans(ledger, core, list, done, results, was_reset, deadline, error))
        return false;
    if (gave_back_itself(ledger) && !run_clear_mark(ledger, core, deadline, error))
        return false;
    if (debugger != NULL)
        debugger->halted_anew = false;
    ledger_note_given(ledger);
    if (cut && was_reset != NULL && *was_reset)
        clear_after_reset(ledger, core, deadline);
    return true;
}

bool run_end_loans(struct ledger *ledger, const struct core *core, const struct deadline *deadline,
                   struct error *error)
{
    struct error unread = {0};
    uint64_t status;
    if (core_borrowed_mark(core) == 0 || link_debugger(ledger_link(ledger)) == NULL)
        return true;
    /* A connection that was lost shows, and is made again, at the next access. */
    (void)ledger_read(ledger, core_status_register(core), &status, deadline, &unread);
    return !gave_back_itself(ledger) || run_clear_mark(ledger, core, deadline, error);
}

/* For a list that has borrowed nothing: settling it did not ask. */
static bool run_look_for_reset(struct ledger *ledger, const struct core *core,
                               const struct deadline *deadline)
{
    struct error ignored = {0};
    bool there, marked, was_reset = false;
    if (!core_has(core, BORROWS_REGISTERS) || core->resets != RESETS_NOTICED ||
        !run_is_there(ledger, core, &there, &marked, &was_reset, deadline, &ignored) || !was_reset)
        return false;
    clear_after_reset(ledger, core, deadline);
    return true;
}

bool run_list(struct ledger *ledger, const struct core *core, const struct steps *list, uint64_t *results,
              const struct deadline *deadline, struct error *error)
{
    struct error refused = {0}, why = {0};
    struct deadline last;
    bool was_reset = false;
    struct outcome outcome = run_steps(ledger, list, 0, results, deadline, &refused);
    if (outcome.why == DONE)
        return true;
    last = deadline_in_ms(patience_ms(RESTORE_MS), NULL);
    if (!run_settle(ledger, core, list, &outcome.done, results, &was_reset, &last, &why))
        return error_copy(error, &why);
    was_reset = was_reset || run_look_for_reset(ledger, core, &last);
    if (was_reset)
        return error_reset(error);
    empty_channel(ledger, core, &last);
    if (deadline_cancelled(deadline))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    if (refused.kind != ERROR_NONE)
        return error_copy(error, &refused);
    if (outcome.why == NOT_YET && !deadline_passed(deadline))
        return run_tell_stuck(error);
    return error_set(error, ERROR_ASLEEP, "the halted core does not answer");
}

/* --- short lists ---------------------------------------------------------------------------------------- */

bool run_add(struct ledger *ledger, const struct core *core, void (*add)(const struct core *, struct steps *),
             const struct deadline *deadline, struct error *error)
{
    struct step items[SHORT_ROOM];
    uint64_t results[SHORT_ROOM];
    struct steps list = {.items = items, .room = SHORT_ROOM};
    add(core, &list);
    return ledger_run(ledger, &list, results, deadline, error);
}

bool run_read_register(struct ledger *ledger, const struct core *core, enum core_register which,
                       uint64_t *out, const struct deadline *deadline, struct error *error)
{
    struct step items[SHORT_ROOM];
    uint64_t results[SHORT_ROOM];
    struct steps list = {.items = items, .room = SHORT_ROOM};
    size_t at = core_add_register(core, &list, which);
    if (!run_list(ledger, core, &list, results, deadline, error))
        return false;
    *out = core_register_value(core, which, results, at);
    return true;
}

bool run_look(struct ledger *ledger, const struct core *core, const struct steps *list, uint64_t *results,
              const struct deadline *deadline, struct error *error)
{
    enum { AT_ONCE = 8, ROOM = 512 };
    uint64_t status, state = 0;
    if (!ledger_read(ledger, core_status_register(core), &status, deadline, error) ||
        (core_unreadable(core, status) == NULL &&
         !run_read_register(ledger, core, CORE_STATUS, &state, deadline, error)))
        return false;
    const char *hindrance = core_hindrance(core, status, state);
    if (hindrance != NULL)
        return error_set(error, ERROR_STATE, "the core cannot show its memory: %s", hindrance);
    for (size_t done = 0, some; done < list->n; done += some) {
        struct step items[ROOM];
        uint64_t values[ROOM];
        size_t at[AT_ONCE];
        struct steps reads = {.items = items, .room = ROOM};
        some = list->n - done < AT_ONCE ? list->n - done : AT_ONCE;
        core_add_accesses(core, &reads, status, list->items + done, some, at);
        if (!run_list(ledger, core, &reads, values, deadline, error))
            return false;
        for (size_t i = 0; i < some; i++)
            results[done + i] = core_register_value(core, CORE_R0, values, at[i]);
    }
    return true;
}

bool run_allow(struct ledger *ledger, const struct steps *list, struct error *error)
{
    for (size_t i = 0; i < list->n; i++)
        if (!ledger_allow(ledger, list->items[i].at, error))
            return false;
    return true;
}

bool run_allow_commands(struct ledger *ledger, const struct core *core, struct error *error)
{
    struct address commands[SHORT_ROOM];
    size_t n = core_commands(core, commands, SHORT_ROOM);
    for (size_t i = 0; i < n; i++)
        if (!ledger_allow(ledger, commands[i], error))
            return false;
    return true;
}

bool run_code_changed(struct ledger *ledger, const struct core *core, uint64_t address,
                      const struct deadline *deadline, struct error *error)
{
    struct step items[SHORT_ROOM];
    uint64_t results[SHORT_ROOM];
    struct steps list = {.items = items, .room = SHORT_ROOM};
    core_add_code_changed(core, &list, address);
    return list.n == 0 ||
           (run_allow(ledger, &list, error) && ledger_run(ledger, &list, results, deadline, error));
}

/* ---- own breakpoint */

enum { OWN_BREAKPOINT_LIST_ROOM = 8, SEGMENTS = 32 };

/* Whether the file has this instruction there; without a file it is not known. */
static bool file_has(struct symbols *symbols, uint64_t pc, const struct breakpoint_code *code)
{
    struct segment segments[SEGMENTS];
    size_t n = symbols != NULL ? symbols_code(symbols, segments, SEGMENTS) : 0;
    for (size_t i = 0; i < n && i < SEGMENTS; i++) {
        const struct segment *segment = &segments[i];
        uint64_t at = pc - segment->address;
        uint32_t in_file = 0;
        if (pc < segment->address || segment->size < code->size || at > segment->size - code->size)
            continue;
        for (size_t k = 0; k < code->size; k++)
            in_file |= (uint32_t)segment->bytes[at + k] << 8 * k;
        return in_file == code->code;
    }
    return false;
}

struct own_breakpoint own_breakpoint_at(struct ledger *ledger, const struct core *core,
                                        struct symbols *symbols, uint64_t pc, const struct deadline *deadline)
{
    struct own_breakpoint own = {0};
    struct error unread = {0};
    uint64_t word;
    pc = core_code_place(pc);
    if (!ledger_read(ledger, core_word(core, pc & ~UINT64_C(3)), &word, deadline, &unread) ||
        !core_breakpoint_code(core, pc, (uint32_t)word, &own.code))
        return (struct own_breakpoint){0};
    own.is_own = symbols != NULL ? file_has(symbols, pc, &own.code) : own.code.is_semihosting;
    own.is_call = own.is_own && own.code.is_semihosting && core_can_skip(core);
    return own;
}

bool own_breakpoint_is_by_us(const struct ledger *ledger, const struct core *core)
{
    uint64_t before;
    return core_has_run_control(core) && ledger_old(ledger, core_debug_enable(core), &before) &&
           (before & core->ops->breakpoints->debug_on) == 0;
}

bool own_breakpoint_skip(struct ledger *ledger, const struct core *core, uint64_t pc,
                         const struct deadline *deadline, struct error *error)
{
    struct step items[OWN_BREAKPOINT_LIST_ROOM];
    uint64_t results[OWN_BREAKPOINT_LIST_ROOM];
    struct steps list = {.items = items, .room = OWN_BREAKPOINT_LIST_ROOM};
    core_add_skip(core, &list, pc);
    return run_allow(ledger, &list, error) && ledger_run(ledger, &list, results, deadline, error);
}

void own_breakpoint_describe(const struct own_breakpoint *own, char *out, size_t size)
{
    if (own->is_comparator)
        snprintf(out, size, "the program's own %s %u, 0x%08" PRIX64 ")", own->comparator, own->number,
                 own->place);
    else
        snprintf(out, size, "the program's own %s 0x%02X%s", own->code.name, own->code.number,
                 own->code.is_semihosting ? ", a semihosting call," : "");
}
