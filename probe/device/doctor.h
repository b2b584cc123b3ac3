/* SPDX-License-Identifier: MIT */
/*
 * The doctor: why a core's counters cannot be read. It makes the tests that the architecture makes before it
 * lets an access through, in that order. Each test reads one register; a test that fails hides what the next
 * ones would show. And snapshots: the registers that a measurement may change, as they are at one moment;
 * two of them show what it left changed. The list is made from what cores and counter blocks ask for, and
 * from what the ledger holds while a measurement runs: so a register that the ledger forgets is found all
 * the same.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "counters/counter.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum finding { FINDING_OK, FINDING_BAD, FINDING_UNKNOWN };

enum { DOCTOR_TESTS = 10 };

struct doctor_test {
    char name[24];    /* "OS lock" */
    char state[24];   /* "ok", "LOCKED" */
    char detail[180]; /* "EDPRSR.OSLK = 1" */
    enum finding finding;
};

struct diagnosis {
    struct doctor_test tests[DOCTOR_TESTS];
    size_t n;
    bool healthy;
    char reason[160], advice[240]; /* of the first test that failed */
    bool mendable;
    struct setting mend;
};

/* Changes nothing but the sticky bits that reading EDPRSR or DBGPRSR clears. False when the link fails. */
bool doctor_examine(struct device *device, const struct device_core *core, struct diagnosis *out,
                    const struct deadline *deadline, struct error *error);

/* Why a core whose state is CORE_HIDDEN hides its debug registers: "powered, running; OS lock set, as after a
 * reset: ...". Changes nothing but the sticky bits that reading EDPRSR or DBGPRSR clears. */
void hidden_describe(struct device *device, const struct device_core *core, char *out, size_t size,
                     const struct deadline *deadline);

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
