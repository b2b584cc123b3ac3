#include "../test.h"

#include "report/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST(counts)
{
    char out[NUMBER_ROOM];
    assert_string_equal(number_unsigned(out, sizeof(out), 0), "0");
    assert_string_equal(number_unsigned(out, sizeof(out), 999), "999");
    assert_string_equal(number_unsigned(out, sizeof(out), 1000), "1,000");
    assert_string_equal(number_unsigned(out, sizeof(out), 18204), "18,204");
    assert_string_equal(number_unsigned(out, sizeof(out), UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(decimals)
{
    char out[NUMBER_ROOM], large[512];
    assert_string_equal(number_decimal(out, sizeof(out), 18204.25, 2), "18,204.25");
    assert_string_equal(number_decimal(out, sizeof(out), -1234567.891, 1), "-1,234,567.9");
    assert_string_equal(number_decimal(out, sizeof(out), 999.96, 1), "1,000.0");
    assert_string_equal(number_decimal(out, sizeof(out), 0.0001, 4), "0.0001");
    assert_string_equal(number_decimal(out, sizeof(out), -0.001, 2), "0.00");
    assert_string_equal(number_decimal(out, sizeof(out), 5, -3), "5");
    assert_string_equal(number_decimal(out, sizeof(out), (double)NAN, 2), "nan");
    assert_string_equal(number_decimal(out, sizeof(out), -(double)INFINITY, 2), "-inf");
    assert_string_equal(number_decimal(out, sizeof(out), DBL_MAX, 2), "#");
    assert_int_equal(strlen(number_decimal(large, sizeof(large), -DBL_MAX, 17)), 1 + 309 + 102 + 1 + 17);
}

TEST(durations)
{
    static const struct {
        double seconds;
        const char *expected;
    } cases[] = {
        {27.306e-6, "27.31 µs"}, {0, "0 ns"},
        {1e-9, "1.000 ns"},      {0.5e-9, "0.500 ns"},
        {104.17e-9, "104.2 ns"}, {999.94e-9, "999.9 ns"},
        {999.96e-9, "1.000 µs"}, {9.9996e-3, "10.00 ms"},
        {99.996e-3, "100.0 ms"}, {1, "1.000 s"},
        {12345.6, "12,346 s"},   {-27.306e-6, "-27.31 µs"},
    };
    char out[NUMBER_ROOM];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(number_duration(out, sizeof(out), cases[i].seconds), cases[i].expected);
}

TEST(frequencies)
{
    static const struct {
        double hz;
        const char *expected;
    } cases[] = {
        {666666687, "666.7 MHz"}, {48e6, "48 MHz"},     {16.5e6, "16.5 MHz"},
        {1.2e9, "1.2 GHz"},       {32768, "32.77 kHz"}, {999.96e6, "1 GHz"},
        {100e6, "100 MHz"},       {0, "0 Hz"},          {5, "5 Hz"},
        {5e13, "50,000 GHz"},
    };
    char out[NUMBER_ROOM];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(number_frequency(out, sizeof(out), cases[i].hz), cases[i].expected);
}

TEST(elapsed)
{
    static const struct {
        double seconds;
        const char *expected;
    } cases[] = {
        {1.4, "1.4 s"},          {0.023, "23 ms"},    {0.0994, "99 ms"},       {0.0996, "0.1 s"},
        {9.96, "10 s"},          {119.4, "119 s"},    {119.6, "2 min 0 s"},    {125, "2 min 5 s"},
        {7199.9, "120 min 0 s"}, {7200, "2 h 0 min"}, {100000, "27 h 47 min"}, {1e300, "#"},
    };
    char out[NUMBER_ROOM];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(number_elapsed(out, sizeof(out), cases[i].seconds), cases[i].expected);
}

TEST(as_few_digits_as_are_read_back)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.0079970000000000006, "0.007997"},       {1.3999999999999999, "1.4"}, {0, "0"},
                 {0.1 + 0.2, "0.30000000000000004"},        {1e300, "1e+300"},           {-2.5, "-2.5"},
                 {2251799813685248.5, "2251799813685248.5"}};
    char out[NUMBER_ROOM];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(number_shortest(out, sizeof(out), cases[i].value), cases[i].text);
    static const double hard[] = {18223.408163265307, 5e-324, DBL_MAX, DBL_EPSILON, -1.0 / 7, 0x1p53 + 2};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        assert_true(strtod(number_shortest(out, sizeof out, hard[i]), NULL) == hard[i]);
}

TEST(what_does_not_fit_is_no_number)
{
    char out[8] = "unused";
    assert_string_equal(number_unsigned(out, 6, 18204), "#");
    assert_string_equal(number_unsigned(out, 7, 18204), "18,204");
    assert_string_equal(number_frequency(out, sizeof(out), 666.7e6), "#");
    assert_string_equal(number_unsigned(out, 1, 5), "");
    number_unsigned(NULL, 0, 5);
}

TEST(means)
{
    char out[NUMBER_ROOM];
    assert_string_equal(number_mean(out, 0), "0");
    assert_string_equal(number_mean(out, 475), "475");
    assert_string_equal(number_mean(out, 0.014), "0.01");
    assert_string_equal(number_mean(out, 94.257), "94.26");
    assert_string_equal(number_mean(out, 475.25), "475.2");
    assert_string_equal(number_mean(out, 18223.4), "18,223");
    assert_string_equal(number_mean(out, 1.8e19), "18,000,000,000,000,000,000");
    assert_string_equal(number_mean(out, DBL_MAX), "#");
}

TEST(changes)
{
    static const struct {
        double change;
        const char *text;
    } cases[] = {{0, "0 %"},
                 {0.00148, "+0.15 %"},
                 {-0.00148, "-0.15 %"},
                 {0.000021, "+0.002 %"},
                 {0.1234, "+12.3 %"},
                 {9.99, "+999 %"},
                 {-1, "-100 %"},
                 {1e-9, "+0.000 %"},
                 {1234.5, "+123,450 %"}};
    char out[NUMBER_ROOM];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(number_change(out, cases[i].change), cases[i].text);
    assert_string_equal(number_change(out, (double)NAN), "");
    assert_string_equal(number_change(out, (double)INFINITY), "");
    assert_string_equal(number_change(out, 1e300), "+# %");
    for (int i = 0; i < 1000; i++)
        assert_true(strlen(number_change(out, ldexp(1.7, i))) < NUMBER_ROOM);
}

TEST(parts)
{
    char out[NUMBER_ROOM];
    assert_string_equal(number_part_up(out, 0), "0 %");
    assert_string_equal(number_part_up(out, 0.01), "1 %");
    assert_string_equal(number_part_up(out, 0.00832), "0.84 %");
    assert_string_equal(number_part_up(out, 1.201), "130 %");
    assert_string_equal(number_share(out, 0.41769), "41.77 %");
    assert_string_equal(number_points(out, 0.0055), "0.55");
    assert_string_equal(number_points(out, 0.005501), "0.56");
    assert_string_equal(number_points(out, 0), "0.00");
    assert_string_equal(number_points(out, 0.0 / 0.0), "?");
    assert_string_equal(number_part(out, 0), "0 %");
    assert_string_equal(number_part(out, 0.02), "2 %");
    assert_string_equal(number_part(out, 0.005), "0.5 %");
    assert_string_equal(number_part(out, 0.07), "7 %"); /* 7.000000000000001 */
}
