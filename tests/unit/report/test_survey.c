/* What survey prints of many regions: bounds, those that were not called, those that had no time. */
#include "profiles.h"
#include "report/results.h"
#include "report/summaries.h"
#include "report/survey.h"
#include "report/survey_report.h"

#include <math.h>

enum { ROWS = 6 };

static struct survey_row rows[ROWS];
static struct summary *summaries[ROWS]; /* the same, to be changed */
static struct survey survey;

/* `n` periods, alike but for every second one, which is longer by `more`. */
static struct periods some_periods(uint64_t n, uint64_t inside, uint64_t cycles, uint64_t more)
{
    struct periods periods = {0};
    for (uint64_t i = 0; i < n; i++) {
        double x = (double)inside, t = (double)(cycles + i % 2 * more);
        periods.n++;
        periods.inside += inside;
        periods.cycles += cycles + i % 2 * more;
        periods.inside2 += x * x;
        periods.cycles2 += t * t;
        periods.product += x * t;
    }
    return periods;
}

static void set_up(void)
{
    static const struct {
        const char *name, *why;
        uint64_t cycles, periods, inside, period, more; /* cycles 0: it has no hit */
    } of[ROWS] = {
        {"never_called", "", 0, 0, 0, 0, 0},
        {"small", "", 100, 40, 110, 10000, 0},
        {"panic", "panic never returns (its DWARF says noreturn): name an end as well", 0, 0, 0, 0, 0},
        {"filters/long.c:a_function_whose_name_is_long", "", 18000, 40, 18010, 40000, 10},
        {"rare", "", 5000, 3, 5010, 9000, 9000},
        {"once", "", 500, 1, 500, 9000, 0}};
    survey = (struct survey){.conditions = conditions_fir(), .rows = rows, .n = ROWS, .seconds = 12.5};
    for (size_t i = 0; i < ROWS; i++) {
        struct summary *summary = of[i].cycles > 0 ? calloc(1, sizeof *summary) : NULL;
        rows[i] = (struct survey_row){.name = of[i].name, .why = of[i].why, .summary = summary};
        if ((summaries[i] = summary) == NULL)
            continue;
        summary->conditions = conditions_fir();
        SUMMARY_COLUMN(summary, "CPU_CYCLES", {of[i].cycles, 30}, {of[i].cycles + 40, 10})->plus_minus = 1;
        SUMMARY_COLUMN(summary, "LD_RETIRED", {of[i].cycles / 4, 40});
        summary->hits = 42;
        summary->passes = 1;
        summary->seconds = 0.5;
        summary->periods = some_periods(of[i].periods, of[i].inside, of[i].period, of[i].more);
    }
}

static void tear_down(void)
{
    for (size_t i = 0; i < ROWS; i++)
        if (summaries[i] != NULL)
            summary_free(summaries[i]);
}

