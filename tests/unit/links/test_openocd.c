/*
 * What steps mean when a real OpenOCD's Tcl interpreter carries them out.
 */
#include "openocd_fake.h"

#include <inttypes.h>

static struct address word(uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = 0, .offset = offset};
}

static const int64_t LONG_MS = 60000; /* much longer than anything here takes, even on a busy machine */

static struct outcome run_within(const struct step *steps, size_t n, uint64_t *results, int64_t ms)
{
    struct deadline deadline = in_ms(ms);
    return link_execute(fake.link, steps, n, results, &deadline, &fake.error);
}

static struct outcome run(const struct step *steps, size_t n, uint64_t *results)
{
    return fake_run(&fake, steps, n, results);
}

static void assert_outcome(struct outcome outcome, enum why why, size_t done)
{
    if (outcome.why != why || outcome.done != done)
        fail_msg("why %d, done %zu, %s; not why %d, done %zu", outcome.why, outcome.done, fake.error.text,
                 why, done);
}

CLEAN_TEST(test_targets_are_listed)
{
    struct link_view views[8];
    assert_int_equal(link_views(fake.link, views, 8, &fake.error), 4);
    assert_string_equal(views[0].name, "one.cpu");
    assert_string_equal(views[0].type, "cortex_m");
    assert_true(views[0].is_core);
    assert_int_equal(views[0].state, VIEW_RUNNING);
    assert_string_equal(views[2].type, "mem_ap");
    assert_false(views[2].is_core);
    assert_int_equal(views[2].state, VIEW_UNKNOWN);
    assert_int_equal(views[3].state, VIEW_HALTED);
    assert_int_equal(views[3].unit, 3);
    assert_int_equal(link_views(fake.link, views, 2, &fake.error), 2);
}

CLEAN_TEST(test_every_size)
{
    struct address byte = word(0x103), half = word(0x102), wide = word(0x108);
    byte.size = 1;
    half.size = 2;
    wide.size = 8;
    struct step steps[] = {step_read(byte),
                           step_read(half),
                           step_write(wide, UINT64_MAX),
                           step_expect(wide, UINT64_MAX, UINT64_MAX),
                           step_until(wide, UINT64_C(1) << 63, UINT64_C(1) << 63),
                           step_write(byte, 0x1ff),
                           step_read(byte)};
    uint64_t results[7];
    assert_outcome(run(steps, 7, results), DONE, 7);
    assert_int_equal(results[0], 0x03);
    assert_int_equal(results[1], 0x102);
    assert_true(results[3] == UINT64_MAX && results[4] == UINT64_MAX);
    assert_int_equal(results[6], 0xff);
}

CLEAN_TEST(test_expect_ends_the_list)
{
    struct step steps[] = {step_read(word(0x200)), step_expect(word(0x300), 0xffff, 0x301),
                           step_write(word(0x100), 1), step_read(word(0x400))};
    uint64_t results[4];
    struct outcome outcome = run(steps, 4, results);
    assert_outcome(outcome, UNEXPECTED, 1);
    assert_int_equal(outcome.saw, 0x300);
    assert_int_equal(results[0], 0x200);
    assert_string_equal(fake_eval(&fake, "join $asked ,"), "one.cpu read 0x200 32 1,one.cpu read 0x300 32 1");
}

CLEAN_TEST(test_until_gives_up_after_a_slice)
{
    struct step steps[] = {step_read(word(0x200)), step_until(word(0x300), 1, 1), step_write(word(0x100), 1)};
    uint64_t results[3];
    assert_outcome(run(steps, 1, results), DONE, 1);
    int64_t begin = deadline_now_us();
    struct outcome outcome = run_within(steps, 3, results, 2 * LONG_MS);
    int64_t took = deadline_now_us() - begin;
    assert_outcome(outcome, NOT_YET, 1);
    assert_int_equal(outcome.saw, 0x300);
    assert_in_range(took, 40000, LONG_MS * 1000);
    /* Going on from there */
    fake_eval(&fake, "set mem(0x300) 0x301");
    assert_outcome(run(steps + 1, 2, results + 1), DONE, 2);
    assert_int_equal(results[1], 0x301);
    assert_string_equal(fake_eval(&fake, "set mem(0x100)"), "0x1");
}

CLEAN_TEST(test_until_tries_once_when_time_is_up)
{
    struct step steps[] = {step_until(word(0x50000000), 0xff, 1), step_until(word(0x50000000), 0xff, 1)};
    uint64_t results[2];
    int64_t begin = deadline_now_us();
    struct outcome outcome = run_within(steps, 2, results, 0);
    assert_outcome(outcome, NOT_YET, 1);
    assert_int_equal(outcome.saw, 2);
    assert_true(deadline_now_us() - begin < LONG_MS * 1000);
}

CLEAN_TEST(test_time_runs_between_steps)
{
    struct step steps[] = {step_time(TIME_BEFORE), step_read(word(0x60000000)), step_time(TIME_AFTER)};
    uint64_t results[3];
    assert_outcome(run(steps, 3, results), DONE, 3);
    assert_in_range(results[2] - results[0], 29000, 3000000);
}

