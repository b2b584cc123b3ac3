/* SPDX-License-Identifier: MIT */
/* Cores, counters and breakpoints of a target, and who uses them already. Changes nothing. */
#pragma once

#include "report/document.h"
#include "run/session.h"

/* Whether the target could be `opened` or not: the ways to a PMU through a debugger are worth knowing also
 * then. */
bool inventory_put(struct session *session, bool opened, struct document *document, struct error *error);
