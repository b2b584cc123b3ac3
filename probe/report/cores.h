/*
 * Counts of many CPUs, as `stat -a` and `watch -a` show them: a table with a line a core, and the sum; JSON
 * lines with each CPU as well; CSV.
 */
#pragma once

#include "measure/result.h"
#include "report/counts.h"

#include <stdbool.h>
#include <stdio.h>

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
