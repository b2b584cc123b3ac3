#include "measure/plan.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 8, ROOM = 16 };

struct placed {
    struct placement_pass passes[ROOM];
    size_t n, which;
    struct error error;
    bool ok;
};

static struct placed make(const struct placement_wish *wishes, size_t n, uint32_t usable, uint32_t reserved)
{
    struct placed o = {.which = SIZE_MAX};
    o.ok = placement_make(wishes, n, usable, reserved, o.passes, ROOM, &o.n, &o.which, &o.error);
    return o;
}

/* Tries everything: can these wishes have a counter each? */
static bool fits(const struct placement_wish *wishes, const size_t *chosen, size_t n, uint32_t free_counters)
{
    if (n == 0)
        return true;
    for (unsigned i = 0; i < 32; i++) {
        uint32_t bit = UINT32_C(1) << i;
        if ((wishes[chosen[0]].counters & free_counters & bit) != 0 &&
            fits(wishes, chosen + 1, n - 1, free_counters & ~bit))
            return true;
    }
    return false;
}

static bool same_group(const struct placement_wish *wishes, size_t a, size_t b)
{
    return a == b || (wishes[a].group != 0 && wishes[a].group == wishes[b].group);
}

static size_t first_of(const struct placement_wish *wishes, size_t wish)
{
    size_t first = 0;
    while (!same_group(wishes, first, wish))
        first++;
    return first;
}

/* The wishes of a group, behind `used` others. */
static size_t collect(const struct placement_wish *wishes, size_t n, size_t member, size_t *out, size_t used)
{
    for (size_t i = 0; i < n; i++)
        if (same_group(wishes, i, member))
            out[used++] = i;
    return used;
}

static void check_pass(const struct placement_wish *wishes, const struct placement_pass *pass,
                       uint32_t free_counters)
{
    uint32_t taken = 0;
    assert_true(pass->n > 0);
    for (size_t i = 0; i < pass->n; i++) {
        uint32_t bit = UINT32_C(1) << pass->counter[i];
        assert_true((wishes[pass->wish[i]].counters & free_counters & bit) != 0);
        assert_true((taken & bit) == 0);
        assert_true(i == 0 || pass->wish[i - 1] < pass->wish[i]);
        taken |= bit;
    }
}

/* Every wish once, and with its group. */
static void check_all_there(const struct placement_wish *wishes, size_t n, const struct placed *o,
                            size_t *pass_of)
{
    size_t seen[MOST] = {0};
    for (size_t k = 0; k < o->n; k++)
        for (size_t i = 0; i < o->passes[k].n; i++) {
            seen[o->passes[k].wish[i]]++;
            pass_of[o->passes[k].wish[i]] = k;
        }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(seen[i], 1);
        for (size_t k = 0; k < i; k++)
            assert_true(!same_group(wishes, i, k) || pass_of[i] == pass_of[k]);
    }
}

/* Nothing is in a later pass that would have gone into an earlier one beside what came before it. */
static void check_first_fit(const struct placement_wish *wishes, size_t n, const size_t *pass_of,
                            uint32_t free_counters)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < pass_of[i] && first_of(wishes, i) == i; k++) {
            size_t chosen[MOST], used = 0;
            for (size_t j = 0; j < n; j++)
                if (pass_of[j] == k && first_of(wishes, j) < i)
                    chosen[used++] = j;
            used = collect(wishes, n, i, chosen, used);
            assert_false(fits(wishes, chosen, used, free_counters));
        }
}

static void check(const struct placement_wish *wishes, size_t n, uint32_t usable, uint32_t reserved)
{
    struct placed o = make(wishes, n, usable, reserved);
    uint32_t free_counters = usable & ~reserved;
    size_t all[MOST], pass_of[MOST] = {0};
    for (size_t i = 0; i < n; i++)
        all[i] = i;
    if (!o.ok) {
        size_t chosen[MOST], used = collect(wishes, n, o.which, chosen, 0);
        assert_int_equal(o.error.kind, ERROR_USAGE);
        assert_true(o.which < n && first_of(wishes, o.which) == o.which);
        assert_false(fits(wishes, chosen, used, free_counters));
        return;
    }
    for (size_t k = 0; k < o.n; k++)
        check_pass(wishes, &o.passes[k], free_counters);
    check_all_there(wishes, n, &o, pass_of);
    check_first_fit(wishes, n, pass_of, free_counters);
    if (n > 0 && fits(wishes, all, n, free_counters))
        assert_int_equal(o.n, 1);
}

