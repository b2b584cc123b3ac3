@ For QEMU's Cortex-M boards, whose memory needs no setting up: a loop that calls a function, and SysTick running.
    .syntax unified
    .cpu cortex-m3
    .section .vectors, "ax"
    .word 0x20008000, start + 1

    .text
    .thumb
    .thumb_func
    .global start, work, again
    .type work, %function
start:
    ldr r0, =0xE000E010
    ldr r1, =0xFFFFFF
    str r1, [r0, #4]
    movs r1, #5
    str r1, [r0]
    .thumb_func
again:
    bl work
    b again
    .thumb_func
work:
    adds r2, r2, #1
    nop
    bx lr
    .size work, . - work
