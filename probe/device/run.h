/* SPDX-License-Identifier: MIT */
/*
 * Lists of steps for a halted core: the loop that carries one out whatever the link answers, and the settling
 * of what a list has borrowed of the program and could not give back itself.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list that may borrow. However it ends, what it has borrowed is given back. ERROR_RESET: the target was
 * reset before it could be. */
bool run_list(struct ledger *ledger, const struct core *core, const struct steps *list, uint64_t *results,
              const struct deadline *deadline, struct error *error);
/* A list on its way: what the last call of the link did of it. */
struct run_piece {
    size_t from; /* the steps before were done already */
    struct outcome outcome;
    struct error refused;
    int64_t went_on_us; /* when the list went on last, or awaited a halt */
};

struct run_piece run_begin(size_t from);
/* The next call. *piece says whether and how the list may go on. */
void run_next(struct ledger *ledger, const struct steps *list, uint64_t *results,
              const struct deadline *deadline, struct run_piece *piece);
/* The step at which the list ended waits for the core to halt. */
bool run_awaits_halt(const struct steps *list, const struct run_piece *piece);
/* Nothing has gone on for some seconds. */
bool run_is_stuck(const struct run_piece *piece);
/* Steps [from, list->n), on and on while the target asks to wait or an instruction is under way: until the
 * deadline, or until it is stuck. Settles nothing. */
struct outcome run_steps(struct ledger *ledger, const struct steps *list, size_t from, uint64_t *results,
                         const struct deadline *deadline, struct error *refused);
/* Clears the mark of a loan whose registers the core has already: a debugger, which had them, let it go on.
 * False only if the mark stays. */
bool run_clear_mark(struct ledger *ledger, const struct core *core, const struct deadline *deadline,
                    struct error *error);
/* The same at the end of a run, where a server gave the registers back itself. */
bool run_end_loans(struct ledger *ledger, const struct core *core, const struct deadline *deadline,
                   struct error *error);
/*
 * Gives back what a list owes that ended after *done steps, if the core still has the program that it belongs
 * to. True: it owes nothing any more. After a failure it can be called again; *done is how far it got.
 * *was_reset becomes true if the target was reset since that was asked last; NULL: the core is in a
 * debugger's hands, which asks. After a reset nothing of the list is left in what registers pass through.
 */
bool run_settle(struct ledger *ledger, const struct core *core, const struct steps *list, size_t *done,
                uint64_t *results, bool *was_reset, const struct deadline *deadline, struct error *error);
/* What `add` adds, which borrows nothing. */
bool run_add(struct ledger *ledger, const struct core *core, void (*add)(const struct core *, struct steps *),
             const struct deadline *deadline, struct error *error);
bool run_read_register(struct ledger *ledger, const struct core *core, enum core_register which,
                       uint64_t *out, const struct deadline *deadline, struct error *error);
/* A list of reads of words of memory, as the halted core sees them. ERROR_STATE: it cannot show them now. */
bool run_look(struct ledger *ledger, const struct core *core, const struct steps *list, uint64_t *results,
              const struct deadline *deadline, struct error *error);
/* Code was written at `address`: the core drops what its caches have of it. */
bool run_code_changed(struct ledger *ledger, const struct core *core, uint64_t address,
                      const struct deadline *deadline, struct error *error);
/* From here on the registers of a list may be written. */
bool run_allow(struct ledger *ledger, const struct steps *list, struct error *error);
/* Those that make the core act. */
bool run_allow_commands(struct ledger *ledger, const struct core *core, struct error *error);
/* Sets the error of a list whose instruction never ends. Returns false. */
extern const char run_end_the_other[]; /* advice: another debugger */
bool run_tell_stuck(struct error *error);

/*
 * Breakpoint instructions that the program has itself: assertions, and semihosting calls, which many programs
 * make only if they see a debugger. While we measure, they halt the core: a Cortex-M sees DHCSR.C_DEBUGEN,
 * other cores have halting debug on. No other debugger made such a stop, and the core would stop there again.
 */

struct symbols;

struct own_breakpoint {
    bool is_own;  /* by the ELF file; without one, if it is a semihosting call */
    bool is_call; /* a semihosting call after which the program can go on, as if nothing had answered */
    struct breakpoint_code code;
    bool is_comparator; /* that the program has set itself, for its DebugMonitor exception */
    const char *comparator;
    unsigned number;
    uint64_t place;
};

/* Reads the instruction in memory at `pc`. All false if it cannot be read or is another one. `symbols`, the
 * program's, may be NULL. */
struct own_breakpoint own_breakpoint_at(struct ledger *ledger, const struct core *core,
                                        struct symbols *symbols, uint64_t pc,
                                        const struct deadline *deadline);
/* This run switched debug on. If no server debugs the core, the program stopped only because of that. */
bool own_breakpoint_is_by_us(const struct ledger *ledger, const struct core *core);
/* Halted at a semihosting call at `pc`: the core will go on after it. */
bool own_breakpoint_skip(struct ledger *ledger, const struct core *core, uint64_t pc,
                         const struct deadline *deadline, struct error *error);
/* "the program's own BKPT 0xAB, a semihosting call,"; "the program's own watchpoint (DWT 0, 0x20000010)" */
void own_breakpoint_describe(const struct own_breakpoint *own, char *out, size_t size);
