/* SPDX-License-Identifier: MIT */
/*
 * What the header says of a region: what its code does differently while a debugger is there, calls that are
 * no hits of it, and what stopping it changes in memory.
 */
#pragma once

#include "run/region.h"
#include "run/session.h"

enum { REGION_NOTES = 640 };

/* "": nothing. Its start and end are known, and the session's core. */
bool region_notes(struct session *session, const struct named_region *named, char out[REGION_NOTES]);
/* That a breakpoint instruction is put into memory for a stop there; "": a comparator stops there. */
void region_stop_note(const struct session *session, uint64_t at, char *out, size_t size);
