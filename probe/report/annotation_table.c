/* SPDX-License-Identifier: MIT */
#include "report/annotation_table.h"

#include "base/values.h"
#include "report/number.h"
#include "report/page.h"
#include "report/plots.h"
#include "report/terminal.h"
#include "report/views.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 64, NAME = 512, PLACE = 4096, GAP = 4, NOTES_MOST = 16 };

/* ---- notes */

static bool has_no_skid(const struct profile *profile)
{
    return profile->about.by_block || strcmp(or_empty(profile->about.source), "halts") == 0;
}

static void note_texts(struct json_part *notes, const struct annotated_function *function)
{
    const struct listing *listing = &function->listing;
    if (listing->file_count == 0)
        json_list_say(notes, "This function has no lines: compile it with -g.");
    for (size_t i = 0; i < listing->file_count && json_array_size(notes->json) < NOTES_MOST; i++) {
        const struct source_text *text = &function->texts[i];
        if (text->path == NULL)
            json_list_say(notes, "%.300s was not found: lines are without text.", listing->files[i]);
        else if (function->built != 0 && text->changed > function->built)
            json_list_say(notes, "%.300s is newer than the program: lines may have moved.", text->path);
    }
}

static void annotation_table_note_core(struct json_part *notes, const struct profile *profile,
                                       const struct annotated_function *function,
                                       const struct annotation *core)
{
    bool borders = false, lines = false, exact = has_no_skid(profile);
    for (size_t i = 0; i < core->line_count; i++) {
        borders = borders || core->lines[i].at_border;
        lines = lines || core->lines[i].line > 0;
    }
    if (core->is_few && core->samples > 0)
        json_list_say(notes, PROFILE_FEW);
    if (core->is_sparse && !profile->about.by_block)
        json_list_say(notes, PROFILE_SPARSE);
    if (core->samples > 0 && !exact && lines)
        json_list_say(notes,
                      "A sample may be at a neighbouring instruction (skid): trust lines, not instructions.");
    if (borders && !exact && lines)
        json_list_say(notes, "~: most samples of this line are at its border: trust both lines together.");
    note_texts(notes, function);
}

static void json_place(struct json_part *line, const struct annotated_function *function, size_t file,
                       unsigned number)
{
    if (number == 0)
        return;
    if (file != LISTING_NO_FILE) {
        const char *name = function->listing.files[file], *path = function->texts[file].path;
        json_part_text(line, "file", name);
        if (path != NULL && strcmp(path, name) != 0)
            json_part_text(line, "found", path);
    }
    json_part_unsigned(line, "line", number);
}

static void json_share(struct json_part *line, uint64_t samples, uint64_t of)
{
    json_part_unsigned(line, "samples", samples);
    json_part_real(line, "share", of > 0 ? (double)samples / (double)of : 0);
}

static struct json_part function_line(const struct annotation_report *report, const struct annotation *core)
{
    const struct location *at = &report->function->at;
    struct json_part line = json_part_new("function");
    struct json_part notes = json_list_new();
    json_part_unsigned(&line, "core", profile_core_number(&report->profile->about, core->core));
    json_part_text(&line, "name", or_empty(report->profile->about.cores[core->core]));
    json_part_text(&line, "function", at->name);
    json_part_text(&line, "source", at->source);
    json_part_hex(&line, "address", at->low);
    json_part_unsigned(&line, "bytes", at->high - at->low);
    json_part_unsigned(&line, "samples", core->samples);
    json_part_unsigned(&line, "core_samples", core->core_samples);
    json_part_real(&line, "share", core->part);
    json_part_real(&line, "plus_minus", core->plus_minus);
    json_part_unsigned(&line, "files", report->function->listing.file_count);
    json_part_some(&line, "hot", report->hot);
    annotation_table_note_core(&notes, report->profile, report->function, core);
    json_part_object(&line, "notes", notes);
    return line;
}

/* The lines without code above it, where they are few. */
static void json_before(struct json_part *line, const struct annotation_report *report,
                        const struct annotated_line *before, const struct annotated_line *row)
{
    json_t *texts = json_array();
    const struct source_text *of = report->function->texts;
    bool near = row->file == before->file && row->line - before->line <= GAP + 1;
    for (unsigned number = before->line + 1; near && number < row->line && of[row->file].path != NULL;
         number++)
        json_part_append(line, texts, json_part_string(or_empty(source_text_line(&of[row->file], number))));
    json_part_array(line, "before", texts);
}

