#include "report/compare_page.h"

#include "report/json.h"
#include "report/number.h"

#include <string.h>

enum { CELL = 1024 };

void compare_page_look(struct compare_page *page, const struct comparison *comparison)
{
    page_verdicts_look(&page->verdicts, comparison);
    page->verdict = page->n == 0 ? comparison->verdict : verdict_both(page->verdict, comparison->verdict);
    page->n++;
}

bool compare_page_begin(struct compare_page *page, FILE *out)
{
    char text[64];
    page->out = out;
    page->verdicts.regions = true;
    if (!page_lines_open(&page->lines) || !page_lines_open(&page->notes) ||
        !json_command_header(page->lines.out, "compare", ""))
        return false;
    html_begin_still(out, "Comparison");
    snprintf(text, sizeof text, " over all %zu", page->n);
    page_verdict(out, page->verdict, page->n > 1 ? text : "");
    page_heading(out, "verdicts", "Verdicts");
    page_verdicts_begin(&page->verdicts, out, "Each later run against the first");
    return true;
}

/* Its notes come below the table. */
static void put_notes(struct compare_page *page, const struct comparison *comparison)
{
    char name[CELL], text[2 * CELL], part[NUMBER_ROOM];
    page_region(comparison->start, comparison->end, name, sizeof name);
    snprintf(text, sizeof text, "%s%s%s against %s%s%s, threshold %s", name, name[0] != '\0' ? ", " : "",
             comparison->file_now, comparison->file, comparison->started[0] != '\0' ? " of " : "",
             comparison->started, number_part(part, comparison->threshold));
    fputs("<li>", page->notes.out);
    html_text(page->notes.out, text);
    fputs(": <strong", page->notes.out);
    html_attribute(page->notes.out, "class", page_verdict_class(comparison->verdict));
    fputc('>', page->notes.out);
    html_text(page->notes.out, verdict_name(comparison->verdict));
    fputs("</strong>", page->notes.out);
    if (comparison->n_reasons + comparison->n_notes > 0) {
        fputs("\n<ul>\n", page->notes.out);
        page_comparison_notes(page->notes.out, comparison);
        fputs("</ul>", page->notes.out);
    }
    fputs("</li>\n", page->notes.out);
}

bool compare_page_put(struct compare_page *page, const struct comparison *comparison)
{
    page_verdicts_put(&page->verdicts, comparison);
    put_notes(page, comparison);
    return comparison_json(page->lines.out, comparison);
}

bool compare_page_end(struct compare_page *page, const struct page_command *command)
{
    FILE *out = page->out;
    bool ok = page->notes.out != NULL && fclose(page->notes.out) == 0;
    page->notes.out = NULL;
    page_verdicts_end(&page->verdicts);
    page_end_section(out);
    page_heading(out, "runs", "What was compared");
    fputs("<ul class=\"notes\">\n", out);
    if (ok)
        fputs(page->notes.text, out); /* markup already */
    fputs("</ul>\n", out);
    page_end_section(out);
    page_repeat(out, command);
    ok = page_put_lines(out, &page->lines, 0) && ok;
    html_end_still(out);
    compare_page_free(page);
    return fflush(out) == 0 && !ferror(out) && ok;
}

void compare_page_free(struct compare_page *page)
{
    page_lines_free(&page->lines);
    page_lines_free(&page->notes);
}
