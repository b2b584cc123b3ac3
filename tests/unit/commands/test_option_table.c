/* Every option with every command: taken, or refused by name. */
#include "commands/command.h"
#include "golden.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each of those that a command needs next to its options. */
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
                if (read != (takes(option, c) || asks || option->is_idle))
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
                    options.request.command = none.request.command = NULL;
                    memset(options.operands, 0, sizeof options.operands);
                    memset(none.operands, 0, sizeof none.operands);
                    if (are_same(&options, &none))
                        fail_msg("%s with %s leaves no trace", typed, commands[c].name);
                    options_free(&none);
                }
                options_free(&options);
            }
}

static bool has_option(const char *text, const struct option *option)
{
    char name[32];
    snprintf(name, sizeof name, "--%s%s", option->name, option->value != NULL ? " " : "");
    return strstr(text, name) != NULL;
}

/* Each line in 80 columns. To be freed. */
static char *help_text(const char *name, bool all)
{
    help_command(output(), name, all);
    char *text = output_text(NULL);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > TERMINAL_COLUMNS)
            fail_msg("too wide: %.*s", (int)strcspn(line, "\n"), line);
    return text;
}

/* The help of all: system/test_options.py. */
TEST(help_of_a_command_has_its_own_options_after_examples)
{
    for (size_t c = 0; c < COMMANDS; c++) {
        char *whole = help_text(commands[c].name, true);
        char *text = help_text(commands[c].name, false);
        if (commands[c].does != NULL)
            assert_memory_equal(strchr(text, '\n'), "\n  pmu-probe ", 13);
        for (size_t i = 0; i < option_count; i++) {
            const struct option *option = &option_table[i];
            bool taken = (option->commands >> c & 1) != 0;
            bool only_text = option->kind == OPTION_FORMAT && commands[c].formats == 1 << FORMAT_TEXT;
            bool mentioned = strstr(commands[c].examples, option->name) != NULL;
            if (taken && !has_option(whole, option))
                fail_msg("--%s is missing in: %s", option->name, whole);
            if (taken && !option->is_rare && !only_text && !has_option(text, option))
                fail_msg("--%s is missing in: %s", option->name, text);
            if (option->is_rare && !mentioned && has_option(text, option))
                fail_msg("--%s is in: %s", option->name, text);
        }
        free(text);
        free(whole);
    }
}
