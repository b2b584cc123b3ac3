/* SPDX-License-Identifier: MIT */
/*
 * The direct engine's own: its state; how its step lists are run, what can interrupt a list, and what the
 * stop means at which it ended; what it finds out at a start; how it leaves the core. For its files only.
 */
#pragma once

#include "device/device.h"
#include "engine/breakpoints.h"
#include "engine/call.h"
#include "engine/engine.h"
#include "engine/hit_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIST_ROOM = 4096, OWN_MS = 1000, STOP_READS = 2 /* the first may still show the stop before */ };

/* What the core does, by the marks of the steps that were carried out and by the stops that were read. */
enum core_is {
    CORE_IS_FREE,     /* it runs, or halts where nothing of ours shows it */
    CORE_IS_STEPPING, /* a single step is under way, or was in a list whose answer was lost */
    CORE_IS_STOPPED,  /* halted, not proved to be at our breakpoint */
    CORE_IS_OURS,     /* halted by us */
    CORE_IS_AT_END,   /* so, after a list that ends there: the next one lets it go on */
    CORE_IS_FOREIGN,  /* halted by something else */
    CORE_IS_RESET     /* it was reset */
};

/* How many hits a list takes. */
enum batch {
    BATCH_ONE,  /* the next one may go another way */
    BATCH_RARE, /* a step had to wait: each is delivered as it ends */
    BATCH_FAST  /* they are held until one of them, or of a later list, has checked for resets */
};

struct direct_engine {
    struct engine engine;
    struct device *device;
    const struct core *core;
    struct breakpoints breakpoints;
    struct region region;
    const struct deadline *deadline; /* of the request under way */
    struct engine_request own;       /* in place of a request, where no hits are run */

    struct call call;
    bool expects_frame;      /* the next list proves its frame, instead of ending at the entry */
    struct core_spare spare; /* at the last entry, if it was read */
    bool spare_read;
    bool lr_changes;        /* returns do not leave in LR what it held at the entry: another one is the spare
                               register */
    uint8_t spare_changes;  /* changes in a row, with the same frame; after some of them it is not used */
    uint64_t breakpoint_at; /* the one that moves, while the engine waits for the end */

    struct progress progress;
    uint64_t advances; /* of `hits`, when progress was noted last */
    int64_t breakpoints_checked_us, reset_checked_us;

    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list;
    size_t done;  /* how many of its steps */
    uint64_t saw; /* by the step after these */
    struct hit_results hits;
    enum batch batch;  /* as the last list showed it */
    int64_t looked_us; /* the last check for resets: its list began then, or it was made by itself */
    enum core_is core_is;
    bool interrupts_held;   /* by the core, for us */
    uint64_t start_counter; /* what the budget's counter held at the start, if it is shared */
};

struct stop {
    uint64_t pc, status;
    enum stop_cause cause;
    const char *unreadable; /* why its PC could not be read; NULL: it could */
};

uint64_t direct_end(const struct direct_engine *self);
bool direct_is_round(const struct direct_engine *self); /* of a loop: start and end are one */
/* As far as is known we have halted it, and it has not gone on. */
bool direct_holds_core(const struct direct_engine *self);
/* After a whole list of hits: it does not let the core go on to the next start. */
bool direct_ends_halted(const struct direct_engine *self);
/* Each request has its own time; `sink` may be NULL. */
void direct_begin(struct direct_engine *self, const struct engine_request *request,
                  const struct engine_sink *sink);
/* The same for arming, disarming and reading. */
void direct_begin_own(struct direct_engine *self, int64_t timeout_ms, const struct deadline *deadline);
/* ERROR_START or ERROR_END if there was no progress for too long, whatever stops there were. */
bool direct_check_time(struct direct_engine *self, struct error *error);

/* The region's process, stops besides the one that moves, and resets that show. */
bool direct_prepare(struct direct_engine *self, const struct process *process, unsigned extra,
                    struct error *error);
