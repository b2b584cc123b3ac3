/* SPDX-License-Identifier: MIT */
#include "report/comparison_report.h"

#include "report/html.h"
#include "report/number.h"
#include "report/terminal.h"
#include "report/views.h"

#include <math.h>
#include <string.h>

enum { CLEAN = 1024, CELL = 512, INDENT = 4, TEXT = 1024 };
enum { HEAD = 42, NAME = 16, CHANGE = 10 }; /* widths */

enum verdict verdict_by_name(const char *name)
{
    for (int i = VERDICT_PASS; i < VERDICT_NOT_COMPARABLE; i++)
        if (strcmp(name, verdict_name((enum verdict)i)) == 0)
            return (enum verdict)i;
    return VERDICT_NOT_COMPARABLE;
}

enum verdict line_verdict(const json_t *line)
{
    return verdict_by_name(field_text(line, "verdict"));
}

const char *line_verdict_name(const json_t *line)
{
    return verdict_name(line_verdict(line));
}

enum colour verdict_colour(enum verdict verdict)
{
    return verdict == VERDICT_PASS ? COLOUR_GOOD : verdict == VERDICT_REGRESSED ? COLOUR_BAD : COLOUR_ODD;
}

static bool has_reasons(const json_t *verdict)
{
    return json_array_size(field_of(verdict, "not_comparable")) > 0;
}

/* ---- one verdict */

struct cells {
    char name[UTF8_CLEAN_ROOM(96)], base[NUMBER_ROOM], now[NUMBER_ROOM], change[NUMBER_ROOM];
};

static struct cells cells_of(const char *name, const json_t *line)
{
    struct cells cells = {.base = "-", .now = "-"};
    terminal_text(cells.name, sizeof cells.name, name);
    if (field_count(line, "base.count") > 0)
        number_mean(cells.base, field_real(line, "base.mean"));
    if (field_count(line, "now.count") > 0)
        number_mean(cells.now, field_real(line, "now.mean"));
    number_change(cells.change, field_real(line, "change"));
    return cells;
}

bool check_take(const json_t *run, const json_t *verdict, size_t i, struct check *out)
{
    const json_t *budget = field_of(run, "budget");
    json_t *line;
    *out = (struct check){.run = run, .threshold = field_real(verdict, "threshold")};
    if (budget != NULL && i-- == 0) {
        out->is_budget = true;
        out->line = budget;
        out->name = field_text(budget, "budget");
    }
    json_object_foreach(json_object_get(verdict, "columns"), out->name, line) {
        if (out->line != NULL || i-- > 0)
            continue;
        out->line = line;
        break;
    }
    if (out->is_budget)
        out->name = field_text(budget, "budget");
    out->verdict = field_text(out->line, "verdict");
    return out->line != NULL;
}

static void verdict_words(const struct check *check, char *out, size_t size)
{
    enum verdict is = verdict_by_name(check->verdict);
    bool over = is == VERDICT_REGRESSED, has_threshold = !check->is_budget && (over || is == VERDICT_PASS);
    snprintf(out, size, "%s%s%s%s", check->is_budget && over ? "over the budget" : verdict_name(is),
             has_threshold ? " (threshold " : "", has_threshold ? PART(check->threshold) : "",
             has_threshold ? ")" : "");
}

void check_words(const struct check *check, char *out, size_t size)
{
    const char *why = field_text(check->line, "why");
    verdict_words(check, out, size);
    text_add(out, size, "%s%.384s", why[0] != '\0' ? ": " : "", why);
}

/* A file of an older tool does not say what was found, but the numbers are there. */
static double found_cycles(const struct check *check)
{
    const json_t *first = json_object_iter_value(json_object_iter(json_object_get(check->run, "columns")));
    double found = field_real(check->line, "found_cycles");
    return isfinite(found) ? found : field_real(first, strncmp(check->name, "max", 3) == 0 ? "max" : "mean");
}

static void found_text(const struct check *check, char *out, size_t size)
{
    double cycles = found_cycles(check), seconds = field_real(check->line, "found_s");
    if (!isfinite(cycles))
        snprintf(out, size, "-");
    else if (isfinite(seconds))
        snprintf(out, size, "%s (%s cycles)", DURATION(seconds), MEAN(cycles));
    else
        snprintf(out, size, "%s cycles", MEAN(cycles));
}

void check_numbers(const struct check *check, char *out, size_t size)
{
    const struct cells cells = cells_of(check->name, check->line);
    if (check->is_budget)
        found_text(check, out, size);
    else
        snprintf(out, size, "%s -> %s%s%s", cells.base, cells.now, cells.change[0] != '\0' ? " " : "",
                 cells.change);
}

void check_text(const struct check *check, char *out, size_t size)
{
    char numbers[TEXT], words[TEXT];
    check_numbers(check, numbers, sizeof numbers);
    check_words(check, words, sizeof words);
    snprintf(out, size, "%.200s: %s: %s", check->name, numbers, words);
}

