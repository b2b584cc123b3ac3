/* SPDX-License-Identifier: MIT */
#include "cores/cortex_m.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"

#include <stdio.h>

enum { STRIDE = 16, NUMCOMP = 28, MATCHED = 1 << 24 };

unsigned watchpoints_count(uint64_t control)
{
    return control >> NUMCOMP & 0xF;
}

struct address watchpoints_function(const struct core *core, unsigned n)
{
    return core_word(core, DWT_FUNCTION0 + STRIDE * n);
}

static struct address watchpoints_place(const struct core *core, unsigned n)
{
    return core_word(core, DWT_COMP0 + STRIDE * n);
}

bool watchpoints_matched(uint64_t function)
{
    return (function & MATCHED) != 0;
}

/* ---- cortex m */

static struct address word_at(uint16_t unit, uint32_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = unit, .offset = offset};
}

/* What is written back as it was read: a key that reads as one would lock the mark of resets out. */
static uint64_t demcr_kept(const struct core *core)
{
    return cortex_m_has_pmu_halt(core) ? UINT32_MAX & ~(uint32_t)DEMCR_MONPRKEY : UINT32_MAX;
}

static size_t cortex_m_settings(const struct core *core, struct setting *out, size_t room)
{
    const uint64_t causes = cortex_m_has_pmu_halt(core) ? DFSR_ALL | DFSR_PMU : DFSR_ALL;
    const uint64_t tells = core->resets == RESETS_NOTICED ? DEMCR_MON_REQ : DEMCR_VC_CORERESET;
    const struct setting all[] = {
        /* Only C_DEBUGEN is restored: the device decides whether the core stays halted. */
        {.at = word_at(core->unit, DHCSR),
         .test = DHCSR_C_DEBUGEN,
         .set = DHCSR_C_DEBUGEN,
         .key = DHCSR_KEY,
         .restore = {.mask = DHCSR_C_DEBUGEN, .key = DHCSR_KEY}},
        /* Cleared before resets are caught, for the flag of one must stay. */
        {.at = word_at(core->unit, DFSR),
         .always = true,
         .set = causes,
         .restore = {.how = RESTORE_CLEAR_NEW, .mask = causes}},
        /* Polling DHCSR clears its sticky reset bit. */
        {.at = word_at(core->unit, DEMCR),
         .catches_resets = core->resets == RESETS_CAUGHT,
         .test = tells,
         .set = tells,
         .keep = demcr_kept(core),
         .restore = {.how = RESTORE_OURS, .mask = demcr_kept(core)}},
    };
    size_t n = sizeof all / sizeof *all;
    for (size_t i = 0; i < n && i < room; i++)
        out[i] = all[i];
    return n;
}

static size_t cortex_m_commands(const struct core *core, struct address *out, size_t room)
{
    static const uint32_t acting[] = {DHCSR, DCRSR, DCRDR, DFSR, DCCMVAU, ICIMVAU};
    size_t n = sizeof acting / sizeof *acting;
    for (size_t i = 0; i < n && i < room; i++)
        out[i] = word_at(core->unit, acting[i]);
    return n;
}

static struct setting cortex_m_comparators_on(const struct core *core)
{
    return (struct setting){.at = word_at(core->unit, FP_CTRL),
                            .test = FP_CTRL_ENABLE,
                            .set = FP_CTRL_ENABLE,
                            .key = FP_CTRL_KEY,
                            .restore = {.mask = FP_CTRL_ENABLE, .key = FP_CTRL_KEY}};
}

static struct address cortex_m_control_address(const struct core *core)
{
    return word_at(core->unit, DHCSR);
}

static enum core_state cortex_m_state_of(const struct core *core, uint64_t status)
{
    (void)core;
    if (status & DHCSR_S_HALT)
        return CORE_HALTED;
    if (status & DHCSR_S_LOCKUP)
        return CORE_LOCKUP;
    return status & DHCSR_S_SLEEP ? CORE_ASLEEP : CORE_RUNNING;
}

static void cortex_m_add_wait_halt(const struct core *core, struct steps *list)
{
    steps_add(list, step_marked(MARK_AWAITS_HALT,
                                step_until(word_at(core->unit, DHCSR), DHCSR_S_HALT, DHCSR_S_HALT)));
}

