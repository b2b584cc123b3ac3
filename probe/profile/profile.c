/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include "base/values.h"

#include <stdlib.h>
#include <string.h>

/* --- what is kept --------------------------------------------------------------------------------------- */

unsigned profile_core_number(const struct profile_about *about, size_t core)
{
    return about->numbers != NULL && core < about->core_count ? about->numbers[core] : (unsigned)core;
}

size_t profile_core_find(const struct profile_about *about, unsigned number)
{
    size_t core = 0;
    while (core < about->core_count && profile_core_number(about, core) != number)
        core++;
    return core;
}

void profile_about_free(struct profile_about *about)
{
    for (size_t i = 0; i < about->core_count; i++)
        free(about->cores[i]);
    free(about->cores);
    free(about->numbers);
    free(about->date);
    free(about->probe);
    free(about->elf);
    free(about->build_id);
    free(about->source);
    free(about->event);
    free(about->errata);
    free(about->task);
    *about = (struct profile_about){0};
}

void profile_end_free(struct profile_end *end)
{
    free(end->why);
    free(end->error);
    *end = (struct profile_end){0};
}

void profile_interval_free(struct profile_interval *interval)
{
    free(interval->counts);
    call_stacks_free(&interval->stacks);
    *interval = (struct profile_interval){0};
}

static int profile_by_address(const void *a, const void *b)
{
    const struct profile_count *left = a, *right = b;
    return (left->address > right->address) - (left->address < right->address);
}

static void profile_add_count(void *first, const void *row)
{
    ((struct profile_count *)first)->samples += ((const struct profile_count *)row)->samples;
}

size_t profile_counts_join(struct profile_count *counts, size_t n)
{
    return sorted_join(counts, n, sizeof *counts, profile_by_address, profile_add_count);
}

uint64_t profile_interval_samples(const struct profile_interval *interval)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < interval->count_count; i++)
        samples += interval->counts[i].samples;
    for (size_t i = 0; i < PROFILE_STATES; i++)
        samples += interval->states[i];
    return samples;
}

double profile_interval_length(double elapsed)
{
    const double least = 0.005, most = 60;
    return elapsed / 100 < least ? least : elapsed / 100 > most ? most : elapsed / 100;
}

/* --- call stacks -----------------------------------------------------------------------------------------
 */

enum { STACKS_FIRST = 32 };

static const char *const end_names[] = {
    [UNWIND_NO_RULES] = "no_rules", [UNWIND_NO_VALUE] = "no_value", [UNWIND_NO_MEMORY] = "no_memory",
    [UNWIND_NO_CALL] = "no_call",   [UNWIND_NO_RISE] = "no_rise",   [UNWIND_SECURITY] = "security",
    [UNWIND_TOO_DEEP] = "too_deep"};

const char *call_stack_end_name(enum unwind_end end)
{
    return end_names[end];
}

bool call_stack_end_find(const char *name, enum unwind_end *out)
{
    for (size_t i = 0; i < sizeof end_names / sizeof *end_names; i++)
        if (end_names[i] != NULL && strcmp(end_names[i], name) == 0) {
            *out = (enum unwind_end)i;
            return true;
        }
    return false;
}

/* FNV-1a, by words. */
static uint64_t hash_of(const struct call_stack *stack)
{
    const uint64_t prime = UINT64_C(0x100000001B3);
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < stack->depth; i++)
        hash = (hash ^ stack->at[i]) * prime;
    hash = (hash ^ stack->sure) * prime;
    hash = (hash ^ stack->end) * prime;
    return hash ^ hash >> 32;
}

static bool are_same(const struct call_stack *one, const struct call_stack *other)
{
    return one->depth == other->depth && one->sure == other->sure && one->end == other->end &&
           memcmp(one->at, other->at, one->depth * sizeof *one->at) == 0;
}

