// A system in AArch64 state: it runs the program that lies at USER, which is in AArch32 state, at EL0, and counts what that
// asks for and interrupts. An SVC costs as much as the number of those before it says. The other core sleeps.

    .equ SCR_EL1_IS_A64_NON_SECURE, 0x431
    .equ HCR_EL1_IS_A64, 0x80000000
    .equ EL1H_MASKED, 0x3C5
    .equ USER_A32, 0x10
    .equ CONTEXT, 0x321
    .equ ROUNDS, 7

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm

    .section .vectors, "ax", %progbits
    function Reset_Handler
    ldr x0, =SCR_EL1_IS_A64_NON_SECURE
    msr scr_el3, x0
    ldr x0, =HCR_EL1_IS_A64
    msr hcr_el2, x0
    ldr x0, =vectors_el1
    msr vbar_el1, x0
    ldr x0, =stack_top
    msr sp_el1, x0
    mov x0, #EL1H_MASKED
    msr spsr_el3, x0
    adr x0, at_el1
    msr elr_el3, x0
    eret
at_el1:
    mov x0, #CONTEXT
    msr contextidr_el1, x0
    mov x0, #1
    msr pmuserenr_el0, x0
    mov x0, #USER_A32
    msr spsr_el1, x0
    ldr x0, =user_program
    msr elr_el1, x0
    eret

    function core1_start
    wfi
    b core1_start
    .pool

    .text
    function kernel_svc
    stp x0, x1, [sp, #-16]!
    ldr x0, =kernel_svcs
    ldr w1, [x0]
    add w1, w1, #1
    str w1, [x0]
    and w1, w1, #ROUNDS
1:  subs w1, w1, #1
    b.ge 1b
    ldp x0, x1, [sp], #16
    eret

    function kernel_irq
    stp x0, x1, [sp, #-16]!
    ldr x0, =kernel_irqs
    ldr w1, [x0]
    add w1, w1, #1
    str w1, [x0]
    ldp x0, x1, [sp], #16
    eret
    .pool

    .align 11
vectors_el1:
    .rept 12
    b .
    .align 7
    .endr
    b kernel_svc
    .align 7
    b kernel_irq
    .align 7
    b .

    .bss
    .global kernel_svcs, kernel_irqs
kernel_svcs: .word 0
kernel_irqs: .word 0

    .section .user, "ax", %progbits
user_program:
    .incbin USER
