/*
 * Cores: the processor under test. A core knows which of its registers stop it, start it and show where it
 * is. It adds steps for that to a list and interprets the results; it never uses a link. After discovery a
 * struct core is constant, but for `resets`.
 */
#pragma once

#include "base/step.h"
#include "cores/instructions.h"
#include "cores/parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum core_register {
    CORE_PC,
    CORE_SP,
    CORE_LR,
    CORE_PSP, /* the stack pointer of threads, if the core has a second one */
    CORE_STATUS,
    CORE_R0 = 16, /* the other general registers follow */
};

enum core_state {
    CORE_RUNNING,
    CORE_ASLEEP,
    CORE_HALTED,
    CORE_LOCKUP,
    CORE_HIDDEN, /* a lock is closed or the power is off: its debug registers cannot be read */
};

enum stop_cause {
    STOP_BREAKPOINT,
    STOP_REQUEST, /* a debugger requested it */
    STOP_RESET,
    STOP_FAULT, /* caught at an exception vector */
    STOP_WATCHPOINT,
    STOP_OTHER,
};

/* Where a function returns to, as found at its entry. */
struct return_place {
    uint64_t pc;
    uint64_t sp; /* the stack pointer there, which identifies the frame */
};

struct core_ops; /* cores/core_ops.h */
struct injected_kind;

/* A register that must have this value. */
struct core_proof {
    enum core_register which;
    uint64_t value;
};

/* How our breakpoint comparator is to match. */
struct breakpoint_setup {
    bool linked; /* only while comparator `linked_to` matches */
    unsigned linked_to;
    bool sole; /* no other breakpoint is set: a stop at a breakpoint is at ours */
};

enum { CORE_SETTINGS = 40, FRAME_WORDS = 8, COMPARATOR_WORDS = 3 };

/* The Security Extension of Armv8-M: none, Secure code can be debugged, or it runs unseen. */
enum core_security { SECURITY_NONE, SECURITY_OPEN, SECURITY_HIDDEN };

/*
 * How a reset during a run shows. Caught: the core halts at its reset vector, and the catch outlives the
 * reset: without us the program does not boot. Noticed: a register tells of it afterwards, and the core runs
 * on.
 */
enum core_resets { RESETS_CAUGHT, RESETS_NOTICED };

/* What cores differ in, as bits. */
enum core_trait {
    ARM_CODE = 1 << 0,       /* it runs code of Arm's, whose stacks can be unwound */
    THUMB_ONLY = 1 << 1,     /* all of it Thumb code */
    THUMB_BY_BIT = 1 << 2,   /* Thumb code where bit 0 of its address says so */
    WIDE_REGISTERS = 1 << 3, /* registers and addresses have 64 bits */
    SYSTEM_SPACE = 1 << 4, /* the M profile's registers, as SysTick and VTOR, are memory at fixed addresses */
    STATUS_FORGETS = 1 << 5,  /* a read of its status clears what that tells of a reset */
    HIDES = 1 << 6,           /* locks or a lack of power may hide its registers */
    DEBUG_COMPONENT = 1 << 7, /* A and R: with locks, a power status (PRSR) and a cross trigger interface */
    LOCKS_IN_PRSR = 1 << 8,   /* PRSR shows all its locks */
    RUN_BY_TRIGGER = 1 << 9,  /* a cross trigger lets it run */
    BORROWS_REGISTERS = 1 << 10, /* other registers are read by instructions that change some of them */
    COMPARATOR_SWITCH = 1 << 11, /* comparators have one of their own; else it is that of halting debug */
    MODEL_SPECIFIC = 1 << 12,    /* its registers are model-specific ones */
    PROGRAM_ONLY = 1 << 13,      /* an x86-64 program: a debugger alone shows and stops it */
};

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
    bool numbered_by_unit; /* users know it by the number of its own system, which is `unit` */
    bool memory_hidden;    /* the link shows no memory of it */
    bool processes;        /* an MMU may show each program another memory */
    unsigned
        context_comparators; /* how many of the comparators, the last ones, can also compare CONTEXTIDR */
    bool caches;             /* instructions that a debugger writes need cache maintenance */
};

