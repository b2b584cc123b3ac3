#include "symbols/internal.h"

#include <dwarf.h>

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

static struct scope scope_make(Dwarf_Die *die)
{
    return (struct scope){.key = dwarf_dieoffset(die) | UINT64_C(1) << 63, .name = dwarf_diename(die)};
}

struct scope scopes_find(struct symbols *symbols, uint64_t address)
{
    if (!lines_load(symbols))
        return (struct scope){.key = 0};
    for (size_t i = 0; i < symbols->unit_count; i++) {
        bool has_ranges = false;
        Dwarf_Die die;
        if (!scopes_unit_covers(symbols, &symbols->units[i], address, &has_ranges) ||
            !find_function(symbols, &symbols->units[i].die, address, 0, &die))
            continue;
        struct scope scope = scope_make(&die);
        const char *outer = scope.name;
        for (int depth = 0; depth < MOST_BLOCKS && enter_block(symbols, &die, address); depth++) {
            int tag = dwarf_tag(&die);
            if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
                continue;
            scope = scope_make(&die);
            scope.outer = tag == DW_TAG_inlined_subroutine ? outer : NULL;
        }
        return scope;
    }
    return (struct scope){.key = 0};
}
