/* SPDX-License-Identifier: MIT */
#include "report/survey_report.h"

#include "base/values.h"
#include "report/comparison_report.h"
#include "report/conditions.h"
#include "report/html.h"
#include "report/number.h"
#include "report/page.h"
#include "report/sentence.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Its regions, and the verdict of each, or null. */
struct survey_lines {
    const json_t *header, *summary;
    json_t *regions, *verdicts;
    struct conditions conditions;
};

static bool survey_page(const struct rendering *to, const struct document *document,
                        const struct survey_lines *lines);

enum { INDENT = 2, DEEP = 4, NAME = UTF8_CLEAN_ROOM(160), TEXT = 1024, TELLING = 8 };
enum { LISTED = 4, NAMED = 10 }; /* more functions without a hit share lines, and this many are named */
/* Of the samples: with as many a function without a hit has a row in any case. */
static const double SAMPLED_SHARE = 0.01;
/* From here on a digit less is printed, or a mark; the rate's is a part of it. */
static const double VAGUE_SHARE = 0.02, VAGUE_RATE = 0.2, CLEAR_SHARE = 0.001;

/* Two points are little of a large share, and much of a small one. */
static double vague_share(double share)
{
    return fmax(CLEAR_SHARE, fmin(VAGUE_SHARE, VAGUE_RATE * share));
}

static bool survey_report_has_hits(const json_t *region)
{
    return field_is(region, "reached") && field_count(region, "hits") > 0;
}

static const char *why_of(const json_t *region)
{
    return field_text(region, "why");
}

static bool is_unreached(const json_t *region)
{
    return !survey_report_has_hits(region) && why_of(region)[0] == '\0';
}

static bool had_no_turn(const json_t *region)
{
    return field_is(region, "no_turn");
}

/* Of the program counter, before the survey. NaN: there were none. */
static double sampled_share(const struct survey_lines *lines, const json_t *region)
{
    return (double)field_count(region, "samples") / field_real(lines->summary, "samples");
}

/* The first that has hits: all have its columns. */
static json_t *first_of(const struct survey_lines *lines)
{
    size_t i;
    json_t *region;
    json_array_foreach(lines->regions, i, region)
        if (survey_report_has_hits(region))
            return region;
    return NULL;
}

/* ---- what is known of all calls */

static bool rate_is_bound(const json_t *region)
{
    return field_is(region, "periods.cycles_at_least") || field_is(region, "periods.cut");
}

static bool rate_is_vague(const json_t *region)
{
    double rate = field_real(region, "calls_per_second");
    return isfinite(rate) && !rate_is_bound(region) &&
           (field_is(region, "periods.in_bursts") ||
            field_real(region, "calls_plus_minus") > VAGUE_RATE * rate);
}

/* "<", ">", or "" without one. */
static const char *share_bound(const json_t *region)
{
    bool most = field_is(region, "periods.cycles_at_least"),
         least = field_is(region, "periods.inside_at_least") || field_is(region, "periods.cut");
    return most && !least ? "<" : least && !most ? ">" : "";
}

static bool share_is_vague(const json_t *region)
{
    double share = field_real(region, "share");
    return isfinite(share) && share_bound(region)[0] == '\0' &&
           (field_is(region, "periods.in_bursts") ||
            field_real(region, "share_plus_minus") > vague_share(share));
}

static void survey_report_put_rates(struct json_part *row, const json_t *region)
{
    double rate = field_real(region, "calls_per_second"), share = field_real(region, "share");
    const char *bound = share_bound(region);
    char text[NUMBER_ROOM + 8] = "";
    if (isfinite(rate))
        snprintf(text, sizeof text, "%s%s",
                 rate_is_bound(region)   ? "<"
                 : rate_is_vague(region) ? "~"
                                         : "",
                 DECIMAL(rate, rate < 9.95 ? 1 : 0));
    row_text(row, "rate", text);
    if (!isfinite(share) || (share < 0.0005 && bound[0] == '>'))
        return;
    if (share < 0.0005)
        snprintf(text, sizeof text, "<0.1 %%");
    else if (share_is_vague(region))
        snprintf(text, sizeof text, "~%.0f %%", 100 * share);
    else
        snprintf(text, sizeof text, "%s%.1f %%", bound, 100 * share);
    row_text(row, "share_text", text);
}