bool core_has(const struct core *core, enum core_trait trait);
/* Nor does any core of its architecture run faster. */
double core_fastest_hz(const struct core *core);
/* What PMUs of its architecture are on its bus: PMU_V1 (or V2), PMU_V3; PMU_NONE: it has none there. */
enum pmu_kind core_mapped_pmu(const struct core *core);
/* As GDB calls it; it calls LR of wide registers x30. */
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
/* A likely cause of a stop that never comes, to be put behind "not reached"; "" if none is known. */
const char *core_may_be_unseen(const struct core *core);
/* Word-sized memory as the core sees it. */
struct address core_word(const struct core *core, uint64_t offset);
/* Words of its debug registers, of its PMU and of its cross trigger interface. */
struct address core_debug(const struct core *core, uint64_t offset);
struct address core_pmu(const struct core *core, uint64_t offset);
struct address core_cti(const struct core *core, uint64_t offset);

/* --- debug registers ------------------------------------------------------------------------------------ */

/* Whether its debug registers stop and start it. If not, only a debugger does: core_settings and
 * core_commands return 0, and no other function from here to the comparators may be called. */
bool core_has_run_control(const struct core *core);
/* What must be set during a run, and which registers act instead of holding a value; both return how many. */
size_t core_settings(const struct core *core, struct setting *out, size_t room);
size_t core_commands(const struct core *core, struct address *out, size_t room);
/* The setting among them that switches debug on; undone last, and kept when the core is left halted. */
struct address core_debug_enable(const struct core *core);

/* The register that every wait reads, and what a value of it says. */
struct address core_status_register(const struct core *core);
enum core_state core_state_of(const struct core *core, uint64_t status);
/* An OP_UNTIL on it that is met while the core is halted. False: a Cortex-M, whose register forgets by reads,
 * or no run control. */
bool core_halted_test(const struct core *core, struct step *out);
/* Why the registers of a core that is halted with this status cannot be read; NULL: they can. */
const char *core_unreadable(const struct core *core, uint64_t status);
bool core_may_be_unreadable(const struct core *core); /* else core_unreadable is always NULL */

void core_add_wait_halt(const struct core *core, struct steps *list);
void core_add_run(const struct core *core, struct steps *list);
void core_add_halt(const struct core *core, struct steps *list);
/* A debugger's request stops the core again and again, until the debugger acknowledges it. */
bool core_requests_stay(const struct core *core);
/* Executes the instruction at `here` with interrupts held off; ends halted. Comparator `n` must be off, may
 * be used for the step, and is off again afterwards. */
void core_add_single_step(const struct core *core, struct steps *list, unsigned n, uint64_t here);
/* Resets the chip if the core can do that, else the core itself, which may ignore it. */
void core_add_reset(const struct core *core, struct steps *list);

/* For a stop that looks like the one before: clear its cause before running, then wait for it to come again.
 * The status may still show the old halt for a moment. */
void core_add_clear_breakpoint(const struct core *core, struct steps *list);
void core_add_wait_breakpoint(const struct core *core, struct steps *list);
/* Whether resets can be noticed. */
bool core_can_notice_resets(const struct core *core);
/* Whether the reset register is a mark that we set and a reset clears. If not, reading it clears it. With a
 * `value` of it from before: whether the program may use the mark itself. */
bool core_marks_resets(const struct core *core);
bool core_mark_is_used(const struct core *core, uint64_t value);
/* Whether the core was reset since the run began. Read after a stop; clearing the cause keeps it. */
struct address core_reset_register(const struct core *core);
size_t core_add_reset_seen(const struct core *core, struct steps *list);
bool core_reset_seen(const struct core *core, uint64_t value);
/* Whether it was reset since the last such read, while it runs and nothing catches resets. */
size_t core_add_reset_since(const struct core *core, struct steps *list);
bool core_reset_since(const struct core *core, uint64_t value);
/* Whether a stop with this cause is a halt request of a cross trigger. */
bool core_stopped_by_trigger(const struct core *core, uint64_t cause);
/* Why it stopped. `status`: its CORE_STATUS, 0 if that is not known. */
struct address core_cause_register(const struct core *core);
size_t core_add_cause(const struct core *core, struct steps *list);
enum stop_cause core_cause(const struct core *core, uint64_t cause, uint64_t status);

