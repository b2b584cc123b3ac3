#include "stub/injected_code.h"

#include "cores/injected.h"
#include "device/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 64, LEAST_LINE = 32, RUN_MS = 1000, STATE_MS = 2000, TRIES = 4 };
enum { LIST_NAP_US = 1000, STATE_NAP_US = 2000 };

/* --- lists of instructions ------------------------------------------------------------------------------ */

/* A list can be begun again from its start after any failure. Values are read until two readings agree. */
enum { LIST_ROOM = 1024, TAKEN = INJECTED_WORDS };

struct injected_list {
    struct ledger *ledger;
    const struct core *core;
    const struct injected_kind *kind;
    struct steps list;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    size_t taken[TAKEN], n_taken; /* indices of what was taken */
};

static void list_new(struct injected_list *self)
{
    self->list = (struct steps){.items = self->items, .room = LIST_ROOM};
    self->n_taken = 0;
}

static void list_begin(struct injected_list *self)
{
    list_new(self);
    self->kind->add_begin(self->core, &self->list);
}

static void list_add(struct injected_list *self, const uint32_t *instructions, size_t n)
{
    for (size_t i = 0; i < n && instructions[i] != 0; i++)
        self->kind->add_instruction(self->core, &self->list, instructions[i]);
}

static void list_show(struct injected_list *self, unsigned general)
{
    if (self->n_taken == TAKEN) {
        self->list.overflow = true;
        return;
    }
    self->kind->add_proof(self->core, &self->list);
    self->taken[self->n_taken++] =
        core_add_register(self->core, &self->list, (enum core_register)(CORE_R0 + general));
}

static bool list_try(struct injected_list *self, const struct deadline *deadline, struct error *error)
{
    size_t done = 0;
    for (;;) {
        struct error why = {0};
        struct outcome outcome =
            ledger_execute(self->ledger, &self->list, done, self->results, deadline, &why);
        done = outcome.done;
        if (outcome.why == DONE)
            return true;
        bool waits = outcome.why == NOT_YET || outcome.why == TARGET_WAIT;
        if (outcome.why == UNEXPECTED)
            return error_set(error, ERROR_PLACE,
                             "the core refuses an instruction in Debug state (0x%08" PRIX64 ")", outcome.saw);
        if (!waits)
            return error_copy(error, &why);
        if (deadline_passed(deadline))
            return error_set(error, deadline_cancelled(deadline) ? ERROR_CANCELLED : ERROR_ASLEEP,
                             "the core does not execute instructions in time");
        if (outcome.why == TARGET_WAIT)
            usleep(LIST_NAP_US);
    }
}

static bool is_final(enum error_kind kind)
{
    return kind == ERROR_LINK_LOST || kind == ERROR_CANCELLED || kind == ERROR_ASLEEP || kind == ERROR_SYSTEM;
}

static bool list_run(struct injected_list *self, const struct deadline *deadline, struct error *error)
{
    struct error last = {0};
    for (int i = 0; i < TRIES && !is_final(last.kind); i++) {
        error_clear(&last);
        if (list_try(self, deadline, &last))
            return true;
    }
    return error_copy(error, &last);
}

static uint64_t list_shown(const struct injected_list *self, size_t n)
{
    return core_register_value(self->core, CORE_R0, self->results, self->taken[n]);
}

static bool list_take(struct injected_list *self, uint64_t *values, const struct deadline *deadline,
                      struct error *error)
{
    uint64_t before[TAKEN] = {0};
    for (int i = 0; i < TRIES; i++) {
        if (!list_run(self, deadline, error))
            return false;
        for (size_t k = 0; k < self->n_taken; k++)
            values[k] = list_shown(self, k);
        if (i > 0 && memcmp(values, before, self->n_taken * sizeof *values) == 0)
            return true;
        memcpy(before, values, self->n_taken * sizeof *values);
    }
    return error_set(error, ERROR_FAULT, "the core's registers read differently each time");
}

