/* The words for exceptions and faults. */
#include "../test.h"
#include "cores/exception.h"

static void check(uint32_t id, uint64_t icsr, uint64_t cfsr, uint64_t hfsr, const char *expected,
                  bool expect_fault)
{
    struct core core = {.family = CORE_M, .id = id};
    const uint64_t words[EXCEPTION_WORDS] = {icsr, cfsr, hfsr, 0x20001234, 0x40005678};
    char text[256];
    bool is_fault = !expect_fault;
    exception_describe(&core, words, &is_fault, text, sizeof text);
    assert_string_equal(text, expected);
    assert_int_equal(is_fault, expect_fault);
}

enum { M4 = 0x410FC241, M0PLUS = 0x410CC601 };

TEST(what_a_cortex_m_is_in)
{
    check(M4, 1 << 22, 0x200, 0, "", false);
    check(M4, 15 | 1 << 11, 0x200, 0, "exception 15 (SysTick)", false);
    check(M4, 16 + 37, 0, 0, "exception 53 (interrupt 37)", false);
    check(M4, 8, 0, 0, "exception 8", false);
    check(M4, 3, 0x8200, 0x40000000,
          "exception 3 (HardFault): CFSR 0x00008200 (PRECISERR), BFAR 0x40005678, HFSR 0x40000000 (FORCED)",
          true);
    check(M4, 4, 0x82, 0,
          "exception 4 (MemManage): CFSR 0x00000082 (DACCVIOL), MMFAR 0x20001234, HFSR 0x00000000", true);
    check(M4, 6, 0x02010000, 0,
          "exception 6 (UsageFault): CFSR 0x02010000 (UNDEFINSTR, DIVBYZERO), HFSR 0x00000000", true);
    check(M0PLUS, 3, 0, 0, "exception 3 (HardFault)", true);
}

TEST(which_registers_are_read)
{
    struct step items[EXCEPTION_WORDS];
    struct steps list = {.items = items, .room = EXCEPTION_WORDS};
    struct core core = {.family = CORE_M, .id = M4};
    assert_true(exception_add(&core, &list));
    assert_int_equal(list.n, EXCEPTION_WORDS);
    list.n = 0;
    core.id = M0PLUS;
    assert_true(exception_add(&core, &list));
    assert_int_equal(list.n, 1);
    core.family = CORE_ARMV8;
    assert_false(exception_add(&core, &list));
}
