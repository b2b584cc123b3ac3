/* SPDX-License-Identifier: MIT */
/*
 * Samples of the program counter, for `record` and `top`. Opens the target, takes the cores whose PC is to be
 * sampled, and takes samples by lists until the user or --for ends it. Nothing is stopped, except with
 * --every, and where a debugger has the run control: it shows nothing of a core that runs.
 */
#pragma once

#include "cores/core.h"
#include "counters/counter.h"
#include "counters/events.h"
#include "profile/event_sampler.h"
#include "profile/sampler.h"
#include "run/session.h"
#include "run/tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which counter stops the core after N events.
 */

/* What the counters of the block in use call an event, and by which errata they count it wrongly.
 * ERROR_USAGE: they have none of this name. */
bool event_stop_find(const struct device *device, const struct event_request *wanted,
                     struct counter_pick *out, char errata[EVENT_ERRATA], struct error *error);
/* Takes the counters of a block, NULL for the best, which are to stop the core; the ways are numbered. */
enum { EVENT_STOP_WAYS = 2 };
typedef bool event_stop_try(void *context, const char *block, unsigned way, struct error *error);
/* On a Cortex-M the DWT is first for cycles, as its match needs no interrupt. The PMU may have the rest. */
bool event_stop_take(const struct core *core, const struct event_request *event, event_stop_try *try_it,
                     void *context, struct error *error);

/* A core and its samples since the last pc_samples_close. */
struct pc_samples_core {
    unsigned number; /* as info has it */
    struct sampler sampler;
    struct profile_tally tally;
    struct contexts contexts;
};

enum { PC_SAMPLES_NOTES = 64 };

struct pc_samples {
    struct session session;
    struct sampler_code code;      /* the samplers' */
    struct pc_samples_core *cores; /* n of them; owned */
    size_t n;
    struct halt_sampler halts; /* in place of the cores' samplers, if `by_halts` */
    bool by_halts;             /* since pc_samples_open */
    struct event_sampler stops[EVENT_STOP_WAYS], *by_stops; /* in place of the cores' samplers; NULL: not */
    char *notes[PC_SAMPLES_NOTES]; /* what of the run belongs into its profile; owned */
    size_t n_notes;
    bool noted_lost;            /* that overflows are lost */
    bool noted_handler;         /* that they are in an interrupt's handler */
    struct stack_reader stacks; /* of `by_stops` */
    bool has_contexts;          /* exceptions and tasks are read, too */
    struct tasks tasks;
    struct task_rows named;      /* those that were seen */
    struct event_request wanted; /* that stops the core, as it was asked for */
    char event[EVENT_NAME];      /* by which it stops */
    char errata[EVENT_ERRATA];   /* of it */
    double event_rate;           /* a second; 0: --every says after how many */
    double stood_s;              /* for its samples, as closed */
    struct profile_about about;  /* since pc_samples_take */
    int64_t begun_us;            /* the first list */
    double elapsed_s;
};

bool pc_samples_open(struct pc_samples *self, struct error *error); /* ELF and target */
/* The chosen core, or with -a all of its kind. */
bool pc_samples_take(struct pc_samples *self, struct error *error);
/* Time begins with the first call: one list of each core, which together take about `us`, or less if --for
 * leaves less. */
bool pc_samples_sample(struct pc_samples *self, double us, struct error *error);
/* How much of the time the core stood for its samples, if `by_halts` at most; 0..1. */
double pc_samples_stood(const struct pc_samples *self);
/* Ctrl-C, or the time of --for. */
bool pc_samples_is_over(const struct pc_samples *self);
/* Of any core: the interval is to end now. */
bool pc_samples_are_many(const struct pc_samples *self);
/* Ends the interval of a core; *any is false if nothing was sampled in it, and it goes on. */
bool pc_samples_close(struct pc_samples *self, size_t core, struct profile_interval *out, bool *any,
                      struct error *error);
/* The same for the contexts of this interval; before pc_samples_close. */
bool pc_samples_close_contexts(struct pc_samples *self, size_t core, enum profile_context kind,
                               struct profile_interval *out, bool *any, struct error *error);
/* Reads the names of tasks that were seen in this interval for the first time. */
void pc_samples_meet_tasks(struct pc_samples *self);
/* Reads all names again, before the tasks are closed. False: this is not possible now. */
bool pc_samples_look_at_tasks(struct pc_samples *self);
/* For a measurement in between, of the one core, with no debugger: puts the target back. What is not closed
 * is kept. */
bool pc_samples_pause(struct pc_samples *self, struct error *error);
/* The target was found again. */
bool pc_samples_go_on(struct pc_samples *self, struct error *error);
/* After the last list, which failed if `why` has an error. What is not a failure, because the user ended it,
 * is cleared. */
void pc_samples_end(struct pc_samples *self, struct error *why);
/* What it has of the session's program; before the session ends, also after a failure. */
void pc_samples_let_go(struct pc_samples *self);
/* After the session. */
void pc_samples_free(struct pc_samples *self);

/* When, over which link and of which program. */
void pc_samples_about(const struct session *session, struct profile_about *about);
