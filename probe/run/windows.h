/* SPDX-License-Identifier: MIT */
/*
 * Counts of one core, or with -a of all CPUs of a card and their sums, over windows while the program runs.
 */
#pragma once

#include "measure/window.h"
#include "report/counts.h"
#include "run/counting.h"
#include "run/session.h"

#include <stdbool.h>
#include <stdint.h>

struct tally_value {
    uint64_t count;
    uint64_t cycles; /* column 0 of its window; 0: the same window as the others', or it has none */
    double seconds;  /* of its window */
    double rate;     /* a second; each CPU over the time between its own samples */
    bool at_least, counted;
};

struct tally_row {
    int cpu, core; /* cpu -1: a whole core; core -1: all of them */
    unsigned cpus; /* number of CPUs in the row */
    double seconds;
    struct tally_value values[RESULT_COLUMNS];
};

/* What was counted, of an interval or of all windows. */
struct tally {
    struct tally_row *rows; /* CPUs; with -a then cores, then the sum */
    size_t n;
    double since_begin;        /* when it ended */
    uint64_t skew_us;          /* all counters of a sample were read within this time */
    uint64_t samples, lost;    /* samples after the first one; those that were too late for a counter */
    uint64_t halts, halted_us; /* to take samples; 0: none were needed */
};

struct windows {
    struct session session;
    struct counting counting;
    struct conditions conditions;
    struct clock clock;
    struct cpu_windows cpus;
    struct tally interval, whole;
    int64_t begun_us;         /* of deadline_now_us; by the command */
    const char *clock_change; /* since the header was printed, by the command; NULL or "": none */
    bool ended;               /* before its time: no further sample is wanted */
    bool stopped;             /* another debugger, or a breakpoint, halted the core */
    struct counts_report report;
    size_t pass;    /* of windows_run */
    int64_t end_us; /* of its window */
    /* Of the command: */
    void *context;
    bool (*begin)(void *context, struct error *error); /* of windows_run: before the first window */
    bool (*show)(void *context,
                 struct error *error); /* of windows_run: an interval is over, its tally made */
    bool (*wait)(void *context, int64_t us, struct error *error); /* between samples */
    bool (*recover)(void *context, struct error *error);          /* after a failed sample; false: cannot */
};

/* Opens the session and takes the chosen core, or all CPUs. `sees_running`: the name of a command that needs
 * a core which runs between its halts; else NULL. */
bool windows_open(struct windows *self, const char *sees_running, struct error *error);
/* Between two samples. Through a debugger the core runs only then, and each sample halts it. */
bool windows_pass_time(struct windows *self, int64_t us, struct error *error);
/* After the session. */
void windows_free(struct windows *self);

/* The window of the one core, or of the first CPU. */
struct window *windows_window(const struct windows *self);
bool windows_program(struct windows *self, const struct plan_pass *pass, struct error *error);
bool windows_begin(struct windows *self, struct error *error);
/* Samples until `until_us` of deadline_now_us, so often that no counter wraps unseen if that is possible. */
bool windows_until(struct windows *self, int64_t until_us, struct error *error);
/* All passes, a window each, so long as the request says; of each window `whole` is made, and at the
 * request's interval `show` is called. */
bool windows_run(struct windows *self, struct error *error);
/* Into `interval`: the counts of this pass since the interval began. Into `whole`: those since the pass
 * began, added to what other passes have put into it. */
void windows_tally(struct windows *self, struct tally *tally, const struct plan_pass *pass);
/* The lines of one of the two, to be freed: `sample`; `summary`; with -a `cpu`, `core`, `all`, and of the
 * whole a `summary`. */
struct document windows_lines(const struct windows *self, const struct tally *tally);

/* False: it could not be written. The header, which is taken anew; then lines, which are freed. */
bool windows_print_begin(struct windows *self, const struct rendering *to);
bool windows_print(struct windows *self, struct document lines);
/* ERROR_FOREIGN_STOP if another debugger halted the core. */
bool windows_check_stop(const struct windows *self, struct error *error);
