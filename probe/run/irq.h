/* SPDX-License-Identifier: MIT */
/*
 * What a core runs next to its main program, by its trace: each exception, or the values of a word,
 * such as an RTOS' current task. The core is never halted.
 */
#pragma once

#include "measure/stays.h"
#include "measure/verdict.h"
#include "report/canvas.h"
#include "report/stays_report.h"
#include "run/region.h"
#include "run/session.h"
#include "run/tasks.h"
#include "trace/trace.h"

#include <stdbool.h>

struct irq_run {
    struct session *session;
    struct progress *progress;
    struct conditions *conditions;
    bool of_word; /* the values of a word, and not exceptions */
    /* Of the caller: before the first moment, and each stay as it ends; only `begin` must be there */
    void *context;
    bool (*begin)(void *context, struct error *error);
    void (*named)(void *context, const struct stay_row *row);
    void (*stay)(void *context, const struct trace_stay *stay);
    void (*lost)(void *context, uint64_t cycles);
    struct region_file file;      /* with budgets */
    struct verdict_line *budgets; /* of each line of it */
    const struct stay_row **rows; /* by which each budget was decided; NULL: it never ran */
    uint64_t *handlers;           /* where each line of it begins */
    struct stays_line *lines;     /* of the result */
    struct tasks tasks;
    struct trace_wish word;
    struct stays stays;
    struct trace_contexts contexts;
    bool is_other_size;       /* a write is being taken that does not show the word's value */
    double seconds, awake_hz; /* awake_hz: see trial_trace_clock */
    char where[96];           /* the way of the trace */
};

/* Before the target is touched; `regions` may be NULL. */
bool irq_run_find(struct irq_run *run, const char *regions, struct error *error);
bool irq_run_measure(struct irq_run *run, struct error *error);
/* All of `out` but what the caller knows; its lines last as long as the run. `verdict` over all budgets;
 * NULL: they are not judged. False: out of memory. */
bool irq_run_result(struct irq_run *run, enum verdict *verdict, struct stays_result *out);
void irq_run_free(struct irq_run *run);
