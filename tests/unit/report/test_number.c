#include "../test.h"

#include "report/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct written {
    double value;
    const char *text;
};

typedef const char *sized(char *out, size_t size, double value);
typedef const char *unsized(char out[NUMBER_ROOM], double value);

/* By one of the two. */
static void each_is(sized *of, unsized *other, const struct written *rows, size_t n)
{
    char out[NUMBER_ROOM];
    for (size_t i = 0; i < n; i++)
        assert_string_equal(of != NULL ? of(out, sizeof out, rows[i].value) : other(out, rows[i].value),
                            rows[i].text);
}

#define ROWS(...)                                                                                            \
    (const struct written[]){__VA_ARGS__},                                                                   \
        sizeof((const struct written[]){__VA_ARGS__}) / sizeof(struct written)
#define EACH(of, ...)         each_is(of, NULL, ROWS(__VA_ARGS__))
#define EACH_IN_ROOM(of, ...) each_is(NULL, of, ROWS(__VA_ARGS__))

TEST(of_any_length)
{
    char out[NUMBER_ROOM];
    assert_string_equal(number_decimal(out, sizeof out, 18204.25, 2), "18,204.25");
    assert_string_equal(number_decimal(out, sizeof out, -1234567.891, 1), "-1,234,567.9");
    assert_string_equal(number_decimal(out, sizeof out, 999.96, 1), "1,000.0");
    assert_string_equal(number_decimal(out, sizeof out, -0.001, 2), "0.00");
    assert_string_equal(number_decimal(out, sizeof out, 5, -3), "5");
    assert_string_equal(number_decimal(out, sizeof out, (double)NAN, 2), "nan");
    assert_string_equal(number_decimal(out, sizeof out, -(double)INFINITY, 2), "-inf");
    assert_string_equal(number_decimal(out, sizeof out, DBL_MAX, 2), "#");
    EACH(number_duration, {27.306e-6, "27.31 µs"}, {0, "0 ns"}, {1e-9, "1.000 ns"}, {0.5e-9, "0.500 ns"},
         {999.94e-9, "999.9 ns"}, {999.96e-9, "1.000 µs"}, {9.9996e-3, "10.00 ms"}, {12345.6, "12,346 s"},
         {-27.306e-6, "-27.31 µs"});
    EACH(number_frequency, {666666687, "666.7 MHz"}, {48e6, "48 MHz"}, {1.2e9, "1.2 GHz"},
         {32768, "32.77 kHz"}, {999.96e6, "1 GHz"}, {0, "0 Hz"}, {5e13, "50,000 GHz"});
    EACH(number_elapsed, {1.4, "1.4 s"}, {0.0994, "99 ms"}, {0.0996, "0.1 s"}, {9.96, "10 s"},
         {119.4, "119 s"}, {119.6, "2 min 0 s"}, {7199.9, "120 min 0 s"}, {7200, "2 h 0 min"}, {1e300, "#"});
    EACH(number_rounded, {467.80276816608995, "467.803"}, {0, "0"}, {-2.5, "-2.5"}, {1234567.5, "1234568"},
         {0.000012566863394625586, "1.25669e-05"}, {42, "42"});
    EACH(number_shortest, {0.0079970000000000006, "0.007997"}, {0, "0"}, {0.1 + 0.2, "0.30000000000000004"},
         {1e300, "1e+300"}, {-2.5, "-2.5"}, {2251799813685248.5, "2251799813685248.5"});
}

TEST(of_some_length)
{
    char out[NUMBER_ROOM];
    EACH_IN_ROOM(number_mean, {0, "0"}, {475, "475"}, {0.014, "0.01"}, {94.257, "94.26"}, {475.25, "475.2"},
                 {18223.4, "18,223"}, {DBL_MAX, "#"});
    EACH_IN_ROOM(number_change, {0, "0 %"}, {0.00148, "+0.15 %"}, {-0.00148, "-0.15 %"},
                 {0.000021, "+0.002 %"}, {0.1234, "+12.3 %"}, {9.99, "+999 %"}, {1e-9, "+0.000 %"},
                 {1234.5, "+123,450 %"}, {(double)NAN, ""}, {(double)INFINITY, ""}, {1e300, "+# %"});
    EACH_IN_ROOM(number_part_up, {0, "0 %"}, {0.01, "1 %"}, {0.00832, "0.84 %"}, {1.201, "130 %"});
    EACH_IN_ROOM(number_share, {0.41769, "41.77 %"});
    EACH_IN_ROOM(number_points, {0.0055, "0.55"}, {0.005501, "0.56"}, {(double)NAN, "?"});
    EACH_IN_ROOM(number_part, {0, "0 %"}, {0.005, "0.5 %"}, {0.07, "7 %"}); /* 7.000000000000001 */
    for (int i = 0; i < 1000; i++)
        assert_true(strlen(number_change(out, ldexp(1.7, i))) < NUMBER_ROOM);
}

static void is_read_back(double value)
{
    char out[NUMBER_ROOM];
    if (strtod(number_shortest(out, sizeof out, value), NULL) != value)
        fail_msg("%.17g became %s", value, out);
}

TEST(each_real_is_read_back)
{
    static const double hard[] = {18223.408163265307, 5e-324, DBL_MAX, DBL_EPSILON, -1.0 / 7, 0x1p53 + 2};
    uint64_t random = test_seed() | 1;
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        is_read_back(hard[i]);
    for (size_t i = 0; i < test_cases(20000); i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        double value;
        memcpy(&value, &random, sizeof value);
        if (isfinite(value))
            is_read_back(i % 2 ? value : (double)(random >> 40) / 1e6);
    }
}

TEST(what_does_not_fit_is_no_number)
{
    char out[8] = "unused", large[512];
    assert_string_equal(number_unsigned(out, 6, 18204), "#");
    assert_string_equal(number_unsigned(out, 7, 18204), "18,204");
    assert_string_equal(number_frequency(out, sizeof(out), 666.7e6), "#");
    assert_string_equal(number_unsigned(out, 1, 5), "");
    number_unsigned(NULL, 0, 5);
    assert_string_equal(number_unsigned(large, sizeof large, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_int_equal(strlen(number_decimal(large, sizeof(large), -DBL_MAX, 17)), 1 + 309 + 102 + 1 + 17);
}
