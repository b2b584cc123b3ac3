/*
 * One use of an engine: it is made, used, disarmed and freed.
 */
#pragma once

#include "run/session.h"

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
