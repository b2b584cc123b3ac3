#include "report/boards.h"

#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <string.h>

enum { LINE_MOST = 1 << 20, NAME = 192, TEXT = 768, GAP = 2, INDENT = 2, DEEP = 6 };

/* --- taking --------------------------------------------------------------------------------------------- */

static bool fails(struct boards_one *one, const char *why)
{
    if (one->why[0] == '\0')
        snprintf(one->why, sizeof one->why, "%s", why);
    return false;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static bool is_type(const json_t *line, const char *type)
{
    return strcmp(text_of(line, "type"), type) == 0;
}

static bool take_line(struct boards_one *one, const char *line, size_t length)
{
    json_t *object = length <= LINE_MOST ? json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!json_is_object(object) || text_of(object, "type")[0] == '\0') {
        json_decref(object);
        return fails(one, "its process printed something else than JSON lines");
    }
    return json_array_append_new(one->lines, object) == 0 || fails(one, "out of memory");
}

bool boards_take(struct boards_one *one, const char *text, size_t size)
{
    one->lines = json_array();
    if (one->lines == NULL)
        return fails(one, "out of memory");
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
        if (!take_line(one, text + at, length))
            return false;
        at += length + (end != NULL);
    }
    size_t n = json_array_size(one->lines);
    one->complete = n > 1 && is_type(json_array_get(one->lines, 0), "header") &&
                    is_type(json_array_get(one->lines, n - 1), "summary");
    return one->complete || fails(one, "its survey was cut off");
}

void boards_free(struct boards *boards)
{
    for (size_t i = 0; i < boards->n; i++)
        json_decref(boards->of[i].lines);
}

/* --- cells ---------------------------------------------------------------------------------------------- */

struct cell {
    char number[3 * NUMBER_ROOM]; /* "1,105", "1,105 ±2" */
    char words[48];               /* "pass", "over the budget", "not reached" */
    enum verdict verdict;
    bool judged;
    const char *why;
};

static enum verdict verdict_of(const json_t *object)
{
    for (int i = VERDICT_PASS; i <= VERDICT_NOT_COMPARABLE; i++)
        if (strcmp(verdict_name((enum verdict)i), text_of(object, "verdict")) == 0)
            return (enum verdict)i;
    return VERDICT_INCONCLUSIVE;
}

static void put_number(const json_t *region, struct cell *cell)
{
    const char *name;
    json_t *column, *columns = json_object_get(region, "columns");
    char mean[NUMBER_ROOM], error[NUMBER_ROOM];
    json_object_foreach(columns, name, column)
    { /* the first is of cycles */
        double plus_minus = json_number_value(json_object_get(column, "plus_minus"));
        if (!json_is_number(json_object_get(column, "mean")))
            return;
        number_mean(mean, json_number_value(json_object_get(column, "mean")));
        number_mean(error, plus_minus);
        snprintf(cell->number, sizeof cell->number, "%s%s%s%s",
                 json_is_integer(json_object_get(column, "at_least")) ? "> " : "", mean,
                 plus_minus > 0 ? terminal_or(" ±", " +-") : "", plus_minus > 0 ? error : "");
        return;
    }
}

static void judge(const json_t *object, const char *words, struct cell *cell)
{
    enum verdict one = verdict_of(object), both = cell->judged ? verdict_both(cell->verdict, one) : one;
    if (!cell->judged || both != cell->verdict) {
        snprintf(cell->words, sizeof cell->words, "%s", words != NULL ? words : verdict_name(one));
        cell->why = text_of(object, "why");
    }
    cell->verdict = both;
    cell->judged = true;
}

/* Why a comparison came out as it did: the first reason, or that of the first column that has one. */
static const char *reason_of(const json_t *verdict)
{
    const char *name,
        *reason = json_string_value(json_array_get(json_object_get(verdict, "not_comparable"), 0));
    json_t *column;
    json_object_foreach(json_object_get(verdict, "columns"), name, column)
    {
        if (reason == NULL && text_of(column, "why")[0] != '\0')
            reason = text_of(column, "why");
    }
    return reason != NULL ? reason : "";
}

