#include "profile/contexts.h"

#include "base/arm_debug.h"

void contexts_begin(struct contexts *contexts, const struct core *core, uint64_t task,
                    const struct pc_sample *sample)
{
    *contexts = (struct contexts){0};
    if (!core_has(core, SYSTEM_SPACE)) {
        if (sample != NULL && sample->has_context)
            contexts->of[PROFILE_PROCESSES] = (struct context_source){.at = sample->context, .is_read = true};
        return;
    }
    contexts->of[PROFILE_EXCEPTIONS] = (struct context_source){.at = core_word(core, ICSR), .is_read = true};
    contexts->of[PROFILE_TASKS] = (struct context_source){.at = core_word(core, task), .is_read = task != 0};
}

size_t contexts_steps(const struct contexts *contexts)
{
    size_t n = 0;
    for (size_t i = 0; contexts != NULL && i < PROFILE_CONTEXTS; i++)
        n += contexts->of[i].is_read;
    return n;
}

size_t contexts_add(const struct contexts *contexts, struct steps *list)
{
    size_t first = list->n;
    for (size_t i = 0; contexts != NULL && i < PROFILE_CONTEXTS; i++)
        if (contexts->of[i].is_read)
            steps_add(list, step_read(contexts->of[i].at));
    return first;
}

bool contexts_are_many(const struct contexts *contexts)
{
    return contexts != NULL && (contexts->of[PROFILE_TASKS].is_read || contexts->has_several);
}

static void note_process(struct contexts *contexts, uint64_t process)
{
    if (!contexts->has_process)
        contexts->process = process;
    contexts->has_process = true;
    contexts->has_several = contexts->has_several || process != contexts->process;
}

bool contexts_note(struct contexts *contexts, const uint64_t *words, bool sampled, bool asleep)
{
    for (size_t i = 0; contexts != NULL && i < PROFILE_CONTEXTS; i++) {
        struct context_source *source = &contexts->of[i];
        if (!source->is_read)
            continue;
        uint64_t word = *words++, value = i == PROFILE_EXCEPTIONS ? word & ICSR_VECTACTIVE : word;
        if (i == PROFILE_PROCESSES && !sampled)
            continue;
        if (i == PROFILE_PROCESSES)
            note_process(contexts, value);
        if (i == PROFILE_TASKS && asleep && contexts->hidden_in_sleep)
            continue;
        if (!profile_tally_add(&source->tally, value, 1))
            return false;
    }
    return true;
}

void contexts_free(struct contexts *contexts)
{
    for (size_t i = 0; i < PROFILE_CONTEXTS; i++)
        profile_tally_free(&contexts->of[i].tally);
    *contexts = (struct contexts){0};
}
