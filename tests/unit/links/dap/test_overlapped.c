/* Several packets in flight with a probe that may lose some. Time passes only while no reply arrives. */
#include "model_carrier.h"

static int64_t now_us;

static int clock_of_naps(struct timespec *now)
{
    *now = (struct timespec){.tv_sec = now_us / 1000000, .tv_nsec = now_us % 1000000 * 1000};
    return 0;
}

static void nap(uint64_t us)
{
    now_us += (int64_t)us;
}

TEST_TIME(clock_of_naps, nap)

enum { ROW = 300 };

/* Whichever reply of a row never arrives: what counts as done is right, and nothing counts that arrived
 * while others were in flight, for those after the gap pass for the one before. */
TEST(test_a_reply_of_a_row_never_comes)
{
    static struct bench bench;
    static struct step steps[ROW];
    static uint64_t got[ROW];
    for (uint32_t i = 0; i < ROW; i++)
        steps[i] =
            step_read((struct address){.space = SPACE_MEMORY, .size = 4, .offset = 0x1000 + 4 * (i % 6)});
    for (long at = 0; at < 4; at++) {
        model_init(&bench.model);
        bench.model.packet_count = 3;
        assert_true(bench_connect(&bench));
        bench.carrier.drop_at = bench.carrier.sent + 6 * at + 1;
        struct deadline deadline = deadline_in_ms(20000, NULL);
        struct outcome outcome = executor_run(&bench.executor, steps, ROW, got, &deadline, &bench.error);
        assert_int_equal(outcome.why, LINK_LOST);
        assert_true(probe_lost_overlapped(&bench.probe));
        assert_int_equal(outcome.done, 0);
    }
}

/* Without it a run would go on after a probe was unplugged and plugged in again. */
TEST(a_probe_that_is_unplugged_with_packets_in_flight_has_lost_none_of_them)
{
    static struct bench bench;
    static struct step steps[ROW];
    static uint64_t got[ROW];
    unsigned in_flight = 0;
    for (uint32_t i = 0; i < ROW; i++)
        steps[i] =
            step_read((struct address){.space = SPACE_MEMORY, .size = 4, .offset = 0x1000 + 4 * (i % 6)});
    for (long at = 0; at < 6; at++) {
        model_init(&bench.model);
        bench.model.packet_count = 3;
        assert_true(bench_connect(&bench));
        bench.carrier.lose_at = bench.carrier.sent + at;
        struct deadline deadline = deadline_in_ms(20000, NULL);
        struct outcome outcome = executor_run(&bench.executor, steps, ROW, got, &deadline, &bench.error);
        assert_int_equal(outcome.why, LINK_LOST);
        assert_string_equal(bench.error.text, "unplugged");
        assert_false(probe_lost_overlapped(&bench.probe));
        in_flight += bench.carrier.in > bench.carrier.out;
    }
    assert_true(in_flight > 0);
}

/* On a busy host a reply may leave the probe before the next packet arrives, so one trial shows nothing. */
TEST(test_a_trial_that_passes_by_chance_decides_nothing)
{
    enum { TRIALS = 6, RUNS = 5 };
    static struct bench bench;
    static struct step steps[ROW];
    static uint64_t got[ROW];
    struct address at = {.space = SPACE_MEMORY, .size = 4, .offset = 0x2000};
    for (uint32_t i = 0; i < ROW; i++)
        steps[i] = i % 2 ? step_expect(at, UINT32_MAX, i) : step_write(at, i + 1);
    for (long by_chance = -1; by_chance < TRIALS; by_chance++) {
        model_init(&bench.model);
        bench.model.packet_size = 256;
        bench.model.packet_count = 2;
        assert_true(bench_connect(&bench));
        bench.carrier.late_from = by_chance;
        for (int i = 0; i < RUNS; i++) {
            struct deadline deadline = deadline_in_ms(20000, NULL);
            struct outcome outcome = executor_run(&bench.executor, steps, ROW, got, &deadline, &bench.error);
            assert_int_equal(outcome.why, DONE);
        }
        assert_int_equal(bench.executor.overlaps, by_chance < 0);
        assert_int_equal(bench.probe.window, by_chance < 0 ? 2 : 1);
    }
}

/* On bulk endpoints a full packet does not end a longer transfer; a report always has the same size.
 */
TEST(packets_fit_the_endpoints)
{
    static const struct {
        size_t said, largest;
        bool report;
        size_t used;
    } cases[] = {{64, 64, false, 64},  {512, 64, false, 63}, {64, 512, false, 64},
                 {512, 0, false, 512}, {512, 64, true, 64},  {1024, 512, false, 511}};
    static struct bench bench;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct deadline deadline = deadline_in_ms(5000, NULL);
        model_init(&bench.model);
        bench.model.packet_size = (unsigned)cases[i].said;
        bench_carrier(&bench);
        bench.carrier.carrier.largest = cases[i].largest;
        bench.carrier.carrier.padded = cases[i].report;
        assert_true(probe_identify(&bench.probe, &deadline, &bench.error));
        assert_int_equal(bench.probe.info.packet_size, cases[i].used);
        assert_int_equal(bench.carrier.carrier.packet_size, cases[i].used);
    }
}

TEST(test_packets_in_flight_are_those_that_the_firmware_bears)
{
    static const struct {
        bool known;
        unsigned count, most, window;
    } cases[] = {{true, 4, 0, 4}, {false, 4, 0, 1}, {false, 4, 2, 2},
                 {true, 4, 1, 1}, {true, 1, 3, 1},  {true, 2, 8, 2}};
    static struct bench bench;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct deadline deadline = deadline_in_ms(5000, NULL);
        model_init(&bench.model);
        bench.model.packet_count = cases[i].count;
        bench_carrier(&bench);
        bench.carrier.carrier.takes_several = cases[i].known;
        bench.probe.most = cases[i].most;
        assert_true(probe_identify(&bench.probe, &deadline, &bench.error));
        assert_int_equal(bench.probe.window, cases[i].window);
    }
}
