/*
 * Contexts: which exception a Cortex-M is in, and which task of its RTOS it runs, read with each look, or
 * where a sample stopped it; of other cores, what CONTEXTIDR was at the sample before.
 */
#pragma once

#include "cores/core.h"
#include "cores/pc_sample.h"
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
    bool hidden_in_sleep;          /* memory of this chip cannot be read while its core sleeps */
    bool has_process, has_several; /* more than one value of CONTEXTIDR was seen */
    uint64_t process;              /* the first one */
};

/* `task`: the address of the variable that identifies the task, of a Cortex-M; 0: it is not read. `sample`:
 * the register that samples are read from, of other cores; NULL: the core is stopped for them. */
void contexts_begin(struct contexts *contexts, const struct core *core, uint64_t task,
                    const struct pc_sample *sample);
size_t contexts_steps(const struct contexts *contexts);
/* Returns the index of the first. */
size_t contexts_add(const struct contexts *contexts, struct steps *list);
/* Whether they change so often that more reads are worth it. */
bool contexts_are_many(const struct contexts *contexts);
/* `sampled`: the sample before them had an address. `asleep`: the core was; then its task is not taken
 * where that is hidden. False: out of memory. */
bool contexts_note(struct contexts *contexts, const uint64_t *words, bool sampled, bool asleep);
void contexts_free(struct contexts *contexts);
