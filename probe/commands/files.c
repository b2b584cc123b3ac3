#include "base/file.h"
#include "commands/command.h"
#include "report/json.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --wire and -p replay: a run whose link is recorded, or is a recording. */

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
    {COMMAND_WATCH, true, false,
     "a live screen follows keys and the size of its window: write to a pipe (| cat)"},
    {COMMAND_TOP, true, false,
     "a live screen follows keys and the size of its window: write to a pipe (| cat)"},
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

/* ---- output */

static const char suffix[] = ".part-XXXXXX";

static void output_forget(struct output *output)
{
    free(output->path);
    free(output->beside);
    *output = (struct output){.file = stdout};
}

static bool output_refuse(struct output *output, int reason, struct error *error)
{
    const char *name = output->name;
    if (output->way == OUTPUT_BESIDE)
        unlink(output->beside);
    output_forget(output);
    if (reason == EINTR)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    return error_set(error, ERROR_USAGE, "%.256s cannot be written: %s", name, strerror(reason));
}

static bool take_descriptor(struct output *output, int fd, struct error *error)
{
    output->file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (output->file != NULL)
        return true;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    return output_refuse(output, reason, error);
}

/* 1 or 2 if `status` is that of standard output or standard error, else -1. */
static int standard_stream(const struct stat *status)
{
    struct stat own;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &own) == 0 && own.st_dev == status->st_dev && own.st_ino == status->st_ino)
            return fd;
    return -1;
}

/* The mode of a file that open(2) creates. */
static mode_t default_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* -1: a new file could not replace the old one, or the folder is not writable. */
static int output_open_beside(struct output *output, const struct stat *before)
{
    if (before != NULL && before->st_nlink > 1)
        return -1;
    size_t size = strlen(output->path) + sizeof suffix;
    output->beside = malloc(size);
    if (output->beside == NULL)
        return -1;
    snprintf(output->beside, size, "%s%s", output->path, suffix);
    int fd = mkostemp(output->beside, O_CLOEXEC);
    struct stat status;
    bool same = fd >= 0 && fstat(fd, &status) == 0 &&
                (before == NULL || ((status.st_uid == before->st_uid && status.st_gid == before->st_gid) ||
                                    fchown(fd, before->st_uid, before->st_gid) == 0)) &&
                fchmod(fd, before != NULL ? before->st_mode & 07777 : default_mode()) == 0;
    output->way = OUTPUT_BESIDE;
    if (same)
        return fd;
    if (fd >= 0) {
        close(fd);
        unlink(output->beside);
    }
    free(output->beside);
    output->beside = NULL;
    output->way = OUTPUT_AS_IT_IS;
    return -1;
}

static bool open_plain(struct output *output, const struct stat *before, struct error *error)
{
    output->path = before != NULL ? realpath(output->name, NULL) : strdup(output->name);
    if (output->path == NULL || (before != NULL && access(output->path, W_OK) != 0))
        return output_refuse(output, errno, error);
    int fd = output_open_beside(output, before);
    if (fd >= 0)
        return take_descriptor(output, fd, error);
    if (before == NULL) /* nothing can be lost, and open(2) gives the reason */
        return take_descriptor(output, open(output->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666), error);
    output->way = OUTPUT_COPIED;
    output->file = tmpfile();
    return output->file != NULL || output_refuse(output, errno, error);
}

static bool is_standard(const FILE *file)
{
    return file == stdout || file == stderr;
}

static bool output_is_read(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* Without a spool, if there is no memory for it, the run waits for a slow reader. */
static void open_spool(struct output *output, volatile sig_atomic_t *signals)
{
    struct spool *spool =
        output_is_read(fileno(output->file)) ? spool_open(fileno(output->file), SPOOL_MOST, signals) : NULL;
    if (spool == NULL)
        return;
    FILE *file = fdopen(spool_descriptor(spool), "w");
    if (file == NULL) {
        close(spool_descriptor(spool));
        (void)spool_close(spool);
        return;
    }
    output->behind = output->file;
    output->file = file;
    output->spool = spool;
}

void output_open_log(struct output *output, volatile sig_atomic_t *signals)
{
    *output = (struct output){.file = stderr};
    open_spool(output, signals);
    if (output->spool != NULL)
        setvbuf(output->file, NULL, _IOLBF, BUFSIZ);
}

void output_ends_the_run(const struct output *output)
{
    if (output->spool != NULL)
        spool_ends_the_run(output->spool);
}

static bool output_is_unread(const struct output *output)
{
    return output->spool != NULL && spool_has_ended_the_run(output->spool);
}

static bool open_named(struct output *output, const volatile sig_atomic_t *cancel, struct error *error)
{
    const char *name = output->name;
    struct stat status, link;
    if (stat(name, &status) != 0) {
        if (errno != ENOENT || lstat(name, &link) != 0)
            return errno == ENOENT ? open_plain(output, NULL, error) : output_refuse(output, errno, error);
        /* A symbolic link to a file that does not exist yet */
        return take_descriptor(output, open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666), error);
    }
    int standard = standard_stream(&status);
    if (S_ISDIR(status.st_mode))
        return output_refuse(output, EISDIR, error);
    if (S_ISREG(status.st_mode) && standard < 0)
        return open_plain(output, &status, error);
    if (standard >= 0)
        return take_descriptor(output, fcntl(standard, F_DUPFD_CLOEXEC, 0), error);
    return take_descriptor(output, file_open_to_write(name, cancel), error);
}

