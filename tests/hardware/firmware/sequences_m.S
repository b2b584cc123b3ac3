// Cortex-M: the sequences in instructions that all of them have. SysTick counts where there is no CYCCNT.
#include "asm.h"

#ifdef __ARM_ARCH_6M__
    .equ COUNTER, SYST_CVR
#else
    .equ COUNTER, 0xE0001004 // DWT_CYCCNT
#endif

    .macro begin name
    .balign 4
    function seq_\name
    push {r4-r7, lr}
    ldr r7, =COUNTER
    ldr r4, =words
    movs r0, #3
    movs r1, #5
    .balign 4
    nop
    ldr r6, [r7]
    place \name\()_start // at an address that is a multiple of four
    .endm

    .macro end name
    place \name\()_end
    ldr r5, [r7]
#ifdef __ARM_ARCH_6M__
    subs r0, r6, r5
    lsls r0, r0, #8
    lsrs r0, r0, #8
#else
    subs r0, r5, r6
#endif
    pop {r4-r7, pc}
    .pool
    ends seq_\name
    .endm

    .text
    begin empty
    end empty

    begin nops
    .rept 10
    nop
    .endr
    end nops

    begin adds
    .rept 8
    adds r0, r0, r1
    .endr
    end adds

    begin muls
    .rept 4
    muls r0, r1, r0
    .endr
    end muls

    begin loads
    .rept 4
    ldr r0, [r4]
    .endr
    end loads

    begin stores
    .rept 4
    str r0, [r4]
    .endr
    end stores

    begin multiple
    ldmia r4!, {r0-r3}
    stmia r4!, {r0-r3}
    end multiple

    begin stack
    push {r0-r3}
    pop {r0-r3}
    end stack

    begin taken
    .rept 4
    b 1f
    nop
1:
    .endr
    end taken

    begin not_taken // MOVS left Z clear
    .rept 4
    beq 1f
    .endr
1:
    end not_taken

    .balign 4
    function leaf
    bx lr
    ends leaf

    begin call
    bl leaf
    bl leaf
    end call

    begin loop // the start is passed once, the loop's head a hundred times
    movs r2, #100
1:  subs r2, r2, #1
    bne 1b
    end loop

// Copied to RAM before main
    .section .ramfunc, "ax", %progbits
    begin in_sram
    .rept 8
    adds r0, r0, r1
    .endr
    b 1f
    nop
1:
    end in_sram
