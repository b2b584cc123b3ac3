/*
 * Crowds: all hardware threads of a card at once. Each has its own counters, and a window of its own over
 * them; they are sampled in turns, and the target is lent to one after the other.
 */
#pragma once

#include "measure/clock.h"
#include "measure/window.h"
#include "target/target.h"

#include <stdbool.h>
#include <stddef.h>

struct crowd_member {
    struct target_core *core; /* core->core.unit: the CPU; core->view.core_id: its core */
    struct counter_block *block;
    struct reading reading;
    struct window window, begin, before; /* now; as the pass began; as the interval did */
};

struct crowd {
    struct target *target;
    struct crowd_member *members; /* in the order of the CPUs */
    size_t n;
};

/*
 * Takes every CPU that the target shows, with the named block, or the best for NULL. Only what is free on all
 * of them counts as free afterwards. ERROR_USAGE where cores are no threads of a card. To be closed even
 * after a failure; what was changed is put back by target_undo.
 */
bool crowd_take(struct crowd *crowd, struct target *target, const char *block,
                const struct deadline *deadline, struct error *error);
void crowd_close(struct crowd *crowd);

bool crowd_program(struct crowd *crowd, const struct counter_pick *picks, size_t n,
                   const struct deadline *deadline, struct error *error);
/* All windows; of a sample each adds what went by since its last one. */
bool crowd_begin(struct crowd *crowd, const struct clock *clock, const struct deadline *deadline,
                 struct error *error);
bool crowd_sample(struct crowd *crowd, const struct deadline *deadline, struct error *error);
void crowd_begin_interval(struct crowd *crowd);
int crowd_pace_ms(const struct crowd *crowd); /* as window_pace_ms */