/* False: the board has no such region. */
static bool read_cell(const struct boards_one *one, const char *region, struct cell *out)
{
    size_t n = json_array_size(one->lines), i = 0;
    *out = (struct cell){.why = ""};
    while (i < n && !(is_type(json_array_get(one->lines, i), "region") &&
                      strcmp(text_of(json_array_get(one->lines, i), "name"), region) == 0))
        i++;
    if (i == n)
        return false;
    const json_t *line = json_array_get(one->lines, i), *next = json_array_get(one->lines, i + 1);
    const json_t *budget = json_object_get(line, "budget");
    bool reached = json_is_true(json_object_get(line, "reached"));
    out->why = text_of(line, "why");
    snprintf(out->words, sizeof out->words, "%s",
             reached               ? "measured"
             : out->why[0] == '\0' ? "not reached"
                                   : "not measured");
    put_number(line, out);
    if (json_is_object(budget))
        judge(budget, verdict_of(budget) == VERDICT_REGRESSED ? "over the budget" : NULL, out);
    if (next != NULL && is_type(next, "verdict")) {
        judge(next, NULL, out);
        if (out->why[0] == '\0' && out->verdict != VERDICT_PASS)
            out->why = reason_of(next);
    }
    return true;
}

/* --- regions -------------------------------------------------------------------------------------------- */

/* The names of all regions, in the order of the first board that has them. NULL: out of memory. */
static json_t *name_regions(const struct boards *boards)
{
    json_t *names = json_array(), *seen = json_object(), *line;
    bool ok = names != NULL && seen != NULL;
    for (size_t i = 0; i < boards->n && ok; i++) {
        size_t k;
        json_array_foreach(boards->of[i].lines, k, line)
        {
            const char *name = text_of(line, "name");
            if (!is_type(line, "region") || json_object_get(seen, name) != NULL)
                continue;
            ok = ok && json_object_set_new(seen, name, json_true()) == 0 &&
                 json_array_append_new(names, json_string(name)) == 0;
        }
    }
    json_decref(seen);
    if (ok)
        return names;
    json_decref(names);
    return NULL;
}

/* --- text ----------------------------------------------------------------------------------------------- */

struct layout {
    FILE *out;
    const struct boards *boards;
    const json_t *regions;
    size_t columns, name, number[32], words[32];
};

static const char *region_name(const struct layout *layout, size_t i, char out[NAME])
{
    return terminal_text(out, NAME, json_string_value(json_array_get(layout->regions, i)));
}

static size_t larger(size_t one, size_t other)
{
    return one > other ? one : other;
}

static bool has_failed(const struct boards_one *one)
{
    return one->why[0] != '\0';
}

/* Returns the table's width. */
static size_t lay_out(struct layout *layout)
{
    struct cell cell;
    char name[NAME];
    layout->name = strlen("region");
    for (size_t r = 0; r < json_array_size(layout->regions); r++)
        layout->name = larger(layout->name, utf8_width(region_name(layout, r, name)));
    size_t width = layout->name;
    for (size_t b = 0; b < layout->boards->n; b++) {
        if (!layout->boards->of[b].complete)
            continue;
        for (size_t r = 0; r < json_array_size(layout->regions); r++) {
            if (!read_cell(&layout->boards->of[b], json_string_value(json_array_get(layout->regions, r)),
                           &cell))
                continue;
            layout->number[b] = larger(layout->number[b], utf8_width(cell.number));
            layout->words[b] = larger(layout->words[b], strlen(cell.words));
        }
        size_t title = utf8_width(terminal_text(name, sizeof name, layout->boards->of[b].name));
        size_t used = layout->number[b] + 1 + layout->words[b];
        layout->words[b] += title > used ? title - used : 0;
        width += GAP + layout->number[b] + 1 + layout->words[b];
    }
    return width;
}

static void put(FILE *out, const char *text, size_t width, bool right)
{
    size_t used = utf8_width(text), more = used < width ? width - used : 0;
    fprintf(out, "%*s%s%*s", right ? (int)more : 0, "", text, right ? 0 : (int)more, "");
}

static enum colour colour_of(const struct cell *cell)
{
    return !cell->judged                        ? COLOUR_END
           : cell->verdict == VERDICT_PASS      ? COLOUR_GOOD
           : cell->verdict == VERDICT_REGRESSED ? COLOUR_BAD
                                                : COLOUR_ODD;
}

static void put_words(FILE *out, const struct cell *cell)
{
    fputs(cell->judged ? terminal_colour(out, colour_of(cell)) : "", out);
    fputs(cell->words, out);
    fputs(cell->judged ? terminal_colour(out, COLOUR_END) : "", out);
}

