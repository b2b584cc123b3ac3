#include "profile/profile.h"

#include "base/sorted.h"

#include <stdlib.h>

/* --- what is kept --------------------------------------------------------------------------------------- */

unsigned profile_core_number(const struct profile_about *about, size_t core)
{
    return about->numbers != NULL && core < about->core_count ? about->numbers[core] : (unsigned)core;
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

static int by_address(const void *a, const void *b)
{
    const struct profile_count *left = a, *right = b;
    return (left->address > right->address) - (left->address < right->address);
}

static void add_count(void *first, const void *row)
{
    ((struct profile_count *)first)->samples += ((const struct profile_count *)row)->samples;
}

size_t profile_counts_join(struct profile_count *counts, size_t n)
{
    return sorted_join(counts, n, sizeof *counts, by_address, add_count);
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
    const double least = 0.005;
    return elapsed / 100 > least ? elapsed / 100 : least;
}

/* --- the tally ------------------------------------------------------------------------------------------ */

enum { ROOM_FIRST = 256 };

/* The slot of this address, or the free one where it belongs. There is always a free one. */
static struct profile_slot *find_slot(const struct profile_tally *tally, uint64_t address)
{
    size_t at = (size_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (tally->room - 1);
    while (tally->slots[at].taken && tally->slots[at].count.address != address)
        at = (at + 1) & (tally->room - 1);
    return &tally->slots[at];
}

static bool make_room(struct profile_tally *tally)
{
    if (tally->used < tally->room / 2)
        return true;
    struct profile_tally larger = {.room = tally->room != 0 ? 2 * tally->room : ROOM_FIRST};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < tally->room; i++)
        if (tally->slots[i].taken)
            *find_slot(&larger, tally->slots[i].count.address) = tally->slots[i];
    free(tally->slots);
    tally->slots = larger.slots;
    tally->room = larger.room;
    return true;
}

bool profile_tally_add(struct profile_tally *tally, uint64_t address, uint64_t samples)
{
    if (samples == 0)
        return true;
    if (!make_room(tally))
        return false;
    struct profile_slot *slot = find_slot(tally, address);
    tally->used += !slot->taken;
    slot->taken = true;
    slot->count.address = address;
    slot->count.samples += samples;
    return true;
}

uint64_t profile_tally_count(const struct profile_tally *tally, uint64_t address)
{
    return tally->room != 0 ? find_slot(tally, address)->count.samples : 0;
}

void profile_tally_move(struct profile_tally *tally, uint64_t address, uint64_t samples,
                        enum profile_state to)
{
    uint64_t there = profile_tally_count(tally, address);
    uint64_t moved = samples < there ? samples : there;
    if (moved == 0)
        return;
    find_slot(tally, address)->count.samples -= moved;
    tally->now.states[to] += moved;
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
