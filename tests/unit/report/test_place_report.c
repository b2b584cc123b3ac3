/* Where the slowest hits ended, and what guard stopped, of their lines: as much as is known of each. */
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
         "for this the core was held up to 12 ms longer after a hit\n"},
        {"}\n", SUMMARY "'exceptions_by':'EXCCNT'}}\n", "",
         "these counters do not show which exceptions ran inside: -e EXCCNT counts the\n"
         "  cycles of their entry and exit\n"},
        {"}\n", SUMMARY "'exceptions_by':'EXC_TAKEN'}}\n", "",
         "these counters do not show which exceptions ran inside: -e EXC_TAKEN counts them\n"},
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

/* Those of a hit's columns: of a bound, and of a pass that did not count exceptions. */
TEST(lines_of_hits)
{
    static struct summary summary = {.n = 2, .columns = {{.name = "CPU_CYCLES"}, {.name = "EXCCNT"}}};
    static struct slow_hits hits;
    static const struct hit_result of[] = {
        {.number = 3, .n = 2, .values = {{.count = 1300, .at_least = true}, {.count = 36, .at_least = true}}},
        {.number = 4, .n = 2, .values = {{.count = 1200}, {.absent = true}}}};
    struct document document = document_from(SUMMARY "'exceptions_counted':true}}\n");
    slow_hits_begin(&hits, 2);
    for (size_t i = 0; i < 2; i++)
        slow_hits_take(&hits, &of[i], 0, (uint64_t[RESULT_WORDS]){0}, SLOW_HIT_NONE);
    outlier_lines(&document, &(struct outlier_report){.summary = &summary, .hits = &hits});
    outlier_write(TO_TEXT(80), &document);
    document_free(&document);
    OUTPUT_HAS("\nhit 3: at least 1,300 cycles, ",
               "; exceptions inside, at least 36 cycles of their entry and exit\n", "\nhit 4: 1,200 cycles, ",
               "; exceptions were not counted in this hit's pass\n");
}

/* ---- guard */

static void guard_is(const char *line, const char *text)
{
    struct guard_view view = {.out = output(), .columns = 80, .event = "CPU_CYCLES", .budget = 1200};
    struct document document = document_from(line);
    guard_put_line(&view, json_array_get(document.lines, 0));
    document_free(&document);
    output_is(text);
}

#define STACK                                                                                                \
    ",'callers':[{'address':'0x1fff','function':'main'},{'address':'0x2fff','function':'0x2ffe','guess':"    \
    "true}],"                                                                                                \
    "'cut':'code without call frame information','registers':{'r0':'0x000000ff','pc':'0x00001000'}}"

TEST(an_overrun)
{
    guard_is(
        "{'type':'overrun','overrun':2,'calls':1234,'counted':1204,'skid':4,'address':'0x1000','function':"
        "'evil\\u001b[2J'" STACK,
        "overrun 2 after 1,234 calls: evil\xEF\xBF\xBD[2J, after 1,204 cycles, skid 4\n"
        "  called by main\n"
        "  called by 0x2ffe (a guess)\n"
        "  the stack is cut short: code without call frame information\n"
        "  r0 0x000000FF  pc 0x00001000\n");
    guard_is("{'type':'overrun','overrun':2,'calls':1,'counted':1204,'skid':4}",
             "overrun 2 after 1 call: where its registers cannot be read, after 1,204 cycles, skid 4\n");
    guard_is("{'type':'returned','overrun':2,'counted':31}", "  returned after 31 cycles\n");
    guard_is("{'type':'returned','overrun':2,'counted':31,'spread':2}",
             "  returned after 31 cycles, or up to 2 fewer\n");
    guard_is("{'type':'overrun','overrun':2,'calls':1,'counted':1254,'skid':54,'unproved':true}",
             "overrun 2 after 1 call: where its registers cannot be read, after 1,254 cycles, skid 54; "
             "not proved, for an interrupt may have run in it that a halt had delayed\n");
    guard_is("{'type':'returned','overrun':2,'counted':1300,'spread':1300,'unproved':true}",
             "  returned after at most 1,300 cycles: no proof of an overrun\n");
    guard_is("{'type':'left','overrun':2}", "  the call had been left: this is not an overrun\n");
}

