#include "report/profile_page.h"

#include "base/values.h"
#include "report/annotation_table.h"
#include "report/flame_svg.h"
#include "report/number.h"
#include "report/page.h"

#include <inttypes.h>
#include <string.h>

enum { CELL = 512 };

static void put_graph(FILE *out, const struct profile_page *page)
{
    const struct flame_svg svg = {
        .flame = page->flame, .stacks = page->stacks, .about = &page->report->profile->about};
    page_heading(out, "graph", "Flame graph");
    fputs("<form id=\"tools\" role=\"search\" hidden>\n"
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
    page_end_section(out);
}

/* ---- source */

static bool profile_page_put_function(const struct rendering *to, const struct profile_page *page,
                                      const struct annotated_function *of, bool open)
{
    const struct annotation_report report = {.profile = page->report->profile, .function = of};
    struct document document = document_new();
    size_t i;
    annotation_add(&document, &report);
    json_t *cores = document_rows(&document, "function", NULL), *line;
    bool ok = document.ok && cores != NULL;
    json_array_foreach(cores, i, line) {
        char share[NUMBER_ROOM], error[NUMBER_ROOM], text[2 * CELL];
        uint64_t samples = field_count(line, "samples");
        if (samples == 0)
            continue;
        snprintf(text, sizeof text, "%.512s  %s ±%s, %s sample%s", field_text(line, "function"),
                 number_share(share, field_real(line, "share")),
                 number_points(error, field_real(line, "plus_minus")), NUMBER(samples), PLURAL(samples));
        if (of->core_count > 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), ", core %" PRIu64,
                     field_count(line, "core"));
        fprintf(to->out, "<details%s>\n", open ? " open" : "");
        html_element(to->out, "summary", NULL, text);
        ok = annotation_put_code(to, &document, line) && ok;
        render_notes(to, field_of(line, "notes"));
        fputs("</details>\n", to->out);
    }
    json_decref(cores);
    document_free(&document);
    return ok;
}

bool profile_page(FILE *out, const struct profile_page *page)
{
    const struct rendering to = {.out = out, .format = FORMAT_HTML};
    struct document document = profile_document(page->report);
    bool ok = document.ok;
    char title[CELL];
    snprintf(title, sizeof title, "Profile %.400s", page->report->file);
    const struct page shell = {
        .to = &to, .title = title, .command = page->report->command, .document = &document, .searched = true};
    page_begin(&shell);
    profile_put_head(&to, &document);
    put_graph(out, page);
    ok = ok && profile_put_cores(&to, &document);
    if (page->n > 0)
        page_heading(out, "source", "Source of the hottest functions");
    for (size_t i = 0; i < page->n && ok; i++)
        ok = profile_page_put_function(&to, page, &page->functions[i], i == 0);
    if (page->n > 0)
        page_end_section(out);
    ok = page_end(&shell) && ok;
    document_free(&document);
    return ok;
}
