/*
 * A packet under construction: the bytes of one DAP_Transfer request, and for each transfer in it a note of
 * what it is for, by which the reply is read. Never longer than the probe takes, nor its reply.
 */
#pragma once

#include "links/dap/carrier.h"
#include "links/dap/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum note_kind {
    NOTE_SETUP, /* SELECT, CSW, TAR */
    NOTE_MASK,  /* the match mask: stays inside the probe */
    NOTE_READ,  /* a step's read; the reply holds a word */
    NOTE_WRITE, /* a step's write */
    NOTE_MATCH, /* a step's read until the value matches */
    NOTE_LOOK,  /* one read for a step that waits or proves; the reply holds a word, and we compare */
    NOTE_LEARN, /* the whole word behind the match before it */
    NOTE_GATE,  /* a match that fails unless the packet before it was carried out whole */
    NOTE_GUARD, /* read of RDBUFF: whatever came before it is finished */
    NOTE_CHECK, /* read of CTRL/STAT, which alone tells of a fault over JTAG */
};

struct note {
    uint8_t kind;
    uint8_t request;  /* register, direction, port: as sent */
    uint8_t lane;     /* bits that a narrow access is shifted by */
    uint8_t entry;    /* NOTE_MATCH, NOTE_LEARN: the prediction's */
    bool predicted;   /* NOTE_MATCH: on a predicted word, which says more than the step asks */
    uint32_t step;    /* which it serves */
    uint32_t implied; /* NOTE_MATCH: the last step behind it that asks what its whole word has answered; or
                         `step` */
    uint32_t word;    /* NOTE_MATCH: what was matched */
};

/* Steps [first, end) have their access in here, or are times that belong to it. */
struct packet {
    uint8_t bytes[CARRIER_ROOM];
    size_t length;
    size_t answer; /* bytes of a reply that tells of full success */
    size_t n;
    struct note notes[TRANSFER_MOST];
    size_t first, end;
    size_t limit; /* bytes, either way */
    struct packet_reserve {
        size_t transfers, length, answer;
    } reserve; /* room for what must close the packet */
};

void packet_begin(struct packet *packet, size_t limit, uint8_t index, size_t first);
/* False when it no longer fits before the reserve, with nothing changed. `data` may be NULL. */
bool packet_put(struct packet *packet, struct note note, const uint32_t *data);
/* Whether a transfer is answered by a word. */
bool note_answers(const struct note *note);
/* Whether its word comes only with the next transfer: a read of an access port, over JTAG each read. */
bool note_posted(const struct note *note, bool jtag);