/* ---- verdicts */

void checks_add(struct json_part *row, const json_t *region, const json_t *verdict)
{
    json_t *list = json_array();
    struct check check;
    for (size_t k = 0; check_take(region, verdict, k, &check); k++) {
        char numbers[4 * NUMBER_ROOM], words[TEXT], text[TEXT];
        check_numbers(&check, numbers, sizeof numbers);
        check_words(&check, words, sizeof words);
        snprintf(text, sizeof text, "%.200s: %s, ", check.name, numbers);
        check_append(row, list, text, check.verdict, words, "");
        if (k == 0) {
            row_text(row, "judged", check.verdict);
            row_text(row, "verdict_why", field_text(check.line, "why"));
        }
    }
    json_part_array(row, "verdict", list);
}

void checks_print(const struct rendering *to, const json_t *regions, const json_t *verdicts,
                  const json_t *summary)
{
    size_t counts[4] = {0}, n = 0, i;
    const json_t *region;
    struct check check;
    fputc('\n', to->out);
    json_array_foreach(regions, i, region) {
        for (size_t k = 0; check_take(region, json_array_get(verdicts, i), k, &check); k++, n++) {
            char clean[UTF8_CLEAN_ROOM(4 * TEXT)], words[2 * TEXT], text[4 * TEXT];
            enum verdict is = verdict_by_name(check.verdict);
            check_text(&check, words, sizeof words);
            snprintf(text, sizeof text, "%.1000s: %s", field_text(region, "name"), words);
            fputs(terminal_colour(to->out, verdict_colour(is)), to->out);
            fold_text(to->out, to->columns, DEEP, terminal_text(clean, sizeof clean, text));
            fputs(terminal_colour(to->out, COLOUR_END), to->out);
            counts[is]++;
        }
    }
    fprintf(to->out, "verdict: %s", line_verdict_name(summary));
    if (n == 0)
        fputs(", there is nothing to judge", to->out);
    for (size_t k = 0, told = 0; n > 0 && k < 4; k++)
        if (counts[k] > 0)
            fprintf(to->out, "%s%zu %s", told++ > 0 ? ", " : "; ", counts[k], verdict_name((enum verdict)k));
    fputc('\n', to->out);
}

/* ---- tables */

/* "not called in its 1.2 s" */
static void none_text(const struct survey_lines *lines, const json_t *region, char *out, size_t size)
{
    double waited = field_real(region, "waited_s"), sampled = sampled_share(lines, region);
    if (why_of(region)[0] != '\0')
        snprintf(out, size, "<not measured>: %.800s", why_of(region));
    else
        snprintf(out, size, waited > 0 ? "not %s in its %s" : "not %s",
                 field_of(region, "end") != NULL ? "reached" : "called", ELAPSED(waited));
    if (sampled >= SAMPLED_SHARE)
        text_add(out, size, "; %.0f %% of the samples were in it", 100 * sampled);
}

