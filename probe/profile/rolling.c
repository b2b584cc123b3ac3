#include "profile/rolling.h"

#include <stdlib.h>

enum { ROOM_FIRST = 32 };

static void drop_old(struct rolling *rolling, double now)
{
    const double rounding = 1e-9;
    struct profile *profile = &rolling->profile;
    size_t kept = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        if (profile->intervals[i].to <= now - rolling->window + rounding)
            profile_interval_free(&profile->intervals[i]);
        else
            profile->intervals[kept++] = profile->intervals[i];
    profile->interval_count = kept;
}

static bool make_room(struct rolling *rolling)
{
    struct profile *profile = &rolling->profile;
    if (profile->interval_count < rolling->room)
        return true;
    size_t room = rolling->room != 0 ? 2 * rolling->room : ROOM_FIRST;
    struct profile_interval *more = realloc(profile->intervals, room * sizeof *more);
    if (more == NULL)
        return false;
    profile->intervals = more;
    rolling->room = room;
    return true;
}

bool rolling_add(struct rolling *rolling, struct profile_interval *interval)
{
    struct profile *profile = &rolling->profile;
    drop_old(rolling, interval->to);
    if (!make_room(rolling)) {
        profile_interval_free(interval);
        return false;
    }
    profile->intervals[profile->interval_count++] = *interval;
    *interval = (struct profile_interval){0};
    return true;
}

void rolling_clear(struct rolling *rolling)
{
    for (size_t i = 0; i < rolling->profile.interval_count; i++)
        profile_interval_free(&rolling->profile.intervals[i]);
    rolling->profile.interval_count = 0;
}

void rolling_free(struct rolling *rolling)
{
    rolling_clear(rolling);
    free(rolling->profile.intervals);
    *rolling = (struct rolling){0};
}
