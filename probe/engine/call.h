/* SPDX-License-Identifier: MIT */
/*
 * A hit: one passage of the program from a start to the end that belongs to it. It is one if all of this is
 * proved, by the code or by a stop:
 * - The start is an entry from outside, not a jump of the function to its own entry.
 * - A function's end is its return: to the address in LR, with the stack pointer of its entry, by no other
 * way that leads there (a catch, longjmp). A handler's is the instruction that takes an EXC_RETURN, or else
 * the instruction that it interrupted.
 * - Between START and END neither the start nor, in the same frame, the function's entry is passed again.
 * - Both ends are in one frame, and so in one task and one exception.
 * What is left open is a doubt, in words; without one a count is exact. Here is also what both engines make
 * of a stop that is not the awaited one, and of one that does not occur.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "device/device.h"
#include "engine/engine.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As its start shows it. Places in code are as core_code makes them. */
struct frame {
    uint64_t lr, sp;         /* at the start; if both ends are in one function, `sp` is its `start_base` */
    struct return_place end; /* where the call returns to, or where a handler is expected to end */
    bool is_handler;         /* of an exception on Cortex-M */
    enum core_register by;   /* at a handler's exit: this has the EXC_RETURN; CORE_PC: no register has */
};

enum other_meaning {
    OTHER_PLACE, /* one of several that are awaited */
    OTHER_CALL,  /* the instruction that made the call: it may be made again */
    OTHER_EXIT,  /* a handler's exit number `which` */
    OTHER_START, /* the start, again */
    OTHER_ENTRY, /* of the function around both ends */
    OTHER_STACK, /* sets the stack pointer: the call may be left */
    OTHER_WRITER /* the region's writer number `which` */
};

enum { CALLERS_ROOM = 8 };
enum { OTHERS_ROOM = REGION_EXITS + REGION_STACKS + REGION_WRITERS };

struct other_stops {
    struct other_stop {
        uint64_t at; /* as core_code makes it */
        enum other_meaning what;
        size_t which;
    } items[OTHERS_ROOM];
    unsigned n;
};

void others_add(struct other_stops *others, uint64_t at, enum other_meaning what, size_t which);
/* The first one at this PC; NULL: there is none. */
const struct other_stop *others_find(const struct other_stops *others, const struct core *core, uint64_t pc);

struct call {
    struct frame frame;        /* of the last call, and probably of the next one */
    struct other_stops others; /* until its end */
    bool entry_checked;        /* the function was called, not entered by an exception */
    bool caller_known;         /* of calls with return address `caller_lr`: `others` has all that there is */
    uint64_t caller_lr;
    struct call_entry { /* by that address in LR; of the last callers, so that the code is not read again */
        uint64_t back;
        enum entered how;
    } entries[CALLERS_ROOM];
    size_t n_entries;
    bool by_jump;         /* the function was entered by a jump, while LR is an earlier call's: not a hit */
    bool took_other_exit; /* a handler ended at one of `others`, which `frame.end` is now */
    /* Of a function that jumps to its own entry: */
    bool has_ended; /* a call with this SP has, or was left, since when the start is watched */
    uint64_t ended_sp;
    unsigned entries_unproved; /* stops at the start in a row, the last one too */
    bool is_partial;           /* the call may have begun before this stop at the start: not a hit */
    /* Of a handler: its exits, and those of the functions that its registers led to, `followed`. */
    struct exit_places exits;
    uint64_t followed[REGION_EXITS];
    size_t n_followed;
    enum {
        HANDLER_EXITS,
        HANDLER_INTERRUPTED /* ends at what it interrupted, since not all exits are known */
    } handler;
    bool exits_changed; /* `others` has those before */
    const char *doubt;  /* what this call could not prove; NULL: nothing */
};

/* Of a doubt: a call that is left may not be seen. */
#define CALL_COUNTS_ON ": a left call and the next count as one"

struct call_access {
    struct device *device;
    const struct region *region;
    const struct deadline *deadline;
    void *context;
    /* Of the halted core. */
    bool (*read)(void *context, enum core_register which, uint64_t *out, struct error *);
    /* *can: a breakpoint can be at `at`, next to the first `n` of `others`. */
    bool (*can_stop)(void *context, unsigned n, uint64_t at, bool *can, struct error *);
};

/* Whether a call's return address is on the stack, and LR does not exist. */
bool frame_is_on_stack(const struct core *core);
/* Halted at a start in the same function as the end: where that frame ends, by the value of start_base. */
void frame_find_base(struct frame *frame, const struct core *core, const struct region *region,
                     uint64_t base);
