/* What report/json writes is read back the same; what others may write is refused with the fact. */
#include "golden.h"
#include "report/summaries.h"

#include <math.h>
#include <unistd.h>

#define HEADER "{\"schema\":\"pmu-probe/1\",\"type\":\"header\"}\n"
#define COLUMN "{\"count\":2,\"mean\":1.5,\"sd\":0.7,\"min\":1,\"max\":2}"

TEST(what_was_written)
{
    struct summary *summary = summary_fir();
    summary->columns[1].at_least = 3;
    summary->columns[1].at_least_max = 5000;
    summary->columns[2].calibrated = false;
    summary->conditions.clock_error_hz = 12.5;
    summary->warmup = 20;
    summary->precision = 0.01;
    summary->precise = 0.0083;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event here");
    summary_column(summary, "EMPTY", NULL, 0);
    SUMMARY_COLUMN(summary, "HUGE", {UINT64_MAX - 5, 2});
    struct baseline *baseline = baseline_of(summary);
    assert_string_equal(baseline->file, "main.jsonl");
    assert_string_equal(field_text(baseline->header, "started"), "2026-11-20T09:15:00Z");
    /* The same as if it had just ended, though it went through text */
    struct baseline live;
    assert_true(baseline_live(&live, summary));
    assert_true(json_equal(live.summary, baseline->summary));
    const json_t *huge = field_of(baseline->summary, "columns.HUGE");
    assert_true(field_count(huge, "max") == UINT64_MAX); /* as near as a real comes to it */
    baseline_free(&live);
    baseline_drop(baseline);
    summary_free(summary);
}

static void refused(bool are_runs, const char *text, size_t size, const char *fact)
{
    struct baseline baseline;
    struct runs runs;
    struct error error = {0};
    /* Exactly as long as it is, so that reading past the end is noticed */
    char *bytes = malloc(size > 0 ? size : 1);
    assert_non_null(bytes);
    memcpy(bytes, text, size);
    if (are_runs ? runs_parse(bytes, size, "b.jsonl", &runs, &error)
                 : baseline_parse(bytes, size, "b.jsonl", &baseline, &error))
        fail_msg("taken: %.*s", (int)size, text);
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_int_equal(strncmp(error.text, "b.jsonl", strlen("b.jsonl")), 0);
    assert_string_equal(error.text + strlen("b.jsonl"), fact);
    if (are_runs)
        runs_free(&runs);
    free(bytes);
}

#define SUMMARY_OF(column) HEADER "{\"type\":\"summary\",\"hits\":1,\"columns\":{\"A\":" column "}}\n"
#define REGION(name)       "{\"schema\":\"pmu-probe/1\",\"type\":\"header\",\"region\":{\"start\":\"" name "\"}}\n"
#define SUMMARY(mean)                                                                                        \
    "{\"type\":\"summary\",\"hits\":1,\"columns\":{\"A\":{\"count\":2,\"mean\":" mean                        \
    ",\"sd\":0,\"min\":1,\"max\":2}}}\n"
#define SURVEY "{\"schema\":\"pmu-probe/2\",\"type\":\"header\",\"command\":\"survey\",\"core\":\"M4\"}\n"
#define REACHED(start)                                                                                       \
    "{\"type\":\"region\",\"reached\":true,\"region\":{\"start\":\"" start                                   \
    "\",\"end\":\"its return\"},\"hits\":2,\"columns\":{\"A\":" COLUMN "}}\n"
#define NOT_REACHED "{\"type\":\"region\",\"name\":\"n\",\"reached\":false}\n"
#define SURVEYED    "{\"type\":\"summary\",\"regions\":3}\n"

