/*
 * A profile as a page in one file: a flame graph, the table of functions of each core, the source of the
 * hottest functions. Names and sources may hold any bytes: they stay texts.
 */
#pragma once

#include "profile/annotation.h"
#include "profile/flame.h"
#include "report/profile_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct profile_page {
    const struct profile_report *report; /* by function */
    const struct stacks *stacks;
    const struct flame *flame;
    const struct annotated_function *functions; /* the hottest first */
    size_t n;
};

/* False: the output could not be written whole. */
bool profile_page(FILE *out, const struct profile_page *page);
