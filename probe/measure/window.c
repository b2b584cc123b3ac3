#include "measure/window.h"

#include <stdlib.h>
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

bool window_begin(struct window *window, struct device *device, const struct clock *clock,
                  const struct deadline *deadline, struct error *error)
{
    uint64_t after_us = 0;
    *window = (struct window){.device = device,
                              .halts = device->reading.by_core != NULL && device->debugger == NULL,
                              .evaluation = {.reading = &device->reading,
                                             .overheads = none,
                                             .counts_cycles = device->block->counts_cycles,
                                             .bound_hz = clock->bound_hz}};
    window->plausible = plausible_begin(&device->reading, device->block->counts_cycles, clock, 0);
    /* Of resets before it the first look tells as well */
    struct device_poll look;
    if (!device_poll(device, window->last, &window->last_us, &after_us, &look, deadline, error))
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
    struct device_poll look;
    if (!device_poll(window->device, values, &before_us, &after_us, &look, deadline, error))
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
    for (size_t i = 0; i < window->device->reading.counted; i++) {
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
    const struct reading *reading = &window->device->reading;
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

static void lend(struct crowd *crowd, const struct crowd_member *member)
{
    crowd->device->chosen = member->core;
    crowd->device->block = member->block;
    crowd->device->reading = member->reading;
}

static bool take_one(struct crowd *crowd, struct crowd_member *member, const char *block,
                     const struct deadline *deadline, struct error *error)
{
    struct device *device = crowd->device;
    device->chosen = member->core;
    if (!device_take(device, false, "", deadline, error) ||
        !device_take_block(device, block, deadline, error))
        return error_prefix(error, "CPU %u: ", (unsigned)member->core->core.unit);
    member->block = device->block;
    member->reading = device->reading;
    return true;
}

bool crowd_take(struct crowd *crowd, struct device *device, const char *block,
                const struct deadline *deadline, struct error *error)
{
    *crowd = (struct crowd){.device = device, .members = calloc(device->n_cores, sizeof *crowd->members)};
    if (crowd->members == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    uint32_t free_on_all = UINT32_MAX;
    for (size_t i = 0; i < device->n_cores; i++) {
        struct crowd_member *member = &crowd->members[i];
        member->core = &device->cores[i];
        if (member->core->core.family != CORE_KNC)
            return error_set(error, ERROR_USAGE,
                             "-a is for the threads of a Knights Corner card; here -C N takes a core");
        if (!take_one(crowd, member, block, deadline, error))
            return false;
        free_on_all &= member->block->pmu.free;
        crowd->n++;
    }
    for (size_t i = 0; i < crowd->n; i++)
        crowd->members[i].block->pmu.free = free_on_all;
    lend(crowd, &crowd->members[0]);
    return true;
}

void crowd_close(struct crowd *crowd)
{
    free(crowd->members);
    *crowd = (struct crowd){0};
}

bool crowd_program(struct crowd *crowd, const struct counter_pick *picks, size_t n,
                   const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < crowd->n; i++) {
        lend(crowd, &crowd->members[i]);
        if (!device_program(crowd->device, picks, n, deadline, error))
            return error_prefix(error, "CPU %u: ", (unsigned)crowd->members[i].core->core.unit);
        crowd->members[i].reading = crowd->device->reading;
    }
    return true;
}

bool crowd_begin(struct crowd *crowd, const struct clock *clock, const struct deadline *deadline,
                 struct error *error)
{
    for (size_t i = 0; i < crowd->n; i++) {
        struct crowd_member *member = &crowd->members[i];
        lend(crowd, member);
        if (!window_begin(&member->window, crowd->device, clock, deadline, error))
            return false;
        member->window.plausible.reading = NULL; /* nobody but an operating system writes an MSR */
        member->begin = member->before = member->window;
    }
    return true;
}

bool crowd_sample(struct crowd *crowd, const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < crowd->n; i++) {
        lend(crowd, &crowd->members[i]);
        if (!window_sample(&crowd->members[i].window, deadline, error))
            return false;
    }
    return true;
}

void crowd_begin_interval(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->n; i++)
        crowd->members[i].before = crowd->members[i].window;
}

int crowd_pace_ms(const struct crowd *crowd)
{
    return window_longest_ms(&crowd->members[0].window);
}
