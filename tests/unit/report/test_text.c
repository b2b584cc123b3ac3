/* The text of a run: all of it, compared byte by byte with tests/golden/text, and what is below the table. */
#include "report/fresh.h"

#include "report/formats.h"
#include "report/histogram.h"
#include "report/results.h"

#include <locale.h>
#include <math.h>

static void header_is(const struct conditions *conditions, const char *expected)
{
    text_header(output(), conditions);
    output_is(expected);
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
    SUMMARY_COLUMN(summary, "SVC_TAKEN", {2, 19}, {3, 1})->plus_minus = 3; /* not resolved */
    summary->n_metrics = 1;
    summary->metrics[0] = (struct metric_result){
        .name = "CPI", .value = NAN, .why = "CPICNT is only a lower bound, or was not counted"};
    summary->hits = summary->wanted = 20;
    summary_write(TO_TEXT(80), summary, NULL);
    output_is_golden("text/fewer_hits.txt");
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
    SUMMARY_COLUMN(summary, "CYCLES", {1000, 1})->calibrated = false;
    for (uint64_t i = 1; i < 8000; i++) /* more values than are kept */
        statistics_add(summary->columns[0].statistics, 1000 + i);
    summary->columns[0].at_least = 1;
    summary->hits = 8001;
    summary->seconds = 200;
    summary_write(TO_TEXT(80), summary, NULL);
    OUTPUT_HAS("median at most 4,997 cycles", "p90 and p99:\n  to 0.1 %",
               "\nCYCLES: 1 of 8,001 hits may have overflowed the counter and is not",
               "\n8,001 hits in 3 min 20 s\n");
}

TEST(headers)
{
    struct conditions c = {.link = "msr:0", .counter = "Knights Corner PMU"};
    header_is(&c, "msr:0     Knights Corner PMU\n");
    c = conditions_fir();
    c.start_source[0] = '\0';
    snprintf(c.end, sizeof c.end, "fir.c:60");
    snprintf(c.end_source, sizeof c.end_source, "fir.c:60");
    snprintf(c.note, sizeof c.note, "SysTick was unused");
    header_is(&c, "openocd localhost:6666     Cortex-A9 r3p0 core 0     PMUv1, 6 counters\n"
                  "fir_filter  0x10000200 to fir.c:60\nSysTick was unused\n");
    c = (struct conditions){.start = "*0x10", .end = "evil\x1B]0;\a\xFF", .end_source = "a.c:1\n"};
    header_is(&c, "*0x10 to evil\xEF\xBF\xBD]0;\xEF\xBF\xBD\xEF\xBF\xBD  a.c:1\xEF\xBF\xBD\n");
}

/* ---- below the table: how many hits, how they lie, and what was there at the highest */

/* What is below the table. */
static void footer_print(FILE *out)
{
    const struct rendering to = {.out = out, .format = FORMAT_TEXT, .columns = 80};
    struct document document = document_of(summary, NULL);
    const struct run_lines lines =
        run_lines(document_line(&document, "header"), (json_t *)document_line(&document, "summary"), NULL);
    const char *name = "";
    const json_t *first = run_first(lines.summary, &name), *fact;
    struct json_part facts = json_list_new();
    run_facts(&facts, &lines);
    size_t i;
    json_array_foreach(facts.json, i, fact)
        render_text(&to, "%s", json_string_value(fact));
    if (run_is_counted(first))
        histogram_print(out, to.columns, name, first);
    json_decref(facts.json);
    document_free(&document);
}

static void footer_is(const char *expected)
{
    footer_print(output());
    output_is(expected);
}

FRESH_TEST(of_several_passes_all_hits_are_told)
{
    SUMMARY_COLUMN(summary, "CYCLES", {5, 30});
    summary->passes = 3;
    summary->hits = 17;
    summary->wanted = 10;
    summary->seconds = 1;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    footer_is("Ctrl-C: 17 of 30 hits in 3 passes in 1.0 s, all equal\n"
              "Rows of different passes are of different hits.\n");
}

