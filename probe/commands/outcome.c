#include "commands/outcome.h"

#include "report/comparison.h"
#include "report/csv.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/markdown.h"
#include "report/text.h"

#include <ctype.h>
#include <stdlib.h>

struct outcome_check {
    struct baseline baseline;
    double threshold;
    bool any_elf;
    struct comparison comparison;
};

/* Who writes 5 means 5 %. */
static bool read_threshold(const char *text, double *out, struct error *error)
{
    if (verdict_threshold(text, out))
        return true;
    char *end;
    double bare = strtod(text, &end);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && bare >= 1 && bare <= 1e6)
        return error_set(error, ERROR_USAGE, "--threshold %.32s would be %g %%: write %g%% or %g", text,
                         bare * 100, bare, bare / 100);
    return error_set(error, ERROR_USAGE, "--threshold takes a part such as 2%% or 0.02, not \"%.32s\"", text);
}

bool outcome_begin(const struct context *context, struct outcome_check **out, struct error *error)
{
    const struct options *options = context->options;
    *out = NULL;
    if (options->baseline == NULL && (options->threshold != NULL || options->any_elf))
        return error_set(error, ERROR_USAGE, "%s is of use with --baseline FILE only",
                         options->any_elf ? "--any-elf" : "--threshold");
    if (options->baseline == NULL)
        return true;
    struct outcome_check *check = calloc(1, sizeof *check);
    if (check == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    bool ok = options->threshold == NULL || read_threshold(options->threshold, &check->threshold, error);
    if (!ok || !baseline_read(options->baseline, context->cancel, &check->baseline, error)) {
        free(check);
        return false;
    }
    check->any_elf = options->any_elf;
    *out = check;
    return true;
}

void outcome_free(struct outcome_check *check)
{
    free(check);
}

static int code_of(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_PASS:
        break;
    case VERDICT_REGRESSED:
        return EXIT_REGRESSED;
    case VERDICT_INCONCLUSIVE:
        return EXIT_INCONCLUSIVE;
    }
    return EXIT_DONE;
}

static bool write_summary(FILE *out, const struct options *options, const struct summary *summary,
                          const struct comparison *comparison)
{
    switch (options->format) {
    case FORMAT_JSON:
        return json_summary(out, summary) && (comparison == NULL || comparison_json(out, comparison));
    case FORMAT_CSV:
        return csv_summary(out, summary, comparison, options->separator[0]);
    case FORMAT_JUNIT:
        return junit_summary(out, summary, comparison);
    case FORMAT_MARKDOWN:
        return markdown_summary(out, summary, comparison);
    case FORMAT_TEXT:
        break;
    }
    text_summary(out, summary);
    if (comparison == NULL)
        return true;
    fputc('\n', out);
    return comparison_print(out, comparison);
}

bool outcome_write(const struct context *context, const struct summary *summary, struct outcome_check *check,
                   int *code)
{
    const struct comparison *comparison = NULL;
    if (check != NULL) {
        baseline_compare(&check->baseline, summary, check->threshold, check->any_elf, &check->comparison);
        comparison = &check->comparison;
        *code = code_of(comparison->verdict);
    }
    return write_summary(context->out, context->options, summary, comparison);
}
