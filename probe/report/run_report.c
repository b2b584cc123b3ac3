/* SPDX-License-Identifier: MIT */
#include "report/run_report.h"

#include "base/values.h"
#include "measure/verdict.h"
#include "report/comparison_report.h"
#include "report/conditions.h"
#include "report/formats.h"
#include "report/histogram.h"
#include "report/number.h"
#include "report/sentence.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TEXT = 2048, FEW = 10 };

struct run_lines run_lines(const json_t *header, json_t *summary, const json_t *verdict)
{
    struct run_lines run = {.summary = summary, .verdict = verdict};
    struct conditions *conditions = &run.conditions;
    conditions_read_region(conditions, field_of(verdict, "region"));
    conditions_read(conditions, header);
    if (field_of(summary, "region") != NULL) { /* of a survey */
        conditions_read_region(conditions, field_of(summary, "region"));
        utf8_clean(conditions->note, sizeof conditions->note, field_text(summary, "note"));
    }
    /* The clock may have become known only after the header was written, or it changed */
    conditions_read_clock(conditions, field_of(summary, "time"));
    utf8_clean(conditions->clock_change, sizeof conditions->clock_change,
               field_text(summary, "clock_change"));
    if (conditions->clock_change[0] != '\0')
        conditions->clock_hz = conditions->clock_error_hz = 0;
    return run;
}

json_t *run_first(const json_t *summary, const char **name)
{
    json_t *column;
    json_object_foreach(json_object_get(summary, "columns"), *name, column)
        return column;
    return NULL;
}

bool run_is_counted(const json_t *column)
{
    return field_count(column, "count") > 0 && json_is_number(field_of(column, "mean"));
}

/* ---- numbers */

/* Two digits of the deviation, and no decimals from 3 on. */
static int decimals_for(double deviation)
{
    if (!(deviation > 0) || deviation >= 3)
        return 0;
    int decimals = 1 - (int)floor(log10(deviation));
    return decimals < 6 ? decimals : 6;
}

double run_mean_error(const json_t *column)
{
    static const double each_side = 0.025;
    double error = field_real(column, "mean_error"), df = field_real(column, "mean_error_df");
    return error > 0 && df > 0 ? verdict_student_quantile(each_side, df) * error : 0;
}

void run_mean_text(char *out, size_t size, const json_t *column)
{
    char number[NUMBER_ROOM];
    double error = run_mean_error(column);
    int decimals = error >= 3  ? 0
                   : error > 0 ? number_error_decimals(error)
                               : decimals_for(field_real(column, "sd"));
    snprintf(out, size, "%s%s%s", DECIMAL(field_real(column, "mean"), decimals), error > 0 ? " ±" : "",
             error > 0 ? number_error(number, error, decimals) : "");
}

static bool run_report_is_calibrated(const json_t *column)
{
    return json_is_true(field_of(column, "calibrated"));
}

bool run_median(const json_t *column, uint64_t *median)
{
    double each = run_report_is_calibrated(column) ? ceil(field_real(column, "plus_minus")) : 0;
    *median = field_count(column, "median");
    bool bound = !run_report_is_calibrated(column) || 2 * each > (double)*median;
    *median += bound && each > 0 ? (uint64_t)each : 0;
    return !bound;
}

/* ---- rows */

/* Why nothing was counted. */
static const char *why_not(const json_t *summary)
{
    uint64_t hits = field_count(summary, "hits");
    if (hits == 0)
        return "no hit";
    if (field_count(summary, "tainted") == hits)
        return "all hits tainted";
    return field_count(summary, "passes") > 1 ? "it ended before a hit of its pass" : "no hit that counts";
}

