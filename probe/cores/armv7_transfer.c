/* SPDX-License-Identifier: MIT */
#include "cores/armv7_transfer.h"

/* Instructions for DBGITR, always in the ARM encoding. */
static const uint32_t MCR_DTRTX = 0xEE000E15; /* MCR p14, 0, R0, c0, c5, 0 */
static const uint32_t MRC_DTRRX = 0xEE100E15; /* MRC p14, 0, R0, c0, c5, 0 */
enum { RT_SHIFT = 12, RT = 0xF << RT_SHIFT }; /* the register in MCR, MOVW and MOVT, A8.8 */
static const uint32_t MOVW = 0xE3000000, MOVT = 0xE3400000;
static const uint32_t MOV_R0_PC = 0xE1A0000F;
static const uint32_t MRS_R0_CPSR = 0xE10F0000;
enum { AHEAD_ARM = 8, AHEAD_THUMB = 4 }; /* by how much R15 reads ahead, C5 */

enum { BORROWED = DBGDSCR_HDBGEN | DBGDSCR_ITREN | DBGDSCR_UDCCDIS };

struct address armv7_word(const struct core *core, uint32_t offset)
{
    return core_debug(core, offset);
}

void armv7_add_write(const struct core *core, struct steps *list, uint32_t offset, uint32_t value)
{
    steps_add(list, step_write(armv7_word(core, offset), value));
}

/* Whether the list has issued an instruction without waiting until it is done. */
static bool is_under_way(const struct core *core, const struct steps *list)
{
    struct address control = armv7_word(core, DBGDSCR), instruction = armv7_word(core, DBGITR);
    for (size_t i = list->n; i-- > 0;) {
        const struct step *step = &list->items[i];
        bool waits = step->op == OP_UNTIL || step->op == OP_EXPECT;
        if (waits && step->at.offset == control.offset && (step->value & DBGDSCR_INSTRCOMPL_L))
            return false;
        if (step->at.offset == instruction.offset)
            return true;
    }
    return false;
}

bool armv7_set_control(const struct core *core, struct steps *list, uint32_t value)
{
    struct address control = armv7_word(core, DBGDSCR);
    for (size_t i = list->n; i-- > 0;) {
        const struct step *step = &list->items[i];
        if ((step->op != OP_WRITE && step->op != OP_COPY) || step->at.offset != control.offset)
            continue;
        if (step->op == OP_WRITE && step->value == value)
            return false;
        break;
    }
    if ((value & DBGDSCR_ITREN) && is_under_way(core, list))
        steps_add(list, step_until(control, DBGDSCR_INSTRCOMPL_L, DBGDSCR_INSTRCOMPL_L));
    steps_add(list, step_write(control, value));
    return true;
}

static void add_wait_done(const struct core *core, struct steps *list)
{
    steps_add(list, step_until(armv7_word(core, DBGDSCR), DBGDSCR_INSTRCOMPL_L, DBGDSCR_INSTRCOMPL_L));
}

/* Has the core execute an instruction, and waits until that is done: the next is taken only then, C8. */
static void armv7_add_instruction(const struct core *core, struct steps *list, uint32_t instruction)
{
    armv7_add_write(core, list, DBGITR, instruction);
    add_wait_done(core, list);
}

/* Does not use DBGDTRRX, which must be empty when R0 is restored through it. */
static void armv7_add_constant(const struct core *core, struct steps *list, unsigned general, uint32_t value)
{
    uint32_t low = value & 0xFFFF, high = value >> 16;
    armv7_add_instruction(core, list, MOVW | (low & 0xF000) << 4 | general << RT_SHIFT | (low & 0xFFF));
    if (high != 0)
        armv7_add_instruction(core, list, MOVT | (high & 0xF000) << 4 | general << RT_SHIFT | (high & 0xFFF));
}

enum { TRANSFER = 2 }; /* steps of add_transfer */

/* Moves a general register into DBGDTRTX. A read empties that only after TXfull was seen. */
static void armv7_transfer_add_transfer(const struct core *core, struct steps *list, uint32_t number)
{
    const uint32_t there = DBGDSCR_INSTRCOMPL_L | DBGDSCR_TXFULL_L;
    armv7_add_write(core, list, DBGITR, MCR_DTRTX | number << RT_SHIFT);
    steps_add(list, step_until(armv7_word(core, DBGDSCR), there, there));
}

