#include "target/apply.h"
#include "target/errand_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, LEAST_LINE = 32, RUN_MS = 1000, TRIES = 4 };

struct errand *errand_new(struct target *target)
{
    struct errand *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->target = target;
    self->core = &target->chosen->core;
    self->kind = self->core->ops->errand;
    self->work = (struct errand_list){.ledger = target->ledger, .core = self->core, .kind = self->kind};
    return self;
}

void errand_free(struct errand *errand)
{
    free(errand);
}

uint64_t errand_place(const struct errand *errand)
{
    return errand->at;
}

bool errand_was_there(const struct errand *errand)
{
    return !errand->owes_memory;
}

/* --- memory --------------------------------------------------------------------------------------------- */

static void add_loads(struct errand *self)
{
    errand_list_begin(&self->work);
    self->kind->add_constant(self->core, &self->work.list, 1, self->at);
    for (uint32_t i = 0; i < self->n; i++) {
        const uint32_t load = self->kind->load + self->kind->next * i;
        errand_list_add(&self->work, &load, 1);
        errand_list_show(&self->work, 0);
    }
}

static bool read_memory(struct errand *self, uint32_t *words, const struct deadline *deadline,
                        struct error *error)
{
    uint64_t values[ERRAND_TAKEN];
    add_loads(self);
    if (!errand_list_take(&self->work, values, deadline, error))
        return error_prefix(error, "memory at 0x%08" PRIX64 " cannot be read: ", self->at);
    for (size_t i = 0; i < self->n; i++)
        words[i] = (uint32_t)values[i];
    return true;
}

static void add_to_lines(struct errand *self, uint32_t instruction)
{
    uint64_t end = self->at + 4 * self->n;
    for (uint64_t line = self->at & ~(uint64_t)(LEAST_LINE - 1); line < end; line += LEAST_LINE) {
        self->kind->add_constant(self->core, &self->work.list, 1, line);
        errand_list_add(&self->work, &instruction, 1);
    }
}

static void add_stores(struct errand *self, const uint32_t *words)
{
    const struct errand_kind *kind = self->kind;
    errand_list_begin(&self->work);
    kind->add_constant(self->core, &self->work.list, 1, self->at);
    for (uint32_t i = 0; i < self->n; i++) {
        const uint32_t store = kind->store + kind->next * i;
        kind->add_constant(self->core, &self->work.list, 0, words[i]);
        errand_list_add(&self->work, &store, 1);
    }
    add_to_lines(self, kind->clean_line);
    errand_list_add(&self->work, &kind->clean_done, 1);
    add_to_lines(self, kind->forget_line);
    errand_list_add(&self->work, kind->forget_done, sizeof kind->forget_done / sizeof *kind->forget_done);
    kind->add_proof(self->core, &self->work.list);
}

static bool write_memory(struct errand *self, const uint32_t *words, const struct deadline *deadline,
                         struct error *error)
{
    for (int i = 0; i < TRIES; i++) {
        size_t same = 0;
        add_stores(self, words);
        if (!errand_list_run(&self->work, deadline, error))
            return error_prefix(error, "memory at 0x%08" PRIX64 " cannot be written: ", self->at);
        add_loads(self);
        if (!errand_list_run(&self->work, deadline, error))
            return error_prefix(error, "memory at 0x%08" PRIX64 " cannot be read: ", self->at);
        while (same < self->n && (uint32_t)errand_list_shown(&self->work, same) == words[same])
            same++;
        if (same == self->n)
            return true;
    }
    return error_set(error, ERROR_PLACE, "memory at 0x%08" PRIX64 " does not hold what is written to it",
                     self->at);
}

/* What never took the image has nothing to be given back. */
static bool is_untouched(struct errand *self, const struct deadline *deadline)
{
    uint32_t now[ERRAND_WORDS];
    struct error ignored = {0};
    return !self->written && read_memory(self, now, deadline, &ignored) &&
           memcmp(now, self->found, self->n * sizeof *now) == 0;
}

static bool give_memory(void *context, const struct deadline *deadline, struct error *error)
{
    struct errand *self = context;
    if (!errand_make_sure_halted(self, deadline, error))
        return false;
    if (!self->was_reset && !is_untouched(self, deadline) &&
        !write_memory(self, self->found, deadline, error))
        return false;
    self->owes_memory = false;
    return true;
}

/* Below all that a call could have put there, in lines of the cache that nothing else is in. */
static bool find_place(struct errand *self, const struct deadline *deadline, struct error *error)
{
    uint64_t stack;
    errand_list_begin(&self->work);
    errand_list_add(&self->work, &self->kind->stack_to_r0, 1);
    errand_list_show(&self->work, 0);
    if (!errand_list_take(&self->work, &stack, deadline, error))
        return false;
    self->at = (stack - 4 * self->n - LINE) & ~(uint64_t)(LINE - 1);
    if (!self->kind->wide)
        self->at &= UINT32_MAX;
    return true;
}

static bool can_run(const struct errand *self, struct error *error)
{
    if (self->core->unstoppable != NULL)
        return error_set(error, ERROR_NO_CORE, "the core cannot be halted: %s", self->core->unstoppable);
    return (self->kind != NULL && self->core->comparators != 0) ||
           error_set(error, ERROR_NO_CORE, "this core cannot be given code to run");
}

