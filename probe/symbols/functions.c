/*
 * Where the DWARF functions lie: which unit and which function an address belongs to. The units' own ranges
 * are read at once, which is fast in any program. A unit's functions are read when one of them is asked for.
 */
#include "base/values.h"
#include "symbols/internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* No compiler nests deeper: a file that does is damaged. */
enum { MOST_NAMESPACES = 16, MOST_RANGES = 1 << 16 };

/* --- ranges of addresses ------------------------------------------------------------------------------- */

bool ranges_add(struct ranges *ranges, const struct range *range)
{
    struct range *grown = array_grow(ranges->at, ranges->n + 1, &ranges->room, sizeof *grown);
    if (grown == NULL)
        return false;
    ranges->at = grown;
    ranges->at[ranges->n++] = *range;
    return true;
}

/* Of two at one address the one that the file has first is the last. */
static int range_order(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    if (left->low != right->low)
        return left->low < right->low ? -1 : 1;
    if (left->unit != right->unit)
        return left->unit > right->unit ? -1 : 1;
    return left->what > right->what ? -1 : left->what < right->what;
}

void ranges_sort(struct ranges *ranges)
{
    uint64_t reach = 0;
    if (ranges->n > 0)
        qsort(ranges->at, ranges->n, sizeof ranges->at[0], range_order);
    for (size_t i = 0; i < ranges->n; i++) {
        reach = ranges->at[i].high > reach ? ranges->at[i].high : reach;
        ranges->at[i].reach = reach;
    }
}

/* The ranges around the address, the one that begins last first. *i is NO_RANGE at first. */
static const size_t NO_RANGE = SIZE_MAX;

static const struct range *range_next(const struct ranges *ranges, uint64_t address, size_t *i)
{
    if (*i == NO_RANGE)
        *i = sorted_until(ranges->at, ranges->n, sizeof *ranges->at, address);
    while (*i > 0 && ranges->at[*i - 1].reach > address) {
        const struct range *range = &ranges->at[--*i];
        if (address < range->high)
            return range;
    }
    *i = 0;
    return NULL;
}

const struct range *ranges_find(const struct ranges *ranges, uint64_t address)
{
    size_t i = NO_RANGE;
    return range_next(ranges, address, &i);
}

/* --- what DWARF says ----------------------------------------------------------------------------------- */

/* Adds those of the DIE's ranges that are code of this program; returns whether it has any range. */
static bool add_ranges(struct symbols *symbols, struct ranges *out, Dwarf_Die *die, size_t unit)
{
    Dwarf_Addr base = 0;
    struct extent at;
    ptrdiff_t offset = 0;
    bool any = false;
    for (int i = 0; i < MOST_RANGES && (offset = die_ranges(symbols, die, offset, &base, &at)) > 0; i++) {
        const struct range range = {
            .low = at.low, .high = at.high, .unit = unit, .what = dwarf_dieoffset(die)};
        any = true;
        if (at.low < at.high && table_is_kept(symbols, at.low) && !ranges_add(out, &range))
            break;
    }
    return any;
}

bool die_is_namespace(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type;
}

static void add_functions(struct symbols *symbols, size_t unit, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    bool more = depth <= MOST_NAMESPACES && dwarf_child(parent, &die) == 0;
    for (; more; more = die_next(&die)) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            (void)add_ranges(symbols, &symbols->units[unit].functions, &die, unit);
        else if (die_is_namespace(tag))
            add_functions(symbols, unit, &die, depth + 1);
    }
}

static const struct ranges *functions_of(struct symbols *symbols, size_t unit)
{
    struct unit *self = &symbols->units[unit];
    if (!self->functions_known) {
        self->functions_known = true;
        add_functions(symbols, unit, &self->die, 0);
        ranges_sort(&self->functions);
    }
    return &self->functions;
}

static bool functions_load(struct symbols *symbols)
{
    if (!lines_load(symbols))
        return false;
    if (symbols->unit_ranges_known)
        return true;
    symbols->unit_ranges_known = true;
    for (size_t i = 0; i < symbols->unit_count; i++)
        symbols->units[i].has_ranges = add_ranges(symbols, &symbols->unit_ranges, &symbols->units[i].die, i);
    ranges_sort(&symbols->unit_ranges);
    return true;
}

/* All functions of all units. */
static const struct ranges *all_functions(struct symbols *symbols)
{
    if (symbols->functions_known)
        return &symbols->functions;
    symbols->functions_known = true;
    for (size_t i = 0; i < symbols->unit_count; i++) {
        const struct ranges *of = functions_of(symbols, i);
        for (size_t k = 0; k < of->n && ranges_add(&symbols->functions, &of->at[k]);)
            k++;
    }
    ranges_sort(&symbols->functions);
    return &symbols->functions;
}

/* --- what is around an address ------------------------------------------------------------------------- */

