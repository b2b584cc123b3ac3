/*
 * What `top` does with the function that is marked: measures it as delta and lines do, annotates it, writes
 * the page of all samples. All is done in the session of `top`, with the functions of these commands; what
 * they print is a text for the screen, to be freed.
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

/* Why nothing can be measured here; NULL: it can. */
const char *cockpit_refuses(const struct pc_samples *pc_samples);
/* The samples so far are closed. The target is put back before and after, and the sampling begins anew. A
 * measurement that failed says so in *text. False: the run is over. */
bool cockpit_measure(struct pc_samples *pc_samples, const struct context *context,
                     const struct location *function, cockpit_way *way, size_t columns, char **text,
                     struct error *error);
bool cockpit_annotate(const struct pc_samples *pc_samples, const struct profile *profile,
                      const struct location *function, size_t columns, char **text, struct error *error);
/* The file in the current folder; one that is there becomes FILE.old. */
bool cockpit_page(const struct pc_samples *pc_samples, const struct profile *profile, const char *file,
                  struct error *error);
