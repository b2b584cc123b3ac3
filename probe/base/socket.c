/* SPDX-License-Identifier: MIT */
#include "base/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A decimal number from 1 to 65535, and nothing else. */
static bool socket_read_port(const char *text, uint16_t *port)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '1' || *text > '9' || *end != '\0' || errno != 0 || value > UINT16_MAX)
        return false;
    *port = (uint16_t)value;
    return true;
}

bool socket_address_read(const char *text, char *host, size_t size, uint16_t *port, struct error *error)
{
    bool bracket = text[0] == '[';
    const char *name = text + bracket;
    size_t length = strcspn(name, bracket ? "]" : ":");
    const char *rest = name + length; /* ":PORT" or nothing */
    if (bracket && *rest++ != ']')
        return error_set(error, ERROR_USAGE, "--probe: \"%.64s\" has no closing bracket", text);
    if (!bracket && *rest == ':' && strchr(rest + 1, ':') != NULL)
        return error_set(error, ERROR_USAGE, "--probe: put the IPv6 address in \"%.64s\" in brackets", text);
    if (length >= size)
        return error_set(error, ERROR_USAGE, "--probe: the host's name is too long");
    if (!bracket && length > 0 && strspn(name, "0123456789") == length)
        return error_set(error, ERROR_USAGE, "--probe: \"%.64s\" has no host: localhost:%.*s", text,
                         (int)length, name);
    if (*rest != '\0' && (*rest != ':' || !socket_read_port(rest + 1, port)))
        return error_set(error, ERROR_USAGE, "--probe: \"%.32s\" is not a port: 1 to 65535",
                         rest + (*rest == ':'));
    if (length > 0)
        snprintf(host, size, "%.*s", (int)length, name);
    return true;
}

bool socket_wait(int fd, short events, const struct deadline *deadline)
{
    for (;;) {
        struct pollfd one = {.fd = fd, .events = events};
        int ready = poll(&one, 1, deadline_poll_ms(deadline));
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true; /* the call that follows shows what is wrong */
        if (deadline_passed(deadline))
            return false;
    }
}

/* Waits until the connection is made; 0, or an errno. */
static int finish_connecting(int fd, const struct deadline *deadline)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    if (!socket_wait(fd, POLLOUT, deadline))
        return deadline_cancelled(deadline) ? ECANCELED : ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0 ? errno : failure;
}

static int connect_one(const struct addrinfo *to, int *out, const struct deadline *deadline)
{
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    if (fd < 0)
        return errno;
    int failure = 0;
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0)
        failure = errno == EINPROGRESS || errno == EINTR ? finish_connecting(fd, deadline) : errno;
    if (failure != 0) {
        close(fd);
        return failure;
    }
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *out = fd;
    return 0;
}

uint16_t socket_own_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } own = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof own;
    if (getsockname(fd, &own.any, &size) != 0)
        return 0;
    if (own.any.sa_family == AF_INET6)
        return ntohs(own.v6.sin6_port);
    return own.any.sa_family == AF_INET ? ntohs(own.v4.sin_port) : 0;
}

int socket_connect(const char *host, uint16_t port, const struct deadline *deadline, struct error *error)
{
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int fd = -1, failure = 0;
    int unknown = getaddrinfo(host, service, &hints, &list);
    if (unknown != 0) {
        error_advise(error, ERROR_NO_PROBE, "Check its name, or give its address.",
                     "cannot find the host %.200s: %s", host, gai_strerror(unknown));
        return -1;
    }
    for (const struct addrinfo *to = list; to != NULL && fd < 0 && failure != ECANCELED; to = to->ai_next)
        failure = connect_one(to, &fd, deadline);
    freeaddrinfo(list);
    if (fd >= 0)
        return fd;
    if (failure == ECANCELED)
        error_set(error, ERROR_CANCELLED, "cancelled");
    else if (failure == ECONNREFUSED)
        error_advise(error, ERROR_NO_PROBE,
                     "Start the server there, or let pmu-probe start OpenOCD: -f board/YOUR_BOARD.cfg",
                     "nothing listens on %.200s:%s", host, service);
    else
        error_advise(error, ERROR_NO_PROBE, "", "cannot connect to %.200s:%s: %s", host, service,
                     strerror(failure));
    return -1;
}

static bool would_block(int failure)
{
    return failure == EAGAIN || failure == EWOULDBLOCK || failure == EINTR;
}

ssize_t socket_try_send(int fd, const void *bytes, size_t n)
{
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
    if (sent < 0 && errno == ENOTSOCK) /* a serial port */
        sent = write(fd, bytes, n);
    return sent >= 0 ? sent : would_block(errno) ? 0 : -errno;
}

ssize_t socket_try_receive(int fd, void *bytes, size_t room)
{
    ssize_t got = recv(fd, bytes, room, 0);
    if (got < 0 && errno == ENOTSOCK)
        got = read(fd, bytes, room);
    if (got == 0)
        return -ECONNRESET;
    return got > 0 ? got : would_block(errno) ? 0 : -errno;
}

/* Sending does not write to the bytes. */
static int move(int fd, char *bytes, size_t n, bool sends, const struct deadline *deadline)
{
    for (size_t done = 0; done < n;) {
        ssize_t more = sends ? socket_try_send(fd, bytes + done, n - done)
                             : socket_try_receive(fd, bytes + done, n - done);
        if (more < 0)
            return (int)-more;
        if (more == 0 && !socket_wait(fd, sends ? POLLOUT : POLLIN, deadline))
            return SOCKET_LATE;
        done += (size_t)more;
    }
    return 0;
}

int socket_send(int fd, const void *bytes, size_t n, const struct deadline *deadline)
{
    return move(fd, (char *)bytes, n, true, deadline);
}

int socket_receive(int fd, void *bytes, size_t n, const struct deadline *deadline)
{
    return move(fd, bytes, n, false, deadline);
}

/* A peer that dies resets the connection if it left something unread, and ends it otherwise. */
bool socket_was_closed(int failure)
{
    return failure == ECONNRESET || failure == EPIPE;
}

const char *socket_failure(int failure, const char *late)
{
    if (failure == SOCKET_LATE)
        return late;
    return socket_was_closed(failure) ? "it closed the connection" : strerror(failure);
}
