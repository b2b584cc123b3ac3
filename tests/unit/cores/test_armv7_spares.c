/*
 * Registers proved by way of two comparators that are off: the steps, when they are made, and that what a
 * comparator held before never passes for a register.
 */
#include "rig_armv7.h"

enum { DSCR = 0x088, ITR = 0x084, FIRST = 0x114, SECOND = 0x110 };
enum { LR_THERE = 0xEE00EE95, SP_THERE = 0xEE00DE94, SP_FIRST = 0xEE00DE95 };

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

static struct step items[64];
static struct steps list;

static struct core identify(uint32_t didr)
{
    struct core core = {0};
    const uint64_t values[ARMV7_IDENTITY] = {
        [ARMV7_MIDR] = 0x413FC090, [ARMV7_DIDR] = didr, [ARMV7_AUTHSTATUS] = 0xFF};
    assert_true(armv7_identify(3, 0x80090000, values, &core));
    return core;
}

static void assert_step(size_t at, enum op op, uint64_t offset, uint64_t mask, uint64_t value)
{
    assert_true(at < list.n);
    assert_int_equal(items[at].op, op);
    assert_int_equal(items[at].at.offset, 0x80090000 + offset);
    assert_int_equal(items[at].mask, mask);
    assert_int_equal(items[at].value, value);
}

/* By DBGDIDR: comparators that can match a context ID, where all registers are in CP14. */
TEST(cores_say_what_they_can)
{
    assert_int_equal(identify(0x35137030).whole_comparators, 2); /* A9 */
    assert_int_equal(identify(0x3515F005).whole_comparators, 2); /* A7 */
    assert_int_equal(identify(0x12030000).whole_comparators, 1); /* A5 */
    assert_int_equal(identify(0x15141000).whole_comparators, 0); /* A8 */
    assert_int_equal(identify(0x77040013).whole_comparators, 0); /* R5 */
    struct core core = identify(0x12030000);
    assert_int_equal(core.ops->holding_word(&core, 2), 0x00200000);
    assert_int_equal(core.ops->holding_word(&core, 1), 0);
}