void check_append(struct json_part *row, json_t *list, const char *before, const char *verdict,
                  const char *words, const char *why)
{
    struct json_part one = json_part_new(NULL);
    row_text(&one, "of", verdict);
    row_text(&one, "before", before);
    row_text(&one, "verdict", words);
    row_text(&one, "why", why);
    row_flag(&one, "bad", strcmp(verdict, verdict_name(VERDICT_REGRESSED)) == 0);
    json_part_add(row, list, one);
}

void check_put(struct json_part *row, const json_t *verdict, const json_t *line)
{
    const char *name = field_text(line, "verdict");
    char why[TEXT] = "";
    json_t *list = json_array();
    if (!has_reasons(verdict) && field_of(line, "why") != NULL)
        snprintf(why, sizeof why, ": %s", field_text(line, "why"));
    check_append(row, list, "", name, name, why);
    json_part_array(row, "verdict", list);
}

/* ---- text */

static void comparison_report_put_text(const struct rendering *to, size_t at, const char *before,
                                       const char *text)
{
    char clean[CLEAN];
    fputs(before, to->out);
    fold_text_at(to->out, to->columns, at + strlen(before), INDENT, terminal_text(clean, sizeof clean, text));
}

static void pad(FILE *out, size_t width, size_t used)
{
    fprintf(out, "%*s", used < width ? (int)(width - used) : 0, "");
}

static void comparison_report_put_head(const struct rendering *to, const json_t *verdict)
{
    enum { GAP = 3 };
    char clean[CLEAN], text[CLEAN + 16];
    struct fold fold = {.out = to->out, .columns = to->columns, .indent = INDENT};
    const char *started = field_text(verdict, "baseline.started"),
               *build = field_text(verdict, "baseline.build_id");
    snprintf(text, sizeof text, "baseline %s",
             terminal_text(clean, sizeof clean, field_text(verdict, "baseline.file")));
    size_t width = utf8_width(text), gap = width < HEAD ? HEAD - width + GAP : GAP;
    fold_put(&fold, text, 0);
    if (started[0] != '\0') {
        snprintf(text, sizeof text, "%s,", terminal_text(clean, sizeof clean, started));
        fold_put(&fold, text, gap);
    }
    if (started[0] != '\0' || build[0] != '\0') {
        snprintf(text, sizeof text, "%s%s", build[0] != '\0' ? "build " : "no build id",
                 terminal_text(clean, sizeof clean, build));
        fold_put(&fold, text, started[0] != '\0' ? 1 : gap);
    }
    fold_end(&fold);
}

static void comparison_report_widen(size_t *width, const char *text)
{
    size_t w = utf8_width(text);
    *width = w > *width ? w : *width;
}

struct widths {
    size_t name, base, now, change;
};

static void comparison_report_put_line(const struct rendering *to, const json_t *verdict,
                                       const struct check *check, const struct widths *width)
{
    FILE *out = to->out;
    char text[NUMBER_ROOM + 64];
    const struct cells cells = cells_of(check->name, check->line);
    const char *why = has_reasons(verdict) ? "" : field_text(check->line, "why"); /* reasons follow below */
    verdict_words(check, text, sizeof text);
    fputs(cells.name, out);
    pad(out, width->name, utf8_width(cells.name));
    fprintf(out, " %*s -> %-*s  %*s   %s%s%s", (int)width->base, cells.base, (int)width->now, cells.now,
            (int)width->change, cells.change,
            terminal_colour(out, verdict_colour(verdict_by_name(check->verdict))), text,
            terminal_colour(out, COLOUR_END));
    size_t used =
        width->name + width->base + width->now + width->change + strlen("  ->      ") + utf8_width(text);
    if (why[0] == '\0') {
        fputc('\n', out);
    } else if (used + 2 + utf8_width(why) > to->columns) {
        fprintf(out, ":\n%*s", INDENT, "");
        comparison_report_put_text(to, INDENT, "", why);
    } else {
        comparison_report_put_text(to, used, ": ", why);
    }
}

static void put_list(const struct rendering *to, const json_t *list, const char *before)
{
    size_t i;
    const json_t *text;
    json_array_foreach(list, i, text)
        comparison_report_put_text(to, 0, before, text_or_empty(text));
}

static void comparison_report_write_text(const struct rendering *to, const json_t *verdict)
{
    json_t *columns = json_object_get(verdict, "columns"), *line;
    struct widths width = {.name = NAME, .change = CHANGE};
    const char *name;
    comparison_report_put_head(to, verdict);
    json_object_foreach(columns, name, line) {
        struct cells cells = cells_of(name, line);
        comparison_report_widen(&width.name, cells.name);
        comparison_report_widen(&width.base, cells.base);
        comparison_report_widen(&width.now, cells.now);
        comparison_report_widen(&width.change, cells.change);
    }
    struct check check;
    for (size_t i = 0; check_take(NULL, verdict, i, &check); i++)
        comparison_report_put_line(to, verdict, &check, &width);
    put_list(to, field_of(verdict, "not_comparable"), "");
    put_list(to, field_of(verdict, "notes"), "note: ");
    if (json_object_size(columns) != 1)
        fprintf(to->out, "verdict: %s%s\n", line_verdict_name(verdict),
                json_object_size(columns) == 0 ? ", there is nothing to compare" : "");
}

