/* SPDX-License-Identifier: MIT */
#include "report/place_report.h"

#include "base/deadline.h"
#include "base/values.h"
#include "report/conditions.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/sentence.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void place_name(struct symbols *symbols, uint64_t address, char out[PLACE_ROOM])
{
    struct location location;
    symbols_describe(symbols, address, &location);
    if (location.source[0] != '\0')
        snprintf(out, PLACE_ROOM, "%s (%s)", location.source, location.name);
    else
        snprintf(out, PLACE_ROOM, "%s", location.name);
}

/* The same of an object with its `function` and `source`. */
static void place_text(const json_t *place, char out[PLACE_ROOM])
{
    const char *source = field_text(place, "source"), *function = field_text(place, "function");
    snprintf(out, PLACE_ROOM, "%.300s%s%.1000s%s", source, source[0] != '\0' ? " (" : "", function,
             source[0] != '\0' ? ")" : "");
}

static void place_print_callers(FILE *out, const json_t *line, size_t indent)
{
    char place[PLACE_ROOM], clean[UTF8_CLEAN_ROOM(PLACE_ROOM)];
    const json_t *frame;
    size_t i;
    json_array_foreach(field_of(line, "callers"), i, frame) {
        place_text(frame, place);
        fprintf(out, "%*s%s %s%s\n", (int)indent, "",
                field_is(frame, "interrupted") ? "interrupted:" : "called by",
                terminal_text(clean, sizeof clean, place), field_is(frame, "guess") ? " (a guess)" : "");
    }
    if (field_of(line, "cut") != NULL)
        fprintf(out, "%*sthe stack is cut short: %s\n", (int)indent, "",
                terminal_text(clean, sizeof clean, field_text(line, "cut")));
}

static void place_put_value(struct fold *fold, const char *key, const char *between, const char *value)
{
    char name[UTF8_CLEAN_ROOM(64)], text[sizeof name + 128];
    snprintf(text, sizeof text, "%*s%s%s%.40s", fold->used == 0 ? (int)fold->indent : 0, "",
             terminal_text(name, sizeof name, key), between, value);
    fold_put(fold, text, 2);
}

static void place_print_registers(FILE *out, size_t columns, const json_t *line, size_t indent)
{
    struct fold fold = {.out = out, .columns = columns, .indent = indent};
    char text[32];
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(line, "registers"), key, value) {
        snprintf(text, sizeof text, "0x%08" PRIX64, (uint64_t)strtoull(text_or_empty(value), NULL, 0));
        place_put_value(&fold, key, " ", text);
    }
    fold_end(&fold);
}

static void place_report_put_place(struct json_part *part, struct symbols *symbols, uint64_t address)
{
    struct location location;
    char file[512];
    symbols_describe(symbols, address, &location);
    symbols_file(symbols, location.address, file, sizeof file);
    json_part_hex(part, "address", address);
    json_part_text(part, "function", location.name);
    json_part_text(part, "source", location.source);
    json_part_text(part, "file", file);
}

/* "address", "function" and "source"; then "callers" and "cut". */
static void place_put_stack(struct json_part *line, struct symbols *symbols, const struct unwind_stack *stack)
{
    json_t *frames = json_array();
    place_report_put_place(line, symbols, unwind_place(&stack->at[0]));
    for (size_t i = 1; i < stack->count; i++) {
        struct json_part frame = json_part_new(NULL);
        place_report_put_place(&frame, symbols, unwind_place(&stack->at[i]));
        json_part_true(&frame, "guess", stack->at[i].is_guess);
        json_part_true(&frame, "interrupted", stack->at[i].has_taken);
        json_part_add(line, frames, frame);
    }
    json_part_array(line, "callers", frames);
    if (stack->end != UNWIND_OUTERMOST)
        json_part_text(line, "cut", unwind_end_text(stack->end));
}

/* "registers" */
static void place_put_registers(struct json_part *line, const struct stop_place *place)
{
    struct json_part registers = json_part_new(NULL);
    for (size_t i = 0; i < place->n_registers; i++)
        json_part_hex(&registers, place->registers[i].name, place->registers[i].value);
    json_part_object(line, "registers", registers);
}

