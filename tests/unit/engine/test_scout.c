/* The scout of the direct engine: which of several starts is reached, and nothing is left of the wait. */
#include "rig.h"

TEST_TIME(rig_clock, rig_nap)

enum { MOST = 8, USED = 0x1 };

static bool scout(struct rig *rig, const uint32_t *starts, size_t n, struct engine_found *found)
{
    struct region regions[MOST];
    const struct region *pointers[MOST];
    for (size_t i = 0; i < n; i++) {
        regions[i] = (struct region){.start = starts[i], .to_return = true};
        pointers[i] = &regions[i];
    }
    const struct engine_scout wanted = {.regions = pointers, .n = n, .timeout_ms = 20};
    return rig->engine->ops->scout(rig->engine, &wanted, found, &rig->deadline, &rig->error);
}

RIG_TEST(the_one_that_is_reached_first_is_found)
{
    for (size_t first = 0; first < 3; first++) {
        uint32_t starts[] = {0x4000, 0x5000, 0x1100};
        struct engine_found found;
        struct rig *rig = rig_fresh(to_end, COUNT(to_end));
        starts[first] = 0x1000;
        rig_begin(rig);
        assert_string_equal(scout(rig, starts, 3, &found) ? "" : rig->error.text, "");
        assert_int_equal(found.which, first);
        assert_int_equal(found.watched, 3);
        rig_end_clean(rig);
    }
}

RIG_TEST(none_is_reached)
{
    static const uint32_t starts[] = {0x4000, 0x5000, 0x6000, 0x7000, 0x8000, 0x9000};
    struct engine_found found;
    struct rig *rig = rig_fresh(to_end, COUNT(to_end));
    rig->model.limit = 0; /* of accesses: it waits */
    rig_begin(rig);
    assert_fails(scout(rig, starts, 6, &found), &rig->error, ERROR_START, "");
    assert_int_equal(found.watched, ENGINE_SCOUTED);
    rig_end_clean(rig);
}

RIG_TEST(with_one_comparator_it_is_one_at_a_time)
{
    static const uint32_t starts[] = {0x4000, 0x1000};
    struct engine_found found;
    struct rig *rig = rig_fresh(to_end, COUNT(to_end));
    for (size_t i = 0; i < 5; i++)
        rig->model.comparators[i] = 0x40000000 | (uint32_t)(0x6000 + 16 * i) | USED;
    rig->model.fp_ctrl |= 1;
    rig->model.limit = 0; /* of accesses: it waits */
    rig_begin(rig);
    assert_fails(scout(rig, starts, 2, &found), &rig->error, ERROR_START, "");
    assert_int_equal(found.watched, 1);
    rig_end_clean(rig);
}

RIG_TEST(other_stops_are_told)
{
    static const struct {
        struct model_event event;
        enum error_kind kind;
    } cases[] = {
        {{.kind = MODEL_HALT, .cycles = 500, .pc = 0x1234, .sp = 0x20007F00}, ERROR_FOREIGN_STOP},
        {{.kind = MODEL_RESET, .cycles = 500}, ERROR_RESET},
        {{.kind = MODEL_LOCKUP, .cycles = 500}, ERROR_LOCKUP},
    };
    static const uint32_t starts[] = {0x4000, 0x5000};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct engine_found found;
        struct rig *rig = rig_fresh(&cases[i].event, 1);
        rig_begin(rig);
        assert_fails(scout(rig, starts, 2, &found), &rig->error, cases[i].kind, "");
        (void)rig_end(rig);
    }
}
