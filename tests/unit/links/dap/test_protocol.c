/* Requests by their bytes, replies of every wrong length. */
#include "links/dap/probe.h"
#include "links/dap/protocol.h"
#include "test.h"

static void assert_bytes(const uint8_t *got, size_t n, const char *wanted, size_t length)
{
    assert_int_equal(n, length);
    assert_memory_equal(got, wanted, length);
}

#define ASSERT_BYTES(got, n, text) assert_bytes(got, n, text, sizeof(text) - 1)

TEST(test_requests)
{
    uint8_t out[PROTOCOL_ROOM];
    const uint8_t ir[] = {4, 5}, bits[] = {0x9E, 0xE7};
    ASSERT_BYTES(out, protocol_transfer_configure(out, 2, 0x1234, 0x5678), "\x04\x02\x34\x12\x78\x56");
    ASSERT_BYTES(out, protocol_write_abort(out, 1, 0x1E), "\x08\x01\x1E\x00\x00\x00");
    ASSERT_BYTES(out, protocol_pins(out, 0x20, 0x20), "\x10\x20\x20\x00\x00\x00\x00");
    ASSERT_BYTES(out, protocol_clock(out, 10000000), "\x11\x80\x96\x98\x00");
    ASSERT_BYTES(out, protocol_swj_sequence(out, bits, 16), "\x12\x10\x9E\xE7");
    ASSERT_BYTES(out, protocol_jtag_sequence(out, true, false, bits, 5), "\x14\x01\x45\x9E");
    ASSERT_BYTES(out, protocol_jtag_sequence(out, false, true, bits, 9), "\x14\x01\x89\x9E\xE7");
    ASSERT_BYTES(out, protocol_jtag_configure(out, ir, 2), "\x15\x02\x04\x05");
    ASSERT_BYTES(out, protocol_target_select(out, 0x01002927),
                 "\x1D\x03\x08\x99\x85\x21\x27\x29\x00\x01\x00");
    ASSERT_BYTES(out, protocol_target_select(out, 0x11002927),
                 "\x1D\x03\x08\x99\x85\x21\x27\x29\x00\x11\x01");
}

TEST(test_sequences)
{
    for (int i = 0; i < WIRES_SEQUENCES; i++) {
        unsigned n;
        const uint8_t *bits = wires_bits((enum wires_sequence)i, &n);
        assert_non_null(bits);
        assert_in_range(n, 1, 256);
        assert_true(2 + (n + 7) / 8 <= PROTOCOL_ROOM);
    }
}

TEST(test_replies)
{
    uint8_t port = 9;
    assert_int_equal(protocol_check((const uint8_t *)"", 0, 0), ANSWER_BROKEN);
    assert_int_equal(protocol_status((const uint8_t *)"\x11", 1, 0x11), ANSWER_BROKEN);
    assert_int_equal(protocol_status((const uint8_t *)"\x11\x00", 2, 0x11), ANSWER_GOOD);
    assert_int_equal(protocol_status((const uint8_t *)"\x11\xFF", 2, 0x11), ANSWER_REFUSED);
    assert_int_equal(protocol_status((const uint8_t *)"\xFF", 1, 0x11), ANSWER_UNKNOWN);
    assert_int_equal(protocol_status((const uint8_t *)"\x12\x00", 2, 0x11), ANSWER_BROKEN);
    assert_int_equal(protocol_connected((const uint8_t *)"\x02\x01", 2, &port), ANSWER_GOOD);
    assert_int_equal(port, 1);
    assert_int_equal(protocol_connected((const uint8_t *)"\x02\x00", 2, &port), ANSWER_REFUSED);
    assert_int_equal(protocol_connected((const uint8_t *)"\x02", 1, &port), ANSWER_BROKEN);
    uint8_t out[8];
    assert_true(protocol_jtag_captured((const uint8_t *)"\x14\x00\x12\x34", 4, out, 16));
    assert_memory_equal(out, "\x12\x34", 2);
    assert_false(protocol_jtag_captured((const uint8_t *)"\x14\x00\x12", 3, out, 16));
}

