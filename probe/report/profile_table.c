#include "report/profile_table.h"

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
enum cell { CHILDREN, SHARE, PLUS_MINUS, SAMPLES, ADDRESS, FUNCTION, SOURCE, CELLS };

static const char *core_name(const struct profile_report *report, unsigned core)
{
    return core < report->profile->about.core_count ? report->profile->about.cores[core] : "";
}

static unsigned core_number(const struct profile_report *report, const struct shares *shares)
{
    return profile_core_number(&report->profile->about, shares->core);
}

static double part_of(const struct shares *shares, enum profile_state state)
{
    return shares->samples > 0 ? (double)shares->states[state] / (double)shares->samples : 0;
}

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

static bool is_by_halts(const struct profile *profile)
{
    return strcmp(text_of(profile->about.source), "halts") == 0;
}

static double children_part(const struct shares *shares, const struct share *row)
{
    return shares->samples > 0 ? (double)row->children / (double)shares->samples : 0;
}

/* What a row is of. */
static const char *row_name(const struct shares *shares, const struct share *row)
{
    if (row->state != PROFILE_STATES)
        return shares_state_name(row->state);
    const char *name = shares->sort == SHARES_FILE ? row->source : row->function;
    return name != NULL ? name : "[unknown]";
}

void profile_row_share(const struct share *row, char *out, size_t size)
{
    char number[NUMBER_ROOM];
    snprintf(out, size, "%s", number_share(number, row->part));
}

void profile_row_error(const struct share *row, char *out, size_t size)
{
    char number[NUMBER_ROOM];
    snprintf(out, size, "%s",
             row->samples > 0 ? number_points(number, row->plus_minus) : ""); /* it only calls */
}

void profile_row_address(const struct shares *shares, const struct share *row, char *out, size_t size)
{
    out[0] = '\0';
    if (shares->sort == SHARES_ADDRESS && row->state == PROFILE_STATES)
        snprintf(out, size, "0x%08" PRIx64, row->address);
}

void profile_row_name(const struct shares *shares, const struct share *row, char *out, size_t size)
{
    terminal_text(out, size, row_name(shares, row));
    if (shares->sort == SHARES_ADDRESS && row->state == PROFILE_STATES && row->function == NULL)
        out[0] = '\0';
}

void profile_row_source(const struct shares *shares, const struct share *row, char *out, size_t size)
{
    terminal_text(out, size, shares->sort != SHARES_FILE ? text_of(row->source) : "");
}

const char *profile_row_kind(enum shares_sort sort)
{
    return sort == SHARES_FILE        ? "file"
           : sort == SHARES_TASK      ? "task"
           : sort == SHARES_EXCEPTION ? "exception"
           : sort == SHARES_PROCESS   ? "context"
                                      : "function";
}

static bool is_of_events(const struct profile_report *report)
{
    return report->profile->about.event != NULL;
}

/* ---- text */

struct line {
    char cells[CELLS][CELL];
};

static void put_cells(struct line *line, const struct shares *shares, const struct share *row)
{
    char number[NUMBER_ROOM];
    snprintf(line->cells[CHILDREN], CELL, "%.2f %%", 100 * children_part(shares, row));
    profile_row_share(row, line->cells[SHARE], CELL);
    profile_row_error(row, line->cells[PLUS_MINUS], CELL);
    snprintf(line->cells[SAMPLES], CELL, "%s", number_unsigned(number, sizeof number, row->samples));
    profile_row_address(shares, row, line->cells[ADDRESS], CELL);
    profile_row_name(shares, row, line->cells[FUNCTION], CELL);
    profile_row_source(shares, row, line->cells[SOURCE], CELL);
}

