/* SPDX-License-Identifier: MIT */
// Starts in place of the application: lets cycles count and user mode read them, then goes to pmu_stub_next (bit 0: in
// Thumb state). Armv7-A/R, privileged, ARM state. Changes r12 and flags, no memory. Runs at any address.
    .syntax unified
    .arm

    .equ PMUSERENR_EN, 1
    .equ PMCR_E, 1
    .equ PMCR_D_AND_DP, 0x28
    .equ CYCLES, 1 << 31

    .section .text.before, "ax", %progbits
    .global pmu_stub_before
    .type pmu_stub_before, %function
pmu_stub_before:
    mov r12, #PMUSERENR_EN
    mcr p15, 0, r12, c9, c14, 0
    mov r12, #CYCLES
    mcr p15, 0, r12, c9, c12, 1
    mrc p15, 0, r12, c9, c12, 0
    tst r12, #PMCR_E
    biceq r12, r12, #PMCR_D_AND_DP
    orr r12, r12, #PMCR_E
    mcr p15, 0, r12, c9, c12, 0
    isb
    ldr r12, =pmu_stub_next
    bx r12
    .pool
    .size pmu_stub_before, . - pmu_stub_before
