/* SPDX-License-Identifier: MIT */
/*
 * Cores: the processor under test. A core knows which of its registers stop it, start it and show where it
 * is. It adds steps for that to a list and interprets the results; it never uses a link. After discovery a
 * struct core is constant, but for `resets`.
 */
#pragma once

#include "cores/core_ops.h"

/* The Security Extension of Armv8-M: none, Secure code can be debugged, or it runs unseen. */
enum core_security { SECURITY_NONE, SECURITY_OPEN, SECURITY_HIDDEN };

/*
 * How a reset during a run shows. Caught: the core halts at its reset vector, and the catch outlives the
 * reset: without us the program does not boot. Noticed: a register shows it afterwards, and the core runs on.
 */
enum core_resets { RESETS_CAUGHT, RESETS_NOTICED };

struct core {
    const struct core_ops *ops;
    enum core_resets resets; /* what core_settings asks for, and what the reset register is */
    uint16_t unit;           /* the link's view that reaches its registers, and, on Cortex-M, its memory */
    /* Not used for Cortex-M, whose registers are memory at fixed addresses. */
    uint16_t memory_unit;          /* the view that shows memory as the core sees it */
    uint64_t debug_base, cti_base; /* on `unit`; 0: none */
    uint64_t pmu_base;             /* on `pmu_unit`, which is `unit` unless the user says so */
    uint16_t pmu_unit;
    char name[48];        /* "Cortex-M0+ r0p1" */
    uint32_t id;          /* CPUID or MIDR */
    unsigned comparators; /* for code */
    unsigned comparator_revision;
    unsigned quirks; /* of enum part_quirk */
    enum core_security security;
    const char *unstoppable; /* why it cannot be halted; NULL: it can */
    bool keeps_secure;       /* it does not halt in Secure code: SPIDEN is low */
    /* Channels of the cross trigger interface that halt and resume it for us, as bits. triggers_off: the
     * interface was off, so that its registers hold arbitrary values. */
    uint32_t halt_channel, run_channel;
    bool triggers_off;
    bool catches_by_cti;   /* FEAT_DoPD: CTIDEVCTL has the catches that EDECR had */
    bool numbered_by_unit; /* users know it by its number in its system, which is `unit` */
    bool memory_hidden;    /* the link shows no memory of it */
    bool processes;        /* an MMU may show each program another memory */
    unsigned
        context_comparators;    /* how many of the comparators, the last ones, can also compare CONTEXTIDR */
    bool caches;                /* instructions that a debugger writes need cache maintenance */
    bool caches_data;           /* a data cache, which is on, may be ahead of memory */
    uint32_t state_mask, state; /* what the status shows of Armv8's Execution state, while it is halted */
    uint32_t world_mask, world; /* and of its Security state, where events may not count in Secure state */
};

static inline bool core_has(const struct core *core, enum core_trait trait)
{
    return (core->ops->traits & trait) != 0;
}

/* It was halted where events count only if its firmware allows it: from Armv8.2 on that is not up to the
 * debugger. DDI 0487 D11.5.3, MDCR_EL3.SPME. */
static inline bool core_may_hide_events(const struct core *core)
{
    return core->world_mask != 0 && (core->world & core->world_mask) == 0;
}

/* The clock of the fastest cores of its architecture. */
static inline double core_fastest_hz(const struct core *core)
{
    return core->ops->fastest_hz;
}

/* What PMUs of its architecture are on its bus: PMU_V1 (or V2), PMU_V3; PMU_NONE: it has none there. */
static inline enum pmu_kind core_mapped_pmu(const struct core *core)
{
    return core->pmu_base != 0 ? core->ops->mapped_pmu : PMU_NONE;
}

/* GDB's name of it, but that GDB calls LR of wide registers x30. */
void core_register_name(const struct core *core, enum core_register which, char *out, size_t size);

/* Its row; that of an unknown part is empty. */
const struct core_part *core_part(const struct core *core);

/*
 * Addresses of code. If a core has two instruction sets, bit 0 says which one the code is in (1: Thumb), as
 * in LR, because comparators and the PC as read depend on that. On other cores bit 0 is 0.
 */
