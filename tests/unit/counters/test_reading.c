/* Where the values of a reading lie among a list's results, for counters of one word and of two. */
#include "../test.h"

#include "counters/counter.h"

static const uint64_t LOW = 0x1000, HIGH = 0x2000;

static struct counter plain(unsigned i, uint8_t bits)
{
    return (struct counter){.low = {.size = 4, .offset = LOW + i}, .bits = bits};
}

static struct counter split(unsigned i)
{
    struct counter counter = plain(i, 64);
    counter.high = (struct address){.size = 4, .offset = HIGH + i};
    return counter;
}

/* Narrow ones and wide ones by turns. */
static struct reading mixed(void)
{
    struct reading reading = {0};
    const struct counter counters[] = {plain(0, 32), split(1), plain(2, 8), split(3)};
    for (size_t i = 0; i < 4; i++)
        assert_true(reading_append(&reading, &counters[i]));
    return reading;
}

static void expect_reads(const struct reading *reading, bool running, const uint64_t *offsets, size_t n)
{
    struct step items[20];
    struct steps list = {.items = items, .room = 20};
    steps_add(&list, step_time(TIME_BEFORE));
    steps_add(&list, step_time(TIME_BEFORE));
    assert_int_equal(reading_add(reading, running, NULL, &list), 2);
    assert_int_equal(list.n, 2 + n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(items[2 + i].op, OP_READ);
        assert_int_equal(items[2 + i].at.offset, offsets[i]);
    }
}

TEST(a_halted_core_is_read_once_a_word)
{
    const struct reading reading = mixed();
    expect_reads(&reading, false, (const uint64_t[]){LOW, LOW + 1, HIGH + 1, LOW + 2, LOW + 3, HIGH + 3}, 6);
    const uint64_t results[] = {7, 7, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66};
    uint64_t values[4];
    reading_take(&reading, false, results, 2, values);
    assert_int_equal(values[0], 0x11);
    assert_true(values[1] == 0x3300000022);
    assert_int_equal(values[2], 0x44);
    assert_true(values[3] == 0x6600000055);
}

TEST(a_running_one_shows_the_high_word_before_and_after)
{
    const struct reading reading = mixed();
    expect_reads(&reading, true,
                 (const uint64_t[]){LOW, HIGH + 1, LOW + 1, HIGH + 1, LOW + 2, HIGH + 3, LOW + 3, HIGH + 3},
                 8);
    /* the first wide one wrapped before its low word was read, the second after it */
    const uint64_t results[] = {0x11, 5, 3, 6, 0x44, 8, 0xFFFFFFF0, 9};
    uint64_t values[4];
    reading_take(&reading, true, results, 0, values);
    assert_int_equal(values[0], 0x11);
    assert_true(values[1] == 0x600000003);
    assert_int_equal(values[2], 0x44);
    assert_true(values[3] == 0x8FFFFFFF0);
}

/* Whenever the three words are read, however far the counter goes between: the value is one that it had. */
TEST(a_wide_one_is_never_torn)
{
    struct reading reading = {0};
    const struct counter counter = split(0);
    assert_true(reading_append(&reading, &counter));
    for (uint64_t begin = 0x5FFFFFF00; begin < 0x600000100; begin += 3)
        for (uint64_t step = 0; step < 0x300; step += 17) {
            const uint64_t results[] = {begin >> 32, (uint32_t)(begin + step), (begin + 2 * step) >> 32};
            uint64_t value;
            reading_take(&reading, true, results, 0, &value);
            assert_true(value == begin + step);
        }
}

TEST(bits_beyond_a_counter_are_not_its)
{
    struct reading reading = {0};
    static const uint8_t bits[] = {8, 24, 32, 64};
    static const uint64_t kept[] = {0xF1, 0xD3E2F1, 0xC4D3E2F1, 0xC4D3E2F1};
    const uint64_t results[] = {0xC4D3E2F1, 0xC4D3E2F1, 0xC4D3E2F1, 0xC4D3E2F1};
    uint64_t values[4];
    for (unsigned i = 0; i < 4; i++) {
        const struct counter counter = plain(i, bits[i]);
        assert_true(reading_append(&reading, &counter));
    }
    reading_take(&reading, false, results, 0, values);
    assert_memory_equal(values, kept, sizeof kept);
    reading_take(&reading, true, results, 0, values);
    assert_memory_equal(values, kept, sizeof kept);
}