TEST(passes_are_valid_and_few)
{
    unsigned seed = (unsigned)test_seed();
    unsigned failed = 0;
    for (unsigned i = 0; i < 30000; i++) {
        struct placement_wish wishes[MOST];
        size_t n = (size_t)rand_r(&seed) % (MOST + 1);
        unsigned counters = 1 + (unsigned)rand_r(&seed) % 6, sparse = (unsigned)rand_r(&seed) % 3;
        for (size_t k = 0; k < n; k++) {
            uint32_t able = (uint32_t)rand_r(&seed) & 0x3F;
            wishes[k].counters = sparse == 0 ? 0x3F : sparse == 1 ? able : able & (uint32_t)rand_r(&seed);
            wishes[k].counters <<= i % 2 != 0 ? 26 : 0; /* up to the last counter that there can be */
            wishes[k].group = rand_r(&seed) % 2 != 0 ? 0 : 1 + (unsigned)rand_r(&seed) % 3;
        }
        uint32_t usable = ((UINT32_C(1) << counters) - 1) << (i % 2 != 0 ? 26 : 0);
        uint32_t reserved = rand_r(&seed) % 4 == 0 ? usable & (uint32_t)rand_r(&seed) : 0;
        check(wishes, n, usable, reserved);
        failed += !make(wishes, n, usable, reserved).ok;
    }
    assert_true(failed > 300 && failed < 29000); /* both ways were gone */
}

TEST(others_make_room)
{
    /* The first three can go anywhere, and have to leave the counter that alone counts the fourth */
    struct placement_wish wishes[] = {{0xF, 0}, {0xF, 0}, {0x3, 0}, {0x1, 0}};
    struct placed o = make(wishes, 4, 0xF, 0);
    assert_true(o.ok);
    assert_int_equal(o.n, 1);
    assert_int_equal(o.passes[0].counter[3], 0);
    assert_int_equal(o.passes[0].counter[2], 1);
    o = make(wishes, 4, 0xF, 0x8); /* one fewer */
    assert_int_equal(o.n, 2);
    assert_int_equal(o.passes[0].n, 3);
}

TEST(groups_stay_together)
{
    struct placement_wish wishes[] = {{3, 0}, {3, 7}, {3, 0}, {3, 7}, {3, 0}};
    struct placed o = make(wishes, 5, 3, 0);
    assert_true(o.ok);
    assert_int_equal(o.n, 3);
    assert_int_equal(o.passes[0].wish[1], 2); /* what comes later fills what the group left */
    assert_int_equal(o.passes[1].wish[0], 1);
    assert_int_equal(o.passes[1].wish[1], 3);
    assert_int_equal(o.passes[2].wish[0], 4);
}

TEST(what_never_fits_is_said)
{
    struct placement_wish three[] = {{3, 0}, {7, 1}, {7, 1}, {7, 1}}, clash[] = {{1, 2}, {1, 2}},
                          none[] = {{3, 0}, {0, 0}}, reserved[] = {{1, 0}}, mixed[] = {{3, 1}, {0, 1}};
    struct placed o = make(three, 4, 3, 0);
    assert_false(o.ok);
    assert_int_equal(o.which, 1);
    assert_int_equal(o.error.kind, ERROR_USAGE);
    assert_string_equal(o.error.text, "a group of 3 events needs 3 counters, and there are 2");
    o = make(clash, 2, 3, 0);
    assert_false(o.ok);
    assert_non_null(strstr(o.error.text, "only be counted by the same one"));
    o = make(none, 2, 3, 0);
    assert_int_equal(o.which, 1);
    assert_string_equal(o.error.text, "none of the 2 counters can count this event");
    assert_false(make(reserved, 1, 3, 1).ok);
    o = make(mixed, 2, 3, 0);
    assert_string_equal(o.error.text, "none of the 2 counters can count one event of this group");
}

TEST(room_for_passes_has_an_end)
{
    struct placement_wish wishes[] = {{1, 0}, {1, 0}, {1, 0}};
    struct placement_pass passes[2];
    struct error error = {0};
    size_t n = 0, which = 9;
    assert_false(placement_make(wishes, 3, 1, 0, passes, 2, &n, &which, &error));
    assert_int_equal(which, 2);
    assert_non_null(strstr(error.text, "more than 2 passes"));
    assert_true(placement_make(wishes, 0, 1, 0, passes, 2, &n, &which, &error));
    assert_int_equal(n, 0);
}
