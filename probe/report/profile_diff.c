#include "report/profile_diff.h"

#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/profile_file.h"
#include "report/profile_notes.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CELL = 512, NAME_MOST = 40 };
enum cell { CHANGE, CHANGE_ERROR, NOW, NOW_ERROR, OLD, OLD_ERROR, ADDRESS, FUNCTION, SOURCE, CELLS };

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

static bool is_state(const struct share *row)
{
    return row->state != PROFILE_STATES;
}

/* What a row is of; an address that has no function has no name. */
static const char *row_name(enum shares_sort sort, const struct share *row)
{
    if (is_state(row))
        return shares_state_name(row->state);
    const char *name = sort == SHARES_FILE ? row->source : row->function;
    return name != NULL ? name : sort == SHARES_ADDRESS ? "" : "[unknown]";
}

/* ---- notes */

static void note_core(struct profile_notes *notes, const struct profile_diff_report *report, size_t i)
{
    const struct shares_diff *diff = &report->diffs[i];
    const char *name = text_of(report->now->profile->about.cores[i]);
    const char *its = text_of(report->old->profile->about.cores[i]);
    if (diff->noise > 0)
        profile_notes_add(notes, "~: within noise: the two shares differ by no more than the ± of their "
                                 "difference, or a run was too short to tell.");
    if (strcmp(name, its) != 0)
        profile_notes_add(notes, "Core %u was another one before: %s.",
                          profile_core_number(&report->now->profile->about, (unsigned)i), its);
}

static void note_pair(struct profile_notes *notes, const struct profile_diff_report *report)
{
    const struct profile_about *now = &report->now->profile->about, *old = &report->old->profile->about;
    if (strcmp(text_of(now->source), text_of(old->source)) != 0)
        profile_notes_add(notes, "The samples are of another kind than before: %s, not %s.",
                          text_of(now->source), text_of(old->source));
    if (now->core_count != old->core_count)
        profile_notes_add(notes, "One profile has %zu cores, the other %zu: those that both have are shown.",
                          now->core_count, old->core_count);
}

/* ---- text */

struct line {
    char cells[CELLS][CELL];
    bool is_noise;
};

static void put_side(char *share, char *error, const struct share_side *side)
{
    char number[NUMBER_ROOM];
    share[0] = '\0';
    if (side->samples > 0)
        snprintf(share, CELL, "%s", number_share(number, side->part));
    snprintf(error, CELL, "%s", number_points(number, side->plus_minus));
}

static void put_cells(struct line *line, enum shares_sort sort, const struct share_change *row)
{
    char number[NUMBER_ROOM];
    *line = (struct line){.is_noise = row->is_noise};
    snprintf(line->cells[CHANGE], CELL, "%s%+.2f", row->is_noise ? "~" : "", row->change * 100);
    snprintf(line->cells[CHANGE_ERROR], CELL, "%s", number_points(number, row->plus_minus));
    put_side(line->cells[NOW], line->cells[NOW_ERROR], &row->now);
    put_side(line->cells[OLD], line->cells[OLD_ERROR], &row->old);
    if (sort == SHARES_ADDRESS && !is_state(row->row))
        snprintf(line->cells[ADDRESS], CELL, "0x%08" PRIx64, row->row->address);
    terminal_text(line->cells[FUNCTION], CELL, row_name(sort, row->row));
    if (sort != SHARES_FILE)
        terminal_text(line->cells[SOURCE], CELL, text_of(row->row->source));
}

static void put_heading(struct line *line, enum shares_sort sort)
{
    const char *sign = terminal_or("±", "+-");
    static const char *const heading[CELLS] = {[CHANGE] = "change", [NOW] = "now", [OLD] = "before"};
    *line = (struct line){.is_noise = false};
    for (int cell = 0; cell < CELLS; cell++)
        snprintf(line->cells[cell], CELL, "%s", text_of(heading[cell]));
    snprintf(line->cells[CHANGE_ERROR], CELL, "%s", sign);
    snprintf(line->cells[NOW_ERROR], CELL, "%s", sign);
    snprintf(line->cells[OLD_ERROR], CELL, "%s", sign);
    if (sort == SHARES_ADDRESS)
        snprintf(line->cells[ADDRESS], CELL, "address");
    snprintf(line->cells[FUNCTION], CELL, "%s", profile_row_kind(sort));
    if (sort != SHARES_FILE)
        snprintf(line->cells[SOURCE], CELL, "source");
}

/* A name longer than its column moves what follows; numbers stand at the right of theirs. */
static void print_line(FILE *out, const struct line *line, const size_t widths[CELLS])
{
    size_t owed = 0;
    if (line->is_noise)
        fputs(terminal_colour(out, COLOUR_FAINT), out);
    for (int cell = 0; cell < CELLS; cell++) {
        const char *text = line->cells[cell];
        size_t width = utf8_width(text), blanks = widths[cell] > width ? widths[cell] - width : 0;
        bool right = cell <= OLD_ERROR;
        if (widths[cell] == 0)
            continue;
        if (text[0] != '\0')
            fprintf(out, "%*s%s", (int)(owed + (right ? blanks : 0)), "", text);
        owed = (text[0] != '\0' ? 0 : owed + width + (right ? blanks : 0)) + (right ? 0 : blanks) + 2;
    }
    if (line->is_noise)
        fputs(terminal_colour(out, COLOUR_END), out);
    fputc('\n', out);
}

