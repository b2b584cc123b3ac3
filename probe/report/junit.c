#include "report/formats.h"

#include "report/number.h"
#include "report/survey.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FIELD = 512 };

/* Text, or the value of an attribute. XML 1.0 (section 2.2) forbids U+FFFE and U+FFFF, which a clean text may
   still have. */
static void put(FILE *out, const char *text)
{
    static const struct {
        char character;
        const char *entity;
    } escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    for (const char *at = utf8_clean(clean, sizeof clean, text); *at != '\0'; at++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
            entity = escapes[i].character == *at ? escapes[i].entity : entity;
        if (entity != NULL)
            fputs(entity, out);
        else if (strncmp(at, "\xEF\xBF\xBE", 3) == 0 || strncmp(at, "\xEF\xBF\xBF", 3) == 0)
            at += 2;
        else
            fputc(*at, out);
    }
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    put(out, value);
    fputc('"', out);
}

static void put_count(FILE *out, const char *name, uint64_t value)
{
    fprintf(out, " %s=\"%" PRIu64 "\"", name, value);
}

/* Plain decimals: some readers of these files do not know exponents. */
static void put_seconds(FILE *out, double seconds, int decimals)
{
    fprintf(out, " time=\"%.*f\"", decimals, isfinite(seconds) && seconds >= 0 ? seconds : 0);
}

static void put_property(FILE *out, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    fputs("    <property", out);
    put_attribute(out, "name", name);
    put_attribute(out, "value", value);
    fputs("/>\n", out);
}

static void put_conditions(FILE *out, const struct conditions *conditions)
{
    char hz[NUMBER_ROOM] = "";
    if (conditions->clock_hz > 0)
        number_shortest(hz, NUMBER_ROOM, conditions->clock_hz);
    put_property(out, "link", conditions->link);
    put_property(out, "core", conditions->core);
    put_property(out, "counter", conditions->counter);
    put_property(out, "note", conditions->note);
    put_property(out, "elf", conditions->elf);
    put_property(out, "build_id", conditions->build_id);
    put_property(out, "start", conditions->start);
    put_property(out, "start_source", conditions->start_source);
    put_property(out, "end", conditions->end);
    put_property(out, "end_source", conditions->end_source);
    put_property(out, "clock_hz", hz);
    put_property(out, "clock_source", conditions->clock_source);
}

static void put_properties(FILE *out, const struct summary *summary, const struct comparison *comparison)
{
    char number[NUMBER_ROOM];
    fputs("  <properties>\n", out);
    put_conditions(out, &summary->conditions);
    snprintf(number, sizeof number, "%" PRIu64, summary->hits);
    put_property(out, "hits", number);
    snprintf(number, sizeof number, "%" PRIu64, summary->tainted);
    put_property(out, "tainted", number);
    snprintf(number, sizeof number, "%" PRIu64, summary->warmup);
    put_property(out, "warmup", summary->warmup > 0 ? number : "");
    put_property(out, "precision",
                 summary->precision > 0 && isfinite(summary->precise)
                     ? number_shortest(number, NUMBER_ROOM, summary->precise)
                     : "");
    put_property(out, "disagreement", summary->disagreement);
    put_property(out, "ended", summary->ended);
    if (comparison != NULL) {
        put_property(out, "file", comparison->file_now);
        put_property(out, "baseline", comparison->file);
        put_property(out, "baseline_build_id", comparison->build_id);
        put_property(out, "threshold", number_shortest(number, NUMBER_ROOM, comparison->threshold));
        put_property(out, "verdict", verdict_name(comparison->verdict));
        for (size_t i = 0; i < comparison->n_reasons; i++)
            put_property(out, "not_comparable", comparison->reasons[i]);
        for (size_t i = 0; i < comparison->n_notes; i++)
            put_property(out, "note", comparison->notes[i]);
    }
    fputs("  </properties>\n", out);
}

static bool is_unsupported(const struct column *column)
{
    return column != NULL && column->unsupported[0] != '\0';
}

static bool is_counted(const struct column *column)
{
    return column != NULL && !is_unsupported(column) && column_figures(column).count > 0;
}

enum outcome { PASSED, FAILED, ERRED, SKIPPED, OUTCOMES };

/* Either may be NULL, but not both. */
static enum outcome outcome_of(const struct column *column, const struct verdict_line *line)
{
    if (line == NULL)
        return is_counted(column) ? PASSED : SKIPPED;
    static const enum outcome outcomes[] = {[VERDICT_PASS] = PASSED,
                                            [VERDICT_REGRESSED] = FAILED,
                                            [VERDICT_INCONCLUSIVE] = SKIPPED,
                                            [VERDICT_NOT_COMPARABLE] = ERRED};
    return outcomes[line->verdict];
}

