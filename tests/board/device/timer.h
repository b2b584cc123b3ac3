// The timer of the RP2040 (data sheet 4.6): microseconds in 64 bits, one for the whole chip. It goes with
// what the cores count, costs of halts included, as their SysTicks do, at a fixed number of cycles a
// microsecond. DBGPAUSE says which cores stop it while they are in Debug state: both, from power-on. Each
// core has its place in the present slice, and a timer that reads as far as that; nobody ever sees it go
// back. Not: alarms, and the tick generator of the watchdog that drives it.
#ifndef BOARD_DEVICE_TIMER_H
#define BOARD_DEVICE_TIMER_H

#include "bus.h"
#include "cpu/core.h"

enum { TIMER_CORES = 2 };

struct timer;

struct timer_seat {
    struct timer *timer;
    const struct core *core;
    uint64_t at; // the core's count when the timer's was `cycles`
};

struct timer {
    uint32_t cycles_per_us;
    struct timer_seat seats[TIMER_CORES];
    size_t count;
    uint64_t cycles; // up to the present slice
    uint64_t latest; // the greatest that was seen
    uint64_t offset; // microseconds, by which it was set
    uint32_t latched_high, written_low, dbgpause;
    bool paused;
    uint64_t paused_at;
};

// For the next core, before the core is made; timer_sit() once it is
bool timer_add(struct timer *, struct bus *, uint32_t base, uint32_t cycles_per_us);
void timer_sit(struct timer *, const struct core *);
void timer_power_on(struct timer *);
// How far a core is ahead of the present slice's begin
uint64_t timer_lead(const struct timer *, size_t core);
// It goes on though all cores may be in Debug state
bool timer_goes_on(const struct timer *);
// A slice is over in which the cores could run for that many cycles
void timer_pass(struct timer *, uint64_t cycles);

#endif
