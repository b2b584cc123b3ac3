#include "measure/slow_hits.h"

#include <string.h>

void slow_hits_begin(struct slow_hits *slow, size_t wanted)
{
    *slow = (struct slow_hits){.wanted = wanted < SLOW_HITS_MOST ? wanted : SLOW_HITS_MOST};
}

size_t slow_hits_reserve(struct slow_hits *slow)
{
    for (size_t slot = 0; slot < SLOW_HIT_SLOTS; slot++)
        if (!slow->is_used[slot]) {
            slow->is_used[slot] = true;
            slow->is_read[slot] = false;
            return slot;
        }
    return SLOW_HIT_NONE;
}

void slow_hits_release(struct slow_hits *slow, size_t slot)
{
    if (slot < SLOW_HIT_SLOTS)
        slow->is_used[slot] = false;
}

static bool is_slower(const struct value *one, const struct value *other)
{
    if (one->count != other->count)
        return one->count > other->count;
    return one->at_least && !other->at_least;
}

size_t slow_hits_take(struct slow_hits *slow, const struct hit_result *hit, size_t column,
                      const uint64_t *words, size_t slot)
{
    const struct value *value = &hit->values[column];
    size_t place = slow->n;
    while (place > 0 && is_slower(value, &slow->at[place - 1].hit.values[column]))
        place--;
    if (place == slow->wanted) {
        slow_hits_release(slow, slot);
        return SLOW_HIT_NONE;
    }
    if (slow->n == slow->wanted)
        slow_hits_release(slow, slow->at[--slow->n].slot);
    memmove(&slow->at[place + 1], &slow->at[place], (slow->n - place) * sizeof slow->at[0]);
    slow->n++;
    struct slow_hit *kept = &slow->at[place];
    *kept = (struct slow_hit){.hit = *hit, .slot = slot};
    if (slot == SLOW_HIT_NONE)
        kept->slot = slow_hits_reserve(slow);
    kept->hit.words = NULL; /* it moves: a printer uses kept->words */
    if (words != NULL)
        memcpy(kept->words, words, sizeof kept->words);
    return kept->slot;
}