static struct json_part annotation_table_line_line(const struct annotation_report *report,
                                                   const struct annotation *core,
                                                   const struct annotated_line *row)
{
    struct json_part line = json_part_new("line");
    json_part_unsigned(&line, "core", profile_core_number(&report->profile->about, core->core));
    json_place(&line, report->function, row->file, row->line);
    if (row->file != LISTING_NO_FILE)
        json_part_text(&line, "text",
                       or_empty(source_text_line(&report->function->texts[row->file], row->line)));
    json_share(&line, row->samples, core->samples);
    json_part_real(&line, "plus_minus", row->plus_minus);
    json_part_true(&line, "at_border", row->at_border && !has_no_skid(report->profile));
    if (row > core->lines && report->hot == 0 && row->file != LISTING_NO_FILE)
        json_before(&line, report, row - 1, row);
    return line;
}

static struct json_part instruction_line(const struct annotation_report *report,
                                         const struct annotation *core, size_t i)
{
    const struct annotated_function *function = report->function;
    const struct listing_row *row = &function->listing.rows[i];
    struct json_part line = json_part_new("instruction");
    char code[CELL];
    snprintf(code, sizeof code, "%0*" PRIx32, (int)row->size * 2, row->code);
    json_part_unsigned(&line, "core", profile_core_number(&report->profile->about, core->core));
    json_part_hex(&line, "address", row->address);
    json_part_text(&line, "code", code);
    json_part_text(&line, "text", row->text);
    json_place(&line, function, row->file, row->line);
    json_share(&line, core->row_samples[i], core->samples);
    return line;
}

/* One of the hottest lines, or all are wanted. */
static bool annotation_table_is_wanted(const struct annotation_report *report, const struct annotation *core,
                                       size_t which)
{
    const struct annotated_line *line = &core->lines[which];
    size_t hotter = 0;
    for (size_t i = 0; i < core->line_count && report->hot > 0; i++) {
        const struct annotated_line *other = &core->lines[i];
        hotter += other->samples > line->samples || (other->samples == line->samples && i < which);
    }
    return report->hot == 0 || (line->samples > 0 && hotter < report->hot);
}

/* `all`: also of a core that did not sample it. */
static void annotation_table_add_core(struct document *document, const struct annotation_report *report,
                                      const struct annotation *core, bool all)
{
    document_add(document, function_line(report, core));
    if (core->samples == 0 && !all)
        return;
    for (size_t i = 0; i < core->line_count; i++)
        if (annotation_table_is_wanted(report, core, i))
            document_add(document, annotation_table_line_line(report, core, &core->lines[i]));
    for (size_t i = 0; i < report->function->listing.n; i++)
        if (report->hot == 0 ||
            (core->row_samples[i] > 0 && annotation_table_is_wanted(report, core, core->line_of[i])))
            document_add(document, instruction_line(report, core, i));
}

/* The lines `function`, `line` and `instruction` of each core. Returns the samples of the function. */
static uint64_t annotation_add(struct document *document, const struct annotation_report *report)
{
    const struct annotated_function *function = report->function;
    uint64_t samples = 0;
    for (size_t i = 0; i < function->core_count; i++)
        samples += function->cores[i].samples;
    for (size_t i = 0; i < function->core_count; i++)
        annotation_table_add_core(document, report, &function->cores[i], samples == 0);
    return samples;
}

static struct document annotation_document(const struct annotation_report *report)
{
    struct document document = document_new();
    struct json_part summary = json_part_new("summary");
    document_add(&document, json_command_part("annotate", or_empty(report->profile->about.probe)));
    document_add(&document,
                 profile_line("profile", report->profile, report->file, report->elf, report->no_names));
    json_part_unsigned(&summary, "samples", annotation_add(&document, report));
    document_add(&document, summary);
    return document;
}

/* ---- for people: lines with their instructions, and the lines around them */

struct showing {
    const json_t *function; /* its line of this core */
    json_t *code;           /* instructions, in a list for each place that they are of */
    json_t *rows;
    bool has_lines, ok;
};

static bool is_in_order(const struct showing *showing)
{
    return field_of(showing->function, "hot") == NULL;
}

static const char *place_key(const json_t *line, char out[PLACE])
{
    snprintf(out, PLACE, "%" PRIu64 " %s", field_count(line, "line"), field_text(line, "file"));
    return out;
}

/* Of a line with a `where` and a `text`, which may be those of a line without code above it. */
static void annotation_table_add_row(struct showing *showing, const json_t *line, struct json_part row,
                                     const char *where, const char *text)
{
    if (showing->has_lines && is_in_order(showing))
        row_text(&row, "group",
                 field_of(line, "file") != NULL ? field_text(line, "found|file") : "(no file)");
    row_text(&row, "where", where);
    row_text(&row, "text", text);
    showing->ok = rows_add(showing->rows, row) && showing->ok;
}

