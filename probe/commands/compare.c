#include "commands/compare.h"

#include "commands/command.h"
#include "report/comparison.h"
#include "report/comparison_report.h"
#include "report/delta_report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A bare 5 is refused: it would be 500 %, and the user means 5 %. */
bool verdicts_threshold(const struct options *options, double *out, struct error *error)
{
    const char *text = options->threshold;
    *out = 0;
    if (text == NULL)
        return true;
    if (verdict_threshold(text, out))
        return true;
    char *end;
    double bare = strtod(text, &end);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && bare >= 1 && bare <= 1e6)
        return error_set(error, ERROR_USAGE, "--threshold %.32s would be %g %%: write %g%% or %g", text,
                         bare * 100, bare, bare / 100);
    return error_set(error, ERROR_USAGE, "--threshold takes a part such as 2%% or 0.02, not \"%.32s\"", text);
}

int verdicts_exit_code(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_PASS:
        break;
    case VERDICT_REGRESSED:
        return EXIT_REGRESSED;
    case VERDICT_INCONCLUSIVE:
        return EXIT_INCONCLUSIVE;
    case VERDICT_NOT_COMPARABLE:
        return EXIT_NOT_COMPARABLE;
    }
    return EXIT_DONE;
}

/* ---- compare */

struct compare_command {
    const struct context *context;
    double threshold;
    size_t family;                      /* verdicts about one later file */
    struct runs files[OPTION_OPERANDS]; /* each later one is compared with the first */
    struct baseline missing;
    struct document document;
    enum verdict verdict; /* over all */
    uint64_t compared, not_comparable;
};

/* ---- the pairs */

static void compare_pair(struct compare_command *self, const struct baseline *before,
                         const struct baseline *now)
{
    struct json_part line = runs_compare(before, now, self->threshold, self->family);
    enum verdict verdict = line_verdict(line.json);
    comparison_add_run(&line, now);
    document_add(&self->document, line);
    self->compared++;
    self->not_comparable += verdict == VERDICT_NOT_COMPARABLE;
    self->verdict = verdict_both(self->verdict, verdict);
}

/* In place of the run that the file of `other` has and this one lacks. */
static const struct baseline *missing_run(struct compare_command *self, const struct baseline *other,
                                          const struct runs *runs)
{
    self->missing = (struct baseline){.missing = true};
    self->missing.conditions = other->conditions;
    memcpy(self->missing.file, runs->file, sizeof self->missing.file);
    return &self->missing;
}

static const struct baseline *compare_find_region(const struct runs *runs, const struct baseline *like)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs_are_of_one_region(&runs->of[i]->conditions, &like->conditions))
            return runs->of[i];
    return NULL;
}

/* As survey --baseline counts them. */
static size_t compare_family_of(const struct runs *old, const struct runs *new)
{
    size_t family = 0;
    for (size_t i = 0; i < new->n; i++)
        if (compare_find_region(old, new->of[i]) != NULL)
            family += json_object_size(json_object_get(new->of[i]->summary, "columns"));
    return family;
}

/* Two files of one run each are compared whatever their regions are: then the reason says how these differ.
 */
static void compare_file(struct compare_command *self, const struct runs *old, const struct runs *new)
{
    self->family = 1;
    if (old->n == 1 && new->n == 1) {
        compare_pair(self, old->of[0], new->of[0]);
        return;
    }
    self->family = compare_family_of(old, new);
    for (size_t i = 0; i < old->n; i++) {
        const struct baseline *now = compare_find_region(new, old->of[i]);
        compare_pair(self, old->of[i], now != NULL ? now : missing_run(self, old->of[i], new));
    }
    for (size_t i = 0; i < new->n; i++)
        if (compare_find_region(old, new->of[i]) == NULL)
            compare_pair(self, missing_run(self, new->of[i], old), new->of[i]);
}

/* All are read before anything is written. */
static bool read_files(struct compare_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    for (size_t i = 0; i < options->n_operands; i++)
        if (!runs_read(options->operands[i], self->context->around.cancel, &self->files[i], error))
            return false;
    return true;
}

static void compare_each(struct compare_command *self)
{
    for (size_t i = 1; i < self->context->options->n_operands; i++)
        compare_file(self, &self->files[0], &self->files[i]);
}

static void add_summary(struct compare_command *self)
{
    struct json_part line = json_part_new("summary");
    json_part_text(&line, "verdict", verdict_name(self->verdict));
    json_part_unsigned(&line, "compared", self->compared);
    json_part_unsigned(&line, "not_comparable", self->not_comparable);
    document_add(&self->document, line);
}

static bool compare_files(struct compare_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    if (!verdicts_threshold(options, &self->threshold, error) || !read_files(self, error))
        return false;
    if (options->sort != NULL)
        request_note(&options->request, "--sort is of use with profiles only");
    self->document = document_new();
    document_add(&self->document, json_command_part("compare", ""));
    compare_each(self);
    add_summary(self);
    const struct rendering to = command_rendering(self->context);
    bool ok = compare_write(&to, &self->document);
    document_free(&self->document);
    return ok || error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

/* A pipe could not be read once more. */
static bool is_profile(const struct compare_command *self)
{
    struct stat is;
    return self->files[0].is_profile && stat(self->context->options->operands[0], &is) == 0 &&
           S_ISREG(is.st_mode);
}

int command_compare(const struct context *context, struct error *error)
{
    struct compare_command *self = calloc(1, sizeof *self);
    if (self == NULL) {
        error_memory(error);
        return error_exit_code(error->kind);
    }
    self->context = context;
    bool ok = compare_files(self, error);
    if (!ok && is_profile(self)) {
        error_clear(error);
        ok = compare_profiles(context, error);
    }
    int code = ok ? verdicts_exit_code(self->verdict) : error_exit_code(error->kind);
    for (size_t i = 0; i < OPTION_OPERANDS; i++)
        runs_free(&self->files[i]);
    free(self);
    return code;
}
