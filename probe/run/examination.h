/* SPDX-License-Identifier: MIT */
/* Why a counter cannot be read, and what mends it; what a halt adds at a location; the proof that a run
 * leaves nothing. `mend` is the one thing that leaves a trace. */
#pragma once

#include "report/document.h"
#include "run/calibration.h"
#include "run/session.h"

struct examination {
    struct session *session;
    struct document *document; /* of the caller */
    const char *start, *end;   /* locations; NULL: none */
    bool prove, mend;

    bool healthy;                    /* found */
    struct proof proof;              /* with `prove` */
    struct location location;        /* without, and what a halt costs there: */
    struct calibrating *calibration; /* NULL: no location is named */
};

/* Opens program and target. What was found is in the document also after an error. */
bool examination_make(struct examination *self, struct error *error);
void examination_free(struct examination *self);

/* What a halt adds at the location `at` alone, or, NULL, where the core is. */
bool calibration_put(struct session *session, const char *at, struct document *document, struct error *error);
