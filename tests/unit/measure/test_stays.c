/* Stays to statistics: which times count, and what is left out. */
#include "../test.h"

#include "measure/stays.h"
#include "measure/verdict.h"

static struct stays stays;

static void add(uint32_t number, uint64_t from, uint64_t to, uint64_t own)
{
    const struct trace_stay stay = {.number = number,
                                    .from = from,
                                    .to = to,
                                    .own = own,
                                    .entered = true,
                                    .from_exact = true,
                                    .to_exact = true,
                                    .own_exact = true};
    stays_take(&stays, &stay);
}

static void add_unsure(uint32_t number, enum stay_end end, bool entered, bool from_exact)
{
    const struct trace_stay stay = {
        .number = number, .end = end, .entered = entered, .from_exact = from_exact};
    stays_take(&stays, &stay);
}

static uint64_t count_of_times(enum stay_time time)
{
    return statistics_count(stays.rows[0].of[time]);
}

static void begin(void)
{
    stays = (struct stays){0};
}

static void end(void)
{
    stays_free(&stays);
}

TEST_BETWEEN(times_of_exact_stays_count, begin, end)
{
    add(15, 100, 110, 10);
    add(15, 200, 260, 40);
    add(15, 300, 310, 10);
    add(16, 310, 400, 90);
    assert_int_equal(stays.n, 2);
    assert_int_equal(stays.rows[0].calls, 3);
    assert_int_equal(stays.rows[0].cycles, 60);
    assert_int_equal(stays.cycles, 150);
    assert_int_equal(statistics_max(stays.rows[0].of[STAY_WHOLE]), 60);
    assert_int_equal(statistics_max(stays.rows[0].of[STAY_OWN]), 40);
    assert_int_equal(count_of_times(STAY_APART), 2);
    assert_int_equal(statistics_min(stays.rows[0].of[STAY_APART]), 100);
    stays_sort(&stays);
    assert_int_equal(stays.rows[0].number, 16);
}

TEST_BETWEEN(from_ends_it_is_the_time_between_two_slices, begin, end)
{
    stays.from_ends = true;
    add(1, 100, 110, 10);
    add(1, 200, 260, 60);
    assert_int_equal(statistics_max(stays.rows[0].of[STAY_APART]), 90);
}

TEST_BETWEEN(no_interval_is_taken_over_what_was_not_seen, begin, end)
{
    add(15, 100, 110, 10);
    stays_lose(&stays, false);
    add(15, 300, 310, 10);
    add_unsure(15, STAY_DONE, false, false);
    add(15, 500, 510, 10);
    add_unsure(15, STAY_DONE, true, false);
    add(15, 700, 710, 10);
    assert_int_equal(count_of_times(STAY_APART), 0);
    assert_int_equal(stays.losses, 1);
    assert_int_equal(stays.rows[0].calls, 6);
    assert_int_equal(stays.rows[0].lost, 1);
    assert_int_equal(stays.rows[0].late, 1);
}

TEST_BETWEEN(each_call_counts_or_is_left_out, begin, end)
{
    const struct trace_stay rest = {.number = 15, .is_rest = true, .own = 7};
    add(15, 100, 110, 10);
    add_unsure(15, STAY_LOST, true, true);
    add_unsure(15, STAY_UNENDED, true, true);
    add_unsure(15, STAY_CUT, true, true);
    stays_take(&stays, &rest);
    assert_int_equal(stays.rows[0].calls, 4);
    assert_int_equal(stays_left_out(&stays.rows[0]), 2);
    assert_int_equal(stays.rows[0].cut, 1);
    assert_int_equal(stays.rows[0].cycles, 17);
    assert_int_equal(count_of_times(STAY_OWN), 1);
}

/* As the values of any variable may be. */
TEST_BETWEEN(numbers_beyond_the_room_share_a_row, begin, end)
{
    for (uint32_t i = 0; i < 5 * STAYS_ROWS; i++)
        add(1000 + i, UINT64_C(10) * i, UINT64_C(10) * i + 4, 4);
    assert_int_equal(stays.n, STAYS_ROWS + 1);
    assert_int_equal(stays.rows[STAYS_ROWS].calls, 4 * STAYS_ROWS);
    assert_int_equal(statistics_count(stays.rows[STAYS_ROWS].of[STAY_APART]), 0);
    stays_sort(&stays);
    assert_int_equal(stays.rows[STAYS_ROWS].calls, 4 * STAYS_ROWS);
}

static enum verdict judge_first(bool is_max, double limit)
{
    struct budget budget = {.limit = limit};
    budget.of = is_max ? BUDGET_MAX : BUDGET_MEAN;
    const struct conditions conditions = {.clock_hz = 1e6};
    struct verdict_line line;
    assert_true(stays_judge(&stays, &stays.rows[0], &conditions, &budget, 1, &line));
    return line.verdict;
}

TEST_BETWEEN(a_budget_holds_only_if_no_call_was_left_out, begin, end)
{
    add(15, 100, 160, 10);
    assert_int_equal(judge_first(true, 100), VERDICT_PASS);
    add_unsure(15, STAY_LOST, true, true);
    assert_int_equal(judge_first(true, 100), VERDICT_INCONCLUSIVE);
    add(15, 300, 500, 10);
    assert_int_equal(judge_first(true, 100), VERDICT_REGRESSED);
}

/* Calls that nothing shows may have been in it. */
TEST_BETWEEN(a_budget_does_not_hold_after_a_loss, begin, end)
{
    for (uint64_t i = 1; i < 20; i++)
        add(15, 100 * i, 100 * i + 60, 10);
    assert_int_equal(judge_first(true, 100), VERDICT_PASS);
    assert_int_equal(judge_first(false, 100), VERDICT_PASS);
    stays_lose(&stays, false);
    assert_int_equal(judge_first(true, 100), VERDICT_INCONCLUSIVE);
    assert_int_equal(judge_first(false, 100), VERDICT_INCONCLUSIVE);
    assert_int_equal(judge_first(true, 59), VERDICT_REGRESSED);
    assert_int_equal(judge_first(false, 50), VERDICT_REGRESSED);
}

static void add_part(uint64_t from, uint64_t to, uint64_t at_least, bool is_rest)
{
    const struct trace_stay stay = {.number = 15,
                                    .end = is_rest ? STAY_DONE : STAY_CUT,
                                    .entered = !is_rest,
                                    .is_rest = is_rest,
                                    .from = from,
                                    .to = to,
                                    .at_least = at_least};
    stays_take(&stays, &stay);
}

/* As of a handler that hangs. */
TEST_BETWEEN(a_call_that_is_not_whole_is_a_lower_bound, begin, end)
{
    for (uint64_t i = 1; i < 20; i++)
        add(15, 100 * i, 100 * i + 60, 10);
    add_part(2000, 2050, 40, false);
    assert_int_equal(judge_first(true, 100), VERDICT_PASS);
    assert_int_equal(judge_first(false, 100), VERDICT_PASS);
    add_part(0, 101, 0, true);
    assert_int_equal(judge_first(true, 100), VERDICT_INCONCLUSIVE);
    assert_int_equal(judge_first(false, 100), VERDICT_PASS);
    add_part(2000, 4000, 90, false);
    assert_int_equal(judge_first(true, 100), VERDICT_INCONCLUSIVE);
    assert_int_equal(judge_first(false, 100), VERDICT_INCONCLUSIVE);
    add_part(2000, 4000, 1900, false);
    assert_int_equal(judge_first(true, 100), VERDICT_REGRESSED);
    assert_int_equal(judge_first(true, 1900), VERDICT_INCONCLUSIVE);
}
