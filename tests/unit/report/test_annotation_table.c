/* A function with its samples, whole. */
#include "golden.h"
#include "profiles.h"
#include "renderings.h"

#include "report/annotation_table.h"

#include <math.h>

static struct listing_row code[] = {
    {.address = 0x10000244, .size = 2, .code = 0xB510, .text = "push    {r4, lr}", .file = 0, .line = 26},
    {.address = 0x10000246, .size = 2, .code = 0x2400, .text = "movs    r4, #0", .file = 0, .line = 28},
    {.address = 0x10000248,
     .size = 4,
     .code = 0xF000F810,
     .text = "bl      0x1000026c <mac<int>>",
     .file = 1,
     .line = 7},
    {.address = 0x1000024C, .size = 2, .code = 0x3401, .text = "adds    r4, #1", .file = 0, .line = 28},
    {.address = 0x1000024E,
     .size = 2,
     .code = 0xD1FB,
     .text = "bne     0x10000248 <fir_filter+0x4>",
     .file = 0,
     .line = 28},
    {.address = 0x10000250, .size = 2, .code = 0xBD10, .text = "pop     {r4, pc}", .file = 0, .line = 40},
    {.address = 0x10000252, .size = 2, .code = 0xBF00, .text = "nop", .file = LISTING_NO_FILE},
    {.address = 0x10000254,
     .size = 4,
     .is_data = true,
     .code = 0x20000000,
     .text = ".word   0x20000000",
     .file = LISTING_NO_FILE},
};
enum { CODE = sizeof code / sizeof *code };
static char source[] = "/src/fir.c", header[] = "/src/mac\033[31m.h";
static char *files[] = {source, header};
static char l26[] = "void fir_filter(void) {", l27[] = "", l40[] = "}",
            l28[] = "    for (int i = 0; i < taps; i++) /* a long line, which a narrow terminal cuts */";
static char *fir_lines[40];
static struct source_text texts[2];
static const uint64_t first_samples[CODE] = {0, 2000, 30000, 8000, 2000, 100, 490, 0};
static const struct annotated_line first_lines[] = {
    {.file = 0, .line = 26, .plus_minus = NAN},
    {.file = 0, .line = 28, .samples = 12000, .part = 0.28, .plus_minus = 0.00314, .at_border = true},
    {.file = 0, .line = 40, .samples = 100, .part = 0.002, .plus_minus = NAN},
    {.file = 1, .line = 7, .samples = 30000, .part = 0.7, .plus_minus = 0.01},
    {.file = LISTING_NO_FILE, .samples = 490, .part = 0.01, .plus_minus = 0.001},
};
static const size_t first_line_of[CODE] = {0, 1, 3, 1, 1, 2, 4, 4};
static uint64_t row_samples[CODE];
static struct annotated_line lines[sizeof first_lines / sizeof *first_lines];
static size_t line_of[CODE];
static struct annotation cores[2];
static struct annotated_function function;
static struct profile *profile;
static struct annotation_report report;

static int begin(void **state)
{
    (void)state;
    memcpy(row_samples, first_samples, sizeof row_samples);
    memcpy(lines, first_lines, sizeof lines);
    memcpy(line_of, first_line_of, sizeof line_of);
    for (size_t i = 0; i < 40; i++)
        fir_lines[i] = l27;
    fir_lines[25] = l26;
    fir_lines[27] = l28;
    fir_lines[39] = l40;
    texts[0] = (struct source_text){.path = source, .lines = fir_lines, .n = 40, .changed = 100};
    cores[0] = (struct annotation){.core_samples = 100000,
                                   .samples = 42590,
                                   .part = 0.4259,
                                   .plus_minus = 0.00551,
                                   .row_samples = row_samples,
                                   .lines = lines,
                                   .line_count = sizeof lines / sizeof *lines,
                                   .line_of = line_of};
    cores[1] = (struct annotation){
        .core = 1, .core_samples = 500, .plus_minus = NAN, .row_samples = row_samples, .line_of = line_of};
    function = (struct annotated_function){
        .at = {.name = "fir_filter", .source = "fir.c:26", .low = 0x10000244, .high = 0x10000258},
        .listing = {.rows = code, .n = CODE, .files = files, .file_count = 2},
        .texts = texts,
        .built = 200,
        .cores = cores,
        .core_count = 2};
    profile = profile_new(2);
    profile->about.date = strdup("2026-11-20T09:15:00Z");
    profile->about.probe = strdup("cmsis-dap:E6614103E7");
    profile->about.source = strdup("DWT_PCSR");
    profile->end = (struct profile_end){.known = true, .why = strdup("time")};
    report = (struct annotation_report){
        .profile = profile, .file = "profile.jsonl", .elf = "app.elf", .no_names = "", .function = &function};
    return 0;
}

static int end(void **state)
{
    (void)state;
    profile_file_free(profile);
    return 0;
}

/* As in a file, where no line is cut. */
static const struct rendering *whole_lines(void)
{
    static struct rendering to;
    to = *TO_TEXT(80);
    to.uncut = true;
    return &to;
}

