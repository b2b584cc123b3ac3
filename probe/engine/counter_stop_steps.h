/* SPDX-License-Identifier: MIT */
/* What counter stops are made of, as data; counter_stop.h carries it out. */
#pragma once

#include "cores/cross_trigger.h"
#include "counters/counter.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum counter_stop_way { COUNTER_STOP_MATCH, COUNTER_STOP_OVERFLOW, COUNTER_STOP_TRIGGER };

struct counter_stop {
    struct device *device;
    const struct core *core;
    enum counter_stop_way way;
    struct counter counter;       /* what it counts; on Armv8.1-M the low half of a pair has 16 bits of it */
    struct counter chained;       /* the other half; low.size 0: none */
    struct cross_trigger trigger; /* of COUNTER_STOP_TRIGGER */
    uint32_t flag;                /* its overflow, in the PMU's registers */
    uint64_t most;                /* events that it can be armed for */
    uint64_t base;                /* what a match's counter begins with, below 2^31 */
    bool is_shared; /* the program uses the counter: it is never written, see counter_stop_add_arm */
    bool stands;    /* the counter halted the core, and it was not let go yet */
    bool asked;     /* for a halt, which was not followed by a run yet */
    int64_t ran_us, looked_us; /* when it was seen running last; when more than that was read */
    int64_t came_us;           /* when it was seen otherwise that the event had occurred; 0: not */
    int64_t answer_us;         /* how long a wait takes that need not wait */
    uint64_t late;             /* the most events by which a stop was late, as far as counter_stop_look saw */
};

/* Which of the block's counters would count the event, and how: device_program must follow, with `picks`.
 * `most`: for how many events it will be armed. Returns how many picks, 1 or 2; 0 with ERROR_NO_COUNTER. */
size_t counter_stop_choose(const struct counter_block *block, const struct counter_pick *event, uint64_t most,
                           struct counter_pick picks[2], struct error *error);
/* Only the halted core reaches its counters. */
bool counter_stop_is_by_core(const struct counter_stop *stop);
/* "DWT cycle match" */
const char *counter_stop_name(const struct counter_stop *stop);

/*
 * Steps for a halted core. Armed, it halts after this number of events from here on, at least 1 and at most
 * stop->most; `value` is what the counter held at this halt, by counter_stop_look, and is needed only if
 * stop->is_shared. Disarmed, it lets the core run; a running core may be disarmed, too, unless stop->counter
 * is one of SPACE_CORE.
 */
void counter_stop_add_arm(const struct counter_stop *stop, struct steps *list, uint64_t events,
                          uint64_t value);
void counter_stop_add_disarm(const struct counter_stop *stop, struct steps *list);
/* Halts the core and disarms the counter, in the order that works: as long as an overflow asks for a halt, no
 * other request is seen to end. */
void counter_stop_add_halt(const struct counter_stop *stop, struct steps *list);
/* Disarms it; the core stays halted, until a debugger lets it go. */
void counter_stop_add_stay(const struct counter_stop *stop, struct steps *list);
/* Lets the core run, which is armed anew or disarmed, and clears why it was halted. In place of core_add_run,
 * which may disarm it. */
void counter_stop_add_run(const struct counter_stop *stop, struct steps *list);

enum { COUNTER_STOP_STEPS = 400 }; /* of each of these functions, at most */

struct counter_stop_look {
    bool is_ours;     /* the counter halted the core, and nothing else did */
    bool has_come;    /* the event has occurred, whether or not the core halted for it */
    bool was_written; /* the counter halted the core, and has less by now: something else wrote it */
    bool was_taken;   /* the counter halted the core, and the overflow is cleared: a handler of the program's
                         interrupts was there first */
    bool was_reset;   /* since it was taken, or since the last such look */
    uint64_t value;   /* of the counter, for counter_stop_add_arm */
    uint64_t late;    /* events after the one that it was armed for; 0 if that has not occurred */
    uint64_t cause;   /* the register that shows why it halted, for core_unreadable */
};

struct counter_stop_places {
    size_t cause, reset, words[3];
};

struct counter_stop_places counter_stop_add_look(const struct counter_stop *stop, struct steps *list);
struct counter_stop_look counter_stop_look(struct counter_stop *stop, const uint64_t *results,
                                           const struct counter_stop_places *at);

/* Waits for the cause of the stop; core_add_wait_halt must follow. */
void counter_stop_add_wait(const struct counter_stop *stop, struct steps *list);

/* For counter_stop.c alone. */
enum { COUNTER_STOP_SETTINGS = CROSS_TRIGGER_SETTINGS + 4, COUNTER_STOP_COMMANDS = 4 };

size_t counter_stop_settings(const struct counter_stop *stop, struct setting *out, size_t room);
/* Registers that act, to be allowed. */
size_t counter_stop_commands(const struct counter_stop *stop, struct address *out, size_t room);
/* DWT_FUNCTION0. From its value: can the comparator match cycles, and is it in use? */
struct address counter_stop_function(const struct core *core);
bool counter_stop_can_match(const struct core *core, uint64_t function);
bool counter_stop_is_used(const struct core *core, uint64_t function);
