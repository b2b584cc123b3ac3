/* SPDX-License-Identifier: MIT */
#include "report/survey.h"

#include "base/deadline.h"
#include "report/comparison_report.h"
#include "report/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what is known of all calls ------------------------------------------------------------------------- */

/* Half of a mean's 95 % interval, by the sum of the squares of n deviations, and their order. */
static double half_interval_of(double squares, double n, const struct series *in_order)
{
    if (!(squares > 0))
        return 0;
    const struct series_error error = series_error(in_order, sqrt(squares / (n - 1)), (uint64_t)n);
    return verdict_student_quantile(0.025, error.df) * error.standard;
}

/* A turn may be shorter than the time between two bursts of calls, so that no period has that. Then the part
 * of the turns that began within a burst is the part of the time that bursts take, by Laplace's rule. A
 * single turn says nothing of it. */
static double part_in_bursts(const struct periods *periods, double *most)
{
    size_t n = periods->n_waits < PERIODS_WAITS ? periods->n_waits : PERIODS_WAITS, within = 0;
    for (size_t i = 0; i < n; i++)
        within += periods->waits[i] / 2 <= periods->longest;
    *most = 1;
    if (within == n)
        return 1;
    double part = ((double)within + 0.5) / ((double)n + 1);
    double error = sqrt(part * (1 - part) / ((double)n + 1));
    *most = fmin(1, part + 2 * error + 1.5 / ((double)n + 1));
    return part;
}

/* Up to which part the rate may be too high although each turn began within a burst and no period had the
 * time between two. With the part p of the time in bursts, n turns begin so with p^n; bursts of `longest` s
 * on average are seen for `seen` s without an end with exp(-seen/longest). Longer bursts are phases of the
 * program. The p at which both together are as rare as 5 %. Likewise the part of the calls that may be of
 * another kind than all that were seen. */
static double doubt_of_few(const struct periods *periods, double hz)
{
    static const double longest = 0.02;
    double seen = hz > 0 ? (double)periods->cycles / hz : 0;
    double n = fmax(1, fmin(PERIODS_WAITS, (double)periods->n_waits));
    double turns = fmin(1, pow(0.05 * exp(fmin(seen / longest, 10)), 1 / n));
    return 1 - fmin(turns, pow(0.05, 1 / (double)periods->n));
}

/* The half interval of inside/cycles, by the sums of n periods; `in_order` NULL: neighbours are not alike. */
static double half_interval_of_share(double share, const struct turn_periods *of,
                                     const struct period_series *in_order)
{
    double squares = of->inside2 - 2 * share * of->product + share * share * of->cycles2;
    struct series off = {0};
    for (size_t i = 0; in_order != NULL && i < in_order->cycles.n; i++)
        off.means[i] = in_order->inside.means[i] - share * in_order->cycles.means[i];
    if (in_order != NULL) {
        off.n = in_order->cycles.n;
        off.each = in_order->cycles.each;
    }
    return half_interval_of(squares, of->n, &off) * of->n / of->cycles;
}

static size_t turns_kept(const struct periods *periods)
{
    return periods->n_turns < PERIODS_TURNS ? periods->n_turns : PERIODS_TURNS;
}

/* Turns met calls of which others are closer together, or longer, than chance explains: the program has
 * phases. */
static bool turns_differ(const struct periods *periods)
{
    enum { ENOUGH = 4 };
    static const double apart = 0.1;
    double sum = 0, n = 0;
    for (size_t i = 0; i < turns_kept(periods); i++)
        if (periods->turns[i].n >= ENOUGH) {
            sum += periods->turns[i].inside / periods->turns[i].cycles;
            n++;
        }
    for (size_t i = 0; n > 1 && i < turns_kept(periods); i++) {
        const struct turn_periods *turn = &periods->turns[i];
        double share = turn->n >= ENOUGH ? turn->inside / turn->cycles : sum / n;
        double off = fabs(share - sum / n);
        if (off > apart * sum / n && off > 3 * half_interval_of_share(share, turn, NULL))
            return true;
    }
    return false;
}

/* In equal times of the host a turn sees few cycles where calls are dense, as each halts the core: so the
 * sums of all turns are those of the phases in which calls are rare. What each turn saw stands for the
 * program up to the next turn. */
static void weigh_turns(const struct periods *periods, struct survey_rate *rate)
{
    size_t n = turns_kept(periods);
    double all = 0, share = 0, rates = 0, squares = 0, weights2 = 0, pooled = rate->share;
    double per_cycle = (double)periods->n / (double)periods->cycles;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < n; i++) {
            const struct turn_periods *turn = &periods->turns[i];
            double seen = turn->wait + turn->cycles, weight = seen + turn->gap;
            double its = seen > 0 ? turn->inside / seen : 0;
            if (round == 0) {
                all += weight;
                share += weight * its;
                rates += seen > 0 ? weight * turn->n / seen : 0;
            } else {
                squares += weight * weight * (its - share / all) * (its - share / all);
                weights2 += weight * weight;
            }
        }
    double turns = all * all / weights2; /* that many of equal weight */
    rate->bursts = true;
    rate->share = share / all;
    rate->plus_minus =
        fmax(fmax(rate->plus_minus, fabs(pooled - rate->share)),
             turns > 1 ? verdict_student_quantile(0.025, turns - 1) * sqrt(squares) / all : rate->share);
    rate->per_second *= rates / all / per_cycle;
    rate->doubt = fmax(rate->doubt, rate->share > 0 ? rate->plus_minus / rate->share : 1);
}

