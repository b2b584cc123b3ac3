// Registers that all hold something, shown in RAM over and over: as long as nobody changes one, or RAM, no word of that
// changes any more. At EL1, or (PARKED_USER) EL0. Or (PARKED_READS) half of the time EL0, which reads the cycle counter and
// goes on when that is trapped, and half of it EL1.
    .macro fill register number
    mov \register, #0x5A00 + \number
    movk \register, #0xA500 + \number, lsl #16
    movk \register, #0x3C00 + \number, lsl #48
    .endm

    .macro show register offset
    mrs x27, \register
    str x27, [x28, #\offset]
    .endm

    .equ EL0_MASKED, 0x3C0

// Changes nothing, and is easy on the emulator
    .macro idle
    .rept 4000
    nop
    .endr
    .endm

    .text
    .global start
    .type start, %function
start:
    ldr x28, =parked
    fill x0, 40
    msr elr_el1, x0
    mov x0, #0x3C5
    msr spsr_el1, x0
    fill x0, 41
    msr esr_el1, x0
    fill x0, 42
    msr far_el1, x0
    ldr x0, =round_count
    mov w1, #1
    str w1, [x0]
#ifdef PARKED_READS
    ldr x0, =reads_vectors
    msr vbar_el1, x0
reads_at_el1:
    idle
#endif
#ifdef PARKED_USER
    mov x0, sp
    msr sp_el0, x0
    mov x0, #EL0_MASKED
    msr spsr_el1, x0
    adr x0, 1f
    msr elr_el1, x0
    eret
1:
#endif
    mov x0, #0xA0000000 // N and C
    msr nzcv, x0
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 29, 30
    fill x\n, \n
    .endr
    b 1f
    .pool
1:
#ifdef PARKED_READS
    mrs x0, pmccntr_el0
    str x0, [x28]
    idle
    svc #0 // to reads_at_el1
#endif
    .global parked_loop
parked_loop:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    str x\n, [x28, #8 * \n]
    .endr
    mov x27, sp
    str x27, [x28, #248]
    show nzcv, 256
#ifndef PARKED_USER
    show elr_el1, 264
    show spsr_el1, 272
    show esr_el1, 280
    show far_el1, 288
    show daif, 296
#endif
    idle
    b parked_loop

#ifdef PARKED_READS
// An exception at EL0: to EL1 with an SVC; what else it is is counted, and passed over
    .align 11
reads_vectors:
    .space 0x400
    mrs x1, esr_el1
    lsr x1, x1, #26
    cmp x1, #0x15
    b.eq reads_at_el1
    ldr x1, =undefined_count
    ldr w2, [x1]
    add w2, w2, #1
    str w2, [x1]
    mrs x1, elr_el1
    add x1, x1, #4
    msr elr_el1, x1
    eret
    .pool
#endif

    .bss
    .align 4
    .global parked
parked: .space 512
