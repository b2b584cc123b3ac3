/* SPDX-License-Identifier: MIT */
#include "measure/delta.h"

#include "base/values.h"
#include "measure/evaluation.h"
#include "measure/plausible.h"
#include "measure/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void slow_hits_begin(struct slow_hits *slow, size_t wanted)
{
    *slow = (struct slow_hits){.wanted = wanted < SLOW_HITS_MOST ? wanted : SLOW_HITS_MOST};
}

size_t slow_hits_reserve(struct slow_hits *slow)
{
    for (size_t slot = 0; slot < SLOW_HIT_SLOTS; slot++)
        if (!slow->is_used[slot]) {
            slow->is_used[slot] = true;
            slow->is_read[slot] = false;
            return slot;
        }
    return SLOW_HIT_NONE;
}

void slow_hits_release(struct slow_hits *slow, size_t slot)
{
    if (slot < SLOW_HIT_SLOTS)
        slow->is_used[slot] = false;
}

static bool is_slower(const struct value *one, const struct value *other)
{
    if (one->count != other->count)
        return one->count > other->count;
    return one->at_least && !other->at_least;
}

size_t slow_hits_take(struct slow_hits *slow, const struct hit_result *hit, size_t column,
                      const uint64_t *words, size_t slot)
{
    const struct value *value = &hit->values[column];
    size_t place = slow->n;
    while (place > 0 && is_slower(value, &slow->at[place - 1].hit.values[column]))
        place--;
    if (place == slow->wanted) {
        slow_hits_release(slow, slot);
        return SLOW_HIT_NONE;
    }
    if (slow->n == slow->wanted)
        slow_hits_release(slow, slow->at[--slow->n].slot);
    memmove(&slow->at[place + 1], &slow->at[place], (slow->n - place) * sizeof slow->at[0]);
    slow->n++;
    struct slow_hit *kept = &slow->at[place];
    *kept = (struct slow_hit){.hit = *hit, .slot = slot};
    if (slot == SLOW_HIT_NONE)
        kept->slot = slow_hits_reserve(slow);
    kept->hit.words = NULL; /* it moves: a printer uses kept->words */
    if (words != NULL)
        memcpy(kept->words, words, sizeof kept->words);
    return kept->slot;
}

/* ---- delta */

enum {
    HITS_DEFAULT = 100,
    HITS_MOST = 1 << 30, /* if only the time ends it */
    AT_ONCE = 16, /* if it is not known how many will follow: the end of a turn loses those on their way */
    WINDOW_US = 2000000,
    CUT_MS = 500, /* to read how far a hit was */
    ROUNDS = 4,   /* the passes take turns, so that a drift affects all of them */
    REHITS_FIRST = 10,
    REHITS_MORE = 32,              /* when the first ones differ among themselves */
    WAITING_ROOM = SLOW_HITS_WAIT, /* hits measured before calibration is done */
};

void pass_check_add(struct pass_check *check, uint64_t value)
{
    check->min = check->n == 0 || value < check->min ? value : check->min;
    check->max = check->n == 0 || value > check->max ? value : check->max;
    double off = (double)value - check->mean;
    check->mean += off / (double)++check->n;
    check->squares += off * ((double)value - check->mean);
}

/* Three standard errors of the mean. */
static double margin(const struct pass_check *check)
{
    return check->n < 2 ? 0 : 3 * sqrt(check->squares / (double)(check->n - 1) / (double)check->n);
}

void pass_check_compare(const struct pass_check *passes, size_t n, double plus_minus, const char *name,
                        char *out, size_t size)
{
    size_t low = n, high = n;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (passes[i].n == 0)
            continue;
        if (low == n || passes[i].mean < passes[low].mean)
            low = i;
        if (high == n || passes[i].mean > passes[high].mean)
            high = i;
    }
    if (low == n || low == high)
        return;
    double apart = passes[high].mean - passes[low].mean;
    /* A single hit does not show how its pass varies: allow the range of the other passes */
    double room = margin(&passes[low]) + margin(&passes[high]) + 2 * plus_minus;
    if (passes[low].n < 2 || passes[high].n < 2)
        for (size_t i = 0; i < n; i++)
            if (passes[i].n > 1 && (double)(passes[i].max - passes[i].min) > room)
                room = (double)(passes[i].max - passes[i].min);
    if (apart > room)
        snprintf(out, size, "the passes disagree: mean %.48s %.6g in pass %zu, %.6g in pass %zu", name,
                 passes[low].mean, low + 1, passes[high].mean, high + 1);
}

struct pass {
    const struct plan_pass *plan;
    struct calibration calibrations[PLACEMENT_COUNTERS];
    struct overhead overheads[PLACEMENT_COUNTERS];
    size_t proved; /* re-hits after which the counter was seen to go on */
    bool calibrated;
    uint64_t hits, clean,
        undecided;              /* clean: in the statistics; undecided: the first counter is only bounded */
    int64_t begun_us, first_us; /* of the turn; its first hit; 0: none yet */
    struct pass_check check;    /* of the first counter */
};

struct waiting {
    struct raw_hit raw;
    struct widen totals[READING_ROOM];
    bool polled; /* the totals are made of polls; else they may be made anew */
    int64_t us;
    size_t slot; /* of what was read at its end */
};

/* The end of the last hit, or the start of a call that was left. The next start in the same call of the
 * engine shows when the call was made again. */
struct hit_end {
    bool known, is_left;
    uint64_t values[READING_ROOM], us; /* us: not later than they were read */
    unsigned pairs;                    /* of halts, from there to the next start */
    uint64_t count;                    /* of that hit, by the first counter; 0 if it was left */
    bool at_least;
};

