/* Copies and checks of results: link_execute makes them once the result is there. */
#include "../test.h"

#include "links/link.h"

enum { ROOM = 300 };

/* Reads give 1000 and on; notes what is written; may end a call at a step. */
static struct fixture {
    struct link link;
    uint64_t reads, written[ROOM];
    size_t n_written, calls, stop_at, seen;
    enum why stop_why;
} f;

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    (void)link;
    (void)deadline;
    (void)error;
    f.calls++;
    for (size_t i = 0; i < n; i++, f.seen++) {
        assert_true(steps[i].op != OP_COPY && steps[i].op != OP_CHECK);
        if (f.seen == f.stop_at) {
            f.stop_at = SIZE_MAX;
            return (struct outcome){.why = f.stop_why, .done = i};
        }
        if (steps[i].op == OP_READ)
            results[i] = 1000 + f.reads++;
        else
            f.written[f.n_written++] = steps[i].value;
    }
    return (struct outcome){.why = DONE, .done = n};
}

static void set_up(void)
{
    static const struct link_ops ops = {.execute = execute};
    f = (struct fixture){.link.ops = &ops, .stop_at = SIZE_MAX};
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, test_nothing)

static const struct address at = {.space = SPACE_MEMORY, .size = 4, .offset = 0x100};

static struct outcome run(const struct step *steps, size_t n, uint64_t *results)
{
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct error error = {0};
    return link_execute(&f.link, steps, n, results, &deadline, &error);
}

FRESH_TEST(a_list_without_copies_goes_in_one_call)
{
    const struct step steps[] = {step_read(at), step_write(at, 5), step_read(at)};
    uint64_t results[3];
    struct outcome outcome = run(steps, 3, results);
    assert_int_equal(outcome.why, DONE);
    assert_int_equal(outcome.done, 3);
    assert_int_equal(f.calls, 1);
    assert_int_equal(results[2], 1001);
}

FRESH_TEST(copies_write_what_was_read)
{
    const struct step steps[] = {step_read(at),    step_read(at), step_copy(at, 2),
                                 step_copy(at, 2), step_read(at), step_copy(at, 1)};
    uint64_t results[6];
    assert_int_equal(run(steps, 6, results).done, 6);
    assert_int_equal(f.n_written, 3);
    assert_int_equal(f.written[0], 1000);
    assert_int_equal(f.written[1], 1001);
    assert_int_equal(f.written[2], 1002);
}

FRESH_TEST(a_result_far_behind_is_found)
{
    struct step steps[ROOM];
    uint64_t results[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        steps[i] = step_read(at);
    steps[150] = step_copy(at, 150);
    steps[ROOM - 1] = step_copy(at, 200);
    assert_int_equal(run(steps, ROOM, results).done, ROOM);
    assert_int_equal(f.written[0], results[0]);
    assert_int_equal(f.written[1], results[ROOM - 1 - 200]);
}

/* After an early end the caller goes on with the rest of the list; earlier results lie before `results`. */
FRESH_TEST(what_was_read_by_the_call_before_can_be_copied)
{
    const struct step steps[] = {step_read(at), step_read(at), step_read(at), step_copy(at, 3),
                                 step_copy(at, 2)};
    for (size_t stop = 1; stop < 5; stop++) {
        uint64_t results[5];
        set_up();
        f.stop_at = stop;
        f.stop_why = NOT_YET;
        struct outcome outcome = run(steps, 5, results);
        assert_int_equal(outcome.why, NOT_YET);
        assert_int_equal(outcome.done, stop);
        outcome = run(steps + stop, 5 - stop, results + stop);
        assert_int_equal(outcome.why, DONE);
        assert_int_equal(outcome.done, 5 - stop);
        assert_int_equal(f.written[0], 1000);
        assert_int_equal(f.written[1], 1002);
    }
}

FRESH_TEST(a_check_that_fails_ends_the_list)
{
    const struct step steps[] = {step_read(at),         step_read(at),    step_check(2, UINT64_MAX, 1000),
                                 step_check(2, 0xF, 9), step_copy(at, 4), step_check(4, UINT64_MAX, 1001),
                                 step_write(at, 9)};
    uint64_t results[7];
    assert_int_equal(run(steps, 7, results).why, DONE);
    assert_int_equal(results[2], 1000);
    assert_int_equal(results[3], 1001);
    assert_int_equal(f.n_written, 2);
    assert_int_equal(f.written[0], 1000);
    f.n_written = 0;
    f.reads = 1; /* the first is wrong now */
    struct outcome outcome = run(steps, 7, results);
    assert_int_equal(outcome.why, UNEXPECTED);
    assert_int_equal(outcome.done, 2);
    assert_int_equal(outcome.saw, 1001);
    outcome = run(steps + 3, 4, results + 3); /* of the call before */
    assert_int_equal(outcome.why, UNEXPECTED);
    assert_int_equal(outcome.done, 0);
    assert_int_equal(f.n_written, 0);
}

FRESH_TEST(nothing_runs_behind_a_failure)
{
    const struct step steps[] = {step_read(at), step_copy(at, 1), step_read(at), step_copy(at, 1),
                                 step_write(at, 9)};
    uint64_t results[5];
    f.stop_at = 3;
    f.stop_why = TARGET_FAULT;
    struct outcome outcome = run(steps, 5, results);
    assert_int_equal(outcome.why, TARGET_FAULT);
    assert_int_equal(outcome.done, 3);
    assert_int_equal(f.n_written, 1);
}

/* As many copies as a core has registers, ended and continued at every step. */
FRESH_TEST(many_copies_in_a_row)
{
    enum { MANY = 100, ALL = 200 };
    struct step steps[ALL];
    for (size_t i = 0; i < MANY; i++) {
        steps[i] = step_read(at);
        steps[MANY + i] = step_copy(at, MANY);
    }
    for (size_t stop = 0; stop <= ALL; stop++) {
        uint64_t results[ALL];
        set_up();
        f.stop_at = stop;
        f.stop_why = NOT_YET;
        size_t done = run(steps, COUNT(steps), results).done;
        assert_int_equal(done, stop);
        while (done < ALL) /* a busy machine may end it once more */
            done += run(steps + done, ALL - done, results + done).done;
        assert_int_equal(f.n_written, MANY);
        for (size_t i = 0; i < MANY; i++)
            assert_int_equal(f.written[i], 1000 + i);
    }
}

/* A write in between is not a result, and a copy does not end the range of steps that can be copied. */
FRESH_TEST(copies_among_other_steps)
{
    const struct step steps[] = {step_read(at),    step_write(at, 7), step_copy(at, 2), step_write(at, 8),
                                 step_copy(at, 4), step_read(at),     step_copy(at, 6), step_copy(at, 2)};
    uint64_t results[8];
    assert_int_equal(run(steps, 8, results).done, 8);
    static const uint64_t written[] = {7, 1000, 8, 1000, 1000, 1001};
    assert_int_equal(f.n_written, 6);
    assert_memory_equal(f.written, written, sizeof written);
}

FRESH_TEST(an_empty_list_is_done)
{
    assert_int_equal(run(NULL, 0, NULL).why, DONE);
    assert_int_equal(f.calls, 0);
}
