/*
 * The ways to a target, run control through OpenOCD, and an OpenOCD of our own.
 */
#include "openocd_fake.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static struct address at(enum space space, uint16_t unit, uint64_t offset, uint8_t size)
{
    return (struct address){.space = (uint8_t)space, .size = size, .unit = unit, .offset = offset};
}

static struct outcome run(const struct step *steps, size_t n, uint64_t *results)
{
    return fake_run(&fake, steps, n, results);
}

static void assert_done(struct outcome outcome, size_t n)
{
    if (outcome.why != DONE || outcome.done != n)
        fail_msg("why %d, done %zu, %s", outcome.why, outcome.done, fake.error.text);
}

/* ---- paths */

CLEAN_TEST(test_mem_ap_beside_a_core_is_taken)
{
    struct step steps[] = {step_read(at(SPACE_MEMORY, 1, 0x100, 4)),
                           step_read(at(SPACE_MEMORY, 2, 0x100, 4))};
    uint64_t results[2];
    assert_done(run(steps, 2, results), 2);
    assert_string_equal(fake_eval(&fake, "join $asked ,"), "two.mem read 0x100 32 1,two.mem read 0x100 32 1");
}

CLEAN_TEST(test_access_port_of_a_core_without_mem_ap)
{
    struct step steps[] = {step_write(at(SPACE_MEMORY, 3, 0x80091004, 4), 0x11223344),
                           step_read(at(SPACE_MEMORY, 3, 0x80091000, 4)),
                           step_read(at(SPACE_MEMORY, 3, 0x80091004, 4)),
                           step_read(at(SPACE_MEMORY, 3, 0x80091008, 4))};
    uint64_t results[4];
    assert_done(run(steps, 4, results), 4);
    assert_int_equal(results[1], 0x80091000);
    assert_int_equal(results[2], 0x11223344);
    assert_int_equal(results[3], 0x80091008);
    /* AP 1 is the one of the APB kind. CSW without its increment, TAR once, then the banked registers */
    assert_string_equal(fake_eval(&fake, "join $asked ,"),
                        "tap.a apreg 1 0,tap.a apreg 1 0 2717909058,tap.a apreg 1 4 2148077568,"
                        "tap.a apreg 1 20 287454020,tap.a apreg 1 16,tap.a apreg 1 20,tap.a apreg 1 24");
    assert_string_equal(fake_eval(&fake, "format 0x%x $apreg(1,0)"), "0xa2000042");
}

CLEAN_TEST(test_parts_of_a_word_through_an_access_port)
{
    fake_eval(&fake, "set mem(0x80091004) 0x11223344");
    struct step steps[] = {
        step_read(at(SPACE_MEMORY, 3, 0x80091006, 2)), step_read(at(SPACE_MEMORY, 3, 0x80091007, 1)),
        step_write(at(SPACE_MEMORY, 3, 0x80091009, 1), 0xab), step_read(at(SPACE_MEMORY, 3, 0x80091008, 4))};
    uint64_t results[4];
    assert_done(run(steps, 4, results), 4);
    assert_int_equal(results[0], 0x1122);
    assert_int_equal(results[1], 0x11);
    assert_int_equal(results[3], 0xab00);
    assert_string_equal(fake_eval(&fake, "format 0x%x $apreg(1,0)"), "0xa2000042");
}

CLEAN_TEST(test_what_an_access_port_cannot_reach)
{
    struct step steps[] = {step_read(at(SPACE_MEMORY, 3, UINT64_C(0x100000000), 4))};
    uint64_t result;
    assert_int_equal(run(steps, 1, &result).why, TARGET_FAULT);
    assert_has(fake.error.text, "address beyond 32 bits");
    error_clear(&fake.error);
    steps[0] = step_read(at(SPACE_MEMORY, 3, 0x80091000, 8));
    assert_int_equal(run(steps, 1, &result).why, TARGET_FAULT);
    assert_has(fake.error.text, "no 64-bit access here");
}

CLEAN_TEST(test_ports_and_their_registers)
{
    struct step steps[] = {step_read(at(SPACE_AP, 1, 0xfc, 4)), step_read(at(SPACE_AP, 0x100, 0xfc, 4)),
                           step_read(at(SPACE_DP, 0, 0, 4)), step_write(at(SPACE_DP, 0, 8, 4), 0xf0),
                           step_read(at(SPACE_DP, 0x200, 0, 4))};
    uint64_t results[5];
    struct outcome outcome = run(steps, 5, results);
    assert_int_equal(outcome.why, TARGET_FAULT);
    assert_int_equal(outcome.done, 4);
    assert_int_equal(results[0], 0x44770002);
    assert_int_equal(results[1], 0x24770011);
    assert_int_equal(results[2], 0x2ba01477);
    assert_has(fake.error.text, "cannot read register 0x00 of the debug port: OpenOCD says: ");
    assert_string_equal(fake_eval(&fake, "join $asked ,"),
                        "tap.a apreg 1 0xfc,tap.b apreg 0 0xfc,tap.a dpreg 0x0,tap.a dpreg 0x8 0xf0");
}