struct delta {
    struct device *device;
    const struct delta_options *options;
    const struct delta_sink *sink;
    struct summary *summary;
    struct pass *passes, *pass; /* the one whose turn it is */
    struct evaluation evaluation;
    struct plausible plausible;
    struct error written; /* no hit counts after this */
    bool ran_on;          /* in this run, the next stop is after the last hit's end */
    struct waiting waiting[WAITING_ROOM];
    size_t n_waiting;
    struct hit_end last;
    struct periods before;  /* of the calls that were left since the last one that returned */
    size_t slot;            /* to be read into at the end of the last hit; SLOW_HIT_NONE: nothing is */
    struct delta_turn turn; /* the one under way, */
    struct engine *engine;  /* by this engine */
    const struct deadline *deadline;
    struct armed { /* the counters after the turn's engine was armed, until its first hit */
        bool known;
        uint64_t values[READING_ROOM], us;
    } armed;
    struct halts_timing { /* of the call of the engine under way */
        bool known;       /* so far, all cycles are */
        uint64_t last[READING_ROOM], last_us, resumes;
        double cycles;
        struct device_moment begun;
    } halts;
    struct turn_end { /* the counters at the last hit's end, of the turn before */
        bool known;
        uint64_t values[READING_ROOM], us;
    } turn_end;
    struct left_call { /* without a start since then, in this run */
        bool known;
        unsigned pairs;
        uint64_t values[READING_ROOM], us;
    } left;
    struct cut_hit { /* the turn's run ended in it: it took at least these totals */
        bool known, is_cancelled;
        unsigned pairs;
        struct widen totals[READING_ROOM];
    } cut;
    uint64_t seen;  /* hits, with those that wait */
    uint64_t taken; /* of the turn, after its first one */
    unsigned most_pairs, most_steps;
    int64_t started_us, turns_us; /* turns_us: that all turns took */
};

static void put_value(struct column *column, const struct value *value)
{
    if (!value->at_least) {
        statistics_add(column->statistics, value->count);
        return;
    }
    column->at_least++;
    if (value->count > column->at_least_max)
        column->at_least_max = value->count;
}

/* `most`: what it may have taken; NULL: that is not known. */
static void apart_add(struct column *column, const struct value *most)
{
    struct left_out *apart = &column->apart;
    apart->all++;
    if (most == NULL || most->at_least) {
        apart->unbounded++;
        return;
    }
    apart->bounded++;
    apart->most += most->count;
    apart->longest = most->count > apart->longest ? most->count : apart->longest;
}

/* Of one that was added without. */
static void apart_bound(struct column *column, const struct value *most)
{
    column->apart.all--;
    column->apart.unbounded--;
    apart_add(column, most);
}

static bool was_undisturbed(const struct delta *delta, const struct hit_result *hit)
{
    const struct summary *summary = delta->summary;
    if (delta->device->reading.has_exceptions)
        return summary->undisturbed != NULL && !hit->excepted;
    for (size_t i = 0; summary->undisturbed != NULL && i < summary->n; i++)
        if (!hit->values[i].absent && result_exceptions(summary->columns[i].name) != RESULT_EXCEPTIONS_NOT)
            return !hit->values[i].at_least && hit->values[i].count == 0;
    return false;
}

/* Cycles are first in every pass. Without them, the passes begin with different events. */
static bool leads_as_the_first(const struct delta *delta)
{
    return delta->pass->plan->column[0] == delta->passes->plan->column[0];
}

static void count(struct delta *delta, const struct raw_hit *raw, struct hit_result *hit)
{
    struct summary *summary = delta->summary;
    struct pass *pass = delta->pass;
    const struct value *first = &hit->values[pass->plan->column[0]];
    bool leads = leads_as_the_first(delta);
    if (leads && !raw->tainted && !first->at_least &&
        (summary->max_number == 0 || first->count > summary->max_value)) {
        hit->is_max = true;
        hit->words = delta->options->at_end != NULL ? raw->words : NULL;
        summary->max_number = hit->number;
        summary->max_value = first->count;
        memcpy(summary->at_max.values, raw->words, sizeof summary->at_max.values);
    }
    pass->hits++;
    summary->steps_past += raw->past;
    if (raw->tainted) {
        summary->tainted++;
    } else if (first->at_least) {
        pass->undecided++;
    } else {
        pass->clean++;
        if (leads)
            pass_check_add(&pass->check, first->count);
    }
    if (leads && !raw->tainted && !first->at_least && was_undisturbed(delta, hit))
        statistics_add(summary->undisturbed, first->count);
}

/* The same hits as for the maximum, and those with a bound: one may be the slowest. */
static size_t judge_slow_hit(struct delta *delta, const struct raw_hit *raw, const struct hit_result *hit,
                             size_t slot)
{
    struct slow_hits *slow = delta->options->slow_hits;
    if (slow == NULL)
        return SLOW_HIT_NONE;
    if (hit->warmup || hit->tainted || !leads_as_the_first(delta)) {
        slow_hits_release(slow, slot);
        return SLOW_HIT_NONE;
    }
    return slow_hits_take(slow, hit, delta->pass->plan->column[0], raw->words, slot);
}

/* Returns the slot of a hit that is among the slowest so far. */
static size_t delta_sink_evaluate(struct delta *delta, const struct raw_hit *raw, const struct widen *totals,
                                  int64_t at_us, size_t slot)
{
    struct summary *summary = delta->summary;
    struct pass *pass = delta->pass;
    bool warmup = summary->warmup < delta->options->warmup;
    if (warmup)
        summary->warmup++;
    else
        summary->hits++;
    struct hit_result hit = {.number = summary->warmup + summary->hits,
                             .pass = (unsigned)(delta->pass - delta->passes),
                             .tainted = raw->tainted,
                             .excepted = reading_shows_exception(&delta->device->reading, raw->from, raw->to),
                             .warmup = warmup,
                             .seconds = (double)(at_us - delta->started_us) / 1e6,
                             .n = summary->n};
    for (size_t i = 0; i < summary->n; i++)
        hit.values[i].absent = true;
    for (size_t i = 0; i < pass->plan->n; i++) {
        size_t column = pass->plan->column[i];
        hit.values[column] = evaluation_value(&delta->evaluation, i, &totals[i], raw->pairs);
        if (!warmup && raw->tainted) /* the handler in it only adds */
            apart_add(&summary->columns[column], &hit.values[column]);
        else if (!warmup)
            put_value(&summary->columns[column], &hit.values[column]);
    }
    if (raw->pairs > delta->most_pairs)
        delta->most_pairs = raw->pairs;
    if (raw->steps > delta->most_steps)
        delta->most_steps = raw->steps;
    if (!warmup && !raw->tainted)
        (void)unseen_delays_note(&summary->delays, &delta->device->reading, raw->from, raw->to);
    if (!warmup)
        count(delta, raw, &hit);
    if (delta->sink->hit != NULL)
        delta->sink->hit(delta->sink->context, &hit);
    return judge_slow_hit(delta, raw, &hit, slot);
}

