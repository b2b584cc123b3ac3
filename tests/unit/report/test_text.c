/* The whole output, compared byte by byte. */
#include "../test.h"

#include "report/summaries.h"
#include "report/text.h"

#include <math.h>

static void expect(const struct conditions *header, const struct summary *summary, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (header != NULL)
        text_header(out, header);
    if (summary != NULL)
        text_summary(out, summary);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

TEST(the_documented_example)
{
    struct summary *summary = summary_fir();
    expect(&summary->conditions, summary,
           "openocd localhost:6666     Cortex-A9 r3p0 core 0     PMUv1, 6 counters\n"
           "fir_filter  fir.c:42 to its return\n"
           "\n"
           "                        median      mean ±  sd           min        max\n"
           "CPU_CYCLES              18,204    18,223 ±  49        18,190     18,544    ± 1, overhead 12 "
           "removed\n"
           "LD_RETIRED               4,096     4,096 ±   0         4,096      4,096\n"
           "L1D_CACHE_REFILL            31        32 ±   5            28         47\n"
           "time                  27.31 µs                                             "
           "at 666.7 MHz (SystemCoreClock)\n"
           "\n"
           "100 hits in 1.4 s, 2 tainted         18,190  ██████████████████  71\n"
           "p90 18,250, p99 18,544               18,235  █████  19\n"
           "                                     18,325  ██  7\n"
           "                                     18,505  ▌  1\n");
    summary_free(summary);
}

TEST(ended_early_with_bounds_and_a_measured_clock)
{
    struct summary *summary = summary_fir();
    summary->columns[0].at_least = 3;
    summary->columns[0].at_least_max = 16777216;
    summary->columns[0].plus_minus = 0.301;
    summary->columns[1].at_least = 1;
    summary->columns[1].at_least_max = 65536;
    summary->columns[2].calibrated = false;
    summary->conditions.clock_error_hz = 12345;
    snprintf(summary->conditions.clock_source, sizeof(summary->conditions.clock_source), "measured");
    snprintf(summary->ended, sizeof(summary->ended), "stopped at main.c:88, not ours");
    summary->hits = 17;
    summary->steps_past = 12;
    expect(
        NULL, summary,
        "\n"
        "                        median      mean ±  sd           min        max\n"
        "CPU_CYCLES              18,204    18,223 ±  49        18,190     18,544    "
        "± 0.31, overhead 12 removed; 3 hits left out, the highest at least 16,777,216\n"
        "LD_RETIRED               4,096     4,096 ±   0         4,096      4,096    "
        "1 hit at least 65,536, left out\n"
        "L1D_CACHE_REFILL            31        32 ±   5            28         47    overhead not measured\n"
        "time                  27.31 µs                                             "
        "at 666.7 MHz ± 12.35 kHz (measured)\n"
        "\n"
        "stopped at main.c:88, not ours: 17 of 100 hits in 1.4 s, 2 tainted\n"
        "12 ends in another frame, stepped past\n"
        "p90 18,250, p99 18,544\n"
        "                                     18,190  ██████████████████  71\n"
        "                                     18,235  █████  19\n"
        "                                     18,325  ██  7\n"
        "                                     18,505  ▌  1\n");
    summary_free(summary);
}

TEST(bounds_only)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    summary->conditions = conditions_fir();
    struct column *cycles = summary_column(summary, "CPU_CYCLES", NULL, 0);
    cycles->at_least = 2;
    cycles->at_least_max = 16777216;
    summary_column(summary, "LD_RETIRED", NULL, 0);
    SUMMARY_COLUMN(summary, "LDREX_SPEC", {5, 99999}, {6, 1});
    summary->hits = 2;
    summary->seconds = 0.05;
    expect(NULL, summary,
           "\n"
           "                         median      mean ±     sd           min                  max\n"
           "CPU_CYCLES                                                        at least 16,777,216\n"
           "LD_RETIRED        <not counted>\n"
           "LDREX_SPEC                    5    5.0000 ± 0.0032             5                    6\n"
           "time                                                                at least 25.17 ms    "
           "at 666.7 MHz (SystemCoreClock)\n"
           "\n"
           "2 hits in 50 ms\n");
    summary_free(summary);
}

