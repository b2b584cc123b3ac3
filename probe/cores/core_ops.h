/* SPDX-License-Identifier: MIT */
/*
 * What an architecture implements: what it is like, and tables of operations, where each function core_xxx of
 * core.h says what its member xxx must do. A table that a core lacks is NULL as a whole; core.h has the
 * defaults of members that may be NULL.
 */
#pragma once

#include "base/step.h"
#include "code/instruction.h"
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

struct core;

/* A register that must have this value. */
struct core_proof {
    enum core_register which;
    uint64_t value;
};

/* A register that is borrowed for what it held at an earlier stop, and what the register that selects a
 * counter (PMSELR) held, if the core has one. Both are proved before they are changed. */
struct core_spare {
    struct core_proof held;
    uint64_t selector;
};

/* How our breakpoint comparator is to match. */
struct breakpoint_setup {
    bool linked; /* only while comparator `linked_to` matches */
    unsigned linked_to;
    bool sole; /* no other breakpoint is set: a stop at a breakpoint is at ours */
};

/* A register of the debug component, or of the cross trigger interface, or `count` of them with a number
 * between two parts of the name. A list ends with name NULL. */
struct core_debug_name {
    uint32_t offset, apart, count;
    bool in_cti;
    const char *name, *after;
};

enum { CORE_SETTINGS = 40, FRAME_WORDS = 8, COMPARATOR_WORDS = 3 };

struct core_stop {
    const char *name; /* "watchpoint"; NULL: it does not stop the core by itself */
    struct address at;
    uint64_t field, low, high; /* it is set while low <= (value & field) <= high */
    uint64_t keep, key;        /* (value & keep) | key clears it */
    struct address place;      /* the register with its address; size 0: none */
    bool for_monitor;          /* a program sets it for its DebugMonitor exception, too */
};

enum { CORE_STOPS = 48, STOPS_IDENTITY = 2 };

struct core_stops {
    struct core_stop items[CORE_STOPS];
    size_t n;
};

/* What cores differ in, as bits. */
enum core_trait {
    ARM_CODE = 1 << 0,       /* it runs code of Arm's, whose stacks can be unwound */
    THUMB_ONLY = 1 << 1,     /* all of it Thumb code */
    THUMB_BY_BIT = 1 << 2,   /* Thumb code where bit 0 of its address says so */
    WIDE_REGISTERS = 1 << 3, /* registers and addresses have 64 bits */
    SYSTEM_SPACE = 1 << 4, /* the M profile's registers, as SysTick and VTOR, are memory at fixed addresses */
    STATUS_FORGETS = 1 << 5,  /* a read of its status clears what it shows of a reset */
    HIDES = 1 << 6,           /* locks or a lack of power may hide its registers */
    DEBUG_COMPONENT = 1 << 7, /* A and R: with locks, a power status (PRSR) and a cross trigger interface */
    LOCKS_IN_PRSR = 1 << 8,   /* PRSR shows all its locks */
    RUN_BY_TRIGGER = 1 << 9,  /* a cross trigger halts it until that is acknowledged, and lets it run */
    BORROWS_REGISTERS = 1 << 10, /* other registers are read by instructions that change some of them */
    COMPARATOR_SWITCH = 1 << 11, /* comparators have a switch; else that of halting debug is theirs */
    MODEL_SPECIFIC = 1 << 12,    /* its registers are model-specific ones */
    PROGRAM_ONLY = 1 << 13,      /* an x86-64 program: a debugger alone shows and stops it */
};

struct core_state_ops {
    struct address (*status_register)(const struct core *);
    uint64_t halted; /* bits that are set while it is halted; 0: they cannot be waited for */
    enum core_state (*state_of)(const struct core *, uint64_t status);
    const char *(*unreadable)(const struct core *, uint64_t status); /* NULL: never */
    void (*note)(struct core *, uint64_t status); /* NULL, with at_first: it learns nothing from it */
    uint64_t at_first;                            /* the status that is expected of its first stop */
};

