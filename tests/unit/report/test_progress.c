/* One line that is written over and over, on a terminal. */
#include "screens.h"

#include "report/canvas.h"

static FILE *terminal;
static struct progress progress;

static void begin(unsigned short columns)
{
    resize(columns, 24);
    terminal = fdopen(dup(f.slave), "w");
    assert_non_null(terminal);
    progress_begin(&progress, terminal);
}

static int end(void **state)
{
    if (terminal != NULL)
        fclose(terminal);
    terminal = NULL;
    return screens_end(state);
}

#define PROGRESS_TEST(name) TEST_WITH(name, screens_begin, end)

PROGRESS_TEST(shown_after_a_second_and_erased)
{
    begin(80);
    progress_show(&progress, "%d of 100 hits", 1);
    progress_clear(&progress);
    assert_string_equal(got(), "");

    progress.next_us -= 900000;
    progress_show(&progress, "%d of 100 hits", 2);
    assert_string_equal(got(), "");
    progress.next_us -= 100000;
    progress_show(&progress, "%d of 100 hits", 17);
    assert_string_equal(got(), "\r17 of 100 hits");
    progress_show(&progress, "%d of 100 hits", 18); /* too soon after the last */
    assert_string_equal(got(), "");
    progress.next_us = 0;
    progress_show(&progress, "± µs");
    assert_string_equal(got(), "\r± µs          \b\b\b\b\b\b\b\b\b\b");
    progress_clear(&progress);
    assert_string_equal(got(), "\r    \r");
    progress_clear(&progress);
    assert_string_equal(got(), "");
}

PROGRESS_TEST(cut_to_the_terminal)
{
    begin(6);
    progress_now(&progress, "%s", "µµµ\x1B µµµ");
    assert_string_equal(got(), "\rµµµ\xEF\xBF\xBD ");
    progress_clear(&progress);
    assert_string_equal(got(), "\r     \r");
}

TEST(nothing_where_there_is_no_terminal)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    progress_begin(&progress, file);
    progress.next_us = 0;
    progress_show(&progress, "17 of 100 hits");
    progress_clear(&progress);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}

/* N of M and the time left, once there is a rate; what is waited for, while nothing comes. */
PROGRESS_TEST(a_count_with_the_time_left)
{
    begin(80);
    progress.next_us = 0;
    progress_count(&progress, 0, 1000, "hits", "waiting for f");
    assert_string_equal(got(), "\r0 of 1,000 hits, waiting for f");
    progress_count(&progress, 20, 1000, "hits", "waiting for f"); /* too soon, but this is the first one */
    assert_string_equal(got(), "");
    progress.first_us -= 10000000; /* ten seconds for the next hundred */
    progress.next_us = 0;
    progress_count(&progress, 120, 1000, "hits", "in the region");
    const char *shown = got();
    assert_non_null(strstr(shown, "\r120 of 1,000 hits, 88 s left "));
    progress.next_us = 0;
    progress.last_us -= 2000000; /* none for two seconds */
    progress_count(&progress, 120, 1000, "hits", "in the region");
    assert_non_null(strstr(got(), "\r120 of 1,000 hits, in the region"));
    progress.next_us = 0;
    progress_count(&progress, 121, 0, "hits", "");
    assert_non_null(strstr(got(), "\r121 hits "));
    progress_now(&progress, "connecting to %s", "x");
    assert_non_null(strstr(got(), "\rconnecting to x"));
    progress_clear(&progress);
}
