#include <math.h>

#include "../profiles.h"
#include "sampled_core.h"

TEST_TIME(sampled_clock, sampled_nap)

enum { ASLEEP = 1 << 18, HALTED = 1 << 17, LOCKUP = 1 << 19 };
static const uint64_t WORK = 0x08000100, OTHER = 0x08000200, WFI = 0x08000300, NONE = 0xFFFFFFFF;

/* A quarter of the time OTHER, which no list or packet is in step with. */
static struct sampled_moment works(uint64_t us)
{
    return (struct sampled_moment){.pc = us % 1013 < 253 ? OTHER : WORK};
}

TEST_WITH(samples_are_counted_by_address, sampled_set_up, sampled_tear_down)
{
    assert_true(sampled_begin(works));
    size_t before = s.reads;
    assert_true(sampled_run(2000000));
    struct profile_interval interval = sampled_end();
    uint64_t all = profile_interval_samples(&interval);
    assert_int_equal(all, s.reads - before); /* none is lost */
    assert_int_equal(interval.count_count, 2);
    assert_in_range(100 * sampled_at(&interval, OTHER) / all, 23, 27);
    for (size_t i = 0; i < PROFILE_STATES; i++)
        assert_int_equal(interval.states[i], 0);
    profile_interval_free(&interval);
}

TEST_WITH(the_link_has_most_of_the_time, sampled_set_up, sampled_tear_down)
{
    assert_true(sampled_begin(works));
    assert_true(sampled_run(1000000));
    assert_in_range(s.reads, 970000 / SAMPLED_ACCESS_US, 1010000 / SAMPLED_ACCESS_US);
    assert_true(s.looks > s.reads / SAMPLER_APART / 2);
}

/* The program's loop takes just as long as some accesses: within a list always the same few places of it
 * are met. Lists begin at other places. */
static uint64_t in_step;

static struct sampled_moment keeps_step(uint64_t us)
{
    uint64_t period = in_step * SAMPLED_ACCESS_US;
    return (struct sampled_moment){.pc = us % period < period / 4 ? OTHER : WORK};
}

TEST_WITH(a_loop_in_step_with_the_samples, sampled_set_up, sampled_tear_down)
{
    static const uint64_t steps[] = {12, 256, 4, 20};
    for (size_t i = 0; i < (test_soaks() ? sizeof steps / sizeof *steps : 2); i++) {
        in_step = steps[i];
        assert_true(i > 0 || sampled_begin(keeps_step));
        assert_true(sampled_run(20000000));
        struct profile_interval interval = sampled_end();
        uint64_t all = profile_interval_samples(&interval);
        assert_in_range(1000 * sampled_at(&interval, OTHER) / all, 230, 270);
        profile_interval_free(&interval);
    }
}

/* A look at the same place in each list could be in step with the program. */
TEST_WITH(looks_come_at_random_places, sampled_set_up, sampled_tear_down)
{
    bool seen[SAMPLER_APART + 1] = {false};
    size_t different = 0;
    assert_true(sampled_begin(works));
    assert_true(sampled_run(1000000));
    size_t n = s.lists < SAMPLED_WRITES ? s.lists : SAMPLED_WRITES;
    for (size_t i = 0; i < n; i++) {
        assert_in_range(s.first_looks[i], 1, SAMPLER_APART);
        different += !seen[s.first_looks[i]];
        seen[s.first_looks[i]] = true;
    }
    assert_true(n > 30 && different > n / 2);
}

TEST_WITH(only_trace_is_switched_on_and_comes_back, sampled_set_up, sampled_tear_down)
{
    s.demcr = 0x401;
    assert_true(sampled_begin(works));
    assert_int_equal(s.demcr, 0x401 | SAMPLED_TRCENA);
    assert_true(sampled_run(100000));
    assert_int_equal(s.n_writes, 1);
    assert_true(ledger_undo(s.device.ledger, &s.deadline, &s.error));
    assert_int_equal(s.demcr, 0x401);
}

