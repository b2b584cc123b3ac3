// How fast a core's time may pass: never ahead of the clock that the board is said to have, and, when the
// host was busy or the core halted, with at most a little of the lost time made up for. A probe's packet runs
// it ahead by the time that its bits take on the wire: that is owed, or, at will, forgiven.
#ifndef BOARD_PACE_H
#define BOARD_PACE_H

#include <stdint.h>

struct pace {
    uint32_t hz;
    uint64_t last;     // host nanoseconds of the last look
    uint64_t leftover; // cycles that did not come out even, in 1/1e9
    uint64_t rest;     // the same of the time that was granted ahead
    int64_t credit;    // cycles that may be run now; below 0 when some were run ahead
};

uint64_t pace_now_ns(void); // the host's clock
void pace_start(struct pace *, uint32_t hz);
// Cycles that may be run now; the caller subtracts what it ran by pace_spent
uint64_t pace_credit(struct pace *);
void pace_spent(struct pace *, uint64_t cycles);
// Cycles that make up so much time, to be run ahead of the host's clock
uint64_t pace_grant(struct pace *, uint64_t ns);
// Forgets how far time ran ahead, and starts from the host's time now
void pace_forgive(struct pace *);

#endif
