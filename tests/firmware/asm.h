/* Assembler macros for code that is measured. Labels are global and typed: a function is one to a debugger, and
   a place inside a function is something to measure from or to, in Thumb state. */

    .syntax unified
    .thumb

    .macro function name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

    .macro ends name
    .size \name, . - \name
    .endm

    .macro place name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

    .equ SYST_CVR, 0xE000E018
