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

static struct placed make(const struct placement_request *requests, size_t n, uint32_t usable,
                          uint32_t reserved)
{
    struct placed o = {.which = SIZE_MAX};
    o.ok = placement_make(requests, n, usable, reserved, o.passes, ROOM, &o.n, &o.which, &o.error);
    return o;
}

/* Tries everything: can these wishes have a counter each? */
static bool fits(const struct placement_request *requests, const size_t *chosen, size_t n,
                 uint32_t free_counters)
{
    if (n == 0)
        return true;
    for (unsigned i = 0; i < 32; i++) {
        uint32_t bit = UINT32_C(1) << i;
        if ((requests[chosen[0]].counters & free_counters & bit) != 0 &&
            fits(requests, chosen + 1, n - 1, free_counters & ~bit))
            return true;
    }
    return false;
}

static bool same_group(const struct placement_request *requests, size_t a, size_t b)
{
    return a == b || (requests[a].group != 0 && requests[a].group == requests[b].group);
}

static size_t first_of(const struct placement_request *requests, size_t request)
{
    size_t first = 0;
    while (!same_group(requests, first, request))
        first++;
    return first;
}

/* The wishes of a group, after `used` others. */
static size_t collect(const struct placement_request *requests, size_t n, size_t member, size_t *out,
                      size_t used)
{
    for (size_t i = 0; i < n; i++)
        if (same_group(requests, i, member))
            out[used++] = i;
    return used;
}

static void check_pass(const struct placement_request *requests, const struct placement_pass *pass,
                       uint32_t free_counters)
{
    uint32_t taken = 0;
    assert_true(pass->n > 0);
    for (size_t i = 0; i < pass->n; i++) {
        uint32_t bit = UINT32_C(1) << pass->counter[i];
        assert_true((requests[pass->request[i]].counters & free_counters & bit) != 0);
        assert_true((taken & bit) == 0);
        assert_true(i == 0 || pass->request[i - 1] < pass->request[i]);
        taken |= bit;
    }
}

/* Every wish once, and with its group. */
static void check_all_there(const struct placement_request *requests, size_t n, const struct placed *o,
                            size_t *pass_of)
{
    size_t seen[MOST] = {0};
    for (size_t k = 0; k < o->n; k++)
        for (size_t i = 0; i < o->passes[k].n; i++) {
            seen[o->passes[k].request[i]]++;
            pass_of[o->passes[k].request[i]] = k;
        }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(seen[i], 1);
        for (size_t k = 0; k < i; k++)
            assert_true(!same_group(requests, i, k) || pass_of[i] == pass_of[k]);
    }
}

/* Nothing is in a later pass that would have gone into an earlier one with what was before it. */
static void check_first_fit(const struct placement_request *requests, size_t n, const size_t *pass_of,
                            uint32_t free_counters)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < pass_of[i] && first_of(requests, i) == i; k++) {
            size_t chosen[MOST], used = 0;
            for (size_t j = 0; j < n; j++)
                if (pass_of[j] == k && first_of(requests, j) < i)
                    chosen[used++] = j;
            used = collect(requests, n, i, chosen, used);
            assert_false(fits(requests, chosen, used, free_counters));
        }
}

static void check(const struct placement_request *requests, size_t n, uint32_t usable, uint32_t reserved)
{
    struct placed o = make(requests, n, usable, reserved);
    uint32_t free_counters = usable & ~reserved;
    size_t all[MOST], pass_of[MOST] = {0};
    for (size_t i = 0; i < n; i++)
        all[i] = i;
    if (!o.ok) {
        size_t chosen[MOST], used = collect(requests, n, o.which, chosen, 0);
        assert_int_equal(o.error.kind, ERROR_USAGE);
        assert_true(o.which < n && first_of(requests, o.which) == o.which);
        assert_false(fits(requests, chosen, used, free_counters));
        return;
    }
    for (size_t k = 0; k < o.n; k++)
        check_pass(requests, &o.passes[k], free_counters);
    check_all_there(requests, n, &o, pass_of);
    check_first_fit(requests, n, pass_of, free_counters);
    if (n > 0 && fits(requests, all, n, free_counters))
        assert_int_equal(o.n, 1);
}

