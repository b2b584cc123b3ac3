/* SPDX-License-Identifier: MIT */
/*
 * The DWARF line tables: which line an instruction belongs to, and which addresses a line has.
 */
#include "base/values.h"
#include "symbols/internal.h"

#include <dwarf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- all tables ---------------------------------------------------------------------------------------- */

static int unit_order(const void *a, const void *b)
{
    const struct unit *left = a;
    const struct unit *right = b;
    if (left->has_lines != right->has_lines)
        return left->has_lines ? -1 : 1;
    return left->lines < right->lines ? -1 : left->lines > right->lines;
}

static struct unit unit_make(Dwarf_Die *die)
{
    struct unit unit = {.die = *die};
    unit.has_lines = die_number(die, DW_AT_stmt_list, &unit.lines);
    return unit;
}

static void read_units(struct symbols *symbols)
{
    size_t room = 0;
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type = 0;
    while (dwarf_get_units(symbols->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        if (type != DW_UT_compile && type != DW_UT_partial && type != DW_UT_skeleton)
            continue;
        struct unit *grown = array_grow(symbols->units, symbols->unit_count + 1, &room, sizeof *grown);
        if (grown == NULL)
            break;
        symbols->units = grown;
        symbols->units[symbols->unit_count++] = unit_make(&die);
    }
    if (symbols->unit_count > 0)
        qsort(symbols->units, symbols->unit_count, sizeof symbols->units[0], unit_order);
}

static struct debug_section debug_section(struct symbols *symbols, const char *name,
                                          const char *old_compressed)
{
    struct debug_section section = elf_section(symbols->debug, name);
    return section.size > 0 ? section : elf_section(symbols->debug, old_compressed);
}

bool lines_load(struct symbols *symbols)
{
    if (symbols->dwarf_loaded)
        return symbols->unit_count > 0 && symbols->line.size > 0;
    symbols->dwarf_loaded = true;
    symbols->dwarf = dwarf_begin_elf(symbols->debug, DWARF_C_READ, NULL);
    if (symbols->dwarf == NULL)
        return false;
    /* libdw has decompressed them in place by now */
    symbols->line = debug_section(symbols, ".debug_line", ".zdebug_line");
    symbols->line_str = debug_section(symbols, ".debug_line_str", ".zdebug_line_str");
    symbols->str = debug_section(symbols, ".debug_str", ".zdebug_str");
    if (symbols->line.size > 0)
        read_units(symbols);
    return symbols->unit_count > 0 && symbols->line.size > 0;
}

const char *symbols_lines_advice(struct symbols *symbols)
{
    enum { ZSTD = 2 }; /* ELFCOMPRESS_ZSTD, which older elf.h lack */
    bool has_zstd = false;
    if (lines_load(symbols))
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->debug, section)) != NULL;) {
        GElf_Chdr compressed;
        has_zstd = has_zstd || (gelf_getchdr(section, &compressed) != NULL && compressed.ch_type == ZSTD);
    }
    if (has_zstd)
        return "This elfutils cannot read DWARF compressed with zstd: link with -gz=zlib, or objcopy "
               "--decompress-debug-sections.";
    if (elf_section(symbols->debug, ".stab").size > 0)
        return "It has stabs: compile with -gdwarf.";
    if (!symbols->has_code)
        return NULL;
    return debug_file_name(symbols->elf) != NULL && symbols->debug == symbols->elf
               ? "Its separate file is neither next to it nor in .debug or /usr/lib/debug."
               : "Compile with -g.";
}

/* --- the line of an address ---------------------------------------------------------------------------- */

/* The unit that was asked for last. If it is asked for again, its rows are kept: a profile has thousands of
 * addresses in a unit. */
struct line_memory {
    const struct unit *unit;
    bool has_rows;
    struct line_program program; /* of `unit`, for the names of its files */
    struct ranges rows;
};

static void memory_clear(struct line_memory *memory)
{
    if (memory->has_rows) {
        line_program_close(&memory->program);
        free(memory->rows.at);
    }
    *memory = (struct line_memory){.unit = NULL};
}

void lines_close(struct symbols *symbols)
{
    if (symbols->lines != NULL)
        memory_clear(symbols->lines);
    free(symbols->lines);
}

/* The next piece of code that has one line; false: that was the last. An instruction belongs to the last row
 * before the next address. */
