/* SPDX-License-Identifier: MIT */
#include "debuggers/gdb_packet.h"

#include "base/socket.h"
#include "base/values.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { RUN_BASE = 29, RUN_FEWEST = 3, ESCAPE = 0x7d, ESCAPED_BY = 0x20 };

static const char digits[] = "0123456789abcdef";

void gdb_decoder_init(struct gdb_decoder *decoder, char *payload, size_t room)
{
    *decoder = (struct gdb_decoder){.room = room};
    decoder->payload = payload;
}

static void gdb_packet_put(struct gdb_decoder *decoder, char c)
{
    if (decoder->used + 1 < decoder->room)
        decoder->payload[decoder->used++] = c;
    else
        decoder->too_long = true;
}

/* The character after '*' says how often the one before it is repeated. */
static void repeat(struct gdb_decoder *decoder, uint8_t byte)
{
    int times = byte - RUN_BASE;
    if (decoder->used == 0 || times < RUN_FEWEST || byte > 126) {
        decoder->damaged = true;
        return;
    }
    char last = decoder->payload[decoder->used - 1];
    while (times-- > 0)
        gdb_packet_put(decoder, last);
}

static void packet_start(struct gdb_decoder *decoder, bool notification)
{
    decoder->state = GDB_INSIDE;
    decoder->notification = notification;
    decoder->damaged = decoder->too_long = false;
    decoder->used = 0;
    decoder->sum = 0;
}

static enum gdb_event take_between(struct gdb_decoder *decoder, uint8_t byte)
{
    switch (byte) {
    case '$':
    case '%':
        packet_start(decoder, byte == '%');
        return GDB_NOTHING;
    case '+':
        return GDB_ACK;
    case '-':
        return GDB_NAK;
    default: /* noise between packets means nothing */
        return GDB_NOTHING;
    }
}

static void take_inside(struct gdb_decoder *decoder, uint8_t byte)
{
    if (byte == '#') {
        decoder->damaged = decoder->damaged || decoder->state != GDB_INSIDE;
        decoder->state = GDB_CHECK_HIGH;
        return;
    }
    if (byte == '$') { /* the one before it was cut off */
        packet_start(decoder, false);
        return;
    }
    decoder->sum = (uint8_t)(decoder->sum + byte);
    if (decoder->state == GDB_ESCAPED)
        gdb_packet_put(decoder, (char)(byte ^ ESCAPED_BY));
    else if (decoder->state == GDB_RUN)
        repeat(decoder, byte);
    else if (byte != ESCAPE && byte != '*')
        gdb_packet_put(decoder, (char)byte);
    bool plain = decoder->state == GDB_INSIDE;
    decoder->state = plain && byte == ESCAPE ? GDB_ESCAPED : plain && byte == '*' ? GDB_RUN : GDB_INSIDE;
}

static enum gdb_event gdb_packet_end(struct gdb_decoder *decoder)
{
    decoder->state = GDB_BETWEEN;
    decoder->payload[decoder->used] = '\0';
    if (decoder->damaged || decoder->sum != decoder->check)
        return GDB_DAMAGED;
    if (decoder->too_long)
        return GDB_TOO_LONG;
    return decoder->notification ? GDB_NOTIFICATION : GDB_PACKET;
}

static enum gdb_event take_byte(struct gdb_decoder *decoder, uint8_t byte)
{
    int digit;
    switch (decoder->state) {
    case GDB_BETWEEN:
        return take_between(decoder, byte);
    case GDB_INSIDE:
    case GDB_ESCAPED:
    case GDB_RUN:
        take_inside(decoder, byte);
        return GDB_NOTHING;
    case GDB_CHECK_HIGH:
    case GDB_CHECK_LOW:
        digit = hex_digit((char)byte);
        if (digit < 0)
            decoder->damaged = true;
        else
            decoder->check = (uint8_t)(decoder->check << 4 | digit);
        if (decoder->state == GDB_CHECK_LOW)
            return gdb_packet_end(decoder);
        decoder->state = GDB_CHECK_LOW;
        return GDB_NOTHING;
    }
    return GDB_NOTHING;
}

enum gdb_event gdb_decoder_take(struct gdb_decoder *decoder, const uint8_t *bytes, size_t n, size_t *taken)
{
    for (*taken = 0; *taken < n;) {
        enum gdb_event event = take_byte(decoder, bytes[(*taken)++]);
        if (event != GDB_NOTHING)
            return event;
    }
    return GDB_NOTHING;
}

