/* SPDX-License-Identifier: MIT */
/*
 * Surveys: many regions that were measured in one run, as JSON lines. The regions with the
 * largest share of all cycles are first.
 */
#pragma once

#include "measure/result.h"
#include "measure/verdict.h"
#include "report/comparison.h"
#include "report/document.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct survey_row {
    const char *name;              /* a location that finds it */
    const struct summary *summary; /* with its conditions; NULL: no hit */
    const char *why;   /* it has no hit, or why its measurement ended early; "": it was not reached */
    const char *end;   /* NULL: it is a function, up to its return */
    const char *start; /* where it starts; NULL: at its name */
    uint64_t samples;  /* of the PC that were in it before the survey */
    bool no_turn;      /* there was no time for it */
    double waited_s;   /* for its first call, in vain; 0: unknown */
    const struct verdict_line *budget; /* NULL: it has none */
    json_t *comparison;                /* with the baseline, its line; NULL: there is none */
};

struct survey {
    struct conditions conditions; /* without a region */
    bool judged;                  /* there are budgets or a baseline that count */
    struct survey_row *rows;
    size_t n;
    double seconds;        /* how long the run took */
    uint64_t samples;      /* of the PC, before; 0: none were taken */
    char not_sampled[256]; /* why the hottest are not first; "" */
    double rest_s;         /* what those take, about, for which there was no time; 0: there was for all */
    char ended[256];       /* why it ended early; "" */
};

/* What is known of all calls; NaN: unknown. */
struct survey_rate {
    double share;      /* of all cycles, 0 to 1, callees and what interrupts it included */
    double plus_minus; /* two standard errors of `share`, and what so few turns leave open */
    double per_second; /* calls */
    double doubt;      /* that of `per_second`, as a part of it */
    bool bursts; /* turns may have met one burst of calls each: all is an estimate by how many began in one */
};
struct survey_rate survey_rate(const struct summary *summary);
/* Over all; without any, inconclusive. */
enum verdict survey_verdict(const struct survey *survey);

/* Largest share first, then those whose share is unknown, then those without a hit; else as they were. */
bool survey_sort(struct survey *survey); /* false: out of memory */

/* The lines below the header. */
void survey_lines(struct document *document, const struct survey *survey);
/* The object `budget` of a line; NULL: it has none. `hz`: 0 if the clock is not known. */
void budget_put(struct json_part *line, const struct verdict_line *verdict, double hz);
