/* record: samples of where the running core is, written as a profile. The core is never stopped. */
#include "commands/command.h"
#include "commands/session.h"
#include "profile/sampler.h"
#include "report/number.h"
#include "report/profile_file.h"
#include "report/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIST_LEAST_US = 5000, LIST_MOST_US = 40000 };

struct recording {
    struct session session;
    struct sampler sampler;
    struct profile_about about;
    struct profile_tally tally;
    struct progress progress;
    int64_t begun_us; /* the first list; 0: none yet */
    double elapsed_s;
    bool has_head;
    uint64_t samples, states[PROFILE_STATES];
    unsigned resets;
};

static const struct options *options_of(const struct recording *self)
{
    return self->session.context->options;
}

/* --- the file ------------------------------------------------------------------------------------------- */

static bool check_written(int result, struct error *error)
{
    return result == 0 ||
           error_set(error, ERROR_SYSTEM, "the profile could not be written: %s", strerror(-result));
}

/* NULL for an empty text, or without memory: the head then says less. */
static char *copy_of(const char *text)
{
    return text != NULL && text[0] != '\0' ? strdup(text) : NULL;
}

static bool fill_about(struct recording *self, struct error *error)
{
    const struct session *session = &self->session;
    struct profile_about *about = &self->about;
    char text[128];
    time_t now = time(NULL);
    struct tm utc;
    about->cores = calloc(1, sizeof *about->cores);
    if (about->cores == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    about->core_count = 1;
    about->cores[0] = copy_of(self->sampler.core->name);
    about->source = copy_of(self->sampler.source.name);
    about->asked_s = options_of(self)->for_s;
    if (gmtime_r(&now, &utc) != NULL && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        about->date = copy_of(text);
    link_describe(session->link, text, sizeof text);
    about->probe = copy_of(text);
    if (session->symbols != NULL) {
        about->elf = copy_of(options_of(self)->elf);
        about->build_id = copy_of(symbols_build_id(session->symbols));
    }
    return true;
}

static bool write_head(struct recording *self, struct error *error)
{
    self->has_head = true;
    return fill_about(self, error) &&
           check_written(profile_file_begin(self->session.context->out, &self->about), error);
}

/* Whatever is in the file is worth keeping from the first interval on. */
static bool write_interval(struct recording *self, struct error *error)
{
    struct profile_interval interval;
    sampler_settle(&self->sampler, &self->tally);
    if (profile_tally_is_empty(&self->tally))
        return true;
    if (!profile_tally_close(&self->tally, self->elapsed_s, &interval))
        return error_set(error, ERROR_SYSTEM, "out of memory");
    self->samples += profile_interval_samples(&interval);
    for (size_t i = 0; i < PROFILE_STATES; i++)
        self->states[i] += interval.states[i];
    self->resets += interval.resets;
    int result = profile_file_add(self->session.context->out, &interval);
    profile_interval_free(&interval);
    command_has_result(self->session.context);
    return check_written(result, error);
}

static bool write_end(struct recording *self, const struct error *why, struct error *error)
{
    bool failed = why->kind != ERROR_NONE, cancelled = *self->session.context->cancel != 0;
    struct profile_end end = {.known = true, .elapsed_s = self->elapsed_s, .samples = self->samples};
    end.why = copy_of(failed ? "lost" : cancelled ? "Ctrl-C" : "time");
    end.error = failed ? copy_of(why->text) : NULL;
    int result = profile_file_end(self->session.context->out, &end);
    profile_end_free(&end);
    return check_written(result, error);
}

/* --- what the user sees --------------------------------------------------------------------------------- */

static void show_progress(struct recording *self)
{
    double for_s = options_of(self)->for_s;
    char time[NUMBER_ROOM], samples[NUMBER_ROOM];
    number_unsigned(samples, sizeof samples, self->samples);
    if (for_s > 0)
        progress_show(
            &self->progress, "%s samples, %s left", samples,
            number_elapsed(time, sizeof time, for_s > self->elapsed_s ? for_s - self->elapsed_s : 0));
    else
        progress_show(&self->progress, "%s samples in %s, Ctrl-C ends it", samples,
                      number_elapsed(time, sizeof time, self->elapsed_s));
}

static void tell_part(const struct recording *self, uint64_t part, const char *of_what)
{
    double percent = 100 * (double)part / (double)self->samples;
    if (part > 0 && percent < 0.05)
        fprintf(stderr, ", below 0.1 %% %s", of_what);
    else if (part > 0)
        fprintf(stderr, ", %.1f %% %s", percent, of_what);
}

static void tell_end(const struct recording *self)
{
    static const char *const words[PROFILE_STATES] = {[PROFILE_ASLEEP] = "asleep",
                                                      [PROFILE_NOT_PERMITTED] = "not permitted",
                                                      [PROFILE_HALTED] = "halted",
                                                      [PROFILE_IN_RESET] = "in reset"};
    const char *file = options_of(self)->output;
    char samples[NUMBER_ROOM], time[NUMBER_ROOM], rate[NUMBER_ROOM];
    if (options_of(self)->quiet)
        return;
    number_unsigned(samples, sizeof samples, self->samples);
    number_elapsed(time, sizeof time, self->elapsed_s);
    number_decimal(rate, sizeof rate, self->elapsed_s > 0 ? (double)self->samples / self->elapsed_s : 0, 0);
    fprintf(stderr, "%s samples in %s, %s per second", samples, time, rate);
    for (size_t i = 0; i < PROFILE_STATES; i++)
        tell_part(self, self->states[i], words[i]);
    if (self->resets > 0)
        fprintf(stderr, ", %u reset%s", self->resets, self->resets == 1 ? "" : "s");
    fprintf(stderr, ": %s\n", file);
}

/* --- the run -------------------------------------------------------------------------------------------- */

/* Ctrl-C ends the run behind a list, and does not cancel it. */
static struct deadline uncancelled(const struct recording *self)
{
    struct deadline deadline = session_deadline(&self->session);
    deadline.cancel = NULL;
    return deadline;
}

static bool take_core(struct recording *self, struct error *error)
{
    struct session *session = &self->session;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    bool hidden;
    char place[512];
    if (!sampler_find(&self->sampler, device, &hidden, &deadline, error))
        return false;
    session_place(session, device->chosen->halted_at, place, sizeof place);
    device->looks_only = true;
    return device_take(device, false, place, &deadline, error) &&
           (!hidden || sampler_find(&self->sampler, device, &hidden, &deadline, error)) &&
           sampler_begin(&self->sampler, &deadline, error);
}

static bool is_over(const struct recording *self)
{
    double for_s = options_of(self)->for_s;
    return *self->session.context->cancel != 0 || (for_s > 0 && self->elapsed_s >= for_s);
}

/* An interval is a few lists, so that its length is near to what it should be. */
static int64_t list_us(const struct recording *self)
{
    double us = profile_interval_length(self->elapsed_s) * 1e6 / 2,
           left_us = (options_of(self)->for_s - self->elapsed_s) * 1e6;
    if (us < LIST_LEAST_US)
        us = LIST_LEAST_US;
    if (us > LIST_MOST_US)
        us = LIST_MOST_US;
    return (int64_t)(options_of(self)->for_s > 0 && us > left_us ? left_us : us);
}

static bool sample(struct recording *self, struct error *error)
{
    self->begun_us = deadline_now_us();
    while (!is_over(self)) {
        struct deadline deadline = uncancelled(self);
        bool ok = sampler_take(&self->sampler, list_us(self), &self->tally, &deadline, error);
        self->elapsed_s = (double)(deadline_now_us() - self->begun_us) / 1e6;
        if (!ok)
            return false;
        if (self->elapsed_s - self->tally.now.from < profile_interval_length(self->elapsed_s))
            continue;
        if (!write_interval(self, error))
            return false;
        show_progress(self);
    }
    return true;
}

static bool record(struct recording *self, struct error *error)
{
    struct error why = {0};
    if (!take_core(self, error) || !write_head(self, error))
        return false;
    if (!options_of(self)->quiet)
        progress_begin(&self->progress, stderr);
    bool ok = sample(self, &why);
    progress_clear(&self->progress);
    if (!ok && why.kind == ERROR_LINK_LOST) /* the link's silence after Ctrl-C is no failure */
        session_forgive(&self->session, &why);
    if (why.kind == ERROR_CANCELLED)
        error_clear(&why);
    struct deadline last = session_last_deadline(&self->session);
    if (ok)
        sampler_end(&self->sampler, &self->tally, &last);
    if (!write_interval(self, error) || !write_end(self, &why, error))
        return false;
    command_has_result(self->session.context);
    tell_end(self);
    return why.kind == ERROR_NONE || error_copy(error, &why);
}

int command_record(const struct context *context, struct error *error)
{
    struct recording self = {.session.context = context};
    struct session *session = &self.session;
    bool ok = session_open_elf(session, error) && session_open_target(session, error) &&
              session_sees_running(session, "record", error) && record(&self, error);
    int code = session_finish(session, ok, error);
    sampler_free(&self.sampler);
    profile_tally_free(&self.tally);
    profile_about_free(&self.about);
    return code;
}
