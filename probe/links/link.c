#include "links/link.h"

#include <stdio.h>

struct outcome link_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error)
{
    if (n == 0)
        return (struct outcome){.why = DONE};
    return link->ops->execute(link, steps, n, results, deadline, error);
}

size_t link_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    return link->ops->views(link, out, room, error);
}

void link_describe(struct link *link, char *out, size_t size)
{
    link->ops->describe(link, out, size);
}

bool link_hold(struct link *link, bool hold, struct error *error)
{
    return link->ops->hold == NULL || link->ops->hold(link, hold, error);
}

bool link_faults_are_exact(const struct link *link)
{
    return link->ops->exact_faults;
}

bool link_comes_back(const struct link *link)
{
    return link->ops->comes_back;
}

bool link_has_server(const struct link *link)
{
    return link->ops->server_run != NULL;
}

bool link_server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                     struct error *error)
{
    return link->ops->server_run == NULL || link->ops->server_run(link, unit, run, deadline, error);
}

void link_close(struct link *link)
{
    if (link != NULL)
        link->ops->close(link);
}
