/* SPDX-License-Identifier: MIT */
#include "cores/architectures.h"
#include "cores/armv7_transfer.h"
#include "cores/armv8_transfer.h"
#include "cores/cross_trigger.h"

#include <stdio.h>

/* DBGBCR, DDI 0487 D13.3: at all levels of both security states; the bytes of a word that it matches. */
enum { BCR_ENABLE = 1 << 0, BCR_EVERYWHERE = 0x2007, BCR_BYTES = 5 /* BAS */ };
/* BT and LBN; and the value that the architecture requires in the comparator that is linked to, D2.9. */
enum { BCR_LINKED = 1 << 20, BCR_LINKED_TO = 16, BCR_LINKED_CONTEXT = 0x3001E6 };

/* Set while a register is transferred, or since a transfer that did not end. */
enum { CHANNEL_USED = EDSCR_ERR | EDSCR_TXFULL | EDSCR_RXFULL };

/* --- settings ------------------------------------------------------------------------------------------- */

static struct setting armv8_make(struct address at, uint32_t test, uint32_t set, uint32_t keep)
{
    return (struct setting){.at = at, .test = test, .set = set, .keep = keep};
}

/* If the interface was off, its registers hold arbitrary values since power-on, so all are cleared. If it was
 * on, only our channels are changed, and the gate keeps them from other components. */
static void add_triggers(const struct core *core, struct settings *list)
{
    const uint32_t ours[] = {core->halt_channel, core->run_channel};
    for (uint32_t i = 0; i < ARMV8_TRIGGERS && core->triggers_off; i++) {
        settings_add(list, armv8_make(core_cti(core, CTIINEN0 + 4 * i), UINT32_MAX, 0, 0));
        if (i >= CTI_OUTPUTS)
            settings_add(list, armv8_make(core_cti(core, CTIOUTEN0 + 4 * i), UINT32_MAX, 0, 0));
    }
    for (uint32_t i = 0; i < CTI_OUTPUTS; i++)
        settings_add(list,
                     armv8_make(core_cti(core, CTIOUTEN0 + 4 * i), core->triggers_off ? UINT32_MAX : ours[i],
                                ours[i], core->triggers_off ? 0 : UINT32_MAX));
    uint32_t channels = core->halt_channel | core->run_channel;
    settings_add(list, armv8_make(core_cti(core, CTIGATE), channels, 0, ~channels));
    settings_add(list,
                 armv8_make(core_cti(core, CTICONTROL), CTICONTROL_GLBEN, CTICONTROL_GLBEN, UINT32_MAX));
}

/* OSUCE and RCE: with FEAT_DoPD of CTIDEVCTL, else of EDECR, DDI 0487 H3.7. */
static struct address armv8_catches(const struct core *core)
{
    return core->catches_by_cti ? core_cti(core, CTIDEVCTL) : armv8_word(core, EDECR);
}

static uint32_t catch_of_resets(const struct core *core)
{
    return core->resets == RESETS_NOTICED ? 0 : EDECR_RCE;
}

/* EDECR between single steps. */
static uint32_t halting_events(const struct core *core)
{
    return core->catches_by_cti ? 0 : catch_of_resets(core);
}

/* Always written, because single steps write EDECR too. */
static void add_catches(const struct core *core, struct settings *list)
{
    settings_add(list, (struct setting){.at = armv8_catches(core),
                                        .test = EDECR_RCE,
                                        .always = true,
                                        .only_to_stop = true,
                                        .catches_resets = core->resets == RESETS_CAUGHT,
                                        .set = catch_of_resets(core),
                                        .restore = {.mask = UINT32_MAX & ~EDECR_SS, .ends_rest = true}});
}

