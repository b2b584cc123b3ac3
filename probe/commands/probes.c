/* probes: what can be reached from here. */
#include "commands/command.h"
#include "commands/session.h"
#include "report/utf8.h"

#include <stdio.h>

static const char *state_word(enum view_state state)
{
    static const char *const words[] = {[VIEW_UNKNOWN] = "unknown",
                                        [VIEW_RUNNING] = "running",
                                        [VIEW_HALTED] = "halted",
                                        [VIEW_RESET] = "in reset"};
    return words[state];
}

int command_probes(const struct context *context, struct error *error)
{
    enum { VIEWS = 64 };
    struct link_view views[VIEWS];
    char text[128], name[UTF8_CLEAN_ROOM(64)], type[UTF8_CLEAN_ROOM(32)];
    if (!command_is_plain(context, error))
        return error_exit_code(error->kind);
    struct link *link = session_connect(context, error);
    if (link == NULL)
        return error_exit_code(error->kind);
    link_describe(link, text, sizeof text);
    fprintf(context->out, "%s\n", text);
    size_t n = link_views(link, views, VIEWS, error);
    if (n == 0 && error->kind == ERROR_NONE)
        fprintf(context->out, "  no targets\n");
    for (size_t i = 0; i < n; i++)
        fprintf(context->out, "  %-24s %-12s %s\n", utf8_clean(name, sizeof name, views[i].name),
                utf8_clean(type, sizeof type, views[i].type),
                views[i].is_core ? state_word(views[i].state) : "");
    link_close(link);
    return error->kind == ERROR_NONE ? EXIT_DONE : error_exit_code(error->kind);
}
