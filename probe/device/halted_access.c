/* SPDX-License-Identifier: MIT */
#include "device/halted_access.h"

#include "device/run.h"
#include "device/settings.h"

#include <stdlib.h>

enum { ROOM = 1024, RESTORE_MS = 500, TRIES = 4 };
enum { STATE_MS = 2000, STATE_NAP_US = 2000 };

struct halted_access {
    struct link link;      /* the ledger's, from here on */
    struct ledger *above;  /* the ledger, */
    struct ledger *ledger; /* and how the accesses themselves are made: through the link that it had before */
    const struct core *core;
    bool alone; /* the core is in no debugger's hands: a halt that we did not ask for is foreign */
    bool stood; /* another debugger had halted the core */
    uint64_t stood_at;
    bool begun;                                  /* the core must be let go again */
    bool halted;                                 /* as far as we know */
    bool asked;                                  /* we have halted it, or may have */
    bool asking;                                 /* it may not know that it is halted */
    bool caught;                                 /* our catch of resets has halted it */
    bool was_reset;                              /* after we halted it */
    bool reset_while_it_ran, reset_while_halted; /* seen, but not reported yet */
    bool stays;         /* left halted: after a reset it has values of the program from before */
    bool undoing;       /* registers are only restored */
    bool cut;           /* a value of a register may wait in the transfer register, which is to be empty */
    uint64_t status;    /* as found when it began */
    uint64_t halted_as; /* the status since then */
    uint64_t found;     /* before anything was set */
    struct step items[ROOM];
    uint64_t results[ROOM];
    struct steps list;
    size_t done;
};

static const char while_halted[] = "the core was reset while it was halted for its counters";

static void new_list(struct halted_access *self)
{
    self->list = (struct steps){.items = self->items, .room = ROOM};
    self->done = 0;
}

/* Reading the cause clears it. */
static bool access_look_for_reset(struct halted_access *self, bool *seen, const struct deadline *deadline,
                                  struct error *error)
{
    uint64_t cause = 0;
    *seen = false;
    if (self->alone && !ledger_read(self->ledger, core_reset_register(self->core), &cause, deadline, error))
        return false;
    *seen = self->alone && core_reset_seen(self->core, cause);
    return true;
}

/* Reports why a list does not go on. An instruction that a reset cut off never ends, its operand stays. */
static bool access_refuse(struct halted_access *self, enum why why, const struct deadline *deadline,
                          struct error *error)
{
    struct deadline soon = deadline_in_ms(patience_ms(RESTORE_MS), NULL);
    struct error ignored = {0};
    bool seen;
    if (access_look_for_reset(self, &seen, &soon, &ignored) && seen) {
        self->was_reset = self->reset_while_halted = true;
        return error_set(error, ERROR_RESET, "%s", while_halted);
    }
    /* The reset was before the halt: DBGDTRRX still holds a word that was meant for the program then */
    if (why == UNEXPECTED && self->reset_while_it_ran)
        return error_reset(error);
    struct loan loan;
    if (why == UNEXPECTED && !steps_loan(self->items, self->list.n, self->done, &loan))
        return error_advise(error, ERROR_NO_COUNTER, run_end_the_other,
                            "another debugger's message waits in DBGDTRRX");
    if (why == UNEXPECTED)
        return error_set(error, ERROR_FAULT, "the core refuses an instruction in Debug state");
    return error_set(error, deadline_cancelled(deadline) ? ERROR_CANCELLED : ERROR_ASLEEP,
                     "the core does not execute instructions in Debug state");
}

static bool access_run(struct halted_access *self, const struct deadline *deadline, struct error *error)
{
    struct error why = {0};
    struct outcome outcome = run_steps(self->ledger, &self->list, self->done, self->results, deadline, &why);
    self->done = outcome.done;
    self->cut = self->cut || outcome.why != DONE;
    if (outcome.why == UNEXPECTED || outcome.why == NOT_YET || outcome.why == TARGET_WAIT)
        return access_refuse(self, outcome.why, deadline, error);
    return outcome.why == DONE || error_copy(error, &why);
}

static bool access_is_halted(const struct halted_access *self, uint64_t status)
{
    return core_state_of(self->core, status) == CORE_HALTED && !core_has_not_left(self->core, status);
}

static bool access_read_status(struct halted_access *self, uint64_t *status, const struct deadline *deadline,
                               struct error *error)
{
    return ledger_read(self->ledger, core_status_register(self->core), status, deadline, error);
}

