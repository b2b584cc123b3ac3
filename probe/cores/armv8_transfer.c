#include "cores/armv8_transfer.h"

/* Instructions for EDITR. */
static const uint32_t MSR_DTR =
    0xD5130400; /* MSR DBGDTR_EL0, X0: its halves go to DBGDTRTX_EL0 and DBGDTRRX_EL0 */
static const uint32_t MRS_DTR = 0xD5330400;   /* MRS X0, DBGDTR_EL0: DBGDTRRX_EL0 is the low half */
static const uint32_t MRS_DTRRX = 0xD5330500; /* MRS X0, DBGDTRRX_EL0 */
static const uint32_t MOV_X0_SP = 0x910003E0;
static const uint32_t MRS_X0_DLR = 0xD53B4520;   /* the PC to go on from */
static const uint32_t MRS_X0_DSPSR = 0xD53B4500; /* PSTATE */

enum { RT = 0x1F }; /* the register in MSR and MRS */

/* A stop at a breakpoint, in AArch64 state at all levels, since EDSCR_LEAVING was written. */
enum {
    HOW_STOPPED = EDSCR_STATUS | EDSCR_ERR | 0xF << EDSCR_RW_SHIFT | EDSCR_CONTROL | EDSCR_ITE,
    STOPPED_WELL = EDSCR_AT_BREAKPOINT | 0xF << EDSCR_RW_SHIFT | EDSCR_HDE | EDSCR_ITE,
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

void armv8_add_instruction(const struct core *core, struct steps *list, uint32_t instruction)
{
    armv8_add_write(core, list, EDITR, instruction);
    steps_add(list, step_until(armv8_word(core, EDSCR), EDSCR_ITE, EDSCR_ITE));
}

/* Executes an instruction that fills DBGDTRTX_EL0. HDE is always set; it makes this wait differ from that
 * above, because a link may predict the whole word that answers a wait, and TXfull is part of it. */
static void add_show(const struct core *core, struct steps *list, uint32_t number)
{
    armv8_add_write(core, list, EDITR, MSR_DTR | number);
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
    add_read(core, list, DBGDTRRX_EL0);
    return at;
}

/* Reads what the program may have left in DBGDTRTX_EL0, which would be taken for a register. If it was empty,
 * the error that this causes is cleared. */
static void empty_channel(const struct core *core, struct steps *list)
{
    add_read(core, list, DBGDTRTX_EL0);
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
}

/* The first steps of giving a register back: two that fill the channel, then the instruction. */
enum { GIVES_BACK = 2 };

bool armv8_gives_first(const struct step *step)
{
    return step->op == OP_WRITE && (step->value == MRS_DTR || step->value == MRS_DTRRX);
}

/* When X0 or the spare register is about to be restored, it may be used to empty DBGDTRRX_EL0. EDSCR may have
 * been restored before, with MA set. */
void armv8_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first)
{
    const struct step *fill = first->op == OP_UNTIL ? first + 1 : first;
    if (fill->at.offset != armv8_word(core, DBGDTRTX_EL0).offset)
        return;
    armv8_add_write(core, list, EDSCR, EDSCR_HDE | EDSCR_TDA); /* they are still borrowed */
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
    steps_add(list, step_until(armv8_word(core, EDSCR), EDSCR_ITE, EDSCR_ITE));
    armv8_add_instruction(core, list, MRS_DTRRX | (fill[GIVES_BACK].value & RT));
}

static bool goes_through_x0(enum core_register which)
{
    return which < CORE_R0 && which != CORE_LR;
}

static uint32_t number_of(enum core_register which)
{
    return which >= CORE_R0 ? (uint32_t)(which - CORE_R0) : 30;
}

static uint32_t moving_to_x0(enum core_register which)
{
    return which == CORE_PC ? MRS_X0_DLR : which == CORE_STATUS ? MRS_X0_DSPSR : MOV_X0_SP;
}

/* What was read at `at` and before it has arrived before its register is changed. Returns since when that may
 * be. */
static size_t add_arrival(struct steps *list, size_t at)
{
    return steps_add(list, step_marked(MARK_BORROWS, step_check(list->n - at, 0, 0)));
}

/* Results that must be restored once X0 is changed. */
struct borrowed {
    size_t control, low, high, since;
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
    out.high = out.low + 1;
    add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, 0);
    /* X0 has arrived before it is changed. TDA marks from here on that it must be given back; in Debug state
     * the bit does nothing else. */
    out.since = add_arrival(list, out.low);
    armv8_add_write(core, list, EDSCR, EDSCR_HDE | EDSCR_TDA);
    return out;
}

static size_t add_copy(const struct core *core, struct steps *list, uint32_t offset, size_t from)
{
    return steps_add(list, step_copy(armv8_word(core, offset), list->n - from));
}

