/* The slowest hits as text, of their lines: as far as anything is known of each. */
#include "report/results.h"

#include "report/place_report.h"

#define PLACE                                                                                                \
    ",'returned':true,'address':'0x00001001','function':'f','callers':[{'address':'0x2001','function':'g'}]" \
    ","                                                                                                      \
    "'registers':{'r0':'0x00000001','pc':'0x00001000'}}\n"
#define OUTLIER "{'type':'outlier','outlier':1,'hit':1,'seconds':0.25,'counted':1"
#define SUMMARY "{'type':'summary','columns':{'CPU_CYCLES':{}},'outliers':{'count':1,"

/* As far as they are known: of the hit, and of the run. */
TEST(exceptions_and_registers_as_far_as_they_are_known)
{
    static const char place[] = "  returned to f\n  called by g\n  r0 0x00000001  pc 0x00001000\n",
                      no_place[] = "  the run ended before its registers were read\n",
                      counted[] = SUMMARY "'exceptions_counted':true}}\n";
    static const struct {
        const char *keys, *summary, *says, *notes;
    } rows[] = {
        {",'exceptions':2" PLACE, counted, "; 2 exceptions inside", ""},
        {",'exception_cycles':36" PLACE, counted, "; exceptions inside, 36 cycles of their entry and exit",
         ""},
        {",'exception_cycles':36,'exceptions_at_least':true" PLACE, counted,
         "; exceptions inside, at least 36 cycles of their entry and exit", ""},
        {",'exception_cycles':0,'exceptions_at_least':true" PLACE, counted, "; exceptions inside: not known",
         ""},
        {",'exceptions':0" PLACE, counted, "; no exception inside", ""},
        {PLACE, counted, "; exceptions were not counted in this hit's pass", ""},
        {"}\n", SUMMARY "'kept_s':0.012345}}\n", "",
         "these counters do not show which exceptions ran inside\n"
         "the core was held up to 12 ms longer at the end of a hit for this\n"},
        {"}\n", SUMMARY "'exceptions_by':'EXCCNT'}}\n", "",
         "which exceptions ran inside is not known: -e EXCCNT counts the cycles of their\n"
         "  entry and exit\n"},
        {"}\n", SUMMARY "'exceptions_by':'EXC_TAKEN'}}\n", "",
         "which exceptions ran inside is not known: -e EXC_TAKEN counts them\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char lines[1024], text[512];
        snprintf(lines, sizeof lines, "%s%s%s", OUTLIER, rows[i].keys, rows[i].summary);
        struct document document = document_from(lines);
        outlier_write(TO_TEXT(80), &document);
        document_free(&document);
        snprintf(text, sizeof text,
                 "\nthe slowest hit, and where it ended\nhit 1: 1 cycle, 0.2 s into the run%s\n%s%s",
                 rows[i].says, rows[i].keys[0] == '}' ? no_place : place, rows[i].notes);
        output_is(text);
    }
}

/* Of a bound, and of a pass that did not count exceptions. */
TEST(lines_of_hits)
{
    static struct summary summary = {.n = 2,
                                     .columns = {{.name = "CPU_CYCLES"}, {.name = "EXCCNT"}},
                                     .at_max = {.names = {"gain", "sp"}, .n = 2}};
    static struct slow_hits hits;
    struct hit_result hit = {
        .number = 3, .n = 2, .values = {{.count = 1300, .at_least = true}, {.count = 36, .at_least = true}}};
    const uint64_t words[RESULT_WORDS] = {7, 0x2000FF00};
    struct document document = document_from(SUMMARY "'exceptions_counted':true}}\n");
    slow_hits_begin(&hits, 2);
    slow_hits_take(&hits, &hit, 0, words, SLOW_HIT_NONE);
    hit = (struct hit_result){.number = 4, .n = 2, .values = {{.count = 1200}, {.absent = true}}};
    slow_hits_take(&hits, &hit, 0, words, SLOW_HIT_NONE);
    outlier_lines(&document, &(struct outlier_report){.summary = &summary, .hits = &hits});
    outlier_write(TO_TEXT(80), &document);
    OUTPUT_HAS("\nhit 3: at least 1,300 cycles, ",
               "; exceptions inside, at least 36 cycles of their entry and exit\n",
               "  gain=0x7  sp=0x2000FF00\n", "\nhit 4: 1,200 cycles, ",
               "; exceptions were not counted in this hit's pass\n");
    snprintf(summary.columns[1].name, sizeof summary.columns[1].name, "EXC_TAKEN");
    hit = (struct hit_result){.number = 5, .n = 2, .values = {{.count = 1400}, {.count = 2}}};
    slow_hits_take(&hits, &hit, 0, words, SLOW_HIT_NONE);
    outlier_lines(&document, &(struct outlier_report){.summary = &summary, .hits = &hits});
    outlier_write(TO_TEXT(80), &document);
    document_free(&document);
    OUTPUT_HAS("\nhit 5: 1,400 cycles, ", "; 2 exceptions inside\n");
}