uint64_t core_code(const struct core *core, uint64_t address, bool thumb);
bool core_is_thumb(const struct core *core, uint64_t code);
uint64_t core_code_of_lr(const struct core *core, uint64_t lr);
uint64_t core_code_place(uint64_t code); /* without that bit */
/* The same for x86-64, where instructions may begin at any address. */
uint64_t core_place(const struct core *core, uint64_t code);
/* Whether DBGAUTHSTATUS of Armv7 or Armv8 lets a debugger halt the core in either security state. */
bool core_may_halt(uint32_t authstatus);
/* Whether it allows that only outside the Secure state. Cortex-R has no such state, but the same value
 * (0xAF). */
bool core_keeps_secure(const struct core *core, uint32_t authstatus);
/* A likely cause of a stop that never occurs, to be put after "not reached"; "" if none is known. */
const char *core_may_be_unseen(const struct core *core);
/* Opens the software lock of a component. Any value but the key locks again; the lock cannot be read. */
struct setting core_open_lock(struct address lock, struct address status);
/* Word-sized memory as the core sees it. */
struct address core_word(const struct core *core, uint64_t offset);
/* Words of its debug registers, of its PMU and of its cross trigger interface. */
struct address core_debug(const struct core *core, uint64_t offset);
struct address core_pmu(const struct core *core, uint64_t offset);
struct address core_cti(const struct core *core, uint64_t offset);

/* "EDECR", "DBGBVR2_EL1": a register of these by its name in the manual; false: not known. */
bool core_debug_name(const struct core *core, struct address at, char *out, size_t size);

/* --- debug registers ------------------------------------------------------------------------------------ */

/* Whether its debug registers stop and start it. If not, only a debugger does: core_settings and
 * core_commands return 0, and no other function from here to the comparators may be called. */
static inline bool core_has_run_control(const struct core *core)
{
    return core->ops->run != NULL;
}

/* What must be set during a run, and which registers act instead of holding a value; both return how many. */
static inline size_t core_settings(const struct core *core, struct setting *out, size_t room)
{
    return core_has_run_control(core) ? core->ops->run->settings(core, out, room) : 0;
}

static inline size_t core_commands(const struct core *core, struct address *out, size_t room)
{
    return core_has_run_control(core) ? core->ops->run->commands(core, out, room) : 0;
}

/* The setting among them that switches debug on; undone last, and kept when the core is left halted. */
static inline struct address core_debug_enable(const struct core *core)
{
    return core->ops->run->debug_enable(core);
}

/* The register that every wait reads, and what a value of it says. */
static inline struct address core_status_register(const struct core *core)
{
    return core->ops->state->status_register(core);
}

static inline enum core_state core_state_of(const struct core *core, uint64_t status)
{
    return core->ops->state->state_of(core, status);
}

/* An OP_UNTIL on it that is met while the core is halted. False: a Cortex-M, whose register forgets by reads,
 * or no run control. */
bool core_halted_test(const struct core *core, struct step *out);

static inline bool core_may_be_unreadable(const struct core *core)
{
    return core->ops->state->unreadable != NULL;
}

/* Why the registers of a core that is halted with this status cannot be read; NULL: they can. */
static inline const char *core_unreadable(const struct core *core, uint64_t status)
{
    return core_may_be_unreadable(core) ? core->ops->state->unreadable(core, status) : NULL;
}

/* It was halted with this status, and is not unreadable. */
static inline void core_note_state(struct core *core, uint64_t status)
{
    if (core->ops->state->note != NULL)
        core->ops->state->note(core, status);
}

/* A program of this Execution state (wide: AArch64) runs on it. False: it has only the other. */
bool core_take_state(struct core *core, bool wide);

static inline void core_add_wait_halt(const struct core *core, struct steps *list)
{
    core->ops->run->add_wait_halt(core, list);
}

/* The halted core runs next, and no register is transferred before: what that needs is written where it takes
 * least. */
