// Armv7-A/R: the scenarios in which the very instructions matter, as in measured.S. Inner labels are global symbols:
// places to measure between.

    .syntax unified

    .equ MODE_USER, 0x10
    .equ MODE_SYSTEM, 0x1F

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm

    .macro ends name
    .size \name, . - \name
    .endm

// A place inside a function. Typed, so that tools see its instruction set.
    .macro place name
    .global \name
    .type \name, %function
\name:
    .endm

    .text
    .arm
    .align 2

// Two adjacent reads of PMCCNTR
    function article_plain
    place plain_first
    mrc p15, 0, r0, c9, c13, 0
    place plain_second
    mrc p15, 0, r1, c9, c13, 0
    sub r0, r1, r0
    bx lr
    ends article_plain

// The same with one NOP between
    function article_nop
    place nop_first
    mrc p15, 0, r0, c9, c13, 0
    nop
    place nop_second
    mrc p15, 0, r1, c9, c13, 0
    sub r0, r1, r0
    bx lr
    ends article_nop

// r0 rounds; the work of a round grows with what is left
    function loop_round
    place loop_head
    mov r1, r0
1:  subs r1, #1
    bne 1b
    subs r0, #1
    bne loop_head
    bx lr
    ends loop_round

// r0: CONTEXTIDR, r1: rounds, r2: the stack. The Supervisor brings it back from there.
    function run_as_user
    push {r4, lr}
    mcr p15, 0, r0, c13, c0, 1
    isb
    mov r0, r1
    mov r1, r2
    cps #MODE_SYSTEM
    mov sp, r1
    cps #MODE_USER
    bl user_work
    svc #1
    pop {r4, pc}
    ends run_as_user

    function user_work
    push {r1, lr}
1:  subs r0, r0, #1
    bne 1b
    place user_work_end
    pop {r1, pc}
    ends user_work

// r0 rounds over the words at r1. Loads: 3 a round and 1; stores: 1 a round and 1; immediate branches: 1 a round;
// instructions: 7 a round and 2.
    function counted_arm
    push {r4, lr}
1:  ldr r3, [r1]
    ldrb r4, [r1, #5]
    add r3, r3, r4
    ldmia r1, {r3, r4}
    str r3, [r1, #32]
    subs r0, r0, #1
    bne 1b
    place counted_arm_end
    pop {r4, pc}
    ends counted_arm

// counted_arm, with another R11 each time
    function counted_apart
    push {r11, lr}
    add r11, r11, r0, lsl #4
    bl counted_arm
    pop {r11, pc}
    ends counted_apart

// The same in Thumb, with an IT block whose load is never done: 2 instructions more a round, no load more
    .thumb
    .thumb_func
    function counted_thumb
    push {r4, lr}
1:  ldr r3, [r1]
    ldrb r4, [r1, #5]
    adds r3, r3, r4
    ldmia.w r1, {r3, r4}
    str r3, [r1, #32]
    subs r0, r0, #1
    it mi
    ldrmi r3, [r1]
    bne 1b
    .thumb_func
    place counted_thumb_end
    pop {r4, pc}
    ends counted_thumb

// Copied to RAM before main
    .section .ramfunc, "ax", %progbits
    .arm
    .align 2
    function in_ram
    mov r1, #0
    place in_ram_step
    add r1, r1, r0
    subs r0, #1
    bne in_ram_step
    bx lr
    ends in_ram
