/* Comparators: for each set of those that are free, which of them serve for what. Nobody's is taken. */
#include "../test.h"

#include "engine/breakpoints.h"

#include <string.h>

enum { N = 6, CONTEXTS = 2, SETS = 1 << N };

static unsigned count(uint32_t set)
{
    unsigned n = 0;
    for (; set != 0; set &= set - 1)
        n++;
    return n;
}

static const struct core core = {.comparators = N, .context_comparators = CONTEXTS};
static const uint32_t able = 3U << (N - CONTEXTS);

TEST(without_a_context)
{
    for (uint32_t free = 1; free < SETS; free++) {
        const struct comparators found = {.free = free};
        struct comparator_choice choice;
        struct error error = {0};
        assert_true(comparators_choose(&core, &found, false, &choice, &error));
        uint32_t taken = 1U << choice.stop;
        assert_int_equal(taken & ~free, 0);
        assert_int_equal(choice.rest, free & ~taken);
        assert_true(taken > choice.rest); /* the last one: other debuggers start with the first */
    }
}

TEST(with_a_context)
{
    for (uint32_t free = 0; free < SETS; free++) {
        const struct comparators found = {
            .free = free, .taken = " 0x00000010 0x00000020", .taken_context = " 0x00000020"};
        struct comparator_choice choice;
        struct error error = {0};
        bool ok = comparators_choose(&core, &found, true, &choice, &error);
        assert_int_equal(ok, (free & able) != 0 && count(free) >= 2);
        if (!ok) {
            assert_int_equal(error.kind, ERROR_NO_COMPARATOR);
            assert_non_null(strstr(error.text, (free & able) == 0
                                                   ? "all 2 breakpoint comparators that can compare contexts "
                                                     "are taken, by 0x00000020"
                                                   : "takes two breakpoint comparators, and all others are "
                                                     "taken, by 0x00000010 0x00000020"));
            continue;
        }
        uint32_t taken = 1U << choice.stop | 1U << choice.context;
        assert_true(able >> choice.context & 1);
        assert_int_equal(count(taken), 2); /* not one for both */
        assert_int_equal(taken & ~free, 0);
        assert_int_equal(choice.rest, free & ~taken);
    }
}

TEST(none_is_free)
{
    const struct comparators found = {.taken = " 0x00000010"};
    struct comparator_choice choice;
    struct error error = {0};
    assert_false(comparators_choose(&core, &found, false, &choice, &error));
    assert_int_equal(error.kind, ERROR_NO_COMPARATOR);
    assert_string_equal(error.text, "all 6 breakpoint comparators are taken, by 0x00000010");
}
