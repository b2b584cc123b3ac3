/*
 * Windows: samples of all counters in use while the core runs, summed to 64-bit totals for as long as no two
 * samples are so far apart that a counter can have wrapped between them.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "measure/clock.h"
#include "measure/evaluation.h"
#include "measure/pass_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window_total {
    uint64_t count;
    uint64_t missed; /* samples before which a wrap may have been missed: then the count is a lower bound */
};

struct window {
    struct device *device;
    struct evaluation evaluation;
    struct plausible plausible;
    uint64_t last[READING_ROOM], last_us, first_us; /* on the link's clock; not later than the sample */
    struct window_total totals[READING_ROOM];
    uint64_t skew_us;        /* the counters of a sample were read within this, at most */
    uint64_t sample_skew_us; /* those of the last one */
    bool halts;              /* for each sample, and for the one before the first */
    uint64_t halted_us;      /* for so long in all, at most */
    uint64_t samples, lost;  /* lost: of them, those that came too late for one of the counters */
};

bool window_begin(struct window *window, struct device *device, const struct clock *clock,
                  const struct deadline *deadline, struct error *error);
/* Adds what went by since the last sample. ERROR_WRITTEN, ERROR_RESET: nothing is added, the totals stand. */
bool window_sample(struct window *window, const struct deadline *deadline, struct error *error);
/* How far apart samples may be, in ms: at least 1, at most 1000, or a minute where each of them halts the
 * core. */
int window_longest_ms(const struct window *window);
/* Likewise, but so often, where it costs the core nothing, that a counter which somebody writes shows it. */
int window_pace_ms(const struct window *window);

/*
 * Crowds: all hardware threads of a card at once. Each has its own counters, and a window of its own over
 * them; they are sampled in turns, and the target is lent to one after the other.
 */
struct cpu_windows_member {
    struct device_core *core; /* core->core.unit: the CPU; core->view.core_id: its core */
    struct counter_block *block;
    struct reading reading;
    struct window window, begin, before; /* now; as the pass began; as the interval did */
};

struct cpu_windows {
    struct device *device;
    struct cpu_windows_member *members; /* in the order of the CPUs */
    size_t n;
};

/*
 * Takes every CPU that the target shows, with the named block, or the best for NULL. Only what is free on all
 * of them counts as free afterwards. ERROR_USAGE where cores are no threads of a card. To be closed even
 * after a failure; what was changed is put back by device_undo.
 */
bool cpu_windows_take(struct cpu_windows *windows, struct device *device, const char *block,
                      const struct deadline *deadline, struct error *error);
void cpu_windows_close(struct cpu_windows *windows);

bool cpu_windows_program(struct cpu_windows *windows, const struct counter_pick *picks, size_t n,
                         const struct deadline *deadline, struct error *error);
/* All windows; of a sample each adds what went by since its last one. */
bool cpu_windows_begin(struct cpu_windows *windows, const struct clock *clock,
                       const struct deadline *deadline, struct error *error);
bool cpu_windows_sample(struct cpu_windows *windows, const struct deadline *deadline, struct error *error);
void cpu_windows_begin_interval(struct cpu_windows *windows);
int cpu_windows_pace_ms(const struct cpu_windows *windows); /* as window_pace_ms */
