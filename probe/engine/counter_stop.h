/* SPDX-License-Identifier: MIT */
/*
 * Counter stops: a counter of the core halts it after the Nth event, in one of three ways. On Armv7-M and
 * Armv8-M the DWT compares its cycle counter (DDI 0403 C1.8, DDI 0553 D1.2). On Armv8.1-M a PMU counter that
 * overflows asks for the halt (DHCSR.C_PMOV, DDI 0553 D1.2). On A and R cores the PMU's overflow reaches the
 * halt over the cross trigger interface, as the chip has wired it.
 *
 * The core halts some instructions late, and nothing says how many: the counter shows how many events. All
 * that is written is in the ledger; device_undo disarms it, puts all back and lets the core run. For
 * something that stops the core again and again at a place of the program, arm it at the one stop and disarm
 * it at the other: the steps can be part of any list.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "engine/counter_stop_steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* After device_take and device_program. It is disarmed, and the core runs. It must live until device_undo.
 * ERROR_NO_COUNTER, ERROR_NO_COMPARATOR: it cannot be had. */
bool counter_stop_take(struct counter_stop *stop, struct device *device, const struct counter_pick *picks,
                       size_t n, const struct deadline *deadline, struct error *error);

enum counter_stop_state {
    COUNTER_STOP_RUNS,   /* not yet */
    COUNTER_STOP_STANDS, /* by the counter */
    COUNTER_STOP_RESET,  /* the core was reset: all that was set is gone. It runs, or halts where it began */
    COUNTER_STOP_FOREIGN /* something else halted the core: it is left halted */
};

/* Waits for the stop, at most until `until_us` of deadline_now_us. `look` is what halted the core, and
 * *halted_us is when that was, on the same clock, as well as it is known. ERROR_LOCKUP; ERROR_NO_COUNTER: the
 * event occurred and the core runs on. */
bool counter_stop_wait(struct counter_stop *stop, int64_t until_us, enum counter_stop_state *state,
                       struct counter_stop_look *look, int64_t *halted_us, const struct deadline *deadline,
                       struct error *error);
/* ERROR_WRITTEN if something else changed the counter, which was armed for this number of events, or the
 * overflow that stopped the core. */
bool counter_stop_check(const struct counter_stop *stop, const struct counter_stop_look *look, uint64_t armed,
                        struct error *error);
/* Without waits for events: what the list borrows is given back even if it fails. */
bool counter_stop_run(struct counter_stop *stop, const struct steps *list, uint64_t *results,
                      const struct deadline *deadline, struct error *error);
/*
 * The trial: whether the core halts, for the right reason, after this number of events. *proved stays false
 * if they did not occur in `ms`: then the first real stop is the proof. ERROR_NO_COUNTER: they occurred, and
 * the core did not halt. ERROR_FOREIGN_STOP, ERROR_RESET. Ends disarmed, and the core runs.
 */
bool counter_stop_prove(struct counter_stop *stop, uint64_t events, int ms, bool *proved,
                        const struct deadline *deadline, struct error *error);
/* Arms the counter of the halted core and lets the core run, from *left_us on. The difference to *halted_us
 * is how long it was halted: both are late by as much as an answer takes. */
bool counter_stop_go_on(struct counter_stop *stop, uint64_t events, uint64_t value, int64_t *left_us,
                        const struct deadline *deadline, struct error *error);
/* Halts the core and disarms the counter; counter_stop_go_on must follow. ERROR_RESET. */
bool counter_stop_halt(struct counter_stop *stop, struct counter_stop_look *look,
                       const struct deadline *deadline, struct error *error);
bool counter_stop_begin(struct counter_stop *stop, uint64_t events, const struct deadline *deadline,
                        struct error *error);
/* Sets what it needs, also once more: an engine that is armed switches off what triggers the halt on Armv8.
 */
bool counter_stop_set(struct counter_stop *stop, const struct deadline *deadline, struct error *error);
/* Sets all once more, after a reset or a refusal; then it is disarmed. *reset becomes true if a register
 * shows a reset. */
bool counter_stop_renew(struct counter_stop *stop, bool *reset, const struct deadline *deadline,
                        struct error *error);
