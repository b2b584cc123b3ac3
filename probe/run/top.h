/* SPDX-License-Identifier: MIT */
/*
 * What `top` shows: samples of the last seconds, and the shares made of them, of all functions or of the
 * lines of one. A measurement in between has the session of the samples, and the core is never stopped else.
 */
#pragma once

#include "profile/profile.h"
#include "profile/shares.h"
#include "run/pc_samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct top_run {
    struct pc_samples pc_samples;
    struct rolling rolling;
    enum shares_sort sort;
    struct shares *shares; /* of each core, as they were made last */
    bool paused;           /* what is shown stays as it is */
    bool is_old;           /* the window is that of a freeze, until there is something newer */
    bool within;           /* the shares are of the lines of this function */
    struct {
        size_t core;
        uint64_t entry;
        char name[LOCATION_NAME];
    } function;
    double closed_s; /* when an interval was closed */
    uint64_t samples;
};

/* After pc_samples_take. */
bool top_run_begin(struct top_run *self, struct error *error);
bool top_run_make_shares(struct top_run *self, struct error *error);
/* The samples up to now are in the shares that are made next. */
bool top_run_close(struct top_run *self, struct error *error);
void top_run_free(struct top_run *self); /* after the session */

/* False: there is no other. */
bool top_run_next_sort(struct top_run *self);
/* From the function of this row to its lines, or back; false: neither. */
bool top_run_enter(struct top_run *self, size_t core, const struct share *row);
/* The function of this row, or whose lines are shown; else returns why there is none. */
const char *top_run_marked(const struct top_run *self, const struct share *row, struct location *out);

/* Why nothing can be measured here; NULL: it can. */
const char *top_run_refuses(const struct top_run *self);
/* In the session with this request, which puts the target back at its end; why: it failed. False: the samples
 * cannot go on. */
typedef bool top_way(struct session *session, const void *context, struct error *why);
bool top_run_measure(struct top_run *self, const struct request *request, const struct surroundings *around,
                     top_way *way, const void *context, struct error *why, struct error *error);
