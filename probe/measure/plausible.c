/* SPDX-License-Identifier: MIT */
#include "measure/plausible.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The user's clock may be the one from before a PLL was set up. A measured clock does not bound it: the core
 * may have slept. */
static const double GIVEN_FACTOR = 4, SEEN_FACTOR = 1.5;
enum {
    SLACK_US = 5000, /* error of a link's times; a model may run ahead of them for a moment */
    HALT_CYCLES = 1024,
    REHITS = 64,
    TRIAL_POLLS = 8,
    CLAIM_POLLS = 24, /* some 60 ms */
    SLEEPERS_POLLS = 40,
    MEASURED_POLLS = 64, /* of a clock that was measured: in fewer it may go on evenly enough by chance */
    TRIAL_NAP_US = 2500,
};

struct plausible plausible_begin(const struct reading *reading, bool counts_cycles, const struct clock *clock,
                                 double seen_hz)
{
    double fastest = clock->fastest_hz, seen = seen_hz * SEEN_FACTOR;
    double most = clock->bound_hz * GIVEN_FACTOR;
    if (most > fastest)
        most = clock->bound_hz > fastest ? clock->bound_hz : fastest;
    most = seen > most ? seen : most;
    return (struct plausible){.reading = reading, .counts_cycles = counts_cycles, .most_hz = most};
}

bool plausible_count(const struct plausible *plausible, size_t which, uint64_t count, uint64_t us,
                     unsigned halts, struct error *error)
{
    const struct counter *counter = &plausible->reading->counters[which];
    unsigned per_cycle = counter_pace(counter);
    double most =
        (((double)us + SLACK_US) / 1e6 * plausible->most_hz + (double)halts * HALT_CYCLES) * per_cycle +
        (double)counter_coarseness(counter);
    return (double)count <= most || error_set(error, ERROR_WRITTEN,
                                              "something else writes the counter of %s: it rose by %" PRIu64
                                              " in %.3g ms, and can by %.0f at most",
                                              counter->name, count, (double)us / 1e3, most);
}

bool plausible_span(const struct plausible *plausible, const uint64_t *from, const uint64_t *to, uint64_t us,
                    unsigned halts, struct error *error)
{
    const struct reading *reading = plausible->reading;
    for (size_t i = 0; reading != NULL && i < reading->counted; i++) {
        uint64_t elapsed = counter_elapsed(&reading->counters[i], from[i], to[i]);
        if (!plausible_count(plausible, i, elapsed, us, halts, error))
            return false;
    }
    return true;
}

bool plausible_totals(const struct plausible *plausible, const struct widen *totals, struct error *error)
{
    const struct reading *reading = plausible->reading;
    for (size_t i = 0; reading != NULL && i < reading->counted; i++) {
        if (!totals[i].contradicted)
            continue;
        if (i == 0)
            return error_set(error, ERROR_WRITTEN,
                             "the clock is wrong, or something else writes or stops the counter of %s: it "
                             "does not fit the chip's timer",
                             reading->counters[0].name);
        return error_set(error, ERROR_WRITTEN,
                         "something else writes the counter of %s: it rose by %" PRIu64 " in %" PRIu64
                         " cycles",
                         reading->counters[i].name, totals[i].total, totals[0].total);
    }
    return true;
}

/* A hit executes at least one instruction, so it takes at least one cycle. A whole wrap would read the same.
 */
static bool stood_still(const struct plausible *plausible, const struct raw_hit *hit, size_t i)
{
    const struct counter *counter = &plausible->reading->counters[i];
    double us = (double)us_between(hit->before_us, hit->after_us);
    double most = us / 1e6 * plausible->most_hz * counter_pace(counter);
    bool moves = i == 0 ? plausible->counts_cycles : strcmp(counter->name, "INST_RETIRED") == 0;
    return moves && counter->shift == 0 && hit->from[i] == hit->to[i] &&
           most < (double)counter_modulus_at(counter, hit->from[i]);
}

static bool check_moved(const struct plausible *plausible, const struct raw_hit *hit, struct error *error)
{
    const struct reading *reading = plausible->reading;
    for (size_t i = 0; reading != NULL && i < reading->counted; i++)
        if (stood_still(plausible, hit, i))
            return error_set(error, ERROR_WRITTEN, "the counter of %s did not move in a hit: %s",
                             reading->counters[i].name,
                             i > 0 && reading->may_hide_events
                                 ? "the firmware does not let it count in Secure state (MDCR_EL3.SPME)"
                                 : "something else switched it off");
    return true;
}