static inline void core_add_run_ready(const struct core *core, struct steps *list)
{
    if (core->ops->run->add_run_ready != NULL)
        core->ops->run->add_run_ready(core, list);
}

static inline void core_add_run(const struct core *core, struct steps *list)
{
    core->ops->run->add_run(core, list);
}

static inline void core_add_halt(const struct core *core, struct steps *list)
{
    core->ops->run->add_halt(core, list);
}

/* Executes the instruction at `here` with interrupts held off; ends halted. Comparator `n` must be off, may
 * be used for the step, and is off again afterwards. */
static inline void core_add_single_step(const struct core *core, struct steps *list, unsigned n,
                                        uint64_t here)
{
    core->ops->run->add_single_step(core, list, n, here);
}

/* For a stop with the same status as the one before: clear its cause before running, then wait for it to
 * occur again. The status may still show the old halt for a moment. */
static inline void core_add_clear_breakpoint(const struct core *core, struct steps *list)
{
    if (core->ops->stop->add_clear_breakpoint != NULL)
        core->ops->stop->add_clear_breakpoint(core, list);
}

static inline void core_add_wait_breakpoint(const struct core *core, struct steps *list)
{
    if (core->ops->stop->add_wait_breakpoint != NULL)
        core->ops->stop->add_wait_breakpoint(core, list);
    else
        core_add_wait_halt(core, list);
}

/* Whether the reset register is a mark that we set and a reset clears. If not, reading it clears it. */
static inline bool core_marks_resets(const struct core *core)
{
    return core->resets == RESETS_NOTICED && core->ops->stop->mark_is_used != NULL;
}

/* Whether the core was reset since the run began. Read after a stop; clearing the cause keeps it. */
static inline struct address core_reset_register(const struct core *core)
{
    return core->ops->stop->reset_register(core);
}

static inline size_t core_add_reset_seen(const struct core *core, struct steps *list)
{
    return steps_add(list, step_read(core_reset_register(core)));
}

static inline bool core_reset_seen(const struct core *core, uint64_t value)
{
    return core->ops->stop->reset_seen(core, value);
}

/* Whether it was reset since the last such read, while it runs and nothing catches resets. */
static inline size_t core_add_reset_since(const struct core *core, struct steps *list)
{
    const struct core_stop_ops *ops = core->ops->stop;
    return ops->since_register == NULL ? core_add_reset_seen(core, list)
                                       : steps_add(list, step_read(ops->since_register(core)));
}

static inline bool core_reset_since(const struct core *core, uint64_t value)
{
    const struct core_stop_ops *ops = core->ops->stop;
    return ops->reset_since == NULL ? core_reset_seen(core, value) : ops->reset_since(core, value);
}

/* Whether a stop with this cause is a halt request of a cross trigger. */
static inline bool core_stopped_by_trigger(const struct core *core, uint64_t cause)
{
    return (cause & core->ops->stop->trigger_mask) == core->ops->stop->trigger;
}

/* Whether the status of a halted core may be that after a single step. */
static inline bool core_may_have_stepped(const struct core *core, uint64_t status)
{
    return (status & core->ops->stop->stepped_mask) == core->ops->stop->stepped;
}

/* Why it stopped. `status`: its CORE_STATUS, 0 if that is not known. */
static inline struct address core_cause_register(const struct core *core)
{
    const struct core_stop_ops *ops = core->ops->stop;
    return ops->cause_register == NULL ? core_status_register(core) : ops->cause_register(core);
}

static inline size_t core_add_cause(const struct core *core, struct steps *list)
{
    return steps_add(list, step_read(core_cause_register(core)));
}

static inline enum stop_cause core_cause(const struct core *core, uint64_t cause, uint64_t status)
{
    return core->ops->stop->cause(core, cause, status);
}

/* --- interrupts ----------------------------------------------------------------------------------------- */

/* Whether interrupts can be held off; if not, neither of the next two may be called. */
static inline bool core_can_hold(const struct core *core)
{
    return core->ops->interrupts != NULL;
}

