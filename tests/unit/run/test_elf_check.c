#include "../test.h"
#include "cores/architectures.h"
#include "knc/knc.h"

#include "run/program.h"

#include <elf.h>
#include <string.h>

/* CPUID or MIDR. */
static const uint32_t M0_PLUS = 0x410CC601, M3 = 0x412FC231, M4 = 0x410FC241, M23 = 0x411CD200,
                      M33 = 0x410FD213, M55 = 0x411FD221, A9 = 0x413FC090, A53 = 0x410FD034, R52 = 0x411FD131;
enum { V6_M = 11, V7 = 10, V7E_M = 13, V8_A = 14, V8_BASE = 16, V8_MAIN = 17, V81_MAIN = 21 };

static bool fits_m(unsigned architecture, char profile, uint32_t id)
{
    const struct symbols_machine machine = {
        .number = EM_ARM, .architecture = architecture, .profile = profile};
    const struct core core = {.ops = &cortex_m_ops, .id = id};
    return elf_check_fits(&machine, &core);
}

TEST(a_cortex_m_runs_what_is_for_it_or_for_less)
{
    static const struct {
        unsigned architecture;
        uint32_t runs[6], does_not[6];
    } table[] = {
        {V6_M, {M0_PLUS, M3, M4, M23, M33, M55}, {0}}, {V7, {M3, M4, M33, M55}, {M0_PLUS, M23}},
        {V7E_M, {M3, M4, M33, M55}, {M0_PLUS, M23}},   {V8_BASE, {M23, M33, M55}, {M0_PLUS, M3, M4}},
        {V8_MAIN, {M33, M55}, {M0_PLUS, M3, M4, M23}}, {V81_MAIN, {M55}, {M0_PLUS, M3, M4, M23, M33}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t k = 0; k < 6; k++) {
            if (table[i].runs[k] != 0)
                assert_true(fits_m(table[i].architecture, 'M', table[i].runs[k]));
            if (table[i].does_not[k] != 0)
                assert_false(fits_m(table[i].architecture, 'M', table[i].does_not[k]));
        }
    assert_false(fits_m(V7, 'A', M4));
    assert_false(fits_m(V7, 'R', M4));
    assert_false(fits_m(V8_A, 0, M33));
    assert_true(fits_m(0, 0, M0_PLUS)); /* it does not say */
}

TEST(other_machines_are_told_apart)
{
    const struct core cores[] = {
        {.ops = &cortex_m_ops, .id = M4}, {.ops = &armv7_ops, .id = A9}, {.ops = &armv8_ops, .id = A53},
        {.ops = &armv8_ops, .id = R52},   {.ops = &x86_64_ops},          {.ops = &knc_ops}};
    static const struct {
        struct symbols_machine machine;
        bool fits[sizeof cores / sizeof *cores];
    } table[] = {
        {{.number = EM_X86_64}, {false, false, false, false, true, true}},
        {{.number = EM_K10M}, {false, false, false, false, true, true}},
        {{.number = EM_AARCH64}, {false, false, true, false, false, false}},
        {{.number = EM_RISCV}, {false, false, false, false, false, false}},
        {{.number = EM_ARM, .architecture = V7, .profile = 'A'}, {false, true, true, true, false, false}},
        {{.number = EM_ARM, .architecture = V7, .profile = 'R'}, {false, true, true, true, false, false}},
        {{.number = EM_ARM, .architecture = V6_M}, {true, false, false, false, false, false}},
        {{.number = EM_ARM, .architecture = V7E_M}, {true, false, false, false, false, false}},
        {{.number = EM_ARM}, {true, true, true, true, false, false}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t k = 0; k < sizeof cores / sizeof *cores; k++)
            assert_int_equal(elf_check_fits(&table[i].machine, &cores[k]), table[i].fits[k]);
}
