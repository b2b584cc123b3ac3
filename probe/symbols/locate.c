/* SPDX-License-Identifier: MIT */
/*
 * Locations: turns text into addresses (a symbol, file.c:symbol, file.c:42, *0x10000200) and addresses into
 * text. A location that may mean several addresses is refused, with a list of locations that each mean one.
 */
#include "base/values.h"
#include "symbols/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- addresses ----------------------------------------------------------------------------------------- */

static bool has_thumb_bit(const struct symbols *symbols, uint64_t address)
{
    return (address & 1) &&
           (symbols == NULL || (symbols->machine == EM_ARM && symbols_is_code(symbols, address)));
}

void symbols_describe(struct symbols *symbols, uint64_t address, struct location *out)
{
    bool thumb = has_thumb_bit(symbols, address);
    *out = (struct location){.address = thumb ? address & ~UINT64_C(1) : address};
    address = out->address;
    snprintf(out->name, sizeof out->name, "0x%08" PRIx64, address);
    if (symbols == NULL) {
        out->isa = thumb ? ISA_THUMB : ISA_OTHER;
        return;
    }
    out->isa = table_isa(symbols, address);
    lines_source(symbols, address, out->source, sizeof out->source);
    struct extent extent;
    const struct symbol *symbol = table_around(symbols, address, &extent);
    if (symbol == NULL)
        return;
    out->low = extent.low;
    out->high = extent.high;
    out->next = table_next_function(symbols, address, extent.high);
    /* a global label outside all functions is a function without .type */
    out->is_function_entry =
        address == extent.low && (symbol_is_function(symbol) || symbol->bind != STB_LOCAL);
    out->never_returns = out->is_function_entry && scopes_function(symbols, address).never_returns;
    char name[sizeof out->name - 24];
    name_plain(name, sizeof name, symbol->name);
    if (address == extent.low)
        snprintf(out->name, sizeof out->name, "%s", name);
    else
        snprintf(out->name, sizeof out->name, "%s+0x%" PRIx64, name, address - extent.low);
}

/* --- matches ------------------------------------------------------------------------------------------- */

/* A location may mean several addresses. */
struct match {
    uint64_t address;
    const struct symbol *symbol; /* if the location is a name */
    enum likeness likeness;
    struct scope scope;
    bool is_statement;
    bool has_code; /* of the line; false: the line only has a row there */
};

struct matches {
    struct match at[LINE_HITS]; /* by address */
    size_t count;
    bool has_more;       /* than fit here */
    uint64_t overridden; /* a weak definition of the same name, whose code is not used; 0: none */
};

/* Inserts by address. Of two matches at one address the likelier one stays. */
static void add_match(struct matches *matches, const struct match *match)
{
    size_t i = 0;
    while (i < matches->count && matches->at[i].address < match->address)
        i++;
    if (i < matches->count && matches->at[i].address == match->address) {
        if (matches->at[i].likeness < match->likeness)
            matches->at[i] = *match;
        return;
    }
    if (matches->count == LINE_HITS) {
        matches->has_more = true;
        return;
    }
    memmove(&matches->at[i + 1], &matches->at[i], (matches->count - i) * sizeof matches->at[0]);
    matches->at[i] = *match;
    matches->count++;
}

static void remove_match(struct matches *matches, size_t i)
{
    matches->count--;
    memmove(&matches->at[i], &matches->at[i + 1], (matches->count - i) * sizeof matches->at[0]);
}

/* --- matches of a name --------------------------------------------------------------------------------- */

/* The file may be the one it is written in, the one that was compiled, or the symbol table's. */
static bool is_of_file(struct symbols *symbols, const struct symbol *symbol,
                       const struct qualified_name *wanted)
{
    if (wanted->file_length == 0)
        return true;
    const struct function_facts facts = scopes_function(symbols, symbol->address);
    const char *files[] = {facts.file, facts.unit, symbol->file};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] != NULL && path_ends_with(files[i], wanted->file, wanted->file_length))
            return true;
    return false;
}

static void add_named(struct symbols *symbols, const struct symbol *of, size_t count,
                      const struct name_query *request, const struct qualified_name *wanted,
                      struct matches *matches)
{
    for (size_t i = 0; i < count; i++) {
        enum likeness likeness = name_compare(request, of[i].name);
        if (likeness != UNLIKE && is_of_file(symbols, &of[i], wanted))
            add_match(matches,
                      &(struct match){.address = of[i].address, .symbol = &of[i], .likeness = likeness});
    }
}

