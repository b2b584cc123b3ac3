/* What users write after options, read as a whole or not at all. */
#include "../test.h"

#include "run/values.h"

#include <string.h>

enum kind { COUNT, FREQUENCY, SECONDS, BUDGET, MANY, PLACE, PROCESS };

/* Or something of it is kept. */
static bool is_read(enum kind kind, const char *text)
{
    uint64_t count;
    double value;
    struct budget_value budget;
    struct place place = {0};
    struct process process = {0};
    switch (kind) {
    case COUNT:
        return value_count(text, 16, &count);
    case FREQUENCY:
        return value_frequency(text, &value);
    case SECONDS:
        return value_seconds(text, 1, &value);
    case BUDGET:
        return value_budget(text, &budget);
    case MANY:
        return value_many(text, UINT64_MAX, &count);
    case PLACE:
        return value_place(text, &place) || place.said;
    default:
        return value_process(text, &process) || process.which != PROCESS_NOT_SAID;
    }
}

static void none_is(enum kind kind, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        if (is_read(kind, *texts))
            fail_msg("\"%s\" is read", *texts);
}

#define NONE_IS(kind, ...) none_is(kind, (const char *const[]){__VA_ARGS__, NULL})

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
    NONE_IS(PLACE, "", ":", "1", "1:", ":0x1000", "256:0x1000", "1:0x1004", "1:x", "1:0x1000 ", "1:0x1800",
            "-1:0x1000", "1:-4096", "1:0x10000000000000000", "1: 0x1000", "a:0",
            "1:0x1000:", "1000000000000000000000:0x1000");
}

TEST(counts_and_scaled_numbers)
{
    uint64_t count = 0;
    double value = 0;
    assert_true(value_count("0x10", 16, &count) && count == 16);
    assert_true(value_frequency("1.5K", &value) && value == 1500);
    assert_true(value_frequency("2.5e-3GHz", &value) && value == 2.5e6);
    assert_true(value_seconds("1.5min", 1, &value) && value == 90);
    assert_true(value_seconds("250", 1e-3, &value) && value == 0.25);
    NONE_IS(COUNT, "17", "", "+1", "1x", "07", "0x", " 1", "1 ", "-0", "1e1", "0x1p4", "0x+1", "0x 1", "\t1",
            "1\n", "1.", "18446744073709551617", "0x10000000000000001");
    NONE_IS(FREQUENCY, "1.5T", "nan", "-1", "k", "12m", "0x1p4", " 1", "1e+", "inf", "+1M", "1 M", "1e999",
            "0x10", "1..2", "\t1", "1,5", "1e", "e3", "1.2.3");
    NONE_IS(SECONDS, "0x1p4", "+1", "1e", ".", "s", "-1", "nan");
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
    struct budget_value value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(value_budget(good[i].text, &value));
        assert_int_equal(value.events, good[i].value.events);
        assert_true(value.seconds == good[i].value.seconds);
        assert_string_equal(value.event, good[i].value.event);
    }
    NONE_IS(BUDGET, "", "0", "-1", "1.5", "us", "40 us us", "0us", "10 A B", "10 ", " 10", "1e99", "40m",
            "3000000000", "cycles", "x 1200");
}

TEST(many)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0x20", 32}, {"1.5k", 1500}, {"3M", 3000000}, {"1e3", 1000}, {"2.5E2", 250}, {"0.5k", 500}};
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!value_many(good[i].text, UINT64_MAX, &value) || value != good[i].value)
            fail_msg("%s", good[i].text);
    NONE_IS(MANY, "1.5", "1e-3", "1m", "010k", "1kk", "k", "", "1e99", "9e18", "1e3x", "1x", "010", "1e",
            "0x", "1e30", "1K2", "+5", "1.0001k");
    assert_false(value_many("2k", 1999, &value));
}

TEST(processes)
{
    struct process process = {0};
    assert_true(value_process("any", &process) && process.which == PROCESS_ANY);
    assert_true(value_process("0xFFFFFFFF", &process));
    assert_true(process.which == PROCESS_ID && process.id == 0xFFFFFFFF);
    assert_true(value_process("0", &process)); /* which is one as well */
    assert_true(process.which == PROCESS_ID && process.id == 0);
    NONE_IS(PROCESS, "", "all", "ANY", "any ", "1x", "-1", "0x100000000", "1.0");
}
