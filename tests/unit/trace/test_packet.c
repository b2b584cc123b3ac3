/* Bytes to packets, and frames to bytes. The vectors are of the architecture manuals' packet formats. */
#include "../test.h"

#include "trace/packet.h"

#include <stdio.h>

static uint8_t nibble(char digit)
{
    return (uint8_t)(digit >= 'A' ? digit - 'A' + 10 : digit - '0');
}

static size_t bytes_of(const char *text, uint8_t *out)
{
    size_t n = 0;
    for (; text[0] != '\0'; text += text[2] == ' ' ? 3 : 2)
        out[n++] = (uint8_t)(nibble(text[0]) << 4 | nibble(text[1]));
    return n;
}

/* "match 0", "time 5001 late 1": what each packet says, one after the other. */
static void packets_of(const char *text, char *out, size_t size)
{
    static const char *const names[TRACE_KINDS] = {
        "sync",   "overflow", "time",  "global", "page",    "print", "events", "exception", "pc",
        "asleep", "pmu",      "match", "at",     "address", "read",  "wrote",  "reserved",  "bad"};
    uint8_t bytes[64];
    struct trace_decoder decoder = {0};
    struct trace_packet packet;
    const uint8_t *at = bytes, *end = bytes + bytes_of(text, bytes);
    size_t used = 0;
    out[0] = '\0';
    while (trace_next(&decoder, &at, end, &packet))
        used += (size_t)snprintf(out + used, size - used, "%s%s %u/%u %llX", used > 0 ? ", " : "",
                                 names[packet.kind], packet.n, packet.size, (unsigned long long)packet.value);
}

TEST(each_packet_says_what_the_manual_has)
{
    static const struct {
        const char *bytes, *packets;
    } rows[] = {{"00 00 00 00 00 80", "sync 0/0 0"},
                {"00 00 00 00 00 00 00 00 00 80", "sync 0/0 0"},
                {"00 00 00 00 80 00 70", "bad 0/0 0, reserved 0/1 0, overflow 0/0 0"}, /* too short */
                {"70", "overflow 0/0 0"},
                {"10 60", "time 0/0 1, time 0/0 6"},
                {"C0 00", "time 0/1 0"},
                {"C0 07", "time 0/1 7"},
                {"C0 FF 7F", "time 0/2 3FFF"},
                {"C0 F7 C9 04", "time 0/3 124F7"},
                {"C0 FF FF 7F", "time 0/3 1FFFFF"},
                {"C0 80 80 80 01", "time 0/4 200000"},
                {"C0 FF FF FF 7F", "time 0/4 FFFFFFF"},
                {"C0 FF FF FF FF 70", "bad 0/4 FFFFFFF, overflow 0/0 0"},
                {"D0 05 E0 05 F0 85 01", "time 1/1 5, time 2/1 5, time 3/2 85"},
                {"0E 0F 10 0E 0F 20 0E 00 30", "exception 1/2 F, exception 2/2 F, exception 3/2 0"},
                {"0E 86 10 0E 2C 11", "exception 1/2 86, exception 1/2 12C"},
                {"0E 0F 00", "reserved 0/2 F"},
                {"17 68 AB 00 08 15 00 15 FF", "pc 0/4 800AB68, asleep 0/1 0, asleep 0/1 FF"},
                {"05 20 05 3F 05 40", "events 0/1 20, events 0/1 3F, reserved 0/1 40"},
                {"1D 81", "pmu 0/1 81"},
                {"57 00 01 00 08", "at 1/4 8000100"},
                {"4E 24 00", "address 0/2 24"},
                {"8F 05 00 00 00 8D 2A 96 34 12", "wrote 0/4 5, wrote 0/1 2A, read 1/2 1234"},
                {"45 01 55 01 65 01 75 01", "match 0/1 1, match 1/1 1, match 2/1 1, match 3/1 1"},
                {"45 24", "at 0/1 24"},
                {"01 41 0A 34 12 FB EF BE AD DE", "print 0/1 41, print 1/2 1234, print 31/4 DEADBEEF"},
                {"18 01 41 00 00 00 00 00 80 01 41", "page 0/0 0, print 32/1 41, sync 0/0 0, print 0/1 41"},
                {"1C 01 41", "page 0/0 0, print 0/1 41"}, /* of the hardware source: no page of the ports */
                {"94 05 94 80 A0 84 60", "global 0/1 5, global 0/4 C011000"},
                {"B4 BD F4 91 01 B4 BD F4 91 81 F4 07", "global 0/4 247A3D, global 0/6 3F40247A3D"},
                {"45 01 C0 87 27 70 45 01 F0 AB 02",
                 "match 0/1 1, time 0/2 1387, overflow 0/0 0, match 0/1 1, time 3/2 12B"},
                {"04 84 80 01 0E 0F 10", "reserved 0/0 0, reserved 0/2 80, exception 1/2 F"},
                {"84 80 80 80 80 80 80 80 70", "bad 0/7 0, overflow 0/0 0"},
                {"ED 01", "reserved 6/1 1"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char said[512];
        packets_of(rows[i].bytes, said, sizeof said);
        if (strcmp(said, rows[i].packets) != 0)
            fail_msg("%s: %s, not %s", rows[i].bytes, said, rows[i].packets);
    }
}

/* "1: 45 01 2: 0E", by source. */
static void frames_of(const char *text, char *out, size_t size)
{
    uint8_t frames[32], id = 0, last = 0;
    size_t n = bytes_of(text, frames), used = 0;
    out[0] = '\0';
    for (size_t i = 0; i + TRACE_FRAME <= n; i += TRACE_FRAME) {
        struct trace_byte bytes[TRACE_FRAME_BYTES];
        size_t has = trace_frame_take(&id, frames + i, bytes);
        for (size_t k = 0; k < has; k++) {
            if (bytes[k].id != last)
                used += (size_t)snprintf(out + used, size - used, "%s%u:", used > 0 ? " " : "", bytes[k].id);
            last = bytes[k].id;
            used += (size_t)snprintf(out + used, size - used, " %02X", bytes[k].byte);
        }
    }
}

TEST(frames_have_the_bytes_of_each_source)
{
    static const struct {
        const char *frames, *bytes;
    } rows[] = {
        {"03 45 00 C0 86 27 54 01 C0 B3 01 09 00 00 00 2E", "1: 45 01 C0 87 27 55 01 C0 B3 09"},
        {"03 45 00 C0 86 27 05 0E 0E 10 C0 5D 03 55 00 96 C0 B3 01 09 00 00 00 00 00 00 00 00 00 00 00 02",
         "1: 45 01 C0 87 27 2: 0E 0F 10 C0 5D 1: 55 01 C0 B3 09"},
        {"03 45 00 C0 86 27 05 0E 0E 10 C0 5D 0E 0F 20 16 C0 0D 0E 00 03 30 54 01 C0 B3 01 09 00 00 00 2C",
         "1: 45 01 C0 87 27 2: 0E 0F 10 C0 5D 0E 0F 20 C0 0D 0E 00 30 1: 55 01 C0 B3 09"},
        {"AE 0B 10 08 03 30 C0 17 16 68 AA 00 05 08 C0 70", "1: 30 C0 17 17 68 AB 00 08 2: C0"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char said[512];
        frames_of(rows[i].frames, said, sizeof said);
        assert_string_equal(said, rows[i].bytes);
    }
}
