/* What an RTOS calls its tasks, read from the memory that a pointer leads to. */
#include "../test.h"
#include "cores/architectures.h"

#include "run/tasks.h"

#include <string.h>

enum { RAM = 0x20000000, SIZE = 256 };

static struct fixture {
    struct link link;
    struct ledger *ledger;
    struct core core;
    struct tasks tasks;
    struct deadline deadline;
    uint8_t ram[SIZE];
    size_t reads;
    enum why trouble; /* of each read */
} f;

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    (void)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        uint64_t offset = steps[i].at.offset;
        uint32_t word;
        assert_int_equal(steps[i].op, OP_READ);
        assert_int_equal(offset % 4, 0);
        f.reads++;
        if (f.trouble == LINK_LOST || offset < RAM || offset - RAM > SIZE - sizeof word) {
            bool lost = f.trouble == LINK_LOST;
            error_set(error, lost ? ERROR_LINK_LOST : ERROR_FAULT, "refused");
            return (struct outcome){.why = lost ? LINK_LOST : TARGET_FAULT, .done = i};
        }
        memcpy(&word, f.ram + (offset - RAM), sizeof word);
        results[i] = word;
    }
    return (struct outcome){.why = DONE, .done = n};
}

static int tear_down(void **state)
{
    (void)state;
    ledger_free(f.ledger);
    f.ledger = NULL;
    return 0;
}

static int set_up(void **state)
{
    static const struct link_ops ops = {.execute = execute};
    tear_down(state);
    memset(&f, 0, sizeof f);
    f.link.ops = &ops;
    f.ledger = ledger_new(&f.link);
    f.core.ops = &cortex_m_ops;
    f.tasks.has_names = true;
    f.deadline = deadline_in_ms(60000, NULL);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static const char *name_of(uint64_t task)
{
    static char name[TASK_NAME];
    return tasks_name(&f.tasks, f.ledger, &f.core, task, name, &f.deadline) ? name : NULL;
}

FRESH_TEST(a_name_may_begin_at_any_byte)
{
    for (uint64_t offset = 0; offset < 8; offset++) {
        set_up(NULL);
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
    assert_int_equal(f.reads, 0);
}

FRESH_TEST(memory_that_cannot_be_read_is_no_name)
{
    f.tasks.name = (struct symbols_member){.offset = 0, .size = 4};
    f.ram[0] = 'a';
    assert_null(name_of(0x60000000));
    assert_string_equal(name_of(RAM), "a");
    f.trouble = LINK_LOST;
    assert_null(name_of(RAM + 4));
    f.trouble = DONE;
    size_t reads = f.reads;
    assert_null(name_of(RAM + 8));
    assert_int_equal(f.reads, reads);
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
