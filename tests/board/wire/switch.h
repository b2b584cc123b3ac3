// The switch of a debug port between JTAG, SWD and dormant (IHI 0031, B5.2 and B5.3): it reads SWDIO/TMS
// only, and takes the sequences that are sent there.
#ifndef BOARD_WIRE_SWITCH_H
#define BOARD_WIRE_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

enum wire_mode { MODE_JTAG, MODE_SWD, MODE_DORMANT, MODE_ALERTED };

struct wire_switch {
    bool has_jtag;
    enum wire_mode mode;
    uint64_t recent[2]; // the last 128 levels, the latest in the highest bit of [1]
    unsigned left;      // of the activation code, MODE_ALERTED
};

void switch_init(struct wire_switch *, bool has_jtag);
// A cycle with this level on the line. true: the mode has changed.
bool switch_clock(struct wire_switch *, bool level);

#endif
