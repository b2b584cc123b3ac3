/* SPDX-License-Identifier: MIT */
#include "report/render.h"

#include "base/values.h"
#include "report/canvas.h"
#include "report/formats.h"
#include "report/histogram.h"
#include "report/html.h"
#include "report/number.h"
#include "report/plots.h"
#include "report/terminal.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CELL = 512,
    CODE = 3 * 1024,
    COLUMNS = 32,
    GAP = 2,
    DEEP = 4,
    BINS = 16,
    NAME_LEAST = 10,
    NAME_MOST = 40,
    FACT_MOST = 32,
    CUT_NAME = 16,  /* a name is cut to no less while a column can be spared for it */
    LEAST_NAME = 6, /* nor to less while there are numbers next to it */
    CODE_LEAST = 16,
    INDENT = 2
};

/* ---- cells */

struct cells {
    char text[COLUMNS][CODE];
};

static bool is_right(const struct view_column *column)
{
    return column->as >= AS_PLACE;
}

static bool render_is_drawn(const struct view_column *column)
{
    return column->as == AS_SPARK || column->as == AS_BAR;
}

static bool is_true(const json_t *row, const char *key)
{
    return key != NULL && field_is(row, key);
}

static void render_put_number(const struct view_column *column, const json_t *value, char *out)
{
    double real = json_number_value(value);
    switch (column->as) {
    case AS_COUNT:
        number_unsigned(out, NUMBER_ROOM, count_of(value));
        break;
    case AS_MEAN:
        number_mean(out, real);
        break;
    case AS_CHANGE:
        number_change(out, real);
        break;
    case AS_SHARE:
    case AS_HEAT:
        number_share(out, real);
        break;
    case AS_POINTS:
        number_points(out, real);
        break;
    case AS_STEP:
        snprintf(out, NUMBER_ROOM, "%+.2f", 100 * real);
        break;
    default:
        snprintf(out, NUMBER_ROOM, "%.0f", real);
    }
}

/* "[not permitted]" */
static void put_state(const char *state, char *out)
{
    snprintf(out, CELL, "[%.500s]", state);
    for (char *at = out; (at = strchr(at, '_')) != NULL;)
        *at = ' ';
}

static void put_cell(const struct view_column *column, const json_t *row, char out[CODE])
{
    const json_t *value = field_of(row, column->key);
    const char *state = column->as == AS_NAME ? field_text(row, "state") : "";
    out[0] = '\0';
    if (column->as == AS_METER || (column->needs != NULL && !(field_real(row, column->needs) > 0)))
        return;
    if (state[0] != '\0')
        put_state(state, out);
    else if (json_is_string(value))
        snprintf(out, CODE, "%s", json_string_value(value));
    else if (json_is_number(value))
        render_put_number(column, value, out);
    else if (json_is_boolean(value))
        snprintf(out, CELL, "%d", json_is_true(value));
    else
        snprintf(out, CELL, "%s", or_empty(column->none));
    if (is_true(row, column->mark) && (out[0] != '\0' || column->key[0] == '\0')) {
        memmove(out + 1, out, strlen(out) + 1);
        out[0] = '~';
    }
}

static bool is_anywhere(const struct view_column *column, const json_t *rows)
{
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
        if (is_true(row, column->only) ||
            (column->only == NULL && (field_of(row, column->key) != NULL || column->none != NULL)))
            return true;
    return false;
}

/* The same where there is no room for a reason over several cells: it is in the first of them. */
static void put_cell_or_reason(const struct view *view, size_t i, const json_t *row, bool *told,
                               char out[CODE])
{
    put_cell(&view->columns[i], row, out);
    if (out[0] == '\0' && is_right(&view->columns[i]) && view->reason != NULL && !*told) {
        snprintf(out, CODE, "%s", field_text(row, view->reason));
        *told = true;
    }
}

/* The columns that the format shows; columns that no row has a value in are left out for people. */
static struct view shown(const struct view *view, struct view_column columns[COLUMNS], const json_t *rows,
                         enum format format)
{
    bool for_people = format != FORMAT_CSV;
    struct view out = *view;
    out.columns = columns;
    out.n = 0;
    for (size_t i = 0; i < view->n && out.n < COLUMNS; i++) {
        const struct view_column *column = &view->columns[i];
        bool may_go =
            for_people ? (column->least == 0 || view->cuts) && column->as != AS_CODE && column->as != AS_NAME
                       : column->optional;
        bool has_no_place = (format == FORMAT_TEXT ? column->wide : column->narrow) ||
                            (render_is_drawn(column) && format != FORMAT_HTML);
        if (!has_no_place && (!may_go || is_anywhere(column, rows)))
            columns[out.n++] = *column;
    }
    return out;
}

