// The scenarios in which the very instructions matter.

#include "asm.h"

    .text
    .align 2

// Two adjacent reads of SysTick
    function article_plain
    ldr r3, =SYST_CVR
    place plain_first
    ldr r0, [r3]
    place plain_second
    ldr r1, [r3]
    subs r0, r0, r1
    bx lr
    ends article_plain

// The same with one NOP between
    function article_nop
    ldr r3, =SYST_CVR
    place nop_first
    ldr r0, [r3]
    nop
    place nop_second
    ldr r1, [r3]
    subs r0, r0, r1
    bx lr
    ends article_nop

// r0 rounds; the work of a round grows with what is left
    function loop_round
    place loop_head
    movs r1, r0
1:  subs r1, #1
    bne 1b
    subs r0, #1
    bne loop_head
    bx lr
    ends loop_round

// Spins until SysTick is about to reload, then some 400 cycles
    function reload_inside
    ldr r3, =SYST_CVR
1:  ldr r0, [r3]
    cmp r0, #200
    bhi 1b
    place reload_begin
    movs r0, #130
2:  subs r0, #1
    bne 2b
    place reload_end
    nop
    bx lr
    ends reload_inside

// More than 1,500,000 cycles: longer than a period of the ticking build
    function long_region
    place long_begin
    ldr r0, =520000
1:  subs r0, #1
    bne 1b
    place long_end
    nop
    bx lr
    ends long_region

// An interrupt becomes pending just before the start, and before the end: what r0 and r1 are written to NVIC_ISPR. r2 rounds
    function pended
    ldr r3, =0xE000E200
    str r0, [r3]
    place pended_start
    nop
1:  subs r2, #1
    bne 1b
    str r1, [r3]
    place pended_end
    nop
    bx lr
    ends pended

#ifdef CHIP_M4
// Begins with a 32-bit instruction; an IT block and a division inside
    function wide_entry
    movw r1, #0xABCD
    udiv r2, r1, r0
    cmp r2, #100
    ite hi
    addhi r2, r2, #1
    subls r2, r2, #1
    ldr.w r3, =sink
    str.w r2, [r3]
    bx lr
    ends wide_entry
#endif
    .pool

// Copied to RAM before main
    .section .ramfunc, "ax", %progbits
    .align 2
    function in_ram
    movs r1, #0
    place in_ram_step
    adds r1, r1, r0
    subs r0, #1
    bne in_ram_step
    bx lr
    ends in_ram
