/* The whole text, compared byte by byte. */
#include "report/baselines.h"
#include "report/markdown.h"

static char *written(const struct summary *summary, const struct comparison *comparison)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(markdown_summary(out, summary, comparison));
    fclose(out);
    return text;
}

static void expect(const struct summary *summary, const struct comparison *comparison, const char *expected)
{
    char *text = written(summary, comparison);
    assert_string_equal(text, expected);
    free(text);
}

TEST(the_documented_example)
{
    struct summary *summary = summary_fir();
    expect(summary, NULL,
           "**fir_filter** to its return  \n"
           "openocd localhost:6666, Cortex-A9 r3p0 core 0, PMUv1, 6 counters\n"
           "\n"
           "| |median|mean|sd|min|max|p99|\n"
           "|:--|--:|--:|--:|--:|--:|--:|\n"
           "| CPU_CYCLES | 18,204 | 18,223 | 49.45 | 18,190 | 18,544 | 18,544 |\n"
           "| LD_RETIRED | 4,096 | 4,096 | 0 | 4,096 | 4,096 | 4,096 |\n"
           "| L1D_CACHE_REFILL | 31 | 32.41 | 5.20 | 28 | 47 | 47 |\n"
           "\n"
           "* 100 hits, 2 tainted, at 666.7 MHz\n");
    summary_free(summary);
}

TEST(compared)
{
    struct summary *now = summary_slower(900);
    struct comparison *comparison = comparison_with_fir(now, 0.02);
    now->n = 2;
    comparison->n_reasons = 1;
    snprintf(comparison->reasons[0], sizeof comparison->reasons[0],
             "another core: <a> in the baseline, b now");
    expect(now, comparison,
           "**fir_filter** to its return  \n"
           "openocd localhost:6666, Cortex-A9 r3p0 core 0, PMUv1, 6 counters\n"
           "\n"
           "| |median|mean|sd|min|max|p99|baseline|change|verdict|\n"
           "|:--|--:|--:|--:|--:|--:|--:|--:|--:|:--|\n"
           "| CPU_CYCLES | 19,104 | 19,123 | 49.45 | 19,090 | 19,444 | 19,444 | 18,223 | +4.94 % | "
           "**regressed** |\n"
           "| LD_RETIRED | 4,096 | 4,096 | 0 | 4,096 | 4,096 | 4,096 | 4,096 | 0 % | pass |\n"
           "| L1D_CACHE_REFILL | \\<not counted\\> |  |  |  |  |  | 32.41 | 0 % | inconclusive: too close to "
           "the "
           "limit for the noise |\n"
           "\n"
           "* 100 hits, 2 tainted, at 666.7 MHz\n"
           "* **regressed** against main.jsonl, threshold 2 %\n"
           "* not comparable: another core: \\<a\\> in the baseline, b now\n"
           "* other build, as is to be expected of a change\n");
    now->n = 3;
    free(comparison);
    summary_free(now);
}

TEST(what_has_no_number)
{
    struct summary *summary = calloc(1, sizeof *summary);
    assert_non_null(summary);
    struct comparison comparison = {.verdict = VERDICT_INCONCLUSIVE, .file = "a_b|c"};
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event");
    SUMMARY_COLUMN(summary, "SOME", {5, 1})->at_least = 2;
    summary->columns[1].at_least_max = 77000;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    expect(summary, &comparison,
           "\n\n"
           "| |median|mean|sd|min|max|p99|baseline|change|verdict|\n"
           "|:--|--:|--:|--:|--:|--:|--:|--:|--:|:--|\n"
           "| STALL | \\<not supported\\> |  |  |  |  |  |  |  |  |\n"
           "| SOME | 5 | 5 | 0 | 5 | 5 | 5 |  |  |  |\n"
           "\n"
           "* 0 hits; ended early: Ctrl-C\n"
           "* SOME: of 2 more hits only a lower bound is known, the highest at least 77,000\n"
           "* **inconclusive** against a_b\\|c, threshold 0 %\n");
    summary_free(summary);
}

TEST(nothing_is_taken_as_markdown)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"a|b", "a\\|b"},
        {"a\\|b", "a\\\\\\|b"},
        {"`rm -rf`", "\\`rm -rf\\`"},
        {"<img src=x>", "\\<img src=x\\>"},
        {"**b** _i_ ~s~", "\\*\\*b\\*\\* \\_i\\_ \\~s\\~"},
        {"_start", "\\_start"},
        {"in_a_word", "in_a_word"},
        {"a__b", "a\\_\\_b"},
        {"[x](y)!", "\\[x\\]\\(y\\)\\!"},
        {"&amp; $x$ #1 {}", "\\&amp; \\$x\\$ \\#1 \\{\\}"},
        {"two\nrows|", "two\xEF\xBF\xBDrows\\|"},
        {"\xFF µ", "\xEF\xBF\xBD µ"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summary *summary = calloc(1, sizeof *summary);
        char expected[256];
        assert_non_null(summary);
        SUMMARY_COLUMN(summary, cases[i].name, {7, 1});
        snprintf(summary->conditions.start, sizeof summary->conditions.start, "%s", cases[i].name);
        snprintf(expected, sizeof expected, "**%s**  \n", cases[i].text);
        char *text = written(summary, NULL);
        if (strstr(text, expected) != text)
            fail_msg("%s does not begin %s", expected, text);
        snprintf(expected, sizeof expected, "\n| %s | 7 | 7 | 0 | 7 | 7 | 7 |\n", cases[i].text);
        if (strstr(text, expected) == NULL)
            fail_msg("%s is not in %s", expected, text);
        free(text);
        summary_free(summary);
    }
    struct summary *summary = summary_fir();
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_false(markdown_summary(full, summary, NULL));
    fclose(full);
    summary_free(summary);
}