static void find_named(struct symbols *symbols, const struct qualified_name *wanted, struct matches *matches)
{
    const struct table *table = table_get(symbols);
    struct name_query request;
    name_query_init(&request, wanted->name, wanted->length);
    *matches = (struct matches){.count = 0};
    add_named(symbols, table->functions, table->function_count, &request, wanted, matches);
    add_named(symbols, table->labels, table->label_count, &request, wanted, matches);
}

/* Whether the compiler made both from one function of the source. If nothing is known, a part belongs to the
 * function that has its name, because only that calls it. */
static bool is_made_of(struct symbols *symbols, const struct match *made, const struct match *function)
{
    const struct function_facts a = scopes_function(symbols, made->address);
    const struct function_facts b = scopes_function(symbols, function->address);
    if (a.file != NULL && b.file != NULL)
        return a.line == b.line && strcmp(a.file, b.file) == 0;
    if (made->symbol->file != NULL && function->symbol->file != NULL)
        return strcmp(made->symbol->file, function->symbol->file) == 0;
    return made->likeness == LIKE_PART;
}

static bool has_original(struct symbols *symbols, const struct matches *matches, const struct match *made)
{
    for (size_t i = 0; i < matches->count; i++)
        if (matches->at[i].likeness > made->likeness && is_made_of(symbols, made, &matches->at[i]))
            return true;
    return false;
}

static bool is_exactly(const char *symbol, const struct qualified_name *wanted)
{
    return strncmp(symbol, wanted->name, wanted->length) == 0 && symbol[wanted->length] == '\0';
}

/* A mangled name means that symbol, if it is there. */
static void keep_exact(struct matches *matches, const struct qualified_name *wanted)
{
    bool exact = false;
    for (size_t i = 0; i < matches->count; i++)
        exact |=
            name_is_mangled(matches->at[i].symbol->name) && is_exactly(matches->at[i].symbol->name, wanted);
    for (size_t i = matches->count; exact && i-- > 0;)
        if (!is_exactly(matches->at[i].symbol->name, wanted))
            remove_match(matches, i);
}

/* A weak function that a global one replaced is in DWARF alone: its code has stayed, and nothing calls it. */
static void drop_overridden(struct matches *matches)
{
    const struct symbol *global = NULL;
    for (size_t i = 0; i < matches->count; i++)
        if (matches->at[i].symbol->bind == STB_GLOBAL && !matches->at[i].symbol->only_dwarf)
            global = matches->at[i].symbol;
    for (size_t i = matches->count; global != NULL && i-- > 0;)
        if (matches->at[i].symbol->only_dwarf && strcmp(matches->at[i].symbol->name, global->name) == 0) {
            matches->overridden = matches->at[i].address;
            remove_match(matches, i);
        }
}

static void match_symbol(struct symbols *symbols, const struct qualified_name *wanted,
                         struct matches *matches)
{
    find_named(symbols, wanted, matches);
    keep_exact(matches, wanted);
    drop_overridden(matches);
    for (size_t i = matches->count; matches->count > 1 && i-- > 0;)
        if (matches->at[i].likeness < LIKE_SAME && has_original(symbols, matches, &matches->at[i]))
            remove_match(matches, i);
}

/* The rest of a coroutine, as GCC or clang calls it. */
static bool is_coroutines(const char *symbol)
{
    const char *dot = strrchr(symbol, '.');
    return dot != NULL && (strcmp(dot, ".actor") == 0 || strcmp(dot, ".resume") == 0);
}