CLEAN_TEST(test_wrong_registers_are_refused)
{
    struct step steps[] = {step_read(at(SPACE_AP, 0, 2, 4))};
    uint64_t result;
    assert_int_equal(run(steps, 1, &result).why, TARGET_FAULT);
    error_clear(&fake.error);
    steps[0] = step_read(at(SPACE_DP, 0, 0, 8));
    assert_int_equal(run(steps, 1, &result).why, TARGET_FAULT);
    assert_string_equal(fake_eval(&fake, "llength $asked"), "0");
}

/* ---- run control */

CLEAN_TEST(test_hold_leaves_polling_as_it_was)
{
    assert_true(link_hold(fake.link, true, &fake.error));
    assert_string_equal(fake_eval(&fake, "set polling"), "off");
    assert_true(link_hold(fake.link, true, &fake.error));
    assert_true(link_hold(fake.link, false, &fake.error));
    assert_string_equal(fake_eval(&fake, "set polling"), "on");
    /* The question goes to a target where it disturbs nothing */
    assert_string_equal(fake_eval(&fake, "join $asked ,"),
                        "select two.mem,poll,select one.cpu,poll off,poll off,poll on");
    fake_eval(&fake, "set polling off");
    assert_true(link_hold(fake.link, true, &fake.error));
    assert_true(link_hold(fake.link, false, &fake.error));
    assert_string_equal(fake_eval(&fake, "set polling"), "off");
    fake_eval(&fake, "set polling on");
}

static struct link *another(void)
{
    struct deadline deadline = in_ms(5000);
    struct link *other =
        openocd_connect("localhost", openocd_process_port(fake.process), NULL, &deadline, &fake.error);
    assert_non_null(other);
    return other;
}

CLEAN_TEST(test_close_ends_a_hold)
{
    struct link *other = another();
    assert_true(link_hold(other, true, &fake.error));
    assert_string_equal(fake_eval(&fake, "set polling"), "off");
    link_close(other);
    assert_string_equal(fake_eval(&fake, "set polling"), "on");
}

CLEAN_TEST(a_number_is_carried_out_once)
{
    static const char request[] = "pmu_execute 4611686018427387905 50 100 {0 0 32 0x50000000 1 0}";
    static const char late[] = "pmu_execute 4611686018427387904 50 100 {0 0 32 0x50000000 1 0}";
    char first[128];
    snprintf(first, sizeof first, "%s", fake_eval(&fake, request));
    assert_string_equal(fake_eval(&fake, request), first);
    fake_eval(&fake, late);
    assert_string_equal(fake_eval(&fake, "set counter"), "1");
    fake_eval(&fake, "set ::pmu_said {0 {}}");
}

/* As OpenOCD does every two seconds, and 10 s after the last request. */
static const char after_10_s[] = "set ::pmu_seen 1; pmu_look_at_holder; set polling";

/* Its process is suspended, or the network stalls. */
CLEAN_TEST(a_hold_lasts_as_long_as_its_connection)
{
    struct link *other = another();
    assert_true(link_hold(other, true, &fake.error));
    assert_string_equal(fake_eval(&fake, after_10_s), "off");
    /* Not known whether it is open: no Linux */
    fake_eval(&fake, "set known $::pmu_sockets; set ::pmu_sockets {}");
    assert_string_equal(fake_eval(&fake, after_10_s), "off");
    fake_eval(&fake, "set ::pmu_sockets $known");
    assert_string_equal(fake_eval(&fake, after_10_s), "off");
    assert_true(link_hold(other, false, &fake.error));
    link_close(other);
}

/* Killed: nothing ends its hold. */
CLEAN_TEST(a_hold_lapses_after_its_connection)
{
    uint64_t result;
    struct step step = step_read(at(SPACE_MEMORY, 1, 0x100, 4));
    assert_true(link_hold(fake.link, true, &fake.error));
    fake_eval(&fake, "set ::pmu_sockets {0}");
    assert_string_equal(fake_eval(&fake, "pmu_look_at_holder; set polling"), "off");
    assert_string_equal(fake_eval(&fake, after_10_s), "on");
    assert_done(run(&step, 1, &result), 1);
    assert_string_equal(fake_eval(&fake, "set polling"), "off");
    assert_true(link_hold(fake.link, false, &fake.error));
    assert_string_equal(fake_eval(&fake, "set polling"), "on");
}

/* ---- other clients */

