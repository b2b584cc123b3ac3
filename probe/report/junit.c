#include "report/junit.h"

#include "report/comparison_report.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FIELD = 512, LONG = 2048 };

/* ---- XML */

/* Text, or the value of an attribute. XML 1.0 (section 2.2) forbids U+FFFE and U+FFFF, which a clean text may
   still have. */
static void junit_put(FILE *out, const char *text)
{
    static const struct {
        char character;
        const char *entity;
    } escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
    char clean[UTF8_CLEAN_ROOM(LONG)];
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
    junit_put(out, value);
    fputc('"', out);
}

/* Plain decimals: some readers of these files do not know exponents. */
static void put_seconds(FILE *out, double seconds, int decimals)
{
    fprintf(out, " time=\"%.*f\"", decimals, isfinite(seconds) && seconds >= 0 ? seconds : 0);
}

enum case_outcome { PASSED, FAILED, ERRED, SKIPPED, OUTCOMES };
static const char *const outcomes[OUTCOMES] = {[FAILED] = "failure type=\"regressed\"",
                                               [ERRED] = "error type=\"not comparable\"",
                                               [SKIPPED] = "skipped"};

static void put_case(FILE *out, const json_t *one)
{
    const char *element = outcomes[field_count(one, "outcome") % OUTCOMES];
    fputs("  <testcase", out);
    put_attribute(out, "classname", field_text(one, "class"));
    put_attribute(out, "name", field_text(one, "name"));
    put_seconds(out, field_real(one, "seconds"), 9);
    fputs(">\n", out);
    if (element != NULL) {
        fprintf(out, "    <%s", element);
        put_attribute(out, "message", field_text(one, "message"));
        fputs("/>\n", out);
    }
    if (field_text(one, "numbers")[0] != '\0') {
        fputs("    <system-out>", out);
        junit_put(out, field_text(one, "numbers"));
        fputs("</system-out>\n", out);
    }
    fputs("  </testcase>\n", out);
}

static void put_property(FILE *out, const char *name, const char *value)
{
    fputs("    <property", out);
    put_attribute(out, "name", name);
    put_attribute(out, "value", value);
    fputs("/>\n", out);
}

/* One with several values is there as often. */
static void put_properties(FILE *out, const struct junit_suite *suite)
{
    const char *name;
    json_t *value;
    const json_t *one;
    size_t i;
    fputs("  <properties>\n", out);
    json_object_foreach(suite->properties.json, name, value) {
        if (json_is_string(value))
            put_property(out, name, json_string_value(value));
        json_array_foreach(value, i, one)
            put_property(out, name, text_or_empty(one));
    }
    fputs("  </properties>\n", out);
}

static void put_said(FILE *out, const json_t *said)
{
    const json_t *one;
    size_t i;
    if (json_array_size(said) == 0)
        return;
    fputs("  <system-out>", out);
    json_array_foreach(said, i, one) {
        junit_put(out, text_or_empty(one));
        fputc('\n', out);
    }
    fputs("</system-out>\n", out);
}

static void put_suite(FILE *out, const struct junit_suite *suite)
{
    static const char *const names[OUTCOMES] = {"tests", "failures", "errors", "skipped"};
    size_t counts[OUTCOMES] = {0}, i;
    const json_t *one;
    json_array_foreach(suite->cases.json, i, one)
        counts[field_count(one, "outcome") % OUTCOMES]++;
    counts[PASSED] = json_array_size(suite->cases.json);
    fputs("<testsuite", out);
    put_attribute(out, "name", suite->name);
    for (i = 0; i < OUTCOMES; i++)
        fprintf(out, " %s=\"%zu\"", names[i], counts[i]);
    put_seconds(out, suite->seconds, 3);
    fputs(">\n", out);
    put_properties(out, suite);
    json_array_foreach(suite->cases.json, i, one)
        put_case(out, one);
    put_said(out, suite->said.json);
    fputs("</testsuite>\n", out);
}

bool junit_write(FILE *out, struct junit_suite *suite)
{
    bool ok = suite->properties.ok && suite->cases.ok && suite->said.ok;
    if (ok)
        put_suite(out, suite);
    json_decref(suite->properties.json);
    json_decref(suite->cases.json);
    json_decref(suite->said.json);
    return ok;
}

void junit_begin(FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
}

bool junit_end(FILE *out)
{
    fputs("</testsuites>\n", out);
    return output_flush(out);
}

/* ---- suites and cases */

struct junit_suite junit_suite(const char *name, double seconds)
{
    return (struct junit_suite){.name = name,
                                .seconds = seconds,
                                .properties = json_part_new(NULL),
                                .cases = json_list_new(),
                                .said = json_list_new()};
}

