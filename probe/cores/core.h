/*
 * Cores: the processor under test, as a maker of steps. A core knows which registers stop it, start it and
 * tell where it is; it adds the steps for that to a list and reads the results, and never touches a link.
 */
#pragma once

#include "base/setting.h"
#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum core_register {
    CORE_PC,
    CORE_SP,
    CORE_LR,
    CORE_PSP, /* what the stack is in threads, where that is another one */
    CORE_STATUS,
    CORE_R0 = 16, /* the general ones follow */
};

enum core_state {
    CORE_RUNNING,
    CORE_ASLEEP,
    CORE_HALTED,
    CORE_LOCKUP,
    CORE_HIDDEN, /* a lock is closed or the power is off: its debug registers refuse to be read */
};

enum stop_cause {
    STOP_BREAKPOINT,
    STOP_REQUEST, /* a debugger asked for it */
    STOP_RESET,
    STOP_FAULT, /* caught at an exception vector */
    STOP_WATCHPOINT,
    STOP_OTHER,
};

/* Where a function returns to, found at its entry. */
struct return_place {
    uint64_t pc;
    uint64_t sp; /* the stack pointer there, which tells this frame from another */
};

struct core;
struct injected_kind;

/* A register that must have this value. */
struct core_proof {
    enum core_register which;
    uint64_t value;
    size_t at; /* for core_end_proofs */
};

struct core_ops {
    const struct injected_kind *injected; /* how it runs code of ours; NULL: it cannot */

    /* What must be set for the time of a run, and which registers act instead of holding a value. */
    size_t (*settings)(const struct core *, struct setting *out, size_t room);
    size_t (*commands)(const struct core *, struct address *out, size_t room);
    /* The setting among them that switches debug on; undone last, and kept when the core is left halted. */
    struct address (*debug_enable)(const struct core *);
    /* What reset_seen takes is read from it. This, debug_enable and all that is about resets and causes is
     * NULL where only a debugger stops it. */
    struct address (*cause_register)(const struct core *);

    /* The register that every wait reads, and what a value read from it says. */
    struct address (*status)(const struct core *);
    enum core_state (*state)(const struct core *, uint64_t status);
    /* Why the registers of a core that is halted with this status cannot be read; NULL: they can. The
     * operation itself may be NULL as well, and then a stop is looked at in one list. */
    const char *(*unreadable)(const struct core *, uint64_t status);

    void (*add_wait_halt)(const struct core *, struct steps *);
    void (*add_run)(const struct core *, struct steps *);
    void (*add_halt)(const struct core *, struct steps *);
    /* While it is halted: interrupts are held off from here on, or no more; add_run_held lets it run with
     * them held off. What cannot be held off is told by held_pending, of what add_pending has read. All NULL:
     * it cannot. */
    void (*add_hold)(const struct core *, struct steps *, bool held);
    void (*add_run_held)(const struct core *, struct steps *);
    bool (*held_pending)(const struct core *, uint64_t value);
    /* One instruction with interrupts held off, from `here`; ends halted. Comparator `n` is off, serves for
     * it where one is needed, and is off again afterwards. */
    void (*add_single_step)(const struct core *, struct steps *, unsigned n, uint64_t here);

    /* The index by which core_register_value finds its value. What of the program's is borrowed for that is
     * given back by OP_COPY steps: a list that ended between must be taken on to the last of them. */
    size_t (*add_register)(const struct core *, struct steps *, enum core_register);
    /* What must come before step `first` begins to give back what a list that ended early has borrowed. May
     * be NULL. */
    void (*add_recover_instruction)(const struct core *, struct steps *, const struct step *first);
    /* NULL: the value is the result at that index. */
    uint64_t (*register_value)(const struct core *, enum core_register, const uint64_t *results, size_t at);
    /* `repeated`: this register was transferred last, so that only waiting tells a new value from the old
     * one. A proof that comes too early fails, and is looked into; it never holds by mistake. */
    void (*add_expect_register)(const struct core *, struct steps *, enum core_register, uint64_t value,
                                bool repeated);
    /* Registers come through one that is emptied by reading, where no probe can match: ends their transfer.
     * NULL where add_expect_register serves for all. */
    void (*add_registers_done)(const struct core *, struct steps *);
    /* Several at once, with all that looks at them, in fewer round trips. May be NULL. */
    void (*add_proofs)(const struct core *, struct steps *, struct core_proof *, size_t n);

