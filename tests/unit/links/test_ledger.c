#include "fake_link.h"
#include "links/ledger.h"
#include "test.h"

static struct fixture {
    struct fake_link fake;
    struct ledger *ledger;
    struct deadline deadline;
    struct error error;
} f;

static void set_up(void)
{
    memset(&f, 0, sizeof f);
    fake_init(&f.fake);
    f.ledger = ledger_new(&f.fake.link);
    f.deadline = deadline_in_ms(60000, NULL);
}

static void tear_down(void)
{
    ledger_free(f.ledger);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static struct address at(uint64_t offset)
{
    return (struct address){.size = 4, .offset = offset};
}

FRESH_TEST(undo_goes_backwards)
{
    *fake_at(&f.fake, 0x10) = 1;
    *fake_at(&f.fake, 0x20) = 2;
    assert_true(ledger_write(f.ledger, at(0x10), 100, (struct restore){0}, &f.deadline, &f.error));
    assert_true(ledger_write(f.ledger, at(0x20), 200, (struct restore){.mask = 3, .key = 0x80}, &f.deadline,
                             &f.error));
    assert_true(ledger_write(f.ledger, at(0x10), 101, (struct restore){0}, &f.deadline, &f.error));
    assert_int_equal(ledger_held(f.ledger), 2);
    f.fake.n_writes = 0;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(f.fake.n_writes, 2);
    assert_int_equal(f.fake.writes[0].at.offset, 0x20);
    assert_int_equal(f.fake.writes[0].value, 0x82);
    assert_int_equal(f.fake.writes[1].at.offset, 0x10);
    assert_int_equal(f.fake.writes[1].value, 1);
    assert_int_equal(ledger_held(f.ledger), 0);
}

/* A read clears them, by any part of the tool. */
FRESH_TEST(watched_bits_are_kept)
{
    uint64_t value;
    ledger_watch(f.ledger, at(0x10), 6);
    *fake_at(&f.fake, 0x10) = 9;
    *fake_at(&f.fake, 0x20) = 2;
    assert_true(ledger_read(f.ledger, at(0x10), &value, &f.deadline, &f.error));
    assert_true(ledger_read(f.ledger, at(0x20), &value, &f.deadline, &f.error));
    assert_false(ledger_saw(f.ledger));
    *fake_at(&f.fake, 0x10) = 4;
    assert_true(ledger_read(f.ledger, at(0x10), &value, &f.deadline, &f.error));
    *fake_at(&f.fake, 0x10) = 0;
    assert_true(ledger_read(f.ledger, at(0x10), &value, &f.deadline, &f.error));
    assert_true(ledger_saw(f.ledger));
    ledger_watch(f.ledger, at(0x10), 6);
    assert_false(ledger_saw(f.ledger));
}

FRESH_TEST(refuses_what_it_does_not_hold)
{
    uint64_t results[2];
    struct step steps[] = {step_read(at(0x30)), step_write(at(0x30), 5)};
    struct steps list = {.items = steps, .n = 2, .room = 2};
    struct outcome outcome = ledger_execute(f.ledger, &list, 0, results, &f.deadline, &f.error);
    assert_int_not_equal(outcome.why, DONE);
    assert_int_equal(outcome.done, 0);
    assert_int_equal(f.error.kind, ERROR_SYSTEM);
    assert_int_equal(f.fake.n_writes, 0);
    error_clear(&f.error);
    assert_true(ledger_allow(f.ledger, at(0x30), &f.error));
    outcome = ledger_execute(f.ledger, &list, 0, results, &f.deadline, &f.error);
    assert_int_equal(outcome.why, DONE);
    assert_int_equal(f.fake.n_writes, 1);
    outcome = ledger_execute(f.ledger, &list, 1, results, &f.deadline, &f.error);
    assert_int_equal(outcome.why, DONE);
    assert_int_equal(outcome.done, 2);
    assert_int_equal(f.fake.n_writes, 2);
}

FRESH_TEST(refuses_a_list_that_grew_too_long)
{
    struct step items[1];
    uint64_t results[1];
    struct steps list = {.items = items, .room = 1};
    assert_true(ledger_allow(f.ledger, at(0x30), &f.error));
    steps_add(&list, step_write(at(0x30), 5));
    steps_add(&list, step_write(at(0x30), 6));
    assert_int_not_equal(ledger_execute(f.ledger, &list, 0, results, &f.deadline, &f.error).why, DONE);
    assert_int_equal(f.error.kind, ERROR_SYSTEM);
    assert_false(ledger_read_list(f.ledger, &list, results, &f.deadline, &f.error));
    assert_int_equal(f.fake.n_writes, 0);
}

FRESH_TEST(a_pair_is_put_back_bit_by_bit)
{
    *fake_at(&f.fake, 0xC00) = 0x5;
    struct restore pair = {.how = RESTORE_PAIR, .clear = at(0xC20)};
    assert_true(ledger_hold(f.ledger, at(0xC00), pair, NULL, &f.deadline, &f.error));
    *fake_at(&f.fake, 0xC00) = 0x6; /* bit 0 is cleared, bit 1 set */
    f.fake.n_writes = 0;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(f.fake.n_writes, 2);
    assert_int_equal(f.fake.writes[0].at.offset, 0xC20);
    assert_int_equal(f.fake.writes[0].value, 0x2);
    assert_int_equal(f.fake.writes[1].at.offset, 0xC00);
    assert_int_equal(f.fake.writes[1].value, 0x1);
}

FRESH_TEST(sticky_bits_that_were_there_stay)
{
    *fake_at(&f.fake, 0x30) = 0x1;
    struct restore sticky = {.how = RESTORE_CLEAR_NEW, .mask = 0x1F};
    assert_true(ledger_hold(f.ledger, at(0x30), sticky, NULL, &f.deadline, &f.error));
    *fake_at(&f.fake, 0x30) = 0x103;
    f.fake.n_writes = 0;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(f.fake.n_writes, 1);
    assert_int_equal(f.fake.writes[0].value, 0x2);
}

/* Two writers of one register: only what was ours goes back. */
FRESH_TEST(other_bits_stay_as_they_are_by_then)
{
    *fake_at(&f.fake, 0x30) = 0x13;
    struct restore ours = {.how = RESTORE_BITS, .mask = 0x3};
    assert_true(ledger_write(f.ledger, at(0x30), 0x10, ours, &f.deadline, &f.error));
    *fake_at(&f.fake, 0x30) = 0x28;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x30), 0x2B);
}

