/* Functions that have no code of their own, since the compiler inlined them wherever they are called */
#include "symbols/code.h"
#include "symbols/internal.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper than any compiler nests; what is deeper is a damaged file */
enum { PATH_ROOM = 256, MOST_DEPTH = 64, MOST_ORIGINS = 64, MOST_COPIES = 4, MOST_RANGES = 1 << 16 };

struct inlined_copy {
    uint64_t low, high;
    const char *outer; /* the function that has it in it; may be NULL */
    const char *file;  /* where it is called; may be NULL */
    uint64_t line;
};

struct inlined {
    struct symbols *symbols;
    struct name_query request, bare; /* the latter without parameters */
    const struct place_name *wanted;
    Dwarf_Off declared[MOST_ORIGINS], origins[MOST_ORIGINS]; /* the functions of that name */
    size_t n_declared, n_origins;
    struct inlined_copy copies[MOST_COPIES];
    size_t n_copies;
    size_t more; /* beyond those */
    Dwarf_Die *unit;
};

/* The next sibling; false at the end, and where the file leads back */
static bool next(Dwarf_Die *die)
{
    Dwarf_Off before = dwarf_dieoffset(die);
    return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

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

/* Static functions of C++ have no mangled name: `path` is the namespaces around it, each with "::" behind it.
 * A function that is defined outside of its namespace refers to what is declared there. */
static bool is_meant(const struct inlined *self, Dwarf_Die *function, const char *path)
{
    const struct place_name *wanted = self->wanted;
    Dwarf_Attribute attribute;
    char full[PATH_ROOM + 256];
    const char *name = dwarf_diename(function), *mangled = NULL;
    bool meant = false;
    if (dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) != NULL)
        mangled = dwarf_formstring(&attribute);
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

static bool is_scope(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type;
}

/* Those that have the attribute `wanted` */
static void find_functions(struct inlined *self, Dwarf_Die *parent, unsigned wanted, Dwarf_Off *offsets,
                           size_t *n, const char *path, int depth)
{
    Dwarf_Die die;
    if (depth > MOST_DEPTH || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram && dwarf_hasattr(&die, wanted) && is_meant(self, &die, path))
            note_offset(offsets, n, &die);
        if (!is_scope(tag))
            continue;
        char inner[PATH_ROOM];
        const char *name = dwarf_diename(&die); /* none: an anonymous one */
        int length =
            snprintf(inner, sizeof inner, "%s%s%s", path, name != NULL ? name : "", name != NULL ? "::" : "");
        find_functions(self, &die, wanted, offsets, n,
                       length > 0 && (size_t)length < sizeof inner ? inner : path, depth + 1);
    } while (next(&die));
}

static bool is_copy(const struct inlined *self, Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_inlined_subroutine &&
           is_reference_among(die, DW_AT_abstract_origin, self->origins, self->n_origins);
}

static const char *call_file(const struct inlined *self, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    Dwarf_Files *files = NULL;
    size_t count = 0;
    if (dwarf_attr(die, DW_AT_call_file, &attribute) == NULL || dwarf_formudata(&attribute, &number) != 0 ||
        dwarf_getsrcfiles(self->unit, &files, &count) != 0 || number >= count)
        return NULL;
    return dwarf_filesrc(files, (size_t)number, NULL, NULL);
}

