/* SPDX-License-Identifier: MIT */
#include "cores/armv8_transfer.h"

/*
 * What EDITR takes in either Execution state, with X0 or R0 where a register is named: A64 instructions, or
 * T32 ones of 32 bits with their first halfword in the lower half (DDI 0487 H2.4). In AArch64 state the data
 * transfer registers carry 64 bits, DBGDTRTX_EL0 the upper half on the way to the core and the lower one on
 * the way back; in AArch32 state each carries 32 bits one way.
 */
struct transfer {
    bool wide;
    unsigned register_shift;
    uint32_t register_mask;
    uint32_t show;       /* a register goes to the data transfer registers, */
    uint32_t give;       /* and returns from there */
    uint32_t drop;       /* empties DBGDTRRX_EL0 */
    uint32_t dlr, dspsr; /* the PC to go on from, and PSTATE */
};

#define T32 ARMV8_T32
/* MRC and MCR of what cp15_register describes, as A32 and T32 have them alike; p14, 0, c0, c5, 0 is the
 * channel */
static const uint32_t MCR = 0xEE000010, MRC = 0xEE100010, CP15 = 0xF00;
enum { MCR_FIRST = 0xEE00, MRC_FIRST = 0xEE10, CHANNEL_32 = 0x0E15 };

static const struct transfer in_aarch64 = {.wide = true,
                                           .register_mask = 0x1F,
                                           .show = 0xD5130400,   /* MSR DBGDTR_EL0, X0 */
                                           .give = 0xD5330400,   /* MRS X0, DBGDTR_EL0 */
                                           .drop = 0xD5330500,   /* MRS X0, DBGDTRRX_EL0 */
                                           .dlr = 0xD53B4520,    /* MRS X0, DLR_EL0 */
                                           .dspsr = 0xD53B4500}; /* MRS X0, DSPSR_EL0 */
static const struct transfer in_aarch32 = {.register_shift = 28,
                                           .register_mask = 0xF0000000,
                                           .show = T32(MCR_FIRST, CHANNEL_32), /* MCR DBGDTRTXint */
                                           .give = T32(MRC_FIRST, CHANNEL_32), /* MRC DBGDTRRXint */
                                           .drop = T32(MRC_FIRST, CHANNEL_32),
                                           .dlr = T32(0xEE74, 0x0F35),    /* MRC p15, 3, R0, c4, c5, 1 */
                                           .dspsr = T32(0xEE74, 0x0F15)}; /* and 0 */
static const uint32_t MOV_X0_SP = 0x910003E0;

static const struct transfer *transfer_of(const struct core *core)
{
    return core_has(core, WIDE_REGISTERS) ? &in_aarch64 : &in_aarch32;
}

static uint32_t with_register(const struct core *core, uint32_t instruction, uint32_t number)
{
    return instruction | number << transfer_of(core)->register_shift;
}

/* A stop at a breakpoint since EDSCR_LEAVING was written. */
enum {
    HOW_STOPPED = EDSCR_STATUS | EDSCR_ERR | EDSCR_CONTROL | EDSCR_ITE,
    STOPPED_WELL = EDSCR_AT_BREAKPOINT | EDSCR_HDE | EDSCR_ITE,
    /* The data transfer registers are empty. */
    CHANNEL = EDSCR_ERR | EDSCR_ITE | EDSCR_TXFULL | EDSCR_RXFULL,
    CHANNEL_FREE = EDSCR_ITE
};

struct address armv8_word(const struct core *core, uint32_t offset)
{
    return core_debug(core, offset);
}

void armv8_add_write(const struct core *core, struct steps *list, uint32_t offset, uint32_t value)
{
    steps_add(list, step_write(armv8_word(core, offset), value));
}

