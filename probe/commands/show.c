/* `show`: an old result, from its JSON lines, in any format that its command has. No target is touched. */
#include "report/show.h"
#include "commands/command.h"
#include "commands/compare.h"
#include "report/terminal.h"

#include <stdlib.h>

static const char *const from_where = "show takes what a command wrote with -j -o FILE.jsonl.";

static bool show_show(const struct context *context, const struct document *document, const char *file,
                      struct error *error)
{
    const struct rendering to = command_rendering(context);
    const struct shown_result *result = show_find(document);
    if (document_line(document, "summary") == NULL && (result == NULL || result->needs_summary))
        return error_advise(error, ERROR_SYSTEM, from_where, "%.256s: no summary: that run was cut off",
                            file);
    if (result == NULL)
        return error_advise(error, ERROR_SYSTEM, from_where, "%.256s: not a result that can be shown", file);
    if (!show_has(result, to.format))
        return error_set(error, ERROR_USAGE, "--format: a result of %s does not have this format",
                         result->command);
    command_has_result(context);
    return result->write(&to, document) ||
           error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

/* What record wrote: report shows it. */
static bool is_profile(const char *text, size_t size)
{
    struct json_lines lines = {.text = text, .size = size};
    json_t *first = json_lines_next(&lines);
    bool is = line_is_of(first, "profile");
    json_decref(first);
    return is;
}

int command_show(const struct context *context, struct error *error)
{
    const char *path = context->options->operands[0];
    char name[UTF8_CLEAN_ROOM(256)];
    struct document document;
    struct error why = {0};
    size_t size = 0;
    bool ok = !verdicts_are_same_file(path, context->options->output) ||
              error_set(error, ERROR_USAGE, "-o names %.256s, which is to be shown", path);
    char *text = ok ? json_lines_file(path, context->around.cancel, &size, error) : NULL;
    ok = ok && text != NULL;
    if (ok && is_profile(text, size)) {
        free(text);
        return command_report(context, error);
    }
    if (ok && !document_parse(text, size, path, &document, &why)) {
        ok = error_advise(error, ERROR_SYSTEM, from_where, "%s", why.text);
    } else if (ok) {
        ok = show_show(context, &document, utf8_clean(name, sizeof name, path), error);
        document_free(&document);
    }
    free(text);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
