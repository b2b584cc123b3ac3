/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include "base/deadline.h"
#include "base/values.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LOOK_MS = 50 };

static bool file_is_cancelled(const volatile sig_atomic_t *cancel)
{
    return cancel != NULL && *cancel != 0;
}

static bool is_fifo(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* Makes later reads and writes block, as usual. */
static int made_to_wait(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return fd;
}

static int given_up(int fd)
{
    if (fd >= 0)
        close(fd);
    errno = EINTR;
    return -1;
}

/* A non-blocking read of a pipe without a writer gives what an empty file gives. */
int file_open_to_read(const char *path, const volatile sig_atomic_t *cancel)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (is_fifo(fd) && poll(&ready, 1, LOOK_MS) <= 0)
        if (file_is_cancelled(cancel))
            return given_up(fd);
    return made_to_wait(fd);
}

bool file_take(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Without O_NONBLOCK the open of a pipe waits for a writer. */
int file_open_plain(const char *path, int flags, struct stat *status)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    if (fd < 0)
        return -1;
    if (fstat(fd, status) == 0 && S_ISREG(status->st_mode))
        return fd;
    int reason = S_ISDIR(status->st_mode) ? EISDIR : EINVAL;
    close(fd);
    errno = reason;
    return -1;
}

/* A non-blocking open for writing fails while the pipe has no reader. */
int file_open_to_write(const char *path, const volatile sig_atomic_t *cancel)
{
    for (;;) {
        int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0)
            return made_to_wait(fd);
        struct stat status;
        int reason = errno;
        if (reason != ENXIO || stat(path, &status) != 0 || !S_ISFIFO(status.st_mode)) {
            errno = reason;
            return -1;
        }
        if (file_is_cancelled(cancel))
            return given_up(-1);
        poll(NULL, 0, LOOK_MS);
    }
}

ssize_t file_read(int fd, void *out, size_t n, const volatile sig_atomic_t *cancel)
{
    for (size_t done = 0;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (file_is_cancelled(cancel)) {
            errno = EINTR;
            return -1;
        }
        if (done == n)
            return (ssize_t)n;
        if (poll(&ready, 1, LOOK_MS) <= 0)
            continue;
        ssize_t got = read(fd, (char *)out + done, n - done);
        if (got == 0)
            return (ssize_t)done;
        if (got < 0 && errno != EINTR)
            return -1;
        done += got > 0 ? (size_t)got : 0;
    }
}

size_t file_drop_mark(char *text, size_t size)
{
    static const char mark[] = "\xEF\xBB\xBF";
    size_t length = strlen(mark);
    if (size < length || memcmp(text, mark, length) != 0)
        return size;
    memmove(text, text + length, size - length);
    memset(text + size - length, 0, length);
    return size - length;
}

