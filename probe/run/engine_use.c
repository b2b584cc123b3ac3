#include "run/engine_use.h"

#include "run/where.h"

bool engine_use_this(struct session *session, struct engine *engine, engine_use *use, void *context,
                     struct error *error)
{
    struct error after = {0};
    if (engine == NULL)
        return false;
    struct deadline deadline = session_deadline(session);
    bool ok = use(context, engine, &deadline, error);
    if (!session_end_engine(session, engine, error, &after))
        ok = error_copy(error, &after);
    ok = where_tell(session, error) && ok;
    engine->ops->free(engine);
    return ok;
}

bool engine_use_once(struct session *session, engine_use *use, void *context, struct error *error)
{
    return engine_use_this(session, session_engine(session, error), use, context, error);
}
