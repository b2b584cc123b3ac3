/* Preloaded into OpenOCD. Its remote_bitbang driver polls the socket after each bit that it wants back, in
   case the bit is there already: 460 system calls for one word of memory, which take most of its CPU time.
   Here such a poll finds nothing without asking the kernel. When the driver needs the bits it reads again and
   waits, and that read is carried out. What it writes, often a letter, goes out together, before it waits for
   anything. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int board = -1; /* its socket, the only one of OpenOCD's that is in the file system */
static bool polls;
static char letters[4096];
static size_t held;

/* Whether the board took them; what it did not take is lost with the connection. */
static bool flush(void)
{
    size_t sent = 0;
    for (ssize_t n; sent < held; sent += (size_t)n)
        if ((n = syscall(SYS_write, board, letters + sent, held - sent)) <= 0)
            break;
    bool all = sent == held;
    held = 0;
    return all;
}

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    if (to->sa_family == AF_UNIX) {
        board = fd;
        polls = false;
        held = 0;
    }
    return (int)syscall(SYS_connect, fd, to, length);
}

int fcntl(int fd, int command, ...) __attribute__((alias("fcntl64")));

/* The socket itself always waits */
int fcntl64(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    long value = va_arg(more, long);
    va_end(more);
    if (fd == board && command == F_SETFL) {
        polls = (value & O_NONBLOCK) != 0;
        return 0;
    }
    if (fd == board && command == F_GETFL)
        return O_RDWR | (polls ? O_NONBLOCK : 0);
    return (int)syscall(SYS_fcntl, fd, command, value);
}

ssize_t read(int fd, void *into, size_t room)
{
    if (fd == board && polls) {
        errno = EAGAIN;
        return -1;
    }
    if (fd == board && !flush())
        return -1;
    return syscall(SYS_read, fd, into, room);
}

ssize_t write(int fd, const void *from, size_t n)
{
    if (fd != board)
        return syscall(SYS_write, fd, from, n);
    if (n > sizeof letters - held && !flush())
        return -1;
    if (n > sizeof letters)
        return syscall(SYS_write, fd, from, n);
    memcpy(letters + held, from, n);
    held += n;
    return (ssize_t)n;
}

int close(int fd)
{
    if (fd == board) {
        flush();
        board = -1;
    }
    return (int)syscall(SYS_close, fd);
}

int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
           struct timeval *restrict most)
{
    struct timespec time = {0};
    if (most)
        time = (struct timespec){.tv_sec = most->tv_sec, .tv_nsec = most->tv_usec * 1000};
    flush();
    return (int)syscall(SYS_pselect6, n, in, out, other, most ? &time : NULL, NULL);
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
    flush();
    return (int)syscall(SYS_nanosleep, time, rest);
}

int usleep(useconds_t us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    return nanosleep(&time, NULL);
}
