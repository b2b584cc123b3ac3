#include "symbols/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Keeps them by address */
static void place_add(struct places *places, const struct place *place)
{
    size_t i = 0;
    while (i < places->count && places->at[i].address < place->address)
        i++;
    if (i < places->count && places->at[i].address == place->address)
        return;
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

static void add_named(const struct symbol *symbols, size_t count, const char *name, size_t length,
                      struct places *places)
{
    for (size_t i = 0; i < count; i++)
        if ((i == 0 || symbols[i].address != symbols[i - 1].address ||
             strcmp(symbols[i].name, symbols[i - 1].name) != 0) &&
            name_is(symbols[i].name, name, length))
            place_add(places, &(struct place){.address = symbols[i].address});
}

void places_of_symbol(struct symbols *symbols, const char *name, size_t length, struct places *places)
{
    const struct table *table = table_get(symbols);
    *places = (struct places){.count = 0};
    add_named(table->functions, table->function_count, name, length, places);
    add_named(table->labels, table->label_count, name, length, places);
}

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

static void describe_place(struct symbols *symbols, const struct place *place, uint64_t offset, char *out,
                           size_t room)
{
    struct location location;
    symbols_describe(symbols, place->address, &location);
    const struct scope *scope = &place->scope;
    char name[NEAR_LENGTH];
    char owner[NEAR_LENGTH] = "";
    const char *shown = scope->name != NULL ? scope->name : location.name;
    name_copy(name, sizeof name, shown, strlen(shown));
    const char *words = "";
    if (scope->key == 0) {
        /* of several symbols of one name, the file tells them apart */
        struct extent extent;
        const struct symbol *symbol = table_around(symbols, place->address, &extent);
        const char *file = symbol != NULL && symbol->file != NULL ? symbol->file : "";
        if (location.source[0] != '\0')
            file = location.source;
        name_copy(owner, sizeof owner, file, strlen(file));
        words = owner[0] != '\0' ? ", " : "";
    } else if (scope->outer != NULL) {
        name_copy(owner, sizeof owner, scope->outer, strlen(scope->outer));
        words = ", inlined in ";
    }
    snprintf(out, room, "\n  *0x%08" PRIx64 "  %s%s%s", place->address + offset, name, words, owner);
}

bool places_refuse(struct symbols *symbols, const struct places *places, const char *text, uint64_t offset,
                   struct error *error)
{
    char list[800] = "";
    size_t room = sizeof list - sizeof "\n  and 18446744073709551615 more";
    size_t used = 0;
    size_t shown = 0;
    for (; shown < places->count; shown++) {
        char line[256];
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
