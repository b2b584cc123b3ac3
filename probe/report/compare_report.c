#include "report/compare_report.h"

#include "report/comparison_report.h"
#include "report/editor.h"
#include "report/junit.h"
#include "report/number.h"
#include "report/page.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <string.h>

enum { CELL = 1024 };

static struct run_lines run_of(const json_t *verdict)
{
    return run_lines(field_of(verdict, "run.header"), (json_t *)field_of(verdict, "run.summary"), verdict);
}

/* "fir_filter to its return, new.jsonl" */
static const char *pair_name(const json_t *verdict, bool with_file, char *out, size_t size)
{
    const char *file = with_file ? field_text(verdict, "file") : "";
    page_region(field_text(verdict, "region.start"), field_text(verdict, "region.end"), out, size);
    size_t used = strlen(out);
    if (file[0] != '\0' && used < size)
        snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", file);
    return out;
}

/* ---- text and others that have a part a pair */

static bool put_pair(const struct rendering *to, const json_t *verdict, size_t i)
{
    char name[CELL], clean[UTF8_CLEAN_ROOM(CELL)];
    const struct run_lines run = run_of(verdict);
    if (to->format == FORMAT_JUNIT)
        return junit_run(to->out, &run);
    if (i > 0)
        fputc('\n', to->out);
    if (to->format == FORMAT_MARKDOWN)
        return run_write_markdown(to, &run);
    fprintf(to->out, "%s\n", terminal_text(clean, sizeof clean, pair_name(verdict, true, name, sizeof name)));
    comparison_write(to, verdict);
    return true;
}

static bool put_pairs(const struct rendering *to, const json_t *verdicts, const json_t *summary)
{
    const char *mark = to->format == FORMAT_MARKDOWN ? "**" : "";
    size_t i;
    const json_t *verdict;
    bool ok = true;
    if (to->format == FORMAT_JUNIT)
        junit_begin(to->out);
    json_array_foreach(verdicts, i, verdict)
        ok = put_pair(to, verdict, i) && ok;
    if (to->format == FORMAT_JUNIT)
        return junit_end(to->out) && ok;
    if (json_array_size(verdicts) > 1) /* one alone has all of it */
        fprintf(to->out, "\n%s%s%s over all %zu\n", mark,
                verdict_name(verdict_by_name(field_text(summary, "verdict"))), mark,
                json_array_size(verdicts));
    return ok;
}

static bool compare_report_put_csv(const struct rendering *to, const json_t *verdicts)
{
    json_t *rows = json_array();
    size_t i;
    const json_t *verdict;
    bool ok = rows != NULL;
    json_array_foreach(verdicts, i, verdict) {
        const struct run_lines run = run_of(verdict);
        ok = run_add_rows(&run, true, rows) && ok;
    }
    return run_write_csv(to, rows, "judged") && ok;
}

static bool compare_report_put_gcc(const struct rendering *to, const json_t *verdicts)
{
    json_t *rows = json_array();
    size_t i;
    const json_t *verdict;
    bool ok = true;
    json_array_foreach(verdicts, i, verdict) {
        const struct run_lines run = run_of(verdict);
        ok = editor_add_run(rows, &run) && ok;
    }

    return render_table(to, &text_gcc, rows) && ok;
}

/* ---- the page */

static void put_notes(FILE *out, const json_t *verdict)
{
    char name[CELL], text[CELL];
    const char *is = field_text(verdict, "verdict");
    fputs("<li>", out);
    html_text(out, pair_name(verdict, true, name, sizeof name));
    comparison_against_text(verdict, text, sizeof text);
    fputc(' ', out);
    html_text(out, text);
    fputs(": <strong", out);
    html_attribute(out, "class", html_verdict_class(is));
    fputc('>', out);
    html_text(out, is);
    fputs("</strong>", out);
    if (field_of(verdict, "not_comparable") != NULL || field_of(verdict, "notes") != NULL) {
        fputs("\n<ul>\n", out);
        comparison_put_items(out, verdict);
        fputs("</ul>", out);
    }
    fputs("</li>\n", out);
}

static bool put_verdicts(FILE *out, const json_t *verdicts)
{
    double scale = 0;
    bool files = false, ok = true;
    char name[CELL];
    json_t *rows = json_array();
    size_t i;
    const json_t *verdict;
    json_array_foreach(verdicts, i, verdict) {
        comparison_widen(&scale, verdict);
        files = files ||
                strcmp(field_text(verdict, "file"), field_text(json_array_get(verdicts, 0), "file")) != 0;
    }
    json_array_foreach(verdicts, i, verdict)
        ok = comparison_add_rows(rows, verdict, pair_name(verdict, files, name, sizeof name), scale) && ok;
    return comparison_put_table(out, rows, "Each later run against the first", scale) && ok;
}

static bool compare_report_put_page(const struct rendering *to, const struct document *document,
                                    const json_t *verdicts, const struct page_command *command)
{
    char text[64];
    size_t i, n = json_array_size(verdicts);
    const json_t *verdict;
    text[0] = '\0';
    if (n > 1)
        snprintf(text, sizeof text, " over all %zu", n);
    const struct page page = {.to = to,
                              .title = "Comparison",
                              .verdict = field_text(document_line(document, "summary"), "verdict"),
                              .about_verdict = text,
                              .command = command,
                              .document = document};
    page_begin(&page);
    page_heading(to->out, "verdicts", "Verdicts");
    bool ok = put_verdicts(to->out, verdicts);
    page_end_section(to->out);
    page_heading(to->out, "runs", "What was compared");
    fputs("<ul class=\"notes\">\n", to->out);
    json_array_foreach(verdicts, i, verdict)
        put_notes(to->out, verdict);
    fputs("</ul>\n", to->out);
    page_end_section(to->out);
    return page_end(&page) && ok;
}

bool compare_write(const struct rendering *to, const struct document *document,
                   const struct page_command *command)
{
    json_t *verdicts = document_rows(document, "verdict", NULL);
    bool ok = document->ok && verdicts != NULL;
    if (ok && to->format == FORMAT_JSON)
        ok = document_write(to->out, document);
    else if (ok)
        ok = to->format == FORMAT_CSV    ? compare_report_put_csv(to, verdicts)
             : to->format == FORMAT_GCC  ? compare_report_put_gcc(to, verdicts)
             : to->format == FORMAT_HTML ? compare_report_put_page(to, document, verdicts, command)
                                         : put_pairs(to, verdicts, document_line(document, "summary"));
    json_decref(verdicts);
    return fflush(to->out) == 0 && !ferror(to->out) && ok;
}