/* Returns whether they are the rest of a coroutine. */
static bool name_copies(struct symbols *symbols, const struct qualified_name *wanted, uint64_t address,
                        char *out, size_t room)
{
    struct matches matches;
    size_t used = 0, self = 0;
    bool is_coroutine = false;
    find_named(symbols, wanted, &matches);
    out[0] = '\0';
    while (self < matches.count && matches.at[self].address != address)
        self++;
    for (size_t i = 0; i < matches.count && self < matches.count && used < room; i++) {
        const struct match *match = &matches.at[i];
        char name[NEAR_LENGTH];
        /* the function itself reaches its cold part */
        if (match->likeness >= matches.at[self].likeness || strstr(match->symbol->name, ".cold") != NULL ||
            !is_made_of(symbols, match, &matches.at[self]))
            continue;
        name_plain(name, sizeof name, match->symbol->name);
        if (is_coroutines(match->symbol->name) && !is_coroutine) {
            is_coroutine = true;
            used = 0;
        } else if (is_coroutine) {
            continue;
        }
        int wrote = snprintf(out + used, room - used, "%s%s", used > 0 ? ", " : "", name);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return is_coroutine;
}

/* --- matches of a line --------------------------------------------------------------------------------- */

/* The compiler moves unlikely code out of a function: no line begins there. */
static bool is_cold(struct symbols *symbols, uint64_t address)
{
    struct extent extent;
    const struct symbol *symbol = table_around(symbols, address, &extent);
    return symbol != NULL && strstr(symbol->name, ".cold") != NULL;
}

/* Whether the line begins at `a` rather than at `b`, both in one instance of a function. */
static bool begins_before(struct symbols *symbols, const struct match *a, const struct match *b)
{
    if (a->is_statement != b->is_statement)
        return a->is_statement;
    bool a_cold = is_cold(symbols, a->address);
    return a_cold != is_cold(symbols, b->address) ? !a_cold : a->address < b->address;
}

static struct match match_of_hit(struct symbols *symbols, const struct line_hit *hit, const char *file,
                                 uint64_t line)
{
    struct match match = {
        .address = hit->address,
        .scope = scopes_find(symbols, hit->address, file, line),
        .is_statement = hit->is_statement,
    };
    struct extent extent;
    if (match.scope.key == 0 && table_around(symbols, hit->address, &extent) != NULL)
        match.scope.key = extent.low;
    /* stray instructions that the optimizer moved into another function do not count */
    match.has_code = !hit->is_empty && (hit->is_statement || match.scope.owns_line);
    return match;
}

static void match_line(struct symbols *symbols, const struct line_hits *hits, const char *file, uint64_t line,
                       struct matches *matches)
{
    *matches = (struct matches){.has_more = hits->has_more};
    bool any_code = false;
    for (size_t i = 0; i < hits->count; i++) {
        struct match match = match_of_hit(symbols, &hits->at[i], file, line);
        any_code |= match.has_code;
        size_t same = 0;
        while (same < matches->count &&
               (match.scope.key == 0 || matches->at[same].scope.key != match.scope.key))
            same++;
        if (same < matches->count) {
            bool has_code = match.has_code | matches->at[same].has_code;
            if (!begins_before(symbols, &match, &matches->at[same]))
                match = matches->at[same];
            match.has_code = has_code;
            remove_match(matches, same);
        }
        add_match(matches, &match);
    }
    for (size_t i = matches->count; any_code && i-- > 0;)
        if (!matches->at[i].has_code)
            remove_match(matches, i);
}

/* --- too many matches ---------------------------------------------------------------------------------- */

/* Copies `text` if as a location it finds only this match; `colon` is the end of its file. */
static bool try_name(struct symbols *symbols, const struct match *match, const char *text, const char *colon,
                     char *out, size_t room)
{
    struct matches found;
    size_t length = strlen(text);
    struct qualified_name name = {.name = text, .length = length};
    if (colon != NULL)
        name = (struct qualified_name){.file = text,
                                       .file_length = (size_t)(colon - text),
                                       .name = colon + 1,
                                       .length = strlen(colon + 1)};
    match_symbol(symbols, &name, &found);
    if (length >= room || found.count != 1 || found.has_more || found.at[0].address != match->address)
        return false;
    memcpy(out, text, length + 1);
    return true;
}

/* The last `parts` parts of a path. */
static const char *path_tail(const char *path, int parts)
{
    const char *at = path + strlen(path);
    for (; at > path; at--)
        if ((at[-1] == '/' || at[-1] == '\\') && --parts == 0)
            break;
    return at;
}

/* LASTING, SIGNATURE: without the number of a build. */
enum { LASTING, SIGNATURE, PLAIN, SYMBOL, NAMES, NAME_ROOM = LOCATION_NAME };

/* Tries "file.c:function" with that many parts of the file's path, without and with parameters. */
static bool try_in_file(struct symbols *symbols, const struct match *match, const char *file, int parts,
                        char names[NAMES][NAME_ROOM], char *out, size_t room)
{
    char text[2 * NAME_ROOM];
    for (int i = LASTING; i <= SIGNATURE; i++) {
        const char *tail = path_tail(file, parts);
        int length = snprintf(text, sizeof text, "%.*s:%s", NAME_ROOM - 1, tail, names[i]);
        if (length > 0 &&
            try_name(symbols, match, text, text + (size_t)length - strlen(names[i]) - 1, out, room))
            return true;
    }
    return false;
}

/* The shortest location that finds only this match, and is valid in another build, too, unless nothing but a
 * compiler's number distinguishes it; "" if there is none. */
static void name_match(struct symbols *symbols, const struct match *match, char *out, size_t room)
{
    enum { FILES = 3 };
    char names[NAMES][NAME_ROOM];
    const struct function_facts facts = scopes_function(symbols, match->address);
    const char *files[FILES] = {facts.file, facts.unit, match->symbol->file};
    name_plain(names[PLAIN], NAME_ROOM, match->symbol->name);
    name_plain(names[LASTING], NAME_ROOM, match->symbol->name);
    name_signature(names[SIGNATURE], NAME_ROOM, match->symbol->name);
    name_cut_number(names[LASTING]);
    name_cut_number(names[SIGNATURE]);
    name_copy(names[SYMBOL], NAME_ROOM, match->symbol->name, strlen(match->symbol->name));
    out[0] = '\0';
    if (try_name(symbols, match, names[LASTING], NULL, out, room) ||
        try_name(symbols, match, names[SIGNATURE], NULL, out, room))
        return;
    for (int parts = 1; parts <= 2; parts++)
        for (size_t i = 0; i < FILES; i++)
            if (files[i] != NULL && try_in_file(symbols, match, files[i], parts, names, out, room))
                return;
    (void)(try_name(symbols, match, names[PLAIN], NULL, out, room) ||
           try_name(symbols, match, names[SYMBOL], NULL, out, room));
}

/* Of the names in a list. One that is longer has its address there. */
enum { LIST_NAME = 400 };

static void describe_match(struct symbols *symbols, const struct match *match, uint64_t offset, char *out,
                           size_t room)
{
    struct location location;
    symbols_describe(symbols, match->address, &location);
    const struct scope *scope = &match->scope;
    char name[LIST_NAME] = "", owner[NEAR_LENGTH] = "", address[24], plus[24] = "";
    snprintf(address, sizeof address, "*0x%08" PRIx64, match->address + offset);
    if (match->symbol != NULL) {
        name_match(symbols, match, name, sizeof name);
        if (offset > 0)
            snprintf(plus, sizeof plus, "+0x%" PRIx64, offset);
        if (name[0] == '\0') { /* only its address distinguishes it */
            name_plain(owner, sizeof owner, match->symbol->name);
            snprintf(out, room, "\n  %s  %s%s%s", address, owner, location.source[0] != '\0' ? ", " : "",
                     location.source);
            return;
        }
        snprintf(out, room, "\n  %s%s   %s%s%s", name, plus, address, location.source[0] != '\0' ? ", " : "",
                 location.source);
        return;
    }
    const char *shown = scope->name != NULL ? scope->name : location.name;
    name_copy(name, NEAR_LENGTH, shown, strlen(shown));
    const char *words = scope->outer != NULL ? ", inlined in " : ", ";
    if (scope->outer != NULL)
        name_copy(owner, sizeof owner, scope->outer, strlen(scope->outer));
    else if (scope->key == 0)
        name_copy(owner, sizeof owner, location.source, strlen(location.source));
    snprintf(out, room, "\n  %s  %s%s%s", address, name, owner[0] != '\0' ? words : "", owner);
}

static bool refuse_ambiguous(struct symbols *symbols, const struct matches *matches, const char *text,
                             uint64_t offset, struct error *error)
{
    char list[800] = "";
    size_t room = sizeof list - sizeof "\n  and 18446744073709551615 more";
    size_t used = 0;
    size_t shown = 0;
    for (; shown < matches->count; shown++) {
        char line[LIST_NAME + 300];
        describe_match(symbols, &matches->at[shown], offset, line, sizeof line);
        if (used + strlen(line) >= room)
            break;
        memcpy(list + used, line, strlen(line) + 1);
        used += strlen(line);
    }
    if (shown < matches->count)
        snprintf(list + used, sizeof list - used, "\n  and %zu more", matches->count - shown);
    char asked[128];
    name_copy(asked, sizeof asked, text, strlen(text));
    return error_set(error, ERROR_AMBIGUOUS, "`%s` is at %s%zu places:%s", asked,
                     matches->has_more ? "more than " : "", matches->count, list);
}

/* --- locations ----------------------------------------------------------------------------------------- */

enum { SHOWN = 128 };

enum found { FOUND_NOTHING, FOUND_ONE, FOUND_TROUBLE };

/* All of `text` as a decimal number, or hexadecimal after 0x; no sign, no blanks. */
static bool parse_number(const char *text, uint64_t *value)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *end = is_hex ? numbers_read(text + 2, 16, value, 1) : numbers_read(text, 10, value, 1);
    return end != NULL && *end == '\0';
}