static enum step_mark mark_of(uint32_t bits)
{
    switch (bits) {
    case 0:
        return MARK_RUNS;
    case DHCSR_C_MASKINTS:
        return MARK_RUNS_HELD;
    case DHCSR_C_HALT | DHCSR_C_MASKINTS:
        return MARK_HOLDS;
    case DHCSR_C_STEP | DHCSR_C_MASKINTS:
        return MARK_STEPS;
    default:
        return MARK_CONTROLS;
    }
}

static void write_control(const struct core *core, struct steps *list, uint32_t bits)
{
    steps_add(list, step_marked(mark_of(bits),
                                step_write(word_at(core->unit, DHCSR), DHCSR_KEY | DHCSR_C_DEBUGEN | bits)));
}

static void cortex_m_add_run(const struct core *core, struct steps *list)
{
    write_control(core, list, 0);
}

static void cortex_m_add_halt(const struct core *core, struct steps *list)
{
    write_control(core, list, DHCSR_C_HALT);
    cortex_m_add_wait_halt(core, list);
}

/* DHCSR_C_MASKINTS may change only while DHCSR_C_HALT stays set, DDI 0403 C1.6.2. */
static void add_hold(const struct core *core, struct steps *list, bool held)
{
    write_control(core, list, DHCSR_C_HALT | (held ? DHCSR_C_MASKINTS : 0));
}

static void add_run_held(const struct core *core, struct steps *list)
{
    write_control(core, list, DHCSR_C_MASKINTS);
}

static void cortex_m_add_single_step(const struct core *core, struct steps *list, unsigned n, uint64_t here)
{
    (void)n;
    (void)here;
    add_hold(core, list, true);
    steps_add(list, step_write(word_at(core->unit, DFSR), DFSR_HALTED));
    write_control(core, list, DHCSR_C_STEP | DHCSR_C_MASKINTS);
    steps_add(list, step_until(word_at(core->unit, DFSR), DFSR_HALTED, DFSR_HALTED));
    cortex_m_add_wait_halt(core, list);
    add_hold(core, list, false);
}

static void cortex_m_add_transfer(const struct core *core, struct steps *list, enum core_register which,
                                  bool wait)
{
    static const uint8_t selector[] = {
        [CORE_PC] = 15, [CORE_SP] = 13, [CORE_LR] = 14, [CORE_PSP] = 18, [CORE_STATUS] = 16};
    uint8_t number = which >= CORE_R0 ? (uint8_t)(which - CORE_R0) : selector[which];
    steps_add(list, step_write(word_at(core->unit, DCRSR), number));
    if (wait)
        steps_add(list, step_until(word_at(core->unit, DHCSR), DHCSR_S_REGRDY, DHCSR_S_REGRDY));
}

static size_t add_register(const struct core *core, struct steps *list, enum core_register which)
{
    cortex_m_add_transfer(core, list, which, true);
    return steps_add(list, step_read(word_at(core->unit, DCRDR)));
}

/* DebugReturnAddress, DDI 0403 C1.6.3. */
static void add_skip(const struct core *core, struct steps *list, uint64_t pc)
{
    enum { DEBUG_RETURN_ADDRESS = 15, DCRSR_WRITES = 1 << 16, BKPT_SIZE = 2 };
    steps_add(list, step_write(word_at(core->unit, DCRDR), pc + BKPT_SIZE));
    steps_add(list, step_write(word_at(core->unit, DCRSR), DCRSR_WRITES | DEBUG_RETURN_ADDRESS));
    steps_add(list, step_until(word_at(core->unit, DHCSR), DHCSR_S_REGRDY, DHCSR_S_REGRDY));
}

/* DCRSR must not be written before the transfer is done, DDI 0403 C1.6.3. */
static void add_expect(const struct core *core, struct steps *list, enum core_register which, uint64_t value,
                       bool wait)
{
    cortex_m_add_transfer(core, list, which, wait);
    steps_add(list, step_expect(word_at(core->unit, DCRDR), UINT32_MAX, value));
}

