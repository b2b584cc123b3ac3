#include "report/annotation_table.h"

#include "report/number.h"
#include "report/terminal.h"
#include "symbols/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 64, NAME = 512, TEXT = 2048, GAP = 4, TEXT_LEAST = 16 };

struct printing {
    FILE *out;
    const struct annotation_report *report;
    const struct annotated_function *function;
    const struct annotation *core;
    size_t columns;
    size_t samples_width, where_width;
};

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* ---- notes */

bool annotation_is_exact(const struct profile *profile)
{
    return strcmp(text_of(profile->about.source), "halts") == 0;
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

/* ---- text */

/* What a line is called: its number, or with its file. */
static void put_where(const struct printing *printing, const struct annotated_line *line, char *out,
                      size_t room)
{
    char name[CELL * 2];
    out[0] = '\0';
    if (line->line == 0)
        return;
    if (printing->report->hot == 0 || line->file == LISTING_NO_FILE) {
        snprintf(out, room, "%u", line->line);
        return;
    }
    terminal_text(name, sizeof name, name_of_file(printing->function->listing.files[line->file]));
    snprintf(out, room, "%.40s:%u", name, line->line);
}

static void put_share(char out[NUMBER_ROOM], uint64_t samples, uint64_t of)
{
    out[0] = '\0';
    if (samples > 0)
        number_share(out, (double)samples / (double)of);
}

/* Cut at the right; no blanks at the end of a line. */
static void print_cells(const struct printing *printing, const char *share, const char *plus_minus,
                        uint64_t samples, const char *where, const char *mark, const char *text)
{
    char number[NUMBER_ROOM] = "", clean[UTF8_CLEAN_ROOM(TEXT)];
    char left[CELL * 6];
    if (samples > 0)
        number_unsigned(number, sizeof number, samples);
    /* The sign is one column and two bytes */
    int used = snprintf(left, sizeof left, "%8s  %*s  %*s  %*s %s", share,
                        5 + (int)(strlen(plus_minus) - utf8_width(plus_minus)), plus_minus,
                        (int)printing->samples_width, number, (int)printing->where_width, where, mark);
    size_t width = utf8_width(left);
    terminal_text(clean, TEXT, text);
    if (clean[0] == '\0') {
        while (used > 0 && left[used - 1] == ' ')
            left[--used] = '\0';
        fprintf(printing->out, "%s\n", left);
        return;
    }
    size_t most = printing->columns == 0                       ? SIZE_MAX
                  : printing->columns > width + 1 + TEXT_LEAST ? printing->columns - width - 1
                                                               : TEXT_LEAST;
    size_t bytes = 0;
    for (size_t shown = 0; clean[bytes] != '\0'; bytes++) {
        bool begins = ((unsigned char)clean[bytes] & 0xC0) != 0x80;
        if (begins && shown++ == most)
            break;
    }
    while (bytes > 0 && clean[bytes - 1] == ' ')
        bytes--;
    fprintf(printing->out, "%s %.*s\n", left, (int)bytes, clean);
}

static void print_heading(const struct printing *printing, const char *where, const char *text)
{
    const char *sign = terminal_or("±", "+-");
    fprintf(printing->out, "\n%8s  %*s  %*s  %*s%s%s\n", "share", (int)(5 + strlen(sign) - utf8_width(sign)),
            sign, (int)printing->samples_width, "samples", (int)printing->where_width, where,
            text[0] != '\0' ? "   " : "", text);
}

static void print_line(const struct printing *printing, const struct annotated_line *line, const char *text)
{
    char share[NUMBER_ROOM], plus_minus[NUMBER_ROOM] = "", where[CELL * 2];
    put_share(share, line->samples, printing->core->samples);
    if (line->samples > 0)
        number_points(plus_minus, line->plus_minus);
    put_where(printing, line, where, sizeof where);
    bool border = line->at_border && !annotation_is_exact(printing->report->profile);
    print_cells(printing, share, plus_minus, line->samples, where, border ? "~" : " ", text);
}

/* Those of a line, by their addresses. */
static void print_rows(const struct printing *printing, size_t line)
{
    const struct listing *listing = &printing->function->listing;
    for (size_t i = 0; i < listing->n; i++) {
        uint64_t samples = printing->core->row_samples[i];
        char share[NUMBER_ROOM], where[CELL], text[LISTING_TEXT + 4];
        if (printing->core->line_of[i] != line || (printing->report->hot > 0 && samples == 0))
            continue;
        put_share(share, samples, printing->core->samples);
        snprintf(where, sizeof where, "0x%08" PRIx64, listing->rows[i].address);
        snprintf(text, sizeof text, "  %s", listing->rows[i].text);
        fputs(terminal_colour(printing->out, COLOUR_FAINT), printing->out);
        print_cells(printing, share, "", samples, where, " ", text);
        fputs(terminal_colour(printing->out, COLOUR_END), printing->out);
    }
}

static const char *line_text(const struct printing *printing, const struct annotated_line *line)
{
    if (line->file == LISTING_NO_FILE)
        return line->line == 0 && printing->function->listing.file_count > 0 ? "(no line)" : "";
    return text_of(source_text_line(&printing->function->texts[line->file], line->line));
}

/* The lines without code between two that are near. */
static void print_gap(const struct printing *printing, const struct annotated_line *before,
                      const struct annotated_line *line)
{
    if (line->line - before->line > GAP + 1) {
        print_cells(printing, "", "", 0, "...", " ", "");
        return;
    }
    for (unsigned number = before->line + 1; number < line->line; number++) {
        struct annotated_line empty = {.file = line->file, .line = number};
        print_line(printing, &empty, line_text(printing, &empty));
    }
}

static void print_in_order(const struct printing *printing)
{
    const struct annotation *core = printing->core;
    const struct listing *listing = &printing->function->listing;
    for (size_t i = 0; i < core->line_count; i++) {
        const struct annotated_line *line = &core->lines[i];
        char path[NAME] = "";
        bool begins = i == 0 || core->lines[i - 1].file != line->file;
        if (begins && line->file != LISTING_NO_FILE)
            terminal_text(path, sizeof path,
                          printing->function->texts[line->file].path != NULL
                              ? printing->function->texts[line->file].path
                              : listing->files[line->file]);
        if (begins)
            print_heading(printing, line->file != LISTING_NO_FILE ? "line" : "address", path);
        else
            print_gap(printing, &core->lines[i - 1], line);
        if (line->line > 0 || listing->file_count > 0)
            print_line(printing, line, line_text(printing, line));
        print_rows(printing, i);
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

static bool print_hot(const struct printing *printing)
{
    const struct annotation *core = printing->core;
    const struct annotated_line **order = calloc(core->line_count, sizeof(struct annotated_line *));
    if (order == NULL)
        return false;
    for (size_t i = 0; i < core->line_count; i++)
        order[i] = &core->lines[i];
    qsort(order, core->line_count, sizeof(struct annotated_line *), by_samples);
    print_heading(printing, printing->function->listing.file_count > 0 ? "line" : "address", "");
    for (size_t i = 0; i < core->line_count && i < printing->report->hot && order[i]->samples > 0; i++) {
        if (order[i]->line > 0 || printing->function->listing.file_count > 0)
            print_line(printing, order[i], line_text(printing, order[i]));
        print_rows(printing, (size_t)(order[i] - core->lines));
    }
    free(order);
    return true;
}

static void print_core(const struct printing *printing)
{
    const struct annotation *core = printing->core;
    const struct profile_about *about = &printing->report->profile->about;
    char text[NAME * 2], name[NAME / 4], samples[NUMBER_ROOM], of[NUMBER_ROOM];
    char share[NUMBER_ROOM], error[NUMBER_ROOM];
    terminal_text(name, sizeof name, text_of(about->cores[core->core]));
    number_unsigned(samples, sizeof samples, core->samples);
    number_unsigned(of, sizeof of, core->core_samples);
    int used =
        snprintf(text, sizeof text, "core %u%s%s: %s of %s samples", profile_core_number(about, core->core),
                 name[0] != '\0' ? " " : "", name, samples, of);
    if (core->samples > 0)
        snprintf(text + used, sizeof text - (size_t)used, ", %s %s%s", number_share(share, core->part),
                 terminal_or("±", "+-"), number_points(error, core->plus_minus));
    fold_text(printing->out, printing->columns > 0 ? printing->columns : SIZE_MAX, 2, text);
}

static void print_function(const struct printing *printing)
{
    const struct location *at = &printing->function->at;
    char name[NAME], source[NAME];
    terminal_text(name, sizeof name, at->name);
    terminal_text(source, sizeof source, at->source);
    fprintf(printing->out, "\n%s%s%s, 0x%08" PRIx64 "..0x%08" PRIx64 "\n", name,
            source[0] != '\0' ? ", " : "", source, at->low, at->high);
}

static void measure(struct printing *printing)
{
    const struct listing *listing = &printing->function->listing;
    char text[CELL * 2];
    number_unsigned(text, sizeof text, printing->core->samples);
    printing->samples_width = strlen(text) > strlen("samples") ? strlen(text) : strlen("samples");
    snprintf(text, sizeof text, "0x%08" PRIx64, listing->rows[listing->n - 1].address);
    printing->where_width = strlen(text);
    for (size_t i = 0; i < printing->core->line_count; i++) {
        put_where(printing, &printing->core->lines[i], text, sizeof text);
        if (utf8_width(text) > printing->where_width)
            printing->where_width = utf8_width(text);
    }
}

static bool has_samples(const struct annotated_function *function)
{
    for (size_t i = 0; i < function->core_count; i++)
        if (function->cores[i].samples > 0)
            return true;
    return false;
}

bool annotation_text(FILE *out, const struct annotation_report *report, size_t columns)
{
    const struct annotated_function *function = report->function;
    struct printing printing = {.out = out, .report = report, .function = function, .columns = columns};
    struct profile_notes of_run = {0};
    size_t fold = columns > 0 ? columns : TERMINAL_COLUMNS;
    bool ok = true;
    profile_head_print(out, &report->profile->about, report->file, report->elf, fold);
    print_function(&printing);
    for (size_t i = 0; i < function->core_count; i++) {
        struct profile_notes notes = {0};
        printing.core = &function->cores[i];
        if (printing.core->samples == 0 && (has_samples(function) || i > 0))
            continue;
        measure(&printing);
        print_core(&printing);
        if (report->hot == 0)
            print_in_order(&printing);
        else if (printing.core->samples > 0)
            ok = print_hot(&printing) && ok;
        annotation_notes(&notes, function, printing.core, annotation_is_exact(report->profile));
        profile_notes_print(out, &notes, fold);
    }
    profile_notes_of_run(&of_run, report->profile, report->file, report->no_names);
    profile_notes_print(out, &of_run, fold);
    return fflush(out) == 0 && !ferror(out) && ok;
}

/* ---- JSON */

static void json_place(struct json_part *line, const struct annotated_function *function, size_t file,
                       unsigned number)
{
    if (number == 0)
        return;
    if (file != LISTING_NO_FILE)
        json_part_text(line, "file", function->listing.files[file]);
    json_part_unsigned(line, "line", number);
}

static void json_share(struct json_part *line, uint64_t samples, uint64_t of)
{
    json_part_unsigned(line, "samples", samples);
    json_part_real(line, "share", of > 0 ? (double)samples / (double)of : 0);
}

static bool json_function(FILE *out, const struct annotation_report *report, const struct annotation *core)
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
    return json_part_write(out, line);
}

static bool json_line(FILE *out, const struct annotation_report *report, const struct annotation *core,
                      const struct annotated_line *row)
{
    struct json_part line = json_part_new("line");
    json_part_unsigned(&line, "core", profile_core_number(&report->profile->about, core->core));
    json_place(&line, report->function, row->file, row->line);
    if (row->file != LISTING_NO_FILE)
        json_part_text(&line, "text",
                       text_of(source_text_line(&report->function->texts[row->file], row->line)));
    json_share(&line, row->samples, core->samples);
    json_part_real(&line, "plus_minus", row->plus_minus);
    if (row->at_border && !annotation_is_exact(report->profile))
        json_part_bool(&line, "at_border", true);
    return json_part_write(out, line);
}

static bool json_instruction(FILE *out, const struct annotation_report *report, const struct annotation *core,
                             size_t i)
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
    return json_part_write(out, line);
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

static bool json_core(FILE *out, const struct annotation_report *report, const struct annotation *core)
{
    bool ok = json_function(out, report, core);
    if (core->samples == 0 && has_samples(report->function))
        return ok;
    for (size_t i = 0; i < core->line_count && ok; i++)
        if (is_wanted(report, core, i))
            ok = json_line(out, report, core, &core->lines[i]);
    for (size_t i = 0; i < report->function->listing.n && ok; i++)
        if (report->hot == 0 || (core->row_samples[i] > 0 && is_wanted(report, core, core->line_of[i])))
            ok = json_instruction(out, report, core, i);
    return ok;
}

bool annotation_json(FILE *out, const struct annotation_report *report)
{
    const struct profile_about *about = &report->profile->about;
    struct profile_notes notes = {0};
    struct json_part profile = json_part_new("profile"), summary = json_part_new("summary");
    uint64_t samples = 0;
    bool ok = json_command_header(out, "annotate", text_of(about->probe));
    json_part_text(&profile, "file", report->file);
    json_part_text(&profile, "date", text_of(about->date));
    json_part_text(&profile, "source", text_of(about->source));
    json_part_text(&profile, "elf", text_of(report->elf));
    json_part_text(&profile, "build_id", text_of(about->build_id));
    json_part_bool(&profile, "cut", !report->profile->end.known);
    json_part_text(&profile, "ended", text_of(report->profile->end.why));
    profile_notes_of_run(&notes, report->profile, report->file, report->no_names);
    profile_notes_json(&profile, &notes);
    ok = json_part_write(out, profile) && ok;
    for (size_t i = 0; i < report->function->core_count && ok; i++) {
        samples += report->function->cores[i].samples;
        ok = json_core(out, report, &report->function->cores[i]);
    }
    json_part_unsigned(&summary, "samples", samples);
    return json_part_write(out, summary) && ok;
}
