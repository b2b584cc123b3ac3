/* SPDX-License-Identifier: MIT */
/*
 * Restore: puts a target back whose run did not end, by the journal that it left (links/journal.h). The
 * journal is applied only to a target that it fits: the core that it names, whose registers hold what the run
 * wrote.
 */
#pragma once

#include "device/device.h"
#include "links/journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct left {
    size_t ours;   /* registers that hold what the run wrote */
    bool halted;   /* the core ran before, and is halted now */
    bool borrowed; /* values of the program are still in the journal alone */
};

bool left_any(const struct left *left);
/* Chooses the core that the journal names. ERROR_NO_CORE: there is another core, or none. */
bool restore_choose(struct device *device, const struct journal_head *head, struct error *error);
/* Whether the core was reset since the run: the program whose registers were in use is gone. To be asked
 * before anything else is done, because a read clears the answer. `halted`: also where the OS lock
 * hides that. */
bool restore_look_for_reset(struct device *device, const struct device_core *chosen, bool *reset,
                            bool *halted, const struct deadline *deadline, struct error *error);
/* Reads only: the core goes on. After restore_choose. If the core was reset since, the journal has no
 * borrowed registers from here on. */
bool restore_look(struct device *device, struct journal_file *file, struct left *out,
                  const struct deadline *deadline, struct error *error);

struct restored {
    size_t registers, code; /* put back */
    size_t unseen;          /* put back without a check of them before */
    bool gave_back;         /* registers of the program */
    bool gave_first;        /* that by which a server reads them: what it has read is not the program's */
    bool again;             /* the device must be opened anew, and restore_let_go called */
    bool let_go;            /* the core was halted, at `stood_at`, and runs now */
    uint64_t stood_at;
    bool halted_again; /* it stopped again, at `stands_at`, and is left so */
    uint64_t stands_at;
};

/* After restore_choose. False: something is left, and the journal must stay. device_undo must follow in any
 * case. */
bool restore_run(struct device *device, const struct journal_file *file, struct restored *out,
                 const struct deadline *deadline, struct error *error);
bool restore_let_go(struct device *device, const struct journal_file *file, struct restored *out,
                    const struct deadline *deadline, struct error *error);
