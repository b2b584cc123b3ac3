// A small data cache, only to give cache events something to count: direct-mapped, 32 lines of 32 bytes,
// allocated by loads and stores alike. It holds no data and costs no time.
#ifndef BOARD_DEVICE_L1D_H
#define BOARD_DEVICE_L1D_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { L1D_LINES = 32, L1D_LINE = 32 };

struct l1d {
    uint32_t held[L1D_LINES]; // the number of the line's address, and 1; 0 when empty
};

static inline void l1d_empty(struct l1d *l)
{
    memset(l, 0, sizeof *l);
}

// true: it was not there and is now
static inline bool l1d_refills(struct l1d *l, uint32_t address)
{
    uint32_t line = address / L1D_LINE, *held = &l->held[line % L1D_LINES];
    bool missed = *held != line + 1;
    *held = line + 1;
    return missed;
}

#endif
