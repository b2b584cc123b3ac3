/* What is written is read back by a parser, line by line. */
#include "../test.h"

#include "base/version.h"
#include "report/json.h"
#include "report/summaries.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct memory {
    char *text;
    size_t size;
    FILE *file;
};

static void memory_open(struct memory *memory)
{
    memory->file = open_memstream(&memory->text, &memory->size);
    assert_non_null(memory->file);
}

/* The one line that was written, parsed. Closes `memory`. */
static json_t *memory_line(struct memory *memory)
{
    fclose(memory->file);
    assert_true(memory->size > 1);
    assert_ptr_equal(strchr(memory->text, '\n'), memory->text + memory->size - 1);
    for (size_t i = 0; i + 1 < memory->size; i++)
        assert_true((unsigned char)memory->text[i] >= 0x20 && memory->text[i] != 0x7F);
    json_error_t error;
    json_t *json = json_loads(memory->text, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        fail_msg("%s: %s", error.text, memory->text);
    free(memory->text);
    return json;
}

static json_t *header_of(const struct summary *summary, time_t started)
{
    struct memory memory;
    memory_open(&memory);
    assert_true(json_header(memory.file, &summary->conditions, summary->columns, summary->n, started));
    return memory_line(&memory);
}

static json_t *hit_of(const struct hit_result *hit, const struct summary *summary)
{
    struct memory memory;
    memory_open(&memory);
    assert_true(json_hit(memory.file, hit, summary));
    return memory_line(&memory);
}

static json_t *summary_of(const struct summary *summary)
{
    struct memory memory;
    memory_open(&memory);
    assert_true(json_summary(memory.file, summary));
    return memory_line(&memory);
}

/* Compares, and consumes both. `expected` is JSON. */
static void expect(json_t *got, const char *expected)
{
    json_t *json = json_loads(expected, 0, NULL);
    assert_non_null(json);
    if (!json_equal(got, json)) {
        char *text = json_dumps(got, JSON_COMPACT | JSON_REAL_PRECISION(17));
        assert_string_equal(text, expected);
        fail();
    }
    json_decref(json);
    json_decref(got);
}

TEST(full_header)
{
    struct summary *summary = summary_fir();
    summary->conditions.end_address = UINT64_C(0xFFFFFFC010080000);
    summary->conditions.clock_error_hz = 0.5;
    snprintf(summary->conditions.note, sizeof(summary->conditions.note), "PMU switched on");
    expect(header_of(summary, 1700000000),
           "{\"schema\":\"pmu-probe/1\",\"type\":\"header\","
           "\"tool\":{\"name\":\"pmu-probe\",\"version\":\"" PMU_PROBE_VERSION "\"},"
           "\"link\":\"openocd localhost:6666\",\"core\":\"Cortex-A9 r3p0 core 0\",\"counter\":\"PMUv1, 6 "
           "counters\","
           "\"note\":\"PMU switched on\",\"elf\":\"app.elf\",\"build_id\":\"c0ffee\","
           "\"region\":{\"start\":\"fir_filter\",\"start_source\":\"fir.c:42\",\"end\":\"its return\","
           "\"addresses\":{\"start\":\"0x10000200\",\"end\":\"0xffffffc010080000\"}},"
           "\"clock\":{\"hz\":666666687.0,\"error_hz\":0.5,\"source\":\"SystemCoreClock\"},"
           "\"columns\":[\"CPU_CYCLES\",\"LD_RETIRED\",\"L1D_CACHE_REFILL\"],\"started\":\"2023-11-14T22:13:"
           "20Z\"}");
    summary_free(summary);
}

TEST(unknowns_are_left_out)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    expect(header_of(summary, 0), "{\"schema\":\"pmu-probe/1\",\"type\":\"header\","
                                  "\"tool\":{\"name\":\"pmu-probe\",\"version\":\"" PMU_PROBE_VERSION "\"}}");
    expect(summary_of(summary), "{\"type\":\"summary\",\"hits\":0,\"tainted\":0,\"seconds\":0.0}");
    summary->seconds = (double)NAN;
    expect(summary_of(summary), "{\"type\":\"summary\",\"hits\":0,\"tainted\":0}");
    expect(hit_of(&(struct hit_result){.number = 1}, summary),
           "{\"type\":\"hit\",\"hit\":1,\"tainted\":false,\"seconds\":0.0}");
    summary_column(summary, "CYCLES", NULL, 0)->calibrated = false;
    summary->conditions.clock_hz = 48e6;
    summary->seconds = 2.5;
    snprintf(summary->ended, sizeof(summary->ended), "Ctrl-C");
    expect(summary_of(summary),
           "{\"type\":\"summary\",\"hits\":0,\"tainted\":0,\"seconds\":2.5,\"ended\":\"Ctrl-C\","
           "\"columns\":{\"CYCLES\":{\"count\":0,\"calibrated\":false}}}");
    summary_free(summary);
}

