/*
 * OpenOCD's interpreter by way of `monitor`: how scripts are packed, and what is made of replies.
 */
#include "../test.h"
#include "debuggers/openocd_monitor.h"

#include <stdio.h>

enum { LINES = 64, ROOM = 32 * 1024 };

/* A debugger that keeps what it is sent and answers from a list. */
static struct teller {
    struct debugger debugger; /* first */
    char lines[LINES][OPENOCD_MONITOR_LINE];
    size_t n;
    const char *const *replies; /* to the lines from the second on; NULL at the end: refused */
    enum error_kind refusal;
} teller;

static bool tell(struct debugger *debugger, const char *command, char *out, size_t size,
                 const struct deadline *deadline, struct error *error)
{
    (void)debugger;
    (void)deadline;
    assert_true(teller.n < LINES && strlen(command) < OPENOCD_MONITOR_LINE);
    assert_null(strpbrk(command, "\n\x1a"));
    memcpy(teller.lines[teller.n], command, strlen(command) + 1);
    if (teller.n++ == 0) {
        out[0] = '\0';
        return true;
    }
    if (teller.replies[0] == NULL)
        return error_set(error, teller.refusal, "no");
    snprintf(out, size, "%s", *teller.replies++);
    return true;
}

static enum openocd_end ask(const char *script, const char *const *replies, char *answer, size_t room,
                            size_t *length)
{
    static const struct debugger_ops ops = {.monitor = tell};
    static struct openocd_monitor monitor;
    struct deadline deadline = deadline_in_ms(10000, NULL);
    enum error_kind refusal = teller.refusal;
    memset(&teller, 0, sizeof teller);
    teller.debugger.ops = &ops;
    teller.replies = replies;
    teller.refusal = refusal;
    openocd_monitor_init(&monitor, &teller.debugger);
    return monitor.transport.ask(monitor.transport.context, script, strlen(script), answer, room, length,
                                 &deadline);
}

TEST(a_script_is_a_string_of_tcl)
{
    static const char *const replies[] = {"\x02.42\x03", NULL};
    char answer[64];
    size_t length = 0;
    assert_int_equal(ask("set a \"$b[c]\\{d}\"\nexpr {6 * 7}", replies, answer, sizeof answer, &length),
                     OPENOCD_ANSWERED);
    assert_int_equal(length, 2);
    assert_memory_equal(answer, "42", 2);
    assert_int_equal(teller.n, 2);
    assert_string_equal(teller.lines[1],
                        "append ::pmu_in \"set a \\\"\\$b\\[c\\]\\\\\\{d\\}\\\"\\nexpr \\{6 * 7\\}"
                        "\"; pmu_monitor");
}

TEST(a_long_script_goes_in_pieces)
{
    static char script[10001], answer[64];
    static const char *const replies[] = {"", "", "", "", "", "", "", "", "\x02.done\x03", NULL};
    size_t length = 0, sent = 0;
    memset(script, '$', sizeof script - 1); /* each takes two characters */
    assert_int_equal(ask(script, replies, answer, sizeof answer, &length), OPENOCD_ANSWERED);
    assert_int_equal(teller.n, 1 + 9);
    for (size_t i = 1; i < teller.n; i++)
        for (const char *at = teller.lines[i]; (at = strchr(at, '$')) != NULL; at++)
            sent++;
    assert_int_equal(sent, sizeof script - 1);
}

TEST(a_long_answer_comes_in_pieces)
{
    static const char *const replies[] = {"Info : something\n\x02+abc\x03", "\x02+def\x03", "\x02.g\x03\n",
                                          NULL};
    char answer[64];
    size_t length = 0;
    assert_int_equal(ask("x", replies, answer, sizeof answer, &length), OPENOCD_ANSWERED);
    assert_int_equal(length, 7);
    assert_memory_equal(answer, "abcdefg", 7);
    assert_string_equal(teller.lines[2], "pmu_more");
}

TEST(what_is_no_answer_is_none)
{
    static const struct {
        const char *replies[4];
        enum openocd_end end;
    } lines[] = {
        {{"", NULL}, OPENOCD_CLOSED},
        {{"42", NULL}, OPENOCD_CLOSED},
        {{"\x03\x02", NULL}, OPENOCD_CLOSED},
        {{"\x02\x03", NULL}, OPENOCD_CLOSED},
        {{"\x02.cut", NULL}, OPENOCD_CLOSED},
        {{"\x02+\x03", NULL}, OPENOCD_CLOSED}, /* would go on for ever */
        {{"\x02.more than there is room for\x03", NULL}, OPENOCD_TOO_LONG},
        {{"\x02+12345678\x03", "\x02+12345678\x03", "\x02.12345678\x03", NULL}, OPENOCD_TOO_LONG},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char answer[20];
        size_t length = 0;
        assert_int_equal(ask("x", lines[i].replies, answer, sizeof answer, &length), lines[i].end);
    }
}

TEST(a_debugger_that_fails)
{
    static const struct {
        enum error_kind kind;
        enum openocd_end end;
    } lines[] = {{ERROR_LINK_LOST, OPENOCD_CLOSED},
                 {ERROR_LINK_PROTOCOL, OPENOCD_CLOSED},
                 {ERROR_CANCELLED, OPENOCD_CANCELLED},
                 {ERROR_ASLEEP, OPENOCD_SILENT},
                 {ERROR_FAULT, OPENOCD_SILENT}};
    static const char *const none[] = {NULL};
    for (size_t i = 0; i < COUNT(lines); i++) {
        char answer[20];
        size_t length = 0;
        teller.refusal = lines[i].kind;
        assert_int_equal(ask("x", none, answer, sizeof answer, &length), lines[i].end);
    }
}

TEST(which_target_it_is)
{
    static const struct debugger_ops ops = {.monitor = tell};
    static const char *const replies[] = {"\x02.a9.cpu1\x03", NULL}, *const none[] = {"a9.cpu1", NULL};
    static struct openocd_monitor monitor;
    struct deadline deadline = deadline_in_ms(10000, NULL);
    struct error error = {0};
    char name[16];
    memset(&teller, 0, sizeof teller);
    teller.debugger.ops = &ops;
    teller.replies = replies;
    openocd_monitor_init(&monitor, &teller.debugger);
    assert_true(openocd_monitor_target(&monitor, name, sizeof name, &deadline, &error));
    assert_string_equal(name, "a9.cpu1");
    teller.replies = none;
    assert_fails(openocd_monitor_target(&monitor, name, sizeof name, &deadline, &error), &error,
                 ERROR_LINK_PROTOCOL, "");
}
