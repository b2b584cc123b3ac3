/* SPDX-License-Identifier: MIT */
/*
 * What each line of a function costs: its blocks, a walk through them from stop to stop, and the function
 * measured whole for comparison.
 */
#pragma once

#include "base/values.h"
#include "measure/delta.h"
#include "measure/line_costs.h"
#include "measure/plausible.h"
#include "profile/annotation.h"
#include "report/canvas.h"
#include "run/counting.h"
#include "run/region.h"
#include "run/session.h"
#include "symbols/listing.h"

#include <stdbool.h>
#include <stdint.h>

struct lines_run {
    struct session *session;
    struct progress *progress;
    struct conditions *conditions;
    void *context;
    bool (*begin)(void *context, struct error *error); /* of the caller: before the first call */
    struct named_region named;
    struct listing listing;
    struct source_text *texts; /* of each file of the listing */
    struct code_blocks blocks;
    struct walk_block *walk;
    struct counting counting;
    struct clock clock;
    struct summary whole;
    struct halt_cost halts;
    struct line_costs costs;
    struct plausible plausible;
    struct error written;   /* by something else */
    int64_t begun_us;       /* the first call of the walk; 0: none yet */
    char limit[DOUBT_ROOM]; /* why what the engine walked is not proved to be exact; "" */
};

/* Before the target is touched. */
bool lines_run_find(struct lines_run *run, const char *function, struct error *error);
bool lines_run_measure(struct lines_run *run, struct error *error);
void lines_run_free(struct lines_run *run);
