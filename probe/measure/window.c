/* SPDX-License-Identifier: MIT */
#include "measure/window.h"

#include <stdlib.h>
#include <string.h>

/* No halt lies in a window, so there is no overhead to remove. */
static const struct overhead none[READING_ROOM] = {{.known = true}};

static void note_skew(struct window *window, uint64_t before_us, uint64_t after_us)
{
    uint64_t skew = us_between(before_us, after_us);
    if (window->halts) { /* the counters are stopped during a sample */
        window->halted_us += skew;
        return;
    }
    if (window->device->debugger != NULL) /* it has halted the core before */
        return;
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
    /* Its reset is ignored: it may be before the window */
    struct device_poll poll;
    if (!device_poll(device, window->last, &window->last_us, &after_us, &poll, deadline, error))
        return false;
    if (poll.changed != NULL)
        return witness_tell(poll.changed, poll.saw, error);
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
        return error_reset(error);
    if (look.changed != NULL)
        return witness_tell(look.changed, look.saw, error);
    if (look.may_stand && device_stands(window->device, &window->device->stopped_at, deadline))
        device_leave_as(window->device,
                        LEAVE_HALTED_FOREIGN); /* the time from here on is not the program's */
    const struct evaluation_span span = {
        .from = window->last, .to = values, .longest_us = us_between(window->last_us, after_us)};
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
        double fastest = window->evaluation.bound_hz * counter_pace(counter);
        double period_ms = (double)counter_modulus(counter) / fastest * 1000;
        /* A counter that wraps within 1 ms cannot be followed, and does not set the pace of the others */
        if (period_ms >= 1 && period_ms / 4 < pace)
            pace = period_ms / 4;
    }
    return pace < 1 ? 1 : (int)pace;
}

/* If samples do not halt the core they are frequent, so that a write to a counter by the target shows. */
static int window_pace_ms(const struct window *window)
{
    enum { OFTEN_MS = 100 };
    int ms = window_longest_ms(window);
    return ms > OFTEN_MS && !window->halts ? OFTEN_MS : ms;
}

static void select_member(struct cpu_windows *windows, const struct cpu_windows_member *member)
{
    if (!windows->all)
        return;
    windows->device->chosen = member->core;
    windows->device->block = member->block;
    windows->device->reading = member->reading;
}

static bool take_one(struct cpu_windows *windows, struct cpu_windows_member *member, const char *block,
                     const struct deadline *deadline, struct error *error)
{
    struct device *device = windows->device;
    device->chosen = member->core;
    if (!device_take(device, false, "", deadline, error) ||
        !device_take_block(device, block, deadline, error))
        return error_prefix(error, "CPU %u: ", (unsigned)member->core->core.unit);
    member->block = device->block;
    member->reading = device->reading;
    return true;
}

static bool make_members(struct cpu_windows *windows, struct device *device, bool all, struct error *error)
{
    size_t room = all ? device->n_cores : 1;
    *windows =
        (struct cpu_windows){.device = device, .all = all, .members = calloc(room, sizeof *windows->members)};
    return windows->members != NULL || error_memory(error);
}

bool cpu_windows_take_chosen(struct cpu_windows *windows, struct device *device, struct error *error)
{
    if (!make_members(windows, device, false, error))
        return false;
    windows->members[windows->n++].core = device->chosen;
    windows->kind = device->block->kind;
    return true;
}

bool cpu_windows_take_all(struct cpu_windows *windows, struct device *device, const char *block,
                          const struct deadline *deadline, struct error *error)
{
    if (!make_members(windows, device, true, error))
        return false;
    uint32_t free_on_all = UINT32_MAX;
    for (size_t i = 0; i < device->n_cores; i++) {
        struct cpu_windows_member *member = &windows->members[i];
        member->core = &device->cores[i];
        if (!member->core->core.numbered_by_unit)
            return error_set(error, ERROR_USAGE,
                             "-a is for the threads of a Knights Corner card; here -C N takes a core");
        if (!take_one(windows, member, block, deadline, error))
            return false;
        free_on_all &= member->block->pmu.free;
        windows->n++;
    }
    for (size_t i = 0; i < windows->n; i++)
        windows->members[i].block->pmu.free = free_on_all;
    select_member(windows, &windows->members[0]);
    windows->kind = windows->members[0].block->kind;
    return true;
}

void cpu_windows_close(struct cpu_windows *windows)
{
    free(windows->members);
    *windows = (struct cpu_windows){0};
}

bool cpu_windows_program(struct cpu_windows *windows, const struct counter_pick *picks, size_t n,
                         const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < windows->n; i++) {
        select_member(windows, &windows->members[i]);
        if (!device_program(windows->device, picks, n, deadline, error))
            return windows->all &&
                   error_prefix(error, "CPU %u: ", (unsigned)windows->members[i].core->core.unit);
        windows->members[i].reading = windows->device->reading;
    }
    return true;
}

bool cpu_windows_begin(struct cpu_windows *windows, const struct clock *clock,
                       const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < windows->n; i++) {
        struct cpu_windows_member *member = &windows->members[i];
        select_member(windows, member);
        if (!window_begin(&member->window, windows->device, clock, deadline, error))
            return false;
        if (windows->all) /* only an operating system writes an MSR */
            member->window.plausible.reading = NULL;
        member->begin = member->before = member->window;
    }
    return true;
}

bool cpu_windows_sample(struct cpu_windows *windows, const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < windows->n; i++) {
        select_member(windows, &windows->members[i]);
        if (!window_sample(&windows->members[i].window, deadline, error))
            return false;
    }
    return true;
}

void cpu_windows_begin_interval(struct cpu_windows *windows)
{
    for (size_t i = 0; i < windows->n; i++)
        windows->members[i].before = windows->members[i].window;
}

int cpu_windows_pace_ms(const struct cpu_windows *windows)
{
    const struct window *window = &windows->members[0].window;
    return windows->all ? window_longest_ms(window) : window_pace_ms(window);
}
