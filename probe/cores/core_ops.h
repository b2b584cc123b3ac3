/*
 * What an architecture implements of core.h, where each function core_xxx says what its member xxx must do. A
 * table that a core lacks is NULL as a whole; core.c has the defaults of members that may be NULL.
 */
#pragma once

#include "cores/core.h"

struct core_state_ops {
    struct address (*status_register)(const struct core *);
    uint64_t halted; /* bits that are set while it is halted; 0: they cannot be waited for */
    enum core_state (*state_of)(const struct core *, uint64_t status);
    const char *(*unreadable)(const struct core *, uint64_t status); /* NULL: never */
};

struct core_run_ops {
    size_t (*settings)(const struct core *, struct setting *out, size_t room);
    size_t (*commands)(const struct core *, struct address *out, size_t room);
    struct address (*debug_enable)(const struct core *);
    void (*add_wait_halt)(const struct core *, struct steps *);
    void (*add_run)(const struct core *, struct steps *);
    void (*add_run_undebugged)(const struct core *,
                               struct steps *); /* NULL: it runs as debug is switched off */
    void (*add_halt)(const struct core *, struct steps *);
    void (*add_single_step)(const struct core *, struct steps *, unsigned n, uint64_t here);
    void (*add_reset)(const struct core *, struct steps *);
    bool requests_stay;
};

struct core_stop_ops {
    void (*add_clear_breakpoint)(const struct core *, struct steps *); /* NULL: no need to */
    void (*add_wait_breakpoint)(const struct core *, struct steps *);  /* NULL: as for any halt */
    struct address (*reset_register)(const struct core *);
    bool (*reset_seen)(const struct core *, uint64_t value);
    bool (*can_notice_resets)(const struct core *);
    bool (*mark_is_used)(const struct core *, uint64_t value); /* NULL: the register is no mark */
    struct address (*since_register)(const struct core *);     /* NULL, with reset_since: as for reset_seen */
    bool (*reset_since)(const struct core *, uint64_t value);
    struct address (*cause_register)(const struct core *); /* NULL: the status register */
    uint64_t trigger_mask, trigger;                        /* a halt by a cross trigger, in the cause */
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
    void (*add_expect_stop)(const struct core *, const struct breakpoint_setup *, struct steps *,
                            uint64_t place, bool wait);
    void (*add_proofs)(const struct core *, struct steps *, const struct core_proof *, size_t n,
                       const struct core_proof *spare, bool wait);
    enum core_register spare;   /* CORE_PC: needs none */
    bool spare_for_coprocessor; /* and only for that */
    void (*add_coprocessor)(const struct core *, struct steps *, const struct step *accesses, size_t n,
                            bool privileged, const struct core_proof *spare,
                            size_t *at); /* NULL: there is none */
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
    uint32_t debug_on; /* bit of core_debug_enable */
};

/* How its debug is switched off for good, and what shows that it was not; NULL members: nothing. */
struct core_halt_ops {
    void (*add_first)(const struct core *, bool server, struct core_stops *);
    void (*add_identity)(const struct core *, struct steps *);
    void (*add_stops)(const struct core *, const uint64_t *identity, struct core_stops *);
    void (*add_last)(const struct core *, struct core_stops *);
    uint64_t borrowed_mark;
    bool (*has_not_left)(uint64_t status);
    bool (*may_have_borrowed)(uint64_t status);
    void (*add_unlock)(const struct core *, struct steps *); /* NULL: as core_add_ready */
};

struct core_process_ops {
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

void core_stops_add(struct core_stops *stops, struct core_stop stop);
/* Bits of a register, any of which stops the core. */
void core_stops_add_bits(struct core_stops *stops, const char *name, struct address at, uint64_t bits);

struct core_ops {
    unsigned traits;
    double fastest_hz;
    enum pmu_kind mapped_pmu;
    const char *const *register_names; /* to CORE_STATUS */
    const struct core_state_ops *state;
    const struct core_run_ops *run; /* with stop, registers and breakpoints, or none of them */
    const struct core_stop_ops *stop;
    const struct core_interrupt_ops *interrupts;
    const struct core_register_ops *registers;
    const struct core_breakpoint_ops *breakpoints;
    const struct core_halt_ops *halts;
    const struct core_process_ops *processes;
    const struct core_return_ops *returns;
    const struct injected_kind *injected;
};
