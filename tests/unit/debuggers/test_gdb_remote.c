/*
 * The client of a GDB server: its questions, its answers, a request to stop that is too late, and a server
 * that debugs a program.
 */
#include "debuggers/debugger.h"

#include "gdb_server.h"

enum { LIMIT_MS = 10000, SHORT_MS = 50 };

static struct deadline limit(void)
{
    return deadline_in_ms(LIMIT_MS, NULL);
}

static struct debugger *open_server(struct gdb_server *server, const struct gdb_answer *first)
{
    struct error error = {0};
    struct deadline deadline = limit();
    gdb_server_start(server, first);
    struct debugger *debugger = gdb_remote_open(server->fd, false, NULL, &deadline, &error);
    assert_string_equal(error.text, "");
    assert_non_null(debugger);
    return debugger;
}

static void refuse_to_open(const struct gdb_answer *first, int64_t ms, enum error_kind kind,
                           const char *words)
{
    struct gdb_server server;
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(ms, NULL);
    gdb_server_start(&server, first);
    assert_null(gdb_remote_open(server.fd, false, NULL, &deadline, &error));
    assert_int_equal(error.kind, kind);
    assert_non_null(strstr(error.text, words));
    gdb_server_stop(&server);
}

TEST(test_facts)
{
    static const struct gdb_answer openocd[] = {
        {"qRcmd,76657273696f6e", "4f70656e204f6e2d4368697020446562756767657220302e31322e30", false},
        {NULL, NULL, false}};
    static const struct gdb_answer qemu[] = {{"qSupported", "PacketSize=1000", false},
                                             {"qqemu.sstepbits", "ENABLE=1,NOIRQ=2,NOTIMER=4", false},
                                             {NULL, NULL, false}};
    struct gdb_server server;
    struct debugger *debugger = open_server(&server, openocd);
    assert_int_equal(debugger->facts.server, SERVER_OPENOCD);
    assert_string_equal(debugger->facts.architecture, "arm");
    assert_int_equal(debugger->facts.profile, PROFILE_M);
    assert_false(debugger->facts.is_emulator);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_non_null(strstr(server.asked, "63757273746174655d\nD\n")); /* "{resume}}": its own D does not */
    debugger = open_server(&server, qemu);                            /* acknowledged, and no description */
    assert_true(debugger->facts.is_emulator);
    assert_int_equal(debugger->facts.profile, PROFILE_UNKNOWN);
    debugger->ops->close(debugger, false);
    gdb_server_stop(&server);
    assert_null(strstr(server.asked, "D\n"));
}

TEST(test_memory)
{
    static const struct gdb_answer answers[] = {{"m20000000,4", "$O#4f$78563412#a4", true},
                                                {"m20000010,4", "E0e", false},
                                                {"m20000020,4", "7856", false},
                                                {"M20000000,4:78563412", "OK", false},
                                                {"M20000010", "E0e", false},
                                                {"X20000000,20:", "", false},
                                                {"M20000000,20:", "OK", false},
                                                {NULL, NULL, false}};
    struct gdb_server server;
    uint32_t word = 0;
    uint8_t bytes[32] = {0};
    struct error errors[5] = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(&server, answers);
    assert_true(debugger->ops->read_memory(debugger, 0x20000000, &word, 4, &deadline, &errors[0]));
    assert_int_equal(word, 0x12345678);
    assert_false(debugger->ops->read_memory(debugger, 0x20000010, &word, 4, &deadline, &errors[1]));
    assert_int_equal(errors[1].kind, ERROR_FAULT);
    assert_false(debugger->ops->read_memory(debugger, 0x20000020, &word, 4, &deadline, &errors[2]));
    assert_int_equal(errors[2].kind, ERROR_FAULT);
    word = 0x12345678;
    assert_true(debugger->ops->write_memory(debugger, 0x20000000, &word, 4, &deadline, &errors[0]));
    assert_false(debugger->ops->write_memory(debugger, 0x20000010, &word, 4, &deadline, &errors[3]));
    assert_int_equal(errors[3].kind, ERROR_FAULT);
    assert_true(
        debugger->ops->write_memory(debugger, 0x20000000, bytes, sizeof bytes, &deadline, &errors[4]));
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
}

