/* SPDX-License-Identifier: MIT */
/*
 * The exception that a core is in, and what its fault registers say of it, in words. On a Cortex-M by
 * registers that can be read while it runs: DDI 0403 B3.2.4 (ICSR), B3.2.15 to B3.2.18 (faults), DDI 0553 for
 * Armv8-M. In AArch32 state a core has its mode, which a halted core shows, and fault registers; in
 * AArch64 state and in Hyp mode its vectors and the syndrome registers of its level.
 */
#pragma once

#include "base/step.h"
#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXCEPTION_WORDS = 5, EXCEPTION_IRQS = 16 };

/* Of a Cortex-M: "HardFault"; NULL: it is an interrupt, or has no name. */
const char *exception_name(uint64_t number);

/* Adds the reads, EXCEPTION_WORDS at most; false: this core lacks these registers. */
bool exception_add(const struct core *core, struct steps *list);
/* "exception 3 (HardFault): CFSR 0x00008200 (PRECISERR), BFAR 0x20100000"; "" in no exception. *is_fault:
 * one that a fault raises. */
void exception_describe(const struct core *core, const uint64_t *words, bool *is_fault, char *out,
                        size_t size);
/* The same by the CORE_STATUS of an A or R core: "Abort mode". */
void exception_describe_mode(const struct core *core, uint64_t status, char *out, size_t size);

enum { FAULT_WORDS = 4 };

struct exception_fault {
    uint64_t status, pc, lr; /* CORE_STATUS, ...; lr 0: not known */
    bool has_values;
    bool in_thumb; /* the instruction before LR is a Thumb one */
    uint64_t values[FAULT_WORDS];
};

/* In a mode, or at a level, that a fault enters. */
bool exception_may_be_fault(const struct core *core, uint64_t status);
/* Halted there: adds reads of what shows it. Results are at at[], for exception_take_faults. False: there are
 * none. */
bool exception_add_faults(const struct core *core, uint64_t status, struct steps *list,
                          size_t at[FAULT_WORDS]);
void exception_take_faults(const struct core *core, const uint64_t *results, const size_t at[FAULT_WORDS],
                           struct exception_fault *fault);
/* By CORE_STATUS: it may be at the beginning of an interrupt's handler. Then a register holds where that
 * returns to, as long as the handler has not changed it. */
bool exception_may_be_interrupt(const struct core *core, uint64_t status);
size_t exception_add_return(const struct core *core, uint64_t status, struct steps *list);
uint64_t exception_return(const struct core *core, const uint64_t *results, size_t at);
/* Whether it is in a fault's handler: in AArch64 state and in Hyp mode if its PC or LR is in the vectors. */
bool exception_is_fault(const struct core *core, const struct exception_fault *fault);
/* ": DFSR 0x00000805 (translation), DFAR 0x50000000, IFSR 0x00000000, IFAR 0x00000000"; ", in the vector of
 * synchronous exceptions (EL1): ESR 0x96000005 (data abort, translation), FAR 0x50000000"; in Hyp mode HSR
 * and HDFAR */
void exception_describe_faults(const struct core *core, const struct exception_fault *fault, char *out,
                               size_t size);
/* The instruction that it interrupted: by the LR of its mode, which a handler may have changed, or by ELR.
 * False: that is not known. */
/* By the LR of its mode. */
bool exception_returns_by_lr(const struct core *core, uint64_t status);
bool exception_interrupted(const struct core *core, const struct exception_fault *fault, uint64_t *out);
