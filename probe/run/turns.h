/*
 * The turns of a survey: its regions take turns, a slice of time each. Those that were not reached yet are
 * awaited several at a time, as many as there are comparators; once one is reached, it gets its turn at
 * once. Whatever is not reached within a slice is left alone until the next round.
 */
#pragma once

#include "report/progress.h"
#include "run/counting.h"
#include "run/session.h"
#include "run/survey_regions.h"

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