TEST(the_line_of_an_overrun)
{
    struct guard_report report = {.out = output(), .format = FORMAT_JSON, .event = "CPU_CYCLES"};
    const struct guard_overrun overrun = {
        .number = 2,
        .calls = 3,
        .has_pc = true,
        .place = {.registers = {{"r0", 0xFF}},
                  .n_registers = 1,
                  .stack = {.at = {{.pc = 0x1000, .is_exact = true}, {.pc = 0x3000, .is_guess = true}},
                            .count = 2,
                            .end = UNWIND_NO_RULES}}};
    assert_true(guard_report_overrun(&report, &overrun));
    output_is("{\"type\":\"overrun\",\"overrun\":2,\"calls\":3,\"counted\":0,\"skid\":0,"
              "\"address\":\"0x00001000\",\"function\":\"0x00001000\",\"callers\":["
              "{\"address\":\"0x00002fff\",\"function\":\"0x00002ffe\",\"guess\":true}],"
              "\"cut\":\"code without call frame information\",\"registers\":{\"r0\":\"0x000000ff\"}}\n");
}

TEST(the_end)
{
    guard_is("{'type':'guard_end','calls':1,'most':1100,'elapsed_s':12,'ended':'time'}",
             "no overruns; 1 call returned in 12 s, the longest took 1,100 cycles\n");
    guard_is("{'type':'guard_end','calls':2,'unclear':1,'unclear_by':15,'most':1015,'most_spread':20,"
             "'halt_cost':30,'elapsed_s':12,'ended':'time'}",
             "no overruns; 2 calls returned in 12 s, the longest took 1,015 cycles, or up to 20 fewer\n"
             "1 call may have been over the budget, by at most 15 cycles: "
             "what a halt costs differs, or what it delayed ran in them\n");
    guard_is(
        "{'type':'guard_end','calls':2,'overruns':1,'unproved':1,'unclear':1,'unclear_by':15,'most':1215,"
        "'most_spread':1215,'skid':15,'elapsed_s':12,'ended':'time'}",
        "1 overrun, not proved; 2 calls returned in 12 s, the longest took at most 1,215 cycles\n"
        "1 call may have been over the budget, by at most 15 cycles: what a halt costs is not known\n");
    guard_is("{'type':'guard_end','calls':9,'overruns':3,'unproved':1,'most':1215,'halt_cost':9,'skid':15,"
             "'elapsed_s':12,'ended':'time'}",
             "3 overruns, 1 of them not proved; 9 calls returned in 12 s, the longest took 1,215 cycles\n"
             "the budget was exceeded by at most 15 cycles\n");
    guard_is("{'type':'guard_end','elapsed_s':12,'ended':'Ctrl-C'}",
             "no overruns; 0 calls returned in 12 s\nended by Ctrl-C\n");
    guard_is("{'type':'guard_end','calls':2,'most':1100,'elapsed_s':12,'ended':'error'}",
             "no overruns; 2 calls returned in 12 s, the longest took 1,100 cycles\nended by an error\n");
    guard_is("{'type':'guard_end','calls':7,'tainted':7,'elapsed_s':12,'ended':'time'}",
             "no overruns; 7 calls returned in 12 s\n"
             "in 7 calls an interrupt ran that a halt had delayed\n");
    guard_is("{'type':'guard_end','calls':7,'left':1,'elapsed_s':12,'ended':'time'}",
             "no overruns; 7 calls returned in 12 s, the longest took 0 cycles\n"
             "1 call left without returning, not counted\n");
    guard_is(
        "{'type':'guard_end','calls':10000,'overruns':1,'unstopped':1,'most':1100,'skid':4,'elapsed_s':12,"
        "'ended':'no return','kept':true}",
        "1 overrun; 10,000 calls returned in 12 s, the longest took 1,100 cycles\n"
        "the budget was exceeded by at most 4 cycles\n"
        "1 call over the budget returned before the core could be stopped\n"
        "the last call did not return\n"
        "the core is left halted there, for a debugger\n");
}
