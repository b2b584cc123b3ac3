/* SPDX-License-Identifier: MIT */
#include "base/values.h"
#include "symbols/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool symbol_is_function(const struct symbol *symbol)
{
    return symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC || symbol->type == STT_ARM_TFUNC;
}

/* The smaller, the better the symbol names its address: Default_Handler, not one of its fifty weak aliases.
 */
static int rank(const struct symbol *symbol)
{
    int binding = symbol->bind == STB_GLOBAL ? 0 : symbol->bind == STB_WEAK ? 2 : 1;
    return (symbol->size > 0 ? 0 : 4) + binding;
}

static int symbol_order(const void *a, const void *b)
{
    const struct symbol *left = a;
    const struct symbol *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    int ranks = rank(left) - rank(right);
    return ranks != 0 ? ranks : strcmp(left->name, right->name);
}

static int mark_order(const void *a, const void *b)
{
    const struct mark *left = a;
    const struct mark *right = b;
    return left->address < right->address ? -1 : left->address > right->address;
}

static Elf_Scn *find_table(Elf *elf, GElf_Shdr *header)
{
    Elf_Scn *dynamic = NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        if (gelf_getshdr(section, header) == NULL)
            continue;
        if (header->sh_type == SHT_SYMTAB)
            return section;
        if (header->sh_type == SHT_DYNSYM)
            dynamic = section;
    }
    return dynamic != NULL && gelf_getshdr(dynamic, header) != NULL ? dynamic : NULL;
}

static bool mark_add(struct table *table, const struct symbols *symbols, const struct symbol *symbol)
{
    const char *name = symbol->name;
    if (name[0] != '$' || name[1] == '\0' || strchr("atdx", name[1]) == NULL ||
        (name[2] != '\0' && name[2] != '.'))
        return false;
    if (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64)
        return false;
    if (symbol->limit != 0) /* those of sections that are not loaded, as old linkers keep, mean no address */
        table->marks[table->mark_count++] = (struct mark){symbol->address, symbol->limit, name[1]};
    return true;
}

/* ??main_0 of IAR's compiler, $C$L1 and $C$CON1 of TI's: local labels, which have a function's type and no
 * size. */
static bool is_compilers_label(const char *name)
{
    static const char ti[] = "$C$";
    const char *last = strrchr(name, '_');
    return strncmp(name, ti, sizeof ti - 1) == 0 ||
           (name[0] == '?' && name[1] == '?' && last != NULL && last[1] != '\0' &&
            last[1 + strspn(last + 1, "0123456789")] == '\0');
}

static bool may_be_label(const struct symbol *symbol)
{
    return symbol->bind == STB_LOCAL && symbol->size == 0;
}

static void label_add(struct table *table, const struct symbol *symbol)
{
    struct symbol *label = &table->labels[table->label_count++];
    *label = *symbol;
    label->type = STT_NOTYPE;
}

/* Those of other compilers lie in the middle of a function that has a size. The functions are sorted. */
static void take_labels_out(struct table *table)
{
    size_t kept = 0;
    uint64_t end = 0;
    for (size_t i = 0; i < table->function_count; i++) {
        const struct symbol *symbol = &table->functions[i];
        bool inside =
            kept > 0 && symbol->address < end && symbol->address > table->functions[kept - 1].address;
        if (inside && may_be_label(symbol)) {
            label_add(table, symbol);
            continue;
        }
        if (symbol->size > 0 && symbol->size < UINT64_MAX - symbol->address &&
            symbol->address + symbol->size > end)
            end = symbol->address + symbol->size;
        table->functions[kept++] = *symbol;
    }
    table->function_count = kept;
}