static size_t armv8_settings(const struct core *core, struct setting *out, size_t room)
{
    struct settings list = {.out = out, .room = room};
    settings_add(&list, core_open_lock(armv8_word(core, CORESIGHT_LAR), armv8_word(core, CORESIGHT_LSR)));
    /* Reading EDPRSR clears the flags of earlier resets. */
    settings_add(&list, (struct setting){.at = armv8_word(core, OSLAR_EL1),
                                         .test_at = armv8_word(core, EDPRSR),
                                         .test = PRSR_OSLK,
                                         .restore = {.mask = OSLAR_LOCK, .key = OSLAR_LOCK}});
    /* Without power the core loses its comparators. Ignored while the OS lock is set. CWRR in the same
     * register would reset the core: H9.2.42. */
    settings_add(&list, (struct setting){.at = armv8_word(core, EDPRCR),
                                         .test = PRCR_CORENPDRQ,
                                         .set = PRCR_CORENPDRQ,
                                         .keep = UINT32_MAX & ~PRCR_CWRR,
                                         .restore = {.mask = UINT32_MAX & ~PRCR_CWRR}});
    if (!core->catches_by_cti)
        add_catches(core, &list);
    else
        settings_add(&list, (struct setting){.at = armv8_word(core, EDECR),
                                             .always = true,
                                             .only_to_stop = true,
                                             .restore = {.mask = UINT32_MAX & ~EDECR_SS, .ends_rest = true}});
    if (core->unstoppable == NULL) {
        settings_add(&list, core_open_lock(core_cti(core, CORESIGHT_LAR), core_cti(core, CORESIGHT_LSR)));
        if (core->catches_by_cti)
            add_catches(core, &list);
        add_triggers(core, &list);
    }
    return list.n;
}

static size_t armv8_commands(const struct core *core, struct address *out, size_t room)
{
    const struct address acting[] = {
        armv8_word(core, DBGDTRRX_EL0), armv8_word(core, EDITR), armv8_word(core, EDSCR),
        armv8_word(core, DBGDTRTX_EL0), armv8_word(core, EDRCR), core_cti(core, CTIAPPPULSE),
        core_cti(core, CTIINTACK),
    };
    size_t n = sizeof acting / sizeof *acting - (core->cti_base == 0 ? 2 : 0);
    for (size_t i = 0; i < n && i < room; i++)
        out[i] = acting[i];
    return n < room ? n : room;
}

static struct address armv8_control_address(const struct core *core)
{
    return armv8_word(core, EDSCR);
}

static struct address armv8_reset_register(const struct core *core)
{
    return armv8_word(core, EDPRSR);
}

/* Always written, because the lists write it too: so the ledger holds the old value and restores it. */
static struct setting armv8_comparators_on(const struct core *core)
{
    return (struct setting){.at = armv8_word(core, EDSCR),
                            .test = EDSCR_HDE,
                            .always = true,
                            .set = EDSCR_HDE,
                            .restore = {.mask = EDSCR_HDE | EDSCR_TDA | EDSCR_INTDIS, .moves = true}};
}

/* OpenOCD masks interrupts for a step. */
static struct setting debugger_step(const struct core *core)
{
    return (struct setting){.at = armv8_word(core, EDSCR),
                            .only_held = true,
                            .restore = {.how = RESTORE_BITS, .mask = EDSCR_INTDIS}};
}

/* --- run control ---------------------------------------------------------------------------------------- */

static enum core_state armv8_state_of(const struct core *core, uint64_t status)
{
    (void)core;
    return (status & EDSCR_HALTED) == EDSCR_HALTED ? CORE_HALTED : CORE_RUNNING;
}

/* EDSCR.RW has a bit for each level that is set in AArch64 state. Those below one that is not are UNKNOWN. */
enum { RW = 0xF };

/* The highest of them that is not set; -1: all are. */
static int highest_in_aarch32(uint64_t status)
{
    int level = 3;
    while (level >= 0 && (status >> EDSCR_RW_SHIFT >> level & 1) != 0)
        level--;
    return level;
}

static const char *unreadable(const struct core *core, uint64_t status)
{
    bool wide = (int)(status >> EDSCR_EL_SHIFT & 3) > highest_in_aarch32(status);
    if (wide == core_has(core, WIDE_REGISTERS))
        return NULL;
    return wide ? "it is in AArch64 state" : "it is in AArch32 state";
}

/* If only lower levels are in AArch32 state, the level itself determines the state. */
static void armv8_note_state(struct core *core, uint64_t status)
{
    enum { HIGHEST = 3 };
    int level = highest_in_aarch32(status);
    core->state_mask = (RW << (level < 0 ? 0 : level) & RW) << EDSCR_RW_SHIFT;
    if (level >= 0 && level < HIGHEST)
        core->state_mask |= 3U << EDSCR_EL_SHIFT;
    core->state = (uint32_t)status & core->state_mask;
    const struct core_part *part = core_part(core);
    core->world_mask = part->architecture == ARMV8_A && part->pmu.kind == PMU_V3P1 ? EDSCR_NS : 0;
    core->world = (uint32_t)status & core->world_mask;
}

