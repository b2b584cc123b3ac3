#include "report/delta_report.h"

#include "report/comparison_report.h"
#include "report/conditions.h"
#include "report/editor.h"
#include "report/junit.h"
#include "report/outlier_report.h"
#include "report/run_report.h"
#include "report/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum hit_kind delta_report_kind_of(const json_t *hit, const char *column)
{
    size_t i;
    const json_t *bound;
    if (field_is(hit, "warmup"))
        return HIT_WARMUP;
    if (field_is(hit, "tainted"))
        return HIT_TAINTED;
    json_array_foreach(field_of(hit, "at_least"), i, bound)
        if (json_is_string(bound) && strcmp(json_string_value(bound), column) == 0)
            return HIT_AT_LEAST;
    return HIT_CLEAN;
}

void delta_add_time(struct hit_times *times, const json_t *hit, const char *column)
{
    const json_t *value = json_object_get(field_of(hit, "values"), column);
    double seconds = field_real(hit, "seconds");
    if (value != NULL && isfinite(seconds))
        hit_times_add(times, field_count(hit, "hit"), seconds, delta_report_kind_of(hit, column),
                      count_of(value));
}

static void add_times(struct hit_times *times, const struct document *document)
{
    const char *column =
        text_or_empty(json_array_get(field_of(document_line(document, "header"), "columns"), 0));
    size_t i;
    const json_t *line;
    json_array_foreach(document->lines, i, line)
        delta_add_time(times, line, column);
}

static bool delta_report_put_page(const struct rendering *to, const struct delta_report *report)
{
    struct delta_report whole = *report;
    struct hit_times *times = NULL;
    bool ok = true;
    if (report->times == NULL) {
        times = calloc(1, sizeof *times);
        ok = times != NULL;
        if (ok)
            add_times(times, report->document);
        whole.times = times;
    }
    ok = ok && delta_page(to, &whole);
    free(times);
    return ok;
}

static bool delta_report_put_csv(const struct rendering *to, const struct run_lines *run)
{
    json_t *rows = json_array();
    bool ok = run_add_rows(run, true, rows);
    return run_write_csv(to, rows, "unit|mean|missing") && ok;
}

static bool delta_report_put_text(const struct rendering *to, const struct delta_report *report,
                                  const struct run_lines *run)
{
    if (!report->begun)
        conditions_write(to, &run->conditions);
    bool ok = run_write_table(to, run);
    outlier_write(to, report->document);
    if (run->verdict != NULL) {
        fputc('\n', to->out);
        comparison_write(to, run->verdict);
    }
    return ok;
}

bool delta_write(const struct rendering *to, const struct delta_report *report)
{
    const struct document *document = report->document;
    bool ok = document->ok;
    if (!ok || to->format == FORMAT_JSON)
        return ok && document_write(to->out, document);
    const struct run_lines run =
        run_lines(document_line(document, "header"), (json_t *)document_line(document, "summary"),
                  document_line(document, "verdict"));
    switch (to->format) {
    case FORMAT_HTML:
        return delta_report_put_page(to, report);
    case FORMAT_CSV:
        ok = delta_report_put_csv(to, &run);
        break;
    case FORMAT_GCC: {
        json_t *rows = json_array();
        ok = editor_add_run(rows, &run);
        ok = render_table(to, &text_gcc, rows) && ok;
        break;
    }
    case FORMAT_MARKDOWN:
        ok = run_write_markdown(to, &run);
        break;
    case FORMAT_JUNIT:
        junit_begin(to->out);
        ok = junit_run(to->out, &run);
        return junit_end(to->out) && ok;
    default:
        ok = delta_report_put_text(to, report, &run);
        break;
    }
    return fflush(to->out) == 0 && !ferror(to->out) && ok;
}
