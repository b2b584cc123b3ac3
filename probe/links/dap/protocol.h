/* SPDX-License-Identifier: MIT */
/*
 * The CMSIS-DAP protocol as bytes: writes requests into a buffer, reads replies and checks every length.
 * Pure. The compiler makes the contents of DAP_Transfer.
 */
#pragma once

#include "links/dap/carrier.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Command numbers, CMSIS-DAP "Commands and Responses". */
enum dap_command {
    DAP_INFO = 0x00,
    DAP_HOST_STATUS = 0x01,
    DAP_CONNECT = 0x02,
    DAP_DISCONNECT = 0x03,
    DAP_TRANSFER_CONFIGURE = 0x04,
    DAP_TRANSFER = 0x05,
    DAP_WRITE_ABORT = 0x08,
    DAP_SWJ_PINS = 0x10,
    DAP_SWJ_CLOCK = 0x11,
    DAP_SWJ_SEQUENCE = 0x12,
    DAP_SWD_CONFIGURE = 0x13,
    DAP_JTAG_SEQUENCE = 0x14,
    DAP_JTAG_CONFIGURE = 0x15,
    DAP_SWO_TRANSPORT = 0x17,
    DAP_SWO_MODE = 0x18,
    DAP_SWO_BAUDRATE = 0x19,
    DAP_SWO_CONTROL = 0x1A,
    DAP_SWO_STATUS = 0x1B,
    DAP_SWO_DATA = 0x1C,
    DAP_SWD_SEQUENCE = 0x1D,
    DAP_INVALID = 0xFF,
};

enum dap_info_id {
    DAP_INFO_VENDOR = 0x01,
    DAP_INFO_PRODUCT = 0x02,
    DAP_INFO_SERIAL = 0x03,
    DAP_INFO_PROTOCOL = 0x04,
    DAP_INFO_FIRMWARE = 0x09,
    DAP_INFO_CAPABILITIES = 0xF0,
    DAP_INFO_PACKET_COUNT = 0xFE,
    DAP_INFO_PACKET_SIZE = 0xFF,
};

enum {
    DAP_CAN_SWD = 1 << 0,
    DAP_CAN_JTAG = 1 << 1,
    DAP_CAN_SWO_UART = 1 << 2,
    DAP_CAN_ATOMIC = 1 << 4,
    DAP_CAN_TIMER = 1 << 5,
    DAP_CAN_SWO_STREAM = 1 << 6
};
enum { DAP_PORT_SWD = 1, DAP_PORT_JTAG = 2 };
enum { DAP_PIN_TRST = 1 << 5 };

/* One byte of a DAP_Transfer request, and its answer. */
enum {
    TRANSFER_AP = 1 << 0,
    TRANSFER_READ = 1 << 1,
    TRANSFER_REGISTER = 0xC,
    TRANSFER_MATCH_VALUE = 1 << 4,
    TRANSFER_MATCH_MASK = 1 << 5,
    TRANSFER_HEAD = 3, /* bytes before the first transfer, in the request and in the reply */
    TRANSFER_MOST = 255,
    ACK_OK = 1,
    ACK_WAIT = 2,
    ACK_FAULT = 4,
    ACK_BITS = 7,
    ACK_PROTOCOL_ERROR = 1 << 3,
    ACK_MISMATCH = 1 << 4,
};

enum { PROTOCOL_ROOM = 64 }; /* each request below fits the smallest packet */

struct dap_info {
    char vendor[64], product[64], serial[64], protocol[32], firmware[32];
    uint8_t capabilities;
    bool capabilities_known; /* false for old firmware: SWD is assumed */
    unsigned packet_count;   /* at least 1 */
    size_t packet_size;
};

/* The command's name; NULL: not in the list above. */
const char *protocol_name(uint8_t command);

/* Requests of which a byte or more must be made; each returns its length. */
size_t protocol_transfer_configure(uint8_t *out, uint8_t idle, uint16_t wait_retry, uint16_t match_retry);
size_t protocol_write_abort(uint8_t *out, uint8_t index, uint32_t value);
size_t protocol_clock(uint8_t *out, uint32_t hz);
size_t protocol_swo_baud(uint8_t *out, uint32_t baud);
size_t protocol_swo_data(uint8_t *out, uint16_t most);
/* The pins of `select` get the levels of `levels`. */
size_t protocol_pins(uint8_t *out, uint8_t levels, uint8_t select);
/* Up to 256 bits on SWDIO/TMS, least significant first. */
size_t protocol_swj_sequence(uint8_t *out, const uint8_t *bits, unsigned n);
/* A write to TARGETSEL: no target acknowledges it, so DAP_Transfer cannot do it. */
size_t protocol_target_select(uint8_t *out, uint32_t device);
/* `n` (1 to 64) clocks with TMS held; `capture`: the reply has what TDO gave. */
size_t protocol_jtag_sequence(uint8_t *out, bool tms, bool capture, const uint8_t *tdi, unsigned n);
size_t protocol_jtag_configure(uint8_t *out, const uint8_t *ir_lengths, size_t n);

