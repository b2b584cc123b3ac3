#include "links/dap/carrier.h"

#include "base/socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 8, REQUEST = 1, RESPONSE = 2 };

struct tcp {
    struct carrier carrier; /* first */
    int fd;
};

/* `failure` is 0 if all bytes went through. */
static bool went_through(const struct tcp *tcp, int failure, const char *late, struct error *error)
{
    return failure == 0 ||
           error_set(error, ERROR_LINK_LOST, "%s: %s", tcp->carrier.name, socket_failure(failure, late));
}

static bool receive(const struct tcp *tcp, uint8_t *bytes, size_t n, const struct deadline *deadline,
                    struct error *error)
{
    return went_through(tcp, socket_receive(tcp->fd, bytes, n, deadline), "no answer", error);
}

static bool tcp_send(struct carrier *carrier, const uint8_t *packet, size_t n,
                     const struct deadline *deadline, struct error *error)
{
    uint8_t bytes[HEADER + CARRIER_ROOM] = {'D', 'A', 'P', 0, (uint8_t)n, (uint8_t)(n >> 8), REQUEST, 0};
    if (n > CARRIER_ROOM)
        return error_set(error, ERROR_SYSTEM, "a packet grew too long");
    memcpy(bytes + HEADER, packet, n);
    const struct tcp *tcp = (struct tcp *)carrier;
    return went_through(tcp, socket_send(tcp->fd, bytes, HEADER + n, deadline), "it takes no more packets",
                        error);
}

static bool tcp_receive(struct carrier *carrier, uint8_t *packet, size_t room, size_t *n,
                        const struct deadline *deadline, struct error *error)
{
    static const uint8_t signature[4] = {'D', 'A', 'P', 0};
    struct tcp *tcp = (struct tcp *)carrier;
    uint8_t header[HEADER];
    if (!receive(tcp, header, HEADER, deadline, error))
        return false;
    size_t length = header[4] | (size_t)header[5] << 8;
    if (memcmp(header, signature, sizeof signature) != 0 || header[6] != RESPONSE)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s does not speak CMSIS-DAP over TCP",
                         tcp->carrier.name);
    if (length > room)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s: a reply of %zu bytes is too long",
                         tcp->carrier.name, length);
    *n = length;
    return receive(tcp, packet, length, deadline, error);
}

static void tcp_close(struct carrier *carrier)
{
    struct tcp *tcp = (struct tcp *)carrier;
    if (tcp->fd >= 0)
        close(tcp->fd);
    free(tcp);
}

struct carrier *tcp_connect(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error)
{
    static const struct carrier_ops ops = {.send = tcp_send, .receive = tcp_receive, .close = tcp_close};
    int fd = socket_connect(host, port, deadline, error);
    struct tcp *tcp = fd >= 0 ? calloc(1, sizeof *tcp) : NULL;
    if (tcp == NULL) {
        if (fd >= 0)
            close(fd);
        error_set(error, ERROR_SYSTEM, "out of memory"); /* unless there is an error already */
        return NULL;
    }
    tcp->fd = fd;
    tcp->carrier.ops = &ops;
    tcp->carrier.takes_several = true; /* each has its length in front: none can be taken for two */
    snprintf(tcp->carrier.name, sizeof tcp->carrier.name, "cmsis-dap-tcp %.128s:%u", host, (unsigned)port);
    return &tcp->carrier;
}
