#include "base/deadline.h"
#include "base/log.h"
#include "test.h"

#include <stdlib.h>

/* What a log of this level gets, without its times. */
static const char *told(unsigned level, void (*tell)(const struct log *))
{
    static char text[16384];
    char *all = NULL;
    size_t size = 0, used = 0;
    struct log log = {.out = open_memstream(&all, &size), .level = level, .begun_us = deadline_now_us()};
    tell(&log);
    fclose(log.out);
    for (const char *line = all; *line != '\0';) {
        const char *end = strchr(line, '\n');
        double seconds = strtod(line, NULL);
        assert_non_null(end);
        assert_true(seconds >= 0 && seconds < 1000);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%.*s", (int)(end + 1 - line - 12), line + 12);
        line = end + 1;
    }
    free(all);
    text[used] = '\0';
    return text;
}

static void tell_all(const struct log *log)
{
    log_line(log, "core %d: %s", 0, "a\033b");
    log_words(log, "openocd", "one\n\ntwo\x01", 9);
    log_bytes(log, '>', "dap", (const uint8_t[]){0, 0x5A, 0xFF}, 3, "DAP_Info");
    log_bytes(log, '<', "dap", NULL, 0, NULL);
    log_text(log, '>', "tcl", "a\nb\x1a", 4);
}

TEST(brief_is_what_is_there)
{
    assert_string_equal(told(LOG_BRIEF, tell_all), "core 0: a\\x1bb\nopenocd: one\nopenocd: two\\x01\n");
}

TEST(all_is_what_is_said_too)
{
    assert_string_equal(told(LOG_ALL, tell_all), "core 0: a\\x1bb\nopenocd: one\nopenocd: two\\x01\n"
                                                 "dap > 00 5a ff  DAP_Info\ndap <\ntcl > a\\nb\\x1a\n");
}

static void tell_much(const struct log *log)
{
    char text[5000];
    memset(text, 'x', sizeof text);
    log_text(log, '<', "tcl", text, sizeof text);
}

TEST(a_long_answer_is_cut_and_says_so)
{
    const char *text = told(LOG_ALL, tell_much);
    assert_has(text, "x ... (5000 bytes)\n");
    assert_true(strlen(text) < 4100);
}

TEST(nobody_reads)
{
    tell_all(NULL);
}
