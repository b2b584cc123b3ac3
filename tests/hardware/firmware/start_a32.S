// Armv7-A: Supervisor mode, MMU and caches off whatever ran before, interrupts masked, our vectors. The other cores stay
// where the boot ROM keeps them.
    .syntax unified
    .arm

    .equ MODE_SVC, 0x13
    .equ SCTLR_OFF, 1 << 0 | 1 << 2 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 30 // M, C, Z, I, V, TE

    .section .vectors, "ax", %progbits
    .balign 32
vectors:
    b Reset_Handler
    .rept 7
    b .
    .endr

    .global Reset_Handler
    .type Reset_Handler, %function
Reset_Handler:
    cpsid aif, #MODE_SVC
    mrc p15, 0, r0, c1, c0, 0
    ldr r1, =SCTLR_OFF
    bic r0, r0, r1
    mcr p15, 0, r0, c1, c0, 0
    isb
    mov r0, #0
    mcr p15, 0, r0, c8, c7, 0 // TLBIALL
    mcr p15, 0, r0, c7, c5, 0 // ICIALLU
    mcr p15, 0, r0, c7, c5, 6 // BPIALL
    dsb
    isb
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0 // VBAR
    ldr sp, =stack_top
    bl start
    b .
    .pool
