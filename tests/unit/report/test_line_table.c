/* Lines with their costs, whole. */
#include "golden.h"
#include "report/results.h"

#include "measure/delta.h"
#include "report/line_table.h"

static struct code_block code[] = {
    {.low = 0x100, .line = 26, .instructions = 1},
    {.low = 0x104, .line = 28, .instructions = 3, .calls = true},
    {.low = 0x108, .line = 7, .file = 1, .instructions = 2, .is_inlined = true},
    {.low = 0x10C, .line = 28, .instructions = 2},
    {.low = 0x110, .line = 30, .instructions = 2},
};
enum { BLOCKS = sizeof code / sizeof *code };
static const struct code_blocks blocks = {.at = code, .n = BLOCKS};
static char source[] = "/src/fir.c", header[] = "/src/mac\033[31m.h";
static char *files[] = {source, header};
static const struct listing listing = {.files = files, .file_count = 2};
static char text[] = "    for (int i = 0; i < taps; i++) /* a long line, which a narrow terminal cuts */";
static char *fir_lines[28];
static struct source_text texts[2];
static struct location at = {.name = "fir_filter"};
static struct reading reading = {
    .n = 1, .counted = 1, .counters = {{.low = {.size = 4}, .bits = 32, .per_cycle = 1}}};
static struct halt_cost halts;
static struct line_costs costs;
static struct summary whole;
static struct line_report report;

static void hop(size_t from, size_t to, uint64_t cycles, bool tainted)
{
    const struct walk_hop one = {.from = from,
                                 .to = to,
                                 .begins = from == 0,
                                 .after_us = 1000,
                                 .readings = {{0}, {cycles}},
                                 .pairs = 1,
                                 .tainted = tainted};
    line_costs_hop(&costs, &one);
}

static int set_up(void **state)
{
    (void)state;
    static char empty[] = "";
    for (size_t i = 0; i < sizeof fir_lines / sizeof *fir_lines; i++)
        fir_lines[i] = i == 27 ? text : empty;
    texts[0] = (struct source_text){.path = source, .lines = fir_lines, .n = 28};
    halts = (struct halt_cost){.reading = &reading};
    halts.overheads[0].known = true;
    halts.evaluation = (struct evaluation){
        .reading = &reading, .overheads = halts.overheads, .counts_cycles = true, .bound_hz = 1e6};
    assert_true(line_costs_begin(&costs, &blocks, &halts));
    for (unsigned call = 0; call < 2; call++) {
        hop(0, 1, 3, false);
        hop(1, 2, 1000, false);
        hop(2, 3, 40, call == 1);
        hop(3, BLOCKS, 7, false);
    }
    line_costs_end(&costs);
    whole = (struct summary){.n = 1, .hits = 2};
    whole.columns[0].statistics = statistics_new();
    report = (struct line_report){
        .function = &at, .listing = &listing, .texts = texts, .costs = &costs, .whole = &whole};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    summary_free(&whole);
    line_costs_free(&costs);
    return 0;
}

/* Written as JSON lines, and read again. */
static bool line_report_write(const struct rendering *to)
{
    struct document document = document_new();
    document_add(&document, line_report_header(&report.conditions));
    line_report_lines(&document, &report);
    document = document_again(document);
    bool ok = line_write(to, &document, true, NULL);
    document_free(&document);
    return ok;
}

#define LINES_TEST(name) TEST_WITH(name, set_up, tear_down)

LINES_TEST(a_sum_that_is_not_the_functions_is_a_warning)
{
    statistics_add(whole.columns[0].statistics, 1060);
    statistics_add(whole.columns[0].statistics, 1060);
    report.unframed = true;
    snprintf(report.ended, sizeof report.ended, "Ctrl-C");
    assert_true(line_report_write(TO_TEXT(80)));
    output_is_golden("lines/a_warning.txt");
    assert_false(line_report_write(TO_FULL(FORMAT_TEXT)));
    assert_false(line_report_write(TO_FULL(FORMAT_JSON)));
}