/* Blanks are put in front of what follows them: no line ends with any. */
static void put_gap(FILE *out, size_t *gap, size_t more)
{
    fprintf(out, "%*s", (int)*gap, "");
    *gap = more;
}

static void put_table(const struct layout *layout)
{
    FILE *out = layout->out;
    char name[NAME];
    size_t gap = layout->name - strlen("region") + GAP;
    fputs("region", out);
    for (size_t b = 0; b < layout->boards->n; b++) {
        if (!layout->boards->of[b].complete)
            continue;
        size_t width = layout->number[b] + 1 + layout->words[b];
        terminal_text(name, sizeof name, layout->boards->of[b].name);
        put_gap(out, &gap, width - utf8_width(name) + GAP);
        fputs(name, out);
    }
    fputc('\n', out);
    for (size_t r = 0; r < json_array_size(layout->regions); r++) {
        fputs(region_name(layout, r, name), out);
        gap = layout->name - utf8_width(name) + GAP;
        for (size_t b = 0; b < layout->boards->n; b++) {
            struct cell cell;
            if (!layout->boards->of[b].complete)
                continue;
            if (!read_cell(&layout->boards->of[b], json_string_value(json_array_get(layout->regions, r)),
                           &cell)) {
                gap += layout->number[b] + 1 + layout->words[b] + GAP;
                continue;
            }
            put_gap(out, &gap, layout->words[b] - strlen(cell.words) + GAP);
            put(out, cell.number, layout->number[b], true);
            fputc(' ', out);
            put_words(out, &cell);
        }
        fputc('\n', out);
    }
}

/* A line for each cell, where the table would be too wide. */
static void put_list(const struct layout *layout)
{
    FILE *out = layout->out;
    char name[NAME];
    size_t widest = 0, number = 0;
    for (size_t b = 0; b < layout->boards->n; b++) {
        widest = larger(widest, utf8_width(terminal_text(name, sizeof name, layout->boards->of[b].name)));
        number = larger(number, layout->number[b]);
    }
    for (size_t r = 0; r < json_array_size(layout->regions); r++) {
        fprintf(out, "%s\n", region_name(layout, r, name));
        for (size_t b = 0; b < layout->boards->n; b++) {
            struct cell cell;
            if (!layout->boards->of[b].complete ||
                !read_cell(&layout->boards->of[b], json_string_value(json_array_get(layout->regions, r)),
                           &cell))
                continue;
            fprintf(out, "%*s", INDENT, "");
            put(out, terminal_text(name, sizeof name, layout->boards->of[b].name), widest + GAP, false);
            put(out, cell.number, number, true);
            fputc(' ', out);
            put_words(out, &cell);
            fputc('\n', out);
        }
    }
}

static void put_boards(const struct layout *layout)
{
    char name[NAME], probe[UTF8_CLEAN_ROOM(320)], words[TEXT], text[NAME + TEXT + sizeof probe];
    for (size_t b = 0; b < layout->boards->n; b++) {
        const struct boards_one *one = &layout->boards->of[b];
        const json_t *header = json_array_get(one->lines, 0);
        if (has_failed(one))
            terminal_text(words, sizeof words, one->why);
        else
            terminal_text(words, sizeof words, text_of(header, "core"));
        snprintf(text, sizeof text, "%s: %s%s, %s", terminal_text(name, sizeof name, one->name),
                 has_failed(one) ? "failed: " : "", words, terminal_text(probe, sizeof probe, one->probe));
        fputs(has_failed(one) ? terminal_colour(layout->out, COLOUR_BAD) : "", layout->out);
        fold_text(layout->out, layout->columns, INDENT, text);
        fputs(has_failed(one) ? terminal_colour(layout->out, COLOUR_END) : "", layout->out);
    }
}

/* Those that have one. */
static void put_reasons(const struct layout *layout)
{
    char name[NAME], board[NAME], why[TEXT], text[2 * NAME + TEXT];
    for (size_t r = 0; r < json_array_size(layout->regions); r++)
        for (size_t b = 0; b < layout->boards->n; b++) {
            const struct boards_one *one = &layout->boards->of[b];
            struct cell cell;
            if (!one->complete ||
                !read_cell(one, json_string_value(json_array_get(layout->regions, r)), &cell) ||
                cell.why[0] == '\0')
                continue;
            snprintf(text, sizeof text, "%s on %s: %s", region_name(layout, r, name),
                     terminal_text(board, sizeof board, one->name), terminal_text(why, sizeof why, cell.why));
            fold_text(layout->out, layout->columns, DEEP, text);
        }
}