/* Two settings of one register share an entry. Bits that another writer changes meanwhile are left alone. */
FRESH_TEST(bits_that_we_never_changed_stay)
{
    *fake_at(&f.fake, 0x30) = 0x10;
    const struct setting
        one = {.at = at(0x30), .test = 0x1, .set = 0x1, .keep = UINT64_MAX, .restore = {.how = RESTORE_OURS}},
        other = {
            .at = at(0x30), .test = 0x2, .set = 0x2, .keep = UINT64_MAX, .restore = {.how = RESTORE_OURS}};
    assert_true(ledger_apply(f.ledger, &one, &f.deadline, &f.error));
    assert_true(ledger_apply(f.ledger, &other, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x30), 0x13);
    *fake_at(&f.fake, 0x30) = 0x106;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x30), 0x104);
}

/* Bit 7 is a key, which reads as one. */
FRESH_TEST(a_key_is_not_written_back)
{
    *fake_at(&f.fake, 0x30) = 0x90;
    const struct setting one = {.at = at(0x30),
                                .test = 0x1,
                                .set = 0x1,
                                .keep = 0xFFFFFF7F,
                                .restore = {.how = RESTORE_OURS, .mask = 0xFFFFFF7F}};
    assert_true(ledger_apply(f.ledger, &one, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x30), 0x11);
    *fake_at(&f.fake, 0x30) = 0x91;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x30), 0x10);
}

/* A single step that a debugger did not end is nobody's setting; what else changed is another's. */
FRESH_TEST(bits_that_are_nobodys_setting_are_cleared)
{
    const struct restore restore = {.mask = UINT32_MAX & ~0x4U, .ends_rest = true};
    struct left_alone left;
    for (uint64_t found = 0; found < 8; found += 4) {
        *fake_at(&f.fake, 0x30) = found;
        assert_true(ledger_write(f.ledger, at(0x30), 0x2, restore, &f.deadline, &f.error));
        *fake_at(&f.fake, 0x30) = 0x6;
        assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
        assert_int_equal(*fake_at(&f.fake, 0x30), 0);
    }
    assert_true(ledger_write(f.ledger, at(0x30), 0x2, restore, &f.deadline, &f.error));
    *fake_at(&f.fake, 0x30) = 0xE;
    ledger_take_left(f.ledger, &left);
    assert_int_equal(left.n, 0);
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    ledger_take_left(f.ledger, &left);
    assert_int_equal(left.n, 1);
    assert_int_equal(*fake_at(&f.fake, 0x30), 0xE);
    const struct journal_entry entry = {.at = at(0x30), .restore = restore, .wrote = {0x2}, .n_wrote = 1};
    assert_int_equal(left_alone_holds(&entry, 0), HOLDS_OLD);
    assert_int_equal(left_alone_holds(&entry, 0x4), HOLDS_OURS);
    assert_int_equal(left_alone_holds(&entry, 0x6), HOLDS_OURS);
    assert_int_equal(left_alone_holds(&entry, 0xC), HOLDS_OTHER);
}

