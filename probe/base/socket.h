/* SPDX-License-Identifier: MIT */
/*
 * TCP: connect to HOST[:PORT], and send and receive over a non-blocking socket, with an end to every wait.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads what follows "--probe KIND:": HOST, HOST:PORT, :PORT, [ADDRESS] or [ADDRESS]:PORT. An IPv6 address is
 * in brackets. A part that is left out keeps the value it has. */
bool socket_address_read(const char *text, char *host, size_t size, uint16_t *port, struct error *error);

/* A non-blocking socket that sends at once; -1 with ERROR_NO_PROBE if nothing listens there. */
int socket_connect(const char *host, uint16_t port, const struct deadline *deadline, struct error *error);
uint16_t socket_own_port(int fd); /* 0: not connected */
/* Returns once the socket is ready for poll's `events` or broken; false if the deadline passes first. */
bool socket_wait(int fd, short events, const struct deadline *deadline);

/* These move what can be moved without waiting: how many bytes; 0: none at the moment; below 0: a failure
 * (see below), negated. */
ssize_t socket_try_send(int fd, const void *bytes, size_t n);
ssize_t socket_try_receive(int fd, void *bytes, size_t room);
/* These move all `n` bytes and return 0, or a failure: SOCKET_LATE if the deadline passes first, else an
 * errno, ECONNRESET for the end of the stream too. */
enum { SOCKET_LATE = -1 };
int socket_send(int fd, const void *bytes, size_t n, const struct deadline *deadline);
int socket_receive(int fd, void *bytes, size_t n, const struct deadline *deadline);
bool socket_was_closed(int failure); /* by the peer */
/* The failure in words; `late` for SOCKET_LATE. */
const char *socket_failure(int failure, const char *late);
