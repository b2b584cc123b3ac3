/* The whole output, compared byte by byte with tests/golden/text. */
#include "report/fresh.h"

#include "report/formats.h"
#include "report/results.h"

#include <locale.h>
#include <math.h>

static void header_is(const struct conditions *conditions, const char *expected)
{
    text_header(output(), conditions);
    output_is(expected);
}

static void expect(const char *name)
{
    summary_write(TO_TEXT(80), summary, NULL);
    output_is_golden(name);
}

FIR_TEST(the_documented_example)
{
    const struct rendering *to = TO_TEXT(80);
    text_header(to->out, &summary->conditions);
    summary_write(to, summary, NULL);
    output_is_golden("text/the_documented_example.txt");
}

/* The same in lines of 40 columns: folded, and never a number cut. */
FIR_TEST(narrow)
{
    summary->columns[2].at_least = 12;
    summary->columns[2].at_least_max = 250;
    summary->columns[2].bits = 8;
    const struct rendering *to = TO_TEXT(40);
    conditions_write(to, &summary->conditions);
    summary_write(to, summary, NULL);
    output_is_golden("text/40_columns.txt");
}

/* Some hits overflowed a narrow counter: no breakdown of the cycles of all hits. */
FRESH_TEST(rows_of_fewer_hits_stand_apart)
{
    SUMMARY_COLUMN(summary, "CPU_CYCLES", {175, 8}, {511, 7}, {823, 5})->overhead = 7;
    struct column *cpi = SUMMARY_COLUMN(summary, "CPICNT", {76, 4}, {202, 4});
    cpi->at_least = 12;
    cpi->at_least_max = 250;
    cpi->bits = 8;
    struct column *lsu = SUMMARY_COLUMN(summary, "LSUCNT", {11, 2});
    lsu->at_least = 18;
    lsu->at_least_max = 11;
    lsu->bits = 8;
    summary->n_metrics = 1;
    summary->metrics[0] = (struct metric_result){
        .name = "CPI", .value = NAN, .why = "CPICNT is only a lower bound, or was not counted"};
    summary->hits = summary->wanted = 20;
    expect("text/fewer_hits.txt");
}

/* What LC_ALL=C takes, of a run that was cut short: events that the core lacks keep their row and say why;
 * metrics are among the means. Names from outside stay aligned. */
FIR_TEST(plain_ascii)
{
    struct column *cycles = &summary->columns[0];
    cycles->at_least = 1;
    cycles->at_least_max = 16777216;
    cycles->plus_minus = 0.301;
    summary->columns[2].calibrated = false;
    snprintf(summary->columns[1].name, sizeof summary->columns[1].name, "µ±é\x1B[31m");
    snprintf(summary_column(summary, "LDREX_SPEC", NULL, 0)->unsupported, 96, "no such event");
    summary->n_metrics = 3;
    summary->metrics[0] = (struct metric_result){.name = "ipc", .unit = "per cycle", .value = 0.22476543};
    summary->metrics[1] = (struct metric_result){.name = "misses", .value = 12345678};
    summary->metrics[2] = (struct metric_result){.name = "rest", .unit = "%", .value = NAN};
    summary->conditions.clock_error_hz = 12345;
    snprintf(summary->conditions.clock_source, sizeof summary->conditions.clock_source, "measured");
    snprintf(summary->ended, sizeof summary->ended, "\x1B[2Jgone");
    summary->hits = 17;
    assert_non_null(setlocale(LC_CTYPE, "C"));
    summary_write(TO_TEXT(80), summary, NULL);
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    output_is_golden("text/ascii.txt");
}

FRESH_TEST(few_and_many_hits)
{
    summary_write(TO_TEXT(80), summary, NULL);
    output_is("\n0 hits\n");
    struct column *column = summary_column(summary, "CYCLES", NULL, 0);
    summary->wanted = 1;
    summary->seconds = 200;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    summary_write(TO_TEXT(80), summary, NULL);
    output_is("\nCYCLES      <not counted>: no hit\n\nCtrl-C: 0 of 1 hit in 3 min 20 s\n");
    summary->ended[0] = '\0';
    summary->hits = 1;
    column->calibrated = false;
    statistics_add(column->statistics, 1000);
    summary_write(TO_TEXT(80), summary, NULL);
    OUTPUT_HAS("\n1,000 cycles (1 hit)\n", "1,000        ?         ?\n", "\n1 hit in 3 min 20 s\n");
    for (uint64_t i = 1; i < 8000; i++) /* more values than are kept */
        statistics_add(column->statistics, 1000 + i);
    summary->hits = 8001;
    column->at_least = 1;
    summary_write(TO_TEXT(80), summary, NULL);
    OUTPUT_HAS("median, p90 and p99:",
               "\nCYCLES: 1 of 8,001 hits may have overflowed the counter and is not");
}

TEST(headers)
{
    struct conditions c = {0};
    header_is(&c, "");
    c = (struct conditions){.link = "msr:0", .counter = "Knights Corner PMU"};
    header_is(&c, "msr:0     Knights Corner PMU\n");
    c = conditions_fir();
    c.start_source[0] = '\0';
    snprintf(c.end, sizeof c.end, "fir.c:60");
    snprintf(c.end_source, sizeof c.end_source, "fir.c:60");
    snprintf(c.note, sizeof c.note, "SysTick was unused");
    header_is(&c, "openocd localhost:6666     Cortex-A9 r3p0 core 0     PMUv1, 6 counters\n"
                  "fir_filter  0x10000200 to fir.c:60\n"
                  "SysTick was unused\n");
    c = (struct conditions){.start = "*0x10000200",
                            .start_address = 0x10000200,
                            .end = "evil\x1B]0;\a\xFF",
                            .end_source = "a.c:1\n"};
    header_is(&c, "*0x10000200 to evil\xEF\xBF\xBD]0;\xEF\xBF\xBD\xEF\xBF\xBD  a.c:1\xEF\xBF\xBD\n");
}
