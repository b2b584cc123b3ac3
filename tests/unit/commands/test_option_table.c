/* Every option with every command: taken, or refused by name. The table itself is a golden file, so that a
 * new option or command shows there. */
#include "commands/command.h"
#include "commands/options.h"
#include "golden.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each of those that a command needs beside its options. */
static const char *operand_of(size_t command)
{
    return command == COMMAND_STUB ? "status" : "main";
}

static const char *value_of(const struct option *option)
{
    const struct option_words *words = &option_words[option->kind];
    return words->example != NULL ? words->example : "x";
}

/* As a user types it, by its letter or not. */
static bool read_one(const struct option *option, size_t command, bool by_letter, char *typed, size_t size,
                     struct options *options, struct error *error)
{
    char name[] = "pmu-probe", value[32], verb[16], operand[16], needed[32], its_value[] = "200";
    char *argv[12] = {name};
    int argc = 1;
    if (by_letter && option->letter != 0)
        snprintf(typed, size, "-%c", option->letter);
    else
        snprintf(typed, size, "--%s", option->name);
    argv[argc++] = typed;
    if (option->most > 0)
        snprintf(value, sizeof value, "%" PRIu64, option->most);
    else
        snprintf(value, sizeof value, "%s", value_of(option));
    if (option->value != NULL)
        argv[argc++] = value;
    /* What it is of no use without */
    const struct option *other = option->needs.why != NULL
                                     ? option_find(option->needs.options, strcspn(option->needs.options, " "))
                                     : NULL;
    if (other != NULL && (option->commands & other->commands & option->needs.commands) >> command & 1) {
        snprintf(needed, sizeof needed, "--%s", other->name);
        argv[argc++] = needed;
        if (other->value != NULL)
            argv[argc++] = its_value;
    }
    snprintf(verb, sizeof verb, "%s", commands[command].name);
    argv[argc++] = verb;
    snprintf(operand, sizeof operand, "%s", operand_of(command));
    for (unsigned i = 0; i < commands[command].least; i++)
        argv[argc++] = operand;
    error_clear(error);
    return options_read(options, argc, argv, error);
}

TEST(each_rule_names_options)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        const struct option_rule *rules[OPTION_RULES + 1] = {&option->needs};
        for (size_t k = 0; k < OPTION_RULES; k++)
            rules[k + 1] = &option->rivals[k];
        for (size_t k = 0; k <= OPTION_RULES; k++) {
            const char *names = rules[k]->why != NULL ? rules[k]->options : "";
            for (size_t n; *names != '\0'; names += n + (names[n] == ' ')) {
                n = strcspn(names, " ");
                const struct option *other = option_find(names, n);
                if (other == NULL || other == option || (other->commands & option->commands) == 0)
                    fail_msg("--%s has a rule about %s", option->name, names);
            }
        }
    }
}

/* json, the example of a format, is not every command's. */
static bool takes(const struct option *option, size_t command)
{
    bool format = option->kind == OPTION_FORMAT;
    return (option->commands >> command & 1) != 0 &&
           (!format || (commands[command].formats >> FORMAT_JSON & 1) != 0);
}

static bool are_same(const struct options *a, const struct options *b)
{
    const unsigned char *left = (const unsigned char *)a, *right = (const unsigned char *)b;
    size_t same = 0;
    while (same < sizeof *a && left[same] == right[same])
        same++;
    return same == sizeof *a;
}

TEST(every_option_with_every_command)
{
    unsetenv("PMU_PROBE");
    for (size_t i = 0; i < option_count; i++)
        for (size_t c = 0; c < COMMANDS; c++)
            for (int by_letter = 0; by_letter < 2; by_letter++) {
                const struct option *option = &option_table[i];
                struct options options, none;
                struct error error = {0}, ignored = {0};
                char typed[32], other[32];
                bool asks = strcmp(option->name, "help") == 0 || strcmp(option->name, "version") == 0;
                bool read = read_one(option, c, by_letter != 0, typed, sizeof typed, &options, &error);
                if (read != (takes(option, c) || asks))
                    fail_msg("%s with %s: %s", typed, commands[c].name, read ? "taken" : error.text);
                if (!read && (strncmp(error.text, typed, strlen(typed)) != 0 ||
                              strstr(error.text, commands[c].name) == NULL || error.kind != ERROR_USAGE))
                    fail_msg("%s with %s says: %s", typed, commands[c].name, error.text);
                /* What is taken is there afterwards */
                const struct option *quiet = option_find("quiet", strlen("quiet"));
                if (option == quiet)
                    quiet = option_find("output", strlen("output"));
                if (read && takes(quiet, c)) {
                    assert_true(read_one(quiet, c, false, other, sizeof other, &none, &ignored));
                    options.command = none.command = NULL;
                    memset(options.operands, 0, sizeof options.operands);
                    memset(none.operands, 0, sizeof none.operands);
                    if (are_same(&options, &none))
                        fail_msg("%s with %s leaves no trace", typed, commands[c].name);
                    options_free(&none);
                }
                options_free(&options);
            }
}

TEST(the_table)
{
    FILE *out = output();
    fprintf(out, "+ used, . refused by name\n\n%-16s", "");
    for (size_t c = 0; c < COMMANDS; c++)
        fprintf(out, " %9s", commands[c].name);
    fputc('\n', out);
    for (size_t i = 0; i < option_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "--%s", option_table[i].name);
        fprintf(out, "%-16s", name);
        for (size_t c = 0; c < COMMANDS; c++)
            fprintf(out, " %9s", (option_table[i].commands >> c & 1) != 0 ? "+" : ".");
        fputc('\n', out);
    }
    output_is_golden("options/table.txt");
}

/* In 80 columns, with all that the command takes. */
static void check_text(const char *text, unsigned bits)
{
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length > TERMINAL_COLUMNS)
            fail_msg("too wide: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    for (size_t i = 0; i < option_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "--%s%s", option_table[i].name, option_table[i].value != NULL ? " " : "");
        bool there = strstr(text, name) != NULL;
        if (!there && (option_table[i].commands & bits) != 0)
            fail_msg("%s is missing in: %s", name, text);
    }
}

TEST(help_is_whole_and_fits)
{
    for (size_t c = 0; c < COMMANDS; c++) {
        help_command(output(), commands[c].name);
        char *text = output_text(NULL);
        check_text(text, 1U << c);
        if (commands[c].does != NULL && strstr(text, "\nexamples:\n  pmu-probe") == NULL)
            fail_msg("no example: %s", text);
        free(text);
    }
    help_print(output());
    char *text = output_text(NULL);
    check_text(text, (1U << COMMANDS) - 1);
    for (size_t c = 0; c < COMMANDS; c++)
        assert_true(commands[c].does == NULL || strstr(text, commands[c].does) != NULL);
    free(text);
    help_usage(output());
    text = output_text(NULL);
    check_text(text, 0);
    free(text);
}
