// A core's cross trigger interface (DDI 0487H H5 and H9.3; DDI 0314H for that of Armv7 cores): four channels,
// on which a debugger or a trigger input puts events, and trigger outputs that listen to them: output 0
// requests Debug state and holds the request until it is acknowledged, another one restarts. Of the inputs
// there are the core's entry to Debug state, an event, and the interrupt request of its performance monitor,
// a level: while it lasts, so does what it does to the outputs. All those on one debug bus are joined by a
// matrix, through their gates. Not modelled: the other trigger inputs, and interrupts.
#ifndef BOARD_DEVICE_CTI_H
#define BOARD_DEVICE_CTI_H

#include <stdio.h>

#include "bus.h"
#include "device/coresight.h"

enum { CTI_CHANNELS = 4, CTI_TRIGGERS = 8 };
enum { CTI_OUT_HALT = 0, CTI_IN_HALTED = 0, CTI_IN_OVERFLOW = 1 };
enum { PMU_IRQ = 3 }; // of an overflow, where it is an interrupt, too

struct cti {
    struct placed_component is;
    struct bus *bus;
    uint32_t affinity; // MPIDR of its core, where it says that
    unsigned restarts; // the trigger output that does
    uint8_t authstatus;
    bool locked;       // the software lock
    bool lock_for_all; // which holds for a debugger too
    bool lock_lies;    // and reads as if there were none
    bool has_control;  // CTIDEVCTL: FEAT_DoPD
    uint32_t devctl, control, gate, app, in_enable[CTI_TRIGGERS], out_enable[CTI_TRIGGERS];
    uint32_t inputs; // trigger inputs that are high
    uint32_t held;   // trigger outputs that wait for an acknowledge
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
// A trigger input that is a level
void cti_set_input(struct cti *, unsigned input, bool high);
// Whether it would have an effect
// FEAT_DoPD: CTIDEVCTL is there, and CTIDEVARCH says so
void cti_set_dopd(struct cti *, bool on);
bool cti_listens(const struct cti *, unsigned input);
void cti_print(const struct cti *, FILE *json); // members of an object, each after a comma

#endif
