/*
 * The DWARF line tables: which line an instruction belongs to, and which addresses a line has. The tables are
 * run by a reader of our own (DWARF 2 to 5). libdw has one, but it sorts the rows of all sequences of a unit
 * by address: then the rows of functions that the linker dropped, which stay in the table at address 0, are
 * mixed with the rows of the code that is at 0, as it often is on microcontrollers.
 */
#include "symbols/internal.h"

#include <dwarf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a line table: its header -------------------------------------------------------------------------- */

struct line_row {
    uint64_t address;
    uint64_t file; /* for line_program_path */
    uint64_t line; /* 0: the compiler's own */
    bool is_statement;
    bool begins_sequence; /* a new run of rising addresses, independent of the rows before */
    bool ends_sequence;   /* no code of its own: the address behind the last instruction */
};

struct line_file {
    const char *name;
    uint64_t directory;
};

struct line_program {
    struct cursor rest;
    unsigned version;
    size_t offset_size;
    uint8_t step, line_range, opcode_base;
    int8_t line_base;
    bool starts_as_statement;
    const uint8_t *operand_counts;
    struct debug_section line_str, str;

    const char **directories;
    size_t directory_count, directory_room;
    struct line_file *files;
    size_t file_count, file_room;

    struct line_row row;
    bool in_sequence;
};

/* Makes room for one more; false if there is no memory. */
static bool grow(void **array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t wanted = *room ? 2 * *room : 16;
    void *grown = realloc(*array, wanted * size);
    if (grown == NULL)
        return false;
    *array = grown;
    *room = wanted;
    return true;
}

static bool add_directory(struct line_program *program, const char *name)
{
    void *directories = (void *)program->directories;
    bool added = grow(&directories, program->directory_count, &program->directory_room, sizeof(const char *));
    program->directories = directories;
    if (added)
        program->directories[program->directory_count++] = name;
    return added;
}

static bool add_file(struct line_program *program, const char *name, uint64_t directory)
{
    void *files = program->files;
    bool added = grow(&files, program->file_count, &program->file_room, sizeof(struct line_file));
    program->files = files;
    if (added)
        program->files[program->file_count++] = (struct line_file){name, directory};
    return added;
}

/* DWARF 2 to 4: strings, ended by an empty one. Directory 0 and file 0 are not in the lists. */
static bool read_old_tables(struct line_program *program, struct cursor *header)
{
    if (!add_directory(program, NULL) || !add_file(program, NULL, 0))
        return false;
    for (const char *name; *(name = cursor_string(header)) != '\0';)
        if (!add_directory(program, name))
            return false;
    for (const char *name; *(name = cursor_string(header)) != '\0';) {
        uint64_t directory = cursor_uleb(header);
        cursor_uleb(header); /* time */
        cursor_uleb(header); /* size */
        if (!add_file(program, name, directory))
            return false;
    }
    return !header->bad;
}

static const char *string_at(struct debug_section section, uint64_t offset)
{
    if (offset >= section.size)
        return NULL;
    struct cursor cursor = {.at = section.bytes + offset, .end = section.bytes + section.size};
    const char *string = cursor_string(&cursor);
    return cursor.bad ? NULL : string;
}

struct value {
    const char *string;
    uint64_t number;
};

static bool read_value(const struct line_program *program, struct cursor *header, uint64_t form,
                       struct value *value)
{
    *value = (struct value){NULL, 0};
    switch (form) {
    case DW_FORM_string:
        value->string = cursor_string(header);
        break;
    case DW_FORM_line_strp:
        value->string = string_at(program->line_str, cursor_unsigned(header, program->offset_size));
        break;
    case DW_FORM_strp:
        value->string = string_at(program->str, cursor_unsigned(header, program->offset_size));
        break;
    case DW_FORM_udata:
        value->number = cursor_uleb(header);
        break;
    case DW_FORM_data1:
        value->number = cursor_unsigned(header, 1);
        break;
    case DW_FORM_data2:
        value->number = cursor_unsigned(header, 2);
        break;
    case DW_FORM_data4:
        value->number = cursor_unsigned(header, 4);
        break;
    case DW_FORM_data8:
        value->number = cursor_unsigned(header, 8);
        break;
    case DW_FORM_data16:
        cursor_skip(header, 16);
        break;
    case DW_FORM_block:
        cursor_skip(header, cursor_uleb(header));
        break;
    default:
        return false;
    }
    return !header->bad;
}

