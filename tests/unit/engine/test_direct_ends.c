/*
 * The direct engine with a sink that reads the core where each hit ends: the core is halted there, the hits
 * are those of a run without such reads, and the target is put back.
 */
#include "scenes.h"

TEST_TIME(rig_clock, rig_nap)

static struct rig *run_scene(const struct scene *scene, uint64_t hits, unsigned rehits, size_t enough_after)
{
    struct rig *rig = rig_armed(scene->script, scene->n, &scene->region);
    rig->looks = true;
    rig->enough_after = enough_after;
    assert_string_equal(rig_run(rig, hits, rehits) ? "" : rig->error.text, "");
    return rig;
}

RIG_TEST(each_hit_is_looked_at_where_it_ends)
{
    enum { MANY = 24 };
    for (size_t i = 0; i < COUNT(scenes); i++) {
        for (unsigned rehits = 0; rehits <= 3; rehits += 3) {
            struct rig *rig = run_scene(&scenes[i], MANY, rehits, 0);
            assert_int_equal(rig->n_hits, MANY);
            rig_check_seen(rig, true);
            for (size_t k = 0; k < MANY; k++)
                assert_int_equal(rig_round(rig_work(&rig->hits[k]), BASE, GROW), k);
            rig_end_clean(rig);
        }
    }
}

RIG_TEST(the_last_hit_is_looked_at_as_well)
{
    for (size_t i = 0; i < COUNT(scenes); i++) {
        struct rig *rig = run_scene(&scenes[i], UINT64_MAX, 0, 3);
        assert_int_equal(rig->n_hits, 3);
        rig_check_seen(rig, true);
        assert_true(rig_run(rig, 2, 0));  /* it runs on from there */
        assert_int_equal(rig->n_hits, 4); /* and the sink has enough at once */
        rig_check_seen(rig, true);
        rig_end_clean(rig);
    }
}

static bool refuse(void *context, struct error *error)
{
    (void)context;
    return error_set(error, ERROR_FAULT, "the stack cannot be read");
}

RIG_TEST(a_look_that_fails_ends_the_run)
{
    for (size_t i = 0; i < COUNT(scenes); i++) {
        struct rig *rig = rig_armed(scenes[i].script, scenes[i].n, &scenes[i].region);
        struct engine_sink sink = {.context = rig, .hit = rig_hit, .rehit = rig_rehit, .ended = refuse};
        struct engine_request request = {.hits = 5, .timeout_ms = rig->timeout_ms};
        assert_false(rig->engine->ops->run(rig->engine, &request, &sink, &rig->deadline, &rig->error));
        assert_string_equal(rig->error.text, "the stack cannot be read");
        assert_int_equal(rig->n_hits, 1);
        rig_end_clean(rig);
    }
}
