#include "measure/crowd.h"

#include <stdlib.h>

static void lend(struct crowd *crowd, const struct crowd_member *member)
{
    crowd->target->chosen = member->core;
    crowd->target->block = member->block;
    crowd->target->reading = member->reading;
}

static bool take_one(struct crowd *crowd, struct crowd_member *member, const char *block,
                     const struct deadline *deadline, struct error *error)
{
    struct target *target = crowd->target;
    target->chosen = member->core;
    if (!target_take(target, false, "", deadline, error) ||
        !target_take_block(target, block, deadline, error))
        return error_prefix(error, "CPU %u: ", (unsigned)member->core->core.unit);
    member->block = target->block;
    member->reading = target->reading;
    return true;
}

bool crowd_take(struct crowd *crowd, struct target *target, const char *block,
                const struct deadline *deadline, struct error *error)
{
    *crowd = (struct crowd){.target = target, .members = calloc(target->n_cores, sizeof *crowd->members)};
    if (crowd->members == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    uint32_t free_on_all = UINT32_MAX;
    for (size_t i = 0; i < target->n_cores; i++) {
        struct crowd_member *member = &crowd->members[i];
        member->core = &target->cores[i];
        if (member->core->core.family != CORE_KNC)
            return error_set(error, ERROR_USAGE,
                             "-a is for the threads of a Knights Corner card; here -C N takes a core");
        if (!take_one(crowd, member, block, deadline, error))
            return false;
        free_on_all &= member->block->pmu.free;
        crowd->n++;
    }
    for (size_t i = 0; i < crowd->n; i++)
        crowd->members[i].block->pmu.free = free_on_all;
    lend(crowd, &crowd->members[0]);
    return true;
}

void crowd_close(struct crowd *crowd)
{
    free(crowd->members);
    *crowd = (struct crowd){0};
}

bool crowd_program(struct crowd *crowd, const struct counter_pick *picks, size_t n,
                   const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < crowd->n; i++) {
        lend(crowd, &crowd->members[i]);
        if (!target_program(crowd->target, picks, n, deadline, error))
            return error_prefix(error, "CPU %u: ", (unsigned)crowd->members[i].core->core.unit);
        crowd->members[i].reading = crowd->target->reading;
    }
    return true;
}

bool crowd_begin(struct crowd *crowd, const struct clock *clock, const struct deadline *deadline,
                 struct error *error)
{
    for (size_t i = 0; i < crowd->n; i++) {
        struct crowd_member *member = &crowd->members[i];
        lend(crowd, member);
        if (!window_begin(&member->window, crowd->target, clock, deadline, error))
            return false;
        member->window.plausible.reading = NULL; /* nobody but an operating system writes an MSR */
        member->begin = member->before = member->window;
    }
    return true;
}

bool crowd_sample(struct crowd *crowd, const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < crowd->n; i++) {
        lend(crowd, &crowd->members[i]);
        if (!window_sample(&crowd->members[i].window, deadline, error))
            return false;
    }
    return true;
}

void crowd_begin_interval(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->n; i++)
        crowd->members[i].before = crowd->members[i].window;
}

int crowd_pace_ms(const struct crowd *crowd)
{
    return window_longest_ms(&crowd->members[0].window);
}
