/* Source files: found by the end of their paths, read by lines, whatever is in them. */
#include "test.h"

#include "profile/annotation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char before[1024], folder[] = "/tmp/pmu-source-XXXXXX";

static int begin(void **state)
{
    (void)state;
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    return getcwd(before, sizeof before) == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0 ||
           mkdir("src", 0700) != 0;
}

static int end(void **state)
{
    (void)state;
    unlink("src/a.c");
    return rmdir("src") != 0 || chdir(before) != 0 || rmdir(folder) != 0;
}

#define SOURCE_TEST(name) TEST_WITH(name, begin, end)

static void write_file(const char *bytes, size_t n)
{
    FILE *file = fopen("src/a.c", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

SOURCE_TEST(lines_and_tabs)
{
    struct source_text text;
    char path[128];
    static const char bytes[] = "one\r\n\tx\ty\n\n\303\244\tz\nNUL\0 last";
    write_file(bytes, sizeof bytes - 1);
    snprintf(path, sizeof path, "%s/src/a.c", folder);
    assert_true(source_text_read(path, &text));
    assert_string_equal(text.path, path);
    assert_true(text.changed > 0);
    assert_int_equal(text.n, 5);
    assert_string_equal(source_text_line(&text, 1), "one");
    assert_string_equal(source_text_line(&text, 2), "        x       y");
    assert_string_equal(source_text_line(&text, 3), "");
    assert_string_equal(source_text_line(&text, 4), "\303\244       z");
    assert_string_equal(source_text_line(&text, 5), "NUL? last");
    assert_null(source_text_line(&text, 0));
    assert_null(source_text_line(&text, 6));
    source_text_free(&text);
}

SOURCE_TEST(from_another_folder)
{
    struct source_text text;
    write_file("x\n", 2);
    assert_true(source_text_read("/builds/4711/app/src/a.c", &text));
    assert_string_equal(text.path, "src/a.c");
    assert_int_equal(text.n, 1);
    source_text_free(&text);
    assert_true(source_text_read("C:\\builds\\src/a.c", &text));
    assert_string_equal(text.path, "src/a.c");
    source_text_free(&text);
    assert_true(source_text_read("/builds/4711/app/lib/a.c", &text));
    assert_null(text.path);
    assert_null(source_text_line(&text, 1));
    source_text_free(&text);
}

/* A FIFO would wait for ever, a device never end. */
SOURCE_TEST(only_plain_files)
{
    struct source_text text;
    assert_int_equal(mkfifo("src/a.c", 0600), 0);
    assert_true(source_text_read("src/a.c", &text));
    assert_null(text.path);
    assert_true(source_text_read("/dev/zero", &text));
    assert_null(text.path);
    assert_true(source_text_read("src", &text));
    assert_null(text.path);
    assert_true(source_text_read("", &text));
    assert_null(text.path);
    assert_int_equal(unlink("src/a.c"), 0);
    write_file("x", 1);
    assert_int_equal(truncate("src/a.c", SOURCE_TEXT_BYTES + 1), 0);
    assert_true(source_text_read("src/a.c", &text));
    assert_null(text.path);
}
