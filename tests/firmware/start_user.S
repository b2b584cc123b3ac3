// A program at EL0 in AArch32 state, for which kernel_v8.S is the system.
    .syntax unified
    .arm

    .section .vectors, "ax", %progbits
    .global Reset_Handler
    .type Reset_Handler, %function
Reset_Handler:
    ldr sp, =stack_top
    b start
    .pool
