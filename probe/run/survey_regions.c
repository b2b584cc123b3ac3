#include "run/survey_regions.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t FUNCTIONS_MOST = 200000;

static bool has_it(const struct survey_regions *regions, uint64_t start)
{
    for (size_t i = regions->n; i-- > 0;)
        if (regions->at[i].named.region.start == start)
            return true;
    return false;
}

static struct survey_region *survey_regions_add(struct survey_regions *regions, struct error *error)
{
    if (regions->n == regions->room) {
        size_t room = regions->room > 0 ? 2 * regions->room : 64;
        struct survey_region *more =
            room <= FUNCTIONS_MOST ? realloc(regions->at, room * sizeof *more) : NULL;
        if (more == NULL) {
            error_set(error, ERROR_SYSTEM, "out of memory");
            return NULL;
        }
        regions->at = more;
        regions->room = room;
    }
    struct survey_region *region = &regions->at[regions->n++];
    *region = (struct survey_region){.seen = false};
    return region;
}

/* A function that delta would refuse is kept, with the reason. */
static bool survey_regions_add_function(struct survey_regions *regions, struct symbols *symbols,
                                        const struct location *location, const struct process *process,
                                        struct error *error)
{
    struct error why = {0};
    if (has_it(regions, location->address))
        return true;
    struct survey_region *one = survey_regions_add(regions, error);
    if (one == NULL)
        return false;
    one->named.start = *location;
    region_of_function(&one->named, process);
    one->refused = !region_look_into(&one->named, symbols, &why);
    snprintf(one->why, sizeof one->why, "%.500s", why.text);
    return true;
}

/* Code that the compiler moved out of a function is jumped to, not called. */
static bool is_part(const char *name)
{
    return strstr(name, ".cold") != NULL;
}

static bool choose_matching(struct survey_regions *regions, struct symbols *symbols, const char *pattern,
                            const struct process *process, struct error *error)
{
    char name[LOCATION_NAME];
    size_t matches = 0;
    for (size_t i = 0; symbols_function_name(symbols, i, name, sizeof name); i++) {
        struct location location;
        if (is_part(name) || fnmatch(pattern, name, 0) != 0)
            continue;
        matches++;
        if (symbols_function(symbols, i, &location) && location.is_function_entry &&
            !survey_regions_add_function(regions, symbols, &location, process, error))
            return false;
    }
    return matches > 0 || error_set(error, ERROR_SYMBOL, "no function matches \"%.128s\"", pattern);
}

bool survey_regions_choose(struct survey_regions *regions, struct symbols *symbols, const char *pattern,
                           const struct process *process, struct error *error)
{
    struct location location;
    if (symbols == NULL)
        return error_set(error, ERROR_ELF,
                         "functions are found by name, and there is no ELF file to find "
                         "them in");
    if (pattern[0] != '*' || strncmp(pattern, "*0x", 3) != 0)
        if (strpbrk(pattern, "*?[") != NULL)
            return choose_matching(regions, symbols, pattern, process, error);
    if (!symbols_locate(symbols, pattern, &location, error))
        return false;
    if (!location.is_function_entry)
        return error_set(error, ERROR_USAGE, "%.128s is not the entry of a function", pattern);
    return survey_regions_add_function(regions, symbols, &location, process, error);
}

bool survey_regions_choose_at(struct survey_regions *regions, struct symbols *symbols, uint64_t address,
                              const struct process *process, struct error *error)
{
    struct location around, entry;
    symbols_describe(symbols, address, &around);
    if (around.high == 0)
        return true;
    symbols_describe(symbols, around.low, &entry);
    return !entry.is_function_entry || survey_regions_add_function(regions, symbols, &entry, process, error);
}

bool survey_regions_choose_lines(struct survey_regions *regions, struct symbols *symbols,
                                 const struct region_file *file, const struct process *process,
                                 struct error *error)
{
    for (size_t i = 0; i < file->n; i++) {
        const struct region_line *line = &file->lines[i];
        struct survey_region *one = survey_regions_add(regions, error);
        struct error why = {0};
        if (one == NULL)
            return false;
        one->line = line;
        if (!region_locate(&one->named, symbols, line->start, line->end[0] != '\0' ? line->end : NULL,
                           process, error))
            return error_prefix(error, "%s:%u: ", file->file, line->line);
        one->refused = !region_look_into(&one->named, symbols, &why);
        snprintf(one->why, sizeof one->why, "%.500s", why.text);
    }
    return true;
}

const char *survey_regions_name(const struct survey_region *region)
{
    return region->line != NULL ? region->line->name : region->named.start.name;
}

void survey_regions_free(struct survey_regions *regions)
{
    for (size_t i = 0; i < regions->n; i++) {
        struct survey_region *region = &regions->at[i];
        if (region->summary != NULL)
            summary_free(region->summary);
        free(region->summary);
    }
    free(regions->at);
    *regions = (struct survey_regions){.n = 0};
}
