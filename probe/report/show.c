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
    {"info", ALL, "summary", target_write},
    {"list", ALL, "summary", target_write},
    {"probes", ALL, "summary", target_write},
    {"doctor", ALL, NULL, target_write},
    {"delta", ALL, "summary", delta_write},
    {"survey", ALL, "summary", survey_write},
    {"compare", ALL, "summary", compare_write},
    {"lines", ALL, "summary", line_write},
    {"report", TEXTS | 1u << FORMAT_CSV | 1u << FORMAT_MARKDOWN | 1u << FORMAT_HTML | 1u << FORMAT_FOLDED,
     "summary", profile_show},
    {"annotate", ALL, "summary", show_annotate},
    {"stat", TEXTS | 1u << FORMAT_CSV, "summary", counts_show},
    {"guard", TEXTS, "guard_end", show_guard},
    {"irq", ALL, "summary", stays_write},
    {"tasks", ALL, "summary", stays_write},
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

/* Stacks are of one profile, and of functions, lines, files or addresses. */
unsigned show_formats(const struct shown_result *result, const struct document *document)
{
    const char *sort = field_text(document_line(document, "profile"), "sort");
    unsigned formats = result->formats;
    if (document_line(document, "old") != NULL)
        formats &= ~(1u << FORMAT_FOLDED);
    if (profile_sort_by_name(sort) >= SHARES_CONTEXTS)
        formats &= ~(1u << FORMAT_FOLDED | 1u << FORMAT_HTML);
    return formats;
}
