/* What guard prints of its lines: of an overrun as much as is known. */
#include "report/results.h"

#include "report/place_report.h"

static void expect(const char *line, const char *text)
{
    struct guard_view view = {.out = output(), .columns = 80, .event = "CPU_CYCLES", .budget = 1200};
    struct document document = document_from(line);
    assert_true(guard_put_line(&view, json_array_get(document.lines, 0)));
    document_free(&document);
    output_is(text);
}

#define STACK                                                                                                \
    ",'callers':[{'address':'0x1fff','function':'main'},{'address':'0x2fff','function':'0x2ffe','guess':"    \
    "true}],"                                                                                                \
    "'cut':'code without call frame information','registers':{'r0':'0x000000ff','pc':'0x00001000'}}"

TEST(an_overrun)
{
    expect("{'type':'overrun','overrun':2,'calls':1234,'counted':1204,'skid':4,'address':'0x1000','function':"
           "'evil\\u001b[2J'" STACK,
           "overrun 2 after 1,234 calls: evil\xEF\xBF\xBD[2J, after 1,204 cycles, skid 4\n"
           "  called by main\n"
           "  called by 0x2ffe (a guess)\n"
           "  the stack is cut short: code without call frame information\n"
           "  r0 0x000000FF  pc 0x00001000\n");
    expect("{'type':'overrun','overrun':2,'calls':1,'counted':1204,'skid':4}",
           "overrun 2 after 1 call: where its registers cannot be read, after 1,204 cycles, skid 4\n");
    expect("{'type':'returned','overrun':2,'counted':31}", "  returned after 31 cycles\n");
    expect("{'type':'left','overrun':2}",
           "  the call had been left without returning: this is not an overrun\n");
}

TEST(its_line)
{
    struct guard_report report = {.out = output(), .format = FORMAT_JSON, .event = "CPU_CYCLES"};
    struct guard_overrun overrun = {
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
    overrun.has_pc = false;
    overrun.place.n_registers = 0;
    report.out = output();
    assert_true(guard_report_overrun(&report, &overrun));
    output_is("{\"type\":\"overrun\",\"overrun\":2,\"calls\":3,\"counted\":0,\"skid\":0}\n");
    report.out = output();
    assert_true(guard_report_end(&report, &(struct guard_result){.halt_least = 1, .end = GUARD_TIME}));
    OUTPUT_LACKS("halt_cost"); /* no halt was counted */
}

TEST(the_end)
{
    expect("{'type':'guard_end','calls':7,'left':1,'elapsed_s':12,'ended':'time'}",
           "no overruns; 7 calls returned in 12 s, the longest took 0 cycles\n"
           "1 call was left without returning\n");
    expect("{'type':'guard_end','calls':10000,'overruns':1,'unstopped':1,'most':1100,'skid':4,'elapsed_s':12,"
           "'ended':'no return','kept':true}",
           "1 overrun; 10,000 calls returned in 12 s, the longest took 1,100 cycles\n"
           "the budget was exceeded by at most 4 cycles\n"
           "1 call over the budget returned before the core could be stopped\n"
           "the last call did not return\n"
           "the core is left halted there, for a debugger\n");
}
