/*
 * Members of structures, by the DWARF types.
 */
#include "symbols/internal.h"

#include <dwarf.h>
#include <string.h>

static bool is_named(Dwarf_Die *die, const char *name)
{
    const char *its = dwarf_diename(die);
    return its != NULL && strcmp(its, name) == 0;
}

static bool describe(Dwarf_Die *member, struct symbols_member *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    Dwarf_Word offset, size;
    if (dwarf_formudata(dwarf_attr(member, DW_AT_data_member_location, &attribute), &offset) != 0 ||
        dwarf_formref_die(dwarf_attr(member, DW_AT_type, &attribute), &type) == NULL ||
        dwarf_peel_type(&type, &type) != 0 || dwarf_aggregate_size(&type, &size) != 0)
        return false;
    *out = (struct symbols_member){
        .offset = offset, .size = size, .is_pointer = dwarf_tag(&type) == DW_TAG_pointer_type};
    return true;
}

static bool find_member(Dwarf_Die *structure, const char *member, struct symbols_member *out)
{
    Dwarf_Die child;
    if (dwarf_child(structure, &child) != 0)
        return false;
    do
        if (dwarf_tag(&child) == DW_TAG_member && is_named(&child, member))
            return describe(&child, out);
    while (die_next(&child));
    return false;
}

bool symbols_member(struct symbols *symbols, const char *structure, const char *member,
                    struct symbols_member *out)
{
    for (size_t i = 0; lines_load(symbols) && i < symbols->unit_count; i++) {
        Dwarf_Die child;
        if (dwarf_child(&symbols->units[i].die, &child) != 0)
            continue;
        do
            if (dwarf_tag(&child) == DW_TAG_structure_type && is_named(&child, structure) &&
                find_member(&child, member, out))
                return true;
        while (die_next(&child));
    }
    return false;
}
