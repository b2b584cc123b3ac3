/* Which functions a survey's pattern takes. */
#include "../symbols/fixture.h"
#include "run/turns.h"

#include <string.h>

TEST(a_pattern_takes_functions_and_none_of_their_cold_parts)
{
    static const struct process any;
    struct symbols *symbols = fixture_open("copies");
    struct survey_regions regions = {.n = 0};
    struct error error = {0};
    char names[128] = "";
    assert_true(survey_regions_choose(&regions, symbols, "crc*", &any, &error));
    for (size_t i = 0; i < regions.n; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s; ", survey_regions_name(&regions.at[i]));
    }
    assert_string_equal(names, "crc; crc.constprop.0; crc.part.0; ");
    assert_true(survey_regions_choose(&regions, symbols, "crc", &any, &error)); /* is there already */
    assert_int_equal(regions.n, 3);
    assert_fails(survey_regions_choose(&regions, symbols, "crc.c[o]ld", &any, &error), &error, ERROR_SYMBOL,
                 "no function matches \"crc.c[o]ld\"");
    survey_regions_free(&regions);
    symbols_close(symbols);
}

/* A large program is read for minutes. */
TEST(a_signal_ends_the_choice_of_functions)
{
    const volatile sig_atomic_t came = 1, none = 0;
    const struct process process = {0};
    struct survey_regions regions = {.cancel = &came};
    struct error error = {0};
    assert_false(survey_regions_choose(&regions, fixture("blink"), "*", &process, &error));
    assert_int_equal(error.kind, ERROR_CANCELLED);
    assert_int_equal(regions.n, 0);
    regions.cancel = &none;
    assert_true(survey_regions_choose(&regions, fixture("blink"), "*", &process, &error));
    assert_in_range(regions.n, 5, 100);
    survey_regions_free(&regions);
}