/* Returns the index of a register's value. */
static size_t armv7_take(const struct core *core, struct steps *list, uint32_t number)
{
    armv7_transfer_add_transfer(core, list, number);
    return steps_add(list, step_read_emptying(armv7_word(core, DBGDTRTX), TRANSFER));
}

/* Reads what the program may have left in DBGDTRTX, which would be taken for a register. */
static void add_empty(const struct core *core, struct steps *list)
{
    steps_add(list, step_read(armv7_word(core, DBGDTRTX)));
}

void armv7_empty_channel(const struct core *core, struct steps *list)
{
    add_empty(core, list);
    armv7_add_write(core, list, DBGDRCR, DBGDRCR_CLEAR_STICKY);
}

/* The number of a general register, LR or SP in instructions. */
static uint32_t register_number(enum core_register which)
{
    return which >= CORE_R0 ? (uint32_t)(which - CORE_R0) : which == CORE_LR ? 14 : 13;
}

/* Makes sure that the value at `saved` has arrived before its register is changed: the link may be lost with
 * packets in flight. Returns since when it is borrowed. */
static size_t armv7_transfer_add_arrival(struct steps *list, size_t saved)
{
    return steps_add(list, step_marked(MARK_BORROWS, step_check(list->n - saved, 0, 0)));
}

/* The same for R0. UDCCdis marks from here on that it must be given back; in Debug state the bit does nothing
 * else. */
static size_t begin_borrow(const struct core *core, struct steps *list, size_t saved)
{
    size_t since = armv7_transfer_add_arrival(list, saved);
    armv7_add_write(core, list, DBGDSCR, BORROWED);
    return since;
}

static bool goes_through_r0(enum core_register which)
{
    return which == CORE_PC || which == CORE_STATUS;
}

/* Returns the index of the register's value. */
static size_t add_through_r0(const struct core *core, struct steps *list, enum core_register which,
                             bool cpsr_too)
{
    size_t control =
        steps_add(list, step_until(armv7_word(core, DBGDSCR), DBGDSCR_INSTRCOMPL_L, DBGDSCR_INSTRCOMPL_L));
    steps_add(list, step_write(armv7_word(core, DBGDSCR), DBGDSCR_HDBGEN | DBGDSCR_ITREN));
    add_empty(core, list);
    size_t r0 = armv7_take(core, list, 0), since = begin_borrow(core, list, r0);
    /* A word that was left in DBGDTRRX would be given back as R0: it is dropped */
    armv7_add_write(core, list, DBGDTRRX, 0); /* ignored if there is one */
    armv7_add_instruction(core, list, MRC_DTRRX);
    if (cpsr_too) {
        armv7_add_instruction(core, list, MRS_R0_CPSR);
        armv7_take(core, list, 0);
    }
    armv7_add_instruction(core, list, which == CORE_PC ? MOV_R0_PC : MRS_R0_CPSR);
    size_t at = armv7_take(core, list, 0);
    add_wait_done(core, list); /* a list that restores R0 may begin here */
    size_t give = steps_add(list, step_copy(armv7_word(core, DBGDTRRX), list->n - r0));
    armv7_add_instruction(core, list, MRC_DTRRX);
    steps_give_back(list, since, give);
    give = steps_add(list, step_copy(armv7_word(core, DBGDSCR), list->n - control));
    steps_give_back(list, control, give);
    return at;
}
/* The distance between the results of CPSR and PC. */
enum { CPSR_BEFORE_PC = 5 };

static void prepare_transfer(const struct core *core, struct steps *list)
{
    if (armv7_set_control(core, list, DBGDSCR_HDBGEN | DBGDSCR_ITREN))
        add_empty(core, list);
}

size_t armv7_add_register(const struct core *core, struct steps *list, enum core_register which)
{
    if (goes_through_r0(which))
        return add_through_r0(core, list, which, which == CORE_PC);
    prepare_transfer(core, list);
    return armv7_take(core, list, register_number(which));
}

