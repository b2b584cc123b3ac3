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
 * - set NAME VALUE: ok
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

#include "debuggers/debugger.h"

/* Over a connected stream socket, which it closes in any case. NULL on error. */
struct debugger *gdb_door_open(int fd, const struct deadline *deadline, struct error *error);
