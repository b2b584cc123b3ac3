/*
 * Counting: from what the user typed (-e, -M, --tick, --on-max) to what is counted and read on the target
 * that a session has taken.
 */
#pragma once

#include "commands/session.h"
#include "counters/metric.h"
#include "engine/engine.h"
#include "measure/plan.h"
#include "measure/result.h"
#include "measure/wrap_evidence.h"

#include <stdbool.h>

enum { COUNTING_METRICS = RESULT_METRICS, COUNTING_METRIC_SETS = 1 + RESULT_METRICS };

struct counting {
    struct event_set *set;
    struct metric_set *metric_sets[COUNTING_METRIC_SETS]; /* the built-in ones, and a file each */
    const struct metric *metrics[COUNTING_METRICS];
    size_t n_metric_sets, n_metrics;
    struct plan *plan;
    struct wrap_evidence evidence;
    struct at_end at_end;
};

/* Whether the ELF has what --tick names: the target is not needed for that. */
bool counting_check_tick(const struct session *session, struct error *error);
/* The session has taken its target. Programs the first pass. */
bool counting_open(struct counting *counting, struct session *session, const struct clock *clock,
                   struct error *error);
void counting_close(struct counting *counting);
/* What was counted of a column of the plan, on average; NaN: nothing, or only a bound. */
typedef double counting_mean(const void *context, size_t column);
/* Returns how many there are; `out` has room for RESULT_METRICS. */
size_t counting_metrics(const struct counting *counting, counting_mean *mean, const void *context, double hz,
                        struct metric_result *out);
/* What --on-max names; `names` gets them as they are shown. */
bool counting_words(struct counting *counting, struct session *session, struct result_words *names,
                    struct error *error);