/* DWARF 5: a description of the fields, then the number of entries, then the entries. */
static bool read_new_table(struct line_program *program, struct cursor *header, bool of_files)
{
    struct cursor format = *header;
    uint64_t fields = cursor_unsigned(header, 1);
    format.at = header->at;
    for (uint64_t i = 0; i < 2 * fields; i++)
        cursor_uleb(header);
    uint64_t count = cursor_uleb(header);
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *before = header->at;
        struct cursor field = format;
        const char *name = NULL;
        uint64_t directory = 0;
        for (uint64_t j = 0; j < fields; j++) {
            uint64_t content = cursor_uleb(&field);
            struct value value;
            if (!read_value(program, header, cursor_uleb(&field), &value))
                return false;
            if (content == DW_LNCT_path)
                name = value.string;
            else if (content == DW_LNCT_directory_index)
                directory = value.number;
        }
        /* an entry of no bytes could be repeated endlessly */
        if (header->at == before)
            return false;
        if (of_files ? !add_file(program, name, directory) : !add_directory(program, name))
            return false;
    }
    return !header->bad;
}

static bool read_fields(struct line_program *program, struct cursor *header)
{
    program->step = (uint8_t)cursor_unsigned(header, 1);
    if (program->version >= 4)
        cursor_skip(header, 1); /* operations an instruction: 1 except on VLIW */
    program->starts_as_statement = cursor_unsigned(header, 1) != 0;
    program->line_base = (int8_t)cursor_unsigned(header, 1);
    program->line_range = (uint8_t)cursor_unsigned(header, 1);
    program->opcode_base = (uint8_t)cursor_unsigned(header, 1);
    program->operand_counts = header->at;
    if (header->bad || program->line_range == 0 || program->opcode_base == 0)
        return false;
    cursor_skip(header, program->opcode_base - 1U);
    return !header->bad;
}

static bool read_header(struct line_program *program, struct symbols *symbols, uint64_t offset)
{
    struct debug_section section = symbols->line;
    if (offset >= section.size)
        return false;
    struct cursor all = {
        .at = section.bytes + offset, .end = section.bytes + section.size, .big_endian = symbols->big_endian};
    program->offset_size = 4;
    uint64_t size = cursor_unsigned(&all, 4);
    if (size == UINT32_MAX) {
        program->offset_size = 8;
        size = cursor_unsigned(&all, 8);
    }
    program->rest = cursor_part(&all, size);
    struct cursor *rest = &program->rest;
    program->version = (unsigned)cursor_unsigned(rest, 2);
    if (rest->bad || program->version < 2 || program->version > 5)
        return false;
    if (program->version == 5)
        cursor_skip(rest, 2); /* the sizes of addresses and segment selectors */
    struct cursor header = cursor_part(rest, cursor_unsigned(rest, program->offset_size));
    if (!read_fields(program, &header))
        return false;
    if (program->version < 5)
        return read_old_tables(program, &header);
    return read_new_table(program, &header, false) && read_new_table(program, &header, true);
}

/* False if the table is cut short or its version unknown. The caller closes it in either case. */
static bool line_program_open(struct line_program *program, struct symbols *symbols, uint64_t offset)
{
    *program = (struct line_program){.line_str = symbols->line_str, .str = symbols->str};
    return read_header(program, symbols, offset);
}

static void line_program_close(struct line_program *program)
{
    free((void *)program->directories);
    free(program->files);
    program->directories = NULL;
    program->files = NULL;
}

/* --- a line table: its rows ---------------------------------------------------------------------------- */

static void advance(struct line_program *program, uint64_t operations)
{
    program->row.address += operations * program->step;
}

