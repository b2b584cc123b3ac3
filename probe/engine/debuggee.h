/* SPDX-License-Identifier: MIT */
/* What the debugger engine asks of the debugger that owns the core. Private to the engine. */
#pragma once

#include "debuggers/debugger.h"
#include "device/device.h"
#include "engine/breakpoints.h"
#include "engine/call.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

enum { THUMB_KIND = 2, X86_KIND = 1 }; /* sizes of instructions, as debuggers name them */

struct debugger_engine {
    struct engine engine;
    struct device *device;
    struct debugger *debugger;
    const struct core *core;
    struct region region;
    const struct deadline *deadline; /* of the request under way */

    uint64_t breakpoint; /* where the breakpoint is; BREAKPOINT_NONE: nowhere */
    uint64_t left;       /* where it was before */
    bool steps;          /* a single step was asked for, whose end has not been seen */
    uint64_t stepped; /* where the last one began, if there was no stop since its end; else BREAKPOINT_NONE */
    uint64_t guard;   /* a second one, set while a re-hit is tried */
    unsigned n_set;   /* of `others` */
    struct debugger_stop stop; /* the last one */
    char thread[32];           /* that passed the start */
    bool foreign_stop;
    bool disturbed; /* a handler ran before the last stop was confirmed */

    struct call call;
    bool drops;     /* the next hit may have begun in the middle of a call, and is not delivered */
    bool can_watch; /* as far as we know the server has a breakpoint for a further stop */
    /* What the core does when it is resumed onto the breakpoint where it is halted. */
    enum { REHIT_UNKNOWN, REHIT_STOPS_AGAIN, REHIT_STEPS_OVER } rehit;

    const struct engine_request *request;
    const struct engine_sink *sink;
    struct raw_hit hit;
    bool under_way; /* `hit`: its start was left */
    uint64_t hits;  /* of this run */
    bool enough;
    bool at_start; /* the last hit ended where the next begins */
    struct progress progress;
};

struct deadline debuggee_read_time(const struct debugger_engine *self);
bool debuggee_register(struct debugger_engine *self, enum core_register which, uint64_t *out,
                       struct error *error);
unsigned debuggee_code_size(const struct debugger_engine *self, uint64_t code);
bool debuggee_set_breakpoint(struct debugger_engine *self, uint64_t code, bool set, struct error *error);
bool debuggee_move_breakpoint(struct debugger_engine *self, uint64_t to, struct error *error);
bool debuggee_set_others(struct debugger_engine *self, bool set, struct error *error);
/* Of the halted core: all counters, whether an interrupt pends, and whether there was a reset. Each may be
 * NULL. */
bool debuggee_read_counters(struct debugger_engine *self, uint64_t *values, bool *pending, bool *reset,
                            struct error *error);
uint64_t debuggee_end(const struct debugger_engine *self);
/* ERROR_START or ERROR_END if there was no progress for too long. */
bool debuggee_check_time(const struct debugger_engine *self, struct error *error);
/* Lets the core run until it stops; `wait` is for the sink. After a failure the core may still run. */
bool debuggee_run_to_stop(struct debugger_engine *self, enum engine_wait wait, struct error *error);
/* One instruction, with the breakpoint out of the way. */
bool debuggee_step(struct debugger_engine *self, struct error *error);
/* True if the core is halted at `wanted`; otherwise ERROR_RESET, or ERROR_FOREIGN_STOP. */
bool debuggee_confirm_stop(struct debugger_engine *self, uint64_t wanted, struct error *error);