/* armlink ends a unit's list of ranges where it dropped a function: the functions themselves have theirs. */
static const struct range *function_range(struct symbols *symbols, uint64_t address)
{
    const struct range *unit, *found;
    size_t i = NO_RANGE;
    bool has_unit = false;
    if (!symbols_is_code(symbols, address) || !functions_load(symbols))
        return NULL;
    for (; (unit = range_next(&symbols->unit_ranges, address, &i)) != NULL; has_unit = true)
        if ((found = ranges_find(functions_of(symbols, unit->unit), address)) != NULL)
            return found;
    return has_unit ? NULL : ranges_find(all_functions(symbols), address);
}

struct unit *functions_find(struct symbols *symbols, uint64_t address, Dwarf_Die *function)
{
    const struct range *range = function_range(symbols, address);
    return range != NULL && dwarf_offdie(symbols->dwarf, range->what, function) != NULL
               ? &symbols->units[range->unit]
               : NULL;
}

bool units_next(struct unit_search *search, struct unit **unit)
{
    struct symbols *symbols = search->symbols;
    if (search->stage == 0) {
        if (!symbols_is_code(symbols, search->address) || !functions_load(symbols))
            return false;
        search->i = NO_RANGE;
        search->stage = 1;
    }
    if (search->stage == 1) {
        const struct range *range = range_next(&symbols->unit_ranges, search->address, &search->i);
        if (range != NULL) {
            *unit = &symbols->units[range->unit];
            return true;
        }
        search->i = 0;
        search->stage = 2;
    }
    for (; search->stage == 2 && search->i < symbols->unit_count; search->i++) {
        if (!symbols->units[search->i].has_ranges) {
            *unit = &symbols->units[search->i++];
            return true;
        }
    }
    const struct range *range = search->stage == 2 ? function_range(symbols, search->address) : NULL;
    search->stage = 3;
    if (range == NULL)
        return false;
    *unit = &symbols->units[range->unit];
    return true;
}

/* --- functions that the symbol table lacks ------------------------------------------------------------- */

/* Zeros and the halves of NOPs fill the gaps between functions. */
static bool is_padding(const struct symbols *symbols, uint64_t low, uint64_t high)
{
    static const uint16_t halves[] = {0,      0xBF00, 0x46C0, 0xF3AF, 0x8000, 0xE1A0,
                                      0xE320, 0xF000, 0xD503, 0x201F, 0xFFFF};
    size_t n = 0;
    const uint8_t *bytes = elf_code(symbols, low, &n);
    n = n < high - low ? n : (size_t)(high - low);
    for (size_t at = 0; at + 2 <= n; at += 2) {
        size_t i = 0;
        while (i < sizeof halves / sizeof *halves && code_halfword(symbols, bytes + at) != halves[i])
            i++;
        if (i == sizeof halves / sizeof *halves)
            return false;
    }
    return true;
}

static bool has_nameless_code(struct symbols *symbols, const struct range *unit)
{
    for (uint64_t at = unit->low, next; at < unit->high; at = next) {
        next = table_sized_until(symbols, at);
        if (next > at)
            continue;
        next = table_next_function(symbols, at, unit->high);
        if (!is_padding(symbols, at, next))
            return true;
    }
    return false;
}

/* A function may have its unlikely code elsewhere. */
static bool is_entry(const struct symbols *symbols, Dwarf_Die *die, uint64_t low)
{
    Dwarf_Addr base = 0;
    uint64_t entry;
    struct extent at;
    if (die_entry(symbols, die, &entry))
        return entry == low;
    return die_ranges(symbols, die, 0, &base, &at) > 0 && at.low == low;
}

const char *die_linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ? dwarf_formstring(&attribute)
                                                                             : NULL;
}

static void complete_function(struct symbols *symbols, const struct range *range, struct table *table)
{
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    const char *name;
    bool external = false;
    if (dwarf_offdie(symbols->dwarf, range->what, &die) == NULL || !is_entry(symbols, &die, range->low) ||
        table_give_size(table, range->low, range->high - range->low) ||
        table_sized_until(symbols, range->low) > range->low)
        return;
    name = die_linkage_name(&die);
    if (dwarf_attr_integrate(&die, DW_AT_external, &attribute) != NULL)
        (void)dwarf_formflag(&attribute, &external);
    table_add_function(symbols, table,
                       &(struct symbol){.name = name != NULL ? name : dwarf_diename(&die),
                                        .address = range->low,
                                        .size = range->high - range->low,
                                        .bind = external ? STB_GLOBAL : STB_LOCAL});
}

void functions_complete(struct symbols *symbols, struct table *table)
{
    for (size_t i = 0; functions_load(symbols) && i < symbols->unit_ranges.n; i++) {
        const struct range *unit = &symbols->unit_ranges.at[i];
        if (symbols->units[unit->unit].functions_known || !has_nameless_code(symbols, unit))
            continue;
        const struct ranges *functions = functions_of(symbols, unit->unit);
        for (size_t k = 0; k < functions->n; k++)
            complete_function(symbols, &functions->at[k], table);
    }
}

void functions_close(struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->unit_count; i++)
        free(symbols->units[i].functions.at);
    free(symbols->unit_ranges.at);
    free(symbols->functions.at);
}
