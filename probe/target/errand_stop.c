#include "target/errand_parts.h"

#include <unistd.h>

enum { STATE_MS = 2000, NAP_US = 2000 };

/* --- stopping, and going on ----------------------------------------------------------------------------- */

bool errand_read_status(struct errand *self, uint64_t *status, bool *halted, const struct deadline *deadline,
                        struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    if (!ledger_read(self->target->ledger, ops->status(self->core), status, deadline, error))
        return false;
    *halted = ops->state(self->core, *status) == CORE_HALTED;
    return true;
}

static bool halt(struct errand *self, enum stop_cause *cause, const struct deadline *deadline,
                 struct error *error)
{
    errand_list_new(&self->work);
    self->core->ops->add_halt(self->core, &self->work.list);
    size_t at = self->core->ops->add_cause(self->core, &self->work.list);
    if (!errand_list_run(&self->work, deadline, error))
        return false;
    *cause = self->core->ops->cause(self->core, self->work.results[at], 0);
    return true;
}

/* Since this was asked last. */
static bool look_for_reset(struct errand *self, bool *seen, const struct deadline *deadline,
                           struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    errand_list_new(&self->work);
    size_t at = ops->add_reset_seen(self->core, &self->work.list);
    if (!errand_list_run(&self->work, deadline, error))
        return false;
    *seen = ops->reset_seen(self->core, self->work.results[at]);
    return true;
}

bool errand_make_sure_halted(struct errand *self, const struct deadline *deadline, struct error *error)
{
    uint64_t status;
    bool halted, seen;
    enum stop_cause cause;
    if (!look_for_reset(self, &seen, deadline, error))
        return false;
    self->was_reset = self->was_reset || seen;
    return errand_read_status(self, &status, &halted, deadline, error) &&
           (halted || self->was_reset || halt(self, &cause, deadline, error));
}

void errand_add_guard(struct errand *self, uint64_t value)
{
    steps_add(&self->work.list, step_write(self->kind->guard(self->core), value));
}

static bool let_go(void *context, const struct deadline *deadline, struct error *error)
{
    struct errand *self = context;
    uint64_t status;
    bool halted, reset;
    if (self->owes_memory || self->owes_registers)
        return error_set(error, ERROR_STATE, "the core stays halted");
    if (!look_for_reset(self, &reset, deadline, error) ||
        !errand_read_status(self, &status, &halted, deadline, error))
        return false;
    self->was_reset = self->was_reset || reset;
    if (self->was_reset) /* and was told to do things since: nobody knows where it would go on */
        return error_set(error, ERROR_RESET, "the core was reset meanwhile%s",
                         halted ? ", and is left halted: reset it again" : "");
    uint64_t guard = self->guard;
    (void)ledger_old(self->target->ledger, self->kind->guard(self->core), &guard);
    errand_list_new(&self->work);
    if (halted && self->was_halted) {
        steps_add(&self->work.list, step_write(self->core->ops->status(self->core), self->as_found));
    } else if (halted) {
        errand_add_guard(self, guard);
        self->core->ops->add_run(self->core, &self->work.list);
    }
    return self->work.list.n == 0 || errand_list_run(&self->work, deadline, error);
}

/* Comparators left over in a unit that is off as a whole must not wake up with it. */
static bool quiet_comparators(struct errand *self, const struct deadline *deadline, struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    struct ledger *ledger = self->target->ledger;
    struct setting on = ops->comparators_on(self->core);
    uint64_t now;
    if (!ledger_read(ledger, on.at, &now, deadline, error))
        return false;
    bool all_off = (now & on.test) != on.set;
    for (unsigned i = 0; all_off && i < self->core->comparators; i++) {
        uint64_t words[COMPARATOR_WORDS], ignored;
        for (unsigned k = 0; k < ops->comparator_words; k++)
            if (!ledger_read(ledger, ops->comparator(self->core, i, k), &words[k], deadline, error))
                return false;
        if (ops->comparator_used(self->core, words, &ignored) &&
            !ledger_write(ledger, ops->comparator(self->core, i, 0), 0, (struct restore){0}, deadline, error))
            return false;
    }
    return ledger_apply(ledger, &on, deadline, error);
}

/* As it was found halted its own settings are the last to be put back. */
static bool prepare(struct errand *self, const struct deadline *deadline, struct error *error)
{
    struct ledger *ledger = self->target->ledger;
    struct ledger_debt debt = {self, let_go};
    bool halted;
    if (self->prepared)
        return self->was_halted || ledger_owe(ledger, debt, error);
    self->was_halted =
        self->target->chosen->state == CORE_HALTED; /* one that was reset since is ours to let go */
    if (!errand_read_status(self, &self->as_found, &halted, deadline, error) ||
        (self->was_halted && !ledger_owe(ledger, debt, error)) || !quiet_comparators(self, deadline, error) ||
        !ledger_hold(ledger, self->kind->guard(self->core), (struct restore){0}, NULL, deadline, error) ||
        !ledger_read(ledger, self->kind->guard(self->core), &self->guard, deadline, error) ||
        (!self->was_halted && !ledger_owe(ledger, debt, error)))
        return false;
    self->prepared = true;
    return true;
}

/* --- registers ------------------------------------------------------------------------------------------ */