/* On a halted core: interrupts are held off from here on, or no longer. */
static inline void core_add_hold(const struct core *core, struct steps *list, bool held)
{
    core->ops->interrupts->add_hold(core, list, held);
}

static inline void core_add_run_held(const struct core *core, struct steps *list)
{
    core->ops->interrupts->add_run_held(core, list);
}

/* Resumes a halted core, with interrupts. */
void core_add_let_go(const struct core *core, struct steps *list);

/* Whether it runs as soon as debug is switched off. */
static inline bool core_runs_as_debug_ends(const struct core *core)
{
    return core->ops->run->add_run_undebugged == NULL;
}

/* Else: resumes a core that is halted at a breakpoint instruction, with debug off, so that it does not halt
 * there again. */
static inline void core_add_let_go_undebugged(const struct core *core, struct steps *list)
{
    if (!core_runs_as_debug_ends(core))
        core->ops->run->add_run_undebugged(core, list);
}

/* Whether an interrupt will run before the next instruction, or one that cannot be held off; SIZE_MAX and
 * false if the core cannot show it. */
static inline size_t core_add_pending(const struct core *core, struct steps *list)
{
    const struct core_interrupt_ops *ops = core->ops->interrupts;
    return ops == NULL ? SIZE_MAX : steps_add(list, step_read(ops->pending_register(core)));
}

/* Arm's A and R profiles: what pends while the core is halted runs as it goes on, and no debug register shows
 * it. ISR (DDI 0406C B4.1.81) and ISR_EL1 take instructions, some accesses before the core goes on. */
static inline bool core_hides_pending(const struct core *core)
{
    return core_has(core, ARM_CODE) && core->ops->interrupts == NULL;
}

static inline bool core_pending(const struct core *core, uint64_t value)
{
    return core_can_hold(core) && core->ops->interrupts->pending(core, value);
}

static inline bool core_held_pending(const struct core *core, uint64_t value)
{
    return core_can_hold(core) && core->ops->interrupts->held_pending(core, value);
}

/* Whether a handler was entered between two such reads. */
static inline bool core_entered(const struct core *core, uint64_t before, uint64_t after)
{
    return core_can_hold(core) && core->ops->interrupts->entered(core, before, after);
}

/* --- registers of a halted core ------------------------------------------------------------------------- */

/* Nothing is under way in the core, and no refusal sticks. Must precede reads of registers after a list that
 * ended early. */
static inline void core_add_ready(const struct core *core, struct steps *list)
{
    if (core->ops->registers->add_ready != NULL)
        core->ops->registers->add_ready(core, list);
}

/* Whether the channel through which registers are read, if there is one, has something left in it; `given`: a
 * word that only the core takes, as it does while its PC is read. */
static inline bool core_channel_used(const struct core *core, uint64_t status, bool *given)
{
    *given = (status & core->ops->registers->channel_given) != 0;
    return (status & core->ops->registers->channel_used) != 0;
}

/* Empties it on the debugger's side and clears its errors, while the core runs or is halted. */
static inline void core_add_empty_channel(const struct core *core, struct steps *list)
{
    if (core->ops->registers->add_empty != NULL)
        core->ops->registers->add_empty(core, list);
}

/* Returns the index by which core_register_value finds the value. OP_COPY steps give back what was borrowed
 * of the program's: a list that ended between must be continued to the last of them. */
static inline size_t core_add_register(const struct core *core, struct steps *list, enum core_register which)
{
    return core->ops->registers->add_register(core, list, which);
}

static inline uint64_t core_register_value(const struct core *core, enum core_register which,
                                           const uint64_t *results, size_t at)
{
    const struct core_register_ops *ops = core->ops->registers;
    return ops->register_value == NULL ? results[at] : ops->register_value(core, which, results, at);
}

/* What must precede step `first` begins to give back what a list that ended early has borrowed. */
static inline void core_add_recover_instruction(const struct core *core, struct steps *list,
                                                const struct step *first)
{
    if (core->ops->registers->add_recover_instruction != NULL)
        core->ops->registers->add_recover_instruction(core, list, first);
}

/* Whether that step gives back R0 or X0, through which a server reads all others when it finds the core
 * halted. */
