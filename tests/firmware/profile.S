// Regions that the DWT's profiling counters count, each from NAME_start to NAME_end. How much is in them is in the
// virtual board's model of the M4 (cpu/cost_m4.c there).
#ifdef CHIP_M4
#include "asm.h"

    .text
    .align 2

    .macro jump
    b 1f
    nop
1:
    .endm

// Cycles beyond the first of instructions that need several: divisions 5, jumps 2, long multiplications 1
    function dwt_cpi
    movs r1, #200
    movs r2, #7
    place dwt_cpi_start
    udiv r0, r1, r2
    udiv r0, r0, r2
    udiv r0, r1, r0
    jump
    jump
    jump
    jump
    jump
    smull r0, r2, r1, r2
    umull r0, r2, r1, r2
    place dwt_cpi_end
    bx lr
    ends dwt_cpi

// Loads and stores: a cycle for each word
    function dwt_lsu
    ldr r3, =sink
    place dwt_lsu_start
    ldr r0, [r3]
    ldr r1, [r3]
    adds r0, r1
    str r0, [r3]
    push {r4-r7}
    pop {r4-r7}
    ldrd r0, r1, [sp]
    ldm r3, {r0}
    strb r0, [r3]
    place dwt_lsu_end
    bx lr
    ends dwt_lsu

// Entry of and return from an exception
    function dwt_exc
    movs r0, #1
    place dwt_exc_start
    svc #0
    nop
    svc #1
    place dwt_exc_end
    bx lr
    ends dwt_exc

// Instructions that take no cycle: IT
    function dwt_fold
    movs r0, #1
    place dwt_fold_start
    cmp r0, #1
    it eq
    addeq r1, r0, #1
    it ne
    addne r1, r0, #2
    cmp r0, #0
    itte hi
    addhi r1, r0, #3
    addhi r1, r0, #4
    addls r1, r0, #5
    ite lo
    addlo r1, r0, #6
    addhs r1, r0, #7
    it eq
    addeq r1, r0, #8
    place dwt_fold_end
    bx lr
    ends dwt_fold
    .pool
#endif
