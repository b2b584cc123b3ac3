/*
 * The socket to OpenOCD's Tcl port.
 */
#include "links/openocd_rpc.h"

#include "links/openocd_process.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { END_OF_TEXT = 0x1a, READ_AT_LEAST = 4096, SPOKEN_ANSWER = 1 << 18 };

static enum openocd_end deadline_end(const struct deadline *deadline)
{
    return deadline_cancelled(deadline) ? OPENOCD_CANCELLED : OPENOCD_SILENT;
}

/* Until the socket is ready for `events`, an error is pending on it, or the deadline passes. */
static enum openocd_end wait_for(struct openocd_rpc *rpc, short events, const struct deadline *deadline)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = rpc->fd, .events = events}, {.fd = -1, .events = POLLIN}};
        if (rpc->process != NULL)
            fds[1].fd = openocd_process_log_fd(rpc->process);
        int ready = poll(fds, 2, deadline_poll_ms(deadline));
        if (ready < 0 && errno != EINTR)
            return OPENOCD_CLOSED;
        if (ready > 0 && fds[1].revents != 0)
            openocd_process_read_log(rpc->process);
        if (ready > 0 && fds[0].revents != 0)
            return OPENOCD_ANSWERED;
        if (deadline_passed(deadline))
            return deadline_end(deadline);
    }
}

