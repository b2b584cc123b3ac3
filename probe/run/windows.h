/*
 * Sampling: what stat and watch share. Counts of one core, or with -a of all CPUs of a card and their sums,
 * over windows while the program runs.
 */
#pragma once

#include "measure/window.h"
#include "report/counts.h"
#include "run/counting.h"
#include "run/session.h"

#include <stdbool.h>
#include <stdint.h>

struct sampling {
    struct session session;
    struct counting counting;
    struct conditions conditions;
    struct clock clock;
    struct cpu_windows windows;
    struct cores_table interval, whole; /* only with -a */
    bool ended;                         /* before its time: no further sample is wanted */
    bool stopped;                       /* another debugger, or a breakpoint, halted the core */
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
/* With -a: puts the counts of this pass into `table`, with their sums, since the pass or the interval began.
 */
void sampling_fill(struct sampling *self, struct cores_table *table, const struct plan_pass *pass);
/* Without -a: the names of all columns; the counts of this pass since the interval began; the counts since
 * `from`, added to what other passes have put into `out`; the metrics of the counts in `out`. */
void sampling_name(const struct sampling *self, struct counts *out);
void sampling_interval(const struct sampling *self, const struct plan_pass *pass, struct counts *out);
void sampling_add(const struct sampling *self, const struct plan_pass *pass, const struct window *from,
                  struct counts *out);
void sampling_metrics(const struct sampling *self, struct counts *out);
/* ERROR_FOREIGN_STOP if another debugger halted the core. */
bool sampling_check_stop(const struct sampling *self, struct error *error);
