/*
 * Lines over a socket, to GDB's Python and back, each wait with an end, and none longer than there is room
 * for. What cannot be understood any more makes the socket lost.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { DOOR_LINE = 40 * 1024 };

struct door_lines {
    int fd; /* of whoever began */
    bool lost;
    char in[DOOR_LINE + 1]; /* what came, up to `used` */
    size_t used, taken;     /* `taken`: of the line that was handed out, to be dropped */
    char out[DOOR_LINE + 1];
};

/* The rest of the struct is zero. False when there is no such descriptor. */
bool door_begin(struct door_lines *door, int fd);
/* Sends a line; the format has no line end. */
bool door_say(struct door_lines *door, const struct deadline *deadline, struct error *error,
              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The next line, until the next call; NULL when there is none before the deadline, or never will be: then it
 * is lost. */
char *door_receive(struct door_lines *door, const struct deadline *deadline, struct error *error);
/* Marks it lost; always false. */
bool door_lose(struct door_lines *door, enum error_kind kind, const char *why, struct error *error);
