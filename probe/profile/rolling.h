/*
 * The last seconds of samples, as a profile whose oldest intervals are dropped when new ones arrive. A live
 * table is made from it.
 */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

struct rolling {
    struct profile profile; /* `about` is the caller's */
    double window;          /* s */
    size_t room;
};

/* Takes the interval over, and drops what ended a window or more before its end. False: out of memory, and
 * the interval is freed. */
bool rolling_add(struct rolling *rolling, struct profile_interval *interval);
void rolling_clear(struct rolling *rolling);
void rolling_free(struct rolling *rolling);
