/* SPDX-License-Identifier: MIT */
#include "base/state.h"

#include "base/values.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 96, TRIES = 8, LOCK_NOTE = 1024 };

/* --- the folder ----------------------------------------------------------------------------------------- */

/* Makes every folder of the path that is missing. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST || access(path, X_OK) == 0;
        *slash = '/';
        if (!made)
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool state_folder(char *out, size_t size, struct error *error)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int used = -1;
    if (state != NULL && state[0] == '/') /* others are to be ignored: XDG Base Directory Specification */
        used = snprintf(out, size, "%s/pmu-probe", state);
    else if (home != NULL && home[0] == '/')
        used = snprintf(out, size, "%s/.local/state/pmu-probe", home);
    if (used < 0)
        return error_set(error, ERROR_SYSTEM, "neither XDG_STATE_HOME nor HOME names a folder");
    if ((size_t)used >= size)
        return error_set(error, ERROR_SYSTEM, "the path of the state folder is too long");
    struct stat folder;
    if (!make_folders(out) || stat(out, &folder) != 0)
        return error_set(error, ERROR_SYSTEM, "%s: %s", out, strerror(errno));
    if (!S_ISDIR(folder.st_mode) || folder.st_uid != geteuid() || (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return error_set(error, ERROR_SYSTEM, "%s: not a folder that only this user may write", out);
    return true;
}

void state_key(const char *text, char out[STATE_KEY])
{
    snprintf(out, STATE_KEY, "%016" PRIx64, hash_add(0, text, strlen(text)));
}

/* --- locks ---------------------------------------------------------------------------------------------- */

struct lock {
    int fd;
    char left[LOCK_NOTE];
    bool noted; /* something must stay for the next one */
    char path[];
};

/* "delta, process 1234": what a process was started for. */
static void describe_process(long process, char *out, size_t size)
{
    char path[64], words[4096];
    snprintf(path, sizeof path, "/proc/%ld/cmdline", process);
    snprintf(out, size, "process %ld", process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, words, sizeof words - 1) : 0;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    size_t used = 0;
    char line[WORDS] = "";
    for (ssize_t i = 0; i < n && used + 1 < sizeof line; i++) {
        char c = words[i];
        if (c == '\0')
            c = ' ';
        line[used++] = (char)(c >= ' ' && c <= '~' ? c : '?');
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    line[used] = '\0';
    size_t folder = strcspn(line, " ");
    while (folder > 0 && line[folder - 1] != '/')
        folder--;
    snprintf(out, size, "process %ld (%s%s)", process, line + folder, used + 1 == sizeof line ? "..." : "");
}

static bool state_refuse(int fd, const char *name, struct error *error)
{
    char text[32] = "", holder[WORDS + 64] = "another pmu-probe", since[32] = "";
    struct stat file;
    struct tm when;
    uint64_t process = 0;
    if (pread(fd, text, sizeof text - 1, 0) > 0 && numbers_read(text, 10, &process, 1) != NULL)
        describe_process((long)process, holder, sizeof holder);
    if (fstat(fd, &file) == 0 && localtime_r(&file.st_mtime, &when) != NULL)
        strftime(since, sizeof since, " since %H:%M", &when);
    if (error->kind == ERROR_NONE)
        error->holder = (long)process;
    return error_set(error, ERROR_IN_USE, "%s is in use by %s%s", name, holder, since);
}

/* The file may have been removed by the process that held it, while we waited for it. */
static bool state_is_there(int fd, const char *path)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

/* The first line is the process, the second its note. */
static void read_left(struct lock *lock)
{
    char text[LOCK_NOTE + 32] = "";
    ssize_t n = pread(lock->fd, text, sizeof text - 1, 0);
    const char *line = n > 0 ? strchr(text, '\n') : NULL;
    if (line == NULL)
        return;
    size_t length = strcspn(line + 1, "\n");
    if (length < sizeof lock->left) {
        memcpy(lock->left, line + 1, length);
        lock->left[length] = '\0';
    }
}

void lock_note(struct lock *lock, const char *text)
{
    char line[LOCK_NOTE + 32];
    if (lock == NULL)
        return;
    lock->noted = text[0] != '\0';
    int used = snprintf(line, sizeof line, "%ld\n%s\n", (long)getpid(), text);
    if (used < 0 || (size_t)used >= sizeof line)
        return;
    if (pwrite(lock->fd, line, (size_t)used, 0) == used)
        (void)!ftruncate(lock->fd, used);
}

const char *lock_left(const struct lock *lock)
{
    return lock != NULL ? lock->left : "";
}

bool lock_take(const char *name, struct lock **out, struct error *error)
{
    char folder[PATH_MAX], key[STATE_KEY];
    struct error none = {0};
    *out = NULL;
    if (!state_folder(folder, sizeof folder, &none))
        return true;
    state_key(name, key);
    size_t size = strlen(folder) + sizeof key + sizeof "/.lock";
    struct lock *lock = calloc(1, sizeof *lock + size);
    if (lock == NULL)
        return error_memory(error);
    snprintf(lock->path, size, "%s/%s.lock", folder, key);
    for (int tries = 0; tries < TRIES; tries++) {
        lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (lock->fd < 0)
            break;
        if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0) {
            bool taken = errno == EWOULDBLOCK;
            if (taken)
                state_refuse(lock->fd, name, error);
            close(lock->fd);
            free(lock);
            return !taken; /* a file system without locks */
        }
        if (state_is_there(lock->fd, lock->path)) {
            read_left(lock);
            lock_note(lock, lock->left);
            *out = lock;
            return true;
        }
        close(lock->fd);
    }
    free(lock);
    return true;
}

void lock_free(struct lock *lock)
{
    if (lock == NULL)
        return;
    if (!lock->noted)
        unlink(lock->path);
    close(lock->fd);
    free(lock);
}