static void symbol_add(struct symbols *symbols, struct table *table, struct symbol *symbol)
{
    if (symbol_is_function(symbol)) {
        if (symbols->machine == EM_ARM) {
            symbol->thumb = (symbol->address & 1) != 0 || symbol->type == STT_ARM_TFUNC;
            symbol->address &= ~UINT64_C(1);
        }
        if (symbol->limit == 0)
            symbol->limit = symbol->address + symbol->size < symbol->address ? UINT64_MAX
                                                                             : symbol->address + symbol->size;
        if (may_be_label(symbol) && is_compilers_label(symbol->name))
            label_add(table, symbol);
        else
            table->functions[table->function_count++] = *symbol;
    } else if (symbol->type == STT_OBJECT || symbol->type == STT_COMMON || symbol->type == STT_TLS) {
        table->objects[table->object_count++] = *symbol;
    } else if (symbol->type == STT_NOTYPE && !mark_add(table, symbols, symbol)) {
        /* a label of the linker script (_etext) is neither code nor an object of a known size */
        if (symbol->address < symbol->limit && symbols_is_code(symbols, symbol->address))
            table->labels[table->label_count++] = *symbol;
        else
            table->objects[table->object_count++] = *symbol;
    }
}

/* The bytes up to the last NUL: a name that begins there needs no further check. */
static size_t usable_strings(const Elf_Data *strings)
{
    const char *last = memrchr(strings->d_buf, 0, strings->d_size);
    return last == NULL ? 0 : (size_t)(last - (const char *)strings->d_buf) + 1;
}

static void read_table(struct symbols *symbols, struct table *table, Elf_Data *data, Elf_Data *strings)
{
    size_t entry = gelf_fsize(symbols->debug, ELF_T_SYM, 1, EV_CURRENT);
    size_t count = entry > 0 ? data->d_size / entry : 0;
    size_t names = usable_strings(strings);
    if (count > INT32_MAX)
        return;
    table->functions = calloc(count + 1, sizeof(struct symbol));
    table->labels = calloc(count + 1, sizeof(struct symbol));
    table->objects = calloc(count + 1, sizeof(struct symbol));
    table->marks = calloc(count + 1, sizeof(struct mark));
    table->no_memory =
        table->functions == NULL || table->labels == NULL || table->objects == NULL || table->marks == NULL;
    if (table->no_memory)
        return;
    const char *file = NULL;
    for (size_t i = 1; i < count; i++) {
        GElf_Sym raw;
        if (gelf_getsym(data, (int)i, &raw) == NULL || raw.st_name >= names)
            continue;
        struct symbol symbol = {
            .name = (const char *)strings->d_buf + raw.st_name,
            .address = raw.st_shndx == SHN_ABS ? raw.st_value : elf_moved(symbols, raw.st_value),
            .size = raw.st_size,
            .type = GELF_ST_TYPE(raw.st_info),
            .bind = GELF_ST_BIND(raw.st_info),
        };
        if (symbol.type == STT_FILE)
            file = symbol.name;
        if (symbol.name[0] == '\0' || raw.st_shndx == SHN_UNDEF)
            continue;
        if (symbol.bind == STB_LOCAL)
            symbol.file = file;
        if (raw.st_shndx < symbols->section_count)
            symbol.limit = symbols->sections[raw.st_shndx].high;
        symbol_add(symbols, table, &symbol);
    }
    table->function_room = count + 1;
}

static void table_sort(struct table *table)
{
    if (table->function_count > 0)
        qsort(table->functions, table->function_count, sizeof(struct symbol), symbol_order);
    if (table->label_count > 0)
        qsort(table->labels, table->label_count, sizeof(struct symbol), symbol_order);
    if (table->mark_count > 0)
        qsort(table->marks, table->mark_count, sizeof(struct mark), mark_order);
}

static void find_and_read(struct symbols *symbols, struct table *table)
{
    GElf_Shdr header;
    Elf *elf = symbols->debug;
    Elf_Scn *section = find_table(elf, &header);
    if (section == NULL)
        section = find_table(elf = symbols->elf, &header);
    Elf_Data *data = section != NULL ? elf_getdata(section, NULL) : NULL;
    Elf_Data *strings = data != NULL ? elf_getdata(elf_getscn(elf, header.sh_link), NULL) : NULL;
    if (data != NULL && data->d_buf != NULL && strings != NULL && strings->d_buf != NULL)
        read_table(symbols, table, data, strings);
}

