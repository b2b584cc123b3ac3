#include "measure/calibrate.h"
#include "test.h"

TEST(constant_cost_is_exact)
{
    struct calibration calibration = {0};
    for (int i = 0; i < 20; i++)
        calibration_add(&calibration, 11);
    struct overhead overhead = calibration_result(&calibration);
    assert_true(overhead.known);
    assert_int_equal(overhead_remove(&overhead, 111, 1), 100);
    assert_int_equal(overhead_remove(&overhead, 122, 2), 100);
    assert_int_equal(overhead_remove(&overhead, 5, 1), 0);
    assert_int_equal(overhead_plus_minus(&overhead, 1), 0);
}

TEST(interval_holds_every_sample)
{
    for (unsigned seed = 1; seed < 50; seed++) {
        struct calibration calibration = {0};
        unsigned random = seed;
        for (int i = 0; i < 64; i++) {
            random = random * 1664525 + 1013904223;
            calibration_add(&calibration, 7 + (random >> 24) % 4);
        }
        struct overhead overhead = calibration_result(&calibration);
        for (uint64_t cost = 7; cost <= 10; cost++) {
            uint64_t value = overhead_remove(&overhead, 1000 + cost, 1),
                     off = overhead_plus_minus(&overhead, 1);
            assert_true(value <= 1000 + off && value + off >= 1000);
            assert_true(off <= 3);
        }
    }
}

TEST(a_handler_that_slipped_in_is_put_aside)
{
    struct calibration calibration = {0};
    for (int i = 0; i < 20; i++)
        calibration_add(&calibration, i == 7 ? 340 : 5);
    struct overhead overhead = calibration_result(&calibration);
    assert_int_equal(overhead.kept, 19);
    assert_int_equal(overhead.high, 5);
}

TEST(nothing_measured_is_nothing_known)
{
    struct calibration calibration = {0};
    struct overhead overhead = calibration_result(&calibration);
    assert_false(overhead.known);
    assert_int_equal(overhead_remove(&overhead, 17, 1), 17);
}
