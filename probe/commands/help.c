#include "commands/help.h"

#include "commands/option_table.h"
#include "report/fold.h"
#include "report/terminal.h"

#include <string.h>

static void print_examples(FILE *out, const char *lines)
{
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        fprintf(out, "  %.*s\n", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

void help_usage(FILE *out)
{
    fputs("usage: pmu-probe [OPTIONS] COMMAND [ARGUMENTS]\n\n", out);
    print_examples(out, "pmu-probe probes                               what can be reached from here\n"
                        "pmu-probe --elf app.elf delta my_function      what a function costs\n"
                        "pmu-probe stat --for 2s -M CPI                 counts while the core runs\n");
    fputs("\npmu-probe --help lists commands and options; pmu-probe help COMMAND, one's own.\n", out);
}

void help_print(FILE *out)
{
    enum { COLUMN = 34 };
    fputs("pmu-probe measures code on Arm targets from the outside, through a debug probe.\n\n"
          "usage: pmu-probe [OPTIONS] COMMAND [ARGUMENTS]\n\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++) {
        if (commands[i].does == NULL)
            continue;
        fprintf(out, "  %-10s %-*s", commands[i].name, COLUMN - 13, commands[i].operands);
        fold_text_at(out, TERMINAL_COLUMNS, COLUMN, COLUMN, commands[i].does);
    }
    fputs("\npmu-probe help COMMAND shows the options of one command, with examples.\n"
          "A location is function, function+0x10, file.c:function, ns::Class::method(int),\n"
          "file.c:42 or *0x10000200.\n\n"
          "Options stand on either side of the command, or in a pmu-probe.conf in the\n"
          "current folder (elf = build/app.elf, one per line). Each command refuses those\n"
          "that it has no use for, but takes its own from a pmu-probe.conf. PMU_PROBE in\n"
          "the environment stands for --probe.\n\n",
          out);
    for (size_t i = 0; i < option_count; i++)
        option_print(out, &option_table[i]);
    fputs("\nexamples:\n", out);
    print_examples(out, "pmu-probe --elf app.elf delta fir_filter\n"
                        "pmu-probe --elf app.elf delta main.c:40 main.c:52 -r 500\n"
                        "pmu-probe stat --for 2s -e INST_RETIRED -M CPI\n");
    fputs("\nExit codes: 0 done, 1 regressed, 2 wrong usage, 3 could not measure,\n"
          "4 inconclusive, 5 doctor found a problem.\n",
          out);
}

void help_command(FILE *out, const char *name)
{
    size_t id = 0;
    while (id + 1 < COMMANDS && strcmp(commands[id].name, name) != 0)
        id++;
    const struct command *command = &commands[id];
    fprintf(out, "usage: pmu-probe [OPTIONS] %s%s%s\n\n", command->name,
            command->operands[0] != '\0' ? " " : "", command->operands);
    if (command->does != NULL)
        fprintf(out, "%s: %s.\n", command->name, command->does);
    if (command->about[0] != '\0')
        fold_text_at(out, TERMINAL_COLUMNS, 0, 0, command->about);
    fputc('\n', out);
    for (size_t i = 0; i < option_count; i++)
        if ((option_table[i].commands >> id & 1) != 0)
            option_print(out, &option_table[i]);
    if (command->examples[0] == '\0')
        return;
    fputs("\nexamples:\n", out);
    print_examples(out, command->examples);
}