bool plausible_hit(struct plausible *plausible, const struct raw_hit *hit, struct error *error)
{
    uint64_t us = us_between(hit->before_us, hit->after_us);
    /* All hits of one packet have the packet's times: take the first's beginning to the second's end */
    uint64_t between = us_between(plausible->last_us, hit->after_us);
    unsigned halts = hit->pairs + hit->steps;
    if (plausible->has_last && !plausible_span(plausible, plausible->last, hit->from, between, REHITS, error))
        return false;
    if (!plausible_span(plausible, hit->from, hit->to, us, halts, error))
        return false;
    if (!check_moved(plausible, hit, error))
        return false;
    memcpy(plausible->last, hit->to, sizeof plausible->last);
    plausible->last_us = hit->before_us;
    plausible->has_last = true;
    return true;
}

bool plausible_rehit(const struct plausible *plausible, const struct raw_hit *rehit, int64_t now_us,
                     struct error *error)
{
    enum { LIKELY_BITS = 24 }; /* the same value after a wrap is too unlikely a coincidence to consider */
    if (plausible->reading == NULL || !plausible->has_last || !plausible->counts_cycles)
        return true;
    const struct counter *cycles = &plausible->reading->counters[0];
    uint64_t us = (uint64_t)now_us > plausible->last_us ? (uint64_t)now_us - plausible->last_us : 0;
    double modulus = (double)counter_modulus_at(cycles, rehit->from[0]);
    bool may_wrap =
        modulus < (double)(1UL << LIKELY_BITS) && (double)us / 1e6 * plausible->most_hz >= modulus;
    return cycles->shift != 0 || may_wrap || rehit->from[0] != plausible->last[0] ||
           error_set(
               error, ERROR_WRITTEN,
               "the counter of %s did not move from one hit to the next: something else switched it off",
               cycles->name);
}

static double rate_hz(const struct reading *reading, uint64_t from, uint64_t to, uint64_t us)
{
    uint64_t elapsed = counter_elapsed(&reading->counters[0], from, to);
    return us > 0 ? (double)elapsed * 1e6 / (double)us : 0;
}

static bool check_poll(const struct device_poll *poll, struct error *error)
{
    if (poll->reset)
        return error_reset(error);
    return poll->changed == NULL || witness_tell(poll->changed, poll->saw, error);
}

struct trial {
    struct plausible by_claim, by_core; /* judges by the claimed clock, and by what any such core can do */
    uint64_t last[READING_ROOM], last_us, last_end_us, elapsed;
    double seen_hz;    /* the fastest, at least */
    double slowest_hz; /* the slowest, at most */
    struct error odd;  /* too fast for the claimed clock */
    struct clock_look looks[CLOCK_LOOKS];
    unsigned n_looks, asleep;
    uint32_t model_ns; /* of the last sample */
    bool stopped;
};

static bool trial_take(struct trial *trial, const uint64_t *values, uint64_t before_us, uint64_t after_us,
                       struct error *error)
{
    const struct reading *reading = trial->by_core.reading;
    uint64_t us = us_between(trial->last_us, after_us), least_us = us_between(trial->last_end_us, before_us);
    double hz = rate_hz(reading, trial->last[0], values[0], us);
    double most_hz = least_us > 0 ? rate_hz(reading, trial->last[0], values[0], least_us) : INFINITY;
    if (!plausible_span(&trial->by_core, trial->last, values, us, 0, error))
        return false;
    (void)plausible_span(&trial->by_claim, trial->last, values, us, 0, &trial->odd);
    trial->slowest_hz = most_hz < trial->slowest_hz ? most_hz : trial->slowest_hz;
    trial->seen_hz = hz > trial->seen_hz ? hz : trial->seen_hz;
    trial->elapsed += counter_elapsed(&reading->counters[0], trial->last[0], values[0]);
    /* It may have gone round: the samples begin anew */
    if ((double)us / 1e6 * trial->by_core.most_hz >=
        (double)counter_modulus_at(&reading->counters[0], trial->last[0]))
        trial->n_looks = trial->asleep = 0;
    return true;
}

/* By the time of a model, if it is one: its clock goes by no other. */
static void trial_note_look(struct trial *trial, const struct device *device, const struct device_poll *poll,
                            uint64_t before_us, uint64_t after_us)
{
    if (trial->n_looks == CLOCK_LOOKS)
        return;
    struct clock_look *look = &trial->looks[trial->n_looks];
    *look = (struct clock_look){
        .count = trial->elapsed, .before_ns = 1000 * before_us, .after_ns = 1000 * after_us};
    if (device->model_time.size != 0) {
        uint64_t since = trial->n_looks == 0 ? 0 : look[-1].after_ns;
        look->before_ns = since + (trial->n_looks == 0 ? 0 : poll->model_ns[0] - trial->model_ns);
        look->after_ns = look->before_ns + (uint32_t)(poll->model_ns[1] - poll->model_ns[0]);
        trial->model_ns = poll->model_ns[1];
    }
    trial->stopped = trial->stopped || !(poll->ran || device->reading.by_core != NULL);
    trial->asleep += !poll->ran && device->slept;
    trial->n_looks++;
}