/* When the turn is over, even if it waits; INT64_MAX: not before a hit. Of one region by itself, a pass needs
 * one in all its turns, and if other passes have some, it waits no longer than for the whole time. */
static int64_t turn_until_us(const struct delta *delta)
{
    const struct pass *pass = delta->pass;
    int64_t turn_us = pass->begun_us + delta->turn.for_us,
            all_us = delta->started_us + delta->options->for_us;
    bool alone = delta->turn.region == NULL;
    if (delta->turn.for_us > 0 && (pass->first_us != 0 || (alone && pass->hits > 0)))
        return turn_us;
    if (delta->turn.for_us > 0 && alone && delta->summary->hits > 0)
        return turn_us > all_us ? turn_us : all_us;
    return INT64_MAX;
}

/* More hits make up for those that a slow host left undecided, unless every hit is undecided. */
static bool delta_sink_is_enough(const struct delta *delta, int64_t now_us)
{
    const struct pass *pass = delta->pass;
    uint64_t all = pass->hits + delta->n_waiting;
    bool until_goal = delta->options->hits > 0 || delta->options->precision > 0;
    if (now_us >= turn_until_us(delta))
        return true;
    if (delta->turn.for_us > 0 && !until_goal)
        return false;
    int64_t window_us = delta->summary->passes > 1 ? WINDOW_US / ROUNDS : WINDOW_US;
    if (!until_goal)
        return all >= delta->turn.goal || (pass->first_us != 0 && now_us - pass->first_us >= window_us);
    if (now_us - pass->begun_us < delta->turn.least_us)
        return false;
    if (pass->undecided == 0 || pass->clean == 0)
        return all >= delta->turn.goal;
    return all - pass->undecided >= delta->turn.goal || all >= 4 * delta->turn.goal + 16;
}

static void periods_add_cut(struct periods *periods, uint64_t least)
{
    periods->n++;
    periods->longest = least > periods->longest ? least : periods->longest;
    periods->inside += least;
    periods->cycles += least;
    periods->inside2 += (double)least * (double)least;
    periods->cycles2 += (double)least * (double)least;
    periods->product += (double)least * (double)least;
    periods->cut = true;
}

static void periods_add(struct periods *periods, const struct periods *more)
{
    periods->n += more->n;
    periods->n_left += more->n_left;
    periods->longest = more->longest > periods->longest ? more->longest : periods->longest;
    periods->inside += more->inside;
    periods->cycles += more->cycles;
    periods->inside2 += more->inside2;
    periods->cycles2 += more->cycles2;
    periods->product += more->product;
    periods->inside_at_least = periods->inside_at_least || more->inside_at_least;
    periods->at_least = periods->at_least || more->at_least;
}

/* Periods of calls that were left count as one with the next, in equal parts. */
static void delta_sink_put_periods(struct summary *summary, const struct periods *more)
{
    double n = (double)more->n;
    periods_add(&summary->periods, more);
    for (uint64_t i = 0; i < more->n; i++) {
        series_add(&summary->in_order.cycles, (double)more->cycles / n);
        series_add(&summary->in_order.inside, (double)more->inside / n);
    }
}

/* From the end of the last hit to the start of this one: together with the last hit it is the time from call
 * to call. Calls that were left count with the one after them that returned: an engine ends its run at a
 * return, and what precedes that would count too often. */
static void add_period(struct delta *delta, const struct raw_hit *raw)
{
    const struct hit_end *last = &delta->last;
    const struct evaluation_span span = {.from = last->values,
                                         .to = raw->from,
                                         .longest_us = us_between(last->us, raw->after_us),
                                         .pairs = last->pairs,
                                         .halted = true};
    struct widen between[READING_ROOM];
    evaluation_step(&delta->evaluation, &span, between);
    struct value value = evaluation_value(&delta->evaluation, 0, &between[0], last->pairs);
    double inside = (double)last->count, cycles = inside + (double)value.count;
    uint64_t period = last->count + value.count;
    const struct periods one = {.n = 1,
                                .n_left = last->is_left,
                                .longest = period,
                                .inside = last->count,
                                .cycles = period,
                                .inside2 = inside * inside,
                                .cycles2 = cycles * cycles,
                                .product = inside * cycles,
                                .inside_at_least = last->at_least || last->is_left,
                                .at_least = last->at_least || value.at_least};
    periods_add(&delta->before, &one);
    if (last->is_left)
        return;
    delta_sink_put_periods(delta->summary, &delta->before);
    delta->before = (struct periods){0};
}

/* A call that was left: until the next start at most, with what halts add. */
static void bound_left(struct delta *delta, const struct raw_hit *next)
{
    const struct left_call *left = &delta->left;
    const struct evaluation_span span = {.from = left->values,
                                         .to = next->from,
                                         .longest_us = us_between(left->us, next->after_us),
                                         .pairs = left->pairs};
    struct widen between[READING_ROOM];
    if (!left->known)
        return;
    delta->left.known = false;
    evaluation_step(&delta->evaluation, &span, between);
    apart_bound(&delta->summary->columns[delta->pass->plan->column[0]],
                &(struct value){.count = between[0].total, .at_least = between[0].at_least});
}

static void delta_sink_add_wait(struct delta *delta, const struct raw_hit *raw)
{
    const struct evaluation_span span = {.from = delta->armed.values,
                                         .to = raw->from,
                                         .longest_us = us_between(delta->armed.us, raw->after_us)};
    struct widen waited[READING_ROOM];
    if (!delta->armed.known)
        return;
    delta->armed.known = false;
    evaluation_step(&delta->evaluation, &span, waited);
    periods_add_wait(&delta->summary->periods, waited[0].total);
}

static bool counts_periods(const struct delta *delta)
{
    return delta->device->block->counts_cycles && delta->pass->plan->column[0] == 0;
}

/* A handler that waited for the halt to end ran in a tainted hit: without the halt it would not be there.
 * `total`: what the hit counted; NULL: its call was left. */