struct injected_code {
    struct device *device;
    const struct core *core;
    const struct injected_kind *kind;
    bool was_halted, was_reset, prepared;
    uint64_t as_found; /* the status register of a core that was halted */
    uint64_t guard;
    uint64_t general[INJECTED_GENERAL], other[INJECTED_OTHERS];
    struct injected_register others[INJECTED_OTHERS];
    size_t n_others;
    const uint32_t *image;
    size_t n;
    uint64_t at;
    uint32_t found[INJECTED_WORDS]; /* where the image is now */
    bool must_restore_memory, must_restore_registers, written;
    struct injected_list work;
};

/* --- stopping, and going on ----------------------------------------------------------------------------- */

static bool code_read_status(struct injected_code *self, uint64_t *status, bool *halted,
                             const struct deadline *deadline, struct error *error)
{
    if (!ledger_read(self->device->ledger, core_status_register(self->core), status, deadline, error))
        return false;
    *halted = core_state_of(self->core, *status) == CORE_HALTED;
    return true;
}

static bool halt(struct injected_code *self, enum stop_cause *cause, const struct deadline *deadline,
                 struct error *error)
{
    list_new(&self->work);
    core_add_halt(self->core, &self->work.list);
    size_t at = core_add_cause(self->core, &self->work.list);
    if (!list_run(&self->work, deadline, error))
        return false;
    *cause = core_cause(self->core, self->work.results[at], 0);
    return true;
}

/* A reset since the last call. */
static bool code_look_for_reset(struct injected_code *self, bool *seen, const struct deadline *deadline,
                                struct error *error)
{
    list_new(&self->work);
    size_t at = core_add_reset_seen(self->core, &self->work.list);
    if (!list_run(&self->work, deadline, error))
        return false;
    *seen = core_reset_seen(self->core, self->work.results[at]);
    return true;
}

static bool make_sure_halted(struct injected_code *self, const struct deadline *deadline, struct error *error)
{
    uint64_t status;
    bool halted, seen;
    enum stop_cause cause;
    if (!code_look_for_reset(self, &seen, deadline, error))
        return false;
    self->was_reset = self->was_reset || seen;
    return code_read_status(self, &status, &halted, deadline, error) &&
           (halted || self->was_reset || halt(self, &cause, deadline, error));
}

static void add_guard(struct injected_code *self, uint64_t value)
{
    steps_add(&self->work.list, step_write(self->kind->guard(self->core), value));
}

static bool code_let_go(void *context, const struct deadline *deadline, struct error *error)
{
    struct injected_code *self = context;
    uint64_t status;
    bool halted, reset;
    if (self->must_restore_memory || self->must_restore_registers)
        return error_set(error, ERROR_STATE, "the core stays halted");
    if (!code_look_for_reset(self, &reset, deadline, error) ||
        !code_read_status(self, &status, &halted, deadline, error))
        return false;
    self->was_reset = self->was_reset || reset;
    if (self->was_reset) /* it took instructions of ours since: there is no telling where it would go on */
        return error_set(error, ERROR_RESET, "the core was reset meanwhile%s",
                         halted ? ", and is left halted: reset it again" : "");
    uint64_t guard = self->guard;
    (void)ledger_old(self->device->ledger, self->kind->guard(self->core), &guard);
    list_new(&self->work);
    if (halted && self->was_halted) {
        steps_add(&self->work.list, step_write(core_status_register(self->core), self->as_found));
    } else if (halted) {
        add_guard(self, guard);
        core_add_run(self->core, &self->work.list);
    }
    return self->work.list.n == 0 || list_run(&self->work, deadline, error);
}

/* The ledger undoes in reverse: a core that was found halted gets its own settings back last. */
static bool prepare(struct injected_code *self, const struct deadline *deadline, struct error *error)
{
    struct ledger *ledger = self->device->ledger;
    struct undo_action action = {self, code_let_go};
    bool halted;
    if (self->prepared)
        return self->was_halted || ledger_push_undo(ledger, action, error);
    self->was_halted =
        self->device->chosen->state == CORE_HALTED; /* one that was reset since is ours to let go */
    if (!code_read_status(self, &self->as_found, &halted, deadline, error) ||
        (self->was_halted && !ledger_push_undo(ledger, action, error)) ||
        !settings_switch_on_comparators(ledger, self->core, deadline, error) ||
        !ledger_hold(ledger, self->kind->guard(self->core), (struct restore){0}, NULL, deadline, error) ||
        !ledger_read(ledger, self->kind->guard(self->core), &self->guard, deadline, error) ||
        (!self->was_halted && !ledger_push_undo(ledger, action, error)))
        return false;
    self->prepared = true;
    return true;
}