TEST(test_info)
{
    char text[8];
    uint32_t value;
    assert_true(protocol_info_text((const uint8_t *)"\x00\x03"
                                                    "ab",
                                   5, text, sizeof text));
    assert_string_equal(text, "ab");
    assert_true(protocol_info_text((const uint8_t *)"\x00\x06"
                                                    "a\x1B[1mb",
                                   8, text, sizeof text));
    assert_string_equal(text, "a[1mb");
    assert_true(protocol_info_text((const uint8_t *)"\x00\x0A"
                                                    "0123456789",
                                   12, text, sizeof text));
    assert_string_equal(text, "0123456");
    assert_false(protocol_info_text((const uint8_t *)"\x00\x03"
                                                     "ab",
                                    4, text, sizeof text));
    assert_true(protocol_info_text((const uint8_t *)"\x00\x00", 2, text, sizeof text));
    assert_string_equal(text, "");
    assert_true(protocol_info_number((const uint8_t *)"\x00\x02\x00\x02", 4, &value));
    assert_int_equal(value, 512);
    assert_false(protocol_info_number((const uint8_t *)"\x00\x02\x00", 3, &value));
    assert_false(protocol_info_number((const uint8_t *)"\x00\x00", 2, &value));
    assert_false(protocol_info_number((const uint8_t *)"\x00\x05\x01\x02\x03\x04\x05", 7, &value));

    struct dap_info info = {.packet_count = 1, .packet_size = 64};
    assert_true(protocol_take_info(&info, DAP_INFO_PACKET_COUNT, (const uint8_t *)"\x00\x01\x00", 3));
    assert_int_equal(info.packet_count, 1); /* with none in flight nothing can be asked */
    assert_true(protocol_take_info(&info, DAP_INFO_PACKET_COUNT, (const uint8_t *)"\x00\x01\x04", 3));
    assert_int_equal(info.packet_count, 4);
    assert_true(protocol_take_info(&info, DAP_INFO_PACKET_SIZE, (const uint8_t *)"\x00\x02\x08\x00", 4));
    assert_int_equal(info.packet_size, 64);
    assert_true(protocol_take_info(&info, DAP_INFO_PACKET_SIZE, (const uint8_t *)"\x00\x02\xFF\xFF", 4));
    assert_int_equal(info.packet_size, 1280);
    assert_true(protocol_take_info(&info, DAP_INFO_CAPABILITIES, (const uint8_t *)"\xFF", 1));
    assert_false(info.capabilities_known);
    assert_true(protocol_take_info(&info, DAP_INFO_CAPABILITIES, (const uint8_t *)"\x00\x02\x13\x01", 4));
    assert_int_equal(info.capabilities, 0x13);
    assert_false(protocol_take_info(&info, DAP_INFO_VENDOR, (const uint8_t *)"\x05\x00\x00", 3));
    assert_false(protocol_take_info(&info, DAP_INFO_VENDOR, (const uint8_t *)"\x00", 1));
    assert_false(protocol_take_info(&info, DAP_INFO_VENDOR, (const uint8_t *)"", 0));
}

/* ---- JTAG chains */

static size_t put_bits(uint8_t *bits, size_t at, uint32_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++, at++)
        bits[at / 8] = (uint8_t)((bits[at / 8] & ~(1U << at % 8)) | (value >> i & 1) << at % 8);
    return at;
}

TEST(a_port_with_its_makers_idcode)
{
    struct chain chain = {.n = 2, .id = {0x0B5A002F, 0x0BB7E02F}, .ir = {6, 4}};
    assert_false(chain_find_port(&chain));
    assert_true(chain_find_foreign_port(&chain));
    assert_int_equal(chain.port, 1);
    chain.ir[1] = 6; /* an ICEPick */
    assert_false(chain_find_foreign_port(&chain));
    chain = (struct chain){.n = 1, .id = {0x06410041}, .ir = {4}};
    assert_false(chain_find_foreign_port(&chain));
}

TEST(test_chain)
{
    uint8_t bits[CHAIN_ID_BITS / 8];
    struct chain chain;
    memset(bits, 0xFF, sizeof bits);
    assert_false(chain_read_ids(&chain, bits, CHAIN_ID_BITS)); /* TDO stuck at one */
    size_t at = put_bits(bits, 0, 0x06410041, 32);
    at = put_bits(bits, at, 0, 1);
    put_bits(bits, at, 0x4BA00477, 32);
    assert_true(chain_read_ids(&chain, bits, CHAIN_ID_BITS));
    assert_int_equal(chain.n, 3);
    assert_int_equal(chain.id[1], 0);
    assert_true(chain_find_port(&chain));
    assert_int_equal(chain.port, 2);
    assert_int_equal(chain_other_ports(&chain), 0);
    chain.id[1] = 0x0BA01477; /* an LPC43xx: the M4's, and the M0's after it */
    assert_true(chain_find_port(&chain));
    assert_int_equal(chain.port, 1);
    assert_int_equal(chain_other_ports(&chain), 1);
    chain.id[1] = 0;
    chain.id[2] = 0x06410041;
    assert_false(chain_find_port(&chain));
    assert_int_equal(chain_newer_port(&chain), 0);
    static const uint32_t newer[] = {0x4BA06477, 0x0BA07477};
    for (size_t i = 0; i < 2; i++) {
        chain.id[1] = newer[i];
        chain.id[2] = 0x06410041;
        assert_false(chain_find_port(&chain));
        assert_int_equal(chain_newer_port(&chain), newer[i]);
        chain.id[2] = 0x6BA00477;
        assert_true(chain_find_port(&chain)); /* the one after it, which can be used */
        assert_int_equal(chain.port, 2);
    }
    memset(bits, 0, sizeof bits);
    assert_false(chain_read_ids(&chain, bits, CHAIN_ID_BITS)); /* TDO stuck at zero */
}