static void delta_sink_note_end(struct delta *delta, const struct raw_hit *raw, const struct widen *total)
{
    struct hit_end *last = &delta->last;
    bool counts = counts_periods(delta);
    if (last->known)
        add_period(delta, raw);
    bool warmup = delta->summary->warmup < delta->options->warmup;
    bool known = counts && !warmup && !raw->tainted && delta->pass->calibrated &&
                 delta->pass->overheads[0].known && !delta->options->apart;
    *last = (struct hit_end){.known = known, .is_left = total == NULL, .us = raw->before_us, .pairs = 1};
    if (!known && total != NULL)
        delta->before = (struct periods){0};
    if (!known)
        return;
    memcpy(last->values, total != NULL ? raw->to : raw->from, sizeof last->values);
    if (total == NULL) {
        last->pairs += raw->pairs;
        return;
    }
    struct value value = evaluation_value(&delta->evaluation, 0, total, raw->pairs);
    last->count = value.count;
    last->at_least = value.at_least;
}

/* ---- how long the halts took: in Debug state the counter of cycles stops, and nowhere else while the core
 * is awake (DDI 0403 C1.8.3, DDI 0406C C12.3, DDI 0487 D13.1) */

/* Of a counter that goes on in Debug state nothing follows. What the halted core reads itself cannot be read
 * between two runs, when the core may be at the next start already. Where a program may sleep, a Cortex-M
 * shows that it did, and so does a counter that is slower than a claimed clock. */
static bool can_time_halts(const struct device *device, const struct delta_options *options)
{
    const struct clock *clock = &options->clock;
    if (!options->times_halts || !(clock->low_hz > 0) || !device_sees_running(device) ||
        device->remote != NULL)
        return false;
    bool shows_sleep = core_has(&device->chosen->core, SYSTEM_SPACE) && clock_is_claimed(clock);
    return device->reading.by_core == NULL && device->block->counts_cycles &&
           device->block->kind->own_cycles == NULL && (!clock->may_sleep || shows_sleep);
}

static void halts_add(struct delta *delta, const struct widen *cycles)
{
    delta->halts.cycles += (double)cycles->total;
    delta->halts.known = delta->halts.known && !cycles->at_least;
}

/* From the last reading to this one. */
static void halts_add_step(struct delta *delta, const uint64_t *to, uint64_t after_us)
{
    const struct evaluation_span span = {.from = delta->halts.last,
                                         .to = to,
                                         .longest_us = us_between(delta->halts.last_us, after_us),
                                         .pairs = 1};
    struct widen step[READING_ROOM];
    evaluation_step(&delta->evaluation, &span, step);
    halts_add(delta, &step[0]);
}

/* `total`: of the hit; NULL: its call was left. */
static void halts_add_hit(struct delta *delta, const struct raw_hit *raw, const struct widen *total)
{
    struct halts_timing *halts = &delta->halts;
    if (!halts->known)
        return;
    halts_add_step(delta, raw->from, raw->after_us);
    if (total != NULL)
        halts_add(delta, total);
    memcpy(halts->last, total != NULL ? raw->to : raw->from, sizeof halts->last);
    halts->last_us = raw->before_us;
}

/* A measured clock is by the link's time, and an emulated chip's is not. */
static void halts_begin(struct delta *delta, bool rehits)
{
    struct halts_timing *halts = &delta->halts;
    struct error unread = {0};
    *halts = (struct halts_timing){.resumes = delta->engine->resumes};
    bool by_claim = clock_is_claimed(&delta->options->clock) || delta->device->model_time.size == 0;
    halts->known = !rehits && by_claim && can_time_halts(delta->device, delta->options) &&
                   delta->pass->plan->column[0] == 0 &&
                   device_read_timed(delta->device, halts->last, &halts->begun, delta->deadline, &unread);
    halts->last_us = halts->begun.before_us;
}

static void halts_end(struct delta *delta)
{
    const struct halts_timing *halts = &delta->halts;
    struct summary_halts *out = &delta->summary->halts;
    struct device_moment now;
    struct error unread = {0};
    const struct engine *engine = delta->engine;
    uint64_t values[READING_ROOM], n = engine->resumes - halts->resumes + engine->holds_core;
    if (!halts->known || !device_read_timed(delta->device, values, &now, delta->deadline, &unread))
        return;
    halts_add_step(delta, values, now.after_us);
    if (!halts->known || now.chip_us[0] < halts->begun.chip_us[1])
        return;
    out->n += n;
    out->least_us += (double)(now.chip_us[0] - halts->begun.chip_us[1]);
    out->most_us += (double)(now.chip_us[1] - halts->begun.chip_us[0]);
    out->cycles += halts->cycles - delta->pass->overheads[0].mean * (double)n;
}

static void halts_conclude(const struct delta *delta)
{
    static const double well = 0.1;
    const struct clock *clock = &delta->options->clock;
    struct summary_halts *out = &delta->summary->halts;
    if (out->n == 0 || delta->engine->saw_sleep)
        return;
    double least = out->least_us - out->cycles / clock->low_hz * 1e6,
           most = out->most_us - out->cycles / clock->high_hz * 1e6;
    if (!(least > 0) || most - least > well * (most + least))
        return;
    out->us = (least + most) / 2 / (double)out->n;
    out->plus_minus_us = (most - least) / 2 / (double)out->n;
    out->share = (least + most) / (out->least_us + out->most_us);
    out->at_most = clock->may_sleep;
}

static bool delta_sink_on_hit(void *context, const struct raw_hit *raw)
{
    struct delta *delta = context;
    struct widen totals[READING_ROOM];
    int64_t now_us = deadline_now_us();
    bool polled = delta->evaluation.polled;
    struct slow_hits *slow = delta->options->slow_hits;
    delta->ran_on = false;
    delta->slot = SLOW_HIT_NONE;
    delta->plausible.has_last = delta->plausible.has_last && !delta->options->apart;
    evaluation_total(&delta->evaluation, raw, totals);
    if (delta->written.kind != ERROR_NONE || !plausible_hit(&delta->plausible, raw, &delta->written) ||
        !plausible_totals(&delta->plausible, totals, &delta->written)) {
        delta->n_waiting = 0;
        return false;
    }
    bound_left(delta, raw);
    delta->turn_end = (struct turn_end){.known = true, .us = raw->before_us};
    memcpy(delta->turn_end.values, raw->to, sizeof delta->turn_end.values);
    delta->pass->proved = delta->pass->calibrations[0].n;
    if (delta->pass->first_us != 0)
        delta->taken++;
    else if (++delta->seen > delta->options->warmup)
        delta->pass->first_us = now_us;
    delta_sink_add_wait(delta, raw);
    delta_sink_note_end(delta, raw, totals);
    halts_add_hit(delta, raw, totals);
    if (!delta->pass->calibrated && delta->n_waiting < WAITING_ROOM) {
        struct waiting *waiting = &delta->waiting[delta->n_waiting++];
        delta->slot = slow != NULL ? slow_hits_reserve(slow) : SLOW_HIT_NONE;
        *waiting = (struct waiting){.raw = *raw, .polled = polled, .us = now_us, .slot = delta->slot};
        memcpy(waiting->totals, totals, delta->pass->plan->n * sizeof *totals);
    } else {
        delta->slot = delta_sink_evaluate(delta, raw, totals, now_us, SLOW_HIT_NONE);
    }
    return !delta_sink_is_enough(delta, now_us);
}

