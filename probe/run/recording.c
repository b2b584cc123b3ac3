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
    int result = profile_file_add_contexts(self->out, kind, &interval);
    profile_interval_free(&interval);
    return profile_file_wrote(result, error);
}

/* The tasks of all cores, after the names that they had in this interval. If these cannot be read, it goes
 * on. */
static bool write_tasks(struct recording *self, bool last, struct error *error)
{
    struct task_rows *named = &self->pc_samples.named;
    int result = 0;
    if (!pc_samples_look_at_tasks(&self->pc_samples)) {
        if (!last)
            return true;
        task_rows_lose(named);
    }
    for (size_t i = 0; i < named->n && result == 0; i++) {
        const char *text = task_row_tell(&named->rows[i]);
        if (text != NULL)
            result = profile_file_add_task(self->out, named->rows[i].value, text);
    }
    bool ok = profile_file_wrote(result, error);
    for (size_t i = 0; i < self->pc_samples.n && ok; i++)
        ok = write_contexts(self, i, PROFILE_TASKS, error);
    return ok;
}

/* What has been noted since the last time. */
static bool write_notes(struct recording *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    int result = 0;
    for (; self->notes < pc_samples->n_notes && result == 0; self->notes++)
        result = profile_file_add_note(self->out, pc_samples->notes[self->notes]);
    return profile_file_wrote(result, error);
}

static bool write_intervals(struct recording *self, bool last, struct error *error)
{
    self->written_s = self->pc_samples.elapsed_s;
    if (!write_notes(self, error) || !write_tasks(self, last, error))
        return false;
    for (size_t i = 0; i < self->pc_samples.n; i++)
        if (!write_contexts(self, i, PROFILE_EXCEPTIONS, error) ||
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
        pc_samples_meet_tasks(pc_samples);
        if (pc_samples->elapsed_s - self->written_s < profile_interval_length(pc_samples->elapsed_s) &&
            !pc_samples_are_many(pc_samples))
            continue;
        if (!write_intervals(self, false, error))
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
        !profile_file_wrote(profile_file_begin(self->out, &pc_samples->about), error) ||
        !write_notes(self, error))
        return false;
    self->begun(self->context);
    record_sample(self, &why);
    self->ended(self->context);
    pc_samples_end(pc_samples, &why);
    if (!write_intervals(self, true, error) ||
        !profile_file_conclude(self->out, pc_samples->elapsed_s, self->samples, &why,
                               *pc_samples->session.around->cancel != 0, error))
        return false;
    self->whole = true;
    return why.kind == ERROR_NONE || error_copy(error, &why);
}
