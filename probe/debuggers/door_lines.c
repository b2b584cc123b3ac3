#include "debuggers/door_lines.h"

#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

bool door_begin(struct door_lines *door, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    door->fd = fd;
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool door_lose(struct door_lines *door, enum error_kind kind, const char *why, struct error *error)
{
    door->lost = true;
    return error_set(error, kind, "%s", why);
}

static bool send_line(struct door_lines *door, size_t n, const struct deadline *deadline, struct error *error)
{
    const char *bytes = door->out;
    if (door->lost)
        return error_set(error, ERROR_LINK_LOST, "the way to GDB is lost");
    while (n > 0) {
        ssize_t sent = send(door->fd, bytes, n, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            n -= (size_t)sent;
        } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!socket_wait(door->fd, POLLOUT, deadline))
                return door_lose(door, ERROR_LINK_LOST, "GDB takes no more wishes", error);
        } else if (sent < 0 && errno != EINTR) {
            return door_lose(door, ERROR_LINK_LOST, "GDB is gone", error);
        }
    }
    return true;
}

bool door_say(struct door_lines *door, const struct deadline *deadline, struct error *error,
              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(door->out, sizeof door->out, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof door->out - 1)
        return error_set(error, ERROR_SYSTEM, "a wish for GDB grew too long");
    door->out[n] = '\n';
    return send_line(door, (size_t)n + 1, deadline, error);
}

/* More bytes behind those that are there; false when there are none yet, or never will be. */
static bool fill(struct door_lines *door, struct error *error)
{
    if (door->used == DOOR_LINE)
        return door_lose(door, ERROR_LINK_PROTOCOL, "GDB answers in longer lines than it was asked for",
                         error);
    ssize_t got = recv(door->fd, door->in + door->used, DOOR_LINE - door->used, 0);
    if (got > 0) {
        door->used += (size_t)got;
        return true;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    return door_lose(door, ERROR_LINK_LOST, "GDB is gone", error);
}

char *door_receive(struct door_lines *door, const struct deadline *deadline, struct error *error)
{
    if (door->lost) {
        error_set(error, ERROR_LINK_LOST, "the way to GDB is lost");
        return NULL;
    }
    memmove(door->in, door->in + door->taken, door->used - door->taken);
    door->used -= door->taken;
    door->taken = 0;
    for (;;) {
        char *end = memchr(door->in, '\n', door->used);
        if (end != NULL) {
            *end = '\0';
            door->taken = (size_t)(end - door->in) + 1;
            return door->in;
        }
        if (fill(door, error))
            continue;
        if (door->lost || !socket_wait(door->fd, POLLIN, deadline))
            return NULL;
    }
}
