/*
 * A debugger's memory as a link, so that discovery, counters and the ledger work on it as on any other.
 * Memory can be reached only while the core is halted: else a step ends in TARGET_FAULT.
 */
#pragma once

#include "debuggers/debugger.h"
#include "links/link.h"

/* Takes the debugger over, even when it fails; NULL on error. Closed, it lets the core run on, unless
 * debugger->stays_halted. */
struct link *debugger_link_new(struct debugger *debugger, struct error *error);
