/* SPDX-License-Identifier: MIT */
#include "report/page.h"

#include "base/values.h"
#include "report/html.h"
#include "report/number.h"
#include "report/terminal.h"
#include "version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* As a POSIX shell reads it back. */
static void page_command_put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        html_text(out, word);
        return;
    }
    html_text(out, "'");
    for (const char *at = word; *at != '\0';) {
        char piece[256];
        size_t length = strcspn(at, "'");
        if (length >= sizeof piece)
            length = sizeof piece - 1;
        memcpy(piece, at, length);
        piece[length] = '\0';
        html_text(out, piece);
        at += length;
        if (*at == '\'') {
            html_text(out, "'\\''");
            at++;
        }
    }
    html_text(out, "'");
}

/* Its section. */
static void page_repeat(FILE *out, const struct page_command *command)
{
    page_heading(out, "repeat", "To repeat it");
    fputs("<pre class=\"command\">", out);
    if (command->probe != NULL) {
        fputs("PMU_PROBE=", out);
        page_command_put_word(out, command->probe);
        fputc(' ', out);
    }
    fputs("pmu-probe", out);
    for (int i = 1; i < command->n; i++) {
        fputc(' ', out);
        page_command_put_word(out, command->words[i]);
    }
    fputs("</pre>\n", out);
    if (command->has_conf)
        html_element(out, "p", "faint", "Settings of a pmu-probe.conf count, too.");
    page_end_section(out);
}

/* ---- page */

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

/* ---- the head */

static void put_about(FILE *out, const struct conditions *conditions)
{
    const char *const pieces[] = {conditions->core, conditions->counter, conditions->link};
    char text[CELL] = "";
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        text_join(text, sizeof text, ", ", pieces[i]);
    if (text[0] != '\0')
        html_element(out, "p", "faint", text);
}

/* What to do about a verdict other than pass. */
static void page_put_todo(FILE *out, const char *verdict, const char *why, bool by_budget)
{
    static const struct {
        const char *verdict, *against_baseline, *by_budget;
    } helps[] = {
        {"regressed", "pmu-probe lines, in both builds.", "pmu-probe lines shows which lines cost most."},
        {"inconclusive", "measure more hits, or allow a larger threshold.", "measure longer."},
        {"not comparable", "write the baseline anew in the same way.", ""},
    };
    char text[2 * CELL];
    const char *todo = "";
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++)
        if (strcmp(verdict, helps[i].verdict) == 0)
            todo = by_budget ? helps[i].by_budget : helps[i].against_baseline;
    snprintf(text, sizeof text, "%s%s%s%s", why, why[0] != '\0' && todo[0] != '\0' ? ". " : "",
             todo[0] != '\0' ? "What to do: " : "", todo);
    if (text[0] != '\0')
        html_element(out, "p", "todo", text);
}

void page_begin(const struct page *page)
{
    if (page->to->format != FORMAT_HTML)
        return;
    html_begin(page->to->out, page->title, page->searched);
    if (page->conditions != NULL)
        put_about(page->to->out, page->conditions);
    if (page->verdict == NULL || page->verdict[0] == '\0')
        return;
    fprintf(page->to->out, "<p><strong class=\"badge %s\">", html_verdict_class(page->verdict));
    html_text(page->to->out, page->verdict);
    fputs("</strong>", page->to->out);
    html_text(page->to->out, page->about_verdict);
    fputs("</p>\n", page->to->out);
    page_put_todo(page->to->out, page->verdict, or_empty(page->why), page->by_budget);
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

static void page_put_end(struct html_table *table, const char *name, const char *at, const char *source,
                         uint64_t address)
{
    char text[CELL] = "", number[NUMBER_ROOM] = "";
    source = strcmp(source, at) != 0 ? source : "";
    if (address != 0)
        snprintf(number, sizeof number, ", 0x%08" PRIx64, address);
    if (at[0] != '\0')
        snprintf(text, sizeof text, "%s%s%s%s", at, number, source[0] != '\0' ? ", " : "", source);
    put_condition(table, name, text);
}

static void page_put_clock(struct html_table *table, const struct conditions *conditions)
{
    char text[CELL] = "";
    if (conditions->clock_hz > 0) {
        text_join(text, sizeof text, "", FREQUENCY(conditions->clock_hz));
        text_join(text, sizeof text, " ±",
                  conditions->clock_error_hz > 0 ? FREQUENCY(conditions->clock_error_hz) : "");
        text_join(text, sizeof text, ", by ", conditions->clock_source);
    }
    put_condition(table, "clock", text[0] != '\0' ? text : "not known: no times");
}

static void put_overheads(struct html_table *table, const json_t *columns)
{
    char name[CELL], text[CELL];
    const char *key;
    json_t *column;
    json_object_foreach((json_t *)columns, key, column) {
        bool known = json_is_true(field_of(column, "calibrated"));
        if (!run_is_counted(column))
            continue;
        snprintf(name, sizeof name, "what a halt adds to %s", key);
        if (known)
            snprintf(text, sizeof text, "%s ±%s, taken off", MEAN(field_real(column, "overhead")),
                     PLUS_MINUS(field_real(column, "plus_minus")));
        put_condition(table, name, known ? text : "not measured, and in the counts");
    }
}

static void put_conditions(const struct page *page)
{
    static const char *const heads[] = {"condition", "in this run"};
    const struct conditions *conditions = page->conditions;
    struct html_table table = {.out = page->to->out, .columns = heads, .n = 2, .named = true};
    page_heading(page->to->out, "conditions", "Conditions of measurement");
    html_table_begin(&table, "conditions", "How it was measured");
    page_put_end(&table, "start", conditions->start, conditions->start_source, conditions->start_address);
    page_put_end(&table, "end", conditions->end, conditions->end_source, conditions->end_address);
    put_condition(&table, "core", conditions->core);
    put_condition(&table, "counter", conditions->counter);
    put_condition(&table, "probe", conditions->link);
    page_put_clock(&table, conditions);
    put_condition(&table, "program", conditions->elf);
    put_condition(&table, "build", conditions->build_id);
    put_condition(&table, "note", conditions->note);
    put_overheads(&table, page->columns);
    put_condition(&table, "made by", "pmu-probe " PMU_PROBE_VERSION);
    html_table_end(&table);
    page_end_section(page->to->out);
}

/* ---- JSON lines */

static bool page_put_lines(const struct page *page)
{
    char text[CELL], *lines = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&lines, &size);
    bool ok = to != NULL && document_write(to, page->document);
    ok = (to == NULL || fclose(to) == 0) && ok;
    fputs("<details>\n<summary>The same as JSON lines</summary>\n", page->to->out);
    if (page->left_out > 0) {
        snprintf(text, sizeof text, "%s later hit%s left out here.", NUMBER(page->left_out),
                 page->left_out == 1 ? " is" : "s are");
        html_element(page->to->out, "p", "faint", text);
    }
    fputs("<pre tabindex=\"0\">", page->to->out);
    if (ok)
        html_clean(page->to->out, lines);
    fputs("</pre>\n</details>\n", page->to->out);
    free(lines);
    return ok;
}

bool page_end(const struct page *page)
{
    bool is_page = page->to->format == FORMAT_HTML, ok = true;
    if (is_page && page->conditions != NULL)
        put_conditions(page);
    if (is_page && page->to->command != NULL)
        page_repeat(page->to->out, page->to->command);
    if (is_page) {
        ok = page_put_lines(page);
        html_end(page->to->out, page->searched);
    }
    return output_flush(page->to->out) && ok;
}
