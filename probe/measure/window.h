/* SPDX-License-Identifier: MIT */
/*
 * Windows: samples of all counters in use while the core runs, summed to 64-bit totals, which are exact as
 * long as no counter can wrap between two samples. struct cpu_windows has one for each measured CPU: the
 * chosen core, or all hardware threads of a card.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "measure/evaluation.h"
#include "measure/plausible.h"
#include "measure/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window_total {
    uint64_t count;
    uint64_t missed; /* samples that may have missed a wrap; from the first on the count is a lower bound */
};

struct window {
    struct device *device;
    struct evaluation evaluation;
    struct plausible plausible;
    uint64_t last[READING_ROOM], last_us, first_us; /* on the link's clock; not later than the sample */
    struct window_total totals[READING_ROOM];
    uint64_t skew_us;        /* the counters of a sample were read within this, at most */
    uint64_t sample_skew_us; /* the same for the last sample */
    bool halts;              /* each sample halts the core, and so does window_begin */
    uint64_t halted_us;      /* at most, in all */
    uint64_t ran_us;         /* through a debugger: the core ran for this, at most, in all */
    uint64_t samples, lost;  /* lost: samples that were too late for a counter */
};

bool window_begin(struct window *window, struct device *device, const struct clock *clock,
                  const struct deadline *deadline, struct error *error);
/* Adds the counts since the last sample. ERROR_WRITTEN and ERROR_RESET leave the totals as they are. */
bool window_sample(struct window *window, const struct deadline *deadline, struct error *error);
/* The longest time between samples in ms: 1 to 1000, or up to a minute if each sample halts the core. */
int window_longest_ms(const struct window *window);

struct cpu_windows_member {
    struct device_core *core; /* core->core.unit: the CPU; core->view.core_id: its core */
    struct counter_block *block;
    struct reading reading;
    struct window window, begin, before; /* now; when the pass began; when the interval began */
};

/* The windows are sampled in turn. With several members, the device has one of them selected at a time. */
struct cpu_windows {
    struct device *device;
    bool all;                           /* the threads of a card */
    const struct block_kind *kind;      /* of all members' counters */
    struct cpu_windows_member *members; /* in the order of the CPUs */
    size_t n;
};

/* The chosen core of the device, which is taken already. */
bool cpu_windows_take_chosen(struct cpu_windows *windows, struct device *device, struct error *error);
/*
 * Takes every CPU of the device, with the named block (NULL: the best). A counter counts as free only if it
 * is free on all CPUs. ERROR_USAGE if the cores are not threads of a card. Close it even after a failure;
 * device_undo restores the target.
 */
bool cpu_windows_take_all(struct cpu_windows *windows, struct device *device, const char *block,
                          const struct deadline *deadline, struct error *error);
void cpu_windows_close(struct cpu_windows *windows);

bool cpu_windows_program(struct cpu_windows *windows, const struct counter_pick *picks, size_t n,
                         const struct deadline *deadline, struct error *error);
bool cpu_windows_begin(struct cpu_windows *windows, const struct clock *clock,
                       const struct deadline *deadline, struct error *error);
bool cpu_windows_sample(struct cpu_windows *windows, const struct deadline *deadline, struct error *error);
void cpu_windows_begin_interval(struct cpu_windows *windows);
int cpu_windows_pace_ms(const struct cpu_windows *windows);