TEST_WITH(trace_that_is_on_is_not_written, sampled_set_up, sampled_tear_down)
{
    s.demcr = SAMPLED_TRCENA;
    assert_true(sampled_begin(works));
    assert_true(sampled_run(100000));
    assert_int_equal(s.n_writes, 0);
}

TEST_WITH(a_register_that_is_not_implemented, sampled_set_up, sampled_tear_down)
{
    s.absent = true;
    assert_false(sampled_begin(works));
    assert_int_equal(s.error.kind, ERROR_NO_COUNTER);
    assert_non_null(strstr(s.error.text, "Cortex-M4 r0p1 has no PC sample register"));
    assert_non_null(strstr(s.error.advice, "delta"));
}

/* 70 % asleep; when it wakes it goes through the same instruction, awake. */
static struct sampled_moment sleeps(uint64_t us)
{
    uint64_t phase = us % 7013;
    if (phase < 4909)
        return (struct sampled_moment){.pc = WFI, .dhcsr = ASLEEP};
    return (struct sampled_moment){.pc = phase < 5610 ? WFI : WORK};
}

TEST_WITH(sleep_is_told_by_the_core_and_not_by_the_address, sampled_set_up, sampled_tear_down)
{
    assert_true(sampled_begin(sleeps));
    assert_true(sampled_run(20000000));
    struct profile_interval interval = sampled_end();
    uint64_t all = profile_interval_samples(&interval);
    assert_in_range(1000 * interval.states[PROFILE_ASLEEP] / all, 680, 720);
    assert_in_range(1000 * sampled_at(&interval, WFI) / all, 80, 120);
    assert_true(interval.asleep_doubt > 0 && interval.asleep_anywhere);
    assert_in_range(1000 * sampled_at(&interval, WORK) / all, 190, 210);
    profile_interval_free(&interval);
}

/* Asleep for a few accesses of the link, and awake for fewer. */
static struct sampled_moment naps(uint64_t us)
{
    enum { NAP = 41 * SAMPLED_ACCESS_US / 10, PERIOD = 61 * SAMPLED_ACCESS_US / 10 };
    return us % PERIOD < NAP ? (struct sampled_moment){.pc = WFI, .dhcsr = ASLEEP}
                             : (struct sampled_moment){.pc = WORK};
}

TEST_WITH(sleep_is_told_where_the_link_is_slower_than_the_program, sampled_set_up, sampled_tear_down)
{
    assert_true(sampled_begin(naps));
    assert_true(sampled_run(20000000));
    struct profile_interval interval = sampled_end();
    uint64_t all = profile_interval_samples(&interval);
    assert_in_range(1000 * interval.states[PROFILE_ASLEEP] / all, 640, 704); /* 41 of 61 */
    profile_interval_free(&interval);
}

/* Nothing is known of the code. Of these first states all at one address are asleep by chance, or each is at
 * a different address: how they vary does not show there. */
TEST_WITH(few_states_that_agree_prove_little, sampled_set_up, sampled_tear_down)
{
    enum { TRIES = 2000 };
    uint64_t seed = test_seed() | 1;
    s.sampler.core = &s.core.core;
    for (size_t addresses = 1; addresses <= 24; addresses += 23)
        for (size_t looks = 6; looks <= 24; looks += 18) {
            size_t held = 0, wrong = 0;
            for (size_t i = 0; i < TRIES; i++) {
                for (size_t k = 0; k < looks; k++) {
                    uint64_t at = WORK + 2 * (k % addresses), asleep = profile_random(&seed) < 0.8;
                    assert_true(profile_tally_add(&s.sampler.now.all, at, 1));
                    assert_true(profile_tally_add(&s.sampler.ever.all, at, 1));
                    assert_true(profile_tally_add(&s.sampler.now.asleep, at, asleep));
                    assert_true(profile_tally_add(&s.sampler.ever.asleep, at, asleep));
                    assert_true(profile_tally_add(&s.tally, at, 100));
                }
                bool any = s.sampler.ever.asleep.used > 0;
                sampler_settle(&s.sampler, &s.tally);
                double part = (double)s.tally.now.states[PROFILE_ASLEEP] / (double)(100 * looks);
                held += fabs(part - 0.8) <= s.tally.now.asleep_doubt;
                wrong += any && !(s.tally.now.asleep_doubt > 0);
                sampler_free(&s.sampler);
                profile_tally_free(&s.tally);
                s.tally = (struct profile_tally){0};
                s.sampler.core = &s.core.core;
            }
            assert_int_equal(wrong, 0);
            assert_in_range(held, TRIES * 95 / 100, TRIES);
        }
}

