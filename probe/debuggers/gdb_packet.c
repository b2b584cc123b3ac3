#include "debuggers/gdb_packet.h"

#include <string.h>

enum { RUN_BASE = 29, RUN_FEWEST = 3, ESCAPE = 0x7d, ESCAPED_BY = 0x20 };

static const char digits[] = "0123456789abcdef";

void gdb_decoder_init(struct gdb_decoder *decoder, char *payload, size_t room)
{
    *decoder = (struct gdb_decoder){.room = room};
    decoder->payload = payload;
}

static void put(struct gdb_decoder *decoder, char c)
{
    if (decoder->used + 1 < decoder->room)
        decoder->payload[decoder->used++] = c;
    else
        decoder->too_long = true;
}

/* The character after '*' says how often the one before it comes again. */
static void repeat(struct gdb_decoder *decoder, uint8_t byte)
{
    int times = byte - RUN_BASE;
    if (decoder->used == 0 || times < RUN_FEWEST || byte > 126) {
        decoder->damaged = true;
        return;
    }
    char last = decoder->payload[decoder->used - 1];
    while (times-- > 0)
        put(decoder, last);
}

static void begin(struct gdb_decoder *decoder, bool notification)
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
        begin(decoder, byte == '%');
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
        begin(decoder, false);
        return;
    }
    decoder->sum = (uint8_t)(decoder->sum + byte);
    if (decoder->state == GDB_ESCAPED)
        put(decoder, (char)(byte ^ ESCAPED_BY));
    else if (decoder->state == GDB_RUN)
        repeat(decoder, byte);
    else if (byte != ESCAPE && byte != '*')
        put(decoder, (char)byte);
    bool plain = decoder->state == GDB_INSIDE;
    decoder->state = plain && byte == ESCAPE ? GDB_ESCAPED : plain && byte == '*' ? GDB_RUN : GDB_INSIDE;
}

static enum gdb_event end(struct gdb_decoder *decoder)
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
        digit = gdb_hex_digit((char)byte);
        if (digit < 0)
            decoder->damaged = true;
        else
            decoder->check = (uint8_t)(decoder->check << 4 | digit);
        if (decoder->state == GDB_CHECK_LOW)
            return end(decoder);
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

int gdb_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool gdb_hex_read(const char *text, size_t length, void *out, size_t room, size_t *n)
{
    uint8_t *bytes = out;
    if (length % 2 != 0 || length / 2 > room)
        return false;
    for (*n = 0; *n < length / 2; ++*n) {
        int high = gdb_hex_digit(text[2 * *n]), low = gdb_hex_digit(text[2 * *n + 1]);
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
    for (*value = 0; (digit = gdb_hex_digit(*at)) >= 0; at++) {
        if (*value >> 60 != 0)
            return false;
        *value = *value << 4 | (uint64_t)digit;
    }
    *end = at;
    return at != text;
}
