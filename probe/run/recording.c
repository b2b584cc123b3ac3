/* SPDX-License-Identifier: MIT */
#include "run/recording.h"

#include "report/profile_file.h"

/* Whatever is in the file is worth keeping from the first interval on. */
static bool write_interval(struct recording *self, size_t core, struct error *error)
{
    struct profile_interval interval;
    bool any;
    if (!pc_samples_close(&self->pc_samples, core, &interval, &any, error))
        return false;
    if (!any)
        return true;
    self->samples += profile_interval_samples(&interval);
    for (size_t i = 0; i < PROFILE_STATES; i++)
        self->states[i] += interval.states[i];
    self->resets += interval.resets;
    int result = profile_file_add(self->out, &interval);
    profile_interval_free(&interval);
    self->kept(self->context);
    return profile_file_wrote(result, error);
}

static bool write_contexts(struct recording *self, size_t core, enum profile_context kind,
                           struct error *error)
{
    struct profile_interval interval;
    bool any;
    if (!pc_samples_close_contexts(&self->pc_samples, core, kind, &interval, &any, error))
        return false;
    if (!any)
        return true;
    int result = 0;
    char name[TASK_NAME];
    for (size_t i = 0; kind == PROFILE_TASKS && result == 0 && i < interval.count_count; i++)
        if (pc_samples_name_task(&self->pc_samples, core, interval.counts[i].address, name))
            result = profile_file_add_task(self->out, interval.counts[i].address, name);
    if (result == 0)
        result = profile_file_add_contexts(self->out, kind, &interval);
    profile_interval_free(&interval);
    return profile_file_wrote(result, error);
}

static bool write_intervals(struct recording *self, struct error *error)
{
    self->written_s = self->pc_samples.elapsed_s;
    for (size_t i = 0; i < self->pc_samples.n; i++)
        if (!write_contexts(self, i, PROFILE_EXCEPTIONS, error) ||
            !write_contexts(self, i, PROFILE_TASKS, error) ||
            !write_contexts(self, i, PROFILE_PROCESSES, error) || !write_interval(self, i, error))
            return false;
    return true;
}

/* An interval is a few lists, so that its length is near to what it should be. */
static bool record_sample(struct recording *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    while (!pc_samples_is_over(pc_samples)) {
        double length = profile_interval_length(pc_samples->elapsed_s);
        if (!pc_samples_sample(pc_samples, length * 1e6 / 2, error))
            return false;
        if (pc_samples->elapsed_s - self->written_s < profile_interval_length(pc_samples->elapsed_s))
            continue;
        if (!write_intervals(self, error))
            return false;
        self->show(self->context);
    }
    return true;
}

bool recording_make(struct recording *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    struct error why = {0};
    if (!pc_samples_take(pc_samples, error) ||
        !profile_file_wrote(profile_file_begin(self->out, &pc_samples->about), error))
        return false;
    self->begun(self->context);
    record_sample(self, &why);
    self->ended(self->context);
    pc_samples_end(pc_samples, &why);
    if (!write_intervals(self, error) ||
        !profile_file_conclude(self->out, pc_samples->elapsed_s, self->samples, &why,
                               *pc_samples->session.around->cancel != 0, error))
        return false;
    self->whole = true;
    return why.kind == ERROR_NONE || error_copy(error, &why);
}