TEST(no_hits)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    summary->conditions = conditions_fir();
    summary_column(summary, "CPU_CYCLES", NULL, 0);
    summary_column(summary, "LD_RETIRED", NULL, 0);
    summary->seconds = 2;
    summary->wanted = 1;
    snprintf(summary->ended, sizeof(summary->ended), "Ctrl-C");
    expect(NULL, summary,
           "\n"
           "CPU_CYCLES        <not counted>\n"
           "LD_RETIRED        <not counted>\n"
           "\n"
           "Ctrl-C: 0 of 1 hit in 2.0 s\n");
    for (; summary->n > 0; summary->n--)
        statistics_free(summary->columns[summary->n - 1].statistics);
    summary->ended[0] = '\0';
    summary->wanted = 0;
    summary->seconds = 0;
    expect(NULL, summary, "\n0 hits\n");
    summary_free(summary);
}

TEST(all_equal_and_one_hit)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    SUMMARY_COLUMN(summary, "CYCLES", {1234567, 100});
    summary->hits = summary->wanted = 100;
    summary->seconds = 1;
    expect(NULL, summary,
           "\n"
           "                        median       mean ±  sd           min        max\n"
           "CYCLES               1,234,567  1,234,567 ±   0     1,234,567  1,234,567\n"
           "\n"
           "100 hits in 1.0 s, all equal\n");

    struct column *loads = SUMMARY_COLUMN(summary, "LD_RETIRED", {1, 99}, {2, 1}); /* others may differ */
    loads->plus_minus = 2.01;
    expect(NULL, summary,
           "\n"
           "                        median       mean ±   sd           min        max\n"
           "CYCLES               1,234,567  1,234,567 ±    0     1,234,567  1,234,567\n"
           "LD_RETIRED                   1       1.01 ± 0.10             1          2    ± 2.1\n"
           "\n"
           "100 hits in 1.0 s\n");
    summary_free(summary);

    summary = calloc(1, sizeof(*summary));
    SUMMARY_COLUMN(summary, "CYCLES", {18204, 1})->calibrated = false;
    summary->hits = 1;
    summary->seconds = 200;
    expect(
        NULL, summary,
        "\n"
        "                        median      mean ±  sd           min        max\n"
        "CYCLES                  18,204    18,204 ±   0        18,204     18,204    overhead not measured\n"
        "\n"
        "1 hit in 3 min 20 s\n");
    summary_free(summary);
}

TEST(numbers_of_full_width)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    SUMMARY_COLUMN(summary, "A_NAME_OF_MORE_THAN_16_LETTERS", {0, 1}, {UINT64_MAX, 1});
    SUMMARY_COLUMN(summary, "B", {1, 2}, {3, 2});
    summary->hits = 1234567;
    summary->tainted = 123456;
    summary->steps_past = 1;
    summary->seconds = 12;
    expect(
        NULL, summary,
        "\n"
        "                                      median                       mean ±                         sd"
        "           min                         max\n"
        "A_NAME_OF_MORE_THAN_16_LETTERS             0  9,223,372,036,854,775,808 ± 13,043,817,825,332,783,104"
        "             0  18,446,744,073,709,551,615\n"
        "B                                          1                        2.0 ±                        1.2"
        "             1                           3\n"
        "\n"
        "1,234,567 hits in 12 s, 123,456 tainted                             0  ██████████████████  1\n"
        "1 end in another frame, stepped past       16,140,901,064,495,857,664  ██████████████████  1\n");
    summary_free(summary);
}

TEST(approximate_median)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    struct column *column = summary_column(summary, "CYCLES", NULL, 0);
    for (uint64_t i = 0; i < 8000; i++)
        statistics_add(column->statistics, 1000 + i);
    summary->hits = 8000;
    summary->seconds = 1;
    expect(NULL, summary,
           "\n"
           "                        median      mean ±    sd           min        max\n"
           "CYCLES                   4,997     5,000 ± 2,310         1,000      8,999    median to 0.1 %\n"
           "\n"
           "8,000 hits in 1.0 s                  1,000  ██████████████████  1,000\n"
           "p90 8,195, p99 8,915                 2,000  ██████████████████  1,000\n"
           "                                     3,000  ██████████████████  999\n"
           "                                     4,000  ██████████████████  1,001\n"
           "                                     5,000  ██████████████████  1,000\n"
           "                                     6,000  ██████████████████  1,002\n"
           "                                     7,000  ██████████████████  996\n"
           "                                     8,000  ██████████████████  1,002\n");
    summary_free(summary);
}

