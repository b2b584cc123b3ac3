/*
 * Snapshots: the registers that a measurement may change, as they are at one moment; two of them show what it
 * left changed. The list is made from what cores and counter blocks ask for, and from what the ledger holds
 * while a measurement runs: so a register that the ledger forgets is found all the same.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "counters/counter.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SNAPSHOT_ROOM = 512 };

struct snapshot_item {
    struct address at;
    uint64_t value;
    bool known;
    bool indirect;     /* shown by another register, or by nothing: not compared */
    uint64_t promised; /* the bits that are restored */
    const char *moves; /* why the others change by themselves */
};

struct snapshot {
    struct snapshot_item items[SNAPSHOT_ROOM];
    size_t n;
    bool cut; /* there are more */
};

/* Lists the registers of the chosen core and of `block`, which may be NULL. */
void snapshot_list(struct snapshot *snapshot, const struct device *device, const struct counter_block *block);
/* Reads those that are in memory and unknown; a register that refuses stays unknown. */
bool snapshot_read(struct snapshot *snapshot, struct ledger *ledger, const struct deadline *deadline,
                   struct error *error);
/* Adds what the ledger holds, with the values that it found. */
void snapshot_add_held(struct snapshot *snapshot, const struct ledger *ledger);
/* The same registers, with no values. */
void snapshot_copy_list(struct snapshot *out, const struct snapshot *from);
bool snapshot_is_complete(const struct snapshot *snapshot);

enum snapshot_finding { SNAPSHOT_SAME, SNAPSHOT_MOVED, SNAPSHOT_LEFT, SNAPSHOT_UNKNOWN };
/* Item `i` of two snapshots with the same list. */
enum snapshot_finding snapshot_compare(const struct snapshot *before, const struct snapshot *after, size_t i);
