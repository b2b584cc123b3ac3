/*
 * What a halt adds to the counters at a location, or where the core is halted.
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
