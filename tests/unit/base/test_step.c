/*
 * What a list that ended early still owes: from where on to where it has to be carried out, so that all that
 * was borrowed is put back, and nothing that was not.
 */
#include "../test.h"

#include "base/step.h"

enum { ROOM = 32, AT = 0x100, NOTHING = -1 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct address at(uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

/* Where the restoring begins, for each number of steps done; NOTHING: nothing to restore. */
static void check(const struct step *steps, size_t n, const int *wanted, size_t wanted_end)
{
    for (size_t done = 0; done <= n; done++) {
        size_t from = SIZE_MAX, end = SIZE_MAX;
        bool owes = steps_borrowed(steps, n, done, &from, &end);
        if (owes != (wanted[done] != NOTHING))
            fail_msg("after %zu: %s", done, owes ? "something is owed" : "nothing is owed");
        if (owes && (from != (size_t)wanted[done] || end != wanted_end))
            fail_msg("after %zu: from %zu to %zu, not from %d to %zu", done, from, end, wanted[done],
                     wanted_end);
    }
}

#define CHECK(steps, end, ...)                                                                               \
    do {                                                                                                     \
        static const int wanted[] = {__VA_ARGS__};                                                           \
        assert_int_equal(COUNT(wanted), COUNT(steps) + 1);                                                   \
        check(steps, COUNT(steps), wanted, end);                                                             \
    } while (0)

TEST(lists_that_borrow_nothing_owe_nothing)
{
    const struct step steps[] = {step_read(at(AT)), step_write(at(AT), 1), step_until(at(AT), 1, 1),
                                 step_check(3, 1, 1)};
    CHECK(steps, 0, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING);
    size_t from, end;
    assert_false(steps_borrowed(steps, 0, 0, &from, &end));
}

/* Saved at 1, which another value takes the place of at 2, and put back at 4. */
TEST(one_value_is_owed_from_its_saving_to_its_copy)
{
    const struct step steps[] = {step_write(at(AT), 1), step_read(at(AT)),    step_write(at(AT), 2),
                                 step_read(at(AT + 4)), step_copy(at(AT), 3), step_write(at(AT), 3)};
    CHECK(steps, 5, NOTHING, NOTHING, 4, 4, 4, NOTHING, NOTHING);
}

/* What the copy writes is only taken by the two steps behind it: until then it is repeated. */
TEST(what_is_behind_a_copy_belongs_to_it)
{
    struct step steps[] = {step_read(at(AT)),     step_write(at(AT + 4), 1),    step_copy(at(AT + 8), 2),
                           step_write(at(AT), 9), step_until(at(AT + 4), 1, 1), step_read(at(AT))};
    steps[2].behind = 2;
    CHECK(steps, 5, NOTHING, 2, 2, 2, 2, NOTHING, NOTHING);
}

/* One can only begin to put back once what was under way is over. */
TEST(a_wait_before_the_copy_comes_with_it)
{
    struct step steps[] = {step_read(at(AT)), step_write(at(AT + 4), 1), step_until(at(AT + 4), 1, 1),
                           step_copy(at(AT + 8), 3), step_write(at(AT), 9)};
    steps[3].behind = 1;
    /* the copy itself, under way, is simply repeated: the wait was over */
    CHECK(steps, 5, NOTHING, 2, 2, 3, 2, NOTHING);
}

/* As in a coprocessor access: R0, the status, the selector; given back the other way round, each through
 * R0, so that what was under way begins again at its own copy and not at the last one. */
static const struct step *three_values(void)
{
    static struct step steps[ROOM];
    const struct step list[] = {
        step_read(at(AT)),             /* 0: R0 */
        step_write(at(AT + 4), 1),     /* 1 */
        step_read(at(AT)),             /* 2: the status */
        step_read(at(AT)),             /* 3: the selector */
        step_write(at(AT + 4), 2),     /* 4: what it is all for */
        step_until(at(AT + 8), 1, 1),  /* 5 */
        step_copy(at(AT), 3),          /* 6: the selector */
        step_write(at(AT + 4), 3),     /* 7 */
        step_until(at(AT + 8), 1, 1),  /* 8 */
        step_copy(at(AT), 7),          /* 9: the status */
        step_write(at(AT + 4), 4),     /* 10 */
        step_until(at(AT + 8), 1, 1),  /* 11 */
        step_copy(at(AT), 12),         /* 12: R0 */
        step_write(at(AT + 4), 5),     /* 13 */
        step_until(at(AT + 8), 1, 1),  /* 14 */
        step_read(at(AT + 0x10)),      /* 15 */
        step_write(at(AT + 0x10), 10), /* 16 */
    };
    for (size_t i = 0; i < COUNT(list); i++) {
        steps[i] = list[i];
        if (list[i].op == OP_COPY)
            steps[i].behind = 2;
    }
    return steps;
}

TEST(several_values_are_put_back_in_their_order)
{
    static const int wanted[] = {
        NOTHING,              /* nothing is saved */
        11,      11,          /* R0 alone */
        8,                    /* and the status */
        5,       5,           /* and the selector */
        6,       5,       5,  /* the selector begins, its wait was over; and is under way */
        9,       8,       8,  /* the status */
        12,      11,      11, /* R0 */
        NOTHING, NOTHING,     /* all is back */
        NOTHING,
    };
    check(three_values(), COUNT(wanted) - 1, wanted, 15);
}

/* A value read early, for something borrowed later: nothing to restore before that.
 */
TEST(what_is_taken_early_is_owed_once_it_is_borrowed)
{
    const struct step steps[] = {
        step_read(at(AT)),     step_write(at(AT + 8), 1),     step_read(at(AT + 4)), step_write(at(AT), 7),
        step_write(at(AT), 8), step_copy_since(at(AT), 5, 2), step_read(at(AT))};
    assert_int_equal(steps[5].back, 5);
    CHECK(steps, 6, NOTHING, NOTHING, NOTHING, NOTHING, 5, 5, NOTHING, NOTHING);
}

/* Two of those: it does not matter how far putting them back had come, all that was borrowed is. */
TEST(what_is_borrowed_late_is_put_back_from_the_first_on)
{
    struct step steps[] = {
        step_read(at(AT)),         step_read(at(AT + 4)),         step_write(at(AT), 7),
        step_write(at(AT + 4), 7), step_copy_since(at(AT), 4, 2), step_copy_since(at(AT + 4), 4, 2),
        step_write(at(AT + 8), 1)};
    static const int wanted_ends[] = {0, 0, 0, 5, 7, 7, 7, 0};
    steps[5].behind = 1;
    for (size_t done = 0; done <= COUNT(steps); done++) {
        size_t from, end;
        bool owes = steps_borrowed(steps, COUNT(steps), done, &from, &end);
        assert_int_equal(owes, wanted_ends[done] != 0);
        assert_true(!owes || (from == 4 && end == (size_t)wanted_ends[done]));
    }
}

/* Copies that were done long ago, of values that others took the place of since. */
TEST(what_was_put_back_is_not_owed_again)
{
    const struct step steps[] = {step_read(at(AT)), step_write(at(AT), 1), step_copy(at(AT), 2),
                                 step_read(at(AT)), step_write(at(AT), 2), step_copy(at(AT), 2)};
    static const int first[] = {NOTHING, 2, 2};
    size_t from, end;
    for (size_t done = 0; done < 3; done++)
        if (first[done] == NOTHING)
            assert_false(steps_borrowed(steps, COUNT(steps), done, &from, &end));
        else
            assert_true(steps_borrowed(steps, COUNT(steps), done, &from, &end) && from == 2 && end == 3);
    assert_false(steps_borrowed(steps, COUNT(steps), 3, &from, &end));
    for (size_t done = 4; done < 6; done++)
        assert_true(steps_borrowed(steps, COUNT(steps), done, &from, &end) && from == 5 && end == 6);
    assert_false(steps_borrowed(steps, COUNT(steps), 6, &from, &end));
}

TEST(a_full_list_says_so)
{
    struct step items[2];
    struct steps list = {.items = items, .room = 2};
    assert_int_equal(steps_add(&list, step_read(at(AT))), 0);
    assert_int_equal(steps_add(&list, step_time(TIME_AFTER)), 1);
    assert_false(list.overflow);
    steps_add(&list, step_write(at(AT), 1));
    assert_true(list.overflow);
    assert_int_equal(list.n, 2);
    assert_int_equal(items[1].op, OP_TIME);
}