void armv8_set_control(const struct core *core, struct steps *list, uint32_t value)
{
    struct address control = armv8_word(core, EDSCR);
    bool entered = false;
    for (size_t i = list->n; i-- > 0;) {
        struct step *step = &list->items[i];
        entered = entered || step_controls(step);
        if (step->at.offset != control.offset || step->op == OP_READ)
            continue;
        if (step->op == OP_COPY)
            break;
        bool shown = step->op != OP_WRITE;
        if (shown && (step->mask & EDSCR_CONTROL) != EDSCR_CONTROL)
            continue;
        if ((step->value & EDSCR_CONTROL & (entered ? ~(uint64_t)EDSCR_MA : UINT64_MAX)) == value)
            return;
        if (!shown && i + 1 == list->n) {
            step->value = value;
            return;
        }
        break;
    }
    steps_add(list, step_write(control, value));
}

/* Until then an error must not be cleared: what is under way might be executed after all (H4.4.4). */
void armv8_add_ready(const struct core *core, struct steps *list)
{
    steps_add(list, step_until(armv8_word(core, EDSCR), EDSCR_ITE, EDSCR_ITE));
}

/* Has the core execute an instruction; the next is taken only when this one is done. */
static void armv8_add_instruction(const struct core *core, struct steps *list, uint32_t instruction)
{
    armv8_add_write(core, list, EDITR, instruction);
    armv8_add_ready(core, list);
}

/* Executes an instruction that fills DBGDTRTX_EL0. HDE is always set; it makes this wait differ from that
 * above, because a link may predict the whole word that answers a wait, and TXfull is part of it. */
static void add_show(const struct core *core, struct steps *list, uint32_t number)
{
    armv8_add_write(core, list, EDITR, with_register(core, transfer_of(core)->show, number));
    steps_add(list, step_until(armv8_word(core, EDSCR), EDSCR_ITE | EDSCR_HDE, EDSCR_ITE | EDSCR_HDE));
}

static void add_expect_control(const struct core *core, struct steps *list, uint32_t mask, uint32_t value)
{
    steps_add(list, step_expect(armv8_word(core, EDSCR), mask, value));
}

static size_t add_read(const struct core *core, struct steps *list, uint32_t offset)
{
    return steps_add(list, step_read(armv8_word(core, offset)));
}

/* The low half is in DBGDTRTX_EL0, which a read empties, the high half in DBGDTRRX_EL0, which can be read
 * again. */
static size_t take_shown(const struct core *core, struct steps *list)
{
    size_t at = add_read(core, list, DBGDTRTX_EL0);
    if (transfer_of(core)->wide)
        add_read(core, list, DBGDTRRX_EL0);
    return at;
}

/* Reads what the program may have left in DBGDTRTX_EL0, which would be taken for a register. If it was empty,
 * the error that this causes is cleared. */
void armv8_empty_channel(const struct core *core, struct steps *list)
{
    add_read(core, list, DBGDTRTX_EL0);
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
}

bool armv8_gives_first(const struct step *step)
{
    return step->op == OP_WRITE && (step->value == in_aarch64.give || step->value == in_aarch64.drop ||
                                    step->value == in_aarch32.give);
}

/* When X0 or the spare register is about to be restored, it may be used to empty DBGDTRRX_EL0. EDSCR may have
 * been restored before, with MA set. Giving a register back begins with the steps that fill the channel; then
 * the instruction follows. */
void armv8_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first)
{
    const struct transfer *transfer = transfer_of(core);
    const struct step *fill = first->op == OP_UNTIL ? first + 1 : first;
    if (fill->at.offset == armv8_word(core, DBGDTRTX_EL0).offset)
        fill++;
    uint64_t instruction = fill[1].value;
    if (fill->at.offset != armv8_word(core, DBGDTRRX_EL0).offset)
        return;
    armv8_add_write(core, list, EDSCR, EDSCR_HDE | EDSCR_TDA); /* they are still borrowed */
    armv8_add_ready(core, list);
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
    armv8_add_instruction(core, list, transfer->drop | ((uint32_t)instruction & transfer->register_mask));
}

