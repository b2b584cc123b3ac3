/* A profile in each format. */
#include "profiles.h"
#include "report/results.h"

#include "report/profile_table.h"
#include "report/stack_formats.h"

#include <math.h>

static struct share rows[8];
static struct shares shares[2];
static struct profile *profile;
static struct profile_report report;

static void begin(void)
{
    profile_shares(&shares[0], rows);
    profile_share(&shares[0], NULL, NULL, 10, NAN)->state = PROFILE_NOT_PERMITTED;
    shares[0].states[PROFILE_NOT_PERMITTED] = 10;
    shares[0].seconds = 10.002;
    shares[0].batches = 20;
    shares[1] = (struct shares){.core = 1};
    profile = profile_new(2);
    profile->about.date = strdup("2026-11-20T09:15:00Z");
    profile->about.probe = strdup("cmsis-dap:E6614103E7");
    profile->about.source = strdup("DWT_PCSR");
    profile->about.build_id = strdup("c0ffee");
    profile->end = (struct profile_end){.known = true, .why = strdup("time")};
    report = (struct profile_report){.profile = profile,
                                     .file = "profile.jsonl",
                                     .elf = "app.elf",
                                     .no_names = "",
                                     .shares = shares,
                                     .n = 1};
}

static void end(void)
{
    profile_file_free(profile);
}

#define PROFILE_TEST(name) TEST_BETWEEN(name, begin, end)

PROFILE_TEST(everything_went_wrong)
{
    report.n = 2;
    report.no_names = "old.elf is not the program that was recorded, so shares are by address";
    report.elf = NULL;
    free(profile->about.source);
    profile->about.source = strdup("halts");
    profile->end.error = strdup("the probe does not answer");
    shares[0].is_few = shares[0].is_uneven = shares[0].is_sparse = true;
    shares[0].resets = 1;
    shares[0].states[PROFILE_HALTED] = 600;
    shares[0].states[PROFILE_IN_RESET] = 60;
    assert_true(profile_write(TO_TEXT(80), &report));
    output_is_golden("profile/notes.txt");
    assert_true(profile_write(TO(FORMAT_JSON), &report));
    OUTPUT_HAS("the probe does not answer", "\"resets\":1");
}

/* By function system/test_report.py has them. */
PROFILE_TEST(as_folded_stacks)
{
    shares[0].sort = SHARES_LINE;
    shares[0].n = 1;
    assert_true(profile_write(TO(FORMAT_FOLDED), &report));
    output_is("core 0;fir_filter fir.c:26 32590\n");
    shares[0].sort = SHARES_ADDRESS;
    rows[0].function = NULL;
    assert_true(profile_write(TO(FORMAT_FOLDED), &report));
    output_is("core 0;0x10000140 32590\n");
}

/* Nothing in a name ends a line or a frame, or steers a terminal. */
PROFILE_TEST(names_from_outside)
{
    rows[0].function = "a;b\n\033[2J\xFF";
    rows[0].source = "x,\"y\"\r:1";
    report.file = "odd\nname";
    shares[0].n = 1;
    assert_true(profile_write(TO(FORMAT_FOLDED), &report));
    output_is("core 0;a:b\xEF\xBF\xBD\xEF\xBF\xBD[2J\xEF\xBF\xBD 32590\n");
    assert_true(profile_write(TO(FORMAT_CSV), &report));
    OUTPUT_HAS(",a;b\xEF\xBF\xBD\xEF\xBF\xBD[2J\xEF\xBF\xBD,\"x,\"\"y\"\"\xEF\xBF\xBD:1\"");
    assert_true(profile_write(TO_TEXT(80), &report));
    OUTPUT_LACKS("\033", "\r", "odd\n");
}

static bool show_diff(const struct rendering *to, const struct profile_diff_report *both)
{
    struct document document = profile_diff_document(both);
    bool ok = profile_show(to, &document);
    document_free(&document);
    return ok;
}

/* Of another core and by other means, at another time. */
PROFILE_TEST(against_an_older_one_of_another_kind)
{
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV};
    struct profile *old = profile_new(1);
    struct shares before = {.samples = 6001, .is_few = true, .sort = SHARES_ADDRESS};
    struct share_change change = {.row = &rows[0], .change = -0.001, .plus_minus = NAN, .is_noise = true};
    const struct profile_pair pair = {.diff = {.rows = &change, .n = 1, .noise = 1}};
    const struct profile_report older = {
        .profile = old, .file = "old.jsonl", .elf = "app.elf", .no_names = "", .shares = &before, .n = 1};
    const struct profile_diff_report both = {.now = &report, .old = &older, .pairs = &pair, .n = 1};
    shares[0].sort = SHARES_ADDRESS;
    old->about.source = strdup("halts");
    old->end = (struct profile_end){.known = true, .why = strdup("time")};
    free(old->about.cores[0]);
    old->about.cores[0] = strdup("Cortex-M0");
    assert_true(show_diff(TO_TEXT(200), &both));
    OUTPUT_HAS("~-0.10  ?", "  0x10000140  fir_filter ");
    OUTPUT_HAS("\nbefore: Few samples");
    OUTPUT_HAS("\nCore 0 was another one before: Cortex-M0.\n");
    OUTPUT_HAS("another kind than before: DWT_PCSR, not halts");
    OUTPUT_HAS("\nbefore: The core was stopped for each sample");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        assert_false(profile_write(TO_FULL(formats[i]), &report));
        assert_false(show_diff(TO_FULL(formats[i]), &both));
    }
    profile_file_free(old);
}

