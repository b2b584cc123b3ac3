/* SPDX-License-Identifier: MIT */
/* restore: puts back what a run that did not end has left, by its journal; --force: whatever is set. */
#include "base/values.h"
#include "commands/command.h"
#include "links/journal.h"
#include "run/restoring.h"

#include <stdio.h>
#include <string.h>

static bool names_link(const struct options *options)
{
    return options->request.probe != NULL || options->request.n_openocd > 0 ||
           options->request.counters != NULL || options->request.wires_said;
}

/* The options of a run, as it noted them. */
static void journal_take_words(const struct journal_head *head, struct request *request)
{
    for (size_t i = 0; i + 1 < head->n_words; i += 2) {
        const char *name = head->words[i], *value = head->words[i + 1];
        const struct option *option =
            strncmp(name, "--", 2) == 0 ? option_find(name + 2, strlen(name + 2)) : NULL;
        if (strcmp(name, "--probe") == 0)
            request->probe = value;
        else if (strcmp(name, "--counters") == 0)
            request->counters = value;
        else if (strcmp(name, "--transport") == 0)
            request->transport = value;
        else if (option != NULL && option->kind == OPTION_PLACE)
            (void)value_place(value, (struct place *)((char *)request + option->offset -
                                                      offsetof(struct options, request)));
        else if (request->n_openocd + 2 <= REQUEST_WORDS) {
            request->openocd[request->n_openocd++] = name;
            request->openocd[request->n_openocd++] = value;
        }
    }
}

static void restore_print(void *context, const char *label, const char *text)
{
    FILE *out = context;
    if (label == NULL)
        fprintf(out, "%s\n", text);
    else if (label[0] == '\0')
        fprintf(out, "  %s\n", text);
    else
        fprintf(out, "  %-11s %s\n", label, text);
}

int command_restore(const struct context *context, struct error *error)
{
    const struct restoring restoring = {.request = &context->options->request,
                                        .around = &context->around,
                                        .names_link = names_link(context->options),
                                        .take_words = journal_take_words,
                                        .say = restore_print,
                                        .context = context->out};
    bool ok =
        context->options->force ? restore_by_force(&restoring, error) : restore_by_journal(&restoring, error);
    return command_code(ok, error);
}
