/* Deadlines, slices, and the factor on patience. */
#include "../test.h"

#include "base/deadline.h"

#include <stdlib.h>
#include <time.h>

static int unset(void **state)
{
    (void)state;
    return unsetenv("PMU_PROBE_PATIENCE");
}

TEST_WITH(patience_is_one_factor_for_all, unset, unset)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"1", 250}, {"20", 5000}, {"1000", 250000},    {"0", 250},  {"-3", 250}, {"1001", 250},
                {"", 250},  {"ten", 250}, {"9 and more", 250}, {" 9", 250}, {"+9", 250}};
    assert_int_equal(patience_ms(250), 250);
    for (size_t i = 0; i < COUNT(rows); i++) {
        setenv("PMU_PROBE_PATIENCE", rows[i].text, 1);
        if (patience_ms(250) != rows[i].ms)
            fail_msg("%s", rows[i].text);
    }
}

TEST(the_next_mark_is_after_now)
{
    int64_t now = deadline_now_us(), late = now - 1234567;
    assert_int_equal(deadline_next_us(now + 60000000, 100000), now + 60100000);
    int64_t next = deadline_next_us(late, 100000);
    assert_true(next > now && (next - late) % 100000 == 0);
    assert_true(next <= deadline_now_us() + 100000);
}

TEST(a_slice_ends_with_what_it_is_cut_from)
{
    volatile sig_atomic_t cancel = 0;
    struct deadline whole = deadline_in_ms(60000, &cancel);
    struct deadline slice = deadline_slice(&whole, 600000), shorter = deadline_slice(&whole, 10);
    assert_int_equal(slice.at_us, whole.at_us);
    assert_true(shorter.at_us < whole.at_us);
    assert_false(deadline_passed(&slice));
    cancel = 1;
    assert_true(deadline_passed(&slice) && deadline_cancelled(&slice));
    assert_int_equal(deadline_left_us(&slice), 0);
}

/* clock_gettime(2): CLOCK_MONOTONIC stops while the host is suspended, and the target goes on. */
TEST(time_goes_on_while_the_host_is_suspended)
{
    (void)deadline_host_us();
    assert_int_equal(test_clock_asked, CLOCK_BOOTTIME);
    test_clock_asked = CLOCK_REALTIME;
    (void)deadline_now_us();
    assert_int_equal(test_clock_asked, CLOCK_BOOTTIME);
}
