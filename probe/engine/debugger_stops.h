/*
 * The debugger engine from inside: its state, the one breakpoint that moves, and getting from stop to stop
 * with all that can come of it. For stepwise.c and debugger_engine_stops.c only.
 */
#pragma once

#include "debuggers/debugger.h"
#include "device/device.h"
#include "engine/breakpoints.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

/* What a resume onto the breakpoint at which the core stands comes to. */
enum rehit { REHIT_UNKNOWN, REHIT_STOPS_AGAIN, REHIT_STEPS_OVER };

enum { THUMB_KIND = 2, X86_KIND = 1 };

/* Places in code are as core_code makes them. */
struct debugger_engine {
    struct engine engine;
    struct device *device;
    struct debugger *debugger;
    const struct core *core;
    struct region region;

    uint64_t point;            /* where the breakpoint is, POINT_NONE */
    uint64_t left;             /* where it was before that */
    uint64_t guard;            /* a second one, while calibration is tried */
    unsigned n_set;            /* of `others` */
    struct debugger_stop stop; /* the last one */
    char thread[32];           /* that passed the start */
    bool foreign, was_reset;
    bool disturbed; /* a handler ran before the stop that was proved last */

    struct return_place place;
    bool from_call;
    uint64_t entry_lr, entry_sp;
    uint64_t
        others[REGION_EXITS]; /* stops besides, while the end is waited for: the call, or a handler's exits */
    unsigned n_others;
    uint64_t call_lr;
    bool can_watch, call_known, by_frame;
    enum rehit rehit;

    const struct engine_request *request;
    const struct engine_sink *sink;
    struct raw_hit hit;
    uint64_t hits; /* of this run */
    bool enough;
    bool at_start;    /* a round has ended where the next begins */
    int64_t since_us; /* when there was a step forward: a start left, an end reached */
    bool under_way;
    uint64_t inner, lost; /* since then: starts reached from inside the function, calls that did not return */
};

bool debugger_engine_register(struct debugger_engine *self, enum core_register which, uint64_t *out,
                              const struct deadline *deadline, struct error *error);
/* What debuggers call the size of an instruction there. */
unsigned debugger_engine_code_size(const struct debugger_engine *self, uint64_t code);
bool debugger_engine_point(struct debugger_engine *self, uint64_t code, bool set,
                           const struct deadline *deadline, struct error *error);
/* Moves the breakpoint; POINT_NONE: nowhere. */
bool debugger_engine_move(struct debugger_engine *self, uint64_t to, const struct deadline *deadline,
                          struct error *error);
/* ERROR_START, ERROR_END: there was no step forward for too long. */
bool debugger_engine_check_time(const struct debugger_engine *self, struct error *error);
void debugger_engine_step_forward(struct debugger_engine *self);
/* Lets the core run until it stops; `wait` tells what for. On failure it may run on. */
bool debugger_engine_run(struct debugger_engine *self, enum engine_wait wait, const struct deadline *deadline,
                         struct error *error);
/* True when the core stands at `wanted`; else the stop is somebody else's, or a reset. */
bool debugger_engine_prove(struct debugger_engine *self, uint64_t wanted, const struct deadline *deadline,
                           struct error *error);
/* One instruction. The breakpoint is out of the way. */
bool debugger_engine_step(struct debugger_engine *self, const struct deadline *deadline, struct error *error);
/* All counters, while the core stands; what is pending, and whether there was a reset, may be asked for as
 * well. */
bool debugger_engine_read(struct debugger_engine *self, uint64_t *values, bool *pending, bool *reset,
                          const struct deadline *deadline, struct error *error);
/* From the stop at `here` to the same stop, with nothing executed; told to the sink. *moved: while it was
 * found out whether that is possible, the core went on. */
bool debugger_engine_rehits(struct debugger_engine *self, uint64_t here, unsigned rehits, bool *moved,
                            const struct deadline *deadline, struct error *error);
