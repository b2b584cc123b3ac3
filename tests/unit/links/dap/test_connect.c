/* Connecting to a target: what goes over the wires, and what happens if something is missing. */
#include "model_carrier.h"

#include "links/dap/ap_state.h"

static struct bench bench;

static void begin(void)
{
    model_init(&bench.model);
}

#define CONNECT_TEST(name) TEST_BETWEEN(name, begin, test_nothing)

static void two_ports(void)
{
    bench.model.dpidr = 0x0BC12477;
    bench.model.device_id = 0x01002927;
    bench.model.n_ports = 2;
}

CONNECT_TEST(test_one_port)
{
    bench.model.packet_count = 0;
    bench.model.packet_size = 512;
    assert_true(bench_connect(&bench));
    const struct adi *adi = &bench.executor.adi;
    const struct ap_state *ap = &bench.executor.compiler.ap;
    assert_int_equal(adi->n_ports, 1);
    assert_false(adi->multidrop || adi->dormant || adi->jtag);
    assert_true(adi->match);
    assert_int_equal(adi->hz, 10000000);
    assert_int_equal(bench.probe.info.packet_count, 1);
    assert_string_equal(bench.probe.info.serial, "M0DE1");
    assert_int_equal(ap->n, 1);
    assert_true(ap->ports[0].memory && ap->ports[0].narrow);
    assert_int_equal(ap->ports[0].csw_base & 0x22000037, 0x22000000);
    assert_int_equal(bench.model.ports[0].control, 0x50000000);
    assert_int_equal(bench.model.n_log, 0); /* nothing of the target was touched */
}

TEST(test_two_ports_on_two_wires)
{
    for (int asleep = 0; asleep < 2; asleep++) {
        begin();
        two_ports();
        bench.model.needs_wake = asleep;
        assert_true(bench_connect(&bench));
        assert_true(bench.executor.adi.multidrop);
        assert_int_equal(bench.executor.adi.dormant, asleep);
        assert_int_equal(bench.executor.adi.n_ports, 2);
        assert_int_equal(bench.executor.compiler.ap.n, 2);
        assert_int_equal(bench.executor.compiler.ap.ports[1].unit, 0x100);
        assert_int_equal(bench.model.ports[0].control, 0x50000000);
        assert_int_equal(bench.model.ports[1].control, 0x50000000);

        struct step steps[4];
        uint64_t results[4];
        for (uint16_t i = 0; i < 4; i++) {
            struct address at = {.space = SPACE_MEMORY, .size = 4, .unit = (uint16_t)((i & 1) << 8)};
            at.offset = 0x100 + 4U * i;
            steps[i] = step_read(at);
            model_cell(&bench.model, (uint32_t)at.offset)->value = 0x500U + i;
        }
        struct deadline deadline = deadline_in_ms(5000, NULL);
        struct outcome outcome = executor_run(&bench.executor, steps, 4, results, &deadline, &bench.error);
        assert_int_equal(outcome.why, DONE);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(results[i], 0x500 + i);
        assert_int_equal(bench.model.ports[1].tar, 0x10C);
    }
}

CONNECT_TEST(test_ports_by_address)
{
    bench.model.v6 = true;
    bench.model.dpidr = 0x4C013477;
    assert_true(bench_connect(&bench));
    const struct ap_state *ap = &bench.executor.compiler.ap;
    assert_int_equal(ap->n, 1);
    assert_true(ap->ports[0].v6 && ap->ports[0].memory);
    assert_int_equal(ap->ports[0].base, 0x2000);
    assert_int_equal(ap->ports[0].unit, 0);
    struct address at = {.space = SPACE_MEMORY, .size = 4, .offset = 0x104},
                   tar = {.space = SPACE_AP, .size = 4};
    tar.offset = 0x04;
    struct step steps[] = {step_write(at, 7), step_expect(at, UINT32_MAX, 7), step_read(tar)};
    uint64_t results[3];
    struct deadline deadline = deadline_in_ms(5000, NULL);
    assert_int_equal(executor_run(&bench.executor, steps, 3, results, &deadline, &bench.error).why, DONE);
    assert_int_equal(results[2], 0x104);
}