static void pulse(const struct core *core, struct steps *list, enum step_mark mark, uint32_t channels)
{
    steps_add(list, step_marked(mark, step_write(core_cti(core, CTIAPPPULSE), channels)));
}

static void armv8_add_wait_halt(const struct core *core, struct steps *list)
{
    steps_add(list,
              step_marked(MARK_AWAITS_HALT, step_until(armv8_word(core, EDSCR), EDSCR_HALTED, EDSCR_HALTED)));
}

static void armv8_add_run_ready(const struct core *core, struct steps *list)
{
    armv8_set_control(core, list, EDSCR_LEAVING);
}

static void armv8_add_run(const struct core *core, struct steps *list)
{
    armv8_add_run_ready(core, list);
    pulse(core, list, MARK_RUNS, core->run_channel);
}

static void armv8_add_run_undebugged(const struct core *core, struct steps *list)
{
    armv8_set_control(core, list, 0);
    pulse(core, list, MARK_RUNS, core->run_channel);
}

/* The halt request stays until acknowledged, and would stop the core again. This also ends a single step. */
static void armv8_add_halt(const struct core *core, struct steps *list)
{
    armv8_set_control(core, list, EDSCR_HDE);
    pulse(core, list, MARK_CONTROLS, core->halt_channel);
    armv8_add_wait_halt(core, list);
    armv8_add_write(core, list, EDECR, halting_events(core));
    steps_add(list, step_write(core_cti(core, CTIINTACK), 1 << CTI_OUTPUT_HALT));
    steps_add(list, step_until(core_cti(core, CTITRIGOUTSTATUS), 1 << CTI_OUTPUT_HALT, 0));
}

static void armv8_add_single_step(const struct core *core, struct steps *list, unsigned n, uint64_t here)
{
    (void)n;
    (void)here;
    armv8_add_write(core, list, EDECR, halting_events(core) | EDECR_SS);
    armv8_set_control(core, list, EDSCR_LEAVING | EDSCR_INTDIS);
    pulse(core, list, MARK_STEPS, core->run_channel);
    steps_add(list, step_marked(MARK_AWAITS_HALT,
                                step_until(armv8_word(core, EDSCR), EDSCR_HALTED | EDSCR_MA, EDSCR_HALTED)));
    steps_add(list, step_expect(armv8_word(core, EDSCR), EDSCR_STEPPED, EDSCR_STEPPED));
    armv8_add_write(core, list, EDECR, halting_events(core));
}

/* --- comparators ---------------------------------------------------------------------------------------- */

static struct address armv8_comparator_address(const struct core *core, unsigned n, unsigned word)
{
    uint32_t offset = word == 0 ? DBGBCR0_EL1 : DBGBVR0_EL1 + 4 * (word - 1);
    return armv8_word(core, offset + ARMV8_COMPARATOR_STRIDE * n);
}

static bool armv8_comparator_used(const struct core *core, const uint64_t *words, uint64_t *address)
{
    (void)core;
    *address = (words[1] & UINT32_MAX) | words[2] << 32 | ((words[0] >> BCR_BYTES & 0xF) == 0xC ? 2 : 0);
    return (words[0] & BCR_ENABLE) != 0;
}

/* The bytes of an A32 instruction, or of the first half of a T32 one. */
static uint32_t armv8_stop_control(const struct core *core, const struct breakpoint_setup *setup,
                                   uint64_t code)
{
    uint32_t bytes = core_is_thumb(core, code) ? arm_match_bytes(code) : arm_match_bytes(0);
    return BCR_EVERYWHERE | bytes << BCR_BYTES |
           (setup->linked ? BCR_LINKED | setup->linked_to << BCR_LINKED_TO : 0);
}

static void armv8_add_comparator(const struct core *core, const struct breakpoint_setup *setup,
                                 struct steps *list, unsigned n, uint64_t from, uint64_t to)
{
    bool fresh = from == UINT64_MAX;
    if (to == UINT64_MAX) {
        steps_add(list, step_write(armv8_comparator_address(core, n, 0), 0));
        return;
    }
    if (fresh || ((from ^ to) & 0xFFFFFFFC) != 0)
        steps_add(list, step_write(armv8_comparator_address(core, n, 1), to & 0xFFFFFFFC));
    if (fresh || from >> 32 != to >> 32)
        steps_add(list, step_write(armv8_comparator_address(core, n, 2), to >> 32));
    if (fresh || armv8_stop_control(core, setup, from) != armv8_stop_control(core, setup, to))
        steps_add(list,
                  step_write(armv8_comparator_address(core, n, 0), armv8_stop_control(core, setup, to)));
}

