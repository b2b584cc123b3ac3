/*
 * the direct engine from inside: its state, and the running of step lists with all that can come of them.
 * For lowered*.c only.
 */
#pragma once

#include "device/device.h"
#include "engine/breakpoints.h"
#include "engine/engine.h"
#include "engine/hit_plan.h"
#include "engine/hit_results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIST_ROOM = 4096 };

struct direct_engine {
    struct engine engine;
    struct device *device;
    const struct core *core;
    struct breakpoints breakpoints;
    struct neighbours neighbours;
    struct region region;

    bool guess; /* the last call's return is likely to be the next one's */
    bool from_call;
    uint64_t entry_lr, entry_sp;
    struct return_place place;
    bool by_frame; /* the function is an exception handler: every return is another */
    uint64_t
        others[REGION_EXITS]; /* stops besides, while the end is waited for: the call, or a handler's exits */
    unsigned n_others;
    bool watching;  /* the call that was made last, at others[0] */
    bool by_exit;   /* this hit ended at one of the others, its place */
    uint64_t moved; /* where the comparator is that moves */
    uint64_t call_lr;
    uint64_t inner;     /* starts that were reached from inside the function, since the last hit */
    uint64_t lost;      /* calls in a row that did not return */
    int64_t checked_us; /* when the breakpoint was looked at last */
    int64_t since_us;   /* when there was a step forward: a start left, an end reached */
    uint64_t steps;     /* of reception's, that are told by it */

    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list;
    size_t done; /* so many of its steps */
    struct hit_results hits;
    bool ends_halted;  /* the list ends where the core stands at the end of a passage */
    bool resume_first; /* so did the one before: from there on */
    bool looked;       /* whether the start is in user mode */
    bool slow;         /* something had to be waited for in it: so hits are not to be held back */
    bool halted_by_us; /* as far as the steps of the last list tell */
    bool held;         /* likewise: it left interrupts held off */
    bool foreign, was_reset;
};

/* Where the core stands, and why. */
struct stop {
    uint64_t pc, status;
    enum stop_cause cause;
    const char *unreadable; /* why its PC could not be read; NULL: it could */
};

/* Each wish, and each thing to be done besides, has its own time. */
void direct_begin(struct direct_engine *self, const struct engine_request *request,
                  const struct engine_sink *sink);
/* ERROR_START, ERROR_END: there was no step forward for too long, whatever stops there were. */
bool direct_check_time(struct direct_engine *self, struct error *error);
/* Where this hit ends. */
uint64_t direct_end(const struct direct_engine *self);
void direct_new_list(struct direct_engine *self);
/* For the registers of a core that is halted, whatever the list before had begun. */
void direct_new_registers(struct direct_engine *self);
/*
 * Runs the list from its beginning. True when it came to its end, or to an UNEXPECTED (the step is in *at,
 * what was seen instead in *saw), or when the sink has enough.
 */
bool direct_run_list(struct direct_engine *self, size_t *at, uint64_t *saw, const struct deadline *deadline,
                     struct error *error);
/* ERROR_ADDRESS when another core has stopped at a breakpoint of ours. */
bool direct_look_at_neighbours(struct direct_engine *self, bool now, struct error *error);
/* The hits that are held are not to wait for a passage that may be long in coming, or never come. */
bool direct_confirm_held(struct direct_engine *self, struct error *error);
/* A short list in which nothing comes out unexpected, unless an access was garbled, for which it is run once
 * more, or a single step ended otherwise. */
bool direct_run_plain(struct direct_engine *self, const struct deadline *deadline, struct error *error);
/* What a list that ended in the middle has borrowed from the program. Can be called again after a failure. */
bool direct_restore_borrowed(struct direct_engine *self, const struct deadline *deadline,
                             struct error *error);
/* Likewise; the list is then a new one. */
bool direct_give_back(struct direct_engine *self, const struct deadline *deadline, struct error *error);
/* Always false, with ERROR_RESET. */
bool direct_tell_reset(struct direct_engine *self, struct error *error);
/* Halted at the start: it must not be in user mode, unless the user has said whose code it is. */
bool direct_check_mode(struct direct_engine *self, const struct deadline *deadline, struct error *error);
/* Waits for the halt and reads where it is. */
bool direct_look(struct direct_engine *self, struct stop *stop, const struct deadline *deadline,
                 struct error *error);
/* Whether that is no breakpoint's stop, but one in a handler that came just then. */
bool direct_is_in_handler(struct direct_engine *self, const struct stop *stop, bool *is,
                          const struct deadline *deadline, struct error *error);
/* True when the core does stand at `wanted`: its status was read before it had left the stop before, or it
 * was stopped in a handler first. */
bool direct_confirm_stop(struct direct_engine *self, uint64_t wanted, const struct deadline *deadline,
                         struct error *error);
/* The engine's first verb and its last, engine.h. */
bool direct_arm(struct engine *engine, const struct region *region, const struct deadline *deadline,
                struct error *error);
bool direct_disarm(struct engine *engine, const struct deadline *deadline, struct error *error);