/* A read of the emptied DBGDTRTX, which a match may add, does nothing. Returns the step that proves it. */
static size_t armv7_add_expect_general(const struct core *core, struct steps *list, uint32_t number,
                                       uint64_t value)
{
    armv7_transfer_add_transfer(core, list, number);
    return steps_add(list, step_expect_once(armv7_word(core, DBGDTRTX), UINT32_MAX, value & UINT32_MAX));
}

void armv7_add_expect_register(const struct core *core, struct steps *list, enum core_register which,
                               uint64_t value)
{
    prepare_transfer(core, list);
    armv7_add_expect_general(core, list, register_number(which), value);
}

/* The PC as code has it, from R15 as it reads in Debug state, C5.3, and CPSR. */
static uint64_t armv7_pc(uint64_t r15, uint64_t cpsr)
{
    return (cpsr & CPSR_T) != 0 ? ((r15 - AHEAD_THUMB) & 0xFFFFFFFE) | 1 : (r15 - AHEAD_ARM) & 0xFFFFFFFC;
}

uint64_t armv7_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                              size_t index)
{
    (void)core;
    if (which != CORE_PC)
        return results[index];
    return armv7_pc(results[index], results[index - CPSR_BEFORE_PC]);
}

/* If ours is the only breakpoint, a stop at a breakpoint is at ours, and no register needs to be read.
 * Otherwise this checks R15 as it reads in Debug state. */
void armv7_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                           uint64_t place, bool wait)
{
    (void)wait; /* DBGDSCR shows when a transfer is done */
    if (setup->sole) {
        steps_add(list, step_expect(armv7_word(core, DBGDSCR), DBGDSCR_STOPPED | DBGDSCR_MOE,
                                    DBGDSCR_STOPPED | MOE_BREAKPOINT));
        return;
    }
    uint64_t reads = (place & 1) ? core_code_place(place) + AHEAD_THUMB : place + AHEAD_ARM;
    size_t at = add_through_r0(core, list, CORE_PC, false);
    steps_add(list, step_check(list->n - at, UINT32_MAX, reads & UINT32_MAX));
}

/* --- CP15 ----------------------------------------------------------------------------------------------- */

static const uint32_t MCR_CP15 = 0xEE000F10, MRC_CP15 = 0xEE100F10, ISB = 0xF57FF06F;
static const uint32_t MSR_CPSR_R0 = 0xE12FF000, MSR_CPSR_C_R0 = 0xE121F000; /* all of it; bits 7:0 */

enum { CRN = 16, OPC1 = 21, OPC2 = 5, SELECTED = 32 };
enum { SUPERVISOR = 0xD3, MODE_HYP = 0x1A }; /* CPSR[7:0], B1.3.3: with I and F */

static const uint32_t LDR_R0_R0 = 0xE5900000, READS = 1 << 20; /* MRC, not MCR */
/* DFSR and DFAR, which an abort in Debug state overwrites: B3.17, C5.5. */
static const uint32_t of_aborts[] = {0xEE150F10, 0xEE160F10};
enum { KEPT = 3 };

struct address cp15_register(unsigned crn, unsigned opc1, unsigned crm, unsigned opc2)
{
    return (struct address){
        .space = SPACE_CORE, .size = 4, .offset = (uint64_t)crn << CRN | opc1 << OPC1 | opc2 << OPC2 | crm};
}