/* --- registers ------------------------------------------------------------------------------------------ */

static void add_registers(struct injected_code *self)
{
    const struct injected_kind *kind = self->kind;
    list_begin(&self->work);
    add_guard(self, self->guard);
    if (kind->drain != 0)
        list_add(&self->work, &kind->drain, 1);
    for (size_t i = self->n_others; i-- > 0;) {
        kind->add_constant(self->core, &self->work.list, 0, self->other[i]);
        list_add(&self->work, self->others[i].from_r0, INJECTED_MOVES);
    }
    for (unsigned i = INJECTED_GENERAL; i-- > 0;)
        kind->add_constant(self->core, &self->work.list, i, self->general[i]);
    kind->add_proof(self->core, &self->work.list);
}

static bool give_registers(void *context, const struct deadline *deadline, struct error *error)
{
    struct injected_code *self = context;
    if (self->must_restore_memory)
        return error_set(error, ERROR_STATE, "the core's registers serve to put its memory back");
    if (!make_sure_halted(self, deadline, error))
        return false;
    if (!self->was_reset) {
        add_registers(self);
        if (!list_run(&self->work, deadline, error))
            return error_prefix(error, "could not restore the core's registers: ");
    }
    self->must_restore_registers = false;
    ledger_note_pushed(self->device->ledger, false);
    return true;
}

static bool take_others(struct injected_code *self, size_t from, size_t end, uint64_t *values,
                        const struct deadline *deadline, struct error *error)
{
    for (size_t i = from; i < end; i++) {
        list_add(&self->work, self->others[i].to_r0, INJECTED_MOVES);
        list_show(&self->work, 0);
    }
    return list_take(&self->work, values, deadline, error);
}

/* Registers that an exception would overwrite can be read only in the state in which the code runs. */
static bool take_faults(struct injected_code *self, size_t n, const struct deadline *deadline,
                        struct error *error)
{
    uint64_t state = self->kind->state(self->other[INJECTED_STATE]);
    list_begin(&self->work);
    self->kind->add_constant(self->core, &self->work.list, 0, state);
    list_add(&self->work, self->others[INJECTED_STATE].from_r0, INJECTED_MOVES);
    if (!take_others(self, INJECTED_FAULTS, n, self->other + INJECTED_FAULTS, deadline, error))
        return false;
    self->n_others = n;
    return true;
}

/* R0 to R2 first: the others are moved through them. */
static bool take_registers(struct injected_code *self, uint64_t status, const struct deadline *deadline,
                           struct error *error)
{
    ledger_note_pushed(self->device->ledger, true);
    list_begin(&self->work);
    for (unsigned i = 0; i < INJECTED_GENERAL; i++)
        list_show(&self->work, i);
    if (!list_take(&self->work, self->general, deadline, error))
        return false;
    self->n_others = 0;
    self->must_restore_registers = true;
    if (!ledger_push_undo(self->device->ledger, (struct undo_action){self, give_registers}, error))
        return false;
    size_t n = self->kind->others(self->core, status, self->others);
    uint64_t values[INJECTED_FAULTS];
    list_begin(&self->work);
    if (!take_others(self, 0, INJECTED_FAULTS, values, deadline, error))
        return false;
    self->other[INJECTED_STATE] = values[INJECTED_STATE];
    self->other[INJECTED_PC] = self->kind->pc(values[INJECTED_PC], values[INJECTED_STATE]);
    self->n_others = INJECTED_FAULTS;
    return self->kind->hindrance(self->core, status, values[INJECTED_STATE]) != NULL ||
           take_faults(self, n, deadline, error);
}

/* --- a halted core that can run code -------------------------------------------------------------------- */