static const char *group_of(const struct view *view, const json_t *row)
{
    return view->group != NULL ? field_text(row, view->group) : "";
}

static bool begins_group(const struct view *view, const json_t *rows, size_t i)
{
    const json_t *row = json_array_get(rows, i), *before = i > 0 ? json_array_get(rows, i - 1) : NULL;
    if (view->facts)
        return group_of(view, row)[0] != '\0';
    return view->group != NULL && (i == 0 || strcmp(group_of(view, row), group_of(view, before)) != 0);
}

/* ---- text */

struct layout {
    const struct rendering *to;
    size_t width[COLUMNS];
    size_t tight[COLUMNS]; /* without what is the least */
    bool below, blocks;    /* of a view that folds */
};

static void fill_heading(const struct view *view, const char *group, struct cells *cells)
{
    for (size_t i = 0; i < view->n; i++)
        terminal_text(cells->text[i], CODE,
                      view->group != NULL && i + 1 == view->n ? group : view->columns[i].heading);
}

static void cut_blanks(char *text)
{
    for (size_t end = strlen(text); end > 0 && text[end - 1] == ' ';)
        text[--end] = '\0';
}

static void render_fill(const struct view *view, const json_t *row, struct cells *cells)
{
    char text[CODE];
    for (size_t i = 0; i < view->n; i++) {
        put_cell(&view->columns[i], row, text);
        cut_blanks(text);
        terminal_text(cells->text[i], CODE, text);
    }
}

static void render_widen(const struct view *view, const struct cells *cells, struct layout *layout)
{
    size_t most = view->facts ? FACT_MOST : NAME_MOST;
    for (size_t i = 0; i < view->n; i++) {
        const struct view_column *column = &view->columns[i];
        size_t width = utf8_width(cells->text[i]);
        width = column->most > 0 && width > column->most ? column->most : width;
        if (column->as != AS_CODE && width > layout->tight[i] &&
            (column->as != AS_NAME || width <= most || view->cuts || (view->folds && i == 0)))
            layout->tight[i] = width;
        layout->width[i] = layout->tight[i] > column->least ? layout->tight[i] : column->least;
    }
}

static size_t gap_of(const struct view *view, size_t i)
{
    return i == 0 ? 0 : view->columns[i].gap > 0 ? view->columns[i].gap : GAP;
}

static size_t render_width_of(const struct view *view, const struct layout *layout)
{
    size_t width = 0;
    for (size_t i = 0; i < view->n; i++)
        if (!layout->below || !view->columns[i].below)
            width += gap_of(view, i) + layout->width[i];
    return width;
}

/* False: there is none that can be spared. */
static bool leave_one_out(struct view *view, struct view_column columns[COLUMNS], struct layout *layout)
{
    size_t at = view->n, after;
    for (size_t i = 0; i < view->n; i++)
        if (columns[i].spare > 0 && (at == view->n || columns[i].spare < columns[at].spare))
            at = i;
    if (at == view->n)
        return false;
    after = --view->n - at;
    memmove(&columns[at], &columns[at + 1], after * sizeof *columns);
    memmove(&layout->width[at], &layout->width[at + 1], after * sizeof *layout->width);
    memmove(&layout->tight[at], &layout->tight[at + 1], after * sizeof *layout->tight);
    return true;
}

/* What goes below a row does, then names take separate lines, then columns are left out, then each row
 * becomes a block. */
static void fit(struct view *view, struct view_column columns[COLUMNS], struct layout *layout)
{
    size_t most = layout->to->columns, name = layout->width[0];
    bool named = columns[0].as == AS_NAME;
    layout->below = render_width_of(view, layout) > most;
    if (named && render_width_of(view, layout) > most) {
        layout->width[0] = NAME_LEAST;
        while (render_width_of(view, layout) > most && leave_one_out(view, columns, layout))
            ;
        size_t rest = render_width_of(view, layout) - NAME_LEAST,
               least = most < rest + NAME_LEAST ? INDENT : NAME_LEAST;
        layout->width[0] = most > rest + least ? most - rest : least;
        layout->width[0] = layout->width[0] < name ? layout->width[0] : name;
    }
    layout->blocks = render_width_of(view, layout) > most;
}

