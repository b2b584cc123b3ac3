#include "base/values.h"
#include "report/survey_report.h"

#include "report/comparison_report.h"
#include "report/page.h"
#include "report/views.h"

enum { CELL = 1024 };

static bool put_checks(const struct rendering *to, const struct survey_lines *lines)
{
    struct check check;
    size_t i;
    const json_t *region;
    if (field_of(lines->summary, "verdict") == NULL)
        return true;
    struct document rows = document_new();
    page_heading(to->out, "verdicts", "Verdicts");
    json_array_foreach(lines->regions, i, region) {
        for (size_t k = 0; check_take(region, json_array_get(lines->verdicts, i), k, &check); k++) {
            struct json_part row = json_part_new(NULL);
            json_t *list = json_array();
            char numbers[CELL], words[CELL];
            check_numbers(&check, numbers, sizeof numbers);
            check_words(&check, words, sizeof words);
            row_text(&row, "region", field_text(region, "name"));
            row_text(&row, "name", check.name);
            row_text(&row, "found", numbers);
            check_append(&row, list, "", check.verdict, words, "");
            json_part_array(&row, "verdict", list);
            document_add(&rows, row);
        }
    }
    bool ok = rows.ok && render_table(to, &check_view, json_incref(rows.lines));
    document_free(&rows);
    page_end_section(to->out);
    return ok;
}

/* What a halt adds is shown for the first region that has hits. */
static const json_t *survey_page_columns_of(const struct survey_lines *lines)
{
    size_t i;
    const json_t *region;
    json_array_foreach(lines->regions, i, region)
        if (field_of(region, "columns") != NULL)
            return field_of(region, "columns");
    return NULL;
}

bool survey_page(const struct rendering *to, const struct survey_report *report,
                 const struct survey_lines *lines)
{
    char title[64];
    size_t n = json_array_size(lines->regions);
    snprintf(title, sizeof title, "Survey of %zu region%s", n, PLURAL(n));
    const struct page page = {.to = to,
                              .title = title,
                              .conditions = &lines->conditions,
                              .verdict = field_text(lines->summary, "verdict"),
                              .about_verdict = " over all",
                              .columns = survey_page_columns_of(lines),
                              .command = report->command,
                              .document = report->document};
    page_begin(&page);
    bool ok = put_checks(to, lines);
    page_heading(to->out, "numbers", "All regions, largest share first");
    ok = survey_tables(to, lines) && ok;
    ok = run_put_notes(to, survey_notes(lines)) && ok;
    page_end_section(to->out);
    return page_end(&page) && ok;
}
