#include "report/profile_page.h"

#include "report/annotation_table.h"
#include "report/flame_svg.h"
#include "report/html.h"
#include "report/number.h"
#include "report/profile_notes.h"

#include <inttypes.h>
#include <string.h>

enum { CELL = 512, CODE_COLUMNS = 5 };

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

static void put_notes(FILE *out, const struct profile_notes *notes)
{
    if (notes->n == 0)
        return;
    fputs("<ul class=\"notes\">\n", out);
    for (size_t i = 0; i < notes->n; i++)
        html_element(out, "li", NULL, notes->text[i]);
    fputs("</ul>\n", out);
}

/* ---- head and graph */

static void put_head(FILE *out, const struct profile_page *page)
{
    const struct profile_about *about = &page->report->profile->about;
    const char *pieces[] = {text_of(about->date), text_of(about->probe), text_of(page->report->elf)};
    struct profile_notes notes = {0};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i][0] != '\0')
            html_element(out, "p", "faint", pieces[i]);
    profile_notes_of_run(&notes, page->report->profile, page->report->file, page->report->no_names);
    put_notes(out, &notes);
}

static void put_graph(FILE *out, const struct profile_page *page)
{
    const struct flame_svg svg = {
        .flame = page->flame, .stacks = page->stacks, .about = &page->report->profile->about};
    fputs("<section aria-labelledby=\"graph\">\n<h2 id=\"graph\">Flame graph</h2>\n"
          "<form id=\"tools\" role=\"search\" hidden>\n"
          "<label for=\"search\">Search</label><input id=\"search\" type=\"search\" "
          "placeholder=\"function or line\" autocomplete=\"off\">\n"
          "<button id=\"reset\" type=\"button\">Show all</button>\n"
          "<output id=\"found\" for=\"search\" aria-live=\"polite\"></output>\n"
          "<span class=\"faint\">Click a frame to zoom in; Escape shows all.</span>\n</form>\n<figure>\n",
          out);
    size_t left_out = flame_svg(out, &svg);
    fputs("</figure>\n", out);
    if (left_out > 0)
        fprintf(out, "<p class=\"faint\">Frames below 0.01 %% of the samples, left out: %zu.</p>\n",
                left_out);
    fputs("</section>\n", out);
}

/* ---- tables */

static void put_shares(FILE *out, const struct shares *shares)
{
    static const char *const columns[] = {"share", "±", "samples", "function", "source"};
    struct html_table table = {.out = out, .columns = columns, .n = 5, .numbers = 3};
    char text[NUMBER_ROOM];
    html_table_begin(&table, "shares",
                     "Functions by their share of the samples; ± in percent points, with 95 %");
    for (size_t i = 0; i < shares->n; i++) {
        const struct share *row = &shares->rows[i];
        bool is_state = row->state != PROFILE_STATES;
        char address[NUMBER_ROOM] = "[unknown]";
        if (shares->sort == SHARES_ADDRESS)
            snprintf(address, sizeof address, "0x%08" PRIx64, row->address);
        html_row(&table, NULL);
        html_cell(&table, NULL, number_share(text, row->part));
        html_cell(&table, NULL, number_points(text, row->plus_minus));
        html_cell(&table, NULL, number_unsigned(text, sizeof text, row->samples));
        html_cell(&table, NULL,
                  is_state                ? shares_state_name(row->state)
                  : row->function != NULL ? row->function
                                          : address);
        html_cell(&table, NULL, text_of(row->source));
    }
    html_table_end(&table);
}

static void put_core(FILE *out, const struct profile_page *page, size_t i)
{
    const struct shares *shares = &page->report->shares[i];
    const struct profile_about *about = &page->report->profile->about;
    struct profile_notes notes = {0};
    char text[CELL], samples[NUMBER_ROOM], time[NUMBER_ROOM];
    snprintf(text, sizeof text, "Core %u %.100s", profile_core_number(about, (unsigned)i),
             text_of(about->cores[i]));
    fputs("<section>\n", out);
    html_element(out, "h2", NULL, text);
    snprintf(text, sizeof text, "%s samples in %s%s%.60s",
             number_unsigned(samples, sizeof samples, shares->samples),
             number_elapsed(time, sizeof time, shares->seconds), about->source != NULL ? ", by " : "",
             text_of(about->source));
    html_element(out, "p", "faint", text);
    if (shares->n > 0)
        put_shares(out, shares);
    profile_notes_of_core(&notes, shares);
    put_notes(out, &notes);
    fputs("</section>\n", out);
}

/* ---- source */

static const char *heat_of(uint64_t samples, uint64_t of)
{
    double part = of > 0 ? (double)samples / (double)of : 0;
    return part >= 0.2 ? "h3" : part >= 0.05 ? "h2" : part >= 0.01 ? "h1" : NULL;
}