/* Restores what an access that ended in the middle has borrowed. Can be called again after a failure. */
static bool access_give_back(struct halted_access *self, const struct deadline *deadline, struct error *error)
{
    bool was_reset = self->was_reset;
    bool gave = run_settle(self->ledger, self->core, &self->list, &self->done, self->results,
                           self->alone ? &was_reset : NULL, deadline, error);
    self->reset_while_halted = self->reset_while_halted || (was_reset && !self->was_reset);
    self->was_reset = was_reset;
    if (gave)
        new_list(self);
    return gave;
}

/* Checks for a reset before it halts the core, to distinguish it from a reset after that. */
static bool access_begin(struct halted_access *self, uint64_t *status, const struct deadline *deadline,
                         struct error *error)
{
    bool seen;
    if (!access_look_for_reset(self, &seen, deadline, error))
        return false;
    self->reset_while_it_ran = self->reset_while_it_ran || seen;
    if (!access_read_status(self, status, deadline, error))
        return false;
    self->caught = seen && access_is_halted(self, *status);
    self->stood = self->alone && !seen && access_is_halted(self, *status);
    self->was_reset = false;
    self->status = *status;
    self->begun = true;
    return true;
}

static bool halted_access_enter(struct halted_access *self, const struct deadline *deadline,
                                struct error *error)
{
    uint64_t status;
    if (!access_give_back(self, deadline, error))
        return false;
    if (self->halted)
        return true;
    if (!(self->begun ? access_read_status : access_begin)(self, &status, deadline, error))
        return false;
    if (!access_is_halted(self, status) || self->asking) {
        self->asked = self->asking = true;
        core_add_halt(self->core, &self->list);
        size_t at = steps_add(&self->list, step_read(core_status_register(self->core)));
        if (!access_run(self, deadline, error))
            return false;
        self->asking = false;
        status = self->results[at];
    }
    self->halted = true;
    self->halted_as = status;
    new_list(self);
    return true;
}

/* Where the status shows the old halt for a moment, this would be taken for the next. */
static bool await_left(struct halted_access *self, const struct deadline *deadline, struct error *error)
{
    uint64_t status;
    do {
        if (!access_read_status(self, &status, deadline, error))
            return false;
    } while (core_has_not_left(self->core, status) && !deadline_passed(deadline));
    return true;
}

/* A core that stopped for another reason just before our request is left to the debugger that waits for the
 * stop. A core that was reset in between stays halted: we gave it values from before the reset, its mode for
 * one. */
static bool access_let_go(struct halted_access *self, const struct deadline *deadline, struct error *error)
{
    new_list(self);
    size_t status = steps_add(&self->list, step_read(core_status_register(self->core)));
    size_t cause = core_add_cause(self->core, &self->list), reset = SIZE_MAX;
    if (self->alone)
        reset = core_add_reset_seen(self->core, &self->list);
    if (!access_run(self, deadline, error))
        return false;
    uint64_t found = self->results[status];
    bool halted = access_is_halted(self, found);
    bool ours = self->asked && core_cause(self->core, self->results[cause], 0) == STOP_REQUEST;
    if (reset != SIZE_MAX && core_reset_seen(self->core, self->results[reset]))
        self->was_reset = self->reset_while_halted = true;
    self->stays = self->stays || (halted && self->was_reset);
    new_list(self);
    if (halted && self->cut && !self->was_reset) {
        core_add_ready(self->core, &self->list);
        (void)core_add_register(self->core, &self->list, CORE_LR);
    }
    /* A request to go on that failed may not have arrived */
    bool again = self->asked && core_has_not_left(self->core, found);
    if (again || (halted && (ours || self->caught) && !self->was_reset))
        core_add_run(self->core, &self->list);
    else if (halted)
        steps_add(&self->list, step_write(core_status_register(self->core),
                                          core_status_to_write(self->core, self->status)));
    if (!access_run(self, deadline, error) || !await_left(self, deadline, error))
        return false;
    self->cut = false;
    return true;
}

static bool access_leave(struct halted_access *self, const struct deadline *deadline, struct error *error)
{
    if (!self->begun)
        return true;
    self->halted = false;
    if (!access_give_back(self, deadline, error) ||
        (self->asking && !halted_access_enter(self, deadline, error)) ||
        !access_let_go(self, deadline, error))
        return false;
    self->halted = false;
    self->begun = self->asked = self->caught = false;
    return true;
}

/* Of a core that is halted. `loads`: the mode counts, which its status does not show. */
static bool look_for_hindrance(struct halted_access *self, bool loads, const char **hindrance,
                               const struct deadline *deadline, struct error *error)
{
    uint64_t state = 0;
    if (loads && core_unreadable(self->core, self->halted_as) == NULL) {
        size_t at = core_add_register(self->core, &self->list, CORE_STATUS);
        if (!access_run(self, deadline, error))
            return false;
        state = core_register_value(self->core, CORE_STATUS, self->results, at);
        new_list(self);
    }
    *hindrance = core_hindrance(self->core, self->halted_as, state);
    return true;
}