static void run_special(struct line_program *program, uint8_t opcode)
{
    unsigned adjusted = (unsigned)opcode - program->opcode_base;
    advance(program, adjusted / program->line_range);
    program->row.line += (uint64_t)(int64_t)(program->line_base + (int)(adjusted % program->line_range));
}

/* True: a row is complete */
static bool run_extended(struct line_program *program)
{
    struct cursor operation = cursor_part(&program->rest, cursor_uleb(&program->rest));
    uint64_t opcode = cursor_unsigned(&operation, 1);
    if (opcode == DW_LNE_end_sequence) {
        program->row.ends_sequence = true;
        return true;
    }
    if (opcode == DW_LNE_set_address) {
        program->row.address = cursor_unsigned(&operation, (size_t)(operation.end - operation.at));
    } else if (opcode == DW_LNE_define_file) {
        const char *name = cursor_string(&operation);
        if (!operation.bad)
            add_file(program, name, cursor_uleb(&operation));
    }
    return false;
}

/* True: a row is complete */
static bool run_standard(struct line_program *program, uint8_t opcode)
{
    struct cursor *rest = &program->rest;
    switch (opcode) {
    case DW_LNS_copy:
        return true;
    case DW_LNS_advance_pc:
        advance(program, cursor_uleb(rest));
        return false;
    case DW_LNS_advance_line:
        program->row.line += (uint64_t)cursor_sleb(rest);
        return false;
    case DW_LNS_set_file:
        program->row.file = cursor_uleb(rest);
        return false;
    case DW_LNS_negate_stmt:
        program->row.is_statement = !program->row.is_statement;
        return false;
    case DW_LNS_const_add_pc:
        advance(program, (255U - program->opcode_base) / program->line_range);
        return false;
    case DW_LNS_fixed_advance_pc:
        program->row.address += cursor_unsigned(rest, 2);
        return false;
    default:
        for (unsigned i = 0; i < program->operand_counts[opcode - 1]; i++)
            cursor_uleb(rest);
        return false;
    }
}

static bool run_one(struct line_program *program)
{
    uint8_t opcode = (uint8_t)cursor_unsigned(&program->rest, 1);
    if (opcode >= program->opcode_base) {
        run_special(program, opcode);
        return true;
    }
    return opcode == 0 ? run_extended(program) : run_standard(program, opcode);
}

/* The next row; false at the end of the table, or if the table makes no sense from here on. */
static bool line_program_next(struct line_program *program, struct line_row *row)
{
    bool begins = !program->in_sequence;
    if (begins)
        program->row = (struct line_row){.file = 1, .line = 1, .is_statement = program->starts_as_statement};
    while (cursor_more(&program->rest)) {
        if (!run_one(program))
            continue;
        *row = program->row;
        row->begins_sequence = begins;
        program->in_sequence = !row->ends_sequence;
        return !program->rest.bad;
    }
    return false;
}

/* The base name of a row's file; NULL if it has none. */
static const char *line_program_file(const struct line_program *program, uint64_t file)
{
    if (file >= program->file_count || program->files[file].name == NULL)
        return NULL;
    return name_of_file(program->files[file].name);
}

static bool is_absolute(const char *path)
{
    bool drive = ((path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z') && path[1] == ':';
    return path[0] == '/' || path[0] == '\\' || drive;
}

/* The whole path of a row's file, as far as it is known; false if there is no such file. */
static bool line_program_path(const struct line_program *program, const char *unit_directory, uint64_t file,
                              char *out, size_t room)
{
    if (file >= program->file_count || program->files[file].name == NULL)
        return false;
    const char *name = program->files[file].name;
    uint64_t number = program->files[file].directory;
    const char *directory = number < program->directory_count ? program->directories[number] : NULL;
    const char *base = unit_directory;
    if (program->version >= 5 && program->directory_count > 0 && program->directories[0] != NULL)
        base = program->directories[0];
    if (is_absolute(name))
        directory = base = NULL;
    else if (directory == base || (directory != NULL && is_absolute(directory)))
        base = NULL;
    snprintf(out, room, "%s%s%s%s%s", base ? base : "", base ? "/" : "", directory ? directory : "",
             directory ? "/" : "", name);
    return true;
}

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
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dwarf_attr(die, DW_AT_stmt_list, &attribute) != NULL && dwarf_formudata(&attribute, &offset) == 0) {
        unit.lines = offset;
        unit.has_lines = true;
    }
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
        if (symbols->unit_count == room) {
            room = room ? 2 * room : 64;
            struct unit *grown = realloc(symbols->units, room * sizeof *grown);
            if (grown == NULL)
                break;
            symbols->units = grown;
        }
        symbols->units[symbols->unit_count++] = unit_make(&die);
    }
    if (symbols->unit_count > 0)
        qsort(symbols->units, symbols->unit_count, sizeof symbols->units[0], unit_order);
}