static bool stop_and_take(struct injected_code *self, const char **hindrance, const struct deadline *deadline,
                          struct error *error)
{
    uint64_t status;
    bool halted, reset;
    enum stop_cause cause = STOP_REQUEST;
    if (!prepare(self, deadline, error) || (!self->was_halted && !halt(self, &cause, deadline, error)) ||
        !code_look_for_reset(self, &reset, deadline, error) ||
        !code_read_status(self, &status, &halted, deadline, error))
        return false;
    if (cause != STOP_REQUEST) {
        if (reset)
            return error_set(error, ERROR_RESET, "the core was reset");
        ledger_drop_undo(self->device->ledger, (struct undo_action){self, code_let_go});
        device_leave_as(self->device, LEAVE_HALTED_FOREIGN);
        return error_set(error, ERROR_FOREIGN_STOP,
                         "the core stopped for another reason just when it was asked to");
    }
    *hindrance = self->kind->hindrance(self->core, status, 0);
    if (*hindrance != NULL)
        return true;
    if (!take_registers(self, status, deadline, error) || !make_sure_halted(self, deadline, error))
        return false;
    *hindrance = self->kind->hindrance(self->core, status, self->other[INJECTED_STATE]);
    return !self->was_reset ||
           error_set(error, ERROR_RESET, "the core was reset while its registers were taken");
}

/* A program that hinders us now may be in another state soon. */
static bool stop(struct injected_code *self, const struct deadline *deadline, struct error *error)
{
    struct deadline patience = deadline_slice(deadline, patience_ms(STATE_MS));
    struct ledger *ledger = self->device->ledger;
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
        if (!ledger_run_undo(ledger, (struct undo_action){self, give_registers}, deadline, error) ||
            !ledger_run_undo(ledger, (struct undo_action){self, code_let_go}, deadline, error))
            return false;
        usleep(STATE_NAP_US);
    }
}

/* --- memory --------------------------------------------------------------------------------------------- */

static void add_loads(struct injected_code *self)
{
    list_begin(&self->work);
    self->kind->add_constant(self->core, &self->work.list, 1, self->at);
    for (uint32_t i = 0; i < self->n; i++) {
        const uint32_t load = self->kind->load + self->kind->next * i;
        list_add(&self->work, &load, 1);
        list_show(&self->work, 0);
    }
}

static bool read_memory(struct injected_code *self, uint32_t *words, const struct deadline *deadline,
                        struct error *error)
{
    uint64_t values[TAKEN];
    add_loads(self);
    if (!list_take(&self->work, values, deadline, error))
        return error_prefix(error, "memory at 0x%08" PRIX64 " cannot be read: ", self->at);
    for (size_t i = 0; i < self->n; i++)
        words[i] = (uint32_t)values[i];
    return true;
}

static void add_to_lines(struct injected_code *self, uint32_t instruction)
{
    uint64_t end = self->at + 4 * self->n;
    for (uint64_t line = self->at & ~(uint64_t)(LEAST_LINE - 1); line < end; line += LEAST_LINE) {
        self->kind->add_constant(self->core, &self->work.list, 1, line);
        list_add(&self->work, &instruction, 1);
    }
}

static void add_stores(struct injected_code *self, const uint32_t *words)
{
    const struct injected_kind *kind = self->kind;
    list_begin(&self->work);
    kind->add_constant(self->core, &self->work.list, 1, self->at);
    for (uint32_t i = 0; i < self->n; i++) {
        const uint32_t store = kind->store + kind->next * i;
        kind->add_constant(self->core, &self->work.list, 0, words[i]);
        list_add(&self->work, &store, 1);
    }
    add_to_lines(self, kind->clean_line);
    list_add(&self->work, &kind->clean_done, 1);
    add_to_lines(self, kind->forget_line);
    list_add(&self->work, kind->forget_done, sizeof kind->forget_done / sizeof *kind->forget_done);
    kind->add_proof(self->core, &self->work.list);
}

