/* SPDX-License-Identifier: MIT */
#include "profile/event_sampler.h"

#include "base/values.h"
#include "cores/exception.h"
#include "debuggers/debugger.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RUN_LEAST_US = 10000, RUN_MOST_US = 200000 };

void halt_sampler_begin(struct halt_sampler *sampler, struct device *device)
{
    int64_t now_us = deadline_now_us();
    *sampler = (struct halt_sampler){.device = device, .random = (uint64_t)now_us | 1, .halted_us = now_us};
}

/* About as long as the stops take, from half to one and a half of it. */
static int64_t draw_run_us(struct halt_sampler *sampler)
{
    double part = 0.5 + random_part(&sampler->random);
    double us = sampler->us_each < RUN_LEAST_US  ? RUN_LEAST_US
                : sampler->us_each > RUN_MOST_US ? RUN_MOST_US
                                                 : sampler->us_each;
    return (int64_t)(us * part);
}

/* Why it stopped is the debugger's to say: only our own request makes a sample. */
static bool check_stop(const struct halt_sampler *sampler, const struct debugger_stop *stop, uint64_t pc,
                       struct error *error)
{
    const struct device_core *core = sampler->device->chosen;
    if (stop->core[0] != '\0' && strcmp(stop->core, core->view.name) != 0)
        return error_set(error, ERROR_NO_CORE, "%s stopped, and not %s: -C says which core", stop->core,
                         core->view.name);
    if (stop->why == DEBUGGER_REQUESTED)
        return true;
    return error_set(error, ERROR_FOREIGN_STOP, "the core stopped by itself at 0x%08" PRIx64 "%s",
                     core_place(&core->core, pc),
                     stop->why == DEBUGGER_FAULT    ? ", by a fault"
                     : stop->why == DEBUGGER_OTHERS ? ", at a breakpoint"
                                                    : "");
}

static bool halt_sampler_read_pc(struct halt_sampler *sampler, uint64_t *pc, const struct deadline *deadline,
                                 struct error *error)
{
    struct debugger *debugger = sampler->device->debugger;
    char name[8];
    core_register_name(&sampler->device->chosen->core, CORE_PC, name, sizeof name);
    return debugger->ops->read_register(debugger, name, pc, deadline, error);
}

static bool run_and_halt(struct halt_sampler *sampler, struct debugger_stop *stop,
                         const struct deadline *deadline, struct error *error)
{
    struct debugger *debugger = sampler->device->debugger;
    if (!debugger->ops->go(debugger, DEBUGGER_RUN, deadline, error))
        return false;
    sampler->stood_us += (uint64_t)(deadline_now_us() - sampler->halted_us);
    struct deadline slice = {.at_us = deadline_now_us() + draw_run_us(sampler), .cancel = deadline->cancel};
    enum debugger_wait wait = debugger->ops->wait(debugger, stop, &slice, error);
    sampler->halted_us = deadline_now_us();
    return wait == DEBUGGER_STOPPED || (wait == DEBUGGER_RUNS && debugger_halt(debugger, stop, error));
}

bool halt_sampler_take(struct halt_sampler *sampler, struct profile_tally *tally,
                       const struct deadline *deadline, struct error *error)
{
    struct debugger_stop stop = {0};
    uint64_t pc;
    if (!run_and_halt(sampler, &stop, deadline, error) ||
        !halt_sampler_read_pc(sampler, &pc, deadline, error) || !check_stop(sampler, &stop, pc, error))
        return false;
    double took = (double)(deadline_now_us() - sampler->halted_us);
    sampler->us_each = sampler->us_each > 0 ? (3 * sampler->us_each + took) / 4 : took;
    return profile_tally_add(tally, core_place(&sampler->device->chosen->core, pc), 1) || error_memory(error);
}

/* ---- event sampler */

enum {
    PART = 8,
    QUIET_US = 500000,
    LIST_ROOM = 2 * COUNTER_STOP_STEPS,
    LOST_MS = 5000,
    PAST_LOOKS = 3, /* the first may be between the overflow and its stop */
    LOST_MOST = 8,
    MATCH_BASE = 1 << 30, /* far from what programs write, which is 0: after that there is no stop */
    VISIT_MS = 500,
    NAP_US = 1000
};
/* The trial: as long as it takes to see that the event occurs at all. */
enum { TRIAL_EVENTS = 1000, TRIAL_MS = 300 };
enum { DIFFERENT_RETURNS = 4, LOOKS_AT_ONE_PLACE = 32 };
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
    sampler->has_seen = false;
    sampler->quiet_us = 0;
    sampler->past = 0;
    return sampler->armed;
}

