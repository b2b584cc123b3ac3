/* SPDX-License-Identifier: MIT */
#include "run/overruns.h"

#include "report/profile_file.h"
#include "run/pc_samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool overruns_begin(struct overruns *self, const struct budget_run *run, struct error *error)
{
    char source[sizeof run->conditions->start + EVENT_NAME + 64];
    const struct device *device = &run->session->device;
    struct profile_about *about = &self->about;
    if (self->out == NULL)
        return true;
    snprintf(source, sizeof source, "calls of %s stopped at a budget of %" PRIu64 " %s",
             run->conditions->start, run->budget, run->way->picks[0].name);
    about->cores = calloc(1, sizeof *about->cores);
    about->numbers = calloc(1, sizeof *about->numbers);
    about->source = strdup(source);
    if (about->cores == NULL || about->numbers == NULL || about->source == NULL)
        return error_memory(error);
    about->cores[0] = strdup(device->chosen->core.name);
    about->numbers[0] = (unsigned)(device->chosen - device->cores);
    about->core_count = 1;
    pc_samples_about(run->session, about);
    return profile_file_wrote(profile_file_begin(self->out, about), error);
}

static bool write_overruns(struct overruns *self, double elapsed_s, struct error *error)
{
    struct profile_interval interval = {0};
    if (!profile_tally_close(&self->tally, elapsed_s, &interval))
        return error_memory(error);
    int written = profile_file_add(self->out, &interval);
    profile_interval_free(&interval);
    return profile_file_wrote(written, error);
}

static bool add_overrun(struct overruns *self, const struct guard_overrun *overrun, struct error *error)
{
    const struct unwind_stack *stack = &overrun->place.stack;
    if (self->out == NULL)
        return true;
    if (!overrun->has_pc) {
        self->tally.now.states[PROFILE_NOT_PERMITTED]++;
        return true;
    }
    if (!call_stacks_add_found(&self->tally.now.stacks, stack) ||
        !profile_tally_add(&self->tally, unwind_place(&stack->at[0]), 1))
        return error_memory(error);
    return !profile_tally_is_large(&self->tally) || write_overruns(self, overrun->elapsed_s, error);
}

static bool add_held(struct overruns *self, struct error *error)
{
    bool was_held = self->is_held;
    self->is_held = false;
    return !was_held || add_overrun(self, &self->held, error);
}

bool overruns_add(struct overruns *self, const struct guard_overrun *overrun, struct error *error)
{
    if (!add_held(self, error))
        return false;
    self->is_held = overrun->is_elsewhere; /* whether such a call was left is known later */
    if (!self->is_held)
        return add_overrun(self, overrun, error);
    self->held = *overrun;
    return true;
}

void overruns_left(struct overruns *self)
{
    self->is_held = false;
}

bool overruns_end(struct overruns *self, const struct guard_result *result, const struct error *why,
                  struct error *error)
{
    const struct error none = {0};
    if (!add_held(self, error))
        return false;
    bool empty = profile_tally_is_empty(&self->tally);
    if (self->out == NULL || (empty && !(self->tally.now.from > 0)))
        return true;
    return (empty || write_overruns(self, result->elapsed_s, error)) &&
           profile_file_conclude(self->out, result->elapsed_s, result->overruns,
                                 result->end == GUARD_FAILED ? why : &none, result->end == GUARD_CANCELLED,
                                 error);
}

void overruns_free(struct overruns *self)
{
    profile_tally_free(&self->tally);
    profile_about_free(&self->about);
}
