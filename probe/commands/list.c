/* list: the events that a core can count: code, name and meaning. Needs no target with --cpu. */
#include "commands/command.h"
#include "commands/session.h"
#include "counters/events.h"
#include "report/fold.h"
#include "report/terminal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 42, LEFT = 128 };

/* In any case, anywhere in the text. */
static bool contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text != '\0'; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return length == 0;
}

static void print_set(FILE *out, const char *cpu, const struct event_set *set, const char *pattern)
{
    size_t shown = 0, columns = terminal_columns(out);
    int widest = 0;
    char left[LEFT];
    for (size_t i = 0; i < event_set_count(set); i++) {
        int width = (int)strlen(event_set_at(set, i)->name);
        widest = width > widest && width <= NAME ? width : widest;
    }
    for (size_t i = 0; i < event_set_count(set); i++) {
        const struct event *event = event_set_at(set, i);
        if (pattern != NULL && !contains(event->name, pattern) && !contains(event->words, pattern))
            continue;
        if (shown++ == 0)
            fprintf(out, "%s\n", cpu);
        snprintf(left, sizeof left, "  0x%04" PRIX32 "  %-*s  ", event->code, widest, event->name);
        fold_beside(out, columns, left, event->words);
    }
    if (shown > 0)
        fputc('\n', out);
}

static bool print_one(const struct context *context, const char *cpu, struct error *error)
{
    struct event_set *set = event_set_open(cpu, error);
    if (set == NULL)
        return false;
    print_set(context->out, cpu, set,
              context->options->n_operands > 0 ? context->options->operands[0] : NULL);
    event_set_free(set);
    return true;
}

/* The events of the blocks of the core that is there. */
static bool print_target(const struct context *context, struct error *error)
{
    struct session session = {.context = context};
    bool ok = session_open_target(&session, error);
    bool any = false;
    for (size_t i = 0; ok && i < target_counted(&session.target)->n_blocks; i++) {
        const struct counter_block *block = &target_counted(&session.target)->blocks[i];
        if (block->unusable[0] != '\0')
            continue;
        any = true;
        if (block->events != NULL)
            ok = print_one(context, block->events, error);
        else
            fprintf(context->out, "%s\n          %s\n\n", block->kind->name, block->counters[0].name);
    }
    if (ok && !any)
        ok = error_set(error, ERROR_NO_COUNTER, "the core has no counter that can be used");
    struct error after = {0};
    if (!session_close(&session, &after))
        ok = error_add(error, &after);
    return ok;
}

int command_list(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    bool ok =
        options->format == FORMAT_TEXT || error_set(error, ERROR_USAGE, "list has no other output than text");
    ok = ok && (options->n_operands <= 1 || error_set(error, ERROR_USAGE, "list takes one pattern"));
    ok =
        ok && (options->cpu != NULL ? print_one(context, options->cpu, error) : print_target(context, error));
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
