/* Shares of made-up samples: sums are kept, names are right, and the ± covers the truth as often as it says.
 */
#include "../symbols/fixture.h"
#include "profiles.h"

#include "base/values.h"
#include "profile/shares.h"

#include <inttypes.h>
#include <math.h>

static struct shares shares_of(const struct profile *profile, unsigned core, enum shares_sort sort,
                               struct symbols *symbols)
{
    struct shares shares;
    assert_true(shares_make(profile, core, sort, symbols, &shares));
    uint64_t samples = 0;
    for (size_t i = 0; i < shares.n; i++) {
        samples += shares.rows[i].samples;
        assert_true(i == 0 || shares.rows[i - 1].samples >= shares.rows[i].samples);
        assert_true(shares.rows[i].part == (double)shares.rows[i].samples / (double)shares.samples);
    }
    assert_int_equal(samples, shares.samples);
    return shares;
}

static const struct share *row_of(const struct shares *shares, const char *function, const char *source)
{
    for (size_t i = 0; i < shares->n; i++) {
        const char *its = shares->rows[i].function, *its_source = shares->rows[i].source;
        bool function_fits = function == NULL ? its == NULL : its != NULL && strcmp(its, function) == 0;
        if (shares->rows[i].state == PROFILE_STATES && function_fits &&
            (source == NULL || (its_source != NULL && strcmp(its_source, source) == 0)))
            return &shares->rows[i];
    }
    fail_msg("no row of %s, %s", function != NULL ? function : "nothing", source != NULL ? source : "any");
    return NULL;
}

TEST(of_addresses_and_states)
{
    struct profile *profile = profile_new(1);
    for (int i = 0; i < 10; i++) {
        struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
        profile_count(interval, 0x100, 500);
        profile_count(interval, UINT64_MAX, 300);
        interval->states[PROFILE_ASLEEP] = 150;
        interval->states[PROFILE_HALTED] = 50;
        interval->resets = i == 3;
    }
    struct shares shares = shares_of(profile, 0, SHARES_FUNCTION, NULL);
    assert_int_equal(shares.sort, SHARES_ADDRESS);
    assert_int_equal(shares.samples, 10000);
    assert_int_equal(shares.n, 4);
    assert_int_equal(shares.batches, 10);
    assert_int_equal(shares.resets, 1);
    assert_true(shares.seconds == 10);
    assert_int_equal(shares.rows[0].address, 0x100);
    assert_int_equal(shares.rows[1].address, UINT64_MAX);
    assert_int_equal(shares.rows[0].state, PROFILE_STATES);
    assert_int_equal(shares.rows[2].state, PROFILE_ASLEEP);
    assert_int_equal(shares.rows[3].state, PROFILE_HALTED);
    assert_true(shares.rows[2].part == 0.15);
    assert_string_equal(shares_state_name(PROFILE_ASLEEP), "[asleep]");
    assert_false(shares.is_few || shares.is_uneven || shares.is_sparse);
    shares_free(&shares);
    profile_file_free(profile);
}

TEST(each_core_by_itself)
{
    struct profile *profile = profile_new(3);
    for (int i = 0; i < 6; i++) {
        profile_count(profile_interval(profile, 0, i, i + 1), 0x10, 300);
        profile_count(profile_interval(profile, 1, i, i + 1), 0x20, 100);
    }
    struct shares first = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    struct shares second = shares_of(profile, 1, SHARES_ADDRESS, NULL);
    struct shares none = shares_of(profile, 2, SHARES_ADDRESS, NULL);
    assert_int_equal(first.samples, 1800);
    assert_int_equal(first.rows[0].address, 0x10);
    assert_int_equal(second.samples, 600);
    assert_int_equal(second.rows[0].address, 0x20);
    assert_int_equal(none.n + none.samples, 0);
    shares_free(&first);
    shares_free(&second);
    shares_free(&none);
    profile_file_free(profile);
}

