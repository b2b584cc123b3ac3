/*
 * Packets of the GDB remote protocol, both ways: framing, checksums, escapes and run lengths (GDB manual,
 * appendix E "GDB Remote Serial Protocol"). Pure: bytes in, events out. Nothing that arrives can take more
 * room than the caller gave.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gdb_event {
    GDB_NOTHING,      /* more bytes are needed */
    GDB_PACKET,       /* a whole one, with the right checksum */
    GDB_NOTIFICATION, /* likewise; never acknowledged */
    GDB_ACK,
    GDB_NAK,
    GDB_DAMAGED,  /* a wrong checksum, or run lengths and escapes that make no sense */
    GDB_TOO_LONG, /* did not fit, and was dropped */
};

struct gdb_decoder {
    char *payload; /* the caller's; what is decoded so far, and a NUL after a whole packet */
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

/* Frames a payload, escaped where it must be; returns the length, 0 when it does not fit. */
size_t gdb_packet_frame(const void *payload, size_t n, char *out, size_t room);

/* -1: no digit of that kind */
int gdb_hex_digit(char c);
/* Pairs of digits into bytes; false when `text` is not exactly that, or does not fit. */
bool gdb_hex_read(const char *text, size_t length, void *out, size_t room, size_t *n);
/* `out` has room for 2 n + 1 characters. */
void gdb_hex_write(const void *bytes, size_t n, char *out);
/* A number in hexadecimal digits, up to the first that is none; false without any, or when it is too large.
 */
bool gdb_number_read(const char *text, uint64_t *value, const char **end);