/* In AArch32 state SP and LR are general registers. */
static bool goes_through_x0(const struct core *core, enum core_register which)
{
    return which == CORE_PC || which == CORE_STATUS ||
           (transfer_of(core)->wide && which < CORE_R0 && which != CORE_LR);
}

static uint32_t armv8_transfer_number_of(const struct core *core, enum core_register which)
{
    enum { LR_64 = 30, SP_32 = 13, LR_32 = 14 };
    if (which >= CORE_R0)
        return (uint32_t)(which - CORE_R0);
    return transfer_of(core)->wide ? LR_64 : which == CORE_LR ? LR_32 : SP_32;
}

static uint32_t moving_to_x0(const struct core *core, enum core_register which)
{
    const struct transfer *transfer = transfer_of(core);
    return which == CORE_PC ? transfer->dlr : which == CORE_STATUS ? transfer->dspsr : MOV_X0_SP;
}

/* What was read at `at` and before it has arrived before its register is changed. Returns since when that may
 * be. */
static size_t armv8_transfer_add_arrival(struct steps *list, size_t at)
{
    return steps_add(list, step_marked(MARK_BORROWS, step_check(list->n - at, 0, 0)));
}

/* Results that must be restored once X0 is changed. */
struct borrowed {
    size_t control, low, since;
};

/*
 * A garbled access that is repeated may read DBGDTRTX_EL0 twice. The second value is unknown, and ERR is set,
 * which blocks instructions. X0 is saved before it is changed, so it is still intact where ERR is checked.
 */
static struct borrowed add_borrow(const struct core *core, struct steps *list)
{
    struct borrowed out = {0};
    add_show(core, list, 0);
    out.low = take_shown(core, list);
    add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, 0);
    /* X0 has arrived before it is changed. TDA marks from here on that it must be given back; in Debug state
     * the bit does nothing else. */
    out.since = armv8_transfer_add_arrival(list, out.low);
    armv8_add_write(core, list, EDSCR, EDSCR_HDE | EDSCR_TDA);
    return out;
}

static size_t armv8_transfer_add_copy(const struct core *core, struct steps *list, uint32_t offset,
                                      size_t from)
{
    return steps_add(list, step_copy(armv8_word(core, offset), list->n - from));
}

/* Moves the result at `low`, of 64 bits with the one after it, into X0. Returns the first step. */
static size_t add_given(const struct core *core, struct steps *list, size_t low)
{
    const struct transfer *transfer = transfer_of(core);
    size_t first = list->n;
    if (transfer->wide)
        armv8_transfer_add_copy(core, list, DBGDTRTX_EL0, low + 1);
    armv8_transfer_add_copy(core, list, DBGDTRRX_EL0, low);
    armv8_add_instruction(core, list, transfer->give); /* ignored with EDSCR_ERR */
    add_expect_control(core, list, EDSCR_ERR | EDSCR_ITE | EDSCR_RXFULL, EDSCR_ITE);
    return first;
}

/* May begin again at any step, after armv8_add_recover_instruction. */
static void armv8_give_back(const struct core *core, struct steps *list, const struct borrowed *borrowed)
{
    size_t give = add_given(core, list, borrowed->low);
    steps_give_back(list, borrowed->since, give);
    give = armv8_transfer_add_copy(core, list, EDSCR, borrowed->control);
    steps_give_back(list, borrowed->control, give);
}

/* In AArch64 state of all levels its bits of EDSCR are known; of AArch32 state not, before a stop is
 * inspected. */
static size_t add_expect_state(const struct core *core, struct steps *list)
{
    bool known = transfer_of(core)->wide;
    uint32_t mask = known ? core->state_mask : 0;
    return steps_add(list, step_expect(armv8_word(core, EDSCR), mask, core->state & mask));
}

/* Takes what the instructions put into X0, one after another. Returns the place of the last; the one before
 * is BEFORE_LAST steps earlier. */
