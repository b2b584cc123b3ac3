#include "symbols/line_search.h"

#include "symbols/line_program.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* One separator, no "." and "x/.." parts; leading ".." are dropped, for what they mean is not known here */
static void path_normalize(char *path)
{
    char *out = path;
    const char *in = path;
    bool rooted = *in == '/' || *in == '\\';
    while (*in != '\0') {
        size_t length = strcspn(in, "/\\");
        bool is_up = length == 2 && memcmp(in, "..", 2) == 0;
        if (is_up) {
            while (out > path && *--out != '/')
                ;
        } else if (length > 0 && !(length == 1 && *in == '.')) {
            if (out > path || rooted)
                *out++ = '/';
            memmove(out, in, length);
            out += length;
        }
        in += length;
        in += *in != '\0';
    }
    *out = '\0';
}

struct search {
    struct symbols *symbols;
    char path[512];
    size_t length;
    const char *base; /* the last part of `path`: a cheap first look */
    uint64_t line;
    struct line_hits *hits;
};

static bool ends_with(const char *path, const struct search *search)
{
    size_t length = strlen(path);
    if (length < search->length || strcmp(path + length - search->length, search->path) != 0)
        return false;
    return length == search->length || search->path[0] == '/' || path[length - search->length - 1] == '/';
}

static const char *unit_directory(struct unit *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute) != NULL ? dwarf_formstring(&attribute) : NULL;
}

/* Which files of the table are meant; NULL when none is. The caller frees. */
static bool *match_files(const struct search *search, const struct line_program *program, struct unit *unit)
{
    bool *matches = NULL;
    for (size_t i = 0; i < program->file_count; i++) {
        const char *base = line_program_file(program, i);
        char path[PATH_MAX];
        if (base == NULL || strcmp(base, search->base) != 0 ||
            !line_program_path(program, unit_directory(unit), i, path, sizeof path))
            continue;
        path_normalize(path);
        if (!ends_with(path, search))
            continue;
        if (matches == NULL)
            matches = calloc(program->file_count, sizeof *matches);
        if (matches == NULL)
            return NULL;
        matches[i] = true;
    }
    return matches;
}

static void hit_add(struct line_hits *hits, const struct line_hit *hit)
{
    for (size_t i = 0; i < hits->count; i++) {
        if (hits->at[i].address == hit->address) {
            hits->at[i].is_statement |= hit->is_statement;
            hits->at[i].is_empty &= hit->is_empty;
            return;
        }
    }
    if (hits->count < LINE_HITS)
        hits->at[hits->count++] = *hit;
    else
        hits->has_more = true;
}

static void note_line(struct line_hits *hits, uint64_t line, uint64_t wanted)
{
    if (line > wanted && (hits->next == 0 || line < hits->next))
        hits->next = line;
    if (line > hits->last && line < INT32_MAX)
        hits->last = line;
}

/* A run of rows for the line; its hits are its first row and its first row that begins a statement */
struct run {
    struct line_hit hit;
    bool is_pending; /* the hit is not known to be empty or not */
    bool is_open;
    bool has_statement;
};

static void run_flush(struct run *run, struct line_hits *hits, bool is_empty)
{
    run->hit.is_empty = is_empty;
    if (run->is_pending)
        hit_add(hits, &run->hit);
    run->is_pending = false;
}

static void run_row(struct run *run, struct line_hits *hits, const struct line_row *row, bool of_line)
{
    bool has_moved = row->address != run->hit.address;
    if (has_moved || !of_line)
        run_flush(run, hits, !has_moved);
    if (of_line && (!run->is_open || (row->is_statement && !run->has_statement))) {
        run->hit = (struct line_hit){.address = row->address, .is_statement = row->is_statement};
        run->is_pending = true;
    }
    run->has_statement = of_line && ((run->is_open && run->has_statement) || row->is_statement);
    run->is_open = of_line;
}

static void search_rows(const struct search *search, struct line_program *program, const bool *matches,
                        size_t count)
{
    struct line_row row;
    struct run run = {.is_open = false};
    bool kept = false;
    while (line_program_next(program, &row)) {
        if (row.begins_sequence)
            kept = table_is_kept(search->symbols, row.address);
        bool of_file = kept && !row.ends_sequence && row.file < count && matches[row.file];
        run_row(&run, search->hits, &row, of_file && row.line == search->line);
        if (of_file)
            note_line(search->hits, row.line, search->line);
    }
}

static bool has_seen_table(const struct symbols *symbols, size_t i)
{
    return !symbols->units[i].has_lines || (i > 0 && symbols->units[i - 1].has_lines &&
                                            symbols->units[i - 1].lines == symbols->units[i].lines);
}

void line_search(struct symbols *symbols, const char *path, size_t length, uint64_t line,
                 struct line_hits *hits)
{
    *hits = (struct line_hits){.count = 0};
    struct search search = {.symbols = symbols, .line = line, .hits = hits};
    if (length >= sizeof search.path || !lines_load(symbols))
        return;
    memcpy(search.path, path, length);
    path_normalize(search.path);
    search.length = strlen(search.path);
    search.base = name_of_file(search.path);
    if (search.base[0] == '\0')
        return;
    for (size_t i = 0; i < symbols->unit_count; i++) {
        if (has_seen_table(symbols, i))
            continue;
        struct line_program program;
        bool *matches = NULL;
        if (line_program_open(&program, symbols, symbols->units[i].lines))
            matches = match_files(&search, &program, &symbols->units[i]);
        if (matches != NULL) {
            hits->knows_file = true;
            search_rows(&search, &program, matches, program.file_count);
        }
        free(matches);
        line_program_close(&program);
    }
}

void line_search_near(struct symbols *symbols, struct near *near)
{
    for (size_t i = 0; lines_load(symbols) && i < symbols->unit_count; i++) {
        if (has_seen_table(symbols, i))
            continue;
        struct line_program program;
        bool opened = line_program_open(&program, symbols, symbols->units[i].lines);
        for (size_t j = 0; opened && j < program.file_count; j++)
            if (line_program_file(&program, j) != NULL)
                near_offer(near, line_program_file(&program, j));
        line_program_close(&program);
    }
}