    /* Before registers are read after a list that ended early: nothing is under way in the halted core, and
     * no refusal sticks. NULL: nothing can. */
    void (*add_ready)(const struct core *, struct steps *);

    /* Registers in SPACE_CP15, by instructions that the halted core executes; of a read the result's index
     * goes to at[i]. `privileged`: in whatever mode it was halted, and only if nothing of the program's is in
     * the way of that. What is borrowed is given back as above. NULL: there are none. */
    void (*add_coprocessor)(const struct core *, struct steps *, const struct step *accesses, size_t n,
                            bool privileged, size_t *at);

    /* For a stop that looks like the one before: clear its cause before running, then wait for it to come
     * again. The status may still show the old halt for a moment. */
    void (*add_clear_breakpoint)(const struct core *, struct steps *);
    void (*add_wait_breakpoint)(const struct core *, struct steps *);
    /* Whether there was a reset since the run began, to be read after a stop; clearing the cause keeps it. */
    size_t (*add_reset_seen)(const struct core *, struct steps *);
    bool (*reset_seen)(const struct core *, uint64_t value);
    /* Whether there was one since it was looked at last, while the core runs and nothing catches resets. */
    size_t (*add_reset_since)(const struct core *, struct steps *);
    bool (*reset_since)(const struct core *, uint64_t value);
    size_t (*add_cause)(const struct core *, struct steps *);
    enum stop_cause (*cause)(const struct core *, uint64_t cause, uint64_t status_register);

    /* Asks for a reset: of the chip where the core can, else of the core itself, which may be refused without
     * a word. NULL where only a debugger resets it. */
    void (*add_reset)(const struct core *, struct steps *);

    bool requests_stay; /* a debugger's request stops the core again and again, until it acknowledges it */

    /* Whether an interrupt will run before the next instruction; SIZE_MAX where the core cannot tell. */
    size_t (*add_pending)(const struct core *, struct steps *);
    bool (*pending)(const struct core *, uint64_t value);
    /* Whether a handler was entered between two such reads; NULL where nothing `steps_into_handlers`. */
    bool (*entered)(const struct core *, uint64_t before, uint64_t after);

    /* What tells whether it stopped in a program of an operating system, where other programs may have other
     * code at the same address; and CONTEXTIDR, which tells them apart, NULL: it cannot be read there. For
     * cores that have `processes` only. */
    size_t (*add_mode)(const struct core *, struct steps *);
    bool (*in_user_mode)(const struct core *, uint64_t mode);
    size_t (*add_context)(const struct core *, struct steps *);
    uint64_t context_control; /* what a comparator of CONTEXTIDR that others are linked to has in its first
                                 register, where it is off as yet; and what switches it on */
    uint64_t context_on;

    /* Breakpoint comparators, of so many registers each; the first is the one in which 0 is off. */
    bool (*can_compare)(const struct core *, uint64_t address);
    struct setting (*comparators_on)(const struct core *); /* as a whole */
    unsigned comparator_words;
    struct address (*comparator)(const struct core *, unsigned n, unsigned word);
    bool (*comparator_used)(const struct core *, const uint64_t *words, uint64_t *address);
    /* Moves comparator `n`; UINT64_MAX: nowhere. */
    void (*add_comparator)(const struct core *, struct steps *, unsigned n, uint64_t from, uint64_t to);
    /* A breakpoint instruction for code that no comparator reaches, and what makes the core see it. */
    uint16_t (*breakpoint_instruction)(const struct core *, uint8_t *size);
    void (*add_code_changed)(const struct core *, struct steps *, uint64_t address);

    /* Exception handlers whose LR is no return address: the exception mode that a CORE_STATUS shows, NULL for
     * none, and whether the word before LR is a call of `function` all the same. Both NULL: there are none.
     */
    const char *(*exception_mode)(const struct core *, uint64_t status);
    bool (*called_from)(const struct core *, uint64_t lr, uint32_t before, uint64_t function);

    /* Whether `lr` at a function's entry is no return address: that of a handler on Cortex-M, and any on
     * x86-64, where the stack has it: which words of it, and what they say. These two are NULL elsewhere. */
    bool (*returns_by_frame)(const struct core *, uint64_t lr);
    /* Why `lr` at a function's entry is neither that nor a place; NULL: it is one of them. May be NULL. */
    const char *(*no_return)(const struct core *, uint64_t lr);
    uint64_t (*frame)(const struct core *, uint64_t lr, uint64_t sp, uint64_t psp); /* of FRAME_WORDS words */
    struct return_place (*frame_return)(const struct core *, uint64_t lr, uint64_t frame,
                                        const uint64_t *words);
};

