#include "base/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool socket_wait(int fd, short events, const struct deadline *deadline)
{
    for (;;) {
        struct pollfd one = {.fd = fd, .events = events};
        int ready = poll(&one, 1, deadline_poll_ms(deadline));
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true; /* whatever is wrong shows in the call that follows */
        if (deadline_passed(deadline))
            return false;
    }
}

/* 0, or an errno. */
static int finish(int fd, const struct deadline *deadline)
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
        failure = errno == EINPROGRESS || errno == EINTR ? finish(fd, deadline) : errno;
    if (failure != 0) {
        close(fd);
        return failure;
    }
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *out = fd;
    return 0;
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
        error_set(error, ERROR_NO_PROBE, "cannot find the host %.200s: %s", host, gai_strerror(unknown));
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
        error_set(error, ERROR_NO_PROBE, "nothing listens on %.200s:%s", host, service);
    else
        error_set(error, ERROR_NO_PROBE, "cannot connect to %.200s:%s: %s", host, service, strerror(failure));
    return -1;
}

/* A peer that dies resets the connection when it has left something unread, and else ends it. */
const char *socket_failure(int failure)
{
    bool closed = failure == 0 || failure == ECONNRESET || failure == EPIPE;
    return closed ? "it closed the connection" : strerror(failure);
}