static bool write_memory(struct injected_code *self, const uint32_t *words, const struct deadline *deadline,
                         struct error *error)
{
    for (int i = 0; i < TRIES; i++) {
        size_t same = 0;
        add_stores(self, words);
        if (!list_run(&self->work, deadline, error))
            return error_prefix(error, "memory at 0x%08" PRIX64 " cannot be written: ", self->at);
        add_loads(self);
        if (!list_run(&self->work, deadline, error))
            return error_prefix(error, "memory at 0x%08" PRIX64 " cannot be read: ", self->at);
        while (same < self->n && (uint32_t)list_shown(&self->work, same) == words[same])
            same++;
        if (same == self->n)
            return true;
    }
    return error_set(error, ERROR_PLACE, "memory at 0x%08" PRIX64 " does not hold what is written to it",
                     self->at);
}

/* Memory that never took the image needs no restoring. */
static bool is_untouched(struct injected_code *self, const struct deadline *deadline)
{
    uint32_t now[INJECTED_WORDS];
    struct error ignored = {0};
    return !self->written && read_memory(self, now, deadline, &ignored) &&
           memcmp(now, self->found, self->n * sizeof *now) == 0;
}

static bool give_memory(void *context, const struct deadline *deadline, struct error *error)
{
    struct injected_code *self = context;
    if (!make_sure_halted(self, deadline, error))
        return false;
    if (!self->was_reset && !is_untouched(self, deadline) &&
        !write_memory(self, self->found, deadline, error))
        return false;
    self->must_restore_memory = false;
    return true;
}

/* Below the stack, in cache lines of its own. */
static bool find_place(struct injected_code *self, const struct deadline *deadline, struct error *error)
{
    uint64_t stack;
    list_begin(&self->work);
    list_add(&self->work, &self->kind->stack_to_r0, 1);
    list_show(&self->work, 0);
    if (!list_take(&self->work, &stack, deadline, error))
        return false;
    self->at = (stack - 4 * self->n - LINE) & ~(uint64_t)(LINE - 1);
    if (!self->kind->wide)
        self->at &= UINT32_MAX;
    return true;
}

static bool can_run(const struct injected_code *self, struct error *error)
{
    if (self->core->unstoppable != NULL)
        return error_set(error, ERROR_NO_CORE, "the core cannot be halted: %s", self->core->unstoppable);
    return (self->kind != NULL && self->core->comparators != 0) ||
           error_set(error, ERROR_NO_CORE, "this core cannot be given code to run");
}

/* A reset in the middle must not run the program on registers and memory of ours. */
static bool catch_resets(struct injected_code *self, const struct deadline *deadline, struct error *error)
{
    self->device->chosen->core.resets = RESETS_CAUGHT;
    return settings_apply_core(self->device->ledger, self->core, APPLY_TO_STOP, deadline, error);
}

bool injected_look(struct injected_code *self, uint64_t at, uint32_t *words, size_t n,
                   const struct deadline *deadline, struct error *error)
{
    if (!can_run(self, error))
        return false;
    if (n == 0 || n > INJECTED_WORDS || at % 4 != 0)
        return error_set(error, ERROR_PLACE, "%zu words at 0x%08" PRIX64 " cannot be read", n, at);
    if (!self->must_restore_registers &&
        (!catch_resets(self, deadline, error) || !stop(self, deadline, error)))
        return false;
    self->at = at;
    self->n = n;
    return read_memory(self, words, deadline, error);
}

bool injected_load(struct injected_code *self, const uint32_t *image, size_t n, uint64_t at,
                   const struct deadline *deadline, struct error *error)
{
    if (!can_run(self, error))
        return false;
    if (n == 0 || n > INJECTED_WORDS || at % 4 != 0)
        return error_set(error, ERROR_PLACE, "code of %zu words does not go to 0x%08" PRIX64, n, at);
    self->image = image;
    self->n = n;
    self->at = at;
    if (!catch_resets(self, deadline, error) || !stop(self, deadline, error) ||
        (at == 0 && !find_place(self, deadline, error)) || !read_memory(self, self->found, deadline, error))
        return false;
    if (memcmp(self->found, image, n * sizeof *image) == 0)
        return true;
    self->must_restore_memory = true;
    self->written = ledger_push_undo(self->device->ledger, (struct undo_action){self, give_memory}, error) &&
                    write_memory(self, image, deadline, error);
    return self->written;
}

void injected_leave_image(struct injected_code *self)
{
    self->must_restore_memory = false;
    ledger_drop_undo(self->device->ledger, (struct undo_action){self, give_memory});
}

