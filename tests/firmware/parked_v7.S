// Registers that all hold something, shown in RAM over and over: as long as nobody changes one, or RAM, no word of that
// changes any more. In Supervisor mode and, for moments of each round, others; or (STAY_IN_HYP) in Hyp mode; or (PARKED_USER) in User mode. Or
// (PARKED_READS) User mode that reads the cycle counter, and goes on when that is undefined.
    .syntax unified
#ifdef __thumb__
    .thumb
#else
    .arm
#endif

    .equ MODE_USR, 0x10
    .equ MODE_SVC, 0x13
    .equ MODE_ABT, 0x17
    .equ MODE_UND, 0x1B

// A separate value in each
    .macro fill register number
    movw \register, #0x5A00 + \number
    movt \register, #0xA500 + \number
    .endm

#if STAY_IN_HYP
// Those of Hyp mode: HSR, HDFAR, HIFAR
    .macro fault_registers instruction
    \instruction p15, 4, r11, c5, c2, 0
    str r11, [r12, #60]
    \instruction p15, 4, r11, c6, c0, 0
    str r11, [r12, #64]
    \instruction p15, 4, r11, c6, c0, 2
    str r11, [r12, #68]
    .endm

    .macro fill_modes
    fill r0, 20
    msr elr_hyp, r0
    movw r0, #0x01D0
    msr spsr_cxsf, r0
    .endm

    .macro show_modes
    mrs r11, elr_hyp
    str r11, [r12, #76]
    mrs r11, spsr
    str r11, [r12, #80]
    .endm
#else
    .macro fault_registers instruction
    \instruction p15, 0, r11, c5, c0, 0
    str r11, [r12, #60]
    \instruction p15, 0, r11, c5, c0, 1
    str r11, [r12, #64]
    \instruction p15, 0, r11, c6, c0, 0
    str r11, [r12, #68]
    \instruction p15, 0, r11, c6, c0, 2
    str r11, [r12, #72]
    .endm

    .macro fill_mode mode number
    cps #\mode
    fill r0, \number
    mov lr, r0
    movw r0, #0x01D0
    msr spsr_cxsf, r0
    cps #MODE_SVC
    .endm

    .macro show_mode mode offset
    cps #\mode
    str lr, [r12, #\offset]
    mrs r11, spsr
    str r11, [r12, #\offset + 4]
    cps #MODE_SVC
    .endm

    .macro fill_modes
    fill_mode MODE_ABT, 20
    fill_mode MODE_UND, 21
    .endm

    .macro show_modes
    show_mode MODE_ABT, 76
    show_mode MODE_UND, 84
    .endm
#endif

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
    ldr r12, =parked
    fill r11, 11
    fault_registers mcr
    fill_modes
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    fill r\n, \n
    .endr
    mov lr, #1
    ldr r11, =round_count
    str lr, [r11]
#ifdef PARKED_USER
    ldr r11, =stack_top
    cps #MODE_USR
    mov sp, r11
#endif
    movw r11, #0
    movt r11, #0xA000 // N and C
    msr cpsr_f, r11
    fill lr, 14
    b 1f
    .pool
1:
#ifdef PARKED_READS
1:  mrc p15, 0, r0, c9, c13, 0
    str r0, [r12]
    idle
    b 1b
#endif
    .global parked_loop
parked_loop:
    stm r12, {r0-r11}
    str sp, [r12, #48]
    str lr, [r12, #52]
    mrs r11, cpsr
    str r11, [r12, #56]
#ifndef PARKED_USER
    fault_registers mrc
    show_modes
#endif
    idle
    b parked_loop

    .bss
    .align 3
    .global parked
parked: .space 128
