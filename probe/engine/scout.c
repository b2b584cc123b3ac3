/*
 * The scout of the direct engine: watches several starts at a time, to find out which of them is reached at
 * all. Nothing is measured.
 */
#include "engine/passage.h"

#include <inttypes.h>

/* Sets breakpoints at as many of the starts as there are comparators for, in their order. */
static bool watch_starts(struct passage *passage, const uint64_t *starts, unsigned n, unsigned *watched,
                         struct error *error)
{
    struct direct_engine *engine = passage->engine;
    bool whole;
    if (!passage_prepare(passage, starts, n, watched, error))
        return false;
    direct_new_list(engine);
    passage_add_stops(passage, starts, *watched);
    return passage_run(passage, engine->list.n, starts[0], &whole, error);
}

static bool wait_for_one(struct passage *passage, uint64_t *place, struct error *error)
{
    struct direct_engine *engine = passage->engine;
    unsigned handlers = 0;
    bool whole;
    *place = passage->set[0];
    direct_new_list(engine);
    core_add_wait_halt(engine->core, &engine->list);
    core_add_expect_stop(engine->core, &engine->breakpoints.setup, &engine->list, *place, true);
    return passage_run(passage, 0, *place, &whole, error) &&
           (whole || passage_find_stop(passage, place, &handlers, error));
}

bool direct_scout(struct engine *engine, const struct engine_scout *scout, struct engine_found *found,
                  const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    const struct engine_request wait = {.timeout_ms = scout->timeout_ms};
    struct error why = {0};
    uint64_t place = 0;
    struct passage passage;
    uint64_t starts[PASSAGE_STOPS];
    unsigned n = scout->n < PASSAGE_STOPS ? (unsigned)scout->n : PASSAGE_STOPS, watched = 0;
    for (unsigned i = 0; i < n; i++)
        starts[i] = core_code(self->core, scout->regions[i]->start, scout->regions[i]->start_is_thumb);
    *found = (struct engine_found){0};
    passage_init(&passage, self);
    direct_begin_own(self, deadline_left_us(deadline) / 1000, deadline);
    if (!passage_begin(&passage, scout->regions[0], n, error) ||
        !watch_starts(&passage, starts, n, &watched, error))
        return false;
    found->watched = watched;
    direct_begin(self, &wait, scout->sink);
    int64_t begun_us = deadline_now_us();
    bool reached = wait_for_one(&passage, &place, &why);
    found->waited_us = deadline_now_us() - begun_us;
    if (!reached)
        return direct_tell_cause(self, &why, error);
    for (found->which = 0; found->which + 1 < watched && starts[found->which] != place;)
        found->which++;
    return direct_check_neighbours(self, true, error);
}
