// Armv7-A/R and Armv8-R: vector table at 0, stacks of the modes in use, and the way to main() in Supervisor mode, MMU off.
// With STAY_IN_HYP all of it is in Hyp mode, where an Armv8-R core starts. In that mode exceptions return by ERET to ELR_hyp.

    .syntax unified
    .arm

    .equ MODE_USER, 0x10
    .equ MODE_IRQ, 0x12
    .equ MODE_SVC, 0x13
    .equ MODE_ABT, 0x17
    .equ MODE_UND, 0x1B
    .equ MASKED, 0xC0
    .equ HCR_IMO, 0x10 // Hyp mode takes interrupts
    .equ STACK, 0x400
    .equ CORE1_STACK, 0x2000

    .section .vectors, "ax", %progbits
    .global vectors
vectors:
    b Reset_Handler
    b Undefined_Handler
    b SVC_Handler
    b Abort_Handler
    b Abort_Handler
    b . // HVC of a lower level, and traps
    b IRQ_Handler
    b .

    .macro handler name
    .global \name
    .type \name, %function
\name:
    .endm

#if STAY_IN_HYP
// r0: the top of the stack
    .macro set_stacks
    mov sp, r0
    ldr r0, =vectors
    mcr p15, 4, r0, c12, c0, 0
    mov r0, #HCR_IMO
    mcr p15, 4, r0, c1, c1, 0
    isb
    .endm

    .macro return
    eret
    .endm
#else
    .macro return
    movs pc, lr
    .endm

// r0: the top of all stacks
    .macro set_stacks
#if __ARM_ARCH >= 8 && __ARM_ARCH_PROFILE == 'R'
    mov r1, #MODE_SVC | MASKED
    msr spsr_cxsf, r1
    ldr r1, =1f
    msr elr_hyp, r1
    eret
1:
#endif
    cpsid if, #MODE_IRQ
    mov sp, r0
    sub r0, r0, #STACK
    cpsid if, #MODE_ABT
    mov sp, r0
    sub r0, r0, #STACK
    cpsid if, #MODE_UND
    mov sp, r0
    sub r0, r0, #STACK
    cpsid if, #MODE_SVC
    mov sp, r0
    .endm
#endif

    .text
    handler Reset_Handler
    ldr r0, =stack_top
    set_stacks
    bl start
    b .

    .global core1_start
    .type core1_start, %function
core1_start:
    ldr r0, =core1_stack + CORE1_STACK
    set_stacks
    cpsie i
    bl core1_main
    b .

// Counted, and passed over
    handler Undefined_Handler
    push {r0, r1}
    ldr r0, =undefined_count
    ldr r1, [r0]
    add r1, r1, #1
    str r1, [r0]
#if STAY_IN_HYP
    mrs r0, elr_hyp
    add r0, r0, #4
    msr elr_hyp, r0
#endif
    pop {r0, r1}
    return

// Counted; what was in User mode goes on in Supervisor mode
    handler SVC_Handler
    push {r0, r1}
    ldr r0, =svc_count
    ldr r1, [r0]
    add r1, r1, #1
    str r1, [r0]
#if !STAY_IN_HYP
    mrs r0, spsr
    tst r0, #MODE_SVC & ~MODE_USER
    orreq r0, r0, #MODE_SVC
    msreq spsr_c, r0
#endif
    pop {r0, r1}
    return

// There is nothing to learn from them: counted for ever
    handler Abort_Handler
    ldr r0, =abort_count
1:  ldr r1, [r0]
    add r1, r1, #1
    str r1, [r0]
    b 1b

    handler IRQ_Handler
#if !STAY_IN_HYP
    sub lr, lr, #4
    srsdb sp!, #MODE_IRQ
#endif
    push {r0, r1}
    ldr r0, =irq3_count
    ldr r1, [r0]
    add r1, r1, #1
    str r1, [r0]
    pop {r0, r1}
#if STAY_IN_HYP
    return
#else
    rfeia sp!
#endif
    .pool