/* 0, or an errno. */
static int connect_one(struct openocd_rpc *rpc, const struct addrinfo *to, const struct deadline *deadline)
{
    rpc->fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    if (rpc->fd < 0)
        return errno;
    int failure = 0;
    if (connect(rpc->fd, to->ai_addr, to->ai_addrlen) != 0) {
        failure = errno;
        if (failure == EINPROGRESS || failure == EINTR) {
            socklen_t size = sizeof failure;
            enum openocd_end end = wait_for(rpc, POLLOUT, deadline);
            if (end != OPENOCD_ANSWERED)
                failure = end == OPENOCD_CANCELLED ? ECANCELED : ETIMEDOUT;
            else if (getsockopt(rpc->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0)
                failure = errno;
        }
    }
    if (failure != 0) {
        close(rpc->fd);
        rpc->fd = -1;
        return failure;
    }
    int one = 1;
    setsockopt(rpc->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return 0;
}

bool openocd_rpc_open(struct openocd_rpc *rpc, const char *host, uint16_t port,
                      const struct deadline *deadline, struct error *error)
{
    rpc->fd = -1;
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int unknown = getaddrinfo(host, service, &hints, &list);
    if (unknown != 0)
        return error_set(error, ERROR_NO_PROBE, "cannot find the host %.200s: %s", host,
                         gai_strerror(unknown));
    int failure = 0;
    for (const struct addrinfo *to = list; to != NULL && rpc->fd < 0; to = to->ai_next) {
        failure = connect_one(rpc, to, deadline);
        if (failure == ECANCELED)
            break;
    }
    freeaddrinfo(list);
    if (rpc->fd >= 0)
        return true;
    if (failure == ECANCELED)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    if (failure == ECONNREFUSED)
        return error_set(error, ERROR_NO_PROBE, "nothing listens on %.200s:%s", host, service);
    return error_set(error, ERROR_NO_PROBE, "cannot connect to %.200s:%s: %s", host, service,
                     strerror(failure));
}

void openocd_rpc_close(struct openocd_rpc *rpc)
{
    if (rpc->fd >= 0)
        close(rpc->fd);
    rpc->fd = -1;
    free(rpc->buffer);
    rpc->buffer = NULL;
    rpc->used = rpc->room = rpc->consumed = 0;
}

/* Asked and answered at once: the answer waits in the buffer as if it had come over a socket. */
static enum openocd_end speak(struct openocd_rpc *rpc, const char *request, size_t length,
                              const struct deadline *deadline)
{
    size_t got = 0;
    if (rpc->room < SPOKEN_ANSWER) {
        char *buffer = realloc(rpc->buffer, SPOKEN_ANSWER);
        if (buffer == NULL)
            return OPENOCD_NO_MEMORY;
        rpc->buffer = buffer;
        rpc->room = SPOKEN_ANSWER;
    }
    rpc->used = rpc->consumed = 0;
    enum openocd_end end =
        rpc->voice->ask(rpc->voice->context, request, length, rpc->buffer, SPOKEN_ANSWER - 1, &got, deadline);
    if (end == OPENOCD_ANSWERED) {
        rpc->buffer[got] = END_OF_TEXT;
        rpc->used = got + 1;
    }
    return end;
}

enum openocd_end openocd_rpc_send(struct openocd_rpc *rpc, const char *request, size_t length,
                                  const struct deadline *deadline)
{
    log_text(rpc->log, '>', "tcl", request, length > 0 ? length - 1 : 0);
    if (rpc->voice != NULL)
        return speak(rpc, request, length > 0 ? length - 1 : 0, deadline); /* its 0x1a is the socket's */
    while (length > 0) {
        if (rpc->fd < 0)
            return OPENOCD_CLOSED;
        ssize_t sent = send(rpc->fd, request, length, MSG_NOSIGNAL);
        if (sent > 0) {
            request += sent;
            length -= (size_t)sent;
        } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            enum openocd_end end = wait_for(rpc, POLLOUT, deadline);
            if (end != OPENOCD_ANSWERED)
                return end;
        } else if (sent < 0 && errno != EINTR) {
            return OPENOCD_CLOSED;
        }
    }
    return OPENOCD_ANSWERED;
}

static bool make_room(struct openocd_rpc *rpc)
{
    if (rpc->room - rpc->used >= READ_AT_LEAST)
        return true;
    size_t room = rpc->room * 2 + READ_AT_LEAST;
    char *buffer = realloc(rpc->buffer, room);
    if (buffer == NULL)
        return false;
    rpc->buffer = buffer;
    rpc->room = room;
    return true;
}

enum openocd_end openocd_rpc_receive(struct openocd_rpc *rpc, size_t largest, const struct deadline *deadline,
                                     const char **answer, size_t *length)
{
    if (rpc->consumed > 0) {
        rpc->used -= rpc->consumed;
        memmove(rpc->buffer, rpc->buffer + rpc->consumed, rpc->used);
        rpc->consumed = 0;
    }
    size_t seen = 0;
    for (;;) {
        char *end = rpc->used > seen ? memchr(rpc->buffer + seen, END_OF_TEXT, rpc->used - seen) : NULL;
        if (end != NULL) {
            *end = '\0';
            *answer = rpc->buffer;
            *length = (size_t)(end - rpc->buffer);
            rpc->consumed = *length + 1;
            log_text(rpc->log, '<', "tcl", *answer, *length);
            return *length > largest ? OPENOCD_TOO_LONG : OPENOCD_ANSWERED;
        }
        seen = rpc->used;
        if (rpc->used > largest)
            return OPENOCD_TOO_LONG;
        if (rpc->fd < 0)
            return OPENOCD_CLOSED;
        if (!make_room(rpc))
            return OPENOCD_NO_MEMORY;
        enum openocd_end ready = wait_for(rpc, POLLIN, deadline);
        if (ready != OPENOCD_ANSWERED)
            return ready;
        ssize_t got = recv(rpc->fd, rpc->buffer + rpc->used, rpc->room - rpc->used, 0);
        if (got > 0)
            rpc->used += (size_t)got;
        else if (got == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK))
            return OPENOCD_CLOSED;
        /* An endless answer in small pieces always finds the socket ready */
        if (deadline_passed(deadline) &&
            (rpc->used == seen || memchr(rpc->buffer + seen, END_OF_TEXT, rpc->used - seen) == NULL))
            return deadline_end(deadline);
    }
}

const char *openocd_rpc_pending(const struct openocd_rpc *rpc, size_t *length)
{
    *length = rpc->used - rpc->consumed;
    return rpc->buffer == NULL ? "" : rpc->buffer + rpc->consumed;
}
