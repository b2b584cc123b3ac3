#include "measure/trial.h"

#include "measure/pass_check.h"

#include <string.h>
#include <time.h>

enum { LOOKS = 8, NAP_NS = 2500000 };

static double rate(const struct reading *reading, uint64_t from, uint64_t to, uint64_t us)
{
    uint64_t elapsed = counter_elapsed(&reading->counters[0], from, to);
    return us > 0 ? (double)elapsed * 1e6 / (double)us : 0;
}

static bool is_sound(const struct device_poll *look, struct error *error)
{
    if (look->reset)
        return error_set(error, ERROR_RESET, "the target was reset");
    return look->changed == NULL || witness_tell(look->changed, look->saw, error);
}

bool trial_run(struct device *device, const struct clock *clock, double *seen_hz,
               const struct deadline *deadline, struct error *error)
{
    uint64_t last[READING_ROOM], values[READING_ROOM], last_us = 0, before_us, after_us;
    struct device_poll look;
    *seen_hz = 0;
    if (device->debugger != NULL)
        return true;
    struct plausible plausible = plausible_begin(&device->reading, device->block->counts_cycles, clock, 0);
    for (int i = 0; i < LOOKS; i++) {
        if (!device_poll(device, values, &before_us, &after_us, &look, deadline, error))
            return false;
        /* The first look may tell of a reset of long ago */
        look.reset = look.reset && i > 0;
        if (!is_sound(&look, error))
            return false;
        uint64_t us = after_us > last_us ? after_us - last_us : 0;
        if (i > 0 && !plausible_span(&plausible, last, values, us, 0, error))
            return false;
        double hz = i > 0 ? rate(&device->reading, last[0], values[0], us) : 0;
        *seen_hz = hz > *seen_hz ? hz : *seen_hz;
        memcpy(last, values, sizeof last);
        last_us = before_us;
        if (i + 1 < LOOKS)
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    return true;
}
