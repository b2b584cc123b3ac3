#include "symbols/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int address_order(const struct place *place, uint64_t address)
{
    return place->address < address ? -1 : place->address > address;
}

/* Keeps them by address */
static void place_add(struct places *places, uint64_t address, struct scope scope)
{
    size_t i = 0;
    while (i < places->count && address_order(&places->at[i], address) < 0)
        i++;
    if (i < places->count && places->at[i].address == address)
        return;
    if (places->count == LINE_HITS) {
        places->has_more = true;
        return;
    }
    memmove(&places->at[i + 1], &places->at[i], (places->count - i) * sizeof places->at[0]);
    places->at[i] = (struct place){address, scope};
    places->count++;
}

static void add_named(const struct symbol *symbols, size_t count, const char *name, size_t length,
                      struct places *places)
{
    for (size_t i = 0; i < count; i++)
        if ((i == 0 || symbols[i].address != symbols[i - 1].address ||
             strcmp(symbols[i].name, symbols[i - 1].name) != 0) &&
            name_is(symbols[i].name, name, length))
            place_add(places, symbols[i].address, (struct scope){.key = 0});
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

static bool is_before(struct symbols *symbols, uint64_t a, uint64_t b)
{
    bool a_cold = is_cold(symbols, a);
    return a_cold != is_cold(symbols, b) ? !a_cold : a < b;
}

static struct scope scope_of(struct symbols *symbols, uint64_t address)
{
    struct scope scope = scopes_find(symbols, address);
    struct extent extent;
    if (scope.key == 0 && table_around(symbols, address, &extent) != NULL)
        scope.key = extent.low;
    return scope;
}

void places_of_line(struct symbols *symbols, const struct line_hits *hits, struct places *places)
{
    *places = (struct places){.has_more = hits->has_more};
    bool all_empty = true;
    for (size_t i = 0; i < hits->count; i++)
        all_empty &= hits->at[i].is_empty;
    for (size_t i = 0; i < hits->count; i++) {
        if (hits->at[i].is_empty && !all_empty)
            continue;
        uint64_t address = hits->at[i].address;
        struct scope scope = scope_of(symbols, address);
        size_t same = 0;
        while (same < places->count && (scope.key == 0 || places->at[same].scope.key != scope.key))
            same++;
        if (same == places->count) {
            place_add(places, address, scope);
        } else if (is_before(symbols, address, places->at[same].address)) {
            places->count--;
            memmove(&places->at[same], &places->at[same + 1], (places->count - same) * sizeof places->at[0]);
            place_add(places, address, scope);
        }
    }
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
