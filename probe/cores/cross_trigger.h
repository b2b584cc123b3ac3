/* SPDX-License-Identifier: MIT */
/*
 * Cross triggers: how the interrupt request of a core's PMU halts the core by its cross trigger interface:
 * trigger input 1, a channel that nothing else uses and whose gate is closed, trigger output 0. On Armv8 the
 * channel is the one by which we halt the core anyway; on Armv7 it is chosen here. Data only. Whether a chip
 * has wired it so shows only by a trial.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CROSS_TRIGGERS = 8, CROSS_TRIGGER_IDENTITY = 2 + 2 * CROSS_TRIGGERS, CROSS_TRIGGER_SETTINGS = 24 };

struct cross_trigger {
    uint32_t channel; /* as a bit */
    bool was_off;     /* the whole interface, so that its registers hold arbitrary values */
};

/* The reads of the interface as it was found; none on Armv8, where the core's own identity has them. */
void cross_trigger_add_identity(const struct core *core, struct steps *list);
/* False: the core has no interface, or all its channels are taken. */
bool cross_trigger_identify(const struct core *core, const uint64_t *values, struct cross_trigger *out);
/* What routes the request to the halt, in the order to be made; at most CROSS_TRIGGER_SETTINGS. The last
 * switches the input on. */
size_t cross_trigger_settings(const struct core *core, const struct cross_trigger *trigger,
                              struct setting *out, size_t room);
/* Of channels, as bits: the last, and those that the first `n` inputs and outputs do not use. */
uint32_t cross_trigger_last(uint32_t channels);
uint32_t cross_trigger_free(uint64_t devid, const uint64_t *inputs, const uint64_t *outputs, unsigned n);
/* Takes back the halt request once its cause is gone, and waits for that. */
void cross_trigger_add_acknowledge(const struct core *core, struct steps *list);
