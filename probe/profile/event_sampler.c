#include "profile/event_sampler.h"

#include "base/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { PART = 8, LIST_ROOM = 2 * COUNTER_STOP_STEPS, LOST_MS = 5000, VISIT_MS = 500, NAP_NS = 1000000 };
/* The trial: as long as it takes to see that the event comes at all. */
enum { TRIAL_EVENTS = 1000, TRIAL_MS = 300 };
/* A stop takes up to a millisecond, and is to take no more than a tenth of the time. */
enum { MEASURED_MS = 200, STOPS_A_SECOND = 100, TWO_DIGITS = 100 };

/* --- how many events ------------------------------------------------------------------------------------ */

uint64_t event_sampler_most(uint64_t every)
{
    return every + every / PART;
}

static uint64_t next_count(struct event_sampler *sampler)
{
    uint64_t part = sampler->every / PART;
    sampler->armed = sampler->every - part + random_below(&sampler->random, 2 * part + 1);
    return sampler->armed;
}

static bool read_count(struct device *device, size_t n, uint64_t *count, uint64_t *us,
                       const struct deadline *deadline, struct error *error)
{
    uint64_t values[READING_ROOM], after_us;
    if (!device_read(device, values, us, &after_us, deadline, error))
        return false;
    *count = n > 1 ? values[0] | values[1] << device->reading.counters[0].bits : values[0];
    return true;
}

static uint64_t every_of(double per_second)
{
    double wanted = fmin(per_second / STOPS_A_SECOND, EVENT_SAMPLER_MOST);
    uint64_t every = (uint64_t)wanted, step = 1;
    while (every / step >= TWO_DIGITS)
        step *= 10;
    every -= every % step;
    return every < EVENT_SAMPLER_LEAST ? EVENT_SAMPLER_LEAST : every;
}

bool event_sampler_measure(struct device *device, size_t n, double *per_second, uint64_t *every,
                           const struct deadline *deadline, struct error *error)
{
    uint64_t before, now, before_us, now_us;
    unsigned bits = device->reading.counters[0].bits * (unsigned)n;
    if (!read_count(device, n, &before, &before_us, deadline, error) ||
        !device_run_for(device, MEASURED_MS, deadline, error) ||
        !read_count(device, n, &now, &now_us, deadline, error))
        return false;
    uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    *per_second =
        now_us > before_us ? (double)((now - before) & mask) * 1e6 / (double)(now_us - before_us) : 0;
    *every = every_of(*per_second);
    return true;
}

/* --- beginning ------------------------------------------------------------------------------------------ */

bool event_sampler_begin(struct event_sampler *sampler, struct device *device,
                         const struct counter_pick *picks, size_t n, uint64_t every,
                         const struct deadline *deadline, struct error *error)
{
    *sampler = (struct event_sampler){.device = device,
                                      .core = &device->chosen->core,
                                      .every = every,
                                      .random = (uint64_t)deadline_now_us() | 1};
    uint64_t events = every < TRIAL_EVENTS ? every : TRIAL_EVENTS;
    return counter_stop_take(&sampler->stop, device, picks, n, deadline, error) &&
           counter_stop_prove(&sampler->stop, events, TRIAL_MS, &sampler->is_proved, deadline, error) &&
           counter_stop_begin(&sampler->stop, next_count(sampler), deadline, error);
}

/* --- a stop --------------------------------------------------------------------------------------------- */

static bool fails_for_memory(struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "out of memory");
}

/* *has_pc: it could be read; an AArch32 program of an Armv8 core hides it. `contexts` are read with it. */
static bool read_pc(struct event_sampler *sampler, const struct counter_stop_look *look, bool *has_pc,
                    uint64_t *pc, struct contexts *contexts, const struct deadline *deadline,
                    struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    *has_pc = !core_may_be_unreadable(sampler->core) || core_unreadable(sampler->core, look->cause) == NULL;
    if (!*has_pc)
        return true;
    core_add_ready(sampler->core, &list);
    size_t at = core_add_register(sampler->core, &list, CORE_PC), words = contexts_add(contexts, &list);
    if (!counter_stop_run(&sampler->stop, &list, results, deadline, error))
        return false;
    *pc = core_code_place(core_register_value(sampler->core, CORE_PC, results, at));
    return contexts_note(contexts, results + words, false) || fails_for_memory(error);
}

/* Beside a stack, which is read by lists of its own. */
static bool note_contexts(struct event_sampler *sampler, const struct deadline *deadline, struct error *error)
{
    struct step items[PROFILE_CONTEXTS];
    uint64_t results[PROFILE_CONTEXTS];
    struct steps list = {.items = items, .room = PROFILE_CONTEXTS};
    contexts_add(sampler->contexts, &list);
    return list.n == 0 || (counter_stop_run(&sampler->stop, &list, results, deadline, error) &&
                           (contexts_note(sampler->contexts, results, false) || fails_for_memory(error)));
}

