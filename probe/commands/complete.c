/* Completion: what can take the place of the word at the cursor. No target is connected for this. */
#include "commands/command.h"
#include "commands/options.h"
#include "counters/events.h"
#include "counters/metric.h"
#include "run/board_files.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct completion {
    FILE *out;
    const struct options *options;
    const char *word; /* up to the cursor */
    size_t kept;      /* how much of it stays: "--elf=", "A,B," */
};

/* Ignores case, as the commands do with names of events. */
static void complete_offer(const struct completion *self, const char *name, const char *help)
{
    const char *begun = self->word + self->kept;
    if (strncasecmp(name, begun, strlen(begun)) == 0)
        fprintf(self->out, "%.*s%s\t%s\n", (int)self->kept, self->word, name, help);
}

/* Not a format that the command does not print. */
static bool complete_is_taken(const struct completion *self, const struct option *option, const char *value)
{
    size_t command = command_typed(self->options);
    enum format format;
    return option->kind != OPTION_FORMAT || command == COMMANDS || !value_format(value, &format) ||
           (commands[command].formats >> format & 1) != 0;
}

/* `words` have blanks between them; `option` is NULL if they are not its values. */
static void offer_words(const struct completion *self, const char *words, const struct option *option)
{
    char name[32];
    for (size_t length; *words != '\0'; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, words);
        if (option == NULL || complete_is_taken(self, option, name))
            complete_offer(self, name, "");
    }
}

static void offer_commands(const struct completion *self, bool for_help)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].does != NULL)
            complete_offer(self, commands[i].name, commands[i].does);
    if (for_help)
        return;
    complete_offer(self, "help", "the options of a command");
    complete_offer(self, "version", "the version");
}

static void offer_options(const struct completion *self)
{
    size_t command = command_typed(self->options);
    for (size_t i = 0; i < option_count; i++) {
        char name[32];
        const struct option *option = &option_table[i];
        snprintf(name, sizeof name, "--%s", option->name);
        if (option->offset == offsetof(struct options, help_all) && !self->options->help)
            continue;
        if (command == COMMANDS || (option->commands >> command & 1) != 0)
            complete_offer(self, name, option->help);
    }
}

static void offer_functions(const struct completion *self)
{
    char name[LOCATION_NAME];
    struct error ignored = {0};
    struct symbols *symbols =
        self->options->request.elf != NULL
            ? symbols_open_moved(self->options->request.elf, self->options->request.load_offset, &ignored)
            : NULL;
    for (size_t i = 0; symbols != NULL && symbols_function_name(symbols, i, name, sizeof name); i++)
        complete_offer(self, name, "");
    symbols_close(symbols);
}

static void offer_cpus(const struct completion *self)
{
    char name[LIST_NAME];
    for (size_t i = 0; list_cpu(i, name); i++)
        complete_offer(self, name, "");
}

static void offer_events_of(const struct completion *self, const char *cpu)
{
    const char *sets[LIST_SETS];
    size_t n = list_sets(cpu, sets);
    for (size_t k = 0; k < n; k++) {
        struct error ignored = {0};
        struct event_set *set = event_set_open(sets[k], &ignored);
        for (size_t i = 0; set != NULL && i < event_set_count(set); i++)
            complete_offer(self, event_set_at(set, i)->name, event_set_at(set, i)->words);
        event_set_free(set);
    }
}

/* Events of --cpu, else of all cores. Shells drop duplicates. */
static void offer_events(const struct completion *self)
{
    char name[LIST_NAME];
    if (self->options->cpu != NULL)
        offer_events_of(self, self->options->cpu);
    for (size_t i = 0; self->options->cpu == NULL && list_cpu(i, name); i++)
        offer_events_of(self, name);
}

static void offer_metrics(const struct completion *self)
{
    struct error ignored = {0};
    struct metric_set *set = metric_set_open(NULL, &ignored);
    for (size_t i = 0; set != NULL && i < metric_set_count(set); i++)
        complete_offer(self, metric_set_at(set, i)->name, metric_set_at(set, i)->text);
    metric_set_free(set);
}

