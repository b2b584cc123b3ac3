/* SPDX-License-Identifier: MIT */
/*
 * The agent's state file: what takes it to put back the registers that a client changed, should the agent be
 * killed. Records of a fixed size: the header, then one for each CPU by its number, of zeros while nothing of
 * it is changed. An empty file says that there is nothing to put back. A record is written before the
 * register is, and is not synced: what loses it, a crash of the whole card, resets the registers too, and the
 * boot's identity in the header then shows that the file is of no more use.
 */
#ifndef KNC_STATE_H
#define KNC_STATE_H

#include "registers.h"

#include <stddef.h>

enum {
    STATE_RECORD = 128,
    STATE_BOOT = 36, /* as in /proc/sys/kernel/random/boot_id */
    STATE_MOST = STATE_RECORD * (1 + REGISTERS_CPUS)
};

enum state_fit { STATE_EMPTY, STATE_FITS, STATE_OTHER_BOOT, STATE_GARBLED };

void state_header(uint8_t *record, const uint8_t *boot);
void state_record(uint8_t *record, const struct served_cpu *cpu);
size_t state_place(const struct served_cpu *cpu);
/*
 * Reads a whole file, of n bytes, into those of the CPUs that it names. *foreign is the number of one that
 * is not among them, and -1 if all are. Nothing is changed unless the file fits and all are.
 */
enum state_fit state_read(const uint8_t *file, size_t n, const uint8_t *boot, struct registers *registers,
                          int *foreign);

#endif
