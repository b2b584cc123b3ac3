/* A function with its samples, and with the costs of its lines: as text, and what is noted of little. */
#include "profiles.h"
#include "report/results.h"

#include "measure/delta.h"
#include "report/annotation_table.h"
#include "report/line_table.h"

#include <math.h>

static const char lines[] =
    "{'type':'header','command':'annotate','link':'cmsis-dap:1'}\n"
    "{'type':'profile','file':'odd\\nname','source':'DWT_PCSR','elf':'app.elf','cut':false}\n"
    "{'type':'function','core':0,'name':'Cortex-M4','function':'fir\\u001b[2J','source':'fir.c:26',"
    "'address':'0x10000244','bytes':20,'samples':42590,'core_samples':100000,'share':0.4259,'plus_minus':0."
    "00551,"
    "'files':2,'notes':['a note that is longer than a narrow terminal has room for, so it is folded "
    "there']}\n"
    "{'type':'line','core':0,'file':'/src/fir.c','line':28,'text':'    for (int i = 0; i < taps; i++) /* a "
    "long "
    "line, which a narrow terminal cuts */','samples':12000,'share':0.2817,'plus_minus':0.00314,"
    "'at_border':true,'before':['']}\n"
    "{'type':'line','core':0,'file':'/src/mac\\u001b[31m.h','line':7,'samples':30000,'share':0.7043,"
    "'plus_minus':0.01}\n"
    "{'type':'line','core':0,'samples':490,'share':0.0115}\n"
    "{'type':'instruction','core':0,'address':'0x10000248','code':'f000f810','text':'bl      0x1000026c "
    "<mac<int>>\\u001b[0m','file':'/src/mac\\u001b[31m.h','line':7,'samples':30000,'share':0.7043}\n"
    "{'type':'instruction','core':0,'address':'0x10000252','code':'bf00','text':'nop','samples':490,"
    "'share':0.0115}\n"
    "{'type':'summary','samples':42590}\n";

/* No line is longer, whatever is in it, and nothing steers the terminal. */
TEST(as_wide_as_the_terminal)
{
    struct document document = document_from(lines);
    for (size_t columns = 60; columns < 130; columns++) {
        size_t width = 0;
        assert_true(annotation_show(TO_TEXT(columns), &document));
        OUTPUT_HAS(" 28.17 %   0.32   12,000          28 ~     for (int i",
                   "\n 70.43 %   1.00   30,000           7",
                   "\n  1.15 %      ?      490               (no line)\n");
        OUTPUT_LACKS("\033", "odd\n");
        if (columns == 129)
            OUTPUT_HAS("terminal cuts */\n");
        if (columns == 60)
            OUTPUT_LACKS("terminal cuts */");
        char *text = output_text(NULL);
        for (const char *at = text; *at != '\0'; at++) {
            width = *at == '\n' ? 0 : width + (((unsigned char)*at & 0xC0) != 0x80);
            assert_true(width <= columns);
        }
        free(text);
    }
    assert_false(annotation_show(TO_FULL(FORMAT_TEXT), &document));
    assert_false(annotation_show(TO_FULL(FORMAT_JSON), &document));
    document_free(&document);
}

/* Without lines, of few samples that lie apart. What is hot: system/test_annotate.py. */
TEST(of_what_is_missing)
{
    static struct listing_row code[] = {
        {.address = 0x244, .size = 2, .code = 0xB510, .text = "push    {r4, lr}", .file = LISTING_NO_FILE}};
    uint64_t samples[] = {0};
    size_t line_of[] = {0};
    struct annotated_line all = {.file = LISTING_NO_FILE, .plus_minus = 0.00001};
    struct annotation cores[] = {
        {.core_samples = 9,
         .samples = 9,
         .plus_minus = NAN,
         .row_samples = samples,
         .lines = &all,
         .line_count = 1,
         .line_of = line_of,
         .is_few = true,
         .is_sparse = true},
        {.core = 1, .core_samples = 5, .plus_minus = NAN, .row_samples = samples, .line_of = line_of}};
    struct annotated_function function = {.at = {.name = "fir_filter", .low = 0x244, .high = 0x246},
                                          .listing = {.rows = code, .n = 1},
                                          .cores = cores,
                                          .core_count = 2};
    struct profile *profile = profile_new(2);
    struct annotation_report report = {
        .profile = profile, .file = "profile.jsonl", .elf = "app.elf", .no_names = "", .function = &function};
    assert_true(annotation_write(TO_TEXT(80), &report));
    OUTPUT_HAS("0x00000244     push    {r4, lr}\n", "lie apart");
    OUTPUT_LACKS("nan", "skid", "core 1"); /* which has no sample of it */
    cores[0].samples = cores[0].core_samples = 0;
    assert_true(annotation_write(TO_TEXT(80), &report));
    OUTPUT_HAS("0 of 0 samples\n");
    OUTPUT_LACKS("nan");
    profile_file_free(profile);
}

/* ---- lines */

TEST(a_sum_that_is_not_the_functions_is_a_warning)
{
    static const struct location at = {.name = "fir_filter"};
    static const struct listing listing;
    static struct summary whole = {.n = 1, .hits = 2};
    struct line_costs costs = {
        .calls = 2, .hops = 8, .tainted = 1, .bounded = 1, .sum = 1050, .totals = statistics_new()};
    struct line_report report = {.function = &at,
                                 .listing = &listing,
                                 .costs = &costs,
                                 .whole = &whole,
                                 .unframed = true,
                                 .limit = "pin the task",
                                 .ended = "Ctrl-C"};
    struct document document = document_new();
    whole.columns[0].statistics = statistics_new();
    for (int i = 0; i < 2; i++)
        statistics_add(costs.totals, 1050);
    statistics_add(whole.columns[0].statistics, 1060);
    statistics_add(whole.columns[0].statistics, 1060);
    document_add(&document, json_plan_header(JSON_SCHEMA_2, "lines", &report.conditions, NULL));
    line_report_lines(&document, &report);
    document = document_again(document);
    assert_true(line_write(TO_TEXT(200), &document));
    OUTPUT_HAS("\nin no line: 10.00 cycles; the halts leave ±0.00 open\n",
               "\nwarning: the lines and the function differ by 10.00 cycles, more than ±0.00: ",
               "\nin 1 of 8 steps an interrupt ran that a halt had delayed",
               "\nthe counter may have wrapped unseen in 1 step", "without call frame information",
               "\nit ended early: Ctrl-C\n");
    assert_string_equal(
        field_text(document_line(&document, "summary"), "doubt"),
        "pin the task; without call frame information, nested calls are not always distinguished");
    assert_false(line_write(TO_FULL(FORMAT_TEXT), &document));
    assert_false(line_write(TO_FULL(FORMAT_JSON), &document));
    document_free(&document);
    statistics_free(whole.columns[0].statistics);
    statistics_free(costs.totals);
}