static size_t column_as(const struct view *view, enum as as)
{
    size_t i = 0;
    while (i < view->n && view->columns[i].as != as)
        i++;
    return i;
}

static void leave_out_until_it_fits(struct view *view, struct view_column columns[COLUMNS],
                                    struct layout *layout, enum as until)
{
    while (render_width_of(view, layout) > layout->to->columns && column_as(view, until) < view->n &&
           leave_one_out(view, columns, layout))
        ;
}

static void cut_name(const struct view *view, struct layout *layout, size_t least)
{
    size_t *name = &layout->width[column_as(view, AS_NAME)];
    if (render_width_of(view, layout) > layout->to->columns && *name > least)
        *name = least;
}

static void render_grow(size_t *width, size_t most, size_t *left)
{
    size_t more = *width < most ? most - *width : 0;
    more = more < *left ? more : *left;
    *width += more;
    *left -= more;
}

/* The meter goes first, then the ends of names, room that no text needs, and other columns. */
static void fit_by_cuts(struct view *view, struct view_column columns[COLUMNS], struct layout *layout)
{
    size_t most = layout->to->columns, name = layout->tight[column_as(view, AS_NAME)];
    leave_out_until_it_fits(view, columns, layout, AS_METER);
    cut_name(view, layout, CUT_NAME);
    for (size_t i = 0; render_width_of(view, layout) > most && i < view->n; i++)
        if (columns[i].as != AS_NAME)
            layout->width[i] = layout->tight[i];
    leave_out_until_it_fits(view, columns, layout, AS_NAME);
    cut_name(view, layout, LEAST_NAME);
    if (render_width_of(view, layout) > most) {
        columns[0] = columns[column_as(view, AS_NAME)];
        view->n = 1;
        layout->width[0] = 0;
    }
    size_t left = most - render_width_of(view, layout), meter = column_as(view, AS_METER);
    render_grow(&layout->width[column_as(view, AS_NAME)], name, &left);
    if (meter < view->n)
        render_grow(&layout->width[meter], columns[meter].most, &left);
}

static struct layout render_lay_out(const struct rendering *to, struct view *view,
                                    struct view_column columns[COLUMNS], const json_t *rows,
                                    struct cells *cells)
{
    struct layout layout = {.to = to};
    size_t i;
    const json_t *row;
    fill_heading(view, "", cells);
    render_widen(view, cells, &layout);
    json_array_foreach(rows, i, row) {
        render_fill(view, row, cells);
        render_widen(view, cells, &layout);
    }
    if (view->folds)
        fit(view, columns, &layout);
    if (view->cuts)
        fit_by_cuts(view, columns, &layout);
    return layout;
}

/* At least some of the code is shown on the narrowest terminal. */
static void cut_code(const struct view *view, const struct layout *layout, struct cells *cells)
{
    char *text = cells->text[view->n - 1];
    size_t used = 0;
    if (layout->to->uncut || view->columns[view->n - 1].as != AS_CODE)
        return;
    for (size_t i = 0; i < view->n; i++)
        used += gap_of(view, i) + layout->width[i];
    size_t most = layout->to->columns > used + CODE_LEAST ? layout->to->columns - used : CODE_LEAST;
    utf8_cut(text, most);
    cut_blanks(text);
}

static void put_meter(const json_t *value, size_t width, char out[CODE])
{
    if (json_is_array(value))
        canvas_spark(out, CODE, value, width);
    else
        canvas_bar(out, CODE, json_number_value(value), width);
}

/* Of a view that cuts. `row` NULL: the heading. */
static void cut_cells(const struct view *view, const struct layout *layout, const json_t *row,
                      struct cells *cells)
{
    for (size_t i = 0; view->cuts && i < view->n; i++) {
        if (view->columns[i].as == AS_METER && row != NULL)
            put_meter(field_of(row, view->columns[i].key), layout->width[i], cells->text[i]);
        canvas_cut(cells->text[i], layout->width[i]);
    }
}

/* Blanks wait until a text follows them, so that no line ends in one. A reason takes the places of the
 * numbers that are not there. */
