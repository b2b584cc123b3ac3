/* SPDX-License-Identifier: MIT */
/* Help and the manual page: both are made of the tables of commands and options. */
#include "base/values.h"
#include "commands/command.h"
#include "counters/events.h"
#include "counters/metric.h"
#include "report/json.h"
#include "report/terminal.h"
#include "run/connect.h"
#include "run/listing.h"
#include "symbols/symbols.h"
#include "version.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char tool[] = "pmu-probe";
static const char usage[] = "usage: pmu-probe [OPTIONS] COMMAND [ARGUMENTS]\n";
static const char purpose[] = "measures code on Arm targets from the outside, through a debug probe";

static const char about_options[] =
    "Options are on either side of the command, or one per line (elf = build/app.elf) in a pmu-probe.conf of "
    "the current folder or ~/.config/pmu-probe. $PMU_PROBE stands for --probe.";

static const char overview_examples[] =
    "probes                           # what can be reached from here\n--elf app.elf delta my_function  "
    "# what a function costs\nstat --for 2s -M CPI             # counts while the core runs\n";

static const struct {
    int code;
    const char *means;
} exit_codes[] = {
    {EXIT_DONE, "done"},
    {EXIT_REGRESSED, "slower, or over a budget"},
    {2, "wrong usage"},
    {3, "could not measure"},
    {EXIT_INCONCLUSIVE, "inconclusive"},
    {EXIT_NOT_COMPARABLE, "not comparable, no number, a wrong clock, or doctor found a problem"},
    {EXIT_INTERRUPTED, "ended by Ctrl-C or SIGTERM"}};

enum { N_EXIT_CODES = sizeof exit_codes / sizeof *exit_codes };

static bool help_takes(size_t command, const struct option *option)
{
    return (option->commands >> command & 1) != 0;
}

