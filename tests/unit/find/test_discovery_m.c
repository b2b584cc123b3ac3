/* Cortex-M cores at bare access ports: where discovery reads, and where it must not. */
#include "../test.h"

#include <stdio.h>

#include "debug_words.h"

enum { PORTS = 4, SCS = 0xE000E000, CPUID = SCS + 0xD00, TABLE = 0xE00FF000 };

static struct fixture {
    struct debug_link link;
    struct found found;
    struct link_view views[8];
    size_t n_views;
    uint32_t idr[PORTS], base[PORTS], csw[PORTS];
    struct debug_words words[PORTS];
    unsigned looked[PORTS]; /* at what identifies a core */
    bool asleep;            /* memory does not answer */
    struct deadline deadline;
    struct error error;
} f;

static bool get(const struct address *at, uint64_t *value)
{
    unsigned port = (at->unit & 0xFF) + 2 * (at->unit >> 8); /* a second debug port has the last two */
    if (at->space == SPACE_DP)
        return false;
    if (at->space == SPACE_AP) {
        assert_true(at->offset == 0xFC || at->offset == 0xF8 || at->offset == 0);
        *value = at->offset == 0xFC ? f.idr[port] : at->offset == 0xF8 ? f.base[port] : f.csw[port];
        return true;
    }
    f.looked[port] += at->offset == CPUID;
    return debug_get(&f.words[port], at->offset, value);
}

static bool sleeps(const struct address *at)
{
    return f.asleep && at->space == SPACE_MEMORY;
}

static void tear_down(void)
{
    found_close(&f.found);
}

