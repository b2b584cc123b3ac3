/* What a halt adds, from its samples and from re-hits. */
#include "measure/evaluation.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

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

TEST(a_halt_with_an_exception_in_it_shows_no_cost)
{
    const struct reading reading = {.counters = {{.bits = 32}, {.bits = 32}},
                                    .n = 2,
                                    .counted = 1,
                                    .exceptions = 1,
                                    .has_exceptions = true};
    struct halt_cost halts = {.reading = &reading};
    const struct raw_hit clean = {.from = {100, 7}, .to = {105, 7}},
                         handler = {.from = {100, 7}, .to = {125, 8}};
    halt_cost_rehit(&halts, &handler);
    halt_cost_rehit(&halts, &clean);
    halt_cost_end(&halts);
    assert_int_equal(halts.overheads[0].kept, 1);
    assert_int_equal(halts.overheads[0].high, 5);
}

TEST(what_halts_may_have_delayed_is_told_of_exceptions_and_of_a_missing_counter)
{
    struct reading reading = {.n = 2, .counted = 1, .exceptions = 1, .has_exceptions = true};
    struct unseen_delays delays = {0};
    char text[256];
    assert_false(unseen_delays_note(&delays, &reading, (const uint64_t[]){1, 7}, (const uint64_t[]){9, 7}));
    unseen_delays_text(&delays, 1, "hits", text, sizeof text);
    assert_string_equal(text, "");
    assert_true(
        unseen_delays_note(&delays, &reading, (const uint64_t[]){1, UINT32_MAX}, (const uint64_t[]){9, 0}));
    unseen_delays_text(&delays, 2, "hits", text, sizeof text);
    assert_string_equal(
        text, "exceptions ran in 1 of 2 hits: whether a halt had delayed one cannot be seen on this core");
    delays = (struct unseen_delays){0};
    reading.has_exceptions = false;
    reading.misses_exceptions = true;
    assert_false(unseen_delays_note(&delays, &reading, (const uint64_t[]){1, 7}, (const uint64_t[]){9, 8}));
    unseen_delays_text(&delays, 1, "calls", text, sizeof text);
    assert_string_equal(
        text, "no counter shows whether exceptions ran in 1 of 1 calls: whether a halt had delayed one "
              "cannot be seen on this core");
}

/* SysTick's reload register is first in such a value. */
TEST(a_reload_that_changes_in_a_halt_leaves_its_cost_unknown)
{
    const struct counter systick = {
        .bits = 24, .down = true, .zero_is_top = true, .reloads = true, .modulus = 1000};
    const uint64_t reload = UINT64_C(999) << 32, longer = UINT64_C(9999) << 32;
    struct calibration calibration = {0};
    calibration_take(&calibration, &systick, reload | 40, longer | 17);
    calibration_take(&calibration, &systick, reload | 4000, reload | 3977); /* loaded before the change */
    assert_false(calibration_result(&calibration).known);
    calibration_take(&calibration, &systick, reload | 40, reload | 17);
    assert_true(calibration_result(&calibration).known);
    assert_int_equal(calibration_result(&calibration).high, 23);
}

TEST(nothing_measured_is_nothing_known)
{
    struct calibration calibration = {0};
    struct overhead overhead = calibration_result(&calibration);
    assert_false(overhead.known);
    assert_int_equal(overhead_remove(&overhead, 17, 1), 17);
}

enum { COST = 7 };

struct rig {
    struct device device;
    struct counter_block block;
    struct halt_cost halts;
};

static struct rig *begin(void)
{
    struct rig *rig = calloc(1, sizeof *rig);
    const struct clock clock = clock_given(1e6, "--freq", 1.2e9);
    assert_non_null(rig);
    rig->block.counts_cycles = true;
    rig->device.block = &rig->block;
    rig->device.reading = (struct reading){.counters = {{.name = "CPU_CYCLES", .bits = 32, .per_cycle = 1},
                                                        {.name = "LSUCNT", .bits = 8, .per_cycle = 1}},
                                           .n = 2,
                                           .counted = 2};
    halt_cost_begin(&rig->halts, &rig->device, &clock);
    return rig;
}

static void rehit(struct rig *rig, uint64_t cycles)
{
    const struct raw_hit raw = {
        .from = {UINT32_MAX - 2, 250}, .to = {(cycles - 3) & UINT32_MAX, 250}, .pairs = 1};
    halt_cost_rehit(&rig->halts, &raw);
}

static void between(const struct rig *rig, uint64_t cycles, unsigned pairs, struct halt_cost_count *out)
{
    const uint64_t from[READING_ROOM] = {UINT32_MAX - 9, 200}, to[READING_ROOM] = {cycles - 10, 10};
    halt_cost_between(&rig->halts, from, to, 1000000, pairs, out);
}

TEST(test_known_cost)
{
    struct rig *rig = begin();
    struct halt_cost_count counts[READING_ROOM];
    for (uint64_t i = 0; i < 8; i++)
        rehit(rig, COST + i % 2); /* 7 or 8 */
    halt_cost_end(&rig->halts);
    between(rig, 107, 1, counts);
    assert_int_equal(counts[0].count, 99); /* of 107 the mean, 7.5, rounded away from zero */
    assert_int_equal(counts[0].plus_minus, 1);
    assert_false(counts[0].at_least || counts[0].at_most);
    assert_int_equal(counts[1].count, 66); /* across its wrap, of which there is but one in 107 cycles */
    assert_false(counts[1].at_least);
    between(rig, 107, 0, counts); /* an unknown number of halts */
    assert_int_equal(counts[0].count, 107);
    assert_true(counts[0].at_most && !counts[1].at_most);
    free(rig);
}

TEST(test_free_halts)
{
    struct rig *rig = begin();
    struct halt_cost_count counts[READING_ROOM];
    rehit(rig, 0);
    halt_cost_end(&rig->halts);
    between(rig, 107, 0, counts);
    assert_int_equal(counts[0].count, 107);
    assert_true(!counts[0].at_most && !counts[0].at_least && counts[0].plus_minus == 0);
    between(rig, 330, 0, counts); /* in 330 cycles eight bits may wrap once more */
    assert_true(counts[1].at_least && counts[1].count == 66);
    free(rig);
}

TEST(test_nothing_measured)
{
    struct rig *rig = begin();
    struct halt_cost_count counts[READING_ROOM];
    halt_cost_end(&rig->halts);
    between(rig, 107, 1, counts);
    assert_true(counts[0].at_most && counts[0].count == 107);
    free(rig);
}