/* Share and rate are of all calls. */
static bool delta_sink_on_unproved(void *context, const struct raw_hit *raw)
{
    struct delta *delta = context;
    struct widen totals[READING_ROOM];
    delta->evaluation.polled = false;
    evaluation_total(&delta->evaluation, raw, totals);
    delta_sink_add_wait(delta, raw);
    delta_sink_note_end(delta, raw, totals);
    delta->summary->periods.n_unproved += delta->last.known;
    return true;
}

static bool delta_sink_on_ended(void *context, struct error *error)
{
    struct delta *delta = context;
    struct slow_hits *slow = delta->options->slow_hits;
    if (delta->slot == SLOW_HIT_NONE)
        return true;
    int64_t begun_us = deadline_now_us();
    if (!delta->sink->slow_hit(delta->sink->context, delta->slot, error))
        return false;
    slow->is_read[delta->slot] = true;
    int64_t took_us = deadline_now_us() - begun_us;
    if (took_us > slow->longest_us)
        slow->longest_us = took_us;
    return true;
}

static void delta_sink_on_rehit(void *context, const struct raw_hit *raw)
{
    struct delta *delta = context;
    const struct reading *reading = &delta->device->reading;
    bool ran_on = delta->ran_on, excepted = reading_shows_exception(reading, raw->from, raw->to);
    delta->ran_on = delta->last.known = false;
    if (ran_on && !plausible_rehit(&delta->plausible, raw, deadline_now_us(), &delta->written))
        delta->n_waiting = 0;
    if (delta->written.kind != ERROR_NONE)
        return;
    if (ran_on)
        delta->pass->proved = delta->pass->calibrations[0].n;
    for (size_t i = 0; !excepted && i < delta->pass->plan->n; i++)
        calibration_take(&delta->pass->calibrations[i], &reading->counters[i], raw->from[i], raw->to[i]);
}

static void delta_sink_on_poll(void *context, const struct raw_hit *hit, const struct raw_poll *poll)
{
    struct delta *delta = context;
    evaluation_poll(&delta->evaluation, hit, poll);
}

static void delta_sink_on_left(void *context, const struct raw_hit *raw)
{
    struct delta *delta = context;
    delta->evaluation.polled = false; /* those polls were of no hit */
    delta_sink_add_wait(delta, raw);
    delta_sink_note_end(delta, raw, NULL);
    halts_add_hit(delta, raw, NULL);
    bound_left(delta, raw);
    apart_add(&delta->summary->columns[delta->pass->plan->column[0]], NULL);
    delta->left = (struct left_call){.known = true, .us = raw->before_us, .pairs = raw->pairs + 1};
    memcpy(delta->left.values, raw->from, sizeof delta->left.values);
    delta->summary->left++;
}

static void delta_sink_on_tick(void *context, enum engine_wait wait)
{
    struct delta *delta = context;
    if (delta->sink->tick != NULL)
        delta->sink->tick(delta->sink->context, delta->summary->hits + delta->n_waiting, wait);
}

static bool differ(const struct pass *pass)
{
    for (size_t i = 0; i < pass->plan->n; i++) {
        struct overhead overhead = calibration_result(&pass->calibrations[i]);
        if (overhead.low != overhead.high)
            return true;
    }
    return false;
}

/* After an error: whatever stopped the core may have stopped the counter during the last re-hits. */
static void forget_unproved(struct pass *pass, size_t proved)
{
    for (size_t i = 0; i < pass->plan->n; i++)
        pass->calibrations[i].n = proved;
}

static void finish_calibration(struct delta *delta)
{
    struct pass *pass = delta->pass;
    for (size_t i = 0; i < pass->plan->n; i++)
        pass->overheads[i] = calibration_result(&pass->calibrations[i]);
    pass->calibrated = true;
    size_t n = delta->n_waiting;
    delta->n_waiting = 0;
    for (size_t i = 0; i < n; i++) {
        struct waiting *waiting = &delta->waiting[i];
        if (!waiting->polled) /* the cost of halts is known now, so more may be decided */
            evaluation_total(&delta->evaluation, &waiting->raw, waiting->totals);
        delta_sink_evaluate(delta, &waiting->raw, waiting->totals, waiting->us, waiting->slot);
    }
}

/* ---- the wait, and the hit, in which a run ended */

/* No call began in time: the longer a period, the more likely it is such a one. What only the halted core
 * reads is taken from the time. */
static void unfinished_note(struct delta *delta)
{
    const struct hit_end *last = &delta->last;
    uint64_t values[READING_ROOM], before_us, after_us;
    struct deadline soon = deadline_in_ms(patience_ms(CUT_MS), NULL);
    struct error unread = {0};
    struct widen between[READING_ROOM];
    double cycles =
        delta->options->clock.hz * (double)us_between(last->us, (uint64_t)deadline_now_us()) / 1e6;
    if (!last->known)
        return;
    if (delta->summary->periods.has_waits &&
        device_read(delta->device, values, &before_us, &after_us, &soon, &unread)) {
        const struct evaluation_span span = {.from = last->values,
                                             .to = values,
                                             .longest_us = us_between(last->us, after_us),
                                             .pairs = last->pairs,
                                             .halted = true};
        evaluation_step(&delta->evaluation, &span, between);
        cycles = (double)evaluation_value(&delta->evaluation, 0, &between[0], last->pairs).count;
    }
    delta->summary->periods.unfinished += (double)last->count + fmax(cycles, 0);
}

