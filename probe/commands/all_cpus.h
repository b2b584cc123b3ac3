/*
 * Everyone: stat and watch with -a, over all CPUs of a card, with sums a core.
 */
#pragma once

#include "commands/command.h"
#include "commands/counting.h"
#include "measure/window.h"
#include "report/counts.h"

#include <stdbool.h>

struct all_cpus {
    struct session session;
    struct counting counting;
    struct conditions conditions;
    struct clock clock;
    struct cpu_windows windows;
    struct cores_table table, whole; /* whole: of watch, since its begin */
};

int all_cpus_stat(const struct context *context, struct error *error);
int all_cpus_watch(const struct context *context, struct error *error);

bool all_cpus_open(struct all_cpus *self, struct error *error);
/* Puts all back; false with `error` when something could not be. */
bool all_cpus_close(struct all_cpus *self, struct error *error);
/* Samples until then, on deadline_now_us, or until cancelled, often enough that no counter wraps unseen. */
bool all_cpus_sample_until(struct all_cpus *self, int64_t until_us, struct error *error);
/* Brings what was counted in this pass, of the interval or since its begin, into a table, with its sums. */
void all_cpus_fill(struct all_cpus *self, struct cores_table *table, const struct plan_pass *pass,
                   bool interval);
