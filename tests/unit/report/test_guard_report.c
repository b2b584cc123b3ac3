/* What guard prints of its overruns, as text and as JSON lines. */
#include "report/fresh.h"

#include "report/guard_report.h"

static const struct unwind_stack stack = {
    .count = 3,
    .at = {{.pc = 0x1000, .is_exact = true}, {.pc = 0x2000}, {.pc = 0x3000, .is_guess = true}},
    .end = UNWIND_NO_RULES};

static struct guard_overrun an_overrun(void)
{
    return (struct guard_overrun){
        .number = 2,
        .calls = 1234,
        .counted = 1204,
        .skid = 4,
        .has_pc = true,
        .place = {.registers = {{"r0", 0xFF}, {"pc", 0x1000}}, .n_registers = 2, .stack = stack}};
}

static struct guard_report as(enum format format)
{
    return (struct guard_report){
        .out = output(), .format = format, .event = "CPU_CYCLES", .way = "DWT cycle match", .budget = 1200};
}

FRESH_TEST(an_overrun_with_its_stack)
{
    struct guard_report report = as(FORMAT_TEXT);
    struct guard_overrun overrun = an_overrun();
    assert_true(guard_report_overrun(&report, &overrun));
    output_is("overrun 2 after 1,234 calls: 0x00001000, after 1,204 cycles, skid 4\n"
              "  called by 0x00001ffe\n"
              "  called by 0x00002ffe (a guess)\n"
              "  the stack is cut short: code without call frame information\n"
              "  r0 0x000000FF  pc 0x00001000\n");
}

FRESH_TEST(an_overrun_somewhere_else)
{
    struct guard_report report = as(FORMAT_TEXT);
    struct guard_overrun overrun = an_overrun();
    overrun.calls = 1;
    overrun.has_pc = false;
    assert_true(guard_report_overrun(&report, &overrun));
    output_is("overrun 2 after 1 call: where its registers cannot be read, after 1,204 cycles, skid 4\n");
}

FRESH_TEST(what_the_call_took)
{
    struct guard_report report = as(FORMAT_TEXT);
    report.event = "L1D_CACHE_REFILL";
    assert_true(guard_report_returned(&report, 2, 31));
    output_is("  returned after 31 L1D_CACHE_REFILL\n");
}

FRESH_TEST(a_call_that_had_been_left)
{
    struct guard_report report = as(FORMAT_TEXT);
    const struct guard_result result = {.calls = 7, .left = 1, .elapsed_s = 12, .end = GUARD_TIME};
    assert_true(guard_report_left(&report, 2));
    output_is("  the call had been left without returning: this is not an overrun\n");
    report.out = output();
    assert_true(guard_report_end(&report, &result));
    output_is("no overruns; 7 calls returned in 12 s, the longest took 0 cycles\n1 call was left without "
              "returning\n");
    report = as(FORMAT_JSON);
    assert_true(guard_report_left(&report, 2));
    output_is("{\"type\":\"left\",\"overrun\":2}\n");
    report.out = output();
    assert_true(guard_report_end(&report, &result));
    output_is("{\"type\":\"guard_end\",\"calls\":7,\"overruns\":0,\"unstopped\":0,\"left\":1,\"most\":0,"
              "\"halt_cost\":0,\"elapsed_s\":12.0,\"ended\":\"time\"}\n");
}

FRESH_TEST(the_end)
{
    struct guard_report report = as(FORMAT_TEXT);
    struct guard_result result = {
        .calls = 10000, .most = 1100, .elapsed_s = 12, .halt_least = 1, .end = GUARD_TIME};
    assert_true(guard_report_end(&report, &result));
    output_is("no overruns; 10,000 calls returned in 12 s, the longest took 1,100 cycles\n");
    result.overruns = result.unstopped = 1;
    result.skid = 4;
    result.is_kept = true;
    result.end = GUARD_NO_RETURN;
    report.out = output();
    assert_true(guard_report_end(&report, &result));
    output_is("1 overrun; 10,000 calls returned in 12 s, the longest took 1,100 cycles\n"
              "the budget was exceeded by at most 4 cycles\n"
              "1 call over the budget returned before the core could be stopped\n"
              "the last call did not return\n"
              "the core is left halted there, for a debugger\n");
}

FRESH_TEST(json_lines)
{
    struct guard_report report = as(FORMAT_JSON);
    struct guard_overrun overrun = an_overrun();
    struct guard_result result = {.calls = 3, .overruns = 1, .skid = 4, .elapsed_s = 0.5, .halt_most = 2};
    overrun.is_elsewhere = true;
    assert_true(guard_report_overrun(&report, &overrun));
    output_is("{\"type\":\"overrun\",\"overrun\":2,\"calls\":1234,\"counted\":1204,\"skid\":4,"
              "\"address\":\"0x00001000\",\"function\":\"0x00001000\",\"callers\":["
              "{\"address\":\"0x00001fff\",\"function\":\"0x00001ffe\"},"
              "{\"address\":\"0x00002fff\",\"function\":\"0x00002ffe\",\"guess\":true}],"
              "\"cut\":\"code without call frame information\",\"elsewhere\":true,"
              "\"registers\":{\"r0\":\"0x000000ff\",\"pc\":\"0x00001000\"}}\n");
    report.out = output();
    assert_true(guard_report_returned(&report, 2, 31));
    output_is("{\"type\":\"returned\",\"overrun\":2,\"counted\":31}\n");
    report.out = output();
    assert_true(guard_report_end(&report, &result));
    output_is("{\"type\":\"guard_end\",\"calls\":3,\"overruns\":1,\"unstopped\":0,\"most\":0,"
              "\"halt_cost\":0,\"skid\":4,\"elapsed_s\":0.5,\"ended\":\"overruns\"}\n");
}