/* --- processes ------------------------------------------------------------------------------------------ */

static size_t armv8_add_mode(const struct core *core, struct steps *list)
{
    return steps_add(list, step_read(armv8_word(core, EDSCR)));
}

static bool armv8_in_user_mode(const struct core *core, uint64_t mode)
{
    (void)core;
    return (mode >> EDSCR_EL_SHIFT & 3) == 0;
}

/* --- stops ---------------------------------------------------------------------------------------------- */

/* A loss of power counts as a reset, because it clears the comparators. */
static bool armv8_reset_seen_in(const struct core *core, uint64_t value)
{
    (void)core;
    return (value & (PRSR_SPD | PRSR_R | PRSR_SR)) != 0;
}

static bool armv8_can_notice_resets(const struct core *core)
{
    (void)core;
    return true;
}

static enum stop_cause armv8_cause_of(const struct core *core, uint64_t cause, uint64_t status_register)
{
    (void)core;
    (void)status_register;
    switch (cause & EDSCR_STATUS) {
    case EDSCR_AT_BREAKPOINT:
    case EDSCR_AT_HLT:
        return STOP_BREAKPOINT;
    case EDSCR_AT_REQUEST:
        return STOP_REQUEST;
    case EDSCR_AT_RESET:
        return STOP_RESET;
    case EDSCR_AT_EXCEPTION:
        return STOP_FAULT;
    case EDSCR_AT_WATCHPOINT:
        return STOP_WATCHPOINT;
    default:
        return STOP_OTHER;
    }
}

static void armv8_add_reset(const struct core *core, struct steps *list)
{
    armv8_add_write(core, list, EDPRCR, PRCR_CWRR);
}

/* --- halt sources: H8, H9 ------------------------------------------------------------------------------- */

enum { SERVERS = 0xFFFFFFFC }; /* all channels but 0 and 1, which OpenOCD uses */

static void add_first_stops(const struct core *core, bool server, struct core_stops *out)
{
    static const char *const names[CTI_OUTPUTS] = {"trigger that halts the core (CTIOUTEN0)",
                                                   "trigger that lets it run (CTIOUTEN1)"};
    for (uint32_t i = 0; i < CTI_OUTPUTS && core->cti_base != 0; i++)
        core_stops_add_bits(out, names[i], core_cti(core, CTIOUTEN0 + 4 * i), server ? SERVERS : UINT32_MAX);
}

static void armv8_add_stops_identity(const struct core *core, struct steps *list)
{
    steps_add(list, step_read(armv8_word(core, EDDFR)));
}

static void armv8_add_stops(const struct core *core, const uint64_t *identity, struct core_stops *out)
{
    static const char *const catch_names[][2] = {
        {"catch of the OS lock (EDECR.OSUCE)", "catch of a reset (EDECR.RCE)"},
        {"catch of the OS lock (CTIDEVCTL.OSUCE)", "catch of a reset (CTIDEVCTL.RCE)"}};
    const char *const *named = catch_names[core->catches_by_cti];
    for (uint32_t i = 0; i < (identity[0] >> DFR_WATCHPOINTS & 0xF) + 1; i++)
        core_stops_add(
            out, (struct core_stop){.name = "watchpoint",
                                    .at = armv8_word(core, DBGWCR0_EL1 + ARMV8_COMPARATOR_STRIDE * i),
                                    .field = 1,
                                    .low = 1,
                                    .high = 1,
                                    .place = armv8_word(core, DBGWVR0_EL1 + ARMV8_COMPARATOR_STRIDE * i)});
    core_stops_add_bits(out, named[0], armv8_catches(core), EDECR_OSUCE);
    core_stops_add_bits(out, named[1], armv8_catches(core), EDECR_RCE);
    core_stops_add_bits(out, "single step (EDECR.SS)", armv8_word(core, EDECR), EDECR_SS);
    core_stops_add_bits(out, "catch of exceptions (EDECCR)", armv8_word(core, EDECCR), 0xFFFF);
}