/* All code of a program, one sample an address, and some outside. */
TEST(names_of_a_program)
{
    struct symbols *symbols = fixture_open("blink");
    struct profile *profile = profile_new(1);
    struct profile_interval *interval = profile_interval(profile, 0, 0, 1);
    struct location fir, helper, inside;
    struct error error = {0};
    assert_true(symbols_locate(symbols, "fir_filter", &fir, &error));
    assert_true(symbols_locate(symbols, "blink.c:helper", &helper, &error));
    uint64_t in_fir = 0;
    for (uint64_t at = fir.low < helper.low ? fir.low : helper.low;
         at < (fir.low < helper.low ? helper.high : fir.high); at += 2) {
        profile_count(interval, at, 3);
        in_fir += at >= fir.low && at < fir.high ? 3 : 0;
    }
    profile_count(interval, 0xE0000000, 5);
    profile_count(interval, 0xE0000100, 6);

    struct shares shares = shares_of(profile, 0, SHARES_FUNCTION, symbols);
    const struct share *row = row_of(&shares, "fir_filter", NULL);
    assert_int_equal(row->samples, in_fir);
    assert_int_equal(row->address, fir.low);
    assert_string_equal(row->source, fir.source);
    assert_non_null(row_of(&shares, "helper", NULL));
    assert_int_equal(row_of(&shares, NULL, NULL)->samples, 11);
    shares_free(&shares);

    /* Each address is at the line that symbols/ says, and lines of two functions are two rows */
    shares = shares_of(profile, 0, SHARES_LINE, symbols);
    uint64_t lines_of_fir = 0;
    for (size_t i = 0; i < shares.n; i++) {
        lines_of_fir += shares.rows[i].function != NULL && strcmp(shares.rows[i].function, "fir_filter") == 0
                            ? shares.rows[i].samples
                            : 0;
        if (shares.rows[i].function == NULL)
            continue;
        symbols_describe(symbols, shares.rows[i].address, &inside);
        assert_string_equal(inside.source, shares.rows[i].source != NULL ? shares.rows[i].source : "");
    }
    assert_int_equal(lines_of_fir, in_fir);
    char line[64];
    assert_true(row_of(&shares, "fir_filter", fixture_line("blink.c", "/* in the loop */", line, sizeof line))
                    ->samples > 0);
    shares_free(&shares);

    shares = shares_of(profile, 0, SHARES_FILE, symbols);
    assert_true(row_of(&shares, NULL, "blink.c")->samples >= in_fir);
    shares_free(&shares);

    shares = shares_of(profile, 0, SHARES_ADDRESS, symbols);
    assert_int_equal(shares.n, interval->count_count);
    assert_int_equal(row_of(&shares, "fir_filter", NULL)->samples, 3);
    assert_int_equal(row_of(&shares, "fir_filter+0x2", NULL)->address, fir.low + 2);
    shares_free(&shares);
    profile_file_free(profile);
    symbols_close(symbols);
}

/* Samples of two addresses, the first with the chance `part`; `alike` neighbours are of one address. */
static struct profile *random_profile(uint64_t *seed, double part, int intervals, int each, int alike,
                                      bool uneven)
{
    struct profile *profile = profile_new(1);
    int left = 0;
    bool first = false;
    for (int i = 0; i < intervals; i++) {
        struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
        uint64_t counts[2] = {0, 0};
        int here = uneven ? 1 - (int)(each * log(1 - profile_random(seed))) : each;
        for (int k = 0; k < here; k++) {
            if (left-- == 0) {
                first = profile_random(seed) < part;
                left = alike - 1;
            }
            counts[first ? 0 : 1]++;
        }
        for (int address = 0; address < 2; address++)
            if (counts[address] > 0)
                profile_count(interval, 0x100 + (unsigned)address, counts[address]);
    }
    return profile;
}

static double error_of(const struct shares *shares, uint64_t address, double *part)
{
    for (size_t i = 0; i < shares->n; i++)
        if (shares->rows[i].address == address) {
            *part = shares->rows[i].part;
            return shares->rows[i].plus_minus;
        }
    *part = 0;
    return 0;
}