FRESH_TEST(what_another_run_wrote_tells_its_bits)
{
    *fake_at(&f.fake, 0x30) = 0x1F3;
    const struct journal_entry left = {
        .at = at(0x30), .old = 0x10, .restore = {.how = RESTORE_OURS}, .wrote = {0x11, 0x13}, .n_wrote = 2};
    assert_true(ledger_adopt(f.ledger, &left, &f.error));
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x30), 0x1F0);
}

FRESH_TEST(flags_are_cleared_by_another_register_where_there_is_one)
{
    *fake_at(&f.fake, 0x34) = 0x1;
    struct setting setting = {.at = at(0x34),
                              .only_held = true,
                              .restore = {.how = RESTORE_CLEAR_NEW, .mask = 0x3, .clear = at(0x38)}};
    assert_true(ledger_apply(f.ledger, &setting, &f.deadline, &f.error));
    assert_int_equal(f.fake.n_writes, 0);
    *fake_at(&f.fake, 0x34) = 0x7;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(f.fake.n_writes, 1);
    assert_int_equal(f.fake.writes[0].at.offset, 0x38);
    assert_int_equal(f.fake.writes[0].value, 0x2);
}

/* What something else has written since is reported once, and no longer held. */
FRESH_TEST(what_is_left_is_not_undone)
{
    struct left_alone left;
    assert_true(ledger_write(f.ledger, at(0x10), 100, (struct restore){0}, &f.deadline, &f.error));
    assert_true(ledger_write(f.ledger, at(0x20), 100, (struct restore){0}, &f.deadline, &f.error));
    *fake_at(&f.fake, 0x10) = 7;
    ledger_leave(f.ledger, at(0x10));
    ledger_leave(f.ledger, at(0x30)); /* is not held */
    assert_int_equal(ledger_held(f.ledger), 1);
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x10), 7);
    assert_int_equal(*fake_at(&f.fake, 0x20), 0);
    ledger_take_left(f.ledger, &left);
    assert_int_equal(left.n, 1);
    assert_int_equal(left.items[0].at.offset, 0x10);
    assert_int_equal(left.items[0].why, LEFT_WRITTEN);
}

/* A card has 244 threads with seven registers each. */
FRESH_TEST(it_holds_as_much_as_there_is)
{
    enum { MANY = 2000 };
    struct address address = at(0x200);
    for (unsigned i = 0; i < MANY; i++) {
        address.unit = (uint16_t)i;
        assert_true(ledger_hold(f.ledger, address, (struct restore){0}, NULL, &f.deadline, &f.error));
    }
    assert_int_equal(ledger_held(f.ledger), MANY);
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(ledger_held(f.ledger), 0);
}

FRESH_TEST(a_setting_that_is_true_is_not_written)
{
    struct setting setting = {.at = at(0x40), .test = 1, .set = 1, .keep = ~1ULL};
    *fake_at(&f.fake, 0x40) = 0x81;
    assert_true(ledger_apply(f.ledger, &setting, &f.deadline, &f.error));
    assert_int_equal(ledger_held(f.ledger), 0);
    *fake_at(&f.fake, 0x40) = 0x80;
    assert_true(ledger_apply(f.ledger, &setting, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x40), 0x81);
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(*fake_at(&f.fake, 0x40), 0x80);
}

/* Whatever access the link is lost at, what was not put back stays held and a later undo puts it back. */
FRESH_TEST(undo_can_be_tried_again)
{
    for (long lost_at = 0; lost_at < 6; lost_at++) { /* each is read, and written */
        for (uint64_t i = 0; i < 3; i++) {
            *fake_at(&f.fake, 0x100 + 4 * i) = i;
            assert_true(ledger_write(f.ledger, at(0x100 + 4 * i), 50 + i, (struct restore){0}, &f.deadline,
                                     &f.error));
        }
        f.fake.fail_after = lost_at;
        f.fake.fail_with = LINK_LOST;
        assert_fails(ledger_undo(f.ledger, &f.deadline, &f.error), &f.error, ERROR_LINK_LOST, "");
        assert_int_equal(ledger_held(f.ledger), 3 - lost_at / 2);
        char names[128];
        ledger_names(f.ledger, names, sizeof names); /* each that is left is named */
        assert_has(names, "0x00000100");
        error_clear(&f.error);
        f.fake.fail_after = -1;
        assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
        for (uint64_t i = 0; i < 3; i++)
            assert_int_equal(*fake_at(&f.fake, 0x100 + 4 * i), i);
    }
}

