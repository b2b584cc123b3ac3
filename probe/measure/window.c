#include "measure/window.h"

#include <string.h>

/* While the core runs no halt is in it, so nothing is to be taken away. */
static const struct overhead none[READING_ROOM] = {{.known = true}};

static void note_skew(struct window *window, uint64_t before_us, uint64_t after_us)
{
    uint64_t skew = after_us > before_us ? after_us - before_us : 0;
    if (window->halts) { /* then they stand still for it */
        window->halted_us += skew;
        return;
    }
    window->sample_skew_us = skew;
    window->skew_us = skew > window->skew_us ? skew : window->skew_us;
}

bool window_begin(struct window *window, struct target *target, const struct clock *clock,
                  const struct deadline *deadline, struct error *error)
{
    uint64_t after_us = 0;
    *window = (struct window){.target = target,
                              .halts = target->reading.by_core != NULL && target->debugger == NULL,
                              .evaluation = {.reading = &target->reading,
                                             .overheads = none,
                                             .counts_cycles = target->block->counts_cycles,
                                             .bound_hz = clock->bound_hz}};
    window->plausible = plausible_begin(&target->reading, target->block->counts_cycles, clock, 0);
    /* Of resets before it the first look tells as well */
    struct target_look look;
    if (!target_look(target, window->last, &window->last_us, &after_us, &look, deadline, error))
        return false;
    if (look.changed != NULL)
        return witness_tell(look.changed, look.saw, error);
    window->first_us = window->last_us;
    note_skew(window, window->last_us, after_us);
    return true;
}

bool window_sample(struct window *window, const struct deadline *deadline, struct error *error)
{
    uint64_t values[READING_ROOM], before_us = 0, after_us = 0;
    struct widen step[READING_ROOM];
    struct target_look look;
    if (!target_look(window->target, values, &before_us, &after_us, &look, deadline, error))
        return false;
    if (look.reset)
        return error_set(error, ERROR_RESET, "the target was reset");
    if (look.changed != NULL)
        return witness_tell(look.changed, look.saw, error);
    const struct evaluation_span span = {.from = window->last,
                                         .to = values,
                                         .longest_us =
                                             after_us > window->last_us ? after_us - window->last_us : 0};
    if (!plausible_span(&window->plausible, window->last, values, span.longest_us, window->halts ? 2 : 0,
                        error))
        return false;
    evaluation_step(&window->evaluation, &span, step);
    bool lost = false;
    for (size_t i = 0; i < window->target->reading.counted; i++) {
        window->totals[i].count += step[i].total;
        window->totals[i].missed += step[i].at_least;
        lost = lost || step[i].at_least;
    }
    window->lost += lost;
    memcpy(window->last, values, sizeof window->last);
    window->last_us = before_us;
    window->samples++;
    note_skew(window, before_us, after_us);
    return true;
}

int window_longest_ms(const struct window *window)
{
    const struct reading *reading = &window->target->reading;
    double pace = window->halts ? 60000 : 1000;
    for (size_t i = 0; i < reading->counted; i++) {
        const struct counter *counter = &reading->counters[i];
        double fastest = window->evaluation.bound_hz * (counter->per_cycle > 0 ? counter->per_cycle : 8);
        double period_ms = (double)counter_modulus(counter) / fastest * 1000;
        /* What wraps faster than anybody can look must not keep us from looking at the rest in peace */
        if (period_ms >= 1 && period_ms / 4 < pace)
            pace = period_ms / 4;
    }
    return pace < 1 ? 1 : (int)pace;
}

int window_pace_ms(const struct window *window)
{
    enum { OFTEN_MS = 100 };
    int ms = window_longest_ms(window);
    return ms > OFTEN_MS && !window->halts ? OFTEN_MS : ms;
}
