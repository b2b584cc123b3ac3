/* SPDX-License-Identifier: MIT */
// Starts in place of the application, at EL1 or above: lets cycles count and user mode read them, then goes to
// pmu_stub_next at the same level. At EL3 and EL2 it first opens the monitor to EL1. AArch64. Changes x16, x17 and flags, no
// memory. Runs at any address.
    .equ EL2, 2 << 2
    .equ MDCR_EL3_TPM, 1 << 6
    .equ MDCR_EL3_SCCD, 1 << 23 // no cycles in Secure state, and at EL3: DDI 0487, MDCR_EL3
    .equ MDCR_EL3_MCCD, 1 << 34
    .equ FILTER_NSH, 1 << 27 // cycles of EL2 count too
    .equ PMUSERENR_EN, 1
    .equ PMCR_E_BIT, 0
    .equ PMCR_D, 1 << 3
    .equ PMCR_DP, 1 << 5
    .equ PMCR_LC_AND_E, 0x41
    .equ CYCLES, 1 << 31

    .section .text.before, "ax", %progbits
    .global pmu_stub_before
    .type pmu_stub_before, %function
pmu_stub_before:
    mrs x16, currentel
    cmp x16, #EL2
    b.lo 2f
    b.eq 1f
    mrs x16, mdcr_el3
    and x16, x16, #~MDCR_EL3_TPM
    and x16, x16, #~MDCR_EL3_SCCD
    and x16, x16, #~MDCR_EL3_MCCD
    msr mdcr_el3, x16
    isb
1:  mrs x16, pmcr_el0
    ubfx x16, x16, #11, #5
    mrs x17, mdcr_el2
    bfi x17, x16, #0, #7 // HPMN = PMCR.N; TPM and TPMCR, above it, to 0
    msr mdcr_el2, x17
    mov x16, #FILTER_NSH
    msr pmccfiltr_el0, x16
2:  mov x16, #PMUSERENR_EN
    msr pmuserenr_el0, x16
    mov x16, #CYCLES
    msr pmcntenset_el0, x16
    mrs x16, pmcr_el0
    tbnz x16, #PMCR_E_BIT, 3f
    and x16, x16, #~PMCR_D
    and x16, x16, #~PMCR_DP
    mov x17, #PMCR_LC_AND_E
    orr x16, x16, x17
    msr pmcr_el0, x16
3:  isb
    // Not from a literal: with the MMU off one that is not aligned to its 8 bytes faults
    movz x16, #:abs_g3:pmu_stub_next
    movk x16, #:abs_g2_nc:pmu_stub_next
    movk x16, #:abs_g1_nc:pmu_stub_next
    movk x16, #:abs_g0_nc:pmu_stub_next
    br x16
    .size pmu_stub_before, . - pmu_stub_before
