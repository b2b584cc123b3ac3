/* SPDX-License-Identifier: MIT */
// For a debugger to write into RAM and run on a halted core: AArch64, EL1 or above, interrupts masked. Each entry ends at
// an HLT.
//
//   +0  enable   lets cycles count and user mode read them. Returns the state before
//   +4  disable  takes that state in x0 and x1, and restores it
//   +8  status   returns the present state, and PMCNTENSET_EL0 in x2
//
// The state: x0 = PMUSERENR_EL0, with bit 31 set if the cycle counter is enabled; x1 = PMCR_EL0. Changes x0, x1 and x2, but
// no flags, no stack, no memory and not PMSELR_EL0. Runs at any word address.
    .equ PMUSERENR_EN, 1
    .equ PMCR_E_BIT, 0
    .equ PMCR_D, 1 << 3
    .equ PMCR_DP, 1 << 5
    .equ PMCR_E, 1 << 0
    .equ PMCR_LC, 1 << 6
    .equ CYCLES, 1 << 31
    .equ CYCLES_BIT, 31

    .macro get_state
    mrs x2, pmcntenset_el0
    and x0, x2, #CYCLES
    mrs x1, pmuserenr_el0
    orr x0, x0, x1
    mrs x1, pmcr_el0
    .endm

    .section .text.pushed, "ax", %progbits
    .global pmu_stub_pushed
    .type pmu_stub_pushed, %function
pmu_stub_pushed:
    b enable
    b disable
status:
    get_state
    hlt #0

enable:
    get_state
    and x2, x0, #~CYCLES
    orr x2, x2, #PMUSERENR_EN
    msr pmuserenr_el0, x2
    mov x2, #CYCLES
    msr pmcntenset_el0, x2
    tbnz x1, #PMCR_E_BIT, 1f
    and x2, x1, #~PMCR_D
    and x2, x2, #~PMCR_DP
    orr x2, x2, #PMCR_E
    orr x2, x2, #PMCR_LC
    msr pmcr_el0, x2
1:  isb
    hlt #0

disable:
    and x2, x0, #~CYCLES
    msr pmuserenr_el0, x2
    tbnz x0, #CYCLES_BIT, 2f
    mov x2, #CYCLES
    msr pmcntenclr_el0, x2
2:  msr pmcr_el0, x1
    isb
    hlt #0
    .size pmu_stub_pushed, . - pmu_stub_pushed
