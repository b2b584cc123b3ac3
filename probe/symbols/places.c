#include "symbols/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Keeps them by address; of two at one address, the one that is more like what was asked for */
static void place_add(struct places *places, const struct place *place)
{
    size_t i = 0;
    while (i < places->count && places->at[i].address < place->address)
        i++;
    if (i < places->count && places->at[i].address == place->address) {
        if (places->at[i].likeness < place->likeness)
            places->at[i] = *place;
        return;
    }
    if (places->count == LINE_HITS) {
        places->has_more = true;
        return;
    }
    memmove(&places->at[i + 1], &places->at[i], (places->count - i) * sizeof places->at[0]);
    places->at[i] = *place;
    places->count++;
}

static void place_remove(struct places *places, size_t i)
{
    places->count--;
    memmove(&places->at[i], &places->at[i + 1], (places->count - i) * sizeof places->at[0]);
}

/* ---- by name */

/* By the file that it is written in, that it is compiled from, or that the symbol table names */
static bool is_of_file(struct symbols *symbols, const struct symbol *symbol, const struct place_name *wanted)
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
                      const struct name_wish *wish, const struct place_name *wanted, struct places *places)
{
    for (size_t i = 0; i < count; i++) {
        enum likeness likeness = name_compare(wish, of[i].name);
        if (likeness != UNLIKE && is_of_file(symbols, &of[i], wanted))
            place_add(places,
                      &(struct place){.address = of[i].address, .symbol = &of[i], .likeness = likeness});
    }
}

static void find_named(struct symbols *symbols, const struct place_name *wanted, struct places *places)
{
    const struct table *table = table_get(symbols);
    struct name_wish wish;
    name_wish_init(&wish, wanted->name, wanted->length);
    *places = (struct places){.count = 0};
    add_named(symbols, table->functions, table->function_count, &wish, wanted, places);
    add_named(symbols, table->labels, table->label_count, &wish, wanted, places);
}

/* Whether the compiler made both of one function of the source. Where nothing tells, a part is taken for one
 * of the function that has its name, for it is never called without it. */
static bool is_made_of(struct symbols *symbols, const struct place *made, const struct place *function)
{
    const struct function_facts a = scopes_function(symbols, made->address);
    const struct function_facts b = scopes_function(symbols, function->address);
    if (a.file != NULL && b.file != NULL)
        return a.line == b.line && strcmp(a.file, b.file) == 0;
    if (made->symbol->file != NULL && function->symbol->file != NULL)
        return strcmp(made->symbol->file, function->symbol->file) == 0;
    return made->likeness == LIKE_PART;
}

static bool is_beside(struct symbols *symbols, const struct places *places, const struct place *made)
{
    for (size_t i = 0; i < places->count; i++)
        if (places->at[i].likeness > made->likeness && is_made_of(symbols, made, &places->at[i]))
            return true;
    return false;
}

static bool is_exactly(const char *symbol, const struct place_name *wanted)
{
    return strncmp(symbol, wanted->name, wanted->length) == 0 && symbol[wanted->length] == '\0';
}

/* Whoever writes a mangled name means that symbol, if it is there */
static void keep_exact(struct places *places, const struct place_name *wanted)
{
    bool exact = false;
    for (size_t i = 0; i < places->count; i++)
        exact |=
            name_is_mangled(places->at[i].symbol->name) && is_exactly(places->at[i].symbol->name, wanted);
    for (size_t i = places->count; exact && i-- > 0;)
        if (!is_exactly(places->at[i].symbol->name, wanted))
            place_remove(places, i);
}

void places_of_symbol(struct symbols *symbols, const struct place_name *wanted, struct places *places)
{
    find_named(symbols, wanted, places);
    keep_exact(places, wanted);
    for (size_t i = places->count; places->count > 1 && i-- > 0;)
        if (places->at[i].likeness < LIKE_SAME && is_beside(symbols, places, &places->at[i]))
            place_remove(places, i);
}

