/* SPDX-License-Identifier: MIT */
/*
 * The state folder of this user: $XDG_STATE_HOME/pmu-probe, else ~/.local/state/pmu-probe. It has what must
 * outlive a run (links/journal.h), and the locks by which one pmu-probe keeps others away from the probe or
 * server that it uses.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its path; it is made if it is missing. ERROR_SYSTEM if that is not possible. */
bool state_folder(char *out, size_t size, struct error *error);
/* "0123456789abcdef" for a text: part of a file name. */
enum { STATE_KEY = 17 };
void state_key(const char *text, char out[STATE_KEY]);

struct lock;

/*
 * Locks what `name` names, such as "cmsis-dap E6614103E7" or "openocd localhost:6666", until lock_free or the
 * end of the process. NULL: ERROR_IN_USE, and the error names the process that has it. Where there is no
 * state folder nothing is locked: *out is NULL then, too, and the result true.
 */
bool lock_take(const char *name, struct lock **out, struct error *error);
/* What the next one to take the lock finds, also after a crash; "" once that is settled. NULL is allowed. */
void lock_note(struct lock *lock, const char *text);
const char *
lock_left(const struct lock *lock); /* what the last one noted, and did not take back; "": nothing */
void lock_free(struct lock *lock);  /* NULL is allowed */
