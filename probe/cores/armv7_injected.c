#include "cores/armv7_transfer.h"
#include "cores/injected.h"

/* CPSR, DDI 0406C B1.3.3. */
enum { MODE_HYP = 0x1A, MODE_SYSTEM = 0x1F, MASKS = 7 << 6 };
static const uint32_t NOT_KEPT = 0x0700FE00; /* IT, J, E */
static const uint32_t VECTORS = 0x1A00001A;  /* DBGVCR: undefined instruction and both aborts, C11.11 */

/* MOVW R2, mode with I and F; MSR CPSR_c, R2. */
#define IN_MODE(mode) 0xE30020C0 | (mode), 0xE121F002
enum { ABORT_MODE = 0x17, UNDEFINED_MODE = 0x1B };

/* A change of the state spoils the PC, C5.3: that is set after it. Then DFSR, IFSR, DFAR and IFAR, B3.17, and
 * the link and saved state of both modes that an exception would enter. */
static const struct injected_register registers[INJECTED_OTHERS] = {
    [INJECTED_PC] = {{0xE1A0000F}, {0xE1A0F000}},
    [INJECTED_STATE] = {{0xE10F0000}, {0xE12FF000}}, /* MRS; MSR CPSR_fsxc */
    {{0xEE150F10}, {0xEE050F10}},
    {{0xEE150F30}, {0xEE050F30}},
    {{0xEE160F10}, {0xEE060F10}},
    {{0xEE160F50}, {0xEE060F50}},
    {{IN_MODE(ABORT_MODE), 0xE1A0000E}, {IN_MODE(ABORT_MODE), 0xE1A0E000}},
    {{IN_MODE(ABORT_MODE), 0xE14F0000}, {IN_MODE(ABORT_MODE), 0xE16FF000}},
    {{IN_MODE(UNDEFINED_MODE), 0xE1A0000E}, {IN_MODE(UNDEFINED_MODE), 0xE1A0E000}},
    {{IN_MODE(UNDEFINED_MODE), 0xE14F0000}, {IN_MODE(UNDEFINED_MODE), 0xE16FF000}},
};

static void add_begin(const struct core *core, struct steps *list)
{
    armv7_add_write(core, list, DBGDRCR, DBGDRCR_CLEAR_STICKY);
    armv7_add_write(core, list, DBGDSCR, DBGDSCR_HDBGEN | DBGDSCR_ITREN);
    steps_add(list, step_read(armv7_word(core, DBGDTRTX)));
}

static void add_constant(const struct core *core, struct steps *list, unsigned general, uint64_t value)
{
    armv7_add_constant(core, list, general, (uint32_t)value);
}

static void add_proof(const struct core *core, struct steps *list)
{
    steps_add(list, step_expect(armv7_word(core, DBGDSCR), DBGDSCR_HALTED | DBGDSCR_STICKY, DBGDSCR_HALTED));
}

static void add_wait_stop(const struct core *core, struct steps *list)
{
    steps_add(list, step_until(armv7_word(core, DBGDSCR), DBGDSCR_STOPPED, DBGDSCR_STOPPED));
}

static size_t others(const struct core *core, uint64_t status, struct injected_register *out)
{
    (void)core;
    (void)status;
    for (size_t i = 0; i < INJECTED_OTHERS; i++)
        out[i] = registers[i];
    return INJECTED_OTHERS;
}

static uint64_t pc(uint64_t moved, uint64_t state)
{
    return core_code_place(armv7_pc(moved, state));
}

/* System mode has the stack and the translation of User mode. */
static uint64_t state_for(uint64_t found)
{
    uint64_t kept = found & ~(uint64_t)(NOT_KEPT | CPSR_T | CPSR_MODE);
    return kept | MASKS | ((found & CPSR_MODE) == CPSR_USER ? MODE_SYSTEM : found & CPSR_MODE);
}

static const char *hindrance(const struct core *core, uint64_t status, uint64_t state)
{
    (void)core;
    (void)status;
    return (state & CPSR_MODE) == MODE_HYP ? "it is in Hyp mode" : NULL;
}

static struct address guard(const struct core *core)
{
    return armv7_word(core, DBGVCR);
}

static uint32_t guard_bits(uint64_t status)
{
    (void)status;
    return VECTORS;
}

/* DCCMVAU, DSB, ICIMVAU, BPIALL, DSB, ISB: B2.2.9. */
const struct injected_kind armv7_injected = {
    .stack_to_r0 = 0xE1A0000D,
    .load = 0xE5910000,
    .store = 0xE5810000,
    .next = 4,
    .clean_line = 0xEE071F3B,
    .clean_done = 0xF57FF04F,
    .forget_line = 0xEE071F35,
    .forget_done = {0xEE070FD5, 0xF57FF04F, 0xF57FF06F},
    .add_begin = add_begin,
    .add_instruction = armv7_add_instruction,
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
