#include "report/annotation_table.h"

#include "report/number.h"
#include "report/page.h"
#include "report/terminal.h"
#include "report/views.h"
#include "symbols/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 64, NAME = 512, GAP = 4 };

/* ---- notes */

bool annotation_is_exact(const struct profile *profile)
{
    return strcmp(or_empty(profile->about.source), "halts") == 0;
}

static void note_texts(struct profile_notes *notes, const struct annotated_function *function)
{
    const struct listing *listing = &function->listing;
    if (listing->file_count == 0)
        profile_notes_add(
            notes, "No lines are known of this function: instructions only. Compile it with -g for lines.");
    for (size_t i = 0; i < listing->file_count; i++) {
        const struct source_text *text = &function->texts[i];
        if (text->path == NULL)
            profile_notes_add(notes, "%.300s was not found, so its lines are without their text.",
                              listing->files[i]);
        else if (function->built != 0 && text->changed > function->built)
            profile_notes_add(notes, "%.300s is newer than the program: its lines may have moved.",
                              text->path);
    }
}

void annotation_notes(struct profile_notes *notes, const struct annotated_function *function,
                      const struct annotation *core, bool exact)
{
    bool borders = false, lines = false;
    for (size_t i = 0; i < core->line_count; i++) {
        borders = borders || core->lines[i].at_border;
        lines = lines || core->lines[i].line > 0;
    }
    if (core->is_few && core->samples > 0)
        profile_notes_add(
            notes, "Few samples of this function: the shares are rough. Record longer (record --for 10s).");
    if (core->is_sparse)
        profile_notes_add(notes,
                          "The sampled addresses stand apart: this core may only be sampled at "
                          "branches, or samples come in step with a loop. Trust functions, not lines.");
    if (core->samples > 0 && !exact && lines)
        profile_notes_add(notes, "A sample may be at the instruction before or behind the one that took the "
                                 "time (skid): trust the share of a line, not that of an instruction.");
    if (borders && !exact && lines)
        profile_notes_add(notes, "~: most samples of this line are where it borders on another one, and skid "
                                 "may have moved them across: trust both lines together.");
    note_texts(notes, function);
}

/* ---- the document */

static bool has_samples(const struct annotated_function *function)
{
    for (size_t i = 0; i < function->core_count; i++)
        if (function->cores[i].samples > 0)
            return true;
    return false;
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
    struct profile_notes notes = {0};
    json_part_unsigned(&line, "core", profile_core_number(&report->profile->about, core->core));
    json_part_text(&line, "function", at->name);
    json_part_text(&line, "source", at->source);
    json_part_hex(&line, "address", at->low);
    json_part_unsigned(&line, "bytes", at->high - at->low);
    json_part_unsigned(&line, "samples", core->samples);
    json_part_unsigned(&line, "core_samples", core->core_samples);
    json_part_real(&line, "share", core->part);
    json_part_real(&line, "plus_minus", core->plus_minus);
    annotation_notes(&notes, report->function, core, annotation_is_exact(report->profile));
    profile_notes_json(&line, &notes);
    return line;
}

