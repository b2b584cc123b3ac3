#include "profile/stacks.h"

#include "profile/shares.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 32 };

struct making {
    const struct profile *profile;
    struct symbols *symbols;
    struct stacks *out;
    size_t addresses; /* places before those of states */
    struct location function;
    size_t function_room;
};

static int by_address(const void *a, const void *b)
{
    const struct stack_place *one = a, *other = b;
    return (one->address > other->address) - (one->address < other->address);
}

static bool gather_places(struct making *making)
{
    const struct profile *profile = making->profile;
    size_t n = 0, used = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        n += profile->intervals[i].count_count;
    struct stack_place *places = calloc(n + PROFILE_STATES, sizeof *places);
    making->out->places = places;
    if (places == NULL)
        return false;
    n = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        for (size_t k = 0; k < profile->intervals[i].count_count; k++)
            places[n++] = (struct stack_place){.state = PROFILE_STATES,
                                               .address = profile->intervals[i].counts[k].address};
    qsort(places, n, sizeof *places, by_address);
    for (size_t i = 0; i < n; i++)
        if (used == 0 || places[used - 1].address != places[i].address)
            places[used++] = places[i];
    making->addresses = used;
    for (int state = 0; state < PROFILE_STATES; state++)
        places[used++] = (struct stack_place){.state = (enum profile_state)state};
    making->out->place_count = used;
    return true;
}

/* "fir.c:42" to its parts. False: out of memory. */
static bool cut_source(const char *source, char **file, unsigned *line)
{
    const char *colon = strrchr(source, ':');
    unsigned long number = colon != NULL ? strtoul(colon + 1, NULL, 10) : 0;
    *line = number <= UINT_MAX ? (unsigned)number : 0;
    *file = NULL;
    if (source[0] == '\0')
        return true;
    *file = strndup(source, colon != NULL ? (size_t)(colon - source) : strlen(source));
    return *file != NULL;
}

/* False: out of memory. */
static bool add_function(struct making *making, const char *name, const char *source, uint64_t entry)
{
    struct stacks *out = making->out;
    if (out->function_count == making->function_room) {
        size_t room = making->function_room == 0 ? 64 : making->function_room * 2;
        struct stack_function *more = realloc(out->functions, room * sizeof *more);
        if (more == NULL)
            return false;
        out->functions = more;
        making->function_room = room;
    }
    struct stack_function *function = &out->functions[out->function_count++];
    *function = (struct stack_function){.entry = entry, .name = strdup(name)};
    return cut_source(source, &function->file, &function->line) && function->name != NULL;
}

/* The last one of this name and entry, which is mostly the last of all. */
static bool find_function(const struct stacks *stacks, const char *name, uint64_t entry, size_t *at)
{
    for (*at = stacks->function_count; (*at)-- > 0;)
        if (stacks->functions[*at].entry == entry && strcmp(stacks->functions[*at].name, name) == 0)
            return true;
    return false;
}

static bool put_function(struct making *making, struct stack_place *place, const char *name,
                         const char *source, uint64_t entry)
{
    if (find_function(making->out, name, entry, &place->function))
        return true;
    place->function = making->out->function_count;
    return add_function(making, name, source, entry);
}

/* A place without a name is its own function. */
static bool name_by_address(struct making *making, struct stack_place *place)
{
    char name[NAME];
    snprintf(name, sizeof name, "0x%08" PRIx64, place->address);
    place->function = making->out->function_count;
    return add_function(making, name, "", place->address);
}

static bool name_place(struct making *making, struct stack_place *place)
{
    struct location at;
    if (place->state != PROFILE_STATES)
        return put_function(making, place, shares_state_name(place->state), "", 0);
    if (making->symbols == NULL)
        return name_by_address(making, place);
    symbols_describe(making->symbols, place->address, &at);
    if (!cut_source(at.source, &place->file, &place->line))
        return false;
    const struct location *function = shares_function_of(making->symbols, place->address, &making->function);
    bool known = function->high > function->low;
    return put_function(making, place, known ? function->name : "[unknown]", known ? function->source : "",
                        known ? function->low : 0);
}

