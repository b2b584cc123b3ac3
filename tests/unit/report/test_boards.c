/* One survey on several boards, as text and as JSON lines. */
#include "../test.h"

#include "report/boards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char m4[] =
    "{\"schema\":\"pmu-probe/2\",\"type\":\"header\",\"command\":\"survey\",\"core\":\"Cortex-M4 r0p1 core "
    "0\"}\n"
    "{\"type\":\"region\",\"name\":\"fir\",\"reached\":true,\"columns\":{\"CPU_CYCLES\":{\"count\":9,"
    "\"mean\":1105,"
    "\"plus_minus\":0}},\"budget\":{\"budget\":\"max <= 1,200 "
    "cycles\",\"verdict\":\"pass\",\"change\":-0.08}}\n"
    "{\"type\":\"region\",\"name\":\"fft\",\"reached\":true,\"columns\":{\"CPU_CYCLES\":{\"count\":9,"
    "\"mean\":90.25,"
    "\"plus_minus\":2}},\"budget\":{\"budget\":\"max <= 80 "
    "cycles\",\"verdict\":\"regressed\",\"change\":0.2}}\n"
    "{\"type\":\"summary\",\"regions\":2,\"reached\":2,\"verdict\":\"regressed\"}\n";
static const char a9[] = "{\"type\":\"header\",\"core\":\"Cortex-A9 r3p0 core 0\"}\n"
                         "{\"type\":\"region\",\"name\":\"fft\",\"reached\":false,\"budget\":{\"budget\":"
                         "\"max <= 80 cycles\",\"verdict\":"
                         "\"inconclusive\",\"why\":\"not reached\"}}\n"
                         "{\"type\":\"region\",\"name\":\"mix\",\"reached\":true,\"columns\":{\"CPU_CYCLES\":"
                         "{\"count\":9,\"mean\":7}}}\n"
                         "{\"type\":\"verdict\",\"verdict\":\"not "
                         "comparable\",\"region\":{\"start\":\"mix\"},\"not_comparable\":[\"another "
                         "core\"]}\n"
                         "{\"type\":\"summary\",\"regions\":2,\"reached\":1,\"verdict\":\"inconclusive\"}\n";

static struct boards_one three[3];
static struct boards boards;

static int set_up(void **state)
{
    (void)state;
    three[0] = (struct boards_one){.name = "disco", .probe = "cmsis-dap:usb:1-1.4", .code = 1};
    three[1] = (struct boards_one){.name = "zynq", .probe = "openocd:lab3", .code = 4};
    three[2] = (struct boards_one){
        .name = "pico", .probe = "cmsis-dap", .code = 3, .why = "no CMSIS-DAP probe\x1b[2J"};
    boards = (struct boards){.of = three, .n = 3, .judged = true, .seconds = 1.5};
    return boards_take(&three[0], m4, sizeof m4 - 1) && boards_take(&three[1], a9, sizeof a9 - 1) &&
                   !boards_take(&three[2], "", 0)
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    boards_free(&boards);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static char *printed(size_t columns)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_true(columns > 0 ? boards_text(out, &boards, columns) : boards_json(out, &boards));
    fclose(out);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, text);
}

FRESH_TEST(a_table_of_region_by_board)
{
    char *text = printed(80);
    assert_has(text, "disco: Cortex-M4 r0p1 core 0, cmsis-dap:usb:1-1.4\n"
                     "zynq: Cortex-A9 r3p0 core 0, openocd:lab3\n"
                     "pico: failed: no CMSIS-DAP probe");
    assert_has(text, "\nregion  disco                     zynq\n"
                     "fir        1,105 pass\n");
    assert_has(text, "over the budget    inconclusive\n"
                     "mix                               7 not comparable\n");
    assert_has(text, "fft on zynq: not reached\n");
    assert_has(text, "mix on zynq: another core\n");
    assert_has(text, "2 of 3 boards measured, in 1.5 s\n"
                     "verdict: regressed; 1 pass, 1 regressed, 1 inconclusive, 1 not comparable\n");
    assert_null(strchr(text, '\x1b'));
    free(text);
}

FRESH_TEST(a_list_where_a_table_is_too_wide)
{
    char *text = printed(40);
    assert_has(text, "\nfft\n  disco  ");
    assert_has(text, "over the budget\n  zynq   ");
    assert_null(strstr(text, "region "));
    free(text);
}

FRESH_TEST(lines_name_their_board)
{
    char *text = printed(0);
    assert_has(text, "\"command\":\"survey\"");
    assert_has(
        text,
        "{\"type\":\"board\",\"board\":\"disco\",\"probe\":\"cmsis-dap:usb:1-1.4\",\"command\":\"survey\","
        "\"core\":\"Cortex-M4 r0p1 core 0\"}\n{\"type\":\"region\",\"board\":\"disco\",\"name\":\"fir\",");
    assert_has(text, "{\"type\":\"board_end\",\"board\":\"disco\",\"exit_code\":1,\"regions\":2,");
    assert_has(text, "{\"type\":\"verdict\",\"board\":\"zynq\",");
    assert_has(
        text,
        "{\"type\":\"board_end\",\"board\":\"pico\",\"probe\":\"cmsis-dap\",\"exit_code\":3,\"error\":\"no ");
    assert_has(text, "{\"type\":\"summary\",\"boards\":3,\"failed\":1,\"seconds\":1.5}\n");
    free(text);
}

TEST(what_is_no_survey_is_a_failure)
{
    static const char *const wrong[] = {"",
                                        "x\n",
                                        "[1]\n",
                                        "{}\n",
                                        "{\"type\":\"header\"}\n",
                                        "{\"type\":\"header\"}\n{\"type\":\"region\"}\n",
                                        "{\"type\":\"header\"}\n\n{\"type\":\"summary\"}\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct boards_one one = {.name = "a", .probe = "b"};
        assert_false(boards_take(&one, wrong[i], strlen(wrong[i])));
        assert_true(one.why[0] != '\0' && !one.complete);
        boards_free(&(struct boards){.of = &one, .n = 1});
    }
}
