/* Samples as stacks of one frame: each once, under the names of the table by function. */
#include "../symbols/fixture.h"
#include "profiles.h"

#include "profile/shares.h"
#include "profile/stacks.h"

#include <inttypes.h>

static uint64_t samples_of(const struct stacks *stacks, unsigned core, const char *name)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < stacks->n; i++) {
        const struct stack *row = &stacks->rows[i];
        assert_int_equal(row->depth, 1);
        const struct stack_place *place = &stacks->places[stacks->frames[row->first]];
        if (row->core == core && strcmp(stacks->functions[place->function].name, name) == 0)
            samples += row->samples;
    }
    return samples;
}

/* Two cores, three intervals, with and without addresses; one is of no program. */
static struct profile *two_cores(uint64_t address)
{
    struct profile *profile = profile_new(2);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned core = 0; core < 2; core++) {
            struct profile_interval *interval = profile_interval(profile, core, i, i + 1);
            profile_count(interval, 0x10, 1);
            profile_count(interval, address, 10 + i);
            profile_count(interval, address + 2, 20);
            interval->states[PROFILE_ASLEEP] = core;
        }
    return profile;
}

TEST(sums_are_those_of_the_table)
{
    struct symbols *symbols = fixture_open("blink");
    struct location fir;
    struct error error;
    assert_true(symbols_locate(symbols, "fir_filter", &fir, &error));
    struct profile *profile = two_cores(fir.address);
    struct stacks stacks;
    assert_true(stacks_make(profile, symbols, false, &stacks));
    for (unsigned core = 0; core < 2; core++) {
        struct shares shares;
        assert_true(shares_make(profile, core, SHARES_FUNCTION, symbols, &shares));
        assert_int_equal(shares.n, 2 + core);
        for (size_t i = 0; i < shares.n; i++) {
            const struct share *row = &shares.rows[i];
            const char *name = row->state != PROFILE_STATES ? shares_state_name(row->state)
                               : row->function != NULL      ? row->function
                                                            : "[unknown]";
            assert_int_equal(samples_of(&stacks, core, name), row->samples);
        }
        shares_free(&shares);
    }
    assert_int_equal(stacks.n, 3 + 4);
    assert_int_equal(stacks.function_count, 2 + PROFILE_STATES);
    const struct stack_place *place = &stacks.places[1];
    assert_string_equal(stacks.functions[place->function].name, "fir_filter");
    assert_int_equal(stacks.functions[place->function].entry, fir.address);
    assert_string_equal(place->file, "blink.c");
    assert_true(place->line > 0);
    stacks_free(&stacks);
    symbols_close(symbols);
    profile_file_free(profile);
}

/* Overloads and static ones: other programs would add up what has one name. */
TEST(functions_of_one_name_are_told_apart)
{
    static const char *const programs[] = {"blink", "nodebug"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct symbols *symbols = fixture_open(programs[i]);
        struct location one, other;
        struct error error;
        char expected[2][LOCATION_NAME];
        assert_true(symbols_locate(symbols, "blink.c:helper", &one, &error));
        assert_true(symbols_locate(symbols, "other.c:helper", &other, &error));
        struct profile *profile = profile_new(1);
        struct profile_interval *interval = profile_interval(profile, 0, 0, 1);
        bool first = one.address < other.address;
        profile_count(interval, (first ? one : other).address, first ? 3 : 4);
        profile_count(interval, (first ? other : one).address, first ? 4 : 3);
        struct stacks stacks;
        assert_true(stacks_make(profile, symbols, false, &stacks));
        for (int k = 0; k < 2; k++) {
            const struct location *at = k == 0 ? &one : &other;
            if (at->source[0] != '\0')
                snprintf(expected[k], sizeof expected[k], "helper [%s]", at->source);
            else
                snprintf(expected[k], sizeof expected[k], "helper [0x%08" PRIx64 "]", at->address);
            assert_int_equal(samples_of(&stacks, 0, expected[k]), 3 + k);
            assert_int_equal(stacks.functions[k].plain, strlen("helper"));
        }
        stacks_free(&stacks);
        symbols_close(symbols);
        profile_file_free(profile);
    }
}

TEST(without_symbols_an_address_is_its_own_function)
{
    struct profile *profile = two_cores(0x8000100);
    struct stacks stacks;
    assert_true(stacks_make(profile, NULL, false, &stacks));
    assert_int_equal(samples_of(&stacks, 0, "0x08000100"), 33);
    assert_int_equal(samples_of(&stacks, 1, "0x08000102"), 60);
    assert_int_equal(samples_of(&stacks, 1, "[asleep]"), 3);
    stacks_free(&stacks);
    profile_file_free(profile);
}

TEST(in_time_each_interval_is_kept)
{
    struct profile *profile = two_cores(0x8000100);
    struct stacks stacks;
    assert_true(stacks_make(profile, NULL, true, &stacks));
    assert_int_equal(stacks.n, 3 * (3 + 4));
    for (size_t i = 1; i < stacks.n; i++)
        assert_true(stacks.rows[i].from >= stacks.rows[i - 1].from);
    assert_int_equal(samples_of(&stacks, 0, "0x08000100"), 33);
    stacks_free(&stacks);
    profile_file_free(profile);
}

TEST(an_empty_profile_has_no_stacks)
{
    struct profile *profile = profile_new(1);
    struct stacks stacks;
    assert_true(stacks_make(profile, NULL, false, &stacks));
    assert_int_equal(stacks.n, 0);
    stacks_free(&stacks);
    profile_file_free(profile);
}

/* The leaf first. */
TEST(call_stacks_say_what_is_guessed_or_cut_short)
{
    static const char *const names[] = {"0x10000124",           "0x10000200", "0x10000124",
                                        "0x10000200 [guessed]", "0x10000124", "[cut short]"};
    uint64_t at[] = {0x10000124, 0x10000200};
    struct call_stack calls[] = {{.samples = 4, .at = at, .depth = 2, .sure = 2},
                                 {.samples = 3, .at = at, .depth = 2, .sure = 1},
                                 {.samples = 2, .at = at, .depth = 1, .sure = 1, .end = UNWIND_NO_RULES}};
    struct profile *profile = profile_new(1);
    struct profile_interval *interval = profile_interval(profile, 0, 0, 1);
    struct stacks stacks;
    size_t n = 0;
    profile_count(interval, at[0], 9);
    interval->stacks = (struct call_stacks){.rows = calls, .n = 3};
    assert_true(stacks_make(profile, NULL, false, &stacks));
    assert_int_equal(stacks.n, 3);
    for (size_t i = 0; i < stacks.n; i++) {
        assert_int_equal(stacks.rows[i].samples, calls[i].samples);
        for (size_t k = 0; k < stacks.rows[i].depth; k++, n++) {
            const struct stack_place *place = &stacks.places[stacks.frames[stacks.rows[i].first + k]];
            assert_true(n < sizeof names / sizeof *names);
            assert_string_equal(stacks.functions[place->function].name, names[n]);
        }
    }
    assert_int_equal(n, sizeof names / sizeof *names);
    interval->stacks = (struct call_stacks){0};
    stacks_free(&stacks);
    profile_file_free(profile);
}
