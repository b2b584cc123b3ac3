#include "commands/outcome.h"

#include "report/comparison.h"
#include "report/csv.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/markdown.h"
#include "report/text.h"

#include <stdlib.h>

struct outcome_check {
    struct baseline baseline;
    double threshold;
    struct comparison comparison;
};

bool outcome_begin(const struct context *context, struct outcome_check **out, struct error *error)
{
    const struct options *options = context->options;
    *out = NULL;
    if (options->baseline == NULL)
        return options->threshold == NULL ||
               error_set(error, ERROR_USAGE, "--threshold belongs to --baseline FILE");
    struct outcome_check *check = calloc(1, sizeof *check);
    if (check == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    bool ok = options->threshold == NULL || verdict_threshold(options->threshold, &check->threshold) ||
              error_set(error, ERROR_USAGE, "--threshold wants a part such as 2%% or 0.02, not \"%.32s\"",
                        options->threshold);
    if (!ok || !baseline_read(options->baseline, context->cancel, &check->baseline, error)) {
        free(check);
        return false;
    }
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
        baseline_compare(&check->baseline, summary, check->threshold, &check->comparison);
        comparison = &check->comparison;
        *code = code_of(comparison->verdict);
    }
    return write_summary(context->out, context->options, summary, comparison);
}
