// Regions of 10, 10^3, 10^6 and 10^8 cycles from NAME_start to NAME_end, one loop each, nothing else. Exact on the
// virtual board's models: the M0+ takes 2 + 3 N - 1, the M4 2 + 4 N - 2.
#include "asm.h"

    .text
    .align 2

    .macro span name, rounds, nops
    .align 2
    function \name
    movs r1, #0
    place \name\()_start
    ldr r0, 2f // not "=", which the assembler turns into a MOV where it can
    .rept \nops
    nop
    .endr
1:  subs r0, #1
    bne 1b
    place \name\()_end
    bx lr
    .align 2
2:  .word \rounds
    ends \name
    .endm

#ifdef CHIP_M4
    span span_10, 2, 2
    span span_1k, 250, 0
    span span_1m, 250000, 0
    span span_100m, 25000000, 0
#else
    span span_10, 3, 0
    span span_1k, 333, 0
    span span_1m, 333333, 0
    span span_100m, 33333333, 0
#endif

// r0 rounds. In the build that is slower, one NOP more, which fills what is padding in the other one: no other
// address in the program differs.
    .align 2
    function nop_more
    movs r1, #0
1:  adds r1, #3
    subs r0, #1
    bne 1b
#ifdef SLOWER
    nop
#endif
    bx lr
    ends nop_more
    .align 2

// r0 rounds; by default several ticks of a millisecond
    function suspended_span
    movs r1, #0
1:  subs r0, #1
    bne 1b
    bx lr
    ends suspended_span
