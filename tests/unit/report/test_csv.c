/* The whole file, compared byte by byte. */
#include "report/baselines.h"
#include "report/csv.h"

static void expect(const struct summary *summary, const struct comparison *comparison, char separator,
                   const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(csv_summary(out, summary, comparison, separator));
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

#define HEADING "name,count,median,mean,sd,min,max,p90,p99,overhead,plus_minus,at_least,at_least_max"

TEST(the_documented_example)
{
    struct summary *summary = summary_fir();
    expect(summary, NULL, ',',
           HEADING "\n"
                   "CPU_CYCLES,98,18204,18222.530612244896,49.4510492277402,18190,18544,18250,18544,12,1,0,\n"
                   "LD_RETIRED,98,4096,4096,0,4096,4096,4096,4096,0,0,0,\n"
                   "L1D_CACHE_REFILL,98,31,32.40816326530612,5.2007864882901105,28,47,36,47,0,0,0,\n");
    summary_free(summary);
}

TEST(what_has_no_number)
{
    struct summary *summary = calloc(1, sizeof *summary);
    assert_non_null(summary);
    expect(summary, NULL, ',', HEADING "\n");
    summary_column(summary, "EMPTY", NULL, 0)->calibrated = false;
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event");
    struct column *bounded = summary_column(summary, "LONG", NULL, 0);
    bounded->at_least = 2;
    bounded->at_least_max = UINT64_MAX;
    bounded->overhead = 0.125;
    expect(summary, NULL, ',',
           HEADING "\n"
                   "EMPTY,0,<not counted>,,,,,,,,,0,\n"
                   "STALL,0,<not supported>,,,,,,,,,0,\n"
                   "LONG,0,<not counted>,,,,,,,0.125,0,2,18446744073709551615\n");
    summary_free(summary);
}

TEST(quoting)
{
    static const struct {
        const char *name;
        char separator;
        const char *field;
    } cases[] = {{"plain", ',', "plain"},
                 {"a,b", ',', "\"a,b\""},
                 {"a,b", ';', "a,b"},
                 {"a;b", ';', "\"a;b\""},
                 {"say \"so\"", ',', "\"say \"\"so\"\"\""},
                 {"\"", ',', "\"\"\"\""},
                 {" edge", ',', "\" edge\""},
                 {"edge ", ',', "\"edge \""},
                 {"two\nlines", ',', "two\xEF\xBF\xBDlines"},
                 {"\xFF\x1b", ',', "\xEF\xBF\xBD\xEF\xBF\xBD"},
                 {"µ", ',', "µ"},
                 {"", ',', ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summary *summary = calloc(1, sizeof *summary);
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        assert_non_null(summary);
        assert_non_null(out);
        SUMMARY_COLUMN(summary, cases[i].name, {7, 1});
        assert_true(csv_summary(out, summary, NULL, cases[i].separator));
        fclose(out);
        const char *second = strchr(text, '\n') + 1;
        size_t length = strlen(cases[i].field);
        if (strncmp(second, cases[i].field, length) != 0 || second[length] != cases[i].separator)
            fail_msg("%s is written as %s", cases[i].name, second);
        free(text);
        summary_free(summary);
    }
    /* A separator that numbers are made of */
    struct summary *summary = calloc(1, sizeof *summary);
    assert_non_null(summary);
    SUMMARY_COLUMN(summary, "N", {7, 1}, {8, 1});
    summary->columns[0].calibrated = false;
    expect(summary, NULL, '.',
           "name.count.median.mean.sd.min.max.p90.p99.overhead.plus_minus.at_least.at_least_max\n"
           "N.2.7.\"7.5\".\"0.7071067811865476\".7.8.8.8...0.\n");
    summary_free(summary);
}

TEST(compared)
{
    struct summary *now = summary_slower(900);
    now->n = 1;
    struct comparison *comparison = comparison_with_fir(now, 0.02);
    comparison->lines[0].change = 0.0625;
    comparison->lines[0].base.mean = 18222.5;
    expect(now, comparison, ',',
           HEADING
           ",baseline_mean,change,verdict,why\n"
           "CPU_CYCLES,98,19104,19122.530612244896,49.4510492277402,19090,19444,19150,19444,12,1,0,,18222.5,"
           "0.0625,regressed,\n"
           "LD_RETIRED,0,<not counted>,,,,,,,,,,,4096,,inconclusive,not counted now\n"
           "L1D_CACHE_REFILL,0,<not counted>,,,,,,,,,,,32.40816326530612,,inconclusive,not counted now\n");
    now->n = 3;
    /* A column without a line: neither side supports it */
    comparison->n = 1;
    now->n = 2;
    snprintf(now->columns[1].unsupported, 96, "no");
    snprintf(comparison->lines[0].why, 160, "a, b");
    comparison->lines[0].base.n = 0;
    expect(now, comparison, ',',
           HEADING ",baseline_mean,change,verdict,why\n"
                   "CPU_CYCLES,98,19104,19122.530612244896,49.4510492277402,19090,19444,19150,19444,12,1,0,,,"
                   "0.0625,regressed,\"a, b\"\n"
                   "LD_RETIRED,0,<not supported>,,,,,,,,,0,,,,,\n");
    now->n = 3;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_false(csv_summary(full, now, comparison, ','));
    fclose(full);
    free(comparison);
    summary_free(now);
}
