/* The journal: what the ledger holds is in a file before it is written, and is read back from there. */
#include "../test.h"
#include "fake_link.h"

#include "links/journal.h"
#include "links/ledger.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fixture {
    char folder[64], path[JOURNAL_PATH];
    struct fake_link fake;
    struct ledger *ledger;
    struct journal *journal;
    struct journal_file file;
    struct step items[16];
    uint64_t results[16];
    struct steps list;
    struct deadline deadline;
    struct error error;
} f;

static struct journal_head head(void)
{
    return (struct journal_head){.link = "cmsis-dap 1234",
                                 .command = "delta",
                                 .core = "Cortex-M4 r0p1",
                                 .id = 0x410FC241,
                                 .debug = 0xE000E000,
                                 .unit = 3,
                                 .number = 1,
                                 .was_halted = true,
                                 .started_s = 1700000000,
                                 .process = 77,
                                 .words = {"--probe", "cmsis-dap:1234"},
                                 .n_words = 2};
}

static void set_up(void)
{
    struct journal_head of = head();
    f = (struct fixture){.folder = "/tmp/pmu-journal-XXXXXX"};
    assert_non_null(mkdtemp(f.folder));
    assert_int_equal(setenv("XDG_STATE_HOME", f.folder, 1), 0);
    fake_init(&f.fake);
    f.ledger = ledger_new(&f.fake.link);
    f.journal = journal_new(&of, &f.error);
    ledger_keep_journal(f.ledger, f.journal);
    f.list = (struct steps){.items = f.items, .room = COUNT(f.items)};
    f.deadline = deadline_in_ms(60000, NULL);
    assert_non_null(f.journal);
}

static void tear_down(void)
{
    char path[128];
    journal_file_free(&f.file);
    ledger_free(f.ledger);
    journal_end(f.journal);
    journal_free(f.journal);
    snprintf(path, sizeof path, "%s/pmu-probe", f.folder);
    rmdir(path);
    rmdir(f.folder);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static struct address at(uint64_t offset)
{
    return (struct address){.size = 4, .offset = offset};
}

/* The file as a run that is killed now would leave it; false: there is none. */
static bool left(void)
{
    char(*paths)[JOURNAL_PATH] = calloc(4, sizeof *paths);
    assert_non_null(paths);
    size_t n = journal_list("cmsis-dap 1234", paths, 4);
    journal_file_free(&f.file);
    bool ok = n == 1 && journal_read(paths[0], &f.file, &f.error);
    if (ok)
        memcpy(f.path, paths[0], sizeof f.path);
    free(paths);
    assert_true(n <= 1);
    return ok;
}

static void write_to(uint64_t offset, uint64_t value, struct restore restore)
{
    assert_true(ledger_write(f.ledger, at(offset), value, restore, &f.deadline, &f.error));
}

/* --- what is in the file -------------------------------------------------------------------------------- */

FRESH_TEST(nothing_is_there_before_a_write)
{
    assert_true(ledger_hold(f.ledger, at(0x10), (struct restore){0}, NULL, &f.deadline, &f.error));
    assert_false(left());
}

FRESH_TEST(the_head_says_what_it_is_of)
{
    struct journal_head wanted = head();
    write_to(0x10, 5, (struct restore){0});
    assert_true(left());
    const struct journal_head *found = &f.file.head;
    assert_string_equal(found->link, wanted.link);
    assert_string_equal(found->command, wanted.command);
    assert_string_equal(found->core, wanted.core);
    assert_int_equal(found->id, wanted.id);
    assert_int_equal(found->debug, wanted.debug);
    assert_int_equal(found->unit, wanted.unit);
    assert_int_equal(found->number, wanted.number);
    assert_true(found->was_halted);
    assert_int_equal(found->started_s, wanted.started_s);
    assert_int_equal(found->process, wanted.process);
    assert_int_equal(found->n_words, 2);
    assert_string_equal(found->words[1], "cmsis-dap:1234");
}

FRESH_TEST(only_the_user_may_read_it_or_it_is_refused)
{
    struct stat file;
    write_to(0x10, 5, (struct restore){0});
    assert_true(left());
    assert_int_equal(stat(f.path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_int_equal(chmod(f.path, 0666), 0);
    journal_file_free(&f.file);
    struct error error = {0};
    assert_fails(journal_read(f.path, &f.file, &error), &error, ERROR_USAGE, "");
}

/* As after a kill before the first lines were in it. */
FRESH_TEST(an_unfinished_one_tells_that_nothing_was_written)
{
    struct stat file;
    char path[JOURNAL_PATH + 16];
    write_to(0x10, 5, (struct restore){0});
    assert_true(left());
    snprintf(path, sizeof path, "%.*s.unfinished", (int)(strrchr(f.path, '.') - f.path), f.path);
    assert_int_equal(rename(f.path, path), 0);
    assert_false(left());
    assert_int_equal(stat(path, &file), -1);
}

/* --- that cannot be written on -------------------------------------------------------------------------- */

static struct full {
    struct rlimit before;
    unsigned warnings;
    uint64_t target; /* what is there when the warning is given */
} full;

static void on_warning(void *context, const char *problem)
{
    (void)context;
    assert_has(problem, ".journal: ");
    full.warnings++;
    full.target = *fake_at(&f.fake, 0x20);
}

/* The disk takes this many bytes of a file. */
static void fill_disk(rlim_t bytes)
{
    full = (struct full){0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &full.before), 0);
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = full.before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    journal_warn(f.journal, (struct journal_warning){.tell = on_warning});
}

static void empty_disk(void)
{
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full.before), 0);
    signal(SIGXFSZ, SIG_DFL);
}

