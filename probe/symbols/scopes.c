/* SPDX-License-Identifier: MIT */
/*
 * The DWARF functions: which one an instruction belongs to, and where a function went that the compiler
 * inlined at each of its calls. And members of structures.
 */
#include "base/values.h"
#include "symbols/internal.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Where the DWARF functions lie: which unit and which function an address belongs to. The units' own ranges
 * are read at once, which is fast in any program. A unit's functions are read when one of them is asked for.
 */

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

static bool die_is_namespace(int tag)
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

/* The unit with the function around the address; NULL if there is none. */
static struct unit *functions_find(struct symbols *symbols, uint64_t address, Dwarf_Die *function)
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
static uint64_t first_address(const struct symbols *symbols, Dwarf_Die *die)
{
    Dwarf_Addr base = 0;
    uint64_t entry;
    struct extent at;
    if (die_entry(symbols, die, &entry))
        return entry;
    return die_ranges(symbols, die, 0, &base, &at) > 0 ? at.low : UINT64_MAX;
}

static bool is_entry(const struct symbols *symbols, Dwarf_Die *die, uint64_t low)
{
    return first_address(symbols, die) == low;
}

static const char *die_linkage_name(Dwarf_Die *die)
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
    free(symbols->inline_calls.at);
}

/* ---- scopes */

/* No compiler nests deeper: a file that does is damaged. */
enum { MOST_BLOCKS = 256 };

static bool covers(struct symbols *symbols, Dwarf_Die *die, uint64_t address)
{
    Dwarf_Addr base = 0;
    struct extent at;
    ptrdiff_t offset = 0;
    for (int i = 0; i < MOST_RANGES && (offset = die_ranges(symbols, die, offset, &base, &at)) > 0; i++) {
        if (at.low <= address && address < at.high && table_is_kept(symbols, at.low))
            return true;
    }
    return false;
}

ptrdiff_t die_ranges(const struct symbols *symbols, Dwarf_Die *die, ptrdiff_t offset, Dwarf_Addr *base,
                     struct extent *out)
{
    Dwarf_Addr begin = 0, end = 0;
    ptrdiff_t next = dwarf_ranges(die, offset, base, &begin, &end);
    if (next > 0)
        *out = (struct extent){elf_moved(symbols, begin), elf_moved(symbols, begin) + (end - begin)};
    return next;
}

bool die_entry(const struct symbols *symbols, Dwarf_Die *die, uint64_t *out)
{
    Dwarf_Addr entry = 0;
    if (dwarf_entrypc(die, &entry) != 0)
        return false;
    *out = elf_moved(symbols, entry);
    return true;
}

bool die_number(Dwarf_Die *die, unsigned attribute, uint64_t *out)
{
    Dwarf_Attribute found;
    Dwarf_Word number = 0;
    if (dwarf_attr(die, attribute, &found) == NULL || dwarf_formudata(&found, &number) != 0)
        return false;
    *out = number;
    return true;
}

bool die_next(Dwarf_Die *die)
{
    Dwarf_Off before = dwarf_dieoffset(die);
    return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

/* Steps into the block inside `die` that contains the address, if there is one. */
static bool enter_block(struct symbols *symbols, Dwarf_Die *die, uint64_t address)
{
    Dwarf_Die child;
    bool more = dwarf_child(die, &child) == 0;
    for (; more; more = die_next(&child)) {
        int tag = dwarf_tag(&child);
        bool is_block = tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
                        tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_subprogram;
        if (is_block && covers(symbols, &child, address)) {
            *die = child;
            return true;
        }
    }
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
 * Functions do not overlap in the source, so the line is in the function that is declared last before it. The
 * innermost instance would be wrong for a line that only calls an inlined function: the line's first row has
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
    Dwarf_Die function;
    if (functions_find(symbols, address, &function) == NULL)
        return (struct scope){.key = 0};
    return scope_choose(symbols, &function, address, file, line);
}

struct function_facts scopes_function(struct symbols *symbols, uint64_t address)
{
    Dwarf_Die function;
    struct unit *unit = functions_find(symbols, address, &function);
    if (unit == NULL)
        return (struct function_facts){.line = 0};
    struct function_facts facts = {
        .unit = dwarf_diename(&unit->die),
        .file = dwarf_decl_file(&function),
        .never_returns = dwarf_hasattr_integrate(&function, DW_AT_noreturn) != 0,
        .entry = first_address(symbols, &function),
    };
    if (dwarf_decl_line(&function, &facts.line) != 0)
        facts.line = 0;
    return facts;
}

/* --- functions around an address that are inlined ------------------------------------------------------ */

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *die)
{
    uint64_t number = 0;
    Dwarf_Files *files = NULL;
    size_t count = 0;
    if (!die_number(die, DW_AT_call_file, &number) || dwarf_getsrcfiles(unit, &files, &count) != 0 ||
        number >= count)
        return NULL;
    return dwarf_filesrc(files, (size_t)number, NULL, NULL);
}