/* In the order of their cells, by what is sorted. */
static const enum cell *order_of(const struct shares *shares)
{
    static const enum cell with_children[CELLS] = {CHILDREN, SHARE,  PLUS_MINUS, SAMPLES,
                                                   FUNCTION, SOURCE, CELLS};
    static const enum cell orders[SHARES_SORTS][CELLS] = {
        [SHARES_FUNCTION] = {SHARE, PLUS_MINUS, SAMPLES, FUNCTION, SOURCE, CELLS},
        [SHARES_LINE] = {SHARE, PLUS_MINUS, SAMPLES, FUNCTION, SOURCE, CELLS},
        [SHARES_FILE] = {SHARE, PLUS_MINUS, SAMPLES, FUNCTION, CELLS},
        [SHARES_ADDRESS] = {SHARE, PLUS_MINUS, SAMPLES, ADDRESS, FUNCTION, SOURCE, CELLS},
        [SHARES_TASK] = {SHARE, PLUS_MINUS, SAMPLES, FUNCTION, CELLS},
        [SHARES_EXCEPTION] = {SHARE, PLUS_MINUS, SAMPLES, FUNCTION, CELLS},
        [SHARES_PROCESS] = {SHARE, PLUS_MINUS, SAMPLES, FUNCTION, CELLS},
    };
    return shares->has_children ? with_children : orders[shares->sort];
}

static void put_heading(struct line *line, enum shares_sort sort)
{
    static const char *const heading[CELLS] = {
        [CHILDREN] = "children", [SHARE] = "share",       [SAMPLES] = "samples",
        [ADDRESS] = "address",   [FUNCTION] = "function", [SOURCE] = "source"};
    for (int cell = 0; cell < CELLS; cell++)
        snprintf(line->cells[cell], CELL, "%s", text_of(heading[cell]));
    snprintf(line->cells[PLUS_MINUS], CELL, "%s", terminal_or("±", "+-"));
    if (sort == SHARES_FILE || sort >= SHARES_CONTEXTS)
        snprintf(line->cells[FUNCTION], CELL, "%s", profile_row_kind(sort));
    if (sort >= SHARES_CONTEXTS)
        snprintf(line->cells[SAMPLES], CELL, "looks");
}

/* A name longer than its column moves what follows; numbers stand at the right of theirs. */
static void print_line(FILE *out, const struct line *line, const enum cell *order, const size_t widths[CELLS])
{
    size_t owed = 0; /* blanks before the next text */
    for (size_t i = 0; i < CELLS && order[i] != CELLS; i++) {
        const char *text = line->cells[order[i]];
        size_t width = utf8_width(text);
        size_t blanks = widths[order[i]] > width ? widths[order[i]] - width : 0;
        bool right = order[i] <= SAMPLES;
        if (text[0] != '\0')
            fprintf(out, "%*s%s", (int)(owed + (right ? blanks : 0)), "", text);
        owed = (text[0] != '\0' ? 0 : owed + width) + (right ? 0 : blanks) + 2;
    }
    fputc('\n', out);
}

/* What `most` rows leave out. */
static void print_rest(FILE *out, const struct shares *shares, size_t most)
{
    double part = 0;
    for (size_t i = most; i < shares->n; i++)
        part += shares->rows[i].part;
    if (shares->n > most)
        fprintf(out, "and %zu more with %.2f %%\n", shares->n - most, part * 100);
}

static void print_table(FILE *out, const struct shares *shares, size_t most)
{
    struct line line;
    const enum cell *order = order_of(shares);
    size_t widths[CELLS], n = shares->n < most ? shares->n : most;
    put_heading(&line, shares->sort);
    for (int cell = 0; cell < CELLS; cell++)
        widths[cell] = utf8_width(line.cells[cell]);
    for (size_t i = 0; i < n; i++) {
        put_cells(&line, shares, &shares->rows[i]);
        for (int cell = 0; cell < CELLS; cell++) {
            size_t width = utf8_width(line.cells[cell]);
            if (width > widths[cell] && (cell != FUNCTION || width <= NAME_MOST))
                widths[cell] = width;
        }
    }
    put_heading(&line, shares->sort);
    print_line(out, &line, order, widths);
    for (size_t i = 0; i < n; i++) {
        put_cells(&line, shares, &shares->rows[i]);
        print_line(out, &line, order, widths);
    }
    print_rest(out, shares, n);
}