static inline bool core_gives_first(const struct core *core, const struct step *step)
{
    return core->ops->registers->gives_first != NULL && core->ops->registers->gives_first(step);
}

/* Ends the transfer of registers. */
static inline void core_add_registers_done(const struct core *core, struct steps *list)
{
    if (core->ops->registers->add_registers_done != NULL)
        core->ops->registers->add_registers_done(core, list);
}

/*
 * Proves that the core has stopped at the breakpoint at `place`. `wait`: for the transfer to end, where no
 * probe can distinguish a new value from the old one: the PC was transferred last, or the core's clock is
 * slow. A proof that is too early fails, and is inspected; it never holds by mistake.
 */
static inline void core_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup,
                                        struct steps *list, uint64_t place, bool wait)
{
    size_t last = list->n;
    core->ops->registers->add_expect_stop(core, setup, list, place, wait);
    for (size_t i = last; i < list->n; i++)
        if (list->items[i].op == OP_EXPECT || list->items[i].op == OP_CHECK)
            last = i;
    if (last < list->n)
        list->items[last].mark = MARK_PROVES_STOP;
}

/*
 * Proves that registers have these values. `wait` as above. `spare`, which may be NULL: what its spare
 * register is likely to hold here. This is proved, too, and saves round trips.
 */
static inline void core_add_proofs(const struct core *core, struct steps *list,
                                   const struct core_proof *proofs, size_t n, const struct core_spare *spare,
                                   bool wait)
{
    core->ops->registers->add_proofs(core, list, proofs, n, spare, wait);
}

/* Whether proofs, or accesses in SPACE_CORE if there are some, can do with a spare register: one that
 * functions keep and whose value seldom changes. `call`: one that is the same at a call's entry and after it
 * may do; false if there is none but the other one. */
bool core_spare_register(const struct core *core, bool coprocessor, bool call, enum core_register *out);

/* Accesses to registers in SPACE_CORE, by instructions that the halted core executes in the mode it is in;
 * at[i] is the index of the result of a read. What is borrowed is given back as above. `spare` as for
 * proofs. */
static inline void core_add_coprocessor(const struct core *core, struct steps *list,
                                        const struct step *accesses, size_t n, const struct core_spare *spare,
                                        size_t *at)
{
    core->ops->registers->add_coprocessor(core, list, accesses, n, spare, at);
}

/* What a spare register holds now. core_spare_take: by what core_spare_add returned. */
struct core_spare_at {
    size_t held, selector;
};
struct core_spare_at core_spare_add(const struct core *core, enum core_register which, struct steps *list);
struct core_spare core_spare_take(const struct core *core, enum core_register which,
                                  const struct core_spare_at *at, const uint64_t *results);

/* Whether the halted core can be asked to make its own accesses. */
static inline bool core_makes_accesses(const struct core *core)
{
    return core->ops->registers != NULL && core->ops->registers->add_accesses != NULL;
}

/* A register of the PMU as the core itself reaches it: c9 in CP15, and the System registers of the same
 * numbers. */
static inline struct address core_own_pmu(const struct core *core, unsigned crm, unsigned opc2)
{
    return core->ops->registers->own_pmu(crm, opc2);
}

/* Accesses that the core makes in a privileged mode: to registers in SPACE_CORE, and reads of words of memory
 * as it sees them. `status`: what it is halted with. The value of a read is that of R0 at at[i]. What is
 * borrowed is given back as above, and so is what an exception in an access overwrites. */
static inline void core_add_accesses(const struct core *core, struct steps *list, uint64_t status,
                                     const struct step *accesses, size_t n, size_t *at)
{
    core->ops->registers->add_accesses(core, list, status, accesses, n, at);
}

/* Why a core halted with this status cannot make them; NULL: it can. `state`: its CORE_STATUS, or 0. */
static inline const char *core_hindrance(const struct core *core, uint64_t status, uint64_t state)
{
    return core->ops->registers->hindrance(core, status, state);
}

/* --- breakpoints ---------------------------------------------------------------------------------------- */