/* ---- Markdown */

void comparison_against_text(const json_t *verdict, char *out, size_t size)
{
    const char *started = field_text(verdict, "baseline.started"),
               *build = field_text(verdict, "baseline.build_id");
    snprintf(out, size, "against %.256s%s%.64s%s%.80s, threshold %s", field_text(verdict, "baseline.file"),
             started[0] != '\0' ? " of " : "", started, build[0] != '\0' ? ", build " : "", build,
             PART(field_real(verdict, "threshold")));
}

static void put_item(FILE *out, const char *before, const char *text)
{
    fprintf(out, "* %s", before);
    markdown_text(out, text);
    fputc('\n', out);
}

static void comparison_report_write_markdown(FILE *out, const json_t *verdict)
{
    char text[CELL];
    const char *file = field_text(verdict, "file");
    const json_t *one;
    size_t i;
    fprintf(out, "* **%s**%s", line_verdict_name(verdict), file[0] != '\0' ? ": " : "");
    markdown_text(out, file);
    comparison_against_text(verdict, text, sizeof text);
    fputc(' ', out);
    markdown_text(out, text);
    fputc('\n', out);
    json_array_foreach(field_of(verdict, "not_comparable"), i, one)
        put_item(out, "not comparable: ", text_or_empty(one));
    json_array_foreach(field_of(verdict, "notes"), i, one)
        put_item(out, "note: ", text_or_empty(one));
}

void comparison_write(const struct rendering *to, const json_t *verdict)
{
    if (to->format == FORMAT_MARKDOWN)
        comparison_report_write_markdown(to->out, verdict);
    else
        comparison_report_write_text(to, verdict);
}

/* ---- parts of a page */

/* Beyond this change a mark is at the border, and its number says how much it is. */
static const double SCALE_MOST = 1;

void comparison_widen(double *scale, const json_t *verdict)
{
    json_t *line;
    const char *name;
    json_object_foreach(json_object_get(verdict, "columns"), name, line) {
        double low = field_real(line, "low"), high = field_real(line, "high"),
               widest = fmin(field_real(verdict, "threshold") * 1.2, SCALE_MOST);
        if (!isfinite(low) || !isfinite(high))
            continue;
        widest = fmax(widest, fmin(fmax(fabs(low), fabs(high)), SCALE_MOST));
        *scale = fmax(*scale, widest);
    }
}

static void comparison_report_add_interval(struct json_part *row, const json_t *verdict, const json_t *line,
                                           double scale)
{
    struct json_part bar = json_part_new(NULL);
    if (field_of(line, "low") != NULL && scale > 0) {
        row_real(&bar, "low", field_real(line, "low"));
        row_real(&bar, "high", field_real(line, "high"));
        row_real(&bar, "at", field_real(line, "change"));
        row_real(&bar, "limit", field_real(verdict, "threshold"));
        row_real(&bar, "scale", scale);
        row_text(&bar, "verdict", field_text(line, "verdict"));
    }
    row_part(row, "interval", bar);
}

bool comparison_add_rows(json_t *rows, const json_t *verdict, const char *region, double scale)
{
    json_t *line;
    const char *name;
    bool ok = true;
    json_object_foreach(json_object_get(verdict, "columns"), name, line) {
        struct json_part row = json_part_copy(line);
        row_text(&row, "name", name);
        row_text(&row, "region", region);
        check_put(&row, verdict, line);
        comparison_report_add_interval(&row, verdict, line, scale);
        ok = rows_add(rows, row) && ok;
    }
    return ok;
}

bool comparison_put_table(FILE *out, json_t *rows, const char *caption, double scale)
{
    const struct rendering to = {.out = out, .format = FORMAT_HTML};
    struct view view = verdict_view;
    char text[CELL];
    if (scale > 0)
        snprintf(text, sizeof text,
                 "%.200s. Means. A bar is where a change lies with 95 %%, from -%s to +%s; the thin line is "
                 "no change, the dashed one the threshold.",
                 caption, PART_UP(scale), PART_UP(scale));
    else
        snprintf(text, sizeof text, "%.200s. Means.", caption);
    view.caption = text;
    return render_table(&to, &view, rows);
}

void comparison_put_items(FILE *out, const json_t *verdict)
{
    const json_t *one;
    size_t i;
    json_array_foreach(field_of(verdict, "not_comparable"), i, one) {
        fputs("<li>not comparable: ", out);
        html_text(out, text_or_empty(one));
        fputs("</li>\n", out);
    }
    json_array_foreach(field_of(verdict, "notes"), i, one)
        html_element(out, "li", NULL, text_or_empty(one));
}
