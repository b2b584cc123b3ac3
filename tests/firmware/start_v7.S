// Armv7-A/R: vector table at 0, stacks of the modes in use, and the way to main() in Supervisor mode, MMU off.

    .syntax unified
    .arm

    .equ MODE_USER, 0x10
    .equ MODE_IRQ, 0x12
    .equ MODE_SVC, 0x13
    .equ MODE_ABT, 0x17
    .equ MODE_UND, 0x1B
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
    b .
    b IRQ_Handler
    b .

    .macro handler name
    .global \name
    .type \name, %function
\name:
    .endm

// r0: the top of all stacks
    .macro set_stacks
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
    pop {r0, r1}
    movs pc, lr

// Counted; what was in User mode goes on in Supervisor mode
    handler SVC_Handler
    push {r0, r1}
    ldr r0, =svc_count
    ldr r1, [r0]
    add r1, r1, #1
    str r1, [r0]
    mrs r0, spsr
    tst r0, #MODE_SVC & ~MODE_USER
    orreq r0, r0, #MODE_SVC
    msreq spsr_c, r0
    pop {r0, r1}
    movs pc, lr

// There is nothing to learn from them: counted for ever
    handler Abort_Handler
    ldr r0, =abort_count
1:  ldr r1, [r0]
    add r1, r1, #1
    str r1, [r0]
    b 1b

    handler IRQ_Handler
    sub lr, lr, #4
    srsdb sp!, #MODE_IRQ
    push {r0, r1}
    ldr r0, =irq3_count
    ldr r1, [r0]
    add r1, r1, #1
    str r1, [r0]
    pop {r0, r1}
    rfeia sp!
    .pool
