#include "cores/architectures.h"
#include "cores/pc_sample.h"
#include "knc/knc.h"
#include "test.h"

static const uint64_t M4[CORTEX_M_IDENTITY] = {0x410FC241, 0x260, 0x200};

static struct core cortex_m4(void)
{
    struct core core;
    assert_true(cortex_m_identify(0, M4, &core));
    return core;
}

static struct core armv7(uint32_t midr, uint32_t didr)
{
    const uint64_t identity[ARMV7_IDENTITY] = {midr, didr, 0xAF};
    struct core core;
    assert_true(armv7_identify(1, 0x80090000, identity, &core));
    return core;
}

static struct core armv8(uint64_t pmu_base)
{
    const uint64_t identity[ARMV8_IDENTITY] = {0x410FD034};
    struct core core;
    armv8_identify(1, 0x80410000, 0, identity, &core);
    core.pmu_base = pmu_base;
    core.pmu_unit = 2;
    return core;
}

static bool find(const struct core *core, const uint64_t *identity, struct pc_sample *out)
{
    struct step items[PC_SAMPLE_IDENTITY];
    struct steps list = {.items = items, .room = PC_SAMPLE_IDENTITY};
    pc_sample_add_identity(core, &list);
    assert_false(list.overflow);
    for (size_t i = 0; i < list.n; i++)
        assert_int_equal(items[i].op, OP_READ);
    return pc_sample_identify(core, identity, out);
}

TEST(which_register_an_armv7_core_has)
{
    static const struct {
        uint32_t midr;
        uint64_t identity[PC_SAMPLE_IDENTITY]; /* DBGDIDR, DBGDEVID, DBGDEVID1 */
        uint64_t at;                           /* 0: none */
        bool has_context;                      /* CONTEXTIDR of it */
        enum pc_form form;
    } cores[] = {
        {0x413FC090, {0x35137030, 0, 0}, 0x80090084, false, PC_FORM_V7_TARGET}, /* A9: no DBGDEVID */
        {0x413FC090,
         {0x35137030, 0x3, 0x1},
         0x80090084,
         false,
         PC_FORM_V7_TARGET}, /* which is then not asked */
        {0x410FC075, {0x3515F005, 0x01110F13, 0}, 0x800900A0, true, PC_FORM_V7_OFFSET}, /* A7: both bits */
        {0x410FC0F0, {0x3515F021, 0x01110F13, 1}, 0x800900A0, true, PC_FORM_V7},        /* A15, no offset */
        {0x410FC075,
         {0x3515F005, 0x01110F10, 0},
         0x80090084,
         false,
         PC_FORM_V7_OFFSET}, /* only at the old place */
        {0x410FC075, {0x3515F005, 0x01110F11, 0}, 0x800900A0, false, PC_FORM_V7_OFFSET}, /* without */
        {0x411FC153, {0x77040013, 0x3, 0}, 0, false, PC_FORM_V7},                        /* R5: neither bit */
        {0x410FC075, {0x3515D005, 0x01110F10, 0}, 0, false, PC_FORM_V7},
    };
    for (size_t i = 0; i < COUNT(cores); i++) {
        struct core core = armv7(cores[i].midr, (uint32_t)cores[i].identity[0]);
        struct pc_sample sample;
        assert_int_equal(find(&core, cores[i].identity, &sample), cores[i].at != 0);
        if (cores[i].at == 0)
            continue;
        assert_string_equal(sample.name, "DBGPCSR");
        assert_int_equal(sample.words, 1);
        assert_int_equal(sample.at[0].offset, cores[i].at);
        assert_int_equal(sample.form, cores[i].form);
        assert_int_equal(sample.has_context, cores[i].has_context);
        assert_int_equal(sample.context.offset, 0x800900A4);
    }
}