static void add_copy(struct inlined *self, Dwarf_Die *die, const char *outer)
{
    struct inlined_copy copy = {.outer = outer, .file = call_file(self, die)};
    Dwarf_Addr base = 0, begin = 0, end = 0, entry = 0;
    Dwarf_Attribute attribute;
    ptrdiff_t offset = 0;
    bool has_entry = dwarf_entrypc(die, &entry) == 0;
    for (int i = 0; i < MOST_RANGES && (offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0; i++) {
        bool has_it = has_entry && begin <= entry && entry < end;
        if (!table_is_kept(self->symbols, begin) || (copy.high != 0 && !has_it))
            continue;
        copy.low = has_it ? entry : begin;
        copy.high = end;
    }
    if (copy.high == 0)
        return;
    if (dwarf_attr(die, DW_AT_call_line, &attribute) == NULL || dwarf_formudata(&attribute, &copy.line) != 0)
        copy.line = 0;
    if (self->n_copies == MOST_COPIES)
        self->more++;
    else
        self->copies[self->n_copies++] = copy;
}

static void find_copies(struct inlined *self, Dwarf_Die *parent, const char *outer, int depth)
{
    Dwarf_Die die;
    if (depth > MOST_DEPTH || dwarf_child(parent, &die) != 0)
        return;
    do {
        if (is_copy(self, &die))
            add_copy(self, &die, outer);
        bool is_function = dwarf_tag(&die) == DW_TAG_subprogram && !dwarf_hasattr(&die, DW_AT_inline);
        find_copies(self, &die, is_function ? dwarf_diename(&die) : outer, depth + 1);
    } while (next(&die));
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

/* The line on which the caller goes on: the first other one behind the copy that is a location there */
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

/* Two lines around the copy if they are locations that hold it, else its addresses */
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

bool inlined_refuse(struct symbols *symbols, const struct place_name *wanted, struct error *error)
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
    for (size_t i = 0; self.n_origins > 0 && i < symbols->unit_count; i++) {
        self.unit = &symbols->units[i].die;
        find_copies(&self, self.unit, NULL, 0);
    }
    if (self.n_copies == 0)
        return false;
    name_copy(name, sizeof name, wanted->name, wanted->length);
    list_copies(&self, list, sizeof list);
    name_range(&self, &self.copies[0], range, sizeof range);
    error_set(
        error, ERROR_SYMBOL,
        "`%s` is inlined where it is called, and has no code of its own: into %s; name a range such as %s",
        name, list, range);
    return true;
}

/* --- instructions --------------------------------------------------------------------------------------- */

enum { SP = 13, ARM_FRAME = 11, THUMB_FRAME = 7, A64_FRAME = 29, A64_SP = 31 };

/* A frame ends: what it saved is taken from the stack again. DDI 0403 A7.7.98 (POP), A7.7.5 (ADD to SP). */
static bool thumb_pops(uint32_t code)
{
    uint32_t first = code_is_wide(code >> 16) ? code >> 16 : code;
    return (first & 0xFE00) == 0xBC00 || (first & 0xFF80) == 0xB000 || first == 0xE8BD || first == 0xF85D ||
           first == 0xECBD;
}

static bool thumb_is_frame(uint32_t which)
{
    return which == THUMB_FRAME || which == ARM_FRAME;
}

/* DDI 0403 A5.2 and A5.3. A mode that is entered first (CPS) gets its stack: that is no way out of a call. */
static bool thumb_sets_sp(const struct stack_code *code)
{
    uint32_t here = code->here, first = here >> 16, from = first & 0xF, to = here >> 8 & 0xF;
    bool new_mode = (code->before & 0xFFFFF900) == 0xF3AF8100;
    if (!code_is_wide(first)) {
        from = here >> 3 & 0xF;
        return (here & 0xFF87) == 0x4685 && !new_mode && !(thumb_is_frame(from) && thumb_pops(code->next));
    }
    if ((first & 0xFFF0) == 0xF380 &&
        (here & 0xFF00) == 0x8800) { /* MSR of MSP, PSP, and of the other world's */
        uint32_t special = here & 0xFF;
        return (special & 0x7E) == 0x08 || special == 0x98;
    }
    if ((first & 0xFF70) == 0xF850) /* LDR */
        return (here >> 12 & 0xF) == SP;
    bool computes = (first & 0xFE00) == 0xEA00 || ((first & 0xF800) == 0xF000 && (here & 0x8000) == 0);
    return computes && to == SP && from != SP && !(thumb_is_frame(from) && thumb_pops(code->next));
}

static bool arm_pops(uint32_t code)
{
    return (code & 0x0FFF0000) == 0x08BD0000 || (code & 0x0FFF0FFF) == 0x049D0004 ||
           (code & 0x0FFFF000) == 0x028DD000;
}

/* DDI 0406 A5.1; the old procedure call standard ends frames by an LDM of SP and PC. */
static bool arm_sets_sp(const struct stack_code *code)
{
    uint32_t here = code->here, to = here >> 12 & 0xF, from = here >> 16 & 0xF, source = here & 0xF;
    bool new_mode = (code->before & 0xFFF1FE20) == 0xF1000000 || (code->before & 0x0DB0F000) == 0x0120F000;
    if (here >> 28 == 0xF || new_mode)
        return false;
    if ((here & 0x0E100000) == 0x08100000)
        return (here & 0x2000) != 0 && (here & 0x8000) == 0;
    if (to != SP)
        return false;
    if ((here & 0x0C500000) == 0x04100000)
        return true;
    bool computes = (here & 0x0C000000) == 0 && (here & 0x0E000090) != 0x00000090;
    bool compares = (here & 0x01900000) == 0x01000000 && (here & 0x0FB00000) != 0x03000000;
    bool moves = (here & 0x0FE00FF0) == 0x01A00000;
    uint32_t of = moves ? source : from;
    return computes && !compares && of != SP &&
           !((of == ARM_FRAME || of == THUMB_FRAME) && arm_pops(code->next));
}

/* DDI 0487 C4.1: ADD and SUB of SP by a number and by a register, AND of it. That of another exception level
 * is not this code's. */
static bool a64_sets_sp(const struct stack_code *code)
{
    uint32_t here = code->here, from = here >> 5 & 0x1F, group = here & 0xFF800000, wide = here & 0xFFE00000;
    bool computes = group == 0x91000000 || group == 0xD1000000 || group == 0x92000000 || wide == 0x8B200000 ||
                    wide == 0xCB200000;
    bool loads =
        (code->next >> 5 & 0x1F) == A64_SP && (code->next >> 27 & 5) == 5 && (code->next & 1U << 22) != 0;
    return computes && (here & 0x1F) == A64_SP && from != A64_SP && !(from == A64_FRAME && loads);
}

bool stack_is_set(enum instruction_set isa, const struct stack_code *code)
{
    return isa == ISA_THUMB ? thumb_sets_sp(code) : isa == ISA_ARM ? arm_sets_sp(code) : a64_sets_sp(code);
}

/* DDI 0403 A7.7.18, A7.7.19, A7.7.178: BL, BLX, SVC. */
static bool thumb_calls(uint32_t code)
{
    if (code_is_wide(code >> 16))
        return (code & 0xF800C000) == 0xF000C000;
    return (code & 0xFF80) == 0x4780 || (code & 0xFF00) == 0xDF00;
}

static bool arm_calls(uint32_t code)
{
    return (code & 0x0F000000) == 0x0B000000 || (code & 0xFE000000) == 0xFA000000 ||
           (code & 0x0FFFFFF0) == 0x012FFF30 || (code & 0x0F000000) == 0x0F000000;
}

static bool a64_calls(uint32_t code)
{
    return (code & 0xFC000000) == 0x94000000 || (code & 0xFFFFFC1F) == 0xD63F0000 ||
           (code & 0xFFE0001F) == 0xD4000001;
}

/* --- all of the code ------------------------------------------------------------------------------------ */

struct search {
    struct symbols *symbols;
    uint64_t low, high;        /* looked at */
    uint64_t skip, skip_until; /* but not this */
    bool for_calls;
    bool found;
};

static bool is_it(const struct search *search, enum instruction_set isa, const struct stack_code *code)
{
    if (search->for_calls)
        return isa == ISA_THUMB ? thumb_calls(code->here)
               : isa == ISA_ARM ? arm_calls(code->here)
                                : a64_calls(code->here);
    return stack_is_set(isa, code);
}

static bool search_code(struct search *search)
{
    struct code_walk walk = {.symbols = search->symbols, .low = search->low, .high = search->high};
    struct code_instruction one;
    struct stack_code code = {0};
    while (!search->found && code_next(&walk, &one)) {
        code =
            (struct stack_code){.before = one.is_first ? 0 : code.here, .here = one.code, .next = one.next};
        bool skipped = one.address >= search->skip && one.address < search->skip_until;
        search->found = !skipped && !one.is_data && is_it(search, one.isa, &code);
    }
    return search->found;
}

bool symbols_may_leave(struct symbols *symbols)
{
    struct search search = {.symbols = symbols, .high = UINT64_MAX};
    struct extent start = {0, 0};
    if (symbols == NULL || (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64))
        return true;
    if (table_around(symbols, symbols->entry & ~UINT64_C(1), &start) !=
        NULL) { /* it has no callers to return to */
        search.skip = start.low;
        search.skip_until = start.high;
    }
    return search_code(&search);
}

static bool makes_calls(struct symbols *symbols, const struct extent *function)
{
    struct search search = {
        .symbols = symbols, .low = function->low, .high = function->high, .for_calls = true};
    return search_code(&search);
}

bool symbols_is_return(struct symbols *symbols, uint64_t address)
{
    struct extent extent = {0, 0};
    if (symbols == NULL || address < 2)
        return true;
    const struct symbol *caller = table_around(symbols, address - 2, &extent);
    bool at_end = caller != NULL && symbol_is_function(caller) && caller->size > 0 && extent.high <= address;
    return !at_end && !table_is_data(symbols, address);
}

/* --- frames --------------------------------------------------------------------------------------------- */

/* The canonical frame address is a register and a number. */
static bool find_frame(Dwarf_CFI *cfi, uint64_t address, struct frame_base *out)
{
    Dwarf_Frame *frame = NULL;
    Dwarf_Op *ops = NULL;
    size_t n = 0;
    bool found = cfi != NULL && dwarf_cfi_addrframe(cfi, address, &frame) == 0 && frame != NULL &&
                 dwarf_frame_cfa(frame, &ops, &n) == 0 && n == 1;
    if (found) {
        found = ops[0].atom == DW_OP_bregx || (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31);
        bool named = ops[0].atom == DW_OP_bregx;
        out->number = named ? (unsigned)ops[0].number : (unsigned)(ops[0].atom - DW_OP_breg0);
        out->offset = (int64_t)(named ? ops[0].number2 : ops[0].number);
    }
    free(frame);
    return found;
}

static bool frame_at(struct symbols *symbols, uint64_t address, struct frame_base *out)
{
    bool found = lines_load(symbols) && find_frame(dwarf_getcfi(symbols->dwarf), address, out);
    if (!found) {
        Dwarf_CFI *in_memory = dwarf_getcfi_elf(symbols->elf);
        found = find_frame(in_memory, address, out);
        dwarf_cfi_end(in_memory);
    }
    out->is_sp = out->number == (symbols->machine == EM_AARCH64 ? A64_SP : SP);
    return found && out->number < 32 && (out->number < 16 || symbols->machine == EM_AARCH64);
}

enum frames symbols_frames(struct symbols *symbols, uint64_t start, uint64_t end, struct frame_base *at_start,
                           struct frame_base *at_end)
{
    struct extent function = {0, 0}, other = {0, 0};
    const struct symbol *symbol = symbols != NULL ? table_around(symbols, start, &function) : NULL;
    if (symbol == NULL || table_around(symbols, end, &other) == NULL || other.low != function.low ||
        (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64))
        return FRAMES_OF_TWO;
    if (!makes_calls(symbols, &function) && !symbols_may_leave(symbols))
        return FRAMES_ONE_ONLY;
    return frame_at(symbols, start, at_start) && frame_at(symbols, end, at_end) ? FRAMES_KNOWN
                                                                                : FRAMES_UNKNOWN;
}
