/* SPDX-License-Identifier: MIT */
/*
 * The shares of a profile, and the changes against an older one: tables for people, JSON lines, CSV; with
 * what goes with the numbers: which run it was, which program the names are from, and the reasons to trust
 * the numbers less. Names are of files and may hold any bytes: nothing in them is taken as part of the
 * format.
 */
#pragma once

#include "profile/shares.h"
#include "profile/stacks.h"
#include "report/page.h"
#include "report/render.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Why lines are to be trusted less. */
#define PROFILE_FEW "Few samples: the shares are rough. Record longer (record --for 10s)."
#define PROFILE_SPARSE                                                                                       \
    "The sampled addresses lie apart: samples are at branches only, or in step with a loop. Trust "          \
    "functions, not lines."

/* What follows the register's name where a sample is the start of a block. */
#define PROFILE_BY_BLOCK ", by the start of the block"

/* The line `profile` of a result; `elf` may be NULL. */
struct json_part profile_line(const char *type, const struct profile *profile, const char *file,
                              const char *elf, const char *no_names);
/* The first lines: what was recorded when. */
void profile_head_put(const struct rendering *to, const char *before, const json_t *profile,
                      const char *link);

struct profile_report {
    const struct profile *profile;
    const char *file;            /* where it was read from */
    const char *elf;             /* that the names are from; NULL: none */
    const char *no_names;        /* why there are none, or why they may be wrong; "": they are right */
    const struct shares *shares; /* of each core */
    size_t n;
    const struct stacks *calls; /* whose tree each core has; NULL: it has none */
};

struct document profile_document(const struct profile_report *report);
/* Folded: a line for each row, "core 0;work 123", of which flame graphs are drawn. False if the output could
 * not be written whole. */
bool profile_write(const struct rendering *to, const struct profile_report *report);
/* The same of lines, also those of two profiles. */
report_writer profile_show;
/* Rows of CSV: the lines of one of two types, with what a reader of their shares must know of the profiles.
 */
json_t *profile_doubted_rows(const struct document *document, const char *type, const char *other);
/* Parts of a page: what was recorded; each core with its table. False: out of memory. */
void profile_put_head(const struct rendering *to, const struct document *document);
bool profile_put_cores(const struct rendering *to, const struct document *document);

/* For `top`: one core's heading and its first `most` rows; as JSON all of them. `since_begin`: s. */
void profile_text_core(const struct rendering *to, const struct profile_report *report,
                       const struct shares *shares, size_t most);
bool profile_json_core(FILE *out, const struct profile_report *report, const struct shares *shares,
                       double since_begin);

/* What its rows are of: "function", "file", "task", "exception". */
const char *profile_row_kind(enum shares_sort sort);
const char *profile_sort_name(enum shares_sort sort); /* "line" */
/* Of a line `profile`. */
enum shares_sort profile_sort_by_name(const char *name);

struct profile_diff_report {
    const struct profile_report *now, *old;
    const struct profile_pair {
        size_t now, old; /* its place in either profile: cores of one number, or one core against another */
        struct shares_diff diff;
    } * pairs;
    size_t n;
};

/* Its last line has the notes of what the two profiles do not have in common. */
struct document profile_diff_document(const struct profile_diff_report *report);
