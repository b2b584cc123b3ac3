/* What counter stops write and read, as lists of steps. That cores halt by them is shown on the board. */
#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "engine/counter_stop.h"
#include "engine/counter_stop_steps.h"
#include "test.h"

enum { M4 = 0x410FC241, M33 = 0x410FD214, M55 = 0x411FD221, A9 = 0x413FC090, A53 = 0x410FD034, ROOM = 64 };
enum { CYCCNT = 0xE0001004, COMP0 = 0xE0001020, FUNCTION0 = 0xE0001028 };
enum { PMU = 0x80091000, CTI = 0x80098000 };

static struct rig {
    struct core core;
    struct device_core chosen;
    struct counter_block block;
    struct device device;
    struct counter_stop stop;
    struct step items[ROOM];
    struct steps list;
} rig;

static void make_core(uint32_t id)
{
    struct core *core = &rig.chosen.core;
    uint64_t identity[ARMV8_IDENTITY] = {id};
    if (id == A9) {
        identity[ARMV7_DIDR] = 0x35137030;
        identity[ARMV7_AUTHSTATUS] = 0xFF;
        assert_true(armv7_identify(1, 0x80090000, identity, core));
    } else if (id == A53) {
        identity[ARMV8_AUTHSTATUS] = 0xFF;
        identity[ARMV8_TRIGGER_CHANNELS] = 0x00040800;
        armv8_identify(1, 0x80410000, CTI, identity, core);
    } else {
        assert_true(cortex_m_identify(1, identity, core));
        core->ops = &cortex_m_ops;
    }
    core->cti_base = CTI;
    core->pmu_base = PMU;
    core->pmu_unit = 1;
}

/* As counter_stop_take has it, without a target. */
static void make(uint32_t id, const struct block_kind *kind, enum counter_stop_way way, unsigned counter,
                 bool chained)
{
    uint64_t values[BLOCK_IDENTITY] = {0};
    memset(&rig, 0, sizeof rig);
    make_core(id);
    values[0] = kind == &dwt_kind ? DEMCR_TRCENA : 0x00003000;
    values[3] = kind == &pmu_v81m_kind ? 0x00A05F08 : 6;
    values[4] = 0x47700A06;
    assert_true(kind->identify(&rig.chosen.core, values, &rig.block));
    rig.device.chosen = &rig.chosen;
    rig.device.block = &rig.block;
    rig.stop = (struct counter_stop){.device = &rig.device,
                                     .core = &rig.chosen.core,
                                     .way = way,
                                     .counter = rig.block.counters[counter],
                                     .trigger = {.channel = 8}};
    unsigned top = chained ? counter + 1 : counter;
    if (chained)
        rig.stop.chained = rig.block.counters[top];
    rig.stop.flag = top == 0 ? UINT32_C(1) << 31 : UINT32_C(1) << (top - 1);
    rig.list = (struct steps){.items = rig.items, .room = ROOM};
}

static void expect_write(size_t i, uint64_t offset, uint64_t value)
{
    assert_true(i < rig.list.n);
    const struct step *step = &rig.items[i];
    if (step->op != OP_WRITE || step->at.offset != offset || step->value != value)
        fail_msg("step %zu: operation %d at %#llx with %#llx", i, step->op,
                 (unsigned long long)step->at.offset, (unsigned long long)step->value);
}

TEST(a_match_is_armed_by_its_comparator)
{
    static const struct {
        uint32_t id, function;
    } cores[] = {{M4, 0x84}, {M33, 0x11}, {M55, 0x11}};
    for (size_t i = 0; i < COUNT(cores); i++) {
        make(cores[i].id, &dwt_kind, COUNTER_STOP_MATCH, 0, false);
        counter_stop_add_arm(&rig.stop, &rig.list, 1000, 77);
        counter_stop_add_disarm(&rig.stop, &rig.list);
        expect_write(0, CYCCNT, 0);
        expect_write(1, COMP0, 1000);
        expect_write(2, FUNCTION0, cores[i].function);
        expect_write(3, FUNCTION0, 0);
        assert_int_equal(rig.list.n, 4);
    }
}