static size_t render_put_line(const struct view *view, const struct layout *layout, const struct cells *cells,
                              const char *reason)
{
    FILE *out = layout->to->out;
    size_t owed = 0, used = 0;
    for (size_t i = 0; i < view->n; i++) {
        bool right = is_right(&view->columns[i]);
        const char *text = cells->text[i];
        if (right && text[0] == '\0' && (i + 1 == view->n || !is_right(&view->columns[i + 1])))
            text = reason;
        size_t width = utf8_width(text), room = layout->width[i];
        if (view->columns[i].below && layout->below)
            continue;
        owed += gap_of(view, i) + room;
        if (width == 0)
            continue;
        size_t after = right || width > room ? 0 : room - width, taken = right ? width : room;
        size_t before = owed > taken ? owed - taken : 0;
        fprintf(out, "%*s%s", (int)before, "", text);
        used += before + width;
        owed = after;
    }
    return used;
}

/* The name, then its numbers with their headings, as many as fit into a line. */
static void put_block(const struct view *view, const struct layout *layout, const struct cells *cells,
                      const char *reason)
{
    struct fold fold = {
        .out = layout->to->out, .columns = layout->to->columns, .indent = INDENT, .used = INDENT};
    char piece[CODE + CELL];
    size_t n = 0;
    if (reason[0] != '\0') {
        fprintf(fold.out, "%s  ", cells->text[0]);
        fold_text_at(fold.out, fold.columns, utf8_width(cells->text[0]) + GAP, INDENT, reason);
        return;
    }
    fprintf(fold.out, "%s\n%*s", cells->text[0], INDENT, "");
    for (size_t i = 1; i < view->n; i++) {
        const char *heading = view->columns[i].heading;
        snprintf(piece, sizeof piece, "%.64s%s%s", heading, heading[0] != '\0' ? " " : "", cells->text[i]);
        if (cells->text[i][0] != '\0')
            fold_put(&fold, piece, n++ > 0 ? 3 : 0);
    }
    fold_end(&fold);
}

/* What has no room in its column: after the row where that has room, else below it. */
static void put_below(const struct view *view, const struct layout *layout, const json_t *row,
                      const struct cells *cells, size_t used)
{
    FILE *out = layout->to->out;
    char text[CODE] = "";
    for (size_t i = 0; i < view->n; i++) {
        const struct view_column *column = &view->columns[i];
        if (column->below && cells->text[i][0] != '\0' &&
            (column->only == NULL || is_true(row, column->only)))
            text_add(text, sizeof text, "%s%s%s%s", text[0] != '\0' ? ", " : "", column->heading,
                     column->heading[0] != '\0' ? " " : "", cells->text[i]);
    }
    if (text[0] == '\0') {
        fputc('\n', out);
    } else if (used + GAP + utf8_width(text) <= layout->to->columns) {
        fprintf(out, "%*s%s\n", GAP, "", text);
    } else {
        fprintf(out, "\n%*s", DEEP, "");
        fold_text_at(out, layout->to->columns, DEEP, DEEP, text);
    }
}

/* After a name in the first column. */
static void put_cut_reason(const struct layout *layout, const char *name, const char *reason)
{
    char text[CODE];
    size_t before = layout->width[0] + GAP, most = layout->to->columns;
    snprintf(text, sizeof text, "%s", reason);
    canvas_cut(text, most > before ? most - before : 0);
    fprintf(layout->to->out, "%s%*s%s\n", name, text[0] != '\0' ? (int)(before - utf8_width(name)) : 0, "",
            text);
}

/* Of a view that folds, a reason is in the place of all numbers. */
static void render_put_row(const struct view *view, const struct layout *layout, const json_t *row,
                           struct cells *cells, const char *reason)
{
    FILE *out = layout->to->out;
    size_t name = layout->width[0];
    if (layout->blocks) {
        put_block(view, layout, cells, reason);
        return;
    }
    if (view->cuts && reason[0] != '\0') {
        put_cut_reason(layout, cells->text[0], reason);
        return;
    }
    if (!view->folds) {
        render_put_line(view, layout, cells, reason);
        fprintf(out, "%s\n", is_true(row, view->faint) ? terminal_colour(out, COLOUR_END) : "");
        return;
    }
    if (utf8_width(cells->text[0]) > name) {
        fprintf(out, "%s\n", cells->text[0]);
        cells->text[0][0] = '\0';
    }
    if (reason[0] == '\0') {
        size_t used = render_put_line(view, layout, cells, "");
        if (layout->below)
            put_below(view, layout, row, cells, used);
        else
            fputc('\n', out);
        return;
    }
    fprintf(out, "%s%*s", cells->text[0], (int)(name - utf8_width(cells->text[0]) + GAP), "");
    fold_text_at(out, layout->to->columns, name + GAP, name + GAP, reason);
}