static void put_uncertainty(struct json_part *row, const json_t *column)
{
    char number[NUMBER_ROOM], text[NUMBER_ROOM + 4];
    double each = field_real(column, "plus_minus"), overhead = field_real(column, "overhead");
    if (!run_report_is_calibrated(column)) {
        row_text(row, "each", "?");
        row_text(row, "each_alone", "?");
        row_text(row, "added", "?");
        row_flag(row, "has_each", true);
        row_flag(row, "has_added", true);
        return;
    }
    row_flag(row, "has_each", each > 0);
    row_flag(row, "has_added", fabs(overhead) >= 0.05);
    snprintf(text, sizeof text, "±%s",
             number_error(number, each >= 0 ? each : 0, number_error_decimals(each)));
    row_text(row, "each", text);
    row_text(row, "each_alone", number);
    /* 8, not 8.0; 0, not 0.0 */
    bool is_whole = fabs(overhead - round(overhead)) < 0.05;
    row_text(row, "added", DECIMAL(overhead, is_whole ? 0 : 1));
    if (each > 0 && field_real(column, "median") <= each) {
        row_text(row, "remark", "not resolved");
        row_flag(row, "unresolved", true);
    }
}

static void run_report_put_numbers(struct json_part *row, const json_t *column)
{
    char text[2 * NUMBER_ROOM + 8];
    double sd = field_real(column, "sd");
    uint64_t n = field_count(column, "count"), bounds = field_count(column, "at_least");
    run_mean_text(text, sizeof text, column);
    row_text(row, "mean_text", text);
    row_flag(row, "wrong", field_of(column, "errata") != NULL);
    row_text(row, "sd_text", DECIMAL(sd, decimals_for(sd)));
    put_uncertainty(row, column);
    if (run_mean_error(column) > 0)
        row_real(row, "mean_plus_minus", run_mean_error(column));
    if (bounds == 0)
        return;
    snprintf(text, sizeof text, "%s of %s", NUMBER(n), NUMBER(n + bounds));
    row_text(row, "of_hits", text);
}

/* In place of numbers: for people, and for programs. */
static void put_reason(struct json_part *row, const json_t *summary, const json_t *column)
{
    char text[TEXT];
    const char *why = field_text(column, "not_supported");
    row_text(row, "missing", why[0] != '\0' ? "<not supported>" : "<not counted>");
    if (why[0] != '\0')
        snprintf(text, sizeof text, "<not supported>: %s", why);
    else if (field_count(column, "at_least") >
             0) /* A bound on the longest hit says nothing about the median */
        snprintf(text, sizeof text, "longest hit: at least %s", NUMBER(field_count(column, "at_least_max")));
    else if (summary != NULL)
        snprintf(text, sizeof text, "<not counted>: %s", why_not(summary));
    else
        snprintf(text, sizeof text, "<not counted>");
    row_text(row, "reason", text);
}

/* In a row of CSV, what other formats say below the table. */
static const struct sentence run_doubts[] = {
    {"doubt", NULL, SENTENCE_DOUBT},
    {"ended", NULL, SENTENCE_ENDED},
    {"tainted", NULL, "{tainted,} of {hits,} hit{hits?|s} tainted, not in the numbers"},
    {"left", NULL, SENTENCE_LEFT},
    {"cut", NULL, SENTENCE_CUT},
    {"calls.isolated", NULL, "of isolated calls"},
    {"calls.left_out", NULL, SENTENCE_LEFT_OUT},
    {"slept", NULL, RESULT_SLEPT},
    {"periods.in_bursts", NULL, "it may be called in bursts"},
    {"uncalibrated", NULL, SENTENCE_UNCALIBRATED},
    {"near", NULL, SENTENCE_NEAR},
    {"disagreement", NULL, "{disagreement}"},
};

static void put_doubt(struct json_part *row, const json_t *summary, const json_t *column)
{
    struct json_part facts = json_part_copy(summary);
    row_flag(&facts, "near", json_is_false(field_of(column, "median_exact")));
    sentences_put(row, "doubt", facts.json, run_doubts, sizeof run_doubts / sizeof *run_doubts);
    json_decref(facts.json);
}

void run_add_doubt(struct json_part *row, const char *before, const char *doubt)
{
    char text[2 * TEXT];
    if (doubt[0] == '\0')
        return;
    snprintf(text, sizeof text, "%.2000s", field_text(row->json, "doubt"));
    text_add(text, sizeof text, "%s%s%.2000s", text[0] != '\0' ? "; " : "", before, doubt);
    row_text(row, "doubt", text);
}