void direct_new_list(struct direct_engine *self);
/* Lets the core run; in place of core_add_run, which removes a budget's stop. */
void direct_add_run(const struct direct_engine *self, struct steps *list);
/* A list that reads registers of the halted core, whatever the list before left unfinished. */
void direct_new_registers(struct direct_engine *self);
/* From its beginning to its end, or to an UNEXPECTED (step `done`, which saw `saw`), or until the sink had
 * enough. */
bool direct_run_list(struct direct_engine *self, struct error *error);
bool direct_ran_whole(const struct direct_engine *self);
/* A short list in which no step is UNEXPECTED, but by a garbled access, after which it runs again. */
bool direct_run_plain(struct direct_engine *self, struct error *error);
/* One with a single step, which may end elsewhere. */
bool direct_run_step(struct direct_engine *self, struct error *error);
/* What a list borrowed of the program and could not give back. Can be called again after a failure. */
bool direct_restore_borrowed(struct direct_engine *self, struct error *error);
/* Delivers the hits that wait for a check for resets. */
bool direct_confirm_held(struct direct_engine *self, struct error *error);
/* ERROR_ADDRESS if another core has stopped at our breakpoint. Rarely checks, unless `now`. */
bool direct_check_neighbours(struct direct_engine *self, bool now, struct error *error);
/* Always false, with ERROR_RESET, or with ERROR_WRITTEN if something wrote the register that shows it. */
bool direct_tell_reset(struct direct_engine *self, struct error *error);
/* A run that failed: false, with the reset that may be the cause. */
bool direct_tell_cause(struct direct_engine *self, const struct error *why, struct error *error);

/* Waits for the halt first. */
bool direct_read_stop(struct direct_engine *self, struct stop *stop, struct error *error);
/* Of the halted core: why it halted, and what the budget's counter holds. */
bool direct_look_at_budget(struct direct_engine *self, struct counter_stop_look *look, struct error *error);
/* *is: a handler ran just as a breakpoint was reached, and the core halted there instead. */
bool direct_is_in_handler(struct direct_engine *self, const struct stop *stop, bool *is, struct error *error);
/* It runs first, and returns to the breakpoint. `wait`: until then. */
bool direct_go_on_in_handler(struct direct_engine *self, bool wait, struct error *error);
/* True if the core is halted at `wanted`: the list read its status before the last stop was left, or the core
 * halted in a handler first. */
bool direct_confirm_stop(struct direct_engine *self, uint64_t wanted, struct error *error);

/* --- direct_list.c: what it finds out at a start ---- */

/* Whether the registers of the halted core can be read: in another Execution state it must execute nothing of
 * ours. */
bool direct_check_state(struct direct_engine *self, struct error *error);
bool direct_read_register(struct direct_engine *self, enum core_register which, uint64_t *out,
                          struct error *error);
/* ERROR_STATE in user mode, unless the user has named the process. */
bool direct_check_mode(struct direct_engine *self, struct error *error);
/* At a function's entry. *inner: the function called itself. */
bool direct_find_return(struct direct_engine *self, bool *inner, struct error *error);
/* At a start in the same function as the end. */
bool direct_find_base(struct direct_engine *self, struct error *error);
struct call_access direct_access(struct direct_engine *self);
/* The budget's counter cannot be set to 0: where it is at the start says where it stops the core. */
bool direct_has_shared_counter(const struct direct_engine *self);

/* The spare register: whether to use it, what it holds now, and that the program had another value in it than
 * a list was made for. */
bool direct_has_spare(struct direct_engine *self);
bool direct_find_spare(struct direct_engine *self, struct error *error);
void direct_note_change(struct direct_engine *self);

/* --- direct.c, walk.c: see engine_ops ---------------------------------------------------- */

bool direct_scout(struct engine *engine, const struct engine_scout *scout, struct engine_found *found,
                  const struct deadline *deadline, struct error *error);
bool direct_walk(struct engine *engine, const struct engine_walk *walk, const struct deadline *deadline,
                 struct error *error);