static void annotation_table_add_line(struct showing *showing, const json_t *line)
{
    char where[PLACE] = "";
    struct json_part row = json_part_copy(line);
    uint64_t number = field_count(line, "line");
    const char *file = name_of_file(field_text(line, "file"));
    if (number > 0)
        snprintf(where, sizeof where, "%.40s%s%" PRIu64, is_in_order(showing) ? "" : file,
                 is_in_order(showing) || file[0] == '\0' ? "" : ":", number);
    if (field_of(line, "plus_minus") == NULL)
        row_text(&row, "plus_minus", "?");
    annotation_table_add_row(showing, line, row, where, number > 0 ? field_text(line, "text") : "(no line)");
}

static void add_instructions(struct showing *showing, const json_t *line)
{
    char key[PLACE], text[LISTING_TEXT * 3];
    size_t i;
    const json_t *instruction;
    json_array_foreach(json_object_get(showing->code, place_key(line, key)), i, instruction) {
        snprintf(text, sizeof text, "  %s", field_text(instruction, "text"));
        annotation_table_add_row(showing, line, json_part_copy(instruction),
                                 field_text(instruction, "address"), text);
    }
}

/* The lines without code between two that are near. */
static void add_gap(struct showing *showing, const json_t *before, const json_t *line)
{
    uint64_t last = field_count(before, "line"), number = field_count(line, "line");
    const json_t *texts = field_of(line, "before");
    char where[NUMBER_ROOM];
    if (strcmp(field_text(before, "file"), field_text(line, "file")) != 0 || number <= last)
        return;
    if (number - last > GAP + 1) {
        annotation_table_add_row(showing, line, json_part_new(NULL), "...", "");
        return;
    }
    for (size_t i = 0; ++last < number; i++) {
        snprintf(where, sizeof where, "%" PRIu64, last);
        annotation_table_add_row(showing, line, json_part_new(NULL), where,
                                 text_or_empty(json_array_get(texts, i)));
    }
}

struct ranked {
    const json_t *line;
    uint64_t samples;
    size_t at;
};

static int annotation_table_by_samples(const void *a, const void *b)
{
    const struct ranked *one = a, *other = b;
    if (one->samples != other->samples)
        return one->samples > other->samples ? -1 : 1;
    return (one->at > other->at) - (one->at < other->at);
}

/* In their order, or the hottest first. */
static void annotation_table_add_lines(struct showing *showing, const json_t *lines)
{
    size_t n = json_array_size(lines);
    struct ranked *order = calloc(n + 1, sizeof *order);
    showing->ok = showing->ok && order != NULL;
    for (size_t i = 0; i < n && showing->ok; i++) {
        const json_t *line = json_array_get(lines, i);
        order[i] = (struct ranked){line, field_count(line, "samples"), i};
    }
    if (showing->ok && !is_in_order(showing))
        qsort(order, n, sizeof *order, annotation_table_by_samples);
    for (size_t i = 0; i < n && showing->ok; i++) {
        if (is_in_order(showing) && i > 0)
            add_gap(showing, order[i - 1].line, order[i].line);
        if (showing->has_lines)
            annotation_table_add_line(showing, order[i].line);
        add_instructions(showing, order[i].line);
    }
    free(order);
}

static bool sort_code(struct showing *showing, const json_t *instructions)
{
    char key[PLACE];
    size_t i;
    json_t *instruction;
    bool ok = showing->code != NULL && instructions != NULL;
    json_array_foreach(instructions, i, instruction) {
        place_key(instruction, key);
        if (json_object_get(showing->code, key) == NULL)
            ok = json_object_set_new_nocheck(showing->code, key, json_array()) == 0 && ok;
        ok = json_array_append(json_object_get(showing->code, key), instruction) == 0 && ok;
    }
    return ok;
}

/* The code that belongs to a line `function`. False: out of memory. */
static bool annotation_put_code(const struct rendering *to, const struct document *document,
                                const json_t *function)
{
    struct showing showing = {.function = function, .code = json_object(), .rows = json_array()};
    json_t *lines = document_rows(document, "line", function),
           *instructions = document_rows(document, "instruction", function);
    showing.has_lines =
        field_count(function, "files") > 0 || field_of(json_array_get(lines, 0), "line") != NULL;
    showing.ok = lines != NULL && sort_code(&showing, instructions);
    annotation_table_add_lines(&showing, lines);
    bool ok = render_table(to, code_view(showing.has_lines), showing.rows) && showing.ok;
    json_decref(showing.code);
    json_decref(lines);
    json_decref(instructions);
    return ok;
}

