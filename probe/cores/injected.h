/*
 * Injected code: our code that a halted core runs. This says which registers it may change, how instructions
 * in Debug state read and set them, and how the core reaches memory through its own translation and caches.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers that may change: R0 (X0) to R2, and those moved through R0: the PC, the state, and what an
 * exception in the injected code would overwrite. They are restored in reverse order. */
enum {
    INJECTED_GENERAL = 3,
    INJECTED_PC = 0,
    INJECTED_STATE,
    INJECTED_FAULTS,
    INJECTED_OTHERS = 10,
    INJECTED_MOVES = 4
};

/* Instructions that move a register to R0, and back. */
struct injected_register {
    uint32_t to_r0[INJECTED_MOVES], from_r0[INJECTED_MOVES]; /* up to the first 0 */
};

struct injected_kind {
    uint32_t stack_to_r0;
    uint32_t load, store; /* R0, at the address in R1; the next word's is `next` more */
    uint32_t next;
    /* Cache maintenance for code that was written: for each line at the address in R1, then once. */
    uint32_t clean_line, clean_done, forget_line, forget_done[3];
    uint32_t drain; /* empties the debug communications channel; 0: not needed */
    bool wide;      /* registers have 64 bits */

    /* Makes the core accept instructions, whatever the previous list left behind. */
    void (*add_begin)(const struct core *, struct steps *);
    void (*add_instruction)(const struct core *, struct steps *, uint32_t instruction);
    void (*add_constant)(const struct core *, struct steps *, unsigned general, uint64_t value);
    /* Proves that the instructions since add_begin completed without an exception. */
    void (*add_proof)(const struct core *, struct steps *);
    /* Waits for the next stop. */
    void (*add_wait_stop)(const struct core *, struct steps *);
    /* The other registers of a core that is halted with this status; returns how many. */
    size_t (*others)(const struct core *, uint64_t status, struct injected_register *out);
    /* The value to set the PC to, from what was moved to R0. */
    uint64_t (*pc)(uint64_t moved, uint64_t state);
    /* The state for injected code: privileged, interrupts masked, in its instruction set. */
    uint64_t (*state)(uint64_t found);
    /* Why the core cannot run it in its present state; NULL: it can. */
    const char *(*hindrance)(const struct core *, uint64_t status, uint64_t state);
    /* The register and bits that make exceptions halt the core before their handlers run. */
    struct address (*guard)(const struct core *);
    uint32_t (*guard_bits)(uint64_t status);
};

extern const struct injected_kind armv7_injected, armv8_injected;
