/*
 * Whole outputs are in tests/golden, as files. `make golden` writes them anew, and a person reads the diff.
 *
 *     assert_true(summary_write(TO(FORMAT_CSV), summary, NULL));
 *     output_is_golden("formats/no_number.csv");
 *
 * In these files \e, \r, \t, \b and \x07 are control characters, and \\ is a backslash.
 */
#pragma once

#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GOLDEN "tests/golden/"

static struct golden_output {
    FILE *file;
    char *text;
    size_t size;
} golden_output;

static inline void golden_close(void)
{
    if (golden_output.file != NULL)
        fclose(golden_output.file);
    golden_output.file = NULL;
}

/* The stream that a test is to print to, empty. The functions below close it. */
static inline FILE *output(void)
{
    golden_close();
    free(golden_output.text);
    golden_output.text = NULL;
    golden_output.file = open_memstream(&golden_output.text, &golden_output.size);
    assert_non_null(golden_output.file);
    return golden_output.file;
}

/* A stream with no room for anything. */
static inline FILE *output_full(void)
{
    static FILE *full;
    if (full != NULL)
        fclose(full);
    full = fopen("/dev/full", "w");
    assert_non_null(full);
    return full;
}

/* What was printed. To be freed. */
static inline char *output_text(size_t *size)
{
    char *text;
    golden_close();
    text = golden_output.text;
    golden_output.text = NULL;
    if (size != NULL)
        *size = golden_output.size;
    return text;
}

/* What was printed has each of these, in this order; it stays, for what else is asked of it. */
static inline void output_has_each(const char *const *parts)
{
    golden_close();
    for (const char *at = golden_output.text; *parts != NULL; parts++) {
        const char *found = strstr(at, *parts);
        if (found == NULL)
            fail_msg("\"%s\" is not where it belongs in:\n%s", *parts, golden_output.text);
        at = found + strlen(*parts);
    }
}

static inline void output_lacks_each(const char *const *parts)
{
    golden_close();
    for (; *parts != NULL; parts++)
        if (strstr(golden_output.text, *parts) != NULL)
            fail_msg("\"%s\" is in:\n%s", *parts, golden_output.text);
}

#define OUTPUT_HAS(...)   output_has_each((const char *const[]){__VA_ARGS__, NULL})
#define OUTPUT_LACKS(...) output_lacks_each((const char *const[]){__VA_ARGS__, NULL})

/* For lines that are read better next to the code that makes them. */
static inline void output_is(const char *expected)
{
    char *text = output_text(NULL);
    assert_string_equal(text, expected);
    free(text);
}

/* How often a text has a part. With memmem: under the sanitizer strstr measures the whole rest each time. */
static inline size_t text_times(const char *text, const char *part)
{
    const char *end = text + strlen(text);
    size_t n = 0;
    for (; (text = memmem(text, (size_t)(end - text), part, strlen(part))) != NULL; text++)
        n++;
    return n;
}

static inline char *golden_escaped(const char *text, size_t size, size_t *size_out)
{
    static const char controls[] = "\033\r\t\b\\", letters[] = "ertb\\";
    char *escaped = NULL;
    FILE *out = open_memstream(&escaped, size_out);
    assert_non_null(out);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *control = memchr(controls, c, sizeof controls - 1);
        if (control != NULL)
            fprintf(out, "\\%c", letters[control - controls]);
        else if ((c < ' ' && c != '\n') || c == 0x7F)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fclose(out);
    return escaped;
}

static inline void golden_write(const char *path, const char *text, size_t size)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(folder, 0777);
    }
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(text, 1, size, file) != size || fclose(file) != 0)
        fail_msg("%s cannot be written", path);
}

/* The length of the first line, with its end. */
static inline size_t golden_line(const char *text, const char *end)
{
    const char *stop = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
    return (size_t)((stop != NULL ? stop + 1 : end) - text);
}

/* What a line has around its byte `at`: cmocka cuts long messages. */
static inline const char *golden_shown(char out[static 400], const char *line, size_t length, size_t at)
{
    bool ends = length > 0 && line[length - 1] == '\n';
    size_t skipped = at > 200 ? at - 100 : 0, shown = length - ends - skipped;
    snprintf(out, 400, "%s%.*s%s", skipped > 0 ? "..." : "", (int)(shown < 360 ? shown : 360), line + skipped,
             length == 0 ? "(the end)"
             : ends      ? ""
                         : " (no newline)");
    return out;
}

static inline void golden_compare(const char *path, const char *expected, size_t expected_size,
                                  const char *got, size_t got_size)
{
    const char *expected_end = expected + expected_size, *got_end = got + got_size;
    for (unsigned line = 1; expected < expected_end || got < got_end; line++) {
        size_t wanted = golden_line(expected, expected_end), have = golden_line(got, got_end), same = 0;
        while (same < wanted && same < have && expected[same] == got[same])
            same++;
        if (same < wanted || same < have) {
            char a[400], b[400];
            fail_msg("%s:%u differs\nexpected %s\ngot      %s", path, line,
                     golden_shown(a, expected, wanted, same), golden_shown(b, got, have, same));
        }
        expected += wanted;
        got += have;
    }
}

/* `text` is what tests/golden/`name` says; with PMU_GOLDEN=write it is written there. */
static inline void golden_check(const char *name, const char *text, size_t size)
{
    char path[256], *expected = NULL;
    size_t got_size = 0, expected_size = 0, room = 0;
    char *got = golden_escaped(text, size, &got_size);
    const char *mode = getenv("PMU_GOLDEN");
    snprintf(path, sizeof path, GOLDEN "%s", name);
    if (mode != NULL && strcmp(mode, "write") == 0) {
        golden_write(path, got, got_size);
        free(got);
        return;
    }
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s is missing: `make golden` writes it", path);
    ssize_t n = getdelim(&expected, &room, '\0', file); /* which is escaped, so it is all */
    expected_size = n > 0 ? (size_t)n : 0;
    fclose(file);
    golden_compare(path, expected, expected_size, got, got_size);
    free(expected);
    free(got);
}

static inline void output_is_golden(const char *name)
{
    size_t size = 0;
    char *text = output_text(&size);
    golden_check(name, text, size);
    free(text);
}
