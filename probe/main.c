/* SPDX-License-Identifier: MIT */
/* Signals, the output, and the printing of errors; everything else is in libpmu. */
#include "base/deadline.h"
#include "commands/command.h"
#include "report/json.h"
#include "report/terminal.h"
#include "version.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TWICE_US = 200000 }; /* timeout(1) and some shells send a signal to the process and to its group */

static volatile sig_atomic_t interrupted; /* how often */

static void catch_signal(int number, int flags);

/* The first signal lets the current output finish; the next one does not wait for a reader that is slow, nor
 * for a target that is put back. A reader that went away ends a run as a first signal does, but is not the
 * user's: Ctrl-C ends both sides of `pmu-probe | head` in any order. */
static void on_signal(int number)
{
    static int64_t counted_us;
    static sig_atomic_t counted;
    int before = errno;
    bool theirs =
        number == SIGPIPE || number == SIGXCPU; /* of a limit's, one follows each second: setrlimit(2) */
    if (theirs && interrupted == 0)
        interrupted = 1;
    if (theirs || (counted > 0 && deadline_host_us() - counted_us < TWICE_US))
        return;
    counted_us = deadline_host_us();
    counted++;
    if (interrupted < counted)
        interrupted = counted;
    catch_signal(number, 0);
    errno = before;
}