static void armv8_add_last_stops(const struct core *core, struct core_stops *out)
{
    core_stops_add(out, (struct core_stop){.at = armv8_word(core, EDSCR),
                                           .field = EDSCR_HDE | EDSCR_INTDIS,
                                           .low = 1,
                                           .high = UINT64_MAX,
                                           .keep = EDSCR_TDA});
}

static void add_unlock(const struct core *core, struct steps *list)
{
    armv8_add_write(core, list, EDRCR, EDRCR_CSE);
}

static const char *const register_names[] = {
    [CORE_PC] = "pc", [CORE_SP] = "sp", [CORE_LR] = "lr", [CORE_PSP] = "psp", [CORE_STATUS] = "cpsr"};

static const struct core_debug_name debug_names[] = {
    {.offset = OSLAR_EL1, .name = "OSLAR_EL1"},
    {.offset = EDPRCR, .name = "EDPRCR"},
    {.offset = EDECR, .name = "EDECR"},
    {.offset = EDSCR, .name = "EDSCR"},
    {DBGBVR0_EL1, ARMV8_COMPARATOR_STRIDE, 16, .name = "DBGBVR", .after = "_EL1"},
    {DBGBVR0_EL1 + 4, ARMV8_COMPARATOR_STRIDE, 16, .name = "DBGBVR", .after = "_EL1"},
    {DBGBCR0_EL1, ARMV8_COMPARATOR_STRIDE, 16, .name = "DBGBCR", .after = "_EL1"},
    {CTICONTROL, .in_cti = true, .name = "CTICONTROL"},
    {CTIGATE, .in_cti = true, .name = "CTIGATE"},
    {CTIDEVCTL, .in_cti = true, .name = "CTIDEVCTL"},
    {CTIINEN0, 4, ARMV8_TRIGGERS, .in_cti = true, .name = "CTIINEN"},
    {CTIOUTEN0, 4, ARMV8_TRIGGERS, .in_cti = true, .name = "CTIOUTEN"},
    {.name = NULL}};

static const struct core_state_ops state = {.status_register = armv8_control_address,
                                            .halted = EDSCR_HALTED,
                                            .state_of = armv8_state_of,
                                            .unreadable = unreadable,
                                            .note = armv8_note_state,
                                            .at_first = RW << EDSCR_RW_SHIFT | EDSCR_NS};
/* Where EL3 is in AArch64 state the first stop is not as expected, and is inspected. */
static const struct core_state_ops state_in_aarch32 = {.status_register = armv8_control_address,
                                                       .halted = EDSCR_HALTED,
                                                       .state_of = armv8_state_of,
                                                       .unreadable = unreadable,
                                                       .note = armv8_note_state,
                                                       .at_first = EDSCR_NS};
static const struct core_run_ops run = {.settings = armv8_settings,
                                        .commands = armv8_commands,
                                        .debug_enable = armv8_control_address,
                                        .add_wait_halt = armv8_add_wait_halt,
                                        .add_run_ready = armv8_add_run_ready,
                                        .add_run = armv8_add_run,
                                        .add_run_undebugged = armv8_add_run_undebugged,
                                        .add_halt = armv8_add_halt,
                                        .add_single_step = armv8_add_single_step,
                                        .debugger_step = debugger_step,
                                        .add_reset = armv8_add_reset};
static const struct core_stop_ops stop = {.reset_register = armv8_reset_register,
                                          .reset_seen = armv8_reset_seen_in,
                                          .can_notice_resets = armv8_can_notice_resets,
                                          .trigger_mask = EDSCR_STATUS,
                                          .trigger = EDSCR_AT_REQUEST,
                                          .stepped_mask = EDSCR_STEPPED,
                                          .stepped = EDSCR_STEPPED,
                                          .cause = armv8_cause_of};
static const struct core_halt_ops halts = {.add_first = add_first_stops,
                                           .add_identity = armv8_add_stops_identity,
                                           .add_stops = armv8_add_stops,
                                           .add_last = armv8_add_last_stops,
                                           /* the next stop clears MA */
                                           .not_left = EDSCR_HALTED | EDSCR_MA,
                                           .borrowing = CHANNEL_USED,
                                           .add_unlock = add_unlock};
static const struct core_process_ops processes = {.add_mode = armv8_add_mode,
                                                  .in_user_mode = armv8_in_user_mode,
                                                  .context_off = BCR_LINKED_CONTEXT,
                                                  .context_on = BCR_ENABLE};

