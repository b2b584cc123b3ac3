/* A history as a page without a script: each row's course as a line, its changes marked. */
#include "report/history.h"

#include "report/number.h"
#include "report/page.h"
#include "report/plots.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAME = 512, TEXT = 1024 };

static double median_of(const json_t *runs, size_t i)
{
    return fmax(0, field_real(json_array_get(runs, i), "median"));
}

/* A new level begins at this run: that it is higher, or lower. */
static enum plot_look history_page_look_of(const json_t *row, size_t run)
{
    size_t i;
    const json_t *change;
    json_array_foreach(field_of(row, "changes"), i, change)
        if (field_count(change, "run") == run + 1)
            return field_real(change, "after") > field_real(change, "before") ? PLOT_BAD : PLOT_GOOD;
    return PLOT_PLAIN;
}

/* ---- a row */

static void put_run(const struct plot *plot, const json_t *row, const json_t *runs, size_t i)
{
    const json_t *run = json_array_get(runs, i);
    const char *started = field_text(run, "started"), *build = field_text(run, "build_id");
    char value[NUMBER_ROOM], label[TEXT];
    snprintf(label, sizeof label, "%s: %s%s%.12s, %.400s",
             history_value_text(value, sizeof value, median_of(runs, i)), started[0] != '\0' ? started : "?",
             build[0] != '\0' ? ", build " : "", build, field_text(run, "file"));
    plot_mark(plot, (double)(i + 1), median_of(runs, i), history_page_look_of(row, i), label);
}

static void put_plot(FILE *out, const json_t *row, const char *id, const char *name)
{
    const json_t *runs = field_of(row, "runs"), *changes = field_of(row, "changes"), *change;
    char plot_id[64], says[TEXT];
    double least = INFINITY, most = -INFINITY;
    size_t n = json_array_size(runs), i;
    for (i = 0; i < n; i++) {
        least = fmin(least, median_of(runs, i));
        most = fmax(most, median_of(runs, i));
    }
    double room = most > least ? (most - least) / 10 : 2;
    snprintf(plot_id, sizeof plot_id, "%.32s-plot", id);
    snprintf(says, sizeof says, "The median of each of %zu runs in the order of their time; %zu changes", n,
             json_array_size(changes));
    const struct plot plot = {.out = out,
                              .id = plot_id,
                              .title = name,
                              .says = says,
                              .x = {.from = 0.5, .to = (double)n + 0.5, .bare = true},
                              .y = {.from = fmax(0, least - room), .to = most + room}};
    plot_begin(&plot);
    for (i = 0; i + 1 < n; i++) {
        const double from[] = {(double)(i + 1), median_of(runs, i)},
                     to[] = {(double)(i + 2), median_of(runs, i + 1)};
        plot_line(&plot, from, to, PLOT_PLAIN, "");
    }
    for (i = 0; i < n; i++)
        put_run(&plot, row, runs, i);
    json_array_foreach(changes, i, change) {
        plot_rule_at_x(&plot, (double)field_count(change, "run") - 0.5, CHANGE(field_real(change, "change")));
    }
    plot_tick(&plot, 1, field_text(json_array_get(runs, 0), "started"));
    if (n > 1)
        plot_tick(&plot, (double)n, field_text(json_array_get(runs, n - 1), "started"));
    plot_end(&plot);
}

static void history_page_put_row(FILE *out, const json_t *row, size_t number)
{
    char id[32], region[NAME], name[TEXT];
    struct history_fact fact;
    history_region_text(row, region, sizeof region);
    snprintf(id, sizeof id, "row-%zu", number);
    snprintf(name, sizeof name, "%s, %.80s, %.120s", region, field_text(row, "column"),
             field_text(row, "core"));
    page_heading(out, id, name);
    if (json_array_size(field_of(row, "runs")) > 0)
        put_plot(out, row, id, name);
    for (size_t i = 0; history_take_fact(row, i, "to", &fact); i++)
        if (fact.text[0] != '\0')
            html_element(out, "p", NULL, fact.text);
    page_end_section(out);
}

/* ---- the page */

static bool put_overview(const struct rendering *to, const json_t *rows)
{
    struct document shown = document_new();
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        const json_t *runs = field_of(row, "runs"), *changes = field_of(row, "changes"),
                     *last = json_array_get(changes, json_array_size(changes) - 1);
        size_t n = json_array_size(runs);
        struct json_part one = json_part_new(NULL);
        char region[NAME], change[TEXT] = "";
        history_region_text(row, region, sizeof region);
        if (history_has_changed(row))
            history_change_text(last != NULL ? last : field_of(row, "trend"), "to", change, sizeof change);
        row_text(&one, "region", region);
        row_real(&one, "runs", (double)n);
        row_real(&one, "first", field_real(json_array_get(runs, 0), "median"));
        row_real(&one, "last", n > 0 ? median_of(runs, n - 1) : (double)NAN);
        row_text(&one, "column", field_text(row, "column"));
        row_text(&one, "core", field_text(row, "core"));
        row_text(&one, "change", change);
        document_add(&shown, one);
    }
    bool ok = shown.ok && render_table(to, &history_view, json_incref(shown.lines));
    document_free(&shown);
    return ok;
}

bool history_page(const struct rendering *to, const struct document *document,
                  const struct page_command *command)
{
    const struct page page = {.to = to, .title = "History", .command = command, .document = document};
    json_t *rows = document_rows(document, "region", NULL);
    char changed[TEXT], skipped[TEXT];
    history_summary_texts(document_line(document, "summary"), changed, skipped, sizeof changed);
    page_begin(&page);
    html_element(to->out, "p", NULL, changed);
    if (skipped[0] != '\0')
        html_element(to->out, "p", NULL, skipped);
    bool ok = rows != NULL && (json_array_size(rows) == 0 || put_overview(to, rows));
    fputs("<p>", to->out);
    plot_key(to->out, PLOT_BAD, "the first run on a higher level");
    plot_key(to->out, PLOT_GOOD, "the first run on a lower level");
    fputs("</p>\n", to->out);
    for (size_t i = 0; i < json_array_size(rows); i++)
        history_page_put_row(to->out, json_array_get(rows, i), i + 1);
    json_decref(rows);
    return page_end(&page) && ok;
}
