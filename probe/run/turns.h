/* SPDX-License-Identifier: MIT */
/*
 * A survey: which regions it has, which functions are hot by samples of the PC before, and the turns.
 * Regions take turns, a slice of time each. Those that were not reached yet are awaited several at a time,
 * as many as there are comparators; once one is reached, it gets its turn at once. Whatever is not reached
 * within a slice is left alone until the next round.
 */
#pragma once

#include "base/values.h"
#include "measure/delta.h"
#include "report/canvas.h"
#include "run/counting.h"
#include "run/region.h"
#include "run/region_notes.h"
#include "run/session.h"
#include "run/trial.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct survey_region {
    struct named_region named;
    const struct region_line *line; /* of a region file; NULL: it was found by its name */
    char why[512];                  /* it cannot be measured, or is no longer: this is why; "" */
    bool refused;                   /* and gets no more turns */
    struct delta_options options;   /* of `delta`, which has a pointer to it */
    struct summary *summary;        /* NULL: no hit yet */
    struct delta *delta;
    uint64_t samples;         /* of the PC that were in it, before the survey */
    bool quick;               /* its last turn took less than a slice */
    bool seen;                /* its start was reached at least once */
    unsigned turns;           /* that had hits */
    unsigned looks;           /* in vain, since it was seen */
    int64_t waited_us;        /* for its start, in vain */
    unsigned unended;         /* turns in a row in which its end was not reached */
    char doubt[DOUBT_ROOM];   /* of its engine */
    char notes[REGION_NOTES]; /* "" */
    bool may_sleep;           /* it has a WFI or WFE */
};

struct survey_regions {
    struct survey_region *at;            /* owned, and what it points to */
    const volatile sig_atomic_t *cancel; /* these two while the program is read; may be NULL */
    struct progress *progress;
    size_t n, room;
    size_t
        unread; /* names of functions that a pattern was not held against, as their mangling cannot be read */
};

/* Adds the functions that a pattern names, each address once. ERROR_SYMBOL or ERROR_AMBIGUOUS: none, or a
 * name without wildcards means several. */
bool survey_regions_choose(struct survey_regions *regions, struct symbols *symbols, const char *pattern,
                           const struct process *process, struct error *error);
/* Adds the regions of a file, which must outlive them. Errors name their lines. */
bool survey_regions_choose_lines(struct survey_regions *regions, struct symbols *symbols,
                                 const struct region_file *file, const struct process *process,
                                 struct error *error);
const char *survey_regions_name(const struct survey_region *region);
void survey_regions_free(struct survey_regions *regions);

/* Adds the functions of --hot: those in which samples of the PC find the core most often. Before the session
 * takes the target, and after that it is as it was. */
bool heat_choose(struct survey_regions *regions, struct session *session, struct progress *progress,
                 struct error *error);
struct heat {
    uint64_t samples; /* with and without an address; 0: the program could not be sampled */
    size_t hot;       /* regions that had some */
    int64_t took_us;
    char none[256]; /* why `hot` is 0 */
};
/* Puts the functions first that samples of the PC were in, the hottest before others. Where the core can be
 * seen running it is sampled before the session takes the target; through a debugger afterwards, by halts. */
bool heat_order(struct survey_regions *regions, struct session *session, struct progress *progress,
                struct heat *heat, struct error *error);

/* They are measured together before others. Up to N functions are measured in the order in which they are
 * named. */
enum { TURNS_FEW = 10 };

struct turns {
    struct session *session;
    const struct counting *counting; /* its plan is what all regions count */
    struct clock clock;
    double seen_hz;
    struct survey_regions *regions;
    struct progress *progress;
    int64_t begun_us, for_us; /* for_us 0: until each function had its turns, or its hits */
    uint64_t hits;            /* of each pass; 0: not given */
    size_t hot;               /* the first N, which have their turns before the others: */
    int64_t hot_us;           /* for so long at most, if for_us is not 0 */
    /* Of turns_take */
    int64_t slice_us, until_us; /* until_us 0: no time ends it */
    struct delta_sink sink;
    uint64_t random; /* never 0 once it is used */
};

/* Until the time is over, or there is nothing more to do. Fails with what ends the whole survey: Ctrl-C, a
 * reset, another debugger. What was measured before is in the regions, and turns_end completes it. */
bool turns_take(struct turns *turns, struct error *error);
void turns_end(struct turns *turns);
/* It was neither reached nor waited for, as the time was over. */
bool turns_had_none(const struct survey_region *region);
/* How long a survey of these functions takes, about, without --for and -r. */
double turns_need_s(size_t functions, unsigned passes);