FRESH_TEST(a_full_disk_is_told_once_before_the_write)
{
    for (rlim_t bytes = 0; bytes < 9000; bytes += 300) {
        fill_disk(bytes);
        for (uint64_t i = 0; i < 20; i++)
            write_to(0x20 + 0x10 * i, 7, (struct restore){0});
        empty_disk();
        assert_int_equal(full.warnings, 1);
        if (bytes < 8192)
            assert_int_equal(full.target, 0);
        assert_true(left());
        assert_true(f.file.cut);
        assert_int_equal(f.file.headless, bytes < 300);
        if (f.file.headless)
            assert_true(f.file.head.started_s > 1700000000);
        tear_down();
        set_up();
    }
}

/* What was borrowed before is none of what is borrowed now. */
FRESH_TEST(the_slot_is_written_even_on_a_full_disk)
{
    const struct step r0 = step_write(at(0x80), 77), r1 = step_write(at(0x84), 78);
    write_to(0x10, 5, (struct restore){0});
    assert_true(journal_borrow(f.journal, &r0, 1));
    fill_disk(8700);
    for (uint64_t i = 0; i < 20; i++)
        write_to(0x20 + 0x10 * i, 7, (struct restore){0});
    assert_int_equal(full.warnings, 1);
    assert_true(left());
    assert_true(f.file.cut && f.file.n_borrowed == 1 && f.file.borrowed[0].value == 77);
    assert_false(journal_borrow(f.journal, &r1, 1));
    assert_true(left());
    assert_true(f.file.cut && f.file.n_borrowed == 1 && f.file.borrowed[0].value == 78);
    journal_forget_borrowed(&f.file);
    empty_disk();
    assert_true(left());
    assert_true(f.file.cut && f.file.n_borrowed == 0);
    assert_int_equal(full.warnings, 1);
}