static void put_message(FILE *out, const struct column *column, const struct verdict_line *line,
                        const struct comparison *comparison)
{
    char before[NUMBER_ROOM], after[NUMBER_ROOM], change[NUMBER_ROOM], threshold[NUMBER_ROOM];
    char message[FIELD];
    if (line == NULL) {
        snprintf(message, sizeof message, "%s%s", is_unsupported(column) ? "not supported: " : "not counted",
                 column->unsupported);
    } else if (line->base.n == 0 || line->now.n == 0) {
        snprintf(message, sizeof message, "%s", line->why);
    } else {
        number_change(change, line->change);
        bool open = line->verdict != VERDICT_PASS && line->verdict != VERDICT_REGRESSED;
        number_part(threshold, comparison->threshold);
        snprintf(message, sizeof message, "%s -> %s%s%s%s%s%s%s%s", number_mean(before, line->base.mean),
                 number_mean(after, line->now.mean), change[0] != '\0' ? ", " : "", change,
                 open ? "" : " (threshold ", open ? "" : threshold, open ? "" : ")",
                 line->why[0] != '\0' ? ": " : "", line->why);
    }
    put_attribute(out, "message", message);
}

static void put_numbers(FILE *out, const struct column *column)
{
    struct figures figures = column_figures(column);
    char mean[NUMBER_ROOM], deviation[NUMBER_ROOM];
    fprintf(out, "    <system-out>count %" PRIu64, figures.count);
    if (figures.has_median)
        fprintf(out, ", median %" PRIu64, figures.median);
    fprintf(out, ", mean %s, sd %s, min %" PRIu64 ", max %" PRIu64,
            number_shortest(mean, NUMBER_ROOM, figures.mean),
            number_shortest(deviation, NUMBER_ROOM, figures.sd), figures.min, figures.max);
    if (column->at_least > 0)
        fprintf(out, ", and %" PRIu64 " of which only a lower bound is known, the highest %" PRIu64,
                column->at_least, column->at_least_max);
    fputs("</system-out>\n", out);
}

/* Only the first column, which counts cycles, has a duration. */
static double seconds_of(const struct summary *summary, const struct column *column)
{
    double hz = summary->conditions.clock_hz;
    return column == &summary->columns[0] && hz > 0 && is_counted(column) ? column_figures(column).mean / hz
                                                                          : 0;
}

static void put_case(FILE *out, const struct summary *summary, const struct comparison *comparison,
                     const struct column *column, const struct verdict_line *line)
{
    const char *start = summary->conditions.start;
    fputs("  <testcase", out);
    put_attribute(out, "classname", start[0] != '\0' ? start : "pmu-probe");
    put_attribute(out, "name", column != NULL ? column->name : line->name);
    put_seconds(out, seconds_of(summary, column), 9);
    fputs(">\n", out);
    switch (outcome_of(column, line)) {
    case FAILED:
        fputs("    <failure type=\"regressed\"", out);
        put_message(out, column, line, comparison);
        fputs("/>\n", out);
        break;
    case ERRED:
        fputs("    <error type=\"not comparable\"", out);
        put_message(out, column, line, comparison);
        fputs("/>\n", out);
        break;
    case SKIPPED:
        fputs("    <skipped", out);
        put_message(out, column, line, comparison);
        fputs("/>\n", out);
        break;
    case PASSED:
    case OUTCOMES:
        break;
    }
    if (is_counted(column))
        put_numbers(out, column);
    fputs("  </testcase>\n", out);
}

/* Counts the cases by outcome; prints them unless `out` is NULL. */
static void each_case(FILE *out, const struct summary *summary, const struct comparison *comparison,
                      size_t counts[OUTCOMES])
{
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *column = &summary->columns[i];
        const struct verdict_line *line =
            comparison != NULL ? comparison_find(comparison, column->name) : NULL;
        counts[outcome_of(column, line)]++;
        if (out != NULL)
            put_case(out, summary, comparison, column, line);
    }
    for (size_t i = 0; comparison != NULL && i < comparison->n; i++) {
        const struct verdict_line *line = &comparison->lines[i];
        if (comparison_column(summary, line) != NULL)
            continue;
        counts[outcome_of(NULL, line)]++;
        if (out != NULL)
            put_case(out, summary, comparison, NULL, line);
    }
}

static void put_suite(FILE *out, const char *name, const size_t counts[OUTCOMES], double seconds)
{
    fputs("<testsuite", out);
    put_attribute(out, "name", name);
    put_count(out, "tests", counts[PASSED] + counts[FAILED] + counts[ERRED] + counts[SKIPPED]);
    put_count(out, "failures", counts[FAILED]);
    put_count(out, "errors", counts[ERRED]);
    put_count(out, "skipped", counts[SKIPPED]);
    put_seconds(out, seconds, 3);
    fputs(">\n", out);
}