struct json_part run_column_row(const json_t *summary, const char *name, json_t *column)
{
    struct json_part row = json_part_copy(column);
    row_text(&row, "name", name);
    row_text(&row, "unit", unit_of_counter(name));
    if (run_is_counted(column))
        run_report_put_numbers(&row, column);
    else
        put_reason(&row, summary, column);
    if (field_of(row.json, "count") == NULL)
        json_part_unsigned(&row, "count", 0);
    if (field_of(row.json, "at_least") == NULL)
        json_part_unsigned(&row, "at_least", 0);
    if (summary != NULL && run_is_counted(column))
        put_doubt(&row, summary, column);
    return row;
}

static void add_verdict(struct json_part *row, const json_t *verdict, const json_t *line)
{
    if (field_count(line, "base.count") > 0)
        row_real(row, "baseline", field_real(line, "base.mean"));
    row_real(row, "change", field_real(line, "change"));
    row_text(row, "judged", field_text(line, "verdict"));
    row_text(row, "why", field_text(line, "why"));
    run_add_doubt(row, "", field_text(verdict, "baseline.doubt"));
    check_put(row, verdict, line);
}

static bool append_row(json_t *rows, const struct run_lines *run, struct json_part row)
{
    row_text(&row, "region", run->conditions.start);
    row_text(&row, "file", field_text(run->verdict, "file"));
    return rows_add(rows, row);
}

static struct json_part metric_row(const json_t *summary, const char *name, const json_t *value)
{
    struct json_part row = json_part_new(NULL);
    char text[TEXT];
    const char *unit = text_in(summary, "metric_units", name),
               *why = text_in(summary, "metric_reasons", name);
    row_text(&row, "name", name);
    row_text(&row, "unit", unit);
    if (json_is_number(value)) {
        snprintf(text, sizeof text, "%.4g", json_number_value(value));
        row_text(&row, "mean_text", text);
        row_flag(&row, "wrong", text_in(summary, "metric_errata", name)[0] != '\0');
        row_text(&row, "errata", text_in(summary, "metric_errata", name));
        row_real(&row, "mean", json_number_value(value));
        row_text(&row, "remark", unit);
        put_doubt(&row, summary, NULL);
        return row;
    }
    snprintf(text, sizeof text, "<not counted>%s%s", why[0] != '\0' ? ": " : "", why);
    row_text(&row, "reason", text);
    row_text(&row, "missing", "<not counted>");
    return row;
}

/* False if it is not known. */
static bool time_row(const struct run_lines *run, struct json_part *row)
{
    static const struct {
        const char *from, *to;
    } numbers[] = {{"median", "median"}, {"mean", "mean_text"}, {"min", "min"}, {"max", "max"}};
    const json_t *time = field_of(run->summary, "time");
    const char *first;
    char text[NUMBER_ROOM + 32];
    double most = field_real(time, "at_least_max");
    if (time == NULL)
        return false;
    *row = json_part_new(NULL);
    row_text(row, "name", "time");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (field_of(time, numbers[i].from) != NULL)
            row_text(row, numbers[i].to, DURATION(field_real(time, numbers[i].from)));
    if (field_of(time, "median") == NULL) {
        snprintf(text, sizeof text, "longest hit: at least %s", DURATION(most));
        row_text(row, "reason", text);
    } else if (isfinite(most)) {
        struct json_part of = run_column_row(run->summary, "", run_first(run->summary, &first));
        row_text(row, "of_hits", field_text(of.json, "of_hits"));
        json_decref(of.json);
    }
    return true;
}

static bool run_report_add_columns(const struct run_lines *run, bool compared, json_t *rows)
{
    json_t *columns = json_object_get(run->summary, "columns"), *column;
    json_t *lines = compared ? json_object_get(run->verdict, "columns") : NULL, *line;
    const char *name;
    bool ok = true;
    json_object_foreach(columns, name, column) {
        struct json_part row = run_column_row(run->summary, name, column);
        line = json_object_get(lines, name);
        if (line != NULL)
            add_verdict(&row, run->verdict, line);
        ok = append_row(rows, run, row) && ok;
    }
    json_object_foreach(lines, name, line) {
        if (json_object_get(columns, name) != NULL)
            continue;
        json_t *now = run->summary == NULL ? json_object_get(line, "now") : NULL;
        struct json_part row = run_column_row(run->summary, name, now);
        add_verdict(&row, run->verdict, line);
        ok = append_row(rows, run, row) && ok;
    }
    return ok;
}

