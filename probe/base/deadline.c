/* SPDX-License-Identifier: MIT */
#include "base/deadline.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    SILENCE_MS = 2000, /* after Ctrl-C */
    WHOLE_MS = 5000,
    ANSWER_MS = SILENCE_MS / 2,
    ERROR_SILENCE_MS = 3000, /* a probe that is plugged in again needs 1 to 2 s until its interface is back */
    ERROR_WHOLE_MS = 15000,
    ELSEWHERE_MS = 300, /* who was answered longer ago than this did something else meanwhile */
    NOTICE_MS = 300,
    LOOK_MS = 100,
    WATCH_US = 20000
};

static int64_t ending_left_us(struct ending *ending, bool one_answer);

/* Of the thread that measures: what runs next to it, and carries output or keeps a link alive, has the
 * host's.
 */
static _Thread_local const struct deadline_clock *clock_in_use;

static _Thread_local struct deadline_watch *watch_in_use;

void deadline_use_watch(struct deadline_watch *watch)
{
    watch_in_use = watch;
}

static void watch_look(void)
{
    struct deadline_watch *watch = watch_in_use;
    if (watch == NULL || deadline_host_us() < watch->next_us)
        return;
    watch->next_us = INT64_MAX;
    watch->look(watch->context);
    watch->next_us = deadline_host_us() + WATCH_US;
}

void deadline_use_clock(const struct deadline_clock *clock)
{
    clock_in_use = clock;
}

void deadline_tell_cpu(clockid_t spent)
{
    enum { AHEAD_S = 2 }; /* or half of the limit */
    struct rlimit limit;
    timer_t timer; /* goes with its process, or with us */
    struct sigevent tells = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGXCPU};
    if (getrlimit(RLIMIT_CPU, &limit) != 0 || (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT_MAX) ||
        timer_create(spent, &tells, &timer) != 0)
        return;
    rlim_t hard = limit.rlim_max < INT_MAX ? limit.rlim_max : INT_MAX;
    int64_t at_ms = 1000 * (int64_t)(hard > AHEAD_S ? hard - AHEAD_S : hard) / (hard > AHEAD_S ? 1 : 2);
    if (at_ms > 1000 * (int64_t)limit.rlim_cur)
        at_ms = 1000 * (int64_t)limit.rlim_cur;
    const struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(at_ms / 1000), .tv_nsec = (long)(at_ms % 1000) * 1000000 + 1}};
    (void)timer_settime(timer, 0, &at, NULL);
}

int64_t deadline_host_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t deadline_now_us(void)
{
    return clock_in_use != NULL ? clock_in_use->now_us(clock_in_use->context) : deadline_host_us();
}

int64_t deadline_wall_s(void)
{
    return clock_in_use != NULL ? clock_in_use->wall_s(clock_in_use->context) : (int64_t)time(NULL);
}

void deadline_nap_us(int64_t us)
{
    struct timespec nap = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    if (clock_in_use == NULL || clock_in_use->naps)
        nanosleep(&nap, NULL);
}

int64_t deadline_next_us(int64_t mark_us, int64_t interval_us)
{
    int64_t late_us = deadline_now_us() - mark_us;
    return mark_us + (late_us < 0 ? 1 : late_us / interval_us + 1) * interval_us;
}

int64_t patience_ms(int64_t ms)
{
    const char *text = getenv("PMU_PROBE_PATIENCE");
    bool number = text != NULL && *text != '\0' && text[strspn(text, "0123456789")] == '\0';
    long factor = number ? strtol(text, NULL, 10) : 1;
    return ms * (factor < 1 || factor > 1000 ? 1 : factor);
}

struct deadline deadline_in_ms(int64_t ms, const volatile sig_atomic_t *cancel)
{
    return (struct deadline){.at_us = deadline_now_us() + ms * 1000, .cancel = cancel};
}

struct deadline deadline_slice(const struct deadline *deadline, int64_t ms)
{
    struct deadline slice = *deadline;
    int64_t at_us = deadline_now_us() + ms * 1000;
    if (at_us < slice.at_us)
        slice.at_us = at_us;
    return slice;
}

bool deadline_cancelled(const struct deadline *deadline)
{
    watch_look();
    return deadline->cancel != NULL && *deadline->cancel != 0;
}