/* Also the ones that never were, where that is worth knowing. */
static void print_states(FILE *out, const struct profile_report *report, const struct shares *shares,
                         size_t columns)
{
    bool by_halts = is_by_halts(report->profile); /* no halted core tells whether it slept */
    struct fold fold = {.out = out, .columns = columns, .indent = 2};
    bool of_events = is_of_events(report), begun = false;
    if (of_events && shares->samples > 0) {
        char text[CELL];
        snprintf(text, sizeof text, "stood %.1f %%", 100 * profile_stood_part(shares));
        fold_put(&fold, text, 0);
        begun = true;
    }
    for (int state = 0; state < PROFILE_STATES && shares->samples > 0; state++) {
        const char *name = shares_state_name((enum profile_state)state) + 1; /* without its brackets */
        char text[CELL];
        if (shares->states[state] == 0 && (by_halts || of_events || state > PROFILE_NOT_PERMITTED))
            continue;
        snprintf(text, sizeof text, "%.*s %.1f %%", (int)strlen(name) - 1, name,
                 part_of(shares, (enum profile_state)state) * 100);
        fold_put(&fold, text, begun ? 2 : 0);
        begun = true;
    }
    fold_end(&fold);
}

static void print_core(FILE *out, const struct profile_report *report, const struct shares *shares,
                       size_t columns)
{
    char text[CELL], name[CELL / 4], source[CELL / 4], number[NUMBER_ROOM], rate[NUMBER_ROOM],
        elapsed[NUMBER_ROOM];
    struct fold fold = {.out = out, .columns = columns, .indent = 2};
    terminal_text(name, sizeof name, core_name(report, shares->core));
    terminal_text(source, sizeof source, text_of(report->profile->about.source));
    const struct profile_about *about = &report->profile->about;
    char every[CELL / 4] = "", event[CELL / 4];
    if (is_of_events(report))
        snprintf(every, sizeof every, " each %s %.64s", number_unsigned(number, sizeof number, about->every),
                 terminal_text(event, sizeof event, about->event));
    snprintf(text, sizeof text, "core %u%s%s%s%s%s:", core_number(report, shares), name[0] != '\0' ? " " : "",
             name, source[0] != '\0' ? ", by " : "", source, every);
    fold_put(&fold, text, 0);
    snprintf(text, sizeof text, "%s %s",
             shares->samples > 0 ? number_unsigned(number, sizeof number, shares->samples) : "no",
             shares->sort >= SHARES_CONTEXTS ? "looks" : "samples");
    fold_put(&fold, text, 1);
    if (shares->samples > 0 && shares->seconds > 0) {
        snprintf(
            text, sizeof text, "in %s, %s/s", number_elapsed(elapsed, sizeof elapsed, shares->seconds),
            number_unsigned(rate, sizeof rate, (uint64_t)round((double)shares->samples / shares->seconds)));
        fold_put(&fold, text, 1);
    }
    fold_end(&fold);
    if (shares->sort < SHARES_CONTEXTS)
        print_states(out, report, shares, columns);
}

static bool is_whole(FILE *out)
{
    return fflush(out) == 0 && !ferror(out);
}

void profile_text_core(FILE *out, const struct profile_report *report, const struct shares *shares,
                       size_t most, size_t columns)
{
    print_core(out, report, shares, columns);
    if (shares->n == 0)
        return;
    fputc('\n', out);
    print_table(out, shares, most);
}

