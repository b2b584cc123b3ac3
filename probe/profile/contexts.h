/*
 * Contexts: which exception a Cortex-M is in, and which task of its RTOS it runs, read where the core is
 * looked at beside its samples, or where a sample stopped it. Both are words of memory: nothing is stopped
 * for them.
 */
#pragma once

#include "cores/core.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct contexts {
    struct context_source {
        struct address at;
        bool is_read;
        struct profile_tally tally;
    } of[PROFILE_CONTEXTS];
};

/* `task`: the address of the variable that tells of the task; 0: it is not read. Nothing is read of a core
 * that is no Cortex-M. */
void contexts_begin(struct contexts *contexts, const struct core *core, uint64_t task);
/* How many steps contexts_add adds. */
size_t contexts_steps(const struct contexts *contexts);
/* Returns the index of the first. */
size_t contexts_add(const struct contexts *contexts, struct steps *list);
/* False: out of memory. */
bool contexts_note(struct contexts *contexts, const uint64_t *words);
void contexts_free(struct contexts *contexts);