static bool is_aligned(const struct location *location)
{
    uint64_t unit = location->isa == ISA_OTHER ? 1 : location->isa == ISA_THUMB ? 2 : 4;
    return location->address % unit == 0;
}

/* Refuses offsets out of the function or between two instructions. */
static enum found locate_in_symbol(struct symbols *symbols, const char *name, uint64_t address,
                                   uint64_t offset, struct location *out, struct error *error)
{
    struct extent extent = {0, 0};
    const struct symbol *symbol = table_around(symbols, address, &extent);
    uint64_t room = symbol != NULL ? extent.high - address : UINT64_MAX - address;
    if (offset >= room && offset > 0) {
        error_set(error, ERROR_SYMBOL, "`%s` is only %" PRIu64 " bytes long, +0x%" PRIx64 " is past its end",
                  name, room, offset);
        return FOUND_TROUBLE;
    }
    symbols_describe(symbols, address, out);
    out->address = address + offset;
    out->is_function_entry &= offset == 0;
    out->never_returns &= offset == 0;
    out->isa = table_isa(symbols, out->address);
    if (!is_aligned(out)) {
        error_set(error, ERROR_SYMBOL, "`%s+0x%" PRIx64 "` is at 0x%08" PRIx64 ", between two instructions",
                  name, offset, out->address);
        return FOUND_TROUBLE;
    }
    if (offset == 0) {
        snprintf(out->name, sizeof out->name, "%s", name);
    } else {
        snprintf(out->name, sizeof out->name, "%s+0x%" PRIx64, name, offset);
        lines_source(symbols, out->address, out->source, sizeof out->source);
    }
    return FOUND_ONE;
}