static void cut_note(struct delta *delta, const struct error *why)
{
    const struct engine *engine = delta->engine;
    struct cut_hit *cut = &delta->cut;
    struct deadline soon = deadline_in_ms(patience_ms(CUT_MS), NULL);
    struct error unread = {0};
    bool ended = why->kind == ERROR_NONE || why->kind == ERROR_END || why->kind == ERROR_CANCELLED;
    *cut = (struct cut_hit){.known = ended && engine->under_way != NULL,
                            .is_cancelled = why->kind == ERROR_CANCELLED};
    if (!cut->known)
        return;
    struct raw_hit raw = *engine->under_way;
    cut->pairs = raw.pairs;
    if (engine->reached ||
        (why->kind == ERROR_END &&
         device_read_awaited(delta->device, raw.to, &raw.before_us, &raw.after_us, &soon, &unread)))
        evaluation_total(&delta->evaluation, &raw, cut->totals);
    else if (delta->evaluation.polled)
        memcpy(cut->totals, delta->evaluation.so_far, sizeof cut->totals);
}

/* It is one of the calls, and the longer a call is the more likely is it this one. What Ctrl-C cuts may be
 * any, unless it was the longest so far. */
static void cut_put(struct delta *delta)
{
    const struct pass *pass = delta->pass;
    struct summary *summary = delta->summary;
    const struct cut_hit *cut = &delta->cut;
    struct value values[READING_ROOM] = {0};
    if (!cut->known || summary->warmup < delta->options->warmup)
        return;
    for (size_t i = 0; i < pass->plan->n; i++)
        values[i] = evaluation_value(&delta->evaluation, i, &cut->totals[i], cut->pairs);
    const struct column *first = &summary->columns[pass->plan->column[0]];
    bool is_long =
        statistics_count(first->statistics) == 0 || values[0].count > statistics_max(first->statistics);
    if (cut->is_cancelled && !is_long)
        return;
    summary->cut++;
    summary->cut_least = values[0].count > summary->cut_least ? values[0].count : summary->cut_least;
    for (size_t i = 0; i < pass->plan->n; i++) {
        values[i].at_least = true;
        put_value(&summary->columns[pass->plan->column[i]], &values[i]);
    }
    if (counts_periods(delta))
        periods_add_cut(&summary->periods, values[0].count);
}

static bool delta_sink_run_some(struct delta *delta, uint64_t hits, unsigned rehits, struct error *error)
{
    struct engine_sink sink = {.context = delta,
                               .hit = delta_sink_on_hit,
                               .unproved = delta_sink_on_unproved,
                               .rehit = delta_sink_on_rehit,
                               .left = delta_sink_on_left,
                               .tick = delta_sink_on_tick,
                               .poll = delta_sink_on_poll,
                               .ended = delta->options->slow_hits != NULL ? delta_sink_on_ended : NULL};
    struct engine_request request = {.hits = hits,
                                     .rehits = rehits,
                                     .timeout_ms = delta->options->timeout_ms,
                                     .at_end = delta->options->at_end};
    delta->evaluation.polled = delta->last.known = delta->left.known = false;
    delta->before = (struct periods){0};
    delta->ran_on = delta->plausible.has_last && !delta->options->apart && !delta->options->is_round;
    int64_t until_us = turn_until_us(delta), left_ms = (until_us - deadline_now_us()) / 1000 + 1;
    if (until_us != INT64_MAX) /* and a hit that has begun may end */
        request.start_ms = left_ms > 1 ? left_ms : 1;
    halts_begin(delta, rehits > 0);
    bool ok = delta->engine->ops->run(delta->engine, &request, &sink, delta->deadline, error);
    bool waited = error->kind == ERROR_START || error->kind == ERROR_END;
    if (ok || waited)
        halts_end(delta);
    cut_note(delta, error);
    if (error->kind == ERROR_START)
        unfinished_note(delta);
    snprintf(delta->summary->uncalibrated, sizeof delta->summary->uncalibrated, "%s",
             delta->engine->uncalibrated);
    if (delta->written.kind != ERROR_NONE)
        return error_replace(error, &delta->written);
    if (ok || !waited || deadline_now_us() < until_us)
        return ok;
    error_clear(error); /* the time was up before the next hit, or in it */
    return true;
}

static bool delta_sink_calibrate(struct delta *delta, struct error *error)
{
    unsigned rehits = delta->turn.goal == 1 ? REHITS_MORE : REHITS_FIRST;
    if (!delta_sink_run_some(delta, 1, rehits, error))
        return false;
    return !differ(delta->pass) || delta_sink_is_enough(delta, deadline_now_us()) ||
           delta_sink_run_some(delta, 1, REHITS_MORE, error);
}

/* For how many hits the engine is asked. It has several on their way at a time, and waits for all of these at
 * the end of a turn: so no more than are likely to occur in the time. Only the first may take as long as it
 * does. */
static uint64_t hits_to_ask(const struct delta *delta)
{
    const struct pass *pass = delta->pass;
    uint64_t goal = delta->turn.goal, more = goal > pass->hits ? goal - pass->hits : AT_ONCE;
    int64_t until_us = turn_until_us(delta), now_us = deadline_now_us();
    if (delta->turn.for_us > 0 && pass->first_us == 0) {
        more = 1;
    } else if (delta->turn.for_us > 0) {
        int64_t went_us = now_us - pass->first_us, left = until_us - now_us;
        bool known = pass->first_us != 0 && delta->taken >= AT_ONCE && went_us > 0 && left > 0;
        double likely = known ? (double)delta->taken / (double)went_us * (double)left : 0;
        uint64_t most = likely > AT_ONCE ? (uint64_t)likely : AT_ONCE;
        more = more < most ? more : most;
    }
    return more + delta->options->warmup - delta->summary->warmup;
}

/* How far the program went on since the turn before. */
static void end_gap(struct delta *delta, uint64_t after_us)
{
    struct periods *periods = &delta->summary->periods;
    const struct evaluation_span span = {.from = delta->turn_end.values,
                                         .to = delta->armed.values,
                                         .longest_us = us_between(delta->turn_end.us, after_us)};
    struct widen gap[READING_ROOM];
    evaluation_step(&delta->evaluation, &span, gap);
    if (periods->n_turns > 0)
        periods->turns[(periods->n_turns - 1) % PERIODS_TURNS].gap = (double)gap[0].total;
}