static void describe_inlined(Dwarf_Die *unit, Dwarf_Die *die, struct inlined_frame *out)
{
    const char *file = call_file(unit, die), *name = die_linkage_name(die);
    char base[200];
    uint64_t line = 0;
    (void)die_number(die, DW_AT_call_line, &line);
    if (name == NULL)
        name = dwarf_diename(die);
    name_plain(out->name, sizeof out->name, name != NULL ? name : "");
    out->called[0] = '\0';
    if (file == NULL || line == 0)
        return;
    name_copy(base, sizeof base, name_of_file(file), strlen(name_of_file(file)));
    snprintf(out->called, sizeof out->called, "%s:%" PRIu64, base, line);
}

size_t symbols_inlined(struct symbols *symbols, uint64_t address, struct inlined_frame *out, size_t room)
{
    Dwarf_Die die, around[MOST_BLOCKS];
    struct unit *unit = symbols != NULL ? functions_find(symbols, address, &die) : NULL;
    size_t n = 0;
    for (int depth = 0; unit != NULL && depth < MOST_BLOCKS && enter_block(symbols, &die, address); depth++) {
        if (dwarf_tag(&die) == DW_TAG_subprogram)
            n = 0;
        else if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
            around[n++] = die;
    }
    size_t given = n < room ? n : room;
    for (size_t i = 0; i < given; i++)
        describe_inlined(&unit->die, &around[n - 1 - i], &out[i]);
    return given;
}

/* --- functions that are only inlined ------------------------------------------------------------------- */

enum { PATH_ROOM = 256, MOST_DEPTH = 64, MOST_ORIGINS = 64, MOST_COPIES = 4 };

struct inlined_copy {
    uint64_t low, high;
    const char *outer; /* the function around it; may be NULL */
    const char *file;  /* where it is called; may be NULL */
    uint64_t line;
};

struct inlined {
    struct symbols *symbols;
    struct name_query request, bare; /* the latter without parameters */
    const struct qualified_name *wanted;
    Dwarf_Off declared[MOST_ORIGINS], origins[MOST_ORIGINS]; /* the functions of that name */
    size_t n_declared, n_origins;
    struct inlined_copy copies[MOST_COPIES];
    size_t n_copies;
    size_t more; /* beyond those */
    Dwarf_Die *unit;
};

static bool is_among(const Dwarf_Off *offsets, size_t n, Dwarf_Die *die)
{
    for (size_t i = 0; i < n; i++)
        if (offsets[i] == dwarf_dieoffset(die))
            return true;
    return false;
}

static bool is_reference_among(Dwarf_Die *die, unsigned attribute, const Dwarf_Off *offsets, size_t n)
{
    Dwarf_Attribute reference;
    Dwarf_Die to;
    return dwarf_attr(die, attribute, &reference) != NULL && dwarf_formref_die(&reference, &to) != NULL &&
           is_among(offsets, n, &to);
}