/* What both Execution states have. Cores in servers reach 4 GHz. */
#define EITHER_STATE                                                                                         \
    .fastest_hz = 5e9, .mapped_pmu = PMU_V3, .borrowed_mark = EDSCR_TDA, .register_names = register_names,   \
    .debug_names = debug_names, .run = &run, .stop = &stop, .halts = &halts, .processes = &processes
#define EITHER_STATES_REGISTERS                                                                              \
    .add_ready = armv8_add_ready, .add_register = armv8_add_register,                                        \
    .register_value = armv8_register_value, .gives_first = armv8_gives_first, .channel_used = CHANNEL_USED,  \
    .channel_given = EDSCR_RXFULL, .add_empty = armv8_empty_channel,                                         \
    .add_recover_instruction = armv8_add_recover_instruction, .add_expect_stop = armv8_add_expect_stop,      \
    .add_proofs = armv8_add_proofs, .add_accesses = armv8_add_accesses, .hindrance = armv8_hindrance,        \
    .in_hypervisor = armv8_in_hypervisor
#define EITHER_STATES_BREAKPOINTS                                                                            \
    .comparators_on = armv8_comparators_on, .comparator_words = 3, .comparator = armv8_comparator_address,   \
    .comparator_used = armv8_comparator_used, .add_comparator = armv8_add_comparator, .debug_on = EDSCR_HDE
enum {
    EITHER_STATES_TRAITS =
        ARM_CODE | HIDES | DEBUG_COMPONENT | LOCKS_IN_PRSR | RUN_BY_TRIGGER | BORROWS_REGISTERS
};

const struct core_ops armv8_ops = {
    EITHER_STATE,
    .traits = EITHER_STATES_TRAITS | WIDE_REGISTERS,
    .other_state = &armv8_ops_in_aarch32,
    .state = &state,
    .registers =
        &(const struct core_register_ops){EITHER_STATES_REGISTERS, .own_pmu = armv8_own_pmu,
                                          .spare = CORE_R0 + 29 /* the frame pointer */, .spare_is_lr = true},
    .breakpoints =
        &(const struct core_breakpoint_ops){EITHER_STATES_BREAKPOINTS, .read_code = a64_breakpoint},
};

const struct core_ops armv8_ops_in_aarch32 = {
    EITHER_STATE,
    .traits = EITHER_STATES_TRAITS | THUMB_BY_BIT,
    .other_state = &armv8_ops,
    .state = &state_in_aarch32,
    .registers = &(const struct core_register_ops){EITHER_STATES_REGISTERS, .own_pmu = armv7_own_pmu,
                                                   .spare = CORE_R0 + 11},
    .breakpoints =
        &(const struct core_breakpoint_ops){EITHER_STATES_BREAKPOINTS, .read_code = aarch32_breakpoint},
    .returns = &armv7_returns,
};

/* --- which core it is ----------------------------------------------------------------------------------- */

/* DEVARCH.ARCHID, DDI 0487 H9.2: the version of the architecture is above the common bits. */
enum { ARCHID_FAMILY = 0xFFF, ARCHID_A = 0xA15, ARCHID_V8 = 6, ARCHID_V8R = 0x6A05 };
enum { ARM = 0x41 };

bool armv8_is_archid(uint16_t archid)
{
    return archid == ARCHID_V8R || ((archid & ARCHID_FAMILY) == ARCHID_A && archid >> 12 >= ARCHID_V8);
}

/* CTIDEVARCH.REVISION: from 1 on CTIDEVCTL is supported, which FEAT_DoPD requires, DDI 0487 H9.5.17. */
bool armv8_cti_catches(uint32_t devarch)
{
    return (devarch >> 16 & 0xF) != 0;
}

void armv8_add_identity(uint16_t unit, uint64_t debug_base, uint64_t cti_base, struct steps *list)
{
    const struct core core = {.unit = unit, .debug_base = debug_base, .cti_base = cti_base};
    steps_add(list, step_read(armv8_word(&core, MIDR_EL1)));
    steps_add(list, step_read(armv8_word(&core, EDDFR)));
    steps_add(list, step_read(armv8_word(&core, CORESIGHT_AUTHSTATUS)));
    if (cti_base == 0)
        return;
    steps_add(list, step_read(core_cti(&core, CTICONTROL)));
    steps_add(list, step_read(core_cti(&core, CTIDEVID)));
    for (uint32_t i = 0; i < ARMV8_TRIGGERS; i++)
        steps_add(list, step_read(core_cti(&core, CTIINEN0 + 4 * i)));
    for (uint32_t i = 0; i < ARMV8_TRIGGERS; i++)
        steps_add(list, step_read(core_cti(&core, CTIOUTEN0 + 4 * i)));
}

