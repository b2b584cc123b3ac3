// Armv8-A: from whatever level the boot code leaves to Non-secure EL1, MMU and caches off, interrupts masked, our vectors.
// Core 0 alone; others wait for ever, should they get here.

    .equ SCR_EL1_IS_A64_NON_SECURE, 0x431
    .equ HCR_EL1_IS_A64, 0x80000000
    .equ EL1H_MASKED, 0x3C5
    .equ SCTLR_OFF, 1 << 0 | 1 << 2 | 1 << 12 // M, C, I

    .section .vectors, "ax", %progbits
    .global Reset_Handler
    .type Reset_Handler, %function
Reset_Handler:
    mrs x0, mpidr_el1
    tst x0, #0xFF
    b.ne wait
    mov x1, #EL1H_MASKED
    ldr x2, =HCR_EL1_IS_A64
    ldr x3, =at_el1
    mrs x0, CurrentEL
    lsr x0, x0, #2
    cmp x0, #2
    b.lo at_el1
    msr hcr_el2, x2
    b.eq 1f
    ldr x0, =SCR_EL1_IS_A64_NON_SECURE
    msr scr_el3, x0
    msr spsr_el3, x1
    msr elr_el3, x3
    eret

1:  mrs x0, pmcr_el0 // all event counters to EL1, no trap: MDCR_EL2.HPMN = PMCR_EL0.N
    ubfx x0, x0, #11, #5
    msr mdcr_el2, x0
    msr spsr_el2, x1
    msr elr_el2, x3
    eret

at_el1:
    mrs x0, sctlr_el1
    ldr x1, =SCTLR_OFF
    bic x0, x0, x1
    msr sctlr_el1, x0
    isb
    ic iallu
    dsb sy
    isb
    ldr x0, =vectors_el1
    msr vbar_el1, x0
    ldr x0, =stack_top
    mov sp, x0
    bl start
    b .

wait:
    wfe
    b wait
    .pool

    .text
    .balign 2048
vectors_el1:
    .rept 16
    b .
    .balign 128
    .endr
