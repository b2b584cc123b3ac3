// Armv8-A: the same sequences in A64, by PMCCNTR_EL0, which counts while it is enabled: that is the tool's part.

    .macro symbol name
    .global \name
    .type \name, %function
\name:
    .endm

    .macro begin name
    .balign 16
    symbol seq_\name
    stp x29, x30, [sp, #-16]!
    ldr x9, =words
    mov w0, #3
    mov w1, #5
    isb
    mrs x10, pmccntr_el0
    symbol \name\()_start
    .endm

    .macro end name
    symbol \name\()_end
    mrs x11, pmccntr_el0
    sub x0, x11, x10
    ldp x29, x30, [sp], #16
    ret
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
    adds w0, w0, w1
    .endr
    end adds

    begin muls
    .rept 4
    mul w0, w1, w0
    .endr
    end muls

    begin loads
    .rept 4
    ldr w0, [x9]
    .endr
    end loads

    begin stores
    .rept 4
    str w0, [x9]
    .endr
    end stores

    begin multiple
    ldp x3, x4, [x9]
    stp x3, x4, [x9, #16]
    end multiple

    begin stack
    stp x0, x1, [sp, #-16]!
    ldp x0, x1, [sp], #16
    end stack

    begin taken
    .rept 4
    b 1f
    nop
1:
    .endr
    end taken

    begin not_taken
    cmp w0, w1
    .rept 4
    b.eq 1f
    .endr
1:
    end not_taken

    .balign 4
    symbol leaf
    ret
    .size leaf, . - leaf

    begin call
    bl leaf
    bl leaf
    end call

    begin loop // the start is passed once, the loop's head a hundred times
    mov w2, #100
1:  subs w2, w2, #1
    b.ne 1b
    end loop

// Copied to RAM before main
    .section .ramfunc, "ax", %progbits
    begin in_sram
    .rept 8
    adds w0, w0, w1
    .endr
    b 1f
    nop
1:
    end in_sram