/* Rates and verdicts are with the first column. */
static struct json_part region_row(const struct survey_lines *lines, size_t i, const char *column, bool first)
{
    json_t *region = json_array_get(lines->regions, i);
    json_t *of =
        survey_report_has_hits(region) ? json_object_get(json_object_get(region, "columns"), column) : NULL;
    struct json_part row = run_column_row(region, column, of);
    char text[TEXT];
    row_text(&row, "counter", column);
    row_text(&row, "name", field_text(region, "name"));
    row_text(&row, "region", field_text(region, "name"));
    if (run_is_counted(of))
        json_part_unsigned(&row, "hits", field_count(of, "count"));
    if (survey_report_has_hits(region))
        run_add_doubt(&row, "", why_of(region));
    run_add_doubt(&row, "it ended early: ", field_text(lines->summary, "ended"));
    run_add_doubt(&row, "", field_text(json_array_get(lines->verdicts, i), "baseline.doubt"));
    if (!survey_report_has_hits(region)) {
        none_text(lines, region, text, sizeof text);
        row_text(&row, "reason", text);
        row_text(&row, "missing", why_of(region)[0] != '\0' ? "<not measured>" : "<not reached>");
        row_text(&row, "why", why_of(region));
    }
    if (!first)
        return row;
    if (survey_report_has_hits(region)) {
        static const char *const keys[] = {"calls_per_second", "calls_plus_minus", "share",
                                           "share_plus_minus"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            row_real(&row, keys[k], field_real(region, keys[k]));
        row_text(&row, "rate_bound", rate_is_bound(region) ? "<" : rate_is_vague(region) ? "~" : "");
        row_text(&row, "share_bound", share_is_vague(region) ? "~" : share_bound(region));
        survey_report_put_rates(&row, region);
    }
    checks_add(&row, region, json_array_get(lines->verdicts, i));
    return row;
}

/* Without a hit, for want of a call or of time, and nothing else to report of it. */
static bool is_small(const struct rendering *to, const struct survey_lines *lines, size_t i)
{
    const json_t *region = json_array_get(lines->regions, i);
    struct check check;
    bool judged = check_take(region, json_array_get(lines->verdicts, i), 0, &check);
    return (is_unreached(region) || had_no_turn(region)) &&
           !(sampled_share(lines, region) >= SAMPLED_SHARE) && (to->format == FORMAT_TEXT || !judged);
}

/* NULL: no region is left out. Why one has no hit is reported once. */
static json_t *column_rows(const struct rendering *folds, const struct survey_lines *lines,
                           const char *column, bool first)
{
    struct document rows = document_new();
    for (size_t i = 0; i < json_array_size(lines->regions); i++)
        if ((folds == NULL || !is_small(folds, lines, i)) &&
            (first || survey_report_has_hits(json_array_get(lines->regions, i))))
            document_add(&rows, region_row(lines, i, column, first));
    return document_end(rows);
}

static size_t count_small(const struct rendering *to, const struct survey_lines *lines, bool no_turn)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(lines->regions); i++)
        n += is_small(to, lines, i) && had_no_turn(json_array_get(lines->regions, i)) == no_turn;
    return n;
}

/* "not called in their 21 ms to 1.1 s: " */
static void small_heading(const struct rendering *to, const struct survey_lines *lines, bool no_turn,
                          size_t n, char *out, size_t size)
{
    char from[NUMBER_ROOM], to_text[NUMBER_ROOM];
    double least = INFINITY, most = 0;
    bool ends = false;
    for (size_t i = 0; i < json_array_size(lines->regions); i++) {
        const json_t *region = json_array_get(lines->regions, i);
        if (!is_small(to, lines, i) || had_no_turn(region))
            continue;
        least = fmin(least, fmax(0, field_real(region, "waited_s")));
        most = fmax(most, field_real(region, "waited_s"));
        ends = ends || field_of(region, "end") != NULL;
    }
    number_elapsed(from, sizeof from, least);
    number_elapsed(to_text, sizeof to_text, most);
    if (no_turn)
        snprintf(out, size, "no time for");
    else if (!(least > 0))
        snprintf(out, size, "not %s", ends ? "reached" : "called");
    else
        snprintf(out, size, "not %s in %s %s%s%s", ends ? "reached" : "called", n == 1 ? "its" : "their",
                 from, strcmp(from, to_text) != 0 ? " to " : "", strcmp(from, to_text) != 0 ? to_text : "");
}

