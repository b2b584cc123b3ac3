/* SPDX-License-Identifier: MIT */
#include "report/html.h"

#include <string.h>

#include "base/values.h"
#include "page_hashes.h"
#include "report/terminal.h"

static const char style[] =
#include "page_css.h"
    ;
static const char plots[] =
#include "plots_css.h"
    ;
static const char script[] =
#include "page_js.h"
    ;
static const char sorts[] =
#include "sort_js.h"
    ;

void html_clean(FILE *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        switch (*at) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*at, out);
        }
}

void html_text(FILE *out, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(HTML_TEXT)];
    html_clean(out, utf8_clean(clean, sizeof clean, text));
}

void html_attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    html_text(out, value);
    fputc('"', out);
}

void html_element(FILE *out, const char *tag, const char *class, const char *text)
{
    fprintf(out, "<%s", tag);
    if (class != NULL)
        html_attribute(out, "class", class);
    fputc('>', out);
    html_text(out, text);
    fprintf(out, "</%s>\n", tag);
}

/* Style and script are allowed by their hashes: what slipped in as markup would not run, and could not fetch
 * anything. */
void html_begin(FILE *out, const char *title, bool searched)
{
    fprintf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '" PAGE_STYLE
        "'%s; script-src '" SORT_SCRIPT "'%s; "
        "base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n",
        searched ? "" : " '" PLOTS_STYLE "'", searched ? " '" PAGE_SCRIPT "'" : "");
    html_element(out, "title", NULL, title);
    fprintf(out, "<style>%s</style>\n", style);
    if (!searched)
        fprintf(out, "<style>%s</style>\n", plots);
    fputs("</head>\n<body>\n<main>\n", out);
    html_element(out, "h1", NULL, title);
}

void html_end(FILE *out, bool searched)
{
    fprintf(out, "</main>\n<script>%s</script>\n", sorts);
    if (searched)
        fprintf(out, "<script>%s</script>\n", script);
    fputs("</body>\n</html>\n", out);
}

const char *html_verdict_class(const char *verdict)
{
    return strcmp(verdict, "pass") == 0        ? "pass"
           : strcmp(verdict, "regressed") == 0 ? "regressed"
                                               : "undecided";
}

static const char *html_kind_of(const struct html_table *table)
{
    return table->at >= table->texts && table->at < table->texts + table->numbers ? "n" : "t";
}

void html_table_begin(struct html_table *table, const char *class, const char *caption)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\"", table->out); /* keys scroll it */
    html_attribute(table->out, "aria-label", caption);
    fputs("><table", table->out);
    html_attribute(table->out, "class", class);
    fputs(">\n", table->out);
    html_element(table->out, "caption", NULL, caption);
    fputs("<thead><tr>", table->out);
    for (table->at = 0; table->at < table->n; table->at++) {
        const char *heading = table->columns[table->at]; /* a column of marks has none */
        fprintf(table->out, heading[0] != '\0' ? "<th scope=\"col\" class=\"%s\">" : "<td class=\"%s\">",
                html_kind_of(table));
        html_text(table->out, heading);
        fputs(heading[0] != '\0' ? "</th>" : "</td>", table->out);
    }
    fputs("</tr></thead>\n<tbody>", table->out);
}

static void end_row(struct html_table *table)
{
    fputs(table->in_row ? "</tr>\n" : "\n", table->out);
}

void html_row(struct html_table *table, const char *class)
{
    end_row(table);
    table->in_row = true;
    fputs("<tr", table->out);
    if (class != NULL)
        html_attribute(table->out, "class", class);
    fputc('>', table->out);
    table->at = 0;
}

static bool is_name(const struct html_table *table)
{
    return table->named && table->at == 0;
}

void html_cell_begin(struct html_table *table, const char *mark)
{
    fprintf(table->out, "<%s class=\"%s%s%s\">", is_name(table) ? "th scope=\"row\"" : "td",
            html_kind_of(table), mark != NULL ? " " : "", or_empty(mark));
}

void html_cell_end(struct html_table *table)
{
    fputs(is_name(table) ? "</th>" : "</td>", table->out);
    table->at++;
}

void html_cell(struct html_table *table, const char *mark, const char *text)
{
    html_cell_begin(table, mark);
    html_text(table->out, text);
    html_cell_end(table);
}

void html_cell_over(struct html_table *table, size_t columns, const char *text)
{
    fputs("<td class=\"over\"", table->out);
    if (columns > 1)
        fprintf(table->out, " colspan=\"%zu\"", columns);
    fputc('>', table->out);
    html_text(table->out, text);
    fputs("</td>", table->out);
    table->at += columns;
}

void html_table_end(struct html_table *table)
{
    end_row(table);
    fputs("</tbody></table></div>\n", table->out);
}
