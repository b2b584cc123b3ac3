/* SPDX-License-Identifier: MIT */
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
    static const int codes[] = {[VERDICT_PASS] = EXIT_DONE,
                                [VERDICT_REGRESSED] = EXIT_REGRESSED,
                                [VERDICT_INCONCLUSIVE] = EXIT_INCONCLUSIVE,
                                [VERDICT_NOT_COMPARABLE] = EXIT_NOT_COMPARABLE};
    return codes[verdict];
}

/* ---- compare */

struct compare_command {
    const struct context *context;
    double threshold;
    struct runs files[OPTION_OPERANDS]; /* each later one is compared with the first */
    enum verdict verdict;               /* over all */
};

/* All are read before anything is written. */
static bool read_files(struct compare_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    for (size_t i = 0; i < options->n_operands; i++)
        if (!runs_read(options->operands[i], self->context->around.cancel, &self->files[i], error))
            return false;
    return true;
}

static bool compare_files(struct compare_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    if (!verdicts_threshold(options, &self->threshold, error) || !read_files(self, error))
        return false;
    if (options->sort != NULL)
        request_note(&options->request, "--sort is of use with profiles only");
    struct document document = document_new();
    document_add(&document, json_command_part("compare", ""));
    self->verdict = comparison_make(self->files, options->n_operands, self->threshold, &document);
    command_judges(self->context, verdicts_exit_code(self->verdict));
    const struct rendering to = command_rendering(self->context);
    bool ok = compare_write(&to, &document);
    document_free(&document);
    return command_wrote(ok, error);
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
    if (self == NULL)
        return command_code(error_memory(error), error);
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
