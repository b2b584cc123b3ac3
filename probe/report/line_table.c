/* SPDX-License-Identifier: MIT */
#include "report/line_table.h"

#include "base/values.h"
#include "measure/verdict.h"
#include "report/conditions.h"
#include "report/number.h"
#include "report/page.h"
#include "report/profile_table.h"
#include "report/sentence.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The sum of the lines, and the measurement of the function itself. */
struct check {
    double sum, own, not_attributed;
    double halts, calls; /* what the costs of the halts and the calls' own variation leave open */
    double tolerance;    /* both, the calls twice: beyond it is not chance */
    bool known, agrees;
};

/* Half of the mean's 95 % interval; infinite of one call, which does not show how calls vary. */
static double half_interval(const struct statistics *statistics)
{
    struct series_error error = statistics_error(statistics);
    if (statistics_count(statistics) < 2)
        return INFINITY;
    return error.standard > 0 ? verdict_student_quantile(0.025, fmax(1, error.df)) * error.standard : 0;
}

static struct check check_sum(const struct line_report *report)
{
    const struct line_costs *costs = report->costs;
    const struct column *own = &report->whole->columns[0];
    struct check check = {.sum = costs->sum};
    check.known = report->whole->n > 0 && statistics_count(own->statistics) > 0 && own->at_least == 0;
    if (!check.known)
        return check;
    check.own = statistics_mean(own->statistics);
    check.not_attributed = check.own - check.sum;
    check.halts = costs->correction + own->plus_minus;
    check.calls = hypot(half_interval(costs->totals), half_interval(own->statistics));
    check.tolerance = check.halts + 2 * check.calls;
    check.agrees = fabs(check.not_attributed) <= check.tolerance + 0.005;
    return check;
}

static const char *line_table_text_of(const struct line_report *report, const struct line_cost *line)
{
    return or_empty(line->file != LISTING_NO_FILE ? source_text_line(&report->texts[line->file], line->line)
                                                  : NULL);
}

/* Lines whose code, or some of it, counts as another line's: see blocks.c. */
static void note_it_lines(const struct listing *listing, struct json_part *notes)
{
    const struct listing_row *it = NULL, *told = NULL;
    char list[160] = "";
    size_t n = 0;
    for (size_t i = 0; i < listing->n; i++) {
        const struct listing_row *row = &listing->rows[i];
        it = row->in_it ? it : row;
        if (!row->in_it || it == NULL || row->line == 0 || (row->line == it->line && row->file == it->file) ||
            (told != NULL && told->line == row->line))
            continue;
        told = row;
        n++;
        if (strlen(list) + 16 < sizeof list)
            text_add(list, sizeof list, "%s%u", n > 1 ? ", " : "", row->line);
    }
    if (n > 0)
        json_list_say(notes, "code of line%s %s counts in the line of its IT, in which not every core stops",
                      PLURAL(n), list);
}

static const struct sentence notes_before_it[] = {
    {"differs", NULL,
     "warning: the lines and the function differ by {differs/2} cycles, more than {plus_minus}{tolerance/2}: "
     "stops change what it does"},
    {"callers", NULL,
     "c: {callers} line{callers? calls a|s call} function{callers?|s}, whose time is in the line"},
    {"inlined", NULL, "i: {inlined} line{inlined? is|s are} of an inlined function, whose code counts here"},
    {"mixed", NULL,
     "m: the instructions of {mixed} line{mixed?|s} are mixed with others'; a wait is in the line that "
     "waits"},
    {"alone", NULL,
     "1: {alone} line{alone? has|s have} one instruction only; stops empty the pipeline, which hides "
     "overlap"},
};

#define MAY_HAVE_WRAPPED "the counter may have wrapped unseen in {bounded} step{bounded?|s}"
#define NOT_FRAMED       "without call frame information, nested calls are not always distinguished"

static const struct sentence notes_after_it[] = {
    {"left", NULL, SENTENCE_LEFT},
    {"limit", NULL, "{limit}"},
    {"tainted", NULL,
     "in {tainted} of {hops} steps an interrupt ran that a halt had delayed: their cycles are not counted"},
    {"unseen", NULL, "not proved to be exact: {unseen}"},
    {"disturbed", NULL, "{disturbed} line{disturbed? was|s were} never measured exactly"},
    {"bounded", NULL, MAY_HAVE_WRAPPED},
    {"unframed", NULL, NOT_FRAMED},
    {"ended", NULL, SENTENCE_ENDED},
};

