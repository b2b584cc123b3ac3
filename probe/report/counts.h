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

/*
 * Counts of many CPUs, as `stat -a` and `watch -a` show them: a table with a line a core, and the sum; JSON
 * lines with each CPU as well; CSV.
 */
struct cores_value {
    uint64_t count;
    double rate; /* a second, of each CPU in the time between the looks at it */
    bool at_least, counted;
};

struct cores_row {
    int cpu, core; /* -1: of a core, or of all of them */
    unsigned cpus; /* how many are in it */
    double seconds;
    struct cores_value values[RESULT_COLUMNS];
    struct metric_result metrics[RESULT_METRICS];
};

struct cores_table {
    struct {
        const char *name, *unsupported; /* as in struct counts_row */
    } columns[RESULT_COLUMNS];
    size_t n_columns, n_metrics;
    struct cores_row *rows; /* CPUs, then cores, then all */
    size_t n_rows;
    size_t passes;
    double since_begin; /* of an interval: when it ended; 0: of the whole */
    uint64_t skew_us, lost;
};

/* False when the output cannot be written. */
bool cores_begin(FILE *out, const struct conditions *conditions, const struct cores_table *table,
                 enum format format);
/* The line that ends JSON lines. */
bool cores_end(FILE *out, const struct cores_table *table);
bool cores_print(FILE *out, const struct cores_table *table, enum format format, char separator);