/* --- the run -------------------------------------------------------------------------------------------- */

static void plan_run(struct injected_code *self, size_t entry, const uint64_t *arguments, uint64_t status)
{
    const struct injected_kind *kind = self->kind;
    struct steps *list = &self->work.list;
    const uint64_t set[] = {
        [INJECTED_PC] = self->at + 4 * entry, [INJECTED_STATE] = kind->state(self->other[INJECTED_STATE])};
    list_begin(&self->work);
    if (kind->drain != 0)
        list_add(&self->work, &kind->drain, 1);
    for (size_t i = INJECTED_FAULTS; i-- > 0;) {
        kind->add_constant(self->core, list, 0, set[i]);
        list_add(&self->work, self->others[i].from_r0, INJECTED_MOVES);
    }
    kind->add_constant(self->core, list, 1, arguments[1]);
    kind->add_constant(self->core, list, 0, arguments[0]);
    kind->add_proof(self->core, list);
    add_guard(self, self->guard | kind->guard_bits(status));
    core_add_run(self->core, list);
    kind->add_wait_stop(self->core, list);
    add_guard(self, self->guard);
}

static bool take_results(struct injected_code *self, uint64_t *results, uint64_t *pc,
                         const struct deadline *deadline, struct error *error)
{
    uint64_t values[INJECTED_FAULTS] = {0};
    list_begin(&self->work);
    for (unsigned i = 0; i < INJECTED_GENERAL; i++)
        list_show(&self->work, i);
    if (!list_take(&self->work, results, deadline, error))
        return false;
    list_begin(&self->work);
    if (!take_others(self, 0, INJECTED_FAULTS, values, deadline, error))
        return false;
    *pc = self->kind->pc(values[INJECTED_PC], values[INJECTED_STATE]);
    return true;
}

static bool run_once(struct injected_code *self, size_t entry, const uint64_t *arguments, uint64_t *results,
                     const struct deadline *deadline, struct error *error)
{
    struct deadline soon = deadline_slice(deadline, patience_ms(RUN_MS));
    uint64_t pc, status;
    bool halted;
    if (!make_sure_halted(self, deadline, error) ||
        !code_read_status(self, &status, &halted, deadline, error))
        return false;
    plan_run(self, entry, arguments, status);
    if (!list_try(&self->work, &soon, error) || !make_sure_halted(self, deadline, error) ||
        !take_results(self, results, &pc, deadline, error))
        return false;
    if (self->was_reset)
        return error_set(error, ERROR_RESET, "the core was reset while it ran code at 0x%08" PRIX64,
                         self->at);
    return (pc >= self->at && pc < self->at + 4 * self->n) ||
           error_set(error, ERROR_PLACE, "code at 0x%08" PRIX64 " ended in an exception, at 0x%08" PRIX64,
                     self->at, pc);
}

/* An image must bear being run twice: an interrupted one is run again. */
bool injected_run(struct injected_code *self, size_t entry, const uint64_t *arguments, uint64_t *results,
                  const struct deadline *deadline, struct error *error)
{
    struct error last = {0};
    for (int i = 0; i < TRIES; i++) {
        error_clear(&last);
        if (run_once(self, entry, arguments, results, deadline, &last))
            return true;
        if (last.kind != ERROR_FAULT && last.kind != ERROR_ASLEEP && last.kind != ERROR_PLACE)
            break;
        if (deadline_passed(deadline))
            break;
    }
    return error_copy(error, &last);
}

/* --- creation ------------------------------------------------------------------------------------------- */

struct injected_code *injected_new(struct device *device)
{
    struct injected_code *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->device = device;
    self->core = &device->chosen->core;
    self->kind = self->core->ops->injected;
    self->work = (struct injected_list){.ledger = device->ledger, .core = self->core, .kind = self->kind};
    return self;
}

void injected_free(struct injected_code *injected)
{
    free(injected);
}

uint64_t injected_place(const struct injected_code *injected)
{
    return injected->at;
}

bool injected_was_there(const struct injected_code *injected)
{
    return !injected->must_restore_memory;
}
