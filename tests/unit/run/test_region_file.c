/* Region files: what they may say, and what the errors name. */
#include "golden.h"

#include "run/region.h"

#include <string.h>

static struct region_file file;
static struct error error;

static void tear_down(void)
{
    region_file_free(&file);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, test_nothing, tear_down)

static bool parse(const char *text)
{
    region_file_free(&file);
    error_clear(&error);
    return region_file_parse(text, strlen(text), "a.regions", &file, &error);
}

/* Those of the file, in words. */
static void lines_are(const char *expected)
{
    static const char *const of[] = {[BUDGET_MAX] = "max", [BUDGET_MEAN] = "mean"};
    FILE *out = output();
    for (size_t i = 0; i < file.n; i++) {
        const struct region_line *line = &file.lines[i];
        fprintf(out, "%u \"%s\": \"%s\" to \"%s\"", line->line, line->name, line->start, line->end);
        if (line->budget.of != BUDGET_NONE)
            fprintf(out, ", %s %.12g%s", of[line->budget.of], line->budget.limit,
                    line->budget.is_time ? " s" : "");
        if (line->hits > 0 || line->threshold >= 0)
            fprintf(out, ", %u hits, %g", (unsigned)line->hits, line->threshold);
        fputc('\n', out);
    }
    output_is(expected);
}

FRESH_TEST(a_line_has_a_region_a_budget_and_options)
{
    assert_true(parse("# all of it\n\n"
                      "fir    fir_filter                <= 1200 cycles\n"
                      "frame  main.c:40 main.c:52       mean <= 40.5 us  -r 200 --threshold 2%  # slow\n"
                      "\"a b\"  \"Dsp::blend(int, int)\"\r\n"
                      "up  max mean"));
    lines_are("3 \"fir\": \"fir_filter\" to \"\", max 1200\n"
              "4 \"frame\": \"main.c:40\" to \"main.c:52\", mean 4.05e-05 s, 200 hits, 0.02\n"
              "5 \"a b\": \"Dsp::blend(int, int)\" to \"\"\n"
              "6 \"up\": \"max\" to \"mean\"\n"); /* functions may have these names */
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
    static const char lines[] =
        "1 \"plain\": \"fir_filter\" to \"\", max 1200\n"
        "2 \"with blanks\": \"Dsp::blend(int, int)\" to \"main.c:52\", mean 4.05e-05 s\n"
        "3 \"max\": \"-odd\" to \"mean\"\n"
        "4 \"large\": \"f\" to \"\", max 123456789012\n";
    assert_true(parse("plain fir_filter <= 1200 cycles\n"
                      "\"with blanks\" \"Dsp::blend(int, int)\" main.c:52 mean <= 40.5 us\n"
                      "max \"-odd\" mean\n"
                      "large f <= 123456789012 cycles\n"));
    lines_are(lines);
    FILE *out = output();
    for (size_t i = 0; i < file.n; i++)
        assert_true(region_file_write(out, &file.lines[i]));
    char *text = output_text(NULL);
    assert_true(parse(text));
    lines_are(lines);
    free(text);
}
