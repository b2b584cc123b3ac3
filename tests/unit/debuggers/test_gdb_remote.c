/*
 * The client of a GDB server: its questions, its answers, a request to stop that is too late, and a server
 * that debugs a program.
 */
#include "debuggers/debugger.h"

#include "gdb_server.h"

enum { LIMIT_MS = 10000, SHORT_MS = 50 };

/* Of the test that runs: cleared when a server is opened. */
static struct gdb_server server;
static struct debugger *debugger;
static struct debugger_stop stop;
static struct error error;
static struct deadline deadline;
static uint32_t word;
static uint64_t value;

static void begin(int64_t ms)
{
    error_clear(&error);
    stop = (struct debugger_stop){0};
    deadline = deadline_in_ms(ms, NULL);
}

static void open_as(const struct gdb_answer *first, bool gdb_itself)
{
    begin(LIMIT_MS);
    gdb_server_start(&server, first);
    debugger = gdb_remote_open(server.fd, gdb_itself, NULL, &deadline, &error);
    assert_string_equal(error.text, "");
    assert_non_null(debugger);
}

static void open_server(const struct gdb_answer *first)
{
    open_as(first, false);
}

static void close_server(bool resume)
{
    debugger->ops->close(debugger, resume);
    gdb_server_stop(&server);
}

static bool read_word(uint64_t address)
{
    return debugger->ops->read_memory(debugger, address, &word, 4, &deadline, &error);
}

static void assert_word(uint64_t address, uint32_t expected)
{
    assert_true(read_word(address));
    assert_int_equal(word, expected);
}

static bool write_bytes(uint64_t address, const void *bytes, size_t n)
{
    return debugger->ops->write_memory(debugger, address, bytes, n, &deadline, &error);
}

static bool read_register(const char *name)
{
    return debugger->ops->read_register(debugger, name, &value, &deadline, &error);
}

static void assert_register(const char *name, uint64_t expected)
{
    assert_true(read_register(name));
    assert_int_equal(value, expected);
}

static bool set_breakpoint(uint64_t address)
{
    return debugger->ops->breakpoint(debugger, address, 2, true, &deadline, &error);
}

static void go(enum debugger_go how)
{
    assert_true(debugger->ops->go(debugger, how, &deadline, &error));
}

static enum debugger_wait wait_ms(int64_t ms)
{
    struct deadline until = deadline_in_ms(ms, NULL);
    return debugger->ops->wait(debugger, &stop, &until, &error);
}

static void assert_stops(enum debugger_why why)
{
    assert_int_equal(wait_ms(LIMIT_MS), DEBUGGER_STOPPED);
    assert_int_equal(stop.why, why);
}

TEST(test_facts)
{
    static const struct gdb_answer openocd[] = {
        {"qRcmd,76657273696f6e", "4f70656e204f6e2d4368697020446562756767657220302e31322e30", false},
        {NULL, NULL, false}};
    static const struct gdb_answer qemu[] = {{"qSupported", "PacketSize=1000", false},
                                             {"qqemu.sstepbits", "ENABLE=1,NOIRQ=2,NOTIMER=4", false},
                                             {NULL, NULL, false}};
    open_server(openocd);
    assert_int_equal(debugger->facts.server, SERVER_OPENOCD);
    assert_string_equal(debugger->facts.architecture, "arm");
    assert_int_equal(debugger->facts.profile, PROFILE_M);
    assert_false(debugger->facts.is_emulator);
    close_server(true);
    assert_has(server.asked, "63757273746174655d\nD\n"); /* "{resume}}": its own D does not */
    open_server(qemu);                                   /* acknowledged, and no description */
    assert_true(debugger->facts.is_emulator);
    assert_int_equal(debugger->facts.profile, PROFILE_UNKNOWN);
    close_server(false);
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
    uint8_t bytes[32] = {0};
    open_server(answers);
    assert_word(0x20000000, 0x12345678);
    assert_fails(read_word(0x20000010), &error, ERROR_FAULT, "");
    assert_fails(read_word(0x20000020), &error, ERROR_FAULT, "");
    word = 0x12345678;
    assert_true(write_bytes(0x20000000, &word, 4));
    assert_fails(write_bytes(0x20000010, &word, 4), &error, ERROR_FAULT, "");
    assert_true(write_bytes(0x20000000, bytes, sizeof bytes));
    close_server(true);
}