static void catch_signal(int number, int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigfillset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* What to do next. */
static void print_advice(const struct error *error, const char *command)
{
    struct error unknown = {0};
    const char *advice = error_advice(error);
    if (error->kind == ERROR_USAGE && error->advice == NULL && command != NULL &&
        command_find(command, &unknown) != NULL)
        fprintf(stderr, "pmu-probe help %s shows its options.\n", command);
    else if (advice != NULL)
        fprintf(stderr, "%s\n", advice);
}

static void print_error(const struct error *error, const char *command)
{
    char text[UTF8_CLEAN_ROOM(sizeof error->text)];
    char *rest = text;
    /* Lists in an error are printed line by line. */
    char lines[sizeof error->text];
    snprintf(lines, sizeof lines, "%s", error->text);
    fprintf(stderr, "%spmu-probe:%s ", terminal_colour(stderr, COLOUR_BAD),
            terminal_colour(stderr, COLOUR_END));
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        fprintf(stderr, "%s\n", terminal_text(text, sizeof text, line));
    print_advice(error, command);
}

/* A program that was moved shows in the target's memory only, when its addresses are known already: then all
 * begins anew. Nothing is printed or measured by then. */
static int run_moved(const struct command *command, const struct context *context, struct error *error)
{
    struct options options = *context->options;
    struct context moved = *context;
    char offset[VALUE_OFFSET];
    moved.options = &options;
    moved.around.load_offset = NULL;
    options.request.load_offset = *context->around.load_offset;
    error_clear(error);
    value_offset_text(options.request.load_offset, offset);
    request_note(&options.request, "the target runs this ELF at another place: --load-offset %s", offset);
    return command->run(&moved, error);
}

static int run_command(const struct context *context, struct error *error)
{
    const struct command *command = command_find(context->options->request.command, error);
    if (command == NULL)
        return error_exit_code(error->kind);
    int code = command->run(context, error);
    return error->kind != ERROR_NONE && *context->around.load_offset != 0 ? run_moved(command, context, error)
                                                                          : code;
}

/* `| head` has had enough. What else went wrong is an error all the same, and a verdict stays what it is. */
static int without_reader(int code, int verdict, struct error *error)
{
    bool by_that = (error->kind == ERROR_CANCELLED || error->kind == ERROR_UNWRITTEN) && !error->added;
    if (by_that)
        error_clear(error);
    return by_that || code == EXIT_INTERRUPTED || code == EXIT_DONE ? verdict : code;
}

/* The wire, if there is one, stays for the error's texts. */
static int main_run(const struct options *options, struct wire **wire, struct error *error)
{
    struct output output, told = {0};
    bool plain = options->version || options->help, left = false, text_left = false;
    enum output_keep keep = KEEP_NOTHING;
    int code = EXIT_DONE, verdict = EXIT_DONE;
    uint64_t moved = 0;
    struct error unlogged = {0}; /* an unread log is not a failure */
    if (!plain && options->request.command == NULL) {
        help_usage(stderr);
        return error_exit_code(ERROR_USAGE);
    }
    if (!plain && !files_check(options, error))
        return error_exit_code(error->kind);
    if (!output_open(&output, plain ? NULL : options->output, OUTPUT_REPLACES, &interrupted, error))
        return error_exit_code(error->kind);
    output.keeps_old = options->output != NULL && strcmp(options->output, PROFILE_NAME) == 0;
    if (options->verbose > 0)
        output_open_log(&told, &interrupted);
    struct log log = {.out = told.file, .level = options->verbose, .begun_us = deadline_host_us()};
    struct ending ending = {.signals = &interrupted};
    struct context context = {.options = options,
                              .around = {.cancel = &interrupted,
                                         .ending = &ending,
                                         .outputs = {output.spool, options->verbose > 0 ? told.spool : NULL},
                                         .load_offset = &moved,
                                         .log = options->verbose > 0 ? &log : NULL},
                              .out = output.file,
                              .keep = &keep,
                              .verdict = &verdict,
                              .left = &text_left};
    log_line(context.around.log, "pmu-probe %s, %s", PMU_PROBE_VERSION,
             plain ? "" : options->request.command);
    if (options->version)
        fprintf(output.file, "pmu-probe %s\n", PMU_PROBE_VERSION);
    else if (options->help && options->request.command != NULL)
        help_command(output.file, options->request.command, options->help_all);
    else if (options->help)
        help_print(output.file, options->help_all);
    else
        code = recording_begin(&context, error) ? recording_end(&context, run_command(&context, error), error)
                                                : error_exit_code(error->kind);
    *wire = context.around.wire;
    if (options->verbose > 0)
        output_close(&told, KEEP_ALL, &left, &unlogged);
    keep = keep == KEEP_NOTHING && error->kind == ERROR_NONE ? KEEP_ALL : keep;
    if (!output_close(&output, keep, &left, error))
        code = error_exit_code(ERROR_SYSTEM);
    return left || text_left ? without_reader(code, verdict, error) : code;
}

/* For scripts, and not in the help: the manual page and what completes a command line. */
static bool run_for_script(int argc, char **argv)
{
    bool manual = argc == 2 && strcmp(argv[1], "--manual") == 0;
    bool complete = argc > 1 && strcmp(argv[1], "--complete") == 0;
    if (manual)
        help_manual(stdout);
    else if (complete)
        complete_print(stdout, argc - 2, argv + 2);
    return manual || complete;
}

/* Else a file or socket of this run would be 0 to 2, and get its notes. It fails as a closed one does, and so
 * does its name (/dev/stdout): a folder cannot be opened to be written. */
static void fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!(fd == STDIN_FILENO ? open("/dev/null", O_WRONLY) : open("/", O_RDONLY));
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    catch_signal(SIGINT, SA_RESTART);
    catch_signal(SIGTERM, SA_RESTART);
    catch_signal(SIGQUIT, SA_RESTART); /* Ctrl-\ would leave the target and the terminal as they are */
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* else it runs under nohup */
        catch_signal(SIGHUP, SA_RESTART);
    catch_signal(SIGPIPE, SA_RESTART);
    catch_signal(SIGXCPU, SA_RESTART);
    deadline_tell_cpu(CLOCK_PROCESS_CPUTIME_ID);
    signal(SIGXFSZ, SIG_IGN); /* then a write beyond the limit fails, as on a full disk: setrlimit(2) */
    setlocale(LC_CTYPE, "");  /* for terminal_has_utf8() alone: numbers stay as in "C" */
    if (run_for_script(argc, argv))
        return fflush(stdout) == 0 ? EXIT_DONE : error_exit_code(ERROR_SYSTEM);
    struct options options;
    struct error error = {0};
    struct wire *wire = NULL;
    int code = options_read(&options, argc, argv, &error) ? main_run(&options, &wire, &error)
                                                          : error_exit_code(error.kind);
    if (error.kind != ERROR_NONE)
        print_error(&error, options.request.command);
    options_free(&options);
    wire_free(wire);
    /* Whatever is wrong here, no script is to take what is printed as an error for a success */
    return error.kind != ERROR_NONE && code == EXIT_DONE ? error_exit_code(error.kind) : code;
}
