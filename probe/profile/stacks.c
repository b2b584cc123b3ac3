#include "profile/stacks.h"

#include "base/values.h"
#include "profile/shares.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 48 };
static const char cut_name[] = "[cut short]", guess_mark[] = " [guessed]";

struct making {
    const struct profile *profile;
    struct symbols *symbols;
    struct stacks *out;
    size_t addresses; /* places before those of states */
    struct location function;
    size_t function_room;
};

static int stacks_by_address(const void *a, const void *b)
{
    const struct stack_place *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    return one->is_guess - other->is_guess;
}

bool stacks_are_in(const struct profile *profile)
{
    for (size_t i = 0; i < profile->interval_count; i++)
        if (profile->intervals[i].stacks.n > 0)
            return true;
    return false;
}

/* Returns how many; `out` NULL: only that. */
static size_t stacks_put_places(const struct profile_interval *interval, struct stack_place *out)
{
    size_t n = 0;
    for (size_t i = 0; i < interval->count_count; i++, n++)
        if (out != NULL)
            out[n] = (struct stack_place){.state = PROFILE_STATES, .address = interval->counts[i].address};
    for (size_t i = 0; i < interval->stacks.n; i++) {
        const struct call_stack *stack = &interval->stacks.rows[i];
        for (size_t k = 0; k < stack->depth; k++, n++)
            if (out != NULL)
                out[n] = (struct stack_place){
                    .state = PROFILE_STATES, .address = stack->at[k], .is_guess = k >= stack->sure};
    }
    return n;
}

