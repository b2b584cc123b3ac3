/* SPDX-License-Identifier: MIT */
/*
 * A function with its samples: source lines and instructions as JSON lines, and these in each format; and a
 * whole profile as a page in one file: a flame graph, the table of functions of each core, the source of the
 * hottest functions. Names and sources are from files and may hold any bytes: nothing in them is taken as
 * part of the format.
 */
#pragma once

#include "profile/annotation.h"
#include "profile/call_tree.h"
#include "report/page.h"
#include "report/profile_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct annotation_report {
    const struct profile *profile;
    const char *file;     /* where it was read from */
    const char *elf;      /* that the code is from */
    const char *no_names; /* why it may be the wrong one; "": it is the right one */
    const struct annotated_function *function;
    uint64_t
        hot; /* the number of lines, those with the most samples, the hottest first; 0: all, in their order */
};

/* False if the output could not be written whole. */
bool annotation_write(const struct rendering *to, const struct annotation_report *report);
/* The same of its lines. */
report_writer annotation_show;

struct profile_page {
    const struct profile_report *report; /* by function */
    const struct stacks *stacks;
    const struct call_tree *flame;
    const struct annotated_function *functions; /* the hottest first */
    size_t n;
};

/* False: the output could not be written whole. */
bool profile_page(const struct rendering *to, const struct profile_page *page);
