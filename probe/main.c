/* The command table and the signal flag; everything else is in libpmu. */
#include "base/deadline.h"
#include "base/version.h"
#include "commands/command.h"
#include "commands/output.h"
#include "report/terminal.h"
#include "report/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void catch_signal(int number, int flags);

/* The first one lets what is being written be written; the next one does not wait for whoever reads it. */
static void on_signal(int number)
{
    struct stat out;
    int before = errno;
    if (interrupted && fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode))
        fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    interrupted = 1;
    catch_signal(number, 0);
    errno = before;
}

static void catch_signal(int number, int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

static const struct {
    const char *name, *operands, *help;
    int (*run)(const struct context *, struct error *);
} commands[] = {
    {"probes", "", "what can be reached", command_probes},
    {"info", "", "cores, counters, breakpoints, and what is in use", command_info},
    {"delta", "FUNCTION | START END", "cycles from a start to an end, over many hits", command_delta},
    {"stat", "", "counts over a time window while the core runs", command_stat},
    {"watch", "", "rates and totals while the core runs, live on a terminal", command_watch},
    {"doctor", "", "why a counter cannot be read, and what mends it", command_doctor},
    {"release", "", "takes every breakpoint away and lets the cores go", command_release},
    {"reset", "", "resets the target; --halt stops it at its first instruction", command_reset},
    {"stub", "ACTION [LOCATION]", "load, enable, disable, status: for a program that counts itself",
     command_stub},
    {"calibrate", "[LOCATION]", "what a halt adds to the counters there", command_calibrate},
    {"list", "[PATTERN]", "events: code, name and meaning", command_list},
    {"serve", "", NULL, command_serve}, /* for GDB's Python */
};

static void print_help(FILE *out)
{
    fprintf(out, "pmu-probe measures code on Arm targets from the outside, through a debug probe.\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].help != NULL)
            fprintf(out, "  pmu-probe %-10s%-22s%s\n", commands[i].name, commands[i].operands,
                    commands[i].help);
    fprintf(out, "\nA location is symbol, symbol+0x10, file.c:42 or *0x10000200.\n\n");
    options_print(out);
    fprintf(out, "\nExit codes: 0 done, 1 regressed, 2 wrong usage, 3 could not measure, 4 inconclusive,\n"
                 "5 doctor found a problem.\n");
}

static void print_error(const struct error *error)
{
    char text[UTF8_CLEAN_ROOM(sizeof error->text)];
    char *rest = text;
    const char *advice = error_advice(error->kind);
    /* Lists in an error come line by line. */
    char lines[sizeof error->text];
    snprintf(lines, sizeof lines, "%s", error->text);
    fprintf(stderr, "%spmu-probe:%s ", terminal_colour(stderr, COLOUR_BAD),
            terminal_colour(stderr, COLOUR_END));
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        fprintf(stderr, "%s\n", terminal_text(text, sizeof text, line));
    if (advice != NULL)
        fprintf(stderr, "%s\n", advice);
}

static int run_command(const struct context *context, struct error *error)
{
    const char *name = context->options->command;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(context, error);
    error_set(error, ERROR_USAGE, "there is no command \"%.64s\"", name);
    return error_exit_code(error->kind);
}

static int run(const struct options *options, struct error *error)
{
    struct output output;
    bool plain = options->version || options->help, result = false;
    int code = EXIT_DONE;
    if (!plain && options->command == NULL) {
        error_set(error, ERROR_USAGE, "no command given");
        return error_exit_code(error->kind);
    }
    if (!output_open(&output, plain ? NULL : options->output, &interrupted, error))
        return error_exit_code(error->kind);
    struct log log = {.out = stderr, .level = options->verbose, .begun_us = deadline_now_us()};
    struct context context = {.options = options,
                              .cancel = &interrupted,
                              .out = output.file,
                              .result = &result,
                              .log = options->verbose > 0 ? &log : NULL};
    log_line(context.log, "pmu-probe %s, %s", PMU_PROBE_VERSION, plain ? "" : options->command);
    if (options->version)
        printf("pmu-probe %s\n", PMU_PROBE_VERSION);
    else if (options->help)
        print_help(stdout);
    else
        code = run_command(&context, error);
    if (!output_close(&output, result || error->kind == ERROR_NONE, error))
        code = error_exit_code(ERROR_SYSTEM);
    return code;
}

int main(int argc, char **argv)
{
    catch_signal(SIGINT, SA_RESTART);
    catch_signal(SIGTERM, SA_RESTART);
    catch_signal(SIGHUP, SA_RESTART);
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, ""); /* for terminal_has_utf8() alone: numbers stay as in "C" */
    struct options options;
    struct error error = {0};
    int code =
        options_read(&options, argc, argv, &error) ? run(&options, &error) : error_exit_code(error.kind);
    if (error.kind != ERROR_NONE)
        print_error(&error);
    options_free(&options);
    return code;
}
