/* SPDX-License-Identifier: MIT */
/*
 * Packets of the GDB remote protocol, both ways: framing, checksums, escapes and run lengths (GDB manual,
 * appendix E "GDB Remote Serial Protocol"). The decoder is pure: bytes in, events out. No packet takes more
 * room than the caller gave.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gdb_event {
    GDB_NOTHING,      /* more bytes are needed */
    GDB_PACKET,       /* a whole one, with the right checksum */
    GDB_NOTIFICATION, /* a whole one, never acknowledged */
    GDB_ACK,
    GDB_NAK,
    GDB_DAMAGED,  /* a wrong checksum, run length or escape */
    GDB_TOO_LONG, /* did not fit, and was dropped */
};

struct gdb_decoder {
    char *payload; /* the caller's; ends with a NUL after a whole packet */
    size_t room, used;
    enum gdb_decoder_state {
        GDB_BETWEEN,
        GDB_INSIDE,
        GDB_ESCAPED,
        GDB_RUN,
        GDB_CHECK_HIGH,
        GDB_CHECK_LOW
    } state;
    bool notification, damaged, too_long;
    uint8_t sum, check;
};

/* `room` counts the NUL. */
void gdb_decoder_init(struct gdb_decoder *decoder, char *payload, size_t room);
/* Takes bytes up to the next event; `taken` of them. */
enum gdb_event gdb_decoder_take(struct gdb_decoder *decoder, const uint8_t *bytes, size_t n, size_t *taken);

/* Frames and escapes a payload; returns the length, 0 if it does not fit. */
size_t gdb_packet_frame(const void *payload, size_t n, char *out, size_t room);

/* -1: no hexadecimal digit */
/* Pairs of digits into bytes; false if `text` is anything else, or does not fit. */
bool gdb_hex_read(const char *text, size_t length, void *out, size_t room, size_t *n);
/* `out` has room for 2 n + 1 characters. */
void gdb_hex_write(const void *bytes, size_t n, char *out);
/* A number in hexadecimal digits, up to the first other character; false without digits, or if too large. */
bool gdb_number_read(const char *text, uint64_t *value, const char **end);

/*
 * The wire to a GDB server: packets out and in, acknowledged as long as the server wants it. Each wait has an
 * end. All its memory is in the struct. The wire is lost after silence in place of an answer, or repeated
 * damage: an answer must never be taken for the answer to another question.
 */
enum { GDB_PAYLOAD = 32 * 1024, GDB_FRAME = 2 * GDB_PAYLOAD + 8, GDB_CHUNK = 4096 };

struct gdb_wire {
    const char *peer; /* "the GDB server", or "GDB" */
    bool is_gdb;      /* GDB itself, whose user halted the core and may move it between two questions */
    int fd;
    bool acks, lost, hung_up; /* hung_up: by the other end; one that is only lost can be used once more */
    bool noise;               /* any byte arrived */
    bool heard;               /* a packet or an acknowledgement arrived */
    char payload[GDB_PAYLOAD + 1]; /* received last */
    size_t length;                 /* of it */
    struct gdb_decoder decoder;
    uint8_t in[GDB_CHUNK];
    size_t in_n, in_taken;
    char out[GDB_FRAME]; /* the last packet, to be sent again */
    size_t out_n;
    unsigned repeats, damages;
    const struct log *log;
};

enum gdb_came { GDB_CAME, GDB_CAME_NOT, GDB_CAME_NEVER };

/* Takes over `fd`, which is non-blocking. */
void gdb_wire_init(struct gdb_wire *wire, int fd, bool is_gdb, const struct log *log);
void gdb_wire_close(struct gdb_wire *wire);
bool gdb_wire_send(struct gdb_wire *wire, const void *payload, size_t n, const struct deadline *deadline,
                   struct error *error);
/* One byte outside packets. */
bool gdb_wire_send_raw(struct gdb_wire *wire, char byte, const struct deadline *deadline,
                       struct error *error);
/* The next packet, into wire->payload, acknowledged. GDB_CAME_NOT: the deadline passed; `error` is set for
 * GDB_CAME_NEVER only. */
enum gdb_came gdb_wire_receive(struct gdb_wire *wire, const struct deadline *deadline, struct error *error);
/* Marks it lost; always false. `why` goes on after the peer's name: " does not answer". */
bool gdb_wire_lose(struct gdb_wire *wire, enum error_kind kind, const char *why, struct error *error);
/* Says that it is lost; always false. */
bool gdb_wire_silent(struct gdb_wire *wire, struct error *error);
bool gdb_wire_out_of_step(struct gdb_wire *wire, struct error *error);
bool gdb_wire_tell_lost(const struct gdb_wire *wire, struct error *error);
