/* SPDX-License-Identifier: MIT */
#include "profile/sampler.h"

#include "base/arm_debug.h"
#include "base/values.h"
#include "device/settings.h"

#include <math.h>
#include <stdlib.h>

void contexts_begin(struct contexts *contexts, const struct core *core, uint64_t task,
                    const struct pc_sample *sample)
{
    *contexts = (struct contexts){.core = core};
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
    return n + (contexts != NULL && contexts->hidden_in_sleep);
}

size_t contexts_add(const struct contexts *contexts, struct steps *list)
{
    size_t first = list->n;
    for (size_t i = 0; contexts != NULL && i < PROFILE_CONTEXTS; i++)
        if (contexts->of[i].is_read)
            steps_add(list, step_read(contexts->of[i].at));
    if (contexts != NULL && contexts->hidden_in_sleep)
        steps_add(list, step_read(core_status_register(contexts->core)));
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

/* The core's state after the words of the others. */
static uint64_t contexts_status(const struct contexts *contexts, const uint64_t *words)
{
    return words[contexts_steps(contexts) - 1];
}

bool contexts_note(struct contexts *contexts, const uint64_t *words, bool sampled, bool asleep)
{
    bool hidden = contexts != NULL && contexts->hidden_in_sleep &&
                  (asleep || core_state_of(contexts->core, contexts_status(contexts, words)) == CORE_ASLEEP);
    for (size_t i = 0; contexts != NULL && i < PROFILE_CONTEXTS; i++) {
        struct context_source *source = &contexts->of[i];
        if (!source->is_read)
            continue;
        uint64_t word = *words++, value = i == PROFILE_EXCEPTIONS ? word & ICSR_VECTACTIVE : word;
        if (i == PROFILE_PROCESSES && !sampled)
            continue;
        if (i == PROFILE_PROCESSES)
            note_process(contexts, value);
        if (i == PROFILE_TASKS && hidden)
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

/* ---- sampler */

enum { FIRST = 16, PROOFS = 8, GROWS = 4 };
enum { LOST_MS = 5000, NAP_US = 1000, PAUSE_MOST_US = 200 };
enum { LIST_ROOM = SAMPLER_MOST * PC_SAMPLE_WORDS + SAMPLER_LOOKS * (PC_LOOK_WORDS + 1 + PROFILE_CONTEXTS) };

/* --- which register ------------------------------------------------------------------------------------- */

static bool tell_none(const struct core *core, struct error *error)
{
    return error_advise(error, ERROR_NO_COUNTER, "delta measures a function on it, watch counts events.",
                        "%s has no PC sample register", core->name);
}

bool sampler_find(struct sampler *sampler, struct device *device, bool *hidden,
                  const struct deadline *deadline, struct error *error)
{
    struct step items[PC_SAMPLE_IDENTITY];
    uint64_t identity[PC_SAMPLE_IDENTITY] = {0};
    struct steps list = {.items = items, .room = PC_SAMPLE_IDENTITY};
    struct error unread = {0};
    sampler->device = device;
    sampler->core = &device->chosen->core;
    *hidden = false;
    pc_sample_add_identity(sampler->core, &list);
    if (list.n > 0 && !ledger_run(device->ledger, &list, identity, deadline, &unread)) {
        *hidden = unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP;
        return *hidden || error_copy(error, &unread);
    }
    return pc_sample_identify(sampler->core, identity, &sampler->source) || tell_none(sampler->core, error);
}

/* --- what it needs -------------------------------------------------------------------------------------- */

static bool sampler_apply_settings(struct sampler *sampler, const struct deadline *deadline,
                                   struct error *error)
{
    struct ledger *ledger = sampler->device->ledger;
    struct setting settings[PC_SAMPLE_SETTINGS];
    size_t n = pc_sample_settings(sampler->core, settings, PC_SAMPLE_SETTINGS);
    return settings_apply_each(ledger, settings, n, deadline, error) &&
           (!core_has(sampler->core, HIDES) ||
            settings_apply_core(ledger, sampler->core, APPLY_TO_LOOK, deadline, error));
}

static bool read_look(struct sampler *sampler, struct pc_look *look, const struct deadline *deadline,
                      struct error *error)
{
    struct step items[PC_LOOK_WORDS];
    uint64_t words[PC_LOOK_WORDS];
    struct steps list = {.items = items, .room = PC_LOOK_WORDS};
    size_t at = pc_sample_add_look(sampler->core, &list);
    if (!ledger_run(sampler->device->ledger, &list, words, deadline, error))
        return false;
    *look = pc_sample_look(sampler->core, words + at);
    return true;
}

static bool sampler_prove(struct sampler *sampler, const struct deadline *deadline, struct error *error)
{
    struct step items[PC_SAMPLE_WORDS * PROOFS];
    uint64_t words[PC_SAMPLE_WORDS * PROOFS];
    struct steps list = {.items = items, .room = sizeof items / sizeof *items};
    struct error unread = {0};
    for (size_t i = 0; i < PROOFS; i++)
        pc_sample_add(&sampler->source, &list);
    if (!ledger_run(sampler->device->ledger, &list, words, deadline,
                    &unread)) /* M0+ may have no DWT at all */
        return unread.kind == ERROR_FAULT ? tell_none(sampler->core, error) : error_copy(error, &unread);
    for (size_t i = 0; i < list.n; i += sampler->source.words)
        if (pc_sample_proves(&sampler->source, words + i))
            return true;
    return tell_none(sampler->core, error);
}

bool sampler_begin(struct sampler *sampler, const struct deadline *deadline, struct error *error)
{
    sampler->items = calloc(LIST_ROOM, sizeof *sampler->items);
    sampler->results = calloc(LIST_ROOM, sizeof *sampler->results);
    if (sampler->items == NULL || sampler->results == NULL)
        return error_memory(error);
    if (sampler->random == 0)
        sampler->random = (uint64_t)deadline_now_us() | 1;
    if (!sampler_apply_settings(sampler, deadline, error) || !sampler_prove(sampler, deadline, error) ||
        !read_look(sampler, &sampler->look, deadline, error))
        return false;
    sampler->good_us = sampler->left_us = deadline_now_us();
    return true;
}

static void free_looks(struct sampler_looks *looks)
{
    profile_tally_free(&looks->all);
    profile_tally_free(&looks->asleep);
}

void sampler_free(struct sampler *sampler)
{
    free(sampler->items);
    free(sampler->results);
    free_looks(&sampler->now);
    free_looks(&sampler->ever);
    free_looks(&sampler->stays);
    *sampler = (struct sampler){0};
}

/* --- one list ------------------------------------------------------------------------------------------- */

/* Somewhat more or less than fits into the time, so that lists and packets keep no beat. */
static size_t choose_length(struct sampler *sampler, int64_t us)
{
    double fits = sampler->us_each > 0 ? (double)us / sampler->us_each : FIRST;
    double most = (double)sampler->length * GROWS;
    fits = fits < most ? fits : most;
    size_t n = fits > SAMPLER_MOST ? SAMPLER_MOST : (size_t)fits;
    n = n < FIRST ? FIRST : n;
    return n - random_below(&sampler->random, n / 4);
}

/* A Cortex-M's state is read between two samples, as near to both as can be. */
static size_t look_words(const struct sampler *sampler)
{
    return PC_LOOK_WORDS + core_has(sampler->core, SYSTEM_SPACE);
}

static size_t sampler_add_look(const struct sampler *sampler, struct steps *list)
{
    size_t at = pc_sample_add_look(sampler->core, list);
    if (look_words(sampler) == PC_LOOK_WORDS)
        return at;
    size_t sample = pc_sample_add(&sampler->source, list);
    const struct step later = list->items[at + 1];
    list->items[at + 1] = list->items[sample];
    list->items[sample] = later;
    return at;
}

static struct pc_look look_of(const struct sampler *sampler, const uint64_t *words)
{
    const uint64_t its[PC_LOOK_WORDS] = {words[0], words[look_words(sampler) - 1]};
    return pc_sample_look(sampler->core, its);
}

/* A look in each part of the list, between two samples. */
static void make_list(struct sampler *sampler, size_t n)
{
    struct steps *list = &sampler->list;
    bool dense = sampler->ever.asleep.used > 0 || contexts_are_many(sampler->contexts);
    size_t apart = dense ? SAMPLER_APART_ASLEEP : SAMPLER_APART;
    size_t parts = 1 + (n - 1) / apart;
    *list = (struct steps){.items = sampler->items, .room = LIST_ROOM};
    sampler->n_looks = 0;
    for (size_t part = 0, at = 0; part < parts; part++) {
        size_t end = n * (part + 1) / parts, length = end - at;
        size_t look = at + 1 + (length > 1 ? random_below(&sampler->random, length - 1) : 0);
        for (; at < end; at++) {
            if (at == look) {
                sampler->looks[sampler->n_looks++] = sampler_add_look(sampler, list);
                contexts_add(sampler->contexts, list);
            }
            pc_sample_add(&sampler->source, list);
        }
    }
}

/* --- its results ---------------------------------------------------------------------------------------- */

struct run {
    struct sampler *sampler;
    struct profile_tally *tally;
    bool known; /* the last sample has an address */
    uint64_t last;
    enum { NO_LOOK, LOOK_AWAKE, LOOK_ASLEEP } looked; /* since that sample, which had an address */
    size_t samples;
    bool full; /* out of memory */
};

/* Why there is no address. */
static enum profile_state sampler_state_of(const struct pc_look *look)
{
    if (look->held)
        return PROFILE_IN_RESET;
    if (look->state == CORE_HALTED || look->state == CORE_LOCKUP)
        return PROFILE_HALTED;
    if (look->reset)
        return PROFILE_IN_RESET;
    return look->state == CORE_ASLEEP ? PROFILE_ASLEEP : PROFILE_NOT_PERMITTED;
}

static void settle_pending(struct sampler *sampler, const struct pc_look *look, struct profile_tally *tally)
{
    tally->now.states[sampler_state_of(look)] += sampler->pending;
    sampler->pending = 0;
}

/* DHCSR.S_SLEEP (DDI 0403E C1.6.2). Armv7-A, -R and Armv8 lack it (DDI 0406C C11.11, DDI 0487
 * H9.2). */
static bool shows_sleep(const struct sampler *sampler)
{
    return sampler->core != NULL && core_has(sampler->core, SYSTEM_SPACE); /* NULL: it has ended */
}

/* A Cortex-M that let the probe wait, and was not reset meanwhile, slept with its clocks off. */
static void settle_missed(struct sampler *sampler, bool slept, struct profile_tally *tally)
{
    bool asleep = slept && shows_sleep(sampler);
    tally->now.states[asleep ? PROFILE_ASLEEP : PROFILE_IN_RESET] += sampler->missed;
    sampler->missed = 0;
}

/* `sleeps_at`: the WFI or WFE, of SAMPLER_SLEEPS. */
static enum sampler_place sampler_place_at(const struct sampler *sampler, uint64_t address,
                                           uint64_t *sleeps_at)
{
    return sampler->code != NULL ? sampler->code->place(sampler->code->context, address, sleeps_at)
                                 : SAMPLER_UNKNOWN;
}

static enum sampler_place sampler_place_of(const struct sampler *sampler, uint64_t address)
{
    uint64_t ignored;
    return sampler_place_at(sampler, address, &ignored);
}

/* Returns false if memory is out. A halted core neither works nor sleeps. */
static bool note_sleep(struct run *run, const struct pc_look *look)
{
    struct sampler *sampler = run->sampler;
    uint64_t address = run->last;
    if (look->off || (look->state != CORE_RUNNING && look->state != CORE_ASLEEP))
        return true;
    uint64_t asleep = look->state == CORE_ASLEEP;
    run->looked = asleep ? LOOK_ASLEEP : LOOK_AWAKE;
    return profile_tally_add(&sampler->now.all, address, 1) &&
           profile_tally_add(&sampler->ever.all, address, 1) &&
           profile_tally_add(&sampler->now.asleep, address, asleep) &&
           profile_tally_add(&sampler->ever.asleep, address, asleep);
}

/* A state between two samples at one WFI or WFE is most probably of this one. Returns false if memory is out.
 */
static bool note_stay(struct run *run, uint64_t address)
{
    struct sampler *sampler = run->sampler;
    uint64_t at = 0, its = 0, asleep = run->looked == LOOK_ASLEEP;
    bool stays = run->looked != NO_LOOK && sampler_place_at(sampler, run->last, &at) == SAMPLER_SLEEPS &&
                 sampler_place_at(sampler, address, &its) == SAMPLER_SLEEPS && at == its;
    return !stays || (profile_tally_add(&sampler->stays.all, at, 1) &&
                      profile_tally_add(&sampler->stays.asleep, at, asleep));
}

static void sampler_note_reset(struct sampler *sampler, struct profile_tally *tally)
{
    tally->now.resets += !sampler->was_reset;
    sampler->was_reset = true;
}

/* The words after those of a look. A read of the state may forget that there was a reset. */
static bool sampler_note_contexts(struct sampler *sampler, const struct pc_look *look, const uint64_t *words,
                                  bool sampled, struct profile_tally *tally)
{
    const struct contexts *contexts = sampler->contexts;
    if (contexts != NULL && contexts->hidden_in_sleep &&
        core_reset_since(sampler->core, contexts_status(contexts, words))) {
        sampler_note_reset(sampler, tally);
        sampler->renew = true;
    }
    bool runs = !look->off && (look->state == CORE_RUNNING || look->state == CORE_ASLEEP);
    return !runs || contexts_note(sampler->contexts, words, sampled, look->state == CORE_ASLEEP);
}

/* Up to the renewal after a reset there are no samples because of it. */
static void note_look(struct sampler *sampler, const struct pc_look *look, struct profile_tally *tally)
{
    if (look->reset)
        sampler_note_reset(sampler, tally);
    if (look->reset || look->off)
        sampler->renew = true;
    sampler->look = *look;
    sampler->look.reset = look->reset || (sampler->was_reset && look->off);
    /* A reset between the two reads of this look shows by the second alone: the renewal finds it */
    if (!look->off || sampler->look.reset)
        settle_pending(sampler, &sampler->look, tally);
    settle_missed(sampler, !sampler->look.reset && sampler->waits, tally);
}

/* `next`: the look after it, or the last one. */
static void sampler_take_sample(struct run *run, const uint64_t *words, const struct pc_look *next)
{
    struct sampler *sampler = run->sampler;
    const struct pc_look *look = &sampler->look;
    uint64_t address = 0;
    bool known = pc_sample_address(&sampler->source, words, &address) && !next->off && !look->off;
    run->samples++;
    run->full = (known && !note_stay(run, address)) || run->full;
    run->looked = NO_LOOK;
    run->known = known;
    run->last = address;
    bool stands = look->held || look->state == CORE_HALTED || look->state == CORE_LOCKUP;
    if (known && look->state != CORE_LOCKUP)
        run->full = !profile_tally_add(run->tally, address, 1) || run->full;
    else if (stands)
        run->tally->now.states[sampler_state_of(look)]++;
    else
        sampler->pending++;
}

static void sampler_take_results(struct run *run, size_t done)
{
    struct sampler *sampler = run->sampler;
    const uint64_t *results = sampler->results;
    struct pc_look next = sampler->look;
    size_t width = sampler->source.words, at_look = 0;
    size_t words = look_words(sampler), look_width = words + contexts_steps(sampler->contexts);
    for (size_t at = 0, k = 0; at < sampler->list.n;) {
        if (k < sampler->n_looks && at_look <= k && sampler->looks[k] + look_width <= done) {
            next = look_of(sampler, results + sampler->looks[k]);
            at_look = k + 1;
        }
        bool is_look = k < sampler->n_looks && at == sampler->looks[k];
        size_t end = at + (is_look ? look_width : width);
        if (end > done)
            return;
        if (is_look) {
            note_look(sampler, &next, run->tally);
            run->full = (run->known && !note_sleep(run, &next)) || run->full;
            if (words > PC_LOOK_WORDS)
                sampler_take_sample(run, results + at + 1, &next);
            run->full =
                !sampler_note_contexts(sampler, &next, results + at + words, run->known, run->tally) ||
                run->full;
            k++;
        } else {
            sampler_take_sample(run, results + at, &next);
        }
        at = end;
    }
}

/* --- when the target does not answer -------------------------------------------------------------------- */

/* The time without samples is worth this number of them. The look after it says what they are. */
static void count_missed(struct sampler *sampler, int64_t us)
{
    double missed = sampler->us_each > 0 ? (double)us / sampler->us_each : 1;
    sampler->missed += missed > 1 ? (uint64_t)missed : 1;
}

/* Reading it clears it, and the rest of a look may be refused as long as a lock is closed. */
static bool sampler_look_for_reset(struct sampler *sampler, struct profile_tally *tally,
                                   const struct deadline *deadline, struct error *error)
{
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = 4};
    size_t at = core_add_reset_since(sampler->core, &list);
    if (!ledger_run(sampler->device->ledger, &list, results, deadline, error))
        return false;
    if (core_reset_since(sampler->core, results[at]))
        sampler_note_reset(sampler, tally);
    return true;
}

/* After a reset, or a loss of power: what was set is gone, and a lock may be closed again. */
static bool sampler_renew(struct sampler *sampler, struct profile_tally *tally,
                          const struct deadline *deadline, struct error *error)
{
    struct pc_look look;
    if (!sampler_look_for_reset(sampler, tally, deadline, error) ||
        !sampler_apply_settings(sampler, deadline, error) || !read_look(sampler, &look, deadline, error))
        return false;
    look.reset = look.reset || sampler->was_reset;
    note_look(sampler, &look, tally);
    sampler->renew = sampler->was_reset = sampler->look.off = look.held;
    return true;
}

bool sampler_is_passing(const struct error *why)
{
    return why->kind == ERROR_FAULT || why->kind == ERROR_ASLEEP || why->kind == ERROR_RESET;
}

/* A core that sleeps with its clocks off answers when it wakes, one that was reset when it is out of that. */
static bool outlast(struct sampler *sampler, const struct error *why, struct profile_tally *tally,
                    const struct deadline *deadline, struct error *error)
{
    struct error again = {0};
    int64_t from_us = sampler->good_us > sampler->missed_us ? sampler->good_us : sampler->missed_us;
    if (!sampler_is_passing(why) || deadline_now_us() - sampler->good_us > patience_ms(LOST_MS) * 1000)
        return error_copy(error, why);
    deadline_nap_us(NAP_US);
    sampler->waits = why->kind == ERROR_ASLEEP;
    sampler->missed_us = deadline_now_us();
    count_missed(sampler, sampler->missed_us - from_us);
    struct deadline slice = deadline_slice(deadline, LINK_BUDGET_MS);
    return sampler_renew(sampler, tally, &slice, &again) || again.kind == ERROR_CANCELLED ||
           sampler_is_passing(&again) || error_copy(error, &again);
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static void learn_pace(struct sampler *sampler, int64_t us, size_t samples)
{
    if (samples < FIRST / 2)
        return;
    double each = (double)us / (double)samples;
    sampler->us_each = sampler->us_each > 0 ? (3 * sampler->us_each + each) / 4 : each;
}

/* So that the next list begins at another place of whatever the program does again and again. */
static void pause_some_time(struct sampler *sampler, int64_t us)
{
    uint64_t most = (uint64_t)(us > 0 ? us : 0) / 64;
    uint64_t pause_us = random_below(&sampler->random, 1 + (most < PAUSE_MOST_US ? most : PAUSE_MOST_US));
    if (pause_us > 0)
        deadline_nap_us((int64_t)pause_us);
}

static bool take_list(struct sampler *sampler, int64_t us, struct profile_tally *tally,
                      const struct deadline *deadline, struct error *error)
{
    struct run run = {.sampler = sampler, .tally = tally};
    struct error why = {0};
    make_list(sampler, choose_length(sampler, us));
    int64_t begun_us = deadline_now_us();
    struct outcome outcome =
        ledger_execute(sampler->device->ledger, &sampler->list, 0, sampler->results, deadline, &why);
    int64_t took_us = deadline_now_us() - begun_us;
    sampler_take_results(&run, outcome.done);
    if (run.full)
        return error_memory(error);
    if (run.samples > 0)
        sampler->good_us = begun_us + took_us;
    sampler->length = run.samples;
    if (outcome.why != DONE && outcome.why != NOT_YET)
        return outlast(sampler, &why, tally, deadline, error);
    learn_pace(sampler, took_us, run.samples);
    pause_some_time(sampler, took_us);
    if (!sampler->renew)
        return true;
    struct error again = {0};
    return sampler_renew(sampler, tally, deadline, &again) ||
           outlast(sampler, &again, tally, deadline, error);
}

bool sampler_take(struct sampler *sampler, int64_t us, struct profile_tally *tally,
                  const struct deadline *deadline, struct error *error)
{
    int64_t away_us = deadline_now_us() - sampler->left_us;
    sampler->good_us += away_us;
    sampler->missed_us += away_us;
    bool ok = take_list(sampler, us, tally, deadline, error);
    sampler->left_us = deadline_now_us();
    return ok;
}

/* Which part of the samples at a WFI or WFE was taken awake. How many these are in all follows from the time
 * asleep; how many are of each WFI or WFE, from the states that were read at it. */
struct division {
    bool elsewhere; /* more states are asleep than samples can be at one of them */
    bool by_code;   /* else by the states after each address */
    bool of_some;   /* only those which clearly do not sleep were passed awake */
    double best;    /* the largest part of the states at one of them that are asleep */
    double mean;    /* of those at all */
    double scale, rest;
};

/* Fewer states do not prove it. */
static const uint64_t looks_least = 12;

/* How much less a WFI or WFE sleeps than the one that does so most, 0 to 1. */
static double awake_by_looks(const struct sampler *sampler, const struct division *division, uint64_t at)
{
    static const double clear = 0.25, errors = 3;
    uint64_t all = profile_tally_count(&sampler->stays.all, at);
    double asleep = (double)profile_tally_count(&sampler->stays.asleep, at);
    bool is_enough = all >= looks_least;
    double part = is_enough ? asleep / (double)all : division->mean;
    bool is_clear = is_enough && asleep + errors * (1 + sqrt(asleep)) < clear * division->best * (double)all;
    if (division->best <= 0 || (division->of_some && !is_clear))
        return 0;
    return part < division->best ? 1 - part / division->best : 0;
}

/* States in code that is known: all, those asleep, and those after a WFI or WFE. By addresses: whatever the
 * code is. */
struct known_looks {
    double all, asleep, at_sleeps;
    double unlike;              /* asleep and not after a WFI or WFE, or the other way round */
    double unknown, unsure;     /* those in other code; the variance of how many of them are asleep */
    double alone, alone_asleep; /* of these, those at addresses with no other state */
};

/* One state at an address does not show how its states vary: all such addresses together do. */
static void count_unknown_looks(struct known_looks *known, double here, double asleep)
{
    known->unknown += here;
    known->unsure += here > 1 ? asleep * (here - asleep) / (here - 1) : 0;
    known->alone += here > 1 ? 0 : here;
    known->alone_asleep += here > 1 ? 0 : asleep;
}

static struct known_looks count_looks(const struct sampler *sampler, bool by_code)
{
    struct known_looks known = {0};
    const struct profile_tally *looks = &sampler->ever.all;
    for (size_t i = 0; i < looks->room; i++) {
        const struct profile_count *count = &looks->slots[i].count;
        enum sampler_place place =
            looks->slots[i].taken ? sampler_place_of(sampler, count->address) : SAMPLER_UNKNOWN;
        double here = (double)count->samples;
        double asleep = here > 0 ? (double)profile_tally_count(&sampler->ever.asleep, count->address) : 0;
        if (place == SAMPLER_UNKNOWN || !by_code)
            count_unknown_looks(&known, here, asleep);
        if (place == SAMPLER_UNKNOWN)
            continue;
        known.all += here;
        known.asleep += asleep;
        known.at_sleeps += place == SAMPLER_SLEEPS ? here : 0;
        known.unlike += place == SAMPLER_SLEEPS ? here - asleep : asleep;
    }
    if (known.alone > 0)
        known.unsure += known.alone_asleep * (known.alone - known.alone_asleep) / known.alone;
    return known;
}

static void compare_sleeps(const struct sampler *sampler, struct division *division)
{
    double all = 0, asleep = 0;
    const struct profile_tally *stays = &sampler->stays.all;
    for (size_t i = 0; i < stays->room; i++) {
        double here = (double)stays->slots[i].count.samples;
        double its = (double)profile_tally_count(&sampler->stays.asleep, stays->slots[i].count.address);
        if (!stays->slots[i].taken)
            continue;
        all += here;
        asleep += its;
        if (here >= (double)looks_least)
            division->best = fmax(division->best, its / here);
    }
    division->mean = all > 0 ? asleep / all : 0;
    division->best = fmax(division->best, division->mean);
}

/* Those after a WFI or WFE that awake_by_looks takes for awake. */
static double sum_awake(const struct sampler *sampler, const struct division *division)
{
    const struct profile_tally *looks = &sampler->ever.all;
    double sum = 0;
    for (size_t i = 0; i < looks->room; i++) {
        const struct profile_count *count = &looks->slots[i].count;
        uint64_t at = 0;
        if (looks->slots[i].taken && sampler_place_at(sampler, count->address, &at) == SAMPLER_SLEEPS)
            sum += (double)count->samples * awake_by_looks(sampler, division, at);
    }
    return sum;
}

/* Looks of a list are less independent than their number says: a sleep may last for several of them. A few
 * that all agree prove little (the rule of three). */
static struct division divide(const struct sampler *sampler)
{
    static const double errors = 6, least = 0.01;
    struct division division = {.by_code = false};
    const struct known_looks known = count_looks(sampler, true);
    if (known.all <= 0)
        return division;
    double looked = known.asleep / known.all;
    double at_sleeps = (double)sampler->known.at_sleeps;
    double sampled = at_sleeps > 0 ? at_sleeps / (double)sampler->known.samples : 0;
    double margin = least + errors * sqrt(looked * (1 - looked) / known.all) + 3 / known.all;
    /* A program may pass a WFI awake, and a core's register may be some instructions off */
    division.elsewhere = looked > sampled + margin;
    if (!(at_sleeps > 0))
        return division;
    division.by_code = !division.elsewhere;
    division.of_some = sampled <= looked + margin;
    compare_sleeps(sampler, &division);
    double sum = sum_awake(sampler, &division);
    double awake = division.of_some ? fmin(sum, (sampled - looked + margin) * known.all)
                                    : (sampled - looked) * known.at_sleeps / sampled;
    division.scale = sum > 0 ? fmin(fmax(awake / sum, 0), 1) : 0;
    division.rest =
        awake > sum && known.at_sleeps > sum ? fmin((awake - sum) / (known.at_sleeps - sum), 1) : 0;
    return division;
}

/* States are fewer than samples, and their chance is that of the whole run: batches of samples do not show
 * it. Samples at a WFI or WFE are too many by as many as states after one are more than states asleep, within
 * two standard errors, and within the rule of three where both always agree; so are those asleep elsewhere.
 * A core whose state does not show sleep has none that is counted. */
static double asleep_doubt(const struct sampler *sampler, bool by_code)
{
    const struct known_looks known = count_looks(sampler, by_code);
    double looks = by_code ? known.all + known.unknown : known.unknown;
    double samples = (double)sampler->known.samples;
    bool any = known.unknown > 0 && sampler->ever.asleep.used > 0;
    double doubt = any ? (2 * sqrt(known.unsure) + 3) / looks : 0;
    if (known.all > 0 && samples > 0 && sampler->known.at_sleeps > 0) {
        double too_many = ((double)sampler->known.at_sleeps - (double)sampler->known.asleep) / samples;
        double off = fabs(too_many - (known.at_sleeps - known.asleep) / known.all);
        doubt += off + (2 * sqrt(known.unlike) + 3) / known.all;
    }
    return shows_sleep(sampler) ? fmin(doubt, 1) : 0;
}

static void count_known(struct sampler *sampler, const struct profile_tally *tally)
{
    for (size_t i = 0; i < tally->room; i++) {
        const struct profile_count *count = &tally->slots[i].count;
        enum sampler_place place =
            count->samples > 0 ? sampler_place_of(sampler, count->address) : SAMPLER_UNKNOWN;
        sampler->known.samples += place != SAMPLER_UNKNOWN ? count->samples : 0;
        sampler->known.at_sleeps += place == SAMPLER_SLEEPS ? count->samples : 0;
    }
}

static double part_asleep(const struct sampler *sampler, const struct division *division, uint64_t address)
{
    const struct sampler_looks *looks =
        profile_tally_count(&sampler->now.all, address) > 0 ? &sampler->now : &sampler->ever;
    uint64_t at = 0;
    enum sampler_place place = division->by_code ? sampler_place_at(sampler, address, &at) : SAMPLER_UNKNOWN;
    double all = (double)profile_tally_count(&looks->all, address);
    double awake = place == SAMPLER_SLEEPS ? awake_by_looks(sampler, division, at) : 1;
    if (place != SAMPLER_UNKNOWN)
        return place == SAMPLER_SLEEPS ? 1 - division->scale * awake - division->rest * (1 - awake) : 0;
    return all > 0 ? (double)profile_tally_count(&looks->asleep, address) / all : 0;
}

void sampler_settle(struct sampler *sampler, struct profile_tally *tally)
{
    count_known(sampler, tally);
    const struct division division = divide(sampler);
    bool any = sampler->ever.asleep.used > 0, anywhere = false;
    for (size_t i = 0; any && i < tally->room; i++) {
        const struct profile_count count = tally->slots[i].count;
        if (!tally->slots[i].taken)
            continue;
        double part = part_asleep(sampler, &division, count.address);
        if (part <= 0)
            continue;
        double asleep = (double)count.samples * part + sampler->rounded;
        double whole = fmin(fmax(floor(asleep + 0.5), 0), (double)count.samples);
        sampler->rounded = asleep - whole;
        enum sampler_place place = sampler_place_of(sampler, count.address);
        sampler->known.asleep += place != SAMPLER_UNKNOWN ? (uint64_t)whole : 0;
        anywhere = anywhere || (place == SAMPLER_WORKS && whole > 0);
        profile_tally_move(tally, count.address, (uint64_t)whole, PROFILE_ASLEEP);
    }
    tally->now.asleep_doubt = asleep_doubt(sampler, division.by_code);
    tally->now.asleep_anywhere =
        tally->now.asleep_doubt > 0 && (sampler->code == NULL || (anywhere && division.elsewhere));
    free_looks(&sampler->now);
}

void sampler_end(struct sampler *sampler, struct profile_tally *tally, const struct deadline *deadline)
{
    struct pc_look look = sampler->look;
    struct error unread = {0};
    if (sampler->pending + sampler->missed == 0)
        return;
    if (read_look(sampler, &look, deadline, &unread)) {
        note_look(sampler, &look, tally);
        return;
    }
    settle_pending(sampler, &look, tally);
    settle_missed(sampler, false, tally);
}
