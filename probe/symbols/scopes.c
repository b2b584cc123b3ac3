#include "symbols/internal.h"

#include "symbols/names.h"

#include <dwarf.h>
#include <string.h>

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