enum { CORE_SETTINGS = 40, FRAME_WORDS = 8, COMPARATOR_WORDS = 3 };

/* The Security Extension of Armv8-M: none, Secure code can be debugged, or it runs unseen. */
enum core_security { SECURITY_NONE, SECURITY_OPEN, SECURITY_HIDDEN };

enum core_family { CORE_M, CORE_ARMV7, CORE_ARMV8, CORE_KNC, CORE_X86_64 };

struct core {
    const struct core_ops *ops;
    enum core_family family;
    uint16_t unit; /* the link's view that reaches its registers, and, on Cortex-M, its memory */
    /* What Cortex-M does not have: its registers are memory at places that never change. */
    uint16_t memory_unit;          /* the view that shows memory as the core sees it */
    uint64_t debug_base, cti_base; /* on `unit`; 0: none */
    uint64_t pmu_base;             /* on `pmu_unit`, which is `unit` unless the user says so */
    uint16_t pmu_unit;
    char name[48];        /* "Cortex-M0+ r0p1" */
    uint32_t id;          /* CPUID or MIDR */
    unsigned comparators; /* for code */
    unsigned comparator_revision;
    /* A breakpoint that is reached just when an exception comes may halt it in that one's handler */
    bool halts_in_handler;
    /* Its clock is so slow that a register transfer may outlast a probe's next access. */
    bool slow;
    /* A single step enters a handler that is held off, and executes nothing */
    bool steps_into_handlers;
    enum core_security security;
    const char *unstoppable; /* why it cannot be halted; NULL: it can */
    bool keeps_secure;       /* it does not halt in Secure code: SPIDEN is low */
    /* Channels of the cross trigger interface, as bits: those that halt it and let it run for us; whether the
     * interface was found switched off, when what it held counts for nothing. */
    uint32_t halt_channel, run_channel;
    bool triggers_off;
    bool processes;               /* an MMU may show each program another memory */
    unsigned context_comparators; /* so many of the last comparators can compare CONTEXTIDR as well */
    bool linked;                  /* ours is to match only where comparator `linked_to` matches */
    unsigned linked_to;
    bool sole_breakpoint; /* nobody else has one: a stop at a breakpoint is at ours */
    bool caches;          /* instructions written by a debugger need maintenance to be seen */
};

/*
 * Places in code. Where a core has two instruction sets, bit 0 tells which one an address is in (Thumb: 1),
 * as in LR: comparators and the PC that is read differ by that. Elsewhere it is 0.
 */
uint64_t core_code(const struct core *core, uint64_t address, bool thumb);
uint64_t core_code_of_lr(const struct core *core, uint64_t lr);
uint64_t core_code_place(uint64_t code); /* without that bit, as people know it */
/* Likewise, on a core that may have instructions anywhere as well. */
uint64_t core_place(const struct core *core, uint64_t code);
/* DBGAUTHSTATUS of Armv7 and Armv8: whether a debugger may halt it, in either security state. */
bool core_may_halt(uint32_t authstatus);
/* Likewise, whether only outside the Secure state. Cortex-R has none, and says the same of it (0xAF). */
bool core_keeps_secure(const struct core *core, uint32_t authstatus);
/* The value of a register, `at` from add_register. */
uint64_t core_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                             size_t at);
/*
 * Proofs of registers: what brings them here, and then what looks at them, which may cost a round trip.
 * Between the two, other things can be read on the way.
 */
void core_begin_proofs(const struct core *core, struct steps *list, struct core_proof *proofs, size_t n);
void core_end_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs, size_t n);
/* What a stop that never comes may be owed to, to be put behind "not reached"; "" if nothing is known. */
const char *core_may_be_unseen(const struct core *core);
/* Resumes a halted core, and ends what was held off there. */
void core_add_let_go(const struct core *core, struct steps *list);
/* Word-sized memory as the core sees it. */
struct address core_word(const struct core *core, uint64_t offset);
/* Words of its debug registers, of its PMU and of its cross trigger interface. */
struct address core_debug(const struct core *core, uint64_t offset);
struct address core_pmu(const struct core *core, uint64_t offset);
struct address core_cti(const struct core *core, uint64_t offset);
