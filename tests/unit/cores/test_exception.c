/* The words for exceptions and faults. */
#include "../test.h"
#include "cores/architectures.h"
#include "cores/armv8_transfer.h"
#include "cores/exception.h"

static void check(uint32_t id, uint64_t icsr, uint64_t cfsr, uint64_t hfsr, const char *expected,
                  bool expect_fault)
{
    struct core core = {.ops = &cortex_m_ops, .id = id};
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
    check(M4, 3, 0, 0xFFFFFFFF,
          "exception 3 (HardFault): CFSR 0x00000000, HFSR 0xFFFFFFFF (VECTTBL, FORCED, DEBUGEVT)", true);
    check(M0PLUS, 3, 0, 0, "exception 3 (HardFault)", true);
}

TEST(which_registers_are_read)
{
    struct step items[EXCEPTION_WORDS];
    struct steps list = {.items = items, .room = EXCEPTION_WORDS};
    struct core core = {.ops = &cortex_m_ops, .id = M4};
    assert_true(exception_add(&core, &list));
    assert_int_equal(list.n, EXCEPTION_WORDS);
    list.n = 0;
    core.id = M0PLUS;
    assert_true(exception_add(&core, &list));
    assert_int_equal(list.n, 1);
    core.ops = &armv8_ops;
    assert_false(exception_add(&core, &list));
}

/* At EL1, whose vectors are at 0x80000. */
static const char *armv8_fault(uint64_t pc, uint64_t lr, uint64_t esr, char *out, size_t size)
{
    const struct core core = {.ops = &armv8_ops};
    const struct exception_fault fault = {.status = 1 << 2 | 1,
                                          .pc = pc,
                                          .lr = lr,
                                          .has_values = true,
                                          .values = {0x80000, esr, 0x4321C, 0x50000000}};
    uint64_t at = 0;
    out[0] = '\0';
    if (exception_is_fault(&core, &fault)) {
        exception_describe_faults(&core, &fault, out, size);
        assert_true(exception_interrupted(&core, &fault, &at));
        assert_true(at == 0x4321C);
    }
    return out;
}

/* In Hyp mode, whose vectors are at 0x8000. */
static void hyp_fault(uint64_t pc, uint64_t hsr, char *out, size_t size)
{
    const struct core core = {.ops = &armv8_ops_in_aarch32};
    const struct exception_fault fault = {
        .status = 0x1DA, .pc = pc, .has_values = true, .values = {0x8000, hsr, 0x4320, 0x50000000}};
    uint64_t at = 0;
    out[0] = '\0';
    assert_true(exception_may_be_fault(&core, fault.status));
    if (!exception_is_fault(&core, &fault))
        return;
    exception_describe_faults(&core, &fault, out, size);
    assert_true(exception_interrupted(&core, &fault, &at));
    assert_int_equal(at, 0x4320);
    assert_false(exception_returns_by_lr(&core, fault.status));
}

TEST(faults_in_hyp_mode)
{
    char text[256];
    hyp_fault(0x8004, 0x02000000, text, sizeof text);
    assert_string_equal(
        text,
        ", in the vector of synchronous exceptions (Hyp mode, EL2): HSR 0x02000000 (undefined instruction)");
    hyp_fault(0x8010, 0x96000010, text, sizeof text);
    assert_string_equal(text, ", in the vector of synchronous exceptions (Hyp mode, EL2): HSR 0x96000010 "
                              "(data abort, external abort), HDFAR 0x50000000");
    hyp_fault(0x800C, 0x86000010, text, sizeof text);
    assert_string_equal(text, ", in the vector of synchronous exceptions (Hyp mode, EL2): HSR 0x86000010 "
                              "(instruction abort, external abort)");
    hyp_fault(0x8008, 0x4A000001, text, sizeof text);
    assert_has(text, "(HVC)");
    const uint64_t elsewhere[] = {0x8018, 0x801C, 0x8020, 0x7FFC}; /* IRQ, FIQ, other code */
    for (size_t i = 0; i < COUNT(elsewhere); i++) {
        hyp_fault(elsewhere[i], 0x96000010, text, sizeof text);
        assert_string_equal(text, "");
    }
    hyp_fault(0x8004, 0, text, sizeof text); /* no exception was taken yet */
    assert_string_equal(text, "");
}