static void correct_for_bursts(const struct periods *periods, double hz, struct survey_rate *rate)
{
    double most, part = part_in_bursts(periods, &most), dense = rate->share;
    if (isfinite(rate->share) && turns_differ(periods)) {
        weigh_turns(periods, rate);
        return;
    }
    rate->bursts = periods->has_waits && (part < 1 || periods->n_waits == 0);
    if (!rate->bursts) {
        double doubt = doubt_of_few(periods, hz);
        rate->plus_minus = fmax(rate->plus_minus, doubt * rate->share);
        rate->doubt = fmax(rate->doubt, doubt);
        return;
    }
    rate->share *= part;
    if (periods->share_most > 0 && rate->share > periods->share_most)
        rate->share = periods->share_most;
    rate->plus_minus = fmax(rate->plus_minus * part, fmax(dense * most - rate->share, rate->share));
    rate->per_second *= part;
    rate->doubt = fmax(rate->doubt, fmax(most / part - 1, 1));
}

struct survey_rate survey_rate(const struct summary *summary)
{
    struct survey_rate rate = {.share = NAN, .plus_minus = NAN, .per_second = NAN, .doubt = NAN};
    if (summary == NULL || summary->periods.n < 2 || summary->periods.cycles == 0)
        return rate;
    const struct periods *periods = &summary->periods;
    const struct conditions *conditions = &summary->conditions;
    double hz = conditions->clock_hz > 0 ? conditions->clock_hz : conditions->counter_hz;
    bool least = periods->inside_at_least || periods->cut; /* a cut call adds to both alike */
    double n = (double)periods->n, cycles = (double)periods->cycles;
    double share = (double)periods->inside / cycles;
    rate.doubt =
        half_interval_of(periods->cycles2 - cycles * cycles / n, n, &summary->in_order.cycles) * n / cycles;
    if (hz > 0)
        rate.per_second = (double)periods->n * hz / (double)periods->cycles;
    if (!periods->at_least || !least) {
        const struct turn_periods all = {.n = n,
                                         .cycles = cycles,
                                         .inside2 = periods->inside2,
                                         .product = periods->product,
                                         .cycles2 = periods->cycles2};
        rate.share = share;
        rate.plus_minus = half_interval_of_share(share, &all, &summary->in_order);
    }
    correct_for_bursts(periods, hz, &rate);
    /* If chance makes the calls, the rate is lower by so much; if they are regular, as it is */
    double unfinished = periods->unfinished / cycles;
    rate.plus_minus += unfinished * rate.share;
    rate.doubt += unfinished;
    double unproved = fmin(1, (double)periods->n_unproved / n);
    rate.plus_minus = fmax(rate.plus_minus, unproved * rate.share);
    rate.doubt = fmax(rate.doubt, unproved);
    return rate;
}

enum verdict survey_verdict(const struct survey *survey)
{
    enum verdict verdict = VERDICT_PASS;
    bool any = false;
    for (size_t i = 0; i < survey->n; i++) {
        const struct survey_row *row = &survey->rows[i];
        bool compared = json_object_size(json_object_get(row->comparison, "columns")) > 0;
        if (row->budget != NULL)
            verdict = verdict_both(verdict, row->budget->verdict);
        if (compared)
            verdict = verdict_both(verdict, line_verdict(row->comparison));
        any = any || compared || row->budget != NULL;
    }
    return any ? verdict : VERDICT_INCONCLUSIVE;
}

static bool survey_has_hits(const struct survey_row *row)
{
    return row->summary != NULL && row->summary->hits > 0;
}

static double survey_rank_of(const struct survey_row *row)
{
    double share = survey_rate(row->summary).share;
    return !survey_has_hits(row) ? -2 : isnan(share) ? -1 : share;
}

struct ranked {
    struct survey_row row;
    double rank;
    size_t at;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? 1 : -1;
    return left->at < right->at ? -1 : left->at > right->at;
}

bool survey_sort(struct survey *survey)
{
    struct ranked *ranked = calloc(survey->n + 1, sizeof *ranked);
    if (ranked == NULL)
        return false;
    for (size_t i = 0; i < survey->n; i++)
        ranked[i] =
            (struct ranked){.row = survey->rows[i], .rank = survey_rank_of(&survey->rows[i]), .at = i};
    qsort(ranked, survey->n, sizeof *ranked, by_rank);
    for (size_t i = 0; i < survey->n; i++)
        survey->rows[i] = ranked[i].row;
    free(ranked);
    return true;
}