struct core_run_ops {
    size_t (*settings)(const struct core *, struct setting *out, size_t room);
    size_t (*commands)(const struct core *, struct address *out, size_t room);
    struct address (*debug_enable)(const struct core *);
    void (*add_wait_halt)(const struct core *, struct steps *);
    void (*add_run_ready)(const struct core *, struct steps *); /* NULL: nothing is to be prepared */
    void (*add_run)(const struct core *, struct steps *);
    void (*add_run_undebugged)(const struct core *,
                               struct steps *); /* NULL: it runs as debug is switched off */
    void (*add_halt)(const struct core *, struct steps *);
    void (*add_single_step)(const struct core *, struct steps *, unsigned n, uint64_t here);
    struct setting (*debugger_step)(const struct core *); /* NULL: nothing */
    /* Resets the chip if the core can do that, else the core itself, which may ignore it. */
    void (*add_reset)(const struct core *, struct steps *);
};

struct core_stop_ops {
    void (*add_clear_breakpoint)(const struct core *, struct steps *); /* NULL: no need to */
    void (*add_wait_breakpoint)(const struct core *, struct steps *);  /* NULL: as for any halt */
    struct address (*reset_register)(const struct core *);
    bool (*reset_seen)(const struct core *, uint64_t value);
    bool (*can_notice_resets)(const struct core *);
    /* Whether the program may use the mark of core_marks_resets itself, by its value before; NULL: there is
     * no mark. */
    bool (*mark_is_used)(const struct core *, uint64_t value);
    struct address (*since_register)(const struct core *); /* NULL, with reset_since: as for reset_seen */
    bool (*reset_since)(const struct core *, uint64_t value);
    struct address (*cause_register)(const struct core *); /* NULL: the status register */
    uint64_t trigger_mask, trigger;                        /* a halt by a cross trigger, in the cause */
    uint64_t stepped_mask, stepped;                        /* the end of a single step, in the status */
    enum stop_cause (*cause)(const struct core *, uint64_t cause, uint64_t status);
};

struct core_interrupt_ops {
    void (*add_hold)(const struct core *, struct steps *, bool held);
    void (*add_run_held)(const struct core *, struct steps *);
    struct address (*pending_register)(const struct core *);
    bool (*pending)(const struct core *, uint64_t value);
    bool (*held_pending)(const struct core *, uint64_t value);
    bool (*entered)(const struct core *, uint64_t before, uint64_t after);
};

struct core_register_ops {
    void (*add_ready)(const struct core *, struct steps *); /* NULL: nothing can be under way */
    size_t (*add_register)(const struct core *, struct steps *, enum core_register);
    /* NULL: the value is the result at that index. */
    uint64_t (*register_value)(const struct core *, enum core_register, const uint64_t *results, size_t at);
    bool (*gives_first)(const struct step *); /* NULL: a server reads registers without R0 */
    void (*add_recover_instruction)(const struct core *, struct steps *,
                                    const struct step *first);       /* or NULL */
    void (*add_registers_done)(const struct core *, struct steps *); /* or NULL */
    /* Bits of the status: an error of the channel or a word that it holds, and of these a word that only the
     * core takes; add_empty clears the others of any core. 0: it has no channel. */
    uint64_t channel_used, channel_given;
    void (*add_empty)(const struct core *, struct steps *);
    void (*add_expect_stop)(const struct core *, const struct breakpoint_setup *, struct steps *,
                            uint64_t place, bool wait);
    void (*add_proofs)(const struct core *, struct steps *, const struct core_proof *, size_t n,
                       const struct core_spare *spare, bool wait);
    enum core_register spare;   /* CORE_PC: needs none */
    bool spare_is_lr;           /* in a call's proofs, LR: it is proved anyway, and a return leaves it */
    bool spare_for_coprocessor; /* and only for that */
    void (*add_coprocessor)(const struct core *, struct steps *, const struct step *accesses, size_t n,
                            const struct core_spare *spare, size_t *at); /* NULL: there is none */
    struct address (*selector)(void); /* in SPACE_CORE; NULL: there is none */
    /* NULL, with add_accesses and hindrance: it has none that a debugger does not reach. */
    struct address (*own_pmu)(unsigned crm, unsigned opc2);
    void (*add_accesses)(const struct core *, struct steps *, uint64_t status, const struct step *accesses,
                         size_t n, size_t *at);
    const char *(*hindrance)(const struct core *, uint64_t status, uint64_t state);
    bool (*in_hypervisor)(const struct core *,
                          uint64_t status); /* NULL: its counters do not differ by that */
};

