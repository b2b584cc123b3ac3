/*
 * Profiling: what `record`, `top` and `report` share. Opens the target, takes the cores whose PC is to be
 * sampled, and takes samples by lists until the user or --for ends it. Nothing is stopped, except with
 * --every, and where a debugger has the run control: it shows nothing of a core that runs.
 */
#pragma once

#include "counters/events.h"
#include "profile/contexts.h"
#include "profile/event_sampler.h"
#include "profile/halt_sampler.h"
#include "profile/sampler.h"
#include "profile/shares.h"
#include "run/session.h"
#include "run/tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A core and its samples since the last profiling_close. */
struct profiling_core {
    unsigned number; /* as info has it */
    struct sampler sampler;
    struct profile_tally tally;
    struct contexts contexts;
};

enum { PROFILING_WAYS = 2 }; /* by which an event can stop a core: the DWT, the PMU */

struct profiling {
    struct session session;
    struct sampler_code code;     /* the samplers' */
    struct profiling_core *cores; /* n of them; owned */
    size_t n;
    struct halt_sampler halts; /* in place of the cores' samplers, if `by_halts` */
    bool by_halts;             /* since profiling_open */
    struct event_sampler stops[PROFILING_WAYS], *by_stops; /* in place of the cores' samplers; NULL: not */
    bool told_handler;                                     /* that they come in an interrupt's handler */
    struct stack_reader stacks;                            /* of `by_stops` */
    bool has_contexts;                                     /* exceptions and tasks are read, too */
    struct tasks tasks;
    char event[EVENT_NAME];     /* by which it stops */
    double event_rate;          /* a second; 0: --every says after how many */
    double stood_s;             /* for its samples, as closed */
    struct profile_about about; /* since profiling_take */
    int64_t begun_us;           /* the first list */
    double elapsed_s;
};

bool profiling_open(struct profiling *self, struct error *error); /* ELF and target */
/* The chosen core, or with -a all of its kind. */
bool profiling_take(struct profiling *self, struct error *error);
/* Time begins with the first call: one list of each core, which together take about `us`, or less if --for
 * leaves less. */
bool profiling_sample(struct profiling *self, double us, struct error *error);
/* How much of the time the core stood for its samples, if `by_halts` at most; 0..1. */
double profiling_stood(const struct profiling *self);
/* Ctrl-C, or the time of --for. */
bool profiling_is_over(const struct profiling *self);
/* Ends the interval of a core; *any is false if nothing was sampled in it, and it goes on. */
bool profiling_close(struct profiling *self, size_t core, struct profile_interval *out, bool *any,
                     struct error *error);
/* The same for the contexts of this interval; before profiling_close. */
bool profiling_close_contexts(struct profiling *self, size_t core, enum profile_context kind,
                              struct profile_interval *out, bool *any, struct error *error);
/* What the RTOS calls a task, once for each. False: it has no name, or was named before. */
bool profiling_name_task(struct profiling *self, size_t core, uint64_t task, char name[TASK_NAME]);
/* For a measurement in between, of the one core, with no debugger: puts the target back. What is not closed
 * is kept. */
bool profiling_pause(struct profiling *self, struct error *error);
/* The target was found again. */
bool profiling_go_on(struct profiling *self, struct error *error);
/* After the last list, which failed if `why` has an error. What is no failure, because the user ended it, is
 * cleared. */
void profiling_end(struct profiling *self, struct error *why);
/* Frees all, and puts the target back. Returns the exit code. */
int profiling_finish(struct profiling *self, bool ok, struct error *error);

/* What the counters of a block call an event. ERROR_USAGE: they have none of this name. */
bool profiling_find_event(const struct counter_block *block, const struct event_request *event,
                          struct counter_pick *out, struct error *error);
/* When, over which link and of which program. */
void profiling_about(const struct session *session, struct profile_about *about);
struct profile_report;
/* Its page; the shares are by function. That all of it could be written is checked with the output. */
bool profiling_page(FILE *out, const struct profile_report *report, struct symbols *symbols,
                    struct error *error);
/* What --sort says; `contexts`: it may be by task or exception. */
bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error);