/* A page has all names, folded in. */
static void put_small(const struct rendering *to, const struct survey_lines *lines, bool no_turn)
{
    struct fold fold = {.out = to->out, .columns = to->columns, .indent = INDENT};
    char text[TEXT], heading[4 * NUMBER_ROOM];
    size_t n = count_small(to, lines, no_turn), put = 0, most = to->format == FORMAT_HTML ? n : NAMED;
    if (n == 0)
        return;
    small_heading(to, lines, no_turn, n, heading, sizeof heading);
    snprintf(text, sizeof text, to->format == FORMAT_HTML ? "%s: %zu" : "%s:", heading, n);
    fputs(to->format == FORMAT_HTML       ? "<details>\n<summary>"
          : to->format == FORMAT_MARKDOWN ? "* "
                                          : "",
          to->out);
    render_piece(to, &fold, text, 1);
    if (to->format == FORMAT_HTML) {
        fputs("</summary>\n<p>", to->out);
        fold.used = 0;
    }
    for (size_t i = 0; put < most && i < json_array_size(lines->regions); i++) {
        const json_t *region = json_array_get(lines->regions, i);
        if (!is_small(to, lines, i) || had_no_turn(region) != no_turn)
            continue;
        snprintf(text, sizeof text, "%.900s%s", field_text(region, "name"), ++put < n ? "," : "");
        render_piece(to, &fold, text, 1);
    }
    snprintf(text, sizeof text, "and %s more (-j)", number_unsigned(heading, NUMBER_ROOM, n - put));
    if (put < n)
        render_piece(to, &fold, text, 1);
    if (to->format == FORMAT_TEXT)
        fold_end(&fold);
    fputs(to->format == FORMAT_HTML       ? "</p>\n</details>\n"
          : to->format == FORMAT_MARKDOWN ? "\n\n"
                                          : "",
          to->out);
}

static bool put_column(const struct rendering *to, const struct survey_lines *lines, const char *column,
                       bool first)
{
    struct view view = region_view;
    bool folds = count_small(to, lines, false) + count_small(to, lines, true) > LISTED,
         text = to->format == FORMAT_TEXT;
    char clean[NAME];
    view.caption = column[0] != '\0' ? column : "regions";
    if (text)
        fputc('\n', to->out);
    if (text && column[0] != '\0')
        fprintf(to->out, "%s\n", terminal_text(clean, sizeof clean, column));
    if (to->format == FORMAT_MARKDOWN && column[0] != '\0')
        render_heading(to, column);
    bool ok = render_table(to, &view, column_rows(folds ? to : NULL, lines, column, first));
    for (int no_turn = 0; first && folds && no_turn < 2; no_turn++)
        put_small(to, lines, no_turn == 1);
    return ok;
}

/* A table for each column; `heading` puts its name before it. */
static bool survey_tables(const struct rendering *to, const struct survey_lines *lines)
{
    json_t *columns = json_object_get(first_of(lines), "columns"), *column;
    const char *name;
    bool ok = true, first = true;
    if (json_object_size(columns) == 0)
        return put_column(to, lines, "", true);
    json_object_foreach(columns, name, column) {
        ok = put_column(to, lines, name, first) && ok;
        first = false;
    }
    return ok;
}

static bool survey_report_put_csv(const struct rendering *to, const struct survey_lines *lines)
{
    json_t *columns = json_object_get(first_of(lines), "columns"), *column, *rows = json_array(), *row;
    const char *name;
    bool ok = rows != NULL, first = true;
    size_t i;
    json_object_foreach(columns, name, column) {
        json_t *some = column_rows(NULL, lines, name, first);
        json_array_foreach(some, i, row)
            ok = json_object_set_new(row, "name", json_string(name)) == 0 && ok;
        ok = some != NULL && json_array_extend(rows, some) == 0 && ok;
        json_decref(some);
        first = false;
    }
    if (columns == NULL) {
        json_decref(rows);
        rows = column_rows(NULL, lines, "", true);
    }
    return render_table(to, &region_csv, rows) && ok;
}

/* ---- texts */

static void survey_report_add_metrics(struct json_part *list, const json_t *region)
{
    json_t *metrics = json_object_get(region, "metrics"), *value;
    const char *name;
    char text[3 * TEXT] = "";
    json_object_foreach(metrics, name, value) {
        bool known = json_is_number(value);
        const char *more = text_in(region, known ? "metric_units" : "metric_reasons", name);
        char number[NUMBER_ROOM];
        snprintf(number, sizeof number, known ? "%.4g" : "<not counted>", json_number_value(value));
        text_add(text, sizeof text, "%s%.96s %s%s%.100s", text[0] != '\0' ? ", " : "", name, number,
                 more[0] == '\0' ? ""
                 : known         ? " "
                                 : ": ",
                 more);
    }
    if (text[0] != '\0')
        json_list_say(list, "%s: %s", field_text(region, "name"), text);
}