struct core_breakpoint_ops {
    bool (*can_compare)(const struct core *, uint64_t address); /* NULL: any */
    struct setting (*comparators_on)(const struct core *);
    unsigned comparator_words;
    bool (*patches)(const struct core *, uint64_t first_word); /* NULL: never */
    struct address (*comparator)(const struct core *, unsigned n, unsigned word);
    bool (*comparator_used)(const struct core *, const uint64_t *words, uint64_t *address);
    void (*add_comparator)(const struct core *, const struct breakpoint_setup *, struct steps *, unsigned n,
                           uint64_t from, uint64_t to);
    uint16_t instruction; /* of two bytes, with add_code_changed; NULL: not needed */
    void (*add_code_changed)(const struct core *, struct steps *, uint64_t address);
    void (*add_skip)(const struct core *, struct steps *, uint64_t pc); /* or NULL */
    bool (*read_code)(uint64_t pc, uint32_t word, struct breakpoint_code *out);
    uint32_t debug_on; /* bit of core_debug_enable: without it the instruction does not halt the core */
};

struct core_halt_ops {
    void (*add_first)(const struct core *, bool server, struct core_stops *); /* NULL: there are none */
    void (*add_identity)(const struct core *, struct steps *);
    void (*add_stops)(const struct core *, const uint64_t *identity, struct core_stops *);
    void (*add_last)(const struct core *, struct core_stops *);
    uint64_t not_left;  /* bits of the status, all set until it has left Debug state; 0: it has none */
    uint64_t borrowing; /* bits of the status, any of which is set while a register is transferred */
    void (*add_unlock)(const struct core *, struct steps *); /* NULL: as core_add_ready */
};

struct core_process_ops {
    /* Whether it stopped in a program of an operating system, where other programs may have other code at the
     * same address. */
    size_t (*add_mode)(const struct core *, struct steps *);
    bool (*in_user_mode)(const struct core *, uint64_t mode);
    size_t (*add_context)(const struct core *, struct steps *); /* NULL: it cannot be read */
    uint64_t context_off, context_on;                           /* for core_context_comparator */
};

struct core_return_ops {
    const char *(*exception_mode)(const struct core *, uint64_t status); /* NULL, with called_from: none */
    bool (*called_from)(const struct core *, uint64_t lr, uint32_t before, uint64_t function);
    bool (*by_frame)(const struct core *, uint64_t lr);         /* NULL: never */
    const char *(*no_return)(const struct core *, uint64_t lr); /* NULL: it always is one */
    struct return_place (*frame_return)(const struct core *, uint64_t sp,
                                        const uint64_t *words); /* or NULL */
};

struct settings {
    struct setting *out;
    size_t n, room;
};

void settings_add(struct settings *list, struct setting setting);
void core_stops_add(struct core_stops *stops, struct core_stop stop);
/* Bits of a register, any of which stops the core. */
void core_stops_add_bits(struct core_stops *stops, const char *name, struct address at, uint64_t bits);

struct core_ops {
    unsigned traits;
    double fastest_hz;
    enum pmu_kind mapped_pmu;
    uint64_t borrowed_mark;
    const char *const *register_names;         /* to CORE_STATUS */
    const struct core_debug_name *debug_names; /* NULL: the ledger names them */
    const struct core_ops *other_state; /* for programs of the other Execution state; NULL: there is none */
    const struct core_state_ops *state;
    const struct core_run_ops *run; /* with stop, registers and breakpoints, or none of them */
    const struct core_stop_ops *stop;
    const struct core_interrupt_ops *interrupts;
    const struct core_register_ops *registers;
    const struct core_breakpoint_ops *breakpoints;
    const struct core_halt_ops *halts;
    const struct core_process_ops *processes;
    const struct core_return_ops *returns;
};
