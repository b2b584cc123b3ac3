/* SPDX-License-Identifier: MIT */
/*
 * What the program's code says of its tick variable (--tick): whether SysTick's handler counts it, and
 * whether a tick may be lost, as only one at a time can be pending.
 */
#pragma once

#include "measure/widen.h"
#include "run/session.h"

extern const char tick_advice[]; /* for who named another variable */

/* ERROR_USAGE if other code than SysTick's handler counts the variable. Else sets what the ticks prove, and
 * adds a note to the counter if that is less than each total. */
bool ticks_judge(struct session *session, const struct wrap_evidence_tick *tick,
                 struct wrap_evidence *evidence, struct error *error);
