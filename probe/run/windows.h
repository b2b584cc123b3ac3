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

struct windows {
    struct session session;
    struct counting counting;
    struct conditions conditions;
    struct clock clock;
    struct cpu_windows cpus;
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
bool windows_open(struct windows *self, const char *sees_running, struct error *error);
/* Restores the target and closes everything. */
bool windows_finish(struct windows *self, bool ok, struct error *error);

/* The window of the one core, or of the first CPU. */
struct window *windows_window(const struct windows *self);
bool windows_program(struct windows *self, const struct plan_pass *pass, struct error *error);
bool windows_begin(struct windows *self, struct error *error);
/* Samples until `until_us` of deadline_now_us, so often that no counter wraps unseen if that is possible. */
bool windows_until(struct windows *self, int64_t until_us, struct error *error);
/* With -a: puts the counts of this pass into `table`, with their sums, since the pass or the interval began.
 */
void windows_fill(struct windows *self, struct cores_table *table, const struct plan_pass *pass);
/* Without -a: the names of all columns; the counts of this pass since the interval began; the counts since
 * `from`, added to what other passes have put into `out`; the metrics of the counts in `out`. */
void windows_name(const struct windows *self, struct counts *out);
void windows_interval(const struct windows *self, const struct plan_pass *pass, struct counts *out);
void windows_add(const struct windows *self, const struct plan_pass *pass, const struct window *from,
                 struct counts *out);
void windows_metrics(const struct windows *self, struct counts *out);
/* ERROR_FOREIGN_STOP if another debugger halted the core. */
bool windows_check_stop(const struct windows *self, struct error *error);
