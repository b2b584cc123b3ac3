#include "report/outlier_report.h"

#include "base/values.h"
#include "report/json.h"
#include "report/number.h"
#include "report/place_report.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>

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

static bool any_exceptions(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++)
        if (result_exceptions(summary->columns[i].name) != RESULT_EXCEPTIONS_NOT &&
            summary->columns[i].unsupported[0] == '\0')
            return true;
    return false;
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
    if (outlier->hit.values[0].at_least)
        json_part_bool(&line, "at_least", true);
    if (column < summary->n) {
        bool taken = result_exceptions(summary->columns[column].name) == RESULT_EXCEPTIONS_TAKEN;
        json_part_unsigned(&line, taken ? "exceptions" : "exception_cycles",
                           outlier->hit.values[column].count);
        if (outlier->hit.values[column].at_least)
            json_part_bool(&line, "exceptions_at_least", true);
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
        if (!place->stack.at[0].is_exact)
            json_part_bool(&line, "returned", true);
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
    if (any_exceptions(report->summary))
        json_part_bool(&part, "exceptions_counted", true);
    else
        json_part_text(&part, "exceptions_by",
                       report->counts_exceptions != NULL ? report->counts_exceptions : "");
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
    char number[NUMBER_ROOM];
    out[0] = '\0';
    number_unsigned(number, sizeof number, count);
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
    char name[UTF8_CLEAN_ROOM(64)], value[64], text[sizeof name + sizeof value];
    json_t *words = json_object_get(line, "words"), *word;
    const char *key;
    bool first = true;
    json_object_foreach(words, key, word) {
        const char *exact = json_string_value(json_object_get(field_of(line, "word_texts"), key));
        snprintf(value, sizeof value, "0x%" PRIX64, count_of(word));
        snprintf(text, sizeof text, "%*s%s=%.40s", first ? INDENT : 0, "",
                 terminal_text(name, sizeof name, key), exact != NULL ? exact : value);
        fold_put(&fold, text, first ? 0 : 2);
        first = false;
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
    char line[TEXT_ROOM];
    if (event[0] == '\0')
        snprintf(line, sizeof line, "these counters do not show which exceptions ran inside");
    else
        snprintf(line, sizeof line, "which exceptions ran inside is not known: -e %.32s counts %s", event,
                 result_exceptions(event) == RESULT_EXCEPTIONS_TAKEN ? "them"
                                                                     : "the cycles of their entry and exit");
    render_text(to, line);
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
    if (n == 1)
        fputs("\nthe slowest hit, and where it ended\n", to->out);
    else if (n > 1)
        fprintf(to->out, "\nthe %zu slowest hits, and where they ended\n", n);
    json_array_foreach(lines, i, line)
        print_outlier(to, line, column != NULL ? column : "", counted);
    if (n > 0 && of != NULL && !counted)
        print_how_to_count(to, field_text(of, "exceptions_by"));
    if (n > 0 && kept >= LARGE_S)
        fprintf(to->out, "the core was held up to %s longer at the end of a hit for this\n", ELAPSED(kept));
    json_decref(lines);
}
