/* SPDX-License-Identifier: MIT */
#include "trace/packet.h"

#include <string.h>

enum {
    SYNC_ZEROS = 5,
    SYNC_END = 0x80,
    GOES_ON = 0x80,
    FIRST_COMPARATOR = 8,
    FIRST_VALUE = 16,
    SOURCES = 24
};

/* What a first byte begins: `fixed` bytes follow, or up to `most` of which each but the last has bit 7. */
struct trace_shape {
    enum trace_kind kind;
    uint8_t fixed, most;
};

static enum trace_kind source_kind(unsigned id, unsigned size)
{
    if (id == 0 || id == 3)
        return size != 1 ? TRACE_RESERVED : id == 0 ? TRACE_EVENTS : TRACE_PMU;
    if (id == 1)
        return size == 2 ? TRACE_EXCEPTION : TRACE_RESERVED;
    if (id == 2)
        return size == 4 ? TRACE_PC : size == 1 ? TRACE_ASLEEP : TRACE_RESERVED;
    if (id < FIRST_COMPARATOR || id >= SOURCES)
        return TRACE_RESERVED;
    if (id >= FIRST_VALUE)
        return id % 2 == 0 ? TRACE_DATA_READ : TRACE_DATA_WRITTEN;
    return id % 2 == 0 ? TRACE_DATA_PC : TRACE_ADDRESS;
}

static struct trace_shape packet_shape(uint8_t head)
{
    enum { SIZE = 3, SOURCE = 4, STAMP = 0xC0 };
    if ((head & SIZE) != 0) {
        unsigned size = 1U << ((head & SIZE) - 1);
        enum trace_kind kind = (head & SOURCE) == 0 ? TRACE_PRINT : source_kind(head >> 3, size);
        return (struct trace_shape){.kind = kind, .fixed = (uint8_t)size};
    }
    uint8_t more = (head & GOES_ON) != 0;
    if (head == 0x70)
        return (struct trace_shape){.kind = TRACE_OVERFLOW};
    if (head == 0x94 || head == 0xB4)
        return (struct trace_shape){.kind = TRACE_GLOBAL, .most = head == 0x94 ? 4 : 6};
    if ((head & 0xF) == 0 && (!more || (head & STAMP) == STAMP))
        return (struct trace_shape){.kind = TRACE_TIME, .most = more ? 4 : 0};
    if ((head & 0xB) == 8)
        return (struct trace_shape){.kind = TRACE_EXTENSION, .most = more ? 4 : 0};
    return (struct trace_shape){.kind = TRACE_RESERVED, .most = more ? TRACE_PACKET_MOST - 1 : 0};
}

static uint64_t packet_value(const uint8_t *bytes, size_t n, unsigned bits)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)(bytes[i] & ((1U << bits) - 1)) << (bits * i);
    return value;
}

static void refine_source(unsigned id, struct trace_packet *out)
{
    if (id >= FIRST_COMPARATOR)
        out->n = (uint8_t)((id - (id < FIRST_VALUE ? FIRST_COMPARATOR : FIRST_VALUE)) / 2);
    if (out->kind == TRACE_DATA_PC && out->size == 1 && (out->value & 1) == 1)
        out->kind = out->value == 1 ? TRACE_MATCH : TRACE_RESERVED;
    if (out->kind == TRACE_EXCEPTION) {
        out->n = (out->value >> 12) & 3;
        out->kind = out->n == 0 || (out->value & 0xCE00) != 0 ? TRACE_RESERVED : TRACE_EXCEPTION;
        out->value &= 0x1FF;
    }
    if ((out->kind == TRACE_EVENTS && out->value > TRACE_EVENT_ALL) ||
        (out->kind == TRACE_ASLEEP && out->value != 0 && out->value != 0xFF))
        out->kind = TRACE_RESERVED;
}