/* In how many of 100 profiles the interval of 95 % contains the truth; `mean`: of the ±. */
static double covered(uint64_t seed, double truth, int alike, double *mean)
{
    enum { RUNS = 1000, INTERVALS = 100, EACH = 200 };
    int hits = 0;
    *mean = 0;
    for (int run = 0; run < RUNS; run++) {
        struct profile *profile = random_profile(&seed, truth, INTERVALS, EACH, alike, false);
        struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
        double part, error = error_of(&shares, 0x100, &part);
        assert_int_equal(shares.batches, SHARES_BATCHES);
        hits += fabs(part - truth) <= error;
        *mean += error / RUNS;
        shares_free(&shares);
        profile_file_free(profile);
    }
    return 100.0 * hits / RUNS;
}

TEST(the_interval_covers_the_truth)
{
    double independent, alike, wanted;
    double share = covered(7, 0.3, 1, &independent);
    assert_true(share >= 93 && share <= 97);
    /* As Student's quantile and the binomial distribution have it, and a twentieth: by chance neighbours seem
     * alike */
    wanted = 1.05 * 2.093 * sqrt(0.3 * 0.7 / 20000);
    assert_true(fabs(independent / wanted - 1) < 0.03);
    /* The error of independent samples would be 7 times too small */
    share = covered(11, 0.3, 50, &alike);
    assert_true(share >= 93 && share <= 97);
    assert_true(alike > 6.5 * independent && alike < 7.5 * independent);
    /* Nearly as long as a batch: if batches were independent it would be 91 % */
    share = covered(13, 0.3, 700, &alike);
    assert_true(share >= 92 && share <= 97);
}

/* Bursts of what else is not executed, `bursts` a profile on average, each of some samples. Of those profiles
 * that have any, in how many of 100 the interval contains the truth; *rest: of all profiles, that of all
 * other samples. */
static double covered_bursts(uint64_t seed, double bursts, double *rest)
{
    enum { INTERVALS = 100, EACH = 1000, A_BURST = 4 };
    const double truth = bursts * A_BURST / (INTERVALS * (double)EACH);
    const int runs = test_soaks() ? 2000 : 800;
    int seen = 0, hits = 0, rest_hits = 0;
    for (int run = 0; run < runs; run++) {
        struct profile *profile = profile_new(1);
        double next = -log(1 - profile_random(&seed)) / bursts * INTERVALS, part;
        for (int i = 0; i < INTERVALS; i++) {
            struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
            uint64_t samples = 0;
            while (next < i + 1) {
                do
                    samples++;
                while (profile_random(&seed) * A_BURST > 1);
                next -= log(1 - profile_random(&seed)) / bursts * INTERVALS;
            }
            if (samples > 0)
                profile_count(interval, 0x100, samples);
            profile_count(interval, 0x200, EACH - samples);
        }
        struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
        double error = error_of(&shares, 0x100, &part);
        seen += part > 0;
        hits += part > 0 && fabs(part - truth) <= error;
        /* What is left of all is as sure as what is gone */
        double its_part, its_error = error_of(&shares, 0x200, &its_part);
        assert_true(part == 0 || fabs(its_error - error) < 1e-9);
        rest_hits += fabs(its_part - (1 - truth)) <= its_error;
        shares_free(&shares);
        profile_file_free(profile);
    }
    *rest = 100.0 * rest_hits / runs;
    return 100.0 * hits / seen;
}

/* By the deviations of batches alone it would be 83 %: few bursts are often small ones, too. */
TEST(of_bursts_too)
{
    static const double bursts[] = {3, 5, 8, 12, 20, 40};
    double rest;
    for (size_t i = 0; i < sizeof bursts / sizeof *bursts; i++) {
        double share = covered_bursts(19 + i, bursts[i], &rest);
        assert_true(share >= 91 && share <= 99);
        assert_true(rest >= 91);
    }
    (void)covered_bursts(31, 0.5, &rest); /* mostly none is met */
    assert_true(rest >= 91);
}

/* As many in each batch: that proves no more than as many independent samples do. */
TEST(of_what_is_the_same_in_each_batch)
{
    struct profile *profile = profile_new(1);
    for (int i = 0; i < 20; i++) {
        struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
        profile_count(interval, 0x100, 500);
        profile_count(interval, 0x200, 1);
    }
    struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    for (size_t i = 0; i < shares.n; i++)
        assert_true(fabs(shares.rows[i].plus_minus - 3.0 / 10020) < 1e-5);
    shares_free(&shares);
    profile_file_free(profile);
}

