#include "run/event_stop.h"

#include <string.h>
#include <strings.h>

bool event_stop_find(const struct counter_block *block, const struct event_request *wanted,
                     struct counter_pick *out, struct error *error)
{
    struct event_set *set = block->events != NULL ? event_set_open(block->events, error) : NULL;
    const struct event *known = NULL;
    struct event_request named = *wanted;
    const struct event_request *event = &named;
    event_requests_name(&named, 1, set, block);
    if (set != NULL)
        known = event->by_code ? event_set_by_code(set, event->code) : event_set_find(set, event->name);
    *out = (struct counter_pick){.code = known != NULL ? known->code : event->code};
    memcpy(out->name, known != NULL ? known->name : event->name, sizeof out->name);
    event_set_free(set);
    if (known != NULL || event->by_code || error->kind != ERROR_NONE)
        return error->kind == ERROR_NONE;
    return error_advise(error, ERROR_USAGE, "pmu-probe list shows the events of this core.",
                        "%s has no event %.48s", block->text, event->name);
}

bool event_stop_take(const struct core *core, const struct event_request *event, event_stop_try *try_it,
                     void *context, struct error *error)
{
    struct error first = {0};
    bool is_cycles = !event->by_code && strcasecmp(event->name, "CPU_CYCLES") == 0;
    bool matches = core_has(core, SYSTEM_SPACE) && is_cycles;
    if (matches && try_it(context, "dwt", 0, &first))
        return true;
    if (matches && first.kind != ERROR_NO_COUNTER && first.kind != ERROR_NO_COMPARATOR &&
        !error_is_written(&first))
        return error_copy(error, &first);
    if (try_it(context, NULL, 1, error))
        return true;
    /* The first way may have taken the comparator by now */
    if (matches &&
        (error->kind == ERROR_NO_COUNTER || error->kind == ERROR_NO_COMPARATOR || error->kind == ERROR_USAGE))
        *error = first;
    return false;
}
