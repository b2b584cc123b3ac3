/*
 * Who an Armv8-A core is, whether it can be halted, and on which channels of its cross trigger interface: two
 * that nothing is on, the last ones, for other debuggers start with the first.
 */
#include "../test.h"

#include "cores/architectures.h"

enum { DEBUG = 0x80010000, CTI = 0x80020000 };

/* An A53 r0p4 with an interface of 8 triggers and 4 channels that is on, with nothing on it. */
static void fill(uint64_t *values)
{
    memset(values, 0, ARMV8_IDENTITY * sizeof *values);
    values[ARMV8_MIDR] = 0x410FD034;
    values[ARMV8_DFR] = 0x10305106;
    values[ARMV8_AUTHSTATUS] = 0xFF;
    values[ARMV8_TRIGGER_CONTROL] = 1;
    values[ARMV8_TRIGGER_CHANNELS] = 0x00040800;
}

static struct core identify(const uint64_t *values)
{
    struct core core;
    armv8_identify(3, DEBUG, CTI, values, &core);
    return core;
}

TEST(debug_registers_are_known_by_their_architecture)
{
    static const uint16_t known[] = {0x6A15, 0x7A15, 0x8A15, 0x9A15, 0xAA15, 0x6A05};
    static const uint16_t others[] = {0x0000, 0x5A15, 0x4A13, 0x2A16, 0x1A14, 0x2A04, 0x7A05, 0x6A16};
    for (size_t i = 0; i < COUNT(known); i++)
        assert_true(armv8_is_archid(known[i]));
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(armv8_is_archid(others[i]));
}

TEST(cores_are_named)
{
    enum { R52 = 5 }; /* it has AArch32 state alone */
    static const struct {
        uint32_t midr, dfr;
        const char *name;
        unsigned comparators;
    } known[] = {
        {0x410FD034, 0x10305106, "Cortex-A53 r0p4", 6},
        {0x411FD042, 0x10305106, "Cortex-A35 r1p2", 6},
        {0x412FD050, 0x10305408, "Cortex-A55 r2p0", 6},
        {0x411FD072, 0x10305106, "Cortex-A57 r1p2", 6},
        {0x410FD083, 0x10305106, "Cortex-A72 r0p3", 6},
        {0x411FD132, 0x00207006, "Cortex-R52 r1p2", 8},
        {0x410FD0B1, 0x1030F106, "Cortex-A76 r0p1", 16},
        {0x410FD034, 0x10301106, "Cortex-A53 r0p4", 2},
        {0x510F8000, 0x10305106, "Armv8 core 51:800 r0p0", 6},
        {0x411FFFF3, 0x10305106, "Armv8 core 41:FFF r1p3", 6},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        uint64_t values[ARMV8_IDENTITY];
        fill(values);
        values[ARMV8_MIDR] = known[i].midr;
        values[ARMV8_DFR] = known[i].dfr;
        struct core core = identify(values);
        assert_string_equal(core.name, known[i].name);
        assert_int_equal(core.comparators, known[i].comparators);
        assert_true(armv8_is(&core) && core_has(&core, WIDE_REGISTERS) == (i != R52));
        assert_int_equal(core.id, known[i].midr);
        assert_int_equal(core.unit, 3);
        assert_int_equal(core.debug_base, DEBUG);
        assert_int_equal(core.cti_base, CTI);
        assert_null(core.unstoppable);
    }
}

TEST(one_that_hides_is_known_by_its_part)
{
    struct core core;
    armv8_identify_hidden(3, DEBUG, CTI, 0xD03, &core);
    assert_string_equal(core.name, "Cortex-A53");
    assert_int_equal(core.id, 0x4100D030);
    assert_int_equal(core.comparators, 0);
    assert_has(core.unstoppable, "refuse");
    armv8_identify_hidden(3, DEBUG, CTI, 0x123, &core);
    assert_string_equal(core.name, "Armv8 core 41:123");
}

/* CTIDEVARCH of an A53 (DDI 0500J 14.5) and of an A510 (DSU-110). */
TEST(its_cross_trigger_tells_who_catches)
{
    assert_false(armv8_cti_catches(0x47701A14));
    assert_true(armv8_cti_catches(0x47711A14));
    assert_false(armv8_cti_catches(0)); /* there is none */
}

TEST(not_every_core_can_be_halted)
{
    uint64_t values[ARMV8_IDENTITY];
    struct core core;
    fill(values);
    values[ARMV8_AUTHSTATUS] = 0xAA;
    core = identify(values);
    assert_has(core.unstoppable, "DBGEN");
    assert_int_equal(core.comparators, 0);
    values[ARMV8_AUTHSTATUS] = 0xAF; /* not in Secure state */
    assert_null(identify(values).unstoppable);
    armv8_identify(3, DEBUG, 0, values, &core);
    assert_has(core.unstoppable, "cross trigger");
    assert_int_equal(core.comparators, 0);
}

TEST(the_last_free_channels_are_taken)
{
    static const struct {
        uint32_t on, channels, input, output;
        uint32_t halt, run; /* 0: there are none */
    } known[] = {
        {1, 4, 0x0, 0x0, 0x4, 0x8}, {1, 4, 0x0, 0x3, 0x4, 0x8},
        {1, 4, 0x8, 0x1, 0x2, 0x4}, {1, 4, 0x4, 0x2, 0x1, 0x8},
        {1, 4, 0x4, 0x3, 0, 0},     {1, 4, 0xF, 0x0, 0, 0},
        {0, 4, 0xF, 0xF, 0x4, 0x8}, /* what it held when it was off counts for nothing */
        {1, 2, 0x0, 0x0, 0x1, 0x2}, {1, 1, 0x0, 0x0, 0, 0},
        {1, 0, 0x0, 0x0, 0, 0},     {1, 32, 0x0, 0x0, 0x20000000, 0x40000000},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        for (size_t trigger = 0; trigger < 8; trigger++) {
            uint64_t values[ARMV8_IDENTITY];
            fill(values);
            values[ARMV8_TRIGGER_CONTROL] = known[i].on;
            values[ARMV8_TRIGGER_CHANNELS] = known[i].channels << 16 | 0x800;
            values[ARMV8_INPUTS + trigger] = known[i].input;
            values[ARMV8_OUTPUTS + 7 - trigger] = known[i].output;
            values[ARMV8_OUTPUTS + 8] = 0xFFFFFFFF; /* the trigger does not exist */
            struct core core = identify(values);
            assert_int_equal(core.triggers_off, !known[i].on);
            assert_int_equal(core.unstoppable == NULL, known[i].halt != 0);
            if (known[i].halt != 0) {
                assert_int_equal(core.halt_channel, known[i].halt);
                assert_int_equal(core.run_channel, known[i].run);
            }
        }
}