bool file_write(int fd, const void *bytes, size_t n)
{
    for (const char *at = bytes; n > 0;) {
        ssize_t done = write(fd, at, n);
        if (done == 0)
            errno = ENOSPC;
        if (done == 0 || (done < 0 && errno != EINTR))
            return false;
        at += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

bool file_takes(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLOUT};
    return poll(&end, 1, 0) > 0;
}

/* ---- spool */

enum {
    SPOOL_LOOK_MS = 100,
    STILL_MS = 2000,
    READ_AT_ONCE = 1 << 16,
    WRITE_AT_ONCE = 4096, /* this number fits when poll(2) says that some do: PIPE_BUF */
};

struct spool {
    int from, into, to; /* the pipe that is written to, by its two ends, and the reader's */
    size_t most;
    volatile sig_atomic_t *signals;
    atomic_bool ends_the_run, has_ended_it;
    pthread_t thread;
    /* The thread's, until it is joined. */
    char *bytes;
    size_t room, begin, end;
    bool whole;       /* nothing more will be written */
    int reason;       /* errno; 0: the reader got everything so far */
    int64_t taken_us; /* when the reader last took something, or had nothing to take */
    int64_t still_us; /* longer than that without taking anything, and it is nobody */
};

static size_t waiting(const struct spool *spool)
{
    return spool->end - spool->begin;
}

/* False: out of memory; with nothing in it there is always some. */
static bool spool_make_room(struct spool *spool)
{
    if (spool->begin > 0 && (spool->begin == spool->end || spool->begin > spool->room / 2)) {
        memmove(spool->bytes, spool->bytes + spool->begin, waiting(spool));
        spool->end -= spool->begin;
        spool->begin = 0;
    }
    char *bytes = array_grow(spool->bytes, spool->end + READ_AT_ONCE, &spool->room, 1);
    spool->bytes = bytes != NULL ? bytes : spool->bytes;
    return bytes != NULL;
}

static bool takes_more(struct spool *spool)
{
    return !spool->whole && (waiting(spool) < spool->most || *spool->signals != 0) && spool_make_room(spool);
}

static void spool_take_all(struct spool *spool)
{
    ssize_t n = read(spool->from, spool->bytes + spool->end, READ_AT_ONCE);
    if (n > 0)
        spool->end += (size_t)n;
    else if (n == 0 || errno != EINTR)
        spool->whole = true;
}

static void spool_give(struct spool *spool)
{
    size_t most = waiting(spool) < WRITE_AT_ONCE ? waiting(spool) : WRITE_AT_ONCE;
    ssize_t n = write(spool->to, spool->bytes + spool->begin, most);
    if (n > 0) {
        spool->begin += (size_t)n;
        spool->taken_us = deadline_host_us();
    } else if (n < 0 && errno != EINTR && errno != EAGAIN) {
        spool->reason = errno;
    }
}

/* A check of the user and the clock while the reader takes nothing. */
static void spool_wait(struct spool *spool, bool full)
{
    if (*spool->signals > 1)
        spool->reason = EINTR;
    bool still = deadline_host_us() - spool->taken_us > spool->still_us;
    if (full && still && *spool->signals == 0 && atomic_load(&spool->ends_the_run)) {
        atomic_store(&spool->has_ended_it, true);
        *spool->signals = 1;
    }
}

static void *carry(void *argument)
{
    struct spool *spool = argument;
    while (spool->reason == 0 && !(spool->whole && waiting(spool) == 0)) {
        bool takes = takes_more(spool), gives = waiting(spool) > 0;
        struct pollfd ends[] = {{.fd = takes ? spool->from : -1, .events = POLLIN},
                                {.fd = gives ? spool->to : -1, .events = POLLOUT}};
        int found = poll(ends, 2, gives ? SPOOL_LOOK_MS : -1);
        if (found > 0 && ends[0].revents != 0)
            spool_take_all(spool);
        if (!gives)
            spool->taken_us = deadline_host_us();
        else if (found > 0 && ends[1].revents != 0)
            spool_give(spool);
        else if (found >= 0)
            spool_wait(spool, !takes);
    }
    close(spool->from); /* who still writes learns of it */
    return NULL;
}

/* The thread gets no signals: they are for who measures. */
static int start(struct spool *spool)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int reason = pthread_create(&spool->thread, NULL, carry, spool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return reason;
}

static bool open_pipe(struct spool *spool)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    spool->from = ends[0];
    spool->into = ends[1];
    return true;
}

struct spool *spool_open(int to, size_t most, volatile sig_atomic_t *signals)
{
    struct spool *spool = calloc(1, sizeof *spool);
    if (spool == NULL)
        return NULL;
    *spool = (struct spool){.to = to,
                            .most = most,
                            .bytes = malloc(READ_AT_ONCE),
                            .room = READ_AT_ONCE,
                            .taken_us = deadline_host_us(),
                            .still_us = patience_ms(STILL_MS) * 1000};
    spool->signals = signals;
    if (spool->bytes != NULL && open_pipe(spool)) {
        int reason = start(spool);
        if (reason == 0)
            return spool;
        close(spool->from);
        close(spool->into);
        errno = reason;
    }
    free(spool->bytes);
    free(spool);
    return NULL;
}

int spool_descriptor(const struct spool *spool)
{
    return spool->into;
}

void spool_ends_the_run(struct spool *spool)
{
    atomic_store(&spool->ends_the_run, true);
}

bool spool_has_ended_the_run(const struct spool *spool)
{
    return atomic_load(&spool->has_ended_it);
}

bool spool_close(struct spool *spool)
{
    pthread_join(spool->thread, NULL);
    int reason = spool->reason;
    free(spool->bytes);
    free(spool);
    errno = reason;
    return reason == 0;
}