CONNECT_TEST(test_one_of_two_ports_is_not_there)
{
    bench.model.dpidr = 0x0BC12477;
    bench.model.device_id = 0x01002927;
    if (!bench_connect(&bench))
        fail_msg("%s", bench.error.text);
    assert_int_equal(bench.executor.adi.n_ports, 1);
}

CONNECT_TEST(test_probe_without_swd_sequence)
{
    bench.model.device_id = 0x01002927;
    bench.model.has_swd_sequence = false;
    assert_fails(bench_connect(&bench), &bench.error, ERROR_NO_TARGET, "");
}

CONNECT_TEST(test_nobody_there)
{
    bench.model.dead = true;
    bench.model.capabilities = 1;
    assert_fails(bench_connect(&bench), &bench.error, ERROR_NO_TARGET, "SWD");
    begin();
    bench.model.capabilities = 4; /* neither SWD nor JTAG */
    assert_fails(bench_connect(&bench), &bench.error, ERROR_LINK_PROTOCOL, "");
}

CONNECT_TEST(test_no_value_match)
{
    bench.model.has_match = false;
    assert_true(bench_connect(&bench));
    assert_false(bench.executor.adi.match);
    assert_false(bench.executor.compiler.match);
}

/* Firmware that compares values, but has another word where the next read's belongs, would spoil counts. */
CONNECT_TEST(test_a_wrong_word_after_a_value_match)
{
    bench.model.spoils_next = true;
    assert_true(bench_connect(&bench));
    assert_false(bench.executor.adi.match);
    assert_false(bench.executor.compiler.match);
}

CONNECT_TEST(test_sticky_from_before)
{
    bench.model.ports[0].sticky = true;
    assert_true(bench_connect(&bench));
    assert_false(bench.model.ports[0].sticky);
}

TEST(test_probe_lost_anywhere)
{
    for (long at = 0;; at++) {
        begin();
        bench_carrier(&bench);
        bench.carrier.lose_at = at;
        struct deadline deadline = deadline_in_ms(5000, NULL);
        struct adi *adi = &bench.executor.adi;
        if (probe_identify(&bench.probe, &deadline, &bench.error) &&
            connect_target(adi, DAP_WIRES_AUTO, 0, &deadline, &bench.error) &&
            connect_find_ports(adi, &bench.executor.compiler.ap, &deadline, &bench.error))
            break;
        assert_int_equal(bench.error.kind, ERROR_LINK_LOST);
    }
}

/* One disturbance during the search: all ports are found, and the clock stays. */
TEST(test_trouble_while_connecting)
{
    for (unsigned ports = 1; ports <= 2; ports++)
        for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++) {
            struct test_sweep sweep = test_sweep(1, 10, "connect, %u, %d", ports, trouble);
            for (long at = 0; at < 1000; at++) {
                if (!test_takes(&sweep, at))
                    continue;
                begin();
                if (ports > 1)
                    two_ports();
                bench.model.trouble = (enum model_trouble)trouble;
                bench.model.trouble_at = at;
                assert_true(bench_connect(&bench));
                assert_int_equal(bench.error.kind, ERROR_NONE);
                assert_int_equal(bench.executor.compiler.ap.n, ports);
                assert_true(bench.executor.adi.match);
                for (unsigned i = 0; i < ports; i++)
                    assert_true(bench.executor.compiler.ap.ports[i].narrow);
            }
        }
}

/* The same where access ports have addresses. */
TEST(test_trouble_while_looking_for_addresses)
{
    for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++) {
        struct test_sweep sweep = test_sweep(1, 10, "addresses, %d", trouble);
        for (long at = 0; at < 1000; at++) {
            if (!test_takes(&sweep, at))
                continue;
            begin();
            bench.model.v6 = bench.model.large = true;
            bench.model.dpidr = 0x4C013477;
            bench.model.ports[0].select1 = 7;
            bench.model.trouble = (enum model_trouble)trouble;
            bench.model.trouble_at = at;
            assert_true(bench_connect(&bench));
            assert_int_equal(bench.executor.compiler.ap.n, 1);
            assert_int_equal(bench.model.ports[0].select1, 0);
        }
    }
}