TEST(interrupts_in_aarch32_state)
{
    const struct core core = {.ops = &armv8_ops_in_aarch32};
    assert_true(exception_may_be_interrupt(&core, 0x192));  /* IRQ mode */
    assert_false(exception_may_be_interrupt(&core, 0x193)); /* Supervisor mode, masked */
    assert_true(exception_may_be_interrupt(&core, 0x1DA));  /* Hyp mode, masked */
    assert_false(exception_may_be_interrupt(&core, 0x15A));
}

TEST(faults_of_an_armv8_core)
{
    char text[256];
    const char *synchronous = ", in the vector of synchronous exceptions (EL1): ESR 0x";
    const struct {
        uint64_t pc, lr, esr;
        const char *says; /* after `synchronous`; "": in no fault */
    } lines[] = {{0x80200, 0, 0x96000010, "96000010 (data abort, external abort), FAR 0x50000000"},
                 {0x4000, 0x80204, 0x96000045, "96000045 (data abort, translation), FAR 0x50000000"},
                 {0x80200, 0, 0x96000011, "96000011 (data abort, tag check), FAR 0x50000000"},
                 {0x80200, 0, 0x96000016, "96000016 (data abort, external abort), FAR 0x50000000"},
                 {0x80200, 0, 0x96000021, "96000021 (data abort, alignment), FAR 0x50000000"},
                 {0x80200, 0, 0x96000023, "96000023 (data abort), FAR 0x50000000"}, /* granule protection */
                 {0x80200, 0, 0x9600002B, "9600002B (data abort, translation), FAR 0x50000000"},
                 {0x8027C, 0, 0x8200000D, "8200000D (instruction abort, permission), FAR 0x50000000"},
                 {0x80000, 0, 0x02000000, "02000000 (undefined instruction)"},
                 {0x80400, 0, 0x56000001, "56000001 (SVC)"},
                 {0x80200, 0, 0xFE000000, "FE000000"},
                 {0x80200, 0, 0, ""}, /* the program's own code, with VBAR as after a reset */
                 {0x80200, 0, 0xBF000002, ""},
                 {0x80380, 0, 0x96000010, ""},
                 {0x80280, 0, 0x96000010, ""}, /* IRQ */
                 {0x80700, 0, 0x96000010, ""}, /* FIQ */
                 {0x4000, 0x80304, 0x96000010, ""},
                 {0x80800, 0, 0x96000010, ""},
                 {0x7FFFC, 0x80000, 0x96000010, ""}};
    for (size_t i = 0; i < COUNT(lines); i++) {
        armv8_fault(lines[i].pc, lines[i].lr, lines[i].esr, text, sizeof text);
        bool is_fault = lines[i].says[0] != '\0';
        if (is_fault != (text[0] != '\0') ||
            (is_fault && (strncmp(text, synchronous, strlen(synchronous)) != 0 ||
                          strcmp(text + strlen(synchronous), lines[i].says) != 0)))
            fail_msg("line %zu: \"%s\"", i, text);
    }
    armv8_fault(0x80380, 0, 0xBF000002, text, sizeof text);
    assert_string_equal(text, ", in the vector of SErrors (EL1): ESR 0xBF000002 (SError)");
}

