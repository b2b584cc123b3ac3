/* SPDX-License-Identifier: MIT */
/*
 * The packet compiler, and the predictions that make its packets shorter.
 *
 * A prediction is the whole word that a register is likely to hold when a wait or proof succeeds. A match on
 * the whole word implies the match that was asked for and saves the five bytes for changing the match mask. A
 * wrong prediction costs one more read, never a wrong result: the step's own mask then decides.
 */
#pragma once

#include "base/step.h"
#include "links/dap/ap_state.h"
#include "links/dap/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PREDICTIONS = 64, PREDICT_WRITES = 8 };

/* Keyed by the register, the question, and the last write to the register. */
struct prediction {
    uint16_t unit;
    bool used, known, after_write;
    uint8_t strikes; /* failures in a row */
    uint32_t offset, mask, value, written;
    uint32_t word;
};

struct predictor {
    struct prediction entries[PREDICTIONS];
    unsigned next;
    struct predicted_write {
        uint16_t unit;
        bool used;
        uint32_t offset, value;
    } writes[PREDICT_WRITES];
    unsigned next_write;
};

/* A match on the predicted word failed, and the step was then satisfied by `saw`. */
void predict_failed(struct predictor *predictor, uint8_t entry, uint32_t saw);

/*
 * The compiler: a list of steps becomes DAP_Transfer packets, one at a time. OP_UNTIL and OP_EXPECT become
 * value matches, which the probe's firmware repeats and which end the packet if they fail. Pure. The decoder
 * reads the replies.
 *
 * A match on memory re-reads its register, up to once more than asked. Where a read has side effects, as on
 * data-transfer registers, an OP_EXPECT must be `once`: then a failed match decides, and no further read
 * follows.
 */
struct compiler {
    size_t packet_size;
    uint8_t index;    /* of the device in the JTAG chain */
    bool jtag;        /* only CTRL/STAT shows faults: it is read after every write and at the end */
    bool padded;      /* replies are longer than their contents */
    bool loses_place; /* the firmware mishandles a match directly after a posted read (JTAG) */
    bool match;       /* the firmware compares values; otherwise a packet ends at each wait and proof */
    bool resends;     /* a match on RESEND compares what was read, without another read of the register */
    struct ap_state ap;
    struct predictor predictor;
};

/* Why this step is impossible; NULL: it is possible. */
const char *compiler_refusal(const struct compiler *compiler, const struct step *step);

/*
 * Packets sent before the previous one is answered: each ends by writing a token to TAR, and the next one
 * begins with a match on the token. So nothing of it is carried out if the previous one ended early.
 */
struct compiler_gates {
    bool behind, ahead;                 /* a packet is in flight before this one; one follows */
    uint32_t behind_token, ahead_token; /* addresses that no step has */
};

/*
 * Makes the next packet, with as many steps from `first` on as fit, up to one that is impossible or belongs
 * to another debug port. `look`: the match of the first step failed, so it is read once for us to see, and a
 * wait then goes on with its own mask. A packet without transfers holds only times, or nothing. If `gates` is
 * not NULL, all steps must be memory of one access port.
 */
void compiler_packet(struct compiler *compiler, const struct step *steps, size_t n, size_t first, bool look,
                     const struct compiler_gates *gates, struct packet *packet);

/*
 * The decoder: takes results from the reply to a compiled packet and finds how far the packet was carried
 * out. It trusts only the count and the acknowledge in the reply, and these only as far as the packet allows.
 * Pure.
 */
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
    const struct note *note; /* DECODE_MISMATCH: the match that failed; NULL: a NOTE_LOOK did */
    bool write;              /* the write at `written` was accepted last; how it ended is unknown */
    bool behind;             /* and `step` is the wait or proof after it, which may be what failed */
    size_t written;
    size_t unchecked; /* JTAG: a fault happened at this step or later */
};

/* `results` has the same indexes as `steps`. */
struct decoded decode(struct compiler *compiler, const struct packet *packet, const struct step *steps,
                      const uint8_t *reply, size_t n, uint64_t *results);