static enum found refuse_data(struct symbols *symbols, const struct qualified_name *name, struct error *error)
{
    const struct table *table = table_get(symbols);
    struct name_query request;
    name_query_init(&request, name->name, name->length);
    for (size_t i = 0; name->file_length == 0 && i < table->object_count; i++) {
        const struct symbol *object = &table->objects[i];
        if (name_compare(&request, object->name) != LIKE_SAME)
            continue;
        char shown[SHOWN];
        name_copy(shown, sizeof shown, name->name, name->length);
        if (table_is_object(symbols, object))
            error_set(error, ERROR_SYMBOL, "`%s` is data (%" PRIu64 " bytes at 0x%08" PRIx64 "), not code",
                      shown, object->size, object->address);
        else
            error_set(error, ERROR_SYMBOL, "`%s` is at 0x%08" PRIx64 ", outside the code", shown,
                      object->address);
        return FOUND_TROUBLE;
    }
    return FOUND_NOTHING;
}

/* The rest of the function is inlined: numbers of the part would be numbers of half a function. */
static enum found refuse_part(const char *text, const struct match *match, struct error *error)
{
    char part[SHOWN];
    name_plain(part, sizeof part, match->symbol->name);
    error_set(
        error, ERROR_SYMBOL,
        "`%s` is inlined where it is called; only its part %s is left, which can be measured by that name",
        text, part);
    return FOUND_TROUBLE;
}

/* Notes another name of the same code, whose calls are measured, too. Constructors have two of one meaning.
 */
static void note_aliases(struct symbols *symbols, const struct qualified_name *wanted,
                         const struct match *match, struct location *out)
{
    const struct table *table = table_get(symbols);
    const struct symbol *other = NULL;
    char name[NEAR_LENGTH + 16];
    struct name_query request;
    size_t n = 0;
    name_query_init(&request, wanted->name, wanted->length);
    for (size_t i = 0; i < table->function_count && table->functions[i].address <= match->address; i++) {
        const struct symbol *symbol = &table->functions[i];
        if (symbol->address != match->address || name_compare(&request, symbol->name) != UNLIKE)
            continue;
        other = n++ == 0 ? symbol : other;
    }
    if (n == 0)
        return;
    name_plain(name, sizeof name, other->name);
    if (match->symbol->bind == STB_WEAK && other->bind != STB_WEAK)
        snprintf(out->note, sizeof out->note, "an alias of %s, as the program does not define it", name);
    else
        snprintf(out->note, sizeof out->note, "the same code as %s%s: calls by either name are measured",
                 name, n > 1 ? " and others" : "");
}

/* Notes the copies and parts of the function whose calls are not measured. */
static void note_copies(struct symbols *symbols, const struct qualified_name *wanted,
                        const struct match *match, struct location *out)
{
    char names[sizeof out->note - 64];
    if (match->likeness == LIKE_COPY) {
        name_plain(names, sizeof names, match->symbol->name);
        snprintf(out->note, sizeof out->note, "measured as %s, the compiler's copy of it", names);
        return;
    }
    bool is_coroutine = name_copies(symbols, wanted, match->address, names, sizeof names);
    if (is_coroutine)
        snprintf(out->note, sizeof out->note, "begins a coroutine: what it does after a suspension is in %s",
                 names);
    else if (names[0] != '\0')
        snprintf(out->note, sizeof out->note, "without the calls of %s, made of it by the compiler", names);
}