/* The code is known: WFI sleeps, or something else does. */
static enum sampler_place place_of_code(void *context, uint64_t address, uint64_t *sleeps_at)
{
    *sleeps_at = address;
    return address == *(const uint64_t *)context ? SAMPLER_SLEEPS : SAMPLER_WORKS;
}

static struct profile_interval run_with_code(struct sampled_moment (*script)(uint64_t), uint64_t sleeps_at)
{
    const struct sampler_code code = {.context = &sleeps_at, .place = place_of_code};
    s.sampler.code = &code;
    assert_true(sampled_begin(script));
    assert_true(sampled_run(20000000));
    return sampled_end();
}

TEST_WITH(the_sampled_address_decides_which_samples_slept, sampled_set_up, sampled_tear_down)
{
    struct profile_interval interval = run_with_code(naps, WFI);
    uint64_t all = profile_interval_samples(&interval);
    assert_in_range(1000 * interval.states[PROFILE_ASLEEP] / all, 665, 679); /* 41 of 61 */
    assert_int_equal(sampled_at(&interval, WFI), 0);
    assert_int_equal(sampled_at(&interval, WORK) + interval.states[PROFILE_ASLEEP], all);
    assert_true(interval.asleep_doubt > 0 && interval.asleep_doubt < 0.02);
    assert_false(interval.asleep_anywhere);
    profile_interval_free(&interval);
}

/* In each interval samples and states at the WFI and elsewhere; `asleep`: the states there that are. */
struct some_looks {
    uint64_t samples, looks, asleep;
};

static struct profile_interval settle_looks(struct some_looks wfi, struct some_looks work)
{
    const struct some_looks of[] = {wfi, work};
    struct profile_interval interval = {0};
    for (size_t i = 0; i < 2; i++) {
        uint64_t at = i == 0 ? WFI : WORK;
        assert_true(profile_tally_add(&s.tally, at, of[i].samples));
        assert_true(profile_tally_add(&s.sampler.now.all, at, of[i].looks));
        assert_true(profile_tally_add(&s.sampler.ever.all, at, of[i].looks));
        assert_true(profile_tally_add(&s.sampler.now.asleep, at, of[i].asleep));
        assert_true(profile_tally_add(&s.sampler.ever.asleep, at, of[i].asleep));
    }
    assert_true(profile_tally_add(&s.sampler.stays.all, WFI, wfi.looks));
    assert_true(profile_tally_add(&s.sampler.stays.asleep, WFI, wfi.asleep));
    sampler_settle(&s.sampler, &s.tally);
    assert_true(profile_tally_close(&s.tally, 1, &interval));
    return interval;
}

/* The states of a first interval are too few to say that something but the WFI sleeps. */
TEST_WITH(first_states_make_no_other_code_sleep, sampled_set_up, sampled_tear_down)
{
    const uint64_t sleeps_at = WFI;
    const struct sampler_code code = {.context = (void *)&sleeps_at, .place = place_of_code};
    s.sampler.core = &s.core.core;
    s.sampler.code = &code;
    for (unsigned i = 0; i < 20; i++) {
        struct some_looks wfi = {i == 0 ? 51 : 450, i == 0 ? 3 : 8, i == 0 ? 3 : 8},
                          work = {i == 0 ? 9 : 50, i > 0, 0};
        struct profile_interval interval = settle_looks(wfi, work);
        assert_true(interval.asleep_doubt > 0);
        assert_false(interval.asleep_anywhere);
        assert_int_equal(sampled_at(&interval, WORK), work.samples);
        profile_interval_free(&interval);
    }
}

