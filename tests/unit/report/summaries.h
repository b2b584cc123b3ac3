/* Summaries to print, the one in the documentation and awkward ones, written by report/json and read as
 * baselines. */
#pragma once

// clang-format off
#include "test.h"
// clang-format on
#include "measure/result.h"
#include "report/comparison.h"
#include "report/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline struct conditions conditions_fir(void)
{
    return (struct conditions){
        .link = "openocd localhost:6666",
        .core = "Cortex-A9 r3p0 core 0",
        .counter = "PMUv1, 6 counters",
        .elf = "app.elf",
        .build_id = "c0ffee",
        .start = "fir_filter",
        .start_source = "fir.c:42",
        .end = "its return",
        .start_address = 0x10000200,
        .clock_hz = 666666687,
        .clock_source = "SystemCoreClock",
    };
}

/* `values` is a list of pairs: value, how often. In no order, as hits come: in rising order they would drift.
 */
static inline void summary_add(struct statistics *statistics, const uint64_t (*values)[2], size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += values[i][1];
    uint64_t step = all % 61 != 0 ? 61 : 1;
    for (uint64_t k = 0; k < all; k++) {
        uint64_t at = k * step % all;
        size_t i = 0;
        while (at >= values[i][1])
            at -= values[i++][1];
        statistics_add(statistics, values[i][0]);
    }
}

/* Adds a column. */
static inline struct column *summary_column(struct summary *summary, const char *name,
                                            const uint64_t (*values)[2], size_t n)
{
    struct column *column = &summary->columns[summary->n++];
    snprintf(column->name, sizeof(column->name), "%s", name);
    column->statistics = statistics_new();
    column->calibrated = true;
    summary_add(column->statistics, values, n);
    return column;
}

#define SUMMARY_COLUMN(summary, name, ...)                                                                   \
    summary_column(summary, name, (const uint64_t[][2]){__VA_ARGS__},                                        \
                   sizeof((const uint64_t[][2]){__VA_ARGS__}) / sizeof(uint64_t[2]))

/* With every value of the first column higher by `more`. */
static inline struct summary *summary_slower(uint64_t more)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    summary->conditions = conditions_fir();
    struct column *cycles = SUMMARY_COLUMN(summary, "CPU_CYCLES", {18190 + more, 20}, {18204 + more, 51},
                                           {18250 + more, 19}, {18330 + more, 7}, {18544 + more, 1});
    cycles->overhead = 12;
    cycles->plus_minus = 1;
    SUMMARY_COLUMN(summary, "LD_RETIRED", {4096, 98});
    SUMMARY_COLUMN(summary, "L1D_CACHE_REFILL", {28, 30}, {31, 40}, {36, 20}, {47, 8});
    summary->hits = summary->wanted = 100;
    summary->tainted = 2;
    summary->seconds = 1.4;
    return summary;
}

static inline struct summary *summary_fir(void)
{
    return summary_slower(0);
}

static inline void summary_free(struct summary *summary)
{
    for (size_t i = 0; i < RESULT_COLUMNS; i++) /* a test may have hidden some */
        statistics_free(summary->columns[i].statistics);
    statistics_free(summary->undisturbed);
    free(summary);
}

static inline bool summary_line_write(FILE *out, const struct summary *summary)
{
    struct json_part line = json_part_new("summary");
    json_summary_fill(&line, summary);
    return json_part_write(out, line);
}

/* Of what `-j` writes of a run, with a hit in the middle. */
static inline struct baseline *baseline_of(const struct summary *summary)
{
    size_t size = 0;
    char *text = NULL;
    struct baseline *baseline = calloc(1, sizeof *baseline);
    struct error error = {0};
    struct hit_result hit = {.number = 1, .n = 1, .values = {{.count = 18204}}};
    FILE *out = open_memstream(&text, &size);
    assert_true(baseline != NULL && out != NULL);
    /* 2026-11-20T09:15:00Z */
    assert_true(json_header(out, &summary->conditions, summary->columns, summary->n, 1795166100));
    assert_true(json_hit(out, &hit, summary));
    assert_true(summary_line_write(out, summary));
    fclose(out);
    if (!baseline_parse(text, size, "main.jsonl", baseline, &error))
        fail_msg("%s", error.text);
    free(text);
    return baseline;
}

static inline void baseline_drop(struct baseline *baseline)
{
    baseline_free(baseline);
    free(baseline);
}

/* How a run that has just ended compares, as a line to be freed. */
static inline json_t *live_compare(const struct baseline *baseline, const struct summary *run,
                                   double threshold, size_t family)
{
    struct baseline now;
    assert_true(baseline_live(&now, run));
    struct json_part line = runs_compare(baseline, &now, threshold, family);
    baseline_free(&now);
    assert_true(line.ok);
    return line.json;
}

/* summary_fir as the baseline of `now`. To be freed. */
static inline json_t *comparison_with_fir(const struct summary *now, double threshold)
{
    struct summary *before = summary_fir();
    struct baseline *baseline = baseline_of(before);
    json_t *comparison = live_compare(baseline, now, threshold, 1);
    summary_free(before);
    baseline_drop(baseline);
    return comparison;
}
