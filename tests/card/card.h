/*
 * The card: a Xeon Phi's threads, their common time, and a log of what was really so at each read of a
 * counter. It runs in real time, or not at all until it is advanced.
 */
#pragma once

#include "thread.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CARD_CORES = 64, CARD_CPUS = CARD_CORES * THREADS_A_CORE };

struct card {
    unsigned n_cpus;
    struct thread threads[CARD_CPUS];
    unsigned siblings[CARD_CORES][THREADS_A_CORE];
    uint64_t tsc_offsets[CARD_CORES];
    bool runs;
    uint64_t hz;
    uint64_t cycle, at_ns; /* the cycle it was then, on the host's clock */
    FILE *truth;           /* NULL: none is kept */
};

/* `cpus` is a multiple of four. The counters begin so near their top that each of them wraps in a second. */
void card_init(struct card *card, unsigned cpus, uint64_t hz, bool runs);
/* As the card's system numbers them: CPU 0 belongs to the last core, with the last three. */
unsigned card_core_of(const struct card *card, unsigned cpu);

bool card_read(struct card *card, unsigned cpu, uint32_t msr, uint64_t *value);
bool card_write(struct card *card, unsigned cpu, uint32_t msr, uint64_t value);
/*
 * "advance CYCLES", "spflt CPU 0|1", "reset", "init", "write CPU MSR VALUE" (the last two in hexadecimal):
 * what a program on the card does, or another program to it. False: not understood.
 */
bool card_command(struct card *card, const char *line);
