/* The journal: what the ledger holds is in a file before it is written, and comes back from there. */
#include "../test.h"
#include "fake_link.h"

#include "links/journal.h"
#include "links/ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fixture {
    char folder[64], path[JOURNAL_PATH];
    struct fake_link fake;
    struct ledger *ledger;
    struct journal *journal;
    struct journal_file file;
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

static int set_up(void **state)
{
    struct journal_head of = head();
    (void)state;
    f = (struct fixture){.folder = "/tmp/pmu-journal-XXXXXX"};
    if (mkdtemp(f.folder) == NULL || setenv("XDG_STATE_HOME", f.folder, 1) != 0)
        return -1;
    fake_init(&f.fake);
    f.ledger = ledger_new(&f.fake.link);
    f.journal = journal_new(&of, &f.error);
    ledger_keep_journal(f.ledger, f.journal);
    f.deadline = deadline_in_ms(60000, NULL);
    return f.journal == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    char path[128];
    (void)state;
    ledger_free(f.ledger);
    journal_end(f.journal);
    journal_free(f.journal);
    snprintf(path, sizeof path, "%s/pmu-probe", f.folder);
    rmdir(path);
    rmdir(f.folder);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

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
    journal_file_free(&f.file);
}

FRESH_TEST(only_the_user_may_read_it)
{
    struct stat file;
    write_to(0x10, 5, (struct restore){0});
    assert_true(left());
    journal_file_free(&f.file);
    assert_int_equal(stat(f.path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
}

/* As after a kill between the two: the file is there, and nothing in it. */
FRESH_TEST(an_empty_one_tells_that_nothing_was_written)
{
    struct stat file;
    write_to(0x10, 5, (struct restore){0});
    assert_true(left());
    journal_file_free(&f.file);
    assert_int_equal(truncate(f.path, 0), 0);
    assert_false(left());
    assert_int_equal(stat(f.path, &file), -1);
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
    journal_file_free(&f.file);
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
    journal_file_free(&f.file);
}

/* Lists write registers that are held already. */
FRESH_TEST(values_of_a_list_are_noted_before_it_runs)
{
    struct step items[12];
    uint64_t results[12];
    struct steps list = {.items = items, .room = 12};
    assert_true(ledger_hold(f.ledger, at(0x10), (struct restore){0}, NULL, &f.deadline, &f.error));
    for (unsigned i = 0; i < 12; i++)
        steps_add(&list, step_write(at(0x10), 100 + i % 3));
    assert_int_equal(ledger_execute(f.ledger, &list, 0, results, &f.deadline, &f.error).why, DONE);
    assert_true(left());
    assert_int_equal(f.file.n, 1);
    assert_int_equal(f.file.entries[0].n_wrote, 3);
    assert_false(f.file.entries[0].wrote_others);
    journal_file_free(&f.file);
}

FRESH_TEST(too_many_values_are_any_value)
{
    for (unsigned i = 0; i < 20; i++)
        write_to(0x10, 100 + i, (struct restore){0});
    assert_true(left());
    assert_true(f.file.entries[0].wrote_others);
    journal_file_free(&f.file);
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
    journal_file_free(&f.file);
}

/* --- registers that are borrowed ------------------------------------------------------------------------ */

/* Reads R0, waits until it is there, changes it and gives it back. */
static size_t add_borrow(struct steps *list)
{
    size_t saved = steps_add(list, step_read(at(0x40)));
    steps_add(list, step_check(1, 0, 0));
    steps_add(list, step_write(at(0x44), 1));
    struct step copy = step_copy(at(0x40), list->n - saved);
    copy.behind = 1;
    size_t given = steps_add(list, copy);
    steps_add(list, step_write(at(0x44), 2));
    return given;
}

FRESH_TEST(what_is_borrowed_is_noted_until_it_is_given_back)
{
    struct step items[16];
    uint64_t results[16];
    struct steps list = {.items = items, .room = 16};
    *fake_at(&f.fake, 0x40) = 0x1234;
    assert_true(ledger_allow(f.ledger, at(0x40), &f.error) && ledger_allow(f.ledger, at(0x44), &f.error));
    size_t given = add_borrow(&list);
    for (size_t stop = 0; stop < list.n; stop++) { /* the last: nothing fails */
        f.fake.fail_after = (long)stop;
        f.fake.fail_with = LINK_LOST;
        struct error error = {0};
        size_t done = ledger_execute(f.ledger, &list, 0, results, &f.deadline, &error).done;
        assert_true(left());
        bool borrowed = done > 1 && done < list.n; /* the check itself reaches nothing */
        assert_int_equal(f.file.n_borrowed, borrowed ? 2 : 0);
        if (borrowed) {
            assert_int_equal(f.file.borrowed[0].op, OP_WRITE);
            assert_int_equal(f.file.borrowed[0].at.offset, 0x40);
            assert_int_equal(f.file.borrowed[0].value, 0x1234);
            assert_int_equal(f.file.borrowed[1].value, 2);
        }
        journal_file_free(&f.file);
    }
    assert_int_equal(items[given].op, OP_COPY);
}

/* --- files that are no journals ------------------------------------------------------------------------- */

static const char good[] =
    "{\"journal\":\"pmu-probe/"
    "1\",\"command\":\"delta\",\"process\":7,\"started\":1,\"link\":\"l\",\"core\":\"c\","
    "\"id\":\"0x1\",\"debug\":\"0x0\",\"unit\":0,\"number\":0,\"was_halted\":false,\"words\":[]}\n";
static const char held[] = "{\"hold\":1,\"index\":0,\"at\":{\"space\":\"memory\",\"unit\":0,\"size\":4,"
                           "\"offset\":\"0x10\"},\"old\":\"0x5\"}\n";

static bool parse(const char *more)
{
    char text[2048];
    struct journal_file file;
    struct error error = {0};
    snprintf(text, sizeof text, "%s%s", good, more);
    bool ok = journal_parse(text, strlen(text), &file, &error);
    assert_int_equal(error.kind, ok ? ERROR_NONE : ERROR_USAGE);
    if (ok)
        journal_file_free(&file);
    return ok;
}

TEST(what_cannot_be_a_journal_is_refused)
{
    static const char *const bad[] = {
        "nothing\n",
        "{}\n",
        "{\"hold\":1}\n",
        "{\"wrote\":1,\"value\":\"0x1\"}\n",
        "{\"drop\":1}\n",
        "{\"hold\":1,\"index\":1,\"at\":{\"space\":\"memory\",\"unit\":0,\"size\":4,\"offset\":\"0x1\"},"
        "\"old\":\"0x5\"}\n",
        "{\"hold\":1,\"index\":0,\"at\":{\"space\":\"moon\",\"unit\":0,\"size\":4,\"offset\":\"0x1\"},"
        "\"old\":\"0x5\"}\n",
        "{\"hold\":1,\"index\":0,\"at\":{\"space\":\"memory\",\"unit\":0,\"size\":3,\"offset\":\"0x1\"},"
        "\"old\":\"0x5\"}\n",
        "{\"hold\":1,\"index\":0,\"at\":{\"space\":\"memory\",\"unit\":65536,\"size\":4,\"offset\":\"0x1\"},"
        "\"old\":\"0x5\"}\n",
        "{\"hold\":1,\"index\":0,\"at\":{\"space\":\"memory\",\"unit\":0,\"size\":4,\"offset\":"
        "\"0x10000000000000000\"},"
        "\"old\":\"0x5\"}\n",
        "{\"hold\":1,\"index\":0,\"at\":{\"space\":\"memory\",\"unit\":0,\"size\":4,\"offset\":\"-1\"},"
        "\"old\":\"0x5\"}\n",
        "{\"borrowed\":\"x 0 0 4 10 1 0\"}\n",
        "{\"borrowed\":\"w 0 0 3 10 1 0\"}\n",
        "{\"borrowed\":\"w 0 0 4 10 1\"}\n",
    };
    assert_true(parse(""));
    assert_true(parse(held));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(parse(bad[i]));
    char twice[1024];
    snprintf(twice, sizeof twice, "%s%s", held, held);
    assert_false(parse(twice));
}

/* A run that was killed while it wrote a line had not yet written to the target what the line tells of. */
TEST(a_file_that_is_cut_off_counts_up_to_there)
{
    char text[2048];
    int size = snprintf(text, sizeof text, "%s%s", good, held);
    for (size_t cut = 0; cut <= (size_t)size; cut++) {
        struct journal_file file;
        struct error error = {0};
        bool ok = journal_parse(text, cut, &file, &error);
        assert_int_equal(ok, cut + 1 >= sizeof good - 1);
        if (ok)
            assert_int_equal(file.n, cut + 1 >= (size_t)size);
        if (ok)
            journal_file_free(&file);
    }
}

FRESH_TEST(a_file_that_others_may_write_is_refused)
{
    write_to(0x10, 5, (struct restore){0});
    assert_true(left());
    journal_file_free(&f.file);
    assert_int_equal(chmod(f.path, 0666), 0);
    struct error error = {0};
    assert_false(journal_read(f.path, &f.file, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
}
