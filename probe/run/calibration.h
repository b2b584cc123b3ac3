/* SPDX-License-Identifier: MIT */
/*
 * What `doctor LOCATION` and `doctor --prove` measure: what a halt adds to the counters at a location, or
 * where the core is halted; and the proof that nothing is left on the target, by its registers before a
 * measurement and after it was put back.
 */
#pragma once

#include "measure/evaluation.h"
#include "measure/plausible.h"
#include "run/counting.h"
#include "run/session.h"

#include <stdbool.h>

struct calibrating {
    struct session *session;
    const struct location *location; /* NULL: where a debugger has halted the core */
    struct counting counting;
    struct conditions conditions;
    struct halt_cost halts;
    struct plausible plausible;
    struct error written; /* by something else */
    bool stands_still;    /* counter 0 did not move from one passage to the next */
};

/* Takes the counters. */
bool calibration_measure(struct calibrating *calibration, struct error *error);
void calibration_close(struct calibrating *calibration);

struct proof_register {
    char name[24]; /* "": it has none */
    uint64_t offset, before, after;
    const char *moves; /* why it changes by itself; NULL: it is left */
};

struct proof {
    /* Of the caller: */
    const struct counter_block *block; /* the counters that are expected to be used */
    const char *start, *end;           /* hits of this region are measured; NULL: time, a function's return */
    void *context;
    void (*differs)(void *context, const struct proof_register *it);
    /* How many registers: */
    size_t compared, moved, left, unknown;
};

bool proof_make(struct session *session, struct proof *proof, struct error *error);
