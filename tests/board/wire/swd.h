// Serial Wire Debug as a chip's pins see it, a cycle of SWCLK at a time (IHI 0031, B4): requests, turnaround,
// acknowledge, data, line reset and lock-out after a protocol error; several debug ports on one line, of
// which TARGETSEL selects one; and the switch between JTAG, SWD and dormant. The JTAG after the switch is
// jtag.h's.
#ifndef BOARD_WIRE_SWD_H
#define BOARD_WIRE_SWD_H

#include "adi.h"
#include "wire/switch.h"

enum { SWD_TARGETS = 4 };

// Several ports of which none was chosen since a line reset, which selects them all (IHI 0031 B4.3.4)
enum swd_together {
    SWD_SILENT,    // they wait for TARGETSEL
    SWD_ZERO_WINS, // all of them answer and drive the line: where they differ it is low,
    SWD_ONE_WINS,  // or high
};

struct swd_target {
    struct adi *adi;
    uint32_t targetid; // as TARGETSEL wants it; 0: not multidrop
    bool alone;        // answers before any TARGETSEL, too, and is dormant at first
    enum swd_together together;
};

// Trouble on order: after `skip` more transfers, `count` of them go wrong
struct swd_trouble {
    enum {
        SWD_NO_ACK,     // the request is lost: no answer, and nothing done, until a line reset
        SWD_BAD_PARITY, // of the data: a read's to the host, a write's on its way here
        SWD_BAD_ACK, // `ack`, an acknowledge that there is not; nothing done, and silence until a line reset
    } kind;
    uint8_t ack;
    uint32_t skip, count;
};

enum swd_phase {
    SWD_LOCKED, // until a line reset
    SWD_RESET,  // the line was high for long; two clocks of low are to follow
    SWD_IDLE,
    SWD_REQUEST,
    SWD_TURN_TO_ACK,
    SWD_ACK,
    SWD_READ,
    SWD_TURN_TO_WRITE,
    SWD_WRITE,
    SWD_TURN_TO_IDLE,
};

struct swd {
    struct swd_target targets[SWD_TARGETS];
    size_t count;
    struct wire_switch mode;
    struct adi *selected; // NULL: no debug port answers
    bool all;             // they all do, and `selected` is the first
    enum swd_phase phase;
    unsigned left;        // cycles of this phase
    unsigned ones, zeros; // for how long the line has been so
    bool fresh;           // no request yet since the line reset
    bool identified;      // DPIDR was read since then
    uint8_t request, ack;
    bool selecting; // the request is a write of TARGETSEL
    bool nonsense;  // `ack` is none that there is
    bool damaged;   // the data has, or gets, the wrong parity
    uint64_t shift; // what goes out or has arrived, the first bit lowest
    uint32_t sent;  // the last data read, for RESEND
    struct swd_trouble trouble;
    bool held_low;      // by a target without power; else the line is pulled up
    uint64_t transfers; // well-formed requests to a target that listens
};

// All targets are multidrop, or there is one only. Those that are have no JTAG, so they begin with SWD.
void swd_init(struct swd *, const struct swd_target *targets, size_t count);
// As after power-up: of the wire only, not of the debug ports
void swd_power_on(struct swd *);
// One SWCLK cycle. `driven`: the host drives `bit`; else the line is released. Returns the level on the line
// in that cycle (the host's own bit, the target's, or 1 from the pull-up).
bool swd_clock(struct swd *, bool driven, bool bit);
// That level before the cycle is over: what a host reads while SWCLK is still low
bool swd_level(const struct swd *, bool driven, bool bit);
// Whether the switch is on JTAG
bool swd_is_jtag(const struct swd *);

#endif
