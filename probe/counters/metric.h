/* SPDX-License-Identifier: MIT */
/*
 * Metrics: numbers made of counts, such as cycles per instruction. They are text files: those in
 * probe/metrics, which the build embeds, and the user's own. This knows which events a metric needs, and
 * computes its value from their counts.
 */
#pragma once

#include "base/error.h"
#include "counters/counter.h"
#include "counters/events.h"

#include <stdbool.h>
#include <stddef.h>

enum { METRIC_UNIT = 16, METRIC_EVENTS = 16, METRIC_STEPS = 64, METRIC_TEXT = 160 };

/* One step in reverse Polish notation. */
struct metric_step {
    enum metric_op {
        METRIC_NUMBER,
        METRIC_EVENT, /* metric.events[event] */
        METRIC_CYCLES,
        METRIC_SECONDS,
        METRIC_HZ,
        METRIC_ADD,
        METRIC_SUBTRACT,
        METRIC_MULTIPLY,
        METRIC_DIVIDE,
        METRIC_NEGATE,
    } op;
    unsigned event;
    double number;
};

struct metric {
    char name[EVENT_NAME];
    char unit[METRIC_UNIT]; /* "": none */
    char text[METRIC_TEXT]; /* the expression as it was written, cut to fit */
    char events[METRIC_EVENTS][EVENT_NAME];
    size_t n_events; /* to be counted in one pass */
    struct metric_step steps[METRIC_STEPS];
    size_t n_steps;
};

struct metric_set;

/* Whether what is in place of a metric's name is a file: it has a character that no metric's name has. */
bool metric_is_file(const char *text, size_t length);

/*
 * Lines are:
 *     EVENTS A, B, C                      what the METRICs below it are made of, till the next EVENTS
 *     METRIC NAME [UNIT] = expression     of numbers, those events, CYCLES, SECONDS and HZ, + - * / ( )
 * A name may be in several sections: for cores with different events. ERROR_USAGE with the line for
 * anything else.
 */
struct metric_set *metric_set_parse(const char *text, size_t n, struct error *error);
/* An embedded file by its name, in any case; NULL: all of them. The error lists those that are. */
struct metric_set *metric_set_open(const char *name, struct error *error);
void metric_set_free(struct metric_set *set);

size_t metric_set_count(const struct metric_set *set);
const struct metric *metric_set_at(const struct metric_set *set, size_t i);
/* The first metric of this name (ignoring case) for which `has` is true of each event; NULL: there is none.
 * `has` NULL: the first of the name. */
const struct metric *metric_set_find(const struct metric_set *set, const char *name,
                                     bool (*has)(void *self, const char *event), void *self);

struct metric_input {
    const double *counts; /* of metric.events, in that order; NaN: not counted */
    double cycles, seconds, hz;
};

bool metric_uses(const struct metric *metric, enum metric_op op); /* such as METRIC_HZ */
/* Those of its events, as event_errata; but not one after which it is called, for it allows for that. */
void metric_errata(const struct metric *metric, const struct event_set *set, uint32_t midr,
                   char out[EVENT_ERRATA]);
/* NaN if a value was not counted, or after a division by zero. */
double metric_evaluate(const struct metric *metric, const struct metric_input *input);