bool run_add_rows(const struct run_lines *run, bool compared, json_t *rows)
{
    const char *name;
    json_t *value;
    struct json_part time;
    bool ok = run_report_add_columns(run, compared, rows);
    if (time_row(run, &time))
        ok = append_row(rows, run, time) && ok;
    json_object_foreach(json_object_get(run->summary, "metrics"), name, value)
        ok = append_row(rows, run, metric_row(run->summary, name, value)) && ok;
    return ok;
}

/* ---- texts */

static bool is_constant(const json_t *column)
{
    return field_real(column, "min") == field_real(column, "max") || !run_is_counted(column);
}

/* There is more than one hit, and all have the same numbers. */
static bool all_equal(const json_t *summary)
{
    json_t *columns = json_object_get(summary, "columns"), *column;
    const char *name;
    json_object_foreach(columns, name, column)
        if (!is_constant(column) || field_count(column, "at_least") > 0 || field_count(column, "count") < 2)
            return false;
    return json_object_size(columns) > 0;
}

/* Hits with an unknown number of exceptions: that counter is narrow and may have overflowed. */
static uint64_t unknown_exceptions(const json_t *summary)
{
    json_t *column;
    const char *name;
    json_object_foreach(json_object_get(summary, "columns"), name, column)
        if (result_exceptions(name) != RESULT_EXCEPTIONS_NOT)
            return field_count(column, "at_least");
    return 0;
}

const char *run_counted_in(const json_t *summary)
{
    const char *name = NULL;
    return run_first(summary, &name) != NULL ? unit_of_counter(name) : "";
}

/* What the sentences need beyond the keys of a summary. */
static struct json_part facts_of(const struct run_lines *run)
{
    const json_t *summary = run->summary;
    struct json_part facts = json_part_copy(summary);
    char share[NUMBER_ROOM];
    uint64_t n_passes = field_count(summary, "passes"), n = field_count(summary, "hits");
    uint64_t all = field_count(summary, "wanted") * (n_passes > 1 ? n_passes : 1);
    row_count(&facts, "several", n_passes > 1 ? n_passes : 0);
    row_count(&facts, "short_of", n < all ? all : 0);
    row_count(&facts, "all", n < all ? all : n);
    if (isfinite(field_real(summary, "precision.mean")))
        row_text(&facts, "within", PART_UP(field_real(summary, "precision.mean")));
    if (field_of(summary, "halted_us") != NULL) {
        row_text(&facts, "halted", DURATION(field_real(summary, "halted_us") / 1e6));
        row_text(&facts, "halted_part", number_share(share, field_real(summary, "halted_share")));
    }
    const char *name;
    uint64_t tainted = field_count(summary, "tainted");
    row_flag(&facts, "all_equal", all_equal(summary));
    if (tainted > 0 && n > tainted)
        row_count(&facts, "that_count", n - tainted);
    row_count(&facts, "compared", field_count(run_first(summary, &name), "count"));
    row_flag(&facts, "precise_by_all_equal", field_real(summary, "precision.mean") == 0);
    bool of_function = strcmp(run->conditions.end, "its return") == 0;
    row_count(&facts, of_function ? "left_calls" : "left_starts", field_count(summary, "left"));
    row_count(&facts, "unknown_exceptions", unknown_exceptions(summary));
    row_text(&facts, "cut_of", run_counted_in(summary));
    row_flag(&facts, "bounded",
             field_of(summary, "precision") != NULL &&
                 field_count(run_first(summary, &name), "at_least") > 0);
    return facts;
}

