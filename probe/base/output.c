/* SPDX-License-Identifier: MIT */
#include "base/output.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".part-XXXXXX";

static void output_forget(struct output *output)
{
    free(output->path);
    free(output->beside);
    *output = (struct output){.file = stdout};
}

static void output_remove_part(const struct output *output)
{
    if (output->beside != NULL)
        unlink(output->beside);
}

static bool output_refuse(struct output *output, int reason, struct error *error)
{
    const char *name = output->name;
    output_remove_part(output);
    output_forget(output);
    if (reason == EINTR)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    return error_advise(error, ERROR_USAGE, "", "%.256s cannot be written: %s", name, strerror(reason));
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

static bool can_be_written(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/* 1 or 2 if `status` is that of standard output or standard error, else -1. */
static int standard_stream(const struct stat *status)
{
    struct stat own;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (can_be_written(fd) && fstat(fd, &own) == 0 && own.st_dev == status->st_dev &&
            own.st_ino == status->st_ino)
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

/* A file of this name and some letters more; -1: there cannot be one, and *part is NULL. */
static int make_part(const char *path, char **part)
{
    size_t size = strlen(path) + sizeof suffix;
    *part = malloc(size);
    if (*part != NULL)
        snprintf(*part, size, "%s%s", path, suffix);
    int fd = *part != NULL ? mkostemp(*part, O_CLOEXEC) : -1;
    if (fd >= 0)
        return fd;
    free(*part);
    *part = NULL;
    return -1;
}

/* Whether it can take the place of the old one: by its owner and its mode. */
static bool part_is_alike(int fd, const struct stat *before)
{
    struct stat status;
    return fstat(fd, &status) == 0 &&
           (before == NULL || ((status.st_uid == before->st_uid && status.st_gid == before->st_gid) ||
                               fchown(fd, before->st_uid, before->st_gid) == 0)) &&
           fchmod(fd, before != NULL ? before->st_mode & 07777 : default_mode()) == 0;
}

/* Next to the file, or where temporary files are; -1 with errno. */
static int output_open_part(struct output *output, const struct stat *before)
{
    const char *folder = getenv("TMPDIR"), *slash = strrchr(output->path, '/');
    char path[PATH_MAX];
    bool one_name = before == NULL || before->st_nlink == 1;
    int fd = make_part(output->path, &output->beside);
    output->way = OUTPUT_BESIDE;
    if (fd >= 0 && one_name && part_is_alike(fd, before))
        return fd;
    output->way = OUTPUT_COPIED;
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "%s/%s", folder != NULL && folder[0] == '/' ? folder : P_tmpdir,
             slash != NULL ? slash + 1 : output->path);
    return make_part(path, &output->beside);
}

static int output_open_new(struct output *output)
{
    int fd = open(output->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    output->way = fd >= 0 ? OUTPUT_AT_ONCE : OUTPUT_AS_IT_IS;
    return fd;
}

/* -o before the name of a program that is measured. */
static bool is_a_program(const char *path)
{
    char head[4];
    struct stat status;
    int fd = file_open_plain(path, 0, &status);
    bool is = fd >= 0 && read(fd, head, sizeof head) == sizeof head && memcmp(head, "\177ELF", 4) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

/* Where a new file of that name is made: symbolic links may lead there. To be freed; NULL with errno. */
static char *find_new(const char *name)
{
    enum { LINKS = 40 }; /* as Linux follows: path_resolution(7) */
    char path[PATH_MAX], target[PATH_MAX];
    int reason = snprintf(path, sizeof path, "%s", name) >= (int)sizeof path ? ENAMETOOLONG : 0;
    for (int i = 0; i <= LINKS && reason == 0; i++) {
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n < 0)
            return strdup(path);
        const char *slash = strrchr(path, '/');
        size_t folder = target[0] == '/' || slash == NULL ? 0 : (size_t)(slash + 1 - path);
        target[n] = '\0';
        reason = snprintf(path + folder, sizeof path - folder, "%s", target) >= (int)(sizeof path - folder)
                     ? ENAMETOOLONG
                     : 0;
    }
    errno = reason != 0 ? reason : ELOOP;
    return NULL;
}

static bool open_plain(struct output *output, const struct stat *before, enum output_old old,
                       struct error *error)
{
    const char *name = output->name;
    if (before != NULL && old == OUTPUT_NEW)
        return error_advise(error, ERROR_USAGE, "", "%.256s exists, and this replaces no file", name);
    output->path = before != NULL ? realpath(output->name, NULL) : find_new(output->name);
    if (output->path == NULL || (before != NULL && access(output->path, W_OK) != 0))
        return output_refuse(output, errno, error);
    if (before != NULL && is_a_program(output->path)) {
        output_forget(output);
        return error_advise(error, ERROR_USAGE, "", "%.256s is a program (ELF): it would be lost", name);
    }
    if (before == NULL && old != OUTPUT_REPLACES)
        return take_descriptor(output, output_open_new(output), error);
    int fd = output_open_part(output, before);
    if (before != NULL || (fd >= 0 && output->way == OUTPUT_BESIDE))
        return take_descriptor(output, fd, error);
    /* Nothing can be lost, and open(2) gives the reason */
    if (fd >= 0)
        close(fd);
    output_remove_part(output);
    free(output->beside);
    output->beside = NULL;
    return take_descriptor(output, output_open_new(output), error);
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

static bool open_named(struct output *output, enum output_old old, const volatile sig_atomic_t *cancel,
                       struct error *error)
{
    const char *name = output->name;
    struct stat status, link;
    if (stat(name, &status) != 0) {
        if (errno != ENOENT)
            return output_refuse(output, errno, error);
        if (old == OUTPUT_NEW && lstat(name, &link) == 0)
            return output_refuse(output, EEXIST, error);
        return open_plain(output, NULL, old, error);
    }
    int standard = standard_stream(&status);
    if (S_ISDIR(status.st_mode))
        return output_refuse(output, EISDIR, error);
    if (S_ISREG(status.st_mode) && standard < 0)
        return open_plain(output, &status, old, error);
    if (standard >= 0)
        return take_descriptor(output, fcntl(standard, F_DUPFD_CLOEXEC, 0), error);
    return take_descriptor(output, file_open_to_write(name, cancel), error);
}

bool output_open(struct output *output, const char *name, enum output_old old, volatile sig_atomic_t *signals,
                 struct error *error)
{
    *output = (struct output){.file = stdout, .name = name};
    if (name != NULL && !open_named(output, old, signals, error))
        return false;
    open_spool(output, signals);
    return true;
}

/* Whether `to` has room for that. It stays as it is. */
static bool has_room(int to, off_t size)
{
    return size == 0 || fallocate(to, FALLOC_FL_KEEP_SIZE, 0, size) == 0 || errno == EOPNOTSUPP ||
           errno == ENOSYS || errno == EINTR;
}

/* Over what is there; before that it is known that it fits. False with errno. */
static bool copy(const char *part, const char *path)
{
    char block[1 << 14];
    struct stat status;
    int from = file_open_plain(part, 0, &status), to = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = 1;
    bool ok = from >= 0 && to >= 0 && has_room(to, status.st_size);
    while (ok && n > 0) {
        n = file_read(from, block, sizeof block, NULL);
        ok = n >= 0 && file_write(to, block, (size_t)n);
    }
    ok = ok && ftruncate(to, status.st_size) == 0;
    int reason = errno;
    if (to >= 0 && close(to) != 0 && ok) {
        reason = errno;
        ok = false;
    }
    if (from >= 0)
        close(from);
    errno = reason;
    return ok;
}

/* False with errno. */
static bool close_spool(struct output *output)
{
    if (output_is_unread(output))
        fprintf(stderr,
                "pmu-probe: nobody took %d MB of output, so the run was ended. -o FILE needs no reader.\n",
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
    int reason = errno;
    if (!is_standard(output->file) && fclose(output->file) != 0 && whole) {
        reason = errno;
        whole = false;
    }
    if (output->spool != NULL && !close_spool(output)) {
        reason = whole || reason == 0 ? errno : reason;
        whole = false;
    }
    if (whole && take && output->way == OUTPUT_COPIED && !copy(output->beside, output->path)) {
        reason = errno;
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
    bool is_beside = output->beside != NULL && keep != KEEP_NOTHING && !(whole && keep == KEEP_ALL);
    if (!is_beside && (keep == KEEP_NOTHING || output->way == OUTPUT_COPIED))
        output_remove_part(output);
    if (keep == KEEP_NOTHING && output->way == OUTPUT_AT_ONCE)
        unlink(output->path);
    *left = !whole && reason == EPIPE;
    whole = whole || *left;
    if (whole && keep == KEEP_PART && is_beside)
        fprintf(stderr, "pmu-probe: %.256s is as it was; what was measured until Ctrl-C is in %.300s\n",
                output->name, output->beside);
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
