/* SPDX-License-Identifier: MIT */
#include "measure/plan.h"

#include "base/values.h"
#include "counters/events.h"
#include "counters/metric.h"
#include "symbols/symbols.h"

#include <stdio.h>
#include <string.h>

enum { FREE = -1 };

struct placing {
    const struct placement_request *requests;
    size_t n;
    uint32_t free; /* counters that requests can have */
};

struct matching {
    long owner[PLACEMENT_COUNTERS]; /* or FREE */
};

static void matching_clear(struct matching *m)
{
    for (size_t i = 0; i < PLACEMENT_COUNTERS; i++)
        m->owner[i] = FREE;
}

static bool can_have(const struct placing *p, size_t request, size_t counter)
{
    return (p->requests[request].counters & p->free & UINT32_C(1) << counter) != 0;
}

/* Kuhn's augmenting path: takes the lowest free counter, else moves an owner to another counter. */
static bool plan_find_counter(const struct placing *p, struct matching *m, size_t request, uint32_t *tried)
{
    for (size_t i = 0; i < PLACEMENT_COUNTERS; i++)
        if (m->owner[i] == FREE && can_have(p, request, i)) {
            m->owner[i] = (long)request;
            return true;
        }
    for (size_t i = 0; i < PLACEMENT_COUNTERS; i++) {
        uint32_t bit = UINT32_C(1) << i;
        if (!can_have(p, request, i) || (*tried & bit) != 0)
            continue;
        *tried |= bit;
        if (plan_find_counter(p, m, (size_t)m->owner[i], tried)) {
            m->owner[i] = (long)request;
            return true;
        }
    }
    return false;
}

static bool belongs(const struct placing *p, size_t request, size_t first)
{
    unsigned group = p->requests[first].group;
    return request == first || (group != 0 && p->requests[request].group == group);
}

static bool is_first(const struct placing *p, size_t request)
{
    for (size_t i = 0; i < request; i++)
        if (belongs(p, request, i))
            return false;
    return true;
}

/* Adds a request with all of its group, or nothing. */
static bool plan_add_group(const struct placing *p, struct matching *m, size_t first)
{
    struct matching tried = *m;
    for (size_t i = first; i < p->n; i++) {
        uint32_t seen = 0;
        if (belongs(p, i, first) && !plan_find_counter(p, &tried, i, &seen))
            return false;
    }
    *m = tried;
    return true;
}

static void read_pass(const struct matching *m, struct placement_pass *pass)
{
    pass->n = 0;
    for (size_t i = 0; i < PLACEMENT_COUNTERS; i++) {
        if (m->owner[i] == FREE)
            continue;
        size_t request = (size_t)m->owner[i], at = pass->n++;
        for (; at > 0 && pass->request[at - 1] > request; at--) {
            pass->request[at] = pass->request[at - 1];
            pass->counter[at] = pass->counter[at - 1];
        }
        pass->request[at] = request;
        pass->counter[at] = (uint8_t)i;
    }
}

static void write_pass(const struct placement_pass *pass, struct matching *m)
{
    matching_clear(m);
    for (size_t i = 0; i < pass->n; i++)
        m->owner[pass->counter[i]] = (long)pass->request[i];
}

static bool explain_group(const struct placing *p, size_t first, struct error *error)
{
    unsigned counters = (unsigned)__builtin_popcount(p->free), members = 0;
    bool hopeless = false;
    for (size_t i = first; i < p->n; i++)
        if (belongs(p, i, first)) {
            members++;
            hopeless = hopeless || (p->requests[i].counters & p->free) == 0;
        }
    if (hopeless)
        return error_set(error, ERROR_USAGE, "none of the %u counter%s can count %s", counters,
                         PLURAL(counters), members == 1 ? "this event" : "one event of this group");
    if (members > counters)
        return error_set(error, ERROR_USAGE, "a group of %u event%s needs %u counter%s, and there are %u",
                         members, PLURAL(members), members, PLURAL(members), counters);
    return error_set(error, ERROR_USAGE,
                     "a group of %u events needs %u counters, and there are %u, but some of these events "
                     "need the same one",
                     members, members, counters);
}

/* Puts the group into the first pass that can take it, or into a new one. */
static bool place_group(const struct placing *p, size_t first, struct placement_pass *out, size_t room,
                        size_t *passes, struct error *error)
{
    struct matching m;
    for (size_t k = 0; k < *passes; k++) {
        write_pass(&out[k], &m);
        if (plan_add_group(p, &m, first)) {
            read_pass(&m, &out[k]);
            return true;
        }
    }
    matching_clear(&m);
    if (!plan_add_group(p, &m, first))
        return explain_group(p, first, error);
    if (*passes == room)
        return error_set(error, ERROR_USAGE, "these events take more than %zu passes", room);
    read_pass(&m, &out[(*passes)++]);
    return true;
}