/* False: the table has no numbers, or none in columns. */
static bool has_heading(const struct view *view, const struct layout *layout, const json_t *rows)
{
    size_t i;
    const json_t *row;
    bool has = !view->folds;
    json_array_foreach(rows, i, row)
        has = has || (!layout->blocks && !is_true(row, view->reason));
    return has;
}

static const char *reason_of(const struct view *view, const json_t *row, char out[CODE])
{
    return terminal_text(out, CODE, view->reason != NULL ? field_text(row, view->reason) : "");
}

static void render_write_text(const struct rendering *to, struct view *view,
                              struct view_column columns[COLUMNS], const json_t *rows, struct cells *cells)
{
    const struct layout layout = render_lay_out(to, view, columns, rows, cells);
    char reason[CODE];
    for (size_t i = 0; i == 0 || i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        bool faint = is_true(row, view->faint);
        if ((i == 0 && has_heading(view, &layout, rows)) || begins_group(view, rows, i)) {
            fputs(view->group != NULL ? "\n" : "", to->out);
            fill_heading(view, group_of(view, row), cells);
            cut_cells(view, &layout, NULL, cells);
            render_put_line(view, &layout, cells, "");
            fputc('\n', to->out);
        }
        if (row == NULL)
            break;
        render_fill(view, row, cells);
        cut_code(view, &layout, cells);
        cut_cells(view, &layout, row, cells);
        fputs(faint ? terminal_colour(to->out, COLOUR_FAINT) : "", to->out);
        render_put_row(view, &layout, row, cells, reason_of(view, row, reason));
        fputs(faint && view->folds ? terminal_colour(to->out, COLOUR_END) : "", to->out);
    }
}

/* ---- facts as text */

/* What is too wide folds after the last wide gap. */
static void put_facts_heading(const struct rendering *to, const char *text)
{
    char left[CODE];
    const char *last = text;
    for (const char *at = text; (at = strstr(at, "   ")) != NULL; at = last)
        last = at + strspn(at, " ");
    snprintf(left, sizeof left, "%.*s", (int)(last - text), text);
    if (utf8_width(text) <= to->columns)
        fprintf(to->out, "%s\n", text);
    else
        fold_beside(to->out, to->columns, left, last);
}

/* The last text takes the places of names that are not there. */
static void render_put_fact(const struct view *view, const struct layout *layout, const struct cells *cells)
{
    char left[CODE] = "  ";
    size_t end = view->n - 1;
    while (end > 0 && cells->text[end - 1][0] == '\0')
        end--;
    for (size_t i = 0; i < end; i++) {
        size_t width = utf8_width(cells->text[i]), room = layout->width[i];
        text_add(left, sizeof left, "%s%*s", cells->text[i], GAP + (int)(width < room ? room - width : 0),
                 "");
    }
    fold_beside(layout->to->out, layout->to->uncut ? SIZE_MAX : layout->to->columns, left,
                cells->text[view->n - 1]);
}

static void write_facts(const struct rendering *to, struct view *view, struct view_column columns[COLUMNS],
                        const json_t *rows, struct cells *cells)
{
    const struct layout layout = render_lay_out(to, view, columns, rows, cells);
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        if (begins_group(view, rows, i)) {
            fputs(i > 0 ? "\n" : "", to->out);
            put_facts_heading(to, terminal_text(cells->text[0], CODE, group_of(view, row)));
            continue;
        }
        render_fill(view, row, cells);
        render_put_fact(view, &layout, cells);
    }
}

/* ---- CSV */

static void render_put_field(struct csv *csv, const struct view_column *column, const json_t *row,
                             char text[CODE])
{
    const json_t *value = field_of(row, column->key);
    if (json_is_integer(value) || (json_is_real(value) && json_real_value(value) >= 0x1p63))
        csv_unsigned(csv, count_of(value));
    else if (json_is_real(value))
        csv_field(csv, number_rounded(text, NUMBER_ROOM, json_real_value(value)));
    else {
        put_cell(column, row, text);
        csv_text(csv, text);
    }
}

