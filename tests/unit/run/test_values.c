/* What users write after options, read as a whole or not at all. */
#include "../test.h"

#include "run/values.h"

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
    static const char *const no_count[] = {"17",
                                           "",
                                           "+1",
                                           "1x",
                                           "07",
                                           "0x",
                                           " 1",
                                           "1 ",
                                           "-0",
                                           "1e1",
                                           "0x1p4",
                                           "0x+1",
                                           "0x 1",
                                           "\t1",
                                           "1\n",
                                           "1.",
                                           "18446744073709551617",
                                           "0x10000000000000001"},
                             *const no_number[] = {"1.5T", "nan",  "-1",  "k",   "12m", "0x1p4",
                                                   " 1",   "1e+",  "inf", "+1M", "1 M", "1e999",
                                                   "0x10", "1..2", "\t1", "1,5", "1e",  "e3"};
    uint64_t count = 0;
    double value = 0;
    assert_true(value_count("0x10", 16, &count) && count == 16);
    assert_true(value_frequency("1.5K", &value) && value == 1500);
    assert_true(value_frequency("2.5e-3GHz", &value) && value == 2.5e6);
    assert_true(value_seconds("1.5min", 1, &value) && value == 90);
    assert_true(value_seconds("250", 1e-3, &value) && value == 0.25);
    static const char *const no_time[] = {"0x1p4", "+1", "1e", ".", "s", "-1", "nan"};
    for (size_t i = 0; i < sizeof no_time / sizeof *no_time; i++)
        assert_false(value_seconds(no_time[i], 1, &value));
    assert_false(value_frequency("1.2.3", &value));
    for (size_t i = 0; i < sizeof no_count / sizeof *no_count; i++)
        if (value_count(no_count[i], 16, &count) || value_frequency(no_number[i], &value))
            fail_msg("\"%s\" or \"%s\" is read", no_count[i], no_number[i]);
}

TEST(budgets)
{
    static const struct {
        const char *text;
        struct budget_value value;
    } good[] = {
        {"1200", {.events = 1200, .event = "CPU_CYCLES"}},
        {"1200 cycles", {.events = 1200, .event = "CPU_CYCLES"}},
        {"1k", {.events = 1000, .event = "CPU_CYCLES"}},
        {"10  L1D_CACHE_REFILL", {.events = 10, .event = "L1D_CACHE_REFILL"}},
        {"3 r11", {.events = 3, .event = "r11"}},
        {"40us", {.seconds = 4e-5, .event = "CPU_CYCLES"}},
        {"1.5ms", {.seconds = 1.5e-3, .event = "CPU_CYCLES"}},
        {"250ns", {.seconds = 2.5e-7, .event = "CPU_CYCLES"}},
    };
    static const char *const wrong[] = {"",         "0",   "-1",         "1.5",    "us",
                                        "40 us us", "0us", "10 A B",     "10 ",    " 10",
                                        "1e99",     "40m", "3000000000", "cycles", "x 1200"};
    struct budget_value value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(value_budget(good[i].text, &value));
        assert_int_equal(value.events, good[i].value.events);
        assert_true(value.seconds == good[i].value.seconds);
        assert_string_equal(value.event, good[i].value.event);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (value_budget(wrong[i], &value))
            fail_msg("\"%s\" is read", wrong[i]);
}

TEST(many)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0x20", 32}, {"1.5k", 1500}, {"3M", 3000000}, {"1e3", 1000}, {"2.5E2", 250}, {"0.5k", 500}};
    static const char *const wrong[] = {"1.5", "1e-3", "1m",   "010k", "1kk", "k",
                                        "",    "1e99", "9e18", "1e3x", "1x",  "010",
                                        "1e",  "0x",   "1e30", "1K2",  "+5",  "1.0001k"};
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!value_many(good[i].text, UINT64_MAX, &value) || value != good[i].value)
            fail_msg("%s", good[i].text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (value_many(wrong[i], UINT64_MAX, &value))
            fail_msg("\"%s\" is read", wrong[i]);
    assert_false(value_many("2k", 1999, &value));
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
