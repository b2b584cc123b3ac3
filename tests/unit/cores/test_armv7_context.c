/* Programs in user mode on an Armv7 core: context_arm.h, and where the core itself reaches its registers. */
#include "rig_armv7.h"

#define WORDS_OF_CONTEXT "CONTEXTIDR, which tells them apart, was 0x7"
#include "context_arm.h"

/* What a system does for one process and for another, where the core itself reaches its debug registers. */
static const struct model_event calls[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .context = 7},
    {.cycles = BASE, .grow = GROW, .pc = 0x8804, .sp = 0x9F00, .lr = 0x8804, .context = 7},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .context = 0x1236},
    {.cycles = BASE + 1000, .grow = GROW, .pc = 0x8804, .sp = 0x9F00, .lr = 0x8804, .context = 0x1236},
};

/* Besides the one that it is linked to, two are left for registers, or not. */
RIG_TEST(comparators_of_registers_do_not_collide)
{
    enum { N = MODEL_COMPARATORS };
    static const struct {
        unsigned taken; /* so many of the first ones */
        bool last;      /* the last one as well */
        int spares;
        unsigned context;
    } cases[] = {{0, false, SPARES_WORK, N - 1},
                 {1, false, SPARES_NONE, N - 1},
                 {2, false, SPARES_NONE, N - 1},
                 {0, true, SPARES_NONE, N - 2},
                 {2, true, -1, N - 2}};
    const struct region region = of(true, PROCESS_ID, 0x1236);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rig *rig = rig_fresh(calls, COUNT(calls));
        rig->model.extended = true;
        occupy(&rig->model, 0, cases[i].taken);
        if (cases[i].last)
            occupy(&rig->model, N - 1, N);
        rig_begin(rig);
        bool armed = rig_arm(rig, &region);
        assert_int_equal(armed, cases[i].spares != -1);
        if (armed) {
            assert_true(rig_run(rig, 1, 2));
            unsigned messages = rig->model.taken;
            assert_true(rig_run(rig, 8, 0));
            const struct core *core = &rig->device.chosen->core;
            assert_int_equal(core->spares.state, cases[i].spares);
            assert_int_equal(rig->model.taken == messages, cases[i].spares == SPARES_WORK);
            assert_int_equal(core->linked_to, cases[i].context);
            assert_int_equal(rig->model.bvr[cases[i].context], 0x1236);
            assert_int_equal(rig->model.bcr[cases[i].context], 0x003001E7);
            for (size_t k = 0; k < rig->n_hits; k++)
                assert_in_range(work_of(&rig->hits[k]), BASE + 1000, BASE + 1500);
        } else {
            assert_int_equal(rig->error.kind, ERROR_NO_COMPARATOR);
        }
        assert_null(rig_end(rig));
    }
}

static void extend(struct model *m)
{
    m->extended = true;
}

/* Registers are left in comparators as well. */
RIG_TEST(the_link_lost_anywhere_with_registers_in_comparators)
{
    const struct region one = of(true, PROCESS_ID, 0x1236);
    lose_anywhere(calls, &one, extend);
}
