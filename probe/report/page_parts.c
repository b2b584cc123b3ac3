#include "report/page_parts.h"

#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 512 };

/* ---- sections */

void page_heading(FILE *out, const char *id, const char *text)
{
    fprintf(out, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">", id, id);
    html_text(out, text);
    fputs("</h2>\n", out);
}

void page_end_section(FILE *out)
{
    fputs("</section>\n", out);
}

const char *page_region(const char *start, const char *end, char *out, size_t size)
{
    int half = (int)(size / 2) - 4;
    snprintf(out, size, "%.*s%s%.*s", half, start, end[0] != '\0' ? " to " : "", half, end);
    return out;
}

void page_about(FILE *out, const struct conditions *conditions)
{
    const char *const pieces[] = {conditions->core, conditions->counter, conditions->link};
    char text[CELL] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i][0] != '\0')
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", pieces[i]);
    if (used > 0)
        html_element(out, "p", "faint", text);
}

/* ---- verdicts */

const char *page_verdict_class(enum verdict verdict)
{
    return verdict == VERDICT_PASS ? "pass" : verdict == VERDICT_REGRESSED ? "regressed" : "undecided";
}

static enum plot_look look_of(enum verdict verdict)
{
    return verdict == VERDICT_PASS ? PLOT_GOOD : verdict == VERDICT_REGRESSED ? PLOT_BAD : PLOT_PLAIN;
}

void page_verdict(FILE *out, enum verdict verdict, const char *text)
{
    fprintf(out, "<p><strong class=\"verdict %s\">%s</strong>", page_verdict_class(verdict),
            verdict_name(verdict));
    html_text(out, text);
    fputs("</p>\n", out);
}

/* Beyond this change a mark stands at the border, and its number says how much it is. */
static const double SCALE_MOST = 1;

void page_verdicts_look(struct page_verdicts *verdicts, const struct comparison *comparison)
{
    if (verdicts->file[0] == '\0')
        memcpy(verdicts->file, comparison->file_now, sizeof verdicts->file);
    verdicts->files = verdicts->files || strcmp(verdicts->file, comparison->file_now) != 0;
    for (size_t i = 0; i < comparison->n; i++) {
        struct verdict_interval interval;
        double widest = fmin(comparison->threshold * 1.2, SCALE_MOST);
        if (!verdict_interval(&comparison->lines[i], &interval))
            continue;
        widest = fmax(widest, fmin(fmax(fabs(interval.low), fabs(interval.high)), SCALE_MOST));
        verdicts->scale = fmax(verdicts->scale, widest);
    }
}

void page_verdicts_begin(struct page_verdicts *verdicts, FILE *out, const char *caption)
{
    static const char *const columns[] = {"counter", "baseline", "now",
                                          "change",  "verdict",  "where the change lies"};
    static const char *const named[] = {
        "region", "counter", "baseline", "now", "change", "verdict", "where the change lies"};
    char text[CELL], part[NUMBER_ROOM];
    verdicts->table = (struct html_table){.out = out,
                                          .columns = verdicts->regions ? named : columns,
                                          .n = verdicts->regions ? 7 : 6,
                                          .texts = verdicts->regions ? 2 : 1,
                                          .numbers = 3,
                                          .named = true};
    if (verdicts->scale > 0)
        snprintf(text, sizeof text,
                 "%s. Means. The bars show where a change lies with 95 %%, from -%s at the left to +%s at "
                 "the right; the thin line is no change, the dashed one the threshold.",
                 caption, number_part_up(part, verdicts->scale), part);
    else
        snprintf(text, sizeof text, "%s. Means.", caption);
    html_table_begin(&verdicts->table, "verdicts", text);
}

static void put_interval(struct page_verdicts *verdicts, const struct verdict_line *line, double threshold)
{
    struct verdict_interval interval;
    char low[NUMBER_ROOM], high[NUMBER_ROOM], text[CELL];
    html_cell_begin(&verdicts->table, NULL);
    if (verdict_interval(line, &interval) && verdicts->scale > 0) {
        snprintf(text, sizeof text, "between %s and %s", number_change(low, interval.low),
                 number_change(high, interval.high));
        const struct plot_interval plot = {.low = interval.low,
                                           .at = line->change,
                                           .high = interval.high,
                                           .scale = verdicts->scale,
                                           .limit = threshold,
                                           .look = look_of(line->verdict)};
        plot_interval(verdicts->table.out, text, &plot);
    }
    html_cell_end(&verdicts->table);
}

static void put_verdict_row(struct page_verdicts *verdicts, const struct comparison *comparison,
                            const struct verdict_line *line)
{
    char text[CELL], number[NUMBER_ROOM];
    struct html_table *table = &verdicts->table;
    html_row(table, NULL);
    if (verdicts->regions) {
        page_region(comparison->start, comparison->end, text, sizeof text);
        size_t used = strlen(text);
        if (verdicts->files && used < sizeof text)
            snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", comparison->file_now);
        html_cell(table, NULL, text);
    }
    html_cell(table, NULL, line->name);
    html_cell(table, NULL, line->base.n > 0 ? number_mean(number, line->base.mean) : "");
    html_cell(table, NULL, line->now.n > 0 ? number_mean(number, line->now.mean) : "");
    html_cell(table, NULL, number_change(number, line->change));
    bool told = line->why[0] != '\0' && comparison->n_reasons == 0; /* else the reasons stand below */
    snprintf(text, sizeof text, "%s%s%s", verdict_name(line->verdict), told ? ": " : "",
             told ? line->why : "");
    html_cell(table, page_verdict_class(line->verdict), text);
    put_interval(verdicts, line, comparison->threshold);
}

