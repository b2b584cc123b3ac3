/* SPDX-License-Identifier: MIT */
/*
 * Results: the numbers of a measurement and the conditions under which they were taken, such as the clock:
 * how fast the core runs, by the user, by the program's own variable, or by a counter measured against host
 * time. measure/ fills them in, report/ prints them; neither calls the other.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/values.h"
#include "counters/events.h"
#include "device/device.h"
#include "measure/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RESULT_COLUMNS = 64, RESULT_WORDS = 16, REGION_NAME = 1024 };

/* Registers and memory at the end of a hit. */
struct result_words {
    char names[RESULT_WORDS][48];
    uint64_t values[RESULT_WORDS];
    size_t n;
};

#define RESULT_SLEPT "the core was seen asleep: its clock may go on then and count too many cycles, or stop"

enum { RESULT_METRICS = 16 };

/* A metric of -M, computed from means. */
struct metric_result {
    char name[96], unit[16];
    double value;              /* NaN: one of its events was not counted, or only bounded */
    char why[128];             /* of NaN; "": unknown */
    char errata[EVENT_ERRATA]; /* of its events; "" */
};

/* What a reader needs to judge a number later. Empty strings and zeros: unknown. */
struct conditions {
    char link[128];   /* "openocd localhost:6666" */
    char core[64];    /* "Cortex-M0+ r0p1 core 0" */
    char counter[64]; /* "SysTick, 24 bits, reload 0xFFFFFE" */
    char note[1024];  /* "CYCCNT was off; enabled for this measurement" */
    char elf[256], build_id[80], elf_hash[24];
    char start[REGION_NAME], end[REGION_NAME]; /* "fir_filter", "its return", "fir.c:42" */
    char start_source[256], end_source[256];
    char start_file[512];                /* its whole path */
    uint64_t start_address, end_address; /* end 0: a return address, read at each entry */
    double clock_hz, clock_error_hz;
    double clock_off_hz;  /* of a claimed clock: how far it may be off by what was seen of the counter; 0:
                             nothing was */
    double clock_awake;   /* the part of the time in which the counter went on, about; 0: no less than all */
    bool clock_sleeps_on; /* the counter goes on while the core sleeps */
    double counter_hz; /* where clock_change says that no time is known: of the counter while it goes on; 0 */
    char clock_source[32]; /* "--freq", "SystemCoreClock", "measured" */
    char clock_change[96]; /* known at the end: "SystemCoreClock went from 12 MHz to 4 MHz during the run" */
};

/* Why a count of cycles does not say how long it took, as the core may have slept inside; NULL: it does.
 * `slept`: it was seen asleep there; `may_sleep`: what is measured has a WFI or WFE. */
const char *conditions_no_time(const struct conditions *conditions, bool slept, bool may_sleep);
/* So: from here on no times. */
void conditions_leave_time(struct conditions *conditions, const char *why);

/* Calls that were seen, but are not in the statistics. */
struct left_out {
    uint64_t all;                  /* calls, with those of the statistics, and the gaps, each as one */
    uint64_t bounded, unbounded;   /* of these */
    uint64_t least, most, longest; /* what the bounded ones took together, and the longest of them at most */
};

/* One counted thing over all clean hits. */
struct column {
    char name[96];             /* "CPU_CYCLES" */
    char unsupported[96];      /* why it cannot be counted here; "" if it can */
    char errata[EVENT_ERRATA]; /* by which the core counts it wrongly; "" */
    struct statistics *statistics;
    double overhead;          /* cost of the halts, already removed */
    double plus_minus;        /* half-width of the interval around each value */
    bool calibrated;          /* overhead and plus_minus were measured */
    uint64_t at_least;        /* hits with only a lower bound; not in `statistics` */
    uint64_t at_least_max;    /* the highest such bound */
    unsigned bits;            /* of its counter; 0: unknown, or a wider total */
    double pass_mean;         /* of the first column, in the pass that counted this one; 0: unknown */
    struct left_out left_out; /* by trace: they differ from the others */
    struct left_out apart;    /* by halts: calls that were left, and tainted hits. Budgets ask for them */
};

/* Of the mean of all calls: those that are left out, and what they may have taken, are in it. */
struct series_error column_error(const struct column *column);

/* Above this part what is left out is named. */
static const double result_few_left_out = 0.01;

/* What an event says of handlers that ran inside: it is 0 if none did. */
enum result_exceptions {
    RESULT_EXCEPTIONS_NOT,    /* nothing */
    RESULT_EXCEPTIONS_TAKEN,  /* how many were taken */
    RESULT_EXCEPTIONS_CYCLES, /* the cycles of their entry and exit */
};

static inline enum result_exceptions result_exceptions(const char *column)
{
    return strcmp(column, "EXC_TAKEN") == 0 ? RESULT_EXCEPTIONS_TAKEN
           : strcmp(column, "EXCCNT") == 0  ? RESULT_EXCEPTIONS_CYCLES
                                            : RESULT_EXCEPTIONS_NOT;
}