/* --- JSON lines ----------------------------------------------------------------------------------------- */

/* What it found, in the unit of the budget, and in cycles. */
static void put_found(struct json_part *budget, const struct verdict_line *line, double hz)
{
    bool of_max = strncmp(line->name, "max", 3) == 0, in_cycles = strstr(line->name, "cycles") != NULL;
    double found = of_max ? (double)line->now.max : line->now.mean;
    if (line->now.n == 0)
        return;
    json_part_real(budget, "found_cycles", found);
    if (!in_cycles && hz > 0)
        json_part_real(budget, "found_s", found / hz);
}

void budget_put(struct json_part *line, const struct verdict_line *verdict, double hz)
{
    struct json_part budget = json_part_new(NULL);
    if (verdict != NULL) {
        json_part_text(&budget, "budget", verdict->name);
        json_part_text(&budget, "verdict", verdict_name(verdict->verdict));
        json_part_real(&budget, "change", verdict->change);
        put_found(&budget, verdict, hz);
        json_part_text(&budget, "why", verdict->why);
    }
    json_part_object(line, "budget", budget);
}

static struct json_part periods_part(const struct periods *of, bool bursts)
{
    struct json_part periods = json_part_new(NULL);
    if (of->n == 0)
        return periods;
    json_part_unsigned(&periods, "count", of->n);
    json_part_unsigned(&periods, "cycles", of->cycles);
    json_part_unsigned(&periods, "inside", of->inside);
    json_part_some(&periods, "left", of->n_left);
    json_part_some(&periods, "unproved", of->n_unproved);
    json_part_true(&periods, "cycles_at_least", of->at_least);
    json_part_true(&periods, "inside_at_least", of->inside_at_least);
    json_part_true(&periods, "cut", of->cut);
    json_part_true(&periods, "in_bursts", bursts);
    return periods;
}

static struct json_part survey_region_line(const struct survey_row *row)
{
    struct json_part line = json_part_new("region");
    json_part_text(&line, "name", row->name);
    json_part_some(&line, "samples", row->samples);
    if (!survey_has_hits(row)) {
        json_part_bool(&line, "reached", false);
        json_part_text(&line, "why",
                       row->why[0] == '\0' && row->summary != NULL && row->summary->cut > 0
                           ? "it was called, and had not returned when its turn ended"
                           : row->why);
        if (row->start != NULL && strcmp(row->start, row->name) != 0)
            json_part_text(&line, "start", row->start);
        if (row->end != NULL)
            json_part_text(&line, "end", row->end);
        json_part_true(&line, "no_turn", row->no_turn);
        if (row->why[0] == '\0' && row->waited_s > 0)
            json_part_real(&line, "waited_s", row->waited_s);
        budget_put(&line, row->budget, row->summary != NULL ? row->summary->conditions.clock_hz : 0);
        return line;
    }
    struct survey_rate rate = survey_rate(row->summary);
    json_part_bool(&line, "reached", true);
    json_part_text(&line, "why", row->why);
    json_part_object(&line, "region", json_region_part(&row->summary->conditions));
    json_part_text(&line, "note", row->summary->conditions.note);
    json_summary_fill(&line, row->summary);
    json_part_real(&line, "calls_per_second", rate.per_second);
    json_part_real(&line, "calls_plus_minus", rate.doubt * rate.per_second);
    json_part_real(&line, "share", rate.share);
    json_part_real(&line, "share_plus_minus", rate.plus_minus);
    json_part_object(&line, "periods", periods_part(&row->summary->periods, rate.bursts));
    budget_put(&line, row->budget, row->summary->conditions.clock_hz);
    return line;
}

static struct json_part survey_summary_line(const struct survey *survey)
{
    struct json_part line = json_part_new("summary");
    size_t reached = 0;
    for (size_t i = 0; i < survey->n; i++)
        reached += survey_has_hits(&survey->rows[i]);
    json_part_unsigned(&line, "regions", survey->n);
    json_part_unsigned(&line, "reached", reached);
    json_part_real(&line, "seconds", survey->seconds);
    json_part_some(&line, "samples", survey->samples);
    json_part_text(&line, "not_sampled", survey->not_sampled);
    if (survey->rest_s > 0)
        json_part_real(&line, "rest_s", survey->rest_s);
    json_part_text(&line, "ended", survey->ended);
    json_part_text(&line, "clock_change", survey->conditions.clock_change);
    if (survey->conditions.clock_awake > 0)
        json_part_real(&line, "awake", survey->conditions.clock_awake);
    if (survey->judged)
        json_part_text(&line, "verdict", verdict_name(survey_verdict(survey)));
    return line;
}

void survey_lines(struct document *document, const struct survey *survey)
{
    for (size_t i = 0; i < survey->n; i++) {
        document_add(document, survey_region_line(&survey->rows[i]));
        if (survey->rows[i].comparison != NULL)
            document_add(document, json_part_copy(survey->rows[i].comparison));
    }
    document_add(document, survey_summary_line(survey));
}
