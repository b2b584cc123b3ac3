/*
 * survey: which functions are measured, and their turns. The regions take turns, a slice of time each. Those
 * that were not reached yet are looked for several at a time.
 */
#pragma once

#include "measure/delta.h"
#include "report/progress.h"
#include "run/counting.h"
#include "run/region_file.h"
#include "run/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* They are measured together before others. Up to so many functions are measured as they come. */
enum { SURVEY_FEW = 10 };

struct survey_region {
    struct named_region named;
    const struct region_line *line; /* of a region file; NULL: it was found by its name */
    char why[512];                  /* it cannot be measured, or is no longer: this is why; "" */
    bool refused;                   /* and gets no more turns */
    struct delta_options options;   /* of `delta`, which has a pointer to it */
    struct summary *summary;        /* NULL: no hit yet */
    struct delta *delta;
    uint64_t samples;       /* of the PC that were in it, before the survey */
    bool quick;             /* its last turn took less than a slice */
    bool seen;              /* its start was reached at least once */
    unsigned turns;         /* that had hits */
    unsigned looks;         /* in vain, since it was seen */
    int64_t waited_us;      /* for its start, in vain */
    unsigned unended;       /* turns in a row in which its end was not reached */
    char limit[160];        /* of its engine */
    char sleep[SLEEP_NOTE]; /* a WFI or WFE in it; "" */
};

struct survey_regions {
    struct survey_region *at; /* owned, and what it points to */
    size_t n, room;
};

/* Adds the functions that a pattern names, each address once. ERROR_SYMBOL or ERROR_AMBIGUOUS: none, or a
 * name without wildcards means several. */
bool survey_choose(struct survey_regions *regions, struct symbols *symbols, const char *pattern,
                   const struct options *options, struct error *error);
/* Adds the function around an address; does nothing if there is none, or it is there already. */
bool survey_choose_at(struct survey_regions *regions, struct symbols *symbols, uint64_t address,
                      const struct options *options, struct error *error);
/* Adds the functions of --hot: those in which samples of the PC find the core most often. Before the session
 * takes the target, and after that it is as it was. */
bool survey_choose_hottest(struct survey_regions *regions, struct session *session, struct progress *progress,
                           struct error *error);
struct survey_heat {
    uint64_t samples; /* with and without an address; 0: the program could not be sampled */
    size_t hot;       /* so many regions had some */
    int64_t took_us;
    char none[256]; /* why `hot` is 0 */
};
/* Puts the functions first that samples of the PC were in, the hottest before others. Where the core can be
 * seen running it is sampled before the session takes the target; through a debugger afterwards, by halts. */
bool survey_order_by_heat(struct survey_regions *regions, struct session *session, struct progress *progress,
                          struct survey_heat *heat, struct error *error);
/* Adds the regions of a file, which must outlive them. Errors name their lines. */
bool survey_choose_lines(struct survey_regions *regions, struct symbols *symbols,
                         const struct region_file *file, const struct options *options, struct error *error);
const char *survey_name(const struct survey_region *region);
void survey_regions_free(struct survey_regions *regions);

struct survey_turns {
    struct session *session;
    const struct counting *counting; /* its plan is what all regions count */
    struct clock clock;
    double seen_hz;
    struct survey_regions *regions;
    struct progress *progress;
    int64_t begun_us, for_us; /* for_us 0: until each function had its turns, or its hits */
    uint64_t hits;            /* of each pass; 0: not given */
    size_t hot;               /* so many, the first ones, have their turns before the others: */
    int64_t hot_us;           /* for so long at most, if for_us is not 0 */
    /* Of survey_take_turns */
    int64_t slice_us, until_us; /* until_us 0: no time ends it */
    struct delta_sink sink;
    uint64_t random; /* never 0 once it is used */
};

/* Until the time is over, or there is nothing more to do. Fails with what ends the whole survey: Ctrl-C, a
 * reset, another debugger. What was measured before is in the regions, and survey_end_turns completes it. */
bool survey_take_turns(struct survey_turns *turns, struct error *error);
void survey_end_turns(struct survey_turns *turns);
/* It was neither reached nor waited for, as the time was over. */
bool survey_had_no_turn(const struct survey_region *region);
/* How long a survey takes, about, that measures so many functions without --for and -r. */
double survey_takes_s(size_t functions, unsigned passes);