/* A counter that is too fast for the claimed clock, but runs evenly, is not written: the claim is wrong. */
static bool trial_runs_evenly(const struct trial *trial)
{
    static const double EVENLY = 1.25;
    return trial->slowest_hz > 0 && trial->seen_hz <= EVENLY * trial->slowest_hz;
}

/* Where the core itself reads the counters, no sample shows it asleep. */
static struct clock_seen trial_seen(const struct trial *trial, const struct clock *clock)
{
    bool halts = trial->by_core.reading->by_core != NULL;
    struct clock_seen seen = clock_seen_of(trial->looks, trial->n_looks, halts);
    seen.stopped = trial->stopped || (halts && clock->may_sleep);
    seen.asleep = trial->asleep;
    return seen;
}

/* A clock that was measured over sleep, too, in which the counter may halt. Not where each sample
 * halts the core, which would feel it. */
static bool trial_measures_sleeper(const struct device *device, const struct clock *clock)
{
    const struct device_core *counted = device_counted(device);
    return clock->error_hz > 0 && clock->may_sleep && device->reading.by_core == NULL && counted != NULL &&
           core_has_run_control(&counted->core);
}

/* A core that sleeps may do so for many polls, with another reload value; and a clock that seems wrong needs
 * more samples than one that does not. */
static int polls_wanted(const struct trial *trial, const struct device *device, const struct clock *clock)
{
    double turn_us = (double)counter_modulus(&trial->by_core.reading->counters[0]) / clock->fastest_hz * 1e6;
    if (device->slept && device->block->may_reload)
        return SLEEPERS_POLLS;
    if (trial_measures_sleeper(device, clock) && turn_us > TRIAL_NAP_US)
        return MEASURED_POLLS;
    if (!clock_is_claimed(clock) || turn_us < TRIAL_NAP_US)
        return TRIAL_POLLS;
    const struct clock_seen seen = trial_seen(trial, clock);
    return trial->n_looks >= CLAIM_POLLS && clock_is_odd(clock, &seen) ? CLOCK_LOOKS : CLAIM_POLLS;
}

static bool trial_polls(struct trial *trial, struct device *device, const struct clock *clock,
                        const struct deadline *deadline, struct error *error)
{
    uint64_t values[READING_ROOM], before_us, after_us = 0;
    struct device_poll poll;
    for (int i = 0; i < polls_wanted(trial, device, clock); i++) {
        /* The naps differ, so that no period of the program's fits them */
        if (i > 0)
            deadline_nap_us(TRIAL_NAP_US + 37 * (i % 8));
        if (!device_poll(device, values, &before_us, &after_us, &poll, deadline, error))
            return false;
        /* The first poll may report a reset of long ago */
        poll.reset = poll.reset && i > 0;
        if (!check_poll(&poll, error) || (i > 0 && !trial_take(trial, values, before_us, after_us, error)))
            return false;
        trial_note_look(trial, device, &poll, before_us, after_us);
        memcpy(trial->last, values, sizeof trial->last);
        trial->last_us = before_us;
        trial->last_end_us = after_us;
    }
    return true;
}

bool plausible_trial(struct device *device, struct clock *clock, double *seen_hz,
                     const struct deadline *deadline, struct error *error)
{
    const struct reading *reading = &device->reading;
    const struct clock any = {.bound_hz = clock->fastest_hz, .fastest_hz = clock->fastest_hz};
    bool counts_cycles = device->block->counts_cycles;
    struct trial trial = {.by_claim = plausible_begin(reading, counts_cycles, clock, 0),
                          .by_core = plausible_begin(reading, counts_cycles, &any, 0),
                          .slowest_hz = INFINITY};
    *seen_hz = 0;
    if (!device_sees_running(device))
        return true;
    if (clock_is_claimed(clock) || trial_measures_sleeper(device, clock))
        (void)device_find_model(device, deadline);
    bool ok = trial_polls(&trial, device, clock, deadline, error);
    device_forget_model(device);
    if (!ok)
        return false;
    if (trial.odd.kind != ERROR_NONE && !(counts_cycles && trial_runs_evenly(&trial)))
        return error_copy(error, &trial.odd);
    *seen_hz = trial.seen_hz;
    struct clock_seen seen = trial_seen(&trial, clock);
    if (counts_cycles)
        clock_check(clock, &seen);
    return true;
}