enum protocol_answer {
    ANSWER_GOOD,
    ANSWER_UNKNOWN, /* the firmware does not have this command */
    ANSWER_REFUSED, /* the command failed */
    ANSWER_BROKEN,  /* the reply is too short, or answers another command */
};

enum protocol_answer protocol_check(const uint8_t *reply, size_t n, uint8_t command);
/* For commands that answer with a status byte. */
enum protocol_answer protocol_status(const uint8_t *reply, size_t n, uint8_t command);
enum protocol_answer protocol_connected(const uint8_t *reply, size_t n, uint8_t *port);
/* Copies the printable characters, none if the probe lacks this text. False: the reply is broken. */
bool protocol_info_text(const uint8_t *reply, size_t n, char *out, size_t size);
/* False also if the probe lacks this number. */
bool protocol_info_number(const uint8_t *reply, size_t n, uint32_t *value);
/* The trace in a reply to protocol_swo_data, at most `room` bytes. *lost: some were lost before it. */
enum protocol_answer protocol_swo_take(const uint8_t *reply, size_t n, uint8_t *out, size_t room,
                                       size_t *taken, bool *lost);
/* A reply to DAP_SWO_Status: the same without trace. */
enum protocol_answer protocol_swo_status(const uint8_t *reply, size_t n, bool *lost);
bool protocol_jtag_captured(const uint8_t *reply, size_t n, uint8_t *out, unsigned bits);
/* Takes one answer into `info`; a missing value keeps the old one. False: the reply is broken. */
bool protocol_take_info(struct dap_info *info, uint8_t id, const uint8_t *reply, size_t n);

/*
 * A packet under construction: the bytes of one DAP_Transfer request, and a note for each transfer, by which
 * the decoder reads the reply. Neither the packet nor its reply exceeds the probe's packet size.
 */
enum note_kind {
    NOTE_SETUP, /* SELECT, CSW, TAR */
    NOTE_MASK,  /* the match mask: stays inside the probe */
    NOTE_READ,  /* a step's read; the reply holds a word */
    NOTE_WRITE, /* a step's write */
    NOTE_MATCH, /* a step's read until the value matches */
    NOTE_LOOK,  /* one read for a wait or proof; the reply holds a word, and we compare it */
    NOTE_LEARN, /* reads the whole word after the match before it */
    NOTE_GATE,  /* a match that fails unless the packet before it was carried out completely */
    NOTE_GUARD, /* read of RDBUFF: everything before it has finished */
    NOTE_CHECK, /* read of CTRL/STAT: over JTAG only this shows a fault */
};

struct note {
    uint8_t kind;
    uint8_t request;  /* register, direction, port: as sent */
    uint8_t lane;     /* shift in bits of a narrow access */
    uint8_t entry;    /* NOTE_MATCH, NOTE_LEARN: the prediction's */
    bool predicted;   /* NOTE_MATCH: on a predicted whole word, not only the step's bits */
    uint32_t step;    /* the step it belongs to */
    uint32_t implied; /* NOTE_MATCH: the last proof after it that its whole word also answers; or `step` */
    uint32_t word;    /* NOTE_MATCH: the value */
};

/* Steps [first, end) have their accesses here, or are times between them. */
struct packet {
    uint8_t bytes[CARRIER_ROOM];
    size_t length;
    size_t answer; /* bytes of the reply if all succeeds */
    size_t n;
    struct note notes[TRANSFER_MOST];
    size_t first, end;
    size_t limit; /* bytes, of the packet and of its reply */
    struct packet_reserve {
        size_t transfers, length, answer;
    } reserve; /* room for the transfers that close the packet */
};

void packet_begin(struct packet *packet, size_t limit, uint8_t index, size_t first);
/* False, with nothing changed, if it does not fit before the reserve. `data` may be NULL. */
bool packet_put(struct packet *packet, struct note note, const uint32_t *data);
/* Whether the reply has a word for it. */
bool note_answers(const struct note *note);
/* Whether its word arrives with the next transfer: a read of an access port; over JTAG every read. */
bool note_posted(const struct note *note, bool jtag);
