/* SPDX-License-Identifier: MIT */
// Starts in place of the application, at the address of its vector table: starts the DWT's cycle counter, then enters the
// application by its own table at pmu_stub_next, as after a reset. Armv7-M and Armv8-M Mainline. Changes r0, r1, r12 and
// lr, in which no application expects a value.
    .syntax unified
    .thumb

    .equ DEMCR, 0xE000EDFC
    .equ TRCENA, 1 << 24
    .equ DWT_CTRL, 0xE0001000
    .equ DWT_LAR, 0xFB0
    .equ KEY, 0xC5ACCE55
    .equ VTOR, 0xE000ED08

    .section .text.before, "ax", %progbits
    .global pmu_stub_vectors
pmu_stub_vectors:
    .word pmu_stub_stack
    .word pmu_stub_before

    .global pmu_stub_before
    .type pmu_stub_before, %function
    .thumb_func
pmu_stub_before:
    ldr r0, =DEMCR
    ldr r1, [r0]
    orr r1, r1, #TRCENA
    str r1, [r0]
    dsb
    ldr r0, =DWT_CTRL
    ldr r1, =KEY // before this, a Cortex-M7 ignores the program's writes
    str r1, [r0, #DWT_LAR]
    ldr r1, [r0]
    orr r1, r1, #1
    str r1, [r0]
    ldr r0, =pmu_stub_next
    ldr r1, =VTOR
    str r0, [r1]
    dsb
    isb
    ldr r1, [r0]
    msr msp, r1
    ldr r0, [r0, #4]
    bx r0
    .pool
    .size pmu_stub_before, . - pmu_stub_before