static void note_overridden(struct symbols *symbols, uint64_t address, struct location *out)
{
    struct location other;
    symbols_describe(symbols, address, &other);
    snprintf(out->note, sizeof out->note, "not the weak one that it replaced, *0x%08" PRIx64 " (%.80s)",
             address, other.source);
}

static enum found locate_name(struct symbols *symbols, const char *text, const struct qualified_name *wanted,
                              uint64_t offset, struct location *out, struct error *error)
{
    struct matches matches;
    match_symbol(symbols, wanted, &matches);
    if (matches.count == 0)
        return refuse_data(symbols, wanted, error);
    if (matches.count > 1) {
        refuse_ambiguous(symbols, &matches, text, offset, error);
        return FOUND_TROUBLE;
    }
    const char *begin = wanted->file_length > 0 ? wanted->file : wanted->name;
    char name[LOCATION_NAME - 24];
    name_copy(name, sizeof name, begin, (size_t)(wanted->name + wanted->length - begin));
    if (matches.at[0].likeness == LIKE_PART)
        return refuse_part(name, &matches.at[0], error);
    enum found found = locate_in_symbol(symbols, name, matches.at[0].address, offset, out, error);
    if (found == FOUND_ONE)
        note_copies(symbols, wanted, &matches.at[0], out);
    if (found == FOUND_ONE && out->note[0] == '\0' && matches.overridden != 0)
        note_overridden(symbols, matches.overridden, out);
    if (found == FOUND_ONE && out->note[0] == '\0' && out->is_function_entry)
        note_aliases(symbols, wanted, &matches.at[0], out);
    return found;
}

/* Tries the whole name, then the name without "+0x10". *wanted is the name tried last. */
static enum found locate_symbol(struct symbols *symbols, const char *text, struct qualified_name *wanted,
                                struct location *out, struct error *error)
{
    uint64_t offset = 0;
    wanted->length = strlen(wanted->name);
    enum found found = locate_name(symbols, text, wanted, 0, out, error);
    const char *plus = strrchr(wanted->name, '+');
    if (found != FOUND_NOTHING || plus == NULL || plus == wanted->name || !parse_number(plus + 1, &offset))
        return found;
    wanted->length = (size_t)(plus - wanted->name);
    return locate_name(symbols, text, wanted, offset, out, error);
}

/* The colon of "file.c:function", which is outside brackets and not part of "::"; NULL: there is none. */
static const char *file_colon(const char *text)
{
    int depth = 0;
    for (const char *at = text; *at != '\0'; at++) {
        depth += strchr("(<[{", *at) != NULL ? 1 : strchr(")>]}", *at) != NULL ? -1 : 0;
        if (*at != ':')
            continue;
        if (at[1] == ':')
            at++;
        else if (at > text && depth == 0 && at[1] != '\0' && at[1] != '\\')
            return at;
    }
    return NULL;
}

static enum found locate_in_file(struct symbols *symbols, const char *text, struct location *out,
                                 struct error *error)
{
    const char *colon = file_colon(text);
    if (colon == NULL)
        return FOUND_NOTHING;
    struct qualified_name wanted = {.file = text, .file_length = (size_t)(colon - text), .name = colon + 1};
    enum found found = locate_symbol(symbols, text, &wanted, out, error);
    if (found == FOUND_NOTHING && inlined_refuse(symbols, &wanted, error))
        return FOUND_TROUBLE;
    return found;
}

/* Candidates are better advice than what a location is. A macro has none. */
static bool refuse_near(struct error *error, const char *candidates, const char *what, const char *name,
                        const struct symbols *symbols)
{
    return error_advise(error, ERROR_SYMBOL, candidates[0] != '\0' ? "" : NULL, "no %s `%s` in %s%s", what,
                        name, symbols->file, candidates);
}