/* May begin again at any step, after armv8_add_recover_instruction. */
static void armv8_give_back(const struct core *core, struct steps *list, const struct borrowed *borrowed)
{
    size_t give = add_copy(core, list, DBGDTRTX_EL0, borrowed->high);
    add_copy(core, list, DBGDTRRX_EL0, borrowed->low);
    armv8_add_instruction(core, list, MRS_DTR); /* ignored with EDSCR_ERR */
    add_expect_control(core, list, EDSCR_ERR | EDSCR_ITE | EDSCR_RXFULL, EDSCR_ITE);
    steps_give_back(list, borrowed->since, give);
    give = add_copy(core, list, EDSCR, borrowed->control);
    steps_give_back(list, borrowed->control, give);
}

size_t armv8_add_through_x0(const struct core *core, struct steps *list, uint32_t instruction)
{
    size_t control = add_read(core, list, EDSCR);
    armv8_set_control(core, list, EDSCR_HDE);
    empty_channel(core, list);
    struct borrowed borrowed = add_borrow(core, list);
    borrowed.control = control;
    armv8_add_instruction(core, list, MRS_DTRRX); /* drops a message that the program has not read */
    armv8_add_instruction(core, list, instruction);
    add_show(core, list, 0);
    size_t at = take_shown(core, list);
    armv8_give_back(core, list, &borrowed);
    return at;
}

size_t armv8_add_register(const struct core *core, struct steps *list, enum core_register which)
{
    if (goes_through_x0(which))
        return armv8_add_through_x0(core, list, moving_to_x0(which));
    add_read(core, list, EDSCR);
    armv8_set_control(core, list, EDSCR_HDE);
    empty_channel(core, list);
    add_show(core, list, number_of(which));
    size_t shown = take_shown(core, list);
    add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, 0);
    return shown;
}

uint64_t armv8_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                              size_t at)
{
    (void)core;
    (void)which;
    return (results[at] & UINT32_MAX) | results[at + 1] << 32;
}

/* A match may read DBGDTRTX_EL0 twice, which sets ERR. */
static void add_expect_shown(const struct core *core, struct steps *list, uint32_t number, uint64_t value)
{
    add_show(core, list, number);
    steps_add(list, step_expect_once(armv8_word(core, DBGDTRTX_EL0), UINT32_MAX, value & UINT32_MAX));
    steps_add(list, step_expect(armv8_word(core, DBGDTRRX_EL0), UINT32_MAX, value >> 32));
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
}

/* The checks end a packet, and so do the copies that give X0 back. */
static void add_proof_through_x0(const struct core *core, struct steps *list, const struct core_proof *proof)
{
    size_t control = add_read(core, list, EDSCR);
    struct borrowed borrowed = add_borrow(core, list);
    armv8_add_instruction(core, list, moving_to_x0(proof->which));
    add_show(core, list, 0);
    size_t at = take_shown(core, list);
    steps_add(list, step_check(list->n - at, UINT32_MAX, proof->value & UINT32_MAX));
    steps_add(list, step_check(list->n - (at + 1), UINT32_MAX, proof->value >> 32));
    borrowed.control = control;
    armv8_give_back(core, list, &borrowed);
}

/* What the spare register must hold is proved before it is changed, so it can be given back at once. */
static void add_proof_through_spare(const struct core *core, struct steps *list,
                                    const struct core_proof *proof, const struct core_proof *spare)
{
    uint32_t number = number_of(spare->which);
    add_expect_shown(core, list, number, spare->value);
    const struct step borrow = step_write(armv8_word(core, EDSCR), EDSCR_HDE | EDSCR_TDA);
    size_t since = steps_add(list, step_marked(MARK_BORROWS, borrow)); /* as in add_borrow */
    armv8_add_instruction(core, list, moving_to_x0(proof->which) | number);
    add_expect_shown(core, list, number, proof->value);
    size_t give = steps_add(list, step_write(armv8_word(core, DBGDTRTX_EL0), spare->value >> 32));
    armv8_add_write(core, list, DBGDTRRX_EL0, spare->value & UINT32_MAX);
    armv8_add_instruction(core, list, MRS_DTR | number);
    add_expect_control(core, list, EDSCR_ERR | EDSCR_ITE | EDSCR_RXFULL, EDSCR_ITE);
    armv8_add_write(core, list, EDSCR, EDSCR_HDE);
    steps_give_back(list, since, give);
}

void armv8_add_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs, size_t n,
                      const struct core_proof *spare, bool wait)
{
    (void)wait; /* EDSCR tells when a transfer is done */
    armv8_set_control(core, list, EDSCR_HDE);
    add_expect_control(core, list, CHANNEL, CHANNEL_FREE);
    for (size_t i = 0; i < n; i++) {
        if (!goes_through_x0(proofs[i].which))
            add_expect_shown(core, list, number_of(proofs[i].which), proofs[i].value);
        else if (spare != NULL)
            add_proof_through_spare(core, list, &proofs[i], spare);
        else
            add_proof_through_x0(core, list, &proofs[i]);
    }
}

/* Without another breakpoint, a stop at one is at ours: no register needs to be transferred. The core is
 * likely to run again next, so that is prepared at once. */
void armv8_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                           uint64_t place, bool wait)
{
    add_expect_control(core, list, HOW_STOPPED, STOPPED_WELL);
    if (setup->sole)
        armv8_set_control(core, list, EDSCR_LEAVING);
    else
        armv8_add_proofs(core, list, &(struct core_proof){.which = CORE_PC, .value = place}, 1, NULL, wait);
}

