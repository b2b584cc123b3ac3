/* SPDX-License-Identifier: MIT */
/* list: the events of a core and the metrics made of them; probes: the links that can be reached. */
#include "commands/command.h"
#include "report/render.h"
#include "run/listing.h"
#include "run/plugged.h"

int command_list(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    struct session session = {
        .request = &options->request, .around = &context->around, .tolerates_left = true};
    struct document document = document_new();
    const char *pattern = options->n_operands > 0 ? options->operands[0] : NULL;
    bool ok = listing_put(&session, options->cpu, pattern, &document, error) &&
              command_facts(context, &document, error);
    int code = command_code(session_finish(&session, ok, error), error);
    document_free(&document);
    return code;
}

int command_probes(const struct context *context, struct error *error)
{
    struct document document = document_new();
    bool found = plugged_put(&context->options->request, &context->around, &document, error);
    return command_code(command_facts(context, &document, error) && found, error);
}
