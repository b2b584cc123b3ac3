/* The whole file, compared byte by byte. */
#include "report/baselines.h"
#include "report/junit.h"

#include <math.h>

static char *written(const struct summary *summary, const struct comparison *comparison)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(junit_summary(out, summary, comparison));
    fclose(out);
    return text;
}

static void expect(const struct summary *summary, const struct comparison *comparison, const char *expected)
{
    char *text = written(summary, comparison);
    assert_string_equal(text, expected);
    free(text);
}

#define OPENING "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
#define CLOSING "</testsuite>\n</testsuites>\n"
#define FIR                                                                                                  \
    "  <properties>\n"                                                                                       \
    "    <property name=\"link\" value=\"openocd localhost:6666\"/>\n"                                       \
    "    <property name=\"core\" value=\"Cortex-A9 r3p0 core 0\"/>\n"                                        \
    "    <property name=\"counter\" value=\"PMUv1, 6 counters\"/>\n"                                         \
    "    <property name=\"elf\" value=\"app.elf\"/>\n"

TEST(the_documented_example)
{
    struct summary *summary = summary_fir();
    expect(summary, NULL,
           OPENING
           "<testsuite name=\"pmu-probe fir_filter to its return\" tests=\"3\" failures=\"0\" errors=\"0\" "
           "skipped=\"0\" time=\"1.400\">\n" FIR "    <property name=\"build_id\" value=\"c0ffee\"/>\n"
           "    <property name=\"start\" value=\"fir_filter\"/>\n"
           "    <property name=\"start_source\" value=\"fir.c:42\"/>\n"
           "    <property name=\"end\" value=\"its return\"/>\n"
           "    <property name=\"clock_hz\" value=\"666666687\"/>\n"
           "    <property name=\"clock_source\" value=\"SystemCoreClock\"/>\n"
           "    <property name=\"hits\" value=\"100\"/>\n"
           "    <property name=\"tainted\" value=\"2\"/>\n"
           "  </properties>\n"
           "  <testcase classname=\"fir_filter\" name=\"CPU_CYCLES\" time=\"0.000027334\">\n"
           "    <system-out>count 98, median 18204, mean 18222.530612244896, sd 49.4510492277402, min 18190, "
           "max 18544</system-out>\n"
           "  </testcase>\n"
           "  <testcase classname=\"fir_filter\" name=\"LD_RETIRED\" time=\"0.000000000\">\n"
           "    <system-out>count 98, median 4096, mean 4096, sd 0, min 4096, max 4096</system-out>\n"
           "  </testcase>\n"
           "  <testcase classname=\"fir_filter\" name=\"L1D_CACHE_REFILL\" time=\"0.000000000\">\n"
           "    <system-out>count 98, median 31, mean 32.40816326530612, sd 5.2007864882901105, min 28, max "
           "47</system-out>\n"
           "  </testcase>\n" CLOSING);
    summary_free(summary);
}

TEST(compared)
{
    struct summary *now = summary_slower(900);
    struct comparison *comparison = comparison_with_fir(now, 0.02);
    now->conditions = (struct conditions){0};
    now->n = 2;
    now->seconds = (double)NAN;
    comparison->n_reasons = 1;
    snprintf(comparison->reasons[0], sizeof comparison->reasons[0], "another core");
    expect(now, comparison,
           OPENING
           "<testsuite name=\"pmu-probe\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" "
           "time=\"0.000\">\n"
           "  <properties>\n"
           "    <property name=\"hits\" value=\"100\"/>\n"
           "    <property name=\"tainted\" value=\"2\"/>\n"
           "    <property name=\"baseline\" value=\"main.jsonl\"/>\n"
           "    <property name=\"baseline_build_id\" value=\"c0ffee\"/>\n"
           "    <property name=\"threshold\" value=\"0.02\"/>\n"
           "    <property name=\"verdict\" value=\"regressed\"/>\n"
           "    <property name=\"not_comparable\" value=\"another core\"/>\n"
           "    <property name=\"note\" value=\"other build, as is to be expected of a change\"/>\n"
           "  </properties>\n"
           "  <testcase classname=\"pmu-probe\" name=\"CPU_CYCLES\" time=\"0.000000000\">\n"
           "    <failure type=\"regressed\" message=\"18,223 -&gt; 19,123, +4.94 % (threshold 2 %)\"/>\n"
           "    <system-out>count 98, median 19104, mean 19122.530612244896, sd 49.4510492277402, min "
           "19090, max 19444</system-out>\n"
           "  </testcase>\n"
           "  <testcase classname=\"pmu-probe\" name=\"LD_RETIRED\" time=\"0.000000000\">\n"
           "    <system-out>count 98, median 4096, mean 4096, sd 0, min 4096, max 4096</system-out>\n"
           "  </testcase>\n"
           "  <testcase classname=\"pmu-probe\" name=\"L1D_CACHE_REFILL\" time=\"0.000000000\">\n"
           "    <skipped message=\"32.41 -&gt; 32.41, 0 % (threshold 2 %): too close to the limit for the "
           "noise\"/>\n"
           "  </testcase>\n" CLOSING);
    now->n = 3;
    free(comparison);
    summary_free(now);
}

