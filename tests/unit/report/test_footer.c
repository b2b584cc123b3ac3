/* What stands below the table: how many hits, how they lie, and what was there at the highest. */
#include "report/fresh.h"

#include "report/histogram.h"
#include "report/results.h"

#include <math.h>

/* What is below the table. */
static void footer_print(FILE *out)
{
    const struct rendering to = {.out = out, .format = FORMAT_TEXT, .columns = 80};
    struct document document = document_of(summary, NULL);
    const struct run_lines lines =
        run_lines(document_line(&document, "header"), (json_t *)document_line(&document, "summary"), NULL);
    const char *name = "";
    const json_t *first = run_first(lines.summary, &name), *fact;
    json_t *facts = run_facts(&lines);
    size_t i;
    json_array_foreach(facts, i, fact)
        render_text(&to, json_string_value(fact));
    if (run_is_counted(first))
        histogram_print(out, to.columns, name, first);
    json_decref(facts);
    document_free(&document);
}

static void expect(const char *expected)
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
    expect("Ctrl-C: 17 of 30 hits in 3 passes in 1.0 s, all equal\n"
           "Each pass has its own hits: rows of different passes are of different hits.\n");
}

FRESH_TEST(how_it_began_and_why_it_ended)
{
    SUMMARY_COLUMN(summary, "CYCLES", {5, 100});
    summary->hits = 100;
    summary->warmup = 1;
    expect("100 hits, all equal\n1 hit before for warm-up, not counted\n");
    summary->warmup = 1200;
    summary->precision = 0.01;
    summary->precise = 0.0083211;
    expect("100 hits, all equal\n1,200 hits before for warm-up, not counted\n"
           "mean ±0.84 % (95 %): --precision 1 % was reached\n");
    summary->warmup = 0;
    summary->precise = 0.0100001;
    expect("100 hits, all equal\nmean ±1.1 % (95 %): --precision 1 % was not reached\n");
    summary->precise = 0;
    expect("100 hits, all equal\nmean ±0 % (95 %): --precision 1 % was reached\n");
    summary->precise = INFINITY;
    expect("100 hits, all equal\nno hit counts: --precision 1 % was not reached\n");
}

/* Names are cleaned; as many as there can be, as long as can be, are cut and folded. */
FRESH_TEST(what_was_there_at_the_maximum)
{
    SUMMARY_COLUMN(summary, "CYCLES", {7, 3});
    summary->hits = 3;
    summary->at_max = (struct result_words){
        .names = {"r0", "*0x20000000", "evil\x1B"}, .values = {0x12, UINT64_MAX, 0}, .n = 3};
    expect("3 hits, all equal\n"); /* no hit was one */
    summary->max_number = 1234;
    expect("3 hits, all equal\n"
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

/* A counter of 8 bits that may have overflowed tells neither that there was one nor that there was none. */
FRESH_TEST(exceptions_that_are_not_known)
{
    SUMMARY_COLUMN(summary, "CYCLES", {7, 3});
    struct column *exceptions = summary_column(summary, "EXCCNT", NULL, 0);
    exceptions->at_least = 2;
    summary->hits = 3;
    summary->undisturbed = statistics_new();
    expect("3 hits\nexceptions inside 2 hits: not known, the counter may have overflowed\n");
    statistics_add(summary->undisturbed, 1005);
    expect("3 hits\n1 without an exception inside, median 1,005\n"
           "exceptions inside 2 hits: not known, the counter may have overflowed\n");
}