/* A program that hinders us now may be in another state soon. */
static bool enter_able(struct halted_access *self, bool loads, const struct deadline *deadline,
                       struct error *error)
{
    struct deadline patience = deadline_slice(deadline, patience_ms(STATE_MS));
    for (;;) {
        const char *hindrance;
        if (!halted_access_enter(self, deadline, error) ||
            !look_for_hindrance(self, loads, &hindrance, deadline, error))
            return false;
        if (hindrance == NULL)
            return true;
        if (!self->asked || deadline_passed(&patience))
            return error_set(error, deadline_cancelled(deadline) ? ERROR_CANCELLED : ERROR_STATE,
                             "the core cannot reach its own registers: %s%s", hindrance,
                             self->asked ? " whenever it is halted" : "");
        if (!access_leave(self, deadline, error))
            return false;
        deadline_nap_us(STATE_NAP_US);
    }
}

static bool do_once(struct halted_access *self, const struct step *accesses, size_t n, uint64_t *results,
                    const struct deadline *deadline, struct error *error)
{
    size_t at[READING_ROOM];
    if (!enter_able(self, accesses[0].at.space == SPACE_MEMORY, deadline, error))
        return false;
    core_add_accesses(self->core, &self->list, self->halted_as, accesses, n, at);
    bool done = access_run(self, deadline, error);
    struct deadline soon = deadline_in_ms(patience_ms(RESTORE_MS), NULL);
    struct error later = {0}; /* the next call tries again */
    for (size_t i = 0; done && i < n; i++)
        results[i] =
            accesses[i].op != OP_READ ? 0 : core_register_value(self->core, CORE_R0, self->results, at[i]);
    self->halted = done;
    if (!done && error->kind != ERROR_LINK_LOST)
        (void)access_give_back(self, &soon, &later);
    return done;
}

/* An access that is repeated on its way may be refused, and not the next time. */
static bool do_accesses(struct halted_access *self, const struct step *accesses, size_t n, uint64_t *results,
                        const struct deadline *deadline, struct error *error)
{
    struct error last = {0};
    for (int i = 0; i < TRIES; i++) {
        error_clear(&last);
        if (do_once(self, accesses, n, results, deadline, &last))
            return true;
        if (last.kind != ERROR_FAULT)
            break;
    }
    return error_copy(error, &last);
}

static bool halted_access_access_one(struct halted_access *self, const struct step *step, uint64_t *result,
                                     const struct deadline *deadline, struct error *error)
{
    *result = 0;
    /* After a reset there is nothing left to restore */
    if (self->stays || (self->begun && self->was_reset))
        return self->undoing || error_set(error, ERROR_RESET, "%s", while_halted);
    return do_accesses(self, step, 1, result, deadline, error);
}

/* --- as a link ------------------------------------------------------------------------------------------ */

static struct outcome access_failed(size_t done, const struct error *error)
{
    return (struct outcome){.why = error->kind == ERROR_LINK_LOST ? LINK_LOST : TARGET_FAULT, .done = done};
}

/* What the link beneath can make, the core runs for. */
static struct outcome execute_beneath(struct halted_access *self, const struct step *steps, size_t n,
                                      uint64_t *results, const struct deadline *deadline, struct error *error)
{
    struct link *link = ledger_link(self->ledger);
    return access_leave(self, deadline, error) ? link->ops->execute(link, steps, n, results, deadline, error)
                                               : access_failed(0, error);
}

static struct outcome access_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                     const struct deadline *deadline, struct error *error)
{
    struct halted_access *self = (struct halted_access *)link;
    for (size_t done = 0, end = 0; done < n; done = end) {
        while (end < n && steps[end].at.space != SPACE_CORE)
            end++;
        if (end > done) {
            struct outcome outcome =
                execute_beneath(self, steps + done, end - done, results + done, deadline, error);
            outcome.done += done;
            if (outcome.why != DONE)
                return outcome;
        } else if (!halted_access_access_one(self, &steps[end], &results[end], deadline, error)) {
            return access_failed(done, error);
        } else {
            end++;
        }
    }
    return (struct outcome){.why = DONE, .done = n};
}

static bool access_release(struct link *link, const struct deadline *deadline, struct error *error)
{
    return access_leave((struct halted_access *)link, deadline, error);
}