CLEAN_TEST(test_neighbours_are_read_in_blocks)
{
    enum { N = 10000 };
    struct step *steps = calloc(N + 1, sizeof *steps);
    uint64_t *results = calloc(N + 1, sizeof *results);
    steps[0] = step_read(word(0x90000));
    for (size_t i = 0; i < N; i++)
        steps[i + 1] = step_read(word(0x10000 + 4 * i));
    assert_outcome(run(steps, N + 1, results), DONE, N + 1);
    assert_int_equal(results[0], 0x90000);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(results[i + 1], 0x10000 + 4 * i);
    assert_in_range(strtoul(fake_eval(&fake, "llength $asked"), NULL, 10), 2, 60);
    free(steps);
    free(results);
}

CLEAN_TEST(test_fault_inside_a_block_is_found)
{
    struct step steps[6];
    uint64_t results[6];
    steps[0] = step_write(word(0x100), 1);
    for (size_t i = 0; i < 4; i++)
        steps[1 + i] = step_read(word(0x3ffffff4 + 4 * i));
    steps[5] = step_write(word(0x104), 1);
    assert_outcome(run(steps, 6, results), TARGET_FAULT, 4);
    assert_int_equal(results[1], 0x3ffffff4);
    assert_int_equal(results[3], 0x3ffffffc);
    assert_error_is(&fake.error, ERROR_FAULT,
                    "cannot read 0x40000000 (4 bytes) on one.cpu: OpenOCD says: Failed to read memory");
    assert_string_equal(fake_eval(&fake, "info exists mem(0x104)"), "0");
}

CLEAN_TEST(test_write_fault)
{
    struct step steps[] = {step_write(word(0x40000010), 7), step_write(word(0x100), 1)};
    uint64_t results[2];
    assert_outcome(run(steps, 2, results), TARGET_FAULT, 0);
    assert_string_equal(fake.error.text, "cannot write 0x40000010 (4 bytes) on one.cpu: OpenOCD says: "
                                         "write_memory: failed to write memory");
    assert_string_equal(fake_eval(&fake, "info exists mem(0x100)"), "0");
}

CLEAN_TEST(test_wait_is_told_from_fault)
{
    struct step step = step_read(word(0x48000000));
    uint64_t result;
    assert_outcome(run(&step, 1, &result), TARGET_WAIT, 0);
    assert_error(&fake.error, ERROR_ASLEEP, "Timeout during WAIT recovery");
}

CLEAN_TEST(test_a_long_list_ends_early)
{
    enum { N = 12 };
    struct step steps[N];
    uint64_t results[N];
    for (size_t i = 0; i < N; i++)
        steps[i] = step_read(word(0x60000000 + 8 * i));
    size_t done = 0, calls = 0;
    while (done < N) {
        int64_t begin = deadline_now_us();
        struct outcome outcome = run_within(steps + done, N - done, results + done, 2 * LONG_MS);
        assert_true(outcome.why == (done + outcome.done == N ? DONE : NOT_YET));
        assert_true(outcome.done > 0 && outcome.saw == 0);
        assert_true(deadline_now_us() - begin < LONG_MS * 1000);
        done += outcome.done;
        calls++;
    }
    assert_in_range(calls, 3, N);
    assert_string_equal(fake_eval(&fake, "llength $asked"), "12");
}

CLEAN_TEST(test_impossible_steps_are_refused_in_their_turn)
{
    struct step steps[2] = {step_write(word(0x100), 1)};
    uint64_t results[2];
    struct address msr = {.space = SPACE_MSR, .size = 8, .offset = 0xc1};
    steps[1] = step_read(msr);
    assert_outcome(run(steps, 2, results), TARGET_FAULT, 1);
    assert_string_equal(fake.error.text, "cannot read 0xc1 of CPU 0: it cannot be reached through OpenOCD");
    assert_string_equal(fake_eval(&fake, "set mem(0x100)"), "0x1");
    error_clear(&fake.error);
    steps[1] = step_read((struct address){.space = SPACE_MEMORY, .size = 4, .unit = 9, .offset = 0});
    assert_outcome(run(steps, 2, results), TARGET_FAULT, 1);
    assert_has(fake.error.text, "that target does not exist");
}

CLEAN_TEST(test_a_late_answer_is_not_the_next_one)
{
    struct step slow = step_read(word(0x70000000)), quick = step_read(word(0x200));
    uint64_t result = 0;
    char path[] = "/tmp/pmu-hold-XXXXXX", set_hold[64];
    int hold = mkstemp(path);
    assert_true(hold >= 0);
    snprintf(set_hold, sizeof set_hold, "set hold %s", path);
    fake_eval(&fake, set_hold);
    assert_outcome(run_within(&slow, 1, &result, 20), LINK_LOST, 0);
    close(hold);
    unlink(path);
    assert_error(&fake.error, ERROR_LINK_LOST, "stopped answering (1 step was sent)");
    assert_outcome(run(&quick, 1, &result), DONE, 1);
    assert_int_equal(result, 0x200);
}

CLEAN_TEST(test_cancel_still_waits_for_the_answer)
{
    volatile sig_atomic_t cancel = 1;
    struct deadline deadline = deadline_in_ms(5000, &cancel);
    struct step steps[] = {step_write(word(0x100), 5), step_until(word(0x300), 1, 1)};
    uint64_t results[2];
    struct outcome outcome = link_execute(fake.link, steps, 2, results, &deadline, &fake.error);
    assert_outcome(outcome, NOT_YET, 1);
    assert_string_equal(fake_eval(&fake, "set mem(0x100)"), "0x5");
}

TEST_GROUP(setup, teardown)