TEST(hits)
{
    struct summary *summary = summary_fir();
    struct hit_result hit = {.number = 7,
                             .tainted = true,
                             .seconds = 0.125,
                             .n = 2,
                             .values = {{.count = 18204}, {.count = 4096}}};
    expect(hit_of(&hit, summary), "{\"type\":\"hit\",\"hit\":7,\"tainted\":true,\"seconds\":0.125,"
                                  "\"values\":{\"CPU_CYCLES\":18204,\"LD_RETIRED\":4096}}");
    hit.values[1] = (struct value){.count = (UINT64_C(1) << 62) + 1, .at_least = true};
    expect(hit_of(&hit, summary), "{\"type\":\"hit\",\"hit\":7,\"tainted\":true,\"seconds\":0.125,"
                                  "\"values\":{\"CPU_CYCLES\":18204,\"LD_RETIRED\":4611686018427387905},"
                                  "\"at_least\":[\"LD_RETIRED\"]}");
    hit.values[0].count = UINT64_MAX; /* no integer of the parser's: a real, never a negative number */
    hit.n = 1;
    json_t *got = hit_of(&hit, summary);
    double value = json_real_value(json_object_get(json_object_get(got, "values"), "CPU_CYCLES"));
    assert_true(value == 0x1p64);
    json_decref(got);
    summary_free(summary);
}

static double real_at(const json_t *json, const char *name, const char *key)
{
    const json_t *number = json_object_get(json_object_get(json, name), key);
    assert_true(json_is_number(number));
    return json_number_value(number);
}

TEST(full_summary)
{
    struct summary *summary = summary_fir();
    summary->columns[0].at_least = 3;
    summary->columns[0].at_least_max = 16777216;
    summary->columns[1].calibrated = false;
    summary->steps_past = 4;
    json_t *got = summary_of(summary);
    json_t *columns = json_object_get(got, "columns");
    assert_int_equal(json_integer_value(json_object_get(got, "hits")), 100);
    assert_int_equal(json_integer_value(json_object_get(got, "wanted")), 100);
    assert_int_equal(json_integer_value(json_object_get(got, "tainted")), 2);
    assert_int_equal(json_integer_value(json_object_get(got, "steps_past")), 4);
    assert_true(json_real_value(json_object_get(got, "seconds")) == 1.4);
    assert_null(json_object_get(got, "ended"));

    /* To the last bit */
    const struct statistics *cycles = summary->columns[0].statistics;
    assert_true(real_at(columns, "CPU_CYCLES", "mean") == statistics_mean(cycles));
    assert_true(real_at(columns, "CPU_CYCLES", "sd") == statistics_deviation(cycles));
    double hz = summary->conditions.clock_hz;
    assert_true(real_at(got, "time", "median") == 18204 / hz);
    assert_true(real_at(got, "time", "mean") == statistics_mean(cycles) / hz);
    assert_true(real_at(got, "time", "sd") == statistics_deviation(cycles) / hz);
    assert_true(real_at(got, "time", "min") == 18190 / hz);
    assert_true(real_at(got, "time", "max") == 18544 / hz);
    assert_true(real_at(got, "time", "at_least_max") == 16777216 / hz);
    assert_true(real_at(got, "time", "hz") == hz);

    json_t *column = json_incref(json_object_get(columns, "CPU_CYCLES"));
    json_object_del(column, "mean");
    json_object_del(column, "sd");
    expect(column,
           "{\"count\":98,\"median\":18204,\"median_exact\":true,\"min\":18190,\"max\":18544,\"p90\":18250,"
           "\"p99\":18544,\"calibrated\":true,\"overhead\":12.0,\"plus_minus\":1.0,\"at_least\":3,"
           "\"at_least_max\":16777216}");
    expect(json_incref(json_object_get(columns, "LD_RETIRED")),
           "{\"count\":98,\"median\":4096,\"median_exact\":true,\"mean\":4096.0,\"sd\":0.0,\"min\":4096,"
           "\"max\":4096,"
           "\"p90\":4096,\"p99\":4096,\"calibrated\":false}");
    json_decref(got);
    summary_free(summary);
}

