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
/* Takes over a connected stream socket, even on error, without a way to connect again. Of GDB: once it has
 * died, what was done is undone through its server. */
struct debugger *gdb_remote_open(int fd, bool is_gdb, const struct log *log, const struct deadline *deadline,
                                 struct error *error);
