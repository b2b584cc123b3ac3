#include "measure/plan.h"

#include "counters/words.h"
#include "symbols/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct planning {
    struct plan *plan;
    const struct counter_block *block;
    const struct event_set *set;
    struct placement_wish wishes[PLAN_COLUMNS];
    uint32_t codes[PLAN_COLUMNS];
    size_t columns[PLAN_COLUMNS]; /* of each wish */
    size_t n;
};

/* A counter that has an event of its own. */
static bool find_fixed(const struct counter_block *block, const char *name, uint8_t *counter)
{
    for (size_t i = 0; i < block->n; i++)
        if (block->counters[i].name[0] != '\0' && strcasecmp(block->counters[i].name, name) == 0) {
            *counter = (uint8_t)i;
            return true;
        }
    return false;
}

/* Takes what stands behind a colon off the name, where the counters know what to do with it. */
static char *split(const struct planning *p, struct event_wish *wish)
{
    char *colon = strchr(wish->name, ':');
    if (p->block->kind->modify == NULL || wish->by_code || colon == NULL)
        return NULL;
    *colon = '\0';
    wish->by_code = span_is_code((struct span){wish->name, strlen(wish->name)}, &wish->code);
    return colon + 1;
}

static bool unknown_event(const struct planning *p, const char *name, struct error *error)
{
    struct near near;
    char guess[NEAR_NAMES * NEAR_LENGTH];
    near_init(&near, name, strlen(name));
    for (size_t i = 0; i < p->block->n; i++)
        near_offer(&near, p->block->counters[i].name);
    for (size_t i = 0; p->set != NULL && i < event_set_count(p->set); i++)
        near_offer(&near, event_set_at(p->set, i)->name);
    near_text(&near, guess, sizeof guess);
    return error_set(error, ERROR_USAGE, "unknown event %s%s See pmu-probe list", name,
                     guess[0] != '\0' ? guess : ".");
}

static bool resolve(const struct planning *p, const struct event_wish *wish, uint32_t *code,
                    uint32_t *counters, char *name, size_t size, bool *absent, struct error *error)
{
    uint8_t fixed = 0;
    const struct block_kind *kind = p->block->kind;
    snprintf(name, size, "%s", wish->name);
    if (!wish->by_code && find_fixed(p->block, wish->name, &fixed)) {
        snprintf(name, size, "%s", p->block->counters[fixed].name);
        *code = fixed;
        *counters = 1U << fixed;
        return true;
    }
    struct event_wish bare = *wish;
    char *modifiers = split(p, &bare);
    const struct event *event = NULL;
    if (p->set != NULL)
        event = bare.by_code ? event_set_by_code(p->set, bare.code) : event_set_find(p->set, bare.name);
    if (event == NULL && !bare.by_code)
        return unknown_event(p, bare.name, error);
    if (event != NULL)
        snprintf(name, size, "%s%s", event->name,
                 modifiers != NULL ? wish->name + (modifiers - bare.name) - 1 : "");
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

static bool add_wish(struct planning *p, const struct event_wish *wish, struct error *error)
{
    struct plan *plan = p->plan;
    char name[EVENT_NAME];
    uint32_t code = 0, counters = 0;
    bool absent = false;
    if (!resolve(p, wish, &code, &counters, name, sizeof name, &absent, error))
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
                 absent ? "this core has no such event"
                        : "not implemented here, or the counters for it are taken");
        return true;
    }
    p->codes[p->n] = code;
    p->columns[p->n] = plan->n_columns - 1;
    p->wishes[p->n++] = (struct placement_wish){.counters = counters, .group = wish->group};
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

/* Two of a group that one counter alone can count. */
static bool explain(const struct planning *p, size_t which, struct error *error)
{
    unsigned group = p->wishes[which].group;
    for (size_t i = 0; group != 0 && i < p->n; i++)
        for (size_t k = 0; k < i; k++) {
            uint32_t counters = p->wishes[i].counters;
            if (p->wishes[i].group != group || p->wishes[k].group != group ||
                counters != p->wishes[k].counters || (counters & (counters - 1)) != 0)
                continue;
            int counter = __builtin_ctz(counters) - (p->block->counts_cycles ? 1 : 0);
            error_clear(error);
            return error_set(
                error, ERROR_USAGE,
                "%s and %s cannot be counted in one pass: both need counter %d; without braces they "
                "are counted one after the other",
                p->plan->columns[p->columns[k]].name, p->plan->columns[p->columns[i]].name, counter);
        }
    return false;
}

static bool place(struct planning *p, struct error *error)
{
    struct placement_pass passes[PLAN_PASSES];
    struct plan *plan = p->plan;
    size_t which = 0;
    uint32_t usable = p->block->n >= 32 ? UINT32_MAX : (1U << p->block->n) - 1;
    uint32_t reserved = p->block->counts_cycles ? 1 : 0;
    if (!placement_make(p->wishes, p->n, usable, reserved, passes, PLAN_PASSES, &plan->n_passes, &which,
                        error))
        return explain(p, which, error);
    for (size_t i = 0; i < plan->n_passes; i++) {
        struct plan_pass *pass = &plan->passes[i];
        begin_pass(plan, p->block, pass);
        for (size_t k = 0; k < passes[i].n; k++) {
            size_t wish = passes[i].wish[k], column = p->columns[wish];
            put_pick(pass, plan, column, passes[i].counter[k], p->codes[wish]);
        }
    }
    return true;
}

bool plan_make(struct plan *plan, const struct counter_block *block, const struct event_set *set,
               const struct event_wish *wishes, size_t n, struct error *error)
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
        if (!add_wish(&p, &wishes[i], error))
            return false;
    if (!place(&p, error))
        return false;
    if (plan->n_passes == 0 && block->counts_cycles) {
        plan->n_passes = 1;
        begin_pass(plan, block, &plan->passes[0]);
    }
    return plan->n_passes > 0 ||
           error_set(error, ERROR_NO_COUNTER, "none of these events can be counted here");
}