/* --- interrupts ----------------------------------------------------------------------------------------- */

/* Whether interrupts can be held off; if not, neither of the next two may be called. */
bool core_can_hold(const struct core *core);
/* On a halted core: interrupts are held off from here on, or no longer. */
void core_add_hold(const struct core *core, struct steps *list, bool held);
void core_add_run_held(const struct core *core, struct steps *list);
/* Resumes a halted core, with interrupts. */
void core_add_let_go(const struct core *core, struct steps *list);
/* Resumes a core that is halted at a breakpoint instruction, with debug off, so that it does not halt there
 * again. Adds nothing for a Cortex-M, which runs as soon as debug is switched off. */
bool core_runs_as_debug_ends(const struct core *core);
void core_add_let_go_undebugged(const struct core *core, struct steps *list);
/* Whether an interrupt will run before the next instruction, or one that cannot be held off; SIZE_MAX and
 * false if the core cannot tell. */
size_t core_add_pending(const struct core *core, struct steps *list);
bool core_pending(const struct core *core, uint64_t value);
bool core_held_pending(const struct core *core, uint64_t value);
/* Whether a handler was entered between two such reads. */
bool core_entered(const struct core *core, uint64_t before, uint64_t after);

/* --- registers of a halted core ------------------------------------------------------------------------- */

/* Nothing is under way in the core, and no refusal sticks. Comes before registers are read after a list that
 * ended early. */
void core_add_ready(const struct core *core, struct steps *list);
/* Returns the index by which core_register_value finds the value. OP_COPY steps give back what was borrowed
 * of the program's: a list that ended between must be continued to the last of them. */
size_t core_add_register(const struct core *core, struct steps *list, enum core_register which);
uint64_t core_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                             size_t at);
/* What must come before step `first` begins to give back what a list that ended early has borrowed. */
void core_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first);
/* Whether that step gives back R0 or X0, through which a server reads all others when it finds the core
 * halted. */
bool core_gives_first(const struct core *core, const struct step *step);
/* Ends the transfer of registers. */
void core_add_registers_done(const struct core *core, struct steps *list);
/*
 * Proves that the core has stopped at the breakpoint at `place`. `wait`: for the transfer to end, where no
 * probe can tell a new value from the old one: the PC was transferred last, or the core's clock is slow. A
 * proof that comes too early fails, and is looked into; it never holds by mistake.
 */
void core_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                          uint64_t place, bool wait);
/*
 * Proves that registers have these values. `wait` as above. `spare`, which may be NULL: what its spare
 * register is likely to hold here. This is proved, too, and saves round trips.
 */
void core_add_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs, size_t n,
                     const struct core_proof *spare, bool wait);
/* Whether proofs, or accesses in SPACE_CP15 if there are some, can do with a spare register: one that
 * functions keep and whose value seldom changes. */
bool core_spare_register(const struct core *core, bool coprocessor, enum core_register *out);
/* Accesses to registers in SPACE_CP15, by instructions that the halted core executes; at[i] is the index of
 * the result of a read. `privileged`: whatever mode it is in, and only if nothing of the program's prevents
 * it. What is borrowed is given back as above. `spare` as for proofs. */
void core_add_coprocessor(const struct core *core, struct steps *list, const struct step *accesses, size_t n,
                          bool privileged, const struct core_proof *spare, size_t *at);
/* How it runs code of ours; NULL: it cannot. */
const struct injected_kind *core_injected(const struct core *core);

/* --- breakpoints ---------------------------------------------------------------------------------------- */

bool core_can_compare(const struct core *core, uint64_t address);
/* Switches the comparators on as a whole. */
struct setting core_comparators_on(const struct core *core);
/* A comparator has so many registers, at most COMPARATOR_WORDS; in the first, 0 is off. */
unsigned core_comparator_words(const struct core *core);
struct address core_comparator(const struct core *core, unsigned n, unsigned word);
bool core_comparator_used(const struct core *core, const uint64_t *words, uint64_t *address);
/* Whether it replaces code, as revision 0 of the flash patch unit does: then it is the program's. */
bool core_comparator_patches(const struct core *core, uint64_t first_word);
/* Moves comparator `n`; UINT64_MAX: nowhere. */
void core_add_comparator(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                         unsigned n, uint64_t from, uint64_t to);
/* A breakpoint instruction for code that no comparator reaches, and what makes the core see it. *size is 0 if
 * every comparator reaches all code. */