void junit_conditions(struct junit_suite *suite, const struct conditions *conditions)
{
    struct json_part *to = &suite->properties;
    char hz[NUMBER_ROOM] = "";
    if (conditions->clock_hz > 0)
        number_shortest(hz, NUMBER_ROOM, conditions->clock_hz);
    row_text(to, "link", conditions->link);
    row_text(to, "core", conditions->core);
    row_text(to, "counter", conditions->counter);
    row_text(to, "note", conditions->note);
    row_text(to, "elf", conditions->elf);
    row_text(to, "build_id", conditions->build_id);
    row_text(to, "start", conditions->start);
    row_text(to, "start_source", conditions->start_source);
    row_text(to, "end", conditions->end);
    row_text(to, "end_source", conditions->end_source);
    row_text(to, "clock_hz", hz);
    row_text(to, "clock_source", conditions->clock_source);
}

static enum case_outcome outcome_of(const struct junit_case *one)
{
    static const enum case_outcome of[] = {[VERDICT_PASS] = PASSED,
                                           [VERDICT_REGRESSED] = FAILED,
                                           [VERDICT_INCONCLUSIVE] = SKIPPED,
                                           [VERDICT_NOT_COMPARABLE] = ERRED};
    if (one->verdict[0] == '\0')
        return run_is_counted(one->column) ? PASSED : SKIPPED;
    return of[verdict_by_name(one->verdict)];
}

static void add_number(char *text, size_t size, const char *name, const json_t *column, const char *key)
{
    char number[NUMBER_ROOM];
    const json_t *value = field_of(column, key);
    if (json_is_number(value))
        text_add(text, size, "%s%s %s", text[0] != '\0' ? ", " : "", name,
                 json_is_integer(value)
                     ? (snprintf(number, sizeof number, "%" PRIu64, count_of(value)), number)
                     : SHORTEST(json_number_value(value)));
}

static void describe_numbers(const json_t *column, char *out, size_t size)
{
    static const char *const keys[] = {"count", "median", "mean", "sd", "min", "max", "p90", "p99"};
    out[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        add_number(out, size, keys[i], column, keys[i]);
        if (strcmp(keys[i], "mean") == 0 && run_mean_error(column) > 0)
            text_add(out, size, " ±%s (95 %%)", DECIMAL(run_mean_error(column), 2));
    }
    if (json_is_true(field_of(column, "calibrated"))) {
        add_number(out, size, "per hit ±", column, "plus_minus");
        add_number(out, size, "overhead", column, "overhead");
    } else if (field_of(column, "calibrated") != NULL) {
        text_add(out, size, "; the overhead was not measured, and what a halt adds is in the counts");
    }
    if (field_count(column, "at_least") > 0)
        text_add(out, size, ", and %" PRIu64 " of which only a lower bound is known, the highest %" PRIu64,
                 field_count(column, "at_least"), field_count(column, "at_least_max"));
}

static void junit_add(struct junit_suite *suite, const struct junit_case *one)
{
    struct json_part part = json_part_new(NULL);
    char numbers[LONG] = "", text[2 * LONG];
    enum case_outcome outcome = outcome_of(one);
    if (run_is_counted(one->column))
        describe_numbers(one->column, numbers, sizeof numbers);
    /* What failed says so in its message */
    bool says = outcome == PASSED && one->verdict[0] != '\0';
    snprintf(text, sizeof text, "%s%s%s", says ? one->message : "", says && numbers[0] != '\0' ? "; " : "",
             numbers);
    row_text(&part, "class", one->class);
    row_text(&part, "name", one->name);
    row_real(&part, "seconds", one->seconds);
    row_real(&part, "outcome", outcome);
    row_text(&part, "message", one->message);
    row_text(&part, "numbers", text);
    json_part_add(&suite->cases, suite->cases.json, part);
}

/* ---- a run */

static void add_case(struct junit_suite *suite, const struct run_lines *run, struct junit_case one)
{
    const char *first;
    double hz = run->conditions.clock_hz;
    /* Only the first column, which counts cycles, has a duration */
    if (one.column == run_first(run->summary, &first) && hz > 0 && run_is_counted(one.column))
        one.seconds = field_real(one.column, "mean") / hz;
    junit_add(suite, &one);
}

static void add_check(struct junit_suite *suite, const struct run_lines *run, const char *class,
                      const struct check *check)
{
    const char *first;
    char message[4 * FIELD];
    check_message(check, message, sizeof message);
    add_case(
        suite, run,
        (struct junit_case){.class = class,
                            .name = check->name,
                            .verdict = check->verdict,
                            .message = message,
                            .column = check->is_budget ? run_first(run->summary, &first)
                                      : run->summary == NULL
                                          ? field_of(check->line, "now")
                                          : json_object_get(field_of(run->summary, "columns"), check->name)});
}