const char survey_words[] =
    "±: " RUN_EACH RUN_MEAN_ERROR "share: of all cycles, from call to call, with what it calls and what "
    "interrupts it; calls/s: at the core's clock.";

static const struct sentence legend[] = {
    {"exact", NULL, "±0: each count is exact"},
    {"unmeasured", NULL, "?: " SENTENCE_UNMEASURED},
    {"vague", NULL, "~: vague, of few or different calls"},
    {"bounds", "awake", "< and >: the counter may have wrapped unseen"},
    {"awake", NULL, "<: of the {awake%} of the time in which the counter of cycles went on, without sleep"},
    {"left", NULL, "> share: of calls that returned"},
    {"ends", NULL, "< and >: with a call that its turn's end cut"},
};

static void survey_report_add_legend(struct json_part *list, const struct survey_lines *lines)
{
    bool unmeasured = false, each = false, bounds = false, vague = false, left = false, ends = false,
         exact = true;
    size_t i;
    json_t *region, *column, *counted_one = NULL;
    const char *name;
    json_array_foreach(lines->regions, i, region) {
        if (!survey_report_has_hits(region))
            continue;
        counted_one = region; /* all have the same columns */
        json_object_foreach(json_object_get(region, "columns"), name, column) {
            bool counted = run_is_counted(column);
            unmeasured = unmeasured || (counted && !json_is_true(field_of(column, "calibrated")));
            each = each || (counted && field_real(column, "plus_minus") > 0);
        }
        exact = exact && run_is_exact(region);
        vague = vague || share_is_vague(region) || rate_is_vague(region);
        bool some_left = field_count(region, "periods.left") > 0;
        left = left || some_left;
        bool cut = field_is(region, "periods.cut");
        ends = ends || cut;
        bounds = bounds || (share_bound(region)[0] != '\0' && !some_left && !cut);
    }
    struct json_part seen = json_part_new(NULL);
    row_flag(&seen, "exact", !each && !unmeasured && exact);
    row_flag(&seen, "unmeasured", unmeasured);
    row_flag(&seen, "vague", vague);
    row_flag(&seen, "bounds", bounds);
    row_flag(&seen, "left", left);
    row_flag(&seen, "ends", ends);
    json_part_real(&seen, "awake", field_real(lines->summary, "awake"));
    sentences_join(list, seen.json, legend, sizeof legend / sizeof *legend);
    json_decref(seen.json);
    conditions_add_errata(list, counted_one);
}

/* What a reader of a region's numbers must know. */
static const struct sentence remarks[] = {
    {"doubt", NULL, SENTENCE_DOUBT},
    {"note", NULL, "{note}"},
    {"left", NULL, SENTENCE_LEFT},
    {"cut", NULL, SENTENCE_CUT},
    {"tainted", NULL, "{tainted,} tainted hit{tainted?|s} left out"},
    {"bounds", NULL, "{bounds,} hit{bounds?|s} may have overflowed the counter, not included"},
    {"slept", NULL, "the core was seen asleep"},
    {"disagreement", NULL, "{disagreement}"},
    {"advice", NULL, "{advice}"},
    {"why_not", NULL, "{why_not}"},
};

/* False: nothing. */
static bool add_remark(struct json_part *list, const json_t *region)
{
    const char *name;
    const json_t *cycles = run_first(region, &name);
    struct json_part facts = json_part_copy(region), one = json_list_new();
    if (run_is_counted(cycles))
        row_count(&facts, "bounds", field_count(cycles, "at_least") - field_count(region, "cut"));
    row_text(&facts, "cut_of", run_counted_in(region));
    row_text(&facts, "why_not", why_of(region));
    if (survey_report_has_hits(region))
        sentences_join(&one, facts.json, remarks, sizeof remarks / sizeof *remarks);
    bool any = json_array_size(one.json) > 0;
    if (any)
        json_list_say(list, "%s: %s", field_text(region, "name"),
                      json_string_value(json_array_get(one.json, 0)));
    json_decref(facts.json);
    json_decref(one.json);
    return any;
}