/* Nor does a state that arrived later than a sample of other code, before any at the WFI. */
TEST_WITH(late_first_states_make_no_other_code_sleep, sampled_set_up, sampled_tear_down)
{
    const uint64_t sleeps_at = WFI;
    const struct sampler_code code = {.context = (void *)&sleeps_at, .place = place_of_code};
    s.sampler.core = &s.core.core;
    s.sampler.code = &code;
    struct profile_interval interval = settle_looks((struct some_looks){0}, (struct some_looks){9, 2, 1});
    assert_true(interval.asleep_doubt > 0);
    assert_false(interval.asleep_anywhere);
    profile_interval_free(&interval);
}

/* Nothing of an A or R core shows sleep, and none is counted: there is nothing to doubt. */
TEST_WITH(cores_without_a_sleep_flag_have_no_doubt_of_it, sampled_set_up, sampled_tear_down)
{
    static const struct core_ops *const all[4] = {&cortex_m_ops, &armv7_ops, &armv8_ops,
                                                  &armv8_ops_in_aarch32};
    const uint64_t sleeps_at = WFI;
    const struct sampler_code code = {.context = (void *)&sleeps_at, .place = place_of_code};
    for (size_t i = 0; i < 4; i++) {
        const struct core core = {.ops = all[i]};
        s.sampler.core = &core;
        s.sampler.code = &code;
        struct profile_interval interval =
            settle_looks((struct some_looks){200, 20, 0}, (struct some_looks){100, 10, 0});
        assert_int_equal(interval.asleep_doubt > 0, i == 0);
        assert_false(interval.asleep_anywhere);
        assert_int_equal(sampled_at(&interval, WFI), 200);
        profile_interval_free(&interval);
        sampler_free(&s.sampler);
    }
}

/* As SLEEPONEXIT does. */
TEST_WITH(sleep_without_a_wfi_may_be_anywhere, sampled_set_up, sampled_tear_down)
{
    const uint64_t sleeps_at = WFI;
    const struct sampler_code code = {.context = (void *)&sleeps_at, .place = place_of_code};
    s.sampler.core = &s.core.core;
    s.sampler.code = &code;
    struct profile_interval interval = settle_looks((struct some_looks){0}, (struct some_looks){300, 60, 40});
    assert_int_equal(interval.states[PROFILE_ASLEEP], 200);
    assert_true(interval.asleep_anywhere && interval.asleep_doubt > 0.15);
    profile_interval_free(&interval);
}

TEST_WITH(a_wfi_that_is_passed_awake_has_samples_of_its_own, sampled_set_up, sampled_tear_down)
{
    struct profile_interval interval = run_with_code(sleeps, WFI);
    uint64_t all = profile_interval_samples(&interval);
    assert_in_range(1000 * interval.states[PROFILE_ASLEEP] / all, 670, 730);
    assert_in_range(1000 * sampled_at(&interval, WFI) / all, 70, 130);
    assert_in_range(1000 * sampled_at(&interval, WORK) / all, 195, 205);
    profile_interval_free(&interval);
}

/* Half of the time at the WFI is awake, of 30 % of all. */
static struct sampled_moment sleeps_half(uint64_t us)
{
    uint64_t phase = us % 7013;
    if (phase < 1052)
        return (struct sampled_moment){.pc = WFI, .dhcsr = ASLEEP};
    return (struct sampled_moment){.pc = phase < 2104 ? WFI : WORK};
}

/* As long as states are too few to say that the WFI is passed awake, its samples are taken for sleep: what
 * may be wrong with that is known. */
TEST_WITH(what_states_leave_open_of_sleep_is_its_doubt, sampled_set_up, sampled_tear_down)
{
    const uint64_t sleeps_at = WFI;
    const struct sampler_code code = {.context = (void *)&sleeps_at, .place = place_of_code};
    bool any_wrong = false;
    double all = 0, asleep = 0;
    s.sampler.code = &code;
    assert_true(sampled_begin(sleeps_half));
    for (int64_t us = 14026; us <= 4000000; us *= 2) {
        assert_true(sampled_run(us));
        struct profile_interval interval = sampled_end();
        all += (double)profile_interval_samples(&interval);
        asleep += (double)interval.states[PROFILE_ASLEEP];
        any_wrong = any_wrong || asleep / all > 0.2;
        assert_true(fabs(asleep / all - 0.15) <= interval.asleep_doubt + 0.02);
        profile_interval_free(&interval);
    }
    assert_true(any_wrong);
}