void page_verdicts_put(struct page_verdicts *verdicts, const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n; i++)
        put_verdict_row(verdicts, comparison, &comparison->lines[i]);
}

void page_verdicts_end(struct page_verdicts *verdicts)
{
    html_table_end(&verdicts->table);
}

void page_comparison_notes(FILE *out, const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_reasons; i++) {
        fputs("<li>not comparable: ", out);
        html_text(out, comparison->reasons[i]);
        fputs("</li>\n", out);
    }
    for (size_t i = 0; i < comparison->n_notes; i++)
        html_element(out, "li", NULL, comparison->notes[i]);
}

/* ---- conditions */

static void put_condition(struct html_table *table, const char *name, const char *text)
{
    if (text[0] == '\0')
        return;
    html_row(table, NULL);
    html_cell(table, NULL, name);
    html_cell(table, NULL, text);
}

static void put_end(struct html_table *table, const char *name, const char *at, const char *source,
                    uint64_t address)
{
    char text[CELL] = "", number[NUMBER_ROOM] = "";
    if (address != 0)
        snprintf(number, sizeof number, ", 0x%08" PRIx64, address);
    if (at[0] != '\0')
        snprintf(text, sizeof text, "%s%s%s%s", at, number, source[0] != '\0' ? ", " : "", source);
    put_condition(table, name, text);
}

static void put_clock(struct html_table *table, const struct conditions *conditions)
{
    char text[CELL] = "", clock[NUMBER_ROOM], error[NUMBER_ROOM] = "";
    if (conditions->clock_error_hz > 0)
        number_frequency(error, sizeof error, conditions->clock_error_hz);
    if (conditions->clock_hz > 0)
        snprintf(text, sizeof text, "%s%s%s%s%s", number_frequency(clock, sizeof clock, conditions->clock_hz),
                 error[0] != '\0' ? " ±" : "", error, conditions->clock_source[0] != '\0' ? ", by " : "",
                 conditions->clock_source);
    put_condition(table, "clock", text[0] != '\0' ? text : "not known: no times");
}

static void put_overhead(struct html_table *table, const struct column *column)
{
    char name[CELL], text[CELL], number[NUMBER_ROOM], error[NUMBER_ROOM];
    if (column->unsupported[0] != '\0' || column_figures(column).count == 0)
        return;
    snprintf(name, sizeof name, "what a halt adds to %s", column->name);
    if (column->calibrated)
        snprintf(text, sizeof text, "%s ±%s, taken off", number_mean(number, column->overhead),
                 number_mean(error, column->plus_minus));
    put_condition(table, name, column->calibrated ? text : "not measured, and in the counts");
}

void page_conditions(FILE *out, const struct conditions *conditions, const struct column *columns, size_t n)
{
    static const char *const heads[] = {"condition", "in this run"};
    struct html_table table = {.out = out, .columns = heads, .n = 2, .named = true};
    page_heading(out, "conditions", "Conditions of measurement");
    html_table_begin(&table, "conditions", "What a reader needs to judge a number later");
    put_end(&table, "start", conditions->start, conditions->start_source, conditions->start_address);
    put_end(&table, "end", conditions->end, conditions->end_source, conditions->end_address);
    put_condition(&table, "core", conditions->core);
    put_condition(&table, "counter", conditions->counter);
    put_condition(&table, "probe", conditions->link);
    put_clock(&table, conditions);
    put_condition(&table, "program", conditions->elf);
    put_condition(&table, "build", conditions->build_id);
    put_condition(&table, "note", conditions->note);
    for (size_t i = 0; i < n; i++)
        put_overhead(&table, &columns[i]);
    put_condition(&table, "made by", "pmu-probe " PMU_PROBE_VERSION);
    html_table_end(&table);
    page_end_section(out);
}

/* ---- JSON lines */

bool page_lines_open(struct page_lines *lines)
{
    page_lines_free(lines);
    lines->out = open_memstream(&lines->text, &lines->size);
    return lines->out != NULL;
}

void page_lines_free(struct page_lines *lines)
{
    if (lines->out != NULL)
        fclose(lines->out);
    free(lines->text);
    *lines = (struct page_lines){0};
}

bool page_put_lines(FILE *out, struct page_lines *lines, uint64_t left_out)
{
    char number[NUMBER_ROOM], text[CELL];
    bool ok = lines->out != NULL && fclose(lines->out) == 0;
    lines->out = NULL;
    fputs("<details>\n<summary>The same as JSON lines</summary>\n", out);
    if (left_out > 0) {
        snprintf(text, sizeof text, "%s later hits are left out here.",
                 number_unsigned(number, sizeof number, left_out));
        html_element(out, "p", "faint", text);
    }
    fputs("<pre tabindex=\"0\">", out);
    if (ok)
        html_clean(out, lines->text);
    fputs("</pre>\n</details>\n", out);
    return ok;
}
