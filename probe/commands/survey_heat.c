/* survey: what samples of the PC say of which functions are hot. */
#include "commands/survey.h"

#include "profile/sampler.h"
#include "profile/shares.h"

#include <stdio.h>

enum { SAMPLED_US = 1000000, SAMPLES_US = 20000 };

static bool sample(struct session *session, struct progress *progress, struct sampler *sampler,
                   struct profile_tally *tally, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    int64_t end_us = deadline_now_us() + SAMPLED_US;
    bool hidden;
    char place[512];
    if (!sampler_find(sampler, &session->device, &hidden, &deadline, error))
        return false;
    session_place(session, session->device.chosen->halted_at, place, sizeof place);
    session->device.looks_only = true;
    if (!device_take(&session->device, false, place, &deadline, error) ||
        (hidden && !sampler_find(sampler, &session->device, &hidden, &deadline, error)) ||
        !sampler_begin(sampler, &deadline, error))
        return false;
    while (deadline_now_us() < end_us) {
        deadline = session_deadline(session);
        progress_show(progress, "sampling, to find the hottest functions");
        if (!sampler_take(sampler, SAMPLES_US, tally, &deadline, error))
            return false;
    }
    deadline = session_last_deadline(session);
    sampler_end(sampler, tally, &deadline);
    sampler_settle(sampler, tally);
    return true;
}

static bool choose_hottest(struct survey_regions *regions, const struct session *session,
                           struct profile_tally *tally, struct error *error)
{
    const struct options *options = session->context->options;
    struct profile_interval interval = {0};
    struct shares shares = {0};
    char *names[] = {NULL};
    if (!profile_tally_close(tally, (double)SAMPLED_US / 1e6, &interval))
        return error_set(error, ERROR_SYSTEM, "out of memory");
    const struct profile profile = {
        .about = {.cores = names, .core_count = 1}, .intervals = &interval, .interval_count = 1};
    bool ok = shares_make(&profile, 0, SHARES_FUNCTION, session->symbols, &shares) ||
              error_set(error, ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; ok && i < shares.n && regions->n < options->hot; i++)
        if (shares.rows[i].state == PROFILE_STATES)
            ok = survey_choose_at(regions, session->symbols, shares.rows[i].address, options, error);
    shares_free(&shares);
    profile_interval_free(&interval);
    return ok && (regions->n > 0 ||
                  error_set(error, ERROR_STATE, "no sample of the program counter is in a function of %.128s",
                            session_elf(session)));
}

/* Samples need another hold on the target than counting does: all is undone in between. */
bool survey_choose_hottest(struct survey_regions *regions, struct session *session, struct progress *progress,
                           struct error *error)
{
    const struct sampler_code code = {.context = session, .place = session_sampled_place};
    struct sampler sampler = {.code = &code};
    struct profile_tally tally = {0};
    struct error after = {0};
    bool ok = session_sees_running(session, "--hot", error) &&
              sample(session, progress, &sampler, &tally, error) &&
              choose_hottest(regions, session, &tally, error);
    progress_clear(progress);
    sampler_free(&sampler);
    profile_tally_free(&tally);
    return ok && (session_undo(session, &after) || error_copy(error, &after)) &&
           session_look_again(session, session->context->options->core, error);
}