TEST(the_programs_own_cycle_counter_is_never_written)
{
    make(M4, &dwt_kind, COUNTER_STOP_MATCH, 0, false);
    rig.stop.is_shared = true;
    counter_stop_add_arm(&rig.stop, &rig.list, 0x200, 0xFFFFFF00);
    expect_write(0, COMP0, 0x100);
    expect_write(1, FUNCTION0, 0x84);
    assert_int_equal(rig.list.n, 2);
}

TEST(an_overflow_is_armed_by_its_counter)
{
    make(M55, &pmu_v81m_kind, COUNTER_STOP_OVERFLOW, 1, false);
    counter_stop_add_arm(&rig.stop, &rig.list, 300, 0);
    expect_write(0, 0xE0003000, 0x10000 - 300);
    expect_write(1, 0xE0003C80, 1);
    expect_write(2, 0xE0003C40, 1);
    assert_int_equal(rig.list.n, 3);
}

TEST(a_pair_of_counters_is_armed_for_more)
{
    make(M55, &pmu_v81m_kind, COUNTER_STOP_OVERFLOW, 1, true);
    counter_stop_add_arm(&rig.stop, &rig.list, 100000, 0);
    expect_write(0, 0xE0003004, 0xFFFE);
    expect_write(1, 0xE0003000, 0x20000 - 100000);
    expect_write(2, 0xE0003C80, 2);
    expect_write(3, 0xE0003C40, 2);
}

/* Whether it overflows at 32 or at 64 bits. */
TEST(a_long_cycle_counter_is_filled)
{
    make(A53, &pmu_v3_kind, COUNTER_STOP_TRIGGER, 0, false);
    counter_stop_add_arm(&rig.stop, &rig.list, 5000, 0);
    expect_write(0, PMU + 0xFC, UINT32_MAX);
    expect_write(1, PMU + 0xF8, (uint32_t)-5000);
    expect_write(2, PMU + 0xC80, UINT32_C(1) << 31);
}

/* What led to the stop is gone before it is acknowledged, and what was acknowledged before the core runs. */
TEST(the_core_runs_once_the_request_is_gone)
{
    make(A9, &pmu_v7_kind, COUNTER_STOP_TRIGGER, 1, false);
    counter_stop_add_arm(&rig.stop, &rig.list, 10, 0);
    size_t armed = rig.list.n;
    counter_stop_add_run(&rig.stop, &rig.list);
    expect_write(0, PMU, (uint32_t)-10);
    expect_write(1, PMU + 0xC80, 1);
    expect_write(armed, CTI + 0x010, 1);
    assert_int_equal(rig.items[armed + 1].op, OP_UNTIL);
    assert_true(rig.items[armed + 1].at.offset == CTI + 0x134 && rig.items[armed + 1].value == 0);
    expect_write(rig.list.n - 1, 0x80090090, 6);
}

/* Else it could be taken for the cause of the halt that was asked for. */
TEST(a_stop_is_disarmed_before_the_core_is_halted)
{
    make(M4, &dwt_kind, COUNTER_STOP_MATCH, 0, false);
    counter_stop_add_halt(&rig.stop, &rig.list);
    expect_write(0, FUNCTION0, 0);
    expect_write(1, DHCSR, 0xA05F0003);
    make(A9, &pmu_v7_kind, COUNTER_STOP_TRIGGER, 1, false);
    counter_stop_add_halt(&rig.stop, &rig.list);
    expect_write(0, PMU + 0xC60, 1);
    assert_true(rig.list.n > 1);
}

TEST(an_overflow_of_an_m55_halts_only_while_it_is_let_go_so)
{
    make(M55, &pmu_v81m_kind, COUNTER_STOP_OVERFLOW, 1, false);
    counter_stop_add_run(&rig.stop, &rig.list);
    expect_write(0, DFSR, 0x3F);
    expect_write(1, DHCSR, 0xA05F0041);
}