static void print_table(FILE *out, const struct shares_diff *diff, enum shares_sort sort)
{
    struct line line;
    size_t widths[CELLS];
    put_heading(&line, sort);
    for (int cell = 0; cell < CELLS; cell++)
        widths[cell] = utf8_width(line.cells[cell]);
    for (size_t i = 0; i < diff->n; i++) {
        put_cells(&line, sort, &diff->rows[i]);
        for (int cell = 0; cell < CELLS; cell++) {
            size_t width = utf8_width(line.cells[cell]);
            if (width > widths[cell] && (cell != FUNCTION || width <= NAME_MOST))
                widths[cell] = width;
        }
    }
    put_heading(&line, sort);
    print_line(out, &line, widths);
    for (size_t i = 0; i < diff->n; i++) {
        put_cells(&line, sort, &diff->rows[i]);
        print_line(out, &line, widths);
    }
}

static void print_core(FILE *out, const struct profile_diff_report *report, size_t i, size_t columns)
{
    char name[CELL / 4], text[CELL], now[NUMBER_ROOM], old[NUMBER_ROOM];
    terminal_text(name, sizeof name, text_of(report->now->profile->about.cores[i]));
    snprintf(text, sizeof text, "core %u%s%s: %s samples, %s before",
             profile_core_number(&report->now->profile->about, (unsigned)i), name[0] != '\0' ? " " : "", name,
             number_unsigned(now, sizeof now, report->now->shares[i].samples),
             number_unsigned(old, sizeof old, report->old->shares[i].samples));
    fold_text(out, columns, 2, text);
}

static bool is_whole(FILE *out)
{
    return fflush(out) == 0 && !ferror(out);
}

static void note_side(struct profile_notes *notes, const struct profile_report *of, size_t core)
{
    profile_notes_of_core(notes, &of->shares[core]);
    if (core == 0)
        profile_notes_of_run(notes, of->profile, of->file, of->no_names);
}

static bool has_note(const struct profile_notes *notes, const char *text)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strcmp(notes->text[i], text) == 0)
            return true;
    return false;
}

/* Those of both sides once, the others with the side that they are of. */
static void add_sides(struct profile_notes *notes, const struct profile_diff_report *report, size_t core)
{
    struct profile_notes now = {0}, old = {0};
    note_side(&now, report->now, core);
    note_side(&old, report->old, core);
    for (size_t i = 0; i < now.n; i++)
        profile_notes_add(notes, "%s%.900s", has_note(&old, now.text[i]) ? "" : "now: ", now.text[i]);
    for (size_t i = 0; i < old.n; i++)
        if (!has_note(&now, old.text[i]))
            profile_notes_add(notes, "before: %.900s", old.text[i]);
}

bool profile_diff_text(FILE *out, const struct profile_diff_report *report, size_t columns)
{
    struct profile_notes pair = {0};
    const struct profile_report *sides[] = {report->now, report->old};
    for (size_t i = 0; i < 2; i++) {
        fputs(i == 0 ? "now: " : "before: ", out);
        profile_head_print(out, &sides[i]->profile->about, sides[i]->file, sides[i]->elf,
                           columns > 8 ? columns - 8 : columns);
    }
    for (size_t i = 0; i < report->n; i++) {
        struct profile_notes notes = {0};
        fputc('\n', out);
        print_core(out, report, i, columns);
        fputc('\n', out);
        print_table(out, &report->diffs[i], report->now->shares[i].sort);
        note_core(&notes, report, i);
        add_sides(&notes, report, i);
        profile_notes_print(out, &notes, columns);
    }
    note_pair(&pair, report);
    profile_notes_print(out, &pair, columns);
    return is_whole(out);
}

/* ---- JSON */

static bool json_profile(FILE *out, const struct profile_report *report, const char *type)
{
    const struct profile *profile = report->profile;
    struct json_part line = json_part_new(type);
    struct profile_notes notes = {0};
    json_part_text(&line, "file", report->file);
    json_part_text(&line, "date", text_of(profile->about.date));
    json_part_text(&line, "source", text_of(profile->about.source));
    json_part_text(&line, "elf", text_of(report->elf));
    json_part_text(&line, "build_id", text_of(profile->about.build_id));
    json_part_bool(&line, "cut", !profile->end.known);
    json_part_text(&line, "ended", text_of(profile->end.why));
    profile_notes_of_run(&notes, profile, report->file, report->no_names);
    profile_notes_json(&line, &notes);
    return json_part_write(out, line);
}