void places_beside(struct symbols *symbols, const struct place_name *wanted, uint64_t address, char *out,
                   size_t room)
{
    struct places places;
    size_t used = 0, self = 0;
    find_named(symbols, wanted, &places);
    out[0] = '\0';
    while (self < places.count && places.at[self].address != address)
        self++;
    for (size_t i = 0; i < places.count && self < places.count && used < room; i++) {
        const struct place *place = &places.at[i];
        char name[NEAR_LENGTH];
        /* what is cold is reached from the function itself */
        if (place->likeness >= places.at[self].likeness || strstr(place->symbol->name, ".cold") != NULL ||
            !is_made_of(symbols, place, &places.at[self]))
            continue;
        name_plain(name, sizeof name, place->symbol->name);
        int wrote = snprintf(out + used, room - used, "%s%s", used > 0 ? ", " : "", name);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

/* ---- by line */

/* The compiler moves what it thinks unlikely out of a function: no place where a line begins */
static bool is_cold(struct symbols *symbols, uint64_t address)
{
    struct extent extent;
    const struct symbol *symbol = table_around(symbols, address, &extent);
    return symbol != NULL && strstr(symbol->name, ".cold") != NULL;
}

/* Which of two places in one instance of a function is where the line begins */
static bool begins_before(struct symbols *symbols, const struct place *a, const struct place *b)
{
    if (a->is_statement != b->is_statement)
        return a->is_statement;
    bool a_cold = is_cold(symbols, a->address);
    return a_cold != is_cold(symbols, b->address) ? !a_cold : a->address < b->address;
}

static struct place place_of_hit(struct symbols *symbols, const struct line_hit *hit, const char *file,
                                 uint64_t line)
{
    struct place place = {
        .address = hit->address,
        .scope = scopes_find(symbols, hit->address, file, line),
        .is_statement = hit->is_statement,
    };
    struct extent extent;
    if (place.scope.key == 0 && table_around(symbols, hit->address, &extent) != NULL)
        place.scope.key = extent.low;
    /* stray instructions that the optimizer left in another function are no place of their own */
    place.has_code = !hit->is_empty && (hit->is_statement || place.scope.owns_line);
    return place;
}

void places_of_line(struct symbols *symbols, const struct line_hits *hits, const char *file, uint64_t line,
                    struct places *places)
{
    *places = (struct places){.has_more = hits->has_more};
    bool any_code = false;
    for (size_t i = 0; i < hits->count; i++) {
        struct place place = place_of_hit(symbols, &hits->at[i], file, line);
        any_code |= place.has_code;
        size_t same = 0;
        while (same < places->count &&
               (place.scope.key == 0 || places->at[same].scope.key != place.scope.key))
            same++;
        if (same < places->count) {
            bool has_code = place.has_code | places->at[same].has_code;
            if (!begins_before(symbols, &place, &places->at[same]))
                place = places->at[same];
            place.has_code = has_code;
            place_remove(places, same);
        }
        place_add(places, &place);
    }
    for (size_t i = places->count; any_code && i-- > 0;)
        if (!places->at[i].has_code)
            place_remove(places, i);
}

/* ---- telling them */

/* Copies `text` if it is a location by which the place, and no other, is found; at `colon` its file ends */
static bool take_name(struct symbols *symbols, const struct place *place, const char *text, const char *colon,
                      char *out, size_t room)
{
    struct places found;
    size_t length = strlen(text);
    struct place_name name = {.name = text, .length = length};
    if (colon != NULL)
        name = (struct place_name){.file = text,
                                   .file_length = (size_t)(colon - text),
                                   .name = colon + 1,
                                   .length = strlen(colon + 1)};
    places_of_symbol(symbols, &name, &found);
    if (length >= room || found.count != 1 || found.has_more || found.at[0].address != place->address)
        return false;
    memcpy(out, text, length + 1);
    return true;
}

/* The last `parts` parts of a path */
static const char *path_tail(const char *path, int parts)
{
    const char *at = path + strlen(path);
    for (; at > path; at--)
        if ((at[-1] == '/' || at[-1] == '\\') && --parts == 0)
            break;
    return at;
}

enum { PLAIN, SIGNATURE, SYMBOL, NAMES, NAME_ROOM = 512 };

/* As "file.c:function", with so many parts of the file's path, without and with parameters */
static bool take_in_file(struct symbols *symbols, const struct place *place, const char *file, int parts,
                         char names[NAMES][NAME_ROOM], char *out, size_t room)
{
    char text[2 * NAME_ROOM];
    for (int i = PLAIN; i <= SIGNATURE; i++) {
        const char *tail = path_tail(file, parts);
        int length = snprintf(text, sizeof text, "%.*s:%s", NAME_ROOM - 1, tail, names[i]);
        if (length > 0 &&
            take_name(symbols, place, text, text + (size_t)length - strlen(names[i]) - 1, out, room))
            return true;
    }
    return false;
}

/* The shortest location that names the place and no other, and that another build has too; "" if there is
 * none
 */
static void name_place(struct symbols *symbols, const struct place *place, char *out, size_t room)
{
    enum { FILES = 3 };
    char names[NAMES][NAME_ROOM];
    const struct function_facts facts = scopes_function(symbols, place->address);
    const char *files[FILES] = {facts.file, facts.unit, place->symbol->file};
    name_plain(names[PLAIN], NAME_ROOM, place->symbol->name);
    name_signature(names[SIGNATURE], NAME_ROOM, place->symbol->name);
    name_copy(names[SYMBOL], NAME_ROOM, place->symbol->name, strlen(place->symbol->name));
    out[0] = '\0';
    if (take_name(symbols, place, names[PLAIN], NULL, out, room) ||
        take_name(symbols, place, names[SIGNATURE], NULL, out, room))
        return;
    for (int parts = 1; parts <= 2; parts++)
        for (size_t i = 0; i < FILES; i++)
            if (files[i] != NULL && take_in_file(symbols, place, files[i], parts, names, out, room))
                return;
    (void)take_name(symbols, place, names[SYMBOL], NULL, out, room);
}

static void describe_place(struct symbols *symbols, const struct place *place, uint64_t offset, char *out,
                           size_t room)
{
    struct location location;
    symbols_describe(symbols, place->address, &location);
    const struct scope *scope = &place->scope;
    char name[200] = "", owner[NEAR_LENGTH] = "", address[24], plus[24] = "";
    snprintf(address, sizeof address, "*0x%08" PRIx64, place->address + offset);
    if (place->symbol != NULL) {
        name_place(symbols, place, name, sizeof name);
        if (offset > 0)
            snprintf(plus, sizeof plus, "+0x%" PRIx64, offset);
        if (name[0] == '\0') { /* nothing tells it apart but where it is */
            name_plain(owner, sizeof owner, place->symbol->name);
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

bool places_refuse(struct symbols *symbols, const struct places *places, const char *text, uint64_t offset,
                   struct error *error)
{
    char list[800] = "";
    size_t room = sizeof list - sizeof "\n  and 18446744073709551615 more";
    size_t used = 0;
    size_t shown = 0;
    for (; shown < places->count; shown++) {
        char line[512];
        describe_place(symbols, &places->at[shown], offset, line, sizeof line);
        if (used + strlen(line) >= room)
            break;
        memcpy(list + used, line, strlen(line) + 1);
        used += strlen(line);
    }
    if (shown < places->count)
        snprintf(list + used, sizeof list - used, "\n  and %zu more", places->count - shown);
    char asked[128];
    name_copy(asked, sizeof asked, text, strlen(text));
    return error_set(error, ERROR_AMBIGUOUS, "`%s` is at %s%zu places:%s", asked,
                     places->has_more ? "more than " : "", places->count, list);
}