static void refuse_line(struct symbols *symbols, const char *file, size_t length, uint64_t line,
                        const struct line_hits *hits, struct error *error)
{
    char name[SHOWN];
    name_copy(name, sizeof name, file, length);
    if (!lines_load(symbols)) {
        error_advise(error, ERROR_SYMBOL, symbols_lines_advice(symbols),
                     "%s has no DWARF line tables to look up `%s:%" PRIu64 "` in", symbols->file, name, line);
    } else if (!hits->knows_file) {
        struct near near;
        char guesses[NEAR_TEXT];
        char path[SHOWN];
        snprintf(path, sizeof path, "%s", name);
        near_init(&near, name_of_file(path), strlen(name_of_file(path)));
        line_search_near(symbols, &near);
        refuse_near(error, near_text(&near, guesses, sizeof guesses), "source file", name, symbols);
    } else if (hits->next != 0) {
        error_advise(error, ERROR_SYMBOL, "",
                     "no code for `%s:%" PRIu64 "`; the next line with code is %s:%" PRIu64, name, line, name,
                     hits->next);
    } else if (hits->last != 0) {
        error_advise(error, ERROR_SYMBOL, "",
                     "no code for `%s:%" PRIu64 "`; the last line with code is %s:%" PRIu64, name, line, name,
                     hits->last);
    } else {
        error_set(error, ERROR_SYMBOL, "no line of `%s` has code in %s", name, symbols->file);
    }
}

static enum found locate_line(struct symbols *symbols, const char *text, struct location *out,
                              struct error *error)
{
    const char *colon = strrchr(text, ':');
    uint64_t line = 0;
    if (colon == NULL || colon == text || colon[1] == '0' || !parse_number(colon + 1, &line))
        return FOUND_NOTHING;
    struct line_hits hits;
    line_search(symbols, text, (size_t)(colon - text), line, &hits);
    const char *base = name_of_file(text);
    char file[256];
    snprintf(file, sizeof file, "%.*s", (int)(colon - base), base);
    struct matches matches;
    match_line(symbols, &hits, file, line, &matches);
    if (matches.count == 0) {
        refuse_line(symbols, text, (size_t)(colon - text), line, &hits, error);
        return FOUND_TROUBLE;
    }
    if (matches.count > 1) {
        refuse_ambiguous(symbols, &matches, text, 0, error);
        return FOUND_TROUBLE;
    }
    symbols_describe(symbols, matches.at[0].address, out);
    /* rows of other lines may have the same address */
    name_copy(out->source, sizeof out->source, base, strlen(base));
    return FOUND_ONE;
}

enum function_name symbols_function_name(struct symbols *symbols, size_t i, char *out, size_t room)
{
    const struct table *table = table_get(symbols);
    if (i >= table->function_count)
        return FUNCTION_NONE;
    return name_plain(out, room, table->functions[i].name) ? FUNCTION_NAMED : FUNCTION_UNREAD;
}

/* Several names of one function follow each other. */
static bool has_other_names(const struct table *table, size_t i)
{
    const struct symbol *at = &table->functions[i];
    return (i > 0 && at[-1].address == at->address) ||
           (i + 1 < table->function_count && at[1].address == at->address);
}

bool symbols_function(struct symbols *symbols, size_t i, struct location *out)
{
    const struct table *table = table_get(symbols);
    struct error ignored = {0};
    char name[NAME_ROOM];
    if (i >= table->function_count)
        return false;
    const char *plain = table->functions[i].name;
    /* In a large program this is most of them, and to search all for each name takes long */
    if (!name_is_mangled(plain) && strchr(plain, '.') == NULL && strlen(plain) < sizeof out->name &&
        table_is_alone(symbols, plain)) {
        const struct match match = {.address = table->functions[i].address, .symbol = &table->functions[i]};
        const struct qualified_name its = {.name = plain, .length = strlen(plain)};
        symbols_describe(symbols, match.address, out);
        name_copy(out->name, sizeof out->name, plain, strlen(plain));
        if (has_other_names(table, i))
            note_aliases(symbols, &its, &match, out);
        return true;
    }
    const struct match match = {.address = table->functions[i].address, .symbol = &table->functions[i]};
    name_match(symbols, &match, name, sizeof name);
    if (name[0] == '\0' || strlen(name) >= sizeof out->name ||
        !symbols_locate(symbols, name, out, &ignored)) {
        symbols_describe(symbols, match.address, out);
        snprintf(name, sizeof name, "*0x%08" PRIx64, match.address);
    }
    name_copy(out->name, sizeof out->name, name, strlen(name));
    return true;
}

static void offer_symbols(struct symbols *symbols, struct near *near)
{
    const struct table *table = table_get(symbols);
    for (size_t i = 0; i < table->function_count; i++) {
        char plain[LOCATION_NAME];
        name_plain(plain, sizeof plain, table->functions[i].name);
        near_offer(near, plain);
    }
}

static bool refuse_stripped(struct symbols *symbols, const char *name, struct error *error)
{
    const char *separate = debug_file_name(symbols->elf);
    char file[NEAR_LENGTH] = "";
    if (separate != NULL)
        name_copy(file, sizeof file, separate, strlen(separate));
    return error_advise(error, ERROR_SYMBOL, "Name the ELF as it was before strip: --elf FILE.",
                        "no symbol `%s` in %s, nor any other: it is stripped%s%s%s", name, symbols->file,
                        separate != NULL ? ", and its separate file " : "", file,
                        separate != NULL ? " is neither next to it nor in .debug or /usr/lib/debug" : "");
}