void junit_suite(FILE *out, const struct summary *summary, const struct comparison *comparison)
{
    const struct conditions *conditions = &summary->conditions;
    char name[sizeof conditions->start + sizeof conditions->end + FIELD];
    size_t counts[OUTCOMES] = {0};
    each_case(NULL, summary, comparison, counts);
    snprintf(name, sizeof name, "pmu-probe%s%s%s%s", conditions->start[0] != '\0' ? " " : "",
             conditions->start, conditions->end[0] != '\0' ? " to " : "", conditions->end);

    put_suite(out, name, counts, summary->seconds);
    put_properties(out, summary, comparison);
    each_case(out, summary, comparison, counts);
    fputs("</testsuite>\n", out);
}

void junit_begin(FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
}

bool junit_end(FILE *out)
{
    fputs("</testsuites>\n", out);
    return fflush(out) == 0 && !ferror(out);
}

bool junit_summary(FILE *out, const struct summary *summary, const struct comparison *comparison)
{
    junit_begin(out);
    junit_suite(out, summary, comparison);
    return junit_end(out);
}

/* --- surveys -------------------------------------------------------------------------------------------- */

/* `line` NULL: the region has no verdict, but a case all the same. */
static enum outcome outcome_in_survey(const struct survey_row *row, const struct verdict_line *line)
{
    bool reached = row->summary != NULL && row->summary->hits > 0;
    if (line != NULL)
        return outcome_of(NULL, line);
    return reached ? PASSED : SKIPPED;
}

static void put_survey_case(FILE *out, const struct survey_row *row, const struct verdict_line *line)
{
    static const char *const elements[OUTCOMES] = {[FAILED] = "failure type=\"regressed\"",
                                                   [ERRED] = "error type=\"not comparable\"",
                                                   [SKIPPED] = "skipped"};
    bool is_budget = line != NULL && line == row->budget,
         reached = row->summary != NULL && row->summary->hits > 0;
    const struct column *cycles = reached ? &row->summary->columns[0] : NULL;
    bool of_cycles = line == NULL || is_budget || (cycles != NULL && strcmp(line->name, cycles->name) == 0);
    enum outcome outcome = outcome_in_survey(row, line);
    char message[4 * FIELD] = "", numbers[3 * NUMBER_ROOM], verdict[2 * FIELD];
    if (line != NULL) {
        survey_numbers(line, is_budget, numbers, sizeof numbers);
        survey_describe(row, line, verdict, sizeof verdict);
        snprintf(message, sizeof message, "%s: %s", numbers, verdict);
    } else if (!reached) {
        snprintf(message, sizeof message, "%s", row->why[0] != '\0' ? row->why : "not reached");
    }
    fputs("  <testcase", out);
    put_attribute(out, "classname", row->name);
    put_attribute(out, "name", line != NULL ? line->name : "measured");
    put_seconds(out, of_cycles && cycles != NULL ? seconds_of(row->summary, cycles) : 0, 9);
    fputs(">\n", out);
    if (elements[outcome] != NULL) {
        fprintf(out, "    <%s", elements[outcome]);
        put_attribute(out, "message", message);
        fputs("/>\n", out);
    }
    if (of_cycles && is_counted(cycles))
        put_numbers(out, cycles);
    fputs("  </testcase>\n", out);
}

static void each_survey_case(FILE *out, const struct survey *survey, size_t counts[OUTCOMES])
{
    for (size_t i = 0; i < survey->n; i++) {
        const struct survey_row *row = &survey->rows[i];
        const struct verdict_line *line = survey_check(row, 0);
        for (size_t k = 0; k == 0 || line != NULL; line = survey_check(row, ++k)) {
            counts[outcome_in_survey(row, line)]++;
            if (out != NULL)
                put_survey_case(out, row, line);
        }
    }
}

bool survey_junit(FILE *out, const struct survey *survey)
{
    char number[NUMBER_ROOM];
    size_t counts[OUTCOMES] = {0};
    each_survey_case(NULL, survey, counts);
    junit_begin(out);
    put_suite(out, "pmu-probe survey", counts, survey->seconds);
    fputs("  <properties>\n", out);
    put_conditions(out, &survey->conditions);
    if (survey->baseline != NULL) {
        put_property(out, "baseline", survey->baseline);
        put_property(out, "threshold", number_shortest(number, NUMBER_ROOM, survey->threshold));
    }
    if (survey->judged)
        put_property(out, "verdict", verdict_name(survey_verdict(survey)));
    put_property(out, "ended", survey->ended);
    fputs("  </properties>\n", out);
    each_survey_case(out, survey, counts);
    fputs("</testsuite>\n", out);
    return junit_end(out);
}
