/* SPDX-License-Identifier: MIT */
/* info: cores, counters and breakpoints, and who uses them already. Changes nothing. */
#include "commands/command.h"
#include "report/render.h"
#include "run/inventory.h"
#include "run/program.h"

int command_info(const struct context *context, struct error *error)
{
    struct session session = {
        .request = &context->options->request, .around = &context->around, .tolerates_left = true};
    struct document document = document_new();
    bool ok = program_open(&session, error) && program_open_target(&session, error);
    ok = inventory_put(&session, ok, &document, error);
    ok = command_facts(context, &document, error) && ok;
    return command_code(session_finish(&session, ok, error), error);
}