bool output_open(struct output *output, const char *name, volatile sig_atomic_t *signals, struct error *error)
{
    *output = (struct output){.file = stdout, .name = name};
    if (name != NULL && !open_named(output, signals, error))
        return false;
    open_spool(output, signals);
    return true;
}

static bool copy(FILE *from, const char *path)
{
    char block[1 << 14];
    FILE *to = fopen(path, "we");
    if (to == NULL)
        return false;
    rewind(from);
    for (size_t n; (n = fread(block, 1, sizeof block, from)) > 0;)
        if (fwrite(block, 1, n, to) != n)
            break;
    bool whole = !ferror(from) && !ferror(to);
    int reason = errno;
    if (fclose(to) != 0)
        return false;
    errno = reason;
    return whole;
}

/* False with errno. */
static bool close_spool(struct output *output)
{
    if (output_is_unread(output))
        fprintf(stderr,
                "pmu-probe: nobody took the output, and %d MB of it waited: the run was ended there. "
                "-o FILE needs no reader.\n",
                SPOOL_MOST >> 20);
    bool whole = spool_close(output->spool);
    int reason = errno;
    if (!is_standard(output->behind))
        fclose(output->behind);
    errno = reason;
    return whole;
}

/* As perf does. Without room for it, or on a file system without such links, there is no old one. */
static void keep_old(const char *path)
{
    char old[PATH_MAX];
    if (snprintf(old, sizeof old, "%s.old", path) >= (int)sizeof old)
        return;
    unlink(old);
    (void)!link(path, old);
}

/* False with errno, which is 0 if the reason is no longer known. */
static bool finish(struct output *output, bool take) /* its file takes the place of the one that is named */
{
    bool whole = !ferror(output->file);
    errno = 0;
    if (fflush(output->file) != 0)
        whole = false;
    if (whole && take && output->way == OUTPUT_COPIED)
        whole = copy(output->file, output->path);
    int reason = errno;
    if (!is_standard(output->file) && fclose(output->file) != 0 && whole) {
        reason = errno;
        whole = false;
    }
    if (output->spool != NULL && !close_spool(output)) {
        reason = whole || reason == 0 ? errno : reason;
        whole = false;
    }
    if (whole && take && output->way == OUTPUT_BESIDE && output->keeps_old)
        keep_old(output->path);
    if (whole && take && output->way == OUTPUT_BESIDE && rename(output->beside, output->path) != 0) {
        reason = errno;
        whole = false;
    }
    errno = reason;
    return whole;
}

bool output_close(struct output *output, enum output_keep keep, bool *left, struct error *error)
{
    bool whole = finish(output, keep == KEEP_ALL);
    int reason = errno;
    bool is_beside = output->way == OUTPUT_BESIDE && keep != KEEP_NOTHING && !(whole && keep == KEEP_ALL);
    if (output->way == OUTPUT_BESIDE && keep == KEEP_NOTHING)
        unlink(output->beside);
    *left = !whole && reason == EPIPE;
    whole = whole || *left;
    if (whole && keep == KEEP_PART && output->way != OUTPUT_AS_IT_IS)
        fprintf(stderr, "pmu-probe: %.256s is as it was%s%.300s\n", output->name,
                is_beside ? "; what was measured until Ctrl-C is in " : "", is_beside ? output->beside : "");
    if (!whole)
        error_set(error, ERROR_SYSTEM, "%.256s could not be written%s%s",
                  output->name != NULL ? output->name : "standard output", reason != 0 ? ": " : "",
                  reason != 0 ? strerror(reason) : "");
    if (!whole && is_beside) {
        struct error where = {0};
        error_set(&where, ERROR_SYSTEM, "What was written is in %.300s", output->beside);
        error_add(error, &where);
    }
    output_forget(output);
    return whole;
}