FRESH_TEST(how_it_began_and_why_it_ended)
{
    SUMMARY_COLUMN(summary, "CYCLES", {5, 100});
    summary->hits = 100;
    summary->warmup = 1;
    footer_is("100 hits, all equal\n1 hit for warm-up, not counted\n");
    summary->warmup = 1200;
    summary->precision = 0.01;
    summary->precise = 0.0083211;
    footer_is("100 hits, all equal\n1,200 hits for warm-up, not counted\n"
              "mean ±0.84 % (95 %): --precision 1 % reached\n");
    summary->warmup = 0;
    summary->precise = 0.0100001;
    footer_is("100 hits, all equal\nmean ±1.1 % (95 %): --precision 1 % not reached\n");
    summary->precise = 0;
    footer_is("100 hits, all equal\nall equal: --precision 1 % reached; up to 3 in 100 may differ (95 %)\n");
    summary->tainted = 900; /* of which nobody knows the values */
    summary->hits = 1000;
    footer_is("1,000 hits, the 100 that count all equal\n"
              "all equal: --precision 1 % reached; up to 3 in 100 may differ (95 %)\n"
              "900 of 1,000 hits tainted: an interrupt that a halt had delayed ran inside; not\n"
              "  in the numbers\n");
    summary->tainted = 0;
    summary->hits = 100;
    summary->precise = INFINITY;
    footer_is("100 hits, all equal\nno hit counts: --precision 1 % not reached\n");
}

/* Names are cleaned; as many as there can be, as long as can be, are cut and folded. */
FRESH_TEST(what_was_there_at_the_maximum)
{
    SUMMARY_COLUMN(summary, "CYCLES", {7, 3});
    summary->hits = 3;
    summary->at_max = (struct result_words){
        .names = {"r0", "*0x20000000", "evil\x1B"}, .values = {0x12, UINT64_MAX, 0}, .n = 3};
    footer_is("3 hits, all equal\n"); /* no hit was one */
    summary->max_number = 1234;
    footer_is("3 hits, all equal\n"
              "max in hit 1,234: r0=0x12 *0x20000000=0xffffffffffffffff evil\xEF\xBF\xBD=0x0\n");
    summary->at_max.n = RESULT_WORDS;
    for (size_t i = 0; i < RESULT_WORDS; i++) {
        memset(summary->at_max.names[i], '\x1B', sizeof summary->at_max.names[i] - 1);
        summary->at_max.names[i][0] = (char)('a' + i);
        summary->at_max.values[i] = UINT64_MAX;
    }
    footer_print(output());
    OUTPUT_HAS("max in hit 1,234:", "\n  b", "c", "=0xffffffffffffffff\n");
    OUTPUT_LACKS("\x1B");
}

/* From ten hits on. Their scale is as wide as the bins say, with empty ones among them; what lies far off is
 * told apart, but a second mode is none. */
FRESH_TEST(histograms)
{
    static const struct {
        uint64_t values[5][2];
    } cases[] = {{{{1000, 8}, {9000, 1}}},
                 {{{1000, 9}, {9000, 1}}},
                 {{{1000, 50}}},
                 {{{100, 400}, {101, 1}}},
                 {{{25000, 14}, {25001, 4}, {25004, 10}, {25054, 1}, {25063, 1}}},
                 {{{100, 40}, {900, 5}}},
                 {{{0, 1}, {2, 1}, {1000, 50}, {1003, 49}, {UINT64_MAX, 1}}}};
    FILE *out = output();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        statistics_free(summary->columns[0].statistics);
        summary->n = 0;
        summary_column(summary, "CYCLES", cases[i].values, 5);
        summary->hits = statistics_count(summary->columns[0].statistics);
        footer_print(out);
    }
    output_is_golden("closing/histograms.txt");
}

FRESH_TEST(how_long_halts_were)
{
    SUMMARY_COLUMN(summary, "CYCLES", {7, 3});
    summary->hits = 3;
    summary->halts = (struct summary_halts){.n = 6};
    footer_is("3 hits, all equal\n");
    summary->halts.us = 61.25;
    summary->halts.share = 0.0123;
    footer_is("3 hits, all equal\nthe core was halted 6 times for 61.25 µs on average, 1.23 % of the run\n");
}

/* A counter of 8 bits that may have overflowed tells neither that there was one nor that there was none. */
FRESH_TEST(exceptions_that_are_not_known)
{
    SUMMARY_COLUMN(summary, "CYCLES", {7, 3});
    summary->hits = 3;
    summary->left = 1;
    summary->steps_past = 3;
    summary->undisturbed = statistics_new();
    footer_is("3 hits, all equal\n1 time the call ended or began again before the end, not counted\n"
              "3 times the end was reached in another frame, not counted\n"
              "0 without an exception inside\n");
    summary->left = summary->steps_past = 0;
    summary_column(summary, "EXCCNT", NULL, 0)->at_least = 2;
    footer_is("3 hits\nexceptions inside 2 hits not known: the counter may have overflowed\n");
    statistics_add(summary->undisturbed, 1005);
    footer_is("3 hits\n1 without an exception inside, median 1,005\n"
              "exceptions inside 2 hits not known: the counter may have overflowed\n");
}
