/*
 * GDB as a debugger: its Python (gdb-scripts/pmu_engine.py) is at the other end of a socket and carries out
 * requests. Each request and each answer is one line of words with single blanks between them. Numbers are
 * hexadecimal, texts are pairs of hexadecimal digits.
 *
 * - hello VERSION: ok ARCHITECTURE EMULATOR PLACE CORE; "-" is not known, EMULATOR is "QEMU" or "-", PLACE is
 *   the server's HOST:PORT, CORE is the core's name if the server's threads are several cores
 * - read ADDRESS N: ok HEX
 * - write ADDRESS HEX: ok
 * - break ADDRESS SIZE, clear ADDRESS SIZE: ok; a hardware breakpoint
 * - register NAME: ok VALUE
 * - monitor HEX: ok HEX; a command of the server's own, and what it printed
 * - go run, go step: stopped WHY THREAD HALTS CORE, once the core stops. WHY: trap, requested, fault,
 *   watchpoint, ended, or others at a breakpoint of the user's. THREAD is "-" if there is only one. HALTS:
 * how often GDB halted the core on the way, to test one of the user's breakpoints or to step over it
 * - interrupt: no answer; the stop follows, if the core runs
 *
 * "no TEXT" in place of "ok" or "stopped" is a refusal of GDB or its server; the session goes on. When the
 * socket closes, the session is over.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "debuggers/debugger.h"

/* Takes over a connected stream socket, even on error. NULL on error. */
struct debugger *gdb_python_open(int fd, const struct deadline *deadline, struct error *error);