static void add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                            uint64_t place, bool wait)
{
    (void)setup;
    add_expect(core, list, CORE_PC, place, wait);
}

static void cortex_m_add_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs,
                                size_t n, const struct core_spare *spare, bool wait)
{
    (void)spare; /* LR and SP need no other register */
    for (size_t i = 0; i < n; i++)
        add_expect(core, list, proofs[i].which, proofs[i].value, wait);
}

static void add_clear_breakpoint(const struct core *core, struct steps *list)
{
    steps_add(list, step_write(word_at(core->unit, DFSR), DFSR_BKPT));
}

static void add_wait_breakpoint(const struct core *core, struct steps *list)
{
    steps_add(list, step_until(word_at(core->unit, DFSR), DFSR_BKPT, DFSR_BKPT));
    cortex_m_add_wait_halt(core, list);
}

/* A reset of the halted core changes its PC; the vector catch stays in DFSR until it is cleared. */
static struct address cause_register(const struct core *core)
{
    return word_at(core->unit, DFSR);
}

/* A system reset clears the MON bits of DEMCR, and no other, DDI 0403 C1.6.5. */
static struct address cortex_m_reset_register(const struct core *core)
{
    return core->resets == RESETS_NOTICED ? word_at(core->unit, DEMCR) : cause_register(core);
}

static bool cortex_m_reset_seen_in(const struct core *core, uint64_t value)
{
    return core->resets == RESETS_NOTICED ? (value & DEMCR_MON_REQ) == 0 : (value & DFSR_VCATCH) != 0;
}

/* Armv6-M and Armv8-M Baseline have no DebugMonitor. */
static bool cortex_m_can_notice_resets(const struct core *core)
{
    return !cortex_m_is_baseline(core);
}

static bool mark_is_used(const struct core *core, uint64_t value)
{
    (void)core;
    return (value & DEMCR_MON_EN) != 0;
}

/* Sticky until it is read, DDI 0403 C1.6.2. */
static bool reset_since(const struct core *core, uint64_t value)
{
    (void)core;
    return (value & DHCSR_S_RESET_ST) != 0;
}

static enum stop_cause cortex_m_cause_of(const struct core *core, uint64_t cause, uint64_t status_register)
{
    (void)core;
    /* After a reset no exception is active; after any other catch one is. If a breakpoint was hit since, the
     * core was reset while halted: another catch would have been seen. */
    if (cause & DFSR_VCATCH)
        return (status_register & XPSR_IPSR) && !(cause & DFSR_BKPT) ? STOP_FAULT : STOP_RESET;
    if (cause & DFSR_DWTTRAP) /* DFSR_BKPT stays from stops before */
        return STOP_WATCHPOINT;
    if (cause & DFSR_BKPT)
        return STOP_BREAKPOINT;
    return cause & DFSR_HALTED ? STOP_REQUEST : STOP_OTHER;
}

static void cortex_m_add_reset(const struct core *core, struct steps *list)
{
    steps_add(list, step_write(word_at(core->unit, AIRCR), AIRCR_SYSRESETREQ));
}

static struct address pending_register(const struct core *core)
{
    return word_at(core->unit, ICSR);
}

static bool pending_in(const struct core *core, uint64_t value)
{
    (void)core;
    return (value & ICSR_ISRPREEMPT) != 0;
}

static bool entered(const struct core *core, uint64_t before, uint64_t after)
{
    (void)core;
    return ((before ^ after) & ICSR_VECTACTIVE) != 0;
}

/* DHCSR_C_MASKINTS holds off PendSV, SysTick and the external interrupts only, DDI 0403 C1.6.2. */
static bool held_pending(const struct core *core, uint64_t value)
{
    (void)core;
    return (value & ICSR_NMIPENDSET) != 0;
}

/* Flash Patch revision 0 compares bits 28:2 in the code half of memory only, DDI 0403 C1.11.5. */
static bool can_compare(const struct core *core, uint64_t address)
{
    return core->comparators > 0 && (core->comparator_revision >= 1 || address < 0x20000000);
}

