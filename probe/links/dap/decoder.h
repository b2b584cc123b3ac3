/*
 * The decoder: takes results from the reply to a compiled packet and finds how far the packet was carried
 * out. It trusts only the count and the acknowledge in the reply, and these only as far as the packet allows.
 * Pure.
 */
#pragma once

#include "links/dap/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum decode_end {
    DECODE_DONE,     /* go on with `step` */
    DECODE_MISMATCH, /* the wait or proof at `step` failed */
    DECODE_WAIT,
    DECODE_FAULT,
    DECODE_NO_ACK, /* noise on the wires, or no target */
    DECODE_BROKEN, /* not a reply to this packet: nothing is known */
};

struct decoded {
    enum decode_end end;
    size_t step;             /* the steps before it are done, with results */
    bool saw_known;          /* DECODE_MISMATCH: `saw` was read at `step` */
    uint64_t saw;            /* shifted and cut to the step's size */
    const struct note *note; /* DECODE_MISMATCH: the match that failed; NULL: a look did */
    bool write;              /* the write at `written` was accepted last; how it ended is unknown */
    bool behind;             /* and `step` is the wait or proof after it, which may be what failed */
    size_t written;
    size_t unchecked; /* JTAG: a fault happened at this step or later */
};

/* `results` has the same indexes as `steps`. */
struct decoded decode(struct compiler *compiler, const struct packet *packet, const struct step *steps,
                      const uint8_t *reply, size_t n, uint64_t *results);
