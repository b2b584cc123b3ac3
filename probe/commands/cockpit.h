/* SPDX-License-Identifier: MIT */
/*
 * What keys of `top` do with the marked function: they measure it as delta and lines do, in the session of
 * `top`, show its code, and write a page. What these commands print is a text for the screen.
 */
#pragma once

#include "commands/command.h"
#include "report/canvas.h"
#include "report/screen.h"
#include "run/top.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>

/* The commands in a session that is open, with their struct context. */
top_way delta_within, lines_within;

/* *text, to be freed, is what it printed, or why it failed. False: the samples cannot go on. It ends after 2
 * s, or by Esc on the screen. */
bool cockpit_measure(struct top_run *run, const struct context *context, struct screen *screen,
                     const struct progress *progress, const struct location *function, top_way *way,
                     char **text, struct error *error);
bool cockpit_annotate(const struct top_run *run, const struct location *function, size_t columns, char **text,
                      struct error *error);
/* The file in the current folder; one that is there becomes FILE.old. */
bool cockpit_page(const struct top_run *run, const char *file, struct error *error);