static enum why heeding_read(uint16_t unit, bool heeds)
{
    static const volatile sig_atomic_t cancel;
    uint64_t result;
    struct step step = step_read(at(SPACE_MEMORY, unit, 0x100, 4));
    struct deadline deadline = deadline_in_ms(3000, heeds ? &cancel : NULL);
    error_clear(&fake.error);
    return link_execute(fake.link, &step, 1, &result, &deadline, &fake.error).why;
}

/* OpenOCD's events, of which none is from a command of ours. */
CLEAN_TEST(test_another_client_moves_the_core)
{
    fake_eval(&fake, "pmu_meet one.cpu step-start"); /* nobody holds it */
    assert_true(link_hold(fake.link, true, &fake.error));
    fake_eval(&fake, "pmu_meet one.cpu step-start"); /* and nobody has used it */
    assert_int_equal(heeding_read(0, true), DONE);
    fake_eval(&fake, "pmu_meet two.cpu resume-start; pmu_meet two.cpu resume-end; pmu_meet one.cpu resumed");
    fake_eval(&fake, "pmu_meet one.cpu halted"); /* as a poll finds it */
    assert_int_equal(heeding_read(0, true), DONE);
    fake_eval(&fake, "pmu_meet one.cpu step-start; pmu_meet one.cpu resume-start");
    assert_int_equal(heeding_read(0, false), DONE); /* puts something back */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(heeding_read(0, true), LINK_LOST);
        assert_int_equal(fake.error.kind, ERROR_MOVED);
        assert_has(fake.error.text, " stepped the core");
    }
    fake_eval(&fake, "pmu_meet one.cpu reset-start");
    assert_int_equal(heeding_read(0, true), LINK_LOST);
    assert_int_equal(fake.error.kind, ERROR_RESET);
    assert_int_equal(heeding_read(0, true), DONE);
    /* A core that another one takes along */
    fake_eval(&fake, "pmu_meet two.cpu resume-start; pmu_meet one.cpu resumed; pmu_meet two.cpu resume-end");
    assert_int_equal(heeding_read(0, true), LINK_LOST);
    assert_has(fake.error.text, " resumed the core");
    assert_true(link_hold(fake.link, false, &fake.error));
    assert_int_equal(heeding_read(0, true), DONE);
}

/* OpenOCD changes the registers of one of these as it reads them. */
CLEAN_TEST(test_another_client_looks_at_an_a_core)
{
    assert_true(link_hold(fake.link, true, &fake.error));
    assert_int_equal(heeding_read(3, true), DONE);
    fake_eval(&fake, "pmu_meet three.cpu halted");
    assert_int_equal(heeding_read(3, true), LINK_LOST);
    assert_has(fake.error.text, " halted the core");
    assert_true(link_hold(fake.link, false, &fake.error));
}

CLEAN_TEST(test_server_runs_and_halts)
{
    struct deadline deadline = in_ms(3000);
    assert_true(link_server_run(fake.link, 0, false, &deadline, &fake.error));
    assert_string_equal(fake_eval(&fake, "set state(one.cpu)"), "halted");
    assert_true(link_server_run(fake.link, 0, false, &deadline, &fake.error));
    assert_true(link_server_run(fake.link, 0, true, &deadline, &fake.error));
    assert_true(link_server_run(fake.link, 0, true, &deadline, &fake.error));
    assert_string_equal(fake_eval(&fake, "join $asked ,"),
                        "poll one.cpu,select one.cpu,halt one.cpu,poll one.cpu,"
                        "poll one.cpu,select one.cpu,resume one.cpu,poll one.cpu");
    assert_fails(link_server_run(fake.link, 7, true, &deadline, &fake.error), &fake.error, ERROR_NO_CORE, "");
    assert_false(link_server_run(fake.link, 2, true, &deadline, &fake.error));
    assert_string_equal(fake.error.text, "two.mem is not a core");
}

CLEAN_TEST(test_a_core_that_does_not_halt)
{
    struct deadline deadline = in_ms(150);
    assert_false(link_server_run(fake.link, 1, false, &deadline, &fake.error));
    assert_error_is(&fake.error, ERROR_ASLEEP, "two.cpu does not halt");
}

CLEAN_TEST(test_a_refused_resume_is_told)
{
    struct deadline deadline = in_ms(1000);
    fake_eval(&fake, "rename resume resume_; proc resume {} { error \"no [format %c 26] way\\nout\" };"
                     "set state(three.cpu) halted");
    assert_false(link_server_run(fake.link, 3, true, &deadline, &fake.error));
    assert_string_equal(fake.error.text, "cannot resume three.cpu: OpenOCD says: no way; out");
    fake_eval(&fake, "rename resume {}; rename resume_ resume");
}

/* ---- OpenOCD's own commands, where they work without an adapter */