/* ---- stacks of several frames, for other programs. */

/* work calls leaf, also by way of itself. A line of leaf is inlined from a header. */
static struct stack_function functions[] = {
    {.name = "leaf", .file = "app.c", .line = 8, .entry = 0x8000100},
    {.name = "work \"quoted\" (int)\nfn=x", .file = "app.c", .line = 20, .entry = 0x8000200},
    {.name = "[unknown]", .is_outside = true},
    {.name = "[asleep]", .is_outside = true},
};
static struct stack_place places[] = {
    {.state = PROFILE_STATES, .address = 0x8000104, .function = 0, .file = "app.c", .line = 9},
    {.state = PROFILE_STATES, .address = 0x8000106, .function = 0, .file = "math.h", .line = 300},
    {.state = PROFILE_STATES, .address = 0x8000210, .function = 1, .file = "app.c", .line = 21},
    {.state = PROFILE_STATES, .address = 0x8000212, .function = 1, .file = "app.c", .line = 22},
    {.state = PROFILE_STATES, .address = 0xFFFFFFFFFFFFFFFE, .function = 2},
    {.state = PROFILE_ASLEEP, .function = 3},
};
static size_t frames[] = {0, 2, 1, 2, 2, 2, 3, 4, 5};
static struct stack stack_rows[] = {
    {.core = 0, .from = 0, .to = 1, .first = 0, .depth = 2, .samples = 2}, /* leaf < work */
    {.core = 0, .from = 0, .to = 1, .first = 2, .depth = 4, .samples = 1}, /* leaf < work < work < work */
    {.core = 0, .from = 0, .to = 1, .first = 6, .depth = 1, .samples = 1},
    {.core = 1, .from = 0.5, .to = 1, .first = 7, .depth = 1, .samples = 3},
    {.core = 1, .from = 0.5, .to = 1, .first = 8, .depth = 1, .samples = 1},
};
static struct stacks stacks;
static struct stack_report stack_report;

static void stacks_begin(void)
{
    begin();
    stacks = (struct stacks){.functions = functions,
                             .places = places,
                             .frames = frames,
                             .rows = stack_rows,
                             .function_count = sizeof functions / sizeof *functions,
                             .place_count = sizeof places / sizeof *places,
                             .frame_count = sizeof frames / sizeof *frames,
                             .n = sizeof stack_rows / sizeof *stack_rows};
    profile->end.elapsed_s = 1.5;
    stack_report =
        (struct stack_report){.profile = profile, .stacks = &stacks, .elf = "/home/me/my app (1).elf"};
}

#define STACK_TEST(name) TEST_BETWEEN(name, stacks_begin, end)

STACK_TEST(of_each_format)
{
    assert_true(stacks_callgrind(output(), &stack_report));
    output_is_golden("profile/stacks.callgrind");
    assert_true(stacks_perf(output(), &stack_report));
    output_is_golden("profile/stacks.perf");
    assert_false(stacks_callgrind(output_full(), &stack_report));
    assert_false(stacks_perf(output_full(), &stack_report));
}

/* The number that info has, not the place in the profile's list. */
STACK_TEST(a_core_has_its_number_in_each_format)
{
    profile->about.numbers = calloc(2, sizeof *profile->about.numbers);
    assert_non_null(profile->about.numbers);
    profile->about.numbers[0] = 1;
    profile->about.numbers[1] = 3;
    assert_true(stacks_folded(output(), &stack_report));
    OUTPUT_HAS("core 1;", "core 3;[unknown] 3\ncore 3;[asleep] 1\n");
    assert_true(stacks_perf(output(), &stack_report));
    OUTPUT_HAS("core1 2 0.0", "core3 4 0.5");
}

/* Each function is further in than its caller; in Markdown by blanks that a table keeps. */
STACK_TEST(as_a_tree_of_calls)
{
    report.calls = &stacks;
    assert_true(profile_write(TO_TEXT(80), &report));
    output_is_golden("profile/calls.txt");
    assert_true(profile_write(TO(FORMAT_MARKDOWN), &report));
    output_is_golden("profile/calls.md");
}

/* However many there are: few events, and no sample is lost. */
STACK_TEST(more_samples_than_events)
{
    uint64_t sum = 0, events = 0;
    stack_rows[0].samples = UINT64_C(1) << 50;
    stacks.n = 2;
    assert_true(stacks_perf_within(output(), &stack_report, 100));
    char *text = output_text(NULL);
    for (const char *at = text; (at = strstr(at, "core0 1 ")) != NULL; at++, events++)
        sum += strtoull(strchr(at, ':') + 1, NULL, 10);
    assert_int_equal(sum, (UINT64_C(1) << 50) + 1);
    assert_in_range(events, 50, 102);
    stack_rows[0].samples = 2;
    free(text);
}

STACK_TEST(little_is_known)
{
    stack_report.elf = NULL;
    profile->end.known = false;
    assert_true(stacks_perf(output(), &stack_report));
    OUTPUT_HAS("leaf+0x4 ([unknown])\n");
    assert_true(stacks_callgrind(output(), &stack_report));
    OUTPUT_HAS("\nob=???\n");
    stacks = (struct stacks){0};
    assert_true(stacks_perf(output(), &stack_report));
    output_is("");
    assert_true(stacks_callgrind(output(), &stack_report));
    OUTPUT_HAS("\nsummary: 0\n");
}