/* The slot of this stack, or the free one where it belongs. There is always a free one. */
static size_t *find_stack_slot(const struct call_stacks *set, const struct call_stack *stack)
{
    size_t at = (size_t)hash_of(stack) & (set->slot_count - 1);
    while (set->slots[at] != SIZE_MAX && !are_same(&set->rows[set->slots[at]], stack))
        at = (at + 1) & (set->slot_count - 1);
    return &set->slots[at];
}

static bool make_stack_room(struct call_stacks *set)
{
    if (set->n < set->room)
        return true;
    size_t room = set->room == 0 ? STACKS_FIRST : 2 * set->room;
    struct call_stack *rows = realloc(set->rows, room * sizeof *rows);
    if (rows == NULL)
        return false;
    set->rows = rows;
    size_t *slots = malloc(2 * room * sizeof *slots);
    if (slots == NULL)
        return false;
    free(set->slots);
    set->slots = slots;
    set->slot_count = 2 * room;
    set->room = room;
    for (size_t i = 0; i < set->slot_count; i++)
        slots[i] = SIZE_MAX;
    for (size_t i = 0; i < set->n; i++)
        *find_stack_slot(set, &set->rows[i]) = i;
    return true;
}

bool call_stacks_add(struct call_stacks *set, const struct call_stack *stack)
{
    if (!make_stack_room(set))
        return false;
    size_t *slot = find_stack_slot(set, stack);
    if (*slot != SIZE_MAX) {
        set->rows[*slot].samples += stack->samples;
        return true;
    }
    struct call_stack *row = &set->rows[set->n];
    *row = *stack;
    row->at = calloc(stack->depth + 1, sizeof *row->at);
    if (row->at == NULL)
        return false;
    memcpy(row->at, stack->at, stack->depth * sizeof *row->at);
    set->frames += stack->depth;
    *slot = set->n++;
    return true;
}

bool call_stacks_add_found(struct call_stacks *set, const struct unwind_stack *stack)
{
    uint64_t at[UNWIND_FRAMES];
    struct call_stack row = {.samples = 1, .at = at, .depth = stack->count, .end = stack->end};
    for (size_t i = 0; i < stack->count; i++) {
        at[i] = unwind_place(&stack->at[i]);
        row.sure += !stack->at[i].is_guess;
    }
    return call_stacks_add(set, &row);
}

bool call_stacks_merge(struct call_stacks *to, const struct call_stacks *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!call_stacks_add(to, &from->rows[i]))
            return false;
    return true;
}

void call_stacks_free(struct call_stacks *set)
{
    for (size_t i = 0; i < set->n; i++)
        free(set->rows[i].at);
    free(set->rows);
    free(set->slots);
    *set = (struct call_stacks){0};
}

/* --- the tally ------------------------------------------------------------------------------------------ */

enum { ROOM_FIRST = 256 };

/* The slot of this address, or the free one where it belongs. There is always a free one. */
static struct profile_slot *profile_find_slot(const struct profile_tally *tally, uint64_t address)
{
    size_t at = (size_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (tally->room - 1);
    while (tally->slots[at].taken && tally->slots[at].count.address != address)
        at = (at + 1) & (tally->room - 1);
    return &tally->slots[at];
}

static bool profile_make_room(struct profile_tally *tally)
{
    if (tally->used < tally->room / 2)
        return true;
    struct profile_tally larger = {.room = tally->room != 0 ? 2 * tally->room : ROOM_FIRST};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < tally->room; i++)
        if (tally->slots[i].taken)
            *profile_find_slot(&larger, tally->slots[i].count.address) = tally->slots[i];
    free(tally->slots);
    tally->slots = larger.slots;
    tally->room = larger.room;
    return true;
}

bool profile_tally_add(struct profile_tally *tally, uint64_t address, uint64_t samples)
{
    if (samples == 0)
        return true;
    if (!profile_make_room(tally))
        return false;
    struct profile_slot *slot = profile_find_slot(tally, address);
    tally->used += !slot->taken;
    slot->taken = true;
    slot->count.address = address;
    slot->count.samples += samples;
    return true;
}

