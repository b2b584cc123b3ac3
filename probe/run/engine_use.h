/* SPDX-License-Identifier: MIT */
/*
 * One use of an engine: it is made, used, disarmed and freed. If what is awaited does not occur, the end of
 * "not reached" says where the core is: its place, the callers, and of an exception what raised it.
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

/* Arms the engine and runs it; the session's target is taken. */
typedef bool engine_use(void *context, struct engine *engine, const struct deadline *deadline,
                        struct error *error);
/* `why` is of the use. False with `after`, as session_end_engine has it. */
bool engine_use_quietly(struct session *session, engine_use *use, void *context, struct error *why,
                        struct error *after);
/* The same with one error, to which is added where the core is if it is not where it was awaited. */
bool engine_use_once(struct session *session, engine_use *use, void *context, struct error *error);
/* The same with an engine that the caller made, which is freed. */
bool engine_use_this(struct session *session, struct engine *engine, engine_use *use, void *context,
                     struct error *error);
