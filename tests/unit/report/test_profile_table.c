/* A profile in each format, whole. */
#include "golden.h"
#include "profiles.h"
#include "report/results.h"

#include "report/profile_table.h"
#include "report/stack_formats.h"

#include <math.h>

static struct share rows[8];
static struct shares shares[2];
static struct profile *profile;
static struct profile_report report;

static int begin(void **state)
{
    static const struct share firsts[] = {
        {.state = PROFILE_STATES,
         .function = "fir_filter",
         .source = "fir.c:26",
         .address = 0x10000124,
         .samples = 32590,
         .plus_minus = 0.00805},
        {.state = PROFILE_STATES,
         .function = "std::vector<int, std::allocator<int> >::push_back",
         .source = "vector.h:1204",
         .address = 0x10000200,
         .samples = 20000,
         .plus_minus = 0.1},
        {.state = PROFILE_STATES, .address = 0x20, .samples = 6000, .plus_minus = 0.00001},
        {.state = PROFILE_ASLEEP, .samples = 1400, .plus_minus = 0},
        {.state = PROFILE_NOT_PERMITTED, .samples = 10, .plus_minus = NAN},
    };
    (void)state;
    memset(shares, 0, sizeof shares);
    memcpy(rows, firsts, sizeof firsts);
    shares[0] = (struct shares){.rows = rows,
                                .n = sizeof firsts / sizeof *firsts,
                                .samples = 60000,
                                .states = {1400, 10, 0, 0},
                                .seconds = 10.002,
                                .batches = 20};
    for (size_t i = 0; i < shares[0].n; i++)
        rows[i].part = (double)rows[i].samples / 60000;
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
    return 0;
}

static int end(void **state)
{
    (void)state;
    profile_file_free(profile);
    return 0;
}

#define PROFILE_TEST(name) TEST_WITH(name, begin, end)

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
    OUTPUT_HAS("the probe does not answer");
    OUTPUT_HAS("\"resets\":1");
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
    output_is("core 0;0x10000124 32590\n");
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

/* Of another core and by other means, at another time. */
PROFILE_TEST(against_an_older_one_of_another_kind)
{
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV};
    struct profile *old = profile_new(1);
    struct shares before = {.samples = 6001, .is_few = true, .sort = SHARES_ADDRESS};
    struct share_change change = {.row = &rows[0], .change = -0.001, .plus_minus = NAN, .is_noise = true};
    const struct shares_diff diff = {.rows = &change, .n = 1, .noise = 1};
    const struct profile_report older = {
        .profile = old, .file = "old.jsonl", .elf = "app.elf", .no_names = "", .shares = &before, .n = 1};
    const struct profile_diff_report both = {.now = &report, .old = &older, .diffs = &diff, .n = 1};
    shares[0].sort = SHARES_ADDRESS;
    old->about.source = strdup("halts");
    old->end = (struct profile_end){.known = true, .why = strdup("time")};
    free(old->about.cores[0]);
    old->about.cores[0] = strdup("Cortex-M0");
    assert_true(profile_diff_write(TO_TEXT(200), &both));
    OUTPUT_HAS("~-0.10  ?", "  0x10000124  fir_filter ");
    OUTPUT_HAS("\nbefore: Few samples");
    OUTPUT_HAS("\nCore 0 was another one before: Cortex-M0.\n");
    OUTPUT_HAS("another kind than before: DWT_PCSR, not halts");
    OUTPUT_HAS("\nbefore: The core was stopped for each sample");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        assert_false(profile_write(TO_FULL(formats[i]), &report));
        assert_false(profile_diff_write(TO_FULL(formats[i]), &both));
    }
    profile_file_free(old);
}
