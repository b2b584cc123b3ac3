/*
 * What goes with the numbers of a profile: which run it was, which program the names are from, and the
 * reasons to trust the numbers less.
 */
#pragma once

#include "profile/shares.h"
#include "report/render.h"

#include <stddef.h>
#include <stdio.h>

enum { PROFILE_NOTES = 16, PROFILE_NOTE = 1024 };

struct profile_notes {
    char text[PROFILE_NOTES][PROFILE_NOTE]; /* whole sentences, with any bytes in their names */
    size_t n;
};

void profile_notes_add(struct profile_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Of the whole profile. `no_names`: why there are none, or why they may be wrong; "": they are right. */
void profile_notes_of_run(struct profile_notes *notes, const struct profile *profile, const char *file,
                          const char *no_names);
/* Why the shares of a core are to be trusted less. */
void profile_notes_of_core(struct profile_notes *notes, const struct shares *shares);
/* The same of a counter's stops and their call stacks; nothing for other profiles. */
void profile_notes_of_stops(struct profile_notes *notes, const struct profile *profile,
                            const struct shares *shares);
/* Which part of the time the samples stopped the core, 0 to 1. */
double profile_stood_part(const struct shares *shares);

/* As "notes". */
void profile_notes_json(struct json_part *line, const struct profile_notes *notes);
void profile_notes_put(const struct rendering *to, const struct profile_notes *notes);

/* The line `profile` of a result; `elf` may be NULL. */
struct json_part profile_line(const char *type, const struct profile *profile, const char *file,
                              const char *elf, const char *no_names);
/* The first lines: what was recorded when. */
void profile_head_put(const struct rendering *to, const char *before, const json_t *profile,
                      const char *link);