/* Else each number would be the one before. */
TEST(an_answer_that_comes_twice_is_not_the_next_ones)
{
    static const struct gdb_answer answers[] = {{"m20000000,4", "$78563412#a4$78563412#a4", true},
                                                {"m20000010,4", "11111111", false},
                                                {"m20000020,4", "$T05#b9$O#4f$22222222#90$T05#b9", true},
                                                {"m20000030,4", "33333333", false},
                                                {NULL, NULL, false}};
    open_server(answers);
    assert_word(0x20000020, 0x22222222);
    assert_word(0x20000030, 0x33333333);
    assert_true(read_word(0x20000000));
    assert_fails(read_word(0x20000010), &error, ERROR_LINK_PROTOCOL, "answers what it was not asked");
    close_server(true);
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
    open_server(answers);
    assert_register("pc", 0x08000270);
    assert_register("lr", 0x08000001);
    assert_fails(read_register("psp"), &error, ERROR_FAULT, "");
    close_server(true);
    assert_null(strstr(server.asked, "pf\n"));
    open_server(only_all);
    assert_register("pc", 0x44);
    assert_register("sp", 0x22);
    close_server(true);
}

TEST(test_run_and_stop)
{
    static const struct gdb_answer answers[] = {{"Z1,8000270,2", "OK", false},
                                                {"Z1,20000000,2", "E0e", false},
                                                {"vCont;c", "$O6869#2c$T05hwbreak:;thread:p1.2;#00", true},
                                                {"vCont;s:p1.2", NULL, false},
                                                {"\x03", "T02thread:p1.2;", false},
                                                {NULL, NULL, false}};
    open_server(answers);
    assert_true(set_breakpoint(0x8000270));
    assert_fails(set_breakpoint(0x20000000), &error, ERROR_ADDRESS, "");
    go(DEBUGGER_RUN);
    assert_stops(DEBUGGER_TRAP);
    assert_string_equal(stop.thread, "p1.2");
    /* That thread is the one to step, and it never stops by itself */
    go(DEBUGGER_STEP);
    assert_int_equal(wait_ms(SHORT_MS), DEBUGGER_RUNS);
    assert_true(debugger->ops->is_running(debugger));
    assert_fails(read_word(0), &error, ERROR_FAULT, "a GDB server shows only a halted core");
    assert_true(debugger->ops->interrupt(debugger, &error));
    assert_stops(DEBUGGER_REQUESTED);
    assert_false(debugger->ops->is_running(debugger));
    close_server(true);
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
    for (size_t i = 0; i < COUNT(stops); i++) {
        const struct gdb_answer answers[] = {{"vCont;c", stops[i].reply, false}, {NULL, NULL, false}};
        open_server(answers);
        go(DEBUGGER_RUN);
        assert_stops(stops[i].why);
        close_server(true);
    }
}

TEST(test_the_core_is_gone)
{
    static const struct gdb_answer answers[] = {{"vCont;c", "W00", false}, {NULL, NULL, false}};
    open_server(answers);
    go(DEBUGGER_RUN);
    assert_int_equal(wait_ms(LIMIT_MS), DEBUGGER_GONE);
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    close_server(true);
}

TEST(test_monitor)
{
    static const struct gdb_answer answers[] = {
        {"qRcmd,61", "$O6869#2c$O0a#e0$OK#9a", true},
        {"qRcmd,64", "$O#4f$6869#dd", true}, /* OpenOCD is still there */
        {"qRcmd,62", "6869", false},
        {"qRcmd,63", "E01", false},
        {NULL, NULL, false}};
    char text[32];
    open_server(answers);
    assert_true(debugger->ops->monitor(debugger, "a", text, sizeof text, &deadline, &error));
    assert_string_equal(text, "hi\n");
    assert_true(debugger->ops->monitor(debugger, "a", text, 2, &deadline, &error));
    assert_string_equal(text, "h");
    assert_true(debugger->ops->monitor(debugger, "b", text, sizeof text, &deadline, &error));
    assert_string_equal(text, "hi");
    assert_true(debugger->ops->monitor(debugger, "d", text, sizeof text, &deadline, &error));
    assert_string_equal(text, "hi");
    assert_fails(debugger->ops->monitor(debugger, "c", text, sizeof text, &deadline, &error), &error,
                 ERROR_FAULT, "");
    close_server(true);
}

