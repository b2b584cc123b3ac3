// A core's cross trigger interface (DDI 0487H H5 and H9.3): four channels, on which a debugger or a trigger
// input puts events, and trigger outputs that listen to them: output 0 requests Debug state and holds the
// request until it is acknowledged, output 1 restarts. All those on one debug bus are joined by a matrix,
// through their gates. Not modelled: the trigger inputs but the core's entry to Debug state, and interrupts.
#ifndef BOARD_DEVICE_CTI_H
#define BOARD_DEVICE_CTI_H

#include "bus.h"
#include "device/coresight.h"

enum { CTI_CHANNELS = 4, CTI_TRIGGERS = 8 };
enum { CTI_OUT_HALT = 0, CTI_OUT_RESTART = 1, CTI_IN_HALTED = 0 };

struct cti {
    struct placed_component is;
    struct bus *bus;
    uint32_t affinity; // MPIDR of its core
    uint8_t authstatus;
    bool locked;       // the software lock
    bool lock_for_all; // which holds for a debugger too
    bool lock_lies;    // and reads as if there were none
    uint32_t control, gate, app, in_enable[CTI_TRIGGERS], out_enable[CTI_TRIGGERS];
    uint32_t held; // trigger outputs that wait for an acknowledge
    void (*restart)(void *self);
    void (*request)(void *self); // the halt request may have changed
    void *self;
};

void cti_power_on(struct cti *);
bool cti_add(struct cti *);
// The core asks for Debug state while this holds
bool cti_requests_halt(const struct cti *);
// An event at a trigger input
void cti_input(struct cti *, unsigned input);

#endif