/* Of all that the ledger does, in its order. */
FRESH_TEST(the_file_has_what_the_ledger_holds)
{
    const struct restore pair = {.how = RESTORE_PAIR, .mask = 0x80000001, .clear = at(0x24)};
    const struct setting lock = {.at = at(0x1FB0), .key = 0xC5ACCE55, .restore = {.mask = 1}};
    *fake_at(&f.fake, 0x10) = UINT64_MAX;
    *fake_at(&f.fake, 0x20) = 2;
    write_to(0x10, 5, (struct restore){.mask = 3, .key = 0xA05F0000});
    write_to(0x20, 7, pair);
    write_to(0x1000, 9, (struct restore){.key = 0x50000, .only_ours = true});
    assert_true(ledger_open(f.ledger, &lock, &f.deadline, &f.error));
    assert_true(ledger_release(f.ledger, at(0x10), &f.deadline, &f.error));
    write_to(0x20, 8, pair);
    assert_true(left());
    assert_int_equal(f.file.n, 3);
    const struct journal_entry *entries = f.file.entries;
    assert_int_equal(entries[0].at.offset, 0x20);
    assert_int_equal(entries[0].old, 2);
    assert_int_equal(entries[0].restore.how, RESTORE_PAIR);
    assert_int_equal(entries[0].restore.mask, 0x80000001);
    assert_int_equal(entries[0].restore.clear.offset, 0x24);
    assert_int_equal(entries[0].n_wrote, 2);
    assert_int_equal(entries[0].wrote[0], 7);
    assert_int_equal(entries[0].wrote[1], 8);
    assert_int_equal(entries[1].at.offset, 0x1FB0); /* closed after what is in its page */
    assert_int_equal(entries[0].restore.key, 0);
    assert_int_equal(entries[2].at.offset, 0x1000);
    assert_int_equal(entries[2].restore.key, 0x50000);
    assert_true(entries[2].restore.only_ours);
}

/* What a restore goes by, each alone. */
FRESH_TEST(what_a_register_is_restored_by_is_in_the_file)
{
    const struct restore by[] = {{.only_ours = true}, {.moves = true}, {.ends_rest = true}};
    for (unsigned i = 0; i < COUNT(by); i++)
        write_to(UINT64_C(0x1000) * (i + 1), 9, by[i]);
    assert_true(left());
    assert_int_equal(f.file.n, COUNT(by));
    for (size_t i = 0; i < COUNT(by); i++) {
        const struct restore *is = &f.file.entries[i].restore;
        assert_int_equal(is->only_ours, by[i].only_ours);
        assert_int_equal(is->moves, by[i].moves);
        assert_int_equal(is->ends_rest, by[i].ends_rest);
    }
}