TEST(what_others_wrote)
{
    static const char cut_off[] = ": no summary: that run was cut off",
                      no_header[] = ":1: no header of schema pmu-probe/1: not written by pmu-probe -j",
                      no_type[] = ":1: a line of no known type", no_count[] = ":2: no count of A",
                      no_mean[] = ":2: mean, sd, min or max of A is missing or no count";
    static const struct {
        bool are_runs;
        const char *text, *fact;
    } rows[] = {
        {false, "", ": empty"},
        {false, "\n \n", ": empty"},
        {false, HEADER, cut_off},
        {false, HEADER "{\"type\":\"hit\"}\n", cut_off},
        {false, HEADER "{\"type\":\"summ", ":2: no summary: that run was cut off in this line"},
        {false, HEADER "nonsense\n", ":2: not JSON: '[' or '{' expected near 'nonsense'"},
        {false, "{}", no_header},
        {false, "{\"type\":\"summary\"}", no_header},
        {false, "{\"schema\":\"pmu-probe/3\",\"type\":\"header\"}",
         ":1: its schema is pmu-probe/3, and pmu-probe/1 is wanted"},
        {false, "{\"schema\":\"pmu-probe/3\",\"type\":\"header\",\"command\":\"survey\"}",
         ":1: its schema is pmu-probe/3, and pmu-probe/2 is wanted"},
        {false, "{\"schema\":\"pmu-probe/1\",\"type\":\"header\",\"command\":\"survey\"}",
         ":1: its schema is pmu-probe/1, and pmu-probe/2 is wanted"},
        {false, "{\"schema\":\"pmu-probe/3\",\"type\":\"header\",\"command\":\"irq\"}",
         ":1: its schema is pmu-probe/3, and pmu-probe/1 is wanted"},
        {false, "{\"schema\":\"pmu-probe/2\",\"type\":\"header\",\"command\":\"irq\"}",
         ":1: a result of irq, and those of delta and survey are compared"},
        {false, "{\"schema\":\"pmu-probe/3\",\"type\":\"profile\"}",
         ":1: its schema is pmu-probe/3, and pmu-probe/2 is wanted"},
        {false, "{\"schema\":\"pmu-probe/2\",\"type\":\"profile\"}",
         ":1: a profile of record: compare takes two of them, as files"},
        {false, "{\"schema\":1}", ":1: its schema is no name, and pmu-probe/1 is wanted"},
        {false, "{\"schema\":\"a\\n_\\u001b[m\"}",
         ":1: its schema is a\xEF\xBF\xBD_\xEF\xBF\xBD[m, and pmu-probe/1 is wanted"},
        {false, "{\"schema\":\"pmu-probe/1\",\"type\":\"summary\"}", no_type},
        {false, HEADER "[]\n", ":2: not a JSON object"},
        {false, HEADER "\n" HEADER, ":3: a second header; a baseline is one run"},
        {false, SUMMARY_OF(COLUMN) "{\"type\":\"summary\",\"hits\":1}\n", ":3: a second summary of one run"},
        {false, HEADER "{\"type\":\"summary\",\"columns\":{\"A\":{\"count\":7,\"seconds\":1.0}}}\n",
         ":2: a summary without hits: not of pmu-probe delta"},
        {false, SUMMARY_OF("{\"count\":-1}"), no_count},
        {false, SUMMARY_OF("3"), no_count},
        {false, SUMMARY_OF("{\"count\":1e40}"), no_count},
        {false, SUMMARY_OF("{\"count\":1,\"mean\":-1,\"sd\":0,\"min\":1,\"max\":1}"), no_mean},
        {false, SUMMARY_OF("{\"count\":1,\"mean\":1,\"sd\":\"0\",\"min\":1,\"max\":1}"), no_mean},
        {false, SUMMARY_OF("{\"count\":0,\"calibrated\":true}"),
         ":2: no plus_minus of A, which was calibrated"},
        {false, SUMMARY_OF(COLUMN ",\"A\":" COLUMN), ":2: not JSON: duplicate object key near '\"A\"'"},
        {false, SURVEY REACHED("f") SURVEYED,
         ":1: a survey of many regions: survey --baseline and compare take it"},
        {true, REGION("f") SUMMARY("1") REGION("g"), cut_off},
        {true, REGION("f") REGION("g") SUMMARY("1"),
         ":2: a header before the summary: the run above was cut off"},
        {true, REGION("f") SUMMARY("1") SUMMARY("1"), ":3: a second summary of one run"},
        {true, REGION("f") SUMMARY("1") REGION("g") SUMMARY("1") REGION("f") SUMMARY("1"),
         ": two runs of one region: f, "},
        {true, SURVEY REACHED("f"), cut_off},
        {true, SURVEY NOT_REACHED SURVEYED, ":3: no region of this survey was reached"},
        {true, SURVEY REACHED("f") REGION("g") SUMMARY("1"),
         ":3: a header before the summary: the run above was cut off"},
    };
    static const char nul[] = HEADER "{\"type\":\"hit\"\0}\n";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(rows[i].are_runs, rows[i].text, strlen(rows[i].text), rows[i].fact);
    refused(false, nul, sizeof nul - 1, ":2: not JSON: '}' expected near end of file");
}

/* Measured against host time a clock is known at the end only. Others' lines and blank ones do not matter. */
TEST(a_clock_that_came_late)
{
    static const char text[] =
        HEADER "{\"type\":\"hit\"}\n{\"type\":\"summary\",\"hits\":1,\"columns\":{\"A\":" COLUMN
               "},\"time\":{\"hz\":48e6,\"source\":\"measured\"}}\n"
               "{\"type\":\"verdict\",\"verdict\":\"pass\"}\n\n  \r\n";
    struct baseline baseline;
    struct error error = {0};
    assert_true(baseline_parse(text, sizeof text - 1, "x", &baseline, &error));
    assert_true(baseline.conditions.clock_hz == 48e6);
    assert_string_equal(baseline.conditions.clock_source, "measured");
    baseline_free(&baseline);
}

