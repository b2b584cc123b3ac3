/* Region files: what they may say, and what the errors name. */
#include "../test.h"

#include "run/region.h"

#include <stdlib.h>
#include <string.h>

static struct region_file file;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    error_clear(&error);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    region_file_free(&file);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static bool parse(const char *text)
{
    region_file_free(&file);
    error_clear(&error);
    return region_file_parse(text, strlen(text), "a.regions", &file, &error);
}

FRESH_TEST(a_line_has_a_region_a_budget_and_options)
{
    assert_true(parse("# all of it\n\n"
                      "fir    fir_filter                <= 1200 cycles\n"
                      "frame  main.c:40 main.c:52       mean <= 40.5 us  -r 200 --threshold 2%  # slow\n"
                      "\"a b\"  \"Dsp::blend(int, int)\"\r\n"
                      "up  max mean"));
    assert_int_equal(file.n, 4);
    assert_string_equal(file.lines[0].name, "fir");
    assert_string_equal(file.lines[0].start, "fir_filter");
    assert_string_equal(file.lines[0].end, "");
    assert_int_equal(file.lines[0].line, 3);
    assert_int_equal(file.lines[0].budget.of, BUDGET_MAX);
    assert_false(file.lines[0].budget.is_time);
    assert_float_equal(file.lines[0].budget.limit, 1200, 0);
    assert_int_equal(file.lines[0].hits, 0);
    assert_true(file.lines[0].threshold < 0);
    assert_string_equal(file.lines[1].end, "main.c:52");
    assert_int_equal(file.lines[1].budget.of, BUDGET_MEAN);
    assert_true(file.lines[1].budget.is_time);
    assert_float_equal(file.lines[1].budget.limit, 40.5e-6, 1e-12);
    assert_int_equal(file.lines[1].hits, 200);
    assert_float_equal(file.lines[1].threshold, 0.02, 1e-12);
    assert_string_equal(file.lines[2].name, "a b");
    assert_string_equal(file.lines[2].start, "Dsp::blend(int, int)");
    assert_int_equal(file.lines[2].budget.of, BUDGET_NONE);
    assert_string_equal(file.lines[3].start, "max"); /* functions may have these names */
    assert_string_equal(file.lines[3].end, "mean");
}

FRESH_TEST(errors_name_the_file_and_the_line)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"fir\n", "a.regions:1: a region is a name, and a function or a start and an end"},
        {"\nfir <= 3 cycles\n", "a.regions:2: a region is a name"},
        {"fir f <= 0 cycles", "a budget is a number above 0, such as 1200, not \"0\""},
        {"fir f <= 1e3 cycles", "not \"1e3\""},
        {"fir f <= 3 hours", "the unit of a budget is cycles, ns, us, ms or s, not \"hours\""},
        {"fir f <= 3", "after <= follow a number and its unit"},
        {"fir f <= 3 us <= 4 us", "a second budget"},
        {"fir f g h", "\"h\" is too much"},
        {"fir f -r 0", "-r takes a whole number from 1 up, not \"0\""},
        {"fir f -r", "-r takes a whole number"},
        {"fir f --threshold 5", "--threshold takes a part"},
        {"fir f --reset", "a region takes -r N and --threshold PART, not \"--reset\""},
        {"fir \"f", "the quotes are not closed"},
        {"fir \"\"", "the start is empty"},
        {"fir f\nother g\nfir h\n", "a.regions:3: line 1 has the name \"fir\", too"},
        {"a b c d e f g h i j k l m n o p q r s t u v w x y", "more than 24 words"},
        {"# nothing\n", "a.regions: it names no region"},
        {"", "it names no region"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(parse(wrong[i].text));
        assert_int_equal(error.kind, ERROR_USAGE);
        if (strstr(error.text, wrong[i].why) == NULL)
            fail_msg("%s: %s", wrong[i].text, error.text);
    }
}

FRESH_TEST(words_that_are_too_long_are_refused)
{
    char text[2048] = "fir ";
    memset(text + 4, 'x', 1100);
    assert_false(parse(text));
    assert_non_null(strstr(error.text, "the start is too long"));
    memset(text + 4, 'x', 1300);
    assert_false(parse(text));
    assert_non_null(strstr(error.text, "a word longer than"));
    assert_false(region_file_parse("a\0b c", 5, "a.regions", &file, &error));
}

FRESH_TEST(what_is_written_reads_back)
{
    const struct region_line lines[] = {
        {.name = "plain", .start = "fir_filter", .budget = {.of = BUDGET_MAX, .limit = 1200}},
        {.name = "with blanks",
         .start = "Dsp::blend(int, int)",
         .end = "main.c:52",
         .budget = {.of = BUDGET_MEAN, .limit = 40.5e-6, .is_time = true}},
        {.name = "max", .start = "-odd", .end = "mean"},
        {.name = "large", .start = "f", .budget = {.of = BUDGET_MAX, .limit = 123456789012}},
    };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < 4; i++)
        assert_true(region_file_write(out, &lines[i]));
    fclose(out);
    assert_true(parse(text));
    assert_int_equal(file.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(file.lines[i].name, lines[i].name);
        assert_string_equal(file.lines[i].start, lines[i].start);
        assert_string_equal(file.lines[i].end, lines[i].end);
        assert_int_equal(file.lines[i].budget.of, lines[i].budget.of);
        assert_float_equal(file.lines[i].budget.limit, lines[i].budget.limit, 1e-12 * lines[i].budget.limit);
    }
    free(text);
}
