/*
 * Which functions are hot, by samples of the PC before a survey.
 */
#pragma once

#include "report/progress.h"
#include "run/session.h"
#include "run/survey_regions.h"

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