/* Its addresses have 32 bits, and so has the sum: the entry leads back from 0x00F00000 to 0x2000. */
TEST(test_entries_of_two_words_where_addresses_have_one)
{
    static const struct model_word rom[] = {
        {0xF00000, 0xFF102003}, {0xF00FBC, 0x47600AF7}, {0xF00FC8, 1}, {0xF00FF4, 0x90},
        {0x2FBC, 0x47700A17},   {0x2FF4, 0x90},         {0, 0}};
    begin();
    bench.model.v6 = true;
    bench.model.dpidr = 0x4C013477;
    bench.model.rom = rom;
    bench.model.rom_at = 0xF00000;
    assert_true(bench_connect(&bench));
    assert_int_equal(bench.executor.compiler.ap.n, 1);
    assert_int_equal(bench.executor.compiler.ap.ports[0].base, 0x2000);
}

TEST(test_tables_that_name_each_other)
{
    static const struct model_word rom[] = {{0x0000, 0x00001003}, {0x0004, 0x00002003}, {0x0008, 0x00002003},
                                            {0x0FBC, 0x47600AF7}, {0x0FF4, 0x90},       {0x1000, 0xFFFFF003},
                                            {0x1004, 0x00001003}, {0x1FBC, 0x47600AF7}, {0x1FF4, 0x90},
                                            {0x2FBC, 0x47700A17}, {0x2FF4, 0x90},       {0, 0}};
    begin();
    bench.model.v6 = true;
    bench.model.dpidr = 0x4C013477;
    bench.model.rom = rom;
    bench.model.ports[0].csw = 0x43000040;
    assert_true(bench_connect(&bench));
    assert_int_equal(bench.executor.compiler.ap.n, 1);
    assert_int_equal(bench.executor.compiler.ap.ports[0].csw_found, 0x43000040);
}

/* ---- power */

TEST(test_system_power_that_never_comes)
{
    for (unsigned ports = 1; ports <= 2; ports++) {
        begin();
        if (ports > 1)
            two_ports();
        bench.model.no_system_power = true;
        assert_true(bench_connect(&bench));
        assert_int_equal(bench.executor.adi.n_ports, ports);
        for (size_t i = 0; i < ports; i++)
            assert_true(adi_power_lacks_system(&bench.executor.adi, i));
        /* and does not mean a loss of power either */
        assert_int_equal(adi_mend(&bench.executor.adi, ADI_NO_ACK, &bench.error), ADI_FINE);
    }
}

