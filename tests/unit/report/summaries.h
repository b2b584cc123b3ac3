/* Summaries to print: the one in the documentation, and the awkward ones. */
#pragma once

#include "measure/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline struct conditions conditions_fir(void)
{
    return (struct conditions){
        .link = "openocd localhost:6666",
        .core = "Cortex-A9 r3p0 core 0",
        .counter = "PMUv1, 6 counters",
        .elf = "app.elf",
        .build_id = "c0ffee",
        .start = "fir_filter",
        .start_source = "fir.c:42",
        .end = "its return",
        .start_address = 0x10000200,
        .clock_hz = 666666687,
        .clock_source = "SystemCoreClock",
    };
}

/* `values` is a list of pairs: value, how often. Each is made higher by `more`. In no order, as hits come: in
   rising order they would drift. */
static inline void summary_add(struct statistics *statistics, const uint64_t (*values)[2], size_t n,
                               uint64_t more)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += values[i][1];
    uint64_t step = all % 61 != 0 ? 61 : 1;
    for (uint64_t k = 0; k < all; k++) {
        uint64_t at = k * step % all;
        size_t i = 0;
        while (at >= values[i][1])
            at -= values[i++][1];
        statistics_add(statistics, values[i][0] + more);
    }
}

/* Adds a column. */
static inline struct column *summary_column(struct summary *summary, const char *name,
                                            const uint64_t (*values)[2], size_t n)
{
    struct column *column = &summary->columns[summary->n++];
    snprintf(column->name, sizeof(column->name), "%s", name);
    column->statistics = statistics_new();
    column->calibrated = true;
    summary_add(column->statistics, values, n, 0);
    return column;
}

#define SUMMARY_COLUMN(summary, name, ...)                                                                   \
    summary_column(summary, name, (const uint64_t[][2]){__VA_ARGS__},                                        \
                   sizeof((const uint64_t[][2]){__VA_ARGS__}) / sizeof(uint64_t[2]))

static inline struct summary *summary_fir(void)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    summary->conditions = conditions_fir();
    struct column *cycles =
        SUMMARY_COLUMN(summary, "CPU_CYCLES", {18190, 20}, {18204, 51}, {18250, 19}, {18330, 7}, {18544, 1});
    cycles->overhead = 12;
    cycles->plus_minus = 1;
    SUMMARY_COLUMN(summary, "LD_RETIRED", {4096, 98});
    SUMMARY_COLUMN(summary, "L1D_CACHE_REFILL", {28, 30}, {31, 40}, {36, 20}, {47, 8});
    summary->hits = summary->wanted = 100;
    summary->tainted = 2;
    summary->seconds = 1.4;
    return summary;
}

static inline void summary_free(struct summary *summary)
{
    for (size_t i = 0; i < RESULT_COLUMNS; i++) /* a test may have hidden some */
        statistics_free(summary->columns[i].statistics);
    statistics_free(summary->undisturbed);
    free(summary);
}