/* How many hits, how the run began and ended, what was left out. */
static const struct sentence facts_first[] = {
    {NULL, NULL,
     "[{ended}: ]{hits,}[ of {!short_of}{short_of,}] hit{all?|s}[{!several} in {several} passes]"
     "[{!seconds} in {seconds@}]"
     "[{!all_equal}{^that_count}, all equal][{!all_equal}{!that_count}, the {that_count,} that count all "
     "equal]"},
    {"several", NULL, "Rows of different passes are of different hits."},
    {"warmup", NULL, "{warmup,} hit{warmup?|s} for warm-up, not counted"},
    {"precise_by_all_equal", NULL,
     "all equal: --precision {precision.wanted%} reached; up to 3 in {compared,} may differ (95 %)"},
    {"within", "precise_by_all_equal",
     "mean ±{within} (95 %): --precision {precision.wanted%} [{^precision.reached}not ]reached"},
    {"precision", "within|bounded", "no hit counts: --precision {precision.wanted%} not reached"},
    {"bounded", "within",
     "of some calls only a lower bound is known: --precision {precision.wanted%} not reached"},
    {"tainted", NULL,
     "{tainted,} of {hits,} hit{hits?|s} tainted: an interrupt that a halt had delayed ran inside; not in "
     "the numbers"},
    {"calls", NULL,
     "{calls.exact,} of {calls.seen,} calls[{!calls.isolated} (numbers are of isolated calls)]"
     "[{!calls.left_out}; left out: {calls.left_out%}]"
     "[{!calls.longest_left_out}, one of which may have taken {calls.longest_left_out,} cycles]"
     "[{!calls.late}, {calls.late,} for a late timestamp]"
     "[{!calls.together}, {calls.together,} for a shared one]"
     "[{!calls.unproved}, {calls.unproved,} not proved by the cycle events]"
     "[{!calls.lost}, {calls.lost,} lost]"
     "[{!calls.unpaired}, {calls.unpaired,} that began again before their end]"
     "[{!calls.gaps}; trace was lost {calls.gaps,} time{calls.gaps?|s}]"},
    {"left_calls", NULL, SENTENCE_LEFT},
    {"left_starts", NULL, "{left,} time{left?|s} the call ended or began again before the end, not counted"},
    {"cut", NULL, SENTENCE_CUT},
    {"steps_past", NULL,
     "{steps_past,} time{steps_past?|s} the end was reached in another frame, not counted"},
    {"halts", NULL,
     "the core was halted {halts,} time{halts?|s} for [{!halted_at_most}at most ]{halted} on average, "
     "{halted_part} of the run[{!halted_at_most}: it may have slept]"},
    {"clock_change", NULL, SENTENCE_NO_TIMES},
    {"slept", NULL, RESULT_SLEPT},
    {"uncalibrated", NULL, SENTENCE_UNCALIBRATED},
    {"advice", NULL, "{advice}"},
};

/* After the quantiles. All counts include exceptions; hits without one are apart. */
static const struct sentence facts_last[] = {
    {"without_exceptions.count", NULL,
     "{without_exceptions.count,} without an exception inside, median {without_exceptions.median,}"},
    {"without_exceptions", "without_exceptions.count|unknown_exceptions", "0 without an exception inside"},
    {"unknown_exceptions", NULL,
     "exceptions inside {unknown_exceptions,} hit{unknown_exceptions?|s} not known: the counter may have "
     "overflowed"},
};

/* Of one that is constant the table has them. */
static void add_quantiles(struct json_part *list, const json_t *summary)
{
    json_t *columns = json_object_get(summary, "columns"), *column;
    bool named = json_object_size(columns) > 1;
    const char *name;
    json_object_foreach(columns, name, column)
        if (!is_constant(column) && field_count(column, "count") >= FEW && field_of(column, "p99") != NULL)
            json_list_say(list, "%s%sp90 %s, p99 %s", named ? name : "", named ? " " : "",
                          NUMBER(field_count(column, "p90")), NUMBER(field_count(column, "p99")));
}

