/* A GDB server that debugs a program of a system: an x86-64 one, as gdbserver shows it. */
#include "debuggers/gdb_remote.h"

#include "gdb_server.h"
#include "test.h"

static struct debugger *open_server(struct gdb_server *server, const struct gdb_answer *first)
{
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(10000, NULL);
    gdb_server_start(server, first);
    struct debugger *debugger = gdb_remote_open(server->fd, "gdb test", NULL, &deadline, &error);
    assert_string_equal(error.text, "");
    assert_non_null(debugger);
    return debugger;
}

/* gdbserver with a program of its machine: signals pass, and where it was is known. */
TEST(test_a_program)
{
    static const struct gdb_answer program[] = {
        {"qSupported", "PacketSize=400;QPassSignals+;qXfer:features:read+", false},
        {"QPassSignals", "OK", false},
        {"qXfer:features:read:target.xml:0",
         "l<target><architecture>i386:x86-64</architecture><feature name=\"org.gnu.gdb.i386.core\">"
         "<reg name=\"rsp\" bitsize=\"64\" regnum=\"7\"/><reg name=\"rip\" bitsize=\"64\" "
         "regnum=\"16\"/></feature></target>",
         false},
        {"?", "T0507:f8e3ffffff7f0000;10:2611400000000000;thread:1e240;core:1a;", false},
        {"vCont?", "vCont;c;C;s;S", false},
        {"vCont;c", "W00", false},
        {NULL, NULL, false}};
    struct gdb_server server;
    struct error error = {0};
    struct debugger_stop stop;
    struct deadline deadline = deadline_in_ms(10000, NULL);
    uint64_t value;
    struct debugger *debugger = open_server(&server, program);
    assert_int_equal(debugger->facts.profile, PROFILE_X86_64);
    assert_true(debugger->facts.has_cpu);
    assert_int_equal(debugger->facts.cpu, 0x1A);
    assert_true(debugger->ops->read_register(debugger, "rip", &value, &deadline, &error));
    assert_int_equal(value, 0x401126);
    assert_true(debugger->ops->read_register(debugger, "rsp", &value, &deadline, &error));
    assert_int_equal(value, UINT64_C(0x7FFFFFFFE3F8));
    assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    assert_int_equal(debugger->ops->wait(debugger, &stop, &deadline, &error), DEBUGGER_GONE);
    assert_int_equal(error.kind, ERROR_STATE);
    assert_string_equal(error.text, "the program has ended");
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    const char *thread = strstr(server.asked, "Hg0\n"), *description = strstr(server.asked, "qXfer");
    assert_true(thread != NULL && thread < description); /* gdbserver dies of the other order */
    assert_non_null(strstr(server.asked, "i386"));
    assert_non_null(strstr(server.asked, ";1e;1f;2d;2e;"));
    assert_non_null(strstr(server.asked, ";4b\n"));
}

/* A CPU that makes no sense is none. */
TEST(test_no_cpu)
{
    static const char *const stops[] = {
        "T05core:;", "T05core:xyz;", "T05core:10000;", "T05core:1 ;", "T05cores:1;", "T05thread:1;", "S05"};
    struct gdb_answer answers[] = {{"?", NULL, false}, {NULL, NULL, false}};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct gdb_server server;
        answers[0].answer = stops[i];
        struct debugger *debugger = open_server(&server, answers);
        assert_false(debugger->facts.has_cpu);
        debugger->ops->close(debugger, false);
        gdb_server_stop(&server);
    }
}
