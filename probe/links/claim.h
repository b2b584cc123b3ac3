/* SPDX-License-Identifier: MIT */
/*
 * Claims: who uses a probe or a server, so that a second pmu-probe is refused with the name of the first. A
 * claim is a line of text, kept where both can see it: in a variable of OpenOCD, or in a file.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLAIM_TEXT = 256 };

struct claim {
    char host[64];
    char boot[96];             /* identifies this start of this machine, and its process ids; "-": unknown */
    uint64_t process, started; /* `started`: the process' start in clock ticks, for ids are used again */
    char since[8];             /* "14:02", the holder's local time */
    char command[24];
    bool takes_over; /* from a holder of which this machine does not know that it lives; not written */
};

/* This process. */
void claim_make(struct claim *claim, const char *command);
/* One line without blanks at its ends, braces or control characters. */
void claim_write(const struct claim *claim, char out[CLAIM_TEXT]);
/* False: no claim. */
bool claim_read(const char *text, struct claim *out);
/* "NAME is in use by pmu-probe delta, process 1234 on HOST, since 14:02". Always false. */
bool claim_refuse(const struct claim *other, const char *name, struct error *error);

/* Where a claim is kept: writes `mine` if there is none, or if it is `dead`; `found`: what is there then. */
struct claim_place {
    void *context;
    bool (*mark)(void *context, const char *mine, const char *dead, char found[CLAIM_TEXT], struct error *);
};
/* ERROR_IN_USE: a live process, or one on another machine, holds it. */
bool claim_take(const struct claim *claim, const struct claim_place *place, const char *name,
                struct error *error);
