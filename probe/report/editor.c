#include "report/editor.h"

#include "base/values.h"
#include "report/comparison_report.h"
#include "report/number.h"
#include "report/survey_report.h"
#include "report/views.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT = 2048 };

bool editor_add(json_t *rows, const char *file, const char *source, const char *text, bool bad)
{
    struct json_part row = json_part_new(NULL);
    const char *colon = strrchr(source, ':');
    row_text(&row, "file", file);
    json_part_unsigned(&row, "line", colon != NULL ? strtoull(colon + 1, NULL, 10) : 0);
    row_text(&row, "text", text);
    row_flag(&row, "bad", bad);
    return rows_add(rows, row);
}

/* Without a verdict: what the first column has. */
static void editor_describe(const struct run_lines *run, char *out, size_t size)
{
    const char *name = "", *why = field_text(run->summary, "why");
    const json_t *column = run_first(run->summary, &name), *reason = field_of(run->verdict, "not_comparable");
    uint64_t n = field_count(column, "count");
    char mean[128];
    if (json_array_size(reason) > 0) {
        snprintf(out, size, "%s: %.1000s", verdict_name(VERDICT_NOT_COMPARABLE),
                 text_or_empty(json_array_get(reason, 0)));
    } else if (run_is_counted(column)) {
        run_mean_text(mean, sizeof mean, column);
        snprintf(out, size, "%s: mean %s of %s hit%s", name, mean, NUMBER(n), PLURAL(n));
    } else {
        snprintf(out, size, "%.1000s", why[0] != '\0' ? why : "not reached");
    }
}

bool editor_add_run(json_t *rows, const struct run_lines *run)
{
    const struct conditions *at = &run->conditions;
    char text[TEXT], words[TEXT / 2];
    struct check check;
    size_t k;
    bool ok = true;
    for (k = 0; check_take(run->summary, run->verdict, k, &check) && ok; k++) {
        snprintf(text, sizeof text, "%.500s: ", at->start);
        check_text(&check, text + strlen(text), sizeof text - strlen(text));
        ok = editor_add(rows, at->start_file, at->start_source, text,
                        verdict_by_name(check.verdict) == VERDICT_REGRESSED);
    }
    if (k > 0)
        return ok;
    editor_describe(run, words, sizeof words);
    snprintf(text, sizeof text, "%.500s: %s", at->start, words);
    return editor_add(rows, at->start_file, at->start_source, text, false);
}

bool survey_gcc(const struct rendering *to, const struct survey_lines *lines)
{
    json_t *rows = json_array(), *region;
    size_t i;
    bool ok = true;
    json_array_foreach(lines->regions, i, region) {
        struct run_lines run = run_lines(lines->header, region, json_array_get(lines->verdicts, i));
        if (run.conditions.start[0] == '\0')
            snprintf(run.conditions.start, sizeof run.conditions.start, "%s", field_text(region, "name"));
        ok = editor_add_run(rows, &run) && ok;
    }

    return render_table(to, &text_gcc, rows) && ok;
}