/* Static functions of C++ have no mangled name: `path` has the namespaces around the function, each followed
 * by "::". A function that is defined outside its namespace refers to its declaration there. */
static bool is_meant(const struct inlined *self, Dwarf_Die *function, const char *path)
{
    const struct qualified_name *wanted = self->wanted;
    char full[PATH_ROOM + 256];
    const char *name = dwarf_diename(function), *mangled = die_linkage_name(function);
    bool meant = false;
    snprintf(full, sizeof full, "%s%.200s", path, name != NULL ? name : "");
    if (mangled != NULL)
        meant = name_compare(&self->request, mangled) == LIKE_SAME;
    else if (dwarf_hasattr(function, DW_AT_specification))
        meant = is_reference_among(function, DW_AT_specification, self->declared, self->n_declared);
    else
        meant = name != NULL && name_compare(&self->bare, full) == LIKE_SAME;
    const char *file = meant && wanted->file_length > 0 ? dwarf_decl_file(function) : NULL;
    return meant && (wanted->file_length == 0 ||
                     (file != NULL && path_ends_with(file, wanted->file, wanted->file_length)));
}

static void note_offset(Dwarf_Off *offsets, size_t *n, Dwarf_Die *die)
{
    if (*n < MOST_ORIGINS)
        offsets[(*n)++] = dwarf_dieoffset(die);
}

/* With -flto the function that has the name lacks DW_AT_inline. */
enum { ANY_DEFINITION = 0 };

static bool can_be_origin(Dwarf_Die *die, unsigned attribute)
{
    return attribute == ANY_DEFINITION ? !dwarf_hasattr(die, DW_AT_declaration)
                                       : dwarf_hasattr(die, attribute);
}

/* The functions of the wanted name that have the attribute. */
static void find_functions(struct inlined *self, Dwarf_Die *parent, unsigned attribute, Dwarf_Off *offsets,
                           size_t *n, const char *path, int depth)
{
    Dwarf_Die die;
    bool more = depth <= MOST_DEPTH && dwarf_child(parent, &die) == 0;
    for (; more; more = die_next(&die)) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram && can_be_origin(&die, attribute) && is_meant(self, &die, path))
            note_offset(offsets, n, &die);
        if (!die_is_namespace(tag))
            continue;
        char inner[PATH_ROOM];
        const char *name = dwarf_diename(&die); /* NULL: an anonymous namespace */
        int length =
            snprintf(inner, sizeof inner, "%s%s%s", path, name != NULL ? name : "", name != NULL ? "::" : "");
        find_functions(self, &die, attribute, offsets, n,
                       length > 0 && (size_t)length < sizeof inner ? inner : path, depth + 1);
    }
}

static bool is_copy(const struct inlined *self, Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_inlined_subroutine &&
           is_reference_among(die, DW_AT_abstract_origin, self->origins, self->n_origins);
}

/* False: it has no code. */
static bool take_copy(struct symbols *symbols, Dwarf_Die *unit, Dwarf_Die *die, struct inlined_copy *out)
{
    Dwarf_Addr base = 0;
    uint64_t entry = 0;
    struct extent at;
    ptrdiff_t offset = 0;
    bool has_entry = die_entry(symbols, die, &entry);
    for (int i = 0; i < MOST_RANGES && (offset = die_ranges(symbols, die, offset, &base, &at)) > 0; i++) {
        bool is_first = has_entry && at.low <= entry && entry < at.high;
        if (!table_is_kept(symbols, at.low) || (out->high != 0 && !is_first))
            continue;
        out->low = is_first ? entry : at.low;
        out->high = at.high;
    }
    out->file = out->high != 0 ? call_file(unit, die) : NULL;
    return out->high != 0 && die_number(die, DW_AT_call_line, &out->line);
}

static void scopes_add_copy(struct inlined *self, Dwarf_Die *die, const char *outer)
{
    struct inlined_copy copy = {.outer = outer};
    (void)take_copy(self->symbols, self->unit, die, &copy);
    if (copy.high == 0)
        return;
    if (self->n_copies == MOST_COPIES)
        self->more++;
    else
        self->copies[self->n_copies++] = copy;
}

