/* SPDX-License-Identifier: MIT */
#include "code/instruction.h"
#include "cores/architectures.h"
#include "cores/armv7_transfer.h"

#include <stdio.h>

enum { LEAVE_DEBUG_STATE = DBGDRCR_RESTART | DBGDRCR_CLEAR_STICKY };
enum { CHANNEL_USED = DBGDSCR_STICKY | DBGDSCR_TXFULL_L | DBGDSCR_RXFULL_L };

/* DBGBCR, C11.11.1: with SSC 0 and PMC 3 in all modes of both security states, but in Hyp mode only with HMC.
 * Bit 13 is reserved on cores without that mode. */
enum {
    BCR_ENABLE = 1 << 0,
    BCR_ANY_MODE = 3 << 1,
    BCR_HMC = 1 << 13,
    BCR_BYTES = 5,      /* BAS */
    BCR_LINKED_TO = 16, /* LBN */
    BCR_LINKED = 1 << 20,
    BCR_MISMATCH = 4 << 20,
    BCR_LINKED_CONTEXT = 3 << 20,
};

/* CPSR: mode, and A, I, F; a reset enters Supervisor mode with all of these set, B1.9. */
enum { CPSR_ENTERED = 0x1DF, CPSR_AT_RESET = 0x1D3 };

/* --- settings ------------------------------------------------------------------------------------------- */

static size_t armv7_settings(const struct core *core, struct setting *out, size_t room)
{
    const struct setting all[] = {
        core_open_lock(armv7_word(core, CORESIGHT_LAR), armv7_word(core, CORESIGHT_LSR)),
        {.at = armv7_word(core, DBGOSLAR),
         .test_at = armv7_word(core, DBGOSLSR),
         .test = OSLSR_LOCKED,
         .restore = {.mask = 1, .key = LAR_KEY}},
        /* Only read, which clears the flags of earlier resets. */
        {.at = armv7_word(core, DBGPRSR)},
        /* Without power the core loses its comparators. CWRR in the same register would reset the core. */
        {.at = armv7_word(core, DBGPRCR),
         .test = PRCR_CORENPDRQ,
         .set = PRCR_CORENPDRQ,
         .keep = UINT32_MAX & ~PRCR_CWRR,
         .restore = {.mask = UINT32_MAX & ~PRCR_CWRR}},
        /* The last: not set if resets are noticed. */
        {.at = armv7_word(core, DBGVCR),
         .only_to_stop = true,
         .catches_resets = true,
         .test = DBGVCR_RESET,
         .set = DBGVCR_RESET,
         .keep = UINT64_MAX},
    };
    size_t n = sizeof all / sizeof *all - (core->resets == RESETS_NOTICED);
    for (size_t i = 0; i < n && i < room; i++)
        out[i] = all[i];
    return n;
}

static size_t armv7_commands(const struct core *core, struct address *out, size_t room)
{
    static const uint32_t acting[] = {DBGDTRRX, DBGITR, DBGDSCR, DBGDRCR};
    size_t n = sizeof acting / sizeof *acting;
    for (size_t i = 0; i < n && i < room; i++)
        out[i] = armv7_word(core, acting[i]);
    return n;
}

static struct address armv7_control_address(const struct core *core)
{
    return armv7_word(core, DBGDSCR);
}

/* Not DBGDSCR, which shows a reset only while the core stays halted where the reset was caught. */
static struct address armv7_reset_register(const struct core *core)
{
    return armv7_word(core, DBGPRSR);
}

/* Halting debug has priority over monitor debug, which is off meanwhile. Always written, because the lists
 * write this register too: so the ledger holds the old value and restores it. */
static struct setting armv7_comparators_on(const struct core *core)
{
    return (struct setting){.at = armv7_word(core, DBGDSCR),
                            .test = DBGDSCR_HDBGEN,
                            .always = true,
                            .set = DBGDSCR_HDBGEN,
                            .restore = {.mask = DBGDSCR_KEPT, .moves = true}};
}

/* --- run control ---------------------------------------------------------------------------------------- */

static enum core_state armv7_state_of(const struct core *core, uint64_t status)
{
    (void)core;
    return (status & DBGDSCR_STOPPED) == DBGDSCR_STOPPED ? CORE_HALTED : CORE_RUNNING;
}