/* Growing intervals, of which the last have 1 % of all samples each. */
TEST(batches_of_growing_intervals)
{
    struct profile *profile = profile_new(1);
    double from = 0;
    for (int i = 0; i < 300; i++) {
        double length = from / 100 > 0.005 ? from / 100 : 0.005;
        profile_count(profile_interval(profile, 0, from, from + length), 1 + (unsigned)i % 2,
                      (uint64_t)(length * 10000));
        from += length;
    }
    struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_int_equal(shares.batches, SHARES_BATCHES);
    shares_free(&shares);
    profile_file_free(profile);
}

/* As a short run on a busy host has them: what their samples say is that of fewer batches. */
TEST(batches_of_uneven_sizes)
{
    enum { RUNS = 2000 };
    uint64_t seed = 17;
    int told = 0, hits = 0;
    for (int run = 0; run < RUNS; run++) {
        struct profile *profile = random_profile(&seed, 0.3, 12, 800, 1, true);
        struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
        double part, error = error_of(&shares, 0x100, &part);
        told += !isnan(error);
        hits += fabs(part - 0.3) <= error;
        shares_free(&shares);
        profile_file_free(profile);
    }
    assert_true(told > RUNS * 9 / 10 && hits >= told * 0.94 && hits <= told * 0.98);
}

TEST(what_always_is)
{
    struct profile *profile = profile_new(1);
    for (int i = 0; i < 20; i++)
        profile_count(profile_interval(profile, 0, i, i + 1), 0x10, 100);
    struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_true(shares.rows[0].part == 1);
    /* The rule of three, of batches: how long else a burst would last is not known */
    assert_true(fabs(shares.rows[0].plus_minus - 3.0 / 20) < 0.001);
    shares_free(&shares);
    profile_file_free(profile);
    /* So short that it is wide: nothing differs */
    profile = profile_new(1);
    for (int i = 0; i < 5; i++)
        profile_count(profile_interval(profile, 0, i, i + 1), 0x10, 3000);
    shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_true(shares.rows[0].plus_minus > 0.55);
    assert_false(shares.is_uneven || shares.is_few);
    shares_free(&shares);
    profile_file_free(profile);
}

/* Intervals that are alike, of 100 samples; `anywhere`: what is asleep may be so in any code. */
static struct profile *doubtful(const struct profile_count *counts, size_t n, uint64_t asleep, double doubt,
                                bool anywhere)
{
    struct profile *profile = profile_new(1);
    for (int i = 0; i < 20; i++) {
        struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
        for (size_t k = 0; k < n; k++)
            if (counts[k].samples > 0)
                profile_count(interval, counts[k].address, counts[k].samples);
        interval->states[PROFILE_ASLEEP] = asleep;
        interval->asleep_doubt = i < 19 ? 0.5 : doubt;
        interval->asleep_anywhere = anywhere;
    }
    return profile;
}

static void assert_doubt(const struct share *row, double doubt)
{
    if (!(row->plus_minus >= doubt) || !(row->plus_minus < doubt + 0.01) || fabs(row->doubt - doubt) > 1e-9)
        fail_msg("%s 0x%" PRIx64 ": %g", or_empty(row->function), row->address, row->plus_minus);
}

/* The chance of which states were read is that of all batches. Without a program any row may be asleep: it
 * loses no more than it has, and gains no more than what is asleep. */
TEST(asleep_has_its_doubt_and_so_has_what_it_is_from)
{
    static const struct profile_count counts[] = {{0x10, 88}, {0x20, 2}}, awake[] = {{0x10, 70}, {0x20, 30}};
    struct profile *profile = doubtful(counts, 2, 10, 0.15, false);
    struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_doubt(&shares.rows[0], 0.15);
    assert_true(shares.rows[1].state == PROFILE_ASLEEP);
    assert_doubt(&shares.rows[1], 0.15);
    assert_doubt(&shares.rows[2], 0.1);
    assert_false(shares.is_uneven || shares.hides_doubt);
    shares_free(&shares);
    profile_file_free(profile);
    /* None asleep, of which all may be */
    profile = doubtful(awake, 2, 0, 0.4, true);
    shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_doubt(&shares.rows[0], 0.4);
    assert_doubt(&shares.rows[1], 0.3);
    assert_false(shares.is_uneven || shares.hides_doubt);
    shares_free(&shares);
    profile_file_free(profile);
}

