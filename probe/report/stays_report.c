/* SPDX-License-Identifier: MIT */
#include "report/stays_report.h"

#include "base/values.h"
#include "report/conditions.h"
#include "report/number.h"
#include "report/page.h"
#include "report/sentence.h"
#include "report/survey.h"
#include "report/survey_report.h"
#include "report/views.h"

#include <stdio.h>

/* Above this part left out, times are not shown. */
static const double most_left_out = 0.1;

const char stays_words[] =
    "own: without what interrupts it; whole: with it; interval: from entry to entry, between: from the end "
    "of "
    "a slice to the next one; share: of the time that the trace shows, without sleep; exact: both times of a "
    "call are the trace unit's own, with no loss between them.";

/* ---- lines */

static void put_times(struct json_part *line, const char *key, const struct statistics *of)
{
    struct json_part times = json_part_new(NULL);
    if (statistics_count(of) > 0) {
        json_part_unsigned(&times, "count", statistics_count(of));
        json_part_unsigned(&times, "min", statistics_min(of));
        json_part_unsigned(&times, "median", statistics_quantile(of, 0.5, NULL));
        json_part_real(&times, "mean", statistics_mean(of));
        json_part_unsigned(&times, "p99", statistics_quantile(of, 0.99, NULL));
        json_part_unsigned(&times, "max", statistics_max(of));
    }
    json_part_object(line, key, times);
}

static double left_out_share(uint64_t left, uint64_t ended)
{
    return ended > 0 ? (double)left / (double)ended : 0;
}

static void put_stay_calls(struct json_part *line, const struct stay_row *row)
{
    struct json_part calls = json_part_new(NULL);
    double share = left_out_share(stays_left_out(row), row->calls - row->cut);
    json_part_unsigned(&calls, "seen", row->calls);
    json_part_unsigned(&calls, "exact", statistics_count(row->of[STAY_OWN]));
    json_part_real(&calls, "left_out", share);
    json_part_bool(&calls, "isolated", share > result_few_left_out);
    json_part_unsigned(&calls, "late", row->late);
    json_part_unsigned(&calls, "lost", row->lost);
    json_part_unsigned(&calls, "unended", row->unended);
    json_part_unsigned(&calls, "cut", row->cut);
    json_part_object(line, "calls", calls);
}

static bool has_times(const struct stay_row *row)
{
    return statistics_count(row->of[STAY_OWN]) > 0 &&
           left_out_share(stays_left_out(row), row->calls - row->cut) <= most_left_out;
}

bool stays_have_numbers(const struct stays_result *result)
{
    bool any = result->stays->n == 0;
    for (size_t i = 0; i < result->stays->n && !any; i++)
        any = has_times(&result->stays->rows[i]);
    return any;
}

static struct json_part stays_line_part(const struct stays_result *result, const struct stays_line *of)
{
    const struct stay_row *row = of->row;
    double all = (double)(result->stays->cycles + result->thread + result->between);
    struct json_part line = json_part_new(result->of_word ? "task" : "interrupt");
    json_part_text(&line, "name", of->name);
    if (row != NULL) {
        if (result->of_word)
            json_part_hex(&line, "value", row->number);
        else
            json_part_unsigned(&line, "number", row->number);
        put_stay_calls(&line, row);
        json_part_unsigned(&line, "cycles", row->cycles);
        json_part_real(&line, "share", all > 0 ? (double)row->cycles / all : 0);
        json_part_real(&line, "per_second", (double)row->calls / result->seconds);
        if (has_times(row)) {
            put_times(&line, "own", row->of[STAY_OWN]);
            if (!result->of_word)
                put_times(&line, "whole", row->of[STAY_WHOLE]);
            put_times(&line, result->of_word ? "between" : "interval", row->of[STAY_APART]);
        }
    }
    budget_put(&line, of->budget, result->conditions->clock_hz);
    return line;
}

static struct json_part stays_summary_part(const struct stays_result *result)
{
    const struct stays *stays = result->stays;
    struct json_part line = json_part_new("summary");
    double all = (double)(stays->cycles + result->thread + result->between);
    uint64_t calls = 0, left = 0, cut = 0, exact = 0, reused = 0;
    for (size_t i = 0; i < stays->n; i++) {
        if (!stays->rows[i].is_sure)
            continue;
        calls += stays->rows[i].calls;
        left += stays_left_out(&stays->rows[i]);
        cut += stays->rows[i].cut;
        reused += stays->rows[i].is_reused;
        exact += statistics_count(stays->rows[i].of[STAY_OWN]);
    }
    json_part_unsigned(&line, "seen", calls);
    json_part_unsigned(&line, "exact", exact);
    json_part_real(&line, "left_out", left_out_share(left, calls - cut));
    json_part_bool(&line, "isolated", left_out_share(left, calls - cut) > result_few_left_out);
    json_part_unsigned(&line, "gaps", stays->losses);
    json_part_some(&line, "other_size", stays->other_size);
    json_part_some(&line, "reused", reused);
    if (!result->of_word && all > 0) {
        json_part_real(&line, "thread", (double)result->thread / all);
        json_part_real(&line, "between", (double)result->between / all);
    }
    json_part_real(&line, "seconds", result->seconds);
    json_part_text(&line, "sink", result->where);
    json_part_text(&line, "word", result->word);
    json_part_text(&line, "ended", result->ended);
    json_part_text(&line, "clock_change", result->conditions->clock_change);
    if (result->conditions->clock_awake > 0)
        json_part_real(&line, "awake", result->conditions->clock_awake);
    if (result->verdict != NULL)
        json_part_text(&line, "verdict", result->verdict);
    return line;
}

