/*
 * Programs in user mode, whose addresses mean nothing without the process: refused, or measured in one
 * context only. For test_armv7_context.c and test_armv8_context.c.
 */
#pragma once

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

/* Two processes at the same addresses; the second one's hits take 1000 cycles more, and it calls from
 * elsewhere. */
static const struct model_event processes[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .user = 7},
    {.cycles = BASE, .grow = GROW, .pc = 0x8804, .sp = 0x9F00, .user = 7},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .user = 0x1236},
    {.cycles = BASE + 1000, .grow = GROW, .pc = 0x8804, .sp = 0x9F00, .user = 0x1236},
};

static struct region of(bool to_return, int which, uint32_t id)
{
    return (struct region){
        .start = 0x8000, .end = 0x8804, .to_return = to_return, .process = {.which = which, .id = id}};
}

/* All comparators were left so by another debugger; as a whole they are off. */
RIG_TEST(what_was_left_in_comparators_comes_back)
{
    static const struct {
        uint32_t value, control;
    } held[] = {{0x1237, 0x00200000}, {0x1237, 0x003001E7}, {0xC004, MODEL_ON}};
    for (size_t i = 0; i < 2 * COUNT(held); i++) {
        struct rig *rig = rig_fresh(processes, COUNT(processes));
        const struct region region = of(true, i & 1 ? PROCESS_ID : PROCESS_ANY, 7);
        for (unsigned n = MODEL_COMPARATORS - 2; n < MODEL_COMPARATORS; n++) {
            rig->model.bvr[n] = held[i / 2].value;
            rig->model.bcr[n] = held[i / 2].control;
        }
        rig_begin_armed(rig, &region);
        assert_true(rig_run(rig, 3, 1));
        const char *left = rig_end(rig);
        if (left != NULL)
            fail_msg("case %zu: %s", i, left);
    }
}

/* A link lost at any access, which works again: everything is put back. */
static void lose_anywhere(const struct model_event *script, const struct region *region)
{
    bool reached = true;
    for (long at = 0; reached; at++) {
        struct rig *rig = rig_fresh(script, COUNT(processes));
        rig_begin(rig);
        long from = rig->model.accesses;
        rig->model.trouble_at = from + at;
        rig->model.what = MODEL_LOSE;
        (void)(rig_arm(rig, region) && rig_run(rig, 3, 1));
        reached = rig->model.accesses > from + at;
        rig->model.trouble_at = -1;
        const char *left = rig_end(rig);
        if (left != NULL)
            fail_msg("process %d: lost at access %ld: %s", region->process.which, at, left);
    }
}

RIG_TEST(the_link_lost_anywhere)
{
    const struct region all = of(true, PROCESS_NOT_SAID, 0), one = of(false, PROCESS_ID, 0x1236);
    lose_anywhere(processes, &all);
    lose_anywhere(processes, &one);
}
