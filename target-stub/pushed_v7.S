/* SPDX-License-Identifier: MIT */
// For a debugger to write into RAM and run on a halted core: Armv7-A/R, ARM state, a privileged mode, interrupts masked.
// Each entry ends at a BKPT.
//
//   +0  enable   lets cycles count and user mode read them. Returns the state before
//   +4  disable  takes that state in r0 and r1, and restores it
//   +8  status   returns the present state, and PMCNTENSET in r2
//
// The state: r0 = PMUSERENR, with bit 31 set if the cycle counter is enabled; r1 = PMCR. Changes r0, r1, r2 and flags, but
// no stack, no memory and not PMSELR. Runs at any word address.
    .syntax unified
    .arm

    .equ PMUSERENR_EN, 1
    .equ PMCR_E, 1
    .equ PMCR_D_AND_DP, 0x28
    .equ CYCLES, 1 << 31

    .macro get_state
    mrc p15, 0, r2, c9, c12, 1
    and r0, r2, #CYCLES
    mrc p15, 0, r1, c9, c14, 0
    orr r0, r0, r1
    mrc p15, 0, r1, c9, c12, 0
    .endm

    .section .text.pushed, "ax", %progbits
    .global pmu_stub_pushed
    .type pmu_stub_pushed, %function
pmu_stub_pushed:
    b enable
    b disable
status:
    get_state
    bkpt #0

enable:
    get_state
    bic r2, r0, #CYCLES
    orr r2, r2, #PMUSERENR_EN
    mcr p15, 0, r2, c9, c14, 0
    mov r2, #CYCLES
    mcr p15, 0, r2, c9, c12, 1
    tst r1, #PMCR_E
    mov r2, r1
    biceq r2, r2, #PMCR_D_AND_DP
    orr r2, r2, #PMCR_E
    mcr p15, 0, r2, c9, c12, 0
    isb
    bkpt #0

disable:
    bic r2, r0, #CYCLES
    mcr p15, 0, r2, c9, c14, 0
    ands r2, r0, #CYCLES
    moveq r2, #CYCLES
    mcreq p15, 0, r2, c9, c12, 2
    mcr p15, 0, r1, c9, c12, 0
    isb
    bkpt #0
    .size pmu_stub_pushed, . - pmu_stub_pushed
