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
