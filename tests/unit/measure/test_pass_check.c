/* When passes that should have seen the same are reported to disagree, and when that is just how they vary.
 */
#include "../test.h"

#include "measure/delta.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { PASSES = 4 };

static struct pass_check passes[PASSES];
static char words[160];

static int set_up(void **state)
{
    (void)state;
    memset(passes, 0, sizeof passes);
    memset(words, 'x', sizeof words);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, NULL)

static void add(size_t pass, uint64_t value, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        pass_check_add(&passes[pass], value);
}

static bool disagree(size_t n, double plus_minus)
{
    pass_check_compare(passes, n, plus_minus, "CPU_CYCLES", words, sizeof words);
    return words[0] != '\0';
}

FRESH_TEST(mean_and_squares_are_those_of_the_values)
{
    static const uint64_t values[] = {9, 2, 7, 4, 4, 5, 5, 4};
    for (size_t i = 0; i < 8; i++)
        pass_check_add(&passes[0], values[i]);
    assert_int_equal(passes[0].n, 8);
    assert_int_equal(passes[0].min, 2);
    assert_int_equal(passes[0].max, 9);
    assert_true(fabs(passes[0].mean - 5) < 1e-12 && fabs(passes[0].squares - 32) < 1e-12);
    for (unsigned i = 0; i < 1000; i++) /* large values do not drown their differences */
        pass_check_add(&passes[1], (1ULL << 50) + i % 2);
    assert_true(fabs(passes[1].squares - 250) < 1);
}

FRESH_TEST(nothing_and_one_pass_agree)
{
    assert_false(disagree(PASSES, 0));
    assert_false(disagree(0, 0));
    add(2, 1000, 5);
    assert_false(disagree(PASSES, 0)); /* the others had no hit that counts */
}

FRESH_TEST(constant_passes_must_be_equal)
{
    for (size_t i = 0; i < PASSES; i++)
        add(i, 1000, 5);
    assert_false(disagree(PASSES, 0));
    passes[2] = (struct pass_check){0};
    add(2, 1001, 5);
    assert_true(disagree(PASSES, 0));
    assert_string_equal(words, "the passes disagree: mean CPU_CYCLES 1000 in pass 1, 1001 in pass 3");
    assert_true(disagree(PASSES, 0.4)); /* what each may be off by */
    assert_false(disagree(PASSES, 0.5));
}

FRESH_TEST(what_varies_may_differ_by_three_standard_errors)
{
    add(0, 990, 50);
    add(0, 1010, 50); /* the mean of a hundred: 1 */
    add(1, 995, 50);
    add(1, 1015, 50);
    assert_false(disagree(2, 0)); /* 5 apart, room for 6 */
    passes[1] = (struct pass_check){0};
    add(1, 998, 50);
    add(1, 1018, 50);
    assert_true(disagree(2, 0));
}

/* One hit says nothing of how a pass varies: what the others show is taken for it. */
FRESH_TEST(a_single_hit_may_lie_where_others_do)
{
    add(0, 1000, 1);
    add(1, 1004, 1);
    assert_true(disagree(2, 0));
    add(2, 900, 3);
    add(2, 1104, 3);
    assert_false(disagree(3, 0));
    add(3, 1300, 1);
    assert_true(disagree(PASSES, 0));
    assert_non_null(strstr(words, "1300 in pass 4"));
}

FRESH_TEST(words_are_cut_to_their_room)
{
    char small[12];
    add(0, 1, 2);
    add(1, 2, 2);
    pass_check_compare(passes, 2, 0, "A_NAME", small, sizeof small);
    assert_string_equal(small, "the passes ");
}
