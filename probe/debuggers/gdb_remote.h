/*
 * A client of the GDB remote protocol: a debugger that is a GDB server (OpenOCD, pyOCD, J-Link, Black Magic,
 * QEMU), or GDB itself through our Python (gdb-scripts/pmu_engine.py). The other end is not trusted: answers
 * are bounded in length and in time.
 */
#pragma once

#include "base/log.h"
#include "debuggers/debugger.h"

#include <stdint.h>

/* NULL on error. ERROR_NO_PROBE: no server listens there; ERROR_NOT_A_PROBE: it does not speak the protocol.
 * A lost connection is made again to undo what was done. */
struct debugger *gdb_remote_connect(const char *host, uint16_t port, const struct log *log,
                                    const struct deadline *deadline, struct error *error);
/* GDB at the other end of a stream socket, which is taken over, even on error. Once GDB has died, what was
 * done is undone through its server. */
struct debugger *gdb_remote_attend(int fd, const struct log *log, const struct deadline *deadline,
                                   struct error *error);
/* Without a way to connect again. Takes over a connected, non-blocking socket, even on error. */
struct debugger *gdb_remote_open(int fd, const char *name, const struct log *log,
                                 const struct deadline *deadline, struct error *error);