/* Else each number would be the one before. */
TEST(an_answer_that_comes_twice_is_not_the_next_ones)
{
    static const struct gdb_answer answers[] = {{"m20000000,4", "$78563412#a4$78563412#a4", true},
                                                {"m20000010,4", "11111111", false},
                                                {"m20000020,4", "$T05#b9$O#4f$22222222#90$T05#b9", true},
                                                {"m20000030,4", "33333333", false},
                                                {NULL, NULL, false}};
    struct gdb_server server;
    uint32_t word = 0;
    struct error error = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(&server, answers);
    assert_true(debugger->ops->read_memory(debugger, 0x20000020, &word, 4, &deadline, &error));
    assert_int_equal(word, 0x22222222);
    assert_true(debugger->ops->read_memory(debugger, 0x20000030, &word, 4, &deadline, &error));
    assert_int_equal(word, 0x33333333);
    assert_true(debugger->ops->read_memory(debugger, 0x20000000, &word, 4, &deadline, &error));
    assert_false(debugger->ops->read_memory(debugger, 0x20000010, &word, 4, &deadline, &error));
    assert_int_equal(error.kind, ERROR_LINK_PROTOCOL);
    assert_non_null(strstr(error.text, "answers what it was not asked"));
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
}

/* From the stop, one by one, or all at once where the server cannot do that. */
TEST(test_registers)
{
    static const struct gdb_answer answers[] = {{"?", "T050d:e8ff0020;0f:70020008;thread:1;core:0;", false},
                                                {"Hg1", "OK", false},
                                                {"pe", "01000008", false},
                                                {NULL, NULL, false}};
    static const struct gdb_answer only_all[] = {
        {"p", "E01", false}, {"g", "11000000220000003300000044000000", false}, {NULL, NULL, false}};
    struct gdb_server server;
    uint64_t value = 0;
    struct error error = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(&server, answers);
    assert_true(debugger->ops->read_register(debugger, "pc", &value, &deadline, &error));
    assert_int_equal(value, 0x08000270);
    assert_true(debugger->ops->read_register(debugger, "lr", &value, &deadline, &error));
    assert_int_equal(value, 0x08000001);
    assert_false(debugger->ops->read_register(debugger, "psp", &value, &deadline, &error));
    assert_int_equal(error.kind, ERROR_FAULT);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_null(strstr(server.asked, "pf\n"));
    debugger = open_server(&server, only_all);
    assert_true(debugger->ops->read_register(debugger, "pc", &value, &deadline, &error));
    assert_int_equal(value, 0x44);
    assert_true(debugger->ops->read_register(debugger, "sp", &value, &deadline, &error));
    assert_int_equal(value, 0x22);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
}

static enum debugger_wait wait_ms(struct debugger *debugger, struct debugger_stop *stop, int64_t ms)
{
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(ms, NULL);
    return debugger->ops->wait(debugger, stop, &deadline, &error);
}

