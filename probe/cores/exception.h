/*
 * The exception that a core is in, and what its fault registers say of it, in words. On a Cortex-M by
 * registers that can be read while it runs: DDI 0403 B3.2.4 (ICSR), B3.2.15 to B3.2.18 (faults), DDI 0553 for
 * Armv8-M. An A or R core has only its mode, which a halted core tells.
 */
#pragma once

#include "base/step.h"
#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXCEPTION_WORDS = 5 };

/* Adds the reads, EXCEPTION_WORDS at most; false: this core has no such registers. */
bool exception_add(const struct core *core, struct steps *list);
/* "exception 3 (HardFault): CFSR 0x00008200 (PRECISERR), BFAR 0x20100000"; "" in no exception. *is_fault:
 * one that a fault raises. */
void exception_describe(const struct core *core, const uint64_t *words, bool *is_fault, char *out,
                        size_t size);
/* The same by the CORE_STATUS of an A or R core: "Abort mode". */
void exception_describe_mode(const struct core *core, uint64_t status, char *out, size_t size);
