// AArch32 state: the same sequences in ARM code, by PMCCNTR, which counts while it is enabled: that is the tool's part.
    .syntax unified
    .arm

    .macro symbol name
    .global \name
    .type \name, %function
\name:
    .endm

    .macro begin name
    .balign 16
    symbol seq_\name
    push {r4-r7, lr}
    ldr r4, =words
    mov r0, #3
    mov r1, #5
    isb
    mrc p15, 0, r6, c9, c13, 0
    symbol \name\()_start
    .endm

    .macro end name
    symbol \name\()_end
    mrc p15, 0, r5, c9, c13, 0
    sub r0, r5, r6
    pop {r4-r7, pc}
    .pool
    .size seq_\name, . - seq_\name
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
    mul r0, r1, r0
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

    begin not_taken
    cmp r0, r1
    .rept 4
    beq 1f
    .endr
1:
    end not_taken

    .balign 4
    symbol leaf
    bx lr
    .size leaf, . - leaf

    begin call
    bl leaf
    bl leaf
    end call

    begin loop // the start is passed once, the loop's head a hundred times
    mov r2, #100
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
