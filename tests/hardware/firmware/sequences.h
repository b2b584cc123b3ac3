// Sequences of instructions, each from NAME_start to NAME_end: seq_NAME() runs one, and returns what the
// core's own counter showed around it. `empty` is what reading the counter costs.
#ifndef HARDWARE_SEQUENCES_H
#define HARDWARE_SEQUENCES_H

#include "scenario.h"

#define SEQUENCES(DO)                                                                                        \
    DO(empty)                                                                                                \
    DO(nops)                                                                                                 \
    DO(adds)                                                                                                 \
    DO(muls)                                                                                                 \
    DO(loads)                                                                                                \
    DO(stores)                                                                                               \
    DO(multiple)                                                                                             \
    DO(stack)                                                                                                \
    DO(taken)                                                                                                \
    DO(not_taken)                                                                                            \
    DO(call)                                                                                                 \
    DO(loop)                                                                                                 \
    DO(in_sram)

enum { WORDS = 8 }; // that loads and stores work on

#define DECLARE(name) uint32_t seq_##name(void);
SEQUENCES(DECLARE)

void chip_start(void);
void round_done(void);

#endif
