/* The samples of a function by line and by instruction: none is lost, and none is another function's. */
#include "../symbols/fixture.h"
#include "profiles.h"

#include "profile/annotation.h"
#include "profile/shares.h"

#include <math.h>

static struct symbols *symbols;
static struct location fir;
static struct profile *profile;

static void open_program(const char *name)
{
    symbols = fixture_open(name);
    fir = must_locate(symbols, "fir_filter");
}

static int end(void **state)
{
    (void)state;
    symbols_close(symbols);
    profile_file_free(profile);
    symbols = NULL;
    profile = NULL;
    return 0;
}

#define ANNOTATION_TEST(name) TEST_WITH(name, NULL, end)

static struct annotated_function annotate(void)
{
    struct annotated_function function;
    struct error error = {.kind = ERROR_NONE};
    char path[512];
    if (!annotated_function_make(profile, symbols, fixture_path("blink", path, sizeof path), fir.address + 4,
                                 &function, &error))
        fail_msg("%s", error.text);
    return function;
}

/* Sums by line are those by instruction, and those of `report`. */
ANNOTATION_TEST(each_sample_once)
{
    open_program("blink");
    profile = profile_new(2);
    uint64_t seed = 1, inside = 0;
    for (unsigned i = 0; i < 40; i++) {
        unsigned second = i / 2;
        struct profile_interval *interval = profile_interval(profile, i % 2, second, second + 1);
        profile_count(interval, fir.low - 2, 100);
        for (uint64_t address = fir.low; address < fir.high; address += 2) {
            uint64_t samples = 1 + (uint64_t)(100 * profile_random(&seed));
            inside += i % 2 == 0 ? samples : 0;
            profile_count(interval, address, samples);
        }
        profile_count(interval, fir.high, 50);
        interval->states[PROFILE_ASLEEP] = 10;
        uint64_t at[] = {fir.low};
        assert_true(call_stacks_add(&interval->stacks,
                                    &(struct call_stack){.samples = 50, .at = at, .depth = 1, .sure = 1}));
    }
    struct annotated_function function = annotate();
    assert_string_equal(function.at.name, "fir_filter");
    assert_int_equal(function.core_count, 2);
    struct annotation *core = &function.cores[0];
    struct shares shares, lines;
    assert_true(shares_make(profile, 0, SHARES_FUNCTION, symbols, &shares));
    assert_true(shares_make(profile, 0, SHARES_LINE, symbols, &lines));
    for (size_t i = 0; i < shares.n; i++)
        if (shares.rows[i].address == fir.low) {
            assert_int_equal(shares.rows[i].samples, core->samples);
            assert_true(shares.rows[i].part == core->part && shares.rows[i].plus_minus == core->plus_minus);
        }
    assert_int_equal(core->core_samples, shares.samples);
    assert_int_equal(core->samples, inside);
    uint64_t by_line = 0, by_row = 0;
    double parts = 0;
    for (size_t i = 0; i < core->line_count; i++) {
        const struct annotated_line *line = &core->lines[i];
        char source[64];
        uint64_t same = 0;
        snprintf(source, sizeof source, "blink.c:%u", line->line);
        for (size_t k = 0; k < lines.n; k++)
            if (lines.rows[k].source != NULL && strcmp(lines.rows[k].source, source) == 0 &&
                strcmp(lines.rows[k].function, "fir_filter") == 0)
                same += lines.rows[k].samples;
        assert_int_equal(line->samples, same);
        assert_true(line->plus_minus > 0 && line->plus_minus < 0.2);
        by_line += line->samples;
        parts += line->part;
    }
    for (size_t i = 0; i < function.listing.n; i++)
        by_row += core->row_samples[i];
    assert_int_equal(by_line, inside);
    assert_int_equal(by_row, inside);
    assert_true(fabs(parts - 1) < 1e-9);
    assert_false(core->is_few);
    shares_free(&shares);
    shares_free(&lines);
    annotated_function_free(&function);
}

/* Of a function without a WFI or WFE, unless the doubt is of any code; its lines are parts of it alone. */
ANNOTATION_TEST(the_doubt_of_sleep_is_in_a_function_and_its_lines)
{
    open_program("blink");
    profile = profile_new(1);
    for (unsigned i = 0; i < 20; i++) {
        struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
        profile_count(interval, fir.low, 20);
        profile_count(interval, fir.high, 60);
        interval->states[PROFILE_ASLEEP] = 20;
        interval->asleep_doubt = 0.1;
    }
    for (int anywhere = 0; anywhere < 2; anywhere++) {
        profile->intervals[3].asleep_anywhere = anywhere > 0;
        struct annotated_function function = annotate();
        struct annotation *core = &function.cores[0];
        struct annotated_line *line = &core->lines[core->line_of[0]];
        assert_int_equal(line->samples, core->samples);
        assert_true(fabs(core->plus_minus - (anywhere > 0 ? 0.1 : 0)) < 0.01);
        assert_true(fabs(line->plus_minus - (anywhere > 0 ? 0.65 : 0.15)) <
                    0.02); /* 10 of 20, and 3 batches */
        annotated_function_free(&function);
    }
}

/* Of a line of three instructions only the middle one is surely its own. */
ANNOTATION_TEST(where_skid_matters)
{
    open_program("blink0");
    profile = profile_new(1);
    struct profile_interval *interval = profile_interval(profile, 0, 0, 1);
    struct annotated_function function = annotate();
    size_t line = 0, first = 0, n = 0;
    for (size_t i = 0; i < function.listing.n && n < 3; i++) {
        if (function.cores[0].line_of[i] != line)
            n = 0;
        line = function.cores[0].line_of[i];
        first = n == 0 ? i : first;
        n++;
    }
    assert_int_equal(n, 3);
    profile_count(interval, function.listing.rows[first].address, 10);
    profile_count(interval, function.listing.rows[first + 1].address, 9);
    annotated_function_free(&function);
    function = annotate();
    assert_true(function.cores[0].lines[line].at_border);
    assert_true(function.cores[0].is_few && isnan(function.cores[0].lines[line].plus_minus));
    interval->counts[1].samples = 10;
    annotated_function_free(&function);
    function = annotate();
    assert_false(function.cores[0].lines[line].at_border);
    assert_int_equal(function.cores[0].lines[line].samples, 20);
    annotated_function_free(&function);
}

ANNOTATION_TEST(a_thumb_bit_and_no_lines)
{
    open_program("nodebug");
    profile = profile_new(1);
    profile_count(profile_interval(profile, 0, 0, 1), fir.low + 1, 7);
    struct annotated_function function = annotate();
    assert_int_equal(function.cores[0].row_samples[0], 7);
    assert_int_equal(function.cores[0].line_count, 1);
    assert_int_equal(function.cores[0].lines[0].line, 0);
    annotated_function_free(&function);
}

ANNOTATION_TEST(of_no_function)
{
    open_program("blink");
    profile = profile_new(1);
    struct annotated_function function;
    struct error error = {.kind = ERROR_NONE};
    assert_false(annotated_function_make(profile, symbols, "", 0x70000000, &function, &error));
    assert_int_equal(error.kind, ERROR_SYMBOL);
}