bool placement_make(const struct placement_request *requests, size_t n, uint32_t usable, uint32_t reserved,
                    struct placement_pass *out, size_t room, size_t *passes, size_t *which,
                    struct error *error)
{
    struct placing p = {.requests = requests, .n = n, .free = usable & ~reserved};
    *passes = 0;
    for (size_t i = 0; i < n; i++)
        if (is_first(&p, i) && !place_group(&p, i, out, room, passes, error)) {
            *which = i;
            return false;
        }
    return true;
}

struct planning {
    struct plan *plan;
    const struct counter_block *block;
    const struct event_set *set;
    struct placement_request requests[PLAN_COLUMNS];
    uint32_t codes[PLAN_COLUMNS];
    size_t columns[PLAN_COLUMNS]; /* of each request */
    size_t n;
};

/* Finds a counter with a fixed event. */
static bool find_fixed(const struct counter_block *block, const char *name, uint8_t *counter)
{
    for (size_t i = 0; i < block->n; i++)
        if (block->counters[i].name[0] != '\0' && strcasecmp(block->counters[i].name, name) == 0) {
            *counter = (uint8_t)i;
            return true;
        }
    return false;
}

/* Cuts the modifiers after a colon off the name, if the block knows any. */
static char *plan_split(const struct planning *p, struct event_request *request)
{
    char *colon = strchr(request->name, ':');
    if (p->block->kind->modify == NULL || request->by_code || colon == NULL)
        return NULL;
    *colon = '\0';
    request->by_code = span_is_code((struct span){request->name, strlen(request->name)}, &request->code);
    return colon + 1;
}

static bool plan_knows(void *self, const char *name)
{
    const struct planning *p = self;
    uint8_t counter;
    return find_fixed(p->block, name, &counter) || (p->set != NULL && event_set_find(p->set, name) != NULL);
}

/* The metric of this name that these events give; NULL: none. */
static const char *plan_metric(struct planning *p, const char *name, char room[EVENT_NAME])
{
    struct error ignored = {0};
    struct metric_set *set = metric_set_open(NULL, &ignored);
    const struct metric *metric = set != NULL ? metric_set_find(set, name, plan_knows, p) : NULL;
    if (metric != NULL)
        snprintf(room, EVENT_NAME, "%s", metric->name);
    metric_set_free(set);
    return metric != NULL ? room : NULL;
}

static bool plan_refuse_unknown(const struct planning *p, const char *name, struct error *error)
{
    char room[NEAR_NAMES * (NEAR_LENGTH + 2) + 32];
    char metric[EVENT_NAME], bare[EVENT_NAME];
    struct near near;
    struct planning known = {.block = p->block, .set = p->set};
    if (plan_metric(&known, name, metric) != NULL)
        return error_advise(error, ERROR_USAGE, "", "%s is a metric: -M %s", name, metric);
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(name, ":"), name);
    if (strchr(name, ':') != NULL && (event_is_generic(bare) || plan_knows(&known, bare)))
        return error_advise(error, ERROR_USAGE, "", "%s: these counters count in every mode: leave %s out",
                            name, name + strlen(bare));
    if (event_is_generic(name))
        return error_advise(error, ERROR_USAGE, events_advice, "%s has no event for perf's %s",
                            p->block->text, name);
    near_init(&near, name, strlen(name));
    for (size_t i = 0; i < p->block->n; i++)
        near_offer(&near, p->block->counters[i].name);
    for (size_t i = 0; p->set != NULL && i < event_set_count(p->set); i++)
        near_offer(&near, event_set_at(p->set, i)->name);
    return error_advise(error, ERROR_USAGE, events_advice, "unknown event %s%s", name,
                        near_text(&near, room, sizeof room));
}

static bool resolve(const struct planning *p, const struct event_request *request, uint32_t *code,
                    uint32_t *counters, char *name, size_t size, bool *absent, struct error *error)
{
    uint8_t fixed = 0;
    const struct block_kind *kind = p->block->kind;
    snprintf(name, size, "%s", request->name);
    if (!request->by_code && find_fixed(p->block, request->name, &fixed)) {
        snprintf(name, size, "%s", p->block->counters[fixed].name);
        *code = fixed;
        *counters = 1U << fixed;
        return true;
    }
    struct event_request bare = *request;
    char *modifiers = plan_split(p, &bare);
    const struct event *event = NULL;
    if (p->set != NULL)
        event = bare.by_code ? event_set_by_code(p->set, bare.code) : event_set_find(p->set, bare.name);
    if (event == NULL && !bare.by_code)
        return plan_refuse_unknown(p, bare.name, error);
    if (event != NULL)
        snprintf(name, size, "%s%s", event->name,
                 modifiers != NULL ? request->name + (modifiers - bare.name) - 1 : "");
    *absent = event == NULL;
    *code = event != NULL ? event->code : bare.code;
    if (kind->modify != NULL && !kind->modify(modifiers, code, error))
        return false;
    *counters = kind->counters_for != NULL ? kind->counters_for(p->block, *code) : 0;
    return true;
}