struct halted_access *halted_access_new(struct ledger *ledger, const struct core *core)
{
    static const struct link_ops exact = {
        .execute = access_execute, .release = access_release, .exact_faults = true};
    static const struct link_ops other = {.execute = access_execute, .release = access_release};
    struct halted_access *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->link.ops = link_faults_are_exact(ledger_link(ledger)) ? &exact : &other;
    self->above = ledger;
    self->ledger = ledger_beneath(ledger, &self->link);
    self->core = core;
    if (self->ledger == NULL) {
        free(self);
        return NULL;
    }
    return self;
}

void halted_access_free(struct halted_access *halted_access)
{
    if (halted_access != NULL)
        ledger_rejoin(halted_access->above, halted_access->ledger);
    free(halted_access);
}

/* Of a core that was found halted: bits that a debugger relies on, and that our settings do not keep. */
static bool give_status(void *context, const struct deadline *deadline, struct error *error)
{
    struct halted_access *self = context;
    uint64_t status, ignored;
    if (!access_leave(self, deadline, error) || !access_read_status(self, &status, deadline, error))
        return false;
    new_list(self);
    if (access_is_halted(self, status))
        steps_add(&self->list, step_write(core_status_register(self->core), self->found));
    return ledger_run(self->ledger, &self->list, &ignored, deadline, error);
}

bool halted_access_prepare(struct halted_access *self, const struct deadline *deadline, struct error *error)
{
    self->alone = true;
    self->undoing = false;
    return access_read_status(self, &self->found, deadline, error) &&
           (!access_is_halted(self, self->found) ||
            ledger_push_undo(self->ledger, (struct undo_action){self, give_status}, error)) &&
           settings_switch_on_comparators(self->ledger, self->core, deadline, error);
}

static bool halted_access_note_time(struct halted_access *self, unsigned which, uint64_t *us,
                                    const struct deadline *deadline, struct error *error)
{
    new_list(self);
    size_t at = steps_add(&self->list, step_time(which));
    if (!access_run(self, deadline, error))
        return false;
    *us = self->results[at];
    return true;
}

static bool look_where(struct halted_access *self, const struct deadline *deadline, struct error *error)
{
    if (!self->stood)
        return true;
    new_list(self);
    size_t at = core_add_register(self->core, &self->list, CORE_PC);
    if (!access_run(self, deadline, error))
        return false;
    self->stood_at = core_code_place(core_register_value(self->core, CORE_PC, self->results, at));
    return true;
}

bool halted_access_read(struct halted_access *self, const struct reading *reading, uint64_t *values,
                        uint64_t *before_us, uint64_t *after_us, const struct deadline *deadline,
                        struct error *error)
{
    struct step accesses[READING_ROOM];
    for (size_t i = 0; i < reading->n; i++)
        accesses[i] = step_read(reading->counters[i].low);
    return access_leave(self, deadline, error) && halted_access_check_reset(self, error) &&
           halted_access_note_time(self, TIME_BEFORE, before_us, deadline, error) &&
           do_accesses(self, accesses, reading->n, values, deadline, error) &&
           look_where(self, deadline, error) && access_leave(self, deadline, error) &&
           halted_access_note_time(self, TIME_AFTER, after_us, deadline, error) &&
           halted_access_check_reset(self, error);
}

bool halted_access_look(struct halted_access *self, uint64_t address, uint64_t *words, size_t n,
                        const struct deadline *deadline, struct error *error)
{
    for (size_t done = 0; done < n;) {
        struct step accesses[READING_ROOM];
        size_t some = n - done < READING_ROOM ? n - done : READING_ROOM;
        for (size_t i = 0; i < some; i++)
            accesses[i] = step_read(core_word(self->core, address + 4 * (done + i)));
        if (!do_accesses(self, accesses, some, words + done, deadline, error))
            return false;
        done += some;
    }
    return true;
}

bool halted_access_stood(const struct halted_access *self, uint64_t *at)
{
    *at = self->stood_at;
    return self->stood;
}

void halted_access_undo(struct halted_access *halted_access)
{
    halted_access->undoing = true;
}

bool halted_access_check_reset(struct halted_access *self, struct error *error)
{
    bool halted = self->reset_while_halted, ran = self->reset_while_it_ran;
    self->reset_while_halted = self->reset_while_it_ran = false;
    if (halted)
        return error_set(error, ERROR_RESET, "%s", while_halted);
    return !ran || error_reset(error);
}

bool halted_access_check_stays(const struct halted_access *self, struct error *error)
{
    return !self->stays ||
           error_set(error, ERROR_RESET, "%sis left halted: reset it once more",
                     self->reset_while_halted ? "the core was reset while its counters were restored, and "
                                              : "after that the core ");
}

bool halted_access_in_hypervisor(const struct halted_access *self)
{
    return core_in_hypervisor(self->core, self->halted_as);
}