TEST(passes_are_valid_and_few)
{
    unsigned seed = (unsigned)test_seed();
    unsigned failed = 0;
    for (unsigned i = 0; i < 30000; i++) {
        struct placement_request requests[MOST];
        size_t n = (size_t)rand_r(&seed) % (MOST + 1);
        unsigned counters = 1 + (unsigned)rand_r(&seed) % 6, sparse = (unsigned)rand_r(&seed) % 3;
        for (size_t k = 0; k < n; k++) {
            uint32_t able = (uint32_t)rand_r(&seed) & 0x3F;
            requests[k].counters = sparse == 0 ? 0x3F : sparse == 1 ? able : able & (uint32_t)rand_r(&seed);
            requests[k].counters <<= i % 2 != 0 ? 26 : 0; /* up to the last counter that there can be */
            requests[k].group = rand_r(&seed) % 2 != 0 ? 0 : 1 + (unsigned)rand_r(&seed) % 3;
        }
        uint32_t usable = ((UINT32_C(1) << counters) - 1) << (i % 2 != 0 ? 26 : 0);
        uint32_t reserved = rand_r(&seed) % 4 == 0 ? usable & (uint32_t)rand_r(&seed) : 0;
        check(requests, n, usable, reserved);
        failed += !make(requests, n, usable, reserved).ok;
    }
    assert_true(failed > 300 && failed < 29000); /* both ways were gone */
}

TEST(others_make_room)
{
    /* The first three can go anywhere, and have to leave the counter that alone counts the fourth */
    struct placement_request requests[] = {{0xF, 0}, {0xF, 0}, {0x3, 0}, {0x1, 0}};
    struct placed o = make(requests, 4, 0xF, 0);
    assert_true(o.ok);
    assert_int_equal(o.n, 1);
    assert_int_equal(o.passes[0].counter[3], 0);
    assert_int_equal(o.passes[0].counter[2], 1);
    o = make(requests, 4, 0xF, 0x8); /* one fewer */
    assert_int_equal(o.n, 2);
    assert_int_equal(o.passes[0].n, 3);
}

TEST(groups_stay_together)
{
    struct placement_request requests[] = {{3, 0}, {3, 7}, {3, 0}, {3, 7}, {3, 0}};
    struct placed o = make(requests, 5, 3, 0);
    assert_true(o.ok);
    assert_int_equal(o.n, 3);
    assert_int_equal(o.passes[0].request[1], 2); /* what is later fills what the group left */
    assert_int_equal(o.passes[1].request[0], 1);
    assert_int_equal(o.passes[1].request[1], 3);
    assert_int_equal(o.passes[2].request[0], 4);
}

TEST(what_never_fits_is_said)
{
    struct placement_request three[] = {{3, 0}, {7, 1}, {7, 1}, {7, 1}}, clash[] = {{1, 2}, {1, 2}},
                             none[] = {{3, 0}, {0, 0}}, reserved[] = {{1, 0}}, mixed[] = {{3, 1}, {0, 1}};
    struct placed o = make(three, 4, 3, 0);
    assert_false(o.ok);
    assert_int_equal(o.which, 1);
    assert_int_equal(o.error.kind, ERROR_USAGE);
    assert_string_equal(o.error.text, "a group of 3 events needs 3 counters, and there are 2");
    o = make(clash, 2, 3, 0);
    assert_false(o.ok);
    assert_non_null(strstr(o.error.text, "need the same one"));
    o = make(none, 2, 3, 0);
    assert_int_equal(o.which, 1);
    assert_string_equal(o.error.text, "none of the 2 counters can count this event");
    assert_false(make(reserved, 1, 3, 1).ok);
    o = make(mixed, 2, 3, 0);
    assert_string_equal(o.error.text, "none of the 2 counters can count one event of this group");
}

TEST(room_for_passes_has_an_end)
{
    struct placement_request requests[] = {{1, 0}, {1, 0}, {1, 0}};
    struct placement_pass passes[2];
    struct error error = {0};
    size_t n = 0, which = 9;
    assert_false(placement_make(requests, 3, 1, 0, passes, 2, &n, &which, &error));
    assert_int_equal(which, 2);
    assert_non_null(strstr(error.text, "more than 2 passes"));
    assert_true(placement_make(requests, 0, 1, 0, passes, 2, &n, &which, &error));
    assert_int_equal(n, 0);
}
