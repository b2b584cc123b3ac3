/*
 * Breakpoint instructions that the program has itself: assertions, and semihosting calls, which many programs
 * make only if they see a debugger. While we measure, they halt the core: a Cortex-M sees DHCSR.C_DEBUGEN,
 * other cores have halting debug on. No other debugger made such a stop, and the core would stop there again.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

struct own_breakpoint {
    bool is_own;  /* by the ELF file; without one, if it is a semihosting call */
    bool is_call; /* a semihosting call after which the program can go on, as if nothing had answered */
    struct breakpoint_code code;
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
/* "the program's own BKPT 0xAB, a semihosting call," */
void own_breakpoint_describe(const struct own_breakpoint *own, char *out, size_t size);