static void make_notes(const struct line_report *report, const struct check *check, struct json_part *notes)
{
    const struct line_costs *costs = report->costs;
    size_t callers = 0, inlined = 0, mixed = 0, alone = 0, disturbed = 0;
    char unseen[256];
    for (size_t i = 0; i < costs->n; i++) {
        const struct line_cost *line = &costs->lines[i];
        bool hit = line->hits > 0;
        callers += hit && line->has_calls;
        inlined += hit && line->is_inlined;
        mixed += hit && line->is_mixed;
        alone += hit && line->instructions == 1;
        disturbed += line->is_disturbed;
    }
    struct json_part facts = json_part_new(NULL);
    const struct {
        const char *key;
        uint64_t n;
    } numbers[] = {{"callers", callers},
                   {"inlined", inlined},
                   {"mixed", mixed},
                   {"alone", alone},
                   {"left", costs->left},
                   {"tainted", costs->tainted},
                   {"hops", costs->hops},
                   {"disturbed", disturbed},
                   {"bounded", costs->bounded},
                   {"unframed", report->unframed}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        row_count(&facts, numbers[i].key, numbers[i].n);
    if (check->known && !check->agrees) {
        row_real(&facts, "differs", fabs(check->not_attributed));
        row_real(&facts, "tolerance", check->tolerance);
    }
    row_text(&facts, "limit", report->limit);
    row_text(&facts, "ended", report->ended);
    unseen_delays_text(&costs->delays, costs->hops, "steps", unseen, sizeof unseen);
    row_text(&facts, "unseen", unseen);
    row_text(&facts, "plus_minus", terminal_or("±", "+-"));
    sentences_say(notes, facts.json, notes_before_it, sizeof notes_before_it / sizeof *notes_before_it);
    note_it_lines(report->listing, notes);
    sentences_say(notes, facts.json, notes_after_it, sizeof notes_after_it / sizeof *notes_after_it);
    json_decref(facts.json);
}

static void line_table_add_blocks(struct json_part *part, const struct line_costs *costs,
                                  const struct line_cost *line)
{
    json_t *blocks = json_array();
    for (size_t i = 0; i < costs->blocks->n; i++) {
        if (&costs->lines[costs->of_block[i].line] != line)
            continue;
        struct json_part block = json_part_new(NULL);
        json_part_hex(&block, "address", costs->blocks->at[i].low);
        json_part_unsigned(&block, "instructions", costs->blocks->at[i].instructions);
        json_part_unsigned(&block, "hits", costs->of_block[i].all.hits);
        json_part_add(part, blocks, block);
    }
    json_part_array(part, "blocks", blocks);
}

static struct json_part line_table_line_line(const struct line_report *report, const struct line_cost *line)
{
    struct json_part part = json_part_new("line");
    if (line->file != LISTING_NO_FILE) {
        const char *file = report->listing->files[line->file], *path = report->texts[line->file].path;
        json_part_text(&part, "file", file);
        if (path != NULL && strcmp(path, file) != 0)
            json_part_text(&part, "path", path);
    }
    json_part_some(&part, "line", line->line);
    json_part_text(&part, "text", line_table_text_of(report, line));
    json_part_unsigned(&part, "hits", line->hits);
    if (line->hits > 0) {
        json_part_real(&part, "hits_per_call", (double)line->hits / (double)report->costs->calls);
        if (statistics_count(line->calls) > 0) {
            json_part_unsigned(&part, "median", statistics_quantile(line->calls, 0.5, NULL));
            json_part_unsigned(&part, "min", statistics_min(line->calls));
            json_part_unsigned(&part, "max", statistics_max(line->calls));
        }
        json_part_real(&part, "mean", line->mean);
        json_part_real(&part, "share", report->costs->sum > 0 ? line->mean / report->costs->sum : 0);
    }
    line_table_add_blocks(&part, report->costs, line);
    json_part_true(&part, "calls", line->has_calls);
    json_part_true(&part, "inlined", line->is_inlined);
    json_part_true(&part, "mixed", line->is_mixed);
    json_part_true(&part, "disturbed", line->is_disturbed);
    return part;
}

static struct json_part line_table_summary_line(const struct line_report *report)
{
    const struct line_costs *costs = report->costs;
    struct check check = check_sum(report);
    struct json_part notes = json_list_new();
    struct json_part part = json_part_new("summary");
    char doubt[DOUBT_ROOM];
    json_part_unsigned(&part, "calls", costs->calls);
    json_part_unsigned(&part, "steps", costs->hops);
    json_part_unsigned(&part, "tainted", costs->tainted);
    json_part_some(&part, "left", costs->left);
    json_part_real(&part, "sum", check.sum);
    if (check.known) {
        json_part_unsigned(&part, "hits", report->whole->hits);
        json_part_real(&part, "function", check.own);
        json_part_unsigned(&part, "function_median",
                           statistics_quantile(report->whole->columns[0].statistics, 0.5, NULL));
        json_part_real(&part, "not_attributed", check.not_attributed);
        json_part_real(&part, "halts_plus_minus", check.halts);
        json_part_real(&part, "calls_plus_minus", check.calls);
        if (isfinite(check.calls))
            json_part_bool(&part, "agrees", check.agrees);
    }
    make_notes(report, &check, &notes);
    json_part_object(&part, "notes", notes);
    unseen_delays_text(&costs->delays, costs->hops, "steps", doubt, sizeof doubt);
    doubt_add(doubt, report->limit);
    doubt_add(doubt, report->unframed ? NOT_FRAMED : "");
    json_part_text(&part, "doubt", doubt);
    json_part_some(&part, "bounded", costs->bounded);
    json_part_text(&part, "ended", report->ended);
    return part;
}

void line_report_lines(struct document *document, const struct line_report *report)
{
    for (size_t i = 0; i < report->costs->n; i++)
        document_add(document, line_table_line_line(report, &report->costs->lines[i]));
    document_add(document, line_table_summary_line(report));
}

/* ---- for people */

/* All of it is one instruction. */
static bool is_one_instruction(const json_t *line)
{
    const json_t *blocks = field_of(line, "blocks");
    return json_array_size(blocks) == 1 && field_count(json_array_get(blocks, 0), "instructions") == 1;
}

static const struct sentence line_doubts[] = {
    {"disturbed", NULL, "never measured exactly"},
    {"differ", NULL, "the lines and the function differ by {not_attributed/2} cycles"},
    {"doubt", NULL, SENTENCE_DOUBT},
    {"bounded", NULL, MAY_HAVE_WRAPPED},
    {"left", NULL, SENTENCE_LEFT},
    {"ended", NULL, SENTENCE_ENDED},
};

/* Of CSV. */
static void line_put_doubt(struct json_part *row, const json_t *line, const json_t *summary)
{
    struct json_part facts = json_part_copy(summary);
    row_flag(&facts, "disturbed", field_is(line, "disturbed"));
    row_flag(&facts, "differ", json_is_false(field_of(summary, "agrees")));
    if (field_count(line, "hits") > 0)
        sentences_put(row, "doubt", facts.json, line_doubts, sizeof line_doubts / sizeof *line_doubts);
    json_decref(facts.json);
}

static struct json_part shown_line(const json_t *line, const char *region)
{
    struct json_part row = json_part_copy(line);
    char marks[8];
    snprintf(marks, sizeof marks, "%s%s%s%s", field_is(line, "calls") ? "c" : " ",
             field_is(line, "inlined") ? "i" : " ", field_is(line, "mixed") ? "m" : " ",
             is_one_instruction(line) ? "1" : " ");
    row_text(&row, "region", region);
    row_text(&row, "unit", "cycles");
    row_text(&row, "group", field_of(line, "file") != NULL ? field_text(line, "path|file") : "(no file)");
    row_text(&row, "marks", marks);
    row_text(&row, "reason", field_count(line, "hits") == 0 ? "<not reached>" : "");
    return row;
}

static bool line_table_put_lines(const struct rendering *to, const struct document *document)
{
    const char *region = field_text(document_line(document, "header"), "region.start");
    struct document rows = document_new();
    size_t i;
    const json_t *line;
    json_array_foreach(document->lines, i, line)
        if (line_is_of(line, "line")) {
            struct json_part row = shown_line(line, region);
            line_put_doubt(&row, line, document_line(document, "summary"));
            document_add(&rows, row);
        }
    return render_table(to, to->format == FORMAT_CSV ? &line_csv : &line_view, document_end(rows));
}

static void put_sum(const struct rendering *to, const json_t *summary)
{
    double varies = field_real(summary, "calls_plus_minus");
    uint64_t calls = field_count(summary, "calls"), hits = field_count(summary, "hits");
    fputs(to->format == FORMAT_TEXT ? "\n" : "", to->out);
    render_text(to, "sum of the lines: %s cycles per call, mean of %s call%s",
                DECIMAL(field_real(summary, "sum"), 2), NUMBER(calls), PLURAL(calls));
    if (field_of(summary, "function") == NULL)
        return;
    render_text(to, "the function by itself, as delta: %s cycles, mean of %s hit%s",
                DECIMAL(field_real(summary, "function"), 2), NUMBER(hits), PLURAL(hits));
    render_text(to, "in no line: %s cycles; the halts leave ±%s open%s%s",
                DECIMAL(field_real(summary, "not_attributed"), 2),
                number_error(NUMBER_TEXT, field_real(summary, "halts_plus_minus"), 2),
                varies > 0         ? ", and these were different calls: ±"
                : isfinite(varies) ? ""
                                   : "; more calls (-r) show whether they differ",
                varies > 0 ? number_error(NUMBER_TEXT, varies, 2) : "");
}

bool line_write(const struct rendering *to, const struct document *document)
{
    const json_t *summary = document_line(document, "summary");
    struct conditions conditions = {0};
    char title[512];
    if (!document->ok || to->format == FORMAT_JSON)
        return document->ok && document_write(to->out, document);
    conditions_read(&conditions, document_line(document, "header"));
    snprintf(title, sizeof title, "Lines of %.480s", conditions.start);
    const struct page page = {.to = to, .title = title, .conditions = &conditions, .document = document};
    page_begin(&page);
    if (!to->begun || to->format == FORMAT_MARKDOWN)
        conditions_write(to, &conditions);
    if (to->format == FORMAT_MARKDOWN && conditions.note[0] != '\0')
        render_text(to, "%s", conditions.note);
    bool ok = line_table_put_lines(to, document);
    if (to->format != FORMAT_CSV) {
        put_sum(to, summary);
        render_notes(to, field_of(summary, "notes"));
        if (to->format == FORMAT_MARKDOWN || to->format == FORMAT_TEXT) {
            char clock[256];
            if (conditions_clock_text(&conditions, clock, sizeof clock))
                render_text(to, "%s", clock);
        }
    }
    return page_end(&page) && ok;
}