TEST(test_run_and_stop)
{
    static const struct gdb_answer answers[] = {{"Z1,8000270,2", "OK", false},
                                                {"Z1,20000000,2", "E0e", false},
                                                {"vCont;c", "$O6869#2c$T05hwbreak:;thread:p1.2;#00", true},
                                                {"vCont;s:p1.2", NULL, false},
                                                {"\x03", "T02thread:p1.2;", false},
                                                {NULL, NULL, false}};
    struct gdb_server server;
    struct debugger_stop stop = {0};
    struct error error = {0}, running = {0};
    struct deadline deadline = limit();
    uint32_t word;
    struct debugger *debugger = open_server(&server, answers);
    assert_true(debugger->ops->breakpoint(debugger, 0x8000270, 2, true, &deadline, &error));
    assert_false(debugger->ops->breakpoint(debugger, 0x20000000, 2, true, &deadline, &error));
    assert_int_equal(error.kind, ERROR_ADDRESS);
    error = (struct error){0};
    assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    assert_int_equal(wait_ms(debugger, &stop, LIMIT_MS), DEBUGGER_STOPPED);
    assert_int_equal(stop.why, DEBUGGER_TRAP);
    assert_string_equal(stop.thread, "p1.2");
    /* That thread is the one to step, and it never stops by itself */
    assert_true(debugger->ops->go(debugger, DEBUGGER_STEP, &deadline, &error));
    assert_int_equal(wait_ms(debugger, &stop, SHORT_MS), DEBUGGER_RUNS);
    assert_true(debugger->ops->is_running(debugger));
    assert_false(debugger->ops->read_memory(debugger, 0, &word, 4, &deadline, &running));
    assert_int_equal(running.kind, ERROR_FAULT);
    assert_true(debugger->ops->interrupt(debugger, &error));
    assert_int_equal(wait_ms(debugger, &stop, LIMIT_MS), DEBUGGER_STOPPED);
    assert_int_equal(stop.why, DEBUGGER_REQUESTED);
    assert_false(debugger->ops->is_running(debugger));
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_int_equal(server.interrupts, 1);
}

TEST(test_other_stops)
{
    static const struct {
        const char *reply;
        enum debugger_why why;
    } stops[] = {{"S0b", DEBUGGER_FAULT},
                 {"T05watch:20000000;", DEBUGGER_WATCHPOINT},
                 {"T05rwatch:20000000;", DEBUGGER_WATCHPOINT},
                 {"S00", DEBUGGER_REQUESTED},
                 {"T05", DEBUGGER_TRAP},
                 {"S11", DEBUGGER_TRAP}};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        const struct gdb_answer answers[] = {{"vCont;c", stops[i].reply, false}, {NULL, NULL, false}};
        struct gdb_server server;
        struct debugger_stop stop = {0};
        struct error error = {0};
        struct deadline deadline = limit();
        struct debugger *debugger = open_server(&server, answers);
        assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
        assert_int_equal(wait_ms(debugger, &stop, LIMIT_MS), DEBUGGER_STOPPED);
        assert_int_equal(stop.why, stops[i].why);
        debugger->ops->close(debugger, true);
        gdb_server_stop(&server);
    }
}

TEST(test_the_core_is_gone)
{
    static const struct gdb_answer answers[] = {{"vCont;c", "W00", false}, {NULL, NULL, false}};
    struct gdb_server server;
    struct debugger_stop stop;
    struct error error = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(&server, answers);
    assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    assert_int_equal(debugger->ops->wait(debugger, &stop, &deadline, &error), DEBUGGER_GONE);
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
}

TEST(test_monitor)
{
    static const struct gdb_answer answers[] = {
        {"qRcmd,61", "$O6869#2c$O0a#e0$OK#9a", true},
        {"qRcmd,64", "$O#4f$6869#dd", true}, /* OpenOCD is still there */
        {"qRcmd,62", "6869", false},
        {"qRcmd,63", "E01", false},
        {NULL, NULL, false}};
    struct gdb_server server;
    char text[32];
    struct error error = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(&server, answers);
    assert_true(debugger->ops->monitor(debugger, "a", text, sizeof text, &deadline, &error));
    assert_string_equal(text, "hi\n");
    assert_true(debugger->ops->monitor(debugger, "a", text, 2, &deadline, &error));
    assert_string_equal(text, "h");
    assert_true(debugger->ops->monitor(debugger, "b", text, sizeof text, &deadline, &error));
    assert_string_equal(text, "hi");
    assert_true(debugger->ops->monitor(debugger, "d", text, sizeof text, &deadline, &error));
    assert_string_equal(text, "hi");
    assert_false(debugger->ops->monitor(debugger, "c", text, sizeof text, &deadline, &error));
    assert_int_equal(error.kind, ERROR_FAULT);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
}

