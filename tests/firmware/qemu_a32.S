@ For QEMU's Cortex-A15: a loop that calls a function, and the PMU's cycle counter running.
    .syntax unified
    .cpu cortex-a15
    .text
    .arm
    .global start, work, again
    .type work, %function
start:
    mov r1, #1
    mcr p15, 0, r1, c9, c12, 0
    mov r1, #0x80000000
    mcr p15, 0, r1, c9, c12, 1
again:
    bl work
    b again
work:
    add r2, r2, #1
    nop
    bx lr
    .size work, . - work
