/* Summaries written by report/json and read back as baselines; output to compare byte by byte. */
#pragma once

// clang-format off
#include "test.h"
// clang-format on
#include "report/comparison.h"
#include "report/json.h"
#include "report/summaries.h"

static inline bool summary_line_write(FILE *out, const struct summary *summary)
{
    struct json_part line = json_part_new("summary");
    json_summary_fill(&line, summary);
    return json_part_write(out, line);
}

/* What `-j` writes of a run, with a hit in the middle. To be freed. */
static inline char *run_written(const struct summary *summary, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    assert_non_null(out);
    struct hit_result hit = {.number = 1, .n = 1, .values = {{.count = 18204}}};
    /* 2026-11-20T09:15:00Z */
    assert_true(json_header(out, &summary->conditions, summary->columns, summary->n, 1795166100));
    assert_true(json_hit(out, &hit, summary));
    assert_true(summary_line_write(out, summary));
    fclose(out);
    return text;
}

static inline struct baseline *baseline_of(const struct summary *summary)
{
    size_t size = 0;
    char *text = run_written(summary, &size);
    struct baseline *baseline = calloc(1, sizeof *baseline);
    struct error error = {0};
    assert_non_null(baseline);
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
                                   double threshold, bool any_elf, size_t family)
{
    struct baseline now;
    assert_true(baseline_live(&now, run));
    struct json_part line = runs_compare(baseline, &now, threshold, any_elf, family);
    baseline_free(&now);
    assert_true(line.ok);
    return line.json;
}

/* As summary_fir, with every value of the first column higher by `more`. */
static inline struct summary *summary_slower(uint64_t more)
{
    struct summary *summary = summary_fir();
    struct column *cycles = &summary->columns[0];
    const uint64_t values[][2] = {{18190, 20}, {18204, 51}, {18250, 19}, {18330, 7}, {18544, 1}};
    statistics_free(cycles->statistics);
    cycles->statistics = statistics_new();
    assert_non_null(cycles->statistics);
    summary_add(cycles->statistics, values, sizeof values / sizeof *values, more);
    snprintf(summary->conditions.build_id, sizeof summary->conditions.build_id, "1a2b3c4d");
    return summary;
}

/* summary_fir as the baseline of `now`. To be freed. */
static inline json_t *comparison_with_fir(const struct summary *now, double threshold)
{
    struct summary *before = summary_fir();
    struct baseline *baseline = baseline_of(before);
    json_t *comparison = live_compare(baseline, now, threshold, false, 1);
    summary_free(before);
    baseline_drop(baseline);
    return comparison;
}
