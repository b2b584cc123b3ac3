/*
 * The doctor: why a core's counters cannot be read. It makes the tests that the architecture makes before it
 * lets an access through, in that order. Each test reads one register; a test that fails hides what the next
 * ones would show.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>

enum finding { FINDING_OK, FINDING_BAD, FINDING_UNKNOWN };

enum { DOCTOR_TESTS = 10 };

struct doctor_test {
    char name[24];    /* "OS lock" */
    char state[24];   /* "ok", "LOCKED" */
    char detail[120]; /* "EDPRSR.OSLK = 1" */
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
