#include "report/live_table.h"

#include "report/number.h"
#include "report/terminal.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 4 * CANVAS_LINE };

static bool live_table_is_drawn(const struct live_table *table, size_t i)
{
    return table->columns[i].as == LIVE_DRAWN;
}

void live_widen(struct live_table *table, const char *const *cells)
{
    for (size_t i = 0; i < table->n; i++) {
        size_t width = live_table_is_drawn(table, i) ? 0 : utf8_width(cells[i]),
               most = table->columns[i].most;
        width = most > 0 && width > most ? most : width;
        table->width[i] = width > table->width[i] ? width : table->width[i];
    }
}

/* What the columns of this way take; `width` gets how wide each is, but for the name and what is drawn. */
static size_t widths(const struct live_table *table, const struct live_way *way, size_t *width)
{
    size_t all = 0;
    for (size_t i = 0; i < table->n; i++) {
        size_t least = live_table_is_drawn(table, i) || (!way->tight && table->width[i] > 0)
                           ? table->columns[i].least
                           : 0;
        width[i] = table->width[i] > least ? table->width[i] : least;
        if ((way->columns & 1u << i) == 0)
            width[i] = 0;
        size_t takes = i == table->name && way->name > 0 && way->name < width[i] ? way->name : width[i];
        all += takes > 0 ? takes + (all > 0 ? table->columns[i].gap : 0) : 0;
    }
    return all;
}

/* The room that is left over is the name's first, and then that of the column that is drawn. */
static void live_table_share_out(struct live_table *table, const struct live_way *way, size_t *width,
                                 size_t left)
{
    size_t *name = &width[table->name], whole = *name;
    if (way->name > 0 && way->name < whole) {
        *name = whole - way->name < left ? whole : way->name + left;
        left -= *name - way->name;
    }
    for (size_t i = 0; i < table->n; i++)
        if (live_table_is_drawn(table, i) && width[i] > 0) {
            size_t most = table->columns[i].most;
            width[i] = width[i] + left < most ? width[i] + left : most;
        }
}

void live_fit(struct live_table *table, size_t columns)
{
    size_t width[LIVE_COLUMNS] = {0}, used = 0, i = 0;
    while ((used = widths(table, &table->ways[i], width)) > columns && i + 1 < table->n_ways)
        i++;
    if (used > columns) {
        memset(width, 0, sizeof width);
        width[table->name] = columns;
    } else {
        live_table_share_out(table, &table->ways[i], width, columns - used);
    }
    memcpy(table->width, width, sizeof width);
}

static size_t live_table_put(char *line, size_t used, const char *cell, size_t width, size_t gap, bool right)
{
    size_t rest = width - utf8_width(cell);
    return used + (size_t)snprintf(line + used, LINE - used, "%*s%s%*s", (int)(gap + (right ? rest : 0)), "",
                                   cell, (int)(right ? 0 : rest), "");
}

void live_row(struct canvas *canvas, const struct live_table *table, const char *const *cells,
              const char *instead)
{
    char line[LINE] = "", cell[CANVAS_LINE];
    size_t used = 0, name = table->width[table->name];
    for (size_t i = 0; i < table->n; i++) {
        if (table->width[i] == 0 || (instead != NULL && i != table->name))
            continue;
        snprintf(cell, sizeof cell, "%s", cells[i]);
        canvas_cut(cell, table->width[i]);
        used = live_table_put(line, used, cell, table->width[i], used > 0 ? table->columns[i].gap : 0,
                              table->columns[i].as == LIVE_NUMBER);
    }
    size_t gap = table->columns[table->name].gap;
    if (instead != NULL && name + gap + utf8_width(instead) <= canvas->columns)
        live_table_put(line, used, instead, utf8_width(instead), gap, false);
    for (used = strlen(line); used > 0 && line[used - 1] == ' ';)
        line[--used] = '\0';
    canvas_line(canvas, line);
}

void live_more(struct canvas *canvas, size_t rows)
{
    char text[NUMBER_ROOM + 32];
    if (rows == 0)
        return;
    snprintf(text, sizeof text, "%s more: a larger terminal", NUMBER(rows));
    canvas_cut(text, canvas->columns);
    canvas_line(canvas, text);
}
