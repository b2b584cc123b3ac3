/* SPDX-License-Identifier: MIT */
/*
 * Deadlines: how long a call may take, and the flag by which the user ends it early. Every function that can
 * wait takes one. An ending is the one budget of a run for putting the target back: all deadlines that Ctrl-C
 * does not cut short draw from it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct ending;

struct deadline {
    int64_t at_us;                       /* on the clock of deadline_now_us */
    const volatile sig_atomic_t *cancel; /* non-zero: stop as soon as possible; may be NULL */
    struct ending *ending;               /* its budget limits this deadline, too; may be NULL */
    bool one_answer;                     /* see ending_answer */
};

/*
 * The clock: the one home of time. What decides something or is printed reads it here, and naps here, so that
 * a replay (probe/wire) can give the time of the recorded run.
 */
int64_t deadline_now_us(void);    /* monotonic */
int64_t deadline_wall_s(void);    /* seconds since 1970 */
void deadline_nap_us(int64_t us); /* while something changes on its own, over a link or in another process */
/* The host's own clock, for what only the host sees: signals, output, progress, the log. It goes on while the
 * host is suspended, unlike CLOCK_MONOTONIC (clock_gettime(2)), as the target does: a counter may wrap then,
 * and a deadline passes. */
int64_t deadline_host_us(void);

/* SIGXCPU when a process with our limits has used on this clock what they allow, early enough before the hard
 * one to put the target back. At that the kernel kills, and it checks that one first: setrlimit(2);
 * kernel/time/posix-cpu-timers.c, check_process_timers. A shell's `ulimit -t` sets both alike. */
void deadline_tell_cpu(clockid_t spent);

struct deadline_clock {
    int64_t (*now_us)(void *context);
    int64_t (*wall_s)(void *context);
    void *context;
    bool naps; /* false: a nap ends at once */
};
void deadline_use_clock(const struct deadline_clock *clock); /* for this thread; NULL: the host's */

/* What is to happen during any wait, such as reading keys: all that waits calls it, every 20 ms at most. */
struct deadline_watch {
    void (*look)(void *context);
    void *context;
    int64_t next_us;
};
void deadline_use_watch(struct deadline_watch *watch); /* for this thread; NULL: none */

/* Between two moments of one clock; 0 if the second is not later. */
static inline uint64_t us_between(uint64_t before_us, uint64_t after_us)
{
    return after_us > before_us ? after_us - before_us : 0;
}
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
/* For poll(2): rounded up, and at most 100 ms, because a signal may arrive between a check and the wait. */
int deadline_poll_ms(const struct deadline *deadline);

/* The pause between two checks of something that changes on its own, over a link or in another process. */
void deadline_nap(void);

/*
 * The ending of a run. After Ctrl-C it lasts as long as the other side (a probe, a server) answers, 5 s at
 * most, and 2 s without an answer end it. After an error it gives a cable that was pulled 3 s to be
 * plugged in again, and a slow connection 15 s in all. A further Ctrl-C ends it at once. $PMU_PROBE_PATIENCE
 * multiplies all of these. NULL is an ending without a limit.
 *
 * Links note when they wait for an answer and when one arrives: time that goes elsewhere, as into an unread
 * pipe, does not count as silence.
 */
struct ending {
    const volatile sig_atomic_t *signals; /* how many arrived; may be NULL */
    /* Informs the user that it takes long; false: not yet. All that waits calls it. May be NULL. */
    bool (*notice)(void *context);
    void *context;
    /* The rest is the ending's own. Times are those of deadline_now_us, 0: not yet. */
    int64_t begun_us, interrupted_us;
    int64_t asked_us, answered_us; /* the last wait for an answer, the last answer */
    int64_t silent_us;             /* the first wait since the last answer */
    sig_atomic_t seen;             /* signals that began it; one more ends it */
    bool noticed;
};

/* The putting back begins, or goes on after a failure. */
void ending_begin(struct ending *ending);
/* All is back. What is put back later has its own budget. */
void ending_done(struct ending *ending);
/* For something that is put back: `ms`, and not longer than the ending lasts. */
struct deadline ending_deadline(struct ending *ending, int64_t ms);
/* For one answer of the other side, which is awaited even after Ctrl-C: without it nothing could be put back.
 * After Ctrl-C half of the silence that is allowed, so that the rest is left for a new connection. */
struct deadline ending_answer(struct ending *ending, int64_t ms);
void ending_answered(struct ending *ending);
/* The other side is gone: it cannot even be asked. */
void ending_unanswered(struct ending *ending);
/* Its time is up, or the user does not want to wait for it. */
bool ending_is_over(struct ending *ending);
/* The user does not want to wait for it. */
bool ending_is_cut(struct ending *ending);