static void write_csv(const struct rendering *to, const struct view *view, const json_t *rows,
                      char text[CODE])
{
    struct csv csv = {.out = to->out, .separator = to->separator};
    size_t i, k;
    const json_t *row;
    for (k = 0; k < view->n && !to->goes_on; k++)
        csv_field(&csv, view->columns[k].heading);
    if (!to->goes_on)
        csv_end_line(&csv);
    json_array_foreach(rows, i, row) {
        for (k = 0; k < view->n; k++)
            render_put_field(&csv, &view->columns[k], row, text);
        csv_end_line(&csv);
    }
}

/* ---- Markdown */

/* A backslash makes any ASCII punctuation plain text, in tables too. Inside a word '_' needs none. */
void markdown_text(FILE *out, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(CELL)], before = ' ';
    for (const char *at = utf8_clean(clean, sizeof clean, text); *at != '\0'; before = *at++) {
        bool in_word = *at == '_' && isalnum((unsigned char)before) && isalnum((unsigned char)at[1]);
        if (!in_word && strchr("\\`*_{}[]<>()#|~&!$", *at) != NULL)
            fputc('\\', out);
        fputc(*at, out);
    }
}

/* Of a column AS_VERDICT. `bold` is around what is bad. */
static void render_verdicts(FILE *out, const json_t *list, void (*put)(FILE *, const char *),
                            const char *bold)
{
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one) {
        const char *mark = json_is_true(json_object_get(one, "bad")) ? bold : "";
        fputs(i > 0 ? "<br>" : "", out);
        put(out, field_text(one, "before"));
        fputs(mark, out);
        put(out, field_text(one, "verdict"));
        fputs(mark, out);
        put(out, field_text(one, "why"));
    }
}

static void render_write_markdown(FILE *out, const struct view *view, const json_t *rows, char text[CODE])
{
    size_t i, k;
    const json_t *row;
    for (k = 0; k < view->n; k++)
        fprintf(out, "|%s", view->columns[k].heading[0] != '\0' ? view->columns[k].heading : " ");
    fputs("|\n", out);
    for (k = 0; k < view->n; k++)
        fputs(is_right(&view->columns[k]) ? "|--:" : "|:--", out);
    fputs("|\n", out);
    json_array_foreach(rows, i, row) {
        bool told = false;
        if (begins_group(view, rows, i) && group_of(view, row)[0] != '\0') {
            for (k = 1; k < view->n; k++)
                fputs("| ", out);
            fputs("| **", out);
            markdown_text(out, group_of(view, row));
            fputs("** |\n", out);
            if (view->facts)
                continue;
        }
        for (k = 0; k < view->n; k++) {
            put_cell_or_reason(view, k, row, &told, text);
            fputs("| ", out);
            render_verdicts(out, field_of(row, view->columns[k].key), markdown_text, "**");
            markdown_text(out, text);
            fputc(' ', out);
        }
        fputs("|\n", out);
    }
    fputc('\n', out);
}

/* ---- HTML */

static const char *heat_of(const struct view_column *column, const json_t *row)
{
    double part = column->as == AS_HEAT ? field_real(row, column->key) : 0;
    return part >= 0.2 ? "h3" : part >= 0.05 ? "h2" : part >= 0.01 ? "h1" : NULL;
}

/* From the lowest to the highest hit of all rows, which are drawn on it. */
static struct plot_axis render_spark_axis(const json_t *rows)
{
    struct plot_axis axis = {.from = HUGE_VAL};
    struct histogram_bin bins[BINS];
    size_t i, n;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        if ((n = histogram_bins(row, NULL, bins, BINS)) == 0)
            continue;
        axis.from = fmin(axis.from, (double)bins[0].low);
        axis.to = fmax(axis.to, (double)bins[n - 1].high);
    }
    return axis;
}

static void put_spark(struct html_table *table, const json_t *row, const struct plot_axis *axis)
{
    struct histogram_bin bins[BINS];
    char title[CELL] = "";
    size_t n = histogram_bins(row, NULL, bins, BINS);
    if (n == 0)
        return;
    uint64_t far = histogram_says(row, title, sizeof title);
    if (far > 0)
        text_add(title, sizeof title, ", and %s far off", NUMBER(far));
    plot_sparkline(table->out, title, bins, n, axis);
}

static enum plot_look render_look_of(const char *verdict)
{
    return strcmp(verdict, "pass") == 0        ? PLOT_GOOD
           : strcmp(verdict, "regressed") == 0 ? PLOT_BAD
                                               : PLOT_PLAIN;
}

