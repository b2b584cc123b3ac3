#include "run/heat.h"

#include "profile/halt_sampler.h"
#include "profile/sampler.h"
#include "profile/shares.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLED_US = 1000000, SAMPLED_PART = 10, SAMPLES_US = 20000 };

/* --- samples -------------------------------------------------------------------------------------------- */

static void heat_show(struct progress *progress)
{
    progress_show(progress, "sampling, to find the hottest functions");
}

static bool cannot_be_sampled(const struct error *why)
{
    return why->kind == ERROR_NO_COUNTER || why->kind == ERROR_HALTED;
}

static bool heat_sample(struct session *session, struct progress *progress, int64_t us,
                        struct sampler *sampler, struct profile_tally *tally, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    int64_t end_us = deadline_now_us() + us;
    bool hidden;
    if (!sampler_find(sampler, &session->device, &hidden, &deadline, error))
        return false;
    session->device.looks_only = true;
    if (!session_take_core(session, false, error) ||
        (hidden && !sampler_find(sampler, &session->device, &hidden, &deadline, error)) ||
        !sampler_begin(sampler, &deadline, error))
        return false;
    while (deadline_now_us() < end_us) {
        deadline = session_deadline(session);
        heat_show(progress);
        if (!sampler_take(sampler, SAMPLES_US, tally, &deadline, error))
            return false;
    }
    deadline = session_last_deadline(session);
    sampler_end(sampler, tally, &deadline);
    sampler_settle(sampler, tally);
    return true;
}

/* Samples need another hold on the target than counting does: all is undone in between. */
static bool sample_running(struct session *session, struct progress *progress, int64_t us,
                           struct profile_tally *tally, struct error *error)
{
    const struct sampler_code code = {.context = session, .place = own_code_sampled};
    struct sampler sampler = {.code = &code};
    struct error why = {0};
    bool ok = heat_sample(session, progress, us, &sampler, tally, &why);
    sampler_free(&sampler);
    if (!ok && !cannot_be_sampled(&why))
        return error_copy(error, &why);
    if (!session_undo(session, error) || !session_look_again(session, session->request->core, error))
        return false;
    return ok || error_copy(error, &why);
}

/* Through a debugger that has the session's core, which is halted. */
static bool sample_halting(struct session *session, struct progress *progress, int64_t us,
                           struct profile_tally *tally, struct error *error)
{
    struct halt_sampler sampler;
    int64_t end_us = deadline_now_us() + us;
    halt_sampler_begin(&sampler, &session->device);
    while (deadline_now_us() < end_us) {
        struct deadline deadline = session_deadline(session);
        heat_show(progress);
        if (!halt_sampler_take(&sampler, tally, &deadline, error))
            return false;
    }
    return true;
}

static bool heat_make_shares(const struct session *session, struct profile_tally *tally, struct shares *out,
                             struct error *error)
{
    struct profile_interval interval = {0};
    char *names[] = {NULL};
    if (!profile_tally_close(tally, (double)SAMPLED_US / 1e6, &interval))
        return error_set(error, ERROR_SYSTEM, "out of memory");
    const struct profile profile = {
        .about = {.cores = names, .core_count = 1}, .intervals = &interval, .interval_count = 1};
    bool ok = shares_make(&profile, 0, SHARES_FUNCTION, session->symbols, out);
    profile_interval_free(&interval);
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

static bool find_shares(struct session *session, struct progress *progress, int64_t us, struct shares *out,
                        struct error *error)
{
    struct profile_tally tally = {0};
    bool ok = (device_sees_running(&session->device) ? sample_running : sample_halting)(session, progress, us,
                                                                                        &tally, error) &&
              heat_make_shares(session, &tally, out, error);
    progress_clear(progress);
    profile_tally_free(&tally);
    return ok;
}

/* --- the functions -------------------------------------------------------------------------------------- */

bool heat_choose(struct survey_regions *regions, struct session *session, struct progress *progress,
                 struct error *error)
{
    const struct request *request = session->request;
    struct shares shares = {0};
    bool ok = session_sees_running(session, "--hot", error) &&
              find_shares(session, progress, SAMPLED_US, &shares, error);
    for (size_t i = 0; ok && i < shares.n && regions->n < request->hot; i++)
        if (shares.rows[i].state == PROFILE_STATES)
            ok = survey_regions_choose_at(regions, session->symbols, shares.rows[i].address,
                                          &request->process, error);
    shares_free(&shares);
    return ok && (regions->n > 0 ||
                  error_set(error, ERROR_STATE, "no sample of the program counter is in a function of %.128s",
                            session_elf(session)));
}

/* The one that begins at the address takes the place `to`, and those between follow it. */
static bool bring_forward(struct survey_regions *regions, uint64_t address, uint64_t samples, size_t to)
{
    size_t from = to;
    while (from < regions->n && regions->at[from].named.region.start != address)
        from++;
    if (from == regions->n)
        return false;
    struct survey_region one = regions->at[from];
    one.samples = samples;
    memmove(&regions->at[to + 1], &regions->at[to], (from - to) * sizeof one);
    regions->at[to] = one;
    return true;
}

bool heat_order(struct survey_regions *regions, struct session *session, struct progress *progress,
                struct heat *heat, struct error *error)
{
    struct shares shares = {0};
    struct error why = {0};
    int64_t begun_us = deadline_now_us(), part_us = (int64_t)(session->request->for_s * 1e6) / SAMPLED_PART;
    bool ok = find_shares(session, progress, part_us > 0 && part_us < SAMPLED_US ? part_us : SAMPLED_US,
                          &shares, &why);
    *heat = (struct heat){.samples = ok ? shares.samples : 0};
    for (size_t i = 0; i < shares.n; i++)
        if (shares.rows[i].state == PROFILE_STATES)
            heat->hot += bring_forward(regions, shares.rows[i].address, shares.rows[i].samples, heat->hot);
    shares_free(&shares);
    heat->took_us = deadline_now_us() - begun_us;
    if (!ok && !cannot_be_sampled(&why))
        return error_copy(error, &why);
    if (heat->hot == 0)
        snprintf(heat->none, sizeof heat->none, "%.250s",
                 ok ? "no sample of the program counter was in one of them" : why.text);
    return true;
}