struct value {
    uint64_t count;
    bool at_least; /* the truth may be higher */
    bool absent;   /* not in this hit's pass */
};

struct hit_result {
    uint64_t number; /* from 1 */
    unsigned pass;   /* from 0 */
    bool tainted;
    bool excepted;  /* as of struct unseen_delays */
    bool warmup;    /* it precedes those that count */
    double seconds; /* since the run began */
    size_t n;
    struct value values[RESULT_COLUMNS];
    bool is_max;           /* the highest value of the first column so far */
    const uint64_t *words; /* with is_max: values of the summary's at_max; NULL: none requested */
};

enum { PERIODS_WAITS = 64, PERIODS_TURNS = 32 };

/* What one turn of a survey saw: the cycles up to its first call, the sums of the periods after it, and the
 * cycles from its end to the next turn. */
struct turn_periods {
    double wait, gap, n, cycles, inside, cycles2, inside2, product;
};

/*
 * From the start of a call to the start of the next one, where no call between them can have been missed. A
 * call whose count a halt has changed is left out with its period.
 */
struct periods {
    uint64_t n,
        n_left; /* n_left: of these, calls that were left; what they took is not known, and not inside */
    uint64_t cycles, inside;        /* of them; of the calls at their beginnings. Without the cost of halts */
    bool at_least, inside_at_least; /* a lower bound */
    uint64_t n_unproved;            /* of these calls, those whose beginning is not proved: no hits */
    bool cut;                       /* with such a call at the end, of which only a lower bound is known */
    double unfinished; /* cycles of those in which a turn ended before the next call: no periods, and long
                          ones */
    double cycles2, inside2, product; /* sums of squares, and of cycles times inside: how they vary */
    uint64_t longest;
    /* Of the turns that began at random moments, the last ones: cycles up to the first call, at least. */
    uint64_t waits[PERIODS_WAITS];
    size_t n_waits;                           /* of all turns */
    bool has_waits;                           /* the counter can identify them */
    struct turn_periods turns[PERIODS_TURNS]; /* those turns, the last ones; one in vain has n 0 */
    size_t n_turns;
    double share_most; /* what its callers show; 0: nothing */
};

/* The same periods in their order: neighbours may be alike. */
struct period_series {
    struct series cycles, inside;
};

/* A wait at whose end no call had been made. */
#define PERIODS_IN_VAIN UINT64_MAX

static inline void periods_add_wait(struct periods *periods, uint64_t cycles)
{
    periods->waits[periods->n_waits++ % PERIODS_WAITS] = cycles;
}

/* Calls that trace showed. Those left out are not a random part: they are short, or in bursts. */
struct summary_calls {
    uint64_t seen, exact, late, together, unproved, lost, unpaired, gaps;
    uint64_t bounded, least, most, longest; /* as in struct left_out */
};

/* The part that is left out, at least: each gap may hide calls. */
static inline double calls_left_out(const struct summary_calls *calls)
{
    uint64_t all = calls->seen + calls->gaps;
    return all > 0 ? (double)(all - calls->exact) / (double)all : 0;
}

/* Of the runs of hits, without those that show what a halt costs. */
struct summary_halts {
    uint64_t n;               /* halts */
    double least_us, most_us; /* that all runs took, by the chip's time */
    double cycles;            /* in which the core ran */
    double us, plus_minus_us; /* the mean of a halt; us 0: not known */
    double share;             /* of the time */
    bool at_most;             /* the core may have slept unseen for a part of it */
};

/*
 * Hits of cores that hide what pends (core_hides_pending): whether a halt had delayed what ran in them. An
 * exception that was taken may be such an interrupt, or the program's own.
 */
struct unseen_delays {
    uint64_t excepted; /* an exception was taken in them */
    uint64_t unknown;  /* no counter shows it */
};

/* One more, that lies between two readings. True: an exception was taken in it. */
bool unseen_delays_note(struct unseen_delays *delays, const struct reading *reading, const uint64_t *from,
                        const uint64_t *to);
/* In words, of `all` hits, which are called `what`; "": none ran in any. */
void unseen_delays_text(const struct unseen_delays *delays, uint64_t all, const char *what, char *out,
                        size_t size);

