/*
 * Results: what a measurement has to tell, in the words of the person who asked. measure/ fills these in,
 * report/ prints them; neither calls the other.
 */
#pragma once

#include "measure/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESULT_COLUMNS = 64 };

/* Everything that is needed to judge a number later. Empty strings and zeros: unknown. */
struct conditions {
    char link[128];   /* "openocd localhost:6666" */
    char core[64];    /* "Cortex-M0+ r0p1 core 0" */
    char counter[64]; /* "SysTick, 24 bits, reload 0xFFFFFF" */
    char note[128];   /* what was borrowed or switched on for the run: "SysTick was idle and is borrowed" */
    char elf[256], build_id[80];
    char start[160], end[160]; /* "fir_filter", "its return", "*0x10000200" */
    char start_source[256], end_source[256];
    uint64_t start_address, end_address; /* end 0: found anew at each entry */
    double clock_hz, clock_error_hz;
    char clock_source[32]; /* "--freq", "SystemCoreClock", "measured" */
};

/* One counted thing over all clean hits. */
struct column {
    char name[32]; /* "CPU_CYCLES" */
    struct statistics *statistics;
    double overhead;       /* what a halt adds, already removed */
    double plus_minus;     /* half-width of the interval around each value */
    bool calibrated;       /* overhead and plus_minus were measured */
    uint64_t at_least;     /* hits of which only a lower bound is known; they are not in `statistics` */
    uint64_t at_least_max; /* the highest such bound */
};

struct value {
    uint64_t count;
    bool at_least; /* the truth may be higher */
};

struct hit_result {
    uint64_t number; /* from 1 */
    bool tainted;
    double seconds; /* since the run began */
    size_t n;
    struct value values[RESULT_COLUMNS];
};

struct summary {
    struct conditions conditions;
    size_t n;
    struct column columns[RESULT_COLUMNS];
    uint64_t hits, tainted, wanted; /* wanted 0: as many as came in the time */
    uint64_t steps_past;            /* passages through the end in another frame, stepped past */
    double seconds;                 /* how long the run took */
    char ended[256]; /* why it ended before `wanted`: "Ctrl-C", "stopped at main.c:88, not ours"; else "" */
};
