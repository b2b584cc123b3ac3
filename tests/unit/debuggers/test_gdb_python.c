#include "debuggers/gdb_python.h"

#include "test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_MS = 5000, SHORT_MS = 30, ASKED = 8192 };

static const char hello[] =
    "ok armv7e-m - localhost:1 -\nok 4f70656e204f6e2d4368697020446562756767657220302e31320a\n"
    "ok 1000000\n";

struct other_end {
    int fd;
    struct debugger *debugger;
};

static struct deadline limit(void)
{
    return deadline_in_ms(LIMIT_MS, NULL);
}

static void say(const struct other_end *end, const char *text)
{
    assert_int_equal(write(end->fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* GDB's answers may be there before the wishes: they are taken in order. */
static struct debugger *open_with(struct other_end *end, const char *answers, struct error *error)
{
    int pair[2];
    struct deadline deadline = limit();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    end->fd = pair[1];
    say(end, answers);
    return gdb_python_open(pair[0], &deadline, error);
}

static void open_door(struct other_end *end)
{
    struct error error = {0};
    char asked[ASKED] = "";
    end->debugger = open_with(end, hello, &error);
    assert_non_null(end->debugger);
    assert_true(read(end->fd, asked, sizeof asked - 1) > 0);
    assert_string_equal(asked, "hello 1\nmonitor 76657273696f6e\nregister xpsr\n");
}

/* What was wished since. */
static void assert_asked(const struct other_end *end, const char *wanted)
{
    char asked[ASKED] = "";
    assert_true(read(end->fd, asked, sizeof asked - 1) > 0);
    assert_string_equal(asked, wanted);
}

static void close_door(const struct other_end *end)
{
    end->debugger->ops->close(end->debugger, true);
    close(end->fd);
}

TEST(test_greeting)
{
    struct other_end end;
    open_door(&end);
    const struct debugger_facts *facts = &end.debugger->facts;
    assert_int_equal(facts->server, SERVER_OPENOCD);
    assert_string_equal(facts->name, "gdb localhost:1");
    assert_int_equal(facts->profile, PROFILE_M);
    assert_true(facts->is_attended && !facts->is_emulator);
    close_door(&end);
    struct error error = {0};
    end.debugger = open_with(&end, "ok aarch64 QEMU - -\n", &error);
    assert_non_null(end.debugger);
    assert_true(end.debugger->facts.is_emulator);
    assert_int_equal(end.debugger->facts.profile, PROFILE_AARCH64);
    close_door(&end);
}

TEST(test_no_greeting)
{
    static const struct {
        const char *answers;
        enum error_kind kind;
    } cases[] = {
        {"no there is no target yet\n", ERROR_NO_PROBE}, {"ok armv7e-m\n", ERROR_LINK_PROTOCOL},
        {"ok armv7e-m - -\n", ERROR_LINK_PROTOCOL},      {"hello yourself\n", ERROR_LINK_PROTOCOL},
        {"ok arm - - -\nok 5\n", ERROR_LINK_PROTOCOL},   {"ok arm - - -\nok\nok 12x\n", ERROR_LINK_PROTOCOL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct other_end end;
        struct error error = {0};
        assert_null(open_with(&end, cases[i].answers, &error));
        assert_int_equal(error.kind, cases[i].kind);
        close(end.fd);
    }
    struct error error = {0};
    struct deadline deadline = limit();
    assert_null(gdb_python_open(-1, &deadline, &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
}

TEST(test_memory)
{
    struct other_end end;
    uint8_t bytes[4], much[1500] = {0};
    char words[2400];
    struct error errors[3] = {0};
    struct deadline deadline = limit();
    open_door(&end);
    say(&end, "ok 78563412\nno Cannot access memory\nok\nok\n");
    assert_true(end.debugger->ops->read_memory(end.debugger, 0x20000000, bytes, 4, &deadline, &errors[0]));
    assert_memory_equal(bytes, "\x78\x56\x34\x12", 4);
    assert_false(end.debugger->ops->read_memory(end.debugger, 0x30000000, bytes, 4, &deadline, &errors[1]));
    assert_int_equal(errors[1].kind, ERROR_FAULT);
    assert_non_null(strstr(errors[1].text, "Cannot access memory"));
    assert_asked(&end, "read 20000000 4\nread 30000000 4\n");
    assert_true(
        end.debugger->ops->write_memory(end.debugger, 0x20000000, much, sizeof much, &deadline, &errors[0]));
    ssize_t n = read(end.fd, words, sizeof words - 1); /* in two pieces: the first is longer than this */
    assert_true(n > 0);
    words[n] = '\0';
    assert_int_equal(strncmp(words, "write 20000000 0000", 19), 0);
    assert_int_equal(strcspn(words, "\n"), strlen("write 20000000 ") + 2048);
    say(&end, "ok 785634\n");
    assert_false(end.debugger->ops->read_memory(end.debugger, 0x20000000, bytes, 4, &deadline, &errors[2]));
    assert_int_equal(errors[2].kind, ERROR_LINK_PROTOCOL);
    close_door(&end);
}

TEST(test_breakpoints_and_registers)
{
    struct other_end end;
    uint64_t value = 0;
    char text[8];
    struct error errors[4] = {0};
    struct deadline deadline = limit();
    open_door(&end);
    const struct debugger_ops *ops = end.debugger->ops;
    say(&end, "ok\nno the server says E0e\nok\nok 8000270\nno there is no register psp\nok "
              "68656c6c6f20776f726c64\n");
    assert_true(ops->breakpoint(end.debugger, 0x8000270, 2, true, &deadline, &errors[0]));
    assert_false(ops->breakpoint(end.debugger, 0x20000000, 2, true, &deadline, &errors[1]));
    assert_int_equal(errors[1].kind, ERROR_ADDRESS);
    assert_true(ops->breakpoint(end.debugger, 0x8000270, 2, false, &deadline, &errors[0]));
    assert_true(ops->read_register(end.debugger, "pc", &value, &deadline, &errors[0]));
    assert_int_equal(value, 0x8000270);
    assert_false(ops->read_register(end.debugger, "psp", &value, &deadline, &errors[2]));
    assert_int_equal(errors[2].kind, ERROR_FAULT);
    assert_true(ops->monitor(end.debugger, "x\"y", text, sizeof text, &deadline, &errors[0]));
    assert_string_equal(text, "hello w"); /* cut to fit */
    assert_asked(&end, "break 8000270 2\nbreak 20000000 2\nclear 8000270 2\nregister pc\nregister psp\n"
                       "monitor 782279\n");
    close_door(&end);
}

TEST(test_stops)
{
    static const struct {
        const char *line;
        enum debugger_why why;
        const char *thread;
        unsigned halts;
        const char *core;
    } cases[] = {{"stopped trap - 0 -\n", DEBUGGER_TRAP, "", 0, ""},
                 {"stopped requested 2 1c a9.cpu1\n", DEBUGGER_REQUESTED, "2", 28, "a9.cpu1"},
                 {"stopped others - 1 -\n", DEBUGGER_OTHERS, "", 1, ""},
                 {"stopped fault 1.1 0 -\n", DEBUGGER_FAULT, "1.1", 0, ""}};
    struct other_end end;
    struct debugger_stop stop;
    struct error error = {0};
    open_door(&end);
    const struct debugger_ops *ops = end.debugger->ops;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct deadline deadline = limit(), soon = deadline_in_ms(SHORT_MS, NULL);
        uint8_t byte;
        struct error refused = {0};
        assert_true(ops->go(end.debugger, i % 2 ? DEBUGGER_STEP : DEBUGGER_RUN, &deadline, &error));
        assert_true(ops->is_running(end.debugger));
        assert_false(ops->read_memory(end.debugger, 0, &byte, 1, &deadline, &refused));
        assert_int_equal(refused.kind, ERROR_FAULT);
        assert_int_equal(ops->wait(end.debugger, &stop, &soon, &error), DEBUGGER_RUNS);
        assert_true(ops->interrupt(end.debugger, &error));
        say(&end, cases[i].line);
        assert_int_equal(ops->wait(end.debugger, &stop, &deadline, &error), DEBUGGER_STOPPED);
        assert_int_equal(stop.why, cases[i].why);
        assert_string_equal(stop.thread, cases[i].thread);
        assert_int_equal(stop.halts, cases[i].halts);
        assert_string_equal(stop.core, cases[i].core);
        assert_asked(&end, i % 2 ? "go step\ninterrupt\n" : "go run\ninterrupt\n");
    }
    assert_true(ops->interrupt(end.debugger, &error)); /* it stands: nothing is said */
    close_door(&end);
}

TEST(test_stops_that_are_none)
{
    static const struct {
        const char *line;
        enum error_kind kind;
    } cases[] = {{"no Cannot insert breakpoint 1.\n", ERROR_FAULT},
                 {"stopped ended - 0 -\n", ERROR_LINK_LOST},
                 {"stopped\n", ERROR_LINK_PROTOCOL},
                 {"stopped trap -\n", ERROR_LINK_PROTOCOL},
                 {"stopped trap - x -\n", ERROR_LINK_PROTOCOL},
                 {"stopped trap - ffffffff -\n", ERROR_LINK_PROTOCOL},
                 {"stopped somewhere - 0 -\n", ERROR_LINK_PROTOCOL},
                 {"ok\n", ERROR_LINK_PROTOCOL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct other_end end;
        struct debugger_stop stop;
        struct error error = {0};
        struct deadline deadline = limit();
        open_door(&end);
        assert_true(end.debugger->ops->go(end.debugger, DEBUGGER_RUN, &deadline, &error));
        say(&end, cases[i].line);
        assert_int_equal(end.debugger->ops->wait(end.debugger, &stop, &deadline, &error), DEBUGGER_GONE);
        assert_int_equal(error.kind, cases[i].kind);
        close_door(&end);
    }
}

TEST(test_gdb_is_gone)
{
    static char line[64 * 1024];
    struct other_end end;
    uint64_t value;
    struct error errors[3] = {0};
    struct deadline deadline = limit();
    open_door(&end);
    close(end.fd); /* and nobody listens at localhost:1 */
    assert_false(end.debugger->ops->read_register(end.debugger, "pc", &value, &deadline, &errors[0]));
    assert_int_equal(errors[0].kind, ERROR_LINK_LOST);
    assert_false(end.debugger->ops->read_register(end.debugger, "pc", &value, &deadline, &errors[1]));
    assert_int_equal(errors[1].kind, ERROR_LINK_LOST);
    end.debugger->ops->close(end.debugger, true);
    open_door(&end);
    memset(line, '0', sizeof line - 1);
    say(&end, line); /* a line without an end */
    assert_false(end.debugger->ops->read_register(end.debugger, "pc", &value, &deadline, &errors[2]));
    assert_int_equal(errors[2].kind, ERROR_LINK_PROTOCOL);
    close_door(&end);
}
