// Armv8-A: from EL3, where the core starts, to Non-secure EL1, or with STAY_AT_EL2 to EL2, the vector table there, and the way to main(), MMU off.
// What an exception other than an interrupt or SVC hits is counted, and passed over. What did an SVC at EL0 goes on at EL1.

    .equ CORE1_STACK, 0x2000
    .equ SCR_EL1_IS_A64_NON_SECURE, 0x431
    .equ HCR_EL1_IS_A64, 0x80000000
#if STAY_AT_EL2
    .equ HCR, HCR_EL1_IS_A64 | 0x10 // IMO: EL2 takes interrupts
    .equ SPSR_MASKED, 0x3C9
#define AT_LEVEL(name) name##_el2
#else
    .equ HCR, HCR_EL1_IS_A64
    .equ SPSR_MASKED, 0x3C5
#define AT_LEVEL(name) name##_el1
#endif
    .equ EC_SVC, 0x15
    .equ SPSR_LEVEL, 0xC
    .equ SPSR_EL1H, 5
    .equ EC_ABORTS, 0x20 // to 0x25
    .equ EC_LAST_ABORT, 0x25

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm

    .section .vectors, "ax", %progbits
    function Reset_Handler
    ldr x1, =stack_top
    ldr x2, =start
    b enter_el1

    function core1_start
    ldr x1, =core1_stack + CORE1_STACK
    ldr x2, =unmask_core1

// x1: the stack, x2: where to
enter_el1:
    msr AT_LEVEL(sp), x1
    msr elr_el3, x2
    ldr x0, =SCR_EL1_IS_A64_NON_SECURE
    msr scr_el3, x0
    ldr x0, =HCR
    msr hcr_el2, x0
    ldr x0, =vectors_el1
    msr AT_LEVEL(vbar), x0
    mov x0, #SPSR_MASKED
    msr spsr_el3, x0
    eret
    .pool

    .text
    .align 2
unmask_core1:
    msr daifclr, #2
    bl core1_main
    b .

// Adds 1 to a word
    .macro count variable
    ldr x0, =\variable
    ldr w1, [x0]
    add w1, w1, #1
    str w1, [x0]
    .endm

    function Sync_Handler
    stp x0, x1, [sp, #-16]!
    mrs x0, AT_LEVEL(esr)
    lsr x0, x0, #26
    cmp x0, #EC_SVC
    b.ne 1f
    count svc_count
    mrs x0, AT_LEVEL(spsr)
    tst x0, #SPSR_LEVEL
    b.ne 4f
    mov x1, #SPSR_EL1H
    orr x0, x0, x1
    msr AT_LEVEL(spsr), x0
    b 4f
1:  sub x0, x0, #EC_ABORTS
    cmp x0, #EC_LAST_ABORT - EC_ABORTS
    b.hi 2f
    count abort_count
    b 3f
2:  count undefined_count
3:  mrs x0, AT_LEVEL(elr)
    add x0, x0, #4
    msr AT_LEVEL(elr), x0
4:  ldp x0, x1, [sp], #16
    eret

    function IRQ_Handler
    stp x0, x1, [sp, #-16]!
    count irq3_count
    ldp x0, x1, [sp], #16
    eret
    .pool

// Synchronous, IRQ, FIQ, SError; of EL1 with SP_EL0, EL1, EL0, EL0 in AArch32
    .align 11
vectors_el1:
    .rept 4
    b Sync_Handler
    .align 7
    b IRQ_Handler
    .align 7
    b .
    .align 7
    b .
    .align 7
    .endr
