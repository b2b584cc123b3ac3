/*
 * Cortex-M (Armv6-M, Armv7-M, Armv8-M): halting debug by DHCSR, register transfer by DCRSR and DCRDR,
 * breakpoints by the BPU or FPB. Sources: DDI 0419 (Armv6-M) chapter C1, DDI 0403 (Armv7-M) chapter C1.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stdint.h>

/* What is read to identify a core: in this order. */
enum { CORTEX_M_CPUID, CORTEX_M_FP_CTRL, CORTEX_M_CCR, CORTEX_M_IDENTITY };
void cortex_m_add_identity(uint16_t unit, struct steps *list);
/* False when that is no Cortex-M: CPUID is of another kind. */
bool cortex_m_identify(uint16_t unit, const uint64_t *values, struct core *out);

bool cortex_m_is_v6(const struct core *core);
bool cortex_m_is_v8(const struct core *core);
/* Armv6-M and Armv8-M Baseline: their DWT has no counters. */
bool cortex_m_is_baseline(const struct core *core);
/* Its software lock may hold for a debugger too. */
bool cortex_m_has_dwt_lock(const struct core *core);
/* DAUTHSTATUS, of Armv8-M, and what it says. */
struct address cortex_m_authentication(const struct core *core);
void cortex_m_take_authentication(struct core *core, uint64_t status);
/* Where the vector table is told to be, VTOR; Armv6-M without one reads as 0, where it then is. */
/* Whether the instruction that comes next is done, by an xPSR: in an IT block it may not be. */
bool cortex_m_condition_holds(uint64_t xpsr);
struct address cortex_m_vectors(const struct core *core);
