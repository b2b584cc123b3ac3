/*
 * What a list that ended early still owes: from where on to where it has to be carried out, so that all that
 * was borrowed is put back, and nothing that was not.
 */
#include "../test.h"

#include "base/step.h"

enum { ROOM = 32, AT = 0x100, NOTHING = -1 };

static struct address at(uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

static struct step items[ROOM];
static struct steps list;

static size_t add(struct step step)
{
    return steps_add(&list, step);
}

static void fresh(void)
{
    list = (struct steps){.items = items, .room = ROOM};
}

/* The steps that give back what a list owes that ended after `done` steps; -1: it owes nothing. */
static void check(size_t done, int from, int end)
{
    struct loan loan = {.from = SIZE_MAX, .end = SIZE_MAX};
    bool owes = steps_loan(list.items, list.n, done, &loan);
    if (owes != (from >= 0))
        fail_msg("after %zu: %s", done, owes ? "something is owed" : "nothing is owed");
    if (owes && (loan.from != (size_t)from || loan.end != (size_t)end))
        fail_msg("after %zu: from %zu to %zu, not from %d to %d", done, loan.from, loan.end, from, end);
}

TEST(lists_that_borrow_nothing_owe_nothing)
{
    fresh();
    check(0, NOTHING, 0);
    add(step_read(at(AT)));
    add(step_write(at(AT), 1));
    add(step_until(at(AT), 1, 1));
    add(step_check(3, 1, 1));
    for (size_t done = 0; done <= list.n; done++)
        check(done, NOTHING, 0);
    assert_int_equal(steps_next_loan(list.items, list.n, 0), list.n);
}

/* A value arrives and is changed after that; another step awaits what is under way, and three give it back.
 */
static size_t add_loan(uint64_t offset)
{
    add(step_read(at(offset)));
    size_t since = add(step_marked(MARK_BORROWS, step_check(1, 0, 0)));
    add(step_write(at(offset), 2));
    add(step_until(at(AT + 8), 1, 1));
    size_t give = add(step_copy(at(offset), list.n - since + 1));
    add(step_write(at(AT + 4), 9));
    add(step_until(at(AT + 8), 1, 1));
    steps_give_back(&list, since, give);
    return since;
}

TEST(a_loan_is_open_from_its_mark_to_its_last_step)
{
    fresh();
    size_t since = add_loan(AT);
    add(step_read(at(AT)));
    for (size_t done = 0; done <= list.n; done++)
        check(done, done > since && done < 7 ? 4 : NOTHING, 7);
}

TEST(each_loan_is_given_back_by_itself)
{
    fresh();
    size_t first = add_loan(AT), second = add_loan(AT + 0x20);
    for (size_t done = 0; done <= list.n; done++)
        check(done,
              done > second && done < 14 ? 11
              : done > first && done < 7 ? 4
                                         : NOTHING,
              done > second ? 14 : 7);
    assert_int_equal(steps_next_loan(list.items, list.n, 0), first);
    assert_int_equal(steps_next_loan(list.items, list.n, first), first);
    assert_int_equal(steps_next_loan(list.items, list.n, first + 1), second);
    assert_int_equal(steps_next_loan(list.items, list.n, second + 1), list.n);
}

/* As in a coprocessor access: R0, the status, the selector; given back the other way round, each through R0,
 * so that what was under way begins again at its own copy. */
TEST(loans_in_loans_are_given_back_in_their_order)
{
    size_t since[3];
    fresh();
    for (size_t i = 0; i < 3; i++) {
        add(step_read(at(AT)));
        since[i] = add(step_marked(MARK_BORROWS, step_check(1, 0, 0)));
    }
    size_t work = add(step_write(at(AT + 4), 2));
    for (size_t i = 3; i-- > 0;) {
        add(step_until(at(AT + 8), 1, 1));
        size_t give = add(step_copy(at(AT), list.n - since[i] + 1));
        add(step_write(at(AT + 4), i));
        steps_give_back(&list, since[i], give);
    }
    add(step_read(at(AT + 0x10)));
    static const int from[] = {NOTHING, NOTHING, 14, 14, 11, 11, 8,  8,       8,
                               8,       11,      11, 11, 14, 14, 14, NOTHING, NOTHING};
    assert_int_equal(work, 6);
    assert_int_equal(COUNT(from), list.n + 1);
    for (size_t done = 0; done <= list.n; done++)
        check(done, from[done], 16);
}

/* What was proved needs no result. Two such loans are the same if they give back the same. */
TEST(known_loans_are_compared)
{
    static const uint64_t values[] = {5, 5, 6};
    struct loan loans[4];
    fresh();
    for (size_t i = 0; i < 3; i++) {
        size_t since = add(step_marked(MARK_BORROWS, step_write(at(AT + 4), 1)));
        add(step_write(at(AT), 7));
        size_t give = add(step_write(at(AT), values[i]));
        steps_give_back(&list, since, give);
        assert_true(steps_loan(list.items, list.n, list.n - 1, &loans[i]));
        assert_true(loans[i].known);
    }
    size_t since = add_loan(AT);
    assert_true(steps_loan(list.items, list.n, since + 1, &loans[3]));
    assert_false(loans[3].known);
    assert_true(steps_same_loan(list.items, &loans[0], &loans[1]));
    assert_false(steps_same_loan(list.items, &loans[1], &loans[2]));
    assert_false(steps_same_loan(list.items, &loans[3], &loans[3]));
}

TEST(a_list_that_is_full_gives_nothing_back)
{
    struct step two[2];
    list = (struct steps){.items = two, .room = 2};
    size_t since = add_loan(AT);
    assert_true(list.overflow);
    for (size_t done = 0; done <= list.n; done++)
        check(done, NOTHING, 0);
    assert_int_equal(since, 1);
}

TEST(a_full_list_says_so)
{
    struct step two[2];
    list = (struct steps){.items = two, .room = 2};
    assert_int_equal(steps_add(&list, step_read(at(AT))), 0);
    assert_int_equal(steps_add(&list, step_time(TIME_AFTER)), 1);
    assert_false(list.overflow);
    steps_add(&list, step_write(at(AT), 1));
    assert_true(list.overflow);
    assert_int_equal(list.n, 2);
    assert_int_equal(two[1].op, OP_TIME);
}
