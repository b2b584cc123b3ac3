#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
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
