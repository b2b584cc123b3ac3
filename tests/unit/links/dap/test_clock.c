/* The clock at which data must arrive undamaged. */
#include "model_carrier.h"

enum { FAST = 10000000 };

static struct bench bench;

static bool check(void)
{
    return connect_check_clock(&bench.executor.adi, &bench.executor.compiler.ap, &bench.error);
}

static void begin(void)
{
    model_init(&bench.model);
    assert_true(bench_connect(&bench));
    bench.model.ports[0].tar = 0x20000124;
}

#define CLOCK_TEST(name) TEST_BETWEEN(name, begin, test_nothing)

CLOCK_TEST(a_clock_that_carries_all_stays)
{
    assert_true(check());
    assert_int_equal(bench.executor.adi.hz, FAST);
    assert_int_equal(bench.model.ports[0].tar, 0x20000124);
    assert_int_equal(bench.model.n_log, 0); /* memory is not touched */
}

CLOCK_TEST(a_clock_that_damages_words_goes)
{
    bench.model.damage_hz = 3000000;
    assert_true(check());
    assert_int_equal(bench.executor.adi.hz, 2500000);
    assert_int_equal(bench.model.hz, 2500000);
    assert_int_equal(bench.model.n_log, 0);
}

CLOCK_TEST(a_port_of_whole_words_is_a_judge_too)
{
    bench.model.tar_mask = ~UINT32_C(3);
    assert_true(check());
    assert_int_equal(bench.model.hz, FAST);
    bench.model.damage_hz = 3000000;
    assert_true(check());
    assert_int_equal(bench.model.hz, 2500000);
}

CLOCK_TEST(a_register_that_holds_less_says_nothing_of_the_clock)
{
    bench.model.tar_mask = 0x0FFFFFFF;
    assert_true(check());
    assert_int_equal(bench.executor.adi.hz, FAST);
    assert_int_equal(bench.model.hz, FAST);
}

/* What a read of an access port brought is compared again only where the debug port has it, and matches work.
 */
CLOCK_TEST(whether_resend_has_what_was_read_is_tried)
{
    struct adi *adi = &bench.executor.adi;
    uint16_t retry = adi->match_retry;
    assert_true(check() && adi->resends);
    bench.model.no_resend = true;
    assert_true(check() && !adi->resends);
    bench.model.no_resend = false;
    adi->match = false;
    assert_true(check() && !adi->resends);
    adi->match = adi->jtag = bench.model.jtag = true;
    assert_true(check() && !adi->resends);
    assert_int_equal(bench.model.match_retry, retry);
    assert_int_equal(bench.model.ports[0].tar, 0x20000124);
    assert_int_equal(bench.model.n_log, 0);
}

TEST(a_moment_of_trouble_says_nothing_of_the_clock)
{
    for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++) {
        struct test_sweep sweep = test_sweep(1, 20, "clock, %d", trouble);
        for (long at = 0; at < 300; at++) {
            if (!test_takes(&sweep, at))
                continue;
            begin();
            bench.model.trouble = (enum model_trouble)trouble;
            bench.model.trouble_at = bench.model.transactions + at;
            assert_true(check());
            assert_int_equal(bench.executor.adi.hz, FAST);
            assert_int_equal(bench.error.kind, ERROR_NONE);
        }
    }
}