TEST(test_chain_lengths)
{
    uint8_t bits[CHAIN_IR_BITS / 8] = {0};
    struct chain one = {.n = 1, .id = {0x4BA00477}}, two = {.n = 2, .id = {0x4BA00477, 0x13722093}};
    put_bits(bits, 0, 0x1, 4);
    assert_true(chain_read_lengths(&one, bits, 4));
    assert_int_equal(one.ir[0], 4);
    put_bits(bits, 4, 0x01, 6); /* the clean case: one begin for each device */
    assert_true(chain_read_lengths(&two, bits, 10));
    assert_int_equal(two.ir[0], 4);
    assert_int_equal(two.ir[1], 6);
    put_bits(bits, 4, 0x35, 6); /* status bits like those of a begin */
    memset(two.ir, 0, sizeof two.ir);
    assert_true(chain_read_lengths(&two, bits, 10));
    assert_int_equal(two.ir[0], 4);
    assert_int_equal(two.ir[1], 6);
    put_bits(bits, 4, 0x15, 6);
    struct chain three = {.n = 3, .id = {0x4BA00477, 0x13722093, 0x06410041}};
    assert_false(chain_read_lengths(&three, bits, 10)); /* two unknown ones */
    assert_false(chain_read_lengths(&one, bits, 10));
}

TEST(trace_in_a_reply)
{
    static const struct {
        uint8_t n, reply[8];
        enum protocol_answer answer;
        size_t taken;
        bool lost;
    } rows[] = {
        {6, {DAP_SWO_DATA, 0, 2, 0, 0x45, 1}, ANSWER_GOOD, 2, false},
        {4, {DAP_SWO_DATA, 0x80, 0, 0}, ANSWER_GOOD, 0, true},
        {5, {DAP_SWO_DATA, 0x40, 1, 0, 0x70}, ANSWER_GOOD, 1, true},
        {6, {DAP_SWO_DATA, 0, 3, 0, 0x45, 1}, ANSWER_BROKEN, 0, false},    /* says more than it has */
        {8, {DAP_SWO_DATA, 0, 4, 0, 1, 2, 3, 4}, ANSWER_BROKEN, 0, false}, /* more than there is room for */
        {3, {DAP_SWO_DATA, 0, 0}, ANSWER_BROKEN, 0, false},
        {1, {DAP_INVALID}, ANSWER_UNKNOWN, 0, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t out[3];
        size_t taken = 0;
        bool lost = false;
        assert_int_equal(protocol_swo_take(rows[i].reply, rows[i].n, out, sizeof out, &taken, &lost),
                         rows[i].answer);
        assert_int_equal(taken, rows[i].taken);
        assert_int_equal(lost, rows[i].lost);
    }
}

TEST(test_status_of_swo)
{
    static const struct {
        uint8_t reply[6];
        size_t n;
        enum protocol_answer answer;
        bool lost;
    } rows[] = {{{0x1B, 0x01, 9}, 6, ANSWER_GOOD, false}, {{0x1B, 0x81}, 6, ANSWER_GOOD, true},
                {{0x1B, 0x41}, 6, ANSWER_GOOD, true},     {{0x1B}, 1, ANSWER_BROKEN, false},
                {{0x1C, 0x81}, 6, ANSWER_BROKEN, false},  {{0xFF}, 1, ANSWER_UNKNOWN, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool lost = true;
        assert_int_equal(protocol_swo_status(rows[i].reply, rows[i].n, &lost), rows[i].answer);
        assert_int_equal(rows[i].answer == ANSWER_GOOD && lost, rows[i].lost);
    }
}
