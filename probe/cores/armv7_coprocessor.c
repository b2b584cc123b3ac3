#include "cores/armv7_coprocessor.h"

#include "cores/armv7_transfer.h"

/* Instructions for DBGITR, in the ARM encoding, DDI 0406C A8.8. All of them go through R0. */
static const uint32_t MCR_DTRTX = 0xEE000E15; /* MCR p14, 0, R0, c0, c5, 0 */
static const uint32_t MRC_DTRRX = 0xEE100E15; /* MRC p14, 0, R0, c0, c5, 0 */
static const uint32_t MCR_CP15 = 0xEE000F10, MRC_CP15 = 0xEE100F10;
static const uint32_t MOVW_R0 = 0xE3000000, MOVT_R0 = 0xE3400000;
static const uint32_t MRS_R0_CPSR = 0xE10F0000, MSR_CPSR_R0 = 0xE12FF000; /* all of it */
static const uint32_t MSR_CPSR_C_R0 = 0xE121F000;
static const uint32_t ISB = 0xF57FF06F;

enum { CRN = 16, OPC1 = 21, OPC2 = 5, SELECTED = 32 };
enum { SUPERVISOR = 0xD3 }; /* CPSR[7:0], B1.3.3: with I and F */
enum { CLEAR_STICKY = 1 << 2, RXFULL_L = 1 << 27 };

struct address cp15_register(unsigned crn, unsigned opc1, unsigned crm, unsigned opc2)
{
    return (struct address){
        .space = SPACE_CP15, .size = 4, .offset = (uint64_t)crn << CRN | opc1 << OPC1 | opc2 << OPC2 | crm};
}

struct address cp15_selected(unsigned number, unsigned crn, unsigned opc1, unsigned crm, unsigned opc2)
{
    struct address at = cp15_register(crn, opc1, crm, opc2);
    at.offset |= (uint64_t)(number + 1) << SELECTED;
    return at;
}

static bool is_selected(const struct address *at)
{
    return at->offset >> SELECTED != 0;
}

static uint32_t selector(void)
{
    return (uint32_t)cp15_register(9, 0, 12, 5).offset; /* PMSELR */
}

/* The next instruction is taken only after a read of DBGDSCR has shown that this one is done, C8. */
static void add_wait(const struct core *core, struct steps *list, uint32_t flags)
{
    steps_add(list, step_until(armv7_word(core, DBGDSCR), flags, flags));
}

static void add_instruction(const struct core *core, struct steps *list, uint32_t instruction)
{
    armv7_add_write(core, list, DBGITR, instruction);
    add_wait(core, list, INSTRCOMPL_L);
}

/* R0 to us, by way of DBGDTRTX; returns the index of its value. */
static size_t take_r0(const struct core *core, struct steps *list)
{
    armv7_add_write(core, list, DBGITR, MCR_DTRTX);
    add_wait(core, list, INSTRCOMPL_L | TXFULL_L);
    return steps_add(list, step_read(armv7_word(core, DBGDTRTX)));
}

/* What was taken at `saved`, into R0. While an exception sticks in DBGDSCR no instruction would be taken. */
static void give_r0(const struct core *core, struct steps *list, size_t saved, bool unstick)
{
    struct step copy = step_copy(armv7_word(core, DBGDTRRX), list->n - saved);
    copy.behind = unstick ? 3 : 2;
    steps_add(list, copy);
    if (unstick)
        armv7_add_write(core, list, DBGDRCR, CLEAR_STICKY);
    add_instruction(core, list, MRC_DTRRX);
}

/* Not by way of DBGDTRRX: nothing may be left in there when R0 has to be given back. */
static void set_r0(const struct core *core, struct steps *list, uint32_t value)
{
    uint32_t low = value & 0xFFFF, high = value >> 16;
    add_instruction(core, list, MOVW_R0 | (low & 0xF000) << 4 | (low & 0xFFF));
    if (high != 0)
        add_instruction(core, list, MOVT_R0 | (high & 0xF000) << 4 | (high & 0xFFF));
}

static void select_counter(const struct core *core, struct steps *list, const struct address *at)
{
    if (!is_selected(at))
        return;
    set_r0(core, list, (uint32_t)(at->offset >> SELECTED) - 1);
    add_instruction(core, list, MCR_CP15 | selector());
    add_instruction(core, list, ISB);
}

static size_t add_access(const struct core *core, struct steps *list, const struct step *access)
{
    uint32_t place = (uint32_t)access->at.offset;
    select_counter(core, list, &access->at);
    if (access->op == OP_READ) {
        add_instruction(core, list, MRC_CP15 | place);
        return take_r0(core, list);
    }
    set_r0(core, list, (uint32_t)access->value);
    add_instruction(core, list, MCR_CP15 | place);
    add_instruction(core, list, ISB);
    return SIZE_MAX;
}

/* Nothing is under way any more, of an access that ended early. A debugger's message that the program has not
 * taken yet would be taken for R0. */
static void add_proof_of_quiet(const struct core *core, struct steps *list)
{
    add_wait(core, list, INSTRCOMPL_L);
    steps_add(list, step_expect(armv7_word(core, DBGDSCR), RXFULL_L, 0));
}

void armv7_add_coprocessor(const struct core *core, struct steps *list, const struct step *accesses, size_t n,
                           bool privileged, size_t *at)
{
    size_t cpsr = 0, select = 0;
    bool selects = false;
    for (size_t i = 0; i < n; i++)
        selects = selects || is_selected(&accesses[i].at);
    if (privileged)
        add_proof_of_quiet(core, list);
    /* A message of the program that nobody fetched must not pass for R0 */
    if (armv7_set_control(core, list, HDBGEN | ITREN))
        steps_add(list, step_read(armv7_word(core, DBGDTRTX)));
    size_t r0 = take_r0(core, list);
    if (privileged) {
        add_instruction(core, list, MRS_R0_CPSR);
        cpsr = take_r0(core, list);
        set_r0(core, list, SUPERVISOR);
        add_instruction(core, list, MSR_CPSR_C_R0);
        add_instruction(core, list, ISB);
    }
    if (selects) {
        add_instruction(core, list, MRC_CP15 | selector());
        select = take_r0(core, list);
    }
    for (size_t i = 0; i < n; i++)
        at[i] = add_access(core, list, &accesses[i]);
    add_wait(core, list, INSTRCOMPL_L); /* for whoever begins here, to give it back */
    if (selects) {
        give_r0(core, list, select, privileged);
        add_instruction(core, list, MCR_CP15 | selector());
    }
    if (privileged) {
        give_r0(core, list, cpsr, true);
        add_instruction(core, list, MSR_CPSR_R0);
        add_instruction(core, list, ISB);
    }
    give_r0(core, list, r0, privileged);
}
