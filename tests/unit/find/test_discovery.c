/* Cores on debug buses: which components belong to which, as a Zynq has them and as others might. */
#include "../test.h"
#include "cores/architectures.h"

#include "debug_words.h"

#include <stdio.h>

enum { PORTS = 4, AHB = 0, APB = 1 };

/* Access ports, and what is on the debug bus at one of them. */
static struct fixture {
    struct debug_link link;
    struct found found;
    struct link_view views[8];
    size_t n_views;
    uint32_t idr[PORTS], base[PORTS]; /* idr 0: the port does not answer */
    struct debug_words words;
    unsigned others; /* reads of memory that is not on the debug bus */
    struct deadline deadline;
    struct error error;
} f;

static uint16_t port_of(const struct address *at)
{
    if (at->space == SPACE_AP)
        return at->unit;
    for (size_t i = 0; i < f.n_views; i++)
        if (f.views[i].unit == at->unit)
            return f.views[i].port;
    return PORTS;
}

static bool get(const struct address *at, uint64_t *value)
{
    uint16_t port = port_of(at);
    if (at->space == SPACE_MEMORY) {
        f.others += port != APB;
        return port == APB && debug_get(&f.words, at->offset, value);
    }
    if (port >= PORTS || f.idr[port] == 0)
        return false;
    assert_true(at->offset == 0xFC || at->offset == 0xF8);
    *value = at->offset == 0xFC ? f.idr[port] : f.base[port];
    return true;
}

static void tear_down(void)
{
    found_close(&f.found);
}

