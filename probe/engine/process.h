/*
 * Processes: whose code is meant, where an operating system gives each program addresses of its own. The core
 * tells them apart by what the system writes into CONTEXTIDR.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

struct process {
    enum {
        PROCESS_NOT_SAID, /* code in user mode is refused: it may be anyone's */
        PROCESS_ANY,
        PROCESS_ID,
    } which;
    uint32_t id; /* CONTEXTIDR */
};

/* Whose code was measured is part of what was: added to what `note` says already. */
void process_note(const struct process *process, char *note, size_t size);
/* ERROR_USAGE where there is nothing to choose, or nothing to choose by. */
bool process_check(const struct process *process, const struct core *core, struct error *error);
/* Likewise, for a core that a debugger halts and lets run. */
bool process_check_debugged(const struct process *process, struct error *error);