struct summary {
    struct conditions conditions;
    size_t n;
    struct column columns[RESULT_COLUMNS];
    unsigned passes;                /* that the columns take */
    uint64_t hits, tainted, wanted; /* wanted: of each pass; 0: as many as occur in the time */
    char disagreement[160];         /* how the passes' cycles differ; "" if they agree */
    uint64_t warmup;                /* hits before those that count; not in `hits` */
    double precision;               /* that was wanted, as a part of the mean; 0: none was */
    double precise;                 /* that was reached; infinite: no hit counts */
    uint64_t left;                  /* calls that began again before they returned; not in `hits` */
    uint64_t cut, cut_least; /* calls in which a run or turn ended, after at least that number of the first
                                column; not in `hits`, but in the columns' at_least */
    char doubt[DOUBT_ROOM];  /* why the counts are not proved to be exact; "" */
    struct unseen_delays delays;    /* of the hits that are not tainted; in `doubt` at the end */
    bool slept;                     /* the core was seen asleep inside a hit */
    uint64_t steps_past;            /* stops at the end in another frame */
    double seconds;                 /* how long the run took */
    struct summary_halts halts;     /* n 0: unknown */
    struct summary_calls calls;     /* of a run without halts; seen 0: of another one */
    struct periods periods;         /* of a counter of cycles; n 0: unknown */
    struct period_series in_order;  /* of these */
    struct statistics *undisturbed; /* first column of hits without an exception; NULL: unknown */
    struct metric_result metrics[RESULT_METRICS];
    size_t n_metrics;
    struct result_words at_max;     /* n 0: not requested */
    uint64_t max_number, max_value; /* hit with the highest value of the first column; number 0: none yet */
    char uncalibrated[96];          /* why the cost of a halt is unknown; "" if it is known or not wanted */
    char advice[200];               /* how to count hits that do not count; "" */
    char ended[256];                /* why it ended before `wanted`: "Ctrl-C", "cancelled"; else "" */
};

/* A column that was counted has no number, for an interrupt ran in each of its hits that pended while the
 * core was halted. */
bool summary_is_tainted(const struct summary *summary);
/* By a column that is supported. */
bool summary_counts_exceptions(const struct summary *summary);

#define RESULT_TAINTED                                                                                       \
    "no hit counts: an interrupt ran in each that a halt had delayed. Freeze timers in halts (DBGMCU, "      \
    "DBG_FREEZE); stat counts without a halt"

/* What a slower clock of the chip says of a claim. */
enum clock_fit { CLOCK_UNPROVED, CLOCK_FITS, CLOCK_MISFITS };

struct clock {
    double hz, error_hz; /* 0: unknown */
    enum clock_fit fit;
    char source[32];
    double bound_hz;        /* the counter never runs faster, by what is claimed of it */
    double fastest_hz;      /* nor does any core of its architecture */
    double low_hz, high_hz; /* it is between these, as the core's counter of cycles showed; 0: not known */
    bool may_sleep;         /* the program is not known to have no WFI and WFE */
    double awake;   /* the part of the time in which the counter kept the claimed pace; 0: no less than all */
    bool sleeps_on; /* the core was often seen asleep, and the counter kept the claimed pace */
    bool uneven;    /* it was measured, and is unknown: the counter halts at times, or changes its pace */
    char doubt[160]; /* why what is claimed of it is not believed: then it is unknown; "" */
};

/* `fastest_hz`: of any such core, core_fastest_hz. */
struct clock clock_unknown(double fastest_hz);
/* By the user or the program, not measured. */
static inline bool clock_is_claimed(const struct clock *clock)
{
    return clock->hz > 0 && !(clock->error_hz > 0);
}
/* So slow that two accesses of a probe may be closer than a register transfer takes. */
bool clock_is_slow(const struct clock *clock);
struct clock clock_given(double hz, const char *source, double fastest_hz);
/* What samples of the counter of cycles showed, each between two moments: its rate is between these, if it
 * has but one. */
struct clock_seen {
    double low_hz, high_hz; /* high 0: unknown */
    unsigned looks, asleep; /* asleep: of these, about */
    bool even;              /* each two samples allow the same rate */
    bool stopped;           /* the core was seen asleep or halted: it may be faster */
};
enum { CLOCK_LOOKS = 96 }; /* enough for a claim that is 8 % too high, though the core may sleep */
struct clock_look {
    uint64_t count;               /* since the first one */
    uint64_t before_ns, after_ns; /* between which moments it was */
};
/* `halts`: each sample halts the core, which may run only between two of them. */
struct clock_seen clock_seen_of(const struct clock_look *looks, unsigned n, bool halts);
/* More samples may show that the claimed clock is wrong. */
bool clock_is_odd(const struct clock *clock, const struct clock_seen *seen);
/* How far a claimed clock may be off, if the counter was seen against the link's time; else 0. */
double clock_may_be_off(const struct clock *clock);
/* It is unknown from here on. `why`: after "no times: the clock is wrong: 168 MHz by SystemCoreClock". */
void clock_refute(struct clock *clock, const char *why);
/* A claimed clock that does not fit is wrong, and a measured one that did not run evenly. One that fits, and
 * ran evenly, gets its bounds. */
void clock_check(struct clock *clock, const struct clock_seen *seen);
/* Measures counter 0 of the block in use for about `ms` while the core runs. Unknown if it could wrap
 * meanwhile. */
bool clock_measure(struct device *device, int ms, struct clock *out, const struct deadline *deadline,
                   struct error *error);
