/*
 * Calibration: what a halt adds to a counter, from re-hits, and how far a single halt may be from the mean.
 * Samples far outside the rest are a handler that slipped in, and are put aside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALIBRATION_SAMPLES = 256 };

struct calibration {
    uint64_t samples[CALIBRATION_SAMPLES];
    size_t n;
};

struct overhead {
    bool known;
    double mean;
    uint64_t low, high; /* of the samples kept */
    size_t kept;
};

void calibration_add(struct calibration *calibration, uint64_t sample); /* ignored when full */
struct overhead calibration_result(const struct calibration *calibration);

/* `raw` counts with `pairs` halts in them, without those; never below 0. */
uint64_t overhead_remove(const struct overhead *overhead, uint64_t raw, unsigned pairs);
/* The truth lies within this of what overhead_remove gives. */
uint64_t overhead_plus_minus(const struct overhead *overhead, unsigned pairs);
