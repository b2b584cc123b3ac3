/*
 * What pmu.tcl answers. Pure, and strict: the other end may be anything, and a number that is not
 * exactly what was asked for must not become a measurement.
 */
#pragma once

#include "base/step.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct openocd_reply {
    uint64_t sequence;
    enum why why;  /* DONE, NOT_YET, UNEXPECTED or TARGET_FAULT */
    uint64_t done; /* items */
    uint64_t saw;
    uint64_t count; /* of results */
    const char *results, *end;
    const char *words; /* OpenOCD's own, after TARGET_FAULT */
    size_t words_length;
};

/* False: this is no answer of pmu.tcl's. Points into `text`. */
bool openocd_reply_read(const char *text, size_t length, struct openocd_reply *reply);
/*
 * Checks that the reply can be the answer to these steps, all of which were sent, and takes the results
 * out of it. `outcome->done` counts steps. TARGET_FAULT stays TARGET_FAULT whatever the words.
 */
bool openocd_reply_take(const struct openocd_reply *reply, const struct step *steps, size_t n,
                        uint64_t *results, struct outcome *outcome);

/* The list of targets. Returns how many there are, of which `room` are stored; false if it is no list. */
bool openocd_targets_read(const char *text, size_t length, struct link_view *out, size_t room, size_t *n);
/* "Open On-Chip Debugger 0.12.0": false if it is none. */
bool openocd_version_read(const char *text, unsigned *major, unsigned *minor);
