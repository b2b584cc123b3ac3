/*
 * Sampling: what stat and watch share. Counts of one core, or with -a of all CPUs of a card and their sums,
 * over windows while the program runs.
 */
#pragma once

#include "commands/counting.h"
#include "commands/session.h"
#include "measure/window.h"
#include "report/counts.h"

#include <stdbool.h>
#include <stdint.h>

struct tally_value {
    uint64_t count;
    double seconds; /* of its window */
    double rate;    /* a second; each CPU over the time between its own samples */
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
    uint64_t samples, lost;    /* samples after the first one; those that came too late for a counter */
    uint64_t halts, halted_us; /* to take samples; 0: none were needed */
};

struct sampling {
    struct session session;
    struct counting counting;
    struct conditions conditions;
    struct clock clock;
    struct cpu_windows windows;
    struct tally interval, whole;
    int64_t begun_us;         /* of deadline_now_us; by the command */
    const char *clock_change; /* since the header was printed, by the command; NULL or "": none */
    bool ended;               /* before its time: no further sample is wanted */
    bool stopped;             /* another debugger, or a breakpoint, halted the core */
    struct counts_report report;
    /* Of the command: */
    void *context;
    bool (*wait)(void *context, int64_t us, struct error *error); /* between samples */
    bool (*recover)(void *context, struct error *error);          /* after a failed sample; false: cannot */
};

/* Opens the session and takes the chosen core, or all CPUs. `sees_running`: the name of a command that needs
 * a core which runs between its halts; else NULL. */
bool sampling_open(struct sampling *self, const char *sees_running, struct error *error);
/* Restores the target and closes everything. Returns the exit code. */
int sampling_finish(struct sampling *self, bool ok, struct error *error);

/* The window of the one core, or of the first CPU. */
struct window *sampling_window(const struct sampling *self);
bool sampling_program(struct sampling *self, const struct plan_pass *pass, struct error *error);
bool sampling_begin(struct sampling *self, struct error *error);
/* Samples until `until_us` of deadline_now_us, so often that no counter wraps unseen if that is possible. */
bool sampling_until(struct sampling *self, int64_t until_us, struct error *error);
/* Into `interval`: the counts of this pass since the interval began. Into `whole`: those since the pass
 * began, added to what other passes have put into it. */
void sampling_tally(struct sampling *self, struct tally *tally, const struct plan_pass *pass);
/* The lines of one of the two, to be freed: `sample`; `summary`; with -a `cpu`, `core`, `all`, and of the
 * whole a `summary`. */
struct document sampling_lines(const struct sampling *self, const struct tally *tally);

/* To the output, in the format that the user wants, or in another one. False: it could not be written. The
 * header, which is taken anew; then lines, which are freed. */
bool sampling_print_begin(struct sampling *self, enum format format);
bool sampling_print(struct sampling *self, struct document lines);
/* ERROR_FOREIGN_STOP if another debugger halted the core. */
bool sampling_check_stop(const struct sampling *self, struct error *error);