/* An answer that arrives too late must not be taken for that of the next question. */
TEST(test_silence_ends_it)
{
    static const struct gdb_answer answers[] = {
        {"m20000000", NULL, false}, {"m", "00000000", false}, {NULL, NULL, false}};
    struct gdb_server server;
    uint32_t word;
    struct error error = {0}, after = {0};
    struct debugger *debugger = open_server(&server, answers);
    struct deadline soon = deadline_in_ms(SHORT_MS, NULL), deadline = limit();
    assert_false(debugger->ops->read_memory(debugger, 0x20000000, &word, 4, &soon, &error));
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    assert_false(debugger->ops->read_memory(debugger, 0x20000004, &word, 4, &deadline, &after));
    assert_int_equal(after.kind, ERROR_LINK_LOST);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
}

/* Acknowledged packets are sent again when they were damaged, either way. */
TEST(test_damage_is_mended)
{
    static const struct gdb_answer answers[] = {
        {"qSupported", "", false}, {"?", "-$S05#00$S05#b8", true}, {NULL, NULL, false}};
    struct gdb_server server;
    struct debugger *debugger = open_server(&server, answers);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_non_null(strstr(server.asked, "?\n?\n"));
}

TEST(test_servers_that_are_none)
{
    static const struct gdb_answer silent[] = {{"qSupported", NULL, false}, {NULL, NULL, false}};
    static const struct gdb_answer damaged[] = {{"qSupported", "$a#00$a#00$a#00$a#00$a#00$a#00", true},
                                                {NULL, NULL, false}};
    static const struct gdb_answer refusing[] = {{"qSupported", "------", true}, {NULL, NULL, false}};
    static const struct gdb_answer no_core[] = {{"?", "W00", false}, {NULL, NULL, false}};
    static const struct gdb_answer no_stop[] = {{"?", "OK", false}, {NULL, NULL, false}};
    static const struct gdb_answer itself[] = {
        {"qXfer:", "l<target><xi:include href=\"target.xml\"/></target>", false}, {NULL, NULL, false}};
    static const struct gdb_answer endless[] = {{"qXfer:", "m<!--", false}, {NULL, NULL, false}};
    static const struct gdb_answer nothing[] = {{"qXfer:", "m", false}, {NULL, NULL, false}};
    refuse_to_open(silent, SHORT_MS, ERROR_NOT_A_PROBE, "is open, but silent");
    refuse_to_open(damaged, LIMIT_MS, ERROR_LINK_PROTOCOL, "checksums");
    refuse_to_open(refusing, LIMIT_MS, ERROR_LINK_PROTOCOL, "again and again");
    refuse_to_open(no_core, LIMIT_MS, ERROR_NO_CORE, "no core");
    refuse_to_open(no_stop, LIMIT_MS, ERROR_NOT_A_PROBE, "does not say where");
    refuse_to_open(itself, LIMIT_MS, ERROR_LINK_PROTOCOL, "includes itself");
    refuse_to_open(endless, LIMIT_MS, ERROR_LINK_PROTOCOL, "too long");
    refuse_to_open(nothing, LIMIT_MS, ERROR_LINK_PROTOCOL, "does not say");
}

/* ---- a connection that breaks in the middle */

/* "catch {[target current] arp_poll}; if {[[target current] curstate] ne {running}} {if {[catch {resume}]" */
#define OPENOCD_POLL_FIRST                                                                                   \
    "6361746368207b5b7461726765742063757272656e745d206172705f706f6c6c7d3b206966207b5b5b746172676574206375"   \
    "7272656e745d2063757273746174655d206e65207b72756e6e696e677d7d207b6966207b5b6361746368207b726573756d65"   \
    "7d5d"
#define OPENOCD_RESUME "qRcmd," OPENOCD_POLL_FIRST

static const struct gdb_answer openocd_version = {
    "qRcmd,76657273696f6e", "4f70656e204f6e2d4368697020446562756767657220302e31322e30", false};

