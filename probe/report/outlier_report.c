#include "report/outlier_report.h"

#include "report/json.h"
#include "report/number.h"
#include "report/place_report.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>

enum { INDENT = 2, TEXT_ROOM = 160, LARGE_US = 1000 };

/* The column that tells of exceptions, if this hit was counted in its pass; else the number of columns. */
static size_t exceptions_column(const struct outlier_report *report, const struct slow_hit *outlier)
{
    const struct summary *summary = report->summary;
    for (size_t i = 0; i < outlier->hit.n; i++)
        if (!outlier->hit.values[i].absent &&
            result_exceptions(summary->columns[i].name) != RESULT_EXCEPTIONS_NOT)
            return i;
    return summary->n;
}

static bool any_exceptions(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++)
        if (result_exceptions(summary->columns[i].name) != RESULT_EXCEPTIONS_NOT &&
            summary->columns[i].unsupported[0] == '\0')
            return true;
    return false;
}

/* --- text ----------------------------------------------------------------------------------------------- */

/* "; 2 exceptions inside". If no hit tells, the last line says so once. */
static void describe_exceptions(const struct outlier_report *report, const struct slow_hit *outlier,
                                char *out, size_t size)
{
    const struct summary *summary = report->summary;
    size_t column = exceptions_column(report, outlier);
    out[0] = '\0';
    if (column == summary->n) {
        if (any_exceptions(summary))
            snprintf(out, size, "; exceptions were not counted in this hit's pass");
        return;
    }
    const struct value *value = &outlier->hit.values[column];
    const char *bound = value->at_least ? "at least " : "";
    char number[NUMBER_ROOM];
    number_unsigned(number, sizeof number, value->count);
    if (value->count == 0)
        snprintf(out, size, value->at_least ? "; exceptions inside: not known" : "; no exception inside");
    else if (result_exceptions(summary->columns[column].name) == RESULT_EXCEPTIONS_TAKEN)
        snprintf(out, size, "; %s%s exception%s inside", bound, number, value->count == 1 ? "" : "s");
    else
        snprintf(out, size, "; exceptions inside, %s%s cycle%s of their entry and exit", bound, number,
                 value->count == 1 ? "" : "s");
}

static void print_words(const struct outlier_report *report, const struct slow_hit *outlier)
{
    const struct result_words *words = &report->summary->at_max;
    struct fold fold = {.out = report->out, .columns = terminal_columns(report->out), .indent = INDENT};
    char name[UTF8_CLEAN_ROOM(sizeof words->names[0])], text[sizeof name + 32];
    for (size_t i = 0; i < words->n; i++) {
        snprintf(text, sizeof text, "%*s%s=0x%" PRIX64, i == 0 ? INDENT : 0, "",
                 terminal_text(name, sizeof name, words->names[i]), outlier->words[i]);
        fold_put(&fold, text, i == 0 ? 0 : 2);
    }
    fold_end(&fold);
}

static void print_outlier(const struct outlier_report *report, const struct slow_hit *outlier)
{
    const struct column *first = &report->summary->columns[0];
    const struct value *value = &outlier->hit.values[0];
    char counted[NUMBER_ROOM + sizeof first->name + 8], number[NUMBER_ROOM], when[NUMBER_ROOM],
        exceptions[TEXT_ROOM], name[PLACE_ROOM], clean[UTF8_CLEAN_ROOM(PLACE_ROOM)];
    describe_exceptions(report, outlier, exceptions, sizeof exceptions);
    fprintf(report->out, "hit %s: %s%s, %s into the run%s\n",
            number_unsigned(number, sizeof number, outlier->hit.number), value->at_least ? "at least " : "",
            number_events(counted, sizeof counted, value->count, first->name),
            number_elapsed(when, sizeof when, outlier->hit.seconds), exceptions);
    print_words(report, outlier);
    if (!report->hits->is_read[outlier->slot]) {
        fputs("  the run ended before its registers were read\n", report->out);
        return;
    }
    const struct stop_place *place = &report->places[outlier->slot];
    const struct unwind_frame *end = &place->stack.at[0];
    place_name(report->symbols, unwind_place(end), name);
    fprintf(report->out, "  %s %s\n", end->is_exact ? "ended at" : "returned to",
            terminal_text(clean, sizeof clean, name));
    place_print_callers(report->out, report->symbols, &place->stack, INDENT);
    place_print_registers(report->out, place, INDENT);
}

static void print_how_to_count(const struct outlier_report *report)
{
    const char *event = report->counts_exceptions;
    char line[TEXT_ROOM];
    if (event == NULL)
        snprintf(line, sizeof line, "these counters do not tell which exceptions ran inside");
    else
        snprintf(line, sizeof line, "which exceptions ran inside is not known: -e %s counts %s", event,
                 result_exceptions(event) == RESULT_EXCEPTIONS_TAKEN ? "them"
                                                                     : "the cycles of their entry and exit");
    fold_text(report->out, terminal_columns(report->out), INDENT, line);
}

bool outlier_report_text(const struct outlier_report *report)
{
    FILE *out = report->out;
    const struct slow_hits *hits = report->hits;
    char time[NUMBER_ROOM];
    if (hits->n == 0)
        return ferror(out) == 0;
    if (hits->n == 1)
        fputs("\nthe slowest hit, and where it ended\n", out);
    else
        fprintf(out, "\nthe %zu slowest hits, and where they ended\n", hits->n);
    for (size_t i = 0; i < hits->n; i++)
        print_outlier(report, &hits->at[i]);
    if (!any_exceptions(report->summary))
        print_how_to_count(report);
    if (hits->longest_us >= LARGE_US)
        fprintf(out, "the core stood up to %s longer at the end of a hit for this\n",
                number_elapsed(time, sizeof time, (double)hits->longest_us / 1e6));
    return fflush(out) == 0 && ferror(out) == 0;
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static bool write_outlier(const struct outlier_report *report, size_t i)
{
    const struct summary *summary = report->summary;
    const struct slow_hit *outlier = &report->hits->at[i];
    size_t column = exceptions_column(report, outlier);
    struct json_part line = json_part_new("outlier"), words = json_part_new(NULL);
    json_part_unsigned(&line, "outlier", i + 1);
    json_part_unsigned(&line, "hit", outlier->hit.number);
    json_part_real(&line, "seconds", outlier->hit.seconds);
    json_part_unsigned(&line, "counted", outlier->hit.values[0].count);
    if (outlier->hit.values[0].at_least)
        json_part_bool(&line, "at_least", true);
    if (column < summary->n) {
        bool taken = result_exceptions(summary->columns[column].name) == RESULT_EXCEPTIONS_TAKEN;
        json_part_unsigned(&line, taken ? "exceptions" : "exception_cycles",
                           outlier->hit.values[column].count);
        if (outlier->hit.values[column].at_least)
            json_part_bool(&line, "exceptions_at_least", true);
    }
    for (size_t k = 0; k < summary->at_max.n; k++)
        json_part_unsigned(&words, summary->at_max.names[k], outlier->words[k]);
    json_part_object(&line, "words", words);
    if (report->hits->is_read[outlier->slot]) {
        const struct stop_place *place = &report->places[outlier->slot];
        place_put_stack(&line, report->symbols, &place->stack);
        place_put_registers(&line, place);
    }
    return json_part_write(report->out, line);
}

bool outlier_report_json(const struct outlier_report *report)
{
    for (size_t i = 0; i < report->hits->n; i++)
        if (!write_outlier(report, i))
            return false;
    return true;
}