/* `blink` whose `main` begins with a WFI. */
static struct symbols *open_sleeper(void)
{
    char path[512];
    struct symbols *blink = fixture_open("blink");
    struct segment segments[8];
    struct location idle;
    struct error error = {0};
    assert_true(symbols_locate(blink, "main", &idle, &error));
    size_t n = symbols_segments(blink, segments, COUNT(segments)), which = 0;
    while (which < n && idle.low - segments[which].address >= segments[which].size)
        which++;
    assert_true(which < n && idle.low + 8 <= segments[which].address + segments[which].size);
    FILE *file = fopen(fixture_path("blink", path, sizeof path), "rb");
    static uint8_t bytes[1 << 18];
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size < sizeof bytes);
    fclose(file);
    uint8_t *at = memmem(bytes, size, segments[which].bytes + (idle.low - segments[which].address), 8);
    assert_non_null(at);
    at[0] = 0x30; /* DDI 0403E A7.7.262: 0xBF30 */
    at[1] = 0xBF;
    symbols_close(blink);
    struct symbols *symbols = symbols_open_memory(bytes, size, &error);
    assert_non_null(symbols);
    return symbols;
}

/* In known code only the functions with a WFI or WFE have samples that may be asleep. */
TEST(the_doubt_of_sleep_is_where_the_program_sleeps)
{
    struct symbols *symbols = open_sleeper();
    struct location fir, idle;
    struct error error = {0};
    assert_true(symbols_locate(symbols, "fir_filter", &fir, &error));
    assert_true(symbols_locate(symbols, "main", &idle, &error));
    assert_true(symbols_may_sleep(symbols, idle.low, idle.high));
    assert_false(symbols_may_sleep(symbols, fir.low, fir.high));
    assert_true(fir.low < idle.low);
    const struct profile_count before[] = {{fir.low, 60}, {idle.low, 10}, {0xE0000000, 10}},
                               after[] = {{fir.low, 60}, {idle.low, 20}, {0xE0000000, 10}},
                               gone[] = {{fir.low, 60}, {0xE0000000, 10}};
    struct profile *old = doubtful(before, 3, 20, 0.16, false), *now = doubtful(after, 3, 10, 0.16, false);
    struct shares shares = shares_of(old, 0, SHARES_FUNCTION, symbols);
    assert_doubt(row_of(&shares, "fir_filter", NULL), 0);
    assert_doubt(row_of(&shares, "main", NULL), 0.16);
    assert_doubt(row_of(&shares, NULL, NULL), 0.16); /* code that is not known */
    /* What `main` has more than before may be asleep */
    struct shares its = shares_of(now, 0, SHARES_FUNCTION, symbols);
    struct shares_diff diff;
    assert_true(shares_diff_make(&its, &shares, &diff));
    assert_int_equal(diff.noise, diff.n);
    shares_diff_free(&diff);
    shares_free(&its);
    profile_file_free(now);
    /* It need not have one sample for that */
    now = doubtful(gone, 2, 30, 0.16, false);
    its = shares_of(now, 0, SHARES_FUNCTION, symbols);
    assert_true(shares_diff_make(&its, &shares, &diff));
    assert_int_equal(diff.noise, diff.n);
    shares_diff_free(&diff);
    shares_free(&its);
    profile_file_free(now);
    shares_free(&shares);
    profile_file_free(old);
    /* Sleep that is not at a WFI: its samples are from anywhere */
    old = doubtful(before, 3, 20, 0.16, true);
    shares = shares_of(old, 0, SHARES_FUNCTION, symbols);
    assert_doubt(row_of(&shares, "fir_filter", NULL), 0.16);
    shares_free(&shares);
    profile_file_free(old);
    /* A program that does not sleep: another than the recorded one */
    const struct profile_count only[] = {{fir.low, 100}};
    old = doubtful(only, 1, 0, 0.16, false);
    shares = shares_of(old, 0, SHARES_FUNCTION, symbols);
    assert_true(shares.hides_doubt);
    shares_free(&shares);
    profile_file_free(old);
    symbols_close(symbols);
}