struct address armv7_own_pmu(unsigned crm, unsigned opc2)
{
    return cp15_register(9, 0, crm, opc2);
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

struct address armv7_selector(void)
{
    return cp15_register(9, 0, 12, 5); /* PMSELR */
}

/* Moves the result at `saved` back into R0. `unstick`: clears a sticky exception first, which would block
 * instructions. Returns the first step. */
static size_t give_r0(const struct core *core, struct steps *list, size_t saved, bool unstick)
{
    size_t give = steps_add(list, step_copy(armv7_word(core, DBGDTRRX), list->n - saved));
    if (unstick)
        armv7_add_write(core, list, DBGDRCR, DBGDRCR_CLEAR_STICKY);
    armv7_add_instruction(core, list, MRC_DTRRX);
    return give;
}

static void select_by(const struct core *core, struct steps *list, uint32_t number, uint64_t selected)
{
    armv7_add_constant(core, list, number, (uint32_t)selected);
    armv7_add_instruction(core, list, MCR_CP15 | (uint32_t)armv7_selector().offset | number << RT_SHIFT);
    armv7_add_instruction(core, list, ISB);
}

static bool is_memory(const struct step *access)
{
    return access->at.space == SPACE_MEMORY;
}

/* An abort would keep all further instructions from being executed. */
static size_t add_load(const struct core *core, struct steps *list, uint64_t address)
{
    armv7_add_constant(core, list, 0, (uint32_t)address);
    armv7_add_instruction(core, list, LDR_R0_R0);
    steps_add(list, step_expect(armv7_word(core, DBGDSCR), DBGDSCR_STICKY, 0));
    return armv7_take(core, list, 0);
}

static size_t armv7_transfer_add_access(const struct core *core, struct steps *list,
                                        const struct step *access, uint32_t number)
{
    uint32_t place = (uint32_t)access->at.offset | number << RT_SHIFT;
    if (is_memory(access))
        return add_load(core, list, access->at.offset);
    if (is_selected(&access->at))
        select_by(core, list, number, (access->at.offset >> SELECTED) - 1);
    if (access->op == OP_READ) {
        armv7_add_instruction(core, list, MRC_CP15 | place);
        return armv7_take(core, list, number);
    }
    armv7_add_constant(core, list, number, (uint32_t)access->value);
    armv7_add_instruction(core, list, MCR_CP15 | place);
    armv7_add_instruction(core, list, ISB);
    return SIZE_MAX;
}

bool armv7_gives_first(const struct step *step)
{
    return step->op == OP_WRITE && step->value == MRC_DTRRX;
}

/* DBGDTRRX may be full, by a list that ended between filling and emptying it: then it would ignore the next
 * word (C8.1.2). The register that is about to be restored may be used to empty it. */
void armv7_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first)
{
    const struct step *fill = first->op == OP_UNTIL ? first + 1 : first;
    if (fill->at.offset != armv7_word(core, DBGDTRRX).offset)
        return;
    bool unsticks = fill[1].at.offset == armv7_word(core, DBGDRCR).offset;
    armv7_add_write(core, list, DBGDRCR, DBGDRCR_CLEAR_STICKY);
    armv7_add_write(core, list, DBGDSCR, BORROWED); /* it is still borrowed */
    add_wait_done(core, list);
    armv7_add_write(core, list, DBGDTRRX, 0); /* for the instruction, if it is empty */
    armv7_add_instruction(core, list, MRC_DTRRX | (fill[unsticks ? 2 : 1].value & RT));
}

/* Proves that no earlier access is still under way, and that DBGDTRRX is empty: a message to the program in
 * it would be taken for R0. */
static void add_proof_of_quiet(const struct core *core, struct steps *list)
{
    add_wait_done(core, list);
    steps_add(list, step_expect(armv7_word(core, DBGDSCR), DBGDSCR_RXFULL_L, 0));
}

static bool are_selected(const struct step *accesses, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_memory(&accesses[i]) && is_selected(&accesses[i].at))
            return true;
    return false;
}

static bool are_memory(const struct step *accesses, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_memory(&accesses[i]))
            return true;
    return false;
}

/* What the spare register and PMSELR must hold is proved before they are changed, so they can be given back
 * at once. */
static void add_through_spare(const struct core *core, struct steps *list, const struct step *accesses,
                              size_t n, const struct core_spare *spare, size_t *at)
{
    const struct core_proof *held = &spare->held;
    uint32_t number = register_number(held->which);
    bool selects = are_selected(accesses, n);
    size_t selected_since = 0, give;
    armv7_add_expect_register(core, list, held->which, held->value);
    size_t since =
        steps_add(list, step_marked(MARK_BORROWS, step_write(armv7_word(core, DBGDSCR), BORROWED)));
    if (selects) {
        armv7_add_instruction(core, list, MRC_CP15 | (uint32_t)armv7_selector().offset | number << RT_SHIFT);
        selected_since = armv7_add_expect_general(core, list, number, spare->selector);
    }
    for (size_t i = 0; i < n; i++)
        at[i] = armv7_transfer_add_access(core, list, &accesses[i], number);
    add_wait_done(core, list); /* a list that restores the registers may begin here */
    if (selects) {
        give = list->n;
        select_by(core, list, number, spare->selector);
        steps_give_back(list, selected_since, give);
    }
    give = steps_add(list, step_write(armv7_word(core, DBGDTRRX), held->value));
    armv7_add_instruction(core, list, MRC_DTRRX | number << RT_SHIFT);
    armv7_add_write(core, list, DBGDSCR, DBGDSCR_HDBGEN | DBGDSCR_ITREN);
    steps_give_back(list, since, give);
}