TEST(a_look_tells_whose_stop_it_is)
{
    enum { TRAP = 4, BKPT = 2, REQUEST = 1 };
    static const struct {
        uint32_t cause, comparator, value;
        bool is_ours, has_come;
        uint32_t late;
    } looks[] = {{TRAP, 1000, 1003, true, true, 3},
                 {TRAP, 0x10, 0xFFFFFFF0, false, false, 0}, /* another watchpoint */
                 {TRAP, 0xFFFFFFF0, 0x10, true, true, 0x20},
                 {TRAP | BKPT, 1000, 1003, false, true, 3},
                 {REQUEST, 1000, 1003, false, true, 3},
                 {BKPT, 1000, 900, false, false, 0}};
    make(M4, &dwt_kind, COUNTER_STOP_MATCH, 0, false);
    rig.chosen.core.resets = RESETS_NOTICED;
    for (size_t i = 0; i < COUNT(looks); i++) {
        uint64_t results[ROOM + 1] = {0};
        rig.list.n = 1; /* whatever precedes it */
        struct counter_stop_places at = counter_stop_add_look(&rig.stop, &rig.list);
        for (size_t k = at.cause; k < rig.list.n; k++)
            results[k] = rig.items[k].at.offset == DFSR         ? looks[i].cause
                         : rig.items[k].at.offset == COMP0      ? looks[i].comparator
                         : rig.items[k].at.offset == CYCCNT     ? looks[i].value
                         : rig.items[k].at.offset == 0xE000EDFC ? DEMCR_MON_REQ
                                                                : 0;
        struct counter_stop_look look = counter_stop_look(&rig.stop, results, &at);
        assert_int_equal(look.is_ours, looks[i].is_ours);
        assert_int_equal(look.has_come, looks[i].has_come);
        assert_int_equal(look.late, looks[i].late);
        assert_int_equal(look.value, looks[i].value);
        assert_false(look.was_reset);
    }
    assert_int_equal(rig.stop.late, 0x20);
}

TEST(a_halt_request_of_another_debugger_is_not_the_cross_triggers)
{
    static const struct {
        uint32_t dscr, flags, value;
        bool is_ours, was_taken;
    } looks[] = {{0x13, 1, 9, true, false},
                 {0x03, 1, 9, false, false},
                 {0x13, 0, 0xFFFFFFF0, false, false},
                 {0x13, 2, 0xFFFFFFF0, false, false},
                 {0x07, 1, 9, false, false},
                 {0x13, 2, 9, true, true}, /* an interrupt handler cleared the flag */
                 {0x03, 2, 9, false, false}};
    make(A9, &pmu_v7_kind, COUNTER_STOP_TRIGGER, 1, false);
    for (size_t i = 0; i < COUNT(looks); i++) {
        uint64_t results[ROOM] = {0};
        rig.list.n = 0;
        struct counter_stop_places at = counter_stop_add_look(&rig.stop, &rig.list);
        for (size_t k = at.cause; k < rig.list.n; k++)
            results[k] = rig.items[k].at.offset == 0x80090088       ? looks[i].dscr
                         : rig.items[k].at.offset == PMU + PMOVSCLR ? looks[i].flags
                         : rig.items[k].at.offset == PMU            ? looks[i].value
                                                                    : 0;
        struct counter_stop_look look = counter_stop_look(&rig.stop, results, &at);
        assert_int_equal(look.is_ours, looks[i].is_ours);
        assert_int_equal(look.was_taken, looks[i].was_taken);
        assert_false(look.was_written);
        assert_int_equal(look.late, looks[i].flags & 1 ? 9 : 0);
    }
}