static void packet_finish(struct trace_decoder *decoder, enum trace_kind kind, bool fixed,
                          struct trace_packet *out)
{
    uint8_t head = decoder->bytes[0];
    size_t n = decoder->n - 1U;
    *out = (struct trace_packet){.kind = kind, .size = (uint8_t)n};
    out->value = packet_value(decoder->bytes + 1, n, fixed ? 8 : 7);
    if (kind == TRACE_TIME)
        out->n = n == 0 ? 0 : (head >> 4) & 3;
    if (kind == TRACE_TIME && n == 0)
        out->value = head >> 4;
    if (kind == TRACE_PRINT)
        out->n = (uint8_t)(decoder->page * 32 + (head >> 3));
    if (kind == TRACE_EXTENSION && n == 0 && (head & 4) == 0)
        decoder->page = (head >> 4) & 7;
    if (kind != TRACE_PRINT && fixed)
        refine_source(head >> 3, out);
    decoder->n = 0;
}

/* Zeros are the begin of a synchronisation. True: a packet is complete; *used: so is the byte. */
static bool packet_add_zero(struct trace_decoder *decoder, uint8_t byte, bool *used, struct trace_packet *out)
{
    *used = byte == 0 || (byte == SYNC_END && decoder->zeros >= SYNC_ZEROS);
    if (byte == 0) {
        decoder->zeros += decoder->zeros < SYNC_ZEROS;
        return false;
    }
    *out = (struct trace_packet){.kind = *used ? TRACE_SYNC : TRACE_BAD};
    decoder->zeros = decoder->page = 0;
    return true;
}

/* True: a packet is complete with this byte, which is not in a synchronisation. */
static bool packet_add_byte(struct trace_decoder *decoder, uint8_t byte, struct trace_packet *out)
{
    decoder->bytes[decoder->n++] = byte;
    const struct trace_shape shape = packet_shape(decoder->bytes[0]);
    size_t n = decoder->n - 1U;
    bool ends = n == shape.fixed;
    if (shape.most > 0)
        ends = n > 0 && (byte & GOES_ON) == 0;
    bool bad = !ends && shape.most > 0 && n == shape.most;
    if (ends || bad)
        packet_finish(decoder, bad ? TRACE_BAD : shape.kind, shape.fixed > 0, out);
    return ends || bad;
}

bool trace_next(struct trace_decoder *decoder, const uint8_t **at, const uint8_t *end,
                struct trace_packet *out)
{
    while (*at < end) {
        bool used = true, complete;
        if (decoder->zeros > 0 || (decoder->n == 0 && **at == 0))
            complete = packet_add_zero(decoder, **at, &used, out);
        else
            complete = packet_add_byte(decoder, **at, out);
        *at += used;
        if (complete)
            return true;
    }
    return false;
}

bool trace_lacks(const struct trace_decoder *decoder, size_t n)
{
    return decoder->n > 0 && packet_shape(decoder->bytes[0]).fixed + 1U == decoder->n + n;
}

/* ---- frames */

static size_t frame_add(struct trace_byte *out, size_t n, uint8_t id, uint8_t byte)
{
    enum { IDS = 0x70 }; /* the numbers from here on are reserved, or triggers */
    if (id == 0 || id >= IDS)
        return n;
    out[n] = (struct trace_byte){.id = id, .byte = byte};
    return n + 1;
}

size_t trace_frame_take(uint8_t *id, const uint8_t *frame, struct trace_byte *out)
{
    enum { FLAGS = TRACE_FRAME - 1 };
    size_t n = 0;
    for (unsigned k = 0; k < FLAGS; k += 2) {
        bool flag = (frame[FLAGS] >> (k / 2)) & 1, has_more = k + 1 < FLAGS;
        if ((frame[k] & 1) == 0) {
            n = frame_add(out, n, *id, (uint8_t)(frame[k] | flag));
            if (has_more)
                n = frame_add(out, n, *id, frame[k + 1]);
            continue;
        }
        uint8_t old = *id;
        *id = frame[k] >> 1;
        if (has_more)
            n = frame_add(out, n, flag ? old : *id, frame[k + 1]);
    }
    return n;
}
