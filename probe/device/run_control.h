/*
 * Run control: who stops and starts the chosen core. Either we do by its debug registers, and the core runs
 * while nothing is asked of it; or a debugger does, which halted the core when it came and lets it run only
 * when told to.
 */
#pragma once

#include "device/device.h"

struct run_control {
    /* Finds a core's state, and the PC where it was found halted. */
    bool (*look)(struct device *, struct device_core *, const struct deadline *, struct error *);
    /* Makes the chosen core, whose registers can be reached, ours; it runs from here on. */
    bool (*take)(struct device *, bool resume, const struct deadline *, struct error *);
    bool (*run_for)(struct device *, int ms, const struct deadline *, struct error *);
    /* Around the undoing of the ledger: leave the core as device->leave says. */
    bool (*before_undo)(struct device *, const struct deadline *, struct error *);
    bool (*after_undo)(struct device *, const struct deadline *, struct error *);
};

const struct run_control *run_control_of(const struct device *device);

/* The number of the core that the debugger has; `otherwise` if there is no debugger. */
size_t run_control_core(const struct device *device, size_t otherwise);
/* ERROR_NO_CORE: a debugger has another core than that one. */
bool run_control_check_core(const struct device *device, size_t number, struct error *error);
/* ERROR_NO_COUNTER: the debugger's core is an emulator's, whose counters mean nothing. */
bool run_control_check_counts(const struct device *device, const struct counter_block *block,
                              struct error *error);