static void add_registers(struct errand *self)
{
    const struct errand_kind *kind = self->kind;
    errand_list_begin(&self->work);
    errand_add_guard(self, self->guard);
    if (kind->drain != 0)
        errand_list_add(&self->work, &kind->drain, 1);
    for (size_t i = self->n_others; i-- > 0;) {
        kind->add_constant(self->core, &self->work.list, 0, self->other[i]);
        errand_list_add(&self->work, self->others[i].from_r0, ERRAND_MOVES);
    }
    for (unsigned i = ERRAND_GENERAL; i-- > 0;)
        kind->add_constant(self->core, &self->work.list, i, self->general[i]);
    kind->add_proof(self->core, &self->work.list);
}

static bool give_registers(void *context, const struct deadline *deadline, struct error *error)
{
    struct errand *self = context;
    if (self->owes_memory)
        return error_set(error, ERROR_STATE, "the core's registers serve to put its memory back");
    if (!errand_make_sure_halted(self, deadline, error))
        return false;
    if (!self->was_reset) {
        add_registers(self);
        if (!errand_list_run(&self->work, deadline, error))
            return error_prefix(error, "could not restore the core's registers: ");
    }
    self->owes_registers = false;
    return true;
}

bool errand_take_others(struct errand *self, size_t from, size_t end, uint64_t *values,
                        const struct deadline *deadline, struct error *error)
{
    for (size_t i = from; i < end; i++) {
        errand_list_add(&self->work, self->others[i].to_r0, ERRAND_MOVES);
        errand_list_show(&self->work, 0);
    }
    return errand_list_take(&self->work, values, deadline, error);
}

/* What the faults overwrite is seen from the state that the errand runs in. */
static bool take_faults(struct errand *self, size_t n, const struct deadline *deadline, struct error *error)
{
    uint64_t state = self->kind->state(self->other[ERRAND_STATE]);
    errand_list_begin(&self->work);
    self->kind->add_constant(self->core, &self->work.list, 0, state);
    errand_list_add(&self->work, self->others[ERRAND_STATE].from_r0, ERRAND_MOVES);
    if (!errand_take_others(self, ERRAND_FAULTS, n, self->other + ERRAND_FAULTS, deadline, error))
        return false;
    self->n_others = n;
    return true;
}

/* R0 to R2 first, for the rest is moved through them. */
static bool take_registers(struct errand *self, uint64_t status, const struct deadline *deadline,
                           struct error *error)
{
    errand_list_begin(&self->work);
    for (unsigned i = 0; i < ERRAND_GENERAL; i++)
        errand_list_show(&self->work, i);
    if (!errand_list_take(&self->work, self->general, deadline, error))
        return false;
    self->n_others = 0;
    self->owes_registers = true;
    if (!ledger_owe(self->target->ledger, (struct ledger_debt){self, give_registers}, error))
        return false;
    size_t n = self->kind->others(self->core, status, self->others);
    uint64_t values[ERRAND_FAULTS];
    errand_list_begin(&self->work);
    if (!errand_take_others(self, 0, ERRAND_FAULTS, values, deadline, error))
        return false;
    self->other[ERRAND_STATE] = values[ERRAND_STATE];
    self->other[ERRAND_PC] = self->kind->pc(values[ERRAND_PC], values[ERRAND_STATE]);
    self->n_others = ERRAND_FAULTS;
    return self->kind->hindrance(self->core, status, values[ERRAND_STATE]) != NULL ||
           take_faults(self, n, deadline, error);
}

/* --- the halted core, in a state that serves ------------------------------------------------------------ */

static bool stop_and_take(struct errand *self, const char **hindrance, const struct deadline *deadline,
                          struct error *error)
{
    uint64_t status;
    bool halted, reset;
    enum stop_cause cause = STOP_REQUEST;
    if (!prepare(self, deadline, error) || (!self->was_halted && !halt(self, &cause, deadline, error)) ||
        !look_for_reset(self, &reset, deadline, error) ||
        !errand_read_status(self, &status, &halted, deadline, error))
        return false;
    if (cause != STOP_REQUEST) {
        if (reset)
            return error_set(error, ERROR_RESET, "the core was reset");
        ledger_forgive(self->target->ledger, (struct ledger_debt){self, let_go});
        self->target->leave_halted = true;
        return error_set(error, ERROR_FOREIGN_STOP,
                         "the core stopped for another reason just when it was asked to");
    }
    *hindrance = self->kind->hindrance(self->core, status, 0);
    if (*hindrance != NULL)
        return true;
    if (!take_registers(self, status, deadline, error) || !errand_make_sure_halted(self, deadline, error))
        return false;
    *hindrance = self->kind->hindrance(self->core, status, self->other[ERRAND_STATE]);
    return !self->was_reset ||
           error_set(error, ERROR_RESET, "the core was reset while its registers were taken");
}

/* A program that is in such a state now may be in another one soon. */
bool errand_stop(struct errand *self, const struct deadline *deadline, struct error *error)
{
    struct deadline patience = deadline_slice(deadline, patience_ms(STATE_MS));
    struct ledger *ledger = self->target->ledger;
    for (;;) {
        const char *hindrance = NULL;
        if (!stop_and_take(self, &hindrance, deadline, error))
            return false;
        if (hindrance == NULL)
            return true;
        if (self->was_halted || deadline_passed(&patience))
            return error_set(error, deadline_cancelled(deadline) ? ERROR_CANCELLED : ERROR_STATE,
                             "no code can be run on the core: %s%s", hindrance,
                             self->was_halted ? "" : " whenever it is halted");
        if (!ledger_pay(ledger, (struct ledger_debt){self, give_registers}, deadline, error) ||
            !ledger_pay(ledger, (struct ledger_debt){self, let_go}, deadline, error))
            return false;
        usleep(NAP_US);
    }
}