static void find_copies(struct inlined *self, Dwarf_Die *parent, const char *outer, int depth)
{
    Dwarf_Die die;
    bool more = depth <= MOST_DEPTH && dwarf_child(parent, &die) == 0;
    for (; more; more = die_next(&die)) {
        if (is_copy(self, &die))
            scopes_add_copy(self, &die, outer);
        bool is_function = dwarf_tag(&die) == DW_TAG_subprogram && !dwarf_hasattr(&die, DW_AT_inline);
        find_copies(self, &die, is_function ? dwarf_diename(&die) : outer, depth + 1);
    }
}

/* "ping at scenarios.c:98 and :103, pong at scenarios.c:110" */
static void list_copies(const struct inlined *self, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < self->n_copies && used < room; i++) {
        const struct inlined_copy *copy = &self->copies[i], *before = i > 0 ? copy - 1 : NULL;
        char outer[NEAR_LENGTH], file[NEAR_LENGTH];
        const char *name = copy->outer != NULL ? copy->outer : "a function without a name";
        const char *base = copy->file != NULL ? name_of_file(copy->file) : "";
        bool same = before != NULL && before->outer == copy->outer && before->file != NULL &&
                    copy->file != NULL && strcmp(before->file, copy->file) == 0;
        name_copy(outer, sizeof outer, name, strlen(name));
        name_copy(file, sizeof file, base, strlen(base));
        int wrote = 0;
        if (same && before->line == copy->line)
            continue;
        if (same)
            wrote = snprintf(out + used, room - used, " and :%" PRIu64, copy->line);
        else if (copy->line > 0 && file[0] != '\0')
            wrote = snprintf(out + used, room - used, "%s%s at %s:%" PRIu64, i > 0 ? ", " : "", outer, file,
                             copy->line);
        else
            wrote = snprintf(out + used, room - used, "%s%s at 0x%08" PRIx64, i > 0 ? ", " : "", outer,
                             copy->low);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    if (self->more > 0 && used < room)
        snprintf(out + used, room - used, " and %zu more", self->more);
}

/* The line on which the caller goes on: the first other line after the copy that is a location there. */
static bool name_end(const struct inlined *self, const struct inlined_copy *copy, const char *start,
                     char *out, size_t room)
{
    enum { AHEAD = 64, STEP = 2 };
    struct location at_copy, behind, end;
    symbols_describe(self->symbols, copy->low, &at_copy);
    for (uint64_t ahead = 0; ahead < AHEAD; ahead += STEP) {
        struct error ignored = {.kind = ERROR_NONE};
        symbols_describe(self->symbols, copy->high + ahead, &behind);
        if (behind.low != at_copy.low || behind.source[0] == '\0')
            return false;
        if (strcmp(behind.source, start) == 0 ||
            !symbols_locate(self->symbols, behind.source, &end, &ignored) || end.low != at_copy.low ||
            end.address < copy->high)
            continue;
        snprintf(out, room, "%s", behind.source);
        return true;
    }
    return false;
}

/* Two lines around the copy, if they are locations that enclose it; else its addresses. */
static void name_range(const struct inlined *self, const struct inlined_copy *copy, char *out, size_t room)
{
    struct location start;
    struct error ignored = {.kind = ERROR_NONE};
    char first[300], last[300];
    snprintf(out, room, "*0x%08" PRIx64 " *0x%08" PRIx64, copy->low, copy->high);
    if (copy->file == NULL || copy->line == 0)
        return;
    snprintf(first, sizeof first, "%.200s:%" PRIu64, name_of_file(copy->file), copy->line);
    if (symbols_locate(self->symbols, first, &start, &ignored) && start.address <= copy->low &&
        name_end(self, copy, first, last, sizeof last) && copy->low < start.high)
        snprintf(out, room, "%s %s", first, last);
}

