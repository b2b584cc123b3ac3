/*
 * Who writes a counter, on a model core whose program does it: what is seen, what is left alone, and that
 * nothing is left changed whatever goes wrong on the way.
 */
#include "../engine/rig.h"

#include "device/writers.h"

TEST_TIME(rig_clock, rig_nap)

enum { CYCCNT = 0xE0001004U, CTRL = 0xE0001000U, ROUND = 40000 };

static const struct model_event clears[] = {
    {.kind = MODEL_STORE, .cycles = ROUND, .pc = 0x1236, .length = CYCCNT},
    {.kind = MODEL_AT, .cycles = 100, .pc = 0x1400}};
static const struct model_event twice[] = {
    {.kind = MODEL_STORE, .cycles = ROUND, .pc = 0x1236, .length = CYCCNT},
    {.kind = MODEL_STORE, .cycles = ROUND, .pc = 0x1300, .length = CYCCNT},
    {.kind = MODEL_STORE, .cycles = ROUND, .pc = 0x1500, .length = CTRL}};
static const struct model_event untraced[] = {
    {.kind = MODEL_STORE, .cycles = ROUND, .pc = 0x1700, .length = 0xE000EDFC /* DEMCR */}};
static const struct model_event quiet[] = {{.kind = MODEL_AT, .cycles = ROUND, .pc = 0x1400}};

static struct writers seen;

static struct rig *begin(const struct model_event *script, size_t n)
{
    struct rig *rig = rig_fresh(script, n);
    rig->model.limit = 10000000;
    return rig;
}

static bool watch(struct rig *rig, const char *first)
{
    return writers_watch(&rig->device, rig->device.block, first, &seen, &rig->deadline, &rig->error);
}

/* As a command does at its end, some times if the link works again. */
static void end_clean(struct rig *rig)
{
    struct deadline deadline = deadline_in_ms(60000, NULL);
    struct error error = {0};
    rig->model.trouble_at = -1;
    rig->model.lost = false;
    if (!device_undo(&rig->device, &deadline, &error)) {
        error_clear(&error);
        assert_true(device_undo(&rig->device, &deadline, &error));
    }
    rig_free(rig);
    if (rig->model.what == TROUBLE_RESET) /* which stops CYCCNT at any value, and switches its writes off */
        rig->before.cyccnt = rig->model.cyccnt;
    const char *difference = model_difference(&rig->model, &rig->before);
    assert_string_equal(difference == NULL ? "" : difference, "");
}

RIG_TEST(the_named_register_is_watched_first_and_all_places_are_told)
{
    struct rig *rig = begin(twice, 3);
    rig_begin(rig);
    assert_true(watch(rig, "DWT_CTRL"));
    assert_string_equal(seen.watched[0], "DWT_CTRL");
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.items[0].stop, 0x1500);
    assert_string_equal(seen.items[0].name, "DWT_CTRL");
    assert_int_equal(seen.items[1].stop + seen.items[2].stop, 0x1236 + 0x1300);
    end_clean(rig);
}

RIG_TEST(a_program_that_writes_nothing_is_told_as_that)
{
    struct rig *rig = begin(quiet, 1);
    rig_begin(rig);
    assert_true(watch(rig, NULL));
    assert_int_equal(seen.n, 0);
    assert_int_equal(seen.n_watched, 3);
    assert_string_equal(seen.hindrance, "");
    end_clean(rig);
}

RIG_TEST(a_program_that_switches_trace_off_is_seen_and_the_comparator_comes_back)
{
    struct rig *rig = begin(untraced, 1);
    rig_begin(rig);
    assert_true(watch(rig, "DEMCR"));
    assert_int_equal(seen.n, 1);
    end_clean(rig);
}

/* FUNCTION 8 to 15 trace, and halt nothing; one of cycles (CYCMATCH) is in use with a function of 0. */
RIG_TEST(others_comparators_are_left_alone)
{
    struct rig *rig = begin(clears, 2);
    rig->model.demcr = 0x01000000;
    rig->model.watch[3][0] = 0x20000000;
    rig->model.watch[3][2] = 0x8;
    rig->model.watch[0][2] = 0x80;
    rig_begin(rig);
    assert_true(watch(rig, NULL));
    assert_int_equal(seen.n, 1);
    end_clean(rig);
}

