#include "links/dap/carriers.h"

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

enum { HEADER = 8, REQUEST = 1, RESPONSE = 2 };

struct tcp {
    struct carrier carrier; /* first */
    int fd;
};

/* False when the deadline passes first. */
static bool wait_for(int fd, short events, const struct deadline *deadline)
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

static bool lost(struct tcp *tcp, const char *what, struct error *error)
{
    return error_set(error, ERROR_LINK_LOST, "%s: %s", tcp->carrier.name, what);
}

static bool write_all(struct tcp *tcp, const uint8_t *bytes, size_t n, const struct deadline *deadline,
                      struct error *error)
{
    while (n > 0) {
        ssize_t sent = send(tcp->fd, bytes, n, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            n -= (size_t)sent;
        } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(tcp->fd, POLLOUT, deadline))
                return lost(tcp, "it takes no more packets", error);
        } else if (sent < 0 && errno != EINTR) {
            return lost(tcp, socket_failure(errno), error);
        }
    }
    return true;
}

static bool read_all(struct tcp *tcp, uint8_t *bytes, size_t n, const struct deadline *deadline,
                     struct error *error)
{
    while (n > 0) {
        ssize_t got = recv(tcp->fd, bytes, n, 0);
        if (got > 0) {
            bytes += got;
            n -= (size_t)got;
        } else if (got == 0) {
            return lost(tcp, socket_failure(0), error);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(tcp->fd, POLLIN, deadline))
                return lost(tcp, "no answer", error);
        } else if (errno != EINTR) {
            return lost(tcp, socket_failure(errno), error);
        }
    }
    return true;
}

static bool tcp_send(struct carrier *carrier, const uint8_t *packet, size_t n,
                     const struct deadline *deadline, struct error *error)
{
    uint8_t bytes[HEADER + CARRIER_ROOM] = {'D', 'A', 'P', 0, (uint8_t)n, (uint8_t)(n >> 8), REQUEST, 0};
    if (n > CARRIER_ROOM)
        return error_set(error, ERROR_SYSTEM, "a packet grew too long");
    memcpy(bytes + HEADER, packet, n);
    return write_all((struct tcp *)carrier, bytes, HEADER + n, deadline, error);
}

static bool tcp_receive(struct carrier *carrier, uint8_t *packet, size_t room, size_t *n,
                        const struct deadline *deadline, struct error *error)
{
    static const uint8_t signature[4] = {'D', 'A', 'P', 0};
    struct tcp *tcp = (struct tcp *)carrier;
    uint8_t header[HEADER];
    if (!read_all(tcp, header, HEADER, deadline, error))
        return false;
    size_t length = header[4] | (size_t)header[5] << 8;
    if (memcmp(header, signature, sizeof signature) != 0 || header[6] != RESPONSE)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s does not speak CMSIS-DAP over TCP",
                         tcp->carrier.name);
    if (length > room)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s: a reply of %zu bytes is too long",
                         tcp->carrier.name, length);
    *n = length;
    return read_all(tcp, packet, length, deadline, error);
}

static void tcp_close(struct carrier *carrier)
{
    struct tcp *tcp = (struct tcp *)carrier;
    if (tcp->fd >= 0)
        close(tcp->fd);
    free(tcp);
}

/* 0, or an errno. */
static int connect_one(struct tcp *tcp, const struct addrinfo *to, const struct deadline *deadline)
{
    tcp->fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    if (tcp->fd < 0)
        return errno;
    int failure = 0;
    if (connect(tcp->fd, to->ai_addr, to->ai_addrlen) != 0) {
        failure = errno;
        if (failure == EINPROGRESS || failure == EINTR) {
            socklen_t size = sizeof failure;
            if (!wait_for(tcp->fd, POLLOUT, deadline))
                failure = deadline_cancelled(deadline) ? ECANCELED : ETIMEDOUT;
            else if (getsockopt(tcp->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0)
                failure = errno;
        }
    }
    if (failure != 0) {
        close(tcp->fd);
        tcp->fd = -1;
        return failure;
    }
    int one = 1;
    setsockopt(tcp->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return 0;
}

struct carrier *tcp_connect(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error)
{
    static const struct carrier_ops ops = {.send = tcp_send, .receive = tcp_receive, .close = tcp_close};
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int unknown = getaddrinfo(host, service, &hints, &list);
    if (unknown != 0) {
        error_set(error, ERROR_NO_PROBE, "cannot find the host %.200s: %s", host, gai_strerror(unknown));
        return NULL;
    }
    struct tcp *tcp = calloc(1, sizeof *tcp);
    int failure = ENOMEM;
    if (tcp != NULL) {
        tcp->carrier.ops = &ops;
        tcp->carrier.takes_several = true; /* each has its length in front: none can be taken for two */
        tcp->fd = -1;
        snprintf(tcp->carrier.name, sizeof tcp->carrier.name, "cmsis-dap-tcp %.128s:%s", host, service);
        for (const struct addrinfo *to = list; to != NULL && tcp->fd < 0 && failure != ECANCELED;
             to = to->ai_next)
            failure = connect_one(tcp, to, deadline);
    }
    freeaddrinfo(list);
    if (tcp != NULL && tcp->fd >= 0)
        return &tcp->carrier;
    free(tcp);
    if (failure == ECANCELED)
        error_set(error, ERROR_CANCELLED, "cancelled");
    else if (failure == ECONNREFUSED)
        error_set(error, ERROR_NO_PROBE, "nothing listens on %.200s:%s", host, service);
    else
        error_set(error, ERROR_NO_PROBE, "cannot connect to %.200s:%s: %s", host, service, strerror(failure));
    return NULL;
}
