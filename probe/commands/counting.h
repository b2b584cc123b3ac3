/*
 * Counting: from what the user typed (-e, -M, --tick, --on-max) to what is counted and read on the target
 * that a session has taken.
 */
#pragma once

#include "commands/session.h"
#include "measure/beside.h"
#include "measure/plan.h"
#include "measure/result.h"
#include "target/engine.h"

#include <stdbool.h>

struct counting {
    struct event_set *set;
    struct plan *plan;
    struct beside beside;
    struct at_end at_end;
};

/* The session has taken its target. Programs the first pass. */
bool counting_open(struct counting *counting, struct session *session, const struct clock *clock,
                   struct error *error);
void counting_close(struct counting *counting);
/* What --on-max names; `names` gets them as they are shown. */
bool counting_words(struct counting *counting, struct session *session, struct result_words *names,
                    struct error *error);