static void render_put_bar(struct html_table *table, const json_t *of)
{
    char text[CELL];
    const struct plot_interval plot = {.low = field_real(of, "low"),
                                       .at = field_real(of, "at"),
                                       .high = field_real(of, "high"),
                                       .scale = field_real(of, "scale"),
                                       .limit = field_real(of, "limit"),
                                       .look = render_look_of(field_text(of, "verdict"))};
    if (!isfinite(plot.low) || !isfinite(plot.high) || !isfinite(plot.at) || !(plot.scale > 0))
        return;
    snprintf(text, sizeof text, "between %s and %s", CHANGE(plot.low), CHANGE(plot.high));
    plot_interval(table->out, text, &plot);
}

/* False: it is a text. */
static bool put_drawn(struct html_table *table, const struct view_column *column, const json_t *row,
                      const struct plot_axis *axis)
{
    const json_t *value = field_of(row, column->key);
    if (render_is_drawn(column)) {
        html_cell_begin(table, NULL);
        if (column->as == AS_SPARK)
            put_spark(table, row, axis);
        else
            render_put_bar(table, value);
        html_cell_end(table);
        return true;
    }
    if (column->as != AS_VERDICT)
        return false;
    const json_t *last = json_array_get(value, json_array_size(value) - 1);
    html_cell_begin(table, last != NULL ? html_verdict_class(field_text(last, "of")) : NULL);
    render_verdicts(table->out, value, html_text, "");
    html_cell_end(table);
    return true;
}

/* How many columns from here on have no number, so that a reason takes their places. */
static size_t empty_from(const struct view *view, size_t first, const json_t *row)
{
    char text[CODE] = "";
    size_t end = first;
    for (; end < view->n && is_right(&view->columns[end]); end++) {
        put_cell(&view->columns[end], row, text);
        if (text[0] != '\0')
            break;
    }
    return end - first;
}

/* Returns how many columns it fills. */
static size_t put_html(struct html_table *table, const struct view *view, size_t i,
                       const struct plot_axis *axis, const json_t *row, bool *told, char text[CODE])
{
    bool before = *told;
    if (put_drawn(table, &view->columns[i], row, axis))
        return 1;
    put_cell_or_reason(view, i, row, told, text);
    if (*told && !before && text[0] != '\0') {
        size_t n = empty_from(view, i, row);
        html_cell_over(table, n, text);
        return n;
    }
    double part = view->columns[i].part != NULL ? field_real(row, view->columns[i].part) : (double)NAN;
    if (!(part > 0)) {
        html_cell(table, heat_of(&view->columns[i], row), text);
        return 1;
    }
    html_cell_begin(table, NULL);
    plot_share(table->out, part);
    html_text(table->out, text);
    html_cell_end(table);
    return 1;
}

static void write_html(FILE *out, const struct view *view, const json_t *rows, char text[CODE])
{
    const char *headings[COLUMNS];
    struct html_table table = {.out = out, .columns = headings, .n = view->n, .named = view->folds};
    size_t i, k;
    const json_t *row;
    char spark[CELL];
    const struct plot_axis axis = render_spark_axis(rows);
    if (axis.to >= axis.from)
        snprintf(spark, sizeof spark, "%s to %s, log", NUMBER((uint64_t)axis.from),
                 NUMBER((uint64_t)axis.to));
    for (k = 0; k < view->n; k++) {
        headings[k] =
            view->columns[k].as == AS_SPARK && axis.to >= axis.from ? spark : view->columns[k].heading;
        table.texts += !is_right(&view->columns[k]) && table.numbers == 0;
        table.numbers += is_right(&view->columns[k]);
    }
    html_table_begin(&table, view->class, view->caption);
    json_array_foreach(rows, i, row) {
        if (begins_group(view, rows, i) && group_of(view, row)[0] != '\0') {
            html_row(&table, NULL);
            fprintf(out, "<th scope=\"rowgroup\" colspan=\"%zu\">", view->n);
            html_text(out, group_of(view, row));
            fputs("</th>", out);
            if (view->facts)
                continue;
        }
        html_row(&table, is_true(row, view->faint) ? "faint" : NULL);
        bool told = false;
        for (k = 0; k < view->n;)
            k += put_html(&table, view, k, &axis, row, &told, text);
    }
    html_table_end(&table);
}