/* Written as JSON lines, and read again. */
static void survey_print(const struct rendering *to)
{
    struct document document = document_new();
    document_add(&document, json_plan_header(JSON_SCHEMA_2, "survey", &survey.conditions, NULL));
    survey_lines(&document, &survey);
    document = document_again(document);
    struct rendering more = *to;
    more.begun = true;
    assert_true(survey_write(&more, &document));
    document_free(&document);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

/* Alike periods of 12 cycles; `turns` that all began within a period of a call. */
static double doubt_after(size_t turns, uint64_t n)
{
    struct summary *summary = summaries[1];
    summary->conditions.clock_hz = 12e6;
    summary->periods = some_periods(n, 4, 12, 0);
    summary->periods.longest = 12;
    summary->periods.has_waits = true;
    for (size_t i = 0; i < turns; i++)
        periods_add_wait(&summary->periods, 6);
    struct survey_rate rate = survey_rate(summary);
    assert_false(rate.bursts);
    assert_true(fabs(rate.share - 1. / 3) < 1e-9);
    assert_true(fabs(rate.plus_minus - rate.doubt / 3) < 1e-9);
    return rate.doubt;
}

/* With the part p of the time in bursts, n turns all begin in one with p^n. */
FRESH_TEST(few_turns_may_all_have_met_bursts)
{
    static const struct {
        size_t turns;
        uint64_t periods;
        double part; /* of which p^n is 0.05 */
    } of[] = {{1, 8, 0.05},
              {4, 8, 0.4729},
              {200, 800, 0.9549},          /* of the last 64, seen for 0.8 ms */
              {4, 20000, 0.4729 * 1.2840}, /* a burst of 20 ms would have ended once in these 20 ms */
              {4, 80000, 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_true(fabs(doubt_after(of[i].turns, of[i].periods) - (1 - of[i].part)) < 1e-3);
}

/* A program of 1,000 cycles without a call and 1,000 in which half of each 10 is in one: dense turns saw 100
 * cycles, others 900. */
FRESH_TEST(turns_in_other_phases_stand_for_their_time)
{
    struct summary *summary = summaries[1];
    struct periods *periods = &summary->periods;
    *periods = some_periods(4 * 10 + 2 * 9, 0, 0, 0);
    periods->has_waits = true;
    periods->longest = 100;
    periods->cycles = periods->inside = 0;
    for (int i = 0; i < 6; i++) {
        double n = i < 4 ? 10 : 9, cycles = i < 4 ? 10 : 100, inside = i < 4 ? 5 : 0.01;
        periods->turns[periods->n_turns++] = (struct turn_periods){.n = n,
                                                                   .gap = i < 4 ? 150 : 0,
                                                                   .cycles = n * cycles,
                                                                   .inside = n * inside,
                                                                   .cycles2 = n * cycles * cycles,
                                                                   .inside2 = n * inside * inside,
                                                                   .product = n * inside * cycles};
        periods->cycles += (uint64_t)(n * cycles);
        periods->inside += (uint64_t)(n * inside);
        periods_add_wait(periods, 1);
    }
    struct survey_rate rate = survey_rate(summary);
    assert_true(rate.bursts);
    assert_true(fabs(rate.share - 4 * 250 * 0.5 / (4 * 250 + 2 * 900)) < 1e-3); /* not 200 of 2,200 */
    assert_true(rate.share + rate.plus_minus > 0.25 && rate.share - rate.plus_minus < 0.1);
    for (int i = 4; i < 6; i++)
        periods->turns[i] = periods->turns[0];
    assert_false(survey_rate(summary).bursts);
}

/* --- surveys of made-up programs ------------------------------------------------------------------------ */

/* A call takes a tenth of the mean period, which is `mean` turns long. */
struct program {
    double mean, stay; /* stay 0: calls are made by chance; else calls in a row that are as close together */
    bool rare;         /* of the two modes of `stay` */
};

static double next_period(struct program *program, uint64_t *seed)
{
    if (program->stay <= 0)
        return -program->mean * log(1 - profile_random(seed));
    if (profile_random(seed) < 1 / program->stay)
        program->rare = !program->rare;
    return program->mean * (program->rare ? 1.5 : 0.5) * (0.9 + 0.2 * profile_random(seed));
}

/* A turn of a million cycles, from a random moment on. Each wait may last as long as there was time at the
 * run's beginning, and the first period of a run is not known: so delta.c has it. */
static void run_turn(struct program *program, uint64_t *seed, struct summary *summary)
{
    enum { TURN = 1000000, AT_ONCE = 16 };
    struct periods *periods = &summary->periods;
    double at = -(20 + 5 * profile_random(seed)) * program->mean, inside = program->mean * TURN / 10;
    while (at < 0)
        at += next_period(program, seed);
    if (at > 1)
        return;
    periods_add_wait(periods, (uint64_t)(at * TURN));
    for (bool over = false; !over && at < 1;) {
        double left = 1 - at;
        for (int i = 0; i < AT_ONCE && !over; i++) {
            double period = next_period(program, seed), cycles = period * TURN;
            over = period > left || at + period >= 1;
            at += period;
            if (i > 0 && period > left)
                periods->unfinished += left * TURN;
            if (i == 0 || period > left)
                continue;
            periods->n++;
            periods->cycles += (uint64_t)cycles;
            periods->inside += (uint64_t)inside;
            periods->cycles2 += cycles * cycles;
            periods->inside2 += inside * inside;
            periods->product += inside * cycles;
            periods->longest = (uint64_t)fmax((double)periods->longest, cycles);
            series_add(&summary->in_order.cycles, cycles);
            series_add(&summary->in_order.inside, inside);
        }
    }
}

/* In how many of 100 surveys the share, and the rate, are within their ±. */
static void covered_surveys(const struct program *of, size_t turns, double *share, double *rate)
{
    enum { RUNS = 400 };
    uint64_t seed = 23;
    *share = *rate = 0;
    for (int run = 0; run < RUNS; run++) {
        struct program program = *of;
        struct summary *summary = calloc(1, sizeof *summary);
        assert_non_null(summary);
        summary->conditions.clock_hz = 1e6;
        summary->periods.has_waits = true;
        for (size_t i = 0; i < turns; i++)
            run_turn(&program, &seed, summary);
        struct survey_rate told = survey_rate(summary);
        *share += (fabs(told.share - 0.1) <= told.plus_minus) * 100.0 / RUNS;
        *rate +=
            (fabs(told.per_second * of->mean - 1) <= told.doubt * told.per_second * of->mean) * 100.0 / RUNS;
        free(summary);
    }
}

/* As if periods were independent it would be 49 % of calls in rows of ten. */
TEST(calls_that_come_in_rows_are_fewer)
{
    static const double stay[] = {2, 5, 10};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) {
        double share, rate;
        covered_surveys(&(struct program){.mean = 0.004, .stay = stay[i]}, 4, &share, &rate);
        assert_true(share >= 91 && rate >= 91);
    }
}

/* By whole periods alone it would be 33 % of 256 turns of five periods each. */
TEST(long_periods_end_with_their_turns)
{
    static const double mean[] = {0.05, 0.1, 0.2, 0.4};
    for (size_t i = 0; i < sizeof mean / sizeof *mean; i++)
        for (size_t turns = 16; turns <= 256; turns *= 4) {
            double share, rate;
            covered_surveys(&(struct program){.mean = mean[i]}, turns, &share, &rate);
            assert_true(share >= 91 && rate >= 91);
        }
}

FRESH_TEST(bounds_are_marked)
{
    summaries[1]->periods.at_least = true;
    summaries[3]->periods.inside_at_least = true;
    summaries[4]->periods.at_least = summaries[4]->periods.inside_at_least = true;
    summaries[1]->columns[0].calibrated = false;
    summaries[3]->conditions.clock_hz = 0;
    summaries[1]->n = summaries[3]->n = summaries[4]->n = summaries[5]->n = 1;
    assert_true(survey_sort(&survey));
    survey_print(TO_TEXT(80));
    output_is_golden("survey/bounds.txt");
    for (size_t i = 0; i < ROWS; i++)
        if (summaries[i] != NULL)
            summaries[i]->n = 2;
}

FRESH_TEST(what_there_was_no_time_for_is_not_a_row)
{
    char names[2 + 60][16];
    struct survey_row many[2 + 60] = {rows[1], rows[3]};
    many[0].samples = 800;
    for (size_t i = 2; i < 2 + 60; i++) {
        snprintf(names[i], sizeof names[i], "f%zu", i);
        many[i] = (struct survey_row){.name = names[i],
                                      .why = i < 30 ? "" : "the survey ended before its turn",
                                      .no_turn = i >= 30,
                                      .waited_s = i < 30 ? 0.021 * (double)i : 0};
    }
    many[2].samples = many[31].samples = 100; /* rows, as they may matter */
    many[3].end = "its end";
    survey.rows = many;
    survey.n = 2 + 60;
    survey.samples = 1000;
    survey.rest_s = 1490;
    survey_print(TO_TEXT(80));
    output_is_golden("survey/no_time.txt");
    survey_print(TO(FORMAT_MARKDOWN));
    OUTPUT_HAS("not reached in their 63 ms to 0.6 s: f3, f4,", "no time for: f30, f32, f33,");
    for (size_t i = 2; i < 30; i++)
        many[i].waited_s = 0;
    survey_print(TO_TEXT(80));
    OUTPUT_HAS("not reached: f3, f4,");
}

/* A budget that is exceeded, one that is kept, and one of what was not reached. */
FRESH_TEST(the_worst_budget_is_the_verdict)
{
    struct verdict_line kept = {.name = "mean <= 50 us",
                                .verdict = VERDICT_PASS,
                                .now = {.n = 40, .mean = 18010}},
                        over = {.verdict = VERDICT_REGRESSED},
                        open = {.name = "max <= 1 ms", .verdict = VERDICT_INCONCLUSIVE, .why = "not reached"};
    survey.judged = true;
    rows[3].budget = &kept;
    survey_print(TO_TEXT(80));
    OUTPUT_HAS("mean <= 50 us: 27.01 µs (18,010", "pass\nverdict: pass");
    assert_int_equal(survey_verdict(&survey), VERDICT_PASS);
    rows[0].budget = &open;
    assert_int_equal(survey_verdict(&survey), VERDICT_INCONCLUSIVE);
    rows[1].budget = &over;
    assert_int_equal(survey_verdict(&survey), VERDICT_REGRESSED);
    survey_print(TO(FORMAT_MARKDOWN));
    OUTPUT_HAS("| never_called | not called |", "not reached |");
}
