#include "symbols/internal.h"

#include "symbols/line_program.h"
#include "symbols/names.h"

#include <dwarf.h>
#include <inttypes.h>
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
