/* Which words show exceptions and tasks, and what becomes of them. */
#include "../test.h"
#include "cores/architectures.h"

#include "profile/sampler.h"

static struct step items[4];

TEST(a_cortex_m_tells_both)
{
    const struct core core = {.ops = &cortex_m_ops};
    struct contexts contexts;
    struct steps list = {.items = items, .room = 4};
    contexts_begin(&contexts, &core, 0x20000100, NULL);
    assert_int_equal(contexts_steps(&contexts), 2);
    steps_add(&list, step_read(core_word(&core, 0x20000000)));
    assert_int_equal(contexts_add(&contexts, &list), 1);
    assert_int_equal(list.n, 3);
    assert_int_equal(items[1].at.offset, 0xE000ED04);
    assert_int_equal(items[2].at.offset, 0x20000100);
    /* ICSR has more than the number of the active exception: the pending ones */
    const uint64_t looks[][2] = {{0x0040F00F, 7}, {0x0000F000, 7}, {0x00000803, 0x20000200}};
    for (size_t i = 0; i < 3; i++)
        assert_true(contexts_note(&contexts, looks[i], true, false));
    const struct profile_tally *exceptions = &contexts.of[PROFILE_EXCEPTIONS].tally,
                               *tasks = &contexts.of[PROFILE_TASKS].tally;
    assert_int_equal(profile_tally_count(exceptions, 15), 1);
    assert_int_equal(profile_tally_count(exceptions, 0), 1);
    assert_int_equal(profile_tally_count(exceptions, 3), 1);
    assert_int_equal(profile_tally_count(tasks, 7), 2);
    assert_int_equal(profile_tally_count(tasks, 0x20000200), 1);
    contexts_free(&contexts);
}

TEST(a_task_of_memory_that_sleep_hides_is_taken_between_two_states_awake)
{
    enum { SLEEPS = 1 << 18 }; /* DHCSR.S_SLEEP */
    const struct core core = {.ops = &cortex_m_ops};
    struct contexts contexts;
    struct steps list = {.items = items, .room = 4};
    contexts_begin(&contexts, &core, 0x20000100, NULL);
    contexts.hidden_in_sleep = true;
    assert_int_equal(contexts_steps(&contexts), 3);
    contexts_add(&contexts, &list);
    assert_int_equal(items[2].at.offset, 0xE000EDF0);
    const uint64_t awake[] = {0, 7, 0}, later[] = {0, 7, SLEEPS};
    assert_true(contexts_note(&contexts, later, true, false));
    assert_true(contexts_note(&contexts, awake, true, true));
    assert_int_equal(profile_tally_count(&contexts.of[PROFILE_TASKS].tally, 7), 0);
    assert_true(contexts_note(&contexts, awake, true, false));
    assert_int_equal(profile_tally_count(&contexts.of[PROFILE_TASKS].tally, 7), 1);
    assert_int_equal(profile_tally_count(&contexts.of[PROFILE_EXCEPTIONS].tally, 0), 3);
    contexts_free(&contexts);
}

TEST(a_sample_tells_of_its_process)
{
    const struct core core = {.ops = &armv7_ops};
    const struct pc_sample sample = {.has_context = true, .context = core_word(&core, 0x800300A4)};
    struct contexts contexts;
    struct steps list = {.items = items, .room = 4};
    contexts_begin(&contexts, &core, 0, &sample);
    assert_int_equal(contexts_steps(&contexts), 1);
    contexts_add(&contexts, &list);
    assert_int_equal(items[0].at.offset, 0x800300A4);
    const uint64_t first = 0x12340001, other = 2;
    /* without an address the register is unknown */
    assert_true(contexts_note(&contexts, &other, false, false));
    for (size_t i = 0; i < 3; i++)
        assert_true(contexts_note(&contexts, &first, true, false));
    assert_false(contexts_are_many(&contexts));
    assert_true(contexts_note(&contexts, &other, true, false));
    assert_true(contexts_note(&contexts, &first, true, false));
    assert_true(contexts_are_many(&contexts));
    assert_int_equal(profile_tally_count(&contexts.of[PROFILE_PROCESSES].tally, first), 4);
    assert_int_equal(profile_tally_count(&contexts.of[PROFILE_PROCESSES].tally, other), 1);
    contexts_free(&contexts);
}

TEST(what_is_not_read)
{
    const struct core m = {.ops = &cortex_m_ops}, a = {.ops = &armv7_ops};
    const struct pc_sample none = {0};
    struct contexts contexts;
    struct steps list = {.items = items, .room = 4};
    contexts_begin(&contexts, &m, 0, NULL);
    assert_int_equal(contexts_steps(&contexts), 1);
    assert_false(contexts_are_many(&contexts)); /* each look has the exception */
    contexts_begin(&contexts, &a, 0x20000100, &none);
    assert_int_equal(contexts_add(&contexts, &list), 0);
    assert_int_equal(list.n, 0);
    assert_int_equal(contexts_steps(NULL), 0);
    assert_true(contexts_note(NULL, NULL, true, false));
}
