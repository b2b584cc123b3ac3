/*
 * Deadlines: how long a call may take, and the flag by which the user ends it early. Every function that can
 * wait takes one.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct deadline {
    int64_t at_us;                       /* on the clock of deadline_now_us */
    const volatile sig_atomic_t *cancel; /* non-zero: stop as soon as possible; may be NULL */
};

int64_t deadline_now_us(void); /* monotonic */
/* `mark_us` plus as many intervals as it takes to be after now. */
int64_t deadline_next_us(int64_t mark_us, int64_t interval_us);
/* How long to wait for another program or a probe before it counts as gone: `ms` times $PMU_PROBE_PATIENCE (a
 * whole number from 1 to 1000; anything else is 1), for slow networks and busy machines. Not for slices, naps
 * and measured times. */
int64_t patience_ms(int64_t ms);
struct deadline deadline_in_ms(int64_t ms, const volatile sig_atomic_t *cancel);
/* The nearer of `deadline` and `ms` from now; same cancel flag. */
struct deadline deadline_slice(const struct deadline *deadline, int64_t ms);
bool deadline_cancelled(const struct deadline *deadline);
bool deadline_passed(const struct deadline *deadline);     /* also true when cancelled */
int64_t deadline_left_us(const struct deadline *deadline); /* never negative; 0 when cancelled */
int deadline_poll_ms(const struct deadline *deadline);     /* for poll(2): rounded up, at most 1 s */

/* The pause between two looks at something that changes on its own, over a link or in another process. */
void deadline_nap(void);