/* Of regions that are measured alone, and of those of a survey that were reached, each once. */
TEST(several_runs)
{
    static const char text[] = REGION("f") SUMMARY("1") "\n" REGION("g") "{\"type\":\"hit\"}\n" SUMMARY("2")
        SURVEY REACHED("h") NOT_REACHED REACHED("i") REACHED("h") SURVEYED REGION("j") SUMMARY("1");
    struct runs runs;
    struct error error = {0};
    assert_true(runs_parse(text, sizeof text - 1, "b.jsonl", &runs, &error));
    assert_int_equal(runs.n, 5);
    for (size_t i = 0; i < 5; i++) {
        const char name[] = {(char)('f' + i), '\0'};
        assert_string_equal(runs.of[i]->file, "b.jsonl");
        assert_string_equal(runs.of[i]->conditions.start, name);
    }
    assert_true(field_real(runs.of[1]->summary, "columns.A.mean") == 2);
    assert_string_equal(runs.of[3]->conditions.core, "M4");
    assert_string_equal(runs.of[3]->conditions.end, "its return");
    assert_int_equal(field_count(runs.of[3]->summary, "columns.A.count"), 2);
    runs_free(&runs);
}

/* Columns of a run, runs of a file, and bytes of a line have a bound. */
TEST(too_much_of_it)
{
    char *text = NULL;
    size_t size = 0;
    for (int columns = RESULT_COLUMNS; columns <= RESULT_COLUMNS + 1; columns++) {
        FILE *out = output();
        fputs(HEADER "{\"type\":\"summary\",\"hits\":2,\"columns\":{", out);
        for (int i = 0; i < columns; i++)
            fprintf(out, "%s\"C%d\":" COLUMN, i > 0 ? "," : "", i);
        fputs("}}", out);
        text = output_text(&size);
        struct baseline baseline;
        struct error error = {0};
        bool ok = baseline_parse(text, size, "b.jsonl", &baseline, &error);
        assert_int_equal(ok, columns == RESULT_COLUMNS);
        assert_string_equal(error.text, ok ? "" : "b.jsonl:2: more than 64 columns");
        if (ok)
            baseline_free(&baseline);
        free(text);
    }
    FILE *out = output();
    enum { RUNS = 5000 };
    for (int i = 0; i < RUNS; i++)
        fprintf(out, "{\"schema\":\"pmu-probe/1\",\"type\":\"header\",\"region\":{\"start\":\"f%d\"}}\n%s", i,
                SUMMARY("1"));
    text = output_text(&size);
    struct runs runs;
    struct error why = {0};
    assert_true(runs_parse(text, size, "b.jsonl", &runs, &why) && runs.n == RUNS);
    struct conditions wanted = {.start = "f4999"};
    assert_ptr_equal(runs_find(&runs, &runs.of[0]->conditions), runs.of[0]);
    memcpy(wanted.end, runs.of[0]->conditions.end, sizeof wanted.end);
    assert_ptr_equal(runs_find(&runs, &wanted), runs.of[RUNS - 1]);
    runs_free(&runs);
    free(text);
    out = output();
    fputs(SURVEY REACHED("work"), out);
    for (int i = 0; i < RUNS; i++)
        fprintf(out, "{\"type\":\"region\",\"name\":\"f%d\",\"reached\":false,\"end\":\"\"}\n", i);
    fputs(SURVEYED, out);
    text = output_text(&size);
    assert_true(runs_parse(text, size, "b.jsonl", &runs, &why));
    wanted = (struct conditions){.start = "f4999", .end = "its return"};
    assert_string_equal(json_string_value(json_object_get(runs_missing(&runs, &wanted).unreached, "name")),
                        "f4999");
    wanted.start[0] = 'g';
    assert_null(runs_missing(&runs, &wanted).unreached);
    runs_free(&runs);
    free(text);
    size = sizeof HEADER + LINES_LINE_MAX + 1;
    text = malloc(size);
    assert_non_null(text);
    memset(text, '[', size);
    memcpy(text, HEADER, sizeof HEADER - 1);
    refused(false, text, size, ":2: a line longer than 1 MiB");
    free(text);
}

static void read_fails(const char *path, const char *name, const char *fact)
{
    char expected[128];
    struct baseline baseline;
    struct error error = {0};
    snprintf(expected, sizeof expected, "%s%s", name, fact);
    assert_false(baseline_read(path, NULL, &baseline, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_string_equal(error.text, expected);
}

TEST(files)
{
    static const char text[] = REGION("f") SUMMARY("1");
    char path[] = "/tmp/baseline-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    /* Blanks in front: more than one chunk, and a read that ends within the last */
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fprintf(file, "%200000s%s", "\n", text);
    fclose(file);
    struct baseline baseline;
    struct error error = {0};
    assert_true(baseline_read(path, NULL, &baseline, &error));
    assert_string_equal(baseline.file, path);
    assert_string_equal(baseline.conditions.start, "f");
    baseline_free(&baseline);
    assert_int_equal(truncate(path, (off_t)(200000 + sizeof text - 10)), 0);
    read_fails(path, path, ":3: no summary: that run was cut off in this line");
    assert_int_equal(truncate(path, (off_t)200000 + (off_t)2 * LINES_LINE_MAX), 0);
    read_fails(path, path, ":3: a line longer than 1 MiB");
    unlink(path);
    read_fails("/tmp", "/tmp", ": Is a directory");
    read_fails("/dev/zero", "/dev/zero", ":1: a line longer than 1 MiB");
    read_fails("/nowhere/\x1b[2J", "/nowhere/\xEF\xBF\xBD[2J", ": No such file or directory");
}
