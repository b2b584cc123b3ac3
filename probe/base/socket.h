/*
 * Sockets: connect to a host and port, and wait for a socket, with an end to every wait.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* A non-blocking TCP socket that sends at once, -1 with ERROR_NO_PROBE when nobody listens there. */
int socket_connect(const char *host, uint16_t port, const struct deadline *deadline, struct error *error);
/* What a failed send or recv came to, in words; 0: the end of the stream. */
const char *socket_failure(int failure);
/* Until the socket is ready for poll's `events` or broken; false when the deadline passes first. */
bool socket_wait(int fd, short events, const struct deadline *deadline);
