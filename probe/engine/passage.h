/*
 * A passage: from one stop to the first of several. Which breakpoints are set for it, and where the core is
 * when it did not stop where it was expected first. For the files of the direct engine only.
 */
#pragma once

#include "engine/direct.h"

#include <stdbool.h>
#include <stdint.h>

enum { PASSAGE_STOPS = ENGINE_SCOUTED };

struct passage {
    struct direct_engine *engine;
    uint64_t set[PASSAGE_STOPS]; /* where breakpoints are: the one that moves, and the extra ones */
};

bool passage_is_among(const uint64_t *stops, unsigned n, uint64_t here);
void passage_init(struct passage *passage, struct direct_engine *engine);
/* What a region needs that is not measured by hits. */
bool passage_begin(struct passage *passage, const struct region *region, unsigned stops, struct error *error);
/* Places as core_code makes them. *fit: how many of them can have breakpoints at once, the first ones. */
bool passage_prepare(const struct passage *passage, const uint64_t *stops, unsigned n, unsigned *fit,
                     struct error *error);
/* To the engine's list: moves the breakpoints to these places, which are prepared, and notes them. */
void passage_add_stops(struct passage *passage, const uint64_t *stops, unsigned n);
/* The list, whose steps up to `reached` set breakpoints, and which then proves a stop at `expected`. *whole:
 * it stopped there. ERROR_ADDRESS: no breakpoint can be there. */
bool passage_run(struct passage *passage, size_t reached, uint64_t expected, bool *whole,
                 struct error *error);
/*
 * The core did not stop at the first of the places that were set, or was read too early. *place is the one
 * where it stopped. Handlers that ran just as it was reached are let go on before: *handlers says how many.
 */
bool passage_find_stop(struct passage *passage, uint64_t *place, unsigned *handlers, struct error *error);