static struct debug_section debug_section(struct symbols *symbols, const char *name,
                                          const char *old_compressed)
{
    struct debug_section section = elf_section(symbols, name);
    return section.size > 0 ? section : elf_section(symbols, old_compressed);
}

bool lines_load(struct symbols *symbols)
{
    if (symbols->dwarf_loaded)
        return symbols->unit_count > 0 && symbols->line.size > 0;
    symbols->dwarf_loaded = true;
    symbols->dwarf = dwarf_begin_elf(symbols->elf, DWARF_C_READ, NULL);
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

/* An instruction belongs to the last row before the next address. */
static bool source_in_unit(struct symbols *symbols, const struct unit *unit, uint64_t address, char *out,
                           size_t room)
{
    struct line_program program;
    struct line_row before = {0};
    struct line_row row;
    bool kept = false;
    bool found = false;
    bool opened = unit->has_lines && line_program_open(&program, symbols, unit->lines);
    while (opened && !found && line_program_next(&program, &row)) {
        if (row.begins_sequence)
            kept = table_is_kept(symbols, row.address);
        else
            found = kept && before.address <= address && address < row.address;
        if (!found)
            before = row;
    }
    const char *file = found && before.line > 0 ? line_program_file(&program, before.file) : NULL;
    if (file != NULL) {
        char name[200];
        name_copy(name, sizeof name, file, strlen(file));
        snprintf(out, room, "%s:%" PRIu64, name, before.line);
    }
    if (unit->has_lines)
        line_program_close(&program);
    return found;
}

void lines_source(struct symbols *symbols, uint64_t address, char *out, size_t room)
{
    out[0] = '\0';
    struct unit_search search = {.symbols = symbols, .address = address};
    struct unit *unit;
    while (units_next(&search, &unit))
        if (source_in_unit(symbols, unit, address, out, room))
            return;
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

/* The row `before` goes up to the address `end`. */
static void map_row(struct mapping_lines *mapping, const struct line_program *program, struct unit *unit,
                    const struct line_row *before, uint64_t end)
{
    struct line_map *out = mapping->out;
    uint64_t high = mapping->low + 2 * (uint64_t)out->n;
    uint64_t from = before->address > mapping->low ? before->address : mapping->low;
    end = end < high ? end : high;
    if (from >= end)
        return;
    size_t last = (size_t)((end - mapping->low + 1) / 2);
    size_t at = free_slot(mapping->next, (size_t)((from - mapping->low) / 2));
    if (at >= last)
        return;
    struct line_slot slot = {.file = LINE_MAP_NO_FILE};
    if (before->line > 0 && before->line <= UINT32_MAX)
        slot.file = map_file(out, program, unit, before->file);
    if (slot.file != LINE_MAP_NO_FILE)
        slot.line = (uint32_t)before->line;
    for (; at < last; at = free_slot(mapping->next, at)) {
        out->slots[at] = slot;
        mapping->next[at] = (uint32_t)at + 1;
    }
}

static void map_unit(struct mapping_lines *mapping, struct symbols *symbols, struct unit *unit)
{
    struct line_program program;
    struct line_row row, before = {0};
    bool kept = false;
    bool more = line_program_open(&program, symbols, unit->lines);
    for (; more && line_program_next(&program, &row); before = row)
        if (row.begins_sequence)
            kept = table_is_kept(symbols, row.address);
        else if (kept)
            map_row(mapping, &program, unit, &before, row.address);
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
