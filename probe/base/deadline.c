#include "base/deadline.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t deadline_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
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
    struct deadline slice = deadline_in_ms(ms, deadline->cancel);
    if (deadline->at_us < slice.at_us)
        slice.at_us = deadline->at_us;
    return slice;
}

bool deadline_cancelled(const struct deadline *deadline)
{
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
    return left > 0 ? left : 0;
}

int deadline_poll_ms(const struct deadline *deadline)
{
    int64_t ms = (deadline_left_us(deadline) + 999) / 1000;
    return ms > 1000 ? 1000 : (int)ms;
}

void deadline_nap(void)
{
    enum { NAP_US = 1000 };
    usleep(NAP_US);
}
