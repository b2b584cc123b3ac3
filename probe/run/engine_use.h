/*
 * One use of an engine: it is made, used, disarmed and freed, and an error says where the core is.
 */
#pragma once

#include "run/session.h"

/* Arms the engine and runs it; the session's target is taken. */
typedef bool engine_use(void *context, struct engine *engine, const struct deadline *deadline,
                        struct error *error);
bool engine_use_once(struct session *session, engine_use *use, void *context, struct error *error);
/* The same with an engine that the caller made, which is freed; NULL with `error` is passed on. */
bool engine_use_this(struct session *session, struct engine *engine, engine_use *use, void *context,
                     struct error *error);
