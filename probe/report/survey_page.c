#include "report/survey_report.h"

#include "report/page.h"

enum { CELL = 1024 };

static void put_check(struct html_table *table, const struct survey_check *check)
{
    char numbers[CELL], words[CELL];
    survey_numbers(check, numbers, sizeof numbers);
    survey_describe(check, words, sizeof words);
    html_row(table, NULL);
    html_cell(table, NULL, field_text(check->region, "name"));
    html_cell(table, NULL, check->name);
    html_cell(table, NULL, numbers);
    html_cell(table, html_verdict_class(check->verdict), words);
}

static void put_checks(FILE *out, const struct survey_lines *lines)
{
    static const char *const columns[] = {"region", "budget or counter", "found", "verdict"};
    struct html_table table = {
        .out = out, .columns = columns, .n = 4, .texts = 2, .numbers = 1, .named = true};
    struct survey_check check;
    size_t i;
    const json_t *region;
    if (field_of(lines->summary, "verdict") == NULL)
        return;
    page_heading(out, "verdicts", "Verdicts");
    html_table_begin(&table, "checks", "By region: its budget, and against the baseline");
    json_array_foreach(lines->regions, i, region)
    {
        for (size_t k = 0; survey_take_check(region, json_array_get(lines->verdicts, i), k, &check); k++)
            put_check(&table, &check);
    }

    html_table_end(&table);
    page_end_section(out);
}

/* What a halt adds is shown for the first region that has hits. */
static const json_t *columns_of(const struct survey_lines *lines)
{
    size_t i;
    const json_t *region;
    json_array_foreach(lines->regions, i, region)
    {
        if (field_of(region, "columns") != NULL)
            return field_of(region, "columns");
    }

    return NULL;
}

bool survey_page(const struct rendering *to, const struct survey_report *report,
                 const struct survey_lines *lines)
{
    char title[64];
    size_t n = json_array_size(lines->regions);
    snprintf(title, sizeof title, "Survey of %zu region%s", n, n == 1 ? "" : "s");
    const struct page page = {.to = to,
                              .title = title,
                              .conditions = &lines->conditions,
                              .verdict = field_text(lines->summary, "verdict"),
                              .about_verdict = " over all",
                              .columns = columns_of(lines),
                              .command = report->command,
                              .document = report->document};
    page_begin(&page);
    put_checks(to->out, lines);
    page_heading(to->out, "numbers", "All regions, largest share first");
    bool ok = survey_tables(to, lines);
    ok = run_put_notes(to, survey_notes(lines)) && ok;
    page_end_section(to->out);
    return page_end(&page) && ok;
}