TEST(a_full_one_takes_no_more_and_fits_its_list)
{
    struct reading reading = {0};
    struct step items[READING_STEPS];
    struct steps list = {.items = items, .room = READING_STEPS};
    for (unsigned i = 0; i < READING_ROOM; i++) {
        const struct counter counter = split(i);
        assert_true(reading_append(&reading, &counter));
    }
    const struct counter more = plain(99, 32);
    assert_false(reading_append(&reading, &more));
    assert_int_equal(reading.n, READING_ROOM);
    reading_add(&reading, true, NULL, &list);
    assert_false(list.overflow);
    assert_int_equal(list.n, READING_STEPS);
}

/* Two words apart, as PMUv3 has its counters, after one in two words. */
static struct reading row(unsigned n)
{
    struct reading reading = {0};
    const struct counter cycles = {
        .low = {.size = 4, .offset = 0xF8}, .high = {.size = 4, .offset = 0xFC}, .bits = 64};
    assert_true(reading_append(&reading, &cycles));
    for (unsigned i = 0; i < n; i++) {
        const struct counter counter = {.low = {.size = 4, .offset = 0x200 + 8 * i}, .bits = 32};
        assert_true(reading_append(&reading, &counter));
    }
    return reading;
}

TEST(counters_in_a_row_are_read_with_what_is_between)
{
    const struct reading four = row(4);
    expect_reads(&four, false,
                 (const uint64_t[]){0xF8, 0xFC, 0x200, 0x204, 0x208, 0x20C, 0x210, 0x214, 0x218}, 9);
    expect_reads(&four, true,
                 (const uint64_t[]){0xFC, 0xF8, 0xFC, 0x200, 0x204, 0x208, 0x20C, 0x210, 0x214, 0x218}, 10);
    const uint64_t results[] = {8, 1, 2, 11, 666, 22, 666, 33, 666, 44};
    uint64_t values[5];
    for (unsigned running = 0; running < 2; running++) {
        reading_take(&four, running,
                     running ? (const uint64_t[]){2, 1, 2, 11, 666, 22, 666, 33, 666, 44} : results,
                     running ? 0 : 1, values);
        assert_true(values[0] == 0x200000001);
        for (unsigned i = 1; i < 5; i++)
            assert_int_equal(values[i], 11 * i);
    }
}

TEST(a_short_row_is_not_worth_it)
{
    const struct reading three = row(3);
    expect_reads(&three, false, (const uint64_t[]){0xF8, 0xFC, 0x200, 0x208, 0x210}, 5);
    const uint64_t results[] = {1, 2, 11, 22, 33};
    uint64_t values[4];
    reading_take(&three, false, results, 0, values);
    assert_int_equal(values[3], 33);
}

/* By place, by another view, by width: each ends a row, and what is left on either side is too short. */
TEST(a_row_ends_where_the_next_is_elsewhere)
{
    for (unsigned way = 0; way < 4; way++) {
        struct reading reading = row(6);
        struct counter *fourth = &reading.counters[4];
        if (way == 0)
            for (unsigned i = 4; i < 7; i++)
                reading.counters[i].low.offset += 8;
        if (way == 1)
            for (unsigned i = 4; i < 7; i++)
                reading.counters[i].low.unit = 1;
        if (way == 2)
            fourth->low.size = 2;
        if (way == 3)
            fourth->high = (struct address){.size = 4, .offset = fourth->low.offset + 4};
        struct step items[20];
        struct steps list = {.items = items, .room = 20};
        reading_add(&reading, false, NULL, &list);
        assert_int_equal(list.n, way == 3 ? 9 : 8);
        uint64_t results[20], values[7];
        for (unsigned i = 0; i < list.n; i++)
            results[i] = items[i].at.offset;
        reading_take(&reading, false, results, 0, values);
        for (unsigned i = 1; i < 7; i++)
            assert_int_equal(values[i] & 0xFFFF, reading.counters[i].low.offset);
    }
}