/* RESTARTED is 0 until the core has left the previous stop, which is thus not mistaken for the next. */
static void armv7_add_wait_halt(const struct core *core, struct steps *list)
{
    steps_add(list, step_marked(MARK_AWAITS_HALT,
                                step_until(armv7_word(core, DBGDSCR), DBGDSCR_STOPPED, DBGDSCR_STOPPED)));
}

static void add_control(const struct core *core, struct steps *list, enum step_mark mark, uint32_t value)
{
    steps_add(list, step_marked(mark, step_write(armv7_word(core, DBGDRCR), value)));
}

/* ITRen and the sticky exception bits must be clear when the core leaves Debug state, C5. */
static void armv7_add_run(const struct core *core, struct steps *list)
{
    armv7_set_control(core, list, DBGDSCR_HDBGEN);
    add_control(core, list, MARK_RUNS, LEAVE_DEBUG_STATE);
}

static void armv7_add_run_undebugged(const struct core *core, struct steps *list)
{
    armv7_set_control(core, list, 0);
    add_control(core, list, MARK_RUNS, LEAVE_DEBUG_STATE);
}

/* Costs less here than in add_run, as DBGDSCR was written last. */
static void add_registers_done(const struct core *core, struct steps *list)
{
    armv7_set_control(core, list, DBGDSCR_HDBGEN);
}

static void add_ready(const struct core *core, struct steps *list)
{
    armv7_add_write(core, list, DBGDRCR, DBGDRCR_CLEAR_STICKY);
    steps_add(list, step_until(armv7_word(core, DBGDSCR), DBGDSCR_INSTRCOMPL_L, DBGDSCR_INSTRCOMPL_L));
}

/* The core ignores a request while it leaves Debug state, C5. */
static void armv7_add_halt(const struct core *core, struct steps *list)
{
    armv7_set_control(core, list, DBGDSCR_HDBGEN);
    steps_add(list, step_until(armv7_word(core, DBGDSCR), DBGDSCR_RESTARTED, DBGDSCR_RESTARTED));
    add_control(core, list, MARK_CONTROLS, DBGDRCR_HALT);
    armv7_add_wait_halt(core, list);
}

/* --- comparators ---------------------------------------------------------------------------------------- */

static uint32_t match_control(const struct core *core, uint64_t code)
{
    return BCR_ENABLE | BCR_ANY_MODE | ((core->quirks & HAS_HYP) != 0 ? BCR_HMC : 0) |
           arm_match_bytes(code) << BCR_BYTES;
}

static uint32_t armv7_stop_control(const struct core *core, const struct breakpoint_setup *setup,
                                   uint64_t code)
{
    return match_control(core, code) | (setup->linked ? BCR_LINKED | setup->linked_to << BCR_LINKED_TO : 0);
}

static uint32_t match_value(uint64_t code)
{
    return code & 0xFFFFFFFC;
}

static struct address armv7_comparator_address(const struct core *core, unsigned n, unsigned word)
{
    return armv7_word(core, (word == 0 ? DBGBCR0 : DBGBVR0) + 4 * n);
}

static bool armv7_comparator_used(const struct core *core, const uint64_t *words, uint64_t *address)
{
    (void)core;
    *address = words[1] | ((words[0] >> BCR_BYTES & 0xF) == 0xC ? 2 : 0);
    return (words[0] & BCR_ENABLE) != 0;
}

static void armv7_add_comparator(const struct core *core, const struct breakpoint_setup *setup,
                                 struct steps *list, unsigned n, uint64_t from, uint64_t to)
{
    bool fresh = from == UINT64_MAX;
    if (to == UINT64_MAX) {
        armv7_add_write(core, list, DBGBCR0 + 4 * n, 0);
        return;
    }
    if (fresh || match_value(from) != match_value(to))
        armv7_add_write(core, list, DBGBVR0 + 4 * n, match_value(to));
    if (fresh || match_control(core, from) != match_control(core, to))
        armv7_add_write(core, list, DBGBCR0 + 4 * n, armv7_stop_control(core, setup, to));
}