/*
 * Halted at a function's entry, with frame.lr and frame.sp read: sets where this call ends. `words` are the
 * FRAME_WORDS of the stack, for cores that keep the return address there. *inner: the function called itself,
 * so that this entry begins no hit. ERROR_STATE if the call is not known to return.
 */
bool frame_find_end(struct frame *frame, const struct core *core, const struct region *region,
                    const uint64_t *words, bool *inner, struct error *error);

/* A region begins: its writers alone are watched. ERROR_WRITER_SOUGHT: not all of them can be. */
bool call_begin(struct call *call, const struct call_access *access, struct error *error);
/* The same as frame_find_end, and sets which further stops there are until then. ERROR_STATE if an exception
 * entered this function, so that LR does not have its return address. */
bool call_enter(struct call *call, const struct call_access *access, const uint64_t *words, bool *inner,
                struct error *error);
/* The call that was entered last has ended, or was left. */
void call_over(struct call *call, const struct region *region);
/* A handler's next hit is expected to take its first exit. */
void call_forget_exit(struct call *call, const struct core *core);
/* Halted at frame.end: whether this call ends there. Else the core is to go on, and if `exits_changed`,
 * call_watch_exits is called after it has left this instruction. */
bool call_check_end(struct call *call, const struct call_access *access, bool *ends, struct error *error);
bool call_watch_exits(struct call *call, const struct call_access *access, struct error *error);
/* After CALL_MAY_LEAVE and a single step, with this stack pointer. */
bool call_is_left(const struct call *call, uint64_t sp);
/* Before the core, halted there in another frame, is stepped on. ERROR_STATE: at a load-exclusive, as its
 * store would fail each time that the program tries again. */
bool call_may_step(const struct region *region, const struct core *core, uint64_t pc, struct error *error);
/* How many stops besides the one that moves are wanted for a region. */
unsigned call_stops(const struct region *region);
/* Adds to engine->doubt what is not proved of the hits of this region. */
void call_doubt(const struct call *call, const struct region *region, struct engine *engine);

enum call_stop {
    CALL_ENDS,      /* it is where this call ends, by frame.end */
    CALL_IS_MADE,   /* another call is made by the same instruction */
    CALL_IS_LEFT,   /* this call is made again: it has not returned, and never will */
    CALL_BEGINS,    /* so, and it is at the start */
    CALL_MAY_LEAVE, /* the next instruction sets the stack pointer: see call_is_left */
    CALL_STAYS_HERE /* a handler does not take this exit; or a store does not go to the counter */
};

/* The core stopped at `other`. ERROR_WRITER_SOUGHT: it is a writer, and goes to the counter by the core's
 * registers. */
bool call_look(struct call *call, const struct call_access *access, const struct other_stop *other,
               enum call_stop *what, struct error *error);

/* The time since a start was left or an end reached, and the stops since then that were neither. Only time in
 * which the core could go on counts: neither while it is held, nor while this process itself is paused. */
struct progress {
    int64_t went_us;
    int64_t looked_us;
    uint64_t inner; /* starts that the function reached by calling itself, or jumps to it */
    bool by_jump;   /* the last of these is such a jump */
    uint64_t lost;  /* calls in a row that were made again before they had returned */
};

void progress_note(struct progress *progress);
/* What the core could do since the last call of one of these two; or the target refused. */
enum progress_kind { PROGRESS_WENT_ON, PROGRESS_HELD, PROGRESS_REFUSED };
void progress_add(struct progress *progress, enum progress_kind kind);
bool progress_is_late(const struct progress *progress, const struct engine_request *request,
                      const struct raw_hit *under_way);
/* Always false, with ERROR_START or ERROR_END. `hit` is under way, NULL if none is, as above; `to` is where
 * the last call returns to. */
bool progress_tell(const struct progress *progress, const struct engine_request *request,
                   const struct core *core, const struct raw_hit *hit, uint64_t to, struct error *error);

/*
 * A Cortex-M7 that reaches a breakpoint just as an exception can be taken halts at the handler's first
 * instruction and reports a breakpoint: erratum 3092511 of its SDEN. Resumed, it runs the handler and returns
 * to the breakpoint. *is: whether a core that reports a breakpoint, with this PC and CORE_STATUS, did that.
 * False if the link fails.
 */
bool handler_stop_check(struct ledger *ledger, const struct core *core, uint64_t pc, uint64_t status,
                        bool *is, const struct deadline *deadline, struct error *error);

/* Always false: ERROR_RESET, or ERROR_FOREIGN_STOP in the words of `who`, NULL for those of the cause. Leaves
 * the place in `engine`. */
bool foreign_stop_tell(struct engine *engine, const struct core *core, enum stop_cause cause, const char *who,
                       uint64_t pc, struct error *error);
