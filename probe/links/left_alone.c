#include "links/left_alone.h"

/* Read-only bits and those that hardware changes differ from what was written: a register holds what the run
 * wrote if every bit that differs from before was written so. */
enum holds left_alone_holds(const struct journal_entry *entry, uint64_t now)
{
    const struct restore *restore = &entry->restore;
    uint64_t mask = restore->mask != 0 ? restore->mask : UINT64_MAX;
    uint64_t up = now & ~entry->old & mask, down = entry->old & ~now & mask, ones = 0, zeros = 0;
    if (entry->status.size != 0)
        return entry->n_wrote > 0 && (now & entry->test) == entry->set ? HOLDS_OURS : HOLDS_OLD;
    if (up == 0 && down == 0)
        return HOLDS_OLD;
    for (size_t i = 0; i < entry->n_wrote; i++) {
        if (restore->only_ours && ((entry->wrote[i] ^ now) & mask) == 0)
            return HOLDS_OURS;
        ones |= entry->wrote[i];
        zeros |= ~entry->wrote[i];
    }
    if (entry->wrote_others)
        return HOLDS_OURS;
    if (restore->only_ours || entry->n_wrote == 0)
        return HOLDS_OTHER;
    return (up & ~ones) == 0 && (down & ~zeros) == 0 ? HOLDS_OURS : HOLDS_OTHER;
}