struct debtor {
    unsigned undone, failures; /* fails so often before it works */
};

static bool run_action(void *context, const struct deadline *deadline, struct error *error)
{
    struct debtor *debtor = context;
    (void)deadline;
    debtor->undone++;
    assert_int_equal(*fake_at(&f.fake, 0x20), 2);   /* written after it: put back before */
    assert_int_equal(*fake_at(&f.fake, 0x10), 100); /* and before it */
    if (debtor->failures == 0)
        return true;
    debtor->failures--;
    return error_set(error, ERROR_STATE, "not yet");
}

FRESH_TEST(a_debt_is_undone_in_its_turn)
{
    for (unsigned failures = 0; failures < 5; failures += 2) {
        struct debtor debtor = {.failures = failures};
        *fake_at(&f.fake, 0x10) = 1;
        *fake_at(&f.fake, 0x20) = 2;
        assert_true(ledger_write(f.ledger, at(0x10), 100, (struct restore){0}, &f.deadline, &f.error));
        assert_true(ledger_push_undo(f.ledger, (struct undo_action){&debtor, run_action}, &f.error));
        assert_true(
            ledger_push_undo(f.ledger, (struct undo_action){&debtor, run_action}, &f.error)); /* once */
        assert_true(ledger_write(f.ledger, at(0x20), 200, (struct restore){0}, &f.deadline, &f.error));
        bool undone = ledger_undo(f.ledger, &f.deadline, &f.error);
        assert_true(undone == (failures < 3));
        if (!undone) {
            assert_int_equal(ledger_held(f.ledger), 1);
            assert_string_equal(f.error.text, "not yet");
            error_clear(&f.error);
            *fake_at(&f.fake, 0x10) = 100;
            assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
        }
        assert_int_equal(debtor.undone, failures + 1);
        assert_int_equal(ledger_held(f.ledger), 0);
    }
}

/* --- an ending that is over */

/* Without code of the program that switches it on, all that was held is promised. */
FRESH_TEST(only_what_the_program_uses_may_stay_on)
{
    const struct restore starts = {.starts = 4};
    const uint64_t used[] = {0, 4 | 2, 0};
    ledger_note_use(f.ledger, at(0x20), 2);
    for (size_t i = 0; i < COUNT(used); i++)
        assert_true(ledger_hold(f.ledger, at(0x10 + 0x10 * i), i < 2 ? starts : (struct restore){0}, NULL,
                                &f.deadline, &f.error));
    for (size_t i = 0; i < COUNT(used); i++) {
        struct restore restore;
        struct address where;
        uint64_t old;
        assert_true(ledger_entry(f.ledger, i, &where, &restore, &old));
        assert_int_equal(where.offset, 0x10 + 0x10 * i);
        assert_int_equal(restore.starts, used[i]);
    }
}

FRESH_TEST(names_what_it_holds)
{
    char names[128], few[40];
    static const uint64_t places[] = {0xE000EDFC, 0xE0001000, 0xE0002014, 0x80001100};
    for (size_t i = 0; i < COUNT(places); i++)
        assert_true(ledger_hold(f.ledger, at(places[i]), (struct restore){0}, NULL, &f.deadline, &f.error));
    ledger_names(f.ledger, names, sizeof names);
    assert_string_equal(names, "DEMCR, DWT_CTRL, FP_COMP3, 0x80001100");
    ledger_names(f.ledger, few, sizeof few);
    assert_string_equal(few, "DEMCR and 3 more");
}

FRESH_TEST(writes_nothing_once_the_ending_is_over)
{
    volatile sig_atomic_t signals = 1;
    struct ending ending = {.signals = &signals};
    assert_true(ledger_write(f.ledger, at(0x10), 100, (struct restore){0}, &f.deadline, &f.error));
    ending_begin(&ending);
    signals = 2;
    f.fake.n_writes = 0;
    f.deadline = ending_deadline(&ending, 5000);
    assert_fails(ledger_undo(f.ledger, &f.deadline, &f.error), &f.error, ERROR_CANCELLED,
                 "could not restore 0x00000010");
    assert_int_equal(f.fake.n_writes, 0);
    assert_int_equal(ledger_held(f.ledger), 1);
}
