/* Lists of steps on MSRs: the contract of link_execute over a carrier that takes batches. */
#include "../test.h"

#include "knc/msr.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 200 };

/* Time passes only in naps: how many of them a slice holds does not depend on the machine. */
static int64_t now_us;

static int clock_of_naps(struct timespec *now)
{
    *now = (struct timespec){.tv_sec = now_us / 1000000, .tv_nsec = now_us % 1000000 * 1000};
    return 0;
}

static void nap(uint64_t us)
{
    now_us += (int64_t)us;
}

TEST_TIME(clock_of_naps, nap)

static struct fake {
    struct msr_link msr;
    uint64_t values[64];
    size_t batches, accesses, longest;
    size_t fail_at; /* the access that fails */
    enum why fail_with;
    size_t changes_at; /* from this access on reads give 7 */
} fake;

static enum why run(struct msr_link *link, const struct msr_op *ops, size_t n, uint64_t *results,
                    size_t *done, struct error *error)
{
    assert_ptr_equal(link, &fake.msr);
    fake.batches++;
    fake.longest = n > fake.longest ? n : fake.longest;
    for (*done = 0; *done < n; ++*done, fake.accesses++) {
        const struct msr_op *op = &ops[*done];
        if (fake.accesses == fake.fail_at) {
            error_set(error, fake.fail_with == LINK_LOST ? ERROR_LINK_LOST : ERROR_FAULT, "as wanted");
            return fake.fail_with;
        }
        if (op->kind == MSR_TIME) {
            results[*done] = 1000 + fake.accesses;
            continue;
        }
        assert_true(op->number < 64);
        if (op->kind == MSR_WRITE)
            fake.values[op->number] = op->value;
        else
            results[*done] = fake.accesses >= fake.changes_at ? 7 : fake.values[op->number];
    }
    return DONE;
}

static void close_it(struct msr_link *link)
{
    (void)link;
}

static struct step steps[STEPS];
static uint64_t results[STEPS];
static struct error error;
static struct deadline deadline;

static void set_up(void)
{
    static const struct msr_carrier_ops ops = {.run = run, .close = close_it};
    memset(&fake, 0, sizeof fake);
    fake.fail_at = fake.changes_at = SIZE_MAX;
    msr_link_init(&fake.msr, &ops);
    deadline = deadline_in_ms(60000, NULL);
    error_clear(&error);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, test_nothing)

static struct address at(uint64_t number)
{
    return (struct address){.space = SPACE_MSR, .size = 8, .unit = 5, .offset = number};
}

static struct outcome execute(size_t n)
{
    return link_execute(&fake.msr.link, steps, n, results, &deadline, &error);
}

FRESH_TEST(long_lists_go_in_batches)
{
    for (size_t i = 0; i < STEPS; i++) {
        fake.values[i % 64] = 100 + i % 64;
        steps[i] = step_read(at(i % 64));
    }
    struct outcome outcome = execute(STEPS);
    assert_int_equal(outcome.why, DONE);
    assert_int_equal(outcome.done, STEPS);
    for (size_t i = 0; i < STEPS; i++)
        assert_int_equal(results[i], 100 + i % 64);
    assert_int_equal(fake.batches, 4);
    assert_int_equal(fake.longest, MSR_BATCH);
}

FRESH_TEST(nothing_runs_behind_what_fails)
{
    for (size_t at_step = 0; at_step < 100; at_step += 9) {
        set_up();
        fake.fail_at = at_step;
        fake.fail_with = at_step % 2 != 0 ? LINK_LOST : TARGET_FAULT;
        for (size_t i = 0; i < 100; i++)
            steps[i] = step_write(at(i % 64), i);
        struct outcome outcome = execute(100);
        assert_int_equal(outcome.why, fake.fail_with);
        assert_int_equal(outcome.done, at_step);
        assert_int_equal(fake.accesses, at_step);
        assert_int_not_equal(error.kind, ERROR_NONE);
    }
}

FRESH_TEST(an_expectation_ends_the_list)
{
    fake.values[3] = 0xF1;
    steps[0] = step_write(at(1), 5);
    steps[1] = step_expect(at(3), 0xF, 1);
    steps[2] = step_expect(at(3), 0xF0, 1);
    steps[3] = step_write(at(1), 6);
    struct outcome outcome = execute(4);
    assert_int_equal(outcome.why, UNEXPECTED);
    assert_int_equal(outcome.done, 2);
    assert_int_equal(outcome.saw, 0xF1);
    assert_int_equal(results[1], 0xF1);
    assert_int_equal(fake.values[1], 5);
}