bool profile_text_within(FILE *out, const struct profile_report *report, size_t columns)
{
    struct profile_notes notes = {0};
    profile_head_print(out, &report->profile->about, report->file, report->elf, columns);
    for (size_t i = 0; i < report->n; i++) {
        const struct shares *shares = &report->shares[i];
        struct profile_notes of_core = {0};
        fputc('\n', out);
        profile_text_core(out, report, shares, SIZE_MAX, columns);
        if (report->tree != NULL && shares->n > 0) {
            fputc('\n', out);
            if (!stacks_tree(out, report->tree, shares->core))
                return false;
        }
        profile_notes_of_core(&of_core, shares);
        profile_notes_of_stops(&of_core, report->profile, shares);
        profile_notes_print(out, &of_core, columns);
    }
    profile_notes_of_run(&notes, report->profile, report->file, report->no_names);
    profile_notes_print(out, &notes, columns);
    return is_whole(out);
}

bool profile_text(FILE *out, const struct profile_report *report)
{
    return profile_text_within(out, report, terminal_columns(out));
}

/* ---- JSON */

static bool json_profile_line(FILE *out, const struct profile_report *report)
{
    const struct profile *profile = report->profile;
    struct json_part line = json_part_new("profile");
    struct profile_notes notes = {0};
    json_part_text(&line, "file", report->file);
    json_part_text(&line, "date", text_of(profile->about.date));
    json_part_text(&line, "source", text_of(profile->about.source));
    json_part_text(&line, "event", text_of(profile->about.event));
    if (is_of_events(report))
        json_part_unsigned(&line, "every", profile->about.every);
    json_part_text(&line, "elf", text_of(report->elf));
    json_part_text(&line, "build_id", text_of(profile->about.build_id));
    json_part_bool(&line, "cut", !profile->end.known);
    json_part_text(&line, "ended", text_of(profile->end.why));
    profile_notes_of_run(&notes, report->profile, report->file, report->no_names);
    profile_notes_json(&line, &notes);
    return json_part_write(out, line);
}

/* `since_begin`: of one of many lists, which have no notes; NaN: it is a report's only one. */
static bool json_core_line(FILE *out, const struct profile_report *report, const struct shares *shares,
                           double since_begin)
{
    struct json_part line = json_part_new("core");
    struct profile_notes notes = {0};
    json_part_unsigned(&line, "core", core_number(report, shares));
    json_part_text(&line, "name", core_name(report, shares->core));
    json_part_unsigned(&line, "samples", shares->samples);
    json_part_real(&line, "seconds", shares->seconds);
    json_part_real(&line, "since_begin", since_begin);
    for (int state = 0; state < PROFILE_STATES; state++)
        if (shares->states[state] > 0)
            json_part_unsigned(&line, profile_file_state((enum profile_state)state), shares->states[state]);
    if (shares->resets > 0)
        json_part_unsigned(&line, "resets", shares->resets);
    if (is_of_events(report)) {
        json_part_unsigned(&line, "events", shares->events);
        json_part_real(&line, "stood", profile_stood_part(shares));
    }
    json_part_unsigned(&line, "batches", shares->batches);
    if (!isfinite(since_begin)) {
        profile_notes_of_core(&notes, shares);
        profile_notes_of_stops(&notes, report->profile, shares);
        profile_notes_json(&line, &notes);
    }
    return json_part_write(out, line);
}

static bool json_share_line(FILE *out, const struct profile_report *report, const struct shares *shares,
                            const struct share *row)
{
    struct json_part line = json_part_new("share");
    bool is_state = row->state != PROFILE_STATES;
    json_part_unsigned(&line, "core", core_number(report, shares));
    json_part_real(&line, "share", row->part);
    json_part_real(&line, "plus_minus", row->plus_minus);
    json_part_unsigned(&line, "samples", row->samples);
    if (shares->has_children)
        json_part_real(&line, "children", children_part(shares, row));
    if (is_state)
        json_part_text(&line, "state", profile_file_state(row->state));
    if (shares->sort >= SHARES_CONTEXTS) {
        json_part_text(&line, profile_row_kind(shares->sort), text_of(row->function));
        json_part_hex(&line, "value", row->address);
        return json_part_write(out, line);
    }
    json_part_text(&line, "function", text_of(row->function));
    json_part_text(&line, "source", text_of(row->source));
    if (!is_state && shares->sort != SHARES_FILE)
        json_part_hex(&line, "address", row->address);
    return json_part_write(out, line);
}