enum { BEFORE_LAST = 5 };

static size_t add_all_through_x0(const struct core *core, struct steps *list, const uint32_t *instructions,
                                 size_t n)
{
    size_t at = 0, control = add_expect_state(core, list);
    armv8_set_control(core, list, EDSCR_HDE);
    armv8_empty_channel(core, list);
    struct borrowed borrowed = add_borrow(core, list);
    borrowed.control = control;
    armv8_add_instruction(core, list, transfer_of(core)->drop); /* a message that the program has not read */
    for (size_t i = 0; i < n; i++) {
        armv8_add_instruction(core, list, instructions[i]);
        add_show(core, list, 0);
        at = take_shown(core, list);
    }
    armv8_give_back(core, list, &borrowed);
    return at;
}

size_t armv8_add_through_x0(const struct core *core, struct steps *list, uint32_t instruction)
{
    return add_all_through_x0(core, list, &instruction, 1);
}

size_t armv8_add_register(const struct core *core, struct steps *list, enum core_register which)
{
    const struct transfer *transfer = transfer_of(core);
    if (which == CORE_PC && !transfer->wide) /* PSTATE says which instruction set it is in */
        return add_all_through_x0(core, list, (const uint32_t[]){transfer->dspsr, transfer->dlr}, 2);
    if (goes_through_x0(core, which))
        return armv8_add_through_x0(core, list, moving_to_x0(core, which));
    add_expect_state(core, list);
    armv8_set_control(core, list, EDSCR_HDE);
    armv8_empty_channel(core, list);
    add_show(core, list, armv8_transfer_number_of(core, which));
    size_t shown = take_shown(core, list);
    add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, 0);
    return shown;
}

uint64_t armv8_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                              size_t at)
{
    if (transfer_of(core)->wide)
        return (results[at] & UINT32_MAX) | results[at + 1] << 32;
    return results[at] | (which == CORE_PC && (results[at - BEFORE_LAST] & CPSR_T) != 0 ? 1 : 0);
}

/* A match may read DBGDTRTX_EL0 twice, which sets ERR. Without ERR, TXfull proves that the instruction was
 * executed, and all before it since ERR was clear. A read that is too early sets ERR, too (DDI 0487 H4.4.4):
 * `later`, that is proved afterwards. */
static void add_expect_shown(const struct core *core, struct steps *list, uint32_t number, uint64_t value,
                             bool later)
{
    size_t first = list->n + 1;
    add_show(core, list, number);
    add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, EDSCR_TXFULL);
    for (size_t i = first; later && i < list->n; i++)
        list->items[i].reread = REREAD_MENDS;
    const struct step low = step_expect_once(armv8_word(core, DBGDTRTX_EL0), UINT32_MAX, value & UINT32_MAX);
    steps_add(list, step_reread(REREAD_HARMS, low));
    if (transfer_of(core)->wide)
        steps_add(list, step_expect(armv8_word(core, DBGDTRRX_EL0), UINT32_MAX, value >> 32));
    steps_add(list, step_reread(REREAD_MENDS, step_write(armv8_word(core, EDRCR), EDRCR_CSE)));
}

/* The checks end a packet, and so do the copies that give X0 back. */
static void add_proof_through_x0(const struct core *core, struct steps *list, const struct core_proof *proof)
{
    size_t control = add_read(core, list, EDSCR);
    struct borrowed borrowed = add_borrow(core, list);
    armv8_add_instruction(core, list, moving_to_x0(core, proof->which));
    add_show(core, list, 0);
    size_t at = take_shown(core, list);
    steps_add(list, step_check(list->n - at, UINT32_MAX, proof->value & UINT32_MAX));
    if (transfer_of(core)->wide)
        steps_add(list, step_check(list->n - (at + 1), UINT32_MAX, proof->value >> 32));
    borrowed.control = control;
    armv8_give_back(core, list, &borrowed);
}

