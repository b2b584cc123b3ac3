/*
 * The target stub, driven from outside: it lets the program read its own counters, and takes that back.
 * Registers that a debugger can write are written; else the stub's code is put into the core's RAM and run
 * there. The counters stay on when the ledger is undone; all else is put back by it.
 */
#pragma once

#include "device/device.h"
#include "stub/injected_code.h"

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
    const struct stub_way *way;
    struct injected_code *injected; /* NULL: no code is needed */
    uint64_t before[2];             /* what the code returned at first */
    struct address changed[4];      /* registers that are to stay as they are now */
    size_t n_changed;
};

/* Makes the core reachable. `at`: the address for the code, which is then used even if registers would do;
 * NULL: registers if possible, else code at an address of our choice. The stub must outlive the undoing of
 * the device's ledger. */
bool stub_open(struct stub *stub, struct device *device, const uint64_t *at, const struct deadline *deadline,
               struct error *error);
void stub_close(struct stub *stub);
bool stub_look(struct stub *stub, struct stub_state *out, const struct deadline *deadline,
               struct error *error);
/* `found`: before the change; `now`: after it. */
bool stub_enable(struct stub *stub, struct stub_state *found, struct stub_state *now,
                 const struct deadline *deadline, struct error *error);
/* If event counters are enabled, the monitor is in use: then only user mode loses it. */
bool stub_disable(struct stub *stub, struct stub_state *found, struct stub_state *now,
                  const struct deadline *deadline, struct error *error);
/* Leaves the code in RAM. ERROR_USAGE: there is none. */
bool stub_leave_code(struct stub *stub, struct error *error);
