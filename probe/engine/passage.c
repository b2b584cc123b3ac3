#include "engine/passage.h"

#include <inttypes.h>

enum { READS = 3 };

void passage_init(struct passage *passage, struct direct_engine *engine)
{
    passage->engine = engine;
    for (unsigned i = 0; i < PASSAGE_STOPS; i++)
        passage->set[i] = BREAKPOINT_NONE;
}

bool passage_begin(struct passage *passage, const struct region *region, unsigned stops, struct error *error)
{
    struct direct_engine *engine = passage->engine;
    engine->region = *region;
    engine->region.to_return = false;
    engine->region.start = engine->region.end =
        core_code(engine->core, region->start, region->start_is_thumb);
    engine->call.others.n = 0;
    return direct_prepare(engine, &region->process, stops - 1, error);
}

bool passage_is_among(const uint64_t *stops, unsigned n, uint64_t here)
{
    for (unsigned i = 0; i < n; i++)
        if (stops[i] == here)
            return true;
    return false;
}

static void add_stop(struct passage *passage, unsigned i, uint64_t to)
{
    struct direct_engine *engine = passage->engine;
    if (i == 0)
        breakpoints_add_move(&engine->breakpoints, &engine->list, passage->set[0], to);
    else
        breakpoints_add_extra(&engine->breakpoints, &engine->list, i - 1, passage->set[i], to);
    passage->set[i] = to;
}

void passage_add_stops(struct passage *passage, const uint64_t *stops, unsigned n)
{
    struct direct_engine *engine = passage->engine;
    uint64_t *set = passage->set;
    /* The removal of a breakpoint instruction must not remove another's at the same place */
    for (unsigned i = 0; i < PASSAGE_STOPS; i++)
        if (set[i] != BREAKPOINT_NONE &&
            (i >= n || (stops[i] != set[i] && passage_is_among(stops, n, set[i]))))
            add_stop(passage, i, BREAKPOINT_NONE);
    for (unsigned i = 0; i < n; i++) {
        if (set[i] == stops[i])
            continue;
        add_stop(passage, i, stops[i]);
        breakpoints_add_proof(&engine->breakpoints, &engine->list, stops[i]);
    }
    /* For what inspects the stop if the run ends here */
    engine->call.others.n = 0;
    if (n > 0)
        engine->region.start = engine->region.end = stops[0];
    for (unsigned i = 1; i < n; i++)
        others_add(&engine->call.others, stops[i], OTHER_PLACE, 0);
}

bool passage_prepare(const struct passage *passage, const uint64_t *stops, unsigned n, unsigned *fit,
                     struct error *error)
{
    struct breakpoints *breakpoints = &passage->engine->breakpoints;
    for (*fit = 0; *fit < n && *fit < PASSAGE_STOPS; ++*fit) {
        if (!breakpoints_prepare(breakpoints, stops[*fit], passage->engine->deadline, error))
            return false;
        if (*fit > 0 && !breakpoints_can_have_extra(breakpoints, *fit - 1, stops[*fit]))
            break;
    }
    return true;
}

bool passage_run(struct passage *passage, size_t reached, uint64_t expected, bool *whole, struct error *error)
{
    if (!direct_run_list(passage->engine, error))
        return false;
    *whole = direct_ran_whole(passage->engine);
    return passage->engine->done >= reached ||
           error_set(error, ERROR_ADDRESS, "no breakpoint can be put at 0x%08" PRIX64, expected);
}

bool passage_find_stop(struct passage *passage, uint64_t *place, unsigned *handlers, struct error *error)
{
    struct direct_engine *engine = passage->engine;
    *place = passage->set[0];
    if (!direct_restore_borrowed(engine, error))
        return false;
    for (int i = 0; i < READS; i++) {
        struct stop stop = {0};
        bool in_handler;
        if (!direct_read_stop(engine, &stop, error))
            return false;
        if (stop.unreadable == NULL && stop.cause == STOP_BREAKPOINT &&
            passage_is_among(passage->set, PASSAGE_STOPS, stop.pc)) {
            *place = stop.pc;
            break;
        }
        if (!direct_is_in_handler(engine, &stop, &in_handler, error))
            return false;
        if (!in_handler)
            continue;
        ++*handlers;
        if (!direct_go_on_in_handler(engine, false, error))
            return false;
        i = -1;
    }
    return direct_confirm_stop(engine, *place, error);
}

/* --- the scout: several starts at a time, to find out which is reached at all ------------------------------
 */

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
