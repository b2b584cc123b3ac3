/*
 * Armv7 debug registers, and how registers of a halted core are read through them: by instructions that it
 * executes in Debug state (DDI 0406C chapters C5 and C8). For armv7*.c and stops.c only.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets, DDI 0406C table C11-1. */
enum {
    DBGDIDR = 0x000,
    DBGVCR = 0x01C,
    DBGDTRRX = 0x080,
    DBGITR = 0x084,
    DBGDSCR = 0x088,
    DBGDTRTX = 0x08C,
    DBGDRCR = 0x090,
    DBGBVR0 = 0x100,
    DBGBCR0 = 0x140,
    DBGOSLAR = 0x300,
    DBGOSLSR = 0x304,
    DBGPRCR = 0x310,
    DBGPRSR = 0x314,
    MIDR = 0xD00,
    DBGLAR = 0xFB0,
    DBGLSR = 0xFB4,
    DBGAUTHSTATUS = 0xFB8,
};

/* DBGDSCR, C11.11; MOE is how Debug state was entered. */
enum {
    HALTED = 1 << 0,
    RESTARTED = 1 << 1, /* 0 from the request to leave Debug state until that is done */
    STOPPED = HALTED | RESTARTED,
    MOE_SHIFT = 2,
    MOE_MASK = 0xF,
    DBGACK = 1 << 10,
    INTDIS = 1 << 11,
    UDCCDIS = 1 << 12,
    ITREN = 1 << 13,
    HDBGEN = 1 << 14,
    MDBGEN = 1 << 15,
    ADADISCARD = 1 << 19,
    EXTDCCMODE = 3 << 20,
    INSTRCOMPL_L = 1 << 24,
    TXFULL_L = 1 << 26,
    DSCR_KEPT = DBGACK | INTDIS | UDCCDIS | HDBGEN | MDBGEN | ADADISCARD | EXTDCCMODE,
};
enum { RT_SHIFT = 12 }; /* of MCR and MRC, A8.8 */
enum {
    MOE_HALT_REQUEST = 0,
    MOE_BREAKPOINT = 1,
    MOE_ASYNC_WATCHPOINT = 2,
    MOE_BKPT = 3,
    MOE_EXTERNAL_REQUEST = 4,
    MOE_VECTOR_CATCH = 5,
    MOE_SYNC_WATCHPOINT = 10,
};
enum { AT_BREAKPOINT = STOPPED | MOE_BREAKPOINT << MOE_SHIFT, HOW_STOPPED = STOPPED | MOE_MASK << MOE_SHIFT };

struct address armv7_word(const struct core *core, uint32_t offset);
void armv7_add_write(const struct core *core, struct steps *list, uint32_t offset, uint32_t value);
/* Writes DBGDSCR unless what the list wrote there last is just that; true when it had to be written. */
bool armv7_set_control(const struct core *core, struct steps *list, uint32_t value);

/* As instructions number it; for the general ones, LR and SP. */
uint32_t armv7_register_number(enum core_register which);

/* As in struct core_ops. */
size_t armv7_add_register(const struct core *core, struct steps *list, enum core_register which);
uint64_t armv7_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                              size_t at);
void armv7_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                           uint64_t place, bool wait);

/*
 * Registers of CP15 (DDI 0406C B3.17, for Cortex-R B5.8) through a halted Armv7 core: it executes the MRC and
 * MCR itself, and so their place in SPACE_CP15 is what these instructions say. What is reached through PMSELR
 * has its number with it; PMSELR is put back.
 */
struct address cp15_register(unsigned crn, unsigned opc1, unsigned crm, unsigned opc2);
/* The one that is selected by `number` in PMSELR. */
struct address cp15_selected(unsigned number, unsigned crn, unsigned opc1, unsigned crm, unsigned opc2);

/* As in struct core_ops. When it is not privileged, DBGDSCR is left ready for further instructions. */
void armv7_add_coprocessor(const struct core *core, struct steps *list, const struct step *accesses, size_t n,
                           bool privileged, size_t *at);