TEST(which_register_an_armv8_core_has)
{
    struct core core = armv8(0x80430000), lone = armv8(0);
    struct pc_sample sample;
    assert_true(find(&core, (const uint64_t[]){0x01110F13, 1, 0}, &sample));
    assert_string_equal(sample.name, "EDPCSR");
    assert_int_equal(sample.words, 2);
    assert_int_equal(sample.at[0].offset, 0x804100A0);
    assert_int_equal(sample.at[1].offset, 0x804100AC);
    assert_true(sample.has_context);
    assert_int_equal(sample.context.offset, 0x804100A4);
    assert_true(find(&core, (const uint64_t[]){0x01110F10, 1, 0}, &sample));
    assert_string_equal(sample.name, "PMPCSR");
    assert_int_equal(sample.at[0].offset, 0x80430200);
    assert_int_equal(sample.at[1].offset, 0x80430204);
    assert_int_equal(sample.at[0].unit, 2);
    assert_true(sample.has_context);
    assert_int_equal(sample.context.offset, 0x80430208);
    assert_int_equal(sample.context.unit, 2);
    assert_false(find(&core, (const uint64_t[]){0, 0, 0}, &sample));
    assert_true(find(&lone, (const uint64_t[]){1, 0, 0}, &sample));
    assert_false(find(&lone, (const uint64_t[]){0, 1, 0}, &sample)); /* the second was not read */
}

TEST(a_cortex_m_shows_it_by_its_value)
{
    struct core core = cortex_m4();
    struct pc_sample sample;
    assert_true(find(&core, NULL, &sample));
    assert_string_equal(sample.name, "DWT_PCSR");
    assert_int_equal(sample.at[0].offset, 0xE000101C);
    assert_false(pc_sample_proves(&sample, (const uint64_t[]){0}));
    assert_true(pc_sample_proves(&sample, (const uint64_t[]){0xFFFFFFFF}));
    assert_true(pc_sample_proves(&sample, (const uint64_t[]){0x100}));
}

static void holds(enum pc_form form, uint64_t low, uint64_t high, uint64_t address)
{
    const struct pc_sample sample = {.form = form};
    uint64_t found = 0;
    assert_true(pc_sample_address(&sample, (const uint64_t[]){low, high}, &found));
    assert_int_equal(found, address);
}

static void holds_none(enum pc_form form, uint64_t low, uint64_t high)
{
    const struct pc_sample sample = {.form = form};
    uint64_t found;
    assert_false(pc_sample_address(&sample, (const uint64_t[]){low, high}, &found));
}

TEST(a_value_becomes_an_address)
{
    holds(PC_FORM_M, 0x08000124, 0, 0x08000124);
    holds(PC_FORM_M, 0x08000125, 0, 0x08000124);
    holds(PC_FORM_V7_OFFSET, 0x00008008, 0, 0x00008000); /* ARM */
    holds(PC_FORM_V7_OFFSET, 0x00008005, 0, 0x00008000); /* Thumb */
    holds(PC_FORM_V7_OFFSET, 0x00008007, 0, 0x00008002);
    holds(PC_FORM_V7_OFFSET, 0x00000004, 0, 0xFFFFFFFC); /* below 0 is the end of memory */
    holds(PC_FORM_V7, 0x00008008, 0, 0x00008008);
    holds(PC_FORM_V7, 0x00008003, 0, 0x00008002);
    holds(PC_FORM_V7_TARGET, 0x00008008, 0, 0x00008008);
    holds(PC_FORM_V7_TARGET, 0x00008005, 0, 0x00008006); /* Thumb, at either half of the word */
    holds(PC_FORM_V7_TARGET, 0x00008007, 0, 0x00008006); /* ThumbEE */
    holds(PC_FORM_V8, 0x00080124, 0xFFFFFF80, 0xFFFFFF8000080124);
    holds(PC_FORM_V8, 0, 0, 0);
    holds(PC_FORM_V8_LEVELS, 0x00080124, 0xA0000000, 0x00080124);         /* NS, EL1 */
    holds(PC_FORM_V8_LEVELS, 0x00080124, 0xE0FFFF80, 0xFFFFFF8000080124); /* EL3, the upper half */
    holds(PC_FORM_V8_LEVELS, 0x00080124, 0x00123456, 0x0012345600080124);
}