/* In Abort mode: a data abort has its own registers, and an instruction's has others. */
TEST(faults_of_an_armv7_core)
{
    static const struct {
        uint64_t values[4];
        const char *says;
    } lines[] = {
        {{0x805, 0x50000000, 0, 0x60000004},
         ": DFSR 0x00000805 (translation), DFAR 0x50000000, IFSR 0x00000000, IFAR 0x60000004"},
        {{0, 0x50000000, 0x00D, 0x60000004},
         ": DFSR 0x00000000, DFAR 0x50000000, IFSR 0x0000000D (permission), IFAR 0x60000004"},
        {{0x1C06, 0, 0x008, 0}, /* FS[4] */
         ": DFSR 0x00001C06 (external abort, asynchronous), DFAR 0x00000000, "
         "IFSR 0x00000008 (external abort), IFAR 0x00000000"},
        {{0x606, 0, 0x405, 0}, /* of a long descriptor, and no code of these */
         ": DFSR 0x00000606, DFAR 0x00000000, IFSR 0x00000405, IFAR 0x00000000"},
    };
    const struct core core = {.ops = &armv7_ops};
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct exception_fault fault = {.status = 0x1D7, .has_values = true};
        char text[256];
        memcpy(fault.values, lines[i].values, sizeof fault.values);
        exception_describe_faults(&core, &fault, text, sizeof text);
        assert_string_equal(text, lines[i].says);
    }
}

/* What was read for it becomes the values, of whichever kind of core. */
TEST(what_a_fault_has_is_read_and_taken)
{
    static const struct {
        const struct core_ops *ops;
        uint64_t status;
        bool reads;
    } lines[] = {{&armv7_ops, 0x1D7, true},
                 {&armv7_ops, 0x1DB, false}, /* Undefined mode lacks these registers */
                 {&armv7_ops, 0x1D3, false},
                 {&armv8_ops, 0x3C5, true},
                 {&armv8_ops, 0x3C9, true},
                 {&armv8_ops, 0x000, false},
                 {&armv8_ops_in_aarch32, 0x1D7, true},
                 {&armv8_ops_in_aarch32, 0x1DA, true},
                 {&armv8_ops_in_aarch32, 0x1D0, false}};
    for (size_t i = 0; i < COUNT(lines); i++) {
        const struct core core = {.ops = lines[i].ops, .debug_base = 0x80010000};
        struct step items[256];
        struct steps list = {.items = items, .room = COUNT(items)};
        uint64_t results[256];
        size_t at[FAULT_WORDS];
        struct exception_fault fault = {.status = lines[i].status};
        if (exception_add_faults(&core, lines[i].status, &list, at) != lines[i].reads)
            fail_msg("line %zu", i);
        if (!lines[i].reads) {
            assert_int_equal(list.n, 0);
            continue;
        }
        for (size_t k = 0; k < COUNT(results); k++)
            results[k] = 0x1000 + k;
        exception_take_faults(&core, results, at, &fault);
        assert_true(fault.has_values);
        for (size_t k = 0; k < FAULT_WORDS; k++) {
            if (at[k] >= list.n || (k > 0 && at[k] == at[k - 1]))
                fail_msg("line %zu: value %zu at %zu of %zu", i, k, at[k], list.n);
            uint64_t wanted = core.ops == &armv8_ops ? armv8_register_value(&core, CORE_PC, results, at[k])
                                                     : results[at[k]];
            assert_true(fault.values[k] == wanted);
        }
    }
}

/* Where the code goes on that a fault or an interrupt was taken from: DDI 0406C table B1-7. */
TEST(where_an_exception_of_an_armv7_core_came_from)
{
    static const struct {
        uint64_t status;
        bool in_thumb, has_values;
        uint64_t ifar, from;
    } lines[] = {{0x1D7, false, true, 0, 0x8FF8},       {0x1D7, false, true, 0x8FFC, 0x8FFC},
                 {0x1D7, false, false, 0x8FFC, 0x8FF8}, {0x1DB, false, false, 0, 0x8FFC},
                 {0x1DB, true, false, 0, 0x8FFE},       {0x1D2, false, false, 0, 0x8FFC}};
    const struct core core = {.ops = &armv7_ops};
    for (size_t i = 0; i < COUNT(lines); i++) {
        const struct exception_fault fault = {.status = lines[i].status,
                                              .lr = 0x9000,
                                              .in_thumb = lines[i].in_thumb,
                                              .has_values = lines[i].has_values,
                                              .values = {0, 0, 0, lines[i].ifar}};
        uint64_t from = 0;
        assert_true(exception_interrupted(&core, &fault, &from));
        if (from != lines[i].from)
            fail_msg("line %zu: 0x%llX", i, (unsigned long long)from);
    }
}