/* A register that is kept in the results, and what moves it to R0. */
struct kept {
    uint32_t read;
    size_t at;
};

/* In the order in which they are taken. Returns how many. */
static size_t choose_kept(const struct step *accesses, size_t n, struct kept *out)
{
    bool loads = are_memory(accesses, n);
    size_t count = 0;
    if (are_selected(accesses, n))
        out[count++].read = MRC_CP15 | (uint32_t)armv7_selector().offset;
    for (size_t i = 0; loads && i < sizeof of_aborts / sizeof *of_aborts; i++)
        out[count++].read = of_aborts[i];
    return count;
}

/* Returns since when they may be changed. */
static size_t take_kept(const struct core *core, struct steps *list, struct kept *kept, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        armv7_add_instruction(core, list, kept[i].read);
        kept[i].at = armv7_take(core, list, 0);
    }
    return n > 0 ? armv7_transfer_add_arrival(list, kept[n - 1].at) : list->n;
}

/* Returns the index of CPSR. *since: when it may be changed. */
static size_t go_to_supervisor(const struct core *core, struct steps *list, size_t *since)
{
    armv7_add_instruction(core, list, MRS_R0_CPSR);
    size_t cpsr = armv7_take(core, list, 0);
    *since = armv7_transfer_add_arrival(list, cpsr);
    armv7_add_constant(core, list, 0, SUPERVISOR);
    armv7_add_instruction(core, list, MSR_CPSR_C_R0);
    armv7_add_instruction(core, list, ISB);
    return cpsr;
}

static void add_all_through_r0(const struct core *core, struct steps *list, const struct step *accesses,
                               size_t n, bool privileged, size_t *at)
{
    struct kept kept[KEPT];
    size_t cpsr = 0, cpsr_since = 0, give, n_kept = choose_kept(accesses, n, kept);
    prepare_transfer(core, list);
    size_t r0 = armv7_take(core, list, 0), since = begin_borrow(core, list, r0);
    if (privileged)
        cpsr = go_to_supervisor(core, list, &cpsr_since);
    size_t kept_since = take_kept(core, list, kept, n_kept);
    for (size_t i = 0; i < n; i++)
        at[i] = armv7_transfer_add_access(core, list, &accesses[i], 0);
    add_wait_done(core, list); /* a list that restores R0 may begin here */
    for (size_t i = n_kept; i-- > 0;) {
        give = give_r0(core, list, kept[i].at, privileged);
        armv7_add_instruction(core, list, kept[i].read & ~READS);
        steps_give_back(list, kept_since, give);
    }
    if (privileged) {
        give = give_r0(core, list, cpsr, true);
        armv7_add_instruction(core, list, MSR_CPSR_R0);
        armv7_add_instruction(core, list, ISB);
        steps_give_back(list, cpsr_since, give);
    }
    give = give_r0(core, list, r0, privileged);
    armv7_add_write(core, list, DBGDSCR, DBGDSCR_HDBGEN | DBGDSCR_ITREN);
    steps_give_back(list, since, give);
}

void armv7_add_coprocessor(const struct core *core, struct steps *list, const struct step *accesses, size_t n,
                           const struct core_spare *spare, size_t *at)
{
    if (spare != NULL && !are_memory(accesses, n))
        add_through_spare(core, list, accesses, n, spare, at);
    else
        add_all_through_r0(core, list, accesses, n, false, at);
}

void armv7_add_accesses(const struct core *core, struct steps *list, uint64_t status,
                        const struct step *accesses, size_t n, size_t *at)
{
    (void)status;
    add_proof_of_quiet(core, list);
    add_all_through_r0(core, list, accesses, n, true, at);
}

/* Of a mode of Hyp's the registers of aborts are others. */
const char *armv7_hindrance(const struct core *core, uint64_t status, uint64_t state)
{
    (void)core;
    (void)status;
    return (state & CPSR_MODE) == MODE_HYP ? "it is in Hyp mode" : NULL;
}
