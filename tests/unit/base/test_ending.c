/* The ending of a run: how long the other side has, after an error, after Ctrl-C, and after a second one. */
#include "../test.h"

#include "base/deadline.h"

#include <stdlib.h>
#include <time.h>

static int64_t now_us;

static int model_clock(struct timespec *now)
{
    *now = (struct timespec){.tv_sec = now_us / 1000000, .tv_nsec = now_us % 1000000 * 1000};
    return 0;
}

TEST_TIME(model_clock, test_no_nap)

static volatile sig_atomic_t signals;
static struct ending ending;
static unsigned notices;

static bool notice(void *context)
{
    (void)context;
    notices++;
    return true;
}

static void set_up(void)
{
    now_us = 1000000000;
    signals = 0;
    notices = 0;
    ending = (struct ending){.signals = &signals, .notice = notice};
    unsetenv("PMU_PROBE_PATIENCE");
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, test_nothing)

static void pass_ms(int64_t ms)
{
    now_us += ms * 1000;
}

static int64_t left_ms(const struct deadline *deadline)
{
    return deadline_left_us(deadline) / 1000;
}

FRESH_TEST(without_a_signal_or_an_end_an_answer_has_its_own_time)
{
    struct deadline answer = ending_answer(&ending, 8000);
    assert_int_equal(left_ms(&answer), 8000);
    assert_int_equal(left_ms(&(struct deadline){.at_us = now_us + 8000000}), 8000);
    assert_false(ending_is_over(&ending) || ending_is_over(NULL) || ending_is_cut(NULL));
}

FRESH_TEST(after_ctrl_c_silence_lasts_two_seconds_in_all)
{
    struct deadline pending = ending_answer(&ending, 8000);
    pass_ms(3000);
    signals = 1;
    assert_int_equal(left_ms(&pending), 1000); /* and a second for a new connection */
    pass_ms(1000);
    assert_true(deadline_passed(&pending) && !ending_is_over(&ending));
    ending_begin(&ending);
    struct deadline undo = ending_deadline(&ending, 5000);
    assert_int_equal(left_ms(&undo), 1000);
    struct deadline next = ending_answer(&ending, 8000);
    assert_int_equal(left_ms(&next), 1000);
    pass_ms(1000);
    assert_true(ending_is_over(&ending) && !ending_is_cut(&ending) && deadline_passed(&undo));
}

FRESH_TEST(after_ctrl_c_a_slow_one_has_five_seconds)
{
    signals = 1;
    ending_begin(&ending);
    for (int i = 0; i < 5; i++) {
        struct deadline answer = ending_answer(&ending, 8000);
        assert_int_equal(left_ms(&answer), 1000);
        assert_false(ending_is_over(&ending));
        pass_ms(990);
        ending_answered(&ending);
    }
    pass_ms(49);
    assert_false(ending_is_over(&ending));
    pass_ms(1);
    assert_true(ending_is_over(&ending));
}

FRESH_TEST(after_an_error_a_cable_may_come_back)
{
    ending_unanswered(&ending);
    pass_ms(60000);
    ending_begin(&ending);
    pass_ms(2999);
    assert_false(ending_is_over(&ending));
    pass_ms(1);
    assert_true(ending_is_over(&ending));
    ending_answered(&ending);
    pass_ms(11999);
    assert_false(ending_is_over(&ending));
    pass_ms(1);
    assert_true(ending_is_over(&ending));
}

FRESH_TEST(ctrl_c_cuts_the_ending_after_an_error)
{
    struct deadline answer = ending_answer(&ending, 8000);
    ending_begin(&ending);
    assert_int_equal(left_ms(&answer), 3000);
    pass_ms(500);
    signals = 1;
    assert_int_equal(left_ms(&answer), 1000);
    struct deadline undo = ending_deadline(&ending, 8000);
    assert_int_equal(left_ms(&undo), 2000);
}

FRESH_TEST(a_second_ctrl_c_ends_it_at_once)
{
    struct deadline answer = ending_answer(&ending, 8000);
    signals = 1;
    assert_true(left_ms(&answer) > 0 && !ending_is_cut(&ending));
    signals = 2;
    assert_true(ending_is_cut(&ending) && ending_is_over(&ending) && deadline_passed(&answer));
}

FRESH_TEST(two_signals_for_a_reader_that_is_slow_begin_it)
{
    struct deadline answer = ending_answer(&ending, 8000);
    signals = 1;
    assert_int_equal(left_ms(&answer), 1000);
    ending_answered(&ending);
    pass_ms(60000); /* into a pipe that nobody reads */
    signals = 2;
    ending_begin(&ending);
    struct deadline undo = ending_deadline(&ending, 8000);
    assert_int_equal(left_ms(&undo), 5000);
    signals = 3;
    assert_true(ending_is_cut(&ending));
}

FRESH_TEST(what_is_put_back_later_has_its_own_time)
{
    ending_begin(&ending);
    pass_ms(14000);
    ending_done(&ending);
    pass_ms(60000);
    assert_false(ending_is_over(&ending));
    ending_begin(&ending);
    pass_ms(14000);
    assert_false(ending_is_over(&ending));
    pass_ms(2000);
    ending_begin(&ending); /* goes on */
    assert_true(ending_is_over(&ending));
}

FRESH_TEST(the_user_is_told_once_when_it_takes_long)
{
    ending_begin(&ending);
    struct deadline undo = ending_deadline(&ending, 8000);
    pass_ms(300);
    (void)deadline_passed(&undo);
    assert_int_equal(notices, 0);
    pass_ms(1);
    assert_true(deadline_poll_ms(&undo) == 100 && !deadline_passed(&undo));
    assert_int_equal(notices, 1);
}

FRESH_TEST(patience_is_for_the_ending_too)
{
    setenv("PMU_PROBE_PATIENCE", "20", 1);
    signals = 1;
    struct deadline answer = ending_answer(&ending, 800000);
    assert_int_equal(left_ms(&answer), 20000);
    unsetenv("PMU_PROBE_PATIENCE");
}
