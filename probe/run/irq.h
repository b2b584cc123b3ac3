/*
 * What a core runs beside its main program, by its trace: each exception that comes, or the values of a word,
 * such as an RTOS' current task. The core is never halted.
 */
#pragma once

#include "measure/stays.h"
#include "measure/verdict.h"
#include "report/canvas.h"
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
    uint64_t *handlers;           /* where each line of it begins */
    struct tasks tasks;
    struct trace_wish word;
    struct stays stays;
    struct trace_contexts contexts;
    size_t n_named;
    double seconds;
    char where[96]; /* the trace came through */
};

/* Before the target is touched; `regions` may be NULL. */
bool irq_run_find(struct irq_run *run, const char *regions, struct error *error);
bool irq_run_measure(struct irq_run *run, struct error *error);
/* The row of the handler at which the i-th line of the file begins; NULL: it never ran. */
const struct stay_row *irq_run_row(const struct irq_run *run, size_t i);
/* Over all lines with a budget. False: out of memory. */
bool irq_run_judge(struct irq_run *run, const struct conditions *conditions, enum verdict *out);
void irq_run_free(struct irq_run *run);
