/*
 * Surveys: many regions that were measured in one run, as a table and as JSON lines. The regions with the
 * largest share of all cycles come first.
 */
#pragma once

#include "measure/result.h"
#include "measure/verdict.h"
#include "report/comparison.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct survey_row {
    const char *name;              /* a location that finds it */
    const struct summary *summary; /* with its conditions; NULL: no hit */
    const char *why; /* it has no hit, or why its measurement ended early; "": it was not reached */
    double waited_s; /* for its first call, in vain; 0: unknown */
    const struct verdict_line *budget; /* NULL: it has none */
    struct comparison *comparison;     /* with the baseline; NULL: there is none */
};

struct survey {
    struct conditions conditions; /* without a region */
    bool judged;                  /* there are budgets or a baseline that count */
    const char *baseline;         /* its file; NULL: there is none */
    double threshold;
    struct survey_row *rows;
    size_t n;
    double seconds;  /* how long the run took */
    char ended[256]; /* why it ended early; "" */
};

bool survey_has_hits(const struct survey_row *row);
/* Of the first region that has hits; NULL: none has. */
const struct summary *survey_first(const struct survey *survey);

/* What is known of all calls; NaN: unknown. */
struct survey_rate {
    double share;      /* of all cycles, 0 to 1, callees and what interrupts it included */
    double plus_minus; /* two standard errors of `share`, as if the periods were independent */
    double per_second; /* calls */
    double doubt;      /* two standard errors of `per_second`, as a part of it */
    bool share_at_most, share_at_least, per_second_at_most;
    bool bursts; /* turns may have met one burst of calls each: all is an estimate by how many began in one */
};
struct survey_rate survey_rate(const struct summary *summary);
/* Of a row without a hit: "<not reached> in 1.2 s", or "<not measured>" if it has a reason. */
void survey_none_text(const struct survey_row *row, char *out, size_t size);
/* Calls per second, "9,279", and share, "41.2 %", "<41.2 %" or "~41 %"; "" for what is unknown. Each has
 * NUMBER_ROOM. */
void survey_rate_texts(const struct summary *summary, char *rate, char *share);

/* The i-th verdict of a region, NULL: there are no more. */
const struct verdict_line *survey_check(const struct survey_row *row, size_t i);
/* What it found, "1,105" or "1,200 -> 1,236 +3.00 %", and the verdict with its reason. */
void survey_numbers(const struct verdict_line *line, bool is_budget, char *out, size_t size);
void survey_describe(const struct survey_row *row, const struct verdict_line *line, char *out, size_t size);
/* Over all; without any, inconclusive. */
enum verdict survey_verdict(const struct survey *survey);

/* Largest share first, then those whose share is unknown, then those without a hit; else as they were. */
bool survey_sort(struct survey *survey); /* false: out of memory */

/* What a reader of its numbers must know; false: nothing. */
bool survey_remark(const struct survey_row *row, char *out, size_t size);

void survey_table(FILE *out, const struct survey *survey, size_t columns);
/* The verdicts, a line each, and over all. */
void survey_print_checks(FILE *out, const struct survey *survey, size_t columns);
/* One suite, with a case for each verdict, and for a region without one. */
bool survey_junit(FILE *out, const struct survey *survey);
/* One table. */
bool survey_markdown(FILE *out, const struct survey *survey);
/* False if a line could not be written whole; errno says why. */
bool survey_json_header(FILE *out, const struct conditions *conditions, const struct column *columns,
                        size_t n);
bool survey_json(FILE *out, const struct survey *survey);
