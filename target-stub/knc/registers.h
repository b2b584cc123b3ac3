/* SPDX-License-Identifier: MIT */
/*
 * The registers that the agent serves: only those of Knights Corner's core PMU (Intel 327357, 1.3), and only
 * of the chosen CPUs. The agent notes what a client changes, and restores it when the client is gone.
 */
#ifndef KNC_REGISTERS_H
#define KNC_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { REGISTERS_CPUS = 256, REGISTERS_KEPT = 6 };

struct served_cpu;

/* How an MSR is reached; false: the processor refuses it. `note` keeps what takes it to put a CPU back, or
 * with nothing changed forgets it; false: it cannot be kept, and nothing is written. */
struct access {
    bool (*read)(void *self, unsigned at, uint32_t msr, uint64_t *value);
    bool (*write)(void *self, unsigned at, uint32_t msr, uint64_t value);
    bool (*note)(void *self, const struct served_cpu *cpu);
    void *self;
};

struct registers {
    struct access access;
    unsigned n_cpus;
    struct served_cpu {
        uint16_t number, core;
        uint8_t changed;               /* bit i: the client wrote the register of that index in kept[] */
        uint8_t status;                /* overflow flags, as they were before the first change */
        uint8_t touched;               /* counters, as bits, that the client made behave differently */
        uint64_t spflt;                /* what the client last wrote there */
        uint64_t spflt_before;         /* and what was there before that */
        uint64_t kept[REGISTERS_KEPT]; /* all of them, as they were before the first change */
    } cpus[REGISTERS_CPUS];            /* rising numbers */
};

enum answer { ANSWER_DONE, ANSWER_REFUSED, ANSWER_FAULT };

enum answer registers_read(struct registers *registers, uint16_t cpu, uint32_t msr, uint64_t *value);
enum answer registers_write(struct registers *registers, uint16_t cpu, uint32_t msr, uint64_t value);
/* Everything as it was before the first write; false when a CPU refused. */
bool registers_put_back(struct registers *registers);

/* After notes of another agent, which was killed: its last write may be noted and not done. Then
 * registers_put_back. */
void registers_took_over(struct registers *registers);

#endif
