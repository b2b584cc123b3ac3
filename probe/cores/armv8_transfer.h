/*
 * Armv8 debug registers, and how registers of a halted core are read through them: by instructions that it
 * executes in Debug state (DDI 0487 chapter H4). For armv8.c, armv8_identity.c and armv8_transfer.c only.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets, DDI 0487 table H8-4. */
enum {
    EDECR = 0x024,
    DBGDTRRX = 0x080,
    EDITR = 0x084,
    EDSCR = 0x088,
    DBGDTRTX = 0x08C,
    EDRCR = 0x090,
    OSLAR = 0x300,
    EDPRCR = 0x310,
    EDPRSR = 0x314,
    DBGBVR0 = 0x400,
    DBGBCR0 = 0x408,
    MIDR = 0xD00,
    EDDFR = 0xD28,
    EDLAR = 0xFB0,
    EDLSR = 0xFB4,
    DBGAUTHSTATUS = 0xFB8,
};

/* Of its cross trigger interface, DDI 0487 table H8-6: trigger output 0 halts the core, 1 lets it run. */
enum {
    CTICONTROL = 0x000,
    CTIINTACK = 0x010,
    CTIAPPPULSE = 0x01C,
    CTIINEN0 = 0x020,
    CTIOUTEN0 = 0x0A0,
    CTITRIGOUTSTATUS = 0x134,
    CTIGATE = 0x140,
    CTILAR = 0xFB0,
    CTILSR = 0xFB4,
    CTIDEVID = 0xFC8,
};

/* EDSCR, DDI 0487 H9.2. */
enum {
    STATUS = 0x3F,
    HALTED = 3, /* the low bits of STATUS in Debug state; 2 is running, 1 on its way out */
    AT_BREAKPOINT = 0x07,
    ERR = 1 << 6,
    EL_SHIFT = 8,
    RW_SHIFT = 10, /* a bit for each Exception level: it is in AArch64 state */
    HDE = 1 << 14,
    MA = 1 << 20, /* ignored while the core runs, and cleared when it enters Debug state */
    TDA = 1 << 21,
    INTDIS = 3 << 22,
    ITE = 1 << 24, /* it takes an instruction */
    TXFULL = 1 << 29,
    RXFULL = 1 << 30,
    CONTROL = HDE | MA | INTDIS, /* what the lists write of it */
    LEAVING = HDE | MA,          /* as it is left to run: the next stop shows without MA */
};

struct address armv8_word(const struct core *core, uint32_t offset);
void armv8_add_write(const struct core *core, struct steps *list, uint32_t offset, uint32_t value);
/* Writes EDSCR unless what the list says about it last is just that. */
void armv8_set_control(const struct core *core, struct steps *list, uint32_t value);

/* As in struct core_ops. */
size_t armv8_add_register(const struct core *core, struct steps *list, enum core_register which);
void armv8_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first);
uint64_t armv8_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                              size_t at);
void armv8_begin_proofs(const struct core *core, struct steps *list, struct core_proof *proofs, size_t n,
                        bool wait);
void armv8_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                           uint64_t place, bool wait);