bool errand_look(struct errand *self, uint64_t at, uint32_t *words, size_t n, const struct deadline *deadline,
                 struct error *error)
{
    if (!can_run(self, error))
        return false;
    if (n == 0 || n > ERRAND_WORDS || at % 4 != 0)
        return error_set(error, ERROR_PLACE, "%zu words at 0x%08" PRIX64 " cannot be read", n, at);
    if (!self->owes_registers &&
        (!target_apply_core(self->target->ledger, self->core, APPLY_TO_STOP, deadline, error) ||
         !errand_stop(self, deadline, error)))
        return false;
    self->at = at;
    self->n = n;
    return read_memory(self, words, deadline, error);
}

bool errand_load(struct errand *self, const uint32_t *image, size_t n, uint64_t at,
                 const struct deadline *deadline, struct error *error)
{
    if (!can_run(self, error))
        return false;
    if (n == 0 || n > ERRAND_WORDS || at % 4 != 0)
        return error_set(error, ERROR_PLACE, "code of %zu words does not go to 0x%08" PRIX64, n, at);
    self->image = image;
    self->n = n;
    self->at = at;
    if (!target_apply_core(self->target->ledger, self->core, APPLY_TO_STOP, deadline, error) ||
        !errand_stop(self, deadline, error) || (at == 0 && !find_place(self, deadline, error)) ||
        !read_memory(self, self->found, deadline, error))
        return false;
    if (memcmp(self->found, image, n * sizeof *image) == 0)
        return true;
    self->owes_memory = true;
    self->written = ledger_owe(self->target->ledger, (struct ledger_debt){self, give_memory}, error) &&
                    write_memory(self, image, deadline, error);
    return self->written;
}

void errand_leave_image(struct errand *self)
{
    self->owes_memory = false;
    ledger_forgive(self->target->ledger, (struct ledger_debt){self, give_memory});
}

/* --- the run -------------------------------------------------------------------------------------------- */

static void plan_run(struct errand *self, size_t entry, const uint64_t *arguments, uint64_t status)
{
    const struct errand_kind *kind = self->kind;
    struct steps *list = &self->work.list;
    const uint64_t set[] = {
        [ERRAND_PC] = self->at + 4 * entry, [ERRAND_STATE] = kind->state(self->other[ERRAND_STATE])};
    errand_list_begin(&self->work);
    if (kind->drain != 0)
        errand_list_add(&self->work, &kind->drain, 1);
    for (size_t i = ERRAND_FAULTS; i-- > 0;) {
        kind->add_constant(self->core, list, 0, set[i]);
        errand_list_add(&self->work, self->others[i].from_r0, ERRAND_MOVES);
    }
    kind->add_constant(self->core, list, 1, arguments[1]);
    kind->add_constant(self->core, list, 0, arguments[0]);
    kind->add_proof(self->core, list);
    errand_add_guard(self, self->guard | kind->guard_bits(status));
    self->core->ops->add_run(self->core, list);
    kind->add_wait_stop(self->core, list);
    errand_add_guard(self, self->guard);
}

static bool take_results(struct errand *self, uint64_t *results, uint64_t *pc,
                         const struct deadline *deadline, struct error *error)
{
    uint64_t values[ERRAND_FAULTS];
    errand_list_begin(&self->work);
    for (unsigned i = 0; i < ERRAND_GENERAL; i++)
        errand_list_show(&self->work, i);
    if (!errand_list_take(&self->work, results, deadline, error))
        return false;
    errand_list_begin(&self->work);
    if (!errand_take_others(self, 0, ERRAND_FAULTS, values, deadline, error))
        return false;
    *pc = self->kind->pc(values[ERRAND_PC], values[ERRAND_STATE]);
    return true;
}

static bool run_once(struct errand *self, size_t entry, const uint64_t *arguments, uint64_t *results,
                     const struct deadline *deadline, struct error *error)
{
    struct deadline soon = deadline_slice(deadline, patience_ms(RUN_MS));
    uint64_t pc, status;
    bool halted;
    if (!errand_make_sure_halted(self, deadline, error) ||
        !errand_read_status(self, &status, &halted, deadline, error))
        return false;
    plan_run(self, entry, arguments, status);
    if (!errand_list_try(&self->work, &soon, error) || !errand_make_sure_halted(self, deadline, error) ||
        !take_results(self, results, &pc, deadline, error))
        return false;
    if (self->was_reset)
        return error_set(error, ERROR_RESET, "the core was reset while it ran code at 0x%08" PRIX64,
                         self->at);
    return (pc >= self->at && pc < self->at + 4 * self->n) ||
           error_set(error, ERROR_PLACE, "code at 0x%08" PRIX64 " ended in an exception, at 0x%08" PRIX64,
                     self->at, pc);
}

/* Whatever an image does it may do twice: one that was interrupted is run again. */
bool errand_run(struct errand *self, size_t entry, const uint64_t *arguments, uint64_t *results,
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
    return error_set(error, last.kind, "%s", last.text);
}
