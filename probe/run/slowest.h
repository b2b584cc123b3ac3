/* SPDX-License-Identifier: MIT */
/*
 * The slowest hits of a run, for --outliers: reads where each ended, at that stop, and prints them after the
 * run. `slowest` may be NULL in all functions: then nothing is wanted.
 */
#pragma once

#include "base/error.h"
#include "engine/engine.h"
#include "measure/delta.h"
#include "measure/result.h"
#include "run/session.h"

#include <stdbool.h>
#include <stddef.h>

struct document;
struct json_part;
struct slowest;

/* NULL in *out without --outliers. The session has its ELF, but no target yet; its symbols now live until
 * slowest_close. ERROR_USAGE, ERROR_ELF: the option cannot be used so. */
bool slowest_open(struct slowest **out, struct session *session, struct error *error);
void slowest_close(struct slowest *slowest);
/* Forgets a run before. The block is taken. ERROR_USAGE: no stacks are found on such a core. */
bool slowest_begin(struct slowest *slowest, struct session *session, const struct region *region,
                   struct engine *engine, struct error *error);
/* For delta_options and delta_sink. */
struct slow_hits *slowest_hits(struct slowest *slowest);
bool slowest_read(struct slowest *slowest, size_t slot, struct error *error);
/* After the run: lines, and what the summary says of them. */
void slowest_lines(const struct slowest *slowest, struct document *document, const struct summary *summary,
                   struct json_part *line);