/* Stops at the first instruction at another address, C3.3. An instruction that jumps to itself never ends. */
static void armv7_add_single_step(const struct core *core, struct steps *list, unsigned n, uint64_t here)
{
    armv7_add_write(core, list, DBGBVR0 + 4 * n, match_value(here));
    armv7_add_write(core, list, DBGBCR0 + 4 * n, match_control(core, here) | BCR_MISMATCH);
    armv7_set_control(core, list, DBGDSCR_HDBGEN | DBGDSCR_INTDIS);
    add_control(core, list, MARK_STEPS, LEAVE_DEBUG_STATE);
    armv7_add_wait_halt(core, list);
    armv7_add_write(core, list, DBGBCR0 + 4 * n, 0);
}

/* --- stops ---------------------------------------------------------------------------------------------- */

/* A loss of power counts as a reset, because it clears the comparators. */
static bool armv7_reset_seen_in(const struct core *core, uint64_t value)
{
    (void)core;
    return (value & (PRSR_SPD | PRSR_R | PRSR_SR)) != 0;
}

/* Without a PMU on the bus the core is halted for each reading, and executes instructions of ours. */
static bool armv7_can_notice_resets(const struct core *core)
{
    return core->pmu_base != 0;
}

static enum stop_cause armv7_cause_of(const struct core *core, uint64_t cause, uint64_t status_register)
{
    (void)core;
    switch (cause & DBGDSCR_MOE) {
    case MOE_HALT_REQUEST:
    case MOE_EXTERNAL_REQUEST:
        return STOP_REQUEST;
    case MOE_BREAKPOINT:
    case MOE_BKPT:
        return STOP_BREAKPOINT;
    case MOE_VECTOR_CATCH:
        return (status_register & CPSR_ENTERED) == CPSR_AT_RESET ? STOP_RESET : STOP_FAULT;
    case MOE_ASYNC_WATCHPOINT:
    case MOE_SYNC_WATCHPOINT:
        return STOP_WATCHPOINT;
    default:
        return STOP_OTHER;
    }
}

static void armv7_add_reset(const struct core *core, struct steps *list)
{
    armv7_add_write(core, list, DBGPRCR, PRCR_CWRR);
}

/* --- proofs --------------------------------------------------------------------------------------------- */

static void armv7_add_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs,
                             size_t n, const struct core_spare *spare, bool wait)
{
    (void)spare; /* LR and SP need no other register */
    (void)wait;  /* DBGDSCR shows when a transfer is done */
    for (size_t i = 0; i < n; i++)
        armv7_add_expect_register(core, list, proofs[i].which, proofs[i].value);
    add_registers_done(core, list);
}

/* --- whose code it is in, and how a function was entered ------------------------------------------------ */

static size_t armv7_add_mode(const struct core *core, struct steps *list)
{
    return armv7_add_register(core, list, CORE_STATUS);
}

static bool armv7_in_user_mode(const struct core *core, uint64_t mode)
{
    (void)core;
    return (mode & CPSR_MODE) == CPSR_USER;
}

/* User mode cannot read it. */
static size_t add_context(const struct core *core, struct steps *list)
{
    const struct step read = step_read(cp15_register(13, 0, 0, 1)); /* CONTEXTIDR, DDI 0406C B4.1 */
    size_t at;
    armv7_add_accesses(core, list, 0, &read, 1, &at);
    return at;
}

/* CPSR[4:0], DDI 0406C B1.3.1: modes that an exception enters, with their own LR. Not Supervisor mode: there
 * LR does hold the return address of an SVC, and start code runs in it. */
static const struct {
    uint8_t mode;
    const char *name;
} modes[] = {{0x11, "FIQ"}, {0x12, "IRQ"}, {0x17, "Abort"}, {0x1B, "Undefined"}};

static const char *exception_mode(const struct core *core, uint64_t status)
{
    (void)core;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if ((status & CPSR_MODE) == modes[i].mode)
            return modes[i].name;
    return NULL;
}

static bool called_from(const struct core *core, uint64_t lr, uint32_t before, uint64_t function)
{
    (void)core;
    if (lr & 1) /* a return to Thumb code; after an exception bit 0 is clear */
        return true;
    if (lr & 2)
        return false;
    struct instruction call = instruction_of(ISA_ARM, before, lr - 4);
    return call.kind == GOES_CALL_BY ||
           (call.kind == GOES_CALL && call.target == (uint32_t)core_code_place(function));
}