const struct table *table_get(struct symbols *symbols)
{
    struct table *table = &symbols->table;
    if (table->loaded)
        return table;
    table->loaded = true;
    find_and_read(symbols, table);
    table_sort(table);
    if (!table->no_memory)
        functions_complete(symbols, table);
    table->function_count += table->added_count;
    table_sort(table);
    take_labels_out(table);
    table_sort(table);
    return table;
}

static int name_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct table *table)
{
    size_t n = 0;
    table->names = calloc(table->function_count + table->label_count + 1, sizeof *table->names);
    if (table->names == NULL)
        return;
    for (size_t i = 0; i < table->function_count; i++)
        table->names[n++] = table->functions[i].name;
    for (size_t i = 0; i < table->label_count; i++)
        table->names[n++] = table->labels[i].name;
    qsort(table->names, n, sizeof *table->names, name_order);
}

/* A dot sorts before letters, digits and underscores: the copies follow the name itself. */
bool table_is_alone(struct symbols *symbols, const char *name)
{
    struct table *table = &symbols->table;
    size_t n = table_get(symbols)->function_count + table->label_count, low = 0, length = strlen(name);
    if (table->names == NULL)
        sort_names(table);
    if (table->names == NULL)
        return false;
    for (size_t high = n; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(table->names[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t same = 0;
    while (low + same < n && strcmp(table->names[low + same], name) == 0)
        same++;
    for (size_t i = low + same; i < n && strncmp(table->names[i], name, length) == 0; i++) {
        char behind = table->names[i][length];
        if (behind == '.')
            return false;
        if (behind > '.')
            break;
    }
    return same == 1;
}

static size_t count_until(const struct symbol *sorted, size_t count, uint64_t address)
{
    return sorted_until(sorted, count, sizeof *sorted, address);
}

/* The best name at the last address with a symbol up to `address`. */
static const struct symbol *last_until(const struct symbol *sorted, size_t count, uint64_t address)
{
    size_t until = count_until(sorted, count, address);
    if (until == 0)
        return NULL;
    uint64_t at = sorted[until - 1].address;
    return &sorted[at == 0 ? 0 : count_until(sorted, count, at - 1)];
}

static void end_before_next(uint64_t *end, const struct symbol *sorted, size_t count, uint64_t address,
                            bool local_too)
{
    size_t next = count_until(sorted, count, address);
    while (!local_too && next < count && sorted[next].bind == STB_LOCAL)
        next++;
    if (next < count && sorted[next].address < *end)
        *end = sorted[next].address;
}

/* Without a size, the next function or global name ends it. Local labels are often inside. */
static uint64_t table_end_of(const struct table *table, const struct symbol *symbol)
{
    uint64_t end = symbol->limit;
    if (symbol->size > 0 && symbol->address < end && symbol->size <= end - symbol->address)
        return symbol->address + symbol->size;
    end_before_next(&end, table->functions, table->function_count, symbol->address, true);
    end_before_next(&end, table->labels, table->label_count, symbol->address, !symbol_is_function(symbol));
    return end;
}

/* Functions that end before `address` may lie within one that contains it. */
static const struct symbol *function_around(const struct table *table, uint64_t address, uint64_t *end)
{
    enum { WITHIN_MOST = 16 };
    const struct symbol *symbol = last_until(table->functions, table->function_count, address);
    for (int i = 0; symbol != NULL && i < WITHIN_MOST; i++) {
        *end = table_end_of(table, symbol);
        if (address < *end)
            return symbol;
        symbol = symbol->address == 0
                     ? NULL
                     : last_until(table->functions, table->function_count, symbol->address - 1);
    }
    return NULL;
}

const struct symbol *table_around(struct symbols *symbols, uint64_t address, struct extent *extent)
{
    const struct table *table = table_get(symbols);
    uint64_t end = 0;
    const struct symbol *symbol = function_around(table, address, &end);
    if (symbol == NULL) {
        symbol = last_until(table->labels, table->label_count, address);
        end = symbol != NULL ? table_end_of(table, symbol) : 0;
    }
    if (symbol == NULL || address >= end)
        return NULL;
    *extent = (struct extent){symbol->address, end};
    return symbol;
}

uint64_t table_sized_until(struct symbols *symbols, uint64_t address)
{
    uint64_t end = 0;
    const struct symbol *symbol = function_around(table_get(symbols), address, &end);
    return symbol != NULL && symbol->size > 0 ? end : address;
}

bool table_give_size(struct table *table, uint64_t address, uint64_t size)
{
    size_t i = count_until(table->functions, table->function_count, address);
    bool any = false;
    for (; i-- > 0 && table->functions[i].address == address; any = true)
        if (table->functions[i].size == 0)
            table->functions[i].size = size;
    return any;
}

void table_add_function(struct symbols *symbols, struct table *table, const struct symbol *function)
{
    size_t used = table->function_count + table->added_count;
    if (function->name == NULL || function->name[0] == '\0')
        return;
    struct symbol *grown = array_grow(table->functions, used + 1, &table->function_room, sizeof *grown);
    if (grown == NULL)
        return;
    table->functions = grown;
    struct symbol *added = &table->functions[used];
    *added = *function;
    added->type = STT_FUNC;
    added->only_dwarf = true;
    added->thumb = table_isa(symbols, function->address) == ISA_THUMB;
    for (size_t i = 0; i < symbols->section_count; i++)
        if (function->address >= symbols->sections[i].low && function->address < symbols->sections[i].high)
            added->limit = symbols->sections[i].high;
    table->added_count++;
}

uint64_t table_next_function(struct symbols *symbols, uint64_t address, uint64_t high)
{
    const struct table *table = table_get(symbols);
    end_before_next(&high, table->functions, table->function_count, address, true);
    return high;
}

static bool has_code_symbol(struct symbols *symbols, uint64_t address)
{
    const struct table *table = table_get(symbols);
    const struct symbol *function = last_until(table->functions, table->function_count, address);
    const struct symbol *label = last_until(table->labels, table->label_count, address);
    return (function != NULL && function->address == address) || (label != NULL && label->address == address);
}

static const char NO_MARK = '\0';

/* *until: the mark holds before it; without a mark it is `address`. */
static char mark_until(struct symbols *symbols, uint64_t address, uint64_t *until)
{
    const struct table *table = table_get(symbols);
    size_t low = sorted_until(table->marks, table->mark_count, sizeof *table->marks, address);
    *until = address;
    if (low == 0 || address >= table->marks[low - 1].limit)
        return NO_MARK;
    *until = table->marks[low - 1].limit;
    if (low < table->mark_count && table->marks[low].address < *until)
        *until = table->marks[low].address;
    return table->marks[low - 1].kind;
}

static char mark_at(struct symbols *symbols, uint64_t address)
{
    uint64_t until;
    return mark_until(symbols, address, &until);
}

uint64_t table_same_until(struct symbols *symbols, uint64_t address)
{
    uint64_t until;
    (void)mark_until(symbols, address, &until);
    return until;
}

bool table_is_data(struct symbols *symbols, uint64_t address)
{
    return mark_at(symbols, address) == 'd';
}

bool table_marked(struct symbols *symbols, uint64_t address, struct extent *out)
{
    const struct table *table = table_get(symbols);
    size_t until = sorted_until(table->marks, table->mark_count, sizeof *table->marks, address);
    if (mark_until(symbols, address, &out->high) == NO_MARK)
        return false;
    out->low = table->marks[until - 1].address;
    return true;
}

static const struct symbol *object_around(struct symbols *symbols, uint64_t address)
{
    const struct table *table = table_get(symbols);
    for (size_t i = 0; i < table->object_count; i++) {
        const struct symbol *object = &table->objects[i];
        if (object->type == STT_OBJECT && address >= object->address &&
            address - object->address < object->size)
            return object;
    }
    return NULL;
}

uint64_t symbols_constant_until(struct symbols *symbols, uint64_t address)
{
    const struct symbol *object = object_around(symbols, address);
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;)
        if (elf_section_header(symbols, section, &header) && header.sh_type == SHT_PROGBITS &&
            (header.sh_flags & (SHF_ALLOC | SHF_WRITE)) == SHF_ALLOC && address >= header.sh_addr &&
            address - header.sh_addr < header.sh_size)
            return object != NULL ? object->address + object->size : header.sh_addr + header.sh_size;
    return 0;
}

bool symbols_describe_object(struct symbols *symbols, uint64_t address, char *out, size_t size)
{
    const struct symbol *object = object_around(symbols, address);
    char name[128];
    if (object == NULL)
        return false;
    name_plain(name, sizeof name, object->name);
    if (address == object->address)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%s+0x%" PRIx64, name, address - object->address);
    return true;
}

enum mapping symbols_mapping(struct symbols *symbols, uint64_t address)
{
    char mark = mark_at(symbols, address);
    if (mark == 'd' || object_around(symbols, address) != NULL)
        return MAPPING_DATA;
    return mark == NO_MARK ? MAPPING_NONE : MAPPING_CODE;
}

enum instruction_set table_isa(struct symbols *symbols, uint64_t address)
{
    if (symbols->machine == EM_AARCH64)
        return ISA_A64;
    if (symbols->machine != EM_ARM)
        return ISA_OTHER;
    char mark = mark_at(symbols, address);
    if (mark == 't' || mark == 'a')
        return mark == 't' ? ISA_THUMB : ISA_ARM;
    struct extent extent;
    const struct symbol *symbol = table_around(symbols, address, &extent);
    if (symbol != NULL && symbol_is_function(symbol))
        return symbol->thumb ? ISA_THUMB : ISA_ARM;
    return symbols->profile == 'M' || (symbols->entry & 1) ? ISA_THUMB : ISA_ARM;
}

/* GCC leaves out the type of zero-initialised variables at -O0: so a symbol with a size outside the code is a
 * variable, too. Names that the linker script defines have no size. */
bool table_is_object(const struct symbols *symbols, const struct symbol *symbol)
{
    return symbol->type == STT_OBJECT ||
           (symbol->type == STT_NOTYPE && symbol->size > 0 && symbol->address < symbol->limit &&
            !symbols_is_code(symbols, symbol->address));
}

/* The global object of this name, else the only one: no static object goes before another. */
enum object_found symbols_find_object(struct symbols *symbols, const char *name, uint64_t *address,
                                      uint64_t *size)
{
    const struct table *table = table_get(symbols);
    const struct symbol *found = NULL;
    bool several = false, is_global = false;
    struct name_query request;
    name_query_init(&request, name, strlen(name));
    for (size_t i = 0; i < table->object_count; i++) {
        const struct symbol *object = &table->objects[i];
        if (!table_is_object(symbols, object) || name_compare(&request, object->name) != LIKE_SAME)
            continue;
        bool global = object->bind != STB_LOCAL, better = global && !is_global;
        if (is_global && !global)
            continue;
        several = !better && (several || (found != NULL && found->address != object->address));
        found = object;
        is_global = global;
    }
    if (found == NULL)
        return OBJECT_NONE;
    if (several)
        return OBJECT_SEVERAL;
    *address = found->address;
    *size = found->size;
    return OBJECT_ONE;
}

bool symbols_object(struct symbols *symbols, const char *name, uint64_t *address, uint64_t *size)
{
    return symbols_find_object(symbols, name, address, size) == OBJECT_ONE;
}

bool table_is_kept(struct symbols *symbols, uint64_t begin)
{
    if (!symbols_is_code(symbols, begin))
        return false;
    /* GNU ld writes 1 where 0 would end a list of ranges */
    return elf_linked(symbols, begin) > 1 ||
           (has_code_symbol(symbols, begin) && mark_at(symbols, begin) != 'd');
}