TEST(test_power_is_left_as_it_was_found)
{
    static const struct {
        uint32_t found;
        enum link_power leave;
        uint32_t left;
    } cases[] = {
        {0, LINK_POWER_AS_FOUND, 0},
        {0x50000000, LINK_POWER_AS_FOUND, 0x50000000},
        {0x10000000, LINK_POWER_AS_FOUND, 0x10000000},
        {0x50000001, LINK_POWER_AS_FOUND, 0x50000001},
        {0x00000001, LINK_POWER_AS_FOUND, 0x00000001},
        {0x50000000, LINK_POWER_DOWN, 0},
        {0, LINK_POWER_UP, 0x50000000},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (unsigned ports = 1; ports <= 2; ports++) {
            begin();
            if (ports > 1)
                two_ports();
            bench.model.ports[0].control = cases[i].found;
            assert_true(bench_connect(&bench));
            bench.model.ports[0].sticky = true; /* whatever the last thing was that happened */
            adi_power_leave(&bench.executor.adi, cases[i].leave, &bench.error);
            assert_int_equal(bench.model.ports[0].control & 0x5000000F, cases[i].left);
            if (ports > 1 && cases[i].leave != LINK_POWER_UP)
                assert_int_equal(bench.model.ports[1].control, 0);
        }
}

CONNECT_TEST(test_power_that_was_lost_is_nobodys)
{
    bench.model.ports[0].control = 0x50000000;
    assert_true(bench_connect(&bench));
    bench.model.ports[0].control = 0;
    assert_int_equal(adi_mend(&bench.executor.adi, ADI_NO_ACK, &bench.error), ADI_POWERLESS);
    assert_int_equal(bench.model.ports[0].control, 0x50000000);
    adi_power_leave(&bench.executor.adi, LINK_POWER_AS_FOUND, &bench.error);
    assert_int_equal(bench.model.ports[0].control, 0);
}

/* An RP2350 that a debugger has woken before us. */
TEST(test_a_port_that_lost_its_power_is_dormant_again)
{
    for (int found = 0; found < 2; found++) {
        begin();
        bench.model.dpidr = 0x4C012477;
        bench.model.needs_wake = found;
        assert_true(bench_connect(&bench));
        assert_int_equal(bench.executor.adi.dormant, found);
        uint32_t hz = bench.executor.adi.hz;
        bench.model.needs_wake = true;
        bench.model.ports[0].control = 0;
        assert_int_equal(adi_mend(&bench.executor.adi, ADI_NO_ACK, &bench.error), ADI_POWERLESS);
        assert_true(bench.executor.adi.dormant);
        assert_int_equal(bench.executor.adi.hz, hz);
    }
}

/* Noise at any transaction of the end. */
TEST(test_trouble_while_power_is_taken_down)
{
    for (int trouble = TROUBLE_NO_ACK; trouble <= TROUBLE_DATA; trouble++)
        for (long at = 0; at < 12; at++) {
            begin();
            two_ports();
            assert_true(bench_connect(&bench));
            bench.model.trouble = (enum model_trouble)trouble;
            bench.model.trouble_at = bench.model.transactions + at;
            adi_power_leave(&bench.executor.adi, LINK_POWER_AS_FOUND, &bench.error);
            assert_int_equal(bench.model.ports[0].control | bench.model.ports[1].control, 0);
        }
}

/* ---- access ports */

CONNECT_TEST(test_access_ports_that_come_again)
{
    bench.model.aliased = true;
    assert_true(bench_connect(&bench));
    assert_int_equal(bench.executor.compiler.ap.n, 1);
    begin();
    bench.model.aps = 6; /* alike, but for where their tables are */
    assert_true(bench_connect(&bench));
    assert_int_equal(bench.executor.compiler.ap.n, 6);
    assert_false(bench.executor.compiler.ap.cut);
}

CONNECT_TEST(test_more_access_ports_than_are_looked_at)
{
    bench.model.aps = 100;
    assert_true(bench_connect(&bench));
    assert_int_equal(bench.executor.compiler.ap.n, AP_STATE_PORTS);
    assert_true(bench.executor.compiler.ap.cut);
}

/* The next run, if this one is killed, finds what the port made of what was written. */
CONNECT_TEST(test_bits_that_an_access_port_does_not_take)
{
    enum { NOT_TAKEN = 0xF000, TAKEN = 0x40000000 };
    bench.model.ports[0].csw = TAKEN | NOT_TAKEN | 0x52;
    assert_true(bench_connect(&bench));
    const struct access_port *port = &bench.executor.compiler.ap.ports[0];
    assert_int_equal(port->csw_found, TAKEN | NOT_TAKEN | 0x52);
    assert_int_equal(port->csw_base & (TAKEN | NOT_TAKEN), TAKEN | NOT_TAKEN);
    assert_int_equal(port->csw_took & (TAKEN | NOT_TAKEN), TAKEN);
    assert_int_equal(port->csw_unsure & NOT_TAKEN, NOT_TAKEN);
}

CONNECT_TEST(test_upper_addresses_that_somebody_left)
{
    bench.model.large = true;
    bench.model.ports[0].tar_high = 5;
    assert_true(bench_connect(&bench));
    assert_int_equal(bench.model.ports[0].tar_high, 0);
    assert_int_equal(bench.executor.compiler.ap.ports[0].tar_high_found, 5);
    begin();
    bench.model.v6 = bench.model.large = true;
    bench.model.dpidr = 0x4C013477;
    bench.model.ports[0].select1 = 7;
    assert_true(bench_connect(&bench));
    assert_int_equal(bench.executor.compiler.ap.n, 1);
    assert_int_equal(bench.model.ports[0].select1, 0);
}