bool deadline_passed(const struct deadline *deadline)
{
    return deadline_left_us(deadline) == 0;
}

int64_t deadline_left_us(const struct deadline *deadline)
{
    if (deadline_cancelled(deadline))
        return 0;
    int64_t left = deadline->at_us - deadline_now_us();
    int64_t most = ending_left_us(deadline->ending, deadline->one_answer);
    left = left < most ? left : most;
    return left > 0 ? left : 0;
}

int deadline_poll_ms(const struct deadline *deadline)
{
    int64_t ms = (deadline_left_us(deadline) + 999) / 1000;
    return ms > LOOK_MS ? LOOK_MS : (int)ms;
}

void deadline_nap(void)
{
    enum { NAP_US = 1000 };
    deadline_nap_us(NAP_US);
}

/* ---- the ending */

static sig_atomic_t signals_so_far(const struct ending *ending)
{
    return ending->signals != NULL ? *ending->signals : 0;
}

/* Notes a signal, and shows the user what takes long. */
static void ending_look(struct ending *ending, int64_t now)
{
    sig_atomic_t signals = signals_so_far(ending);
    if (signals != 0 && ending->interrupted_us == 0) {
        ending->interrupted_us = now;
        ending->seen = signals;
    }
    int64_t since = ending->interrupted_us != 0 ? ending->interrupted_us : ending->begun_us;
    if (ending->begun_us != 0 && !ending->noticed && ending->notice != NULL &&
        now - since > patience_ms(NOTICE_MS) * 1000)
        ending->noticed = ending->notice(ending->context);
}

bool ending_is_cut(struct ending *ending)
{
    if (ending == NULL)
        return false;
    ending_look(ending, deadline_now_us());
    return ending->interrupted_us != 0 && signals_so_far(ending) != ending->seen;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One that has not begun has no end. */
static int64_t ending_left_us(struct ending *ending, bool one_answer)
{
    if (ending == NULL)
        return INT64_MAX;
    if (ending_is_cut(ending))
        return 0;
    bool interrupted = ending->interrupted_us != 0;
    int64_t since = interrupted ? ending->interrupted_us : ending->begun_us;
    if (since == 0)
        return INT64_MAX;
    int64_t end = since + 1000 * patience_ms(interrupted ? WHOLE_MS : ERROR_WHOLE_MS);
    if (ending->silent_us != 0)
        end = sooner(end, later(since, ending->silent_us) +
                              1000 * patience_ms(interrupted ? SILENCE_MS : ERROR_SILENCE_MS));
    if (one_answer && interrupted)
        end = sooner(end, later(since, ending->asked_us) + 1000 * patience_ms(ANSWER_MS));
    return later(end - deadline_now_us(), 0);
}

bool ending_is_over(struct ending *ending)
{
    return ending_left_us(ending, false) == 0;
}

void ending_begin(struct ending *ending)
{
    if (ending == NULL)
        return;
    int64_t now = deadline_now_us();
    ending_look(ending, now);
    if (ending->begun_us != 0)
        return;
    ending->begun_us = now;
    ending->noticed = false;
    if (ending->interrupted_us != 0 && ending->silent_us == 0 &&
        now - ending->answered_us > patience_ms(ELSEWHERE_MS) * 1000) {
        ending->interrupted_us = now;
        ending->seen = signals_so_far(ending);
    }
}

void ending_done(struct ending *ending)
{
    if (ending != NULL)
        ending->begun_us = 0;
}

struct deadline ending_deadline(struct ending *ending, int64_t ms)
{
    struct deadline deadline = deadline_in_ms(ms, NULL);
    deadline.ending = ending;
    return deadline;
}

struct deadline ending_answer(struct ending *ending, int64_t ms)
{
    struct deadline deadline = ending_deadline(ending, ms);
    deadline.one_answer = true;
    if (ending != NULL) {
        ending->asked_us = deadline_now_us();
        ending_unanswered(ending);
    }
    return deadline;
}

void ending_answered(struct ending *ending)
{
    if (ending == NULL)
        return;
    ending->answered_us = deadline_now_us();
    ending->silent_us = 0;
}

void ending_unanswered(struct ending *ending)
{
    if (ending != NULL && ending->silent_us == 0)
        ending->silent_us = deadline_now_us();
}