/* One WFE is passed awake, as in a lock that spins; a WFI sleeps. */
static uint64_t spins_for;

static struct sampled_moment spins(uint64_t us)
{
    uint64_t phase = us % 7013;
    if (phase < 3001)
        return (struct sampled_moment){.pc = WFI, .dhcsr = ASLEEP};
    return (struct sampled_moment){.pc = phase < 3001 + spins_for ? OTHER : WORK};
}

static enum sampler_place place_of_two(void *context, uint64_t address, uint64_t *sleeps_at)
{
    *sleeps_at = address;
    (void)context;
    return address == WFI || address == OTHER ? SAMPLER_SLEEPS : SAMPLER_WORKS;
}

TEST_WITH(a_wfe_that_does_not_sleep_keeps_its_samples, sampled_set_up, sampled_tear_down)
{
    static const struct sampler_code code = {.place = place_of_two};
    for (spins_for = 210; spins_for <= 2800; spins_for += 2590) { /* 3 and 40 % of the time */
        s.sampler.code = &code;
        assert_true(spins_for > 210 || sampled_begin(spins));
        assert_true(sampled_run(20000000));
        struct profile_interval interval = sampled_end();
        uint64_t all = profile_interval_samples(&interval), part = 1000 * spins_for / 7013;
        assert_in_range(1000 * interval.states[PROFILE_ASLEEP] / all, 420, 436);
        assert_in_range(1000 * sampled_at(&interval, OTHER) / all, part - 5 - part / 20, part + 5);
        assert_in_range(1000 * sampled_at(&interval, WFI) / all, 0, 9);
        profile_interval_free(&interval);
    }
}

TEST_WITH(a_register_that_is_some_instructions_off_leaves_it_to_the_looks, sampled_set_up, sampled_tear_down)
{
    struct profile_interval interval = run_with_code(sleeps, OTHER);
    uint64_t all = profile_interval_samples(&interval);
    assert_in_range(1000 * interval.states[PROFILE_ASLEEP] / all, 680, 720);
    profile_interval_free(&interval);
}

static uint64_t stands_from_us, stands_to_us;
static uint32_t stands_as;

static struct sampled_moment stands(uint64_t us)
{
    if (us < stands_from_us || us >= stands_to_us)
        return works(us);
    return (struct sampled_moment){.pc = NONE, .dhcsr = stands_as};
}

static struct profile_interval stand(uint32_t dhcsr)
{
    stands_from_us = 1100000;
    stands_to_us = 1400000;
    stands_as = dhcsr;
    assert_true(sampled_begin(stands));
    assert_true(sampled_run(1000000));
    return sampled_end();
}

/* Not one sample of it is anything else, neither at its begin nor at its end. */
TEST_WITH(a_halt_of_someone_else, sampled_set_up, sampled_tear_down)
{
    struct profile_interval interval = stand(HALTED);
    uint64_t all = profile_interval_samples(&interval);
    assert_in_range(100 * interval.states[PROFILE_HALTED] / all, 28, 32);
    assert_int_equal(interval.states[PROFILE_NOT_PERMITTED], 0);
    assert_int_equal(sampled_at(&interval, NONE), 0);
    assert_int_equal(s.n_writes, 1);
    profile_interval_free(&interval);
}

TEST_WITH(what_is_not_to_be_seen, sampled_set_up, sampled_tear_down)
{
    struct profile_interval interval = stand(0);
    uint64_t all = profile_interval_samples(&interval);
    assert_in_range(100 * interval.states[PROFILE_NOT_PERMITTED] / all, 28, 32);
    assert_int_equal(interval.states[PROFILE_HALTED], 0);
    assert_int_equal(sampled_at(&interval, NONE), 0);
    profile_interval_free(&interval);
}

