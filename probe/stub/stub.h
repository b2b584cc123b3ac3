/* SPDX-License-Identifier: MIT */
/*
 * The target stub, driven from outside: it lets the program read its own counters, and takes that back.
 * Registers that no debugger reaches are read and written by the halted core. The counters stay on when the
 * ledger is undone; all else is put back by it.
 */
#pragma once

#include "device/device.h"

#include <stdbool.h>
#include <stdint.h>

struct stub_state {
    bool has_user;   /* there is a switch for user mode */
    bool user;       /* user mode may read the counters */
    bool enabled;    /* the monitor as a whole, or the trace system that the DWT is part of */
    bool cycles;     /* the cycle counter */
    uint32_t events; /* event counters that are enabled, as bits */
    char registers[128];
};

struct stub {
    struct device *device;
    const struct deadline *deadline;
    const struct stub_way *way;
    bool by_core;              /* the halted core itself makes the accesses */
    struct address changed[6]; /* registers that are to stay as they are now */
    size_t n_changed;
};

/* Makes the core reachable; `deadline` is for all that follows. */
bool stub_open(struct stub *stub, struct device *device, const struct deadline *deadline,
               struct error *error);
bool stub_look(struct stub *stub, struct stub_state *out, struct error *error);
/* `found`: before the change; `now`: after it. If event counters are enabled, the monitor is in use: then
 * only user mode loses it. */
bool stub_change(struct stub *stub, bool on, struct stub_state *found, struct stub_state *now,
                 struct error *error);
