// A chip's cores: each has its own bus with its private peripherals and its own record of the truth; the
// memories are the same bytes for all. A debug port leads to one of them or to all. They run in turns, a
// slice of each.
#ifndef BOARD_CORES_H
#define BOARD_CORES_H

#include "adi.h"
#include "bus.h"
#include "chip/chip.h"
#include "cpu/core.h"
#include "device/timer.h"
#include "device/trace_unit.h"
#include "pace.h"
#include "truth.h"
#include "wire/swd.h"

enum { CORES = 2, CHIP_HZ = 12000000 };

struct one_core {
    struct bus bus;
    struct truth truth;
    struct core *core;
    struct adi *adi; // the debug port that leads to it
    bool parked;     // the firmware has nothing for it: it stays in reset
};

struct cores {
    struct one_core each[CORES];
    size_t count;
    struct adi ports[CORES];
    size_t port_count;
    struct bus debug_bus; // empty where the chip has none
    struct timer timer;   // without cores where the chip has none
    struct trace_unit tracing;
    struct halt_cost *halt_cost;
    unsigned port_quirks; // ADI_*
    uint64_t passed_ns;   // for the cores, while any of them could run
    uint64_t leftover;    // of that division, in 1/hz ns
    bool by_wire;         // it passes with the wire's, whether any of them can run or not
    bool no_catch_up;     // the time in which no core could run is not made up for
    bool stood;           // none could when the last slice was over
    FILE *trace;          // of access port transactions, NULL for none
};

// The first core, whose bus has the memories; cores_add_second() once the firmware is in them. false: no
// memory.
bool cores_add_first(struct cores *, const struct chip *);
bool cores_add_second(struct cores *, const struct chip *, const char *firmware);
void cores_destroy(struct cores *);
void cores_seed(struct cores *, uint64_t seed);
void cores_set_skid(struct cores *, unsigned instructions); // see struct core
void cores_set_sample_skid(struct cores *, unsigned instructions);
// How SWD sees the debug ports; returns how many there are. `targets` has room for CORES.
size_t cores_targets(struct cores *, struct swd_target *targets);

bool cores_runnable(const struct cores *); // any of them
// One slice of each that runs, if the clock has got so far. true: there is more to run at once.
bool cores_run(struct cores *, struct pace *);
// The chip's time: what passed for its cores, and what all of them were halted, by the host's clock
uint64_t cores_now_ns(const struct cores *);
// Just so long by their own clock, whatever the host's says
void cores_run_for(struct cores *, struct pace *, uint64_t ns);
void cores_reset(struct cores *);
void cores_hold(struct cores *, bool in_reset);
void cores_power(struct cores *, bool on);
// false: there is no state of that name
bool cores_set_state(struct cores *, const char *name, bool on);

#endif