bool profile_json_core(FILE *out, const struct profile_report *report, const struct shares *shares,
                       double since_begin)
{
    bool ok = json_core_line(out, report, shares, since_begin);
    for (size_t i = 0; i < shares->n && ok; i++)
        ok = json_share_line(out, report, shares, &shares->rows[i]);
    return ok;
}

bool profile_json(FILE *out, const struct profile_report *report)
{
    uint64_t samples = 0;
    bool ok = json_command_header(out, "report", text_of(report->profile->about.probe)) &&
              json_profile_line(out, report);
    for (size_t i = 0; i < report->n && ok; i++) {
        samples += report->shares[i].samples;
        ok = profile_json_core(out, report, &report->shares[i], NAN);
    }
    struct json_part line = json_part_new("summary");
    json_part_unsigned(&line, "samples", samples);
    return json_part_write(out, line) && ok;
}

/* ---- CSV */

static void put_real(struct csv *csv, double value)
{
    char text[NUMBER_ROOM];
    csv_field(csv, isfinite(value) ? number_shortest(text, sizeof text, value) : "");
}

bool profile_csv(FILE *out, const struct profile_report *report, char separator)
{
    static const char *const heading[] = {"core",    "share",    "plus_minus", "samples",
                                          "address", "function", "source"};
    struct csv csv = {.out = out, .separator = separator};
    bool has_children = report->n > 0 && report->shares[0].has_children;
    for (size_t i = 0; i < sizeof heading / sizeof *heading; i++)
        csv_field(&csv, heading[i]);
    if (has_children)
        csv_field(&csv, "children");
    csv_end_line(&csv);
    for (size_t i = 0; i < report->n; i++) {
        const struct shares *shares = &report->shares[i];
        for (size_t k = 0; k < shares->n; k++) {
            const struct share *row = &shares->rows[k];
            bool is_state = row->state != PROFILE_STATES;
            char address[NUMBER_ROOM];
            snprintf(address, sizeof address, "0x%08" PRIx64, row->address);
            csv_unsigned(&csv, core_number(report, shares));
            put_real(&csv, row->part);
            put_real(&csv, row->plus_minus);
            csv_unsigned(&csv, row->samples);
            csv_field(&csv, is_state || shares->sort == SHARES_FILE ? "" : address);
            csv_text(&csv, is_state ? shares_state_name(row->state) : text_of(row->function));
            csv_text(&csv, text_of(row->source));
            if (has_children)
                put_real(&csv, children_part(shares, row));
            csv_end_line(&csv);
        }
    }
    return is_whole(out);
}

/* ---- folded */

static void keep_in_frame(char *text)
{
    while ((text = strchr(text, ';')) != NULL)
        *text = ':';
}

bool profile_folded(FILE *out, const struct profile_report *report)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct shares *shares = &report->shares[i];
        for (size_t k = 0; k < shares->n; k++) {
            const struct share *row = &shares->rows[k];
            char name[UTF8_CLEAN_ROOM(CELL)], source[UTF8_CLEAN_ROOM(CELL)] = "", address[32] = "";
            utf8_clean(name, sizeof name, row_name(shares, row));
            if (shares->sort == SHARES_LINE && row->source != NULL)
                utf8_clean(source, sizeof source, row->source);
            if (shares->sort == SHARES_ADDRESS && row->state == PROFILE_STATES && row->function == NULL)
                snprintf(address, sizeof address, "0x%08" PRIx64, row->address);
            keep_in_frame(name);
            keep_in_frame(source);
            fprintf(out, "core %u;%s%s%s %" PRIu64 "\n", core_number(report, shares),
                    address[0] != '\0' ? address : name, source[0] != '\0' ? " " : "", source, row->samples);
        }
    }
    return is_whole(out);
}
