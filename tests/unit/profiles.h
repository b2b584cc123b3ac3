/* Profiles made by hand, and random numbers that are the same in each run. */
#pragma once

#include "test.h"

#include "profile/profile.h"
#include "report/profile_file.h"

#include <stdlib.h>
#include <string.h>

static inline struct profile *profile_new(size_t cores)
{
    struct profile *profile = calloc(1, sizeof *profile);
    assert_non_null(profile);
    profile->about.cores = calloc(cores, sizeof(char *));
    assert_non_null(profile->about.cores);
    for (; profile->about.core_count < cores; profile->about.core_count++)
        profile->about.cores[profile->about.core_count] = strdup("Cortex-M4");
    return profile;
}

/* A further interval, empty, as long as the others. Valid until the next. */
static inline struct profile_interval *profile_interval(struct profile *profile, unsigned core, double from,
                                                        double to)
{
    size_t n = profile->interval_count++;
    profile->intervals = realloc(profile->intervals, (n + 1) * sizeof *profile->intervals);
    assert_non_null(profile->intervals);
    profile->intervals[n] = (struct profile_interval){.core = core, .from = from, .to = to};
    return &profile->intervals[n];
}

/* By rising address. */
static inline void profile_count(struct profile_interval *interval, uint64_t address, uint64_t samples)
{
    size_t n = interval->count_count++;
    assert_true(n == 0 || interval->counts[n - 1].address < address);
    interval->counts = realloc(interval->counts, (n + 1) * sizeof *interval->counts);
    assert_non_null(interval->counts);
    interval->counts[n] = (struct profile_count){.address = address, .samples = samples};
}

/* From 0 to 1 (xorshift64*). */
static inline double profile_random(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (double)(*seed * UINT64_C(0x2545F4914F6CDD1D) >> 11) * 0x1p-53;
}
