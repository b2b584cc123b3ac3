/* Packets by their bytes, and replies with every kind of error. */
#include "links/dap/compiler.h"
#include "test.h"

#include <stdio.h>

static struct compiler compiler;
static struct packet packet;
static uint64_t results[256];

static struct address word(uint32_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

static struct address narrow(uint32_t offset, uint8_t size)
{
    return (struct address){.space = SPACE_MEMORY, .size = size, .offset = offset};
}

static void begin(size_t packet_size)
{
    memset(&compiler, 0, sizeof compiler);
    compiler.packet_size = packet_size;
    compiler.match = true;
    compiler.ap.n = 1;
    compiler.ap.ports[0] = (struct access_port){.memory = true, .narrow = true, .csw_base = 0x23000040};
}

/* Sets TAR, the mask and the bank that most cases want. */
static void stand_at(uint32_t tar, bool banked)
{
    struct access_port *port = &compiler.ap.ports[0];
    compiler.ap.select_known = compiler.ap.mask_known = port->csw_known = port->tar_known = true;
    compiler.ap.select = banked ? 0x10 : 0;
    compiler.ap.mask = 0xFFFFFFFF;
    port->csw = 0x23000042;
    port->tar = tar;
}

static void begin_at(size_t packet_size, uint32_t tar, bool banked)
{
    begin(packet_size);
    stand_at(tar, banked);
}

static void compile(const struct step *steps, size_t n)
{
    compiler_packet(&compiler, steps, n, 0, false, NULL, &packet);
}

/* "05 00 01 0f" */
static void assert_packet(const char *wanted)
{
    char text[4 * CARRIER_ROOM] = "";
    size_t used = 0;
    for (size_t i = 0; i < packet.length; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%02x", i > 0 ? " " : "", packet.bytes[i]);
    assert_string_equal(text, wanted);
}

static struct decoded answer(const struct step *steps, const char *reply, size_t n)
{
    memset(results, 0xEE, sizeof results);
    return decode(&compiler, &packet, steps, (const uint8_t *)reply, n, results);
}

#define ANSWER(steps, text) answer(steps, text, sizeof(text) - 1)

TEST(test_first_access)
{
    struct step steps[] = {step_read(word(0xE000ED00))};
    begin(64);
    compile(steps, 1);
    assert_packet("05 00 04 08 00 00 00 00 01 42 00 00 23 05 00 ed 00 e0 0f");
    assert_int_equal(packet.answer, 7);
    struct decoded decoded = ANSWER(steps, "\x05\x04\x01\x41\xC2\x0F\x41");
    assert_int_equal(decoded.end, DECODE_DONE);
    assert_int_equal(decoded.step, 1);
    assert_int_equal(results[0], 0x410FC241);
    compile(steps, 1); /* nothing is sent twice */
    assert_packet("05 00 01 0f");
}

/* However short a packet is, it starts with a match on the previous token and ends with its own. */
TEST(test_gates_of_a_packet_of_one_step)
{
    struct step steps[] = {step_read(word(0xE000ED00))};
    begin_at(64, 0x1000, false);
    compiler_packet(&compiler, steps, 1, 0, false,
                    &(struct compiler_gates){true, true, 0x11111101, 0x22222201}, &packet);
    assert_packet("05 00 06 08 00 00 00 00 20 ff ff ff ff 17 01 11 11 11 05 00 ed 00 e0 0f 05 01 22 22 22");
}

TEST(test_neighbours_through_banked_registers)
{
    struct step steps[] = {step_write(word(0xE000EDF4), 15), step_until(word(0xE000EDF0), 0x10000, 0x10000),
                           step_expect(word(0xE000EDF8), 0xFFFFFFFF, 0x12345678),
                           step_read(word(0xE0001004))};
    begin_at(64, 0xE000EDF0, false);
    compile(steps, 4);
    /* SELECT, DCRSR; mask, DHCSR and a read of it; mask, DCRDR; SELECT, TAR, CYCCNT */
    assert_packet("05 00 0a 08 10 00 00 00 05 0f 00 00 00 20 00 00 01 00 13 00 00 01 00 03 20 ff ff ff ff "
                  "1b 78 56 34 12 08 00 00 00 00 05 04 10 00 e0 0f");
}

TEST(test_guard_behind_a_write)
{
    struct step steps[] = {step_write(word(0x1004), 15), step_expect(word(0x1000), 0xFFFFFFFF, 1)};
    begin_at(512, 0x1000, true);
    compile(steps, 2);
    assert_packet("05 00 03 05 0f 00 00 00 0e 13 01 00 00 00");
    begin_at(64, 0x1000, true);
    compile(steps, 2);
    assert_packet("05 00 02 05 0f 00 00 00 13 01 00 00 00");
}

TEST(test_a_match_never_stands_behind_a_read)
{
    struct step steps[] = {step_read(word(0x1004)), step_expect(word(0x1000), 0xFFFFFFFF, 1)};
    begin_at(64, 0x1000, true);
    compile(steps, 2);
    assert_packet("05 00 03 07 0e 13 01 00 00 00");
}

TEST(test_runs_increment)
{
    struct step steps[8];
    for (uint32_t i = 0; i < 6; i++)
        steps[i] = step_read(word(0x13F0 + 4 * i));
    steps[6] = step_expect(word(0x1404), 0xFFFFFFFF, 7);
    begin_at(64, 0x1000, false);
    compile(steps, 7);
    /* CSW, TAR, four words; at the 1 KB border TAR again, a word; no increment for what is read twice */
    assert_packet("05 00 0c 01 52 00 00 23 05 f0 13 00 00 0f 0f 0f 0f 05 00 14 00 00 0f "
                  "01 42 00 00 23 0f 0e 1f 07 00 00 00");
}

TEST(test_narrow_accesses)
{
    struct step steps[] = {step_write(narrow(0x1002, 2), 0x1BE50), step_read(narrow(0x1003, 1)),
                           step_expect(narrow(0x1002, 2), 0xFFFF, 0xBE50)};
    begin_at(64, 0x1000, false);
    compile(steps, 3);
    assert_packet("05 00 0a 01 41 00 00 23 05 02 10 00 00 0d 00 00 50 be 01 40 00 00 23 05 03 10 00 00 0f "
                  "01 41 00 00 23 05 02 10 00 00 20 00 00 ff ff 1f 00 00 50 be");
    struct decoded decoded = ANSWER(steps, "\x05\x0A\x01\x11\x22\x33\x44");
    assert_int_equal(decoded.end, DECODE_DONE);
    assert_int_equal(results[1], 0x44);
    assert_int_equal(results[2], 0xBE50);
}

TEST(test_prediction)
{
    struct step steps[] = {step_until(word(0x1000), 0x20000, 0x20000),
                           step_expect(word(0x1000), 0xFFFFFFFF, 9)};
    begin_at(64, 0x1000, false);
    compile(steps, 1);
    assert_packet("05 00 03 20 00 00 02 00 1f 00 00 02 00 0f");
    assert_int_equal(ANSWER(steps, "\x05\x03\x01\x03\x00\x03\x00").end, DECODE_DONE);
    assert_int_equal(results[0], 0x30003);
    compile(steps, 2); /* what succeeds is known now: one mask serves both */
    assert_packet("05 00 03 20 ff ff ff ff 1f 03 00 03 00 1f 09 00 00 00");
    struct decoded decoded = ANSWER(steps, "\x05\x01\x11");
    assert_int_equal(decoded.end, DECODE_MISMATCH);
    assert_false(decoded.saw_known);
    for (int i = 0; i < 3; i++)
        predict_failed(&compiler.predictor, decoded.note->entry, 0x1030003);
    compile(steps, 1); /* not to be relied on any more */
    assert_packet("05 00 02 20 00 00 02 00 1f 00 00 02 00");
}

TEST(test_a_proof_that_the_wait_has_given)
{
    struct step steps[] = {step_until(word(0x1000), 3, 3), step_time(TIME_AFTER),
                           step_expect(word(0x1000), 0xF, 7), step_expect(word(0x1000), 0xF, 5),
                           step_expect(word(0x1004), 0xF, 7)};
    begin_at(64, 0x1000, false);
    compile(steps, 1);
    assert_int_equal(ANSWER(steps, "\x05\x03\x01\x07\x00\x03\x00").end, DECODE_DONE);
    compile(steps, 3);
    assert_packet("05 00 02 20 ff ff ff ff 1f 07 00 03 00");
    struct decoded decoded = ANSWER(steps, "\x05\x02\x01");
    assert_int_equal(decoded.end, DECODE_DONE);
    assert_int_equal(decoded.step, 3);
    assert_int_equal(results[0], 0x30007);
    assert_int_equal(results[2], 0x30007);
    decoded = ANSWER(steps, "\x05\x01\x11"); /* what was not seen has proved nothing */
    assert_int_equal(decoded.end, DECODE_MISMATCH);
    assert_int_equal(decoded.step, 0);
    /* The word that was matched says otherwise; another register; another access between */
    compile(steps, 4);
    assert_int_equal(packet.notes[packet.n - 2].kind, NOTE_MATCH);
    assert_int_equal(packet.notes[packet.n - 2].step, 3);
    steps[2] = steps[4];
    compile(steps, 3);
    assert_int_equal(packet.notes[packet.n - 2].step, 2);
    steps[2] = step_expect(word(0x1000), 0xF, 7);
    steps[1] = step_write(word(0x1004), 0);
    compile(steps, 3);
    assert_int_equal(packet.notes[packet.n - 2].step, 2);
}

/* Where a second read does harm, RESEND is matched in place of the register, in the same packet; what mends
 * such a read is left out. */
TEST(test_a_register_that_is_read_once)
{
    struct step once = step_expect_once(word(0x1008), UINT32_MAX, 0x12345678);
    struct step steps[] = {step_reread(REREAD_HARMS, once),
                           step_reread(REREAD_MENDS, step_write(word(0x1004), 4)),
                           step_expect(word(0x1000), UINT32_MAX, 1)};
    begin_at(64, 0x1000, true);
    compile(steps, 3); /* BD2 matched and posted again; BD1; BD0 */
    assert_packet("05 00 03 1b 78 56 34 12 05 04 00 00 00 13 01 00 00 00");
    begin_at(64, 0x1000, true);
    compiler.resends = true;
    compile(steps, 3); /* BD2, RESEND; BD0 */
    assert_packet("05 00 03 0b 1a 78 56 34 12 13 01 00 00 00");
    assert_int_equal(packet.end, 3);
    struct decoded decoded = ANSWER(steps, "\x05\x03\x01\x78\x56\x34\x12");
    assert_int_equal(decoded.end, DECODE_DONE);
    assert_int_equal(decoded.step, 3);
    assert_int_equal(results[0], 0x12345678);
    assert_int_equal(results[2], 1);
    decoded = ANSWER(steps, "\x05\x01\x11\x79\x56\x34\x12");
    assert_int_equal(decoded.end, DECODE_MISMATCH);
    assert_int_equal(decoded.step, 0);
    decoded = ANSWER(steps, "\x05\x02\x11\x78\x56\x34\x12");
    assert_int_equal(decoded.end, DECODE_MISMATCH);
    assert_int_equal(decoded.step, 2);
    decoded = ANSWER(steps, "\x05\x01\x04\x78\x56\x34\x12"); /* which of the two was refused is unknown */
    assert_int_equal(decoded.end, DECODE_FAULT);
    assert_int_equal(decoded.step, 0);
    /* Room for the read alone */
    struct step many[20];
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = i < 11 ? step_write(word(0x1000), i) : steps[0];
    for (size_t room = 59; room < 64; room++) {
        begin_at(room, 0x1000, true);
        compiler.resends = true;
        compile(many, 12);
        assert_int_equal(packet.end, 11);
        assert_int_equal(packet.n, 11);
        assert_int_equal(packet.bytes[2], 11);
        assert_int_equal(packet.length, 58);
        assert_int_equal(packet.answer, 3);
    }
}

TEST(test_looks)
{
    struct step steps[] = {step_until(word(0x1000), 0xFF, 1), step_read(word(0x1000))};
    begin_at(64, 0x1000, false);
    compiler_packet(&compiler, steps, 2, 0, true, NULL, &packet);
    assert_int_equal(packet.notes[0].kind, NOTE_LOOK);
    /* one read, then a wait that runs out */
    struct decoded decoded = ANSWER(steps, "\x05\x02\x11\x07\x00\x00\x00");
    assert_int_equal(decoded.end, DECODE_MISMATCH);
    assert_int_equal(decoded.step, 0);
    assert_true(decoded.saw_known);
    assert_int_equal(decoded.saw, 7);
    /* the read saw it, the wait did not: it counts */
    decoded = ANSWER(steps, "\x05\x02\x11\x01\x02\x00\x00");
    assert_int_equal(decoded.end, DECODE_DONE);
    assert_int_equal(decoded.step, 1);
    assert_int_equal(results[0], 0x201);
}

TEST(test_full_packets)
{
    struct step steps[200];
    for (uint32_t i = 0; i < 200; i++)
        steps[i] = step_read(word(0x1000));
    static const size_t sizes[] = {64, 512, 1024, 1280};
    static const size_t most[] = {15, 127, 200, 200};
    for (size_t i = 0; i < 4; i++) {
        begin_at(sizes[i], 0x1000, false);
        compile(steps, 200);
        assert_int_equal(packet.n, most[i]);
        assert_true(packet.length <= sizes[i] && packet.answer <= sizes[i]);
    }
    for (uint32_t i = 0; i < 200; i++)
        steps[i] = step_write(word(0x1000), i);
    begin_at(64, 0x1000, false);
    compile(steps, 200);
    assert_int_equal(packet.n, 12);
    assert_int_equal(packet.length, 63);
}

TEST(test_a_mask_write_behind_a_word_over_jtag_where_it_must_be)
{
    struct step steps[] = {step_read(word(0x1000)), step_expect(word(0x1000), 0xFFFFFFFF, 1),
                           step_expect(word(0x1000), 0xFFFFFFFF, 2), step_write(word(0x1000), 3),
                           step_expect(word(0x1000), 0xFFFFFFFF, 4)};
    begin_at(64, 0x1000, false);
    compiler.jtag = true;
    compile(steps, 5);
    assert_packet("05 00 07 0f 1f 01 00 00 00 1f 02 00 00 00 0d 03 00 00 00 06 1f 04 00 00 00 06");
    begin_at(64, 0x1000, false);
    compiler.jtag = compiler.loses_place = true;
    compile(steps, 5);
    assert_packet("05 00 09 0f 20 ff ff ff ff 1f 01 00 00 00 1f 02 00 00 00 "
                  "0d 03 00 00 00 06 20 ff ff ff ff 1f 04 00 00 00 06");
}

/* Each word, a check's too, arrives with the next transfer: it may be missing though its transfer counts as
 * done. */
TEST(test_posted_checks_over_jtag)
{
    struct step steps[] = {step_read(word(0x1000)), step_write(word(0x1000), 1), step_read(word(0x1000))};
    static const uint8_t acks[] = {7, 0, 8};
    begin_at(64, 0x1000, false);
    compiler.jtag = true;
    compile(steps, 3); /* read, write, check, read, check */
    assert_packet("05 00 05 0f 0d 01 00 00 00 06 0f 06");
    for (size_t i = 0; i < sizeof acks; i++) {
        const char behind_check[] = {5, 3, (char)acks[i], 0x11, 0, 0, 0},
                   at_end[] = {5, 5, (char)acks[i], 0x11, 0, 0, 0, 0, 0, 0, 0, 0x22, 0, 0, 0};
        struct decoded decoded = answer(steps, behind_check, sizeof behind_check);
        assert_int_equal(decoded.end, DECODE_NO_ACK);
        assert_int_equal(decoded.step, 2);
        assert_int_equal(decoded.unchecked, 0); /* unknown whether the write was refused */
        assert_int_equal(results[0], 0x11);
        decoded = answer(steps, at_end, sizeof at_end);
        assert_int_equal(decoded.end, DECODE_NO_ACK);
        assert_int_equal(decoded.step, 3);
        assert_int_equal(decoded.unchecked, 2);
        assert_int_equal(results[2], 0x22);
    }
}

TEST(test_jtag_checks)
{
    struct step steps[] = {step_read(word(0x1000)), step_write(word(0x1000), 1), step_read(word(0x1000)),
                           step_read(word(0x1000))};
    begin_at(64, 0x1000, false);
    compiler.jtag = true;
    compiler.index = 2;
    compile(steps, 4);
    assert_packet("05 02 06 0f 0d 01 00 00 00 06 0f 0f 06");
    struct decoded decoded = ANSWER(steps, "\x05\x06\x01\x11\0\0\0\0\0\0\xF0\x22\0\0\0\x33\0\0\0\0\0\0\xF0");
    assert_int_equal(decoded.end, DECODE_DONE);
    assert_int_equal(results[3], 0x33);
    decoded = ANSWER(steps, "\x05\x06\x01\x11\0\0\0\0\0\0\xF0\x22\0\0\0\x33\0\0\0\x20\0\0\xF0");
    assert_int_equal(decoded.end, DECODE_FAULT);
    assert_int_equal(decoded.step, 2);
    decoded = ANSWER(steps, "\x05\x06\x01\x11\0\0\0\x20\0\0\xF0\x22\0\0\0\x33\0\0\0\x20\0\0\xF0");
    assert_int_equal(decoded.end, DECODE_FAULT);
    assert_int_equal(decoded.step, 0);
}

/* ---- replies */

static const struct step reads_and_writes[] = {
    {.op = OP_READ, .at = {.size = 4, .offset = 0x1000}},
    {.op = OP_READ, .at = {.size = 4, .offset = 0x1000}},
    {.op = OP_WRITE, .at = {.size = 4, .offset = 0x1000}, .value = 5},
    {.op = OP_EXPECT, .at = {.size = 4, .offset = 0x1000}, .value = 5, .mask = 0xFFFFFFFF},
    {.op = OP_READ, .at = {.size = 4, .offset = 0x1000}},
};

/* Transfers: 0 read, 1 read, 2 write, 3 guard, 4 match, 5 read. */
static void compile_five(void)
{
    begin_at(512, 0x1000, false);
    compile(reads_and_writes, 5);
    assert_packet("05 00 06 0f 0f 0d 05 00 00 00 0e 1f 05 00 00 00 0f");
}

TEST(test_where_it_failed)
{
    static const struct {
        uint8_t count, ack;
        size_t words;
        enum decode_end end;
        size_t step;
        bool write;
    } cases[] = {
        {0, 2, 0, DECODE_WAIT, 0, false},   /* the first was never accepted */
        {1, 4, 0, DECODE_FAULT, 0, false},  /* its word never arrived */
        {2, 4, 1, DECODE_FAULT, 1, false},  /* the second's */
        {2, 7, 2, DECODE_NO_ACK, 1, false}, /* it did, but a padded reply would not show it */
        {3, 4, 2, DECODE_FAULT, 2, true},   /* the guard: it was the write */
        {3, 2, 2, DECODE_WAIT, 2, true},
        {3, 7, 2, DECODE_NO_ACK, 3, true}, /* the guard itself: the write was accepted before */
        {4, 2, 3, DECODE_WAIT, 3, false},  /* the match */
        {4, 0x11, 3, DECODE_MISMATCH, 3, false},
        {4, 0x14, 3, DECODE_FAULT, 3, false}, /* most firmware says both */
        {4, 0x12, 3, DECODE_WAIT, 3, false},
        {4, 0x17, 3, DECODE_NO_ACK, 3, false},
        {4, 0x10, 3, DECODE_NO_ACK, 3, false},
        {0, 0, 0, DECODE_NO_ACK, 0, false}, /* the bits as they were on a line that is held low, */
        {4, 0, 3, DECODE_NO_ACK, 3, false},
        {6, 0, 3, DECODE_NO_ACK, 4, false},
        {0, 3, 0, DECODE_NO_ACK, 0, false}, /* or disturbed */
        {0, 5, 0, DECODE_NO_ACK, 0, false},
        {4, 6, 3, DECODE_NO_ACK, 3, false},
        {5, 8, 3, DECODE_NO_ACK, 4, false},
        {6, 4, 3, DECODE_FAULT, 4, false}, /* the last word never arrived */
        {6, 4, 4, DECODE_FAULT, 4, false}, /* or was sent all the same */
        {6, 1, 4, DECODE_DONE, 5, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char reply[64] = {5, (char)cases[i].count, (char)cases[i].ack};
        for (size_t k = 0; k < cases[i].words; k++)
            reply[3 + 4 * k] = (char)(k + 1);
        for (int padded = 0; padded < 2; padded++) {
            compile_five();
            compiler.padded = padded;
            size_t n = padded ? sizeof reply : 3 + 4 * cases[i].words;
            struct decoded decoded = answer(reads_and_writes, reply, n);
            if (decoded.end != cases[i].end || decoded.step != cases[i].step ||
                decoded.write != cases[i].write)
                fail_msg("case %zu: end %d, step %zu, write %d", i, decoded.end, decoded.step, decoded.write);
            for (size_t k = 0; k < 2 && k < decoded.step; k++)
                assert_int_equal(results[k], k + 1);
            for (size_t k = decoded.step; k < 5; k++)
                assert_true(results[k] == 0xEEEEEEEEEEEEEEEE);
        }
    }
}

TEST(test_broken_replies)
{
    static const struct {
        const char *bytes;
        size_t n;
    } broken[] = {{"", 0},
                  {"\x05", 1},
                  {"\x05\x06", 2},
                  {"\xFF", 1},
                  {"\x06\x06\x01\0\0\0\0", 7},
                  {"\x05\x06\x01\0\0\0\0\0\0", 9},              /* too few words */
                  {"\x05\x07\x01", 3},                          /* more than was asked for */
                  {"\x05\x05\x01\0\0\0\0\0\0\0\0\0\0\0\0", 15}, /* stopped, and all is well? */
                  {"\x05\x06\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 23}, /* too many */
                  {"\x05\x04\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 19},
                  {"\x05\x00\x20", 3},
                  {"\x05\x03\x11\0\0\0\0\0\0\0\0", 11}, /* a mismatch at what is not a match */
                  {"\x05\x06\x11\0\0\0\0\0\0\0\0", 11},
                  {"\x05\x04\x31\0\0\0\0\0\0\0\0\0\0\0\0", 15},
                  {"\x05\x04\x11\0\0\0\0\0\0\0\0", 11}};
    for (size_t i = 0; i < COUNT(broken); i++) {
        compile_five();
        struct decoded decoded = answer(reads_and_writes, broken[i].bytes, broken[i].n);
        if (decoded.end != DECODE_BROKEN || decoded.step != 0)
            fail_msg("case %zu: end %d, step %zu", i, decoded.end, decoded.step);
    }
}
