/* SPDX-License-Identifier: MIT */
/*
 * OpenOCD's Tcl interpreter through a debugger's `monitor` command: the same conversation as on its Tcl port.
 * It reaches registers that the core itself cannot see, such as the debug registers of a Cortex-A.
 */
#pragma once

#include "debuggers/debugger.h"
#include "links/openocd_tcl.h"

#include <stddef.h>

enum { OPENOCD_MONITOR_LINE = 3072, OPENOCD_MONITOR_REPLY = 16384 };

struct openocd_monitor {
    struct tcl_transport transport; /* its context is this struct */
    struct debugger *debugger;
    bool prepared;
    struct error why; /* the last request failed so, or ERROR_NONE */
    char line[OPENOCD_MONITOR_LINE], reply[OPENOCD_MONITOR_REPLY];
};

void openocd_monitor_init(struct openocd_monitor *monitor, struct debugger *debugger);
/* The name of the debugger's OpenOCD target: `target current`. */
bool openocd_monitor_target(struct openocd_monitor *monitor, char *out, size_t size,
                            const struct deadline *deadline, struct error *error);
/* The mark of links/claim.h in OpenOCD, as openocd-cfg/pmu.tcl keeps it; `mine` is set if there is none, or
 * if it is `dead`. */
bool openocd_monitor_mark(struct openocd_monitor *monitor, const char *mine, const char *dead, char *found,
                          size_t size, const struct deadline *deadline, struct error *error);
bool openocd_monitor_unmark(struct openocd_monitor *monitor, const char *mine,
                            const struct deadline *deadline, struct error *error);
/* How the open link through it (links/openocd.h) reaches that target, in words. */
bool openocd_monitor_way(struct openocd_monitor *monitor, char *out, size_t size,
                         const struct deadline *deadline, struct error *error);