static inline bool core_can_compare(const struct core *core, uint64_t address)
{
    const struct core_breakpoint_ops *ops = core->ops->breakpoints;
    return ops->can_compare == NULL || ops->can_compare(core, address);
}

/* What a single step that a debugger did not end leaves set, apart from core_settings; size 0 of `at`:
 * nothing. */
static inline struct setting core_debugger_step(const struct core *core)
{
    const struct core_run_ops *ops = core->ops->run;
    return ops != NULL && ops->debugger_step != NULL ? ops->debugger_step(core) : (struct setting){0};
}

/* Switches the comparators on as a whole. */
static inline struct setting core_comparators_on(const struct core *core)
{
    return core->ops->breakpoints->comparators_on(core);
}

/* A comparator has this number of registers, at most COMPARATOR_WORDS; in the first, 0 is off. */
static inline unsigned core_comparator_words(const struct core *core)
{
    return core->ops->breakpoints->comparator_words;
}

static inline struct address core_comparator(const struct core *core, unsigned n, unsigned word)
{
    return core->ops->breakpoints->comparator(core, n, word);
}

static inline bool core_comparator_used(const struct core *core, const uint64_t *words, uint64_t *address)
{
    return core->ops->breakpoints->comparator_used(core, words, address);
}

/* Whether it replaces code, as revision 0 of the flash patch unit does: then it is the program's. */
static inline bool core_comparator_patches(const struct core *core, uint64_t first_word)
{
    return core->ops->breakpoints->patches != NULL && core->ops->breakpoints->patches(core, first_word);
}

/* Moves comparator `n`; UINT64_MAX: nowhere. */
static inline void core_add_comparator(const struct core *core, const struct breakpoint_setup *setup,
                                       struct steps *list, unsigned n, uint64_t from, uint64_t to)
{
    core->ops->breakpoints->add_comparator(core, setup, list, n, from, to);
}

/* A breakpoint instruction for code that no comparator reaches, and what makes the core see it. *size is 0 if
 * every comparator reaches all code. */
static inline bool core_has_breakpoint_instruction(const struct core *core)
{
    return core->ops->breakpoints != NULL && core->ops->breakpoints->add_code_changed != NULL;
}

static inline uint16_t core_breakpoint_instruction(const struct core *core, uint8_t *size)
{
    *size = core_has_breakpoint_instruction(core) ? 2 : 0;
    return core->ops->breakpoints->instruction;
}

static inline void core_add_code_changed(const struct core *core, struct steps *list, uint64_t address)
{
    if (core->ops->breakpoints->add_code_changed != NULL)
        core->ops->breakpoints->add_code_changed(core, list, address);
}

/* `word`: the four bytes around `pc`. False: it is another instruction. */
static inline bool core_breakpoint_code(const struct core *core, uint64_t pc, uint32_t word,
                                        struct breakpoint_code *out)
{
    const struct core_breakpoint_ops *ops = core->ops->breakpoints;
    return ops != NULL && ops->read_code != NULL && ops->read_code(pc, word, out);
}

/* Halted at such an instruction of the program's own, at `pc`: it goes on after it, if the core can skip. */
static inline bool core_can_skip(const struct core *core)
{
    return core->ops->breakpoints->add_skip != NULL;
}

static inline void core_add_skip(const struct core *core, struct steps *list, uint64_t pc)
{
    if (core->ops->breakpoints->add_skip != NULL)
        core->ops->breakpoints->add_skip(core, list, pc);
}

/* --- halt sources: what stops it besides comparators, and what a killed debugger leaves set ------------- */

/* To be cleared before the core is halted, which may need them. `server`: another debugger uses some of
 * them. */
static inline void core_add_first_stops(const struct core *core, bool server, struct core_stops *out)
{
    if (core->ops->halts->add_first != NULL)
        core->ops->halts->add_first(core, server, out);
}

static inline void core_add_stops(const struct core *core, const uint64_t *identity, struct core_stops *out)
{
    core->ops->halts->add_stops(core, identity, out);
}

