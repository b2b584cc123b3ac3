#include "debuggers/gdb_packet.h"

#include "test.h"

#include <stdio.h>

enum { ROOM = 64 };

struct decoded {
    struct gdb_decoder decoder;
    char payload[ROOM];
};

/* Byte by byte, as a slow wire would; the first event. */
static enum gdb_event decode(struct decoded *decoded, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t taken;
        enum gdb_event event = gdb_decoder_take(&decoded->decoder, (const uint8_t *)bytes + i, 1, &taken);
        assert_int_equal(taken, 1);
        if (event != GDB_NOTHING)
            return event;
    }
    return GDB_NOTHING;
}

static void begin(struct decoded *decoded)
{
    gdb_decoder_init(&decoded->decoder, decoded->payload, sizeof decoded->payload);
}

static void expect(const char *bytes, enum gdb_event event, const char *payload)
{
    struct decoded decoded;
    begin(&decoded);
    assert_int_equal(decode(&decoded, bytes, strlen(bytes)), event);
    if (payload != NULL)
        assert_string_equal(decoded.payload, payload);
}

TEST(test_plain_packets)
{
    expect("$OK#9a", GDB_PACKET, "OK");
    expect("$OK#9A", GDB_PACKET, "OK");
    expect("$#00", GDB_PACKET, "");
    expect("noise$OK#9a", GDB_PACKET, "OK");
    expect("%Stop:T05#ba", GDB_DAMAGED, NULL);
    expect("%OK#9a", GDB_NOTIFICATION, "OK");
    expect("+", GDB_ACK, NULL);
    expect("-", GDB_NAK, NULL);
    expect("$OK#9", GDB_NOTHING, NULL);
}

TEST(test_damage)
{
    expect("$OK#9b", GDB_DAMAGED, NULL);
    expect("$OK#x9", GDB_DAMAGED, NULL);
    expect("$O$OK#9a", GDB_PACKET, "OK");    /* the first was cut off */
    expect("$*!#4b", GDB_DAMAGED, NULL);     /* nothing to repeat */
    expect("$0*\x1f#79", GDB_DAMAGED, NULL); /* less than three times */
    expect("$0*#5a", GDB_DAMAGED, NULL);     /* a run without its length */
    expect("$0}#ad", GDB_DAMAGED, NULL);     /* an escape of nothing */
}

TEST(test_run_lengths_and_escapes)
{
    expect("$0* #7a", GDB_PACKET, "0000"); /* ' ' is 3 more, as in the manual */
    expect("$a}\x03"
           "b#43",
           GDB_PACKET, "a#b");
    expect("$}\x0a*!#d2", GDB_PACKET, "*****"); /* what is repeated is the decoded character */
}

TEST(test_too_long)
{
    struct decoded decoded;
    char bytes[ROOM + 8] = "$";
    uint8_t sum = 0;
    for (size_t i = 0; i < ROOM; i++, sum = (uint8_t)(sum + 'a'))
        bytes[1 + i] = 'a';
    snprintf(bytes + 1 + ROOM, 4, "#%02x", sum);
    begin(&decoded);
    assert_int_equal(decode(&decoded, bytes, strlen(bytes)), GDB_TOO_LONG);
    assert_int_equal(decode(&decoded, "$OK#9a", 6), GDB_PACKET);
    /* by one less it fits, with its NUL */
    snprintf(bytes + ROOM, 4, "#%02x", (uint8_t)(sum - 'a'));
    assert_int_equal(decode(&decoded, bytes, strlen(bytes)), GDB_PACKET);
    assert_int_equal(strlen(decoded.payload), ROOM - 1);
    /* a run that does not end */
    expect("$0*~0*~0*~0*~#60", GDB_TOO_LONG, NULL);
}

static unsigned draw(uint32_t *random, unsigned below)
{
    *random = *random * 1664525U + 1013904223U;
    return (*random >> 8) % below;
}

TEST(test_frames_come_back)
{
    uint32_t random = 1;
    for (int round = 0; round < 2000; round++) {
        struct decoded decoded;
        uint8_t payload[ROOM / 2];
        char frame[ROOM * 2 + 4];
        size_t n = draw(&random, sizeof payload), taken;
        for (size_t i = 0; i < n; i++)
            payload[i] =
                draw(&random, 4) == 0 ? (uint8_t) "#$}*"[draw(&random, 4)] : (uint8_t)draw(&random, 256);
        size_t length = gdb_packet_frame(payload, n, frame, sizeof frame);
        assert_true(length >= n + 4);
        assert_int_equal(gdb_packet_frame(payload, n, frame, length - 1), 0);
        assert_int_equal(gdb_packet_frame(payload, n, frame, length), length);
        begin(&decoded);
        assert_int_equal(gdb_decoder_take(&decoded.decoder, (const uint8_t *)frame, length, &taken),
                         GDB_PACKET);
        assert_int_equal(taken, length);
        assert_int_equal(decoded.decoder.used, n);
        assert_memory_equal(decoded.payload, payload, n);
    }
}

TEST(test_numbers)
{
    uint8_t bytes[4];
    char text[9];
    size_t n;
    uint64_t value;
    const char *end;
    assert_true(gdb_hex_read("0aFf", 4, bytes, sizeof bytes, &n));
    assert_int_equal(n, 2);
    assert_int_equal(bytes[0], 0x0a);
    assert_int_equal(bytes[1], 0xff);
    assert_false(gdb_hex_read("0aF", 3, bytes, sizeof bytes, &n));
    assert_false(gdb_hex_read("0axx", 4, bytes, sizeof bytes, &n));
    assert_false(gdb_hex_read("0011223344", 10, bytes, sizeof bytes, &n));
    gdb_hex_write("\x01\xfe", 2, text);
    assert_string_equal(text, "01fe");
    assert_true(gdb_number_read("FFFFFFFFFFFFFFFF:", &value, &end));
    assert_true(value == UINT64_MAX && *end == ':');
    assert_false(gdb_number_read("1FFFFFFFFFFFFFFFF", &value, &end));
    assert_false(gdb_number_read(":", &value, &end));
}