TEST(a_value_without_an_address)
{
    for (enum pc_form form = PC_FORM_M; form <= PC_FORM_V8_LEVELS; form++)
        holds_none(form, 0xFFFFFFFF, 0x12345678);
    holds_none(PC_FORM_M, 0, 0);              /* TRCENA is off */
    holds_none(PC_FORM_V7_OFFSET, 0x8006, 0); /* neither ARM nor Thumb code */
}

TEST(the_low_word_comes_first)
{
    struct core core = armv8(0);
    struct pc_sample sample;
    struct step items[4];
    struct steps list = {.items = items, .room = 4};
    assert_true(find(&core, (const uint64_t[]){3, 0, 0}, &sample));
    assert_int_equal(pc_sample_add(&sample, &list), 0);
    assert_int_equal(pc_sample_add(&sample, &list), 2);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(items[i].at.offset & 0xFFF, i % 2 == 0 ? 0x0A0 : 0x0AC);
}

static struct pc_look look(const struct core *core, uint64_t status, uint64_t other)
{
    /* Of others the one that shows a loss of power must be read first */
    bool is_m = core->ops == &cortex_m_ops;
    return pc_sample_look(core, (const uint64_t[]){is_m ? status : other, is_m ? other : status});
}

TEST(a_look_at_a_cortex_m)
{
    const uint64_t traced = 1 << 24;
    struct core core = cortex_m4();
    struct step items[PC_LOOK_WORDS];
    struct steps list = {.items = items, .room = PC_LOOK_WORDS};
    assert_int_equal(pc_sample_add_look(&core, &list), 0);
    assert_int_equal(items[0].at.offset, 0xE000EDF0);
    assert_int_equal(items[1].at.offset, 0xE000EDFC);
    struct pc_look found = look(&core, 0x01000000, traced);
    assert_true(found.state == CORE_RUNNING && !found.reset && !found.held && !found.off);
    assert_int_equal(look(&core, 0x00040000, traced).state, CORE_ASLEEP);
    assert_int_equal(look(&core, 0x00020000, traced).state, CORE_HALTED);
    assert_int_equal(look(&core, 0x00080000, traced).state, CORE_LOCKUP);
    assert_true(look(&core, 0x02000000, traced).reset);
    assert_true(look(&core, 0, 0).off);
}

TEST(a_look_at_an_armv7_core)
{
    struct core core = armv7(0x413FC090, 0x35137030);
    struct pc_look found = look(&core, 0x00000002, 1);
    assert_true(found.state == CORE_RUNNING && !found.reset && !found.held && !found.off);
    assert_int_equal(look(&core, 0x00000003, 1).state, CORE_HALTED);
    assert_true(look(&core, 2, 0x9).reset && !look(&core, 2, 0x9).held);
    assert_true(look(&core, 2, 0x5).reset && look(&core, 2, 0x5).held);
    assert_true(look(&core, 2, 0).held);    /* no power */
    assert_false(look(&core, 2, 0x21).off); /* no bit of Armv7 */
}

TEST(a_look_at_an_armv8_core)
{
    struct core core = armv8(0);
    struct step items[PC_LOOK_WORDS];
    struct steps list = {.items = items, .room = PC_LOOK_WORDS};
    assert_int_equal(pc_sample_add_look(&core, &list), 0);
    assert_int_equal(items[0].at.offset, 0x80410314);
    assert_int_equal(items[1].at.offset, 0x80410088);
    struct pc_look found = look(&core, 0x02, 1);
    assert_true(found.state == CORE_RUNNING && !found.reset && !found.held && !found.off);
    assert_int_equal(look(&core, 0x13, 1).state, CORE_HALTED);
    assert_true(look(&core, 0x02, 0x3).reset); /* it had lost its power */
    assert_true(look(&core, 0x02, 0x21).off);  /* the OS lock */
    assert_true(look(&core, 0x02, 0x4).held);
}
