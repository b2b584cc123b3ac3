/*
 * The pure parts of the OpenOCD link: the program, the answer, the words.
 */
#include "test.h"

#include "links/openocd_process.h"
#include "links/openocd_tcl.h"
#include "links/openocd_trace.h"

#include <stdio.h>

static struct address word(uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = 1, .offset = offset};
}

TEST(test_only_numbers_are_written)
{
    struct address ap = {.space = SPACE_AP, .size = 4, .unit = 0x102, .offset = 0xfc};
    struct address dp = {.space = SPACE_DP, .size = 4, .unit = 0, .offset = 4};
    struct address wide = {.space = SPACE_MEMORY, .size = 8, .unit = 0, .offset = UINT64_MAX - 7};
    struct step steps[] = {step_read(word(0x100)),          step_read(word(0x104)),
                           step_read(word(0x10c)),          step_write(word(0x110), UINT64_MAX),
                           step_until(wide, UINT64_MAX, 1), step_expect(ap, 0xf, 1),
                           step_time(TIME_BEFORE),          step_read(dp)};
    char out[512];
    assert_int_equal(openocd_program_write(steps, 8, 2, out, sizeof out), 8);
    assert_string_equal(out, "0 1 32 0x100 0x2 0x0 0 1 32 0x10c 0x1 0x0 1 1 32 0x110 0xffffffff 0x0 "
                             "2 0 64 0xfffffffffffffff8 0xffffffffffffffff 0x1 3 65794 32 0xfc 0xf 0x1 "
                             "4 0 0 0 0 0 0 131072 32 0x4 0x1 0x0 ");
}

TEST(test_what_does_not_fit_is_left_for_later)
{
    struct step steps[] = {step_write(word(0x100), 1), step_write(word(0x104), 2)};
    char out[64];
    assert_int_equal(openocd_program_write(steps, 2, 2, out, 30), 1);
    assert_string_equal(out, "1 1 32 0x100 0x1 0x0 ");
    assert_int_equal(openocd_program_write(steps, 2, 2, out, 8), 0);
    assert_string_equal(out, "");
    assert_int_equal(openocd_program_write(steps, 2, 1, out, sizeof out), 0);
}

TEST(test_blocks_end_where_they_must)
{
    static struct step steps[OPENOCD_BLOCK + 5];
    for (size_t i = 0; i < OPENOCD_BLOCK + 5; i++)
        steps[i] = step_read(word(4 * i));
    assert_int_equal(openocd_item_length(steps, OPENOCD_BLOCK + 5), OPENOCD_BLOCK);
    steps[3].at.unit = 0;
    assert_int_equal(openocd_item_length(steps, OPENOCD_BLOCK), 3);
    steps[2].at.size = 2;
    assert_int_equal(openocd_item_length(steps, OPENOCD_BLOCK), 2);
    steps[1].op = OP_EXPECT;
    assert_int_equal(openocd_item_length(steps, OPENOCD_BLOCK), 1);
    struct step last[] = {step_read(word(UINT64_MAX - 3)), step_read(word(0))};
    assert_int_equal(openocd_item_length(last, 2), 1);
}

TEST(test_part_of_a_block)
{
    struct step steps[] = {step_write(word(0), 1), step_read(word(4)), step_read(word(8)),
                           step_read(word(12)), step_read(word(20))};
    static const char text[] = "pmu 7 1 1 0 2 0xa 11";
    struct openocd_reply reply;
    struct outcome outcome;
    uint64_t results[5] = {0};
    assert_true(openocd_reply_read(text, strlen(text), &reply));
    assert_int_equal(reply.sequence, 7);
    assert_true(openocd_reply_take(&reply, steps, 5, results, &outcome));
    assert_int_equal(outcome.why, NOT_YET);
    assert_int_equal(outcome.done, 3);
    assert_int_equal(results[1], 10);
    assert_int_equal(results[2], 11);
    /* The whole of a block is not part of it */
    static const char whole[] = "pmu 7 1 1 0 3 1 2 3";
    assert_true(openocd_reply_read(whole, strlen(whole), &reply));
    assert_false(openocd_reply_take(&reply, steps, 5, results, &outcome));
}

TEST(test_the_core_was_moved)
{
    static const char text[] = "pmu 7 5 0 0 0 \nstepped", wordless[] = "pmu 7 5 0 0 0 ";
    struct openocd_reply reply;
    assert_true(openocd_reply_read(text, strlen(text), &reply));
    assert_true(reply.is_moved && reply.why == LINK_LOST && reply.words_length == strlen("stepped"));
    assert_false(openocd_reply_read(wordless, strlen(wordless), &reply));
}

TEST(test_every_beginning_of_an_answer_is_refused)
{
    static const char text[] = "pmu 7 0 1 0 1 5";
    struct step step = step_read(word(4));
    struct openocd_reply reply;
    struct outcome outcome;
    uint64_t result;
    for (size_t length = 0; length < strlen(text); length++) {
        char beginning[sizeof text] = "";
        memcpy(beginning, text, length);
        assert_false(openocd_reply_read(beginning, length, &reply) &&
                     openocd_reply_take(&reply, &step, 1, &result, &outcome));
    }
    assert_true(openocd_reply_read(text, strlen(text), &reply) &&
                openocd_reply_take(&reply, &step, 1, &result, &outcome));
}