static struct json_part line_line(const struct annotation_report *report, const struct annotation *core,
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
    if (row->at_border && !annotation_is_exact(report->profile))
        json_part_bool(&line, "at_border", true);
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
static bool is_wanted(const struct annotation_report *report, const struct annotation *core, size_t which)
{
    const struct annotated_line *line = &core->lines[which];
    size_t hotter = 0;
    for (size_t i = 0; i < core->line_count && report->hot > 0; i++) {
        const struct annotated_line *other = &core->lines[i];
        hotter += other->samples > line->samples || (other->samples == line->samples && i < which);
    }
    return report->hot == 0 || (line->samples > 0 && hotter < report->hot);
}

static void add_core(struct document *document, const struct annotation_report *report,
                     const struct annotation *core)
{
    document_add(document, function_line(report, core));
    if (core->samples == 0 && has_samples(report->function))
        return;
    for (size_t i = 0; i < core->line_count; i++)
        if (is_wanted(report, core, i))
            document_add(document, line_line(report, core, &core->lines[i]));
    for (size_t i = 0; i < report->function->listing.n; i++)
        if (report->hot == 0 || (core->row_samples[i] > 0 && is_wanted(report, core, core->line_of[i])))
            document_add(document, instruction_line(report, core, i));
}

static struct document annotation_document(const struct annotation_report *report)
{
    struct document document = document_new();
    struct json_part summary = json_part_new("summary");
    uint64_t samples = 0;
    document_add(&document, json_command_part("annotate", or_empty(report->profile->about.probe)));
    document_add(&document,
                 profile_line("profile", report->profile, report->file, report->elf, report->no_names));
    for (size_t i = 0; i < report->function->core_count; i++) {
        samples += report->function->cores[i].samples;
        add_core(&document, report, &report->function->cores[i]);
    }
    json_part_unsigned(&summary, "samples", samples);
    document_add(&document, summary);
    return document;
}

/* ---- for people: lines with their instructions, and the lines around them */

struct showing {
    const struct annotation_report *report;
    const struct annotation *core;
    json_t *rows;
    bool ok;
};

static const struct annotated_function *function_of(const struct showing *showing)
{
    return showing->report->function;
}

static void add_row(struct showing *showing, struct json_part row, const struct annotated_line *line)
{
    const struct annotated_function *function = function_of(showing);
    const char *path = line->file == LISTING_NO_FILE ? "(no file)" : function->texts[line->file].path;
    if (showing->report->hot == 0 && function->listing.file_count > 0)
        row_text(&row, "group", path != NULL ? path : function->listing.files[line->file]);
    showing->ok = showing->ok && row.ok && json_array_append(showing->rows, row.json) == 0;
    json_decref(row.json);
}

static const char *text_of_line(const struct showing *showing, const struct annotated_line *line)
{
    if (line->file == LISTING_NO_FILE)
        return line->line == 0 && function_of(showing)->listing.file_count > 0 ? "(no line)" : "";
    return or_empty(source_text_line(&function_of(showing)->texts[line->file], line->line));
}

/* What a line is called: its number, or with its file. */
static void put_where(const struct showing *showing, const struct annotated_line *line, struct json_part *row)
{
    char where[CELL * 2];
    if (line->line == 0)
        return;
    if (showing->report->hot == 0 || line->file == LISTING_NO_FILE)
        snprintf(where, sizeof where, "%u", line->line);
    else
        snprintf(where, sizeof where, "%.40s:%u",
                 name_of_file(function_of(showing)->listing.files[line->file]), line->line);
    row_text(row, "where", where);
}

static void add_line(struct showing *showing, const struct annotated_line *line)
{
    struct json_part row = line_line(showing->report, showing->core, line);
    put_where(showing, line, &row);
    if (line->samples == 0)
        json_object_del(row.json, "plus_minus");
    else if (field_of(row.json, "plus_minus") == NULL)
        row_text(&row, "plus_minus", "?");
    row_text(&row, "text", text_of_line(showing, line));
    add_row(showing, row, line);
}

static void add_instructions(struct showing *showing, size_t which)
{
    const struct listing *listing = &function_of(showing)->listing;
    for (size_t i = 0; i < listing->n; i++) {
        char text[LISTING_TEXT + 4];
        if (showing->core->line_of[i] != which ||
            (showing->report->hot > 0 && showing->core->row_samples[i] == 0))
            continue;
        struct json_part row = instruction_line(showing->report, showing->core, i);
        snprintf(text, sizeof text, "  %s", listing->rows[i].text);
        row_text(&row, "text", text);
        row_text(&row, "where", field_text(row.json, "address"));
        add_row(showing, row, &showing->core->lines[which]);
    }
}

/* The lines without code between two that are near. */
static void add_gap(struct showing *showing, const struct annotated_line *before,
                    const struct annotated_line *line)
{
    struct json_part row = json_part_new(NULL);
    if (line->file != before->file) {
        json_decref(row.json);
    } else if (line->line - before->line > GAP + 1) {
        row_text(&row, "where", "...");
        add_row(showing, row, line);
    } else {
        json_decref(row.json);
        for (unsigned number = before->line + 1; number < line->line; number++)
            add_line(showing, &(struct annotated_line){.file = line->file, .line = number});
    }
}

static int by_samples(const void *a, const void *b)
{
    const struct annotated_line *one = *(const struct annotated_line *const *)a,
                                *other = *(const struct annotated_line *const *)b;
    if (one->samples != other->samples)
        return one->samples > other->samples ? -1 : 1;
    return (one > other) - (one < other);
}

/* In their order, or the hottest first. */
static void add_lines(struct showing *showing)
{
    const struct annotation *core = showing->core;
    const struct annotated_line **order = calloc(core->line_count, sizeof(struct annotated_line *));
    uint64_t hot = showing->report->hot;
    showing->ok = order != NULL;
    for (size_t i = 0; i < core->line_count && showing->ok; i++)
        order[i] = &core->lines[i];
    if (hot > 0 && showing->ok)
        qsort(order, core->line_count, sizeof(struct annotated_line *), by_samples);
    for (size_t i = 0;
         i < core->line_count && showing->ok && (hot == 0 || (i < hot && order[i]->samples > 0)); i++) {
        if (hot == 0 && i > 0)
            add_gap(showing, order[i - 1], order[i]);
        if (order[i]->line > 0 || function_of(showing)->listing.file_count > 0)
            add_line(showing, order[i]);
        add_instructions(showing, (size_t)(order[i] - core->lines));
    }
    free(order);
}

bool annotation_put_code(const struct rendering *to, const struct annotation_report *report,
                         const struct annotation *core)
{
    struct showing showing = {.report = report, .core = core, .rows = json_array()};
    add_lines(&showing);
    return render_table(to, code_view(report->function->listing.file_count > 0), showing.rows) && showing.ok;
}

static void put_core(const struct rendering *to, const json_t *function, const char *name)
{
    char text[NAME * 2], samples[NUMBER_ROOM], of[NUMBER_ROOM], share[NUMBER_ROOM], error[NUMBER_ROOM];
    uint64_t n = field_count(function, "samples");
    number_unsigned(samples, sizeof samples, n);
    number_unsigned(of, sizeof of, field_count(function, "core_samples"));
    int used = snprintf(text, sizeof text, "core %" PRIu64 "%s%.128s: %s of %s samples",
                        field_count(function, "core"), name[0] != '\0' ? " " : "", name, samples, of);
    if (n > 0)
        snprintf(text + used, sizeof text - (size_t)used, ", %s ±%s",
                 number_share(share, field_real(function, "share")),
                 number_points(error, field_real(function, "plus_minus")));
    render_text(to, text);
}

static void put_head(const struct rendering *to, const struct document *document)
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

static bool put_all(const struct rendering *to, const struct annotation_report *report,
                    const struct document *document)
{
    const struct annotated_function *function = report->function;
    json_t *lines = document_rows(document, "function", NULL);
    bool ok = lines != NULL;
    const struct page page = {.to = to,
                              .title = field_text(document_line(document, "function"), "function"),
                              .command = report->command,
                              .document = document};
    page_begin(&page);
    put_head(to, document);
    for (size_t i = 0; i < function->core_count && ok; i++) {
        const struct annotation *core = &function->cores[i];
        if (core->samples == 0 && (has_samples(function) || i > 0))
            continue;
        put_core(to, json_array_get(lines, i), or_empty(report->profile->about.cores[core->core]));
        if (report->hot == 0 || core->samples > 0)
            ok = annotation_put_code(to, report, core);
        render_notes(to, field_of(json_array_get(lines, i), "notes"));
    }
    render_notes(to, field_of(document_line(document, "profile"), "notes"));
    json_decref(lines);
    return page_end(&page) && ok;
}

/* The lines that have samples. */
static bool put_gcc(const struct rendering *to, const struct document *document)
{
    json_t *lines = document_rows(document, "line", NULL), *rows = json_array(), *line;
    size_t i;
    bool ok = lines != NULL && rows != NULL;
    json_array_foreach(lines, i, line) {
        if (field_count(line, "samples") > 0)
            ok = json_array_append(rows, line) == 0 && ok;
    }

    json_decref(lines);
    return render_table(to, &code_gcc, rows) && ok;
}

bool annotation_write(const struct rendering *to, const struct annotation_report *report)
{
    struct document document = annotation_document(report);
    bool ok = document.ok && (to->format == FORMAT_JSON  ? document_write(to->out, &document)
                              : to->format == FORMAT_GCC ? put_gcc(to, &document)
                                                         : put_all(to, report, &document));
    document_free(&document);
    return ok;
}
