/*
 * Where the core is when what is awaited does not occur: its place, the callers, and of an exception what
 * raised it. For the end of "not reached".
 */
#pragma once

#include "run/session.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Adds to ERROR_START and ERROR_END where the core is, unless that cannot be seen. Halts the core for it,
 * with no engine armed. False, with the error of the halt, if the core could not be let go.
 */
bool where_tell(struct session *session, struct error *error);
/* Halts the core for a moment: whether its code is the ELF's, at another place. See elf_find_moved. */
bool where_moved(struct session *session, uint64_t *by);
/* ", in exception 3 (HardFault): CFSR ..." of a core that may run, by reads alone; "" if it is in none.
 * `only_faults`: other exceptions are there for a moment. */
void where_describe_exception(struct session *session, const struct core *core, bool only_faults, char *out,
                              size_t size);