const struct core_return_ops armv7_returns = {.exception_mode = exception_mode, .called_from = called_from};

/* --- halt sources: C11.11 ------------------------------------------------------------------------------- */

static void armv7_add_stops_identity(const struct core *core, struct steps *list)
{
    steps_add(list, step_read(armv7_word(core, DBGDIDR)));
}

static void armv7_add_stops(const struct core *core, const uint64_t *identity, struct core_stops *out)
{
    for (uint32_t i = 0; i < (identity[0] >> DIDR_WATCHPOINTS & 0xF) + 1; i++)
        core_stops_add(out, (struct core_stop){.name = "watchpoint",
                                               .at = armv7_word(core, DBGWCR0 + 4 * i),
                                               .field = 1,
                                               .low = 1,
                                               .high = 1,
                                               .place = armv7_word(core, DBGWVR0 + 4 * i)});
    core_stops_add_bits(out, "catch of a reset (DBGVCR)", armv7_word(core, DBGVCR), DBGVCR_RESET);
    core_stops_add_bits(out, "catch of vectors (DBGVCR)", armv7_word(core, DBGVCR),
                        UINT32_MAX & ~(uint32_t)DBGVCR_RESET);
    core_stops_add_bits(out, "catch of the OS lock (DBGECR)", armv7_word(core, DBGECR), 1);
}

static void armv7_add_last_stops(const struct core *core, struct core_stops *out)
{
    core_stops_add(
        out, (struct core_stop){.at = armv7_word(core, DBGDSCR),
                                .field = DBGDSCR_HDBGEN | DBGDSCR_ITREN | DBGDSCR_INTDIS | DBGDSCR_DBGACK,
                                .low = 1,
                                .high = UINT64_MAX,
                                .keep = DBGDSCR_PROGRAMS});
}

static const char *const register_names[] = {
    [CORE_PC] = "pc", [CORE_SP] = "sp", [CORE_LR] = "lr", [CORE_PSP] = "psp", [CORE_STATUS] = "cpsr"};

static const struct core_debug_name debug_names[] = {{.offset = DBGOSLAR, .name = "DBGOSLAR"},
                                                     {.offset = DBGPRCR, .name = "DBGPRCR"},
                                                     {.offset = DBGVCR, .name = "DBGVCR"},
                                                     {.offset = DBGDSCR, .name = "DBGDSCR"},
                                                     {DBGBVR0, 4, 16, .name = "DBGBVR"},
                                                     {DBGBCR0, 4, 16, .name = "DBGBCR"},
                                                     {.name = NULL}};

