#include "target/errand_list.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 4, NAP_US = 1000 };

void errand_list_new(struct errand_list *self)
{
    self->list = (struct steps){.items = self->items, .room = ERRAND_LIST};
    self->n_taken = 0;
}

void errand_list_begin(struct errand_list *self)
{
    errand_list_new(self);
    self->kind->add_begin(self->core, &self->list);
}

void errand_list_add(struct errand_list *self, const uint32_t *instructions, size_t n)
{
    for (size_t i = 0; i < n && instructions[i] != 0; i++)
        self->kind->add_instruction(self->core, &self->list, instructions[i]);
}

void errand_list_show(struct errand_list *self, unsigned general)
{
    if (self->n_taken == ERRAND_TAKEN) {
        self->list.overflow = true;
        return;
    }
    self->kind->add_proof(self->core, &self->list);
    self->taken[self->n_taken++] =
        self->core->ops->add_register(self->core, &self->list, (enum core_register)(CORE_R0 + general));
}

bool errand_list_try(struct errand_list *self, const struct deadline *deadline, struct error *error)
{
    size_t done = 0, n = self->list.n;
    if (self->list.overflow)
        return error_set(error, ERROR_SYSTEM, "a step list grew too long");
    for (;;) {
        struct error why = {0};
        struct outcome outcome =
            ledger_execute(self->ledger, self->items + done, n - done, self->results + done, deadline, &why);
        done += outcome.done;
        if (outcome.why == DONE)
            return true;
        bool waits = outcome.why == NOT_YET || outcome.why == TARGET_WAIT;
        if (outcome.why == UNEXPECTED)
            return error_set(error, ERROR_PLACE,
                             "the core refuses what it is told in Debug state (0x%08" PRIX64 ")",
                             outcome.saw);
        if (!waits)
            return error_set(error, why.kind, "%s", why.text);
        if (deadline_passed(deadline))
            return error_set(error, deadline_cancelled(deadline) ? ERROR_CANCELLED : ERROR_ASLEEP,
                             "the core does not do in time what it is told");
        if (outcome.why == TARGET_WAIT)
            usleep(NAP_US);
    }
}

static bool is_final(enum error_kind kind)
{
    return kind == ERROR_LINK_LOST || kind == ERROR_CANCELLED || kind == ERROR_ASLEEP || kind == ERROR_SYSTEM;
}

bool errand_list_run(struct errand_list *self, const struct deadline *deadline, struct error *error)
{
    struct error last = {0};
    for (int i = 0; i < TRIES && !is_final(last.kind); i++) {
        error_clear(&last);
        if (errand_list_try(self, deadline, &last))
            return true;
    }
    return error_set(error, last.kind, "%s", last.text);
}

uint64_t errand_list_shown(const struct errand_list *self, size_t n)
{
    return core_register_value(self->core, CORE_R0, self->results, self->taken[n]);
}

bool errand_list_take(struct errand_list *self, uint64_t *values, const struct deadline *deadline,
                      struct error *error)
{
    uint64_t before[ERRAND_TAKEN] = {0};
    for (int i = 0; i < TRIES; i++) {
        if (!errand_list_run(self, deadline, error))
            return false;
        for (size_t k = 0; k < self->n_taken; k++)
            values[k] = errand_list_shown(self, k);
        if (i > 0 && memcmp(values, before, self->n_taken * sizeof *values) == 0)
            return true;
        memcpy(before, values, self->n_taken * sizeof *values);
    }
    return error_set(error, ERROR_FAULT, "the core's registers read differently each time");
}
