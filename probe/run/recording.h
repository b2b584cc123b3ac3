/* SPDX-License-Identifier: MIT */
/* Samples of where the core is, written as a profile. */
#pragma once

#include "run/pc_samples.h"

#include <stdio.h>

struct recording {
    struct pc_samples pc_samples;
    FILE *out;
    void *context;                /* of: */
    void (*begun)(void *context); /* the first sample is next */
    void (*kept)(void *context);  /* what is in the file is worth keeping */
    void (*show)(void *context);  /* how far it is */
    void (*ended)(void *context); /* the last sample was taken */
    double written_s;             /* up to here */
    size_t notes;                 /* of pc_samples that are in the file */
    uint64_t samples, states[PROFILE_STATES];
    unsigned resets;
    bool whole; /* the file has its end */
};

/* The target is open, and is taken here. */
bool recording_make(struct recording *self, struct error *error);
