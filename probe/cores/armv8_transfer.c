#include "cores/armv8_transfer.h"

/* Instructions for EDITR. */
static const uint32_t MSR_DTR =
    0xD5130400; /* MSR DBGDTR_EL0, X0: its halves go to DBGDTRTX_EL0 and DBGDTRRX_EL0 */
static const uint32_t MRS_DTR = 0xD5330400;   /* MRS X0, DBGDTR_EL0: DBGDTRRX_EL0 is the low half */
static const uint32_t MRS_DTRRX = 0xD5330500; /* MRS X0, DBGDTRRX_EL0 */
static const uint32_t MOV_X0_SP = 0x910003E0;
static const uint32_t MRS_X0_DLR = 0xD53B4520;   /* the PC to go on from */
static const uint32_t MRS_X0_DSPSR = 0xD53B4500; /* PSTATE */

/* A stop at a breakpoint, in AArch64 state at all levels, entered since EDSCR_LEAVING was written. */
enum {
    HOW_STOPPED = EDSCR_STATUS | EDSCR_ERR | 0xF << EDSCR_RW_SHIFT | EDSCR_CONTROL | EDSCR_ITE,
    STOPPED_WELL = EDSCR_AT_BREAKPOINT | 0xF << EDSCR_RW_SHIFT | EDSCR_HDE | EDSCR_ITE,
    /* Nothing of a debugger's or the program's is under way in the data transfer registers. */
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

/* Whether the core was let go by this step. */
static bool lets_run(const struct core *core, const struct step *step)
{
    return step->op == OP_WRITE && step->at.offset == core_cti(core, CTIAPPPULSE).offset;
}

void armv8_set_control(const struct core *core, struct steps *list, uint32_t value)
{
    struct address control = armv8_word(core, EDSCR);
    bool entered = false;
    for (size_t i = list->n; i-- > 0;) {
        struct step *step = &list->items[i];
        entered = entered || lets_run(core, step);
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

/* One that fills DBGDTRTX_EL0. EDSCR_HDE, which is set all the time, makes the wait another question than
 * that above: a link may guess the whole word by which one is answered, and TXfull is in that. */
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

/* A register is shown in DBGDTRTX_EL0, whose read empties it, and in DBGDTRRX_EL0, which can be read again.
 */
static size_t take_shown(const struct core *core, struct steps *list)
{
    size_t at = add_read(core, list, DBGDTRTX_EL0);
    add_read(core, list, DBGDTRRX_EL0);
    return at;
}

/* A message of the program that nobody fetched is taken out of DBGDTRTX_EL0, and if there was none that is no
 * error: it must not pass for a register. */
static void empty_channel(const struct core *core, struct steps *list)
{
    add_read(core, list, DBGDTRTX_EL0);
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
}

/* Where X0 is about to be given back it may serve to empty DBGDTRRX_EL0. That EDSCR was given back before,
 * with EDSCR_MA in it, may be all that is not known. */
void armv8_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first)
{
    if (first->at.offset != armv8_word(core, DBGDTRTX_EL0).offset)
        return;
    armv8_add_write(core, list, EDSCR, EDSCR_HDE);
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
    steps_add(list, step_until(armv8_word(core, EDSCR), EDSCR_ITE, EDSCR_ITE));
    armv8_add_instruction(core, list, MRS_DTRRX);
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

/* What is to be given back once X0 is changed. */
struct borrowed {
    size_t control, low, high, since;
};

/*
 * An access that the wire garbled and that is then made again may read DBGDTRTX_EL0 twice. What comes then is
 * unknown, and EDSCR_ERR is set, with which no instruction is taken: so X0, which is saved before it is
 * changed, is still whole where EDSCR_ERR is looked for.
 */
static struct borrowed add_borrow(const struct core *core, struct steps *list)
{
    struct borrowed out = {0};
    add_show(core, list, 0);
    out.low = take_shown(core, list);
    out.high = out.low + 1;
    out.since = list->n; /* once that is known: of what comes next it may not be known whether it was done */
    add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, 0);
    return out;
}

static void add_copy(const struct core *core, struct steps *list, uint32_t offset, size_t from, size_t since)
{
    steps_add(list, step_copy_since(armv8_word(core, offset), list->n - from, list->n - since));
}

/* May be begun again at any step, once untangled. */
static void give_back(const struct core *core, struct steps *list, const struct borrowed *borrowed)
{
    add_copy(core, list, DBGDTRTX_EL0, borrowed->high, borrowed->since);
    add_copy(core, list, DBGDTRRX_EL0, borrowed->low, borrowed->since);
    armv8_add_instruction(core, list, MRS_DTR); /* ignored with EDSCR_ERR */
    add_expect_control(core, list, EDSCR_ERR | EDSCR_ITE | EDSCR_RXFULL, EDSCR_ITE);
    add_copy(core, list, EDSCR, borrowed->control, borrowed->control);
}

size_t armv8_add_register(const struct core *core, struct steps *list, enum core_register which)
{
    size_t control = add_read(core, list, EDSCR);
    armv8_set_control(core, list, EDSCR_HDE);
    empty_channel(core, list);
    if (!goes_through_x0(which)) {
        add_show(core, list, number_of(which));
        size_t shown = take_shown(core, list);
        add_expect_control(core, list, EDSCR_ERR | EDSCR_TXFULL, 0);
        return shown;
    }
    struct borrowed borrowed = add_borrow(core, list);
    borrowed.control = control;
    armv8_add_instruction(core, list, MRS_DTRRX); /* a message that the program did not fetch */
    armv8_add_instruction(core, list, moving_to_x0(which));
    add_show(core, list, 0);
    size_t at = take_shown(core, list);
    give_back(core, list, &borrowed);
    return at;
}

uint64_t armv8_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                              size_t at)
{
    (void)core;
    (void)which;
    return (results[at] & UINT32_MAX) | results[at + 1] << 32;
}

/* Whatever goes through X0, it is the checks that end a packet, and X0 is given back by the next. */
void armv8_begin_proofs(const struct core *core, struct steps *list, struct core_proof *proofs, size_t n,
                        bool wait)
{
    (void)wait; /* EDSCR tells when a transfer is done */
    struct borrowed borrowed = {0};
    bool borrows = false;
    armv8_set_control(core, list, EDSCR_HDE);
    size_t control = add_read(core, list, EDSCR);
    add_expect_control(core, list, CHANNEL, CHANNEL_FREE);
    for (size_t i = 0; i < n; i++) {
        if (goes_through_x0(proofs[i].which)) {
            borrows = true;
            continue;
        }
        add_show(core, list, number_of(proofs[i].which));
        proofs[i].at = take_shown(core, list);
    }
    if (borrows)
        borrowed = add_borrow(core, list);
    for (size_t i = 0; i < n; i++) {
        if (!goes_through_x0(proofs[i].which))
            continue;
        armv8_add_instruction(core, list, moving_to_x0(proofs[i].which));
        add_show(core, list, 0);
        proofs[i].at = take_shown(core, list);
    }
    for (size_t i = 0; i < n; i++) {
        steps_add(list, step_check(list->n - proofs[i].at, UINT32_MAX, proofs[i].value & UINT32_MAX));
        steps_add(list, step_check(list->n - (proofs[i].at + 1), UINT32_MAX, proofs[i].value >> 32));
    }
    borrowed.control = control;
    if (borrows)
        give_back(core, list, &borrowed);
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
        armv8_begin_proofs(core, list, &(struct core_proof){.which = CORE_PC, .value = place}, 1, wait);
}
