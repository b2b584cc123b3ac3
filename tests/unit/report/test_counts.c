/* What stat and watch print of their lines, of one core and with -a, compared byte by byte. */
#include "report/results.h"

#include "report/counts.h"

#define HEADER                                                                                               \
    "{'type':'header','link':'openocd localhost:6666','core':'Cortex-A9 r3p0 core 0','counter':'PMUv1, 6 "   \
    "counters','columns':["
#define CYCLES "'CPU_CYCLES':{'count':250000000,'seconds':2.5,'at_least':false}"
#define TWO    HEADER "'CPU_CYCLES','LD_RETIRED']}\n"

static void show(enum format format, const char *lines, bool has_totals)
{
    struct document document = document_from(lines);
    struct counts_report report = {.to = *TO(format),
                                   .header = document_line(&document, "header"),
                                   .of_cores = document_line(&document, "all") != NULL,
                                   .has_totals = has_totals};
    assert_true(counts_begin(&report));
    assert_true(counts_put(&report, &document));
    document_free(&document);
}

TEST(lines_with_totals)
{
    show(FORMAT_TEXT,
         HEADER
         "'CPU_CYCLES','LSUCNT','L2_READ_MISS:cmask=2:inv']}\n"
         "{'type':'sample','since_begin':1.001,'columns':{"
         "'CPU_CYCLES':{'count':10338019,'seconds':1.0007,'at_least':false},"
         "'LSUCNT':{'count':510,'seconds':1.001,'at_least':true},"
         "'L2_READ_MISS:cmask=2:inv':{'count':18446744073709551615.0,'seconds':1e-9,'at_least':false}},"
         "'metrics':{'CPI':1.25,'none':null}}\n"
         "{'type':'reset','seconds':1.5}\n"
         "{'type':'sample','since_begin':2.001,'columns':{"
         "'CPU_CYCLES':{'count':1,'seconds':1.0,'at_least':false},"
         "'LSUCNT':{'count':0,'seconds':1.0,'at_least':false}}}",
         true);
    output_is_golden("counts/with_totals.txt");
}

/* The counter that is not there is of another pass. A window of no length has no rate. */
TEST(an_interval_has_what_it_counted)
{
    show(FORMAT_CSV,
         TWO "{'type':'sample','since_begin':12.25,'columns':{" CYCLES "}}\n"
             "{'type':'sample','since_begin':0.0,'columns':{'CPU_CYCLES':{'count':7,'seconds':0.0}}}",
         false);
    OUTPUT_HAS("\n,CPU_CYCLES,cycles,250000000,12.250000,2.5", "\n,CPU_CYCLES,cycles,7,,0.000000,0.000,\n");
    OUTPUT_LACKS("LD_RETIRED");
}

/* ---- cores */

#define CORES                                                                                                \
    "{'type':'header','link':'msr','core':'Knights "                                                         \
    "Corner','counter':'PMU','columns':['TSC','L2_READ_MISS:cmask=2:inv','DATA_READ']}\n"
#define CORE(of, l2)                                                                                         \
    "{" of ",'cpus':2,'seconds':0.5,'columns':{'TSC':{'count':550000000,'at_least':false},"                  \
    "'L2_READ_MISS:cmask=2:inv':{'count':" l2 "},'DATA_READ':{'not_supported':'the counters are taken'}},"   \
    "'metrics':{'CPI':1.25,'none':null},'metric_reasons':{'none':'it divides by zero'}}\n"
#define CORE_60 CORE("'type':'core','core':60", "3000,'at_least':true")

TEST(a_table_has_a_line_a_core_and_the_sum)
{
    static const char lines[] = CORES "{'type':'cpu','cpu':0,'core':60,'columns':{}}\n" CORE_60 CORE(
        "'type':'all'", "4000") "{'type':'summary','passes':2,'skew_us':90,'lost':3}";
    show(FORMAT_TEXT, lines, false);
    output_is_golden("counts/cores.txt");
}

TEST(a_full_disk_is_told)
{
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV};
    static const char *const lines[] = {TWO "{'type':'summary','seconds':2.5,'columns':{" CYCLES "}}",
                                        CORES CORE_60 CORE("'type':'all'", "4000")};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++) {
            struct document document = document_from(lines[k]);
            struct counts_report report = {
                .to = *TO_FULL(formats[i]), .header = document_line(&document, "header"), .of_cores = k == 1};
            assert_false(counts_begin(&report));
            assert_false(counts_put(&report, &document));
            document_free(&document);
        }
}
