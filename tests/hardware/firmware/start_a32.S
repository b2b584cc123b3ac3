// Armv7-A, and AArch32 state of Armv8: Supervisor mode, MMU and caches off whatever ran before, interrupts masked, our
// vectors. Other cores stay where the boot ROM keeps them; where there is none, as in QEMU, they wait here. Hyp mode, in which a Cortex-R52 and a Raspberry Pi start, is left.
    .syntax unified
    .arm
    .arch_extension virt

    .equ MODES, 0x1F
    .equ MODE_HYP, 0x1A
    .equ MODE_SVC, 0x13
    .equ MASKED, 0x1C0
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
    mrc p15, 0, r0, c0, c0, 5 // MPIDR
    ands r0, r0, #0xFF
waits:
    wfine
    bne waits
    mrs r0, cpsr
    and r0, r0, #MODES
    cmp r0, #MODE_HYP
    bne 1f
    mov r0, #MODE_SVC
    orr r0, r0, #MASKED
    msr spsr_cxsf, r0
    ldr r0, =1f
    msr elr_hyp, r0
    eret
1:  cpsid aif, #MODE_SVC
#if __ARM_ARCH_PROFILE != 'R' // which has no MMU; its caches are off after a reset
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
#endif
    ldr sp, =stack_top
    bl start
    b .
    .pool
