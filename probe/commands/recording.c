/* --wire and -p replay: a run whose link is recorded, or is a recording. */
#include "commands/command.h"
#include "report/json.h"
#include "wire/wire.h"

#include <string.h>
#include <unistd.h>

/* What a command takes from elsewhere than its link, so that no file of a link gives the same output again.
 */
static const struct {
    enum command_id command;
    bool only_live; /* its live screen alone */
    bool unforced;  /* not with --force */
    const char *why;
} unrepeatable[] = {
    {COMMAND_PROBES, false, false, "it searches for what is plugged in here"},
    {COMMAND_RESTORE, false, true, "it puts back what a journal of this machine says"},
    {COMMAND_SERVE, false, false, "it answers another program"},
    {COMMAND_CALIBRATE, false, false, "it answers GDB"},
    {COMMAND_WATCH, true, false,
     "a live screen follows keys and the size of its window: write to a pipe (| cat)"},
    {COMMAND_TOP, true, false,
     "a live screen follows keys and the size of its window: write to a pipe (| cat)"},
};

static bool check_repeatable(const struct options *options, struct error *error)
{
    for (size_t i = 0; i < sizeof unrepeatable / sizeof *unrepeatable; i++) {
        const char *name = commands[unrepeatable[i].command].name;
        bool live = options->output == NULL && isatty(STDOUT_FILENO);
        if (strcmp(options->request.command, name) == 0 && (!unrepeatable[i].only_live || live) &&
            !(unrepeatable[i].unforced && options->force))
            return error_advise(error, ERROR_USAGE, "", "%s cannot be replayed: %s", name,
                                unrepeatable[i].why);
    }
    return options->wire == NULL ||
           error_advise(error, ERROR_USAGE, "", "--wire records a link, and -p replay has none");
}

bool recording_begin(struct context *context, struct error *error)
{
    const struct options *options = context->options;
    const char *replayed = wire_spec(options->request.probe);
    const struct wire_run run = {.version = PMU_PROBE_VERSION,
                                 .n = options->typed.n,
                                 .words = options->typed.words,
                                 .elf = options->request.elf,
                                 .cancel = context->around.cancel,
                                 .ending = context->around.ending};
    if (replayed == NULL && options->wire == NULL)
        return true;
    if (replayed != NULL && !check_repeatable(options, error))
        return false;
    context->around.wire =
        replayed != NULL ? wire_replay(replayed, &run, error) : wire_record(options->wire, &run, error);
    return context->around.wire != NULL;
}

int recording_end(const struct context *context, int code, struct error *error)
{
    if (context->around.wire == NULL || wire_end(context->around.wire, code, error))
        return code;
    if (wire_replays(context->around.wire)) /* what was printed is of no run */
        *context->keep = KEEP_NOTHING;
    return error_exit_code(error->kind);
}
