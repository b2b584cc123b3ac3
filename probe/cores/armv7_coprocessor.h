/*
 * Registers of CP15 (DDI 0406C B3.17, for Cortex-R B5.8) through a halted Armv7 core: it executes the MRC and
 * MCR itself, and so their place in SPACE_CP15 is what these instructions say. What is reached through PMSELR
 * has its number with it; PMSELR is put back.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address cp15_register(unsigned crn, unsigned opc1, unsigned crm, unsigned opc2);
/* The one that is selected by `number` in PMSELR. */
struct address cp15_selected(unsigned number, unsigned crn, unsigned opc1, unsigned crm, unsigned opc2);

/* As in struct core_ops. When it is not privileged, DBGDSCR is left ready for further instructions. */
void armv7_add_coprocessor(const struct core *core, struct steps *list, const struct step *accesses, size_t n,
                           bool privileged, size_t *at);