bool inlined_refuse(struct symbols *symbols, const struct qualified_name *wanted, struct error *error)
{
    struct inlined self = {.symbols = symbols, .wanted = wanted};
    char list[400], range[600], name[128];
    const char *parameters = wanted->length > 1 ? memchr(wanted->name + 1, '(', wanted->length - 1) : NULL;
    name_query_init(&self.request, wanted->name, wanted->length);
    name_query_init(&self.bare, wanted->name,
                    parameters != NULL ? (size_t)(parameters - wanted->name) : wanted->length);
    for (size_t i = 0; lines_load(symbols) && i < symbols->unit_count; i++)
        find_functions(&self, &symbols->units[i].die, DW_AT_declaration, self.declared, &self.n_declared, "",
                       0);
    for (size_t i = 0; i < symbols->unit_count; i++)
        find_functions(&self, &symbols->units[i].die, DW_AT_inline, self.origins, &self.n_origins, "", 0);
    for (size_t i = 0, inlined = self.n_origins; inlined == 0 && i < symbols->unit_count; i++)
        find_functions(&self, &symbols->units[i].die, ANY_DEFINITION, self.origins, &self.n_origins, "", 0);
    for (size_t i = 0; self.n_origins > 0 && i < symbols->unit_count; i++) {
        self.unit = &symbols->units[i].die;
        find_copies(&self, self.unit, NULL, 0);
    }
    if (self.n_copies == 0)
        return false;
    name_copy(name, sizeof name, wanted->name, wanted->length);
    list_copies(&self, list, sizeof list);
    name_range(&self, &self.copies[0], range, sizeof range);
    error_advise(error, ERROR_SYMBOL, "",
                 "`%s` is inlined where it is called, into %s; name a range such as %s", name, list, range);
    return true;
}

/* --- functions that are inlined at some calls only ------------------------------------------------------ */

static int inline_order(const void *a, const void *b)
{
    const struct inline_call *left = a, *right = b;
    if (left->origin != right->origin)
        return left->origin < right->origin ? -1 : 1;
    return left->low < right->low ? -1 : left->low > right->low;
}

static void add_inline_call(struct symbols *symbols, Dwarf_Die *unit, Dwarf_Die *die, const char *outer)
{
    struct inline_calls *calls = &symbols->inline_calls;
    struct inlined_copy copy = {.low = 0};
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_attr(die, DW_AT_abstract_origin, &attribute) == NULL ||
        dwarf_formref_die(&attribute, &origin) == NULL || !take_copy(symbols, unit, die, &copy))
        return;
    struct inline_call *grown = array_grow(calls->at, calls->n + 1, &calls->room, sizeof *grown);
    if (grown == NULL)
        return;
    calls->at = grown;
    calls->at[calls->n++] = (struct inline_call){.origin = dwarf_dieoffset(&origin),
                                                 .low = copy.low,
                                                 .file = copy.file,
                                                 .line = copy.line,
                                                 .outer = outer};
}

static void find_inline_calls(struct symbols *symbols, Dwarf_Die *unit, Dwarf_Die *parent, const char *outer,
                              int depth)
{
    Dwarf_Die die;
    bool more = depth <= MOST_DEPTH && dwarf_child(parent, &die) == 0;
    for (; more; more = die_next(&die)) {
        if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
            add_inline_call(symbols, unit, &die, outer);
        find_inline_calls(symbols, unit, &die,
                          dwarf_tag(&die) == DW_TAG_subprogram ? dwarf_diename(&die) : outer, depth + 1);
    }
}

static const struct inline_calls *inline_calls_of(struct symbols *symbols)
{
    struct inline_calls *calls = &symbols->inline_calls;
    for (size_t i = 0; !calls->known && i < symbols->unit_count; i++)
        find_inline_calls(symbols, &symbols->units[i].die, &symbols->units[i].die, NULL, 0);
    if (!calls->known && calls->n > 0)
        qsort(calls->at, calls->n, sizeof calls->at[0], inline_order);
    calls->known = true;
    return calls;
}