static struct address cortex_m_comparator_address(const struct core *core, unsigned n, unsigned word)
{
    (void)word;
    return word_at(core->unit, FP_COMP0 + 4 * n);
}

static uint64_t comparator_value(const struct core *core, uint64_t address)
{
    if (core->comparator_revision >= 1)
        return (address & 0xFFFFFFFEU) | 1;
    return (address & 0x1FFFFFFCU) | (address & 2 ? 0x80000000U : 0x40000000U) | 1;
}

static void cortex_m_add_comparator(const struct core *core, const struct breakpoint_setup *setup,
                                    struct steps *list, unsigned n, uint64_t from, uint64_t to)
{
    (void)setup;
    (void)from;
    steps_add(list, step_write(cortex_m_comparator_address(core, n, 0),
                               to == UINT64_MAX ? 0 : comparator_value(core, to)));
}

static bool cortex_m_comparator_used(const struct core *core, const uint64_t *words, uint64_t *address)
{
    uint64_t value = words[0];
    if (core->comparator_revision >= 1)
        *address = value & 0xFFFFFFFEU;
    else
        *address = (value & 0x1FFFFFFCU) | (value >> 30 == 2 ? 2 : 0);
    return (value & 1) != 0;
}

/* If bits 31:30 are 0: DDI 0403 C1.11.5. */
static bool patches(const struct core *core, uint64_t first_word)
{
    return core->comparator_revision == 0 && first_word >> 30 == 0;
}

static void add_code_changed(const struct core *core, struct steps *list, uint64_t address)
{
    if (!core->caches)
        return;
    steps_add(list, step_write(word_at(core->unit, DCCMVAU), address));
    steps_add(list, step_write(word_at(core->unit, ICIMVAU), address));
}

/* EXC_RETURN, DDI 0403 B1.5.8. */
static bool cortex_m_returns_by_frame(const struct core *core, uint64_t lr)
{
    (void)core;
    return lr >= EXC_RETURN && lr <= UINT32_MAX;
}

/* SG clears bit 0 of LR, so that BXNS returns to the Non-secure state and its stack (DDI 0553 C2.4, SG). A
 * program may hold other even values in LR, too. Where Secure debug is not allowed the core never stops in
 * the Secure state. */
static const char *no_return(const struct core *core, uint64_t lr)
{
    if ((lr | 1) == (FNC_RETURN | 1))
        return "it was called from the Secure state, and returns there (LR is FNC_RETURN)";
    return core->security == SECURITY_OPEN && lr != 0 && (lr & 1) == 0
               ? "bit 0 of LR is 0: it was called from the Non-secure state, and its gateway, SG, can be "
                 "measured, or LR does not hold a return address"
               : NULL;
}

/* --- halt sources: DDI 0403 C1.6.5, C1.8; DDI 0553 D1.2 for Armv8-M ------------------------------------- */

static void cortex_m_add_stops_identity(const struct core *core, struct steps *list)
{
    steps_add(list, step_read(core_word(core, DEMCR)));
    steps_add(list, step_read(core_word(core, DWT_CTRL)));
}

static void cortex_m_add_stops(const struct core *core, const uint64_t *identity, struct core_stops *out)
{
    struct address demcr = core_word(core, DEMCR);
    bool traced = (identity[0] & DEMCR_TRCENA) != 0;
    bool v8m = cortex_m_is_v8(core);
    for (unsigned i = 0; traced && i < watchpoints_count(identity[1]); i++) {
        struct core_stop watch = {
            .name = "watchpoint", .at = watchpoints_function(core, i), .place = watchpoints_place(core, i)};
        watch.for_monitor = true;
        /* FUNCTION 4 to 7 halt; on Armv8-M ACTION 1 does, with any MATCH */
        watch.field = v8m ? 0x3F : 0xF;
        watch.low = v8m ? 0x11 : 4;
        watch.high = v8m ? 0x1F : 7;
        watch.keep = ~watch.field;
        core_stops_add(out, watch);
    }
    core_stops_add_bits(out, "catch of a reset (DEMCR.VC_CORERESET)", demcr, DEMCR_VC_CORERESET);
    core_stops_add_bits(out, "catch of faults (DEMCR)", demcr,
                        DEMCR_VC_EXCEPTIONS | (v8m ? DEMCR_VC_SFERR : 0));
}