RIG_TEST(without_a_free_comparator_nothing_is_watched)
{
    struct rig *rig = begin(clears, 2);
    rig->model.demcr = 0x01000000;
    for (size_t i = 0; i < MODEL_WATCHPOINTS; i++)
        rig->model.watch[i][2] = 0x9;
    rig_begin(rig);
    assert_true(watch(rig, NULL));
    assert_int_equal(seen.n + seen.n_watched, 0);
    assert_has(seen.hindrance, "comparators are in use");
    assert_int_equal(rig->model.entries, 1); /* for a moment */
    end_clean(rig);
}

RIG_TEST(a_comparator_that_would_wake_up_with_trace_is_not_woken_up)
{
    struct rig *rig = begin(clears, 2);
    rig->model.watch[1][2] = 6;
    rig_begin(rig);
    assert_true(watch(rig, NULL));
    assert_has(seen.hindrance, "wake up");
    assert_int_equal(rig->model.entries, 1); /* for a moment */
    end_clean(rig);
}

/* --- trouble at any access ------------------------------------------------------------------------------ */

static long accesses_of(const struct model_event *script, size_t n)
{
    struct rig *rig = begin(script, n);
    rig_begin(rig);
    long before = rig->model.accesses;
    assert_true(watch(rig, NULL));
    long taken = rig->model.accesses - before;
    end_clean(rig);
    return taken;
}

typedef void check(struct rig *rig, bool ok, long k);

static void everywhere(const struct model_event *script, size_t n, enum model_trouble what, long how_long,
                       check *look)
{
    long all = accesses_of(script, n);
    struct test_sweep sweep = test_sweep(7, 180, "writers, %d", (int)what);
    for (long k = 0; k < all; k++) {
        if (!test_takes(&sweep, k))
            continue;
        struct rig *rig = begin(script, n);
        rig->model.debug = k % 2 == 1; /* a server may have switched it on */
        rig_begin(rig);
        rig->model.what = what;
        long at = rig->model.accesses + k;
        rig->model.trouble_at = at;
        rig->model.trouble_for = how_long;
        bool ok = watch(rig, NULL);
        if (rig->model.accesses > at) /* with debug on already, fewer are made */
            look(rig, ok, k);
        end_clean(rig);
    }
}

static void must_tell(struct rig *rig, bool ok, long k)
{
    if (ok || (rig->error.kind != ERROR_LINK_LOST && rig->error.kind != ERROR_CANCELLED))
        fail_msg("at access %ld: %s", k, rig->error.text);
}

static void must_see(struct rig *rig, bool ok, long k)
{
    if (!ok || seen.n != 1)
        fail_msg("at access %ld: %zu seen: %s", k, seen.n, rig->error.text);
}

static void must_end(struct rig *rig, bool ok, long k)
{
    (void)k;
    assert_true(ok || rig->error.kind == ERROR_FAULT || rig->error.kind == ERROR_ASLEEP);
}

RIG_TEST(the_link_may_be_lost_anywhere)
{
    everywhere(clears, 2, TROUBLE_LOST, 1, must_tell);
    everywhere(clears, 2, TROUBLE_LOST_AFTER, 1, must_tell);
}

RIG_TEST(it_may_be_cancelled_anywhere)
{
    everywhere(clears, 2, TROUBLE_CANCEL, 1, must_tell);
}

RIG_TEST(a_target_may_be_slow_or_refuse_anywhere)
{
    everywhere(clears, 2, TROUBLE_SLICE, 1, must_see);
    everywhere(clears, 2, TROUBLE_WAIT, 1, must_end);
    everywhere(clears, 2, TROUBLE_FAULT, 1, must_end);
}

RIG_TEST(a_reset_may_come_anywhere)
{
    everywhere(clears, 2, TROUBLE_RESET, 1, must_end);
}

/* The core stays halted if another debugger halted it. */
RIG_TEST(a_foreign_halt_stays)
{
    struct rig *rig = begin(quiet, 1);
    rig_begin(rig);
    rig->model.what = TROUBLE_HALT;
    rig->model.trouble_at = rig->model.accesses + 400;
    rig->model.trouble_for = 1;
    assert_true(watch(rig, NULL));
    assert_has(seen.hindrance, "another debugger halted");
    assert_true(rig->device.leave == LEAVE_HALTED_FOREIGN);
    struct deadline deadline = deadline_in_ms(60000, NULL);
    struct error error = {0};
    assert_true(device_undo(&rig->device, &deadline, &error));
    assert_true(rig->model.halted && rig->model.debug);
    assert_int_equal(rig->model.watch[3][2], 0);
    rig_free(rig);
}