static void put_end(const struct layout *layout)
{
    size_t counts[4] = {0}, n = 0, failed = 0;
    enum verdict all = VERDICT_PASS;
    char time[NUMBER_ROOM];
    FILE *out = layout->out;
    for (size_t b = 0; b < layout->boards->n; b++) {
        const struct boards_one *one = &layout->boards->of[b];
        failed += has_failed(one);
        for (size_t r = 0; one->complete && r < json_array_size(layout->regions); r++) {
            struct cell cell;
            if (!read_cell(one, json_string_value(json_array_get(layout->regions, r)), &cell) || !cell.judged)
                continue;
            all = verdict_both(all, cell.verdict);
            counts[cell.verdict]++;
            n++;
        }
    }
    fprintf(out, "%zu of %zu boards measured, in %s\n", layout->boards->n - failed, layout->boards->n,
            number_elapsed(time, sizeof time, layout->boards->seconds));
    if (!layout->boards->judged)
        return;
    fprintf(out, "verdict: %s", n > 0 ? verdict_name(all) : verdict_name(VERDICT_INCONCLUSIVE));
    for (size_t i = 0, told = 0; i < 4; i++)
        if (counts[i] > 0)
            fprintf(out, "%s%zu %s", told++ > 0 ? ", " : "; ", counts[i], verdict_name((enum verdict)i));
    fputc('\n', out);
}

bool boards_text(FILE *out, const struct boards *boards, size_t columns)
{
    json_t *regions = name_regions(boards);
    struct layout layout = {.out = out, .boards = boards, .regions = regions, .columns = columns};
    if (regions == NULL || boards->n > sizeof layout.number / sizeof *layout.number)
        return false;
    put_boards(&layout);
    fputc('\n', out);
    bool fits = lay_out(&layout) <= columns;
    if (json_array_size(regions) > 0) {
        (fits ? put_table : put_list)(&layout);
        fputc('\n', out);
    }
    put_reasons(&layout);
    put_end(&layout);
    json_decref(regions);
    return fflush(out) == 0 && !ferror(out);
}

/* --- JSON lines ----------------------------------------------------------------------------------------- */

/* A board's header and summary become its `board` and `board_end`. */
static bool write_line(FILE *out, const struct boards_one *one, const json_t *line)
{
    struct json_part part = json_part_new(is_type(line, "header")    ? "board"
                                          : is_type(line, "summary") ? "board_end"
                                                                     : text_of(line, "type"));
    const char *key;
    json_t *value;
    json_part_text(&part, "board", one->name);
    if (is_type(line, "header"))
        json_part_text(&part, "probe", one->probe);
    if (is_type(line, "summary")) {
        part.ok = part.ok && json_object_set_new(part.json, "exit_code", json_integer(one->code)) == 0;
        json_part_text(&part, "error", one->why);
    }
    json_object_foreach((json_t *)line, key, value)
    {
        if (json_object_get(part.json, key) == NULL && strcmp(key, "schema") != 0)
            part.ok = part.ok && json_object_set(part.json, key, value) == 0;
    }
    return json_part_write(out, part);
}

static bool write_failed(FILE *out, const struct boards_one *one)
{
    struct json_part part = json_part_new("board_end");
    json_part_text(&part, "board", one->name);
    json_part_text(&part, "probe", one->probe);
    part.ok = part.ok && json_object_set_new(part.json, "exit_code", json_integer(one->code)) == 0;
    json_part_text(&part, "error", one->why);
    return json_part_write(out, part);
}

bool boards_json(FILE *out, const struct boards *boards)
{
    bool ok = json_command_header(out, "survey", "");
    size_t failed = 0, k;
    const json_t *line;
    for (size_t b = 0; b < boards->n && ok; b++) {
        const struct boards_one *one = &boards->of[b];
        failed += has_failed(one);
        if (!one->complete)
            ok = write_failed(out, one);
        json_array_foreach(one->complete ? one->lines : NULL, k, line)
        {
            ok = ok && write_line(out, one, line);
        }
    }
    struct json_part end = json_part_new("summary");
    json_part_unsigned(&end, "boards", boards->n);
    json_part_unsigned(&end, "failed", failed);
    json_part_real(&end, "seconds", boards->seconds);
    return json_part_write(out, end) && ok;
}
