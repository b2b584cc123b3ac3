/* A history as a page without a script: each row's course as a line, its changes marked. */
#include "report/history.h"

#include "report/html.h"
#include "report/number.h"
#include "report/plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 320, TEXT = 768 };

static const char *value_text(char out[NUMBER_ROOM], double value)
{
    return number_unsigned(out, NUMBER_ROOM, (uint64_t)llround(value));
}

static void region_text(const struct history_row *row, char *out, size_t size)
{
    bool function = history_is_function(row);
    snprintf(out, size, "%.150s%s%.150s", row->start, function ? "" : " to ", function ? "" : row->end);
}

/* "+2.04 %, 18,199 to 18,570" */
static void change_text(const struct change *change, char *out, size_t size)
{
    char part[NUMBER_ROOM], before[NUMBER_ROOM], after[NUMBER_ROOM];
    number_change(part, history_part_of(change));
    snprintf(out, size, "%s%s%s to %s", part, part[0] != '\0' ? ", " : "", value_text(before, change->before),
             value_text(after, change->after));
}

/* Whether the row changes at this run. */
static const struct change *change_at(const struct history_row *row, size_t run)
{
    for (size_t i = 0; i < row->n_changes; i++)
        if (row->changes[i].at == run)
            return &row->changes[i];
    return NULL;
}

static enum plot_look look_of(const struct change *change)
{
    return change == NULL ? PLOT_PLAIN : change->after > change->before ? PLOT_BAD : PLOT_GOOD;
}

/* --- a row ---------------------------------------------------------------------------------------------- */

static void put_run(const struct plot *plot, const struct history_row *row, size_t i)
{
    const struct history_run *run = &row->runs[i];
    char value[NUMBER_ROOM], label[TEXT];
    snprintf(label, sizeof label, "%s: %s%s%.12s, %.400s", value_text(value, run->median.value),
             run->started[0] != '\0' ? run->started : "?", run->build_id[0] != '\0' ? ", build " : "",
             run->build_id, run->file);
    plot_mark(plot, (double)(i + 1), run->median.value, look_of(change_at(row, i)), label);
}

static void put_plot(FILE *out, const struct history_row *row, size_t number, const char *name)
{
    char id[32], says[TEXT], change[TEXT];
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < row->n; i++) {
        least = fmin(least, row->runs[i].median.value);
        most = fmax(most, row->runs[i].median.value);
    }
    double room = most > least ? (most - least) / 10 : 2;
    snprintf(id, sizeof id, "row-%zu", number);
    snprintf(says, sizeof says, "The median of each of %zu runs in the order of their time; %zu changes",
             row->n, row->n_changes);
    const struct plot plot = {.out = out,
                              .id = id,
                              .title = name,
                              .says = says,
                              .x = {.from = 0.5, .to = (double)row->n + 0.5, .bare = true},
                              .y = {.from = fmax(0, least - room), .to = most + room}};
    plot_begin(&plot);
    for (size_t i = 0; i + 1 < row->n; i++) {
        const double from[] = {(double)(i + 1), row->runs[i].median.value},
                     to[] = {(double)(i + 2), row->runs[i + 1].median.value};
        plot_line(&plot, from, to, PLOT_PLAIN, "");
    }
    for (size_t i = 0; i < row->n; i++)
        put_run(&plot, row, i);
    for (size_t i = 0; i < row->n_changes; i++) {
        number_change(change, history_part_of(&row->changes[i]));
        plot_rule_at_x(&plot, (double)row->changes[i].at + 0.5, change);
    }
    plot_tick(&plot, 1, row->runs[0].started);
    if (row->n > 1)
        plot_tick(&plot, (double)row->n, row->runs[row->n - 1].started);
    plot_end(&plot);
}

static void put_row(FILE *out, const struct history_row *row, size_t number)
{
    char region[NAME], name[2 * NAME], text[2 * TEXT], change[TEXT];
    region_text(row, region, sizeof region);
    snprintf(name, sizeof name, "%s, %.80s, %.120s", region, row->column, row->core);
    html_element(out, "h2", NULL, name);
    if (row->n > 0)
        put_plot(out, row, number, name);
    for (size_t i = 0; i < row->n_changes; i++) {
        const struct history_run *run = &row->runs[row->changes[i].at];
        change_text(&row->changes[i], change, sizeof change);
        snprintf(text, sizeof text, "%s since %s%s%.12s: %.400s", change,
                 run->started[0] != '\0' ? run->started : "?", run->build_id[0] != '\0' ? ", build " : "",
                 run->build_id, run->file);
        html_element(out, "p", NULL, text);
    }
    if (row->has_trend) {
        change_text(&row->trend, change, sizeof change);
        snprintf(text, sizeof text, "%s over %zu runs, without a step", change, row->n);
        html_element(out, "p", NULL, text);
    }
    if (row->setup[0] != '\0') {
        snprintf(text, sizeof text, "With %s", row->setup);
        html_element(out, "p", NULL, text);
    }
    if (row->bounds > 0) {
        snprintf(text, sizeof text, "Left out, for want of exact counts: %zu", row->bounds);
        html_element(out, "p", NULL, text);
    }
}

/* --- the page ------------------------------------------------------------------------------------------- */

static void put_overview(FILE *out, const struct history *history)
{
    static const char *const columns[] = {"region", "runs", "first", "last", "column", "core", "last change"};
    struct html_table table = {
        .out = out, .columns = columns, .n = sizeof columns / sizeof *columns, .numbers = 3, .named = true};
    html_table_begin(&table, "history", "Medians of each region and column");
    for (size_t i = 0; i < history->n; i++) {
        const struct history_row *row = &history->rows[i];
        char region[NAME], number[NUMBER_ROOM], change[TEXT] = "";
        region_text(row, region, sizeof region);
        html_row(&table, NULL);
        html_cell(&table, NULL, region);
        html_cell(&table, NULL, number_unsigned(number, sizeof number, row->n));
        html_cell(&table, NULL, row->n > 0 ? value_text(number, row->runs[0].median.value) : "");
        html_cell(&table, NULL, row->n > 0 ? value_text(number, row->runs[row->n - 1].median.value) : "");
        html_cell(&table, NULL, row->column);
        html_cell(&table, NULL, row->core);
        if (row->n_changes > 0)
            change_text(&row->changes[row->n_changes - 1], change, sizeof change);
        else if (row->has_trend)
            change_text(&row->trend, change, sizeof change);
        html_cell(&table, NULL, change);
    }
    html_table_end(&table);
}

bool history_page(FILE *out, const struct history *history)
{
    char text[TEXT];
    size_t changed = 0;
    for (size_t i = 0; i < history->n; i++)
        changed += history_has_changed(&history->rows[i]);
    html_begin_still(out, "History");
    snprintf(text, sizeof text, "%zu files; rows that changed: %zu of %zu", history->files, changed,
             history->n);
    html_element(out, "p", NULL, text);
    if (history->skipped > 0) {
        snprintf(text, sizeof text, "Files that were skipped: %zu. The first: %.500s", history->skipped,
                 history->reason);
        html_element(out, "p", NULL, text);
    }
    if (history->n > 0)
        put_overview(out, history);
    fputs("<p>", out);
    plot_key(out, PLOT_BAD, "the first run on a higher level");
    plot_key(out, PLOT_GOOD, "the first run on a lower level");
    fputs("</p>\n", out);
    for (size_t i = 0; i < history->n; i++)
        put_row(out, &history->rows[i], i + 1);
    html_end_still(out);
    return fflush(out) == 0 && !ferror(out);
}