struct line_pieces {
    struct symbols *symbols;
    struct line_program *program;
    struct line_row before;
    bool kept;
};

static bool next_piece(struct line_pieces *pieces, struct range *out)
{
    struct line_row row, before;
    while (line_program_next(pieces->program, &row)) {
        before = pieces->before;
        pieces->before = row;
        if (row.begins_sequence)
            pieces->kept = table_is_kept(pieces->symbols, row.address);
        else if (pieces->kept && before.address < row.address) {
            *out = (struct range){
                .low = before.address, .high = row.address, .unit = before.file, .what = before.line};
            return true;
        }
    }
    return false;
}

/* NULL: no memory. */
static struct line_memory *memory_of(struct symbols *symbols, const struct unit *unit)
{
    struct line_memory *memory = symbols->lines;
    if (memory == NULL)
        memory = symbols->lines = calloc(1, sizeof *memory);
    if (memory == NULL || memory->has_rows || memory->unit != unit)
        return memory;
    struct line_pieces pieces = {.symbols = symbols, .program = &memory->program};
    struct range piece;
    bool more = line_program_open(&memory->program, symbols, unit->lines);
    memory->has_rows = true;
    while (more && next_piece(&pieces, &piece))
        more = ranges_add(&memory->rows, &piece);
    ranges_sort(&memory->rows);
    return memory;
}

typedef void use_piece(const struct line_program *program, struct unit *unit, const struct range *piece,
                       char *out, size_t room);

static void name_piece(const struct line_program *program, struct unit *unit, const struct range *piece,
                       char *out, size_t room)
{
    (void)unit;
    const char *file = piece->what > 0 ? line_program_file(program, piece->unit) : NULL;
    char name[200];
    if (file == NULL)
        return;
    name_copy(name, sizeof name, file, strlen(file));
    snprintf(out, room, "%s:%" PRIu64, name, piece->what);
}

static bool source_in_unit(struct symbols *symbols, struct unit *unit, uint64_t address, use_piece *use,
                           char *out, size_t room)
{
    struct line_program program;
    struct line_pieces pieces = {.symbols = symbols, .program = &program};
    struct range piece;
    bool found = false;
    struct line_memory *memory = unit->has_lines ? memory_of(symbols, unit) : NULL;
    if (memory != NULL && memory->has_rows && memory->unit == unit) {
        const struct range *row = ranges_find(&memory->rows, address);
        if (row != NULL)
            use(&memory->program, unit, row, out, room);
        return row != NULL;
    }
    if (!unit->has_lines)
        return false;
    if (line_program_open(&program, symbols, unit->lines))
        while (!found && next_piece(&pieces, &piece))
            found = piece.low <= address && address < piece.high;
    if (found)
        use(&program, unit, &piece, out, room);
    line_program_close(&program);
    if (memory != NULL) {
        memory_clear(memory);
        memory->unit = unit;
    }
    return found;
}

static void lines_find_piece(struct symbols *symbols, uint64_t address, use_piece *use, char *out,
                             size_t room)
{
    out[0] = '\0';
    struct unit_search search = {.symbols = symbols, .address = address};
    struct unit *unit;
    while (units_next(&search, &unit))
        if (source_in_unit(symbols, unit, address, use, out, room))
            return;
}

void lines_source(struct symbols *symbols, uint64_t address, char *out, size_t room)
{
    lines_find_piece(symbols, address, name_piece, out, room);
}

/* --- the lines of a piece of code ---------------------------------------------------------------------- */

/* One kind of separator, no "." and "x/.." parts. Leading ".." are dropped: their directory is not known. */
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

static const char *unit_directory(struct unit *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute) != NULL ? dwarf_formstring(&attribute) : NULL;
}

static void path_of_piece(const struct line_program *program, struct unit *unit, const struct range *piece,
                          char *out, size_t room)
{
    char path[PATH_MAX];
    if (piece->what == 0 || !line_program_path(program, unit_directory(unit), piece->unit, path, sizeof path))
        return;
    path_normalize(path);
    name_copy(out, room, path, strlen(path));
}

void symbols_file(struct symbols *symbols, uint64_t address, char *out, size_t room)
{
    out[0] = '\0';
    if (symbols != NULL)
        lines_find_piece(symbols, address, path_of_piece, out, room);
}

struct mapping_lines {
    struct line_map *out;
    uint64_t low;
    uint32_t *next; /* of a slot: itself if it is free, else a later one; the last one is never taken */
};

