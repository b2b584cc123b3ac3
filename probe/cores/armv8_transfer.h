/* SPDX-License-Identifier: MIT */
/*
 * How registers of a halted Armv8 core are read: by instructions that it executes in Debug state (DDI 0487
 * chapter H4), of the Execution state that the program is in.
 */
#pragma once

#include "base/arm_debug.h"
#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EDSCR_CONTROL = EDSCR_HDE | EDSCR_MA | EDSCR_INTDIS, /* what the lists write of it */
    EDSCR_LEAVING = EDSCR_HDE | EDSCR_MA,                /* as it is left to run: the next stop clears MA */
};

/* A T32 instruction of 32 bits, as EDITR takes it. */
#define ARMV8_T32(first, second) ((uint32_t)(second) << 16 | (first))
#define ARMV8_MRS_ELR_HYP        ARMV8_T32(0xF3EE, 0x8030) /* to R0 */

struct address armv8_word(const struct core *core, uint32_t offset);
void armv8_add_write(const struct core *core, struct steps *list, uint32_t offset, uint32_t value);
/* Writes EDSCR unless the list has just written or seen that value. */
void armv8_set_control(const struct core *core, struct steps *list, uint32_t value);

/* What the instruction puts into X0, as armv8_register_value takes it; X0 is given back. */
size_t armv8_add_through_x0(const struct core *core, struct steps *list, uint32_t instruction);
/* The instruction for EDITR that moves the register at this place of SPACE_CORE to X0, or from there. */
uint32_t armv8_moving_register(const struct core *core, uint64_t place, bool reads);
/* As in struct core_register_ops. An address in SPACE_CORE holds the fields of MRS and MSR, or in AArch32
 * state those of MRC and MCR, as armv7_transfer.h has them. */
struct address armv8_own_pmu(unsigned crm, unsigned opc2);
void armv8_add_accesses(const struct core *core, struct steps *list, uint64_t status,
                        const struct step *accesses, size_t n, size_t *at);
bool armv8_in_hypervisor(const struct core *core, uint64_t status);
const char *armv8_hindrance(const struct core *core, uint64_t status, uint64_t state);
size_t armv8_add_register(const struct core *core, struct steps *list, enum core_register which);
/* The core takes an instruction. */
void armv8_add_ready(const struct core *core, struct steps *list);
void armv8_empty_channel(const struct core *core, struct steps *list);
bool armv8_gives_first(const struct step *step);
void armv8_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first);
uint64_t armv8_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                              size_t at);
void armv8_add_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs, size_t n,
                      const struct core_spare *spare, bool wait);
void armv8_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                           uint64_t place, bool wait);
