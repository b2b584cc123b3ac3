/* Tests that print a summary of their own: an empty one, or that in the documentation. */
#pragma once

#include "golden.h"
#include "report/baselines.h"

static struct summary *summary;

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

static inline int fresh_end(void **state)
{
    (void)state;
    summary_free(summary);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, fresh_empty, fresh_end)
#define FIR_TEST(name)   TEST_WITH(name, fresh_fir, fresh_end)
