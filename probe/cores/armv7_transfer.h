/* SPDX-License-Identifier: MIT */
/*
 * How registers of a halted Armv7 core are read: by instructions that it executes in Debug state (DDI 0406C
 * chapters C5 and C8).
 */
#pragma once

#include "base/arm_debug.h"
#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bits of DBGDSCR that are put back at the end. */
enum { DBGDSCR_KEPT = DBGDSCR_PROGRAMS | DBGDSCR_DBGACK | DBGDSCR_INTDIS | DBGDSCR_HDBGEN };

struct address armv7_word(const struct core *core, uint32_t offset);
void armv7_add_write(const struct core *core, struct steps *list, uint32_t offset, uint32_t value);
/* Writes DBGDSCR unless the list has just written that value; true if it was written. */
bool armv7_set_control(const struct core *core, struct steps *list, uint32_t value);

/* As in struct core_ops. */
size_t armv7_add_register(const struct core *core, struct steps *list, enum core_register which);
uint64_t armv7_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                              size_t at);
void armv7_add_expect_register(const struct core *core, struct steps *list, enum core_register which,
                               uint64_t value);
void armv7_empty_channel(const struct core *core, struct steps *list);
bool armv7_gives_first(const struct step *step);
void armv7_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first);
void armv7_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                           uint64_t place, bool wait);

/*
 * Registers of CP15 (DDI 0406C B3.17, for Cortex-R B5.8), which a halted Armv7 core reads and writes by MRC
 * and MCR. An address in SPACE_CORE holds the fields of these instructions, and the number in PMSELR if the
 * register is selected by that; PMSELR is restored.
 */
struct address cp15_register(unsigned crn, unsigned opc1, unsigned crm, unsigned opc2);
struct address armv7_selector(void);
/* The register that `number` in PMSELR selects. */
struct address cp15_selected(unsigned number, unsigned crn, unsigned opc1, unsigned crm, unsigned opc2);

/* As in struct core_register_ops. DBGDSCR is left ready for further instructions. */
void armv7_add_coprocessor(const struct core *core, struct steps *list, const struct step *accesses, size_t n,
                           const struct core_spare *spare, size_t *at);
struct address armv7_own_pmu(unsigned crm, unsigned opc2);
void armv7_add_accesses(const struct core *core, struct steps *list, uint64_t status,
                        const struct step *accesses, size_t n, size_t *at);
const char *armv7_hindrance(const struct core *core, uint64_t status, uint64_t state);