/* To be cleared once the core runs again, and only if no server debugs it. */
static inline void core_add_last_stops(const struct core *core, struct core_stops *out)
{
    core->ops->halts->add_last(core, out);
}

/* Whether a debugger left this halted core in the middle of reading registers, so that a borrowed register
 * may not have been restored. */
static inline bool core_may_have_borrowed(const struct core *core, uint64_t status)
{
    return (status & core->ops->halts->borrowing) != 0;
}

/* By which bit of the status we mark that a borrowed register is to be restored; 0: this core has none. */
static inline uint64_t core_borrowed_mark(const struct core *core)
{
    return core->ops->borrowed_mark;
}

/* Whether the core is to leave Debug state and has not done so; false where a stop that follows at once reads
 * the same. */
static inline bool core_has_not_left(const struct core *core, uint64_t status)
{
    uint64_t still = core->ops->halts->not_left;
    return still != 0 && (status & still) == still;
}

/* As a status is written back to a core that stays halted. */
static inline uint64_t core_status_to_write(const struct core *core, uint64_t status)
{
    return status & ~core->ops->halts->not_left;
}

/* Halted with this status, it is at EL2, which counters leave out unless they are set to count it. */
static inline bool core_in_hypervisor(const struct core *core, uint64_t status)
{
    const struct core_register_ops *ops = core->ops->registers;
    return ops != NULL && ops->in_hypervisor != NULL && ops->in_hypervisor(core, status);
}

/* Clears what keeps a core that a debugger left so from running. */
static inline void core_add_unlock(const struct core *core, struct steps *list)
{
    if (core->ops->halts->add_unlock != NULL)
        core->ops->halts->add_unlock(core, list);
    else
        core_add_ready(core, list);
}

/* --- processes, for cores that have `processes` --------------------------------------------------------- */

/* CONTEXTIDR, which differs from process to process; false: it cannot be read there. */
static inline bool core_add_context(const struct core *core, struct steps *list, size_t *at)
{
    if (core->ops->processes->add_context == NULL)
        return false;
    *at = core->ops->processes->add_context(core, list);
    return true;
}

/* The first register of a comparator of CONTEXTIDR that others are linked to. */
static inline uint64_t core_context_comparator(const struct core *core, bool on)
{
    return core->ops->processes->context_off | (on ? core->ops->processes->context_on : 0);
}

/* --- where a function returns to ------------------------------------------------------------------------ */

/* Whether an exception handler may have an LR that is not a return address. */
static inline bool core_has_exception_modes(const struct core *core)
{
    return core->ops->returns != NULL && core->ops->returns->exception_mode != NULL;
}

/* The exception mode that a CORE_STATUS shows, in which a called function may be as well; NULL: none. */
static inline const char *core_exception_mode(const struct core *core, uint64_t status)
{
    return core_has_exception_modes(core) ? core->ops->returns->exception_mode(core, status) : NULL;
}

/* Whether the word before LR is a call of `function`. */
static inline bool core_called_from(const struct core *core, uint64_t lr, uint32_t before, uint64_t function)
{
    return !core_has_exception_modes(core) || core->ops->returns->called_from(core, lr, before, function);
}

/* Whether LR at a function's entry is not a return address, but the stack has it: in a handler on Cortex-M,
 * and always on x86-64. */
static inline bool core_returns_by_frame(const struct core *core, uint64_t lr)
{
    const struct core_return_ops *ops = core->ops->returns;
    return ops != NULL && ops->by_frame != NULL && ops->by_frame(core, lr);
}

/* Why LR at a function's entry is neither of the two; NULL: it is one. */
static inline const char *core_no_return(const struct core *core, uint64_t lr)
{
    const struct core_return_ops *ops = core->ops->returns;
    return ops != NULL && ops->no_return != NULL ? ops->no_return(core, lr) : NULL;
}

/* For x86-64: what the FRAME_WORDS words at the stack pointer say. */
static inline struct return_place core_frame_return(const struct core *core, uint64_t sp,
                                                    const uint64_t *words)
{
    return core->ops->returns->frame_return(core, sp, words);
}