/* Regions whose turns may have met one burst of calls each. */
static void add_vague(struct json_part *list, const struct survey_lines *lines)
{
    char names[TEXT] = "";
    size_t n = 0, i;
    const json_t *region;
    json_array_foreach(lines->regions, i, region)
        if (survey_report_has_hits(region) && field_is(region, "periods.in_bursts") && n++ < LISTED)
            text_add(names, sizeof names, "%s%.160s", n > 1 ? ", " : "", field_text(region, "name"));
    if (n > LISTED)
        text_add(names, sizeof names, " and %zu others", n - LISTED);
    if (n > 0)
        json_list_say(list, "%s may be called in bursts: a longer --for makes rates and shares more exact",
                      names);
}

/* How much of it was measured, and by what order where there was no time for all. */
static const struct sentence survey_end[] = {
    {NULL, NULL,
     "{reached} of {regions} regions reached[{!refused}, {refused} not measured], in {seconds@}[, "
     "{clock}][; " SENTENCE_NO_TIMES "][; " SENTENCE_ENDED "]"},
    {"not_sampled", NULL, "in the ELF's order, not the hottest first: {not_sampled}"},
    {"rest_s", NULL,
     "{reached,} of {regions,} measured[{!samples}, the hottest first]; the others would take about {rest} "
     "(--for)"},
};

static void add_end(struct json_part *list, const struct survey_lines *lines)
{
    char clock[256] = "", time[NUMBER_ROOM];
    double rest = field_real(lines->summary, "rest_s");
    struct json_part facts = json_part_copy(lines->summary);
    uint64_t refused = 0;
    size_t i;
    const json_t *region;
    json_array_foreach(lines->regions, i, region)
        refused += !survey_report_has_hits(region) && !is_unreached(region) && !had_no_turn(region);
    row_count(&facts, "refused", refused);
    if (conditions_clock_text(&lines->conditions, clock, sizeof clock))
        row_text(&facts, "clock", clock);
    number_elapsed(time, sizeof time, rest);
    if (rest >= 119.5 && rest < 7200) /* it is vague */
        snprintf(time, sizeof time, "%.0f min", rest / 60);
    row_text(&facts, "rest", time);
    sentences_say(list, facts.json, survey_end, sizeof survey_end / sizeof *survey_end);
    json_decref(facts.json);
}

/* Texts below the tables. */
static void survey_notes(struct json_part *list, const struct survey_lines *lines, const struct rendering *to)
{
    size_t i, told = 0;
    const json_t *region;
    json_array_foreach(lines->regions, i, region)
        if (survey_report_has_hits(region))
            survey_report_add_metrics(list, region);
    if (first_of(lines) != NULL && to->explains)
        json_list_say(list, "%s", survey_words);
    if (first_of(lines) != NULL)
        survey_report_add_legend(list, lines);
    json_array_foreach(lines->regions, i, region)
        if (told < TELLING && add_remark(list, region))
            told++;
    add_vague(list, lines);
    add_end(list, lines);
}

/* A verdict follows its region. */
static bool survey_report_take_lines(const struct document *document, struct survey_lines *out)
{
    size_t i;
    json_t *line;
    bool ok;
    *out = (struct survey_lines){.header = document_line(document, "header"),
                                 .summary = document_line(document, "summary"),
                                 .regions = json_array(),
                                 .verdicts = json_array()};
    out->conditions = run_lines(out->header, (json_t *)out->summary, NULL).conditions;
    ok = out->regions != NULL && out->verdicts != NULL;
    json_array_foreach(document->lines, i, line) {
        size_t n = json_array_size(out->regions);
        if (line_is_of(line, "region"))
            ok = json_array_append(out->regions, line) == 0 &&
                 json_array_append_new(out->verdicts, json_null()) == 0 && ok;
        else if (line_is_of(line, "verdict") && n > 0)
            ok = json_array_set(out->verdicts, n - 1, line) == 0 && ok;
    }
    return ok;
}

