/*
 * A function with its samples: source lines and instructions for people, and as JSON lines. Names and sources
 * come from files and may hold any bytes: nothing in them is taken as part of the format.
 */
#pragma once

#include "profile/annotation.h"
#include "report/page_command.h"
#include "report/profile_notes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct annotation_report {
    const struct profile *profile;
    const char *file;     /* where it was read from */
    const char *elf;      /* that the code is from */
    const char *no_names; /* why it may be the wrong one; "": it is the right one */
    const struct annotated_function *function;
    const struct page_command *command; /* NULL: it is not known */
    uint64_t hot; /* so many lines, those with the most samples, the hottest first; 0: all, in their order */
};

/* Of a core: why lines and instructions are to be trusted less, and which text is missing. */
void annotation_notes(struct profile_notes *notes, const struct annotated_function *function,
                      const struct annotation *core, bool exact);
/* Whether the addresses are those where the core stood. */
bool annotation_is_exact(const struct profile *profile);

/* As text, JSON lines or a page. False if the output could not be written whole. */
bool annotation_write(const struct rendering *to, const struct annotation_report *report);
/* The lines of a core with their instructions. False: out of memory. */
bool annotation_put_code(const struct rendering *to, const struct annotation_report *report,
                         const struct annotation *core);
