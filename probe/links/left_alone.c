#include "links/left_alone.h"

#include <stdio.h>

static uint64_t mask_of(const struct restore *restore)
{
    return restore->mask != 0 ? restore->mask : UINT64_MAX;
}

/* Bits that the run has written as 1. */
static uint64_t ones_of(const struct journal_entry *entry)
{
    uint64_t ones = 0;
    for (size_t i = 0; i < entry->n_wrote; i++)
        ones |= entry->wrote[i];
    return entry->wrote_others ? UINT64_MAX : ones;
}

/* Read-only bits and those that hardware changes differ from what was written: a register holds what the run
 * wrote if every bit that differs from before was written so. Where a bit is known to take what is written,
 * it must be as in one of the run's values. */
enum holds left_alone_holds(const struct journal_entry *entry, uint64_t now)
{
    const struct restore *restore = &entry->restore;
    uint64_t mask = mask_of(restore), exact = (restore->only_ours ? UINT64_MAX : restore->exact) & mask;
    uint64_t up = now & ~entry->old & mask, down = entry->old & ~now & mask, ones = 0, zeros = 0;
    uint64_t always = entry->old & mask & ~exact; /* bits that were never written as 0 */
    bool same = exact == 0;
    if (entry->status.size != 0)
        return entry->n_wrote > 0 && (now & entry->test) == entry->set ? HOLDS_OURS : HOLDS_OLD;
    if (restore->how == RESTORE_PAIR && restore->starts != 0)
        return (up & ~ones_of(entry)) != 0 ? HOLDS_OTHER : up != 0 ? HOLDS_OURS : HOLDS_OLD;
    if (up == 0 && down == 0)
        return HOLDS_OLD;
    for (size_t i = 0; i < entry->n_wrote; i++) {
        if (restore->only_ours && ((entry->wrote[i] ^ now) & mask) == 0)
            return HOLDS_OURS;
        same = same || ((entry->wrote[i] ^ now) & exact) == 0;
        ones |= entry->wrote[i];
        zeros |= ~entry->wrote[i];
    }
    /* A unit that is switched off reads as zero */
    if (entry->wrote_others || (now == 0 && (always & ~zeros) != 0))
        return HOLDS_OURS;
    if (restore->only_ours || entry->n_wrote == 0 || !same)
        return HOLDS_OTHER;
    return (up & ~ones) == 0 && (down & ~zeros) == 0 ? HOLDS_OURS : HOLDS_OTHER;
}

bool left_alone_expected(const struct journal_entry *entry, bool wrote, uint64_t last, struct step *out)
{
    const struct restore *restore = &entry->restore;
    uint64_t mask = mask_of(restore), all = UINT64_MAX >> (64 - 8 * entry->at.size);
    if (entry->status.size != 0 || restore->moves || (!wrote && !restore->only_ours))
        return false;
    if (restore->how == RESTORE_PLAIN)
        *out = step_expect(entry->at, mask & all, (wrote ? last : entry->old) & mask & all);
    else if (restore->how == RESTORE_PAIR && restore->starts != 0)
        *out =
            step_expect(entry->at, mask & all & ~ones_of(entry), entry->old & mask & all & ~ones_of(entry));
    else
        return false;
    return true;
}

void left_alone_add(struct left_alone *left, struct address at, enum left_why why, const char *name)
{
    for (size_t i = 0; i < left->n; i++)
        if (address_same(left->items[i].at, at))
            return;
    if (left->n == LEFT_ROOM)
        return;
    struct left_item *item = &left->items[left->n++];
    *item = (struct left_item){.at = at, .why = why};
    snprintf(item->name, sizeof item->name, "%s", name);
}

void left_alone_tell(const struct left_alone *left, enum left_why why, char *out, size_t size)
{
    size_t used = 0, n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < left->n; i++) {
        if (left->items[i].why != why)
            continue;
        int more = snprintf(out + used, size - used, "%s%s",
                            n++ > 0               ? ", "
                            : why == LEFT_WRITTEN ? "left alone: "
                                                  : "left on: ",
                            left->items[i].name);
        used += (size_t)more < size - used ? (size_t)more : size - used - 1;
    }
    if (n > 0 && why == LEFT_WRITTEN)
        snprintf(out + used, size - used, ", something else has written %s since", n == 1 ? "it" : "them");
    else if (n > 0)
        snprintf(out + used, size - used, ", the program may use %s by now", n == 1 ? "it" : "them");
}
