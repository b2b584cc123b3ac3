// A core as the rest of the board sees it: something that runs for some cycles, can be reset and described.
// What kind it is is known to the operations only, so that a board may have several of different kinds.
#ifndef BOARD_CPU_CORE_H
#define BOARD_CPU_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bus.h"
#include "cpu/halt_cost.h"
#include "rng.h"
#include "truth.h"

struct core;
struct trace_log;
struct trace_unit;

enum { SAMPLE_SKID_MOST = 2 };

struct core_ops {
    bool (*runnable)(const struct core *); // false in Debug state, while held in reset, without power
    void (*run)(struct core *, uint64_t cycles);
    void (*reset)(struct core *);
    void (*hold)(struct core *, bool in_reset); // the reset line; letting go resets
    void (*power)(struct core *, bool on);      // on: nothing is left, of debugging neither
    bool (*interrupt)(struct core *, unsigned irq);
    // Puts it into, or out of, a state that a debugger may meet, by name; NULL: there is none.
    // false: it has none of that name
    bool (*set_state)(struct core *, const char *name, bool on);
    void (*describe)(struct core *, FILE *json); // members of an object, without the braces
    struct trace_log *(*trace)(struct core *);   // up to now; NULL: it has none
    void (*destroy)(struct core *);
};

// The parameters of a core. Each kind has a function that takes them.
struct core_plan {
    const void *profile;   // of that kind
    unsigned number;       // among the chip's cores
    uint32_t start;        // its vector table, or its first instruction
    struct bus *bus;       // the memories are on it
    struct bus *debug_bus; // the chip's, for debug components that are there and not on the core's own bus
    struct truth *truth;
    struct halt_cost *halt_cost;
    struct trace_unit *trace_unit; // the chip's; NULL where nothing can be traced
};

struct core {
    const struct core_ops *ops;
    struct bus *bus;
    struct truth *truth;
    struct halt_cost *halt_cost;
    uint64_t cycles;  // of the program: instructions, exception entry and return, sleep
    uint64_t counted; // what the counters saw: cycles and the costs of halts
    uint64_t instructions;
    uint64_t halts;
    bool in_debug; // in Debug state
    uint64_t stood_ns,
        stands_since;        // by the host's clock: in earlier stays there, and since when in this one
    const uint64_t *wire_ns; // how long the probe's wire was busy so far,
    uint64_t stood_wire_ns,  // how long in stays in Debug state that are over,
        wire_since;          // and before this one
    // Instructions that still execute after the event of a counter that stops the core
    unsigned skid;

    // The PC sample, see core.c
    uint64_t notice;                  // a cycle beyond it must be noted
    uint64_t sample_from, sample_due; // the first cycle of those it may be, and the next one to be taken
    uint32_t sample;
    struct rng chance;
    unsigned sample_skid;              // a sample has the address of the instruction this many before
    uint32_t behind[SAMPLE_SKID_MOST]; // the last ones, the newest first
};

#define NO_SAMPLE    UINT32_MAX // nothing has executed since a reset
#define THUMB_SAMPLE 1u         // in an address: where a sample says which instruction set it was

void core_enter_debug(struct core *);
void core_leave_debug(struct core *);        // also where it is not in it
uint64_t core_stood_ns(const struct core *); // in Debug state so far, by the host's clock
void core_begin(struct core *);              // it runs from here on
uint32_t core_sample(struct core *);
void core_forget_sample(struct core *);
bool core_note(struct core *, uint32_t address, bool asleep, uint64_t cycles);
// Starts the profile anew, or ends it. false: no memory
bool core_profile(struct core *, bool on);

// All of the program's time passes here. true: there is a new PC sample.
static inline bool core_spend(struct core *core, uint32_t address, bool asleep, uint64_t cycles)
{
    core->cycles += cycles;
    core->counted += cycles;
    return core->cycles > core->notice && core_note(core, address, asleep, cycles);
}

#endif
