// How fast a core's time may pass: never ahead of the clock that the board is to have, and, when the
// host was busy or the core halted, with at most a little of the lost time made up for.
#ifndef BOARD_PACE_H
#define BOARD_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    uint32_t hz;
    uint32_t idle_hz;  // while nobody has asked the board for anything for a millisecond
    bool used;         // something is asked of it now
    bool idle;         // nothing is, as of the last check
    uint64_t last_use; // host nanoseconds
    uint64_t last;     // host nanoseconds of the last check
    uint64_t leftover; // cycles that are left of the division, in 1/1e9
    int64_t credit;    // cycles that may be run now; below 0: the last slice ended a little late
};

uint64_t pace_now_ns(void); // the host's clock
void pace_start(struct pace *, uint32_t hz, uint32_t idle_hz);
// Cycles that may be run now; the caller subtracts what it ran by pace_spent
uint64_t pace_credit(struct pace *);
void pace_spent(struct pace *, uint64_t cycles);
// How long the cores may be left alone when nothing is asked
int pace_nap_ms(const struct pace *);
// Cycles of so long a time, which passes now whatever the host's clock says
uint64_t pace_skip(struct pace *, uint64_t ns);

#endif
