/*
 * Results: what a measurement has to tell, in the words of the person who asked. measure/ fills these in,
 * report/ prints them; neither calls the other.
 */
#pragma once

#include "measure/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESULT_COLUMNS = 64, RESULT_WORDS = 16 };

/* Registers and memory as they were at the end of a hit. */
struct result_words {
    char names[RESULT_WORDS][48];
    uint64_t values[RESULT_WORDS];
    size_t n;
};

/* Under a delta as under a stat. */
#define RESULT_SLEPT                                                                                         \
    "the core was seen asleep: while it is debugged its clock may go on in WFI and WFE, and cycles count "   \
    "that "                                                                                                  \
    "do not without a debugger"

enum { RESULT_METRICS = 16 };

/* What -M asked for, made of means. */
struct metric_result {
    char name[96], unit[16];
    double value;  /* NaN: something that it is made of was not counted, or only bounded */
    char why[128]; /* then: what that is; "": not known */
};

/* Everything that is needed to judge a number later. Empty strings and zeros: unknown. */
struct conditions {
    char link[128];   /* "openocd localhost:6666" */
    char core[64];    /* "Cortex-M0+ r0p1 core 0" */
    char counter[64]; /* "SysTick, 24 bits, reload 0xFFFFFF" */
    char note[256]; /* what was enabled or used for the run: "CYCCNT was off; enabled for this measurement" */
    char elf[256], build_id[80];
    char start[160], end[160]; /* "fir_filter", "its return", "*0x10000200" */
    char start_source[256], end_source[256];
    uint64_t start_address, end_address; /* end 0: found anew at each entry */
    double clock_hz, clock_error_hz;
    char clock_source[32]; /* "--freq", "SystemCoreClock", "measured" */
};

/* One counted thing over all clean hits. */
struct column {
    char name[96];        /* "CPU_CYCLES" */
    char unsupported[96]; /* why it cannot be counted here; "" if it can */
    struct statistics *statistics;
    double overhead;       /* what a halt adds, already removed */
    double plus_minus;     /* half-width of the interval around each value */
    bool calibrated;       /* overhead and plus_minus were measured */
    uint64_t at_least;     /* hits of which only a lower bound is known; they are not in `statistics` */
    uint64_t at_least_max; /* the highest such bound */
    unsigned bits;         /* of its counter; 0: not known, or a wider total */
};

struct value {
    uint64_t count;
    bool at_least; /* the truth may be higher */
    bool absent;   /* not in this hit's pass */
};

struct hit_result {
    uint64_t number; /* from 1 */
    unsigned pass;   /* from 0 */
    bool tainted;
    double seconds; /* since the run began */
    size_t n;
    struct value values[RESULT_COLUMNS];
    bool is_max;           /* the highest so far of the first column */
    const uint64_t *words; /* with is_max: as named in the summary's at_max; NULL: none were asked for */
};

struct summary {
    struct conditions conditions;
    size_t n;
    struct column columns[RESULT_COLUMNS];
    unsigned passes;                /* over which the columns are spread */
    uint64_t hits, tainted, wanted; /* wanted 0: as many as came in the time; of each pass */
    char disagreement[160];         /* how the passes' cycles differ beyond their spread; "" if they do not */
    uint64_t left;                  /* calls that were made again before they returned; not among the hits */
    bool slept;                     /* the core was seen asleep inside a hit */
    uint64_t steps_past;            /* passages through the end in another frame, stepped past */
    double seconds;                 /* how long the run took */
    struct statistics
        *undisturbed; /* the first column of hits in which no exception was counted; NULL: not known */
    struct metric_result metrics[RESULT_METRICS];
    size_t n_metrics;
    struct result_words at_max; /* n 0: not asked for */
    uint64_t max_number,
        max_value;         /* the hit with the highest value of the first column; number 0: none yet */
    char uncalibrated[96]; /* why what a halt adds could not be measured; "" if it was, or was not to be */
    char advice[96];       /* what would count hits of which only a bound is known; "" */
    char ended[256];       /* why it ended before `wanted`: "Ctrl-C", "cancelled"; else "" */
};