uint64_t profile_tally_count(const struct profile_tally *tally, uint64_t address)
{
    return tally->room != 0 ? profile_find_slot(tally, address)->count.samples : 0;
}

void profile_tally_move(struct profile_tally *tally, uint64_t address, uint64_t samples,
                        enum profile_state to)
{
    uint64_t there = profile_tally_count(tally, address);
    uint64_t moved = samples < there ? samples : there;
    if (moved == 0)
        return;
    profile_find_slot(tally, address)->count.samples -= moved;
    tally->now.states[to] += moved;
}

bool profile_tally_is_large(const struct profile_tally *tally)
{
    static const char
        count[] = "\"0x0123456789abcdef\": 18446744073709551615, ",
        frame[] = "\"0x0123456789abcdef\", ",
        stack[] = "{\"samples\": 18446744073709551615, \"at\": [], \"sure\": 64, \"cut\": \"no_memory\"}, ";
    const struct call_stacks *stacks = &tally->now.stacks;
    return tally->used * sizeof count + stacks->n * sizeof stack + stacks->frames * sizeof frame >=
           PROFILE_TALLY_BYTES;
}

bool profile_tally_is_empty(const struct profile_tally *tally)
{
    uint64_t states = 0;
    for (size_t i = 0; i < PROFILE_STATES; i++)
        states += tally->now.states[i];
    return tally->used == 0 && states == 0 && tally->now.resets == 0 && tally->now.events == 0;
}

bool profile_tally_close(struct profile_tally *tally, double to, struct profile_interval *out)
{
    struct profile_count *counts = malloc((tally->used + 1) * sizeof *counts);
    size_t n = 0;
    if (counts == NULL)
        return false;
    for (size_t i = 0; i < tally->room; i++) {
        if (tally->slots[i].taken && tally->slots[i].count.samples > 0)
            counts[n++] = tally->slots[i].count;
        tally->slots[i] = (struct profile_slot){0};
    }
    *out = tally->now;
    out->to = to;
    out->counts = counts;
    out->count_count = profile_counts_join(counts, n);
    tally->used = 0;
    tally->now = (struct profile_interval){.core = out->core, .from = to};
    return true;
}

void profile_tally_free(struct profile_tally *tally)
{
    free(tally->slots);
    call_stacks_free(&tally->now.stacks);
    *tally = (struct profile_tally){0};
}

/* --- the last seconds ----------------------------------------------------------------------------------- */

static void drop_old(struct rolling *rolling, double now)
{
    const double rounding = 1e-9;
    struct profile *profile = &rolling->profile;
    size_t kept = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        if (profile->intervals[i].to <= now - rolling->window + rounding)
            profile_interval_free(&profile->intervals[i]);
        else
            profile->intervals[kept++] = profile->intervals[i];
    profile->interval_count = kept;
}

bool rolling_add(struct rolling *rolling, struct profile_interval *interval)
{
    struct profile *profile = &rolling->profile;
    drop_old(rolling, interval->to);
    struct profile_interval *more =
        array_grow(profile->intervals, profile->interval_count + 1, &rolling->room, sizeof *more);
    if (more == NULL) {
        profile_interval_free(interval);
        return false;
    }
    profile->intervals = more;
    profile->intervals[profile->interval_count++] = *interval;
    *interval = (struct profile_interval){0};
    return true;
}

void rolling_clear(struct rolling *rolling)
{
    for (size_t i = 0; i < rolling->profile.interval_count; i++)
        profile_interval_free(&rolling->profile.intervals[i]);
    rolling->profile.interval_count = 0;
}

void rolling_free(struct rolling *rolling)
{
    rolling_clear(rolling);
    free(rolling->profile.intervals);
    *rolling = (struct rolling){0};
}
