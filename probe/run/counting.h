/* SPDX-License-Identifier: MIT */
/*
 * Counting: from a request (events, metrics, tick, show) to what is counted and read on the target
 * that a session has taken.
 */
#pragma once

#include "counters/metric.h"
#include "engine/engine.h"
#include "measure/plan.h"
#include "measure/result.h"
#include "measure/widen.h"
#include "run/session.h"

#include <stdbool.h>

enum { COUNTING_METRICS = RESULT_METRICS, COUNTING_METRIC_SETS = 1 + RESULT_METRICS };

struct counting {
    struct event_set *set;
    uint32_t midr;                                        /* of the core that is counted */
    struct metric_set *metric_sets[COUNTING_METRIC_SETS]; /* the built-in set, then one per file */
    const struct metric *metrics[COUNTING_METRICS];
    size_t n_metric_sets, n_metrics;
    struct plan *plan;
    struct wrap_evidence evidence;
    struct at_end at_end;
};

/* Whether the ELF has the variable that --tick names. Needs no target. */
bool counting_check_tick(const struct session *session, struct error *error);
/* Programs the first pass. The session must have taken its target. */
bool counting_open(struct counting *counting, struct session *session, const struct clock *clock,
                   struct error *error);
void counting_close(struct counting *counting);
/* The mean count of a column of the plan; NaN: not counted, or only a bound is known. */
typedef double counting_mean(const void *context, size_t column);
/* Returns the number of metrics; `out` has room for RESULT_METRICS. */
size_t counting_metrics(const struct counting *counting, counting_mean *mean, const void *context, double hz,
                        struct metric_result *out);
/* The same of a run's means, into its summary. */
void counting_summary(const struct counting *counting, double hz, struct summary *summary);
/* The words that --show names; `names` gets them as they are shown. */
bool counting_words(struct counting *counting, struct session *session, struct result_words *names,
                    struct error *error);