/* Re-hits would count as a wait, and so would the time in which a core is halted to be read. */
static void begin_wait(struct delta *delta)
{
    const struct device *device = delta->device;
    struct error unread = {0};
    uint64_t after_us;
    bool can =
        device->block->counts_cycles && device->reading.by_core == NULL && delta->pass->plan->column[0] == 0;
    delta->summary->periods.has_waits = can;
    delta->armed.known = can && delta->turn.at_random && delta->pass->calibrated &&
                         device_read(delta->device, delta->armed.values, &delta->armed.us, &after_us,
                                     delta->deadline, &unread);
    if (delta->armed.known && delta->turn_end.known)
        end_gap(delta, after_us);
    delta->turn_end.known = false;
}

static bool delta_sink_arm(struct delta *delta, struct error *error)
{
    if (delta->turn.region == NULL)
        return true;
    if (!delta->engine->ops->arm(delta->engine, delta->turn.region, delta->deadline, error))
        return false;
    *delta->turn.armed = true;
    begin_wait(delta);
    return true;
}

static bool delta_sink_take_turn(struct delta *delta, struct error *error)
{
    struct pass *pass = delta->pass;
    struct deadline soon = deadline_in_ms(patience_ms(5000), delta->deadline->cancel);
    if (!device_program(delta->device, pass->plan->picks, pass->plan->n, &soon, error) ||
        !delta_sink_arm(delta, error))
        return false;
    if (!pass->calibrated && delta->options->calibrate && !delta_sink_calibrate(delta, error))
        return false;
    if (!pass->calibrated)
        finish_calibration(delta);
    while (!delta_sink_is_enough(delta, deadline_now_us())) {
        if (!delta_sink_run_some(delta, hits_to_ask(delta), 0, error))
            return false;
    }
    return true;
}

/* Of a turn that began at a random moment. */
static void periods_add_turn(struct periods *periods, const struct periods *before)
{
    uint64_t wait = periods->waits[(periods->n_waits - 1) % PERIODS_WAITS];
    struct turn_periods turn = {.wait = wait == PERIODS_IN_VAIN ? 0 : (double)wait,
                                .n = (double)(periods->n - before->n),
                                .cycles = (double)(periods->cycles - before->cycles),
                                .inside = (double)(periods->inside - before->inside),
                                .cycles2 = periods->cycles2 - before->cycles2,
                                .inside2 = periods->inside2 - before->inside2,
                                .product = periods->product - before->product};
    if (turn.n > 0 || wait == PERIODS_IN_VAIN)
        periods->turns[periods->n_turns++ % PERIODS_TURNS] = turn;
}

bool delta_turn(struct delta *delta, struct engine *engine, const struct delta_turn *turn,
                const struct deadline *deadline, struct error *error)
{
    struct pass *pass = delta->pass = &delta->passes[turn->pass];
    delta->turn = *turn;
    delta->engine = engine;
    delta->deadline = deadline;
    delta->evaluation.overheads = pass->overheads;
    delta->plausible.has_last = false;
    pass->begun_us = deadline_now_us();
    pass->first_us = 0;
    delta->taken = 0;
    delta->armed.known = delta->cut.known = false;
    const struct periods before = delta->summary->periods;
    bool ok = delta_sink_take_turn(delta, error);
    delta->turns_us += deadline_now_us() - pass->begun_us;
    if (delta->armed.known && error->kind == ERROR_START)
        periods_add_wait(&delta->summary->periods, PERIODS_IN_VAIN);
    if (!ok && !pass->calibrated) {
        if (pass->proved > 0)
            forget_unproved(pass, pass->proved);
        if (delta->n_waiting > 0)
            finish_calibration(delta);
        else /* without a hit nothing proves the re-hits: a later turn makes its own */
            forget_unproved(pass, 0);
    }
    cut_put(delta);
    if (delta->summary->periods.n_waits > before.n_waits)
        periods_add_turn(&delta->summary->periods, &before);
    return ok;
}

/* A round up to this number of hits of each pass. The passes share what is left of --for. */
static bool delta_sink_take_round(struct delta *delta, uint64_t goal, struct error *error)
{
    int64_t for_us = delta->options->for_us;
    struct delta_turn turn = {.goal = goal};
    size_t passes = delta->summary->passes;
    for (; turn.pass < passes; turn.pass++) {
        int64_t left = delta->started_us + for_us - deadline_now_us(),
                share = left / (int64_t)(passes - turn.pass);
        turn.for_us = for_us == 0 ? 0 : share > 1 ? share : 1;
        if (!delta_turn(delta, delta->engine, &turn, delta->deadline, error))
            return false;
    }
    return true;
}

/* Until the mean of the first column is known well enough, or a limit is reached. */
static bool measure_precisely(struct delta *delta, struct error *error)
{
    const struct delta_options *options = delta->options;
    struct summary *summary = delta->summary;
    const struct column *first = &summary->columns[0];
    uint64_t most = options->hits > 0 ? options->hits : HITS_MOST, goal = 0;
    bool ok = true, more = true;
    while (ok && more) {
        goal = precision_next(goal) < most ? precision_next(goal) : most;
        ok = delta_sink_take_round(delta, goal, error);
        bool late = options->for_us > 0 && deadline_now_us() - delta->started_us >= options->for_us;
        more = goal < most && !late && statistics_count(first->statistics) > 0 &&
               precision_of(first) > options->precision;
    }
    summary->precision = options->precision;
    summary->precise = precision_of(first);
    return ok;
}

static bool measure_all(struct delta *delta, struct error *error)
{
    const struct delta_options *options = delta->options;
    if (options->precision > 0)
        return measure_precisely(delta, error);
    uint64_t usual = options->for_us > 0 ? HITS_MOST : HITS_DEFAULT;
    uint64_t wanted = options->hits == 0 ? usual : options->hits;
    unsigned passes = delta->summary->passes;
    uint64_t rounds = passes == 1 ? 1 : wanted < ROUNDS ? wanted : ROUNDS;
    struct delta_turn turn = {.for_us = options->for_us / ((int64_t)rounds * passes)};
    for (uint64_t round = 1; round <= rounds; round++) {
        turn.goal = wanted / rounds * round + (round == rounds ? wanted % rounds : 0);
        for (turn.pass = 0; turn.pass < passes; turn.pass++)
            if (!delta_turn(delta, delta->engine, &turn, delta->deadline, error))
                return false;
    }
    return true;
}