#define ANNOTATION_TEST(name) TEST_WITH(name, begin, end)

ANNOTATION_TEST(in_the_order_of_lines)
{
    assert_true(annotation_write(whole_lines(), &report));
    output_is_golden("annotation/lines.txt");
}

/* Without files of lines and instructions that were never sampled. */
ANNOTATION_TEST(the_hottest_first)
{
    static const char *const in_order[] = {"mac\xEF\xBF\xBD[31m.h:7",
                                           "bl      0x1000026c",
                                           "fir.c:28 ~",
                                           "movs    r4",
                                           "(no line)",
                                           "nop",
                                           "fir.c:40",
                                           "pop     {r4, pc}"};
    report.hot = 100;
    assert_true(annotation_write(TO_TEXT(80), &report));
    char *text = output_text(NULL);
    const char *at = text;
    for (size_t i = 0; i < sizeof in_order / sizeof *in_order; i++) {
        at = strstr(at, in_order[i]);
        if (at == NULL)
            fail_msg("%s is not where it belongs in:\n%s", in_order[i], text);
    }
    assert_null(strstr(text, "push"));
    assert_null(strstr(text, "/src/fir.c"));
    free(text);
}

/* Without the line that has the version and the time. */
ANNOTATION_TEST(as_json)
{
    assert_true(annotation_write(TO(FORMAT_JSON), &report));
    size_t size;
    char *text = output_text(&size);
    char *second = strchr(text, '\n') + 1;
    golden_check("annotation/lines.json", second, size - (size_t)(second - text));
    free(text);
}

/* No line is longer, whatever is in it. */
ANNOTATION_TEST(as_wide_as_the_terminal)
{
    for (size_t columns = 60; columns < 130; columns++) {
        size_t width = 0;
        assert_true(annotation_write(TO_TEXT(columns), &report));
        char *text = output_text(NULL);
        for (const char *at = text; *at != '\0'; at++) {
            width = *at == '\n' ? 0 : width + (((unsigned char)*at & 0xC0) != 0x80);
            assert_true(width <= columns);
        }
        assert_true(columns != 60 || strstr(text, "terminal cuts */") == NULL);
        assert_true(columns != 129 || strstr(text, "terminal cuts */") != NULL);
        free(text);
    }
}

/* Where each sample was a stop, an instruction is what it is. */
ANNOTATION_TEST(without_skid)
{
    free(profile->about.source);
    profile->about.source = strdup("halts");
    assert_true(annotation_write(whole_lines(), &report));
    char *text = output_text(NULL);
    assert_null(strchr(text, '~'));
    assert_null(strstr(text, "skid"));
    free(text);
}

ANNOTATION_TEST(of_what_is_missing)
{
    struct listing_row bare[CODE];
    struct annotated_line all = {.file = LISTING_NO_FILE, .samples = 42590, .part = 1, .plus_minus = 0.00001};
    memcpy(bare, code, sizeof bare);
    for (size_t i = 0; i < CODE; i++) {
        bare[i].file = LISTING_NO_FILE;
        bare[i].line = 0;
        line_of[i] = 0;
    }
    function.listing = (struct listing){.rows = bare, .n = CODE, .files = files};
    cores[0].lines = &all;
    cores[0].line_count = 1;
    cores[0].is_few = cores[0].is_sparse = true;
    report.no_names = "The recorded program had no build id";
    profile->end.known = false;
    assert_true(annotation_write(TO_TEXT(80), &report));
    char *text = output_text(NULL);
    assert_non_null(strstr(text, "\n   share      ±  samples     address\n"));
    assert_non_null(strstr(text, "\n                          0x10000244     push    {r4, lr}\n"));
    assert_non_null(strstr(text, "No lines are known"));
    assert_non_null(strstr(text, "lie apart"));
    assert_non_null(strstr(text, "no build id"));
    assert_non_null(strstr(text, "was cut off"));
    assert_null(strstr(text, "skid"));
    free(text);
    texts[0].changed = 300;
    function.listing.file_count = 1;
    assert_true(annotation_write(whole_lines(), &report));
    text = output_text(NULL);
    assert_non_null(strstr(text, "newer than the program"));
    free(text);
}

ANNOTATION_TEST(never_sampled)
{
    cores[0].samples = 0;
    cores[0].core_samples = 0;
    memset(row_samples, 0, sizeof row_samples);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        lines[i] = (struct annotated_line){.file = lines[i].file, .line = lines[i].line, .plus_minus = NAN};
    report.hot = 100;
    assert_true(annotation_write(TO_TEXT(80), &report));
    char *text = output_text(NULL);
    assert_non_null(strstr(text, "0 of 0 samples\n"));
    assert_null(strstr(text, "%"));
    free(text);
    assert_false(annotation_write(TO_FULL(FORMAT_TEXT), &report));
    assert_false(annotation_write(TO_FULL(FORMAT_JSON), &report));
}