TEST(what_has_no_number)
{
    struct summary *summary = calloc(1, sizeof *summary);
    assert_non_null(summary);
    summary_column(summary, "EMPTY", NULL, 0);
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event");
    SUMMARY_COLUMN(summary, "SOME", {5, 1})->at_least = 2;
    summary->columns[2].at_least_max = 77;
    summary->conditions.clock_hz = 1;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    expect(summary, NULL,
           OPENING
           "<testsuite name=\"pmu-probe\" tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"2\" "
           "time=\"0.000\">\n"
           "  <properties>\n"
           "    <property name=\"clock_hz\" value=\"1\"/>\n"
           "    <property name=\"hits\" value=\"0\"/>\n"
           "    <property name=\"tainted\" value=\"0\"/>\n"
           "    <property name=\"ended\" value=\"Ctrl-C\"/>\n"
           "  </properties>\n"
           "  <testcase classname=\"pmu-probe\" name=\"EMPTY\" time=\"0.000000000\">\n"
           "    <skipped message=\"not counted\"/>\n"
           "  </testcase>\n"
           "  <testcase classname=\"pmu-probe\" name=\"STALL\" time=\"0.000000000\">\n"
           "    <skipped message=\"not supported: no such event\"/>\n"
           "  </testcase>\n"
           "  <testcase classname=\"pmu-probe\" name=\"SOME\" time=\"0.000000000\">\n"
           "    <system-out>count 1, median 5, mean 5, sd 0, min 5, max 5, and 2 of which only a lower "
           "bound is known, the highest 77</system-out>\n"
           "  </testcase>\n" CLOSING);
    summary_free(summary);
}

TEST(any_bytes)
{
    static const struct {
        const char *name, *value;
    } cases[] = {
        {"<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&apos;"},
        {"]]>", "]]&gt;"},
        {"a\n\t\r\x01\x7F"
         "b",
         "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
         "b"},
        {"\xFF\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"a\xEF\xBF\xBE\xEF\xBF\xBF"
         "b",
         "ab"},                                                   /* valid UTF-8, and no character of XML */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a surrogate */
        {"\xF0\x9F\x8E\xBE µ", "\xF0\x9F\x8E\xBE µ"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summary *summary = calloc(1, sizeof *summary);
        char expected[256];
        assert_non_null(summary);
        SUMMARY_COLUMN(summary, cases[i].name, {7, 1});
        snprintf(summary->conditions.start, sizeof summary->conditions.start, "%s", cases[i].name);
        snprintf(expected, sizeof expected, "<testcase classname=\"%s\" name=\"%s\" time=", cases[i].value,
                 cases[i].value);
        char *text = written(summary, NULL);
        if (strstr(text, expected) == NULL)
            fail_msg("%s is not in %s", expected, text);
        snprintf(expected, sizeof expected, "<testsuite name=\"pmu-probe %s\" tests=", cases[i].value);
        assert_non_null(strstr(text, expected));
        snprintf(expected, sizeof expected, "<property name=\"start\" value=\"%s\"/>", cases[i].value);
        assert_non_null(strstr(text, expected));
        free(text);
        summary_free(summary);
    }
    struct summary *summary = summary_fir();
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_false(junit_summary(full, summary, NULL));
    fclose(full);
    summary_free(summary);
}