static void set_up(void)
{
    tear_down();
    memset(&f, 0, sizeof f);
    debug_link_init(&f.link, get, NULL);
    found_open(&f.found, &f.link.link, &f.deadline, &f.error);
    f.idr[AHB] = 0x44770001;
    f.idr[APB] = 0x24770002;
    f.base[APB] = 0x80000000;
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

/* --- what there is -------------------------------------------------------------------------------------- */

static void add_core(uint64_t base, uint32_t midr)
{
    debug_component(&f.words, base, 9, midr >> 4 & 0xFFF, 0x15, 0);
    debug_put(&f.words, base + 0xD00, midr);
    debug_put(&f.words, base, 0x35137041); /* DBGDIDR: 6 breakpoints, version 3 */
    debug_put(&f.words, base + 0xFB8, 0xAF);
}

/* PMU_NEW says what it is; so does CLUSTER, a monitor of something else with the DEVTYPE of a core's. */
enum { CORE = 1, PMU, CTI, TRACE, PMU_NEW, CLUSTER };
static const uint32_t devarch[] = {[PMU_NEW] = 0x47732A16, [CLUSTER] = 0x47702A56};

/* One table with components a page apart, in this order. */
static void add_table(const unsigned *kinds, size_t n)
{
    debug_component(&f.words, 0x80000000, 1, 0x4A9, 0, 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t base = 0x80010000 + 0x1000ULL * i;
        debug_put(&f.words, 0x80000000 + 4ULL * i, (uint32_t)(base - 0x80000000) | 3);
        if (kinds[i] == CORE)
            add_core(base, 0x413FC090);
        else
            debug_component(&f.words, base, 9, 0x9A0,
                            kinds[i] == CTI     ? 0x14
                            : kinds[i] == TRACE ? 0x13
                                                : 0x16,
                            devarch[kinds[i]]);
    }
    debug_put(&f.words, 0x80000000 + 4ULL * n, 0);
}

static void add_view(struct link_view view)
{
    view.unit = (uint16_t)f.n_views;
    view.has_port = true;
    f.views[f.n_views++] = view;
}

/* As a probe of ours shows it: one view an access port. */
static void bare_views(void)
{
    add_view((struct link_view){.type = "ap", .port = AHB, .is_core = true});
    add_view((struct link_view){.type = "ap", .port = APB, .is_core = true});
}

/* As OpenOCD does with a target a core and two for the buses. */
static void server_views(void)
{
    add_view((struct link_view){
        .type = "cortex_a", .name = "zynq.cpu0", .port = APB, .debug_base = 0x80010000, .is_core = true});
    add_view((struct link_view){.type = "cortex_a",
                                .name = "zynq.cpu1",
                                .port = APB,
                                .debug_base = 0x80012000,
                                .core_id = 1,
                                .is_core = true});
    add_view((struct link_view){.type = "mem_ap", .name = "zynq.ahb", .port = AHB});
    add_view((struct link_view){.type = "mem_ap", .name = "zynq.apb", .port = APB});
}

static const unsigned zynq[] = {CORE, PMU, CORE, PMU, TRACE, CTI, CTI, TRACE};

static bool run(void)
{
    f.found.views = f.views;
    f.found.n_views = f.n_views;
    return discovery_run(&f.found);
}

static void expect_core(size_t number, uint64_t debug, uint64_t pmu, uint64_t cti)
{
    const struct core *core = &f.found.cores[number].core;
    assert_true(number < f.found.n_cores);
    assert_ptr_equal(core->ops, &armv7_ops);
    assert_string_equal(core->name, "Cortex-A9 r3p0");
    assert_int_equal(core->debug_base, debug);
    assert_int_equal(core->pmu_base, pmu);
    assert_int_equal(core->cti_base, cti);
}

/* The two of `zynq`. */
static void expect_zynq(void)
{
    assert_true(run());
    assert_int_equal(f.found.n_cores, 2);
    expect_core(0, 0x80010000, 0x80011000, 0x80015000);
    expect_core(1, 0x80012000, 0x80013000, 0x80016000);
}

static void zynq_as(void (*views)(void))
{
    set_up();
    add_table(zynq, COUNT(zynq));
    views();
}

/* Without a table at its APB. */
static void no_table(const unsigned *kinds, size_t n)
{
    set_up();
    add_table(kinds, n);
    bare_views();
    f.base[APB] = 0xFFFFFFFF;
}

FRESH_TEST(two_cores_through_a_probe)
{
    zynq_as(bare_views);
    expect_zynq();
    for (size_t i = 0; i < 2; i++) {
        const struct device_core *core = &f.found.cores[i];
        assert_int_equal(core->core.unit, APB);
        assert_true(core->has_memory);
        assert_int_equal(core->core.memory_unit, AHB);
        assert_int_equal(core->core.comparators, 6);
        assert_int_equal(core->n_blocks, 0); /* device.c finds them */
    }
    assert_int_equal(f.found.n_buses, 1);
    assert_int_equal(f.found.buses[0].port, APB);
    assert_int_equal(f.found.buses[0].rom, 0x80000000);
    assert_int_equal(f.found.buses[0].coresight.n, 9);
    assert_int_equal(f.others, 0); /* the system bus was not touched */
}

/* As an STM32MP25 has it: the first system bus is that of a Cortex-M, and AXI follows AHB. */
FRESH_TEST(memory_is_that_of_the_cores_own_bus)
{
    enum { OTHER_AHB = 2, AXI = 3 };
    zynq_as(bare_views);
    for (unsigned port = OTHER_AHB; port <= AXI; port++)
        add_view((struct link_view){.type = "ap", .port = (uint16_t)port, .is_core = true});
    for (int round = 0; round < 4; round++) {
        static const uint16_t wanted[] = {AXI, AHB, OTHER_AHB, AHB};
        f.idr[OTHER_AHB] = round < 3 ? 0x44770001 : 0;
        f.idr[AXI] = round < 1 ? 0x44770004 : 0;
        f.found.n_cores = f.found.n_buses = 0;
        if (round >= 2) /* a Cortex-M was found on it */
            f.found.cores[f.found.n_cores++] =
                (struct device_core){.core.ops = &cortex_m_ops, .view = {.has_port = true, .port = AHB}};
        size_t first = f.found.n_cores;
        assert_true(run());
        assert_int_equal(f.found.n_cores, first + 2);
        assert_true(f.found.cores[first].has_memory);
        assert_int_equal(f.found.cores[first].core.memory_unit, wanted[round]);
    }
}

FRESH_TEST(two_cores_through_a_server)
{
    zynq_as(server_views);
    expect_zynq();
    for (unsigned i = 0; i < 2; i++) {
        const struct device_core *core = &f.found.cores[i];
        assert_int_equal(core->server_unit, i); /* by its own target the server runs it */
        assert_string_equal(core->view.name, i == 0 ? "zynq.cpu0" : "zynq.cpu1");
        assert_int_equal(core->core.memory_unit, 2);
        assert_true(core->has_memory);
    }
    assert_int_equal(f.found.n_buses, 1); /* three views, one bus */
}

/* Where the server does not say where a core's registers are, it numbers its cores. */
FRESH_TEST(a_server_that_knows_numbers_only)
{
    zynq_as(server_views);
    f.views[0].debug_base = f.views[1].debug_base = 0;
    f.views[0].core_id = 1; /* and lists them as it likes */
    f.views[1].core_id = 0;
    assert_true(run());
    assert_int_equal(f.found.n_cores, 2);
    assert_int_equal(f.found.cores[0].server_unit, 1);
    assert_int_equal(f.found.cores[1].server_unit, 0);
}

/* A core that the server has no target for is reached past it, where it gives the bus. */
FRESH_TEST(a_server_with_one_core_of_two)
{
    add_table(zynq, 8);
    add_view((struct link_view){.type = "cortex_a", .port = APB, .debug_base = 0x80010000, .is_core = true});
    assert_true(run());
    assert_int_equal(f.found.n_cores, 1);
    assert_false(f.found.cores[0].has_memory);
    tear_down();
    set_up();
    add_table(zynq, 8);
    add_view((struct link_view){.type = "cortex_a", .port = APB, .debug_base = 0x80010000, .is_core = true});
    add_view((struct link_view){.type = "mem_ap", .port = APB});
    assert_true(run());
    assert_int_equal(f.found.n_cores, 2);
    assert_int_equal(f.found.cores[0].server_unit, 0);
    assert_int_equal(f.found.cores[1].server_unit, 1);
}

FRESH_TEST(what_belongs_to_which_core)
{
    static const struct {
        unsigned kinds[8];
        uint64_t pmu[2], cti[2]; /* number of the component; 0: none */
    } cases[] = {
        {{CORE, PMU, CTI, CORE, PMU, CTI}, {1, 4}, {2, 5}},
        {{CORE, CORE, PMU, PMU, CTI, CTI}, {2, 3}, {4, 5}},
        {{CTI, CORE, PMU, CTI, CORE, PMU, CTI}, {2, 5}, {3, 6}}, /* the first is of something else */
        {{CORE, CORE, PMU}, {0, 2}, {0, 0}},
        {{CORE, PMU, CORE}, {1, 0}, {0, 0}},
        {{CORE, TRACE, CORE, TRACE}, {0, 0}, {0, 0}},
        {{CORE, PMU, CORE, PMU, PMU}, {1, 3}, {0, 0}},
        {{CTI, CORE, CORE, PMU, PMU}, {3, 4}, {0, 0}},
        {{CORE, CLUSTER, PMU_NEW, CTI, CORE, PMU_NEW, CTI}, {2, 5}, {3, 6}},
        {{CORE, PMU_NEW, CORE, CLUSTER}, {1, 0}, {0, 0}},
        {{CORE, CLUSTER, CORE, CLUSTER}, {0, 0}, {0, 0}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t n = 0, cores = 0;
        set_up();
        while (n < 8 && cases[i].kinds[n] != 0)
            n++;
        add_table(cases[i].kinds, n);
        bare_views();
        assert_true(run());
        assert_int_equal(f.found.n_cores, 2);
        for (size_t k = 0; k < n; k++) {
            if (cases[i].kinds[k] != CORE)
                continue;
            uint64_t pmu = cases[i].pmu[cores], cti = cases[i].cti[cores];
            expect_core(cores, 0x80010000 + 0x1000 * k, pmu != 0 ? 0x80010000 + 0x1000 * pmu : 0,
                        cti != 0 ? 0x80010000 + 0x1000 * cti : 0);
            cores++;
        }
    }
}

/* A core without power is listed among the components, and cannot be measured. */
FRESH_TEST(cores_that_are_off_or_of_other_kinds_are_left_out)
{
    debug_component(&f.words, 0x80000000, 1, 0x4A9, 0, 0);
    debug_put(&f.words, 0x80000000, 0x00010003);
    debug_put(&f.words, 0x80000004, 0x00020003);
    debug_put(&f.words, 0x80000008, 0x00030003);
    debug_put(&f.words, 0x8000000C, 0x00040003);
    debug_put(&f.words, 0x80000010, 0);
    debug_component(&f.words, 0x80020000, 9, 0xC09, 0x15, 0); /* its identity can be read, itself not */
    add_core(0x80030000, 0x410FB760);                         /* an ARM1176 */
    add_core(0x80040000, 0x413FC090);
    bare_views();
    assert_true(run());
    assert_int_equal(f.found.n_cores, 1);
    expect_core(0, 0x80040000, 0, 0);
    assert_int_equal(f.found.buses[0].coresight.n, 5);
}

FRESH_TEST(ports_without_a_table_and_of_other_kinds)
{
    static const uint32_t none[] = {0xFFFFFFFF, 0x80000002};
    for (size_t i = 0; i < 2; i++) {
        zynq_as(bare_views);
        f.base[APB] = none[i];
        assert_true(run());
        assert_int_equal(f.found.n_cores, 0);
        assert_int_equal(f.found.n_buses, 1);
        assert_false(f.found.buses[0].has_rom);
    }
    static const uint32_t others[] = {0x14760010, 0x24770001, 0x04770004, 0};
    for (size_t i = 0; i < 4; i++) { /* JTAG-AP, AHB, AXI, and one that does not answer */
        zynq_as(bare_views);
        f.idr[APB] = others[i];
        assert_true(run());
        assert_int_equal(f.found.n_cores, 0);
        assert_int_equal(f.error.kind, ERROR_NONE);
    }
    zynq_as(bare_views);
    f.idr[APB] = 0x34770006; /* APB4, and BASE as in ADIv5.2 */
    f.base[APB] = 0x80000003;
    assert_true(run());
    assert_int_equal(f.found.n_cores, 2);
    assert_int_equal(f.found.buses[0].rom, 0x80000000);
}

/* The server knows where the cores are; a PMU next to one is taken, anything else there is not. */
FRESH_TEST(without_a_table_the_server_is_asked)
{
    static const unsigned kinds[] = {CORE, PMU, CORE, TRACE};
    add_table(kinds, 4);
    server_views();
    f.base[APB] = 0xFFFFFFFF;
    assert_true(run());
    assert_int_equal(f.found.n_cores, 2);
    expect_core(0, 0x80010000, 0x80011000, 0);
    expect_core(1, 0x80012000, 0, 0);
    assert_int_equal(f.found.buses[0].coresight.n, 3);
}

/* As a cluster of Cortex-A9 has it, and an RK3399 its Cortex-A53. */
FRESH_TEST(trigger_interfaces_behind_the_cores)
{
    for (uint64_t core = 0; core < 4; core++) {
        add_core(0x80010000 + 0x2000 * core, 0x413FC090);
        debug_component(&f.words, 0x80011000 + 0x2000 * core, 9, 0x9A0, 0x16, 0);
        debug_component(&f.words, 0x80018000 + 0x1000 * core, 9, 0x906, 0x14, 0);
        add_view((struct link_view){
            .type = "cortex_a", .port = APB, .debug_base = 0x80010000 + 0x2000 * core, .is_core = true});
    }
    f.base[APB] = 0xFFFFFFFF;
    assert_true(run());
    assert_int_equal(f.found.n_cores, 4);
    for (size_t core = 0; core < 4; core++)
        expect_core(core, 0x80010000 + 0x2000 * core, 0x80011000 + 0x2000 * core, 0x80018000 + 0x1000 * core);
}

/* --- what the user says --------------------------------------------------------------------------------- */

static bool place(const struct device_request *request)
{
    return run() && discovery_place(&f.found, request);
}

FRESH_TEST(a_core_where_the_user_says)
{
    static const unsigned kinds[] = {TRACE, CORE, PMU, TRACE, PMU};
    const struct device_request request = {.core = -1, .debug = {true, APB, 0x80011000}},
                                other = {.core = -1,
                                         .debug = {true, APB, 0x80011000},
                                         .pmu = {true, APB, 0x80014000}};
    no_table(kinds, 5);
    assert_true(place(&request));
    assert_int_equal(f.found.n_cores, 1);
    assert_int_equal(f.found.preferred, 0);
    expect_core(0, 0x80011000, 0x80012000, 0);
    no_table(kinds, 5);
    assert_true(place(&other));
    expect_core(0, 0x80011000, 0x80014000, 0);
    assert_int_equal(f.found.cores[0].core.pmu_unit, APB);
}

/* One that was found already is only chosen. */
FRESH_TEST(a_core_that_is_known_is_chosen)
{
    const struct device_request request = {.core = -1, .debug = {true, APB, 0x80012000}},
                                first = {.core = -1, .debug = {true, APB, 0x80010000}};
    zynq_as(bare_views);
    assert_true(place(&request));
    assert_int_equal(f.found.n_cores, 2);
    assert_int_equal(f.found.preferred, 1);
    zynq_as(bare_views);
    assert_true(place(&first));
    assert_int_equal(f.found.n_cores, 2);
    assert_int_equal(f.found.preferred, 0);
}

FRESH_TEST(what_does_not_say_so_is_not_taken)
{
    static const struct {
        struct device_request request;
        const char *text;
    } cases[] = {
        {{.core = -1, .debug = {true, APB, 0x80011000}}, "PMU"},
        {{.core = -1, .debug = {true, APB, 0x80099000}}, "does not say"},
        {{.core = -1, .debug = {true, AHB, 0x80010000}}, "no debug bus"},
        {{.core = -1, .pmu = {true, APB, 0x80014000}}, "ETM"},
        {{.core = -1, .pmu = {true, 3, 0x80011000}}, "no access port 3"},
        {{.core = 1, .pmu = {true, APB, 0x80012000}}, "core debug"},
        {{.core = -1, .cti = {true, APB, 0x80012000}}, "core debug"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        zynq_as(bare_views);
        assert_false(place(&cases[i].request));
        assert_has(f.error.text, cases[i].text);
        assert_int_equal(f.found.n_cores, 2);
        expect_core(0, 0x80010000, 0x80011000, 0x80015000);
        expect_core(1, 0x80012000, 0x80013000, 0x80016000);
    }
}

/* By it an overflow of the core's counters can stop the core. */
FRESH_TEST(an_armv7_core_takes_the_trigger_interface_that_is_named)
{
    const struct device_request request = {.core = -1, .cti = {true, APB, 0x80016000}};
    zynq_as(bare_views);
    assert_true(place(&request));
    expect_core(0, 0x80010000, 0x80011000, 0x80016000);
    expect_core(1, 0x80012000, 0x80013000, 0x80016000);
}

FRESH_TEST(a_link_lost_while_placing)
{
    static const unsigned kinds[] = {CORE, PMU, TRACE, PMU};
    const struct device_request request = {
        .core = -1, .debug = {true, APB, 0x80010000}, .pmu = {true, APB, 0x80013000}};
    unsigned at = 1;
    for (bool all = false; !all; at++) {
        no_table(kinds, 4);
        f.link.lost_at = at;

        all = place(&request);
        assert_int_equal(all, f.link.reads < at);
        assert_int_equal(f.error.kind, all ? ERROR_NONE : ERROR_LINK_LOST);
    }
    expect_core(0, 0x80010000, 0x80013000, 0);
}

/* Views that say nothing of where they are (HLA adapters) are not asked. */
FRESH_TEST(views_without_a_port_are_skipped)
{
    zynq_as(server_views);
    for (size_t i = 0; i < f.n_views; i++)
        f.views[i].has_port = false;
    assert_true(run());
    assert_int_equal(f.link.reads, 0);
    assert_int_equal(f.found.n_cores, 0);
    set_up();
    add_table(zynq, COUNT(zynq));
    f.views[f.n_views++] = (struct link_view){.type = "hla_target", .is_core = true};
    server_views(); /* after it */
    expect_zynq();
}

FRESH_TEST(a_lost_link_is_an_error_wherever_it_goes)
{
    unsigned at = 1;
    for (bool all = false; !all; at++) {
        zynq_as(server_views);
        f.link.lost_at = at;

        all = run();
        assert_int_equal(all, f.link.reads < at);
        assert_int_equal(f.error.kind, all ? ERROR_NONE : ERROR_LINK_LOST);
    }
    assert_true(at > 100);
    assert_int_equal(f.found.n_cores, 2);
}

/* Or the next core would take its number, and be measured in its stead. */
FRESH_TEST(one_fault_hides_no_core)
{
    unsigned at = 1;
    for (bool struck = true; struck; at++) {
        zynq_as(server_views);
        f.link.fault_at = at;

        assert_true(run());
        struck = f.link.reads >= at;
        assert_int_equal(f.found.n_cores, 2);
        assert_int_equal(f.found.cores[0].core.debug_base, 0x80010000);
        assert_true(f.found.cores[0].core.pmu_base != 0 && f.found.cores[1].core.pmu_base != 0);
    }
    assert_true(at > 100);
}

FRESH_TEST(no_more_cores_than_there_is_room_for)
{
    unsigned kinds[40];
    for (size_t i = 0; i < 40; i++)
        kinds[i] = CORE;
    add_table(kinds, 40);
    bare_views();
    f.found.n_cores = TARGET_CORES - 3;
    assert_true(run());
    assert_int_equal(f.found.n_cores, TARGET_CORES);
    assert_true(f.found.cores_cut);
    assert_false(f.found.buses_cut);
}

FRESH_TEST(no_more_buses_than_there_is_room_for)
{
    static const unsigned kinds[] = {TRACE};
    add_table(kinds, 1);
    bare_views();
    f.found.n_buses = TARGET_BUSES;
    for (size_t i = 0; i < TARGET_BUSES; i++)
        f.found.buses[i].port = PORTS;
    assert_true(run());
    assert_true(f.found.buses_cut);
}

/* What has no debug registers is known by what the link says of it. */
FRESH_TEST(views_of_other_machines)
{
    add_view((struct link_view){.type = "msr", .name = "cpu0", .is_core = true, .counts_only = true});
    add_view((struct link_view){.type = "x86_64", .name = "qemu.cpu", .is_core = true});
    f.views[0].has_port = f.views[1].has_port = false;
    assert_true(run());
    assert_int_equal(f.found.n_cores, 2);
    assert_false(f.found.cores[0].has_memory);
    assert_true(f.found.cores[1].has_memory);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(f.found.cores[i].view.name, f.views[i].name);
        assert_int_equal(f.found.cores[i].server_unit, i);
        assert_int_equal(f.found.cores[i].core.unit, i);
    }
    assert_ptr_not_equal(f.found.cores[0].core.ops, f.found.cores[1].core.ops);
}

/* A server's target that none of our cores is: of which kind, or where it would have to be. */
FRESH_TEST(a_target_that_is_none_of_ours_is_named)
{
    static const struct {
        const char *type;
        bool has_port;
        const char *words;
    } lines[] = {
        {"riscv", true, "the target chip.cpu is of the type riscv"},
        {"cortex_a", false, "OpenOCD does not say on which access port the target chip.cpu (cortex_a) is"},
        {"cortex_a", true, "nothing at access port 1 is the target chip.cpu (cortex_a)"},
        {"cortex_r4", true, "nothing at access port 1 is the target chip.cpu (cortex_r4)"},
        {"armv8r", false, "on which access port the target chip.cpu (armv8r) is"},
        {"aarch64", true, "nothing at access port 1 is the target chip.cpu (aarch64)"}};
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct error why = {0};
        set_up();
        f.idr[APB] = 0;
        add_view((struct link_view){.name = "chip.cpu", .port = APB, .is_core = true});
        snprintf(f.views[0].type, sizeof f.views[0].type, "%s", lines[i].type);
        f.views[0].has_port = lines[i].has_port;
        assert_true(run());
        assert_int_equal(f.found.n_cores, 0);
        assert_true(nothing_found(&f.found, &why));
        assert_error(&why, ERROR_NO_CORE, lines[i].words);
    }
}