FRESH_TEST(a_wait_goes_on_until_it_is_over)
{
    fake.changes_at = 4;
    steps[0] = step_until(at(3), 0xFF, 7);
    steps[1] = step_write(at(1), 6);
    assert_int_equal(execute(2).why, DONE);
    assert_int_equal(results[0], 7);
    assert_int_equal(fake.values[1], 6);
    set_up();
    steps[0] = step_until(at(3), 0xFF, 7);
    struct outcome outcome = execute(2);
    assert_int_equal(outcome.why, NOT_YET);
    assert_int_equal(outcome.done, 0);
    assert_int_equal(fake.values[1], 0);
}

FRESH_TEST(times_come_from_the_other_end)
{
    steps[0] = step_time(TIME_BEFORE);
    steps[1] = step_read(at(2));
    steps[2] = step_time(TIME_AFTER);
    assert_int_equal(execute(3).why, DONE);
    assert_int_equal(results[0], 1000);
    assert_int_equal(results[2], 1002);
    assert_int_equal(fake.batches, 1);
}

FRESH_TEST(only_registers_have_addresses)
{
    struct address wrong[] = {at(1), at(1), at(1ULL << 32)};
    wrong[0].space = SPACE_MEMORY;
    wrong[1].size = 4;
    for (size_t i = 0; i < 3; i++) {
        error_clear(&error);
        steps[0] = step_write(at(1), 1);
        steps[1] = step_read(wrong[i]);
        struct outcome outcome = execute(2);
        assert_int_equal(outcome.why, TARGET_FAULT);
        assert_int_equal(outcome.done, 1);
        assert_int_equal(error.kind, ERROR_FAULT);
    }
}

/* One step on CPU 5's registers, in place of which is a link to `file`. */
static struct outcome access_file(const char *file, struct step step)
{
    static const char *const folders[] = {"dev", "dev/cpu", "dev/cpu/5"};
    char root[] = "/tmp/pmu-probe-msr-XXXXXX", path[64], probe[64];
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    snprintf(path, sizeof path, "%s/dev/cpu/5/msr", root);
    assert_int_equal(symlink(file, path), 0);
    snprintf(probe, sizeof probe, "msr:5@%s", root);
    struct link *link = msr_connect(probe, &deadline, &error);
    assert_non_null(link);
    struct outcome outcome = link_execute(link, &step, 1, results, &deadline, &error);
    link_close(link);
    unlink(path);
    for (size_t i = 3; i-- > 0;) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        rmdir(path);
    }
    rmdir(root);
    return outcome;
}

/* From the register's number on a file has fewer than its 8 bytes. */
FRESH_TEST(a_register_that_is_cut_short_is_not_read)
{
    char file[] = "/tmp/pmu-probe-short-XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0 && write(fd, "12345678", 8) == 8 && close(fd) == 0);
    assert_int_equal(access_file(file, step_read(at(0))).why, DONE);
    assert_int_equal(results[0], 0x3837363534333231);
    for (uint64_t number = 1; number < 10; number++) {
        assert_int_equal(access_file(file, step_read(at(number))).why, TARGET_FAULT);
        assert_error(&error, ERROR_FAULT, "read: cut short");
    }
    struct step other = step_read(at(0));
    other.at.unit = 6;
    assert_int_equal(access_file(file, other).why, TARGET_FAULT);
    assert_error(&error, ERROR_FAULT, "CPU 6 is not one of this link");
    unlink(file);
}

FRESH_TEST(what_a_register_refuses_is_named)
{
    assert_int_equal(access_file("/dev/full", step_read(at(0x38F))).why, DONE);
    assert_int_equal(access_file("/dev/full", step_write(at(0x38F), 7)).why, TARGET_FAULT);
    assert_error(&error, ERROR_FAULT, "CPU 5 refuses to have MSR 0x38F written: No space left");
    assert_int_equal(access_file("/dev/null", step_read(at(0x38F))).why, TARGET_FAULT);
    assert_error(&error, ERROR_FAULT, "CPU 5 refuses to have MSR 0x38F read: cut short");
    assert_int_equal(access_file("/dev/null", step_read(at(0x38F))).why, TARGET_FAULT);
    assert_error(&error, ERROR_FAULT, "CPU 5 refuses to have MSR 0x38F read: cut short");
}

FRESH_TEST(views_are_cpus)
{
    struct link_view views[4];
    fake.msr.n_cpus = 3;
    for (uint16_t i = 0; i < 3; i++)
        fake.msr.cpus[i] = (struct msr_cpu){.number = (uint16_t)(10 * i), .core = 60};
    assert_int_equal(link_views(&fake.msr.link, views, 4, &error), 3);
    assert_string_equal(views[2].name, "CPU 20");
    assert_string_equal(views[2].type, "msr");
    assert_int_equal(views[2].unit, 20);
    assert_int_equal(views[2].core_id, 60);
    assert_int_equal(link_views(&fake.msr.link, views, 2, &error), 2);
    assert_true(link_faults_are_exact(&fake.msr.link));
    assert_false(link_has_server(&fake.msr.link));
}
