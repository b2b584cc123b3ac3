/* SPDX-License-Identifier: MIT */
/*
 * Puts back what a run that did not end has left: by its journal; without one it shows what is set; by force
 * it removes every breakpoint and lets the cores go.
 */
#pragma once

#include "run/request.h"

struct journal_head;

struct restoring {
    const struct request *request;
    const struct surroundings *around;
    bool names_link; /* the user does */
    /* The options of a run, as it noted them. */
    void (*take_words)(const struct journal_head *head, struct request *request);
    /* What was done; `label`: "" of a line without, NULL of a heading. */
    void (*say)(void *context, const char *label, const char *text);
    void *context;
};

bool restore_by_journal(const struct restoring *of, struct error *error);
bool restore_by_force(const struct restoring *of, struct error *error);