static void name_core(struct core *core, bool revision)
{
    const struct core_part *part = core_part(core);
    char name[32];
    if (part->architecture == ARMV8_A || part->architecture == ARMV8_R)
        snprintf(name, sizeof name, "%s", part->name);
    else
        snprintf(name, sizeof name, "Armv8 core %02X:%03X", core->id >> 24, core->id >> 4 & 0xFFF);
    if (revision)
        snprintf(core->name, sizeof core->name, "%s r%up%u", name, core->id >> 20 & 0xF, core->id & 0xF);
    else
        snprintf(core->name, sizeof core->name, "%s", name);
}

/* Takes the last two unused channels. Other debuggers start with the first: OpenOCD takes 0 and 1, perhaps
 * later. */
static void choose_channels(const uint64_t *values, struct core *core)
{
    uint32_t triggers = values[ARMV8_TRIGGER_CHANNELS] >> DEVID_TRIGGERS & DEVID_TRIGGERS_MASK;
    core->triggers_off = (values[ARMV8_TRIGGER_CONTROL] & CTICONTROL_GLBEN) == 0;
    uint32_t free =
        cross_trigger_free(values[ARMV8_TRIGGER_CHANNELS], &values[ARMV8_INPUTS], &values[ARMV8_OUTPUTS],
                           core->triggers_off          ? 0
                           : triggers < ARMV8_TRIGGERS ? triggers
                                                       : ARMV8_TRIGGERS);
    core->run_channel = cross_trigger_last(free);
    core->halt_channel = cross_trigger_last(free & ~core->run_channel);
    if (core->halt_channel == 0)
        core->unstoppable = "its cross trigger has no two channels left (pmu-probe restore --force)";
}

/* AArch64 state until the program's ELF or a stop says otherwise. */
static void begin_state(struct core *core)
{
    if ((core_part(core)->quirks & ONLY_AARCH32) != 0)
        core->ops = &armv8_ops_in_aarch32;
    core_note_state(core, core->ops->state->at_first);
}

bool armv8_is(const struct core *core)
{
    return core->ops == &armv8_ops || core->ops == &armv8_ops_in_aarch32;
}

void armv8_identify(uint16_t unit, uint64_t debug_base, uint64_t cti_base, const uint64_t *values,
                    struct core *out)
{
    *out = (struct core){.ops = &armv8_ops,
                         .unit = unit,
                         .debug_base = debug_base,
                         .cti_base = cti_base,
                         .id = (uint32_t)values[ARMV8_MIDR],
                         .comparators = (values[ARMV8_DFR] >> DFR_BREAKPOINTS & 0xF) + 1,
                         .context_comparators = (values[ARMV8_DFR] >> DFR_CONTEXTS & 0xF) + 1};
    begin_state(out);
    out->processes = core_part(out)->architecture != ARMV8_R;
    out->keeps_secure = core_keeps_secure(out, (uint32_t)values[ARMV8_AUTHSTATUS]);
    name_core(out, true);
    if (!core_may_halt((uint32_t)values[ARMV8_AUTHSTATUS]))
        out->unstoppable = "the chip does not allow invasive debug (DBGEN is low)";
    else if (cti_base == 0)
        out->unstoppable = "no cross trigger interface was found for it";
    else
        choose_channels(values, out);
    if (out->unstoppable != NULL)
        out->comparators = 0;
}

void armv8_identify_hidden(uint16_t unit, uint64_t debug_base, uint64_t cti_base, uint16_t part,
                           struct core *out)
{
    *out = (struct core){.ops = &armv8_ops,
                         .unit = unit,
                         .debug_base = debug_base,
                         .cti_base = cti_base,
                         .id = (uint32_t)ARM << 24 | (uint32_t)part << 4,
                         .unstoppable = "its debug registers refuse to be read"};
    begin_state(out);
    name_core(out, false);
}
