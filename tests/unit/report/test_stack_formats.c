/* Stacks of several frames in the formats for other programs, whole. That of pprof: system/test_report.py. */
#include "golden.h"
#include "profiles.h"

#include "report/stack_formats.h"

/* work calls leaf, also by way of itself. A line of leaf is inlined from a header. */
static struct stack_function functions[] = {
    {.name = "leaf", .file = "app.c", .line = 8, .entry = 0x8000100},
    {.name = "work \"quoted\" (int)\nfn=x", .file = "app.c", .line = 20, .entry = 0x8000200},
    {.name = "[unknown]"},
    {.name = "[asleep]"},
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
static struct stack rows[] = {
    {.core = 0, .from = 0, .to = 1, .first = 0, .depth = 2, .samples = 2}, /* leaf < work */
    {.core = 0, .from = 0, .to = 1, .first = 2, .depth = 4, .samples = 1}, /* leaf < work < work < work */
    {.core = 0, .from = 0, .to = 1, .first = 6, .depth = 1, .samples = 1},
    {.core = 1, .from = 0.5, .to = 1, .first = 7, .depth = 1, .samples = 3},
    {.core = 1, .from = 0.5, .to = 1, .first = 8, .depth = 1, .samples = 1},
};
static struct stacks stacks;
static struct profile *profile;
static struct stack_report report;

static int begin(void **state)
{
    (void)state;
    stacks = (struct stacks){.functions = functions,
                             .places = places,
                             .frames = frames,
                             .rows = rows,
                             .function_count = sizeof functions / sizeof *functions,
                             .place_count = sizeof places / sizeof *places,
                             .frame_count = sizeof frames / sizeof *frames,
                             .n = sizeof rows / sizeof *rows};
    profile = profile_new(2);
    profile->about.date = strdup("2026-11-20T09:15:00Z");
    profile->about.build_id = strdup("c0ffee");
    profile->end = (struct profile_end){.known = true, .elapsed_s = 1.5};
    report = (struct stack_report){.profile = profile, .stacks = &stacks, .elf = "/home/me/my app (1).elf"};
    return 0;
}

static int end(void **state)
{
    (void)state;
    rows[0].samples = 2;
    profile_file_free(profile);
    return 0;
}

#define STACK_TEST(name) TEST_WITH(name, begin, end)

STACK_TEST(of_each_format)
{
    assert_true(stacks_callgrind(output(), &report));
    output_is_golden("profile/stacks.callgrind");
    assert_true(stacks_perf(output(), &report));
    output_is_golden("profile/stacks.perf");
    assert_false(stacks_pprof(output_full(), &report));
    assert_false(stacks_callgrind(output_full(), &report));
    assert_false(stacks_perf(output_full(), &report));
}

/* However many there are: few events, and no sample is lost. */
STACK_TEST(more_samples_than_events)
{
    uint64_t sum = 0, events = 0;
    rows[0].samples = UINT64_C(1) << 50;
    stacks.n = 2;
    assert_true(stacks_perf_within(output(), &report, 100));
    char *text = output_text(NULL);
    for (const char *at = text; (at = strstr(at, "core0 1 ")) != NULL; at++, events++)
        sum += strtoull(strchr(at, ':') + 1, NULL, 10);
    assert_int_equal(sum, (UINT64_C(1) << 50) + 1);
    assert_in_range(events, 50, 102);
    free(text);
}

STACK_TEST(little_is_known)
{
    report.elf = NULL;
    profile->end.known = false;
    assert_true(stacks_perf(output(), &report));
    OUTPUT_HAS("leaf+0x4 ([unknown])\n");
    assert_true(stacks_callgrind(output(), &report));
    OUTPUT_HAS("\nob=???\n");
    stacks = (struct stacks){0};
    assert_true(stacks_perf(output(), &report));
    output_is("");
    assert_true(stacks_callgrind(output(), &report));
    OUTPUT_HAS("\nsummary: 0\n");
}