static void cortex_m_add_last_stops(const struct core *core, struct core_stops *out)
{
    core_stops_add(
        out,
        (struct core_stop){
            .at = word_at(core->unit, DHCSR), .field = 0xF, .low = 1, .high = UINT64_MAX, .key = DHCSR_KEY});
}

enum { BKPT = 0xBE50 }; /* not 0xBEAB, which is semihosting */

static const char *const register_names[] = {
    [CORE_PC] = "pc", [CORE_SP] = "sp", [CORE_LR] = "lr", [CORE_PSP] = "psp", [CORE_STATUS] = "xpsr"};

const struct core_ops cortex_m_ops = {
    .traits = ARM_CODE | THUMB_ONLY | SYSTEM_SPACE | STATUS_FORGETS | COMPARATOR_SWITCH,
    .fastest_hz = 1.2e9, /* Cortex-M7 and M85 reach 1 GHz and some more */
    .register_names = register_names,
    .state = &(const struct core_state_ops){.status_register = cortex_m_control_address,
                                            .state_of = cortex_m_state_of},
    .run = &(const struct core_run_ops){.settings = cortex_m_settings,
                                        .commands = cortex_m_commands,
                                        .debug_enable = cortex_m_control_address,
                                        .add_wait_halt = cortex_m_add_wait_halt,
                                        .add_run = cortex_m_add_run,
                                        .add_halt = cortex_m_add_halt,
                                        .add_single_step = cortex_m_add_single_step,
                                        .add_reset = cortex_m_add_reset},
    .stop = &(const struct core_stop_ops){.add_clear_breakpoint = add_clear_breakpoint,
                                          .add_wait_breakpoint = add_wait_breakpoint,
                                          .reset_register = cortex_m_reset_register,
                                          .reset_seen = cortex_m_reset_seen_in,
                                          .can_notice_resets = cortex_m_can_notice_resets,
                                          .mark_is_used = mark_is_used,
                                          .since_register = cortex_m_control_address,
                                          .reset_since = reset_since,
                                          .cause_register = cause_register,
                                          .stepped_mask = DHCSR_C_STEP,
                                          .stepped = DHCSR_C_STEP,
                                          .cause = cortex_m_cause_of},
    .interrupts = &(const struct core_interrupt_ops){.add_hold = add_hold,
                                                     .add_run_held = add_run_held,
                                                     .pending_register = pending_register,
                                                     .pending = pending_in,
                                                     .held_pending = held_pending,
                                                     .entered = entered},
    .registers = &(const struct core_register_ops){.add_register = add_register,
                                                   .add_expect_stop = add_expect_stop,
                                                   .add_proofs = cortex_m_add_proofs},
    .breakpoints = &(const struct core_breakpoint_ops){.can_compare = can_compare,
                                                       .comparators_on = cortex_m_comparators_on,
                                                       .comparator_words = 1,
                                                       .comparator = cortex_m_comparator_address,
                                                       .comparator_used = cortex_m_comparator_used,
                                                       .patches = patches,
                                                       .add_comparator = cortex_m_add_comparator,
                                                       .instruction = BKPT,
                                                       .add_code_changed = add_code_changed,
                                                       .add_skip = add_skip,
                                                       .read_code = thumb_breakpoint,
                                                       .debug_on = DHCSR_C_DEBUGEN},
    .halts = &(const struct core_halt_ops){.add_identity = cortex_m_add_stops_identity,
                                           .add_stops = cortex_m_add_stops,
                                           .add_last = cortex_m_add_last_stops},
    .returns = &(const struct core_return_ops){.by_frame = cortex_m_returns_by_frame, .no_return = no_return},
};

void cortex_m_add_identity(uint16_t unit, struct steps *list)
{
    static const uint32_t offsets[CORTEX_M_IDENTITY] = {
        [CORTEX_M_CPUID] = CPUID, [CORTEX_M_FP_CTRL] = FP_CTRL, [CORTEX_M_CCR] = CCR};
    for (size_t i = 0; i < CORTEX_M_IDENTITY; i++)
        steps_add(list, step_read(word_at(unit, offsets[i])));
}

