/*
 * Memory by the commands that a server's `monitor` has for it, which may reach where its memory packets do
 * not. Two dialects are known: a J-Link GDB server's and pyOCD's. What a server prints is only ever searched
 * for a number.
 */
#pragma once

#include "debuggers/debugger.h"

enum monitor_dialect { MONITOR_JLINK, MONITOR_PYOCD };

/* Of 1, 2 or 4 bytes. ERROR_FAULT: the server has no such command, or cannot; what it said is in the text. */
bool monitor_memory_read(struct debugger *debugger, enum monitor_dialect dialect, uint64_t at, unsigned size,
                         uint64_t *out, const struct deadline *deadline, struct error *error);
bool monitor_memory_write(struct debugger *debugger, enum monitor_dialect dialect, uint64_t at, unsigned size,
                          uint64_t value, const struct deadline *deadline, struct error *error);