static bool begin_columns(struct delta *delta, struct error *error)
{
    const struct plan *plan = delta->options->plan;
    struct summary *summary = delta->summary;
    for (summary->n = 0; summary->n < plan->n_columns; summary->n++) {
        struct column *column = &summary->columns[summary->n];
        *column = (struct column){.statistics = statistics_new()};
        snprintf(column->name, sizeof column->name, "%s", plan->columns[summary->n].name);
        snprintf(column->unsupported, sizeof column->unsupported, "%s",
                 plan->columns[summary->n].unsupported);
        snprintf(column->errata, sizeof column->errata, "%s", plan->columns[summary->n].errata);
        if (column->statistics == NULL)
            return error_memory(error);
    }
    if (summary_counts_exceptions(summary) || delta->device->sees_exceptions)
        summary->undisturbed = statistics_new();
    return true;
}

static void end_columns(struct delta *delta)
{
    static const char hidden[] = "in Secure state it counts only if the firmware has set MDCR_EL3.SPME";
    struct summary *summary = delta->summary;
    for (unsigned p = 0; p < summary->passes; p++) {
        const struct pass *pass = &delta->passes[p];
        const struct plan_pass *plan = &delta->options->plan->passes[p];
        for (size_t i = 0; i < plan->n; i++) {
            struct column *column = &summary->columns[plan->column[i]];
            column->pass_mean = pass->check.mean;
            const struct overhead *overhead = &pass->overheads[i];
            const struct counter *counter = &delta->device->block->counters[plan->picks[i].counter];
            column->bits = counter->bits;
            if (delta->device->reading.may_hide_events && counter->per_cycle != 1)
                text_join(column->errata, sizeof column->errata, "; ", hidden);
            double plus_minus =
                (double)(overhead_plus_minus(overhead, delta->most_pairs) + counter_coarseness(counter)) +
                ceil(overhead->mean * delta->most_steps);
            if (!overhead->known) {
                if (delta->options->calibrate && counter->reloads)
                    snprintf(summary->uncalibrated, sizeof summary->uncalibrated,
                             "the counter's reload changed meanwhile");
                continue;
            }
            /* The first counter is in every pass: its largest error stands for all passes */
            if (!column->calibrated || plus_minus > column->plus_minus)
                column->plus_minus = plus_minus;
            if (!column->calibrated)
                column->overhead = overhead->mean * delta->most_pairs;
            column->calibrated = true;
        }
    }
    struct pass_check checks[PLAN_PASSES];
    for (unsigned p = 0; p < summary->passes; p++)
        checks[p] = delta->passes[p].check;
    pass_check_compare(checks, summary->passes, summary->columns[0].plus_minus, summary->columns[0].name,
                       summary->disagreement, sizeof summary->disagreement);
}

struct delta *delta_begin(struct device *device, const struct delta_options *options,
                          const struct delta_sink *sink, struct summary *summary, struct error *error)
{
    const struct plan *plan = options->plan;
    struct delta *delta = calloc(1, sizeof *delta);
    struct pass *passes = calloc(plan->n_passes, sizeof *passes);
    if (delta == NULL || passes == NULL) {
        free(delta);
        free(passes);
        error_memory(error);
        return NULL;
    }
    *delta = (struct delta){.device = device,
                            .options = options,
                            .sink = sink,
                            .summary = summary,
                            .passes = passes,
                            .pass = passes,
                            .most_pairs = 1,
                            .started_us = deadline_now_us()};
    delta->evaluation = (struct evaluation){.reading = &device->reading,
                                            .overheads = passes->overheads,
                                            .counts_cycles = device->block->counts_cycles,
                                            .bound_hz = options->clock.bound_hz,
                                            .evidence = options->evidence};
    delta->plausible =
        plausible_begin(&device->reading, device->block->counts_cycles, &options->clock, options->seen_hz);
    for (size_t i = 0; i < plan->n_passes; i++)
        passes[i].plan = &plan->passes[i];
    summary->wanted = options->precision > 0 ? 0 : options->hits;
    summary->passes = (unsigned)plan->n_passes;
    if (begin_columns(delta, error))
        return delta;
    free(passes);
    free(delta);
    return NULL;
}

/* If -e does not count exceptions, hits without one are apart only where another hit has one. */
static void end_delays(struct summary *summary)
{
    char text[256];
    const struct unseen_delays *delays = &summary->delays;
    bool tells = summary_counts_exceptions(summary) || (delays->excepted > 0 && delays->unknown == 0);
    unseen_delays_text(delays, summary->hits - summary->tainted, "hits", text, sizeof text);
    doubt_add(summary->doubt, text);
    if (tells)
        return;
    statistics_free(summary->undisturbed);
    summary->undisturbed = NULL;
}

void delta_end(struct delta *delta)
{
    end_columns(delta);
    end_delays(delta->summary);
    if (delta->evaluation.evidence.refuted)
        doubt_add(delta->summary->doubt,
                  "a hit contradicts the ticks, so those before it may be wrong by whole periods");
    else if (delta->evaluation.evidence.relied_on)
        doubt_add(
            delta->summary->doubt,
            "totals by --tick are right only if each of SysTick's periods, and nothing else, counted it");
    delta->summary->seconds = (double)delta->turns_us / 1e6;
    free(delta->passes);
    free(delta);
}

bool delta_measure(struct engine *engine, struct device *device, const struct delta_options *options,
                   const struct delta_sink *sink, struct summary *summary, const struct deadline *deadline,
                   struct error *error)
{
    struct delta *delta = delta_begin(device, options, sink, summary, error);
    if (delta == NULL)
        return false;
    delta->engine = engine;
    delta->deadline = deadline;
    if (can_time_halts(device, options))
        (void)device_find_model(device, deadline);
    bool ok = measure_all(delta, error);
    device_forget_model(device);
    halts_conclude(delta);
    snprintf(summary->doubt, sizeof summary->doubt, "%s", engine->doubt);
    delta_end(delta);
    return ok;
}

bool summary_is_tainted(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n && summary->tainted > 0; i++) {
        const struct column *column = &summary->columns[i];
        if (column->unsupported[0] == '\0' && column->at_least == 0 &&
            statistics_count(column->statistics) == 0)
            return true;
    }
    return false;
}

void summary_free(struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++)
        statistics_free(summary->columns[i].statistics);
    statistics_free(summary->undisturbed);
    summary->undisturbed = NULL;
    summary->n = 0;
}