static bool json_core(FILE *out, const struct profile_diff_report *report, size_t i)
{
    struct json_part line = json_part_new("core"), old = json_part_new(NULL);
    struct profile_notes notes = {0}, its = {0};
    json_part_unsigned(&line, "core", profile_core_number(&report->now->profile->about, (unsigned)i));
    json_part_text(&line, "name", text_of(report->now->profile->about.cores[i]));
    json_part_unsigned(&line, "samples", report->now->shares[i].samples);
    profile_notes_of_core(&notes, &report->now->shares[i]);
    note_core(&notes, report, i);
    profile_notes_json(&line, &notes);
    json_part_text(&old, "name", text_of(report->old->profile->about.cores[i]));
    json_part_unsigned(&old, "samples", report->old->shares[i].samples);
    profile_notes_of_core(&its, &report->old->shares[i]);
    profile_notes_json(&old, &its);
    json_part_object(&line, "old", old);
    return json_part_write(out, line);
}

static void json_side(struct json_part *part, const struct share_side *side)
{
    json_part_real(part, "share", side->part);
    json_part_real(part, "plus_minus", side->plus_minus);
    json_part_unsigned(part, "samples", side->samples);
}

static bool json_change(FILE *out, const struct profile_about *about, size_t core, enum shares_sort sort,
                        const struct share_change *row)
{
    struct json_part line = json_part_new("change"), now = json_part_new(NULL), old = json_part_new(NULL);
    json_part_unsigned(&line, "core", profile_core_number(about, (unsigned)core));
    json_part_real(&line, "change", row->change);
    json_part_real(&line, "plus_minus", row->plus_minus);
    json_part_bool(&line, "noise", row->is_noise);
    if (is_state(row->row))
        json_part_text(&line, "state", profile_file_state(row->row->state));
    json_part_text(&line, "function", text_of(row->row->function));
    json_part_text(&line, "source", text_of(row->row->source));
    if (sort == SHARES_ADDRESS && !is_state(row->row))
        json_part_hex(&line, "address", row->row->address);
    json_side(&now, &row->now);
    json_side(&old, &row->old);
    json_part_object(&line, "now", now);
    json_part_object(&line, "old", old);
    return json_part_write(out, line);
}

bool profile_diff_json(FILE *out, const struct profile_diff_report *report)
{
    struct json_part summary = json_part_new("summary");
    uint64_t samples = 0;
    bool ok = json_command_header(out, "report", text_of(report->now->profile->about.probe)) &&
              json_profile(out, report->now, "profile") && json_profile(out, report->old, "old");
    for (size_t i = 0; i < report->n && ok; i++) {
        samples += report->now->shares[i].samples;
        ok = json_core(out, report, i);
        for (size_t k = 0; k < report->diffs[i].n && ok; k++)
            ok = json_change(out, &report->now->profile->about, i, report->now->shares[i].sort,
                             &report->diffs[i].rows[k]);
    }
    json_part_unsigned(&summary, "samples", samples);
    return json_part_write(out, summary) && ok;
}

/* ---- CSV */

static void csv_real(struct csv *csv, double value)
{
    char text[NUMBER_ROOM];
    csv_field(csv, isfinite(value) ? number_shortest(text, sizeof text, value) : "");
}

static void csv_side(struct csv *csv, const struct share_side *side)
{
    csv_real(csv, side->part);
    csv_real(csv, side->plus_minus);
    csv_unsigned(csv, side->samples);
}

bool profile_diff_csv(FILE *out, const struct profile_diff_report *report, char separator)
{
    static const char *const heading[] = {"core",           "change",           "plus_minus", "noise",
                                          "share",          "share_plus_minus", "samples",    "old_share",
                                          "old_plus_minus", "old_samples",      "address",    "function",
                                          "source"};
    struct csv csv = {.out = out, .separator = separator};
    for (size_t i = 0; i < sizeof heading / sizeof *heading; i++)
        csv_field(&csv, heading[i]);
    csv_end_line(&csv);
    for (size_t i = 0; i < report->n; i++)
        for (size_t k = 0; k < report->diffs[i].n; k++) {
            const struct share_change *row = &report->diffs[i].rows[k];
            enum shares_sort sort = report->now->shares[i].sort;
            char address[NUMBER_ROOM] = "";
            if (sort == SHARES_ADDRESS && !is_state(row->row))
                snprintf(address, sizeof address, "0x%08" PRIx64, row->row->address);
            csv_unsigned(&csv, profile_core_number(&report->now->profile->about, (unsigned)i));
            csv_real(&csv, row->change);
            csv_real(&csv, row->plus_minus);
            csv_field(&csv, row->is_noise ? "1" : "0");
            csv_side(&csv, &row->now);
            csv_side(&csv, &row->old);
            csv_field(&csv, address);
            csv_text(&csv, row_name(sort, row->row));
            csv_text(&csv, sort != SHARES_FILE ? text_of(row->row->source) : "");
            csv_end_line(&csv);
        }
    return is_whole(out);
}
