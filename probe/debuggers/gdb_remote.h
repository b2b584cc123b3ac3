/*
 * A client of the GDB remote protocol: a debugger that is a GDB server (OpenOCD, pyOCD, J-Link, Black Magic,
 * QEMU). Nothing is believed of the server: what it sends is bounded in length, and what it owes in time.
 */
#pragma once

#include "base/log.h"
#include "debuggers/debugger.h"

#include <stdint.h>

/* NULL on error: ERROR_NO_PROBE when nobody listens, ERROR_NOT_A_PROBE when it does not speak the protocol.
 */
struct debugger *gdb_remote_connect(const char *host, uint16_t port, const struct deadline *deadline,
                                    struct error *error);
/* Over a connected, non-blocking socket, which it closes in any case. */
struct debugger *gdb_remote_open(int fd, const char *name, const struct log *log,
                                 const struct deadline *deadline, struct error *error);
