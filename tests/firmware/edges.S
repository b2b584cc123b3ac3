// Regions that begin and end where SysTick is about to reload, to the cycle. A phase of 16 is where the counter reads
// 0, smaller ones are before it, greater ones after it; 0 to 31.
#include "asm.h"

    .text
    .align 2

    .equ POLL_SLED, 8   // a round of the poll takes less
    .equ PHASE_SLED, 31
    .equ ZERO_PHASE, 16
#ifdef CHIP_M4
    .equ POLL, 4        // LDR 2, CMP, BHI not taken
    .equ SLED_ENTRY, 6  // MOVS, SUBS, LSLS, ADD to PC 3
#else
    .equ POLL, 4
    .equ SLED_ENTRY, 5  // ADD to PC 2
#endif

// As many NOPs as \length - \skipped, which may be 0 to \length. Changes \skipped.
    .macro sled skipped, length
    lsls \skipped, \skipped, #1
    add pc, \skipped
    nop
    .rept \length
    nop
    .endr
    .endm

// Goes on when the tick is far enough for meet_tick. If interrupts are not masked yet none waits afterwards.
    .macro leave_tick
1:  ldr r2, [r3]
    cmp r2, #255
    bls 1b
    .endm

// Goes on when CVR is \value - r0, for r0 of 0 to 31. Interrupts are masked, r3 is SYST_CVR. Changes r1 and r2.
    .macro meet_tick value
    .equ LATEST, \value + POLL + 2 * SLED_ENTRY + POLL_SLED
2:  ldr r2, [r3]
    cmp r2, #LATEST
    bhi 2b
    movs r1, #LATEST
    subs r1, r1, r2
    sled r1, POLL_SLED
    movs r1, #PHASE_SLED
    subs r1, r1, r0
    sled r1, PHASE_SLED
    .endm

// r0, r1: phases of the start and the end; r2: rounds of 3 or 4 cycles between; r3: whether ticks are taken between.
// Both places are masked: a tick may wait there.
    function tick_edge
    push {r4-r6, lr}
    movs r4, r1
    movs r5, r2
    movs r6, r3
    ldr r3, =SYST_CVR
    leave_tick
    cpsid i
    meet_tick ZERO_PHASE
    place tick_edge_start
    cmp r6, #0
    beq 3f
    cpsie i
3:  subs r5, #1
    bne 3b
    leave_tick
    cpsid i
    movs r0, r4
    meet_tick ZERO_PHASE
    place tick_edge_end
    nop
    cpsie i
    pop {r4-r6, pc}
    ends tick_edge

// In a handler that SysTick's cannot interrupt, which begins far from the tick. r0: phase of the start, r1: rounds
    function above_tick
    mov r12, r1
    ldr r3, =SYST_CVR
    meet_tick ZERO_PHASE
    place above_tick_start
    mov r1, r12
3:  subs r1, #1
    bne 3b
    place above_tick_end
    nop
    bx lr
    ends above_tick

// Sleeps for some 100 cycles, until the tick pends; it is taken only after the end
    function dwt_sleep
    movs r0, #0
    ldr r3, =SYST_CVR
    leave_tick
    cpsid i
    meet_tick 100
    place dwt_sleep_start
    wfi
    place dwt_sleep_end
    nop
    cpsie i
    bx lr
    ends dwt_sleep
    .pool