/* An answer that arrives too late must not be taken for that of the next question. */
TEST(test_silence_ends_it)
{
    static const struct gdb_answer answers[] = {
        {"m20000000", NULL, false}, {"m", "00000000", false}, {NULL, NULL, false}};
    open_server(answers);
    struct deadline soon = deadline_in_ms(SHORT_MS, NULL);
    assert_fails(debugger->ops->read_memory(debugger, 0x20000000, &word, 4, &soon, &error), &error,
                 ERROR_LINK_LOST, "");
    assert_fails(read_word(0x20000004), &error, ERROR_LINK_LOST, "");
    close_server(true);
}

/* Acknowledged packets are sent again when they were damaged, either way. */
TEST(test_damage_is_mended)
{
    static const struct gdb_answer answers[] = {
        {"qSupported", "", false}, {"?", "-$S05#00$S05#b8", true}, {NULL, NULL, false}};
    open_server(answers);
    close_server(true);
    assert_has(server.asked, "?\n?\n");
}

TEST(test_servers_that_are_none)
{
    static const struct {
        struct gdb_answer answers[2];
        int64_t ms;
        enum error_kind kind;
        const char *words;
    } servers[] = {
        {{{"qSupported", NULL, false}}, SHORT_MS, ERROR_NOT_A_PROBE, "is open, but silent"},
        {{{"qSupported", "$a#00$a#00$a#00$a#00$a#00$a#00", true}},
         LIMIT_MS,
         ERROR_LINK_PROTOCOL,
         "checksums"},
        {{{"qSupported", "------", true}}, LIMIT_MS, ERROR_LINK_PROTOCOL, "again and again"},
        {{{"?", "W00", false}}, LIMIT_MS, ERROR_NO_CORE, "no core"},
        {{{"?", "OK", false}}, LIMIT_MS, ERROR_NOT_A_PROBE, "does not say where"},
        {{{"qXfer:", "l<target><xi:include href=\"target.xml\"/></target>", false}},
         LIMIT_MS,
         ERROR_LINK_PROTOCOL,
         "includes itself"},
        {{{"qXfer:", "m<!--", false}}, LIMIT_MS, ERROR_LINK_PROTOCOL, "too long"},
        {{{"qXfer:", "m", false}}, LIMIT_MS, ERROR_LINK_PROTOCOL, "does not say"},
    };
    for (size_t i = 0; i < COUNT(servers); i++) {
        begin(servers[i].ms);
        gdb_server_start(&server, servers[i].answers);
        assert_null(gdb_remote_open(server.fd, false, NULL, &deadline, &error));
        assert_error(&error, servers[i].kind, servers[i].words);
        gdb_server_stop(&server);
    }
}

/* ---- a connection that breaks in the middle */

/* "catch {[target current] arp_poll}; set pmu_was" */
#define OPENOCD_POLL_FIRST                                                                                   \
    "6361746368207b5b7461726765742063757272656e745d"                                                         \
    "206172705f706f6c6c7d3b2073657420706d755f776173"
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
    open_server(answers);
    assert_fails(read_word(0x20000000), &error, ERROR_LINK_PROTOCOL, "");
    /* Nothing more is measured over it */
    assert_fails(read_word(0x20000010), &error, ERROR_LINK_LOST, "");
    debugger->undoing = true;
    assert_word(0x20000010, 0x11111111);
    debugger->undoing = false;
    assert_false(debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, &error));
    error_clear(&error);
    assert_true(debugger->ops->let_go(debugger, &error));
    close_server(true);
    assert_has(server.asked, "63757273746174655d\nD\n"); /* "{resume}}" */
}

/* The server has halted the core for the connection. */
TEST(a_run_that_is_cancelled_before_the_first_word_lets_the_core_go)
{
    static const volatile sig_atomic_t cancelled = 1;
    const struct gdb_answer answers[] = {
        openocd_version, {OPENOCD_RESUME, "OK", false}, {"D", "OK", false}, {NULL, NULL, false}};
    begin(LIMIT_MS);
    deadline.cancel = &cancelled;
    gdb_server_start(&server, answers);
    assert_null(gdb_remote_open(server.fd, false, NULL, &deadline, &error));
    assert_error_is(&error, ERROR_CANCELLED, "cancelled");
    gdb_server_stop(&server);
    assert_has(server.asked, "63757273746174655d\nD\n");
}

