/* SPDX-License-Identifier: MIT */
/* `compare OLD NEW` of two profiles that record wrote: the changes of their shares. */
#include "base/values.h"
#include "commands/compare.h"
#include "commands/profiling.h"
#include "profile/shares.h"
#include "report/profile_table.h"

#include <stdlib.h>
#include <string.h>

struct compare_profiles {
    const struct context *context;
    enum shares_sort sort;
    struct profile_side now, old;
    struct profile_pair *pairs; /* of each core that both have */
    size_t n;
};

/* Its program is found as the new one's; if that is the same build, --elf is for both. */
static bool open_old(struct compare_profiles *self, struct error *error)
{
    const struct options *options = self->context->options;
    struct profile_input *old = &self->old.input;
    if (!profile_input_open(old, options->operands[0], NULL, 0, self->context->around.cancel, error))
        return false;
    if (old->symbols != NULL || options->request.elf == NULL)
        return true;
    profile_input_close(old);
    return profile_input_open(old, options->operands[0], options->request.elf, 0,
                              self->context->around.cancel, error);
}

/* Cycles are time in which the core runs; a note says that these samples are of another kind. */
static bool is_of_time(const char *event)
{
    return event == NULL || strcmp(event, "CPU_CYCLES") == 0 || strcmp(event, "CPU_CLK_UNHALTED") == 0;
}

static bool check_shares_of(const struct profile_about *now, const struct profile_about *old,
                            struct error *error)
{
    const char *event = now->event, *its = old->event;
    if ((is_of_time(event) && is_of_time(its)) || strcmp(or_empty(event), or_empty(its)) == 0)
        return true;
    return error_advise(error, ERROR_USAGE, "Record both with the same -e, or with none.",
                        "shares of %.48s now, of %.48s before: they cannot be compared",
                        event != NULL ? event : "time", its != NULL ? its : "time");
}

/* Addresses are the same only in the same program; names need both programs. */
static bool check_pair(const struct compare_profiles *self, struct error *error)
{
    const struct profile_input *now = &self->now.input, *old = &self->old.input;
    const char *build = now->profile->about.build_id, *its = old->profile->about.build_id;
    bool same = build != NULL && its != NULL && strcmp(build, its) == 0;
    if (same && (now->symbols == NULL) == (old->symbols == NULL))
        return true;
    if (now->symbols != NULL && old->symbols != NULL)
        return self->sort != SHARES_ADDRESS ||
               error_set(error, ERROR_USAGE, "--sort address: no build id says that both are of one program");
    const struct profile_input *lacks = now->symbols == NULL ? now : old;
    return error_advise(error, ERROR_ELF, "Keep a copy of each program in its profile's folder.",
                        "%.300s: %s", lacks->file, lacks->no_names);
}

/* Cores are the same by their numbers. If each profile has one core, the user has chosen what to compare. */
static bool make_pairs(struct compare_profiles *self, struct error *error)
{
    const struct profile_about *now = &self->now.input.profile->about, *old = &self->old.input.profile->about;
    bool chosen = now->core_count == 1 && old->core_count == 1, ok = true;
    self->pairs = calloc(now->core_count, sizeof *self->pairs);
    if (self->pairs == NULL)
        return error_memory(error);
    for (size_t i = 0; i < now->core_count && ok; i++) {
        size_t k = chosen ? 0 : profile_core_find(old, profile_core_number(now, i));
        struct profile_pair *pair = &self->pairs[self->n];
        if (k == old->core_count)
            continue;
        *pair = (struct profile_pair){.now = i, .old = k};
        ok = shares_diff_make(&self->now.shares[i], &self->old.shares[k], &pair->diff);
        self->n += ok;
    }
    if (ok && self->n == 0)
        return error_advise(error, ERROR_USAGE, "Compare profiles of the same cores: record -C N, or -a.",
                            "the profiles are of different cores: core %u now, core %u before",
                            profile_core_number(now, 0), profile_core_number(old, 0));
    return ok || error_memory(error);
}

static bool print_changes(struct compare_profiles *self, struct error *error)
{
    const struct options *options = self->context->options;
    profiling_tell_names(options, &self->now);
    profiling_tell_names(options, &self->old);
    if (!profiling_make_shares(&self->now, self->sort, error) ||
        !profiling_make_shares(&self->old, self->sort, error) || !make_pairs(self, error))
        return false;
    const struct profile_report now = profiling_report(&self->now), old = profiling_report(&self->old);
    const struct profile_diff_report report = {.now = &now, .old = &old, .pairs = self->pairs, .n = self->n};
    const struct rendering to = command_rendering(self->context);
    struct document document = profile_diff_document(&report);
    profiling_tell_notes(options, document_line(&document, "summary"));
    bool ok = profile_show(&to, &document);
    document_free(&document);
    return ok || ferror(to.out) || error_memory(error);
}

bool compare_profiles(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    struct compare_profiles self = {.context = context};
    if (options->n_operands > 2)
        return error_set(error, ERROR_USAGE, "compare takes two profiles, not %zu", options->n_operands);
    if (options->threshold != NULL)
        request_note(&options->request, "profiles take no --threshold: each change has its ±");
    bool ok = profiling_sort(options, false, &self.sort, error) &&
              profile_input_open(&self.now.input, options->operands[1], options->request.elf,
                                 options->request.load_offset, context->around.cancel, error) &&
              open_old(&self, error) &&
              check_shares_of(&self.now.input.profile->about, &self.old.input.profile->about, error) &&
              check_pair(&self, error) && print_changes(&self, error);
    for (size_t i = 0; i < self.n; i++)
        shares_diff_free(&self.pairs[i].diff);
    free(self.pairs);
    profiling_close_side(&self.now);
    profiling_close_side(&self.old);
    return ok;
}