/* What the counter has at the beginning; `value`: what it had at the stop. */
static void see_start(struct event_sampler *sampler, uint64_t value, int64_t us)
{
    const struct counter_stop *stop = &sampler->stop;
    bool matches = stop->way == COUNTER_STOP_MATCH;
    sampler->seen = !matches ? -sampler->armed : stop->is_shared ? value : stop->base;
    sampler->seen_us = (uint64_t)us;
    sampler->has_seen = true;
}

/* Halts the core for it. */
static bool begin_anew(struct event_sampler *sampler, const struct deadline *deadline, struct error *error)
{
    int64_t now_us = deadline_now_us();
    if (!counter_stop_begin(&sampler->stop, next_count(sampler), deadline, error))
        return false;
    if (!sampler->stop.is_shared)
        see_start(sampler, 0, now_us);
    return true;
}

struct count {
    uint64_t value, before_us, after_us;
};

static bool read_count(struct device *device, size_t n, struct count *out, const struct deadline *deadline,
                       struct error *error)
{
    uint64_t values[READING_ROOM];
    if (!device_read(device, values, &out->before_us, &out->after_us, deadline, error))
        return false;
    out->value = n > 1 ? values[0] | values[1] << device->reading.counters[0].bits : values[0];
    return true;
}

static uint64_t went_by(const struct device *device, size_t n, uint64_t from, uint64_t to)
{
    unsigned bits = device->reading.counters[0].bits * (unsigned)n;
    return (to - from) & (bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX);
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
    struct count first, now;
    if (!read_count(device, n, &first, deadline, error) ||
        !device_run_for(device, MEASURED_MS, deadline, error) ||
        !read_count(device, n, &now, deadline, error))
        return false;
    uint64_t us = us_between(first.before_us, now.before_us);
    *per_second = us > 0 ? (double)went_by(device, n, first.value, now.value) * 1e6 / (double)us : 0;
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
                                      .n_picks = n,
                                      .random = (uint64_t)deadline_now_us() | 1};
    uint64_t events = every < TRIAL_EVENTS ? every : TRIAL_EVENTS;
    const struct clock clock = clock_unknown(core_fastest_hz(&device->chosen->core));
    sampler->plausible = plausible_begin(&device->reading, device->block->counts_cycles, &clock, 0);
    if (!counter_stop_take(&sampler->stop, device, picks, n, deadline, error))
        return false;
    sampler->stop.base = MATCH_BASE;
    return counter_stop_prove(&sampler->stop, events, TRIAL_MS, &sampler->is_proved, deadline, error) &&
           begin_anew(sampler, deadline, error);
}

/* --- a stop --------------------------------------------------------------------------------------------- */

static bool fails_for_memory(struct error *error)
{
    return error_memory(error);
}

/* *has_pc: it could be read; an AArch32 program of an Armv8 core hides it. `contexts` are read with it. */
static bool event_sampler_read_pc(struct event_sampler *sampler, const struct counter_stop_look *look,
                                  bool *has_pc, uint64_t *pc, struct contexts *contexts,
                                  const struct deadline *deadline, struct error *error)
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
    return contexts_note(contexts, results + words, false, false) || fails_for_memory(error);
}

/* In addition to a stack, which has its own lists. */
static bool event_sampler_note_contexts(struct event_sampler *sampler, const struct deadline *deadline,
                                        struct error *error)
{
    struct step items[PROFILE_CONTEXTS];
    uint64_t results[PROFILE_CONTEXTS];
    struct steps list = {.items = items, .room = PROFILE_CONTEXTS};
    contexts_add(sampler->contexts, &list);
    return list.n == 0 ||
           (counter_stop_run(&sampler->stop, &list, results, deadline, error) &&
            (contexts_note(sampler->contexts, results, false, false) || fails_for_memory(error)));
}

/* *is: the core may be at the beginning of an interrupt's handler, which returns to *to. */
static bool read_return(struct event_sampler *sampler, bool *is, uint64_t *to,
                        const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    core_add_ready(sampler->core, &list);
    size_t at = core_add_register(sampler->core, &list, CORE_STATUS);
    if (!counter_stop_run(&sampler->stop, &list, results, deadline, error))
        return false;
    uint64_t status = core_register_value(sampler->core, CORE_STATUS, results, at);
    *is = exception_may_be_interrupt(sampler->core, status);
    if (!*is)
        return true;
    list.n = 0;
    at = exception_add_return(sampler->core, status, &list);
    if (!counter_stop_run(&sampler->stop, &list, results, deadline, error))
        return false;
    *to = exception_return(sampler->core, results, at);
    return true;
}

