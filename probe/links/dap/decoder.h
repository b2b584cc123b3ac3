/*
 * The decoder: the reply to a compiled packet becomes results, and how far it came. Trusts nothing but the
 * count and the acknowledgement in the reply, and of those only what the packet allows. Pure.
 */
#pragma once

#include "links/dap/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum decode_end {
    DECODE_DONE,     /* go on with `step` */
    DECODE_MISMATCH, /* `step` waits or proves, and did not come out */
    DECODE_WAIT,
    DECODE_FAULT,
    DECODE_NO_ACK, /* noise on the wires, or nobody there */
    DECODE_BROKEN, /* no reply to this packet at all: nothing in it is known */
};

struct decoded {
    enum decode_end end;
    size_t step;             /* the steps below it are done, with results */
    bool saw_known;          /* DECODE_MISMATCH: `saw` was read at `step` */
    uint64_t saw;            /* lane and size of the step */
    const struct note *note; /* DECODE_MISMATCH: the match that failed; NULL when it was a look */
    bool write;              /* the write at `written` was accepted last, and how it ended is not known */
    bool behind;             /* and `step` is the wait or proof behind it, which may as well be what failed */
    size_t written;
    size_t unchecked; /* JTAG: a fault would lie at this step or behind it */
};

/* `results` is indexed like the steps, from the list's beginning. */
struct decoded decode(struct compiler *compiler, const struct packet *packet, const struct step *steps,
                      const uint8_t *reply, size_t n, uint64_t *results);
