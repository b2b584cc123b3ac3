/* What --outliers prints of the slowest hits, as text and as JSON lines. */
#include "report/fresh.h"

#include "report/documents.h"
#include "report/outlier_report.h"
#include "report/renderings.h"

static struct slow_hits outliers;
static struct stop_place places[SLOW_HIT_SLOTS];
static uint64_t none[RESULT_WORDS];

static void keep(uint64_t number, struct value first, struct value second, const uint64_t *words)
{
    struct hit_result hit = {.number = number, .n = 2, .seconds = 0.25, .values = {first, second}};
    size_t slot = slow_hits_take(&outliers, &hit, 0, words, SLOW_HIT_NONE);
    outliers.is_read[slot] = true;
    places[slot] = (struct stop_place){.registers = {{"r0", number}, {"pc", 0x1000}},
                                       .n_registers = 2,
                                       .stack = {.at = {{.pc = 0x1000}, {.pc = 0x2000}}, .count = 2}};
}

static struct outlier_report a_report(const char *second)
{
    static const uint64_t some[][2] = {{1, 1}};
    slow_hits_begin(&outliers, 2);
    summary_column(summary, "CPU_CYCLES", some, 1);
    summary_column(summary, second, some, 1);
    return (struct outlier_report){.summary = summary, .hits = &outliers, .places = places};
}

static struct document lines_of(const struct outlier_report *report)
{
    struct document document = document_new();
    struct json_part line = json_part_new("summary");
    document_add(&document, json_header_part(JSON_SCHEMA, &summary->conditions, summary->columns, summary->n,
                                             DOCUMENT_STARTED));
    outlier_lines(&document, report);
    json_summary_fill(&line, summary);
    outlier_summary(&line, report);
    document_add(&document, line);
    return document_again(document);
}

static void print(const struct outlier_report *report)
{
    struct document document = lines_of(report);
    outlier_write(TO_TEXT(80), &document);
    document_free(&document);
}

FRESH_TEST(hits_with_their_stacks)
{
    struct outlier_report report = a_report("EXC_TAKEN");
    static const uint64_t words[RESULT_WORDS] = {7, 0x2000FF00};
    summary->at_max = (struct result_words){.names = {"gain", "sp"}, .n = 2};
    keep(12, (struct value){.count = 1204}, (struct value){.count = 2}, words);
    keep(3, (struct value){.count = 1300, .at_least = true}, (struct value){.count = 0}, none);
    places[outliers.at[1].slot].stack.at[0].is_exact = true;
    places[outliers.at[1].slot].stack.end = UNWIND_NO_RULES;
    print(&report);
    output_is("\nthe 2 slowest hits, and where they ended\n"
              "hit 3: at least 1,300 cycles, 0.2 s into the run; no exception inside\n"
              "  gain=0x0  sp=0x0\n"
              "  returned to 0x00000ffe\n"
              "  called by 0x00001ffe\n"
              "  r0 0x00000003  pc 0x00001000\n"
              "hit 12: 1,204 cycles, 0.2 s into the run; 2 exceptions inside\n"
              "  gain=0x7  sp=0x2000FF00\n"
              "  ended at 0x00001000\n"
              "  called by 0x00001ffe\n"
              "  the stack is cut short: code without call frame information\n"
              "  r0 0x0000000C  pc 0x00001000\n");
}

FRESH_TEST(exceptions_as_far_as_they_are_known)
{
    static const struct {
        struct value value;
        const char *says;
    } cases[] = {
        {{.count = 36}, "; exceptions inside, 36 cycles of their entry and exit"},
        {{.count = 36, .at_least = true}, "; exceptions inside, at least 36 cycles of their entry and exit"},
        {{.count = 0, .at_least = true}, "; exceptions inside: not known"},
        {{.count = 0}, "; no exception inside"},
        {{.absent = true}, "; exceptions were not counted in this hit's pass"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        summary->n = 0;
        struct outlier_report report = a_report("EXCCNT");
        keep(1, (struct value){.count = 1}, cases[i].value, none);
        print(&report);
        snprintf(text, sizeof text,
                 "\nthe slowest hit, and where it ended\nhit 1: 1 cycle, 0.2 s into the run%s\n"
                 "  returned to 0x00000ffe\n  called by 0x00001ffe\n  r0 0x00000001  pc 0x00001000\n",
                 cases[i].says);
        output_is(text);
        statistics_free(summary->columns[0].statistics);
        statistics_free(summary->columns[1].statistics);
        summary->columns[0].statistics = summary->columns[1].statistics = NULL;
    }
}

FRESH_TEST(exceptions_that_are_not_counted)
{
    static const struct {
        const char *event, *says;
    } cases[] = {{"EXC_TAKEN", "which exceptions ran inside is not known: -e EXC_TAKEN counts them\n"},
                 {"EXCCNT", "which exceptions ran inside is not known: -e EXCCNT counts the cycles of their\n"
                            "  entry and exit\n"},
                 {NULL, "these counters do not show which exceptions ran inside\n"}};
    struct outlier_report report = a_report("INST_RETIRED");
    keep(1, (struct value){.count = 1}, (struct value){.count = 1}, none);
    outliers.is_read[outliers.at[0].slot] = false;
    outliers.longest_us = 12345;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        report.counts_exceptions = cases[i].event;
        print(&report);
        snprintf(text, sizeof text,
                 "\nthe slowest hit, and where it ended\n"
                 "hit 1: 1 cycle, 0.2 s into the run\n"
                 "  the run ended before its registers were read\n%s"
                 "the core was held up to 12 ms longer at the end of a hit for this\n",
                 cases[i].says);
        output_is(text);
    }
}

FRESH_TEST(json_lines)
{
    struct outlier_report report = a_report("EXCCNT");
    static const uint64_t words[RESULT_WORDS] = {7};
    summary->at_max = (struct result_words){.names = {"gain"}, .n = 1};
    keep(12, (struct value){.count = 1204}, (struct value){.count = 36, .at_least = true}, words);
    keep(3, (struct value){.count = 1300, .at_least = true}, (struct value){.absent = true}, words);
    outliers.is_read[outliers.at[0].slot] = false;
    struct document document = document_new();
    outlier_lines(&document, &report);
    assert_true(document_write(output(), &document));
    document_free(&document);
    output_is("{\"type\":\"outlier\",\"outlier\":1,\"hit\":3,\"seconds\":0.25,\"counted\":1300,"
              "\"at_least\":true,\"words\":{\"gain\":7},\"word_texts\":{\"gain\":\"0x7\"}}\n"
              "{\"type\":\"outlier\",\"outlier\":2,\"hit\":12,\"seconds\":0.25,\"counted\":1204,"
              "\"exception_cycles\":36,\"exceptions_at_least\":true,\"words\":{\"gain\":7},\"word_texts\":{"
              "\"gain\":\"0x7\"},"
              "\"returned\":true,\"address\":\"0x00000fff\",\"function\":\"0x00000ffe\",\"callers\":["
              "{\"address\":\"0x00001fff\",\"function\":\"0x00001ffe\"}],"
              "\"registers\":{\"r0\":\"0x0000000c\",\"pc\":\"0x00001000\"}}\n");
}