static void put_code_row(struct html_table *table, const struct annotation *core, uint64_t samples,
                         const char *plus_minus, const char *where, const char *text)
{
    char number[NUMBER_ROOM];
    double part = core->samples > 0 ? (double)samples / (double)core->samples : 0;
    html_cell(table, heat_of(samples, core->samples), samples > 0 ? number_share(number, part) : "");
    html_cell(table, NULL, plus_minus);
    html_cell(table, NULL, samples > 0 ? number_unsigned(number, sizeof number, samples) : "");
    html_cell(table, NULL, where);
    html_cell(table, NULL, text);
}

static void put_line(struct html_table *table, const struct annotated_function *function,
                     const struct annotation *core, const struct annotated_line *line, bool exact)
{
    char error[NUMBER_ROOM], where[NUMBER_ROOM] = "";
    const char *text = "";
    if (line->line > 0)
        snprintf(where, sizeof where, "%u%s", line->line, line->at_border && !exact ? " ~" : "");
    if (line->file != LISTING_NO_FILE)
        text = text_of(source_text_line(&function->texts[line->file], line->line));
    html_row(table, NULL);
    put_code_row(table, core, line->samples, line->samples > 0 ? number_points(error, line->plus_minus) : "",
                 where, text);
}

static void put_instructions(struct html_table *table, const struct annotated_function *function,
                             const struct annotation *core, size_t line)
{
    for (size_t i = 0; i < function->listing.n; i++) {
        char where[NUMBER_ROOM], text[LISTING_TEXT + 8];
        if (core->line_of[i] != line)
            continue;
        snprintf(where, sizeof where, "0x%08" PRIx64, function->listing.rows[i].address);
        snprintf(text, sizeof text, "    %s", function->listing.rows[i].text);
        html_row(table, "i");
        put_code_row(table, core, core->row_samples[i], "", where, text);
    }
}

/* As a row over all columns. */
static void put_file(struct html_table *table, const struct annotated_function *function, size_t file)
{
    const char *path = file == LISTING_NO_FILE              ? "no line"
                       : function->texts[file].path != NULL ? function->texts[file].path
                                                            : function->listing.files[file];
    html_row(table, NULL);
    fprintf(table->out, "<th scope=\"rowgroup\" colspan=\"%d\">", CODE_COLUMNS);
    html_text(table->out, path);
    fputs("</th>", table->out);
}

static void put_code(FILE *out, const struct annotated_function *function, const struct annotation *core,
                     bool exact)
{
    static const char *const columns[CODE_COLUMNS] = {"share", "±", "samples", "line", "code"};
    struct html_table table = {.out = out, .columns = columns, .n = CODE_COLUMNS, .numbers = 4};
    html_table_begin(&table, "code",
                     "Lines, and below each its instructions; shares of the function's samples");
    for (size_t i = 0; i < core->line_count; i++) {
        if (i == 0 || core->lines[i].file != core->lines[i - 1].file)
            put_file(&table, function, core->lines[i].file);
        if (core->lines[i].line > 0)
            put_line(&table, function, core, &core->lines[i], exact);
        put_instructions(&table, function, core, i);
    }
    html_table_end(&table);
}

static void put_function(FILE *out, const struct profile_page *page,
                         const struct annotated_function *function, bool open)
{
    const struct profile *profile = page->report->profile;
    bool exact = annotation_is_exact(profile);
    for (size_t i = 0; i < function->core_count; i++) {
        const struct annotation *core = &function->cores[i];
        struct profile_notes notes = {0};
        char share[NUMBER_ROOM], error[NUMBER_ROOM], text[sizeof function->at.name + CELL],
            number[NUMBER_ROOM];
        if (core->samples == 0)
            continue;
        snprintf(text, sizeof text, "%s  %s ±%s, %s samples", function->at.name,
                 number_share(share, core->part), number_points(error, core->plus_minus),
                 number_unsigned(number, sizeof number, core->samples));
        if (function->core_count > 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), ", core %u",
                     profile_core_number(&profile->about, (unsigned)i));
        fprintf(out, "<details%s>\n", open ? " open" : "");
        html_element(out, "summary", NULL, text);
        put_code(out, function, core, exact);
        annotation_notes(&notes, function, core, exact);
        put_notes(out, &notes);
        fputs("</details>\n", out);
    }
}

bool profile_page(FILE *out, const struct profile_page *page)
{
    char title[CELL];
    snprintf(title, sizeof title, "Profile %.400s", page->report->file);
    html_begin(out, title);
    put_head(out, page);
    put_graph(out, page);
    for (size_t i = 0; i < page->report->n; i++)
        put_core(out, page, i);
    if (page->n > 0)
        fputs("<section>\n<h2>Source of the hottest functions</h2>\n", out);
    for (size_t i = 0; i < page->n; i++)
        put_function(out, page, &page->functions[i], i == 0);
    if (page->n > 0)
        fputs("</section>\n", out);
    html_end(out);
    return fflush(out) == 0 && !ferror(out);
}