/* Each line is what follows the tool's name. */
static void print_examples(FILE *out, const char *lines)
{
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        fprintf(out, "  %s %.*s\n", tool, (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

void help_usage(FILE *out)
{
    fprintf(out, "%s\n", usage);
    print_examples(out, overview_examples);
    fputs("\npmu-probe --help lists all commands; pmu-probe help COMMAND, its options.\n", out);
}

static void print_commands(FILE *out)
{
    enum { COLUMN = 34 };
    static const char *const titles[COMMAND_GROUPS] = {[COMMANDS_MEASURE] = "measure",
                                                       [COMMANDS_PROFILE] = "profile, compare",
                                                       [COMMANDS_TARGET] = "target"};
    for (int group = 0; group < COMMAND_GROUPS; group++) {
        fprintf(out, "\n%s\n", titles[group]);
        for (size_t i = 0; i < COMMANDS; i++) {
            if (commands[i].does == NULL || (int)commands[i].group != group)
                continue;
            fprintf(out, "  %-10s %-*s", commands[i].name, COLUMN - 13, or_empty(commands[i].operands));
            fold_text_at(out, TERMINAL_COLUMNS, COLUMN, COLUMN, commands[i].does);
        }
    }
}

static void print_exit_codes(FILE *out)
{
    char text[128];
    struct fold fold = {.out = out, .columns = TERMINAL_COLUMNS};
    fold_put(&fold, "Exit codes:", 0);
    for (size_t i = 0; i < N_EXIT_CODES; i++) {
        snprintf(text, sizeof text, "%d %s%s", exit_codes[i].code, exit_codes[i].means,
                 i + 1 < N_EXIT_CODES ? ";" : ".");
        fold_put(&fold, text, 1);
    }
    fold_end(&fold);
}

static const char *option_brief(const struct option *option)
{
    return option->brief != NULL ? option->brief : option->help;
}

void help_print(FILE *out, bool all)
{
    fprintf(out, "%s %s.\n%s", tool, purpose, usage);
    print_commands(out);
    fputs(all ? "\noptions\n" : "\ncommon options\n", out);
    for (size_t i = 0; i < option_count; i++)
        if (all || option_table[i].is_common)
            option_print(out, &option_table[i], all ? option_table[i].help : option_brief(&option_table[i]));
    if (!all) {
        fputs("\npmu-probe help COMMAND: its examples and options; --help --all: everything\n", out);
        return;
    }
    fputc('\n', out);
    fold_text(out, TERMINAL_COLUMNS, 0, ERROR_LOCATIONS);
    fputc('\n', out);
    fold_text(out, TERMINAL_COLUMNS, 0, about_options);
    fputs("\nexamples\n", out);
    print_examples(out, overview_examples);
    fputc('\n', out);
    print_exit_codes(out);
}

/* The commands of "stat, watch and top: all cores", *text is after the colon then; 0: it begins otherwise. */
static unsigned take_commands(const char **text)
{
    static const char *const between[] = {", ", " and "};
    unsigned bits = 0;
    for (const char *at = *text;;) {
        size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz"), id = 0, more = 0;
        while (id < COMMANDS && (strlen(commands[id].name) != n || strncmp(commands[id].name, at, n) != 0))
            id++;
        if (id == COMMANDS)
            return 0;
        bits |= 1U << id;
        at += n;
        if (strncmp(at, ": ", 2) == 0) {
            *text = at + 2;
            return bits;
        }
        for (size_t i = 0; i < sizeof between / sizeof *between; i++)
            if (strncmp(at, between[i], strlen(between[i])) == 0)
                more = strlen(between[i]);
        if (more == 0)
            return 0;
        at += more;
    }
}

/* The parts of an option's help that are for all commands or for this one. */
static const char *help_for(const struct option *option, size_t id, char *out, size_t size)
{
    size_t used = 0, length;
    out[0] = '\0';
    for (const char *part = option->help; *part != '\0'; part += length) {
        const char *end = strstr(part, "; ");
        length = end != NULL ? (size_t)(end - part) : strlen(part);
        const char *text = part;
        unsigned bits = take_commands(&text);
        if ((bits == 0 || (bits >> id & 1) != 0) && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used > 0 ? "; " : "",
                                     (int)(part + length - text), text);
        length += end != NULL ? 2 : 0;
    }
    return out;
}

static void print_option(FILE *out, const struct option *option, size_t id, bool all)
{
    enum { ROOM = 512 };
    char text[ROOM];
    command_formats(commands[id].formats, text, sizeof text);
    option_print(out, option,
                 all                             ? option->help
                 : option->kind == OPTION_FORMAT ? text
                 : option->group != OPTIONS_OWN  ? option_brief(option)
                                                 : help_for(option, id, text, sizeof text));
}

/* Without --all. */
static bool is_left_out(const struct option *option, const struct command *command)
{
    return option->is_rare || (option->kind == OPTION_FORMAT && command->formats == 1 << FORMAT_TEXT);
}

void help_command(FILE *out, const char *name, bool all)
{
    static const char *const titles[OPTION_GROUPS] = {[OPTIONS_OWN] = "options",
                                                      [OPTIONS_LINK] = "the way to the target",
                                                      [OPTIONS_TOOL] = "every command"};
    size_t id = 0;
    char words[1024];
    while (id + 1 < COMMANDS && strcmp(commands[id].name, name) != 0)
        id++;
    const struct command *command = &commands[id];
    fprintf(out, "usage: pmu-probe [OPTIONS] %s%s%s\n", command->name, command->operands != NULL ? " " : "",
            or_empty(command->operands));
    print_examples(out, command->examples);
    fputc('\n', out);
    if (command->does != NULL)
        fprintf(out, "%s: %s.\n", command->name, command->does);
    if (command->about[0] != '\0')
        fold_text(out, TERMINAL_COLUMNS, 0, command->about);
    if (command->words != NULL)
        fold_text(out, TERMINAL_COLUMNS, 0, terminal_text(words, sizeof words, command->words));
    for (int group = 0; group < OPTION_GROUPS; group++) {
        bool begun = false;
        for (size_t i = 0; i < option_count; i++) {
            const struct option *option = &option_table[i];
            if (!help_takes(id, option) || (int)option->group != group ||
                (!all && is_left_out(option, command)))
                continue;
            if (!begun)
                fprintf(out, "\n%s\n", titles[group]);
            begun = true;
            print_option(out, option, id, all);
        }
    }
}

/* ---- the manual page, in man(7)'s macros */

/* Text of ours has no control characters; what roff would take for its own is escaped. */
static void roff(FILE *out, const char *text)
{
    bool line_begins = true;
    for (; *text != '\0'; text++) {
        if (line_begins && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        line_begins = *text == '\n';
    }
}

static void roff_line(FILE *out, const char *macro, const char *text)
{
    fputs(macro, out);
    roff(out, text);
    fputc('\n', out);
}

static void roff_examples(FILE *out, const char *lines)
{
    fputs(".RS 4\n.nf\n", out);
    for (size_t length; *lines != '\0'; lines += length + (lines[length] == '\n')) {
        char line[256];
        length = strcspn(lines, "\n");
        snprintf(line, sizeof line, "%s %.*s\n", tool, (int)length, lines);
        roff(out, line);
    }
    fputs(".fi\n.RE\n", out);
}

static void roff_option(FILE *out, const struct option *option)
{
    fputs(".TP\n", out);
    if (option->letter != '\0')
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    roff(out, option->name);
    fputs("\\fR", out);
    if (option->value != NULL)
        fprintf(out, " \\fI%s\\fR", option->value);
    fputc('\n', out);
    roff_line(out, "", option->help);
}

static void roff_command(FILE *out, size_t id)
{
    const struct command *command = &commands[id];
    bool first = true;
    fprintf(out, ".SS \"%s%s%s\"\n", command->name, command->operands != NULL ? " " : "",
            or_empty(command->operands));
    fputc(toupper((unsigned char)command->does[0]), out);
    roff(out, command->does + 1);
    fputs(".\n", out);
    if (command->about[0] != '\0')
        roff_line(out, "", command->about);
    if (command->words != NULL)
        roff_line(out, "", command->words);
    fputs(".PP\nOptions: ", out);
    for (size_t i = 0; i < option_count; i++) {
        if (!help_takes(id, &option_table[i]))
            continue;
        fputs(first ? "\\-\\-" : ", \\-\\-", out);
        roff(out, option_table[i].name);
        first = false;
    }
    fputs(".\n.PP\n", out);
    roff_examples(out, command->examples);
}

void help_manual(FILE *out)
{
    fputs(".TH PMU\\-PROBE 1 \"\" \"pmu\\-probe " PMU_PROBE_VERSION "\" \"User Commands\"\n"
          ".nh\n.ad l\n.SH NAME\npmu\\-probe \\- ",
          out);
    roff_line(out, "", purpose);
    fputs(".SH SYNOPSIS\n.B pmu\\-probe\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n"
          ".SH DESCRIPTION\n",
          out);
    roff_line(out, "", about_options);
    roff_line(out, ".PP\n", ERROR_LOCATIONS);
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].does != NULL)
            roff_command(out, i);
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < option_count; i++)
        roff_option(out, &option_table[i]);
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < N_EXIT_CODES; i++)
        fprintf(out, ".TP\n%d\n%s\n", exit_codes[i].code, exit_codes[i].means);
    fputs(".SH ENVIRONMENT\n.TP\nPMU_PROBE\nstands for \\-\\-probe\n.TP\nPMU_OPENOCD\nthe OpenOCD that is "
          "started\n.TP\nPMU_PROBE_PATIENCE\nhow many times as long a probe or server is "
          "awaited\n.TP\nNO_COLOR\nno colours\n.SH FILES\n.TP\npmu\\-probe.conf\noptions, of the current "
          "folder or the nearest above it (see "
          "\\-\\-trust\\-conf)\n.TP\n$XDG_CONFIG_HOME/pmu\\-probe/pmu\\-probe.conf, "
          "~/.config/pmu\\-probe/pmu\\-probe.conf\nyour own options\n.TP\n$XDG_STATE_HOME/pmu\\-probe/, "
          "~/.local/state/pmu\\-probe/\njournals, for restore\n.SH EXAMPLES\n",
          out);
    roff_examples(out, overview_examples);
}