static struct sampled_moment locks_up(uint64_t us)
{
    return us < 1300000 ? works(us) : (struct sampled_moment){.pc = 0xFFFFFFFE, .dhcsr = LOCKUP};
}

TEST_WITH(a_lockup_counts_as_a_halt, sampled_set_up, sampled_tear_down)
{
    assert_true(sampled_begin(locks_up));
    assert_true(sampled_run(1000000));
    struct profile_interval interval = sampled_end();
    uint64_t all = profile_interval_samples(&interval);
    assert_in_range(100 * interval.states[PROFILE_HALTED] / all, 68, 71);
    /* up to the first look at it */
    assert_in_range(sampled_at(&interval, 0xFFFFFFFE), 0, 3 * SAMPLER_APART);
    profile_interval_free(&interval);
}

/* Between the two reads of a look, too. */
static void reset_after(long accesses)
{
    s.reset_st = 1 << 25; /* of before: not ours to count */
    assert_true(sampled_begin(works));
    assert_true(sampled_run(200000));
    s.reset_at = s.accesses + accesses;
    size_t before = s.reads;
    assert_true(sampled_run(200000));
    assert_int_equal(s.demcr, SAMPLED_TRCENA);
    assert_int_equal(s.n_writes, 2);
    struct profile_interval interval = sampled_end();
    assert_int_equal(interval.resets, 1);
    assert_int_equal(sampled_at(&interval, 0), 0);
    assert_in_range(interval.states[PROFILE_IN_RESET], 1, (s.reads - before) / 10);
    assert_int_equal(interval.states[PROFILE_NOT_PERMITTED], 0);
    profile_interval_free(&interval);
    assert_true(ledger_undo(s.device.ledger, &s.deadline, &s.error));
    assert_int_equal(s.demcr, 0);
}

TEST(a_reset_in_the_middle)
{
    struct test_sweep sweep = test_sweep(1, 7, "resets");
    for (long at = 300; at < 450; at++) {
        if (!test_takes(&sweep, at))
            continue;
        assert_int_equal(sampled_set_up(state), 0);
        reset_after(at);
        sampled_tear_down(state);
    }
}

static void trouble(enum why why, enum error_kind kind, long accesses)
{
    assert_true(sampled_begin(works));
    assert_true(sampled_run(200000));
    s.trouble = why;
    s.kind = kind;
    s.trouble_at = s.accesses + 700;
    s.trouble_for = accesses;
}

TEST_WITH(a_lost_link_ends_it_with_what_was_counted, sampled_set_up, sampled_tear_down)
{
    trouble(LINK_LOST, ERROR_LINK_LOST, 1000000);
    size_t before = s.reads;
    assert_false(sampled_run(1000000));
    assert_int_equal(s.error.kind, ERROR_LINK_LOST);
    assert_in_range(s.reads - before, 600, 700);
    struct profile_interval interval = sampled_end();
    assert_true(profile_interval_samples(&interval) > before);
    profile_interval_free(&interval);
}

/* It does not answer for 100 ms: these count as asleep, at the pace before. */
TEST_WITH(a_core_that_sleeps_without_a_clock, sampled_set_up, sampled_tear_down)
{
    trouble(TARGET_WAIT, ERROR_ASLEEP, 100);
    assert_true(sampled_run(400000));
    struct profile_interval interval = sampled_end();
    uint64_t slept_us = interval.states[PROFILE_ASLEEP] * SAMPLED_ACCESS_US;
    assert_in_range(slept_us, 20000, 140000);
    assert_int_equal(interval.states[PROFILE_IN_RESET], 0);
    profile_interval_free(&interval);
}

