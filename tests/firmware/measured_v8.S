// Armv8-A: the scenarios in which the very instructions matter, as in measured.S. Inner labels are global symbols: places
// to measure between.

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm

    .macro ends name
    .size \name, . - \name
    .endm

    .macro place name
    .global \name
    .type \name, %function
\name:
    .endm

    .text
    .align 2

// Two adjacent reads of PMCCNTR_EL0
    function article_plain
    place plain_first
    mrs x0, pmccntr_el0
    place plain_second
    mrs x1, pmccntr_el0
    sub x0, x1, x0
    ret
    ends article_plain

// The same with one NOP between
    function article_nop
    place nop_first
    mrs x0, pmccntr_el0
    nop
    place nop_second
    mrs x1, pmccntr_el0
    sub x0, x1, x0
    ret
    ends article_nop

// w0 rounds; the work of a round grows with what is left
    function loop_round
    place loop_head
    mov w1, w0
1:  subs w1, w1, #1
    b.ne 1b
    subs w0, w0, #1
    b.ne loop_head
    ret
    ends loop_round

// w0: CONTEXTIDR, w1: rounds, x2: the stack. The handler of SVC brings it back from EL0.
    function run_as_user
    stp x29, x30, [sp, #-16]!
    msr contextidr_el1, x0
    isb
    msr sp_el0, x2
    adr x3, 1f
    msr elr_el1, x3
    mrs x3, daif
    msr spsr_el1, x3
    mov w0, w1
    eret
1:  bl user_work
    svc #1
    ldp x29, x30, [sp], #16
    ret
    ends run_as_user

    function user_work
    stp x29, x30, [sp, #-16]!
1:  subs w0, w0, #1
    b.ne 1b
    place user_work_end
    ldp x29, x30, [sp], #16
    ret
    ends user_work

// w0 rounds over the words at x1. Loads: 3 a round and 1; stores: 1 a round and 1; immediate branches: 2 a round;
// instructions: 9 a round and 3.
    function counted_a64
    stp x29, x30, [sp, #-16]!
1:  ldr w3, [x1]
    ldrb w4, [x1, #5]
    add w3, w3, w4
    ldp w4, w5, [x1]
    cbz wzr, 2f
    nop
2:  str w3, [x1, #32]
    sub w0, w0, #1
    mov w6, w0
    cbnz w6, 1b
    place counted_a64_end
    ldp x29, x30, [sp], #16
    ret
    ends counted_a64

// counted_a64, with another frame pointer each time
    function counted_apart
    stp x29, x30, [sp, #-16]!
    add x29, x29, w0, uxtw #4
    bl counted_a64
    ldp x29, x30, [sp], #16
    ret
    ends counted_apart

// Copied to RAM before main
    .section .ramfunc, "ax", %progbits
    .align 2
    function in_ram
    mov w1, #0
    place in_ram_step
    add w1, w1, w0
    subs w0, w0, #1
    b.ne in_ram_step
    ret
    ends in_ram
