/* SPDX-License-Identifier: MIT */
/* Files of a run: which it reads and writes; --wire and -p replay, a run whose link is recorded, or is a
 * recording. */
#include "commands/command.h"
#include "symbols/symbols.h"
#include "version.h"
#include "wire/wire.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is read and what is written */

struct named_file {
    const char *path;
    const char *option; /* that names it, such as "elf"; NULL: what the command itself reads */
};

enum { NAMED_FILES = OPTION_MOST + OPTION_OPERANDS + REQUEST_WORDS + REQUEST_EVENTS + 2 };
struct named_files {
    size_t n;
    struct named_file at[NAMED_FILES];
};

static void name_file(struct named_files *files, const char *path, const char *option)
{
    if (path != NULL && path[0] != '\0' && files->n < NAMED_FILES)
        files->at[files->n++] = (struct named_file){path, option};
}

static void name_options(const struct options *options, enum option_file kind, struct named_files *files)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].file == kind)
            name_file(files, *(char *const *)((const char *)options + option_table[i].offset),
                      option_table[i].name);
}

static void name_read(const struct options *options, struct named_files *files)
{
    const struct request *request = &options->request;
    size_t id = command_typed(options), first = id == COMMAND_ANNOTATE ? 1 : 0;
    bool takes_files =
        id == COMMAND_REPORT || id == COMMAND_ANNOTATE || id == COMMAND_COMPARE || id == COMMAND_SHOW;
    name_options(options, FILE_READ, files);
    for (size_t i = first; takes_files && i < options->n_operands; i++)
        name_file(files, options->operands[i], NULL);
    if ((id == COMMAND_REPORT || id == COMMAND_ANNOTATE) && options->n_operands == first)
        name_file(files, PROFILE_NAME, NULL);
    name_file(files, wire_spec(request->probe), "probe");
    for (size_t i = 0; i + 1 < request->n_openocd; i += 2)
        if (strcmp(request->openocd[i], "-f") == 0)
            name_file(files, request->openocd[i + 1], "file");
    for (size_t i = 0; i < request->n_metrics; i++)
        name_file(files, request->metrics[i], "metric");
    for (size_t i = 0; i < CONFS; i++)
        name_file(files, options->conf_names[i], NULL);
}

/* The folder of a file that does not exist yet. */
static const char *real_folder(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    size_t length = (size_t)(name_of_file(path) - path);
    snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    return length < sizeof folder ? realpath(length > 0 ? folder : ".", out) : NULL;
}

/* By device and inode: names may be links. Pipes and devices lose nothing. */
static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    char here[PATH_MAX], there[PATH_MAX];
    bool is = stat(one, &a) == 0, its = stat(other, &b) == 0;
    if (is && its)
        return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    return !is && !its && strcmp(name_of_file(one), name_of_file(other)) == 0 &&
           real_folder(one, here) != NULL && real_folder(other, there) != NULL && strcmp(here, there) == 0;
}

static const char *option_as_typed(const char *name, char out[32])
{
    const struct option *option = option_find(name, strlen(name));
    bool letter = option != NULL && option->letter != 0;
    if (letter)
        snprintf(out, 32, "-%c", option->letter);
    else
        snprintf(out, 32, "--%s", name);
    return out;
}

bool files_check(const struct options *options, struct error *error)
{
    struct named_files read = {0}, written = {0};
    char one[32], other[32];
    name_read(options, &read);
    name_options(options, FILE_WRITTEN, &written);
    for (size_t i = 0; i < written.n; i++) {
        const struct named_file *to = &written.at[i];
        option_as_typed(to->option, one);
        for (size_t k = 0; k < read.n + i; k++) {
            const struct named_file *from = k < read.n ? &read.at[k] : &written.at[k - read.n];
            if (!is_same_file(from->path, to->path))
                continue;
            if (from->option == NULL)
                return error_set(error, ERROR_USAGE, "%s names %.256s, which %s reads: it would be lost", one,
                                 to->path, options->request.command);
            return error_set(error, ERROR_USAGE, "%s and %s are the same file, %.256s: it would be lost",
                             option_as_typed(from->option, other), one, to->path);
        }
    }
    return true;
}

/* ---- a link on file */

static const char live_screen[] = "a live screen has keys and a window: write to a pipe (| cat)";

/* What a command takes from elsewhere than its link, so that no file of a link gives the same output again.
 */
static const struct {
    enum command_id command;
    bool only_live; /* its live screen alone */
    bool unforced;  /* not with --force */
    const char *why;
} unrepeatable[] = {
    {COMMAND_PROBES, false, false, "it searches for what is plugged in here"},
    {COMMAND_RESTORE, false, true, "it puts back what a journal of this machine says"},
    {COMMAND_SERVE, false, false, "it answers another program"},
    {COMMAND_CALIBRATE, false, false, "it answers GDB"},
    {COMMAND_WATCH, true, false, live_screen},
    {COMMAND_TOP, true, false, live_screen},
};

static bool check_repeatable(const struct options *options, struct error *error)
{
    for (size_t i = 0; i < sizeof unrepeatable / sizeof *unrepeatable; i++) {
        const char *name = commands[unrepeatable[i].command].name;
        bool live = options->output == NULL && isatty(STDOUT_FILENO);
        if (strcmp(options->request.command, name) == 0 && (!unrepeatable[i].only_live || live) &&
            !(unrepeatable[i].unforced && options->force))
            return error_advise(error, ERROR_USAGE, "", "%s cannot be replayed: %s", name,
                                unrepeatable[i].why);
    }
    return options->wire == NULL ||
           error_advise(error, ERROR_USAGE, "", "--wire records a link, and -p replay has none");
}

bool recording_begin(struct context *context, struct error *error)
{
    const struct options *options = context->options;
    const char *replayed = wire_spec(options->request.probe);
    const struct wire_run run = {.version = PMU_PROBE_VERSION,
                                 .n = options->typed.n,
                                 .words = options->typed.words,
                                 .elf = options->request.elf,
                                 .cancel = context->around.cancel,
                                 .ending = context->around.ending};
    if (replayed == NULL && options->wire == NULL)
        return true;
    if (replayed != NULL && !check_repeatable(options, error))
        return false;
    context->around.wire =
        replayed != NULL ? wire_replay(replayed, &run, error) : wire_record(options->wire, &run, error);
    return context->around.wire != NULL;
}

int recording_end(const struct context *context, int code, struct error *error)
{
    if (context->around.wire == NULL || wire_end(context->around.wire, code, error))
        return code;
    if (wire_replays(context->around.wire)) /* what was printed is of no run */
        *context->keep = KEEP_NOTHING;
    return error_exit_code(error->kind);
}