/* Question and answer are in step again by a question that only one answer fits. */
TEST(after_a_damaged_packet_the_core_is_let_go_over_the_same_connection)
{
    const struct gdb_answer answers[] = {openocd_version,
                                         {"m20000000,4", "$7856~3412#a4", true},
                                         {"m20000010,4", "11111111", false},
                                         {OPENOCD_RESUME, "OK", false},
                                         {"D", "OK", false},
                                         {NULL, NULL, false}};
    struct gdb_server server;
    uint32_t word = 0;
    struct error damaged = {0}, lost = {0}, error = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(&server, answers);
    assert_false(debugger->ops->read_memory(debugger, 0x20000000, &word, 4, &deadline, &damaged));
    assert_int_equal(damaged.kind, ERROR_LINK_PROTOCOL);
    /* Nothing more is measured over it */
    assert_false(debugger->ops->read_memory(debugger, 0x20000010, &word, 4, &deadline, &lost));
    assert_int_equal(lost.kind, ERROR_LINK_LOST);
    debugger->undoing = true;
    assert_true(debugger->ops->read_memory(debugger, 0x20000010, &word, 4, &deadline, &error));
    assert_int_equal(word, 0x11111111);
    debugger->undoing = false;
    assert_false(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    error_clear(&error);
    assert_true(debugger->ops->let_go(debugger, &error));
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_non_null(strstr(server.asked, "63757273746174655d\nD\n")); /* "{resume}}" */
}

/* The server has halted the core for the connection. */
TEST(a_run_that_is_cancelled_before_the_first_word_lets_the_core_go)
{
    static const volatile sig_atomic_t cancelled = 1;
    const struct gdb_answer answers[] = {
        openocd_version, {OPENOCD_RESUME, "OK", false}, {"D", "OK", false}, {NULL, NULL, false}};
    struct gdb_server server;
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(LIMIT_MS, &cancelled);
    gdb_server_start(&server, answers);
    assert_null(gdb_remote_open(server.fd, false, NULL, &deadline, &error));
    assert_int_equal(error.kind, ERROR_CANCELLED);
    assert_string_equal(error.text, "cancelled");
    gdb_server_stop(&server);
    assert_non_null(strstr(server.asked, "63757273746174655d\nD\n"));
}

TEST(a_core_that_halts_at_once_after_it_was_let_go_is_reported)
{
    const struct gdb_answer answers[] = {
        openocd_version,
        {OPENOCD_RESUME, "706d752069732068616c7465640a", false}, /* "pmu is halted" */
        {"D", "OK", false},
        {NULL, NULL, false}};
    struct gdb_server server;
    struct error error = {0};
    struct debugger *debugger = open_server(&server, answers);
    assert_false(debugger->ops->let_go(debugger, &error));
    assert_non_null(strstr(error.text, "the core is left halted: it was let go, and something stopped it"));
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
}

TEST(a_core_that_stays_halted_is_told)
{
    const struct gdb_answer answers[] = {
        openocd_version, {"Z1", "OK", false}, {"m", NULL, false}, {NULL, NULL, false}};
    struct gdb_server server;
    uint32_t word = 0;
    struct error silent = {0}, error = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(&server, answers);
    assert_true(debugger->ops->breakpoint(debugger, 0x100, 2, true, &deadline, &error));
    struct deadline soon = deadline_in_ms(SHORT_MS, NULL);
    assert_false(debugger->ops->read_memory(debugger, 0x20000000, &word, 4, &soon, &silent));
    server.then = NULL; /* it says nothing from here on */
    server.first = (const struct gdb_answer[]){{"", NULL, false}, {NULL, NULL, false}};
    assert_false(debugger->ops->let_go(debugger, &error));
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    assert_non_null(strstr(error.text, "the core is left halted"));
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    /* It was sent all the same: "catch {rbp 0x100}; ", and what a resume is */
    const char *blind =
        strstr(server.asked, "qRcmd,6361746368207b7262702030783130307d3b20" OPENOCD_POLL_FIRST);
    assert_non_null(blind);
    assert_non_null(strstr(blind, "63757273746174655d\nD\n"));
}

static const struct gdb_answer gdb_itself[] = {
    {"qSupported", "PacketSize=4000;QStartNoAckMode+;qXfer:features:read+;pmu.server=localhost:1", false},
    {"?", "T05thread:2;", false},
    {"Z1,20000000", "E.the server says E0e", false},
    {"pf", "7002000800000000", false},
    {"pd", "xxxxxxxxxxxxxxxx", false},
    {"vCont;c", "T05thread:2;halts:1c;others:;", false},
    {"vCont;s", "T05halts:1000001;", false},
    {NULL, NULL, false}};

static struct debugger *open_gdb(struct gdb_server *server)
{
    struct error error = {0};
    struct deadline deadline = limit();
    gdb_server_start(server, gdb_itself);
    struct debugger *debugger = gdb_remote_open(server->fd, true, NULL, &deadline, &error);
    assert_non_null(debugger);
    return debugger;
}

/* Its user may move the core between two questions, it selects the thread that stopped, and the core stays as
 * it is. */
TEST(gdb_itself_is_attended)
{
    struct gdb_server server;
    struct debugger_stop stop;
    uint64_t value;
    struct error errors[3] = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_gdb(&server);
    const struct debugger_ops *ops = debugger->ops;
    assert_string_equal(debugger->facts.name, "gdb localhost:1");
    assert_true(debugger->facts.is_attended && !debugger->facts.was_halted);
    assert_false(ops->breakpoint(debugger, 0x20000000, 2, true, &deadline, &errors[0]));
    assert_int_equal(errors[0].kind, ERROR_ADDRESS);
    assert_non_null(
        strstr(errors[0].text, "GDB cannot set a breakpoint at 0x20000000 (the server says E0e)"));
    assert_true(ops->go(debugger, DEBUGGER_RUN, &deadline, &errors[1]));
    assert_int_equal(ops->wait(debugger, &stop, &deadline, &errors[1]), DEBUGGER_STOPPED);
    assert_true(stop.why == DEBUGGER_OTHERS && stop.halts == 0x1c);
    for (int i = 0; i < 2; i++) {
        assert_true(ops->read_register(debugger, "pc", &value, &deadline, &errors[1]));
        assert_int_equal(value, 0x08000270);
    }
    assert_false(ops->read_register(debugger, "sp", &value, &deadline, &errors[2]));
    assert_int_equal(errors[2].kind, ERROR_FAULT);
    assert_true(ops->read_register(debugger, "pc", &value, &deadline, &errors[1]));
    assert_true(ops->go(debugger, DEBUGGER_STEP, &deadline, &errors[1]));
    assert_int_equal(ops->wait(debugger, &stop, &deadline, &errors[1]), DEBUGGER_STOPPED);
    assert_int_equal(stop.halts, 0); /* too many to be true */
    assert_true(ops->let_go(debugger, &errors[1]));
    ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_non_null(strstr(server.asked, "pf\npf\npd\ng\npf\n"));
    assert_null(strstr(server.asked, "Hg2"));
    assert_null(strstr(server.asked, "D\n"));
}

TEST(gdb_that_is_gone)
{
    struct gdb_server server;
    uint64_t value;
    struct error errors[2] = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_gdb(&server);
    shutdown(server.own, SHUT_RDWR);
    assert_false(debugger->ops->read_register(debugger, "pc", &value, &deadline, &errors[0]));
    assert_int_equal(errors[0].kind, ERROR_LINK_LOST);
    assert_string_equal(errors[0].text, "GDB closed the connection");
    debugger->undoing = true; /* and nobody listens at localhost:1 */
    assert_false(debugger->ops->read_register(debugger, "pc", &value, &deadline, &errors[1]));
    assert_int_equal(errors[1].kind, ERROR_LINK_LOST);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    struct error error = {0};
    assert_null(gdb_remote_open(-1, true, NULL, &deadline, &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
}

/* Those that serve one client at a time do so to the second. */
TEST(test_a_server_that_hangs_up)
{
    struct gdb_server server;
    struct error error = {0};
    struct deadline deadline = limit();
    gdb_server_start(&server, NULL);
    shutdown(server.own, SHUT_RDWR);
    assert_null(gdb_remote_open(server.fd, false, NULL, &deadline, &error));
    assert_int_equal(error.kind, ERROR_NO_PROBE);
    assert_non_null(strstr(error.text, "one client at a time"));
    gdb_server_stop(&server);
}

TEST(test_nobody_listens)
{
    struct error error = {0};
    struct deadline deadline = limit();
    assert_null(gdb_remote_connect("127.0.0.1", 1, NULL, &deadline, &error));
    assert_int_equal(error.kind, ERROR_NO_PROBE);
}

/* Does not answer a resume, and stops at its breakpoint just when it is asked to stop, as OpenOCD may. */
static const struct gdb_answer late[] = {
    {"vCont;c", NULL, false},
    {"\x03", "T05", false},
    {"qRcmd,76657273696f6e", "4f70656e204f6e2d4368697020446562756767657220302e31322e30", false},
    {"D", "OK", false},
    {NULL, NULL, false}};

/* As gdbserver: it has no version, and reads no packets while its program runs. */
static const struct gdb_answer alone[] = {
    {"vCont;c", NULL, false}, {"\x03", "T05", false}, {"D", "OK", false}, {NULL, NULL, false}};

static struct debugger *stop_too_late(struct gdb_server *server, const struct gdb_answer *answers)
{
    struct error error = {0};
    struct debugger_stop stop = {0};
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(server, answers);
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
    struct deadline deadline = limit();
    struct debugger *debugger = stop_too_late(&server, late);
    assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    gdb_server_send(&server, "$T02#b6$T05#b9", 14);
    assert_int_equal(debugger->ops->wait(debugger, &stop, &deadline, &error), DEBUGGER_STOPPED);
    assert_int_equal(stop.why, DEBUGGER_TRAP);
    /* Only one: the next stop is not ours */
    assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    gdb_server_send(&server, "$T02#b6", 7);
    assert_int_equal(debugger->ops->wait(debugger, &stop, &deadline, &error), DEBUGGER_STOPPED);
    assert_int_equal(stop.why, DEBUGGER_REQUESTED);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_int_equal(times_asked(&server, "vCont;c\n"), 4);
}

/* It takes longer to halt the core than is waited for, and answers after that. */
TEST(test_the_session_outlasts_it)
{
    static const struct gdb_answer slow[] = {
        {"vCont;c", NULL, false},
        {"\x03", "T05", false},
        {"qRcmd,76657273696f6e", "4f70656e204f6e2d4368697020446562756767657220302e31322e30", false},
        {OPENOCD_RESUME, "$T02#b6$OK#9a", true},
        {"D", "OK", false},
        {NULL, NULL, false}};
    struct gdb_server server;
    struct debugger *debugger = stop_too_late(&server, slow);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    const char *resume = strstr(server.asked, "726573756d65");
    assert_non_null(resume);
    assert_non_null(strstr(server.asked, "vCont;c\nvCont;c\n" OPENOCD_RESUME));
    assert_non_null(strstr(resume, "\nD\n"));
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
    struct deadline deadline = limit();
    struct debugger *debugger = open_server(&server, prompt);
    for (int i = 0; i < 2; i++) {
        assert_true(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
        assert_true(debugger_halt(debugger, &stop, &error));
        assert_int_equal(stop.why, DEBUGGER_REQUESTED);
    }
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_int_equal(times_asked(&server, "vCont;c\n"), 2);
}

/* gdbserver with a program: signals pass, and the CPU of its stop is known. */
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
    struct deadline deadline = limit();
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
    assert_true(thread != NULL && thread < description); /* gdbserver crashes in the other order */
    assert_non_null(strstr(server.asked, "i386"));
    assert_non_null(strstr(server.asked, ";1e;1f;2d;2e;"));
    assert_non_null(strstr(server.asked, ";4b\n"));
}

/* A malformed CPU number is ignored. */
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
