#include "cores/armv8_transfer.h"
#include "cores/injected.h"

/* PSTATE as DSPSR_EL0 has it, DDI 0487 C5.2.19: D, A, I, F; SS and IL, BTYPE. */
enum { MASKS = 0xF << 6 };
static const uint32_t NOT_KEPT = 3 << 20 | 3 << 10;
static const uint32_t MOVZ = 0xD2800000, MOVK = 0xF2800000;

/* MRS and MSR of X0, of ELR, SPSR, ESR and FAR at EL1; op1 makes another level of it: C5.2. */
static const uint32_t MRS_AT_EL1[] = {0xD5384020, 0xD5384000, 0xD5385200, 0xD5386000};
enum { FAULTS = sizeof MRS_AT_EL1 / sizeof *MRS_AT_EL1, READS = 1 << 21, OP1_SHIFT = 16 };

static void add_begin(const struct core *core, struct steps *list)
{
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
    armv8_add_write(core, list, EDSCR, EDSCR_HDE);
}

static void add_constant(const struct core *core, struct steps *list, unsigned general, uint64_t value)
{
    armv8_add_instruction(core, list, MOVZ | (uint32_t)(value & 0xFFFF) << 5 | general);
    for (uint32_t i = 1; i < 4; i++) {
        uint32_t part = value >> (16 * i) & 0xFFFF;
        if (part != 0)
            armv8_add_instruction(core, list, MOVK | i << 21 | part << 5 | general);
    }
}

static void add_proof(const struct core *core, struct steps *list)
{
    steps_add(list, step_expect(armv8_word(core, EDSCR), EDSCR_ERR | EDSCR_HALTED, EDSCR_HALTED));
}

/* EDSCR.EDSCR_MA is 0 only once it has stopped again. */
static void add_wait_stop(const struct core *core, struct steps *list)
{
    steps_add(list, step_until(armv8_word(core, EDSCR), EDSCR_HALTED | EDSCR_MA, EDSCR_HALTED));
}

static unsigned level_of(uint64_t status)
{
    return status >> EDSCR_EL_SHIFT & 3;
}

static size_t others(const struct core *core, uint64_t status, struct injected_register *out)
{
    static const uint32_t op1[] = {0, 0, 4, 6};
    (void)core;
    out[INJECTED_PC] = (struct injected_register){{0xD53B4520}, {0xD51B4520}}; /* DLR_EL0 */
    out[INJECTED_STATE] = (struct injected_register){{0xD53B4500}, {0xD51B4500}};
    for (size_t i = 0; i < FAULTS; i++) {
        uint32_t mrs = MRS_AT_EL1[i] | op1[level_of(status)] << OP1_SHIFT;
        out[INJECTED_FAULTS + i] = (struct injected_register){{mrs}, {mrs & ~(uint32_t)READS}};
    }
    return INJECTED_FAULTS + FAULTS;
}

static uint64_t pc(uint64_t moved, uint64_t state)
{
    (void)state;
    return moved;
}

static uint64_t state_for(uint64_t found)
{
    return (found & ~(uint64_t)NOT_KEPT) | MASKS;
}

/* From EL0 the way to EL1 leads through DCPS1, which spoils ELR_EL1, SPSR_EL1 and ESR_EL1: H2.4.6. */
static const char *hindrance(const struct core *core, uint64_t status, uint64_t state)
{
    (void)state;
    const char *unreadable = core_unreadable(core, status);
    return unreadable != NULL ? unreadable : level_of(status) == 0 ? "it is in user mode (EL0)" : NULL;
}

static struct address guard(const struct core *core)
{
    return armv8_word(core, EDECCR);
}

static uint32_t guard_bits(uint64_t status)
{
    return UINT32_C(0x11) << level_of(status);
}

/* DC CVAU, DSB ISH, IC IVAU, DSB ISH, ISB: DDI 0487 B2.4.4. */
const struct injected_kind armv8_injected = {
    .stack_to_r0 = 0x910003E0,
    .load = 0xB9400020,
    .store = 0xB9000020,
    .next = 1 << 10,
    .clean_line = 0xD50B7B21,
    .clean_done = 0xD5033B9F,
    .forget_line = 0xD50B7521,
    .forget_done = {0xD5033B9F, 0xD5033FDF},
    .drain = 0xD5330500, /* MRS X0, DBGDTRRX_EL0 */
    .wide = true,
    .add_begin = add_begin,
    .add_instruction = armv8_add_instruction,
    .add_constant = add_constant,
    .add_proof = add_proof,
    .add_wait_stop = add_wait_stop,
    .others = others,
    .pc = pc,
    .state = state_for,
    .hindrance = hindrance,
    .guard = guard,
    .guard_bits = guard_bits,
};
