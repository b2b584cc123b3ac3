/* The renderer of tables by itself: each way to write a value, in each format and width. */
#include "golden.h"

#include "report/results.h"

#include <math.h>

static const struct view_column columns[] = {
    {.key = "name", .heading = "name", .as = AS_NAME},
    {.key = "count", .heading = "count", .as = AS_COUNT, .least = 1},
    {.key = "mean", .heading = "mean", .as = AS_MEAN, .spare = 1},
    {.key = "least", .heading = "least", .as = AS_COUNT, .spare = 2},
    {.key = "share", .heading = "share", .as = AS_SHARE, .needs = "count", .mark = "vague", .none = "?"},
    {.key = "change", .heading = "change", .as = AS_CHANGE},
    {.key = "never", .heading = "never", .as = AS_COUNT},
    {.key = "verdict", .heading = "verdict", .as = AS_VERDICT, .wide = true},
    {.key = "remark", .heading = "remark", .below = true},
    {.key = "odd", .heading = "odd", .optional = true, .only = "odd"},
};
static const struct view view = {.columns = columns,
                                 .n = sizeof columns / sizeof *columns,
                                 .class = "some",
                                 .caption = "A table",
                                 .folds = true,
                                 .reason = "reason",
                                 .faint = "faint"};

static json_t *rows_of(const char *text)
{
    json_error_t error;
    json_t *rows = json_loads(text, 0, &error);
    if (rows == NULL)
        fail_msg("%s", error.text);
    return rows;
}

static json_t *some_rows(void)
{
    return rows_of(
        "[{\"name\":\"fir\",\"count\":18204,\"mean\":94.25,\"least\":7,\"share\":0.4177,\"change\":0.0015,"
        "\"verdict\":[{\"of\":\"pass\",\"before\":\"a: \",\"verdict\":\"pass\"},"
        "{\"of\":\"regressed\",\"verdict\":\"regressed\",\"why\":\": so\",\"bad\":true}]},"
        "{\"name\":\"a name|that is *longer* than its <column>\",\"count\":18446744073709551615.0,"
        "\"mean\":1e9,\"least\":0,\"share\":0.5,\"vague\":true,\"faint\":true,\"remark\":\"not resolved\"},"
        "{\"name\":\"idle\",\"state\":\"not_permitted\",\"count\":0},"
        "{\"name\":\"none\",\"reason\":\"<not counted>: it has no such counter at all\"}]");
}

static void print(FILE *out, enum format format, size_t width, char separator)
{
    const struct rendering to = {.out = out, .format = format, .columns = width, .separator = separator};
    assert_true(render_table(&to, &view, some_rows()));
}

/* Lines of one width after another: what has no room goes below, columns that can be spared are left out,
 * names get lines of their own, and then each row is a block. No number is cut. */
TEST(text_of_each_width)
{
    static const size_t widths[] = {200, 100, 80, 60, 30, 1};
    FILE *out = output();
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        fprintf(out, "%s%zu\n", i > 0 ? "\n" : "", widths[i]);
        print(out, FORMAT_TEXT, widths[i], ',');
    }
    output_is_golden("render/table.txt");
}

TEST(other_formats)
{
    print(output(), FORMAT_CSV, 80, ';');
    output_is_golden("render/table.csv");
    print(output(), FORMAT_MARKDOWN, 80, ',');
    output_is_golden("render/table.md");
    print(output(), FORMAT_HTML, 80, ',');
    output_is_golden("render/table.html");
}

/* A heading without rows, rows without a heading, and a separator that numbers are made of. */
TEST(csv_in_parts)
{
    static const struct view_column two[] = {{.key = "a", .heading = "a"}, {.key = "b|c", .heading = "b"}};
    const struct view small = {.columns = two, .n = 2};
    struct rendering to = {.out = output(), .format = FORMAT_CSV, .separator = '.'};
    assert_true(render_table(&to, &small, json_array()));
    to.goes_on = true;
    assert_true(
        render_table(&to, &small, rows_of("[{\"a\":7.5,\"c\":1},{\"a\":\"x.y\",\"b\":0.125,\"c\":2}]")));
    output_is("a.b\n\"7.5\".1\n\"x.y\".\"0.125\"\n");
    assert_false(render_table(&to, &small, NULL));
}

/* A heading where the group changes; code is cut to the line, a reason is in the place of numbers, and notes
 * fold below it all. */
TEST(groups_and_notes)
{
    static const struct view_column parts[] = {
        {.key = "at", .heading = "at", .as = AS_PLACE},
        {.key = "share", .heading = "share", .as = AS_HEAT, .none = "?"},
        {.key = "step", .heading = "step", .as = AS_STEP},
        {.key = "code", .heading = "code", .as = AS_CODE}};
    static const struct view grouped = {.columns = parts,
                                        .n = 4,
                                        .group = "file",
                                        .reason = "reason",
                                        .class = "lines",
                                        .caption = "by file"};
    static const char rows[] =
        "[{\"file\":\"a.c\",\"at\":7,\"share\":0.5,\"step\":0.015,\"code\":\"\\tx = y; /* more than there is "
        "room for */\"},{\"file\":\"a.c\",\"at\":10,\"share\":1e-9,\"code\":\"}\"},"
        "{\"file\":\"b\\u001b.h\",\"at\":1234,\"reason\":\"<not reached>\"}]";
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_HTML};
    FILE *out = output();
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct rendering *to = rendering_to(out, formats[i], 40);
        json_t *notes = rows_of("[\"a note of more words than there is room for in a line\",\"<b>\"]");
        assert_true(render_table(to, &grouped, rows_of(rows)));
        render_notes(to, notes);
        json_decref(notes);
    }
    output_is_golden("render/groups.txt");
}
