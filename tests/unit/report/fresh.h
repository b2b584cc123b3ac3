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

static inline void fresh_empty(void)
{
    summary = calloc(1, sizeof *summary);
    assert_non_null(summary);
}

static inline void fresh_fir(void)
{
    summary = summary_fir();
}

static inline void fresh_slower(void)
{
    summary = summary_slower(900);
    snprintf(summary->conditions.build_id, sizeof summary->conditions.build_id, "1a2b3c4d");
    fresh_compare(0.02);
}

static inline void fresh_end(void)
{
    summary_free(summary);
    json_decref(compared);
    compared = NULL;
}

#define FRESH_TEST(name)  TEST_BETWEEN(name, fresh_empty, fresh_end)
#define FIR_TEST(name)    TEST_BETWEEN(name, fresh_fir, fresh_end)
#define SLOWER_TEST(name) TEST_BETWEEN(name, fresh_slower, fresh_end)
