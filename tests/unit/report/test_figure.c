#include "report/number.h"
#include "test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    assert_string_equal(number_part(out, 0), "0 %");
    assert_string_equal(number_part(out, 0.02), "2 %");
    assert_string_equal(number_part(out, 0.005), "0.5 %");
    assert_string_equal(number_part(out, 0.07), "7 %"); /* 7.000000000000001 */
}
