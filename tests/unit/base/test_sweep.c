/*
 * The tests' own sweeps, which leave places out in `make check`: not too many, and the same ones again.
 */
#include "test.h"

enum { CHECK = 10, SOAK = 3, ROWS = 200, PLACES = ROWS * CHECK };

static void takes(const struct test_sweep *sweep, bool *taken)
{
    for (long place = 0; place < PLACES; place++)
        taken[place] = test_takes(sweep, place);
}

TEST(each_row_has_one_place)
{
    const struct test_sweep sweep = {.seed = test_seed(), .one_in = CHECK};
    bool taken[PLACES];
    unsigned seen = 0;
    takes(&sweep, taken);
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned n = 0;
        for (unsigned i = 0; i < CHECK; i++) {
            n += taken[row * CHECK + i];
            seen |= taken[row * CHECK + i] ? 1U << i : 0;
        }
        assert_int_equal(n, 1);
    }
    assert_int_equal(seen, (1U << CHECK) - 1); /* not the same of each row */
}

TEST(a_name_means_the_same_places_again)
{
    const struct test_sweep one = test_sweep(1, CHECK, "reset, way %d", 1),
                            again = test_sweep(1, CHECK, "reset, way %d", 1),
                            other = test_sweep(1, CHECK, "reset, way %d", 2);
    bool places[PLACES], same[PLACES], others[PLACES];
    takes(&one, places);
    takes(&again, same);
    takes(&other, others);
    assert_memory_equal(places, same, sizeof places);
    if (!test_soaks())
        assert_memory_not_equal(places, others, sizeof places);
}

TEST(a_soak_takes_every_place_or_every_so_many_th)
{
    const struct test_sweep every = {.soaks = true, .one_in = 1}, some = {.soaks = true, .one_in = SOAK};
    for (long place = 0; place < PLACES; place++) {
        assert_true(test_takes(&every, place));
        assert_int_equal(test_takes(&some, place), place % SOAK == 0);
    }
}
