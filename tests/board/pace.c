// Pace: see the header.
#include "pace.h"

#include <time.h>

#define NS_PER_S      1000000000u
#define IDLE_AFTER_NS 1000000u
enum {
    CATCH_UP_PER_S = 500, // 1/500 s: 2 ms at most are made up for
    NAP_MS = 10,          // at the pace of so slow an idle clock that this much is less than that
};

uint64_t pace_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void pace_start(struct pace *p, uint32_t hz, uint32_t idle_hz)
{
    *p = (struct pace){.hz = hz, .idle_hz = idle_hz, .last = pace_now_ns()};
}

static uint32_t rate(struct pace *p, uint64_t now)
{
    if (p->used)
        p->last_use = now;
    p->used = false;
    p->idle = now - p->last_use > IDLE_AFTER_NS;
    return p->idle ? p->idle_hz : p->hz;
}

int pace_nap_ms(const struct pace *p)
{
    return p->idle && p->idle_hz <= p->hz / NAP_MS ? NAP_MS : 1;
}

uint64_t pace_credit(struct pace *p)
{
    uint64_t now = pace_now_ns(), passed = now - p->last;
    p->last = now;
    if (passed > NS_PER_S) // keeps the product below 2^64; far above the limit anyway
        passed = NS_PER_S;
    uint64_t due = passed * rate(p, now) + p->leftover;
    p->credit += (int64_t)(due / NS_PER_S);
    p->leftover = due % NS_PER_S;
    if (p->credit > p->hz / CATCH_UP_PER_S)
        p->credit = p->hz / CATCH_UP_PER_S;
    return p->credit > 0 ? (uint64_t)p->credit : 0;
}

void pace_spent(struct pace *p, uint64_t cycles)
{
    p->credit -= (int64_t)cycles;
}

uint64_t pace_skip(struct pace *p, uint64_t ns)
{
    uint64_t due = ns * p->hz + p->leftover;
    p->leftover = due % NS_PER_S;
    p->last = pace_now_ns();
    return due / NS_PER_S;
}
