#include "../test.h"

#include "report/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* A terminal of our own, and what it was told. */
struct terminal {
    int master;
    FILE *file;
    char got[1024];
};

static void terminal_open(struct terminal *terminal, unsigned short columns)
{
    terminal->master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal->master >= 0 && grantpt(terminal->master) == 0 && unlockpt(terminal->master) == 0);
    terminal->file = fopen(ptsname(terminal->master), "w");
    assert_non_null(terminal->file);
    struct winsize window = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(fileno(terminal->file), TIOCSWINSZ, &window), 0);
    assert_int_equal(fcntl(terminal->master, F_SETFL, O_NONBLOCK), 0);
}

static const char *terminal_got(struct terminal *terminal)
{
    ssize_t n = read(terminal->master, terminal->got, sizeof(terminal->got) - 1);
    terminal->got[n < 0 ? 0 : n] = '\0';
    return terminal->got;
}

static void terminal_close(struct terminal *terminal)
{
    fclose(terminal->file);
    close(terminal->master);
}

TEST(shown_after_a_second_and_erased)
{
    struct terminal terminal;
    struct progress progress;
    terminal_open(&terminal, 80);
    progress_begin(&progress, terminal.file);
    progress_show(&progress, "%d of 100 hits", 1);
    progress_clear(&progress);
    assert_string_equal(terminal_got(&terminal), "");

    progress.next_us -= 900000;
    progress_show(&progress, "%d of 100 hits", 2);
    assert_string_equal(terminal_got(&terminal), "");
    progress.next_us -= 100000;
    progress_show(&progress, "%d of 100 hits", 17);
    assert_string_equal(terminal_got(&terminal), "\r17 of 100 hits");
    progress_show(&progress, "%d of 100 hits", 18); /* too soon after the last */
    assert_string_equal(terminal_got(&terminal), "");
    progress.next_us = 0;
    progress_show(&progress, "± µs");
    assert_string_equal(terminal_got(&terminal), "\r± µs          \b\b\b\b\b\b\b\b\b\b");
    progress_clear(&progress);
    assert_string_equal(terminal_got(&terminal), "\r    \r");
    progress_clear(&progress);
    assert_string_equal(terminal_got(&terminal), "");
    terminal_close(&terminal);
}

TEST(cut_to_the_terminal)
{
    struct terminal terminal;
    struct progress progress;
    terminal_open(&terminal, 6);
    progress_begin(&progress, terminal.file);
    progress.next_us = 0;
    progress_show(&progress, "%s",
                  "µµµ\x1B"
                  "µµµµ");
    assert_string_equal(terminal_got(&terminal), "\rµµµ\xEF\xBF\xBDµ");
    progress_clear(&progress);
    assert_string_equal(terminal_got(&terminal), "\r     \r");
    terminal_close(&terminal);
}

TEST(nothing_where_there_is_no_terminal)
{
    FILE *file = tmpfile();
    struct progress progress;
    assert_non_null(file);
    progress_begin(&progress, file);
    progress.next_us = 0;
    progress_show(&progress, "17 of 100 hits");
    progress_clear(&progress);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}

/* N of M and the time left, once there is a rate; what is waited for, while nothing comes. */
TEST(a_count_with_the_time_left)
{
    struct terminal terminal;
    struct progress progress;
    terminal_open(&terminal, 80);
    progress_begin(&progress, terminal.file);
    progress.next_us = 0;
    progress_count(&progress, 0, 1000, "hits", "waiting for f");
    assert_string_equal(terminal_got(&terminal), "\r0 of 1,000 hits, waiting for f");
    progress_count(&progress, 20, 1000, "hits", "waiting for f"); /* too soon, but this is the first one */
    assert_string_equal(terminal_got(&terminal), "");
    progress.first_us -= 10000000; /* ten seconds for the next hundred */
    progress.next_us = 0;
    progress_count(&progress, 120, 1000, "hits", "in the region");
    const char *shown = terminal_got(&terminal);
    assert_non_null(strstr(shown, "\r120 of 1,000 hits, 88 s left "));
    progress.next_us = 0;
    progress.last_us -= 2000000; /* none for two seconds */
    progress_count(&progress, 120, 1000, "hits", "in the region");
    assert_non_null(strstr(terminal_got(&terminal), "\r120 of 1,000 hits, in the region"));
    progress.next_us = 0;
    progress_count(&progress, 121, 0, "hits", "");
    assert_non_null(strstr(terminal_got(&terminal), "\r121 hits "));
    progress_now(&progress, "connecting to %s", "x");
    assert_non_null(strstr(terminal_got(&terminal), "\rconnecting to x"));
    progress_clear(&progress);
    terminal_close(&terminal);
}