/* What the register `lent` holds was proved just before, so it can be given back at once. */
static void add_proof_through(const struct core *core, struct steps *list, const struct core_proof *proof,
                              const struct core_proof *lent, bool wait)
{
    const struct transfer *transfer = transfer_of(core);
    bool wide = transfer->wide && lent->value >> 32 != 0;
    uint32_t number = armv8_transfer_number_of(core, lent->which);
    const struct step borrow = step_write(armv8_word(core, EDSCR), EDSCR_HDE | EDSCR_TDA);
    size_t since = steps_add(list, step_marked(MARK_BORROWS, borrow)); /* as in add_borrow */
    armv8_add_write(core, list, EDITR, with_register(core, moving_to_x0(core, proof->which), number));
    if (wait)
        armv8_add_ready(core, list);
    add_expect_shown(core, list, number, proof->value, !wait);
    size_t give = list->n;
    if (wide)
        steps_add(list, step_write(armv8_word(core, DBGDTRTX_EL0), lent->value >> 32));
    armv8_add_write(core, list, DBGDTRRX_EL0, lent->value & UINT32_MAX);
    /* DBGDTRRX_EL0 alone has no upper half */
    armv8_add_instruction(core, list, with_register(core, wide ? transfer->give : transfer->drop, number));
    add_expect_control(core, list, EDSCR_ERR | EDSCR_ITE | EDSCR_RXFULL, EDSCR_ITE);
    armv8_add_write(core, list, EDSCR, EDSCR_HDE);
    steps_give_back(list, since, give);
}

void armv8_add_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs, size_t n,
                      const struct core_spare *spare, bool wait)
{
    const struct core_proof *shown = NULL;
    armv8_set_control(core, list, EDSCR_HDE);
    add_expect_control(core, list, CHANNEL, CHANNEL_FREE);
    for (size_t i = 0; i < n; i++) {
        bool direct = !goes_through_x0(core, proofs[i].which);
        const struct core_proof *show = direct                           ? &proofs[i]
                                        : shown == NULL && spare != NULL ? &spare->held
                                                                         : NULL;
        if (show != NULL) {
            add_expect_shown(core, list, armv8_transfer_number_of(core, show->which), show->value, false);
            shown = show;
        }
        if (!direct && shown != NULL)
            add_proof_through(core, list, &proofs[i], shown, wait);
        else if (!direct)
            add_proof_through_x0(core, list, &proofs[i]);
    }
}

/* Without another breakpoint, a stop at one is at ours: no register needs to be transferred. */
void armv8_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                           uint64_t place, bool wait)
{
    const struct core_proof here = {.which = CORE_PC, .value = core_code_place(place)};
    add_expect_control(core, list, HOW_STOPPED | core->state_mask | core->world_mask,
                       STOPPED_WELL | core->state | core->world);
    if (!setup->sole)
        armv8_add_proofs(core, list, &here, 1, NULL, wait);
}

/* --- accesses of the core's own ------------------------------------------------------------------------- */

static const uint32_t MOVZ = 0xD2800000, MOVK = 0xF2800000;
static const uint32_t LDR_W0_X0 = 0xB9400000, ISB = 0xD5033FDF;
static const uint32_t LDR_R0_R0 = T32(0xF8D0, 0), ISB_32 = T32(0xF3BF, 0x8F6F);
enum { MOVW_FIRST = 0xF240, MOVT_FIRST = 0xF2C0 };

/* MRS and MSR: op0, op1, CRn, CRm and op2 say which register, C5.2. */
static const uint32_t MSR = 0xD5000000, MRS = 0xD5200000, READS = 1 << 21;
enum { OP0 = 19, OP1 = 16, CRN = 12, CRM = 8, OP2 = 5 };
static const uint32_t READS_32 = 1 << 4; /* MRC, not MCR, in EDITR */