bool symbols_is_split(struct symbols *symbols)
{
    for (size_t i = 0; symbols != NULL && lines_load(symbols) && i < symbols->unit_count; i++)
        if (dwarf_hasattr(&symbols->units[i].die, DW_AT_dwo_name) ||
            dwarf_hasattr(&symbols->units[i].die, DW_AT_GNU_dwo_name))
            return true;
    return false;
}

/* "partial.c:6 (fast_path)"; returns the length. */
static size_t describe_inline_call(const struct inline_call *call, bool goes_on, char *out, size_t room)
{
    char file[NEAR_LENGTH] = "", outer[NEAR_LENGTH] = "";
    const char *base = call->file != NULL ? name_of_file(call->file) : "";
    name_copy(file, sizeof file, base, strlen(base));
    if (call->outer != NULL)
        name_copy(outer, sizeof outer, call->outer, strlen(call->outer));
    int wrote = snprintf(room > 0 ? out : NULL, room, "%s%s:%" PRIu64 "%s%s%s", goes_on ? ", " : "", file,
                         call->line, outer[0] != '\0' ? " (" : "", outer, outer[0] != '\0' ? ")" : "");
    return wrote > 0 ? (size_t)wrote : 0;
}

size_t symbols_inline_calls(struct symbols *symbols, uint64_t entry, char *out, size_t room)
{
    enum { SHOWN = 3 };
    Dwarf_Die function, origin;
    Dwarf_Attribute attribute;
    struct extent own = {0, 0};
    uint64_t begins;
    size_t n = 0, used = 0;
    out[0] = '\0';
    if (symbols == NULL || functions_find(symbols, entry, &function) == NULL ||
        !die_entry(symbols, &function, &begins) || begins != entry)
        return 0;
    bool is_instance = dwarf_attr(&function, DW_AT_abstract_origin, &attribute) != NULL &&
                       dwarf_formref_die(&attribute, &origin) != NULL;
    uint64_t wanted = dwarf_dieoffset(is_instance ? &origin : &function);
    const struct inline_calls *calls = inline_calls_of(symbols);
    const struct inline_call *before = NULL;
    (void)table_around(symbols, entry, &own);
    for (size_t i = 0; i < calls->n; i++) {
        const struct inline_call *call = &calls->at[i];
        if (call->origin != wanted || (call->low >= own.low && call->low < own.high) ||
            (before != NULL && call->line == before->line && call->file == before->file))
            continue;
        before = call;
        if (n++ < SHOWN)
            used += describe_inline_call(call, n > 1, out + used, used < room ? room - used : 0);
    }
    if (n > SHOWN && used < room)
        snprintf(out + used, room - used, " and at %zu more places", n - SHOWN);
    return n;
}

/* --- members of structures, by the DWARF types ---------------------------------------------------------- */

static bool is_named(Dwarf_Die *die, const char *name)
{
    const char *its = dwarf_diename(die);
    return its != NULL && strcmp(its, name) == 0;
}

static bool scopes_describe(Dwarf_Die *member, struct symbols_member *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    Dwarf_Word size;
    uint64_t offset;
    if (!die_number(member, DW_AT_data_member_location, &offset) ||
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
    bool more = dwarf_child(structure, &child) == 0;
    for (; more; more = die_next(&child))
        if (dwarf_tag(&child) == DW_TAG_member && is_named(&child, member))
            return scopes_describe(&child, out);
    return false;
}

bool symbols_member(struct symbols *symbols, const char *structure, const char *member,
                    struct symbols_member *out)
{
    for (size_t i = 0; lines_load(symbols) && i < symbols->unit_count; i++) {
        Dwarf_Die child;
        bool more = dwarf_child(&symbols->units[i].die, &child) == 0;
        for (; more; more = die_next(&child))
            if (dwarf_tag(&child) == DW_TAG_structure_type && is_named(&child, structure) &&
                find_member(&child, member, out))
                return true;
    }
    return false;
}