/* ---- outlier report */

enum { INDENT = 2, TEXT_ROOM = 160 };
static const double LARGE_S = 1e-3;

/* The column that counts exceptions, if this hit was counted in its pass; else the number of columns. */
static size_t exceptions_column(const struct outlier_report *report, const struct slow_hit *outlier)
{
    const struct summary *summary = report->summary;
    for (size_t i = 0; i < outlier->hit.n; i++)
        if (!outlier->hit.values[i].absent &&
            result_exceptions(summary->columns[i].name) != RESULT_EXCEPTIONS_NOT)
            return i;
    return summary->n;
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static struct json_part outlier_line(const struct outlier_report *report, size_t i)
{
    const struct summary *summary = report->summary;
    const struct slow_hit *outlier = &report->hits->at[i];
    size_t column = exceptions_column(report, outlier);
    struct json_part line = json_part_new("outlier"), words = json_part_new(NULL),
                     texts = json_part_new(NULL);
    char text[32];
    json_part_unsigned(&line, "outlier", i + 1);
    json_part_unsigned(&line, "hit", outlier->hit.number);
    json_part_real(&line, "seconds", outlier->hit.seconds);
    json_part_unsigned(&line, "counted", outlier->hit.values[0].count);
    json_part_true(&line, "at_least", outlier->hit.values[0].at_least);
    if (column < summary->n) {
        bool taken = result_exceptions(summary->columns[column].name) == RESULT_EXCEPTIONS_TAKEN;
        json_part_unsigned(&line, taken ? "exceptions" : "exception_cycles",
                           outlier->hit.values[column].count);
        json_part_true(&line, "exceptions_at_least", outlier->hit.values[column].at_least);
    }
    for (size_t k = 0; k < summary->at_max.n; k++) {
        snprintf(text, sizeof text, "0x%" PRIX64, outlier->words[k]);
        json_part_unsigned(&words, summary->at_max.names[k], outlier->words[k]);
        json_part_text(&texts, summary->at_max.names[k], text);
    }
    json_part_object(&line, "words", words);
    json_part_object(&line, "word_texts", texts);
    if (report->hits->is_read[outlier->slot]) {
        const struct stop_place *place = &report->places[outlier->slot];
        json_part_true(&line, "returned", !place->stack.at[0].is_exact);
        place_put_stack(&line, report->symbols, &place->stack);
        place_put_registers(&line, place);
    }
    return line;
}

void outlier_lines(struct document *document, const struct outlier_report *report)
{
    for (size_t i = 0; i < report->hits->n; i++)
        document_add(document, outlier_line(report, i));
}

void outlier_summary(struct json_part *summary, const struct outlier_report *report)
{
    struct json_part part = json_part_new(NULL);
    if (report->hits->n == 0) {
        json_part_object(summary, "outliers", part);
        return;
    }
    json_part_unsigned(&part, "count", report->hits->n);
    if (summary_counts_exceptions(report->summary))
        json_part_bool(&part, "exceptions_counted", true);
    else
        json_part_text(&part, "exceptions_by", or_empty(report->counts_exceptions));
    json_part_real(&part, "kept_s", (double)report->hits->longest_us / 1e6);
    json_part_object(summary, "outliers", part);
}

/* --- text ----------------------------------------------------------------------------------------------- */

/* "; 2 exceptions inside". If no hit shows them, the last line says so once. */
static void describe_exceptions(const json_t *line, bool counted, char *out, size_t size)
{
    const json_t *taken = field_of(line, "exceptions"), *cycles = field_of(line, "exception_cycles");
    bool at_least = field_is(line, "exceptions_at_least");
    uint64_t count = count_of(taken != NULL ? taken : cycles);
    const char *bound = at_least ? "at least " : "", *s = PLURAL(count);
    const char *number = NUMBER(count);
    out[0] = '\0';
    if (taken == NULL && cycles == NULL)
        snprintf(out, size, "%s", counted ? "; exceptions were not counted in this hit's pass" : "");
    else if (count == 0)
        snprintf(out, size, at_least ? "; exceptions inside: not known" : "; no exception inside");
    else if (taken != NULL)
        snprintf(out, size, "; %s%s exception%s inside", bound, number, s);
    else
        snprintf(out, size, "; exceptions inside, %s%s cycle%s of their entry and exit", bound, number, s);
}

static void print_words(const struct rendering *to, const json_t *line)
{
    struct fold fold = {.out = to->out, .columns = to->columns, .indent = INDENT};
    char value[32];
    json_t *words = json_object_get(line, "words"), *word;
    const char *key;
    json_object_foreach(words, key, word) {
        const char *exact = text_in(line, "word_texts", key);
        snprintf(value, sizeof value, "0x%" PRIX64, count_of(word));
        place_put_value(&fold, key, "=", exact[0] != '\0' ? exact : value);
    }
    fold_end(&fold);
}

static void print_outlier(const struct rendering *to, const json_t *line, const char *column, bool counted)
{
    char count[NUMBER_ROOM + 128], exceptions[TEXT_ROOM], name[PLACE_ROOM],
        clean[UTF8_CLEAN_ROOM(PLACE_ROOM)], event[UTF8_CLEAN_ROOM(96)];
    describe_exceptions(line, counted, exceptions, sizeof exceptions);
    fprintf(to->out, "hit %s: %s%s, %s into the run%s\n", NUMBER(field_count(line, "hit")),
            field_is(line, "at_least") ? "at least " : "",
            number_events(count, sizeof count, field_count(line, "counted"),
                          terminal_text(event, sizeof event / 3, column)),
            ELAPSED(field_real(line, "seconds")), exceptions);
    print_words(to, line);
    if (field_of(line, "registers") == NULL) {
        fputs("  the run ended before its registers were read\n", to->out);
        return;
    }
    place_text(line, name);
    fprintf(to->out, "  %s %s\n", field_is(line, "returned") ? "returned to" : "ended at",
            terminal_text(clean, sizeof clean, name));
    place_print_callers(to->out, line, INDENT);
    place_print_registers(to->out, to->columns, line, INDENT);
}

static void print_how_to_count(const struct rendering *to, const char *event)
{
    bool taken = result_exceptions(event) == RESULT_EXCEPTIONS_TAKEN;
    render_text(to, "these counters do not show which exceptions ran inside%s%.32s%s",
                event[0] != '\0' ? ": -e " : "", event,
                event[0] == '\0' ? ""
                : taken          ? " counts them"
                                 : " counts the cycles of their entry and exit");
}

void outlier_write(const struct rendering *to, const struct document *document)
{
    const json_t *summary = document_line(document, "summary"), *of = field_of(summary, "outliers");
    json_t *lines = document_rows(document, "outlier", NULL);
    size_t n = json_array_size(lines), i;
    const json_t *line;
    const char *column = json_object_iter_key(json_object_iter(json_object_get(summary, "columns")));
    bool counted = field_is(of, "exceptions_counted");
    double kept = field_real(of, "kept_s");
    if (n > 0)
        fprintf(to->out, "\nthe slowest hit%s, and where %s ended\n", PLURAL(n), n == 1 ? "it" : "they");
    json_array_foreach(lines, i, line)
        print_outlier(to, line, or_empty(column), counted);
    if (n > 0 && of != NULL && !counted)
        print_how_to_count(to, field_text(of, "exceptions_by"));
    if (n > 0 && kept >= LARGE_S)
        fprintf(to->out, "for this the core was held up to %s longer after a hit\n", ELAPSED(kept));
    json_decref(lines);
}

/* ---- guard report */

enum { DEEP = 4, AMOUNT = 256 };

/* "69.58 µs (835 cycles)" with the time in which a budget was given; 0: it was given in events. */
static void amount_text(char *out, size_t size, uint64_t count, const char *event, double seconds)
{
    char events[192], name[UTF8_CLEAN_ROOM(96)];
    number_events(events, sizeof events, count, terminal_text(name, sizeof name / 3, event));
    if (seconds > 0)
        snprintf(out, size, "%s (%s)", DURATION(seconds), events);
    else
        snprintf(out, size, "%s", events);
}

/* Of what was counted, in the unit of the budget. */
static const char *guard_amount(const struct guard_view *view, uint64_t count, char out[AMOUNT])
{
    out[0] = '~';
    amount_text(out + view->wrong, AMOUNT - 1, count, view->event, (double)count * view->each_s);
    return out;
}

/* Of a call: "1,015 cycles, or up to 20 fewer" */
static void print_taken(const struct guard_view *view, const json_t *line, const char *key,
                        const char *spread)
{
    char amount[AMOUNT];
    uint64_t fewer = field_count(line, spread), count = field_count(line, key);
    bool halts = fewer > 0 && fewer == count; /* what they cost is in it */
    fprintf(view->out, "%s%s", halts ? "at most " : "", guard_amount(view, count, amount));
    if (fewer > 0 && !halts)
        fprintf(view->out, ", or up to %s fewer", NUMBER(fewer));
}

static void guard_report_print_begin(const struct guard_view *view, const json_t *line)
{
    char budget[256], way[UTF8_CLEAN_ROOM(96)], clock[UTF8_CLEAN_ROOM(256)], text[2048];
    amount_text(budget, sizeof budget, field_count(line, "budget"), view->event,
                field_real(line, "budget_s"));
    snprintf(text, sizeof text, "budget %s%s%s, by %s", budget, view->clock[0] != '\0' ? " " : "",
             terminal_text(clock, sizeof clock, view->clock),
             terminal_text(way, sizeof way, field_text(line, "stops_by")));
    fprintf(view->out, "%*s", INDENT, "");
    fold_text_at(view->out, view->columns, INDENT, DEEP, text);
    if (field_of(line, "errata") != NULL) {
        snprintf(text, sizeof text, "~ %s: %s", view->event, field_text(line, "errata"));
        fprintf(view->out, "%*s", INDENT, "");
        fold_text_at(view->out, view->columns, INDENT, DEEP, text);
    }
    fputc('\n', view->out);
}

static void print_overrun(const struct guard_view *view, const json_t *line)
{
    char place[PLACE_ROOM], clean[UTF8_CLEAN_ROOM(PLACE_ROOM)], counted[AMOUNT];
    uint64_t n = field_count(line, "calls");
    bool has_pc = field_of(line, "address") != NULL;
    snprintf(place, sizeof place, "where its registers cannot be read");
    if (has_pc)
        place_text(line, place);
    bool delayed = field_is(line, "unproved") && !field_is(line, "elsewhere");
    fprintf(view->out, "overrun %" PRIu64 " after %s call%s: %s, after %s, skid %s%s\n",
            field_count(line, "overrun"), NUMBER(n), PLURAL(n), terminal_text(clean, sizeof clean, place),
            guard_amount(view, field_count(line, "counted"), counted), NUMBER(field_count(line, "skid")),
            delayed ? "; not proved, for an interrupt may have run in it that a halt had delayed" : "");
    if (!has_pc)
        return;
    place_print_callers(view->out, line, INDENT);
    if (field_is(line, "elsewhere"))
        fputs("  not in the call: another task, or the call was left\n", view->out);
    place_print_registers(view->out, view->columns, line, INDENT);
}

static const struct sentence guard_facts[] = {
    {"unstopped", NULL,
     "{unstopped,} call{unstopped?|s} over the budget returned before the core could be stopped"},
    {"unclear", NULL,
     "{unclear,} call{unclear?|s} may have been over the budget, by at most {by}: [{!unknown_cost}what a "
     "halt costs is not known][{!known_cost}what a halt costs differs, or what it delayed ran in them]"},
    {"left", NULL, SENTENCE_LEFT},
    {"tainted", NULL, "in {tainted,} call{tainted?|s} an interrupt ran that a halt had delayed"},
    {"doubt", NULL, SENTENCE_DOUBT},
    {"no_return", NULL, "the last call did not return"},
    {"by_ctrl_c", NULL, "ended by Ctrl-C"},
    {"by_error", NULL, "ended by an error"},
    {"kept", NULL, "the core is left halted there, for a debugger"},
};

static void guard_report_print_end(const struct guard_view *view, const json_t *line)
{
    FILE *out = view->out;
    const char *ended = field_text(line, "ended");
    char amount[AMOUNT];
    struct json_part facts = json_part_copy(line), list = json_list_new();
    size_t i;
    const json_t *fact;
    uint64_t calls = field_count(line, "calls"), overruns = field_count(line, "overruns"),
             unproved = field_count(line, "unproved");
    bool knows_cost = field_of(line, "halt_cost") != NULL;
    fprintf(out, "%s overrun%s", overruns > 0 ? NUMBER(overruns) : "no", PLURAL(overruns));
    if (unproved > 0)
        fprintf(out, ", %s%snot proved", unproved < overruns ? NUMBER(unproved) : "",
                unproved < overruns ? " of them " : "");
    fputs("; ", out);
    fprintf(out, "%s call%s returned in %s", NUMBER(calls), PLURAL(calls),
            ELAPSED(field_real(line, "elapsed_s")));
    if (calls > field_count(line, "tainted")) {
        fputs(", the longest took ", out);
        print_taken(view, line, "most", "most_spread");
    }
    if (overruns > unproved)
        fprintf(out, "\nthe budget was exceeded by at most %s",
                guard_amount(view, field_count(line, "skid"), amount));
    fputc('\n', out);
    row_text(&facts, "by", guard_amount(view, field_count(line, "unclear_by"), amount));
    row_flag(&facts, "unknown_cost", !knows_cost);
    row_flag(&facts, "known_cost", knows_cost);
    row_flag(&facts, "no_return", strcmp(ended, "no return") == 0);
    row_flag(&facts, "by_ctrl_c", strcmp(ended, "Ctrl-C") == 0);
    row_flag(&facts, "by_error", strcmp(ended, "error") == 0);
    sentences_say(&list, facts.json, guard_facts, sizeof guard_facts / sizeof *guard_facts);
    json_array_foreach(list.json, i, fact)
        fprintf(out, "%s\n", json_string_value(fact));
    json_decref(list.json);
    json_decref(facts.json);
}

void guard_view_set(struct guard_view *view, const struct conditions *conditions)
{
    conditions_clock_text(conditions, view->clock, sizeof view->clock);
}

static void read_begin(struct guard_view *view, const json_t *line)
{
    double seconds = field_real(line, "budget_s");
    snprintf(view->event, sizeof view->event, "%s", field_text(line, "event"));
    view->wrong = field_of(line, "errata") != NULL;
    view->budget = field_count(line, "budget");
    view->each_s = seconds > 0 && view->budget > 0 ? seconds / (double)view->budget : 0;
}

static void print_returned(const struct guard_view *view, const json_t *line)
{
    fputs("  returned after ", view->out);
    print_taken(view, line, "counted", "spread");
    fputs(field_is(line, "unproved") ? ": no proof of an overrun\n" : "\n", view->out);
}

static void guard_report_print_line(struct guard_view *view, const json_t *line)
{
    if (line_is_of(line, "guard"))
        guard_report_print_begin(view, line);
    else if (line_is_of(line, "overrun"))
        print_overrun(view, line);
    else if (line_is_of(line, "clock"))
        view->each_s = 0; /* from here on counts alone */
    else if (line_is_of(line, "left"))
        fputs("  the call had been left: this is not an overrun\n", view->out);
    else if (line_is_of(line, "returned"))
        print_returned(view, line);
    else if (line_is_of(line, "guard_end"))
        guard_report_print_end(view, line);
}

void guard_put_line(struct guard_view *view, const json_t *line)
{
    if (line_is_of(line, "guard"))
        read_begin(view, line);
    guard_report_print_line(view, line);
}

/* Each line is written at once. */
static bool guard_report_put(struct guard_report *report, struct json_part line)
{
    if (report->format == FORMAT_JSON)
        return json_part_write(report->out, line);
    report->view.out = report->out;
    report->view.columns = terminal_columns(report->out);
    report->view.budget = report->budget;
    report->view.each_s = report->budget > 0 ? report->budget_s / (double)report->budget : 0;
    snprintf(report->view.event, sizeof report->view.event, "%s", report->event);
    report->view.wrong = report->errata[0] != '\0';
    guard_put_line(&report->view, line.json);
    json_decref(line.json);
    return output_flush(report->out) && line.ok;
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static bool write_begin(struct guard_report *report)
{
    struct json_part line = json_part_new("guard");
    json_part_text(&line, "event", report->event);
    json_part_text(&line, "errata", report->errata);
    json_part_unsigned(&line, "budget", report->budget);
    if (report->budget_s > 0)
        json_part_real(&line, "budget_s", report->budget_s);
    json_part_text(&line, "stops_by", report->way);
    return guard_report_put(report, line);
}

bool guard_report_overrun(struct guard_report *report, const struct guard_overrun *overrun)
{
    struct json_part line = json_part_new("overrun");
    json_part_unsigned(&line, "overrun", overrun->number);
    json_part_unsigned(&line, "calls", overrun->calls);
    json_part_unsigned(&line, "counted", overrun->counted);
    json_part_unsigned(&line, "skid", overrun->skid);
    if (overrun->has_pc)
        place_put_stack(&line, report->symbols, &overrun->place.stack);
    json_part_true(&line, "elsewhere", overrun->is_elsewhere);
    json_part_true(&line, "unproved", overrun->is_unproved);
    place_put_registers(&line, &overrun->place);
    return guard_report_put(report, line);
}

bool guard_report_end(struct guard_report *report, const struct guard_result *result)
{
    static const char *const why[] = {[GUARD_OVERRUNS] = "overruns",
                                      [GUARD_TIME] = "time",
                                      [GUARD_CANCELLED] = "Ctrl-C",
                                      [GUARD_NO_RETURN] = "no return",
                                      [GUARD_FAILED] = "error"};
    struct json_part line = json_part_new("guard_end");
    char doubt[DOUBT_ROOM];
    json_part_unsigned(&line, "calls", result->calls);
    json_part_unsigned(&line, "overruns", result->overruns);
    if (result->unproved > 0)
        json_part_unsigned(&line, "unproved", result->unproved);
    json_part_unsigned(&line, "unstopped", result->unstopped);
    if (result->unclear > 0) {
        json_part_unsigned(&line, "unclear", result->unclear);
        json_part_unsigned(&line, "unclear_by", result->unclear_by);
    }
    json_part_some(&line, "left", result->left);
    json_part_some(&line, "tainted", result->tainted);
    unseen_delays_text(&result->delays, result->calls, "calls", doubt, sizeof doubt);
    if (result->parts > 0)
        doubt_add(doubt, "some calls may have begun before their count");
    doubt_add(doubt, or_empty(report->doubt));
    json_part_text(&line, "doubt", doubt);
    if (result->calls > result->tainted)
        json_part_unsigned(&line, "most", result->most.most);
    json_part_some(&line, "most_spread", result->most.spread);
    if (result->halt_most >= result->halt_least)
        json_part_unsigned(&line, "halt_cost", result->halt_least);
    if (result->overruns > 0)
        json_part_unsigned(&line, "skid", result->skid);
    json_part_real(&line, "elapsed_s", result->elapsed_s);
    json_part_text(&line, "ended", why[result->end]);
    json_part_true(&line, "kept", result->is_kept);
    return guard_report_put(report, line);
}

bool guard_report_begin(struct guard_report *report, const struct conditions *conditions)
{
    struct column column = {0};
    snprintf(column.name, sizeof column.name, "%s", report->event);
    if (report->format == FORMAT_JSON && !json_header(report->out, conditions, &column, 1, deadline_wall_s()))
        return false;
    if (report->format == FORMAT_TEXT)
        text_header(report->out, conditions);
    guard_view_set(&report->view, conditions);
    return write_begin(report);
}

bool guard_report_left(struct guard_report *report, uint64_t number)
{
    struct json_part line = json_part_new("left");
    json_part_unsigned(&line, "overrun", number);
    return guard_report_put(report, line);
}

bool guard_report_returned(struct guard_report *report, uint64_t number, struct guard_count counted,
                           bool unproved)
{
    struct json_part line = json_part_new("returned");
    json_part_unsigned(&line, "overrun", number);
    json_part_unsigned(&line, "counted", counted.most);
    json_part_some(&line, "spread", counted.spread);
    json_part_true(&line, "unproved", unproved);
    return guard_report_put(report, line);
}
