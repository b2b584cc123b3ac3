/* SPDX-License-Identifier: MIT */
/*
 * The events of a core and the metrics made of them, as the lines of a document; the names of cores whose
 * events are known.
 */
#pragma once

#include "report/document.h"
#include "run/session.h"

enum { LIST_SETS = 2, LIST_NAME = 32 };
bool list_cpu(size_t i, char out[LIST_NAME]); /* the i-th: each part, each set; false: there are no more */
/* The sets of events of a core by its name, such as "a9"; 0: unknown. */
size_t list_sets(const char *cpu, const char *sets[LIST_SETS]);

/* Of the core `cpu`, or, NULL, of the session's, whose target is opened here. `pattern` is in the name or
 * meaning of each that is listed; NULL: all. */
bool listing_put(struct session *session, const char *cpu, const char *pattern, struct document *document,
                 struct error *error);
