/* Tests with an empty summary, that in the documentation, or a slower one and how it compares with that. */
#pragma once

#include "golden.h"
#include "report/summaries.h"

static struct summary *summary;
static json_t *compared; /* its line; NULL: with nothing */

static inline void fresh_compare(double threshold)
{
    json_decref(compared);
    compared = comparison_with_fir(summary, threshold);
}

static inline int fresh_empty(void **state)
{
    (void)state;
    summary = calloc(1, sizeof *summary);
    return summary == NULL;
}

static inline int fresh_fir(void **state)
{
    (void)state;
    summary = summary_fir();
    return 0;
}

static inline int fresh_slower(void **state)
{
    (void)state;
    summary = summary_slower(900);
    snprintf(summary->conditions.build_id, sizeof summary->conditions.build_id, "1a2b3c4d");
    fresh_compare(0.02);
    return 0;
}

static inline int fresh_end(void **state)
{
    (void)state;
    summary_free(summary);
    json_decref(compared);
    compared = NULL;
    return 0;
}

#define FRESH_TEST(name)  TEST_WITH(name, fresh_empty, fresh_end)
#define FIR_TEST(name)    TEST_WITH(name, fresh_fir, fresh_end)
#define SLOWER_TEST(name) TEST_WITH(name, fresh_slower, fresh_end)