void stays_lines(struct document *document, const struct stays_result *result)
{
    for (size_t i = 0; i < result->n; i++)
        document_add(document, stays_line_part(result, &result->lines[i]));
    document_add(document, stays_summary_part(result));
}

/* ---- for people */

static struct json_part stays_row(const json_t *line, const char *unit)
{
    struct json_part row = json_part_copy(line);
    char text[64];
    double left = field_real(line, "calls.left_out");
    row_text(&row, "region", field_text(line, "name"));
    row_text(&row, "unit", unit);
    snprintf(text, sizeof text, "no times: %s of the calls are left out", SHARE(left));
    if (field_of(line, "calls") == NULL)
        row_text(&row, "reason", "<not reached>");
    else if (field_of(line, "own") == NULL)
        row_text(&row, "reason", left > 0 ? text : "no call ended while it was traced");
    checks_add(&row, line, NULL);
    return row;
}

#define WAS_LOST "trace was lost {gaps,} time{gaps?|s}: there were more calls"
#define WENT_ON  "shares and times between calls are of the {awake%} of the time in which the clock went on"
#define OTHER_SIZE                                                                                           \
    "{other_size,} write{other_size?|s} of another size: the task is not known until the next write"

static const struct sentence stays_notes[] = {
    {NULL, NULL,
     "{seen,} {what}[{!isolated} (numbers are of isolated ones)] in {seconds@} through {sink}, {exact,} of "
     "them exact[{!left_out}; {left_out%} left out, which may be longer than max]"},
    {"gaps", NULL, WAS_LOST},
    {"thread", NULL,
     "no exception: {thread%} of the time that the trace shows; between an exit and what follows: "
     "{between%}"},
    {"awake", NULL, WENT_ON},
    {"word", NULL, "by what is written to {word}"},
    {"reused", NULL,
     "{reused,} task{reused?|s} changed {reused?its|their} name: a task began in the memory of one that "
     "ended, and the row is of both"},
    {"other_size", NULL, OTHER_SIZE},
    {"ended", NULL, SENTENCE_ENDED},
    {"clock_change", NULL, SENTENCE_NO_TIMES},
};

static struct json_part stays_facts(const json_t *summary, bool of_word)
{
    struct json_part facts = json_part_copy(summary), notes = json_list_new();
    row_text(&facts, "what", of_word ? "slices" : "calls of exceptions");
    sentences_say(&notes, facts.json, stays_notes, sizeof stays_notes / sizeof *stays_notes);
    json_decref(facts.json);
    return notes;
}

/* Of CSV. */
static const struct sentence stays_doubts[] = {
    {"calls.isolated", NULL, "of isolated calls"},
    {"calls.left_out", NULL, SENTENCE_LEFT_OUT ", which may be longer than max"},
    {"gaps", NULL, WAS_LOST},
    {"awake", NULL, WENT_ON},
    {"other_size", NULL, OTHER_SIZE},
    {"ended", NULL, SENTENCE_ENDED},
};

static void stays_put_doubt(struct json_part *row, const json_t *summary)
{
    json_t *calls = json_object_get(row->json, "calls");
    struct json_part facts = json_part_copy(summary);
    if (calls != NULL && json_object_set(facts.json, "calls", calls) == 0)
        sentences_put(row, "doubt", facts.json, stays_doubts, sizeof stays_doubts / sizeof *stays_doubts);
    json_decref(facts.json);
}

static bool stays_tables(const struct rendering *to, bool of_word, const json_t *lines, const json_t *summary)
{
    struct document rows = document_new();
    size_t i;
    const json_t *line;
    json_array_foreach(lines, i, line) {
        struct json_part row = stays_row(line, "cycles");
        stays_put_doubt(&row, summary);
        document_add(&rows, row);
    }
    const struct view *view = to->format == FORMAT_CSV ? (of_word ? &task_csv : &interrupt_csv)
                                                       : (of_word ? &task_view : &interrupt_view);
    return render_table(to, view, document_end(rows));
}

bool timeline_end(const struct rendering *to, const struct document *document)
{
    struct json_part about = json_part_new(NULL);
    json_part_object(&about, "header", json_part_copy(document_line(document, "header")));
    json_part_object(&about, "summary", json_part_copy(document_line(document, "summary")));
    fputs("\n],\n\"displayTimeUnit\": \"ns\",\n\"otherData\": ", to->out);
    bool ok = about.ok && json_dumpf(about.json, to->out, JSON_COMPACT) == 0;
    json_decref(about.json);
    fputs("}\n", to->out);
    return output_flush(to->out) && ok;
}

