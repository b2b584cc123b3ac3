#include "symbols/internal.h"
#include "symbols/line_program.h"
#include "symbols/names.h"

#include <dwarf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The row that the instruction at `address` belongs to: the last one before the next address */
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
    if (!elf_is_code(symbols, address) || !lines_load(symbols))
        return;
    /* first the units that say that they have the address, then those that say nothing */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < symbols->unit_count; i++) {
            bool has_ranges = false;
            bool has_address = scopes_unit_covers(symbols, &symbols->units[i], address, &has_ranges);
            if ((pass == 0 ? has_address : !has_ranges) &&
                source_in_unit(symbols, &symbols->units[i], address, out, room))
                return;
        }
    }
}

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

/* Deeper than any compiler nests; what is deeper is a damaged file */
enum { MOST_NAMESPACES = 16, MOST_BLOCKS = 256, MOST_RANGES = 1 << 16 };

static bool covers(struct symbols *symbols, Dwarf_Die *die, uint64_t address, bool *has_ranges)
{
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    ptrdiff_t offset = 0;
    for (int i = 0; i < MOST_RANGES && (offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0; i++) {
        *has_ranges = true;
        if (begin <= address && address < end && table_is_kept(symbols, begin))
            return true;
    }
    return false;
}

bool scopes_unit_covers(struct symbols *symbols, struct unit *unit, uint64_t address, bool *has_ranges)
{
    *has_ranges = false;
    return covers(symbols, &unit->die, address, has_ranges);
}

/* The next sibling; false at the end, and where the file leads back (which libdw would follow for ever) */
static bool next(Dwarf_Die *die)
{
    Dwarf_Off before = dwarf_dieoffset(die);
    return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

static bool is_namespace(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type;
}

static bool find_function(struct symbols *symbols, Dwarf_Die *parent, uint64_t address, int depth,
                          Dwarf_Die *out)
{
    if (depth > MOST_NAMESPACES || dwarf_child(parent, out) != 0)
        return false;
    do {
        bool has_ranges = false;
        int tag = dwarf_tag(out);
        if (tag == DW_TAG_subprogram && covers(symbols, out, address, &has_ranges))
            return true;
        Dwarf_Die inner;
        if (is_namespace(tag) && find_function(symbols, out, address, depth + 1, &inner)) {
            *out = inner;
            return true;
        }
    } while (next(out));
    return false;
}

/* Steps into the block inside `die` that has the address, if there is one */
static bool enter_block(struct symbols *symbols, Dwarf_Die *die, uint64_t address)
{
    Dwarf_Die child;
    if (dwarf_child(die, &child) != 0)
        return false;
    do {
        bool has_ranges = false;
        int tag = dwarf_tag(&child);
        bool is_block = tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
                        tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_subprogram;
        if (is_block && covers(symbols, &child, address, &has_ranges)) {
            *die = child;
            return true;
        }
    } while (next(&child));
    return false;
}

/* Where the function of the scope is declared, if that is at or before the line of the file; else 0 */
static uint64_t declared_before(Dwarf_Die *die, const char *file, uint64_t line)
{
    int declared = 0;
    if (dwarf_decl_line(die, &declared) != 0 || declared <= 0 || (uint64_t)declared > line)
        return 0;
    const char *path = dwarf_decl_file(die);
    return path != NULL && strcmp(name_of_file(path), file) == 0 ? (uint64_t)declared : 0;
}

static bool is_instance(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_inlined_subroutine || dwarf_tag(die) == DW_TAG_subprogram;
}

/*
 * Functions do not overlap in the source, so the line is in the one that is declared last before it.
 * The innermost instance would be wrong for a line that only calls what is inlined: its first row has
 * the address of the first instruction of the callee.
 */
static struct scope scope_choose(struct symbols *symbols, Dwarf_Die *function, uint64_t address,
                                 const char *file, uint64_t line)
{
    Dwarf_Die die = *function;
    struct scope scope = {.key = 0};
    uint64_t last = 0;
    for (int depth = 0; depth < MOST_BLOCKS; depth++) {
        uint64_t declared = is_instance(&die) ? declared_before(&die, file, line) : 0;
        if (is_instance(&die) && declared >= last) {
            last = declared;
            scope = (struct scope){
                .key = dwarf_dieoffset(&die) | UINT64_C(1) << 63,
                .name = dwarf_diename(&die),
                .outer = dwarf_tag(&die) == DW_TAG_inlined_subroutine ? dwarf_diename(function) : NULL,
                .owns_line = declared > 0,
            };
        }
        if (!enter_block(symbols, &die, address))
            break;
    }
    return scope;
}

struct scope scopes_find(struct symbols *symbols, uint64_t address, const char *file, uint64_t line)
{
    for (size_t i = 0; lines_load(symbols) && i < symbols->unit_count; i++) {
        bool has_ranges = false;
        Dwarf_Die function;
        if (scopes_unit_covers(symbols, &symbols->units[i], address, &has_ranges) &&
            find_function(symbols, &symbols->units[i].die, address, 0, &function))
            return scope_choose(symbols, &function, address, file, line);
    }
    return (struct scope){.key = 0};
}

struct function_facts scopes_function(struct symbols *symbols, uint64_t address)
{
    for (size_t i = 0; lines_load(symbols) && i < symbols->unit_count; i++) {
        bool has_ranges = false;
        Dwarf_Die *unit = &symbols->units[i].die, function;
        if (!scopes_unit_covers(symbols, &symbols->units[i], address, &has_ranges) ||
            !find_function(symbols, unit, address, 0, &function))
            continue;
        struct function_facts facts = {
            .unit = dwarf_diename(unit),
            .file = dwarf_decl_file(&function),
            .never_returns = dwarf_hasattr_integrate(&function, DW_AT_noreturn) != 0,
        };
        if (dwarf_decl_line(&function, &facts.line) != 0)
            facts.line = 0;
        return facts;
    }
    return (struct function_facts){.line = 0};
}