bool render_table(const struct rendering *to, const struct view *view, json_t *rows)
{
    struct view_column columns[COLUMNS];
    struct cells *cells = malloc(sizeof *cells);
    bool ok = cells != NULL && rows != NULL;
    struct view seen = shown(view, columns, rows, to->format);
    if (!ok)
        ;
    else if (to->format == FORMAT_CSV)
        write_csv(to, &seen, rows, cells->text[0]);
    else if (to->format == FORMAT_MARKDOWN)
        render_write_markdown(to->out, &seen, rows, cells->text[0]);
    else if (to->format == FORMAT_HTML)
        write_html(to->out, &seen, rows, cells->text[0]);
    else if (seen.facts)
        write_facts(to, &seen, columns, rows, cells);
    else
        render_write_text(to, &seen, columns, rows, cells);
    free(cells);
    json_decref(rows);
    return ok;
}

char *render_lines(const struct view *view, json_t *rows, size_t columns)
{
    char *text = NULL;
    size_t size;
    const struct rendering to = {
        .out = open_memstream(&text, &size), .format = FORMAT_TEXT, .columns = columns};
    if (to.out == NULL) {
        json_decref(rows);
        return NULL;
    }
    bool ok = render_table(&to, view, rows);
    if (fclose(to.out) == 0 && ok)
        return text;
    free(text);
    return NULL;
}

/* ---- what is around a table */

void render_notes(const struct rendering *to, const json_t *notes)
{
    bool page = to->format == FORMAT_HTML, text = to->format == FORMAT_TEXT;
    size_t i;
    const json_t *note;
    if (json_array_size(notes) == 0)
        return;
    fputs(page ? "<ul class=\"notes\">\n" : text ? "\n" : "", to->out);
    json_array_foreach(notes, i, note) {
        const char *one = text_or_empty(note);
        if (page) {
            html_element(to->out, "li", NULL, one);
        } else if (text) {
            render_text(to, "%s", one);
        } else {
            fputs("* ", to->out);
            markdown_text(to->out, one);
            fputc('\n', to->out);
        }
    }
    fputs(page ? "</ul>\n" : text ? "" : "\n", to->out);
}

bool render_list(const struct rendering *to, struct json_part list)
{
    render_notes(to, list.json);
    json_decref(list.json);
    return list.ok && list.json != NULL;
}

void render_piece(const struct rendering *to, struct fold *fold, const char *piece, size_t gap)
{
    char text[UTF8_CLEAN_ROOM(CELL)];
    if (to->format == FORMAT_TEXT) {
        fold_put(fold, terminal_text(text, sizeof text, piece), fold->used > 0 ? gap : 0);
        return;
    }
    fprintf(to->out, "%*s", fold->used++ > 0 ? (int)gap : 0, "");
    (to->format == FORMAT_HTML ? html_text : markdown_text)(to->out, piece);
}

void render_facts(const struct rendering *to, const char *const *facts, size_t n, size_t gap)
{
    struct fold fold = {.out = to->out, .columns = to->columns, .indent = INDENT};
    for (size_t i = 0; i < n; i++) {
        if (facts[i][0] == '\0')
            continue;
        if (fold.used == 0 && to->format == FORMAT_HTML)
            fputs("<p class=\"faint\">", to->out);
        render_piece(to, &fold, facts[i], gap);
    }
    if (to->format == FORMAT_TEXT)
        fold_end(&fold);
    else if (fold.used > 0)
        fputs(to->format == FORMAT_HTML ? "</p>\n" : "\n\n", to->out);
}

void render_text(const struct rendering *to, const char *format, ...)
{
    char text[UTF8_CLEAN_ROOM(2 * CELL)], clean[sizeof text];
    const char *fact = text;
    va_list facts;
    va_start(facts, format);
    vsnprintf(text, sizeof text, format, facts);
    va_end(facts);
    if (to->format == FORMAT_TEXT)
        fold_text(to->out, to->columns, INDENT, terminal_text(clean, sizeof clean, text));
    else
        render_facts(to, &fact, 1, 0);
}

void render_heading(const struct rendering *to, const char *text)
{
    if (to->format == FORMAT_HTML) {
        html_element(to->out, "h2", NULL, text);
    } else {
        fputs(to->format == FORMAT_MARKDOWN ? "### " : "\n", to->out);
        render_text(to, "%s", text);
    }
}