/* What an exception in Debug state overwrites, H2.4.7 and J1.3: DLR and DSPSR, and ELR, SPSR, ESR and FAR of
 * the level, here those of EL1, that it is taken to; at a higher one nothing of the program's is in them. In
 * AArch32 state DFSR and DFAR; LR and SPSR of Abort mode too, which hold something only in that mode. In Hyp
 * mode ELR_hyp, SPSR_hyp, HSR and HDFAR. */
static const uint32_t of_exceptions[] = {0xD53B4520, 0xD53B4500, 0xD5384020,
                                         0xD5384000, 0xD5385200, 0xD5386000};
static const uint32_t of_aborts[] = {T32(0xEE74, 0x0F35), T32(0xEE74, 0x0F15), T32(0xEE15, 0x0F10),
                                     T32(0xEE16, 0x0F10)};
/* How it is moved to X0, and from there. */
struct kept {
    uint32_t read, write;
};
static const struct kept of_hyp[] = {
    {T32(0xEE74, 0x0F35), T32(0xEE64, 0x0F35)}, {T32(0xEE74, 0x0F15), T32(0xEE64, 0x0F15)},
    {ARMV8_MRS_ELR_HYP, T32(0xF380, 0x8E30)},   {T32(0xF3FF, 0x8000), T32(0xF390, 0x8F00)}, /* SPSR */
    {T32(0xEE95, 0x0F12), T32(0xEE85, 0x0F12)}, {T32(0xEE96, 0x0F10), T32(0xEE86, 0x0F10)}};
enum { KEPT = sizeof of_exceptions / sizeof *of_exceptions, OF_LEVEL = 2 };
enum { KEPT_32 = sizeof of_aborts / sizeof *of_aborts };
_Static_assert(KEPT == sizeof of_hyp / sizeof *of_hyp, "as many");
enum { EL_HYP = 2 };

struct address armv8_own_pmu(unsigned crm, unsigned opc2)
{
    return (struct address){
        .space = SPACE_CORE, .size = 8, .offset = 3U << OP0 | 3 << OP1 | 9 << CRN | crm << CRM | opc2 << OP2};
}

static unsigned armv8_transfer_level_of(uint64_t status)
{
    return status >> EDSCR_EL_SHIFT & 3;
}

static bool armv8_transfer_is_hyp(const struct core *core, uint64_t status)
{
    return !transfer_of(core)->wide && armv8_transfer_level_of(status) == EL_HYP;
}

static struct kept kept_at(const struct core *core, uint64_t status, size_t i)
{
    static const uint32_t op1[] = {0, 0, 4, 6};
    if (armv8_transfer_is_hyp(core, status))
        return of_hyp[i];
    if (!transfer_of(core)->wide)
        return (struct kept){.read = of_aborts[i], .write = of_aborts[i] & ~READS_32};
    uint32_t read = of_exceptions[i] | (i >= OF_LEVEL ? op1[armv8_transfer_level_of(status)] << OP1 : 0);
    return (struct kept){.read = read, .write = read & ~READS};
}

/* MOVW and MOVT: the constant is cut into 4, 1, 3 and 8 bits. */
static uint32_t move_half(uint32_t first, uint32_t half)
{
    return T32(first | (half >> 11 & 1) << 10 | half >> 12, (half >> 8 & 7) << 12 | (half & 0xFF));
}

static void add_constant(const struct core *core, struct steps *list, uint64_t value)
{
    if (!transfer_of(core)->wide) {
        armv8_add_instruction(core, list, move_half(MOVW_FIRST, value & 0xFFFF));
        armv8_add_instruction(core, list, move_half(MOVT_FIRST, value >> 16 & 0xFFFF));
        return;
    }
    armv8_add_instruction(core, list, MOVZ | (uint32_t)(value & 0xFFFF) << 5);
    for (uint32_t i = 1; i < 4; i++) {
        uint32_t part = value >> (16 * i) & 0xFFFF;
        if (part != 0)
            armv8_add_instruction(core, list, MOVK | i << 21 | part << 5);
    }
}

