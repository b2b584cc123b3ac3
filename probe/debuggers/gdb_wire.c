#include "debuggers/gdb_wire.h"

#include "base/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPEATS = 4, DAMAGES = 4 };

void gdb_wire_init(struct gdb_wire *wire, int fd)
{
    memset(wire, 0, sizeof *wire);
    wire->fd = fd;
    wire->acks = true;
    gdb_decoder_init(&wire->decoder, wire->payload, sizeof wire->payload);
}

void gdb_wire_close(struct gdb_wire *wire)
{
    if (wire->fd >= 0)
        close(wire->fd);
    wire->fd = -1;
    wire->lost = true;
}

bool gdb_wire_lose(struct gdb_wire *wire, enum error_kind kind, const char *why, struct error *error)
{
    wire->lost = true;
    return error_set(error, kind, "%s", why);
}

static bool hang_up(struct gdb_wire *wire, int why, struct error *error)
{
    wire->lost = true;
    wire->hung_up = why == 0 || why == ECONNRESET || why == EPIPE;
    if (wire->hung_up)
        return error_set(error, ERROR_LINK_LOST, "the GDB server closed the connection");
    return error_set(error, ERROR_LINK_LOST, "the connection to the GDB server failed: %s", strerror(why));
}

static bool write_all(struct gdb_wire *wire, const char *bytes, size_t n, const struct deadline *deadline,
                      struct error *error)
{
    if (wire->lost)
        return error_set(error, ERROR_LINK_LOST, "the connection to the GDB server is lost");
    while (n > 0) {
        ssize_t sent = send(wire->fd, bytes, n, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            n -= (size_t)sent;
        } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!socket_wait(wire->fd, POLLOUT, deadline))
                return gdb_wire_lose(wire, ERROR_LINK_LOST, "the GDB server takes no more packets", error);
        } else if (sent < 0 && errno != EINTR) {
            return hang_up(wire, errno, error);
        }
    }
    return true;
}

bool gdb_wire_send(struct gdb_wire *wire, const void *payload, size_t n, const struct deadline *deadline,
                   struct error *error)
{
    wire->repeats = wire->damages = 0;
    log_text(wire->log, '>', "gdb", payload, n);
    wire->out_n = gdb_packet_frame(payload, n, wire->out, sizeof wire->out);
    if (wire->out_n == 0)
        return error_set(error, ERROR_SYSTEM, "a packet grew too long");
    return write_all(wire, wire->out, wire->out_n, deadline, error);
}

bool gdb_wire_send_raw(struct gdb_wire *wire, char byte, const struct deadline *deadline, struct error *error)
{
    return write_all(wire, &byte, 1, deadline, error);
}

/* Only what has come already; GDB_CAME_NOT: nothing has. */
static enum gdb_came fill(struct gdb_wire *wire, struct error *error)
{
    ssize_t got = recv(wire->fd, wire->in, sizeof wire->in, 0);
    if (got > 0) {
        wire->in_n = (size_t)got;
        wire->in_taken = 0;
        return GDB_CAME;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return GDB_CAME_NOT;
    hang_up(wire, got == 0 ? 0 : errno, error);
    return GDB_CAME_NEVER;
}

static bool acknowledge(struct gdb_wire *wire, char how, const struct deadline *deadline, struct error *error)
{
    return !wire->acks || write_all(wire, &how, 1, deadline, error);
}

static enum gdb_came take_event(struct gdb_wire *wire, enum gdb_event event, const struct deadline *deadline,
                                struct error *error)
{
    switch (event) {
    case GDB_PACKET:
        return acknowledge(wire, '+', deadline, error) ? GDB_CAME : GDB_CAME_NEVER;
    case GDB_NAK:
        if (!wire->acks)
            return GDB_CAME_NOT;
        if (wire->repeats++ < REPEATS)
            return write_all(wire, wire->out, wire->out_n, deadline, error) ? GDB_CAME_NOT : GDB_CAME_NEVER;
        gdb_wire_lose(wire, ERROR_LINK_PROTOCOL, "the GDB server refuses a packet again and again", error);
        return GDB_CAME_NEVER;
    case GDB_DAMAGED:
        if (wire->acks && wire->damages++ < DAMAGES)
            return acknowledge(wire, '-', deadline, error) ? GDB_CAME_NOT : GDB_CAME_NEVER;
        gdb_wire_lose(wire, ERROR_LINK_PROTOCOL, "the GDB server's packets have wrong checksums", error);
        return GDB_CAME_NEVER;
    case GDB_TOO_LONG:
        gdb_wire_lose(wire, ERROR_LINK_PROTOCOL,
                      "the GDB server's packet is longer than any it was asked for", error);
        return GDB_CAME_NEVER;
    case GDB_NOTHING:
    case GDB_ACK:
    case GDB_NOTIFICATION:
        break;
    }
    return GDB_CAME_NOT;
}

enum gdb_came gdb_wire_receive(struct gdb_wire *wire, size_t *length, const struct deadline *deadline,
                               struct error *error)
{
    if (wire->lost) {
        error_set(error, ERROR_LINK_LOST, "the connection to the GDB server is lost");
        return GDB_CAME_NEVER;
    }
    for (bool filled = false;;) {
        while (wire->in_taken < wire->in_n) {
            size_t taken;
            enum gdb_event event = gdb_decoder_take(&wire->decoder, wire->in + wire->in_taken,
                                                    wire->in_n - wire->in_taken, &taken);
            wire->in_taken += taken;
            enum gdb_came came = take_event(wire, event, deadline, error);
            *length = wire->decoder.used;
            if (came == GDB_CAME)
                log_text(wire->log, '<', "gdb", wire->payload, *length);
            if (came != GDB_CAME_NOT)
                return came;
        }
        if (filled &&
            deadline_passed(deadline)) /* an endless stream of nothing always finds the socket ready */
            return GDB_CAME_NOT;
        enum gdb_came more = fill(wire, error);
        if (more == GDB_CAME_NEVER)
            return more;
        if (more == GDB_CAME_NOT && !socket_wait(wire->fd, POLLIN, deadline))
            return GDB_CAME_NOT;
        filled = filled || more == GDB_CAME;
    }
}