/* A lock that was open at first, and is closed by the time that more is set. */
FRESH_TEST(a_lock_that_is_held_late_is_closed_after_its_page)
{
    const struct setting lock = {.at = at(0x1FB0),
                                 .test_at = at(0x1FB4),
                                 .lock = true,
                                 .test = 2,
                                 .key = 0xC5ACCE55,
                                 .restore = {.mask = 1}};
    write_to(0x10, 5, (struct restore){0});
    write_to(0x1000, 9, (struct restore){0});
    assert_true(ledger_apply(f.ledger, &lock, &f.deadline, &f.error));
    assert_int_equal(ledger_held(f.ledger), 2);
    *fake_at(&f.fake, 0x1FB4) = 2;
    assert_true(ledger_apply(f.ledger, &lock, &f.deadline, &f.error));
    assert_true(left());
    static const uint64_t order[] = {0x10, 0x1FB0, 0x1000};
    assert_int_equal(f.file.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(f.file.entries[i].at.offset, order[i]);
}

static bool undo_nothing(void *context, const struct deadline *deadline, struct error *error)
{
    (void)context;
    (void)deadline;
    (void)error;
    return true;
}

/* Actions of the undoing are none of its entries, so they do not count in the order. */
FRESH_TEST(actions_do_not_move_entries)
{
    const struct setting lock = {.at = at(0x1FB0), .key = 0xC5ACCE55, .restore = {.mask = 1}};
    write_to(0x10, 5, (struct restore){0});
    assert_true(ledger_push_undo(f.ledger, (struct undo_action){.undo = undo_nothing}, &f.error));
    write_to(0x20, 6, (struct restore){0});
    assert_true(ledger_push_undo(f.ledger, (struct undo_action){.undo = undo_nothing}, &f.error));
    write_to(0x1000, 9, (struct restore){0});
    assert_true(ledger_open(f.ledger, &lock, &f.deadline, &f.error)); /* before what is in its page */
    assert_true(left());
    assert_int_equal(f.file.n, 4);
    static const uint64_t order[] = {0x10, 0x20, 0x1FB0, 0x1000};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(f.file.entries[i].at.offset, order[i]);
}

/* Lists write registers that are held already. */
FRESH_TEST(values_of_a_list_are_noted_before_it_runs)
{
    assert_true(ledger_hold(f.ledger, at(0x10), (struct restore){0}, NULL, &f.deadline, &f.error));
    for (unsigned i = 0; i < 12; i++)
        steps_add(&f.list, step_write(at(0x10), 100 + i % 3));
    assert_int_equal(ledger_execute(f.ledger, &f.list, 0, f.results, &f.deadline, &f.error).why, DONE);
    assert_true(left());
    assert_int_equal(f.file.n, 1);
    assert_int_equal(f.file.entries[0].n_wrote, 3);
    assert_false(f.file.entries[0].wrote_others);
}

FRESH_TEST(too_many_values_are_any_value)
{
    for (unsigned i = 0; i < 20; i++)
        write_to(0x10, 100 + i, (struct restore){0});
    assert_true(left());
    assert_true(f.file.entries[0].wrote_others);
}

FRESH_TEST(the_end_removes_the_file)
{
    write_to(0x10, 5, (struct restore){0});
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    ledger_end_journal(f.ledger);
    assert_false(left());
    write_to(0x20, 5, (struct restore){0}); /* and it begins anew */
    assert_true(left());
    assert_int_equal(f.file.n, 1);
    assert_int_equal(f.file.entries[0].at.offset, 0x20);
}

/* --- a restore that is killed --------------------------------------------------------------------------- */

static void assert_entry(size_t i, uint64_t offset, uint64_t old, size_t n_wrote, uint64_t last)
{
    const struct journal_entry *entry = &f.file.entries[i];
    assert_int_equal(entry->at.offset, offset);
    assert_int_equal(entry->old, old);
    assert_int_equal(entry->n_wrote, n_wrote);
    assert_int_equal(entry->wrote[n_wrote - 1], last);
}

/* 0x10 is the run's, and 0x30 held by the restore alone. */
FRESH_TEST(what_a_restore_writes_is_in_the_file)
{
    *fake_at(&f.fake, 0x10) = 1;
    write_to(0x10, 5, (struct restore){0});
    assert_true(left());
    for (uint64_t again = 0; again < 2; again++) { /* the first one is killed */
        struct journal *reopened = journal_reopen(&f.file, &f.error);
        ledger_free(f.ledger);
        f.ledger = ledger_new(&f.fake.link);
        assert_non_null(reopened);
        ledger_keep_journal(f.ledger, reopened);
        write_to(0x10, 8 + again, (struct restore){0});
        write_to(0x30, 3 + again, (struct restore){0});
        for (size_t i = 0; i < f.file.n; i++)
            assert_true(ledger_adopt(f.ledger, &f.file.entries[i], &f.error));
        assert_true(left());
        assert_int_equal(f.file.n, 2);
        assert_entry(0, 0x10, 1, 2 + again, 8 + again);
        assert_entry(1, 0x30, 0, 1 + again, 3 + again);
        if (again)
            assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
        ledger_keep_journal(f.ledger, NULL);
        journal_free(reopened);
    }
    assert_int_equal(*fake_at(&f.fake, 0x10), 1);
    assert_int_equal(*fake_at(&f.fake, 0x30), 0);
    unlink(f.path);
}

/* --- registers that are borrowed ------------------------------------------------------------------------ */

/* Reads R0, waits until it is there, changes it and gives it back. */
static size_t add_borrow(void)
{
    for (uint64_t i = 0x40; i <= 0x48; i += 4)
        assert_true(ledger_allow(f.ledger, at(i), &f.error));
    size_t saved = steps_add(&f.list, step_read(at(0x40)));
    size_t since = steps_add(&f.list, step_marked(MARK_BORROWS, step_check(1, 0, 0)));
    steps_add(&f.list, step_write(at(0x44), 1));
    size_t given = steps_add(&f.list, step_copy(at(0x40), f.list.n - saved));
    steps_add(&f.list, step_write(at(0x44), 2));
    steps_give_back(&f.list, since, given);
    return given;
}

/* The list, which ends at this access; how far it got. */
static size_t lost_at(long access)
{
    struct error lost = {0};
    f.fake.fail_after = access;
    f.fake.fail_with = LINK_LOST;
    return ledger_execute(f.ledger, &f.list, 0, f.results, &f.deadline, &lost).done;
}

FRESH_TEST(what_is_borrowed_is_noted_until_it_is_given_back)
{
    *fake_at(&f.fake, 0x40) = 0x1234;
    size_t given = add_borrow();
    for (size_t stop = 0; stop < f.list.n; stop++) { /* the last: nothing fails */
        size_t done = lost_at((long)stop);
        assert_true(left());
        bool borrowed = done > 1 && done < f.list.n; /* the check itself reaches nothing */
        assert_false(f.file.cut);
        assert_int_equal(f.file.n_borrowed, borrowed ? 2 : 0);
        if (borrowed) {
            assert_int_equal(f.file.borrowed[0].op, OP_WRITE);
            assert_int_equal(f.file.borrowed[0].at.offset, 0x40);
            assert_int_equal(f.file.borrowed[0].value, 0x1234);
            assert_int_equal(f.file.borrowed[1].value, 2);
        }
    }
    assert_int_equal(f.items[given].op, OP_COPY);
}

/* It may be the one that gives them back, and a run may be killed in the middle of it. */
FRESH_TEST(a_list_that_borrows_nothing_leaves_the_note)
{
    struct step plain = step_write(at(0x44), 8);
    struct steps other = {.items = &plain, .n = 1, .room = 1};
    add_borrow();
    size_t done = lost_at(2);
    f.fake.fail_after = -1;
    assert_true(ledger_run(f.ledger, &other, f.results, &f.deadline, &f.error));
    assert_true(left());
    assert_int_equal(f.file.n_borrowed, 2);
    assert_int_equal(ledger_execute(f.ledger, &f.list, done, f.results, &f.deadline, &f.error).why, DONE);
    assert_true(left());
    assert_int_equal(f.file.n_borrowed, 0);
}

/* Of two loans, one in the other, only the outer one is open; its giving back is lost on the way. */
FRESH_TEST(the_note_has_no_register_that_was_not_read)
{
    struct loan loan;
    struct error again = {0};
    size_t saved = steps_add(&f.list, step_read(at(0x40)));
    size_t since = steps_add(&f.list, step_marked(MARK_BORROWS, step_check(1, 0, 0)));
    add_borrow();
    steps_add(&f.list, step_until(at(0x44), 0, 0));
    steps_give_back(&f.list, 3, f.list.n - 3); /* the wait is its last step */
    size_t give = steps_add(&f.list, step_copy(at(0x40), f.list.n - saved));
    steps_give_back(&f.list, since, give);
    size_t done = lost_at(1);
    assert_true(done == since + 1 && steps_loan(f.list.items, f.list.n, done, &loan));
    assert_int_equal(loan.from, give);
    f.fake.fail_after = 0;
    assert_int_equal(ledger_execute(f.ledger, &f.list, loan.from, f.results, &f.deadline, &again).why,
                     LINK_LOST);
    assert_true(left());
    assert_int_equal(f.file.n_borrowed, 1);
    assert_int_equal(f.file.borrowed[0].at.offset, 0x40);
}

/* A register that is borrowed by itself, and after that, without a further one to arrive, one whose value was
 * proved. */
FRESH_TEST(the_note_tells_of_the_register_that_is_borrowed)
{
    *fake_at(&f.fake, 0x40) = 0x1234;
    *fake_at(&f.fake, 0x48) = 7;
    add_borrow();
    steps_add(&f.list, step_expect_once(at(0x48), UINT32_MAX, 7));
    size_t since = steps_add(&f.list, step_marked(MARK_BORROWS, step_write(at(0x44), 4)));
    steps_add(&f.list, step_write(at(0x48), 3));
    size_t given = steps_add(&f.list, step_write(at(0x48), 7));
    steps_give_back(&f.list, since, given);
    for (size_t stop = 0; stop < f.list.n; stop++) {
        size_t done = lost_at((long)stop);
        assert_true(left());
        if (done > 1 && done <= since)
            assert_int_equal(f.file.borrowed[0].at.offset, 0x40);
        if (done > since && done <= given) {
            assert_int_equal(f.file.n_borrowed, 1);
            assert_int_equal(f.file.borrowed[0].at.offset, 0x48);
            assert_int_equal(f.file.borrowed[0].value, 7);
        }
    }
}

/* --- files that are not journals ------------------------------------------------------------------------ */

static const char first_line[] =
    "{\"journal\":\"pmu-probe/"
    "2\",\"command\":\"delta\",\"process\":7,\"started\":1,\"link\":\"l\",\"core\":\"c\","
    "\"id\":1,\"debug\":0,\"unit\":0,\"number\":0,\"was_halted\":false,\"words\":[]}\n";
static const char held[] = "h 1 0 0 0 4 10 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

static bool parse(const char *more)
{
    char text[2048];
    struct journal_file file;
    struct error error = {0};
    snprintf(text, sizeof text, "%s\n%s", first_line, more);
    bool ok = journal_parse(text, strlen(text), &file, &error);
    assert_int_equal(error.kind, ok ? ERROR_NONE : ERROR_USAGE);
    if (ok)
        journal_file_free(&file);
    return ok;
}

TEST(what_cannot_be_a_journal_is_refused)
{
    static const char *const bad[] = {"nothing\n", "{}\n",  "h 1\n", "v 1 1\n",
                                      "o 1\n",     "d 1\n", "a 1\n", "p\n"};
    assert_true(parse(""));
    assert_true(parse(held));
    struct journal_file file;
    struct error error = {0};
    assert_false(journal_parse("nothing", 7, &file, &error));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(parse(bad[i]));
    char twice[1024];
    snprintf(twice, sizeof twice, "%s%s", held, held);
    assert_false(parse(twice));
}

/* Its disk was full: it may have written to the target what it could not write here. */
TEST(a_file_that_is_cut_off_counts_up_to_there)
{
    char text[2048];
    int size = snprintf(text, sizeof text, "%s\n%s", first_line, held);
    for (size_t cut = 0; cut <= (size_t)size; cut++) {
        struct journal_file file;
        struct error error = {0};
        assert_true(journal_parse(text, cut, &file, &error));
        assert_int_equal(file.headless, cut < sizeof first_line - 1);
        assert_int_equal(file.cut,
                         cut != sizeof first_line - 1 && cut != sizeof first_line && cut != (size_t)size);
        assert_int_equal(file.n, cut == (size_t)size);
        journal_file_free(&file);
    }
}

/* --- each field of each line, with what it cannot be ---------------------------------------------------- */

enum { WHOLE_LINES = 4, WHOLE_ROOM = 65536 };

static const char *const whole[WHOLE_LINES] = {
    "{\"journal\":\"pmu-probe/"
    "2\",\"command\":\"delta\",\"process\":77,\"started\":1700000000,\"link\":\"cmsis-dap 1\","
    "\"core\":\"Cortex-M4\",\"id\":1091551809,\"debug\":3758153728,\"unit\":3,\"number\":1,\"was_"
    "halted\":true,"
    "\"words\":[\"--probe\",\"cmsis-dap:1\"]}",
    "b 0 w 0 1 4 e000edf8 2000 0 u 0 1 4 e000edf0 1 1",
    "h 1 0 0 1 4 10 1 4 ff a05f 1 2 4 20 4 0 4 30 2 2 0 0 0",
    "v 1 3",
};

/* Whether the lines, one of which is `changed`, are a journal. */
static bool parse_whole(size_t number, const char *changed)
{
    static char text[WHOLE_ROOM];
    size_t used = 0;
    for (size_t i = 0; i < WHOLE_LINES; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", i == number ? changed : whole[i]);
    struct journal_file file;
    struct error error = {0};
    bool ok = journal_parse(text, used, &file, &error);
    if (ok)
        journal_file_free(&file);
    else
        assert_int_equal(error.kind, ERROR_USAGE);
    return ok;
}

static void check_head(const json_t *line, bool fits, const char *name)
{
    char *text = json_dumps(line, JSON_COMPACT);
    if (parse_whole(0, text) != fits)
        fail_msg("%s is %s: %.200s", name, fits ? "refused" : "accepted", text);
    free(text);
}

TEST(each_field_of_the_first_line_is_checked)
{
    static char endless[20000];
    json_t *line = json_loads(whole[0], 0, NULL), *value;
    const char *name;
    void *next;
    memset(endless, 'x', sizeof endless - 1);
    check_head(line, true, "nothing");
    json_object_foreach_safe(line, next, name, value)
    {
        enum { WRONG = 5 };
        json_t *const wrong[WRONG] = {json_null(), json_object(), json_real(1e30), json_integer(-1),
                                      json_string(endless)};
        json_t *kept = json_incref(value);
        bool is_address = strcmp(name, "debug") == 0; /* any 64 bits */
        for (size_t i = 0; i < WRONG; i++) {
            json_object_set_new(line, name, wrong[i]);
            check_head(line, is_address && json_is_integer(wrong[i]), name);
        }
        json_object_set(line, name, kept);
        if (json_is_integer(kept)) {
            json_object_set_new(line, name, json_integer(INT64_MAX));
            check_head(line, is_address || strcmp(name, "started") == 0, name);
        }
        json_object_set_new(line, name, kept);
    }
    json_t *words = json_object_get(line, "words");
    for (size_t n = json_array_size(words); n < JOURNAL_WORDS; n++)
        json_array_append_new(words, json_string("x"));
    check_head(line, true, "words");
    json_array_set_new(words, 0, json_string(endless));
    check_head(line, false, "words");
    json_array_set_new(words, 0, json_string("x"));
    json_array_append_new(words, json_string("x"));
    check_head(line, false, "words");
    json_decref(line);
}

/* The line with its number `which` replaced; without it for NULL. */
static void with_number(const char *line, size_t which, const char *number, char *out, size_t size)
{
    char copy[256], *rest = copy;
    size_t used = 0, i = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *one = strtok_r(copy, " ", &rest); one != NULL; one = strtok_r(NULL, " ", &rest), i++) {
        const char *text = i == which ? number : one;
        if (text != NULL)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? " " : "", text);
    }
}

