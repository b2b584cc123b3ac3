/* SPDX-License-Identifier: MIT */
#include "report/show.h"

#include "report/annotation_table.h"
#include "report/conditions.h"
#include "report/counts.h"
#include "report/delta_report.h"
#include "report/formats.h"
#include "report/line_table.h"
#include "report/place_report.h"
#include "report/profile_table.h"
#include "report/stays_report.h"
#include "report/survey_report.h"
#include "report/target_report.h"
#include "report/terminal.h"

#include <string.h>
#include <unistd.h>

#define TEXTS (1u << FORMAT_TEXT | 1u << FORMAT_JSON)
#define ALL   (TEXTS | 1u << FORMAT_CSV | 1u << FORMAT_MARKDOWN | 1u << FORMAT_HTML)

static bool show_guard(const struct rendering *to, const struct document *document)
{
    struct guard_view view = {.out = to->out, .columns = to->columns};
    struct conditions conditions = {0};
    size_t i;
    const json_t *line;
    if (to->format == FORMAT_JSON)
        return document_write(to->out, document);
    conditions_read(&conditions, document_line(document, "header"));
    guard_view_set(&view, &conditions);
    conditions_write(to, &conditions);
    json_array_foreach(document->lines, i, line)
        guard_put_line(&view, line);
    return output_flush(to->out);
}

static bool show_annotate(const struct rendering *to, const struct document *document)
{
    struct rendering whole = *to;
    whole.uncut = !isatty(fileno(to->out));
    return annotation_show(&whole, document);
}

static const struct shown_result results[] = {
    {"info", ALL, true, target_write},
    {"list", ALL, true, target_write},
    {"probes", ALL, true, target_write},
    {"doctor", ALL, false, target_write},
    {"delta", ALL, true, delta_write},
    {"survey", ALL, true, survey_write},
    {"compare", ALL, true, compare_write},
    {"lines", ALL, true, line_write},
    {"report", TEXTS | 1u << FORMAT_CSV | 1u << FORMAT_MARKDOWN | 1u << FORMAT_HTML | 1u << FORMAT_FOLDED,
     true, profile_show},
    {"annotate", ALL, true, show_annotate},
    {"stat", TEXTS | 1u << FORMAT_CSV, true, counts_show},
    {"guard", TEXTS, false, show_guard},
    {"irq", ALL, true, stays_write},
    {"tasks", ALL, true, stays_write},
};

/* Results of a region have no command in their header. */
static const char *command_of(const struct document *document)
{
    const char *named = field_text(document_line(document, "header"), "command");
    bool of_profiles = strcmp(named, "compare") == 0 && document_line(document, "profile") != NULL;
    return of_profiles                                                       ? "report"
           : named[0] != '\0'                                                ? named
           : document_line(document, "guard") != NULL                        ? "guard"
           : field_of(document_line(document, "summary"), "hits") != NULL    ? "delta"
           : field_of(document_line(document, "summary"), "skew_us") != NULL ? "stat"
                                                                             : "";
}

const struct shown_result *show_find(const struct document *document)
{
    const char *command = command_of(document);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (strcmp(results[i].command, command) == 0)
            return &results[i];
    return NULL;
}

bool show_has(const struct shown_result *result, enum format format)
{
    return (result->formats & 1u << format) != 0;
}