static void set_up(void)
{
    tear_down();
    memset(&f, 0, sizeof f);
    debug_link_init(&f.link, get, sleeps);
    found_open(&f.found, &f.link.link, &f.deadline, &f.error);
    for (unsigned i = 0; i < PORTS; i++)
        f.base[i] = UINT32_MAX;
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

enum { AHB = 0x24770011, AHB5 = 0x14770005, APB = 0x24770002, AXI = 0x44770004, JTAG_AP = 0x14760010 };

static void add_port(uint32_t idr)
{
    uint16_t unit = (uint16_t)f.n_views;
    f.idr[unit] = idr;
    f.views[f.n_views++] =
        (struct link_view){.unit = unit, .type = "ap", .is_core = true, .has_port = true, .port = unit};
}

/* A core, whether something leads to it or not. */
static void add_core(unsigned port)
{
    debug_put(&f.words[port], CPUID, 0x410FC241);
    debug_put(&f.words[port], SCS + 0xD14, 0x200);
    debug_put(&f.words[port], 0xE0002000, 0x260);
}

static void add_table(unsigned port, uint64_t at, uint64_t leads_to)
{
    debug_component(&f.words[port], at, 1, 0x4C4, 0, 0);
    debug_put(&f.words[port], at, ((uint32_t)(leads_to - at) & 0xFFFFF000) | 3);
    debug_put(&f.words[port], at + 4, 0);
}

static void add_cortex_m(unsigned port)
{
    add_core(port);
    add_table(port, TABLE, SCS);
    debug_component(&f.words[port], SCS, 0xE, 0x00C, 0, 0);
    f.base[port] = TABLE | 3;
}

static bool run(void)
{
    f.found.views = f.views;
    f.found.n_views = f.n_views;
    return discovery_m_run(&f.found);
}

FRESH_TEST(what_stands_there_is_something_else)
{
    add_port(AHB);
    add_port(APB);
    add_core(0);
    add_table(0, TABLE, SCS);
    debug_component(&f.words[0], SCS, 9, 0x906, 0x14, 0);
    f.base[0] = TABLE | 3;
    assert_true(run());
    assert_int_equal(f.found.n_cores, 0);
    assert_int_equal(f.looked[0], 0);
    assert_int_equal(f.found.passed_over, 0);
}

FRESH_TEST(nothing_else_can_be_there)
{
    add_port(AHB);
    add_port(JTAG_AP);
    add_port(APB);
    f.views[2].unit = f.views[2].port = 0x100; /* of another debug port */
    add_core(0);
    assert_true(run());
    assert_int_equal(f.found.n_cores, 1);
    assert_int_equal(f.looked[2], 0);
}

/* A server knows; what it calls otherwise is something else. */
FRESH_TEST(a_server_says_what_its_targets_are)
{
    static const char *const others[] = {"cortex_a", "aarch64", "riscv", "mem_ap", "arm926ejs"};
    for (size_t i = 0; i < 5; i++) {
        set_up();
        f.views[0] = (struct link_view){.is_core = true};
        snprintf(f.views[0].type, sizeof f.views[0].type, "%s", others[i]);
        f.n_views = 1;
        add_core(0);
        assert_true(run());
        assert_int_equal(f.found.n_cores, 0);
        assert_int_equal(f.link.reads, 0);
    }
    static const char *const ours[] = {"cortex_m", "hla_target"}; /* the latter: through an ST-Link */
    for (size_t i = 0; i < 2; i++) {
        set_up();
        f.views[0] = (struct link_view){.is_core = true};
        snprintf(f.views[0].type, sizeof f.views[0].type, "%s", ours[i]);
        f.n_views = 1;
        add_core(0);
        assert_true(run());
        assert_int_equal(f.found.n_cores, 1);
        assert_int_equal(f.link.reads, 3); /* no table is asked for */
    }
}

FRESH_TEST(a_bus_that_hangs_is_let_alone)
{
    add_port(AHB);
    add_port(APB);
    add_cortex_m(0);
    f.asleep = true;
    assert_true(run());
    assert_int_equal(f.found.n_cores, 0);
    assert_in_range(f.link.reads, 1, 6); /* IDR, BASE and a few words */
}

FRESH_TEST(the_link_is_lost_at_each_read)
{
    for (unsigned at = 1;; at++) {
        set_up();
        add_port(AHB);
        add_port(APB);
        add_cortex_m(0);
        f.link.lost_at = at;
        if (run())
            break;
        assert_int_equal(f.error.kind, ERROR_LINK_LOST);
    }
    assert_int_equal(f.found.n_cores, 1);
}

FRESH_TEST(more_cores_than_are_looked_at_are_told)
{
    add_port(AHB);
    add_cortex_m(0);
    f.found.n_cores = f.found.room;
    assert_true(run());
    assert_true(f.found.cores_cut);
}

FRESH_TEST(where_the_user_says)
{
    const struct device_request request = {.core = -1, .debug = {true, 0, SCS}};
    add_port(AHB);
    add_port(APB);
    add_core(0);
    assert_true(run());
    assert_int_equal(f.found.n_cores, 0);
    for (int i = 0; i < 2; i++) { /* the second time it is known */
        assert_true(discovery_place(&f.found, &request));
        assert_int_equal(f.found.n_cores, 1);
        assert_int_equal(f.found.preferred, 0);
    }
    f.words[0].n = 0;
    f.found.n_cores = 0;
    assert_false(discovery_place(&f.found, &request));
    assert_has(f.error.text, "no Cortex-M answers");
}

/* With several, the one at that access port, whether it was found before or not. It has no PMU elsewhere. */
FRESH_TEST(one_of_several_where_the_user_says)
{
    for (unsigned port = 0; port < 2; port++)
        for (unsigned known = 0; known < 2; known++) {
            const struct device_request request = {.core = -1, .debug = {true, port, SCS}},
                                        with_pmu = {.core = (int)port, .pmu = {true, port, 0xE0003000}};
            set_up();
            for (unsigned i = 0; i < 2; i++) {
                add_port(AHB);
                if (known != 0 || i != port)
                    add_cortex_m(i);
            }
            add_port(APB); /* such a chip is not searched without a table */
            assert_true(run());
            assert_int_equal(f.found.n_cores, 1 + known);
            add_core(port);
            assert_true(discovery_place(&f.found, &request));
            assert_int_equal(f.found.n_cores, 2);
            assert_int_equal(f.found.cores[f.found.preferred].core.unit, port);
            if (known != 0) {
                assert_false(discovery_place(&f.found, &with_pmu));
                assert_error(&f.error, ERROR_USAGE, "--pmu-base: not for a Cortex-M");
            }
        }
}

/* The one that is closed is named, wherever it is among others. CSW.DeviceEn: IHI 0031 C2.6.4. */
FRESH_TEST(a_port_that_the_chip_closed_is_named)
{
    enum { DEVICE_EN = 1 << 6 };
    char words[64];
    for (unsigned closed = 0; closed <= 3; closed++) { /* 3: none */
        tear_down();
        set_up();
        for (unsigned i = 0; i < 3; i++) {
            add_port(AHB);
            f.csw[i] = i == closed ? 0 : DEVICE_EN;
        }
        assert_true(run());
        struct error why = {0};
        assert_true(nothing_found(&f.found, &why));
        snprintf(words, sizeof words, "the chip closes access port %u", closed);
        if (closed < 3)
            assert_error(&why, ERROR_NO_CORE, words);
        assert_null(strstr(why.text, "the chip closes"));
        error_clear(&why);
    }
}
