/*
 * The shares of a profile: a table for people, JSON lines, CSV, folded stacks. Names come from files and may
 * hold any bytes: nothing in them is taken as part of the format.
 */
#pragma once

#include "profile/shares.h"
#include "report/stack_formats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct profile_report {
    const struct profile *profile;
    const char *file;            /* where it was read from */
    const char *elf;             /* that the names are from; NULL: none */
    const char *no_names;        /* why there are none, or why they may be wrong; "": they are right */
    const struct shares *shares; /* of each core */
    size_t n;
    const struct stack_report *tree; /* to be printed below each table; NULL: none */
};

/* Each returns false if the output could not be written whole. */
bool profile_text(FILE *out, const struct profile_report *report);
bool profile_text_within(FILE *out, const struct profile_report *report, size_t columns);
bool profile_json(FILE *out, const struct profile_report *report);
bool profile_csv(FILE *out, const struct profile_report *report, char separator);
/* A line for each row, "core 0;work 123": flame graphs are drawn from it. */
bool profile_folded(FILE *out, const struct profile_report *report);

/* For `top`: one core's heading and its first `most` rows; as JSON all of them. `since_begin`: s. */
void profile_text_core(FILE *out, const struct profile_report *report, const struct shares *shares,
                       size_t most, size_t columns);
bool profile_json_core(FILE *out, const struct profile_report *report, const struct shares *shares,
                       double since_begin);

/* What its rows are of: "function", "file", "task", "exception". */
const char *profile_row_kind(enum shares_sort sort);
/* The cells of a row, clean; "": it has none. */
void profile_row_share(const struct share *row, char *out, size_t size); /* "41.77 %" */
void profile_row_error(const struct share *row, char *out, size_t size); /* "0.55", "?" */
void profile_row_address(const struct shares *shares, const struct share *row, char *out, size_t size);
void profile_row_name(const struct shares *shares, const struct share *row, char *out, size_t size);
void profile_row_source(const struct shares *shares, const struct share *row, char *out, size_t size);
