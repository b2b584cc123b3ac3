/*
 * JUnit XML, which every CI shows: suites of cases. A case fails if something regressed, has an error if it
 * is not comparable, and is skipped if nothing else is known. Properties say what was measured on what. Texts
 * may hold any bytes.
 */
#pragma once

#include "report/run_report.h"

/* Any number of suites between the two. */
void junit_begin(FILE *out);
bool junit_end(FILE *out); /* false: not all could be written */

struct junit_suite {
    const char *name;
    double seconds;
    struct json_part properties; /* an object */
    struct json_part cases;      /* an array */
    struct json_part said;       /* texts below the cases */
};
struct junit_suite junit_suite(const char *name, double seconds);
/* Frees what it holds. False: out of memory. */
bool junit_write(FILE *out, struct junit_suite *suite);

void junit_conditions(struct junit_suite *suite, const struct conditions *conditions);
/* `seconds` 0: it has no duration; `verdict` "": the case passes if `column` is counted. Both texts may be
 * "". */
struct junit_case {
    const char *class, *name, *verdict, *message;
    const json_t *column; /* its numbers follow; NULL: it has none */
    double seconds;
};
/* A case for each of its verdicts; `each`: and for each other column, else for those after the first, which
 * is the case "measured" if there are no verdicts. */
void junit_add_run(struct junit_suite *suite, const struct run_lines *run, const char *class, bool each);

/* A suite with a case for each column of the run, and for each that only its baseline has. */
bool junit_run(FILE *out, const struct run_lines *run);