TEST(a_counter_that_something_else_writes_is_told_with_both_values)
{
    struct error error = {0};
    struct counter_stop_look look = {.value = 5, .was_written = true};
    make(M55, &pmu_v81m_kind, COUNTER_STOP_OVERFLOW, 1, false);
    strcpy(rig.device.reading.counters[0].name, "CPU_CYCLES");
    assert_fails(counter_stop_check(&rig.stop, &look, 1000, &error), &error, ERROR_WRITTEN,
                 "CPU_CYCLES: it stopped the core at 1000, and has 5 by now");
    look.was_written = false;
    assert_true(counter_stop_check(&rig.stop, &look, 1000, &error));
}

TEST(a_counter_is_chosen_that_is_free_and_reaches_so_far)
{
    struct error error = {0};
    struct counter_pick picks[2], event = {.code = 0x08, .name = "INST_RETIRED"};
    make(M55, &pmu_v81m_kind, COUNTER_STOP_OVERFLOW, 1, false);
    assert_int_equal(counter_stop_choose(&rig.block, &event, 65535, picks, &error), 1);
    assert_int_equal(picks[0].counter, 1);
    assert_int_equal(counter_stop_choose(&rig.block, &event, 65536, picks, &error), 2);
    assert_int_equal(picks[1].counter, 2);
    assert_int_equal(picks[1].code, 0x1E);
    rig.block.pmu.free = rig.block.pmu.idle = 0x80000005; /* the program uses the one above */
    assert_int_equal(counter_stop_choose(&rig.block, &event, 65535, picks, &error), 1);
    assert_int_equal(counter_stop_choose(&rig.block, &event, 65536, picks, &error), 0);
    assert_error(&error, ERROR_NO_COUNTER, "");
    rig.block.pmu.free = rig.block.pmu.idle = 0;
    assert_int_equal(counter_stop_choose(&rig.block, &event, 10, picks, &error), 0);
    assert_int_equal(error.kind, ERROR_NO_COUNTER);
}

TEST(events_that_overflow_from_64_bits_stop_nothing)
{
    struct error error = {0};
    struct counter_pick picks[2], event = {.code = 0x08, .name = "INST_RETIRED"};
    make(M55, &pmu_v81m_kind, COUNTER_STOP_OVERFLOW, 1, false);
    struct pmu_places places = *rig.block.pmu.places;
    places.hindrances |= PMU_LONG_EVENTS;
    rig.block.pmu.places = &places;
    rig.block.pmu.control = PMU_ENABLE | PMU_LONG_EVENTS;
    rig.block.pmu.enabled = 0;
    assert_int_equal(counter_stop_choose(&rig.block, &event, 10, picks, &error), 1);
    rig.block.pmu.enabled = 0x80;
    assert_fails(counter_stop_choose(&rig.block, &event, 10, picks, &error) != 0, &error, ERROR_NO_COUNTER,
                 "overflow from 64 bits (PMCR.LP)");
}

TEST(the_dwt_stops_at_cycles_alone)
{
    struct error error = {0};
    struct counter_pick picks[2], event = {.code = 0, .name = "CPU_CYCLES"};
    make(M4, &dwt_kind, COUNTER_STOP_MATCH, 0, false);
    assert_int_equal(counter_stop_choose(&rig.block, &event, 1000000, picks, &error), 1);
    event.code = 4;
    assert_int_equal(counter_stop_choose(&rig.block, &event, 100, picks, &error), 0);
    assert_int_equal(error.kind, ERROR_NO_COUNTER);
    assert_true(counter_stop_is_used(&rig.chosen.core, 0x80) && counter_stop_is_used(&rig.chosen.core, 6));
    assert_false(counter_stop_is_used(&rig.chosen.core, 0x01000000));
}

TEST(a_comparator_of_armv8m_may_not_know_cycles)
{
    make(M33, &dwt_kind, COUNTER_STOP_MATCH, 0, false);
    assert_true(counter_stop_can_match(&rig.chosen.core, 0x0BU << 27 | 0));
    assert_true(counter_stop_can_match(&rig.chosen.core, 0x09U << 27 | 0));
    assert_false(counter_stop_can_match(&rig.chosen.core, 0x0AU << 27 | 0));
}
