/*
 * What a halt adds to the counters at a location: doctor LOCATION measures it, and `pmu calibrate` in GDB,
 * where no location means where the core is halted.
 */
#pragma once

#include "measure/evaluation.h"
#include "measure/plausible.h"
#include "report/json.h"
#include "run/counting.h"
#include "run/session.h"

#include <stdbool.h>

struct calibrating {
    struct session *session;
    struct location location;
    struct counting counting;
    struct conditions conditions;
    struct halt_cost halts;
    struct plausible plausible;
    struct error written; /* by something else */
    bool stands_still;    /* counter 0 did not move from one passage to the next */
};

/* The first operand, if there is one; the session has its ELF. */
bool calibration_locate(struct calibrating *calibration, struct error *error);
/* Takes the counters. */
bool calibration_measure(struct calibrating *calibration, struct error *error);
void calibration_text(const struct calibrating *calibration);
/* By column. */
struct json_part calibration_columns(const struct calibrating *calibration);
void calibration_close(struct calibrating *calibration);
