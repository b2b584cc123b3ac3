/*
 * Expressions of metrics: from text to steps in reverse Polish notation.
 */
#pragma once

#include "counters/metric.h"
#include "counters/words.h"

struct metric_names {
    const char (*names)[EVENT_NAME]; /* the events that may be used */
    size_t n;
    uint32_t used; /* bit i: names[i] was */
};

/* Fills in the metric's steps and the events that they use. On failure `what` is told, near `at`. */
bool metric_expression_parse(struct span text, struct metric_names *names, struct metric *out,
                             const char **what, struct span *at);