static bool put_people(const struct rendering *to, const struct survey_lines *lines)
{
    bool text = to->format == FORMAT_TEXT, judged = field_of(lines->summary, "verdict") != NULL;
    struct json_part notes = json_list_new();
    survey_notes(&notes, lines, to);
    if (!text || !to->begun)
        conditions_write(to, &lines->conditions);
    bool ok = survey_tables(to, lines);
    if (!text && lines->conditions.note[0] != '\0')
        json_list_say(&notes, "%s", lines->conditions.note);
    if (judged && !text)
        fprintf(to->out, "* **%s**\n", line_verdict_name(lines->summary));
    ok = render_list(to, notes) && ok;
    if (judged && text)
        checks_print(to, lines->regions, lines->verdicts, lines->summary);
    return ok;
}

bool survey_write(const struct rendering *to, const struct document *document)
{
    struct survey_lines lines;
    bool ok = document->ok;
    if (!ok || to->format == FORMAT_JSON)
        return ok && document_write(to->out, document);
    ok = survey_report_take_lines(document, &lines);
    ok = ok && (to->format == FORMAT_CSV    ? survey_report_put_csv(to, &lines)
                : to->format == FORMAT_HTML ? survey_page(to, document, &lines)
                                            : put_people(to, &lines));
    json_decref(lines.regions);
    json_decref(lines.verdicts);
    return output_flush(to->out) && ok;
}

/* ---- survey page */

enum { CELL = 1024 };

bool checks_page(const struct rendering *to, const json_t *regions, const json_t *verdicts,
                 const json_t *summary)
{
    struct check check;
    size_t i;
    const json_t *region;
    if (field_of(summary, "verdict") == NULL)
        return true;
    struct document rows = document_new();
    page_heading(to->out, "verdicts", "Verdicts");
    json_array_foreach(regions, i, region) {
        for (size_t k = 0; check_take(region, json_array_get(verdicts, i), k, &check); k++) {
            struct json_part row = json_part_new(NULL);
            json_t *list = json_array();
            char numbers[CELL], words[CELL];
            check_numbers(&check, numbers, sizeof numbers);
            check_words(&check, words, sizeof words);
            row_text(&row, "region", field_text(region, "name"));
            row_text(&row, "name", check.name);
            row_text(&row, "found", numbers);
            check_append(&row, list, "", check.verdict, words, "");
            json_part_array(&row, "verdict", list);
            document_add(&rows, row);
        }
    }
    bool ok = render_table(to, &check_view, document_end(rows));
    page_end_section(to->out);
    return ok;
}

/* A region's comparison is as bad as all is, and not a budget alone. */
static bool is_by_baseline(const struct survey_lines *lines)
{
    const char *over_all = field_text(lines->summary, "verdict");
    size_t i;
    const json_t *verdict;
    json_array_foreach(lines->verdicts, i, verdict)
        if (strcmp(field_text(verdict, "verdict"), over_all) == 0)
            return true;
    return false;
}

/* A page, by what survey_write gives to it. */
static bool survey_page(const struct rendering *to, const struct document *document,
                        const struct survey_lines *lines)
{
    char title[64];
    size_t n = json_array_size(lines->regions);
    snprintf(title, sizeof title, "Survey of %zu region%s", n, PLURAL(n));
    const struct page page = {.to = to,
                              .title = title,
                              .conditions = &lines->conditions,
                              .verdict = field_text(lines->summary, "verdict"),
                              .about_verdict = " over all",
                              .by_budget = !is_by_baseline(lines),
                              .columns = field_of(first_of(lines), "columns"),
                              .document = document};
    page_begin(&page);
    struct json_part notes = json_list_new();
    survey_notes(&notes, lines, to);
    bool ok = checks_page(to, lines->regions, lines->verdicts, lines->summary);
    page_heading(to->out, "numbers", "All regions, largest share first");
    ok = survey_tables(to, lines) && ok;
    ok = render_list(to, notes) && ok;
    page_end_section(to->out);
    return page_end(&page) && ok;
}