/* Where the core stands, into the tally. */
static bool note_place(struct event_sampler *sampler, const struct counter_stop_look *look,
                       struct profile_tally *tally, const struct deadline *deadline, struct error *error)
{
    bool has_pc =
        !core_may_be_unreadable(sampler->core) || core_unreadable(sampler->core, look->cause) == NULL;
    uint64_t pc = 0;
    if (!has_pc) {
        tally->now.states[PROFILE_NOT_PERMITTED]++;
        return true;
    }
    if (sampler->stacks == NULL)
        return read_pc(sampler, look, &has_pc, &pc, sampler->contexts, deadline, error) &&
               (profile_tally_add(tally, pc, 1) || fails_for_memory(error));
    return stack_reader_take(sampler->stacks, deadline, error) && note_contexts(sampler, deadline, error) &&
           ((call_stacks_add_found(&tally->now.stacks, &sampler->stacks->stack) &&
             profile_tally_add(tally, unwind_place(&sampler->stacks->stack.at[0]), 1)) ||
            fails_for_memory(error));
}

static bool take_stop(struct event_sampler *sampler, const struct counter_stop_look *look, int64_t halted_us,
                      struct profile_tally *tally, const struct deadline *deadline, struct error *error)
{
    int64_t left_us = 0;
    tally->now.events += sampler->armed + look->late;
    if (!note_place(sampler, look, tally, deadline, error))
        return false;
    sampler->stops++;
    sampler->is_proved = true;
    if (!counter_stop_go_on(&sampler->stop, next_count(sampler), look->value, &left_us, deadline, error))
        return false;
    tally->now.stood_s += left_us > halted_us ? (double)(left_us - halted_us) / 1e6 : 0;
    return true;
}

/* --- when the target does not answer -------------------------------------------------------------------- */

static bool is_passing(const struct error *why)
{
    return why->kind == ERROR_FAULT || why->kind == ERROR_ASLEEP || why->kind == ERROR_RESET;
}

/* After a reset all is set once more, as soon as the core is out of it. *reset: there was one. */
static bool renew(struct event_sampler *sampler, bool *reset, const struct deadline *deadline,
                  struct error *error)
{
    int64_t until_us = deadline_now_us() + INT64_C(1000) * patience_ms(LOST_MS);
    for (;;) {
        struct error again = {0};
        if (counter_stop_renew(&sampler->stop, reset, deadline, &again) &&
            counter_stop_begin(&sampler->stop, next_count(sampler), deadline, &again))
            return true;
        if (!is_passing(&again) || deadline_now_us() > until_us)
            return error_copy(error, &again);
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

static bool tell_foreign(struct event_sampler *sampler, const struct counter_stop_look *look,
                         const struct deadline *deadline, struct error *error)
{
    bool has_pc;
    uint64_t pc = 0;
    struct error unread = {0};
    device_leave_as(sampler->device, LEAVE_HALTED_FOREIGN);
    if (read_pc(sampler, look, &has_pc, &pc, NULL, deadline, &unread))
        sampler->device->stopped_at = pc;
    return error_set(error, ERROR_FOREIGN_STOP, "another debugger halted the core at 0x%08" PRIX64, pc);
}

bool event_sampler_take(struct event_sampler *sampler, int64_t us, struct profile_tally *tally,
                        const struct deadline *deadline, struct error *error)
{
    int64_t until_us = deadline_now_us() + us;
    do {
        enum counter_stop_state state;
        struct counter_stop_look look = {0};
        struct error why = {0};
        int64_t halted_us = 0;
        if (!counter_stop_wait(&sampler->stop, until_us, &state, &look, &halted_us, deadline, &why)) {
            if (!is_passing(&why))
                return error_copy(error, &why);
            state = COUNTER_STOP_RESET;
        }
        bool reset = state == COUNTER_STOP_RESET && why.kind == ERROR_NONE; /* else it did not answer */
        struct deadline visit = deadline_slice(deadline, patience_ms(VISIT_MS));
        if (state == COUNTER_STOP_STANDS && !take_stop(sampler, &look, halted_us, tally, &visit, &why)) {
            if (!is_passing(&why))
                return error_copy(error, &why);
            state = COUNTER_STOP_RESET; /* in the middle of it */
        }
        if (state == COUNTER_STOP_FOREIGN)
            return tell_foreign(sampler, &look, deadline, error);
        if (state == COUNTER_STOP_RESET) {
            if (!renew(sampler, &reset, deadline, error))
                return false;
            tally->now.resets += reset || why.kind == ERROR_RESET;
        }
    } while (deadline_now_us() < until_us);
    return true;
}
