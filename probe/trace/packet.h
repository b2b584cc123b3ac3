/* SPDX-License-Identifier: MIT */
/*
 * Packets of the ITM and the DWT: bytes to packets, and frames of 16 bytes to the bytes of each source. DDI
 * 0403 appendix D4, DDI 0553 appendix F; IHI 0029 D4.2 for frames. Pure; whatever the bytes are, it ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_kind {
    TRACE_SYNC,
    TRACE_OVERFLOW,
    TRACE_TIME,      /* n: TC; value: cycles since the last one, without what a calibration adds */
    TRACE_GLOBAL,    /* global timestamp */
    TRACE_EXTENSION, /* the page of the ports that follow */
    TRACE_PRINT,     /* n: port, of 256 */
    TRACE_EVENTS,    /* value: bits as in TRACE_EVENT_ */
    TRACE_EXCEPTION, /* n: 1 enter, 2 exit, 3 return; value: its number */
    TRACE_PC,
    TRACE_ASLEEP,  /* in place of TRACE_PC; value: 0, or 0xFF if the PC may not be seen */
    TRACE_PMU,     /* value: bits of event counters that overflowed */
    TRACE_MATCH,   /* from here on, n: comparator */
    TRACE_DATA_PC, /* value: of as many bytes as `size` */
    TRACE_ADDRESS, /* likewise */
    TRACE_DATA_READ,
    TRACE_DATA_WRITTEN,
    TRACE_RESERVED, /* by the manual to be skipped */
    TRACE_BAD,      /* no packet */
    TRACE_KINDS
};

enum { TRACE_ENTER = 1, TRACE_EXIT, TRACE_RETURN };
enum { TRACE_EVENT_CYCLES = 1 << 5, TRACE_EVENT_ALL = 0x3F };
/* TC of a timestamp. LATE_TIME: it was sent late, LATE_PACKET: the packets before it were. */
enum { TRACE_LATE_TIME = 1, TRACE_LATE_PACKET = 2 };

struct trace_packet {
    enum trace_kind kind;
    uint8_t n, size; /* size: of the payload, in bytes */
    uint64_t value;
};

enum { TRACE_PACKET_MOST = 8 };

struct trace_decoder {
    uint8_t bytes[TRACE_PACKET_MOST];
    uint8_t n, page;
    unsigned zeros;
};

/* Takes bytes from *at on until a packet is complete. False: they are used up. All zero is a decoder's begin.
 */
bool trace_next(struct trace_decoder *decoder, const uint8_t **at, const uint8_t *end,
                struct trace_packet *out);

/* Whether the packet that has begun lacks these many bytes, which may be any. */
bool trace_lacks(const struct trace_decoder *decoder, size_t n);

enum { TRACE_FRAME = 16, TRACE_FRAME_BYTES = 15 };

struct trace_byte {
    uint8_t id, byte;
};

/* One frame; *id is the source at its end, 0 before the first frame: bytes of no known source are left out,
 * and so are those of the numbers that are nobody's. Returns how many bytes it has. */
size_t trace_frame_take(uint8_t *id, const uint8_t *frame, struct trace_byte *out);