/* --- accesses of the core's own ------------------------------------------------------------------------- */

static const uint32_t MOVZ = 0xD2800000, MOVK = 0xF2800000;
static const uint32_t LDR_W0_X0 = 0xB9400000, ISB = 0xD5033FDF;

/* MRS and MSR: op0, op1, CRn, CRm and op2 say which register, C5.2. */
static const uint32_t MSR = 0xD5000000, MRS = 0xD5200000, READS = 1 << 21;
enum { OP0 = 19, OP1 = 16, CRN = 12, CRM = 8, OP2 = 5 };

/* What an exception in Debug state overwrites, J1.3: DLR and DSPSR, and ELR, SPSR, ESR and FAR of the level,
 * here those of EL1, that it is taken to; at a higher one nothing of the program's is in them. */
static const uint32_t of_exceptions[] = {0xD53B4520, 0xD53B4500, 0xD5384020,
                                         0xD5384000, 0xD5385200, 0xD5386000};
enum { KEPT = sizeof of_exceptions / sizeof *of_exceptions, OF_LEVEL = 2 };

struct address armv8_own_pmu(unsigned crm, unsigned opc2)
{
    return (struct address){
        .space = SPACE_CORE, .size = 8, .offset = 3U << OP0 | 3 << OP1 | 9 << CRN | crm << CRM | opc2 << OP2};
}

static unsigned level_of(uint64_t status)
{
    return status >> EDSCR_EL_SHIFT & 3;
}

static uint32_t kept_at(uint64_t status, size_t i)
{
    static const uint32_t op1[] = {0, 0, 4, 6};
    return of_exceptions[i] | (i >= OF_LEVEL ? op1[level_of(status)] << OP1 : 0);
}

static void add_constant(const struct core *core, struct steps *list, uint64_t value)
{
    armv8_add_instruction(core, list, MOVZ | (uint32_t)(value & 0xFFFF) << 5);
    for (uint32_t i = 1; i < 4; i++) {
        uint32_t part = value >> (16 * i) & 0xFFFF;
        if (part != 0)
            armv8_add_instruction(core, list, MOVK | i << 21 | part << 5);
    }
}

/* Returns where X0 is found. */
static size_t add_moved(const struct core *core, struct steps *list, uint32_t instruction)
{
    armv8_add_instruction(core, list, instruction);
    add_show(core, list, 0);
    return take_shown(core, list);
}

static size_t add_access(const struct core *core, struct steps *list, const struct step *access)
{
    uint32_t which = (uint32_t)access->at.offset;
    if (access->at.space == SPACE_MEMORY) {
        add_constant(core, list, access->at.offset);
        return add_moved(core, list, LDR_W0_X0);
    }
    if (access->op == OP_READ)
        return add_moved(core, list, MRS | which);
    add_constant(core, list, access->value);
    armv8_add_instruction(core, list, MSR | which);
    armv8_add_instruction(core, list, ISB);
    return SIZE_MAX;
}

/* An exception sets ERR, with which nothing further is executed. */
void armv8_add_accesses(const struct core *core, struct steps *list, uint64_t status,
                        const struct step *accesses, size_t n, size_t *at)
{
    const uint32_t level = 3U << EDSCR_EL_SHIFT;
    size_t kept[KEPT];
    size_t control = steps_add(list, step_expect(armv8_word(core, EDSCR), level, status & level));
    armv8_set_control(core, list, EDSCR_HDE);
    empty_channel(core, list);
    struct borrowed borrowed = add_borrow(core, list);
    borrowed.control = control;
    armv8_add_instruction(core, list, MRS_DTRRX); /* drops a message that the program has not read */
    for (size_t i = 0; i < KEPT; i++)
        kept[i] = add_moved(core, list, kept_at(status, i));
    add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, 0);
    size_t since = add_arrival(list, kept[KEPT - 1]);
    for (size_t i = 0; i < n; i++)
        at[i] = add_access(core, list, &accesses[i]);
    add_expect_control(core, list, EDSCR_ERR, 0);
    for (size_t i = KEPT; i-- > 0;) {
        size_t give = add_copy(core, list, DBGDTRTX_EL0, kept[i] + 1);
        add_copy(core, list, DBGDTRRX_EL0, kept[i]);
        armv8_add_instruction(core, list, MRS_DTR);
        add_expect_control(core, list, EDSCR_ERR | EDSCR_ITE | EDSCR_RXFULL, EDSCR_ITE);
        armv8_add_instruction(core, list, kept_at(status, i) & ~READS);
        steps_give_back(list, since, give);
    }
    armv8_give_back(core, list, &borrowed);
}

/* From EL0 the way to EL1 leads through DCPS1, which spoils ELR_EL1, SPSR_EL1 and ESR_EL1: H2.4.6. */
const char *armv8_hindrance(const struct core *core, uint64_t status, uint64_t state)
{
    (void)state;
    const char *unreadable = core_unreadable(core, status);
    return unreadable != NULL ? unreadable : level_of(status) == 0 ? "it is in user mode (EL0)" : NULL;
}