void junit_add_run(struct junit_suite *suite, const struct run_lines *run, const char *class, bool each)
{
    json_t *columns = json_object_get(run->summary, "columns"), *column;
    const char *name, *first = "", *why = field_text(run->summary, "why");
    struct check check;
    size_t n = 0;
    char message[FIELD];
    for (; check_take(run->summary, run->verdict, n, &check); n++)
        add_check(suite, run, class, &check);
    run_first(run->summary, &first);
    if (n == 0 && !each)
        add_case(suite, run,
                 (struct junit_case){.class = class,
                                     .name = "measured",
                                     .verdict = "",
                                     .message = why[0] != '\0' ? why : "not reached",
                                     .column = json_object_get(columns, first)});
    json_object_foreach(columns, name, column) {
        const char *unsupported = field_text(column, "not_supported");
        snprintf(message, sizeof message, "%s%s", unsupported[0] != '\0' ? "not supported: " : "not counted",
                 unsupported);
        if ((each || strcmp(name, first) != 0) &&
            json_object_get(field_of(run->verdict, "columns"), name) == NULL)
            add_case(suite, run,
                     (struct junit_case){
                         .class = class, .name = name, .verdict = "", .message = message, .column = column});
    }
}

static void add_properties(struct junit_suite *suite, const struct run_lines *run)
{
    static const char *const counts[] = {"hits", "tainted", "warmup"}, *const texts[] = {"disagreement",
                                                                                         "ended"};
    struct json_part *to = &suite->properties;
    const json_t *summary = run->summary, *verdict = run->verdict;
    char number[NUMBER_ROOM];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (field_of(summary, counts[i]) != NULL) {
            snprintf(number, sizeof number, "%" PRIu64, field_count(summary, counts[i]));
            row_text(to, counts[i], number);
        }
    if (isfinite(field_real(summary, "precision.mean")))
        row_text(to, "precision", SHORTEST(field_real(summary, "precision.mean")));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        row_text(to, texts[i], field_text(summary, texts[i]));
    if (verdict == NULL)
        return;
    row_text(to, "file", field_text(verdict, "file"));
    row_text(to, "baseline", field_text(verdict, "baseline.file"));
    row_text(to, "baseline_started", field_text(verdict, "baseline.started"));
    row_text(to, "baseline_build_id", field_text(verdict, "baseline.build_id"));
    row_text(to, "threshold", SHORTEST(fmax(0, field_real(verdict, "threshold"))));
    row_text(to, "verdict", line_verdict_name(verdict));
    if (field_of(verdict, "not_comparable") != NULL)
        to->ok =
            json_object_set(to->json, "not_comparable", json_object_get(verdict, "not_comparable")) == 0 &&
            to->ok;
    if (field_of(verdict, "notes") != NULL)
        to->ok = json_object_set(to->json, "differs", json_object_get(verdict, "notes")) == 0 && to->ok;
}

/* As properties: a case could fail, and a metric cannot. */
static void junit_add_metrics(struct junit_suite *suite, const json_t *summary)
{
    const char *name;
    json_t *value;
    char text[FIELD];
    json_object_foreach(json_object_get(summary, "metrics"), name, value) {
        const char *unit = text_in(summary, "metric_units", name),
                   *why = text_in(summary, "metric_reasons", name);
        if (json_is_number(value))
            snprintf(text, sizeof text, "%.4g%s%s", json_number_value(value), unit[0] != '\0' ? " " : "",
                     unit);
        else
            snprintf(text, sizeof text, "not counted%s%s", why[0] != '\0' ? ": " : "", why);
        row_text(&suite->properties, name, text);
    }
}

bool junit_run(FILE *out, const struct run_lines *run)
{
    const struct conditions *conditions = &run->conditions;
    char name[sizeof conditions->start + sizeof conditions->end + FIELD];
    snprintf(name, sizeof name, "pmu-probe%s%s%s%s", conditions->start[0] != '\0' ? " " : "",
             conditions->start, conditions->end[0] != '\0' ? " to " : "", conditions->end);
    struct junit_suite suite = junit_suite(name, field_real(run->summary, "seconds"));
    junit_conditions(&suite, conditions);
    add_properties(&suite, run);
    junit_add_metrics(&suite, run->summary);
    junit_add_run(&suite, run, conditions->start[0] != '\0' ? conditions->start : "pmu-probe", true);
    if (run->summary != NULL) {
        run_facts(&suite.said, run);
        run_explain(&suite.said, run);
    }
    return junit_write(out, &suite);
}
