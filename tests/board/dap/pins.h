// The debug connector as a probe's firmware moves it: one SWCLK/TCK, SWDIO shared with TMS, TDI, TDO, nRESET.
#ifndef BOARD_DAP_PINS_H
#define BOARD_DAP_PINS_H

#include <stdbool.h>
#include <stdint.h>

#include "front/jtag.h"
#include "wire/swd.h"

struct pins {
    struct swd swd;
    struct jtag jtag;
    bool has_jtag; // the chip's port can be switched to JTAG
    bool trst_low; // its TAP is held in reset
    void (*reset)(void *self, bool held);
    void *self;
    uint64_t clocks;
};

// One cycle. `driven`: the host drives `io` on SWDIO/TMS; else the line is released. Returns SWDIO's level.
bool pins_clock(struct pins *, bool driven, bool io, bool tdi);
bool pins_tdo(const struct pins *);

#endif
