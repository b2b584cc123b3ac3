/*
 * Which counter a run takes and by which clock: what the program writes itself, and what is tried for a
 * moment, decides; and whether the clock was the same at the end.
 */
#pragma once

#include "run/session.h"

bool trial_clock(struct session *session, struct clock *out, struct error *error);
/* Checks the program's code, measures the clock and tries the counter in use. */
bool trial_counter(struct session *session, struct clock *clock, double *seen_hz, struct error *error);
/* The same with another counter of the core. False with `why` if it has none, if `why` is not a reason for
 * another one, or if the request names a counter or events. */
bool trial_other(struct session *session, const struct error *why, struct clock *clock, double *seen_hz,
                 struct error *error);
/* trial_counter; if something else writes it, trial_other; then own_code_watch. */
bool trial_run(struct session *session, struct clock *clock, double *seen_hz, struct error *error);
/* Reads SystemCoreClock again, if it is the clock: "SystemCoreClock went from ...", "" if it is as before. */
const char *trial_clock_change(struct session *session);
/* At the end of a run: removes a clock that has changed since, as its times would be wrong. */
void trial_end_conditions(const struct session *session, struct conditions *conditions);