size_t gdb_packet_frame(const void *payload, size_t n, char *out, size_t room)
{
    const uint8_t *bytes = payload;
    size_t used = 0;
    uint8_t sum = 0;
    if (room < 4)
        return 0;
    out[used++] = '$';
    for (size_t i = 0; i < n; i++) {
        bool escaped = bytes[i] == '$' || bytes[i] == '#' || bytes[i] == ESCAPE || bytes[i] == '*';
        if (used + (escaped ? 2 : 1) + 3 > room)
            return 0;
        if (escaped) {
            out[used++] = ESCAPE;
            sum = (uint8_t)(sum + ESCAPE);
        }
        uint8_t byte = escaped ? bytes[i] ^ ESCAPED_BY : bytes[i];
        out[used++] = (char)byte;
        sum = (uint8_t)(sum + byte);
    }
    out[used++] = '#';
    out[used++] = digits[sum >> 4];
    out[used++] = digits[sum & 0xF];
    return used;
}

bool gdb_hex_read(const char *text, size_t length, void *out, size_t room, size_t *n)
{
    uint8_t *bytes = out;
    if (length % 2 != 0 || length / 2 > room)
        return false;
    for (*n = 0; *n < length / 2; ++*n) {
        int high = hex_digit(text[2 * *n]), low = hex_digit(text[2 * *n + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[*n] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void gdb_hex_write(const void *bytes, size_t n, char *out)
{
    const uint8_t *from = bytes;
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[from[i] >> 4];
        *out++ = digits[from[i] & 0xF];
    }
    *out = '\0';
}

bool gdb_number_read(const char *text, uint64_t *value, const char **end)
{
    const char *at = text;
    int digit;
    for (*value = 0; (digit = hex_digit(*at)) >= 0; at++) {
        if (*value >> 60 != 0)
            return false;
        *value = *value << 4 | (uint64_t)digit;
    }
    *end = at;
    return at != text;
}

enum { REPEATS = 4, DAMAGES = 4 };

void gdb_wire_init(struct gdb_wire *wire, int fd, bool is_gdb, const struct log *log)
{
    memset(wire, 0, sizeof *wire);
    wire->is_gdb = is_gdb;
    wire->peer = is_gdb ? "GDB" : "the GDB server";
    wire->fd = fd;
    wire->log = log;
    wire->acks = true;
    gdb_decoder_init(&wire->decoder, wire->payload, sizeof wire->payload);
}

void gdb_wire_close(struct gdb_wire *wire)
{
    if (wire->fd >= 0) {
        (void)ioctl(wire->fd, TIOCNXCL); /* of a serial port that another program has open, too */
        close(wire->fd);
    }
    wire->fd = -1;
    wire->lost = true;
}

bool gdb_wire_lose(struct gdb_wire *wire, enum error_kind kind, const char *why, struct error *error)
{
    wire->lost = true;
    return error_set(error, kind, "%s%s", wire->peer, why);
}

bool gdb_wire_silent(struct gdb_wire *wire, struct error *error)
{
    return gdb_wire_lose(wire, ERROR_LINK_LOST, " does not answer", error);
}

bool gdb_wire_out_of_step(struct gdb_wire *wire, struct error *error)
{
    return gdb_wire_lose(wire, ERROR_LINK_PROTOCOL, " answers what it was not asked", error);
}

bool gdb_wire_tell_lost(const struct gdb_wire *wire, struct error *error)
{
    return error_set(error, ERROR_LINK_LOST, "the connection to %s is lost", wire->peer);
}

static bool hang_up(struct gdb_wire *wire, int failure, struct error *error)
{
    wire->lost = true;
    wire->hung_up = socket_was_closed(failure);
    if (wire->hung_up)
        return error_set(error, ERROR_LINK_LOST, "%s closed the connection", wire->peer);
    return error_set(error, ERROR_LINK_LOST, "the connection to %s failed: %s", wire->peer,
                     socket_failure(failure, ""));
}

static bool write_all(struct gdb_wire *wire, const char *bytes, size_t n, const struct deadline *deadline,
                      struct error *error)
{
    if (wire->lost)
        return gdb_wire_tell_lost(wire, error);
    int failure = socket_send(wire->fd, bytes, n, deadline);
    if (failure == SOCKET_LATE)
        return gdb_wire_lose(wire, ERROR_LINK_LOST, " takes no more packets", error);
    return failure == 0 || hang_up(wire, failure, error);
}

bool gdb_wire_send(struct gdb_wire *wire, const void *payload, size_t n, const struct deadline *deadline,
                   struct error *error)
{
    wire->repeats = wire->damages = 0;
    log_text(wire->log, '>', "gdb", payload, n);
    wire->out_n = gdb_packet_frame(payload, n, wire->out, sizeof wire->out);
    if (wire->out_n == 0)
        return error_set(error, ERROR_SYSTEM, "a packet grew too long");
    return write_all(wire, wire->out, wire->out_n, deadline, error);
}

bool gdb_wire_send_raw(struct gdb_wire *wire, char byte, const struct deadline *deadline, struct error *error)
{
    return write_all(wire, &byte, 1, deadline, error);
}

/* Only what has arrived already; GDB_CAME_NOT: nothing has. */
static enum gdb_came gdb_packet_fill(struct gdb_wire *wire, struct error *error)
{
    ssize_t got = socket_try_receive(wire->fd, wire->in, sizeof wire->in);
    if (got > 0) {
        wire->in_n = (size_t)got;
        wire->noise = true;
        wire->in_taken = 0;
        return GDB_CAME;
    }
    if (got == 0)
        return GDB_CAME_NOT;
    hang_up(wire, (int)-got, error);
    return GDB_CAME_NEVER;
}

static bool acknowledge(struct gdb_wire *wire, char how, const struct deadline *deadline, struct error *error)
{
    return !wire->acks || write_all(wire, &how, 1, deadline, error);
}

static enum gdb_came take_event(struct gdb_wire *wire, enum gdb_event event, const struct deadline *deadline,
                                struct error *error)
{
    switch (event) {
    case GDB_PACKET:
        wire->heard = true;
        return acknowledge(wire, '+', deadline, error) ? GDB_CAME : GDB_CAME_NEVER;
    case GDB_NAK:
        if (!wire->acks)
            return GDB_CAME_NOT;
        if (wire->repeats++ < REPEATS)
            return write_all(wire, wire->out, wire->out_n, deadline, error) ? GDB_CAME_NOT : GDB_CAME_NEVER;
        gdb_wire_lose(wire, ERROR_LINK_PROTOCOL, " refuses a packet again and again", error);
        return GDB_CAME_NEVER;
    case GDB_DAMAGED:
        if (wire->acks && wire->damages++ < DAMAGES)
            return acknowledge(wire, '-', deadline, error) ? GDB_CAME_NOT : GDB_CAME_NEVER;
        gdb_wire_lose(wire, ERROR_LINK_PROTOCOL, "'s packets have wrong checksums", error);
        return GDB_CAME_NEVER;
    case GDB_TOO_LONG:
        gdb_wire_lose(wire, ERROR_LINK_PROTOCOL, "'s packet is longer than any it was asked for", error);
        return GDB_CAME_NEVER;
    case GDB_ACK:
        wire->heard = true;
        break;
    case GDB_NOTHING:
    case GDB_NOTIFICATION:
        break;
    }
    return GDB_CAME_NOT;
}

enum gdb_came gdb_wire_receive(struct gdb_wire *wire, const struct deadline *deadline, struct error *error)
{
    if (wire->lost) {
        gdb_wire_tell_lost(wire, error);
        return GDB_CAME_NEVER;
    }
    for (bool filled = false;;) {
        while (wire->in_taken < wire->in_n) {
            size_t taken;
            enum gdb_event event = gdb_decoder_take(&wire->decoder, wire->in + wire->in_taken,
                                                    wire->in_n - wire->in_taken, &taken);
            wire->in_taken += taken;
            enum gdb_came came = take_event(wire, event, deadline, error);
            wire->length = wire->decoder.used;
            if (came == GDB_CAME)
                log_text(wire->log, '<', "gdb", wire->payload, wire->length);
            if (came != GDB_CAME_NOT)
                return came;
        }
        if (filled &&
            deadline_passed(deadline)) /* an endless stream of nothing always finds the socket ready */
            return GDB_CAME_NOT;
        enum gdb_came more = gdb_packet_fill(wire, error);
        if (more == GDB_CAME_NEVER)
            return more;
        if (more == GDB_CAME_NOT && !socket_wait(wire->fd, POLLIN, deadline))
            return GDB_CAME_NOT;
        filled = filled || more == GDB_CAME;
    }
}