TEST(a_core_that_halts_at_once_after_it_was_let_go_is_reported)
{
    const struct gdb_answer answers[] = {openocd_version,
                                         {OPENOCD_RESUME,
                                          "706d75207761732068616c7465642c2069732068616c7465640a",
                                          false}, /* "pmu was halted, is halted" */
                                         {"D", "OK", false},
                                         {NULL, NULL, false}};
    open_server(answers);
    assert_false(debugger->ops->let_go(debugger, &error));
    assert_has(error.text, "the core is left halted: it was let go, and something stopped it");
    close_server(true);
}

TEST(a_core_that_stays_halted_is_told)
{
    const struct gdb_answer answers[] = {
        openocd_version, {"Z1", "OK", false}, {"m", NULL, false}, {NULL, NULL, false}};
    open_server(answers);
    assert_true(set_breakpoint(0x100));
    struct deadline soon = deadline_in_ms(SHORT_MS, NULL);
    assert_false(debugger->ops->read_memory(debugger, 0x20000000, &word, 4, &soon, &error));
    error_clear(&error);
    server.then = NULL; /* it says nothing from here on */
    server.first = (const struct gdb_answer[]){{"", NULL, false}, {NULL, NULL, false}};
    assert_fails(debugger->ops->let_go(debugger, &error), &error, ERROR_LINK_LOST, "the core is left halted");
    close_server(true);
    /* It was sent all the same: "catch {rbp 0x100}; ", and what a resume is */
    const char *blind =
        strstr(server.asked, "qRcmd,6361746368207b7262702030783130307d3b20" OPENOCD_POLL_FIRST);
    assert_non_null(blind);
    assert_has(blind, "63757273746174655d\nD\n");
}

static const struct gdb_answer gdb_itself[] = {
    {"qSupported", "PacketSize=4000;QStartNoAckMode+;qXfer:features:read+;pmu.server=localhost:1", false},
    {"?", "T05thread:2;", false},
    {"Z1,20000000", "E.the server says E0e", false},
    {"pf", "7002000800000000", false},
    {"pd", "xxxxxxxxxxxxxxxx", false},
    {"vCont;c", "T05thread:2;halts:1c;steps:e;others:;", false},
    {"vCont;s", "T05halts:1000001;", false},
    {NULL, NULL, false}};

/* Its user may move the core between two questions, it selects the thread that stopped, and the core stays as
 * it is. */
TEST(gdb_itself_is_attended)
{
    open_as(gdb_itself, true);
    assert_string_equal(debugger->facts.name, "gdb localhost:1");
    assert_true(debugger->facts.is_attended && !debugger->facts.was_halted);
    assert_fails(set_breakpoint(0x20000000), &error, ERROR_ADDRESS,
                 "GDB cannot set a breakpoint at 0x20000000 (the server says E0e)");
    go(DEBUGGER_RUN);
    assert_fails(read_word(0), &error, ERROR_FAULT, "GDB shows only a halted core");
    assert_int_equal(wait_ms(LIMIT_MS), DEBUGGER_STOPPED);
    assert_true(stop.why == DEBUGGER_OTHERS && stop.halts == 0x1c && stop.steps == 0xe);
    for (int i = 0; i < 2; i++) {
        assert_register("pc", 0x08000270);
    }
    assert_fails(read_register("sp"), &error, ERROR_FAULT, "");
    assert_true(read_register("pc"));
    go(DEBUGGER_STEP);
    assert_int_equal(wait_ms(LIMIT_MS), DEBUGGER_STOPPED);
    assert_int_equal(stop.halts, 0); /* too many to be true */
    assert_true(debugger->ops->let_go(debugger, &error));
    close_server(true);
    assert_has(server.asked, "pf\npf\npd\ng\npf\n");
    assert_null(strstr(server.asked, "Hg2"));
    assert_null(strstr(server.asked, "D\n"));
}