/*
 * The PMU's overflow asks for the halt, and raises the PMU's interrupt: where that is enabled, the core takes
 * it first, and stops in its handler, always at the same distance from its beginning. That causes stops in a
 * row at one place, with interrupts from different ones. Stops of an idle core are at one place, too.
 */
static bool note_handler(struct event_sampler *sampler, uint64_t pc, const struct deadline *deadline,
                         struct error *error)
{
    bool is, again = pc == sampler->place && sampler->at_one_place > 0;
    uint64_t to = 0;
    if (sampler->stop.way != COUNTER_STOP_TRIGGER || sampler->in_handler)
        return true;
    sampler->place = pc;
    sampler->at_one_place = again ? sampler->at_one_place + 1 : 1;
    sampler->returns_differ = again ? sampler->returns_differ : 0;
    if (!again || sampler->at_one_place > LOOKS_AT_ONE_PLACE)
        return true;
    if (!read_return(sampler, &is, &to, deadline, error))
        return false;
    sampler->returns_differ += is && sampler->at_one_place > 2 && to != sampler->returns_to;
    sampler->returns_to = to;
    sampler->in_handler = sampler->returns_differ >= DIFFERENT_RETURNS;
    return true;
}

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
        return event_sampler_read_pc(sampler, look, &has_pc, &pc, sampler->contexts, deadline, error) &&
               note_handler(sampler, pc, deadline, error) &&
               (profile_tally_add(tally, pc, 1) || fails_for_memory(error));
    return stack_reader_take(sampler->stacks, deadline, error) &&
           event_sampler_note_contexts(sampler, deadline, error) &&
           note_handler(sampler, sampler->stacks->stack.at[0].pc, deadline, error) &&
           ((call_stacks_add_found(&tally->now.stacks, &sampler->stacks->stack) &&
             profile_tally_add(tally, unwind_place(&sampler->stacks->stack.at[0]), 1)) ||
            fails_for_memory(error));
}

static bool event_sampler_take_stop(struct event_sampler *sampler, const struct counter_stop_look *look,
                                    int64_t halted_us, struct profile_tally *tally,
                                    const struct deadline *deadline, struct error *error)
{
    int64_t left_us = 0;
    if (!counter_stop_check(&sampler->stop, look, sampler->armed, error))
        return false;
    tally->now.events += sampler->armed + look->late;
    if (!note_place(sampler, look, tally, deadline, error))
        return false;
    sampler->stops++;
    sampler->lost_in_a_row = 0;
    sampler->is_proved = true;
    int64_t now_us = deadline_now_us();
    if (!counter_stop_go_on(&sampler->stop, next_count(sampler), look->value, &left_us, deadline, error))
        return false;
    see_start(sampler, look->value, halted_us > 0 && halted_us < now_us ? halted_us : now_us);
    tally->now.stood_s += left_us > halted_us ? (double)(left_us - halted_us) / 1e6 : 0;
    return true;
}

/* --- when the target does not answer -------------------------------------------------------------------- */

/* After a reset all is set once more, as soon as the core is out of it. *reset: there was one. */
static bool event_sampler_renew(struct event_sampler *sampler, bool *reset, const struct deadline *deadline,
                                struct error *error)
{
    int64_t until_us = deadline_now_us() + INT64_C(1000) * patience_ms(LOST_MS);
    for (;;) {
        struct error again = {0};
        if (counter_stop_renew(&sampler->stop, reset, deadline, &again) &&
            begin_anew(sampler, deadline, &again))
            return true;
        if (!sampler_is_passing(&again) || deadline_now_us() > until_us)
            return error_copy(error, &again);
        deadline_nap_us(NAP_US);
    }
}

static bool tell_foreign(struct event_sampler *sampler, const struct counter_stop_look *look,
                         const struct deadline *deadline, struct error *error)
{
    bool has_pc;
    uint64_t pc = 0;
    struct error unread = {0};
    device_leave_as(sampler->device, LEAVE_HALTED_FOREIGN);
    if (event_sampler_read_pc(sampler, look, &has_pc, &pc, NULL, deadline, &unread))
        sampler->device->stopped_at = pc;
    return error_set(error, ERROR_FOREIGN_STOP, "another debugger halted the core at 0x%08" PRIX64, pc);
}

/* An overflow occurs when the counter has gone from minus N to 0, and has no value outside that. As the core
 * must be halted to read it, this is done only where stops fail to occur. */
