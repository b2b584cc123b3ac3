/*
 * Counts over time windows, as `stat` and `watch` show them: of one core, and of all CPUs of a card (-a).
 * Text in perf's manner, JSON lines, CSV.
 */
#pragma once

#include "measure/result.h"
#include "report/formats.h"

#include <stdbool.h>
#include <stdio.h>

/* Its argument is the number of reads. */
#define COUNTS_LOST                                                                                          \
    "%s reads came too late: the counter may have wrapped in between, so totals are lower bounds"

struct counts_row {
    const char *name, *unsupported; /* unsupported: the reason; NULL or "" if it is supported */
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
    double seconds, since_begin; /* of an interval: its length and when it ended */
    double clock_hz;             /* 0: unknown */
    uint64_t skew_us;            /* all counters of a sample were read within this time */
    uint64_t halts, halted_us;   /* to take samples; 0: none were needed */
    bool slept;                  /* the core was seen asleep */
    const char *clock_change;    /* since the header was printed; NULL or "": none */
    uint64_t samples;            /* taken after the first one */
    uint64_t lost;               /* samples that came too late for a counter */
};

/* All false when the output cannot be written. */
bool counts_begin(FILE *out, const struct conditions *conditions, const struct counts *counts,
                  enum format format, char separator);
bool counts_interval(FILE *out, const struct counts *interval, enum format format, char separator);
bool counts_end(FILE *out, const struct counts *counts, enum format format, char separator);
/* A line of `type` with the counts of a window. */
bool json_counts(FILE *out, const char *type, const struct counts *counts);
/* The target was reset so many seconds after the begin. */
bool json_reset(FILE *out, double seconds);
/* All of it, by its lines. */
struct document;
struct rendering;
bool counts_show(const struct rendering *to, const struct document *document);

/* Counts of many CPUs: a table with a line for each core and one for the sum. JSON also has every CPU. */
struct cores_value {
    uint64_t count;
    double rate; /* a second; each CPU over the time between its own samples */
    bool at_least, counted;
};

struct cores_row {
    int cpu, core; /* cpu -1: a whole core; core -1: all of them */
    unsigned cpus; /* number of CPUs in the row */
    double seconds;
    struct cores_value values[RESULT_COLUMNS];
    struct metric_result metrics[RESULT_METRICS];
};

struct cores_table {
    struct {
        const char *name, *unsupported; /* as in struct counts_row */
    } columns[RESULT_COLUMNS];
    size_t n_columns, n_metrics;
    struct cores_row *rows; /* CPUs, then cores, then the sum */
    size_t n_rows;
    size_t passes;
    double since_begin; /* when the interval ended; 0: the whole run */
    uint64_t skew_us, lost;
};

/* False when the output cannot be written. */
bool cores_begin(FILE *out, const struct conditions *conditions, const struct cores_table *table,
                 enum format format, char separator);
/* The last of the JSON lines. */
bool cores_end(FILE *out, const struct cores_table *table);
bool cores_print(FILE *out, const struct cores_table *table, enum format format, char separator);