static bool stacks_gather_places(struct making *making)
{
    const struct profile *profile = making->profile;
    size_t n = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        n += stacks_put_places(&profile->intervals[i], NULL);
    struct stack_place *places = calloc(n + PROFILE_STATES + 1, sizeof *places);
    making->out->places = places;
    if (places == NULL)
        return false;
    n = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        n += stacks_put_places(&profile->intervals[i], places + n);
    size_t used = making->addresses = sorted_join(places, n, sizeof *places, stacks_by_address, NULL);
    for (int state = 0; state < PROFILE_STATES; state++)
        places[used++] = (struct stack_place){.state = (enum profile_state)state};
    if (stacks_are_in(profile))
        places[used++] = (struct stack_place){.state = PROFILE_STATES, .is_cut = true};
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
static bool stacks_add_function(struct making *making, const char *name, const char *source, uint64_t entry)
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
static bool stacks_find_function(const struct stacks *stacks, const char *name, uint64_t entry, size_t *at)
{
    for (*at = stacks->function_count; (*at)-- > 0;)
        if (stacks->functions[*at].entry == entry && strcmp(stacks->functions[*at].name, name) == 0)
            return true;
    return false;
}

static bool stacks_put_function(struct making *making, struct stack_place *place, const char *name,
                                const char *source, uint64_t entry)
{
    if (stacks_find_function(making->out, name, entry, &place->function))
        return true;
    place->function = making->out->function_count;
    return stacks_add_function(making, name, source, entry);
}

/* A place without a name is its own function. */
static bool name_by_address(struct making *making, struct stack_place *place)
{
    char name[NAME];
    snprintf(name, sizeof name, "0x%08" PRIx64 "%s", place->address, place->is_guess ? guess_mark : "");
    place->function = making->out->function_count;
    return stacks_add_function(making, name, "", place->address);
}

static bool stacks_name_place(struct making *making, struct stack_place *place)
{
    struct location at;
    char name[sizeof at.name + sizeof guess_mark];
    if (place->state != PROFILE_STATES || place->is_cut)
        return stacks_put_function(making, place, place->is_cut ? cut_name : shares_state_name(place->state),
                                   "", 0);
    if (making->symbols == NULL)
        return name_by_address(making, place);
    symbols_describe(making->symbols, place->address, &at);
    if (!cut_source(at.source, &place->file, &place->line))
        return false;
    const struct location *function = shares_function_of(making->symbols, place->address, &making->function);
    bool known = function->high > function->low;
    snprintf(name, sizeof name, "%s%s", known ? function->name : "[unknown]",
             place->is_guess ? guess_mark : "");
    return stacks_put_function(making, place, name, known ? function->source : "", known ? function->low : 0);
}

static bool name_places(struct making *making)
{
    for (size_t i = 0; i < making->out->place_count; i++)
        if (!stacks_name_place(making, &making->out->places[i]))
            return false;
    return true;
}

/* ---- rows */

/* The rows that merge into one: those of a core and a place. */
static int stacks_by_place(const void *a, const void *b)
{
    const struct stack *one = a, *other = b;
    if (one->core != other->core)
        return one->core < other->core ? -1 : 1;
    return (one->first > other->first) - (one->first < other->first);
}

static int stacks_by_time(const void *a, const void *b)
{
    const struct stack *one = a, *other = b;
    if (one->from < other->from || one->from > other->from)
        return one->from < other->from ? -1 : 1;
    return stacks_by_place(a, b);
}

static void stacks_add_row(struct stacks *out, const struct profile_interval *interval, size_t place,
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

static size_t find_place(const struct making *making, uint64_t address, bool is_guess)
{
    struct stack_place wanted = {.address = address, .is_guess = is_guess};
    const struct stack_place *places = making->out->places;
    const struct stack_place *place =
        bsearch(&wanted, places, making->addresses, sizeof wanted, stacks_by_address);
    return (size_t)(place - places);
}

static void add_stack(const struct making *making, const struct profile_interval *interval,
                      const struct call_stack *stack)
{
    struct stacks *out = making->out;
    size_t first = out->frame_count;
    for (size_t i = 0; i < stack->depth; i++)
        out->frames[out->frame_count++] = find_place(making, stack->at[i], i >= stack->sure);
    if (stack->end != UNWIND_OUTERMOST)
        out->frames[out->frame_count++] = out->place_count - 1;
    stacks_add_row(out, interval, first, stack->samples);
    out->rows[out->n - 1].depth = out->frame_count - first;
}

static void stacks_add_interval(const struct making *making, const struct profile_interval *interval)
{
    for (size_t i = 0; i < interval->stacks.n; i++)
        add_stack(making, interval, &interval->stacks.rows[i]);
    for (size_t i = 0; i < interval->count_count && interval->stacks.n == 0; i++)
        stacks_add_row(making->out, interval, find_place(making, interval->counts[i].address, false),
                       interval->counts[i].samples);
    for (size_t state = 0; state < PROFILE_STATES; state++)
        stacks_add_row(making->out, interval, making->addresses + state, interval->states[state]);
}

static void merge_row(void *first, const void *other)
{
    struct stack *to = first;
    const struct stack *row = other;
    to->samples += row->samples;
    to->from = row->from < to->from ? row->from : to->from;
    to->to = row->to > to->to ? row->to : to->to;
}

/* A stack of one frame is at the frame's own index; those of calls are after all of these. */
static bool stacks_make_room(const struct making *making, const struct profile_interval *intervals, size_t n)
{
    struct stacks *out = making->out;
    size_t rows = 0, frames = out->place_count;
    for (size_t i = 0; i < n; i++) {
        rows += intervals[i].count_count + intervals[i].stacks.n + PROFILE_STATES;
        for (size_t k = 0; k < intervals[i].stacks.n; k++)
            frames += intervals[i].stacks.rows[k].depth + 1;
    }
    out->rows = calloc(rows + 1, sizeof *out->rows);
    out->frames = calloc(frames, sizeof *out->frames);
    if (out->rows == NULL || out->frames == NULL)
        return false;
    for (; out->frame_count < out->place_count; out->frame_count++)
        out->frames[out->frame_count] = out->frame_count;
    return true;
}

static bool stacks_add_rows(const struct making *making, const struct profile_interval *intervals, size_t n)
{
    if (!stacks_make_room(making, intervals, n))
        return false;
    for (size_t i = 0; i < n; i++)
        stacks_add_interval(making, &intervals[i]);
    return true;
}

/* Borrows the counts. */
static bool stacks_join(struct profile_interval *to, const struct profile_interval *from)
{
    to->from = from->from < to->from ? from->from : to->from;
    to->to = from->to > to->to ? from->to : to->to;
    return call_stacks_merge(&to->stacks, &from->stacks);
}

/* The stacks of a core are gathered in one interval after all others, each once. */
static bool add_joined_rows(const struct making *making)
{
    const struct profile *profile = making->profile;
    size_t n = profile->interval_count, cores = profile->about.core_count;
    struct profile_interval *intervals = calloc(n + cores, sizeof *intervals);
    bool ok = intervals != NULL;
    for (size_t core = 0; core < cores && ok; core++)
        intervals[n + core] = (struct profile_interval){.core = (unsigned)core, .from = HUGE_VAL};
    for (size_t i = 0; i < n && ok; i++) {
        const struct profile_interval *from = &profile->intervals[i];
        intervals[i] = *from;
        intervals[i].stacks = (struct call_stacks){0};
        if (from->stacks.n == 0)
            continue;
        intervals[i].count_count = 0;
        ok = stacks_join(&intervals[n + from->core], from);
    }
    ok = ok && stacks_add_rows(making, intervals, n + cores);
    for (size_t core = 0; core < cores && intervals != NULL; core++)
        call_stacks_free(&intervals[n + core].stacks);
    free(intervals);
    return ok;
}

static bool stacks_make_rows(const struct making *making, bool in_time)
{
    struct stacks *out = making->out;
    if (in_time ? !stacks_add_rows(making, making->profile->intervals, making->profile->interval_count)
                : !add_joined_rows(making))
        return false;
    if (in_time)
        qsort(out->rows, out->n, sizeof *out->rows, stacks_by_time);
    else
        out->n = sorted_join(out->rows, out->n, sizeof *out->rows, stacks_by_place, merge_row);
    return true;
}

bool stacks_make(const struct profile *profile, struct symbols *symbols, bool in_time, struct stacks *out)
{
    struct making making = {.profile = profile, .symbols = symbols, .out = out};
    *out = (struct stacks){0};
    bool ok = stacks_gather_places(&making) && name_places(&making) && stacks_make_rows(&making, in_time);
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
