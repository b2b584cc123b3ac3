#include "commands/command.h"

void command_has_result(const struct context *context)
{
    if (context->result != NULL)
        *context->result = true;
}

bool command_is_plain(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    if (options->n_operands > 0)
        return error_set(error, ERROR_USAGE, "unexpected argument \"%.64s\"", options->operands[0]);
    return options->format == FORMAT_TEXT ||
           error_set(error, ERROR_USAGE, "%.32s has no other output than text", options->command);
}