enum { REVISION = 0xF << 20, REVISION_2 = 2 << 20 }; /* of CPUID: the N of rNp0 */
enum { SID = 3 << 4, SID_ALLOWED = 3 << 4, SID_REFUSED = 2 << 4 };

/* Those that its revision does not have. */
static unsigned quirks_mended(uint32_t id)
{
    return ((id & REVISION) == 0 ? 0U : STEPS_INTO_HANDLERS) |
           ((id & REVISION) < REVISION_2 ? 0U : WATCHES_READS_TOO);
}

bool cortex_m_identify(uint16_t unit, const uint64_t *values, struct core *out)
{
    uint32_t id = (uint32_t)values[CORTEX_M_CPUID], fp = (uint32_t)values[CORTEX_M_FP_CTRL];
    unsigned architecture = id >> 16 & 0xF;
    const struct core_part *part = part_find(id);
    if (part->name == NULL || part->architecture > ARMV81_M || (architecture != 0xC && architecture != 0xF))
        return false;
    *out = (struct core){.ops = &cortex_m_ops,
                         .unit = unit,
                         .memory_unit = unit,
                         .id = id,
                         .comparators = (fp >> 4 & 0xF) | (fp >> 8 & 0x70),
                         .comparator_revision = fp >> 28,
                         .quirks = part->quirks & ~quirks_mended(id),
                         .caches = (values[CORTEX_M_CCR] & CCR_IC) != 0,
                         .caches_data =
                             (part->quirks & HAS_DATA_CACHE) != 0 && (values[CORTEX_M_CCR] & CCR_DC) != 0};
    snprintf(out->name, sizeof out->name, "%s r%up%u", part->name, id >> 20 & 0xF, id & 0xF);
    return true;
}

bool cortex_m_is_v6(const struct core *core)
{
    return core_part(core)->architecture == ARMV6_M;
}

bool cortex_m_is_v8(const struct core *core)
{
    enum architecture is = core_part(core)->architecture;
    return is >= ARMV8_M_BASE && is <= ARMV81_M;
}

bool cortex_m_is_baseline(const struct core *core)
{
    return cortex_m_is_v6(core) || core_part(core)->architecture == ARMV8_M_BASE;
}

struct address cortex_m_authentication(const struct core *core)
{
    return word_at(core->unit, DAUTHSTATUS);
}

void cortex_m_take_authentication(struct core *core, uint64_t status)
{
    core->security = (status & SID) == SID_ALLOWED   ? SECURITY_OPEN
                     : (status & SID) == SID_REFUSED ? SECURITY_HIDDEN
                                                     : SECURITY_NONE;
}

bool cortex_m_has_pmu_halt(const struct core *core)
{
    return core_part(core)->architecture == ARMV81_M;
}

struct setting cortex_m_trace(const struct core *core)
{
    return (struct setting){
        .at = word_at(core->unit, DEMCR),
        .test = DEMCR_TRCENA,
        .set = DEMCR_TRCENA,
        .keep = demcr_kept(core),
        .restore = {.how = RESTORE_OURS, .mask = demcr_kept(core), .starts = DEMCR_TRCENA},
        .watched = "DEMCR"};
}

struct address cortex_m_vectors(const struct core *core)
{
    return word_at(core->unit, VTOR);
}

struct address cortex_m_lines(const struct core *core)
{
    return word_at(core->unit, ICTR);
}

/* EPSR.IT, DDI 0403 B1.4.2 and A7.3.2: the condition is in its upper half while the lower half is not 0. */
bool cortex_m_condition_holds(uint64_t xpsr)
{
    unsigned it = (unsigned)(xpsr >> 8 & 0xFC) | (unsigned)(xpsr >> 25 & 3);
    bool n = xpsr >> 31 & 1, z = xpsr >> 30 & 1, c = xpsr >> 29 & 1, v = xpsr >> 28 & 1;
    if ((it & 0xF) == 0)
        return true;
    const bool holds[] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
    return holds[it >> 5 & 7] != (bool)(it >> 4 & 1) || it >> 5 == 7;
}