/* Returns where X0 is found. */
static size_t armv8_transfer_add_moved(const struct core *core, struct steps *list, uint32_t instruction)
{
    armv8_add_instruction(core, list, instruction);
    add_show(core, list, 0);
    return take_shown(core, list);
}

uint32_t armv8_moving_register(const struct core *core, uint64_t place, bool reads)
{
    uint32_t both = (reads ? MRC : MCR) | CP15 | (uint32_t)place;
    return transfer_of(core)->wide ? (reads ? MRS : MSR) | (uint32_t)place : T32(both >> 16, both & 0xFFFF);
}

static size_t armv8_transfer_add_access(const struct core *core, struct steps *list,
                                        const struct step *access)
{
    bool wide = transfer_of(core)->wide, reads = access->op == OP_READ;
    uint32_t moving = armv8_moving_register(core, access->at.offset, reads);
    if (access->at.space == SPACE_MEMORY) {
        add_constant(core, list, access->at.offset);
        return armv8_transfer_add_moved(core, list, wide ? LDR_W0_X0 : LDR_R0_R0);
    }
    if (reads)
        return armv8_transfer_add_moved(core, list, moving);
    add_constant(core, list, access->value);
    armv8_add_instruction(core, list, moving);
    armv8_add_instruction(core, list, wide ? ISB : ISB_32);
    return SIZE_MAX;
}

/* An exception sets ERR, with which nothing further is executed. */
void armv8_add_accesses(const struct core *core, struct steps *list, uint64_t status,
                        const struct step *accesses, size_t n, size_t *at)
{
    const struct transfer *transfer = transfer_of(core);
    const uint32_t level = 3U << EDSCR_EL_SHIFT;
    size_t kept[KEPT], n_kept = transfer->wide || armv8_transfer_is_hyp(core, status) ? KEPT : KEPT_32;
    size_t control = steps_add(list, step_expect(armv8_word(core, EDSCR), level, status & level));
    armv8_set_control(core, list, EDSCR_HDE);
    armv8_empty_channel(core, list);
    struct borrowed borrowed = add_borrow(core, list);
    borrowed.control = control;
    armv8_add_instruction(core, list, transfer->drop); /* a message that the program has not read */
    for (size_t i = 0; i < n_kept; i++)
        kept[i] = armv8_transfer_add_moved(core, list, kept_at(core, status, i).read);
    add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, 0);
    size_t since = armv8_transfer_add_arrival(list, kept[n_kept - 1]);
    for (size_t i = 0; i < n; i++)
        at[i] = armv8_transfer_add_access(core, list, &accesses[i]);
    add_expect_control(core, list, EDSCR_ERR, 0);
    for (size_t i = n_kept; i-- > 0;) {
        size_t give = add_given(core, list, kept[i]);
        armv8_add_instruction(core, list, kept_at(core, status, i).write);
        steps_give_back(list, since, give);
    }
    armv8_give_back(core, list, &borrowed);
}

bool armv8_in_hypervisor(const struct core *core, uint64_t status)
{
    (void)core;
    return armv8_transfer_level_of(status) == EL_HYP;
}

/* From EL0 the way to EL1 leads through DCPS1, which spoils ELR_EL1, SPSR_EL1 and ESR_EL1: H2.4.6. In Abort
 * mode LR and SPSR hold something. */
const char *armv8_hindrance(const struct core *core, uint64_t status, uint64_t state)
{
    enum { MODE_ABORT = 0x17 };
    const char *unreadable = core_unreadable(core, status);
    if (unreadable != NULL || armv8_transfer_level_of(status) == 0)
        return unreadable != NULL ? unreadable : "it is in user mode (EL0)";
    return !transfer_of(core)->wide && (state & CPSR_MODE) == MODE_ABORT ? "it is in Abort mode" : NULL;
}