static void annotation_table_put_core(const struct rendering *to, const json_t *function)
{
    const char *name = field_text(function, "name");
    uint64_t n = field_count(function, "samples"), all = field_count(function, "core_samples");
    render_text(to, "core %" PRIu64 "%s%.128s: %s of %s sample%s%s%s%s%s", field_count(function, "core"),
                name[0] != '\0' ? " " : "", name, NUMBER(n), NUMBER(all), PLURAL(all), n > 0 ? ", " : "",
                n > 0 ? SHARE(field_real(function, "share")) : "", n > 0 ? " ±" : "",
                n > 0 ? POINTS(field_real(function, "plus_minus")) : "");
}

static void annotation_table_put_head(const struct rendering *to, const struct document *document)
{
    const json_t *function = document_line(document, "function");
    const char *source = field_text(function, "source");
    uint64_t low = strtoull(field_text(function, "address"), NULL, 16);
    char text[NAME * 2];
    snprintf(text, sizeof text, "%.480s%s%.400s, 0x%08" PRIx64 "..0x%08" PRIx64,
             field_text(function, "function"), source[0] != '\0' ? ", " : "", source, low,
             low + field_count(function, "bytes"));
    profile_head_put(to, "", document_line(document, "profile"),
                     field_text(document_line(document, "header"), "link"));
    render_heading(to, text);
}

static bool has_samples(const json_t *functions)
{
    size_t i;
    const json_t *function;
    json_array_foreach(functions, i, function)
        if (field_count(function, "samples") > 0)
            return true;
    return false;
}

static bool annotation_table_put_all(const struct rendering *to, const struct document *document)
{
    json_t *functions = document_rows(document, "function", NULL), *function;
    size_t i;
    bool ok = functions != NULL, any = has_samples(functions);
    const struct page page = {
        .to = to, .title = field_text(document_line(document, "function"), "function"), .document = document};
    page_begin(&page);
    annotation_table_put_head(to, document);
    json_array_foreach(functions, i, function) {
        bool sampled = field_count(function, "samples") > 0;
        if (!sampled && (any || i > 0))
            continue;
        annotation_table_put_core(to, function);
        if (sampled || field_of(function, "hot") == NULL)
            ok = annotation_put_code(to, document, function) && ok;
        render_notes(to, field_of(function, "notes"));
    }
    render_notes(to, field_of(document_line(document, "profile"), "notes"));
    json_decref(functions);
    return page_end(&page) && ok;
}

/* Lines and instructions. */
static bool annotation_table_put_csv(const struct rendering *to, const struct document *document)
{
    return render_table(to, &code_csv, profile_doubted_rows(document, "line", "instruction"));
}

bool annotation_show(const struct rendering *to, const struct document *document)
{
    return document->ok && (to->format == FORMAT_JSON  ? document_write(to->out, document)
                            : to->format == FORMAT_CSV ? annotation_table_put_csv(to, document)
                                                       : annotation_table_put_all(to, document));
}

bool annotation_write(const struct rendering *to, const struct annotation_report *report)
{
    struct document document = annotation_document(report);
    bool ok = annotation_show(to, &document);
    document_free(&document);
    return ok;
}

/* ---- profile page */

enum { PROFILE_PAGE_CELL = 512 };

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
        char text[2 * PROFILE_PAGE_CELL];
        uint64_t samples = field_count(line, "samples");
        if (samples == 0)
            continue;
        snprintf(text, sizeof text, "%.512s  %s ±%s, %s sample%s", field_text(line, "function"),
                 SHARE(field_real(line, "share")), POINTS(field_real(line, "plus_minus")), NUMBER(samples),
                 PLURAL(samples));
        if (of->core_count > 1)
            text_add(text, sizeof text, ", core %" PRIu64, field_count(line, "core"));
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

bool profile_page(const struct rendering *to, const struct profile_page *page)
{
    FILE *out = to->out;
    struct document document = profile_document(page->report);
    bool ok = document.ok;
    char title[PROFILE_PAGE_CELL];
    snprintf(title, sizeof title, "Profile %.400s", page->report->file);
    const struct page shell = {.to = to, .title = title, .document = &document, .searched = true};
    page_begin(&shell);
    profile_put_head(to, &document);
    put_graph(out, page);
    ok = ok && profile_put_cores(to, &document);
    if (page->n > 0)
        page_heading(out, "source", "Source of the hottest functions");
    for (size_t i = 0; i < page->n && ok; i++)
        ok = profile_page_put_function(to, page, &page->functions[i], i == 0);
    if (page->n > 0)
        page_end_section(out);
    ok = page_end(&shell) && ok;
    document_free(&document);
    return ok;
}
