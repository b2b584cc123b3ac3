/* compare OLD NEW [...]: results that delta wrote, against each other. No target is touched. */
#include "commands/command.h"
#include "commands/verdicts.h"
#include "report/compare_page.h"
#include "report/comparison.h"
#include "report/formats.h"
#include "report/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct compare_command {
    const struct context *context;
    double threshold;
    size_t family;                      /* verdicts about one later file */
    struct runs files[OPTION_OPERANDS]; /* each later one is compared with the first */
    struct baseline missing;
    struct comparison comparison;
    struct compare_page page; /* of --format html */
    bool looking;             /* for it, at all that is to be put */
    enum verdict verdict;     /* over all */
    uint64_t compared, not_comparable;
    bool written;
};

/* ---- the output: one part for each region of each later file */

static void put_head(const struct compare_command *self)
{
    FILE *out = self->context->out;
    const struct comparison *comparison = &self->comparison;
    if (self->compared > 0)
        fputc('\n', out);
    if (comparison->start[0] != '\0')
        fprintf(out, "%s%s%s, ", comparison->start, comparison->end[0] != '\0' ? " to " : "",
                comparison->end);
    fprintf(out, "%s\n", comparison->file_now);
}

static void put_pair(struct compare_command *self, const struct summary *now)
{
    FILE *out = self->context->out;
    const struct comparison *comparison = &self->comparison;
    bool ok = true;
    switch (self->context->options->format) {
    case FORMAT_JSON:
        ok = comparison_json(out, comparison);
        break;
    case FORMAT_JUNIT:
        junit_suite(out, now, comparison);
        break;
    case FORMAT_MARKDOWN:
        if (self->compared > 0)
            fputc('\n', out);
        ok = markdown_summary(out, now, comparison);
        break;
    case FORMAT_HTML:
        ok = compare_page_put(&self->page, comparison);
        break;
    case FORMAT_TEXT:
    default: /* not of compare */
        put_head(self);
        ok = comparison_print(out, comparison);
        break;
    }
    self->written = self->written && ok;
}

static void put_begin(struct compare_command *self)
{
    FILE *out = self->context->out;
    if (self->context->options->format == FORMAT_JSON)
        self->written = json_command_header(out, "compare", "");
    else if (self->context->options->format == FORMAT_JUNIT)
        junit_begin(out);
    else if (self->context->options->format == FORMAT_HTML)
        self->written = compare_page_begin(&self->page, out);
}

static bool put_json_end(const struct compare_command *self, FILE *out)
{
    struct json_part line = json_part_new("summary");
    json_part_text(&line, "verdict", verdict_name(self->verdict));
    json_part_unsigned(&line, "compared", self->compared);
    json_part_unsigned(&line, "not_comparable", self->not_comparable);
    return json_part_write(out, line);
}

/* One part alone has said it all. */
static void put_end(struct compare_command *self)
{
    FILE *out = self->context->out;
    enum format format = self->context->options->format;
    const char *mark = format == FORMAT_MARKDOWN ? "**" : "";
    if (format == FORMAT_JSON)
        self->written = put_json_end(self, out) && self->written;
    else if (format == FORMAT_JUNIT)
        self->written = junit_end(out) && self->written;
    else if (format == FORMAT_HTML)
        self->written = put_json_end(self, self->page.lines.out) &&
                        compare_page_end(&self->page, &self->context->options->typed) && self->written;
    else if (self->compared > 1)
        fprintf(out, "\n%s%s%s over all %" PRIu64 "\n", mark, verdict_name(self->verdict), mark,
                self->compared);
    self->written = fflush(out) == 0 && !ferror(out) && self->written;
}

/* ---- the pairs */

static void compare_pair(struct compare_command *self, const struct baseline *before,
                         const struct baseline *now)
{
    struct comparison *comparison = &self->comparison;
    runs_compare(before, now, self->threshold, self->context->options->any_elf, self->family, comparison);
    if (self->looking) {
        compare_page_look(&self->page, comparison);
        return;
    }
    put_pair(self, &now->run);
    self->compared++;
    self->not_comparable += comparison->verdict == VERDICT_NOT_COMPARABLE;
    self->verdict = verdict_both(self->verdict, comparison->verdict);
}

/* In place of the run that the file of `other` has and this one lacks. */
static const struct baseline *missing_run(struct compare_command *self, const struct baseline *other,
                                          const struct runs *runs)
{
    self->missing = (struct baseline){.missing = true};
    self->missing.run.conditions = other->run.conditions;
    memcpy(self->missing.file, runs->file, sizeof self->missing.file);
    return &self->missing;
}

static const struct baseline *find_region(const struct runs *runs, const struct baseline *like)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs_are_of_one_region(runs->of[i], like))
            return runs->of[i];
    return NULL;
}

/* As survey --baseline counts them. */
static size_t family_of(const struct runs *old, const struct runs *new)
{
    size_t family = 0;
    for (size_t i = 0; i < new->n; i++)
        if (find_region(old, new->of[i]) != NULL)
            family += new->of[i]->run.n;
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
    self->family = family_of(old, new);
    for (size_t i = 0; i < old->n; i++) {
        const struct baseline *now = find_region(new, old->of[i]);
        compare_pair(self, old->of[i], now != NULL ? now : missing_run(self, old->of[i], new));
    }
    for (size_t i = 0; i < new->n; i++)
        if (find_region(old, new->of[i]) == NULL)
            compare_pair(self, missing_run(self, new->of[i], old), new->of[i]);
}

/* All are read before anything is written. */
static bool read_files(struct compare_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    for (size_t i = 0; i < options->n_operands; i++) {
        if (verdicts_are_same_file(options->operands[i], options->output))
            return error_set(error, ERROR_USAGE, "-o names %.256s, which is to be compared",
                             options->operands[i]);
        if (!runs_read(options->operands[i], self->context->cancel, &self->files[i], error))
            return false;
    }
    return true;
}

static void compare_each(struct compare_command *self)
{
    for (size_t i = 1; i < self->context->options->n_operands; i++)
        compare_file(self, &self->files[0], &self->files[i]);
}

static bool compare_files(struct compare_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    if (!verdicts_threshold(options, &self->threshold, error) || !read_files(self, error))
        return false;
    self->written = true;
    self->looking = options->format == FORMAT_HTML;
    if (self->looking)
        compare_each(self);
    self->looking = false;
    put_begin(self);
    if (self->written)
        compare_each(self);
    if (self->written)
        put_end(self);
    compare_page_free(&self->page);
    return self->written || error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

int command_compare(const struct context *context, struct error *error)
{
    struct compare_command *self = calloc(1, sizeof *self);
    if (self == NULL) {
        error_set(error, ERROR_SYSTEM, "out of memory");
        return error_exit_code(error->kind);
    }
    self->context = context;
    bool ok = compare_files(self, error);
    int code = ok ? verdicts_exit_code(self->verdict) : error_exit_code(error->kind);
    for (size_t i = 0; i < OPTION_OPERANDS; i++)
        runs_free(&self->files[i]);
    free(self);
    return code;
}