TEST(gdb_that_is_gone)
{
    open_as(gdb_itself, true);
    shutdown(server.own, SHUT_RDWR);
    assert_false(read_register("pc"));
    assert_error_is(&error, ERROR_LINK_LOST, "GDB closed the connection");
    debugger->undoing = true; /* and nobody listens at localhost:1 */
    assert_fails(read_register("pc"), &error, ERROR_LINK_LOST, "");
    close_server(true);
    assert_null(gdb_remote_open(-1, true, NULL, &deadline, &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
}

/* Those that serve one client at a time do so to the second. */
TEST(test_a_server_that_hangs_up)
{
    begin(LIMIT_MS);
    gdb_server_start(&server, NULL);
    shutdown(server.own, SHUT_RDWR);
    assert_null(gdb_remote_open(server.fd, false, NULL, &deadline, &error));
    assert_error(&error, ERROR_NO_PROBE, "one client at a time");
    gdb_server_stop(&server);
}

TEST(test_nobody_listens)
{
    begin(LIMIT_MS);
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

static void stop_too_late(const struct gdb_answer *answers)
{
    open_server(answers);
    go(DEBUGGER_RUN);
    assert_true(debugger_halt(debugger, &stop, &error));
    assert_int_equal(stop.why, DEBUGGER_TRAP);
}

static unsigned times_asked(const char *words)
{
    unsigned n = 0;
    for (const char *at = server.asked; (at = strstr(at, words)) != NULL; at++)
        n++;
    return n;
}

TEST(test_a_belated_stop_is_passed_over)
{
    stop_too_late(late);
    go(DEBUGGER_RUN);
    gdb_server_send(&server, "$T02#b6$T05#b9", 14);
    assert_stops(DEBUGGER_TRAP);
    /* Only one: the next stop is not ours */
    go(DEBUGGER_RUN);
    gdb_server_send(&server, "$T02#b6", 7);
    assert_stops(DEBUGGER_REQUESTED);
    close_server(true);
    assert_int_equal(times_asked("vCont;c\n"), 4);
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
    stop_too_late(slow);
    close_server(true);
    const char *resume = strstr(server.asked, "726573756d65");
    assert_non_null(resume);
    assert_has(server.asked, "vCont;c\n" OPENOCD_RESUME);
    assert_has(resume, "\nD\n");
}

static const char was_halted[] = "706d75207761732068616c7465642c2069732072756e6e696e670a";
static const char was_running[] = "706d75207761732072756e6e696e672c2069732072756e6e696e670a";

/* OpenOCD lets the core run, and then halts it for a request of before: only one that is found running runs.
 */
TEST(a_core_runs_once_it_is_found_running)
{
    struct gdb_answer answers[] = {
        openocd_version, {OPENOCD_RESUME, was_halted, false}, {"D", "OK", false}, {NULL, NULL, false}};
    open_server(answers);
    assert_fails(debugger->ops->let_go(debugger, &error), &error, ERROR_LINK_LOST, "something stopped it");
    close_server(true);
    assert_int_equal(times_asked(OPENOCD_RESUME), 3);
    answers[1].answer = was_running;
    open_server(answers);
    assert_true(debugger->ops->let_go(debugger, &error));
    close_server(true);
    assert_int_equal(times_asked(OPENOCD_RESUME), 1);
}

/* The stop that an earlier request made crosses the next request, which is still owed. */
TEST(a_stop_that_two_requests_wait_for_answers_one)
{
    stop_too_late(late);
    go(DEBUGGER_RUN);
    gdb_server_send(&server, "$T02#b6", 7);
    assert_true(debugger->ops->interrupt(debugger, &error));
    assert_stops(DEBUGGER_REQUESTED);
    go(DEBUGGER_RUN);
    assert_stops(DEBUGGER_TRAP);
    go(DEBUGGER_RUN);
    gdb_server_send(&server, "$T02#b6$T05#b9", 14);
    assert_stops(DEBUGGER_TRAP);
    close_server(true);
}

TEST(test_good_bye_is_said_where_it_is_heard)
{
    stop_too_late(alone);
    close_server(true);
    assert_has(server.asked, "vCont;c\nvCont;c\nD\n");
    assert_int_equal(server.interrupts, 2);
}

TEST(test_a_request_in_time_is_owed_nothing)
{
    static const struct gdb_answer prompt[] = {
        {"vCont;c", NULL, false}, {"\x03", "T02", false}, {NULL, NULL, false}};
    open_server(prompt);
    for (int i = 0; i < 2; i++) {
        go(DEBUGGER_RUN);
        assert_true(debugger_halt(debugger, &stop, &error));
        assert_int_equal(stop.why, DEBUGGER_REQUESTED);
    }
    close_server(true);
    assert_int_equal(times_asked("vCont;c\n"), 2);
}

/* A halt that was requested of the old connection is not owed by the new one. */
TEST(a_new_connection_is_owed_nothing)
{
    static const struct gdb_answer dies[] = {
        {"vCont;c", NULL, false},           {"\x03", "T05", false}, {"m20000000,4", gdb_hangs_up, false},
        {"m20000010,4", "11111111", false}, {"D", "OK", false},     {NULL, NULL, false}};
    begin(LIMIT_MS);
    uint16_t port = gdb_server_listen(&server, dies);
    debugger = gdb_remote_connect("127.0.0.1", port, NULL, &deadline, &error);
    assert_string_equal(error.text, "");
    go(DEBUGGER_RUN);
    assert_true(debugger_halt(debugger, &stop, &error));
    assert_int_equal(stop.why, DEBUGGER_TRAP);
    assert_fails(read_word(0x20000000), &error, ERROR_LINK_LOST, "");
    debugger->undoing = true;
    assert_word(0x20000010, 0x11111111);
    assert_true(debugger->ops->let_go(debugger, &error));
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
    assert_int_equal(times_asked("vCont;c\n"), 1);
    assert_has(server.asked, "m20000010,4\nD\n");
}

/* A new connection halts the core, which had been found running: it is let go at the end. */
TEST(what_counts_is_how_the_core_was_found_first)
{
    const struct gdb_answer runs[] = {openocd_version,
                                      {"?", "S02", false},
                                      {"m20000000,4", gdb_hangs_up, false},
                                      {NULL, NULL, false}},
                            is_halted[] = {openocd_version,
                                           {"m20000010,4", "11111111", false},
                                           {OPENOCD_RESUME, "OK", false},
                                           {"D", "OK", false},
                                           {NULL, NULL, false}};
    begin(LIMIT_MS);
    uint16_t port = gdb_server_listen(&server, runs);
    debugger = gdb_remote_connect("127.0.0.1", port, NULL, &deadline, &error);
    assert_string_equal(error.text, "");
    assert_false(debugger->facts.was_halted);
    assert_fails(read_word(0x20000000), &error, ERROR_LINK_LOST, "");
    server.first = is_halted;
    debugger->undoing = true;
    assert_word(0x20000010, 0x11111111);
    assert_false(debugger->facts.was_halted);
    debugger->ops->close(debugger, true);
    gdb_server_stop(&server);
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
    open_server(program);
    assert_int_equal(debugger->facts.profile, PROFILE_X86_64);
    assert_true(debugger->facts.has_cpu);
    assert_int_equal(debugger->facts.cpu, 0x1A);
    assert_register("rip", 0x401126);
    assert_register("rsp", UINT64_C(0x7FFFFFFFE3F8));
    go(DEBUGGER_RUN);
    assert_int_equal(wait_ms(LIMIT_MS), DEBUGGER_GONE);
    assert_error_is(&error, ERROR_STATE, "the program has ended");
    close_server(true);
    const char *thread = strstr(server.asked, "Hg0\n"), *description = strstr(server.asked, "qXfer");
    assert_true(thread != NULL && thread < description); /* gdbserver crashes in the other order */
    assert_has(server.asked, "i386");
    assert_has(server.asked, ";1e;1f;2d;2e;");
    assert_has(server.asked, ";4b;4d;4e\n");
}

/* A malformed CPU number is ignored. */
TEST(test_no_cpu)
{
    static const char *const stops[] = {
        "T05core:;", "T05core:xyz;", "T05core:10000;", "T05core:1 ;", "T05cores:1;", "T05thread:1;", "S05"};
    struct gdb_answer answers[] = {{"?", NULL, false}, {NULL, NULL, false}};
    for (size_t i = 0; i < COUNT(stops); i++) {
        answers[0].answer = stops[i];
        open_server(answers);
        assert_false(debugger->facts.has_cpu);
        close_server(false);
    }
}
