/* What an RTOS calls its tasks, read from the memory that a pointer leads to. */
#include "../test.h"
#include "cores/architectures.h"
#include "fake_link.h"

#include "run/tasks.h"

#include <string.h>

enum { RAM = 0x20000000, SIZE = 4 * FAKE_REGISTERS, ACCESSES = 1000 };

static struct fixture {
    struct fake_link fake;
    struct ledger *ledger;
    struct core core;
    struct tasks tasks;
    struct deadline deadline;
    uint8_t ram[SIZE];
} f;

static void tear_down(void)
{
    ledger_free(f.ledger);
    f.ledger = NULL;
}

static void set_up(void)
{
    tear_down();
    memset(&f, 0, sizeof f);
    fake_init(&f.fake);
    f.fake.fail_after = ACCESSES;
    f.ledger = ledger_new(&f.fake.link);
    f.core.ops = &cortex_m_ops;
    f.tasks.has_names = true;
    f.deadline = deadline_in_ms(60000, NULL);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static const char *name_of(uint64_t task)
{
    static char name[TASK_NAME];
    for (size_t at = 0; at < SIZE; at += 4) {
        uint32_t word;
        memcpy(&word, f.ram + at, sizeof word);
        *fake_at(&f.fake, RAM + at) = word;
    }
    return tasks_name(&f.tasks, f.ledger, &f.core, task, name, &f.deadline) ? name : NULL;
}

FRESH_TEST(a_name_may_begin_at_any_byte)
{
    for (uint64_t offset = 0; offset < 8; offset++) {
        set_up();
        memset(f.ram, 'x', sizeof f.ram);
        memcpy(f.ram + 16 + offset, "sampling", 9);
        f.tasks.name = (struct symbols_member){.offset = offset, .size = 12};
        assert_string_equal(name_of(RAM + 16), "sampling");
        assert_null(name_of(RAM + 16)); /* only once */
    }
}

FRESH_TEST(a_name_may_be_elsewhere)
{
    const uint32_t at = RAM + 65;
    memcpy(f.ram + 20, &at, sizeof at);
    memcpy(f.ram + 65, "a name that is longer than there is room for it", 48);
    f.tasks.name = (struct symbols_member){.offset = 4, .size = 4, .is_pointer = true};
    assert_string_equal(name_of(RAM + 16), "a name that is longer than ther");
    assert_null(name_of(RAM + 128)); /* points to nothing */
}

static const char *name_again(uint64_t task)
{
    static char name[TASK_NAME];
    assert_null(name_of(task)); /* which writes the memory */
    return tasks_name_again(&f.tasks, f.ledger, &f.core, task, name, &f.deadline) ? name : NULL;
}

/* Another task may be there by then. */
FRESH_TEST(a_name_is_read_again)
{
    f.tasks.name = (struct symbols_member){.offset = 0, .size = 8};
    memcpy(f.ram + 16, "worker_a", 8);
    assert_string_equal(name_of(RAM + 16), "worker_a");
    f.ram[23] = 'b';
    assert_string_equal(name_again(RAM + 16), "worker_b");
    f.ram[16] = 0;
    assert_string_equal(name_again(RAM + 16), "");
    f.tasks.name.is_pointer = true;
    memset(f.ram + 16, 0, 4);
    assert_string_equal(name_again(RAM + 16), "");
    f.fake.fail_after = 0;
    f.fake.fail_with = TARGET_FAULT;
    assert_null(name_again(RAM + 16));
}

static struct task_rows rows;

static void meet(uint64_t task)
{
    assert_null(name_of(0)); /* which writes the memory */
    task_rows_meet(&rows, &f.tasks, f.ledger, &f.core, task, &f.deadline);
}

/* A task's text after a further reading; NULL: the same as before. */
static const char *told(size_t task)
{
    assert_null(name_of(0));
    assert_true(task_rows_look(&rows, &f.tasks, f.ledger, &f.deadline));
    return task_row_tell(&rows.rows[task]);
}

FRESH_TEST(a_name_holds_from_look_to_look)
{
    for (unsigned offset = 0; offset < 4; offset++) {
        uint32_t at = RAM + 64 + offset;
        set_up();
        rows = (struct task_rows){0};
        f.tasks.name = (struct symbols_member){
            .offset = 4, .size = offset % 2 > 0 ? 4 : 8, .is_pointer = offset % 2 > 0};
        char *name = (char *)f.ram + (offset % 2 > 0 ? 64 + offset : 20);
        if (offset % 2 > 0)
            memcpy(f.ram + 20, &at, sizeof at);
        memcpy(name, "worker_a", 9);
        meet(RAM + 16);
        meet(RAM + 16);
        meet(RAM + 100); /* it has no name */
        assert_int_equal(rows.n, 2);
        assert_string_equal(told(0), "worker_a");
        assert_null(told(0));
        assert_null(task_row_tell(&rows.rows[1]));
        name[7] = 'b';
        assert_string_equal(told(0), "worker_a, later worker_b");
        assert_string_equal(told(0), "worker_b");
        assert_null(told(0));
        name[0] = '\x1b';
        assert_string_equal(told(0), "worker_b, later no task");
        assert_string_equal(told(0), "no task");
        name[0] = 'w';
        assert_string_equal(told(0), "no task, later worker_b");
        f.fake.fail_after = 0;
        f.fake.fail_with = TARGET_WAIT;
        f.deadline = deadline_in_ms(20, NULL);
        assert_false(task_rows_look(&rows, &f.tasks, f.ledger, &f.deadline));
        f.fake.fail_after = ACCESSES;
        assert_string_equal(told(0), "worker_b");
        task_rows_lose(&rows);
        assert_string_equal(task_row_tell(&rows.rows[0]), "worker_b, later not known");
        assert_null(task_row_tell(&rows.rows[1]));
    }
}

/* So that the file stays small. */
FRESH_TEST(names_that_change_all_the_time_are_not_told)
{
    const char *last = NULL;
    unsigned n = 0;
    rows = (struct task_rows){0};
    f.tasks.name = (struct symbols_member){.offset = 0, .size = 8};
    for (unsigned i = 0; i < 40; i++) {
        memcpy(f.ram + 16, i % 2 > 0 ? "b" : "a", 2);
        meet(RAM + 16);
        const char *text = told(0);
        last = text != NULL ? text : last;
        n += text != NULL;
    }
    assert_int_equal(n, TASK_TEXTS);
    assert_string_equal(last, "b and others");
}

/* Whatever the memory holds, and only so often. */
FRESH_TEST(names_end)
{
    memset(f.ram, 'x', sizeof f.ram);
    f.tasks.name = (struct symbols_member){.offset = 0, .size = 6};
    assert_string_equal(name_of(RAM), "xxxxxx");
    f.tasks.name.size = UINT64_MAX;
    assert_int_equal(strlen(name_of(RAM + 4)), TASK_NAME - 1);
    f.ram[8] = 0;
    assert_null(name_of(RAM + 8)); /* empty */
    f.tasks.n = TASKS_NAMED - 1;
    assert_non_null(name_of(RAM + 12));
    assert_null(name_of(RAM + 16));
}

FRESH_TEST(what_is_no_task_is_not_read)
{
    f.tasks.name = (struct symbols_member){.offset = 0, .size = 4};
    assert_null(name_of(0));
    assert_null(name_of(RAM + 2));
    f.tasks.name.offset = UINT64_C(1) << 32;
    assert_null(name_of(RAM));
    f.tasks.has_names = false;
    f.tasks.name.offset = 0;
    assert_null(name_of(RAM));
    assert_int_equal(f.fake.fail_after, ACCESSES);
}

FRESH_TEST(memory_that_cannot_be_read_is_no_name)
{
    f.tasks.name = (struct symbols_member){.offset = 0, .size = 4};
    f.ram[0] = 'a';
    f.fake.fail_after = 0;
    f.fake.fail_with = TARGET_FAULT;
    assert_null(name_of(RAM + 4));
    f.fake.fail_after = ACCESSES;
    assert_string_equal(name_of(RAM), "a");
    f.fake.fail_after = 0;
    f.fake.fail_with = LINK_LOST;
    assert_null(name_of(RAM + 8));
    f.fake.fail_after = ACCESSES;
    assert_null(name_of(RAM + 12));
    assert_int_equal(f.fake.fail_after, ACCESSES);
}

TEST(without_a_program_an_address_says_where)
{
    static const char *const wrong[] = {"current", "*0x20000101", "*0", "*0x100000000", "*"};
    struct tasks tasks = {0};
    struct error error = {0};
    uint64_t at = 1;
    assert_true(tasks_find(&tasks, NULL, NULL, 0, &at, &error));
    assert_int_equal(at, 0);
    assert_null(tasks.variable);
    assert_true(tasks_find(&tasks, NULL, "*0x20000100", 0, &at, &error));
    assert_int_equal(at, 0x20000100);
    assert_string_equal(tasks.variable, "*0x20000100");
    assert_false(tasks.has_names);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error_clear(&error);
        assert_false(tasks_find(&tasks, NULL, wrong[i], 0, &at, &error));
        assert_int_equal(error.kind, ERROR_SYMBOL);
    }
}
