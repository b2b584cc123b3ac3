/*
 * Counts over time windows, as `stat` shows them: text in perf's manner, JSON lines, CSV.
 */
#pragma once

#include "measure/result.h"

#include <stdbool.h>
#include <stdio.h>

/* The same of every command: of so many reads. */
#define COUNTS_LOST                                                                                          \
    "%s reads came too late: the counter may have wrapped in between, so totals are lower bounds"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_JUNIT, FORMAT_MARKDOWN };

struct counts_row {
    const char *name, *unsupported; /* unsupported: why; NULL or "" if it is supported */
    uint64_t count;
    double seconds; /* of its window */
    bool at_least, counted;
};

struct counts {
    struct counts_row rows[RESULT_COLUMNS];
    size_t n;
    struct metric_result metrics[RESULT_METRICS];
    size_t n_metrics;
    size_t passes;
    double seconds, since_begin; /* of an interval; when it ended */
    double clock_hz;             /* 0: unknown */
    uint64_t skew_us;            /* the counters of one sample were read within this */
    uint64_t halts, halted_us;   /* for samples, which cannot be had otherwise; 0: none */
    bool slept;                  /* the core was seen asleep */
    uint64_t lost;               /* samples that came too late for one of the counters */
};

/* All false when the output cannot be written. */
bool counts_begin(FILE *out, const struct conditions *conditions, const struct counts *counts,
                  enum format format, char separator);
bool counts_interval(FILE *out, const struct counts *interval, enum format format, char separator);
bool counts_end(FILE *out, const struct counts *counts, enum format format, char separator);