static bool name_places(struct making *making)
{
    for (size_t i = 0; i < making->out->place_count; i++)
        if (!name_place(making, &making->out->places[i]))
            return false;
    return true;
}

/* ---- rows */

/* The rows that merge into one: those of a core and a place. */
static int by_place(const void *a, const void *b)
{
    const struct stack *one = a, *other = b;
    if (one->core != other->core)
        return one->core < other->core ? -1 : 1;
    return (one->first > other->first) - (one->first < other->first);
}

static int by_time(const void *a, const void *b)
{
    const struct stack *one = a, *other = b;
    if (one->from < other->from || one->from > other->from)
        return one->from < other->from ? -1 : 1;
    return by_place(a, b);
}

static void add_row(struct stacks *out, const struct profile_interval *interval, size_t place,
                    uint64_t samples)
{
    if (samples > 0)
        out->rows[out->n++] = (struct stack){.core = interval->core,
                                             .from = interval->from,
                                             .to = interval->to,
                                             .first = place,
                                             .depth = 1,
                                             .samples = samples};
}

static void add_interval(const struct making *making, const struct profile_interval *interval)
{
    struct stacks *out = making->out;
    for (size_t i = 0; i < interval->count_count; i++) {
        struct stack_place wanted = {.address = interval->counts[i].address};
        const struct stack_place *place =
            bsearch(&wanted, out->places, making->addresses, sizeof wanted, by_address);
        add_row(out, interval, (size_t)(place - out->places), interval->counts[i].samples);
    }
    for (size_t state = 0; state < PROFILE_STATES; state++)
        add_row(out, interval, making->addresses + state, interval->states[state]);
}

static void merge_rows(struct stacks *out)
{
    size_t used = 0;
    for (size_t i = 0; i < out->n; i++) {
        struct stack *row = &out->rows[i], *last = used > 0 ? &out->rows[used - 1] : NULL;
        if (last == NULL || by_place(last, row) != 0) {
            out->rows[used++] = *row;
            continue;
        }
        last->samples += row->samples;
        last->from = row->from < last->from ? row->from : last->from;
        last->to = row->to > last->to ? row->to : last->to;
    }
    out->n = used;
}

/* A stack of one frame is at the frame's own index. */
static bool make_rows(const struct making *making, bool in_time)
{
    struct stacks *out = making->out;
    size_t room = 0;
    for (size_t i = 0; i < making->profile->interval_count; i++)
        room += making->profile->intervals[i].count_count + PROFILE_STATES;
    out->rows = calloc(room + 1, sizeof *out->rows);
    out->frames = calloc(out->place_count, sizeof *out->frames);
    if (out->rows == NULL || out->frames == NULL)
        return false;
    for (; out->frame_count < out->place_count; out->frame_count++)
        out->frames[out->frame_count] = out->frame_count;
    for (size_t i = 0; i < making->profile->interval_count; i++)
        add_interval(making, &making->profile->intervals[i]);
    qsort(out->rows, out->n, sizeof *out->rows, in_time ? by_time : by_place);
    if (!in_time)
        merge_rows(out);
    return true;
}

bool stacks_make(const struct profile *profile, struct symbols *symbols, bool in_time, struct stacks *out)
{
    struct making making = {.profile = profile, .symbols = symbols, .out = out};
    *out = (struct stacks){0};
    bool ok = gather_places(&making) && name_places(&making) && make_rows(&making, in_time);
    if (!ok)
        stacks_free(out);
    return ok;
}

void stacks_free(struct stacks *stacks)
{
    for (size_t i = 0; i < stacks->function_count; i++) {
        free(stacks->functions[i].name);
        free(stacks->functions[i].file);
    }
    for (size_t i = 0; i < stacks->place_count; i++)
        free(stacks->places[i].file);
    free(stacks->functions);
    free(stacks->places);
    free(stacks->frames);
    free(stacks->rows);
    *stacks = (struct stacks){0};
}