const struct core_ops armv7_ops = {
    .traits = ARM_CODE | THUMB_BY_BIT | HIDES | DEBUG_COMPONENT | BORROWS_REGISTERS,
    .fastest_hz = 5e9,
    .mapped_pmu = PMU_V1,
    .borrowed_mark = DBGDSCR_UDCCDIS,
    .register_names = register_names,
    .debug_names = debug_names,
    .state = &(const struct core_state_ops){.status_register = armv7_control_address,
                                            .halted = DBGDSCR_HALTED,
                                            .state_of = armv7_state_of},
    .run = &(const struct core_run_ops){.settings = armv7_settings,
                                        .commands = armv7_commands,
                                        .debug_enable = armv7_control_address,
                                        .add_wait_halt = armv7_add_wait_halt,
                                        .add_run = armv7_add_run,
                                        .add_run_undebugged = armv7_add_run_undebugged,
                                        .add_halt = armv7_add_halt,
                                        .add_single_step = armv7_add_single_step,
                                        .add_reset = armv7_add_reset},
    .stop = &(const struct core_stop_ops){.reset_register = armv7_reset_register,
                                          .reset_seen = armv7_reset_seen_in,
                                          .can_notice_resets = armv7_can_notice_resets,
                                          .trigger_mask = DBGDSCR_MOE,
                                          .trigger = MOE_EXTERNAL_REQUEST,
                                          .stepped_mask = DBGDSCR_MOE,
                                          .stepped = MOE_BREAKPOINT,
                                          .cause = armv7_cause_of},
    .registers = &(const struct core_register_ops){.add_ready = add_ready,
                                                   .add_register = armv7_add_register,
                                                   .register_value = armv7_register_value,
                                                   .add_registers_done = add_registers_done,
                                                   .gives_first = armv7_gives_first,
                                                   .channel_used = CHANNEL_USED,
                                                   .channel_given = DBGDSCR_RXFULL_L,
                                                   .add_empty = armv7_empty_channel,
                                                   .add_recover_instruction = armv7_add_recover_instruction,
                                                   .add_expect_stop = armv7_add_expect_stop,
                                                   .add_proofs = armv7_add_proofs,
                                                   .spare = CORE_R0 + 11,
                                                   .spare_for_coprocessor = true,
                                                   .add_coprocessor = armv7_add_coprocessor,
                                                   .selector = armv7_selector,
                                                   .own_pmu = armv7_own_pmu,
                                                   .add_accesses = armv7_add_accesses,
                                                   .hindrance = armv7_hindrance},
    .breakpoints = &(const struct core_breakpoint_ops){.comparators_on = armv7_comparators_on,
                                                       .comparator_words = 2,
                                                       .comparator = armv7_comparator_address,
                                                       .comparator_used = armv7_comparator_used,
                                                       .add_comparator = armv7_add_comparator,
                                                       .read_code = arm_breakpoint,
                                                       .debug_on = DBGDSCR_HDBGEN},
    .halts = &(const struct core_halt_ops){.add_identity = armv7_add_stops_identity,
                                           .add_stops = armv7_add_stops,
                                           .add_last = armv7_add_last_stops,
                                           .borrowing = DBGDSCR_ITREN},
    .processes =
        &(const struct core_process_ops){.add_mode = armv7_add_mode,
                                         .in_user_mode = armv7_in_user_mode,
                                         .add_context = add_context,
                                         .context_off = BCR_LINKED_CONTEXT | 0xF << BCR_BYTES | BCR_ANY_MODE,
                                         .context_on = BCR_ENABLE},
    .returns = &armv7_returns,
};

/* --- which core it is ----------------------------------------------------------------------------------- */

void armv7_add_identity(uint16_t unit, uint64_t debug_base, struct steps *list)
{
    static const uint32_t offsets[ARMV7_IDENTITY] = {
        [ARMV7_MIDR] = DBGMIDR, [ARMV7_DIDR] = DBGDIDR, [ARMV7_AUTHSTATUS] = CORESIGHT_AUTHSTATUS};
    const struct core core = {.unit = unit, .debug_base = debug_base};
    for (size_t i = 0; i < ARMV7_IDENTITY; i++)
        steps_add(list, step_read(armv7_word(&core, offsets[i])));
}

bool armv7_identify(uint16_t unit, uint64_t debug_base, const uint64_t *values, struct core *out)
{
    enum { V7_FULL = 3, V7_BASIC = 4, V71 = 5 }; /* DBGDIDR.Version, C11.11 */
    uint32_t id = (uint32_t)values[ARMV7_MIDR], didr = (uint32_t)values[ARMV7_DIDR];
    unsigned version = didr >> 16 & 0xF;
    const struct core_part *part = part_find(id);
    bool is_v7 = part->architecture == ARMV7_A || part->architecture == ARMV7_R;
    if (!is_v7 || version < V7_FULL || version > V71)
        return false;
    *out = (struct core){.ops = &armv7_ops,
                         .unit = unit,
                         .debug_base = debug_base,
                         .id = id,
                         .comparators = core_may_halt((uint32_t)values[ARMV7_AUTHSTATUS])
                                            ? (didr >> DIDR_BREAKPOINTS & 0xF) + 1
                                            : 0,
                         .quirks = part->quirks,
                         .processes = part->architecture == ARMV7_A,
                         .context_comparators = (didr >> DIDR_CONTEXTS & 0xF) + 1};
    out->keeps_secure = core_keeps_secure(out, (uint32_t)values[ARMV7_AUTHSTATUS]);
    snprintf(out->name, sizeof out->name, "%s r%up%u", part->name, id >> 20 & 0xF, id & 0xF);
    return true;
}
