/*
 * GDB as a debugger: its Python (gdb-scripts/pmu.py) sits at the other end of a socket and carries out the
 * wishes. A line each way, words with one blank between, numbers in hexadecimal, texts as pairs of digits:
 *
 * - hello VERSION: ok ARCHITECTURE EMULATOR PLACE CORE; "-" is not known, EMULATOR "QEMU" or "-", PLACE
 * HOST:PORT; CORE where the server's threads are several cores
 * - read ADDRESS N: ok HEX
 * - write ADDRESS HEX: ok
 * - break ADDRESS SIZE: ok; a hardware breakpoint; `clear` likewise
 * - register NAME: ok VALUE
 * - monitor HEX: ok HEX; a command of the server's own, and what it printed
 * - go run, go step: stopped WHY THREAD HALTS CORE, whenever that is. WHY: trap requested fault watchpoint
 * others ended, `others` at a breakpoint of the user's. THREAD "-" when there is but one. HALTS: how often
 * GDB had the core halted on the way and let it go on, to test a breakpoint of the user's or to step over one
 * - interrupt: nothing; the stop follows, if there is anything to stop
 *
 * Instead of "ok" or "stopped", "no TEXT" says that GDB or its server refused, and works on. The socket's end
 * is the session's: whatever GDB was doing, it goes on with it.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "debuggers/debugger.h"

#include <stdbool.h>
#include <stddef.h>

/* Over a connected stream socket, which it closes in any case. NULL on error. */
struct debugger *gdb_python_open(int fd, const struct deadline *deadline, struct error *error);

/*
 * Lines over a socket, to GDB's Python and back, each wait with an end, and none longer than there is room
 * for. What cannot be understood any more makes the socket lost.
 */
enum { DOOR_LINE = 40 * 1024 };

struct gdb_python_lines {
    int fd; /* of whoever began */
    bool lost;
    char in[DOOR_LINE + 1]; /* what came, up to `used` */
    size_t used, taken;     /* `taken`: of the line that was handed out, to be dropped */
    char out[DOOR_LINE + 1];
};

/* The rest of the struct is zero. False when there is no such descriptor. */
bool gdb_python_begin(struct gdb_python_lines *python, int fd);
/* Sends a line; the format has no line end. */
bool gdb_python_say(struct gdb_python_lines *python, const struct deadline *deadline, struct error *error,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The next line, until the next call; NULL when there is none before the deadline, or never will be: then it
 * is lost. */
char *gdb_python_receive(struct gdb_python_lines *python, const struct deadline *deadline,
                         struct error *error);
/* Marks it lost; always false. */
bool gdb_python_lose(struct gdb_python_lines *python, enum error_kind kind, const char *why,
                     struct error *error);