/* What has another meaning, or is written otherwise here. False: it is none of these. */
static bool refuse_other_form(const struct symbols *symbols, const char *text, const char *name,
                              struct error *error)
{
    static const char *const sources[] = {".c", ".cc", ".cpp", ".cxx", ".s", ".S", ".rs"};
    static const char *const units[] = {"s", "ms", "us", "ns", "min", "h", "sec", "Hz", "kHz", "MHz", "%"};
    const char *dot = strrchr(text, '.');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(text, units[i]) == 0)
            return !error_advise(error, ERROR_SYMBOL, "A unit follows its number without a blank: --for 2s.",
                                 "no symbol `%s` in %s", name, symbols->file);
    if (strncmp(text, "0x", 2) == 0 && text[2 + strspn(text + 2, "0123456789abcdefABCDEF")] == '\0')
        return !error_advise(error, ERROR_SYMBOL, "", "no symbol `%s` in %s; an address is *%s", name,
                             symbols->file, name);
    if (strpbrk(text, "*?[") != NULL)
        return !error_advise(error, ERROR_SYMBOL, "survey takes patterns of names: survey 'work_*'.",
                             "no symbol `%s` in %s", name, symbols->file);
    for (size_t i = 0; dot != NULL && i < sizeof sources / sizeof *sources; i++)
        if (strcmp(dot, sources[i]) == 0)
            return !error_advise(error, ERROR_SYMBOL, "", "%s is a file: name a line, %s:42, or %s:function",
                                 name, name, name);
    return false;
}

/* After "file.c:" the function may be misspelt, or in another file. */
static bool refuse_name(struct symbols *symbols, const char *text, struct error *error)
{
    char name[SHOWN];
    name_copy(name, sizeof name, text, strlen(text));
    const struct table *table = table_get(symbols);
    if (table->no_memory)
        return error_memory(error);
    if (table->function_count + table->label_count == 0)
        return refuse_stripped(symbols, name, error);
    const char *colon = file_colon(text), *function = colon != NULL ? colon + 1 : text;
    if (refuse_other_form(symbols, text, name, error))
        return false;
    struct qualified_name wanted = {.name = function, .length = strlen(function)};
    struct matches in_others = {.count = 0};
    if (colon != NULL)
        match_symbol(symbols, &wanted, &in_others);
    if (in_others.count > 0) {
        struct location location;
        symbols_describe(symbols, in_others.at[0].address, &location);
        return error_advise(error, ERROR_SYMBOL, "", "no symbol `%s` in %s: %s is in %s", name, symbols->file,
                            location.name, location.source[0] != '\0' ? location.source : "another file");
    }
    struct near near;
    char guesses[NEAR_TEXT];
    near_init(&near, function, strlen(function));
    offer_symbols(symbols, &near);
    (void)refuse_near(error, near_text(&near, guesses, sizeof guesses), "symbol", name, symbols);
    struct error split = {0};
    if (!symbols_is_split(symbols))
        return false;
    error_advise(&split, ERROR_SYMBOL, "Compile it without -gsplit-dwarf.",
                 "it may be inlined, which its split DWARF does not show here");
    return error_add(error, &split);
}

bool symbols_locate(struct symbols *symbols, const char *text, struct location *out, struct error *error)
{
    uint64_t address = 0;
    struct location location;
    if (text[0] == '*' && text[1] == '0' && (text[2] | 0x20) == 'x' && parse_number(text + 1, &address)) {
        symbols_describe(symbols, address, out);
        return true;
    }
    if (symbols == NULL) {
        char name[SHOWN];
        name_copy(name, sizeof name, text, strlen(text));
        return error_set(error, ERROR_ELF, "`%s` is a name, and no ELF file is here to find it in", name);
    }
    /* C++ names may contain '+' and ':', so a symbol is tried first */
    struct qualified_name wanted = {.name = text};
    enum found found = locate_symbol(symbols, text, &wanted, &location, error);
    if (found == FOUND_NOTHING)
        found = locate_line(symbols, text, &location, error);
    if (found == FOUND_NOTHING)
        found = locate_in_file(symbols, text, &location, error);
    if (found == FOUND_NOTHING && !inlined_refuse(symbols, &wanted, error))
        return refuse_name(symbols, text, error);
    if (found == FOUND_ONE)
        *out = location;
    return found == FOUND_ONE;
}