TEST(any_bytes_in_every_string)
{
    struct summary *summary = summary_fir();
    struct conditions *c = &summary->conditions;
    char *const fields[] = {c->link,
                            c->core,
                            c->counter,
                            c->note,
                            c->elf,
                            c->build_id,
                            c->start,
                            c->end,
                            c->start_source,
                            c->end_source,
                            c->clock_source,
                            summary->ended,
                            summary->columns[0].name};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        memcpy(fields[i], "\"\\\x1B\x9B\xFF\xC2\n\xC2\x9B\xED\xA0\x80z", 14);
    /* Full to the last byte */
    memset(c->elf, 0xFE, sizeof(c->elf) - 1);
    c->elf[sizeof(c->elf) - 1] = '\0';

    const char *clean = "\"\\\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz";
    json_t *header = header_of(summary, 1);
    assert_string_equal(json_string_value(json_object_get(header, "link")), clean);
    assert_int_equal(json_string_length(json_object_get(header, "elf")), 3 * (sizeof(c->elf) - 1));
    assert_string_equal(json_string_value(json_array_get(json_object_get(header, "columns"), 0)), clean);
    json_decref(header);
    struct hit_result hit = {.number = 1, .n = 1, .values = {{.count = 5, .at_least = true}}};
    json_t *line = hit_of(&hit, summary);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(line, "values"), clean)), 5);
    json_decref(line);
    line = summary_of(summary);
    assert_string_equal(json_string_value(json_object_get(line, "ended")), clean);
    assert_non_null(json_object_get(json_object_get(line, "columns"), clean));
    json_decref(line);
    summary_free(summary);
}

TEST(a_full_disk_is_told)
{
    struct summary *summary = summary_fir();
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_false(json_summary(full, summary));
    assert_int_equal(errno, ENOSPC);
    fclose(full);
    summary_free(summary);
}

TEST(a_killed_run_leaves_whole_lines)
{
    struct summary *summary = summary_fir();
    FILE *file = tmpfile();
    assert_non_null(file);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct hit_result hit = {.n = 3};
        json_header(file, &summary->conditions, summary->columns, summary->n, 1);
        for (hit.number = 1; hit.number <= 100; hit.number++)
            json_hit(file, &hit, summary);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    rewind(file);
    char line[4096];
    unsigned lines = 0;
    for (; fgets(line, sizeof(line), file) != NULL; lines++) {
        json_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        assert_string_equal(json_string_value(json_object_get(json, "type")), lines == 0 ? "header" : "hit");
        json_decref(json);
    }
    assert_int_equal(lines, 101);
    fclose(file);
    summary_free(summary);
}