TEST(every_proof_takes_another_value_than_was_there)
{
    struct core core = identify(0x35137030);
    struct core_proof entry[] = {{.which = CORE_LR, .value = 0x8805}, {.which = CORE_SP, .value = 0x9F00}};
    core.spares = (struct core_spares){.state = SPARES_WORK, .first = 5, .second = 4};
    list = (struct steps){.items = items, .room = COUNT(items)};
    core_begin_proofs(&core, &list, entry, 2);
    core_end_proofs(&core, &list, entry, 2);
    assert_int_equal(list.n, 10);
    assert_step(0, OP_EXPECT, DSCR, 0x01000000, 0x01000000);
    assert_step(1, OP_WRITE, FIRST, 0, 0xFFFF77FA); /* a new list knows nothing */
    assert_step(2, OP_WRITE, DSCR, 0, 0x6000);
    assert_step(3, OP_WRITE, ITR, 0, SP_THERE);
    assert_step(4, OP_READ, DSCR, 0, 0);
    assert_step(5, OP_WRITE, ITR, 0, LR_THERE);
    assert_step(6, OP_READ, DSCR, 0, 0);
    assert_step(7, OP_WRITE, DSCR, 0, 0x4000);
    assert_step(8, OP_EXPECT, FIRST, 0xFFFFFFFF, 0x8805);
    assert_step(9, OP_EXPECT, SECOND, 0xFFFFFFFF, 0x9F00);
    core_begin_proofs(&core, &list, &entry[1], 1); /* at the end: SP, where LR was seen */
    assert_int_equal(list.n, 16);
    assert_step(11, OP_WRITE, DSCR, 0, 0x6000);
    assert_step(12, OP_WRITE, ITR, 0, SP_FIRST);
    assert_step(15, OP_EXPECT, FIRST, 0xFFFFFFFF, 0x9F00);
    core_begin_proofs(&core, &list, &entry[1], 1); /* and the same again */
    assert_int_equal(list.n, 23);
    assert_step(17, OP_WRITE, FIRST, 0, 0xFFFF60FF);
    assert_step(22, OP_EXPECT, FIRST, 0xFFFFFFFF, 0x9F00);
    size_t before = list.n; /* what reads registers by DBGDTRTX afterwards waits first */
    core.ops->add_register(&core, &list, CORE_R0);
    assert_step(before, OP_UNTIL, DSCR, 0x01000000, 0x01000000);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

static const struct scene *scene_of(const char *name)
{
    for (size_t i = 0; i < COUNT(scenes); i++)
        if (strcmp(scenes[i].name, name) == 0)
            return &scenes[i];
    fail_msg("no scene \"%s\"", name);
    return NULL;
}

/* Messages that the core leaves in DBGDTRTX in 12 further hits. */
static unsigned run_and_count(struct rig *rig, const struct scene *scene)
{
    rig_begin(rig);
    assert_true(rig_arm(rig, &scene->region));
    assert_true(rig_run(rig, 4, 2));
    unsigned before = rig->model.taken;
    assert_true(rig_run(rig, 12, 0));
    assert_int_equal(rig->n_hits, 16);
    return rig->model.taken - before;
}

static void assert_state(const struct rig *rig, int wanted)
{
    assert_int_equal(rig->device.chosen->core.spares.state, wanted);
}

static void assert_good(struct rig *rig)
{
    assert_null(rig_wrong(rig));
    assert_null(rig_end(rig));
}

/* So many messages of the core as there were: none, where comparators serve instead. */
RIG_TEST(proofs_need_no_message_of_the_core)
{
    const struct scene *scene = scene_of("Thumb function");
    struct rig *rig = rig_fresh(scene->script, scene->n);
    rig->model.extended = true;
    assert_int_equal(run_and_count(rig, scene), 0);
    assert_state(rig, SPARES_WORK);
    assert_int_equal(rig->model.bcr[3], 0x00200000);
    assert_int_equal(rig->model.bcr[2], 0x00200000);
    assert_int_equal(rig->device.chosen->core.comparators, 4);
    assert_good(rig);
}

RIG_TEST(cores_without_it_are_measured_as_before)
{
    const struct scene *scene = scene_of("Thumb function");
    struct rig *rig = rig_fresh(scene->script, scene->n);
    assert_int_equal(run_and_count(rig, scene), 36);
    assert_state(rig, SPARES_NONE);
    assert_good(rig);

    rig = rig_fresh(scene->script, scene->n); /* it says that it can, and refuses */
    rig->model.extended = rig->model.refuses = true;
    assert_int_equal(run_and_count(rig, scene), 36);
    assert_state(rig, SPARES_NONE);
    assert_good(rig);

    rig = rig_fresh(scene->script, scene->n); /* bits 1:0 are dropped everywhere */
    rig->model.extended = rig->model.narrow = true;
    assert_int_equal(run_and_count(rig, scene), 36);
    assert_state(rig, SPARES_NONE);
    assert_good(rig);
}

/* The others stay whose they are. */
RIG_TEST(comparators_that_are_taken_are_left_alone)
{
    const struct scene *scene = scene_of("Thumb function");
    for (unsigned taken = 0; taken < 16; taken++) {
        struct rig *rig = rig_fresh(scene->script, scene->n);
        unsigned n_free = MODEL_COMPARATORS;
        rig->model.extended = true;
        rig->model.os_locked = false;
        rig->model.control |= 0x4000;
        for (unsigned i = 0; i < MODEL_COMPARATORS; i++)
            if (taken >> i & 1) {
                rig->model.bvr[i] = 0xC000 + 16 * i;
                rig->model.bcr[i] = 0x1E7;
                n_free--;
            }
        if (n_free == 0)
            continue;
        bool wide_one = (taken & 0xC) != 0xC;
        (void)run_and_count(rig, scene);
        assert_state(rig, n_free >= 3 && wide_one ? SPARES_WORK : SPARES_NONE);
        for (unsigned i = 0; i < MODEL_COMPARATORS; i++)
            assert_true(!(taken >> i & 1) || rig->model.bvr[i] == 0xC000 + 16 * i);
        assert_good(rig);
    }
}

/* The core is in User mode each second time, and leaves what the time before has left there. */
RIG_TEST(a_refusal_is_found_out)
{
    const struct scene *scene = scene_of("either mode");
    struct rig *rig = rig_fresh(scene->script, scene->n);
    rig->model.extended = true;
    assert_int_not_equal(run_and_count(rig, scene), 0);
    assert_state(rig, SPARES_WORK);
    assert_true(rig->model.refused > 0);
    assert_good(rig);
}