TEST(each_number_is_checked)
{
    enum { BAD = 6 };
    static const char *const bad[BAD] = {NULL, "g", "-1", "0x1", "11111111111111111", "1 1"};
    char line[512];
    for (size_t number = 1; number < WHOLE_LINES; number++) {
        size_t words = 1;
        for (const char *at = whole[number]; (at = strchr(at, ' ')) != NULL; at++)
            words++;
        for (size_t which = 1; which < words; which++)
            for (size_t i = 0; i < BAD; i++) {
                with_number(whole[number], which, bad[i], line, sizeof line);
                if (parse_whole(number, line))
                    fail_msg("accepted: \"%s\"", line);
            }
    }
    static const struct {
        size_t line, which;
        const char *number;
    } large[] = {{1, 3, "5"},         {1, 4, "10000"}, {1, 5, "3"},  {1, 2, "c"},     {1, 2, "z"},
                 {2, 1, "100000000"}, {2, 2, "1"},     {2, 3, "5"},  {2, 4, "10000"}, {2, 5, "0"},
                 {2, 8, "5"},         {2, 11, "5"},    {2, 13, "0"}, {2, 13, "3"},    {2, 15, "5"},
                 {2, 17, "3"},        {3, 1, "2"}};
    for (size_t i = 0; i < COUNT(large); i++) {
        with_number(whole[large[i].line], large[i].which, large[i].number, line, sizeof line);
        if (parse_whole(large[i].line, line))
            fail_msg("accepted: \"%s\"", line);
    }
    with_number(whole[2], 17, "0", line, sizeof line); /* it can be read */
    assert_true(parse_whole(2, line));
}

TEST(no_more_is_borrowed_than_there_is_room_for)
{
    static char many[16384];
    size_t used = (size_t)snprintf(many, sizeof many, "b 1");
    for (size_t i = 0; i <= JOURNAL_BORROWED; i++)
        used += (size_t)snprintf(many + used, sizeof many - used, " w 0 1 4 10 1 0");
    assert_false(parse_whole(1, many));
    many[used - strlen(" w 0 1 4 10 1 0")] = '\0';
    assert_true(parse_whole(1, many));
    assert_true(parse_whole(1, "      "));
}
