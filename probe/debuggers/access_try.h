/*
 * Single words of a core's memory by one of the ways to it, and whether such a way is any good: some servers
 * show a Cortex-M's registers and ignore what is written to them, which only reading back tells.
 */
#pragma once

#include "debuggers/debugger.h"

/* By ACCESS_MEMORY, ACCESS_JLINK or ACCESS_PYOCD; of 1, 2, 4 or, by the first, 8 bytes. */
bool access_read(struct debugger *debugger, enum access_way way, uint64_t at, unsigned size, uint64_t *out,
                 const struct deadline *deadline, struct error *error);
bool access_write(struct debugger *debugger, enum access_way way, uint64_t at, unsigned size, uint64_t value,
                  const struct deadline *deadline, struct error *error);

/*
 * Tries the ways to a Cortex-M's registers, one after the other, and settles debugger->access. Nothing is
 * left changed. Where none will do it is the debugger's memory, which then says itself what is wrong with it.
 * A core that is not halted to its own debug registers is an emulator's. False: the debugger itself failed.
 */
bool access_settle_m(struct debugger *debugger, const struct deadline *deadline, struct error *error);