bool core_has_breakpoint_instruction(const struct core *core);
uint16_t core_breakpoint_instruction(const struct core *core, uint8_t *size);
void core_add_code_changed(const struct core *core, struct steps *list, uint64_t address);
/* `word`: the four bytes around `pc`. False: it is another instruction. */
bool core_breakpoint_code(const struct core *core, uint64_t pc, uint32_t word, struct breakpoint_code *out);
/* Whether it halts the core, with this value of core_debug_enable. */
bool core_debug_is_on(const struct core *core, uint64_t debug_enable);
/* Halted at such an instruction of the program's own, at `pc`: it goes on after it, if the core can skip. */
bool core_can_skip(const struct core *core);
void core_add_skip(const struct core *core, struct steps *list, uint64_t pc);

/* --- halt sources: what stops a core besides its comparators, and what a killed debugger leaves set --------
 */

struct core_stop {
    const char *name; /* "watchpoint"; NULL: it does not stop the core by itself */
    struct address at;
    uint64_t field, low, high; /* it is set while low <= (value & field) <= high */
    uint64_t keep, key;        /* (value & keep) | key clears it */
    struct address place;      /* the register with its address; size 0: none */
};

enum { CORE_STOPS = 48, STOPS_IDENTITY = 2 };

struct core_stops {
    struct core_stop items[CORE_STOPS];
    size_t n;
};

/* To be cleared before the core is halted, which may need them. `server`: another debugger uses some of
 * them. */
void core_add_first_stops(const struct core *core, bool server, struct core_stops *out);
void core_add_stops_identity(const struct core *core, struct steps *list);
void core_add_stops(const struct core *core, const uint64_t *identity, struct core_stops *out);
/* To be cleared once the core runs again, and only if no server debugs it. */
void core_add_last_stops(const struct core *core, struct core_stops *out);
/* Whether a debugger left this halted core in the middle of reading registers, so that a borrowed register
 * may not have been restored. */
bool core_may_have_borrowed(const struct core *core, uint64_t status);
/* By which bit of the status we mark that a borrowed register is to be restored; 0: no such core has one. */
uint64_t core_borrowed_mark(const struct core *core);
/* Whether the core was told to leave Debug state and has not done so; where it cannot be told from a stop
 * that follows at once: false. */
bool core_has_not_left(const struct core *core, uint64_t status);
/* Clears what keeps a core that a debugger left so from running. */
void core_add_unlock(const struct core *core, struct steps *list);

/* --- processes, for cores that have `processes` --------------------------------------------------------- */

/* Whether it stopped in a program of an operating system, where other programs may have other code at the
 * same address. */
size_t core_add_mode(const struct core *core, struct steps *list);
bool core_in_user_mode(const struct core *core, uint64_t mode);
/* CONTEXTIDR, which differs from process to process; false: it cannot be read there. */
bool core_add_context(const struct core *core, struct steps *list, size_t *at);
/* The first register of a comparator of CONTEXTIDR that others are linked to. */
uint64_t core_context_comparator(const struct core *core, bool on);

/* --- where a function returns to ------------------------------------------------------------------------ */

/* Whether an exception handler may have an LR that is no return address. */
bool core_has_exception_modes(const struct core *core);
/* The exception mode that a CORE_STATUS shows, in which a called function may be as well; NULL: none. */
const char *core_exception_mode(const struct core *core, uint64_t status);
/* Whether the word before LR is a call of `function`. */
bool core_called_from(const struct core *core, uint64_t lr, uint32_t before, uint64_t function);
/* Whether LR at a function's entry is no return address, but the stack has it: in a handler on Cortex-M, and
 * always on x86-64. */
bool core_returns_by_frame(const struct core *core, uint64_t lr);
/* Why LR at a function's entry is neither of the two; NULL: it is one. */
const char *core_no_return(const struct core *core, uint64_t lr);
/* For x86-64: what the FRAME_WORDS words at the stack pointer say. */
struct return_place core_frame_return(const struct core *core, uint64_t sp, const uint64_t *words);