/* The values that --show requested. */
static void run_report_add_words(struct json_part *list, const json_t *summary)
{
    json_t *values = json_object_get(summary, "at_max"), *words = json_object_get(summary, "at_max_words"),
           *value;
    char line[TEXT], old[32];
    const char *name;
    if (values == NULL)
        return;
    snprintf(line, sizeof line, "max in hit %s:", NUMBER(field_count(values, "hit")));
    json_object_foreach(values, name, value) {
        const char *text = json_string_value(json_object_get(words, name));
        snprintf(old, sizeof old, "0x%" PRIx64, count_of(value));
        if (strcmp(name, "hit") != 0)
            text_add(line, sizeof line, " %s=%s", name, text != NULL ? text : old);
    }
    json_list_say(list, "%s", line);
}

void run_facts(struct json_part *list, const struct run_lines *run)
{
    const json_t *summary = run->summary;
    struct json_part facts = facts_of(run);
    sentences_say(list, facts.json, facts_first, sizeof facts_first / sizeof *facts_first);
    add_quantiles(list, summary);
    sentences_say(list, facts.json, facts_last, sizeof facts_last / sizeof *facts_last);
    json_decref(facts.json);
    run_report_add_words(list, summary);
    if (field_of(summary, "disagreement") != NULL)
        json_list_say(list, "%s", field_text(summary, "disagreement"));
}

const char run_words[] =
    "sd: standard deviation of the hits; " RUN_MEAN_ERROR "per hit: " RUN_EACH
    "overhead: what a halt adds to a hit, already removed; median: of two middle hits the lower.";

/* No halt changes a count. *wrong: the core itself counts one wrongly. */
static bool run_is_undisturbed(const json_t *result, bool *wrong)
{
    json_t *column;
    const char *name;
    size_t n = 0;
    *wrong = false;
    json_object_foreach(json_object_get(result, "columns"), name, column) {
        if (!run_is_counted(column))
            continue;
        if (!run_report_is_calibrated(column) || field_real(column, "plus_minus") > 0)
            return false;
        *wrong = *wrong || field_of(column, "errata") != NULL;
        n++;
    }
    return n > 0;
}

bool run_is_exact(const json_t *result)
{
    bool wrong;
    /* What is proved of a hit: engine/call.h */
    return field_of(result, "doubt") == NULL && !field_is(result, "slept") &&
           run_is_undisturbed(result, &wrong) && !wrong;
}

static const struct sentence run_legend[] = {
    {"inexact|exact", NULL,
     "per hit ±0[{!exact}: each count is exact][{!no_overhead}; overhead 0: a halt adds nothing to it]"},
    {"unmeasured", NULL, "?: " SENTENCE_UNMEASURED},
    {"unresolved", NULL, "not resolved: the count is not above its own uncertainty"},
    {"near", NULL, SENTENCE_NEAR},
};

static void run_report_add_legend(struct json_part *list, const json_t *summary)
{
    struct json_part seen = json_part_new(NULL);
    bool wrong = false, overhead = false;
    json_t *column;
    const char *name;
    json_object_foreach(json_object_get(summary, "columns"), name, column) {
        double each = field_real(column, "plus_minus");
        if (!run_is_counted(column))
            continue;
        overhead = overhead || fabs(field_real(column, "overhead")) >= 0.05;
        if (!run_report_is_calibrated(column))
            row_flag(&seen, "unmeasured", true);
        if (each > 0 && field_real(column, "median") <= each)
            row_flag(&seen, "unresolved", true);
        if (json_is_false(field_of(column, "median_exact")))
            row_flag(&seen, "near", true);
    }
    row_flag(&seen, "no_overhead", !overhead);
    row_flag(&seen, "exact", run_is_exact(summary));
    row_flag(&seen, "inexact", run_is_undisturbed(summary, &wrong) && wrong);
    sentences_join(list, seen.json, run_legend, sizeof run_legend / sizeof *run_legend);
    json_decref(seen.json);
}

/* Of hits with only a lower bound, those whose counter may have overflowed. */
static uint64_t wrapped(const json_t *column, uint64_t cut)
{
    uint64_t bounds = field_count(column, "at_least");
    return bounds > cut ? bounds - cut : 0;
}