/* Completes after the last , or { of a list. */
static void keep_begun_list(struct completion *self)
{
    for (const char *at = self->word + self->kept; *at != '\0'; at++)
        if (*at == ',' || *at == '{')
            self->kept = (size_t)(at + 1 - self->word);
}

static void offer_board(void *self, const char *name)
{
    complete_offer(self, name, "");
}

static void offer_boards(struct completion *self)
{
    struct board_files boards;
    board_files_find(&boards);
    board_files_each(&boards, offer_board, self);
}

static void offer_values(struct completion *self, const struct option *option)
{
    if (option->kind == OPTION_EVENT || option->kind == OPTION_METRIC)
        keep_begun_list(self);
    if (option->kind == OPTION_EVENT)
        offer_events(self);
    else if (option->kind == OPTION_METRIC)
        offer_metrics(self);
    else if (option->offset == offsetof(struct options, cpu))
        offer_cpus(self);
    else if (option->kind == OPTION_OPENOCD && option->letter == 'f') {
        offer_boards(self);
        fputs(":files\n", self->out);
    } else if (strcmp(option->value, "FILE") == 0 || strcmp(option->value, "PATH") == 0 ||
               strcmp(option->value, "OLD") == 0)
        fputs(":files\n", self->out);
    else if (strcmp(option->value, "DIR") == 0)
        fputs(":folders\n", self->out);
    else if (option->values != NULL)
        offer_words(self, option->values, option);
}

static void offer_operands(const struct completion *self)
{
    size_t command = command_typed(self->options), n = self->options->n_operands;
    if (command < COMMANDS && n >= commands[command].most)
        return;
    if (command == COMMAND_STUB && n == 0)
        offer_words(self, "enable disable status", NULL);
    else if (command == COMMAND_DELTA || command == COMMAND_SURVEY || command == COMMAND_LINES ||
             command == COMMAND_GUARD || command == COMMAND_DOCTOR || command == COMMAND_CALIBRATE ||
             command == COMMAND_STUB || command == COMMAND_LOCATE || (command == COMMAND_ANNOTATE && n == 0))
        offer_functions(self);
    else if (command == COMMAND_REPORT || command == COMMAND_ANNOTATE || command == COMMAND_HISTORY ||
             command == COMMAND_COMPARE || command == COMMAND_SHOW)
        fputs(":files\n", self->out);
    else if (command == COMMAND_LIST) {
        offer_events(self);
        offer_metrics(self);
    }
}

/* --NAME=VALUE: the value is to be completed. */
static bool is_attached(struct completion *self)
{
    size_t length = strcspn(self->word, "=");
    self->kept = strncmp(self->word, "--", 2) == 0 && self->word[length] == '=' ? length + 1 : 0;
    return self->kept > 0;
}

void complete_print(FILE *out, int argc, char **argv)
{
    char name[] = "pmu-probe", none[] = "";
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (words == NULL)
        return;
    words[0] = name;
    for (int i = 0; i + 1 < argc; i++)
        words[i + 1] = argv[i];
    struct options options;
    struct completion self = {.out = out, .options = &options, .word = argc > 0 ? argv[argc - 1] : none};
    const struct option *option = options_read_partly(&options, argc > 0 ? argc : 1, words);
    if (option == NULL && is_attached(&self))
        option = option_find(self.word + 2, self.kept - 3);
    bool for_help = options.request.command != NULL && strcmp(options.request.command, "help") == 0;
    if (option != NULL || self.kept > 0) {
        if (option != NULL && option->value != NULL)
            offer_values(&self, option);
    } else if (self.word[0] == '-') {
        offer_options(&self);
    } else if (options.request.command == NULL || (for_help && options.n_operands == 0)) {
        offer_commands(&self, for_help);
    } else {
        offer_operands(&self);
    }
    options_free(&options);
    free(words);
}
