/* Profiles made by hand, and random numbers that are the same in each run. */
#pragma once

#include "test.h"

#include "profile/profile.h"
#include "profile/shares.h"
#include "report/profile_file.h"

#include <math.h>
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

/* The next row of a core's 60,000 samples. */
static inline struct share *profile_share(struct shares *to, char *function, char *source, uint64_t samples,
                                          double plus_minus)
{
    struct share *row = &to->rows[to->n++];
    *row = (struct share){.state = PROFILE_STATES,
                          .address = 0x10000100 + 0x40 * to->n,
                          .samples = samples,
                          .part = (double)samples / 60000,
                          .plus_minus = plus_minus};
    row->function = function;
    row->source = source;
    return row;
}

/* Of two functions, of code without a name, and of sleep. */
static inline void profile_shares(struct shares *to, struct share *rows)
{
    *to = (struct shares){.rows = rows, .samples = 60000, .states[PROFILE_ASLEEP] = 1410};
    profile_share(to, "fir_filter", "fir.c:26", 32590, 0.00805);
    profile_share(to, "std::vector<int, std::allocator<int> >::push_back", "vector.h:1204", 20000, 0.1);
    profile_share(to, NULL, NULL, 6000, (double)NAN);
    profile_share(to, NULL, NULL, 1410, 0)->state = PROFILE_ASLEEP;
}

/* From 0 to 1 (xorshift64*). */
static inline double profile_random(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (double)(*seed * UINT64_C(0x2545F4914F6CDD1D) >> 11) * 0x1p-53;
}