static size_t find_column(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_columns; i++)
        if (strcmp(plan->columns[i].name, name) == 0)
            return i;
    return plan->n_columns;
}

static struct plan_column *add_column(struct plan *plan, const char *name)
{
    struct plan_column *column = &plan->columns[plan->n_columns++];
    *column = (struct plan_column){0};
    snprintf(column->name, sizeof column->name, "%s", name);
    return column;
}

static bool plan_add_request(struct planning *p, const struct event_request *request, struct error *error)
{
    struct plan *plan = p->plan;
    char name[EVENT_NAME];
    uint32_t code = 0, counters = 0;
    bool absent = false;
    if (!resolve(p, request, &code, &counters, name, sizeof name, &absent, error))
        return false;
    if (p->block->counts_cycles && counters == 1)
        return true; /* counted in every pass anyway */
    if (find_column(plan, name) < plan->n_columns)
        return error_set(error, ERROR_USAGE, "the event %s is asked for twice", name);
    if (plan->n_columns == PLAN_COLUMNS)
        return error_set(error, ERROR_USAGE, "more than %d events", PLAN_COLUMNS);
    struct plan_column *column = add_column(plan, name);
    if (counters == 0) {
        snprintf(column->unsupported, sizeof column->unsupported, "%s",
                 absent ? "this core lacks this event" : "not implemented here, or its counters are taken");
        return true;
    }
    p->codes[p->n] = code;
    p->columns[p->n] = plan->n_columns - 1;
    p->requests[p->n++] = (struct placement_request){.counters = counters, .group = request->group};
    return true;
}

static void put_pick(struct plan_pass *pass, const struct plan *plan, size_t column, uint8_t counter,
                     uint32_t code)
{
    struct counter_pick *pick = &pass->picks[pass->n];
    *pick = (struct counter_pick){.counter = counter, .code = code};
    memcpy(pick->name, plan->columns[column].name, sizeof pick->name);
    pass->column[pass->n++] = column;
}

static void begin_pass(struct plan *plan, const struct counter_block *block, struct plan_pass *pass)
{
    pass->n = 0;
    if (block->counts_cycles)
        put_pick(pass, plan, 0, 0, 0);
}

/* Names two events of a group that only one counter can count. */
static bool explain_pair(const struct planning *p, size_t which, struct error *error)
{
    unsigned group = p->requests[which].group;
    for (size_t i = 0; group != 0 && i < p->n; i++)
        for (size_t k = 0; k < i; k++) {
            uint32_t counters = p->requests[i].counters;
            if (p->requests[i].group != group || p->requests[k].group != group ||
                counters != p->requests[k].counters || (counters & (counters - 1)) != 0)
                continue;
            int counter = __builtin_ctz(counters) - (p->block->counts_cycles ? 1 : 0);
            error_clear(error);
            return error_set(
                error, ERROR_USAGE,
                "%s and %s cannot be counted in one pass: both need counter %d; leave the braces out",
                p->plan->columns[p->columns[k]].name, p->plan->columns[p->columns[i]].name, counter);
        }
    return false;
}

static bool place(struct planning *p, struct error *error)
{
    struct placement_pass passes[PLAN_PASSES] = {0};
    struct plan *plan = p->plan;
    size_t which = 0;
    uint32_t usable = p->block->n >= 32 ? UINT32_MAX : (1U << p->block->n) - 1;
    uint32_t reserved = p->block->counts_cycles ? 1 : 0;
    if (!placement_make(p->requests, p->n, usable, reserved, passes, PLAN_PASSES, &plan->n_passes, &which,
                        error))
        return explain_pair(p, which, error);
    for (size_t i = 0; i < plan->n_passes; i++) {
        struct plan_pass *pass = &plan->passes[i];
        begin_pass(plan, p->block, pass);
        for (size_t k = 0; k < passes[i].n; k++) {
            size_t request = passes[i].request[k], column = p->columns[request];
            put_pick(pass, plan, column, passes[i].counter[k], p->codes[request]);
        }
    }
    return true;
}

bool plan_make(struct plan *plan, const struct counter_block *block, const struct event_set *set,
               const struct event_request *requests, size_t n, struct error *error)
{
    struct planning p = {.plan = plan, .block = block, .set = set};
    plan->n_columns = plan->n_passes = 0;
    if (block->counts_cycles || n == 0)
        add_column(plan, block->counters[0].name);
    if (n == 0) {
        plan->n_passes = 1;
        plan->passes[0].n = 0;
        put_pick(&plan->passes[0], plan, 0, 0, 0);
        return true;
    }
    for (size_t i = 0; i < n; i++)
        if (!plan_add_request(&p, &requests[i], error))
            return false;
    if (!place(&p, error))
        return false;
    if (plan->n_passes == 0 && block->counts_cycles) {
        plan->n_passes = 1;
        begin_pass(plan, block, &plan->passes[0]);
    }
    return plan->n_passes > 0 ||
           error_advise(error, ERROR_NO_COUNTER, events_advice, "none of these events can be counted here");
}