static bool check_by_halting(struct event_sampler *sampler, const struct deadline *deadline,
                             struct error *error)
{
    struct counter_stop_look look;
    uint64_t left = sampler->armed;
    int64_t now_us = deadline_now_us(), ignored;
    if (sampler->quiet_us == 0)
        sampler->quiet_us = now_us;
    if (now_us - sampler->quiet_us < QUIET_US)
        return true;
    if (!counter_stop_halt(&sampler->stop, &look, deadline, error))
        return false;
    if (!look.has_come) {
        left = went_by(sampler->device, sampler->n_picks, look.value, 0);
        if (left > sampler->armed || left == 0)
            return error_set(error, ERROR_WRITTEN,
                             "something else writes the counter of %s: without a stop it has %" PRIu64
                             " where it began with minus %" PRIu64,
                             sampler->plausible.reading->counters[0].name, look.value, sampler->armed);
    }
    sampler->quiet_us = 0;
    return counter_stop_go_on(&sampler->stop, left, look.value, &ignored, deadline, error);
}

/* A Cortex-A9 may lose an overflow of an event counter (NXP ERR003719): the counter is past 0, and the next
 * stop 2^32 events away. So it is armed anew. One that something else sets beyond 0 is treated alike. */
static bool check_overflow(struct event_sampler *sampler, uint64_t value, const struct deadline *deadline,
                           struct error *error)
{
    uint64_t left = went_by(sampler->device, sampler->n_picks, value, 0);
    bool past = sampler->stop.way != COUNTER_STOP_MATCH && (left > sampler->armed || left == 0);
    sampler->past = past ? sampler->past + 1 : 0;
    if (sampler->past < PAST_LOOKS)
        return true;
    sampler->lost++;
    if (++sampler->lost_in_a_row > LOST_MOST)
        return error_set(error, ERROR_WRITTEN,
                         "the counter of %s stops the core no more: it has %" PRIu64
                         ", past 0, where it began with minus %" PRIu64
                         ", %u times. Something else writes it, or overflows are lost",
                         sampler->plausible.reading->counters[0].name, value, sampler->armed, LOST_MOST + 1);
    return begin_anew(sampler, deadline, error);
}

/* A counter that the program sets back reaches its stop late, or never, so it is armed anew. A reset, which
 * is found a little later, has the same effect once. */
static bool check_count(struct event_sampler *sampler, const struct deadline *deadline, struct error *error)
{
    struct count now;
    struct error why = {0};
    if (sampler->device->reading.by_core != NULL)
        return check_by_halting(sampler, deadline, error);
    if (!read_count(sampler->device, sampler->n_picks, &now, deadline, &why))
        return sampler_is_passing(&why) || error_copy(error, &why);
    uint64_t count = went_by(sampler->device, sampler->n_picks, sampler->seen, now.value);
    uint64_t us = us_between(sampler->seen_us, now.after_us);
    if (sampler->has_seen && !plausible_count(&sampler->plausible, 0, count, us, 0, &why))
        return ++sampler->set_back > 1 ? error_copy(error, &why) : begin_anew(sampler, deadline, error);
    sampler->seen = now.value;
    sampler->seen_us = now.before_us;
    sampler->has_seen = true;
    return check_overflow(sampler, now.value, deadline, error);
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
            if (!sampler_is_passing(&why))
                return error_copy(error, &why);
            state = COUNTER_STOP_RESET;
        }
        bool reset = state == COUNTER_STOP_RESET && why.kind == ERROR_NONE; /* else it did not answer */
        if (state == COUNTER_STOP_RUNS && !check_count(sampler, deadline, &why)) {
            if (!sampler_is_passing(&why))
                return error_copy(error, &why);
            state = COUNTER_STOP_RESET;
        }
        struct deadline visit = deadline_slice(deadline, patience_ms(VISIT_MS));
        if (state == COUNTER_STOP_STANDS &&
            !event_sampler_take_stop(sampler, &look, halted_us, tally, &visit, &why)) {
            if (!sampler_is_passing(&why))
                return error_copy(error, &why);
            state = COUNTER_STOP_RESET; /* in the middle of it */
        }
        if (state == COUNTER_STOP_FOREIGN)
            return tell_foreign(sampler, &look, deadline, error);
        if (state == COUNTER_STOP_RESET) {
            if (!event_sampler_renew(sampler, &reset, deadline, error))
                return false;
            tally->now.resets += reset || why.kind == ERROR_RESET;
            sampler->set_back = 0;
        }
    } while (deadline_now_us() < until_us);
    return true;
}
