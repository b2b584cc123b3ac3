/* SPDX-License-Identifier: MIT */
/*
 * The sampler: samples of the PC of the running core, as fast as the link goes, by lists of reads. At random
 * places in each list it reads the core's state, and the context: which exception a Cortex-M is in, and
 * which task of its RTOS it runs; of other cores, what CONTEXTIDR was at the sample before. After a reset it
 * sets up again what the samples need, and goes on.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "cores/pc_sample.h"
#include "device/device.h"
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
    const struct core *core;
    bool hidden_in_sleep; /* its memory cannot be read while it sleeps: its state is read after the task, too
                           */
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
/* `sampled`: the sample before them had an address. `asleep`: the core was; then, or if it is asleep after
 * them, its task is not taken where that is hidden. False: out of memory. */
bool contexts_note(struct contexts *contexts, const uint64_t *words, bool sampled, bool asleep);
void contexts_free(struct contexts *contexts);

/* Samples from look to look; the second if the core was seen asleep, or its contexts are many. */
enum { SAMPLER_APART = 256, SAMPLER_APART_ASLEEP = 64 };
enum { SAMPLER_MOST = 4096, SAMPLER_LOOKS = SAMPLER_MOST / SAMPLER_APART_ASLEEP + 1 };

enum sampler_place {
    SAMPLER_UNKNOWN,
    SAMPLER_SLEEPS, /* a WFI or WFE, or the instruction after one */
    SAMPLER_WORKS,  /* any other instruction */
};

struct sampler_code {
    void *context;
    /* `sleeps_at`: the WFI or WFE, of SAMPLER_SLEEPS */
    enum sampler_place (*place)(void *context, uint64_t address, uint64_t *sleeps_at);
};

struct sampler {
    struct device *device;
    const struct core *core;
    struct pc_sample source;
    struct contexts *contexts; /* to be read with each look; NULL: none. The caller's */
    struct step *items;
    uint64_t *results;
    struct steps list;
    size_t looks[SAMPLER_LOOKS], n_looks; /* which steps begin a look */
    uint64_t random;                      /* never 0 */
    double us_each;                       /* how long a sample takes; 0: not known yet */
    size_t length;                        /* samples of the last list */
    /* What is carried from list to list. */
    struct pc_look look; /* the last one */
    uint64_t pending;    /* samples without an address since then: the next one says why */
    int64_t left_us;     /* when the last list ended: the time after that belongs to other cores */
    int64_t good_us;     /* when there were samples last */
    int64_t missed_us;   /* up to when the time without samples is counted */
    uint64_t missed;     /* what that is worth; the next look says why they are missing */
    bool waits;          /* the target did not refuse, but let the probe wait */
    bool was_reset;      /* and what the samples need is not set yet */
    bool renew;          /* after this list all is to be set once more */
    const struct sampler_code *code; /* NULL: it is not known. The caller's */
    /* Looks by the address of the sample before, and those that found the core asleep: of this interval, and
     * of all. */
    struct sampler_looks {
        struct profile_tally all, asleep;
    } now, ever;
    struct sampler_looks stays; /* of all, by the WFI or WFE that the samples before and after it are at */
    double rounded;             /* what whole samples of sleep leave of their parts */
    /* Of all intervals, in code that is known. */
    struct sampler_known {
        uint64_t samples, at_sleeps; /* the latter at a WFI or WFE */
        uint64_t asleep;             /* that were taken for it */
    } known;
};

/* Which register the chosen core has. It may be locked away until device_take: *hidden, and `true`. Changes
 * nothing. ERROR_NO_COUNTER: it has none. */
bool sampler_find(struct sampler *sampler, struct device *device, bool *hidden,
                  const struct deadline *deadline, struct error *error);
/* After device_take, and sampler_find that did find it. ERROR_NO_COUNTER: the register shows nothing. */
bool sampler_begin(struct sampler *sampler, const struct deadline *deadline, struct error *error);
/* One list, which is to take this number of microseconds. What it had is in the tally even after a failure.
 * Time between two calls is not missed. */
bool sampler_take(struct sampler *sampler, int64_t us, struct profile_tally *tally,
                  const struct deadline *deadline, struct error *error);
/*
 * Before an interval is closed: separates sleep from work. A look is later than its sample, and the core may
 * have gone to sleep or woken up in between. So where the code is known, the sampled address decides: samples
 * at a WFI or WFE were taken asleep, if they are as many as the looks say; if they are more, the states that
 * were read at each WFI or WFE show which one is passed awake. Elsewhere, of an address' samples the same
 * part counts as asleep as of the looks after them, in this interval if there were any.
 */
void sampler_settle(struct sampler *sampler, struct profile_tally *tally);
/* After the last list: for the samples that wait for a look. */
void sampler_end(struct sampler *sampler, struct profile_tally *tally, const struct deadline *deadline);
void sampler_free(struct sampler *sampler);
/* It may answer again. */
bool sampler_is_passing(const struct error *why);
