/* SPDX-License-Identifier: MIT */
/*
 * A command that measures is three parts: prepare, measure, conclude. What is around them is here once:
 * progress, the end of the session, Ctrl-C, why a run ended early, output that was not written, the exit
 * code.
 */
#pragma once

#include "commands/command.h"
#include "measure/result.h"
#include "report/canvas.h"
#include "report/render.h"
#include "run/session.h"

struct measuring {
    const struct context *context;
    struct session *session;
    bool within; /* the session is open and stays so; the target is put back all the same */
    struct conditions conditions;
    struct progress progress;
    struct document document; /* the result; of JSON without what is written */
    bool has_result;          /* by `measure`: there is one worth showing, whether it failed or not */
    const struct error *why;  /* for `conclude`: measure failed, or no error */
    char ended[256];          /* the same in words; "" */
    int code;                 /* of what was measured */
    bool unwritten;
    bool cut; /* it ended too early for a pass, without an error */
};

/* `self` begins with a struct measuring. */
struct measure_parts {
    /* Before the program is read; without `find`, up to an open session whose target is known. Changes
     * nothing on it. May be NULL. */
    bool (*prepare)(void *self, struct error *error);
    /* Between the opening of the program and of the target; NULL: `prepare` opens both. */
    bool (*find)(void *self, struct error *error);
    bool (*measure)(void *self, struct error *error);
    /* Of a result, after the target was put back: adds it to the document, or writes it, and sets `code`.
     * False: the run has failed after all, and its output is not worth keeping. */
    bool (*conclude)(void *self, struct error *error);
    report_writer *write; /* of the document; NULL: nothing is left to be written */
    void (*free)(void *self);
};

/* Returns the exit code. */
int measure_command(void *self, const struct measure_parts *parts, struct error *error);
/* Begins the result: as text the conditions, as JSON the header are written at once. */
bool measure_begin(struct measuring *self, struct json_part header, struct error *error);
/* Of `conclude`: a run that is done otherwise, but none of its hits counts. */
void measure_tainted(struct measuring *self, bool tainted);