static void add_bound(char text[TEXT], const char *name, const json_t *column, uint64_t cut, bool alone)
{
    uint64_t bounds = wrapped(column, cut), n = field_count(column, "count") + bounds,
             most = cut == 0 ? field_count(column, "at_least_max") : 0;
    text_add(text, TEXT, alone ? "%.96s: %s of %s hit%s" : "%.96s %s of %s hit%s", name, NUMBER(bounds),
             NUMBER(n), PLURAL(n));
    if (most > 0)
        text_add(text, TEXT, " (highest: at least %s)", NUMBER(most));
}

/* Columns with counters of the same width share a sentence. */
static void add_bounds_of(struct json_part *list, json_t *columns, uint64_t cut, uint64_t bits)
{
    char text[TEXT] = "", width[32] = "";
    json_t *column;
    const char *name;
    size_t n = 0, put = 0;
    uint64_t first = 0;
    json_object_foreach(columns, name, column)
        n += wrapped(column, cut) > 0 && field_count(column, "bits") == bits;
    if (bits > 0)
        snprintf(width, sizeof width, "%" PRIu64 "-bit ", bits);
    json_object_foreach(columns, name, column) {
        if (wrapped(column, cut) == 0 || field_count(column, "bits") != bits)
            continue;
        first = put == 0 ? wrapped(column, cut) : first;
        text_add(text, sizeof text, "%s", put++ > 0 ? ", " : "");
        add_bound(text, name, column, cut, n == 1);
    }
    if (n == 1)
        json_list_say(list, "%s may have overflowed the %scounter and %s not included", text, width,
                      first == 1 ? "is" : "are");
    else
        json_list_say(list, "May have overflowed the %scounter and are not included: %s", width, text);
}

static void add_bounds(struct json_part *list, const json_t *summary)
{
    json_t *columns = json_object_get(summary, "columns"), *column, *before;
    const char *name, *its;
    uint64_t cut = field_count(summary, "cut");
    json_object_foreach(columns, name, column) {
        uint64_t bits = field_count(column, "bits");
        bool told = wrapped(column, cut) == 0;
        json_object_foreach(columns, its, before) {
            if (before == column)
                break;
            told = told || (wrapped(before, cut) > 0 && field_count(before, "bits") == bits);
        }
        if (!told)
            add_bounds_of(list, columns, cut, bits);
    }
}

static void run_explain(struct json_part *list, const struct run_lines *run, const struct rendering *to)
{
    static const struct sentence doubt[] = {{"doubt", NULL, SENTENCE_DOUBT}};
    char clock[256];
    if (to->explains)
        json_list_say(list, "%s", run_words);
    run_report_add_legend(list, run->summary);
    conditions_add_errata(list, run->summary);
    sentences_say(list, run->summary, doubt, 1);
    if (field_of(run->summary, "time") != NULL &&
        conditions_clock_text(&run->conditions, clock, sizeof clock))
        json_list_say(list, "time: %s", clock);
    add_bounds(list, run->summary);
}

bool run_write_csv(const struct rendering *to, json_t *rows, const char *keys)
{
    for (size_t i = json_array_size(rows); i-- > 0;)
        if (field_of(json_array_get(rows, i), keys) == NULL)
            json_array_remove(rows, i);
    return render_table(to, &run_csv, rows);
}

static bool put_table(const struct rendering *to, const struct run_lines *run, bool compared)
{
    json_t *rows = json_array();
    bool ok = run_add_rows(run, compared, rows);
    if (ok && json_array_size(rows) > 0)
        return render_table(to, &summary_view, rows);
    json_decref(rows);
    return ok;
}

/* Else a few hits, or two kinds of them, make the mean a value that hardly any hit has. */
static bool is_near_mean(const json_t *column)
{
    static const double most = 0.5; /* standard deviations */
    double mean = field_real(column, "mean"), median = field_real(column, "median");
    /* A few very long hits move the mean to where no hit is, and the deviation with it */
    return fabs(mean - median) <= most * field_real(column, "sd") &&
           !(mean > field_real(column, "p90") && mean - median > 0.1 * median);
}