TEST(too_few)
{
    uint64_t seed = 3;
    struct profile *profile = random_profile(&seed, 0.5, 4, 1000, 1, false);
    struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_true(shares.is_few && isnan(shares.rows[0].plus_minus));
    shares_free(&shares);
    profile_file_free(profile);
    profile = random_profile(&seed, 0.5, 9, 111, 1, false);
    shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_true(shares.is_few && isfinite(shares.rows[0].plus_minus));
    shares_free(&shares);
    profile_file_free(profile);
    profile = random_profile(&seed, 0.5, 10, 111, 1, false);
    shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_false(shares.is_few);
    shares_free(&shares);
    profile_file_free(profile);
}

TEST(phases)
{
    uint64_t seed = 5;
    struct profile *profile = random_profile(&seed, 0.5, 20, 1000, 4000, false);
    struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    assert_true(shares.is_uneven);
    shares_free(&shares);
    profile_file_free(profile);
}

/* `step` bytes between the sampled addresses. */
static bool seems_sparse(unsigned addresses, unsigned step, uint64_t samples)
{
    struct profile *profile = profile_new(1);
    for (int i = 0; i < 10; i++) {
        struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
        for (unsigned k = 0; k < addresses; k++)
            profile_count(interval, 0x1000 + k * step, samples);
    }
    struct shares shares = shares_of(profile, 0, SHARES_ADDRESS, NULL);
    bool sparse = shares.is_sparse;
    shares_free(&shares);
    profile_file_free(profile);
    return sparse;
}

TEST(addresses_that_stand_apart)
{
    assert_true(seems_sparse(40, 12, 10));
    assert_false(seems_sparse(40, 2, 10));
    assert_false(seems_sparse(40, 4, 10));
    assert_false(seems_sparse(20, 12, 10)); /* a few loops */
    assert_false(seems_sparse(40, 12, 1));  /* most addresses have not had their turn */
}

static void add_contexts(struct profile *profile, enum profile_context kind, double from,
                         const struct profile_count *counts, size_t n)
{
    struct profile_contexts *contexts = &profile->contexts[kind];
    size_t at = contexts->interval_count++;
    contexts->intervals = realloc(contexts->intervals, (at + 1) * sizeof *contexts->intervals);
    assert_non_null(contexts->intervals);
    contexts->intervals[at] = (struct profile_interval){.from = from, .to = from + 1};
    for (size_t i = 0; i < n; i++)
        profile_count(&contexts->intervals[at], counts[i].address, counts[i].samples);
}

/* No sample has to be there. */
TEST(a_function_is_told_by_its_entry)
{
    struct symbols *symbols = fixture_open("blink");
    struct location fir;
    struct error error = {0};
    struct profile *profile = profile_new(1);
    assert_true(symbols_locate(symbols, "fir_filter", &fir, &error));
    profile_count(profile_interval(profile, 0, 0, 1), fir.low + 4, 7);
    struct shares shares = shares_of(profile, 0, SHARES_FUNCTION, symbols);
    assert_int_equal(row_of(&shares, "fir_filter", NULL)->address, fir.low);
    shares_free(&shares);
    shares = shares_of(profile, 0, SHARES_ADDRESS, symbols);
    assert_int_equal(shares.rows[0].address, fir.low + 4);
    shares_free(&shares);
    profile_file_free(profile);
    symbols_close(symbols);
}