static size_t free_slot(uint32_t *next, size_t at)
{
    for (; next[at] != at; at = next[at])
        next[at] = next[next[at]];
    return at;
}

/* LINE_MAP_NO_FILE: none, or out of memory. */
static uint32_t map_file(struct line_map *map, const struct line_program *program, struct unit *unit,
                         uint64_t file)
{
    char path[PATH_MAX];
    if (!line_program_path(program, unit_directory(unit), file, path, sizeof path))
        return LINE_MAP_NO_FILE;
    path_normalize(path);
    for (size_t i = map->file_count; i-- > 0;)
        if (strcmp(map->files[i], path) == 0)
            return (uint32_t)i;
    char **more =
        map->file_count < LINE_MAP_FILES ? realloc(map->files, (map->file_count + 1) * sizeof(char *)) : NULL;
    char *copy = more != NULL ? strdup(path) : NULL;
    map->files = more != NULL ? more : map->files;
    if (copy == NULL)
        return LINE_MAP_NO_FILE;
    map->files[map->file_count] = copy;
    return (uint32_t)map->file_count++;
}

static void map_piece(struct mapping_lines *mapping, const struct line_program *program, struct unit *unit,
                      const struct range *piece)
{
    struct line_map *out = mapping->out;
    uint64_t high = mapping->low + 2 * (uint64_t)out->n;
    uint64_t from = piece->low > mapping->low ? piece->low : mapping->low;
    uint64_t end = piece->high < high ? piece->high : high;
    if (from >= end)
        return;
    size_t last = (size_t)((end - mapping->low + 1) / 2);
    size_t at = free_slot(mapping->next, (size_t)((from - mapping->low) / 2));
    if (at >= last)
        return;
    struct line_slot slot = {.file = LINE_MAP_NO_FILE};
    if (piece->what > 0 && piece->what <= UINT32_MAX)
        slot.file = map_file(out, program, unit, piece->unit);
    if (slot.file != LINE_MAP_NO_FILE)
        slot.line = (uint32_t)piece->what;
    for (; at < last; at = free_slot(mapping->next, at)) {
        out->slots[at] = slot;
        mapping->next[at] = (uint32_t)at + 1;
    }
}

static void map_unit(struct mapping_lines *mapping, struct symbols *symbols, struct unit *unit)
{
    struct line_program program;
    struct line_pieces pieces = {.symbols = symbols, .program = &program};
    struct range piece;
    if (line_program_open(&program, symbols, unit->lines))
        while (next_piece(&pieces, &piece))
            map_piece(mapping, &program, unit, &piece);
    line_program_close(&program);
}

bool lines_map(struct symbols *symbols, uint64_t low, uint64_t high, struct line_map *out)
{
    *out = (struct line_map){.n = (size_t)((high - low + 1) / 2)};
    struct mapping_lines mapping = {.out = out, .low = low};
    out->slots = calloc(out->n + 1, sizeof *out->slots);
    mapping.next = calloc(out->n + 1, sizeof *mapping.next);
    if (out->slots == NULL || mapping.next == NULL) {
        free(mapping.next);
        line_map_free(out);
        return false;
    }
    for (size_t i = 0; i <= out->n; i++) {
        out->slots[i].file = LINE_MAP_NO_FILE;
        mapping.next[i] = (uint32_t)i;
    }
    struct unit_search search = {.symbols = symbols, .address = low};
    struct unit *unit;
    while (units_next(&search, &unit))
        if (unit->has_lines)
            map_unit(&mapping, symbols, unit);
    free(mapping.next);
    return true;
}

void line_map_free(struct line_map *map)
{
    for (size_t i = 0; i < map->file_count; i++)
        free(map->files[i]);
    free(map->files);
    free(map->slots);
    *map = (struct line_map){0};
}

/* --- the addresses of a line --------------------------------------------------------------------------- */

struct search {
    struct symbols *symbols;
    char path[512];
    size_t length;
    const char *base; /* the last part of `path`, compared first because it is cheap */
    uint64_t line;
    struct line_hits *hits;
};

/* Which files of the table match; NULL if none does. The caller frees. */
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
        if (!path_ends_with(path, search->path, search->length))
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

/* A run of rows for the line. Its hits are its first row and its first row that begins a statement. */
struct run {
    struct line_hit hit;
    bool is_pending; /* it is not known yet whether the hit is empty */
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
