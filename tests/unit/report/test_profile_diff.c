/* A profile against an older one in each format, whole. */
#include "golden.h"
#include "profiles.h"
#include "renderings.h"

#include "report/profile_diff.h"

#include <math.h>

static const struct share firsts[] = {
    {.state = PROFILE_STATES, .function = "fir_filter", .source = "fir.c:26", .address = 0x10000124},
    {.state = PROFILE_STATES,
     .function = "std::vector<int, std::allocator<int> >::push_back",
     .source = "vector.h:1204",
     .address = 0x10000200},
    {.state = PROFILE_STATES, .address = 0x20},
    {.state = PROFILE_ASLEEP},
};
enum { ROWS = sizeof firsts / sizeof *firsts };
static struct share rows[ROWS];
static struct share_change changes[ROWS] = {
    {.now = {3259, 0.5431, 0.00805}, .old = {1800, 0.3, 0.006}, .change = 0.2431, .plus_minus = 0.01004},
    {.old = {1200, 0.2, 0.004}, .now = {0, 0, 0.0005}, .change = -0.2, .plus_minus = 0.00403},
    {.now = {60, 0.01, 0.00001}, .old = {0, 0, 0.0005}, .change = 0.01, .plus_minus = 0.0005},
    {.now = {1400, 0.23, NAN},
     .old = {1380, 0.23, 0.02},
     .change = -0.001,
     .plus_minus = NAN,
     .is_noise = true},
};
static struct shares shares[2];
static struct shares_diff diff;
static struct profile *profiles[2];
static struct profile_report sides[2];
static struct profile_diff_report report;

static int begin(void **state)
{
    (void)state;
    memcpy(rows, firsts, sizeof rows);
    for (size_t i = 0; i < ROWS; i++)
        changes[i].row = &rows[i];
    diff = (struct shares_diff){.rows = changes, .n = ROWS, .noise = 1};
    for (size_t i = 0; i < 2; i++) {
        shares[i] = (struct shares){.samples = 6000 + i, .seconds = 10, .batches = 20};
        profiles[i] = profile_new(1);
        profiles[i]->about.date = strdup(i == 0 ? "2026-11-20T09:15:00Z" : "2026-11-19T09:15:00Z");
        profiles[i]->about.probe = strdup("cmsis-dap:E6614103E7");
        profiles[i]->about.source = strdup("DWT_PCSR");
        profiles[i]->end = (struct profile_end){.known = true, .why = strdup("time")};
        sides[i] = (struct profile_report){.profile = profiles[i],
                                           .file = i == 0 ? "profile.jsonl" : "old.jsonl",
                                           .elf = "app.elf",
                                           .no_names = "",
                                           .shares = &shares[i],
                                           .n = 1};
    }
    report = (struct profile_diff_report){.now = &sides[0], .old = &sides[1], .diffs = &diff, .n = 1};
    return 0;
}

static int end(void **state)
{
    (void)state;
    profile_file_free(profiles[0]);
    profile_file_free(profiles[1]);
    return 0;
}

#define DIFF_TEST(name) TEST_WITH(name, begin, end)

DIFF_TEST(by_function)
{
    assert_true(profile_diff_write(TO_TEXT(80), &report));
    output_is_golden("profile/diff.txt");
}

DIFF_TEST(by_address_and_of_another_kind)
{
    shares[0].sort = shares[1].sort = SHARES_ADDRESS;
    free(profiles[1]->about.source);
    profiles[1]->about.source = strdup("halts");
    free(profiles[1]->about.cores[0]);
    profiles[1]->about.cores[0] = strdup("Cortex-M0");
    shares[1].is_few = true;
    assert_true(profile_diff_write(TO_TEXT(200), &report));
    char *text = output_text(NULL);
    assert_non_null(strstr(text, "  0x10000124  fir_filter "));
    assert_non_null(strstr(text, "\nbefore: Few samples"));
    assert_non_null(strstr(text, "\nCore 0 was another one before: Cortex-M0.\n"));
    assert_non_null(strstr(text, "another kind than before: DWT_PCSR, not halts"));
    assert_non_null(strstr(text, "\nbefore: The core was stopped for each sample"));
    free(text);
}

DIFF_TEST(by_file)
{
    shares[0].sort = shares[1].sort = SHARES_FILE;
    for (size_t i = 0; i < 2; i++)
        rows[i].function = NULL;
    rows[0].source = "fir.c";
    rows[1].source = "vector.h";
    assert_true(profile_diff_write(TO_TEXT(80), &report));
    char *text = output_text(NULL);
    assert_non_null(strstr(text, "  file\n"));
    assert_non_null(strstr(text, "  vector.h\n"));
    assert_null(strstr(text, "source"));
    free(text);
}

/* Without the line that has the version and the time. */
DIFF_TEST(as_json)
{
    assert_true(profile_diff_write(TO(FORMAT_JSON), &report));
    size_t size;
    char *text = output_text(&size);
    char *second = strchr(text, '\n') + 1;
    golden_check("profile/diff.json", second, size - (size_t)(second - text));
    free(text);
}

DIFF_TEST(as_markdown)
{
    rows[0].function = "a_b|<c>";
    assert_true(profile_diff_write(TO(FORMAT_MARKDOWN), &report));
    char *text = output_text(NULL);
    assert_non_null(strstr(text, "|change|±|now|±|before|±|function|source|\n"));
    assert_non_null(strstr(text, "| a_b\\|\\<c\\> |"));
    free(text);
}

DIFF_TEST(a_full_disk)
{
    assert_false(profile_diff_write(TO_FULL(FORMAT_TEXT), &report));
    assert_false(profile_diff_write(TO_FULL(FORMAT_JSON), &report));
    assert_false(profile_diff_write(TO_FULL(FORMAT_CSV), &report));
}