/* "200 hits, 81 to 837" */
static void range_text(const json_t *column, char *out, size_t size)
{
    uint64_t n = field_count(column, "count");
    snprintf(out, size, "%s hit%s", NUMBER(n), PLURAL(n));
    if (!is_constant(column))
        text_add(out, size, ", %s to %s", NUMBER(field_count(column, "min")),
                 NUMBER(field_count(column, "max")));
}

/* The words before it. */
static const char *headline_value(const json_t *column, bool near, char *out, size_t size)
{
    uint64_t median;
    bool known = run_median(column, &median);
    if (near)
        run_mean_text(out, size, column);
    else
        number_unsigned(out, size, median);
    return near ? "" : known ? "median " : is_constant(column) ? "at most " : "median at most ";
}

/* "work_by_data: 465 cycles ±31 (95 %), 38.8 µs (200 hits, 81 to 837)" */
static void run_report_put_summary(const struct rendering *to, const struct run_lines *run)
{
    char value[2 * NUMBER_ROOM + 8], range[4 * NUMBER_ROOM], text[2048] = "";
    const char *name, *unit;
    const struct conditions *of = &run->conditions;
    const json_t *column = run_first(run->summary, &name);
    if (!run_is_counted(column))
        return;
    uint64_t median;
    bool known = run_median(column, &median), near = known && is_near_mean(column),
         ends = of->end[0] != '\0' && strcmp(of->end, "its return") != 0;
    const json_t *time = known ? field_of(run->summary, "time") : NULL;
    double seconds = field_real(time, near ? "mean" : "median");
    const char *words = headline_value(column, near, value, sizeof value);
    const char *error = strstr(value, " ±");
    size_t digits = error != NULL ? (size_t)(error - value) : strlen(value);
    unit = unit_of_counter(name);
    text_add(text, sizeof text, "%.640s%s%.640s%s%s%.*s %.96s", of->start, ends ? " to " : "",
             ends ? of->end : "", of->start[0] != '\0' ? ": " : "", words, (int)digits, value,
             unit[0] != '\0' ? unit : name);
    if (error != NULL)
        text_add(text, sizeof text, "%s (95 %%)", error);
    if (isfinite(seconds))
        text_add(text, sizeof text, ", %s", DURATION(seconds));
    range_text(column, range, sizeof range);
    bool after_parenthesis = error != NULL && !isfinite(seconds);
    render_text(to, after_parenthesis ? "%s, %s" : "%s (%s)", text, range);
    fputc('\n', to->out);
}

bool run_write_table(const struct rendering *to, const struct run_lines *run)
{
    const char *name = "";
    const json_t *first = run_first(run->summary, &name);
    if (to->format == FORMAT_TEXT) {
        fputc('\n', to->out);
        run_report_put_summary(to, run);
    }
    struct json_part facts = json_list_new(), more = json_list_new();
    run_explain(&more, run, to);
    run_facts(&facts, run);
    bool ok = put_table(to, run, false);
    ok = render_list(to, more) && ok;
    if (first == NULL && to->format == FORMAT_TEXT) { /* without a table, the facts alone */
        const json_t *fact;
        size_t i;
        json_array_foreach(facts.json, i, fact)
            render_text(to, "%s", json_string_value(fact));
        json_array_clear(facts.json);
    }
    ok = render_list(to, facts) && ok;
    if (to->format == FORMAT_TEXT && run_is_counted(first))
        histogram_print(to->out, to->columns, name, first);
    return ok;
}

bool run_write_markdown(const struct rendering *to, const struct run_lines *run)
{
    struct json_part list = json_list_new();
    char clock[256];
    if (run->summary != NULL)
        run_facts(&list, run);
    run_explain(&list, run, to);
    if (field_of(run->summary, "time") == NULL &&
        conditions_clock_text(&run->conditions, clock, sizeof clock))
        json_list_say(&list, "%s", clock);
    if (run->conditions.note[0] != '\0')
        json_list_say(&list, "%s", run->conditions.note);
    conditions_write(to, &run->conditions);
    bool ok = put_table(to, run, true);
    if (run->verdict != NULL)
        comparison_write(to, run->verdict);
    return render_list(to, list) && ok;
}
