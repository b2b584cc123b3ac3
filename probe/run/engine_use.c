#include "run/engine_use.h"

#include "run/where.h"

/* Whether the use did its work is *ok. */
static bool use_one(struct session *session, struct engine *engine, engine_use *use, void *context, bool *ok,
                    struct error *why, struct error *after)
{
    struct deadline deadline = session_deadline(session);
    *ok = use(context, engine, &deadline, why);
    bool sound = session_end_engine(session, engine, why, after);
    engine->ops->free(engine);
    return sound;
}

bool engine_use_quietly(struct session *session, engine_use *use, void *context, struct error *why,
                        struct error *after)
{
    bool ok;
    struct engine *engine = session_engine(session, why);
    return engine == NULL || use_one(session, engine, use, context, &ok, why, after);
}

bool engine_use_this(struct session *session, struct engine *engine, engine_use *use, void *context,
                     struct error *error)
{
    struct error after = {0};
    bool ok;
    if (!use_one(session, engine, use, context, &ok, error, &after))
        ok = error_copy(error, &after);
    return where_tell(session, error) && ok;
}

bool engine_use_once(struct session *session, engine_use *use, void *context, struct error *error)
{
    struct engine *engine = session_engine(session, error);
    return engine != NULL && engine_use_this(session, engine, use, context, error);
}
