#include "measure/watch.h"

static bool read_now(struct watch *watch, uint64_t *value, uint64_t *before_us, uint64_t *after_us,
                     const struct deadline *deadline, struct error *error)
{
    const struct counter *counter = &watch->target->block->counters[0];
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = 4};
    size_t before = steps_add(&list, step_time(TIME_BEFORE));
    size_t at = counter_add_read(counter, &list);
    size_t after = steps_add(&list, step_time(TIME_AFTER));
    if (!target_run(watch->target, &list, results, deadline, error))
        return false;
    *value = counter_value(counter, results, at);
    *before_us = results[before];
    *after_us = results[after];
    return true;
}

bool watch_begin(struct watch *watch, struct target *target, const struct clock *clock,
                 const struct deadline *deadline, struct error *error)
{
    uint64_t after;
    *watch = (struct watch){.target = target, .clock = *clock};
    if (!read_now(watch, &watch->last, &watch->last_us, &after, deadline, error))
        return false;
    watch->first_us = watch->last_us;
    return true;
}

bool watch_sample(struct watch *watch, const struct deadline *deadline, struct error *error)
{
    const struct counter *counter = &watch->target->block->counters[0];
    uint64_t value = 0, before = 0, after = 0;
    if (!read_now(watch, &value, &before, &after, deadline, error))
        return false;
    double most = (double)(after - watch->last_us) / 1e6 * watch->clock.bound_hz;
    if (most >= (double)counter_modulus(counter))
        watch->at_least = true;
    watch->total += counter_elapsed(counter, watch->last, value);
    watch->last = value;
    watch->last_us = before;
    watch->samples++;
    return true;
}

int watch_pace_ms(const struct watch *watch)
{
    double period_ms =
        (double)counter_modulus(&watch->target->block->counters[0]) / watch->clock.bound_hz * 1000;
    double pace = period_ms / 4;
    return pace < 1 ? 1 : pace > 1000 ? 1000 : (int)pace;
}
