/*
 * top: where the running core spends its time, now: on a terminal a live screen of the last seconds, else a
 * list for each interval. The core is never stopped, unless a key measures the marked function, as delta and
 * lines do, in the session of `top`. What these commands print is a text for the screen.
 */
#pragma once

#include "commands/command.h"
#include "run/pc_samples.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>

/* A command in a session that is open; at its end the target is put back. */
typedef bool cockpit_way(struct session *session, const struct context *context, struct error *error);
cockpit_way delta_within, lines_within;