static const char dummy_tcl[] =
    "adapter driver dummy; transport select jtag; adapter speed 100;"
    "jtag newtap x cpu -irlen 4; target create x.cpu testee -chain-position x.cpu";

CLEAN_TEST(test_real_polling)
{
    struct fake real;
    fake_start(&real, dummy_tcl);
    struct link_view view;
    assert_int_equal(link_views(real.link, &view, 1, &real.error), 1);
    assert_string_equal(view.name, "x.cpu");
    assert_false(view.is_core);
    for (int on = 1; on >= 0; on--) {
        const char *how = on ? "background polling: on" : "background polling: off";
        fake_eval(&real, on ? "poll on" : "poll off");
        assert_true(link_hold(real.link, true, &real.error));
        assert_has(fake_eval(&real, "poll"), "background polling: off");
        assert_true(link_hold(real.link, false, &real.error));
        assert_has(fake_eval(&real, "poll"), how);
    }
    struct step step = step_read(at(SPACE_MEMORY, 0, 0x100, 4));
    uint64_t result;
    struct deadline deadline = in_ms(1000);
    assert_int_equal(link_execute(real.link, &step, 1, &result, &deadline, &real.error).why, TARGET_FAULT);
    assert_has(real.error.text, "cannot read 0x00000100 (4 bytes) on x.cpu: OpenOCD says: ");
    fake_stop(&real);
}

/* ---- an OpenOCD of ours */

static struct link *start_ours(const char **options, size_t n, int64_t ms)
{
    struct deadline deadline = in_ms(ms);
    error_clear(&fake.error);
    return openocd_start(NULL, options, n, n, NULL, &deadline, &fake.error);
}

CLEAN_TEST(test_ours_is_named_by_its_options_and_stopped)
{
    const char *options[] = {"-c", dummy_tcl};
    struct link *link = start_ours(options, 2, 10000);
    if (link == NULL)
        fail_msg("%s", fake.error.text);
    char name[128];
    link_describe(link, name, 40);
    assert_string_equal(name, "openocd -c adapter driver dummy; transp");
    link_close(link);
}

CLEAN_TEST(test_answers_are_not_printed)
{
    struct step step = step_read(at(SPACE_MEMORY, 0, 0x100, 4));
    char words[4096];
    uint64_t result;
    assert_done(run(&step, 1, &result), 1);
    openocd_process_last_words(fake.process, words, sizeof words);
    assert_has(words, "accepting 'tcl' connection");
    assert_null(strstr(words, "pmu "));
}

CLEAN_TEST(test_why_ours_does_not_start)
{
    const char *missing[] = {"-f", "no-such-board.cfg"}, *no_init[] = {"-c", "noinit"};
    const char *no_port[] = {"-c", "noinit; tcl_port disabled"};
    assert_null(start_ours(missing, 2, 10000));
    assert_int_equal(fake.error.kind, ERROR_SERVER);
    assert_has(fake.error.text, "OpenOCD could not start: ");
    assert_has(fake.error.text, "no-such-board.cfg");
    assert_null(start_ours(no_init, 2, 10000));
    assert_has(fake.error.text, "waits for its `init` command");
    assert_null(start_ours(no_port, 2, 300));
    assert_has(fake.error.text, "did not open its Tcl port in time");
}

CLEAN_TEST(test_adapter_that_is_not_there)
{
    const char *options[] = {"-c", "adapter driver remote_bitbang; remote_bitbang host localhost;"
                                   "remote_bitbang port 1; transport select jtag"};
    assert_null(start_ours(options, 2, 10000));
    assert_int_equal(fake.error.kind, ERROR_SERVER);
    if (strstr(fake.error.text, "OpenOCD could not start: Error on socket") == NULL)
        fail_msg("%s", fake.error.text);
}

CLEAN_TEST(test_no_openocd_installed)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    struct link *link = start_ours(NULL, 0, 1000);
    setenv("PATH", path, 1);
    assert_null(link);
    assert_string_equal(fake.error.text, "openocd is not in PATH");
}

CLEAN_TEST(test_ours_dies)
{
    const char *options[] = {"-c", fake_tcl, "-c", "proc fake_read {args} { kill KILL [pid] }"};
    struct deadline deadline = in_ms(10000);
    struct link *link = start_ours(options, 4, 10000);
    if (link == NULL)
        fail_msg("%s", fake.error.text);
    struct step step = step_read(at(SPACE_MEMORY, 0, 0x100, 4));
    uint64_t result;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(link_execute(link, &step, 1, &result, &deadline, &fake.error).why, LINK_LOST);
        assert_int_equal(fake.error.kind, ERROR_LINK_LOST);
        assert_non_null(
            strstr(fake.error.text, i == 0 ? "closed the connection (1 step was sent)" : "was lost before"));
        error_clear(&fake.error);
    }
    link_close(link);
}

TEST_GROUP(setup, teardown)
