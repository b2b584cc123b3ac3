/* What users write behind options, read as a whole or not at all. */
#include "../test.h"

#include "commands/values.h"

#include <string.h>

TEST(places)
{
    static const struct {
        const char *text;
        unsigned port;
        uint64_t base;
    } good[] = {{"1:0x80091000", 1, 0x80091000},
                {"0x0A:4096", 10, 4096},
                {"0:0xFFFFFFFFFFFFF000", 0, UINT64_C(0xFFFFFFFFFFFFF000)}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct place place = {0};
        if (!value_place(good[i].text, &place) || !place.said || place.port != good[i].port ||
            place.base != good[i].base)
            fail_msg("%s", good[i].text);
    }
    static const char *const wrong[] = {
        "",          ":",          "1",         "1:",
        ":0x1000",   "256:0x1000", "1:0x1004",  "1:x",
        "1:0x1000 ", "-1:0x1000",  "1:-4096",   "1:0x10000000000000000",
        "1: 0x1000", "a:0",        "1:0x1000:", "1000000000000000000000:0x1000"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct place kept = {0};
        assert_false(value_place(wrong[i], &kept));
        assert_false(kept.said);
    }
    assert_false(value_place("1:0x1800", &(struct place){0}));
}

TEST(counts_and_scaled_numbers)
{
    static const char *const units[] = {"", "k", NULL}, *const no_count[] = {"17", "", "+1", "1x"},
                             *const no_number[] = {"1.5M", "nan", "-1", "k"};
    static const double scales[] = {1, 1e3};
    uint64_t count = 0;
    double value = 0;
    assert_true(value_count("0x10", 16, &count) && count == 16);
    assert_true(value_scaled("1.5K", units, scales, &value) && value == 1500);
    for (size_t i = 0; i < 4; i++)
        if (value_count(no_count[i], 16, &count) || value_scaled(no_number[i], units, scales, &value))
            fail_msg("\"%s\" or \"%s\" is read", no_count[i], no_number[i]);
}

TEST(formats)
{
    enum format format = FORMAT_TEXT;
    assert_true(value_format("junit", &format));
    assert_int_equal(format, FORMAT_JUNIT);
    assert_false(value_format("JUnit ", &format));
}

TEST(processes)
{
    struct process process = {0};
    assert_true(value_process("any", &process));
    assert_int_equal(process.which, PROCESS_ANY);
    assert_true(value_process("0xFFFFFFFF", &process));
    assert_int_equal(process.which, PROCESS_ID);
    assert_int_equal(process.id, 0xFFFFFFFF);
    assert_true(value_process("0", &process)); /* which is one as well */
    assert_int_equal(process.which, PROCESS_ID);
    assert_int_equal(process.id, 0);
    static const char *const wrong[] = {"", "all", "ANY", "any ", "1x", "-1", "0x100000000", "1.0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct process kept = {0};
        assert_false(value_process(wrong[i], &kept));
        assert_int_equal(kept.which, PROCESS_NOT_SAID);
    }
}