TEST(headers)
{
    struct conditions c = {0};
    expect(&c, NULL, "");

    c = (struct conditions){.link = "msr:0", .counter = "Knights Corner PMU"};
    expect(&c, NULL, "msr:0     Knights Corner PMU\n");

    c = conditions_fir();
    c.start_source[0] = '\0';
    snprintf(c.end, sizeof(c.end), "fir.c:60");
    snprintf(c.end_source, sizeof(c.end_source), "fir.c:60");
    snprintf(c.note, sizeof(c.note), "SysTick was idle and is borrowed");
    expect(&c, NULL,
           "openocd localhost:6666     Cortex-A9 r3p0 core 0     PMUv1, 6 counters\n"
           "fir_filter  0x10000200 to fir.c:60\n"
           "SysTick was idle and is borrowed\n");

    c = (struct conditions){.start = "*0x10000200",
                            .start_address = 0x10000200,
                            .end = "evil\x1B]0;\a\xFF",
                            .end_source = "a.c:1\n"};
    expect(&c, NULL, "*0x10000200 to evil\xEF\xBF\xBD]0;\xEF\xBF\xBD\xEF\xBF\xBD  a.c:1\xEF\xBF\xBD\n");
}

TEST(names_from_outside_stay_aligned)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    SUMMARY_COLUMN(summary, "µ\x1B[31m", {7, 3});
    snprintf(summary->ended, sizeof(summary->ended), "\x1B[2Jgone");
    summary->hits = 3;
    summary->seconds = 1;
    expect(NULL, summary,
           "\n"
           "                        median      mean ±  sd           min        max\n"
           "µ\xEF\xBF\xBD[31m                       7         7 ±   0             7          7\n"
           "\n"
           "\xEF\xBF\xBD[2Jgone: 3 hits in 1.0 s, all equal\n");
    summary_free(summary);
}

/* Events that the core lacks keep their row and say why; metrics stand among the means. */
TEST(what_is_not_supported_and_metrics)
{
    struct summary *summary = summary_fir();
    summary_column(summary, "LDREX_SPEC", NULL, 0);
    snprintf(summary->columns[3].unsupported, sizeof summary->columns[3].unsupported, "no such event");
    summary->n_metrics = 3;
    summary->metrics[0] = (struct metric_result){.name = "ipc", .unit = "per cycle", .value = 0.22476543};
    summary->metrics[1] = (struct metric_result){.name = "misses", .value = 12345678};
    summary->metrics[2] = (struct metric_result){.name = "rest", .unit = "%", .value = NAN};
    summary->conditions.clock_hz = 0;
    summary->hits = 1; /* below the rows all is as ever */
    summary->wanted = 0;
    summary->tainted = 0;
    expect(NULL, summary,
           "\n"
           "                           median       mean ±  sd           min        max\n"
           "CPU_CYCLES                 18,204     18,223 ±  49        18,190     18,544    ± 1, overhead 12 "
           "removed\n"
           "LD_RETIRED                  4,096      4,096 ±   0         4,096      4,096\n"
           "L1D_CACHE_REFILL               31         32 ±   5            28         47\n"
           "LDREX_SPEC        <not supported>                                              no such event\n"
           "ipc                                   0.2248                                   per cycle\n"
           "misses                             1.235e+07\n"
           "rest                <not counted>                                              %\n"
           "\n"
           "1 hit in 1.4 s                       18,190  ██████████████████  71\n"
           "p90 18,250, p99 18,544               18,235  █████  19\n"
           "                                     18,325  ██  7\n"
           "                                     18,505  ▌  1\n");
    summary_free(summary);
}

TEST(several_passes_and_their_disagreement)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    SUMMARY_COLUMN(summary, "CYCLES", {100, 5}, {120, 4});
    SUMMARY_COLUMN(summary, "A", {1, 3});
    summary->passes = 3;
    summary->hits = summary->wanted = 3;
    summary->seconds = 1;
    snprintf(summary->disagreement, sizeof summary->disagreement, "the passes disagree\x1B");
    expect(NULL, summary,
           "\n"
           "                        median      mean ±  sd           min        max\n"
           "CYCLES                     100       109 ±  11           100        120\n"
           "A                            1         1 ±   0             1          1\n"
           "\n"
           "3 of 9 hits in 3 passes in 1.0 s     100  ██████████████████  5\n"
           "                                     118  ██████████████▌  4\n"
           "the passes disagree\xEF\xBF\xBD\n");
    summary_free(summary);
}