TEST(test_versions)
{
    unsigned major = 0, minor = 0;
    assert_true(openocd_version_read("Open On-Chip Debugger 0.12.0+dev-01234-g0abcdef", &major, &minor));
    assert_int_equal(major, 0);
    assert_int_equal(minor, 12);
    static const char *const vendors[] = {
        "xPack Open On-Chip Debugger 0.12.0-01004-g9ea7f3d64-dirty (2023-01-30-15:04)",
        "xPack Open On-Chip Debugger 0.12.0+dev-02228-ge5888bda3-dirty (2025-10-04-22:44)",
        "Open On-Chip Debugger v0.12.0-esp32-20251215 (2025-12-15-18:17)",
        "Open On-Chip Debugger 0.12.0-00024-g34afaa939 (2024-01-01) [https://github.com/STMicroelectronics]"};
    for (size_t i = 0; i < COUNT(vendors); i++) {
        major = minor = 7;
        assert_true(openocd_version_read(vendors[i], &major, &minor));
        assert_true(major == 0 && minor == 12);
    }
    assert_false(openocd_version_read("", &major, &minor));
    assert_false(openocd_version_read("Open On-Chip Debugger", &major, &minor));
    assert_false(openocd_version_read("Open On-Chip Debugger 0", &major, &minor));
    assert_false(openocd_version_read("Open On-Chip Debugger 0.99999999999999999999", &major, &minor));
    assert_true(openocd_version_read("Open On-Chip Debugger 1000.1000", &major, &minor));
    assert_false(openocd_version_read("Open On-Chip Debugger 1001.0", &major, &minor));
    assert_false(openocd_version_read("Open On-Chip Debugger 0.1001", &major, &minor));
}

static void assert_cleaned(const char *text, size_t size, const char *expected)
{
    char out[64];
    openocd_text_clean(text, strlen(text), out, size);
    assert_string_equal(out, expected);
}

TEST(test_words_are_cleaned)
{
    assert_cleaned("  a \t b\r\n\n c \n", 64, "a b; c");
    assert_cleaned("\x1b[31mred\xc3\xa9", 64, "?[31mred??");
    assert_cleaned("abcdef", 4, "abc");
    assert_cleaned("ab  cd", 4, "ab ");
    assert_cleaned("ab\ncd", 4, "abc");
    assert_cleaned("", 1, "");
    char none = 'x';
    openocd_text_clean("abc", 3, &none, 0);
    assert_int_equal(none, 'x');
    assert_true(openocd_text_is_wait("Timeout during WAIT recovery"));
    assert_false(openocd_text_is_wait("DAP transaction stalled (WAIT) - slowing down and resending"));
}

static const char *errors_of(const char *log)
{
    static char out[128];
    return openocd_text_errors(log, strlen(log), out, sizeof out) ? out : NULL;
}

TEST(error_lines_of_a_log)
{
    assert_null(errors_of("Info : Listening on port 1\nWarn : no Error here\n"));
    assert_string_equal(errors_of("Info : a\nError: open failed\nInfo : b"), "open failed");
    assert_string_equal(
        errors_of("x.cfg:6: Error: set  BOARD_PORT\r\nin procedure 'script'\nError: open failed"),
        "set BOARD_PORT\nopen failed");
    assert_string_equal(errors_of("Error: a\nError: a\nError: b"), "a\nb");
    char many[2000] = "";
    for (int i = 0; i < 40; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "Error: number %d is one of many\n", i);
    assert_int_equal(strlen(errors_of(many)), 127);
}

TEST(messages_of_trace)
{
    static const struct {
        const char *text;
        long digits; /* -1: not one */
    } rows[] = {{"type target_trace data 0520c0ff7f\r\n", 10},
                {"type target_trace data \r\n", 0},
                {"type target_trace data 052\r\n", -1},
                {"type target_trace data 05", -1},
                {"type target_trace data 05x0\r\n", -1},
                {"type target_event event halted\r\n", -1},
                {"", -1}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t digits = 99;
        const char *hex = openocd_trace_message(rows[i].text, strlen(rows[i].text), &digits);
        assert_int_equal(hex == NULL ? -1 : (long)digits, rows[i].digits);
    }
}

TEST(answers_to_the_start_of_trace)
{
    static const struct {
        const char *text, *why;
        uint32_t baud;
        bool good, fixed;
    } rows[] = {{"pmu 6000000 0", "", 6000000, true, false},
                {"pmu 1000000 1", "", 1000000, true, true},
                {"pmu 0 0  Error: no\n trace", "Error: no; trace", 0, true, false},
                {"pmu 1 2", "", 0, false, false},
                {"invalid command name", "", 0, false, false},
                {"", "", 0, false, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct link_trace trace = {0};
        assert_int_equal(openocd_trace_answer(rows[i].text, strlen(rows[i].text), &trace), rows[i].good);
        if (rows[i].good) {
            assert_int_equal(trace.baud, rows[i].baud);
            assert_int_equal(trace.fixed, rows[i].fixed);
        }
        assert_string_equal(trace.why, rows[i].why);
    }
}