bool stays_write(const struct rendering *to, const struct document *document)
{
    const json_t *header = document_line(document, "header"), *summary = document_line(document, "summary");
    bool of_word = strcmp(field_text(header, "command"), "tasks") == 0;
    struct conditions conditions = {0};
    if (!document->ok || to->format == FORMAT_JSON)
        return document->ok && document_write(to->out, document);
    if (to->format == FORMAT_PERFETTO)
        return timeline_end(to, document);
    json_t *lines = document_rows(document, of_word ? "task" : "interrupt", NULL);
    conditions_read(&conditions, header);
    const struct page page = {.to = to,
                              .title = of_word ? "Tasks" : "Interrupts",
                              .conditions = &conditions,
                              .verdict = field_text(summary, "verdict"),
                              .about_verdict = " over all",
                              .by_budget = true,
                              .document = document};
    page_begin(&page);
    bool text = to->format == FORMAT_TEXT, judged = field_of(summary, "verdict") != NULL;
    if (to->format != FORMAT_CSV && (!to->begun || !text))
        conditions_write(to, &conditions);
    bool ok = to->format != FORMAT_HTML || checks_page(to, lines, NULL, summary);
    fputs(text ? "\n" : "", to->out);
    ok = stays_tables(to, of_word, lines, summary) && ok;
    if (to->format != FORMAT_CSV) {
        struct json_part notes = stays_facts(summary, of_word);
        if (to->explains)
            json_list_say(&notes, "%s", stays_words);
        if (judged && to->format == FORMAT_MARKDOWN)
            json_list_say(&notes, "verdict: %s", field_text(summary, "verdict"));
        ok = render_list(to, notes) && ok;
    }
    if (judged && text)
        checks_print(to, lines, NULL, summary);
    json_decref(lines);
    return page_end(&page) && output_flush(to->out) && ok;
}

/* ---- timeline: the Trace Event Format of Chrome, phases M, X and i, whose keys are its own */

static struct json_part timeline_event(const char *phase, const char *name)
{
    struct json_part event = json_part_new(NULL);
    row_text(&event, "ph", phase);
    row_text(&event, "name", name);
    row_count(&event, "pid", 1);
    return event;
}

static void timeline_put(struct timeline *timeline, struct json_part event)
{
    fputs(timeline->events++ > 0 ? ",\n" : "", timeline->out);
    timeline->ok = event.ok && json_dumpf(event.json, timeline->out, JSON_COMPACT) == 0 && timeline->ok;
    json_decref(event.json);
}

static double timeline_us(const struct timeline *timeline, uint64_t cycles)
{
    return timeline->hz > 0 ? (double)cycles * 1e6 / timeline->hz : (double)cycles;
}

static void timeline_put_name(struct timeline *timeline, const char *what, uint32_t track, const char *name)
{
    struct json_part event = timeline_event("M", what), arguments = json_part_new(NULL);
    row_count(&event, "tid", track);
    row_text(&arguments, "name", name);
    row_part(&event, "args", arguments);
    timeline_put(timeline, event);
}

/* Times are counted cycles: where the counter stops in sleep, sleep has no place on the axis. */
void timeline_begin(struct timeline *timeline, const struct conditions *conditions)
{
    char process[256];
    double awake = conditions->clock_awake;
    timeline->ok = fputs("{\"traceEvents\": [\n", timeline->out) >= 0;
    snprintf(process, sizeof process, "%s", conditions->core);
    if (awake > 0)
        text_add(process, sizeof process, "; no sleep is on the axis: the clock went on for %s of the time",
                 PART(awake));
    timeline_put_name(timeline, "process_name", 0, process);
}

void timeline_name(struct timeline *timeline, uint32_t track, const char *name)
{
    timeline_put_name(timeline, "thread_name", track, name);
}

void timeline_stay(struct timeline *timeline, const struct trace_stay *stay)
{
    if (!stay->entered)
        return;
    struct json_part event = timeline_event("X", stay->own_exact ? "exact" : "not exact"),
                     arguments = json_part_new(NULL);
    row_count(&event, "tid", stay->number);
    row_real(&event, "ts", timeline_us(timeline, stay->from));
    row_real(&event, "dur", timeline_us(timeline, stay->to - stay->from));
    row_count(&arguments, "cycles", stay->to - stay->from);
    row_count(&arguments, "own", stay->own);
    row_part(&event, "args", arguments);
    timeline_put(timeline, event);
}

void timeline_lost(struct timeline *timeline, uint64_t cycles)
{
    struct json_part event = timeline_event("i", "trace was lost");
    row_count(&event, "tid", 0);
    row_text(&event, "s", "g");
    row_real(&event, "ts", timeline_us(timeline, cycles));
    timeline_put(timeline, event);
}
