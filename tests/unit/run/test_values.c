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
    struct place place = {0};
    assert_true(value_place("1:0x80091000", &place) && place.said && place.port == 1 &&
                place.base == 0x80091000);
    assert_true(value_place("0x0A:4096", &place) && place.port == 10 && place.base == 4096);
    assert_true(value_place("0:0xFFFFFFFFFFFFF000", &place) && place.base == UINT64_C(0xFFFFFFFFFFFFF000));
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

static void budget_is(const char *text, uint64_t events, double seconds, const char *event)
{
    struct budget_value value;
    assert_true(value_budget(text, &value));
    assert_true(value.events == events && value.seconds == seconds);
    assert_string_equal(value.event, event);
}

TEST(budgets)
{
    budget_is("1200", 1200, 0, "CPU_CYCLES");
    budget_is("1200 cycles", 1200, 0, "CPU_CYCLES");
    budget_is("1k", 1000, 0, "CPU_CYCLES");
    budget_is("10  L1D_CACHE_REFILL", 10, 0, "L1D_CACHE_REFILL");
    budget_is("3 r11", 3, 0, "r11");
    budget_is("40us", 0, 4e-5, "CPU_CYCLES");
    budget_is("40 us", 0, 4e-5, "CPU_CYCLES");
    budget_is("1.5ms", 0, 1.5e-3, "CPU_CYCLES");
    budget_is("250ns", 0, 2.5e-7, "CPU_CYCLES");
    NONE_IS(BUDGET, "", "0", "-1", "1.5", "us", "40 us us", "0us", "10 A B", "10 ", " 10", "1e99", "40m",
            "3000000000", "cycles", "x 1200");
}

TEST(many)
{
    uint64_t value = 0;
    assert_true(value_many("0x20", UINT64_MAX, &value) && value == 32);
    assert_true(value_many("1.5k", UINT64_MAX, &value) && value == 1500);
    assert_true(value_many("3M", UINT64_MAX, &value) && value == 3000000);
    assert_true(value_many("2.5E2", UINT64_MAX, &value) && value == 250);
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
