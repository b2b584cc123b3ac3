#include "debuggers/gdb_remote.h"

#include "gdb_server.h"

enum { LIMIT_MS = 10000 };

/* Silent on a resume, and at its own breakpoint when it is asked to stop: as OpenOCD may just then be. */
static const struct gdb_answer late[] = {
    {"vCont;c", NULL, false},
    {"\x03", "T05", false},
    {"qRcmd,76657273696f6e", "4f70656e204f6e2d4368697020446562756767657220302e31322e30", false},
    {"D", "OK", false},
    {NULL, NULL, false}};

/* As gdbserver: no version to tell, and deaf to packets while its program runs. */
static const struct gdb_answer alone[] = {
    {"vCont;c", NULL, false}, {"\x03", "T05", false}, {"D", "OK", false}, {NULL, NULL, false}};

static struct debugger *stop_too_late(struct gdb_server *server, const struct gdb_answer *answers)
{
    struct error error = {0};
    struct debugger_stop stop = {0};
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    gdb_server_start(server, answers);
    struct debugger *debugger = gdb_remote_open(server->fd, "gdb test", NULL, &deadline, &error);
    assert_non_null(debugger);
    assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    assert_true(debugger_halt(debugger, &stop, &error));
    assert_int_equal(stop.why, DEBUGGER_TRAP);
    return debugger;
}

static unsigned times_asked(const struct gdb_server *server, const char *words)
{
    unsigned n = 0;
    for (const char *at = server->asked; (at = strstr(at, words)) != NULL; at++)
        n++;
    return n;
}

TEST(test_a_belated_stop_is_passed_over)
{
    struct gdb_server server;
    struct error error = {0};
    struct debugger_stop stop = {0};
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    struct debugger *debugger = stop_too_late(&server, late);
    assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    gdb_server_send(&server, "$T02#b6$T05#b9", 14);
    assert_int_equal(debugger->ops->wait(debugger, &stop, &deadline, &error), DEBUGGER_STOPPED);
    assert_int_equal(stop.why, DEBUGGER_TRAP);
    /* One only: the next is somebody's */
    assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    gdb_server_send(&server, "$T02#b6", 7);
    assert_int_equal(debugger->ops->wait(debugger, &stop, &deadline, &error), DEBUGGER_STOPPED);
    assert_int_equal(stop.why, DEBUGGER_REQUESTED);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_int_equal(times_asked(&server, "vCont;c\n"), 4);
}

TEST(test_the_session_outlasts_it)
{
    struct gdb_server server;
    struct debugger *debugger = stop_too_late(&server, late);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_non_null(strstr(server.asked, "vCont;c\nvCont;c\nD\n"));
    assert_null(strstr(server.asked, "qRcmd,726573756d65")); /* "resume" */
}

TEST(test_good_bye_is_said_where_it_is_heard)
{
    struct gdb_server server;
    struct debugger *debugger = stop_too_late(&server, alone);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_non_null(strstr(server.asked, "vCont;c\nvCont;c\nD\n"));
    assert_int_equal(server.interrupts, 2);
}

TEST(test_a_request_in_time_is_owed_nothing)
{
    static const struct gdb_answer prompt[] = {
        {"vCont;c", NULL, false}, {"\x03", "T02", false}, {NULL, NULL, false}};
    struct gdb_server server;
    struct error error = {0};
    struct debugger_stop stop = {0};
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    gdb_server_start(&server, prompt);
    struct debugger *debugger = gdb_remote_open(server.fd, "gdb test", NULL, &deadline, &error);
    for (int i = 0; i < 2; i++) {
        assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
        assert_true(debugger_halt(debugger, &stop, &error));
        assert_int_equal(stop.why, DEBUGGER_REQUESTED);
    }
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_int_equal(times_asked(&server, "vCont;c\n"), 2);
}