/* A number below the first 256 addresses. */
TEST(a_task_without_a_name_is_a_number_or_an_address)
{
    static const struct profile_count tasks[] = {{255, 30}, {256, 20}};
    static const char *const names[] = {"255", "0x00000100"};
    struct profile *profile = profile_new(1);
    profile_count(profile_interval(profile, 0, 0, 1), 0x100, 50);
    add_contexts(profile, PROFILE_TASKS, 0, tasks, COUNT(tasks));
    struct shares shares = shares_of(profile, 0, SHARES_TASK, NULL);
    assert_int_equal(shares.n, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++)
        assert_string_equal(shares.rows[i].function, names[i]);
    shares_free(&shares);
    profile_file_free(profile);
}

TEST(of_exceptions_tasks_and_processes)
{
    static const struct profile_count exceptions[] = {{0, 80}, {9, 1}, {15, 15}, {16 + 3, 4}},
                                      tasks[] = {{2, 30}, {0x20000000, 70}},
                                      processes[] = {{0, 90}, {0x1A2B0003, 10}};
    struct profile *profile = profile_new(1);
    for (int i = 0; i < 10; i++) {
        profile_count(profile_interval(profile, 0, i, i + 1), 0x100, 1000);
        add_contexts(profile, PROFILE_EXCEPTIONS, i, exceptions, 4);
        add_contexts(profile, PROFILE_TASKS, i, tasks, 2);
        add_contexts(profile, PROFILE_PROCESSES, i, processes, 2);
    }
    struct shares shares = shares_of(profile, 0, SHARES_EXCEPTION, NULL);
    static const char *const names[] = {"[none]", "SysTick", "IRQ 3", "exception 9"};
    assert_int_equal(shares.sort, SHARES_EXCEPTION);
    assert_int_equal(shares.samples, 1000);
    assert_int_equal(shares.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(shares.rows[i].function, names[i]);
    assert_true(shares.rows[1].part == 0.15 && shares.rows[1].plus_minus < 0.01);
    shares_free(&shares);
    shares = shares_of(profile, 0, SHARES_PROCESS, NULL);
    assert_int_equal(shares.n, 2);
    assert_string_equal(shares.rows[0].function, "0x0");
    assert_string_equal(shares.rows[1].function, "0x1A2B0003");
    shares_free(&shares);
    shares = shares_of(profile, 0, SHARES_TASK, NULL);
    assert_int_equal(shares.n, 2);
    assert_string_equal(shares.rows[0].function, "0x20000000");
    assert_string_equal(shares.rows[1].function, "2");
    shares_free(&shares);
    profile->tasks = calloc(2, sizeof *profile->tasks);
    assert_non_null(profile->tasks);
    profile->tasks[profile->task_count++] = (struct profile_task){.value = 2, .name = strdup("IDLE")};
    profile->tasks[profile->task_count++] =
        (struct profile_task){.value = 0x20000000, .name = strdup("IDLE")};
    shares = shares_of(profile, 0, SHARES_TASK, NULL);
    assert_int_equal(shares.n, 2); /* both live in each interval */
    assert_string_equal(shares.rows[0].function, "IDLE (0x20000000)");
    assert_string_equal(shares.rows[1].function, "IDLE (0x00000002)");
    shares_free(&shares);
    profile_file_free(profile);
}

TEST(a_task_that_was_made_anew_is_one)
{
    static const uint64_t values[] = {2, 3, 4};
    struct profile *profile = profile_new(1);
    for (int i = 0; i < 10; i++) { /* the first ends in an interval in which the second begins */
        const struct profile_count tasks[] = {{i < 5 ? 2 : 3, 60}, {i == 4 ? 3 : 4, 40}};
        add_contexts(profile, PROFILE_TASKS, i, tasks, 2);
    }
    profile->tasks = calloc(COUNT(values), sizeof *profile->tasks);
    assert_non_null(profile->tasks);
    for (size_t i = 0; i < COUNT(values); i++)
        profile->tasks[profile->task_count++] =
            (struct profile_task){.value = values[i], .name = strdup(i < 2 ? "worker" : "IDLE")};
    struct shares shares = shares_of(profile, 0, SHARES_TASK, NULL);
    assert_int_equal(shares.n, 2);
    assert_string_equal(shares.rows[0].function, "worker");
    assert_int_equal(shares.rows[0].samples, 640);
    assert_string_equal(shares.rows[1].function, "IDLE");
    shares_free(&shares);
    profile_file_free(profile);
}