/* ---- complete */

/* Completion: what can take the place of the word at the cursor. No target is connected for this. */

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

/* Those that the command prints. */
static void offer_formats(const struct completion *self)
{
    size_t command = command_typed(self->options);
    for (unsigned i = 0; i < FORMATS; i++)
        if (command == COMMANDS || (commands[command].formats >> i & 1) != 0)
            complete_offer(self, value_format_name((enum format)i), "");
}

/* `words` have blanks between them. */
static void offer_words(const struct completion *self, const char *words)
{
    char name[32];
    for (size_t length; *words != '\0'; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, words);
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
    } else if (strcmp(option->value, "FILE") == 0 || strcmp(option->value, "PATH") == 0)
        fputs(":files\n", self->out);
    else if (strcmp(option->value, "DIR") == 0)
        fputs(":folders\n", self->out);
    else if (option->kind == OPTION_FORMAT)
        offer_formats(self);
    else if (option->values != NULL)
        offer_words(self, option->values);
}

static void offer_operands(const struct completion *self)
{
    size_t command = command_typed(self->options), n = self->options->n_operands;
    if (command < COMMANDS && n >= commands[command].most)
        return;
    if (command == COMMAND_STUB && n == 0)
        offer_words(self, "enable disable status");
    else if (command == COMMAND_DELTA || command == COMMAND_SURVEY || command == COMMAND_LINES ||
             command == COMMAND_GUARD || command == COMMAND_DOCTOR || command == COMMAND_CALIBRATE ||
             command == COMMAND_STUB || (command == COMMAND_ANNOTATE && n == 0))
        offer_functions(self);
    else if (command == COMMAND_REPORT || command == COMMAND_ANNOTATE || command == COMMAND_COMPARE ||
             command == COMMAND_SHOW)
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