/* The same in turns with other cores, which have forty times as long. */
TEST_WITH(time_of_other_cores_is_not_missed, sampled_set_up, sampled_tear_down)
{
    trouble(TARGET_WAIT, ERROR_ASLEEP, 100);
    for (int turn = 0; turn < 100; turn++) {
        sampled_nap(200000);
        assert_true(sampler_take(&s.sampler, 5000, &s.tally, &s.deadline, &s.error));
    }
    struct profile_interval interval = sampled_end();
    uint64_t slept_us = interval.states[PROFILE_ASLEEP] * SAMPLED_ACCESS_US;
    assert_in_range(slept_us, 20000, 140000);
    profile_interval_free(&interval);
}

/* Nothing answers either while it has no power, but then it was reset. */
TEST_WITH(a_core_without_power, sampled_set_up, sampled_tear_down)
{
    trouble(TARGET_WAIT, ERROR_ASLEEP, 100);
    s.reset_at = s.trouble_at + 50;
    assert_true(sampled_run(400000));
    struct profile_interval interval = sampled_end();
    assert_int_equal(interval.resets, 1);
    assert_int_equal(interval.states[PROFILE_ASLEEP], 0);
    assert_in_range(interval.states[PROFILE_IN_RESET] * SAMPLED_ACCESS_US, 20000, 140000);
    assert_int_equal(s.demcr, SAMPLED_TRCENA);
    profile_interval_free(&interval);
}

TEST_WITH(accesses_that_are_refused_for_a_while, sampled_set_up, sampled_tear_down)
{
    trouble(TARGET_FAULT, ERROR_FAULT, 20);
    assert_true(sampled_run(400000));
    struct profile_interval interval = sampled_end();
    assert_true(interval.states[PROFILE_IN_RESET] > 0);
    assert_int_equal(interval.states[PROFILE_ASLEEP], 0);
    profile_interval_free(&interval);
}

TEST_WITH(a_core_that_never_answers_again, sampled_set_up, sampled_tear_down)
{
    trouble(TARGET_WAIT, ERROR_ASLEEP, 100000000);
    int64_t before_us = sampled_us;
    assert_false(sampled_run(3600000000));
    assert_int_equal(s.error.kind, ERROR_ASLEEP);
    assert_true(sampled_us - before_us >= patience_ms(5000) * 1000);
}

/* --- Armv8 ---------------------------------------------------------------------------------------------- */

static uint64_t wide_pc;
static bool wide_latched;
static uint32_t wide_high;

/* Each sample is at another place, and its high word is what it was when the low one was read. */
static struct outcome execute_wide(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                   const struct deadline *deadline, struct error *error)
{
    (void)link;
    (void)deadline;
    (void)error;
    for (size_t i = 0; i < n; i++) {
        sampled_us += SAMPLED_ACCESS_US;
        switch (steps[i].at.offset & 0xFFF) {
        case 0xFC8:
            results[i] = 3;
            break;
        case 0x0A0:
            wide_pc = wide_pc == UINT64_C(0xFFFFFF8000001000) ? 0x2000 : UINT64_C(0xFFFFFF8000001000);
            wide_high = (uint32_t)(wide_pc >> 32);
            wide_latched = true;
            results[i] = (uint32_t)wide_pc;
            break;
        case 0x0AC:
            assert_true(wide_latched);
            wide_latched = false;
            results[i] = wide_high;
            break;
        case 0x088:
            results[i] = 2;
            break;
        case 0x314:
        case 0x310:
            results[i] = 1;
            break;
        default:
            results[i] = 0;
        }
    }
    return (struct outcome){.why = DONE, .done = n};
}

TEST_WITH(two_words_of_one_sample_stay_together, sampled_set_up, sampled_tear_down)
{
    static const struct link_ops ops = {.execute = execute_wide};
    const uint64_t identity[ARMV8_IDENTITY] = {0x410FD034};
    s.link.ops = &ops;
    armv8_identify(0, 0x80410000, 0, identity, &s.core.core);
    assert_true(sampled_begin(works));
    assert_true(sampled_run(200000));
    struct profile_interval interval = sampled_end();
    assert_int_equal(interval.count_count, 2);
    assert_int_equal(interval.counts[0].address, 0x2000);
    assert_true(interval.counts[1].address == UINT64_C(0xFFFFFF8000001000));
    profile_interval_free(&interval);
}
