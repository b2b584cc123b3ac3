#include "debuggers/debugger.h"

#include "test.h"

#include <stdio.h>

struct fake {
    struct debugger debugger; /* first */
    unsigned asked;
    char command[1024];
};

static bool monitor(struct debugger *debugger, const char *command, char *out, size_t size,
                    const struct deadline *deadline, struct error *error)
{
    struct fake *fake = (struct fake *)debugger;
    (void)deadline;
    fake->asked++;
    snprintf(fake->command, sizeof fake->command, "%s", command);
    snprintf(out, size, "%s", "");
    return error_set(error, ERROR_FAULT, "refused");
}

static bool go(struct debugger *debugger, enum debugger_go how, const struct deadline *deadline,
               struct error *error)
{
    (void)debugger;
    (void)deadline;
    (void)error;
    return how == DEBUGGER_RUN;
}

static struct fake run(enum server server, bool has_monitor)
{
    static const struct debugger_ops with = {.go = go, .monitor = monitor}, without = {.go = go};
    struct fake fake = {.debugger = {.ops = has_monitor ? &with : &without}};
    struct deadline deadline = deadline_in_ms(1000, NULL);
    fake.debugger.facts.server = server;
    struct error error = {0};
    assert_true(debugger_run(&fake.debugger, &deadline, &error));
    assert_int_equal(error.kind, ERROR_NONE);
    return fake;
}

TEST(test_openocd_is_asked)
{
    struct fake fake = run(SERVER_OPENOCD, true);
    int depth = 0;
    assert_int_equal(fake.asked, 1);
    assert_has(fake.command, "gdb-start");
    for (const char *at = fake.command; *at != '\0'; at++)
        depth += *at == '{' || *at == '[' ? 1 : *at == '}' || *at == ']' ? -1 : 0;
    assert_int_equal(depth, 0);
}

TEST(test_others_are_left_alone)
{
    assert_int_equal(run(SERVER_BLACK_MAGIC, true).asked, 0);
    assert_int_equal(run(SERVER_UNKNOWN, true).asked, 0);
    assert_int_equal(run(SERVER_OPENOCD, false).asked, 0);
}
